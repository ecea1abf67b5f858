// The stage: the network, coloured by what is known of the agents at the time that is shown.

import { cssColour, currentTheme, exposureScale, FOLLOWED_COLOURS, opinionScale } from "./colour.js";
import { byId } from "./elements.js";
import { agentName } from "./format.js";
import { MIN_RINGED_SIZE, NetworkView } from "./network-view.js";
import { reachFromNowOn, rowExtremes } from "./run-shape.js";

/**
 * @typedef {import("./network-view.js").BrushCircle} BrushCircle
 * @typedef {import("./playback.js").Clock} Clock
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").FollowedAgent} FollowedAgent
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").ObserveAnswer} ObserveAnswer
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 *
 * @typedef {{centre: number, half: number}} Domain the opinion in the middle of the colours, and their reach to both sides
 */

/**
 * Return the ends and the centre of a range of colours as text, with decimals to match the range.
 * @param {Domain} domain
 */
function rangeLabels({ centre, half }) {
  const decimals = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(half))));
  const unit = 10 ** -decimals;
  // Adding 0 turns −0 into 0.
  const round = (/** @type {number} */ value) =>
    (Math.round(value / unit) * unit + 0).toFixed(decimals).replace("-", "−");
  return [round(centre - half), round(centre), round(centre + half)];
}

export class Stage {
  /** @type {NetworkAnswer | null} */
  graph = null;
  /** @type {RunAnswer | null} */
  run = null;
  /** @type {ObserveAnswer | null} */
  observation = null;
  /**
   * Hidden opinions that are being drawn, until the server has answered.
   * @type {Float32Array | null}
   */
  preview = null;
  /** The agent under the pointer or the keyboard's cursor, −1 for none. */
  cursor = -1;
  /** @type {BrushCircle | null} */
  brush = null;
  /** Whether the agents that the observer sees are marked. */
  marksObserved = false;
  /**
   * Called after each frame.
   * @type {(() => void) | undefined}
   */
  onPaint;
  /**
   * The colours of all opinions in the run.
   * @type {Domain}
   */
  domain = { centre: 0, half: 1 };
  /** Whether colours span the opinions from the time shown on, rather than all of them. */
  zoomed = false;
  /**
   * How far opinions are from the centre at each time or later; made when needed.
   * @type {{public: Float32Array | null, hidden: Float32Array | null}}
   */
  #reach = { public: null, hidden: null };
  #opinionScale = opinionScale(currentTheme());
  #exposureScale = exposureScale(currentTheme());
  #frame = 0;
  /** Reused for every frame. */
  #shown = new Float32Array(0);
  /** @type {Map<AgentLabel, number>} */
  #indices = new Map();
  /** @type {{agents: unknown, graph: unknown, indices: number[] | null}} */
  #observed = { agents: null, graph: null, indices: null };

  /**
   * @param {Store} store
   * @param {Clock} clock
   */
  constructor(store, clock) {
    this.store = store;
    this.clock = clock;
    this.canvas = byId("network", HTMLCanvasElement);
    const tools = [byId("stage-tools"), byId("brush")];
    this.view = new NetworkView(this.canvas, tools, (index) => String(this.labelOf(index)));
    this.restyle();
    clock.onChange(() => this.invalidate());
    const fitting = new ResizeObserver(() => {
      this.view.refit();
      this.showMarks();
      this.#paint();
    });
    for (const element of [this.canvas, ...tools]) fitting.observe(element);
  }

  /**
   * Show a run and its network.
   * @param {NetworkAnswer} graph
   * @param {RunAnswer} run
   */
  show(graph, run) {
    if (graph !== this.graph) {
      this.graph = graph;
      this.#indices = new Map((graph.header.labels ?? []).map((label, i) => [label, i]));
      this.view.setGraph({ n: graph.header.n, exact: graph.header.exact, ...graph.arrays });
      this.showMarks();
      this.cursor = -1;
      this.observation = null;
    }
    this.run = run;
    this.preview = null;
    this.domain = this.#measure(run);
    this.#reach = { public: null, hidden: null };
    this.#showKey();
    this.invalidate();
  }

  /** @param {import("./network-view.js").EdgeGroup[] | null} groups null for the network's own edges */
  setEdges(groups) {
    this.view.setEdges(groups);
    this.invalidate();
  }

  /** @param {ObserveAnswer | null} observation */
  setObservation(observation) {
    this.observation = observation;
    this.#showKey();
    this.invalidate();
  }

  restyle() {
    const theme = currentTheme();
    this.#opinionScale = opinionScale(theme);
    this.#exposureScale = exposureScale(theme);
    this.view.drawEdges();
    this.#showKey();
    this.invalidate();
  }

  get n() {
    return this.graph?.header.n ?? 0;
  }

  /**
   * @param {number} index
   * @returns {AgentLabel}
   */
  labelOf(index) {
    return this.graph?.header.labels?.[index] ?? index;
  }

  /**
   * @param {AgentLabel} label
   * @returns {number} −1 if no agent has this label
   */
  indexOf(label) {
    if (this.graph?.header.labels) return this.#indices.get(label) ?? -1;
    return typeof label === "number" && Number.isInteger(label) && label >= 0 && label < this.n ? label : -1;
  }

  /**
   * The agents that are followed, as far as this network has them.
   * @returns {FollowedAgent[]}
   */
  get followed() {
    return this.store.view.agents
      .map((label) => ({ index: this.indexOf(label), label, name: agentName(label) }))
      .filter(({ index }) => index >= 0)
      .slice(0, FOLLOWED_COLOURS.length);
  }

  /**
   * What all agents think at the time that is shown.
   * @returns {Float32Array}
   */
  get hidden() {
    if (this.preview) return this.preview;
    if (!this.run) return new Float32Array(0);
    const { hidden } = this.run.arrays;
    // Opinions that adapt have a row for each time.
    if (hidden.shape.length !== 2) return hidden;
    return hidden.subarray(this.clock.index * this.n, (this.clock.index + 1) * this.n);
  }

  /**
   * What all agents show, interpolated between steps while playing. The array is overwritten by the next call.
   * @returns {Float32Array}
   */
  get shown() {
    const states = this.run?.arrays.states;
    const { n } = this;
    if (!states) return this.#shown;
    if (this.#shown.length !== n) this.#shown = new Float32Array(n);
    const { position, lastIndex } = this.clock;
    const low = Math.min(lastIndex, Math.floor(position));
    const high = Math.min(lastIndex, low + 1);
    const part = position - low;
    for (let i = 0; i < n; i += 1) {
      const from = states[low * n + i];
      this.#shown[i] = part > 0 ? from + part * (states[high * n + i] - from) : from;
    }
    return this.#shown;
  }

  /** Draw in the next frame. */
  invalidate() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame((now) => {
      this.#frame = 0;
      this.clock.tick(now);
      this.#paint();
      if (this.clock.playing) this.invalidate();
    });
  }

  /**
   * Return the domain of the colour scale: centred on v, and as wide as the hidden opinions, or if these are all equal,
   * as what agents show.
   * @param {RunAnswer} run
   */
  #measure({ header, arrays }) {
    // Camps have opposite opinions, which lie on both sides of 0.
    const centre = header.signed ? 0 : header.consensus_value;
    let half = 0;
    for (const value of arrays.hidden) half = Math.max(half, Math.abs(value - centre));
    if (half === 0) for (const value of arrays.states) half = Math.max(half, Math.abs(value - centre));
    return { centre, half: half || 1 };
  }

  /** Show what the drawing tells apart: arrows, distrust and zealots. Arrows depend on the zoom. */
  showMarks() {
    const { oneWay, mutual, heads, negative, zealots } = this.view.marks;
    const shown = {
      arrow: oneWay && heads,
      "no-arrow": oneWay && !heads,
      mutual: oneWay && mutual,
      negative,
      zealot: zealots,
    };
    const key = byId("network-key");
    for (const [name, visible] of Object.entries(shown)) {
      /** @type {HTMLElement} */ (key.querySelector(`[data-key="${name}"]`)).hidden = !visible;
    }
    key.hidden = !Object.values(shown).includes(true);
  }

  #showKey() {
    const exposed = this.#exposure() !== null;
    const scale = exposed ? this.#exposureScale : this.#opinionScale;
    const stops = scale.css.filter((_, level) => level % 16 === 0).join(", ");
    byId("key-bar").style.setProperty("background", `linear-gradient(to right, ${stops})`);
    const button = byId("zoom-colours");
    button.hidden = exposed || !this.#varies;
    button.setAttribute("aria-pressed", String(this.zoomed));
    const rings = !exposed && this.store.view.colour !== "hidden" && this.view.size >= MIN_RINGED_SIZE;
    const [low, , high] = rangeLabels(this.domain);
    byId("key-note").hidden = !rings;
    byId("key-note").textContent = this.zoomed
      ? `fill: public opinion now · ring: hidden opinion, ${low} to ${high}`
      : "fill: public opinion · ring: hidden opinion";
    this.#showRange(exposed);
  }

  /** @param {boolean} exposed whether exposure is shown rather than opinions */
  #showRange(exposed) {
    const [low, centre, high] = rangeLabels(this.#present);
    const labels = exposed
      ? ["nothing learned", "", "fully known"]
      : [low, this.#hasTarget ? `v = ${centre}` : centre, high];
    ["key-low", "key-middle", "key-high"].forEach((id, i) => {
      const place = byId(id);
      if (place.textContent !== labels[i]) place.textContent = labels[i];
    });
  }

  /** Whether all agents come to the value at the centre of the colours. */
  get #hasTarget() {
    return !this.run?.header.own_limits && !this.run?.header.signed;
  }

  get #byHidden() {
    return this.store.view.colour === "hidden" || this.preview !== null;
  }

  /** Whether the opinions that are shown as fill change with time. */
  get #varies() {
    return !this.#byHidden || this.run?.arrays.hidden.shape.length === 2;
  }

  /**
   * The colours at the time shown.
   * @returns {Domain}
   */
  get #present() {
    if (!this.zoomed || !this.run || !this.#varies) return this.domain;
    const { centre, half } = this.domain;
    const { arrays } = this.run;
    const name = this.#byHidden ? "hidden" : "public";
    const { low, high } =
      name === "hidden" && !this.#reach.hidden
        ? rowExtremes(arrays.hidden)
        : { low: arrays.minimum, high: arrays.maximum };
    // Rows of the first replicate come first.
    const length = arrays.times.length;
    const reach = this.#reach[name] ?? reachFromNowOn(low.subarray(0, length), high.subarray(0, length), centre, half);
    this.#reach[name] = reach;
    const { position, lastIndex } = this.clock;
    const before = Math.min(lastIndex, Math.floor(position));
    const after = Math.min(lastIndex, before + 1);
    return { centre, half: reach[before] + (position - before) * (reach[after] - reach[before]) };
  }

  /** How much is learned about each agent, from 0 to 1; null if the network is not coloured by it. */
  #exposure() {
    if (this.store.view.colour !== "exposure" || !this.observation) return null;
    const { header, arrays } = this.observation;
    const prior = header.exposure.prior_std;
    if (arrays.exposure?.length !== this.n || prior === null) return null;
    return Float32Array.from(arrays.exposure, (posterior) => 1 - posterior / prior);
  }

  #paint() {
    if (!this.run) return;
    const exposure = this.#exposure();
    const byHidden = this.#byHidden;
    const partOf = (/** @type {Domain} */ { centre, half }) => {
      return (/** @type {number} */ value) => 0.5 + (value - centre) / (2 * half);
    };
    this.#showRange(exposure !== null);
    this.view.draw({
      fill: exposure ?? (byHidden ? this.hidden : this.shown),
      ring: exposure || byHidden ? null : this.hidden,
      scale: exposure ? this.#exposureScale : this.#opinionScale,
      part: exposure ? (value) => value : partOf(this.#present),
      // Hidden opinions that do not change keep their colours.
      ringPart: partOf(this.domain),
      followed: new Map(this.followed.map(({ index }, i) => [index, cssColour(FOLLOWED_COLOURS[i])])),
      observed: this.marksObserved ? this.#observedAgents() : null,
      cursor: this.cursor,
      brush: this.brush,
    });
    this.onPaint?.();
  }

  /** The agents that the observer sees, null if it sees everyone. */
  #observedAgents() {
    const agents = this.store.scenario.observe?.agents;
    // Looking up thousands of labels in every frame would be slow.
    if (this.#observed.agents !== agents || this.#observed.graph !== this.graph) {
      const indices = agents?.map((label) => this.indexOf(label)).filter((index) => index >= 0) ?? null;
      this.#observed = { agents, graph: this.graph, indices };
    }
    return this.#observed.indices;
  }
}
