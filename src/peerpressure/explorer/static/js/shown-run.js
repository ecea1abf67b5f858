// A run at the time that is shown: what its agents show and think then, and how wide their opinions are.

import { positionAt } from "./playback.js";
import { reachFromNowOn, rowExtremes } from "./run-shape.js";

/**
 * @typedef {import("./playback.js").Clock} Clock
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 *
 * @typedef {{centre: number, half: number}} Domain the opinion in the middle of the colours, and their reach to both sides
 */

/**
 * Return the domain that contains all of the given ones.
 * @param {Domain[]} domains
 * @returns {Domain}
 */
export function commonDomain(domains) {
  const [low, high] = [
    Math.min(...domains.map(({ centre, half }) => centre - half)),
    Math.max(...domains.map(({ centre, half }) => centre + half)),
  ];
  // A centre that all have in common stays; else no opinion deserves to be grey more than another.
  const { centre } = domains[0];
  const shared = domains.every((one) => Math.abs(one.centre - centre) <= 1e-6 * (high - low));
  return shared
    ? { centre, half: Math.max(high - centre, centre - low) }
    : { centre: (low + high) / 2, half: (high - low) / 2 };
}

export class ShownRun {
  /** Reused for every frame. */
  #shown = new Float32Array(0);
  /**
   * How far opinions are from the centre of some colours at each time or later; made when needed.
   * @type {Map<string, Float32Array>}
   */
  #reach = new Map();

  /**
   * @param {RunAnswer} run
   * @param {Clock} clock
   */
  constructor(run, clock) {
    this.run = run;
    this.clock = clock;
    this.domain = this.#measure();
  }

  get n() {
    return this.run.header.n;
  }

  /** The last recorded step. */
  get lastIndex() {
    return this.run.arrays.times.length - 1;
  }

  /** The position of the clock in this run, which may be shorter than the one that the clock follows. */
  get position() {
    const { times } = this.run.arrays;
    const { position, timeNow } = this.clock;
    if (times === this.clock.times) return position;
    // Between steps only if the clock is.
    return Number.isInteger(position) ? Math.round(positionAt(times, timeNow)) : positionAt(times, timeNow);
  }

  /** The recorded step nearest to the position. */
  get index() {
    return Math.min(this.lastIndex, Math.round(this.position));
  }

  /**
   * What all agents show, interpolated between steps while playing. The array is overwritten by the next call.
   * @returns {Float32Array}
   */
  get shown() {
    const { n, position, lastIndex } = this;
    const { states } = this.run.arrays;
    if (this.#shown.length !== n) this.#shown = new Float32Array(n);
    const low = Math.min(lastIndex, Math.floor(position));
    const high = Math.min(lastIndex, low + 1);
    const part = this.clock.holds ? 0 : position - low;
    for (let i = 0; i < n; i += 1) {
      const from = states[low * n + i];
      this.#shown[i] = part > 0 ? from + part * (states[high * n + i] - from) : from;
    }
    return this.#shown;
  }

  /**
   * What all agents think.
   * @returns {Float32Array}
   */
  get hidden() {
    const { hidden } = this.run.arrays;
    return this.adapts ? hidden.subarray(this.index * this.n, (this.index + 1) * this.n) : hidden;
  }

  /** Whether hidden opinions change, and so have a row for each time. */
  get adapts() {
    return this.run.arrays.hidden.shape.length === 2;
  }

  /**
   * Return how far opinions are from the centre of the colours now or later, within their reach.
   * @param {"public" | "hidden"} name
   * @param {Domain} domain
   */
  reach(name, { centre, half }) {
    if (name === "hidden" && !this.adapts) return half;
    const key = `${name} ${centre} ${half}`;
    const reach = this.#reach.get(key) ?? this.#measureReach(name, centre, half);
    // One entry is enough: colours change with the run, or with what it is compared with.
    if (!this.#reach.has(key)) this.#reach = new Map([[key, reach]]);
    const { position, lastIndex } = this;
    const before = Math.min(lastIndex, Math.floor(position));
    const after = Math.min(lastIndex, before + 1);
    return reach[before] + (position - before) * (reach[after] - reach[before]);
  }

  /**
   * @param {"public" | "hidden"} name
   * @param {number} centre
   * @param {number} half
   */
  #measureReach(name, centre, half) {
    const { arrays } = this.run;
    const { low, high } =
      name === "hidden" ? rowExtremes(arrays.hidden) : { low: arrays.minimum, high: arrays.maximum };
    // Rows of the first replicate come first.
    const length = arrays.times.length;
    return reachFromNowOn(low.subarray(0, length), high.subarray(0, length), centre, half);
  }

  /**
   * Return the domain of the colours: centred on v, and as wide as the hidden opinions, or if these are all equal, as
   * what agents show.
   * @returns {Domain}
   */
  #measure() {
    const { header, arrays } = this.run;
    // Camps have opposite opinions, which lie on both sides of 0.
    const centre = header.signed ? 0 : header.consensus_value;
    let half = 0;
    for (const value of arrays.hidden) half = Math.max(half, Math.abs(value - centre));
    if (half === 0) for (const value of arrays.states) half = Math.max(half, Math.abs(value - centre));
    return { centre, half: half || 1 };
  }
}
