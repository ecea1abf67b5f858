// The stage: what is known of the agents, painted on the network at the time that the clock shows.

import { FOLLOWED, exposureScale, opinionScale, token } from "./colour.js";
import { byId } from "./elements.js";
import { NetworkView } from "./network-view.js";
import { currentTheme } from "./theme.js";
import { nameOf } from "./words.js";

/**
 * @typedef {import("./wire.js").Packed} Packed
 * @typedef {import("./clock.js").Clock} Clock
 * @typedef {import("./store.js").Store} Store
 */

/**
 * Name both ends and the middle of a span of opinions, with decimals to match its width.
 * @param {number} centre @param {number} half
 */
function spanWords(centre, half) {
  const decimals = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(half))));
  const unit = 10 ** -decimals;
  // Adding 0 takes the sign from a rounded −0.
  const round = (/** @type {number} */ value) =>
    (Math.round(value / unit) * unit + 0).toFixed(decimals).replace("-", "−");
  return [round(centre - half), `v = ${round(centre)}`, round(centre + half)];
}

export class Stage {
  /** @type {Packed | null} */
  graph = null;
  /** @type {Packed | null} */
  run = null;
  /** @type {Packed | null} */
  seen = null;
  /** Hidden opinions while they are being drawn, before the server has answered. @type {Float32Array | null} */
  preview = null;
  /** The agent under the pointer or the keyboard's cursor, −1 for none. */
  cursor = -1;
  /** @type {{x: number, y: number, reach: number} | null} */
  brush = null;
  /** Whether who is seen by the observer is marked. */
  marksSeen = false;
  #frame = 0;
  #values = new Float32Array(0);
  /** @type {Map<string | number, number>} */
  #indices = new Map();
  /** @type {{agents: unknown, graph: unknown, marks: Uint32Array | null}} */
  #marked = { agents: null, graph: null, marks: null };

  /** @param {Store} store @param {Clock} clock */
  constructor(store, clock) {
    this.store = store;
    this.clock = clock;
    this.canvas = /** @type {HTMLCanvasElement} */ (byId("network"));
    this.view = new NetworkView(this.canvas);
    this.restyle();
    clock.onChange(() => this.invalidate());
    new ResizeObserver(() => {
      this.view.refit();
      this.#paint();
    }).observe(this.canvas);
  }

  /** Show another run, on its network. @param {Packed} graph @param {Packed} run */
  setPicture(graph, run) {
    if (graph !== this.graph) {
      this.graph = graph;
      this.#indices = new Map([...(graph.header.labels ?? []).entries()].map(([at, label]) => [label, at]));
      const { positions, edges, degrees } = graph.arrays;
      this.view.setGraph({ n: graph.header.n, positions, edges, degrees });
      this.cursor = -1;
      this.seen = null;
    }
    this.run = run;
    this.preview = null;
    this.#measure();
    this.invalidate();
  }

  /** Show what an observer learns. @param {Packed | null} seen */
  setSeen(seen) {
    this.seen = seen;
    this.#legend();
    this.invalidate();
  }

  restyle() {
    const theme = currentTheme();
    this.opinions = opinionScale(theme);
    this.exposures = exposureScale(theme);
    this.view.drawEdges();
    this.#legend();
    this.invalidate();
  }

  get n() {
    return this.graph?.header.n ?? 0;
  }

  /** @param {number} index @returns {string | number} */
  labelOf(index) {
    return this.graph?.header.labels?.[index] ?? index;
  }

  /** @param {string | number} label @returns {number} the agent's place, −1 if there is none of this label */
  indexOf(label) {
    if (this.graph?.header.labels) return this.#indices.get(label) ?? -1;
    return Number.isInteger(label) && label >= 0 && label < this.n ? /** @type {number} */ (label) : -1;
  }

  /** The agents that are followed, as far as this network has them. */
  get followed() {
    return this.store.view.agents
      .map((label) => ({ index: this.indexOf(label), label: nameOf(label), name: label }))
      .filter(({ index }) => index >= 0)
      .slice(0, FOLLOWED.length);
  }

  /** What all agents think at the step that is shown. @returns {Float32Array} */
  get hidden() {
    if (this.preview) return this.preview;
    const hidden = /** @type {any} */ (this.run?.arrays.hidden ?? new Float32Array(0));
    if (hidden.shape?.length !== 2) return hidden;
    return hidden.subarray(this.clock.index * this.n, (this.clock.index + 1) * this.n);
  }

  /** What all agents show now; between two steps while playing, part of the way. @returns {Float32Array} */
  get shown() {
    const states = this.run?.arrays.states;
    const n = this.n;
    if (!states) return this.#values;
    if (this.#values.length !== n) this.#values = new Float32Array(n);
    const low = Math.min(this.clock.end, Math.floor(this.clock.at));
    const high = Math.min(this.clock.end, low + 1);
    const part = this.clock.at - low;
    for (let i = 0; i < n; i += 1) {
      const from = states[low * n + i];
      this.#values[i] = part > 0 ? from + part * (states[high * n + i] - from) : from;
    }
    return this.#values;
  }

  /** Draw as soon as the browser wants the next frame. */
  invalidate() {
    if (!this.#frame) {
      this.#frame = requestAnimationFrame((now) => {
        this.#frame = 0;
        this.clock.tick(now);
        this.#paint();
        if (this.clock.playing) this.invalidate();
      });
    }
  }

  /** Colours are centred on v and reach as far as any hidden opinion does. */
  #measure() {
    const v = this.run?.header.consensus_value ?? 0;
    let half = 0;
    for (const value of this.run?.arrays.hidden ?? []) half = Math.max(half, Math.abs(value - v));
    if (half === 0) for (const value of this.run?.arrays.states ?? []) half = Math.max(half, Math.abs(value - v));
    this.domain = { centre: v, half: half || 1 };
    this.#legend();
  }

  #legend() {
    const exposed = this.#exposure() !== null;
    const scale = exposed ? this.exposures : this.opinions;
    const { centre, half } = this.domain ?? { centre: 0, half: 1 };
    const stops = scale.css.filter((_, level) => level % 16 === 0).join(", ");
    byId("key-bar").style.setProperty("background", `linear-gradient(to right, ${stops})`);
    const words = exposed ? ["nothing learned", "", "fully known"] : spanWords(centre, half);
    ["key-low", "key-middle", "key-high"].forEach((id, at) => {
      byId(id).textContent = words[at];
    });
    byId("key-note").hidden = exposed || this.store.view.colour === "hidden" || this.view.size < 4.2;
  }

  /** The share of what could be learned that is learned about each agent, if the network is painted by it. */
  #exposure() {
    const left = this.seen?.arrays.exposure;
    if (this.store.view.colour !== "exposure" || !left || left.length !== this.n) return null;
    const prior = this.seen?.header.exposure?.prior_std;
    return Float32Array.from(left, (std) => 1 - std / prior);
  }

  #paint() {
    if (!this.run || !this.domain) return;
    const { centre, half } = this.domain;
    const exposed = this.#exposure();
    const byHidden = this.store.view.colour === "hidden" || this.preview !== null;
    this.view.draw({
      fill: exposed ?? (byHidden ? this.hidden : this.shown),
      ring: exposed || byHidden ? null : this.hidden,
      scale: exposed ? this.exposures : this.opinions,
      part: exposed ? (value) => value : (value) => 0.5 + (value - centre) / (2 * half),
      followed: new Map(this.followed.map(({ index }, at) => [index, token(FOLLOWED[at])])),
      seen: this.marksSeen ? this.seenMarks : null,
      cursor: this.cursor,
      brush: this.brush,
    });
    this.onPaint?.();
  }

  /** Whom the observer sees, 1 or 0 for each agent; null where it sees everybody. */
  get seenMarks() {
    const agents = this.store.scenario.observe?.agents;
    if (this.#marked.agents !== agents || this.#marked.graph !== this.graph) {
      const marks = agents ? new Uint32Array(this.n) : null;
      for (const label of agents ?? []) {
        const index = this.indexOf(label);
        if (marks && index >= 0) marks[index] = 1;
      }
      this.#marked = { agents, graph: this.graph, marks };
    }
    return this.#marked.marks;
  }

  /** Called after every frame, for what follows the agents about. @type {(() => void) | undefined} */
  onPaint;
}
