// What a press or a key on the network does: follow an agent, draw opinions or distrust, or show an agent to the
// observer.

import { FOLLOWED_COLOURS } from "./colour.js";
import { Distrust } from "./distrust.js";
import { byId, el } from "./elements.js";
import { agentName, formatFixed } from "./format.js";

/**
 * @typedef {import("./brush.js").Brush} Brush
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 *
 * @typedef {"look" | "draw" | "see" | "distrust"} Tool
 *
 * @typedef {object} Actions
 * @property {(index: number) => void} follow
 * @property {(index: number) => void} see
 * @property {(index: number, x?: number, y?: number) => void} distrust an agent, or the edge at a place
 * @property {() => void} putDown lets go of the tool
 * @property {(x: number, y: number, first: boolean) => void} stroke
 * @property {() => void} lift
 * @property {() => number} radius of the brush
 */

/** @type {Record<string, [dx: number, dy: number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ZOOM_STEP = 1.5;
const FACTS = { public: "shows", hidden: "thinks", stubbornness: "stubbornness", degree: "neighbours" };
// A press that moves by fewer pixels is a click.
const CLICK_DISTANCE = 5;

/** Handles the pointer and the keyboard on the network, and shows a card on the agent pointed at. */
class Pointing {
  /** @type {Tool} */
  tool = "look";
  /** Whether the cursor was last moved by keyboard; then the pointer does not take it away. */
  #byKeyboard = false;
  /** @type {Record<string, HTMLElement>} */
  #values = {};

  /**
   * @param {Stage} stage
   * @param {Actions} actions
   */
  constructor(stage, actions) {
    this.stage = stage;
    this.actions = actions;
    this.card = byId("agent-card");
    this.cardName = el("b", {});
    this.degreeTerm = el("dt", {});
    this.#buildCard();
    stage.onPaint = () => this.#updateCard();
    this.#listenToPointer(stage.canvas);
    stage.canvas.addEventListener("keydown", (event) => this.#onKey(event));
    stage.canvas.addEventListener("blur", () => this.#byKeyboard && this.#moveCursor(-1));
    byId("zoom-in").addEventListener("click", () => this.zoomBy(ZOOM_STEP));
    byId("zoom-out").addEventListener("click", () => this.zoomBy(1 / ZOOM_STEP));
    byId("zoom-reset").addEventListener("click", () => this.resetZoom());
  }

  /** @param {Tool} tool */
  setTool(tool) {
    this.tool = tool;
    this.stage.canvas.dataset.tool = tool;
    this.stage.brush = null;
    this.stage.invalidate();
  }

  /**
   * @param {number} factor
   * @param {number} [x] of the point that stays where it is
   * @param {number} [y]
   */
  zoomBy(factor, x, y) {
    this.stage.view.layout.zoomBy(factor, x, y);
    this.#showZoom();
  }

  resetZoom() {
    this.stage.view.layout.resetZoom();
    this.#showZoom();
  }

  #showZoom() {
    const { view } = this.stage;
    view.refit();
    this.stage.showMarks();
    this.stage.canvas.dataset.zoomed = String(view.layout.zoom > 1);
    this.stage.invalidate();
  }

  /** @param {HTMLCanvasElement} canvas */
  #listenToPointer(canvas) {
    const { stage, actions } = this;
    /** @type {{x: number, y: number, lastX: number, lastY: number, moved: boolean} | null} */
    let press = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { offsetX: x, offsetY: y } = event;
      press = { x, y, lastX: x, lastY: y, moved: false };
      if (this.tool === "draw" || stage.view.layout.zoom > 1) canvas.setPointerCapture(event.pointerId);
      if (this.tool === "draw") actions.stroke(x, y, true);
    });
    canvas.addEventListener("pointermove", (event) => {
      const { offsetX: x, offsetY: y } = event;
      if (this.tool === "draw") {
        stage.brush = { x, y, radius: actions.radius() };
        if (press) actions.stroke(x, y, false);
      }
      if (press) {
        press.moved ||= Math.hypot(x - press.x, y - press.y) > CLICK_DISTANCE;
        if (press.moved && this.tool !== "draw" && stage.view.layout.zoom > 1) {
          stage.view.layout.pan(x - press.lastX, y - press.lastY);
          stage.view.moved();
        }
        [press.lastX, press.lastY] = [x, y];
      }
      this.#byKeyboard = false;
      this.#moveCursor(stage.view.layout.nearest(x, y));
    });
    const end = (/** @type {PointerEvent} */ event) => {
      const clicked = press && !press.moved && event.type === "pointerup";
      if (press && this.tool === "draw") actions.lift();
      else if (press && clicked) this.#choose(stage.view.layout.nearest(press.x, press.y), press.x, press.y);
      press = null;
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => {
      stage.brush = null;
      if (!this.#byKeyboard) this.#moveCursor(-1);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        // Without a modifier the wheel scrolls the page.
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoomBy(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
  }

  /**
   * @param {number} index
   * @param {number} [x]
   * @param {number} [y]
   */
  #choose(index, x, y) {
    if (this.tool === "distrust") this.actions.distrust(index, x, y);
    if (index < 0 || this.tool === "distrust") return;
    if (this.tool === "see") this.actions.see(index);
    else this.actions.follow(index);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || !this.stage.n) return;
    const { cursor } = this.stage;
    const { layout } = this.stage.view;
    const arrow = ARROWS[event.key];
    if (arrow) {
      this.#byKeyboard = true;
      const centre = layout.nearest(layout.width / 2, layout.height / 2, 1e4);
      this.#moveCursor(cursor < 0 ? centre : layout.towards(cursor, ...arrow));
    } else if (event.key === "Enter") this.#choose(cursor);
    else if (event.key === "+" || event.key === "=") this.zoomBy(ZOOM_STEP);
    else if (event.key === "-") this.zoomBy(1 / ZOOM_STEP);
    else if (event.key === "0") this.resetZoom();
    else if (event.key === "Escape" && this.tool === "distrust") this.actions.putDown();
    else if (event.key === "Escape") this.#moveCursor(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} index */
  #moveCursor(index) {
    this.stage.cursor = index;
    this.#showCard();
    this.stage.invalidate();
  }

  #buildCard() {
    const rows = Object.entries(FACTS).map(([key, name]) => {
      const value = el("dd", { class: "numeral", "data-key": key });
      this.#values[key] = value;
      return el("div", {}, key === "degree" ? this.degreeTerm : el("dt", {}, name), value);
    });
    this.card.append(this.cardName, el("dl", {}, ...rows));
  }

  #showCard() {
    const { cursor, run, graph, shown, hidden } = this.stage;
    this.card.hidden = cursor < 0 || !run || !graph;
    if (this.card.hidden || !graph) return;
    const { directed, weighted } = graph.header;
    this.degreeTerm.textContent = weighted ? "weight of links" : directed ? "listens to" : FACTS.degree;
    const name = agentName(this.stage.labelOf(cursor));
    this.cardName.textContent = name;
    if (this.#byKeyboard) {
      const [shows, thinks] = [formatFixed(shown[cursor]), formatFixed(hidden[cursor])];
      byId("said").textContent = `${name} shows ${shows} and thinks ${thinks}`;
    }
    this.#updateCard();
  }

  /** Show the values of this moment, and keep the card beside its agent. */
  #updateCard() {
    const { cursor, run, graph, view } = this.stage;
    if (this.card.hidden || cursor < 0 || !run || !graph) return;
    const values = {
      public: this.stage.shown[cursor],
      hidden: this.stage.hidden[cursor],
      stubbornness: run.arrays.stubbornness[cursor],
      degree: graph.arrays.degrees[cursor],
    };
    for (const [key, value] of Object.entries(values)) {
      const output = this.#values[key];
      output.textContent = key === "degree" && Number.isInteger(value) ? String(value) : formatFixed(value);
      output.dataset.value = String(value);
    }
    const { x, y, width, height } = view.layout;
    const left = Math.min(width - this.card.offsetWidth - 6, Math.max(6, x[cursor] + 16));
    const above = y[cursor] - this.card.offsetHeight - 14;
    const top = above > 4 ? above : Math.min(height - this.card.offsetHeight - 6, y[cursor] + 18);
    this.card.style.setProperty("transform", `translate(${Math.round(left)}px, ${Math.round(top)}px)`);
  }
}

/** The tool in hand, and what it does to the state. */
export class Tools {
  /**
   * @param {Store} store
   * @param {Stage} stage
   * @param {Brush} brush
   * @param {(index: number) => void} see shows an agent to the observer, or hides it
   */
  constructor(store, stage, brush, see) {
    this.store = store;
    this.stage = stage;
    this.brush = brush;
    this.distrust = new Distrust(store, stage);
    this.pointing = new Pointing(stage, {
      follow: (index) => this.#toggleFollowed(index),
      see,
      distrust: (index, x, y) => this.distrust.take(index, x, y),
      putDown: () => this.use("look"),
      stroke: (x, y, first) => brush.stroke(x, y, first),
      lift: () => brush.lift(),
      radius: () => brush.radius,
    });
    byId("draw").addEventListener("click", () => {
      if (this.tool === "draw") this.use("look");
      else this.drawByHand();
    });
  }

  get tool() {
    return this.pointing.tool;
  }

  /** @param {Tool} tool */
  use(tool) {
    this.pointing.setTool(tool);
    this.distrust.reset();
    document.getElementById("draw-distrust")?.setAttribute("aria-pressed", String(tool === "distrust"));
    byId("draw").setAttribute("aria-pressed", String(tool === "draw"));
    byId("brush").hidden = tool !== "draw";
    if (tool !== "draw") return;
    this.brush.showSettings();
    this.store.setView({ colour: "hidden" });
  }

  /** Take up the brush, starting from the opinions shown. */
  drawByHand() {
    this.brush.adoptOpinions();
    this.use("draw");
  }

  /** Put everything back for another scenario. */
  reset() {
    this.use("look");
    this.brush.reset();
    this.pointing.resetZoom();
  }

  /** @param {number} index */
  #toggleFollowed(index) {
    const label = this.stage.labelOf(index);
    const followed = this.stage.followed.map((agent) => agent.label);
    const agents = followed.includes(label) ? followed.filter((one) => one !== label) : [...followed, label];
    this.store.setView({ agents: agents.slice(-FOLLOWED_COLOURS.length) });
  }
}
