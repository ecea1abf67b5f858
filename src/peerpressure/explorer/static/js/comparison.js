// The comparison of two scenarios: A is kept as it was, all controls change B. Both have one time and one colour scale.

import { ask, Channel, OTHER_TAB } from "./api.js";
import { asked } from "./computation.js";
import { differences } from "./differences.js";
import { byId, el } from "./elements.js";
import { formatCount } from "./format.js";
import { showMessage } from "./messages.js";
import { NetworkView } from "./network-view.js";
import { setDrawing } from "./picture.js";
import { observerOf } from "./scenario.js";
import { ShownRun } from "./shown-run.js";
import { exposureOf } from "./stage.js";
import { follow } from "./validity.js";

/**
 * @typedef {import("./network-view.js").Look} Look
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./stage.js").Style} Style
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").ExactAnswer} ExactAnswer
 * @typedef {import("./types.js").ExposureAnswer} ExposureAnswer
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 * @typedef {import("./types.js").Scenario} Scenario
 *
 * @typedef {object} Results what is known of a scenario
 * @property {NetworkAnswer} graph
 * @property {RunAnswer} run
 * @property {ExactAnswer | null} exact null if it is not known, or not yet
 * @property {ExposureAnswer | null} exposure
 */

const MAX_ROWS = 8;
// In pixels; the stylesheet gives the lower network more height by as much as it has more below.
const STACKED_BELOW = 24;

/** The network of A, beside the stage. */
class SecondNetwork {
  /** @type {ShownRun | null} */
  shown = null;
  /** @type {ExposureAnswer | null} */
  exposure = null;
  /** @type {NetworkAnswer | null} */
  #graph = null;
  /**
   * How the last frame was drawn.
   * @type {Look}
   */
  #look;
  /**
   * Whether agents and their places are those of a network on the stage.
   * @type {{beside: NetworkAnswer | null, answer: boolean}}
   */
  #alike = { beside: null, answer: false };

  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    this.canvas = byId("network-a", HTMLCanvasElement);
    const nameOf = (/** @type {number} */ index) => String(this.#graph?.header.labels?.[index] ?? index);
    this.view = new NetworkView(this.canvas, stage.view.tools, nameOf);
    this.#look = stage.look;
    new ResizeObserver(() => this.#refit()).observe(this.canvas);
    setDrawing(this.canvas, (scale) => this.view.picture(scale, { ...this.#look, cursor: -1 }));
  }

  /** @param {Results} results */
  show({ graph, run, exposure }) {
    this.shown = new ShownRun(run, this.stage.clock);
    this.exposure = exposure;
    if (graph === this.#graph) return;
    this.#graph = graph;
    this.#alike = { beside: null, answer: false };
    this.view.setGraph({ n: graph.header.n, exact: graph.header.exact, ...graph.arrays });
  }

  get #sharesLayout() {
    const { graph: beside } = this.stage;
    if (this.#alike.beside !== beside) {
      const [here, there] = [this.#graph, beside].map((graph) => graph?.arrays.positions ?? []);
      this.#alike = { beside, answer: here.length === there.length && here.every((value, k) => value === there[k]) };
    }
    return this.#alike.answer;
  }

  #refit() {
    // One above the other, only the lower network has the key below it.
    const stacked = this.canvas.getBoundingClientRect().top !== this.stage.canvas.getBoundingClientRect().top;
    this.view.below = stacked ? STACKED_BELOW : this.stage.view.below;
    this.view.refit();
    this.stage.invalidate();
  }

  restyle() {
    this.view.drawEdges();
  }

  /** @param {Style} style */
  paint({ colour, layout, followed, cursor, ...style }) {
    if (!this.shown) return;
    const alike = this.#sharesLayout;
    if (alike) this.#follow(layout);
    // Without an answer nothing is drawn in the place of exposure.
    const exposure = colour === "exposure" ? (exposureOf(this.exposure, this.shown.n) ?? new Float32Array(0)) : null;
    this.#look = {
      ...style,
      fill: exposure ?? (colour === "hidden" ? this.shown.hidden : this.shown.shown),
      ring: style.ring ? this.shown.hidden : null,
      followed: alike ? followed : new Map(),
      cursor: alike ? cursor : -1,
      observed: null,
      brush: null,
    };
    this.view.draw(this.#look);
  }

  /** @param {Style["layout"]} layout whose zoom is taken over */
  #follow({ zoom, panX, panY }) {
    const { layout } = this.view;
    if (layout.zoom === zoom && layout.panX === panX && layout.panY === panY) return;
    Object.assign(layout, { zoom, panX, panY });
    this.view.refit();
  }
}

export class Comparison {
  /**
   * What is known of A, and of which scenario that is.
   * @type {{scenario: string, results: Results} | null}
   */
  #known = null;
  #channels = { run: new Channel(), exact: new Channel(), exposure: new Channel() };

  /**
   * @param {object} parts
   * @param {Store} parts.store
   * @param {Stage} parts.stage
   * @param {Catalogue} parts.catalogue
   * @param {() => Results | null} parts.present what is known of B, null if that is not what the controls say
   * @param {(results: Results | null) => void} parts.onChange called with what is known of A, null without comparison
   */
  constructor({ store, stage, catalogue, present, onChange }) {
    this.store = store;
    this.stage = stage;
    this.catalogue = catalogue;
    this.present = present;
    this.onChange = onChange;
    this.second = new SecondNetwork(stage);
    byId("compare").addEventListener("click", () => (store.other ? this.#end() : this.#begin()));
    byId("comparison-end").addEventListener("click", () => this.#end());
    byId("comparison-swap").addEventListener("click", () => this.#swap());
    store.onOther(() => this.refresh());
    store.onView((now, before) => {
      // What is learned about the agents of A is only computed to be shown.
      const exposed = now.colour !== before.colour && now.colour === "exposure";
      if (store.other && (exposed || now.topic !== before.topic)) this.refresh();
    });
  }

  restyle() {
    this.second.restyle();
  }

  #begin() {
    this.#keep();
    this.store.setOther(this.store.scenario);
  }

  #end() {
    this.store.setOther(null);
    byId("compare").focus();
  }

  #swap() {
    const { scenario, other, view } = this.store;
    if (!other || other === scenario) return;
    this.#keep();
    this.store.open({ scenario: other, other: scenario, view });
  }

  /** Keep what is known of B, which becomes A and need not be computed again. */
  #keep() {
    const results = this.present();
    this.#known = results && { scenario: this.#keyOf(this.store.scenario), results };
  }

  /**
   * Return what the results of a scenario depend on, as text.
   * @param {Scenario} scenario
   */
  #keyOf(scenario) {
    return JSON.stringify(asked(scenario, this.store.view.topic));
  }

  /** Show the comparison that the state asks for, if any. */
  async refresh() {
    const { other } = this.store;
    this.#showFrame(other !== null);
    if (!other) {
      for (const channel of Object.values(this.#channels)) channel.cancel();
      this.#known = null;
      this.#show(null);
      return;
    }
    const scenario = this.#keyOf(other);
    if (this.#known?.scenario !== scenario) {
      this.#known = null;
      this.#show(null);
    }
    const known = () => (this.#known?.scenario === scenario ? this.#known.results : null);
    const compute = async (/** @type {AbortSignal} */ signal) => {
      const results = known() ?? (await this.#compute(other, signal));
      // Kept at once: the next question may be the same.
      if (this.store.other && this.#keyOf(this.store.other) === scenario) this.#known = { scenario, results };
      return results;
    };
    await follow("other", {
      about: () => [this.store.other, this.store.view.topic],
      task: async () => known() ?? this.#channels.run.latest(compute),
      show: (results, isCurrent) => {
        // What is known is shown at once, and an older question may be answered after it.
        if (!isCurrent) return;
        this.#show(results);
        this.#complete(other, results);
      },
      onRefusal: reported,
    });
  }

  /**
   * @param {Scenario} scenario
   * @param {AbortSignal} signal
   * @returns {Promise<Results>}
   */
  async #compute({ observe, privacy, ...scenario }, signal) {
    const question = { scenario };
    const [graph, run] = await Promise.all([
      ask("/api/network", question, signal, OTHER_TAB),
      ask("/api/run", asked(scenario, this.store.view.topic), signal, OTHER_TAB),
    ]);
    return { graph, run, exact: null, exposure: null };
  }

  /**
   * Compute what takes longer, and is only needed for one sentence and for one way to colour the network.
   * @param {Scenario} other
   * @param {Results} results
   */
  #complete(other, results) {
    const { observe, privacy, ...scenario } = other;
    const about = () => [this.#known?.results];
    const show = (/** @type {unknown} */ _answer, /** @type {boolean} */ isCurrent) => {
      if (isCurrent) this.#show(results);
    };
    const { exact, exposure } = this.#channels;
    follow("other-exact", {
      about,
      task: async () =>
        results.exact ??
        exact.latest(async (signal) => {
          results.exact ??= await ask("/api/exact", { scenario }, signal, OTHER_TAB);
          return results.exact;
        }),
      show,
    });
    if (this.store.view.colour !== "exposure") return;
    const question = { scenario: { ...other, observe: observerOf(other) } };
    follow("other-exposure", {
      about,
      task: async () =>
        results.exposure ??
        exposure.latest(async (signal) => {
          results.exposure ??= await ask("/api/exposure", question, signal, OTHER_TAB);
          return results.exposure;
        }),
      show,
      onRefusal: reported,
    });
  }

  /** @param {Results | null} results */
  #show(results) {
    const { second, stage } = this;
    if (results) second.show(results);
    else second.shown = null;
    stage.second = results ? second : null;
    stage.rescale();
    if (results) this.#showVerdict(results);
    this.onChange(results);
    this.showDifferences();
    this.mark();
  }

  /** @param {boolean} comparing */
  #showFrame(comparing) {
    document.documentElement.toggleAttribute("data-comparing", comparing);
    for (const id of ["picture-a", "picture-name-b", "verdict-a", "comparison"]) byId(id).hidden = !comparing;
    byId("compare").setAttribute("aria-pressed", String(comparing));
  }

  /** @param {Results} results */
  #showVerdict({ run, exact }) {
    const { verdict } = run.header;
    byId("verdict-a").dataset.outcome = verdict.outcome;
    byId("verdict-a-heading").textContent = verdict.heading;
    byId("name-a").textContent = verdict.heading;
    const outlook = exact?.header.verdict?.outlook ?? "";
    byId("verdict-a-sentence").textContent = `${verdict.summary} ${outlook}`.trim();
  }

  /** Say what differs now, and in which words each network ends. */
  showDifferences() {
    const { other, scenario } = this.store;
    if (!other) return;
    const changes = differences(other, scenario, this.catalogue);
    const rows = changes.slice(0, MAX_ROWS).map(({ path, title, a, b }) => {
      const head = el("th", { scope: "row" }, title);
      return el(
        "tr",
        { "data-differs": path },
        head,
        el("td", { class: "numeral" }, a),
        el("td", { class: "numeral" }, b),
      );
    });
    byId("differences").replaceChildren(...rows);
    byId("differences-table").hidden = changes.length === 0;
    const more = changes.length - rows.length;
    const none = "Nothing yet. A stays as it is; whatever you change now is B.";
    byId("differences-note").textContent = changes.length ? (more > 0 ? `and ${more} more` : "") : none;
  }

  /** Say which run has ended before the time shown. */
  mark() {
    const runs = { "ended-a": this.second.shown?.run, "ended-b": this.stage.run };
    for (const [id, run] of Object.entries(runs)) {
      const end = run?.arrays.times.at(-1) ?? Infinity;
      byId(id).hidden = this.stage.clock.time <= end;
      byId(id).textContent = `ended at t = ${formatCount(end)}`;
    }
  }
}

/** @param {import("./api.js").Refusal} refusal */
function reported({ message }) {
  showMessage(`A: ${message}`, "bad");
}
