// Pointing at agents, by mouse, finger or keyboard: to read them, follow them, show them to the observer, or draw.

import { byId, el } from "./elements.js";
import { nameOf, steady } from "./words.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {"look" | "draw" | "see"} Tool
 * @typedef {{follow: (index: number) => void, see: (index: number) => void,
 *            stroke: (x: number, y: number, first: boolean) => void, lift: () => void, reach: () => number}} Actions
 */

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const ZOOMS = { "zoom-in": 1.5, "zoom-out": 1 / 1.5, "zoom-reset": 0 };
const FACTS = { public: "shows", hidden: "thinks", stubbornness: "stubbornness", degree: "neighbours" };
// A press that moves less than this is a click.
const STILL = 5;

export class Pointing {
  /** @type {Tool} */
  tool = "look";
  #keyboard = false;

  /** @param {Stage} stage @param {Actions} actions */
  constructor(stage, actions) {
    this.stage = stage;
    this.actions = actions;
    this.card = byId("agent-card");
    stage.onPaint = () => this.#placeCard();
    this.#pointer(stage.canvas);
    stage.canvas.addEventListener("keydown", (event) => this.#key(event));
    stage.canvas.addEventListener("blur", () => this.#keyboard && this.#goTo(-1));
    for (const [id, factor] of Object.entries(ZOOMS)) byId(id).addEventListener("click", () => this.zoom(factor));
  }

  /** @param {Tool} tool */
  setTool(tool) {
    this.tool = tool;
    this.stage.canvas.dataset.tool = tool;
    this.stage.brush = null;
    this.stage.invalidate();
  }

  /** Enlarge, or show all again with 0. @param {number} factor @param {number} [x] @param {number} [y] */
  zoom(factor, x, y) {
    const { view } = this.stage;
    if (factor === 0) Object.assign(view.places, { zoom: 1, panX: 0, panY: 0 });
    else view.places.zoomBy(factor, x, y);
    view.refit();
    this.stage.canvas.dataset.zoomed = String(view.places.zoom > 1);
    this.stage.invalidate();
  }

  /** @param {HTMLCanvasElement} canvas */
  #pointer(canvas) {
    /** @type {{x: number, y: number, lastX: number, lastY: number, moved: boolean} | null} */
    let press = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      const { offsetX: x, offsetY: y } = event;
      press = { x, y, lastX: x, lastY: y, moved: false };
      if (this.tool === "draw" || this.stage.view.places.zoom > 1) canvas.setPointerCapture(event.pointerId);
      if (this.tool === "draw") this.actions.stroke(x, y, true);
    });
    canvas.addEventListener("pointermove", (event) => {
      const { offsetX: x, offsetY: y } = event;
      if (this.tool === "draw") {
        this.stage.brush = { x, y, reach: this.actions.reach() };
        if (press) this.actions.stroke(x, y, false);
      }
      if (press) {
        press.moved ||= Math.hypot(x - press.x, y - press.y) > STILL;
        if (press.moved && this.tool !== "draw" && this.stage.view.places.zoom > 1) {
          this.stage.view.places.pan(x - press.lastX, y - press.lastY);
          this.stage.view.drawEdges();
        }
        [press.lastX, press.lastY] = [x, y];
      }
      this.#keyboard = false;
      this.#goTo(this.stage.view.places.nearest(x, y));
    });
    const end = (/** @type {PointerEvent} */ event) => {
      const clicked = press && !press.moved && event.type === "pointerup";
      if (press && this.tool === "draw") this.actions.lift();
      else if (press && clicked) this.#choose(this.stage.view.places.nearest(press.x, press.y));
      press = null;
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => {
      this.stage.brush = null;
      if (!this.#keyboard) this.#goTo(-1);
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
  }

  /** @param {number} index */
  #choose(index) {
    if (index < 0) return;
    if (this.tool === "see") this.actions.see(index);
    else this.actions.follow(index);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || !this.stage.n) return;
    const { view, cursor } = this.stage;
    const arrow = ARROWS[event.key];
    if (arrow) {
      this.#keyboard = true;
      const centre = view.places.nearest(view.places.width / 2, view.places.height / 2, 1e4);
      this.#goTo(cursor < 0 ? centre : view.places.towards(cursor, arrow[0], arrow[1]));
    } else if (event.key === "Enter") this.#choose(cursor);
    else if (event.key === "+" || event.key === "=") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.zoom(0);
    else if (event.key === "Escape") this.#goTo(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} index */
  #goTo(index) {
    this.stage.cursor = index;
    this.#fillCard();
    this.stage.invalidate();
  }

  #fillCard() {
    const { cursor, run, graph } = this.stage;
    this.card.hidden = cursor < 0 || !run || !graph;
    if (this.card.hidden || !run || !graph) return;
    if (this.card.childElementCount === 0) {
      const rows = Object.entries(FACTS).map(([key, name]) =>
        el("div", {}, el("dt", {}, name), el("dd", { class: "numeral", "data-key": key })),
      );
      this.card.append(el("b", {}), el("dl", {}, ...rows));
    }
    const degree = /** @type {HTMLElement} */ (this.card.querySelector("[data-key=degree]")?.previousElementSibling);
    degree.textContent = graph.header.weighted ? "weight of links" : FACTS.degree;
    const name = nameOf(this.stage.labelOf(cursor));
    /** @type {HTMLElement} */ (this.card.firstElementChild).textContent = name;
    if (this.#keyboard) {
      const [shows, thinks] = [this.stage.shown[cursor], this.stage.hidden[cursor]].map((value) => steady(value));
      byId("said").textContent = `${name} shows ${shows} and thinks ${thinks}`;
    }
    this.#placeCard();
  }

  #placeCard() {
    const { cursor, run, graph, view } = this.stage;
    if (this.card.hidden || cursor < 0 || !run || !graph) return;
    const values = {
      public: this.stage.shown[cursor],
      hidden: this.stage.hidden[cursor],
      stubbornness: run.arrays.stubbornness[cursor],
      degree: graph.arrays.degrees[cursor],
    };
    for (const [key, value] of Object.entries(values)) {
      const place = /** @type {HTMLElement} */ (this.card.querySelector(`[data-key=${key}]`));
      place.textContent = key === "degree" && Number.isInteger(value) ? String(value) : steady(value);
      place.dataset.value = String(value);
    }
    const { x, y, width, height } = view.places;
    const left = Math.min(width - this.card.offsetWidth - 6, Math.max(6, x[cursor] + 16));
    const above = y[cursor] - this.card.offsetHeight - 14;
    const top = above > 4 ? above : Math.min(height - this.card.offsetHeight - 6, y[cursor] + 18);
    this.card.style.setProperty("transform", `translate(${Math.round(left)}px, ${Math.round(top)}px)`);
  }
}
