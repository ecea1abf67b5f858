// The stage: the network, coloured by what is known of the agents at the time that is shown.

import { cssColour, currentTheme, exposureScale, FOLLOWED_COLOURS, opinionScale } from "./colour.js";
import { byId } from "./elements.js";
import { agentName } from "./format.js";
import { MIN_RINGED_SIZE, NetworkView } from "./network-view.js";
import { setDrawing } from "./picture.js";
import { sampleOf } from "./run-shape.js";
import { commonDomain, ShownRun } from "./shown-run.js";

/**
 * @typedef {import("./network-view.js").BrushCircle} BrushCircle
 * @typedef {import("./network-view.js").Look} Look
 * @typedef {import("./playback.js").Clock} Clock
 * @typedef {import("./shown-run.js").Domain} Domain
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").FollowedAgent} FollowedAgent
 * @typedef {import("./types.js").ExposureAnswer} ExposureAnswer
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 *
 * @typedef {object} SecondPicture another network beside this one
 * @property {ShownRun | null} shown
 * @property {(style: Style) => void} paint
 *
 * @typedef {object} Style what the networks of a comparison have in common
 * @property {import("./types.js").View["colour"]} colour
 * @property {import("./screen-layout.js").ScreenLayout} layout
 * @property {import("./colour.js").Scale} scale
 * @property {(value: number) => number} part
 * @property {(value: number) => number} ringPart
 * @property {Float32Array | null} ring
 * @property {Map<number, string>} followed
 * @property {number} cursor
 */

// Agents whose curves are drawn one by one; more could not be told apart.
const MAX_SAMPLE = 48;

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

/**
 * Return the height that the key takes at the bottom of the stage.
 * @param {HTMLElement} key
 */
export function roomFor(key) {
  // Dots reach beyond the places of their agents.
  const [gap, holder] = [14, key.offsetParent];
  return gap + (holder?.clientHeight ?? 0) - key.offsetTop;
}

/**
 * Return how much is learned about each agent, from 0 to 1; null if that is not known.
 * @param {ExposureAnswer | null} answer
 * @param {number} n
 */
export function exposureOf(answer, n) {
  if (!answer) return null;
  const { header, arrays } = answer;
  const prior = header.prior_std;
  if (arrays.exposure?.length !== n || prior === null) return null;
  return Float32Array.from(arrays.exposure, (posterior) => 1 - posterior / prior);
}

export class Stage {
  /** @type {NetworkAnswer | null} */
  graph = null;
  /** @type {ShownRun | null} */
  #shown = null;
  /**
   * The network that is compared with, in the same colours and at the same time.
   * @type {SecondPicture | null}
   */
  second = null;
  /** @type {ExposureAnswer | null} */
  exposure = null;
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
   * Agents that stand for all of them in curves, in the order of their hidden opinions.
   * @type {number[]}
   */
  #sample = [];
  #opinionScale = opinionScale(currentTheme());
  #exposureScale = exposureScale(currentTheme());
  #frame = 0;
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
    const key = byId("key");
    this.view = new NetworkView(this.canvas, tools, (index) => String(this.labelOf(index)));
    setDrawing(this.canvas, (scale) => this.view.picture(scale, { ...this.look, cursor: -1, brush: null }));
    this.restyle();
    clock.onChange(() => this.invalidate());
    const fitting = new ResizeObserver(() => {
      if (key.offsetHeight) this.view.below = roomFor(key);
      this.view.refit();
      this.#showKey();
      this.showMarks();
      this.paint();
    });
    for (const element of [this.canvas, key, ...tools]) fitting.observe(element);
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
      this.exposure = null;
    }
    this.#shown = new ShownRun(run, this.clock);
    this.#sample = sampleOf(run.arrays.hidden.subarray(0, run.header.n), MAX_SAMPLE);
    this.preview = null;
    this.rescale();
  }

  /** Take the colours from the runs that are shown. */
  rescale() {
    if (this.#shown) this.domain = commonDomain(this.#runs.map(({ domain }) => domain));
    this.#showKey();
    this.invalidate();
  }

  get run() {
    return this.#shown?.run ?? null;
  }

  /** Some agents, with the colours of their hidden opinions at the start. */
  get sample() {
    const hidden = this.run?.arrays.hidden ?? [];
    return { agents: this.#sample, colours: this.#sample.map((agent) => this.colourOf(hidden[agent])) };
  }

  /** Return where an opinion lies among all of the run, from 0 to 1. */
  partOf(/** @type {number} */ value) {
    const { centre, half } = this.domain;
    return 0.5 + (value - centre) / (2 * half);
  }

  /** Return the colour of an opinion. */
  colourOf(/** @type {number} */ value) {
    const { css, level } = this.#opinionScale;
    return css[level(this.partOf(value))];
  }

  /** The range of public opinions from the first step on, and of hidden ones. */
  get opinionRange() {
    const { minimum = [], maximum = [], times = [], hidden = [] } = this.run?.arrays ?? {};
    const length = times.length;
    let [low, high] = [Infinity, -Infinity];
    const include = (/** @type {number} */ value) => {
      if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
    };
    for (let t = 0; t < length; t += 1) {
      include(minimum[t]);
      include(maximum[t]);
    }
    for (let i = 0; i < hidden.length; i += 1) include(hidden[i]);
    return low <= high ? { low, high } : { low: 0, high: 1 };
  }

  /** The run, and the one that it is compared with. */
  get #runs() {
    return [this.#shown, this.second?.shown].filter((shown) => shown instanceof ShownRun);
  }

  /** @param {import("./network-view.js").EdgeGroup[] | null} groups null for the network's own edges */
  setEdges(groups) {
    this.view.setEdges(groups);
    this.invalidate();
  }

  /** @param {ExposureAnswer | null} exposure */
  setExposure(exposure) {
    this.exposure = exposure;
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
   * Return the labels of the agents with the most neighbours.
   * @param {number} count
   */
  hubs(count) {
    const degrees = this.graph?.arrays.degrees ?? new Float32Array();
    const order = Array.from(degrees.keys()).sort((a, b) => degrees[b] - degrees[a]);
    return order.slice(0, count).map((index) => this.labelOf(index));
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
    return this.preview ?? this.#shown?.hidden ?? new Float32Array(0);
  }

  /**
   * What all agents show, interpolated between steps while playing. The array is overwritten by the next call.
   * @returns {Float32Array}
   */
  get shown() {
    return this.#shown?.shown ?? new Float32Array(0);
  }

  /** Draw in the next frame. */
  invalidate() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame((now) => {
      this.#frame = 0;
      this.clock.tick(now);
      this.paint();
      if (this.clock.playing) this.invalidate();
    });
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
    const gradient = (/** @type {import("./colour.js").Scale} */ { css }) => {
      return `linear-gradient(to right, ${css.filter((_, level) => level % 16 === 0).join(", ")})`;
    };
    byId("key-bar").style.setProperty("background", gradient(scale));
    byId("strip-bar").style.setProperty("background", gradient(this.#opinionScale));
    const button = byId("zoom-colours");
    button.hidden = exposed || !this.#varies;
    button.setAttribute("aria-pressed", String(this.zoomed));
    const zoomed = this.#isZoomed && !exposed;
    const rings = !exposed && this.store.view.colour !== "hidden" && this.view.size >= MIN_RINGED_SIZE;
    const [low, centre, high] = rangeLabels(this.domain);
    [...byId("strip-marks").children].forEach((mark, k) => {
      mark.textContent = [low, centre, high][k];
    });
    byId("key").dataset.zoomed = String(zoomed);
    // Rings would need other colours than these.
    byId("key-note").textContent = zoomed
      ? `Zoomed in: hidden opinions span ${low} to ${high}, and have no rings here.`
      : rings
        ? "simple" in document.documentElement.dataset
          ? "A dot is a person. Fill: what they say, ring: what they think."
          : "A dot is an agent. Fill: public opinion, ring: hidden opinion."
        : "A dot is an agent, in the colour of what is chosen above.";
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
    const { centre } = this.domain;
    return this.#runs.every(({ run: { header }, domain }) => {
      return !header.own_limits && !header.signed && domain.centre === centre;
    });
  }

  get #byHidden() {
    return this.store.view.colour === "hidden" || this.preview !== null;
  }

  /** Whether the opinions that are shown as fill change with time. */
  get #varies() {
    return !this.#byHidden || this.#runs.some(({ adapts }) => adapts);
  }

  /** Whether the colours are those of a part of the opinions. */
  get #isZoomed() {
    return this.zoomed && this.#varies;
  }

  /**
   * The colours at the time shown.
   * @returns {Domain}
   */
  get #present() {
    if (!this.#isZoomed) return this.domain;
    const name = this.#byHidden ? "hidden" : "public";
    const half = Math.max(...this.#runs.map((shown) => shown.reach(name, this.domain)));
    return { centre: this.domain.centre, half };
  }

  /** How much is learned about each agent, from 0 to 1; null if the network is not coloured by it. */
  #exposure() {
    return this.store.view.colour === "exposure" ? exposureOf(this.exposure, this.n) : null;
  }

  /**
   * How the network is drawn now.
   * @returns {Look}
   */
  get look() {
    const exposure = this.#exposure();
    const byHidden = this.#byHidden;
    const partOf = (/** @type {Domain} */ { centre, half }) => {
      return (/** @type {number} */ value) => 0.5 + (value - centre) / (2 * half);
    };
    return {
      fill: exposure ?? (byHidden ? this.hidden : this.shown),
      ring: exposure || byHidden || this.#isZoomed ? null : this.hidden,
      scale: exposure ? this.#exposureScale : this.#opinionScale,
      part: exposure ? (value) => value : partOf(this.#present),
      // Hidden opinions that do not change keep their colours.
      ringPart: partOf(this.domain),
      followed: new Map(this.followed.map(({ index }, i) => [index, cssColour(FOLLOWED_COLOURS[i])])),
      observed: this.marksObserved ? this.#observedAgents() : null,
      cursor: this.cursor,
      brush: this.brush,
    };
  }

  /** Draw now. */
  paint() {
    if (!this.run) return;
    const look = this.look;
    const exposed = look.scale === this.#exposureScale;
    this.#showRange(exposed);
    this.view.draw(look);
    const colour = exposed ? "exposure" : this.#byHidden ? "hidden" : "public";
    this.second?.paint({ ...look, colour, layout: this.view.layout });
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
