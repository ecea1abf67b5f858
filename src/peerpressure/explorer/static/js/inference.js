// The network that the observer infers: its edges over the true ones at the time shown, and how good they are over time.

import { cssColour } from "./colour.js";
import { byId, el } from "./elements.js";
import { formatCount, formatFixed } from "./format.js";
import { Plot } from "./plot.js";

/**
 * @typedef {import("./network-view.js").EdgeGroup} EdgeGroup
 * @typedef {import("./types.js").InferenceAnswer} InferenceAnswer
 *
 * @typedef {"found" | "false" | "missed"} Kind
 */

// Edges of this confidence are drawn with wider lines.
const CONFIDENT = 0.99;
/**
 * How each kind of edge is drawn, the lowest first. Dashes tell them apart where colours do not.
 * @type {Record<Kind, {colour: string, width: number, dash: number[], alpha: number}>}
 */
const LOOKS = {
  missed: { colour: "edge", width: 1.4, dash: [1.5, 3], alpha: 1 },
  false: { colour: "bad", width: 1.2, dash: [5, 4], alpha: 0.9 },
  found: { colour: "ink", width: 1.2, dash: [], alpha: 0.8 },
};
/** @type {Kind[]} */
const KINDS = ["found", "false", "missed"];

export class Inference {
  /** @type {InferenceAnswer | null} */
  #answer = null;
  #time = 0;
  /** Which of the answer's times is shown, −1 before the first. */
  #index = -1;
  #visible = false;

  /**
   * @param {object} listeners
   * @param {(time: number) => void} listeners.onSeek
   * @param {(groups: EdgeGroup[] | null) => void} listeners.onEdges null for the network as it is
   */
  constructor({ onSeek, onEdges }) {
    this.onEdges = onEdges;
    this.plot = new Plot(byId("plot-precision"), { height: 128, label: "Average precision over time", onSeek });
    byId("edge-key").replaceChildren(
      ...KINDS.map((kind) => {
        const swatch = el("span", { class: `swatch edge-${kind}` });
        return el("li", { "data-key": kind }, swatch, el("output", { class: "numeral" }), kind);
      }),
    );
  }

  /** @param {InferenceAnswer | "pending" | "known" | null} answer null if there is none */
  show(answer) {
    const given = answer instanceof Object ? answer : null;
    const failed = given?.header.failed ?? "";
    this.#answer = failed ? null : given;
    byId("inference").hidden = answer === "known";
    // Until there is an answer the curve of the last one stays, in a paler colour.
    if (answer !== "pending") byId("inference-figure").hidden = this.#answer === null;
    byId("inference-text").textContent = answer === "pending" ? "The network is being inferred…" : failed;
    this.#drawPlot();
    this.#update();
  }

  /**
   * Show the edges on the network, or stop doing so.
   * @param {boolean} visible
   */
  setVisible(visible) {
    if (visible === this.#visible) return;
    this.#visible = visible;
    this.#update();
  }

  /**
   * Show what is inferred from the steps up to a time.
   * @param {number} time
   */
  mark(time) {
    this.#time = time;
    this.plot.mark(time);
    if (this.#answer && this.#indexAt(time) !== this.#index) this.#update();
  }

  restyle() {
    this.#drawPlot();
    this.plot.restyle();
  }

  /** @param {number} time */
  #indexAt(time) {
    return this.#answer?.arrays.times.findLastIndex((one) => one <= time) ?? -1;
  }

  #update() {
    const answer = this.#answer;
    byId("edge-key").hidden = !answer || !this.#visible;
    if (!answer) return this.onEdges(null);
    this.#index = this.#indexAt(this.#time);
    const groups = this.#groups(answer);
    this.onEdges(this.#visible ? groups : null);
    const count = (/** @type {Kind} */ kind) =>
      groups.filter((group) => group.kind === kind).reduce((sum, { edges }) => sum + edges.length / 2, 0);
    for (const kind of KINDS) {
      const output = byId("edge-key").querySelector(`[data-key=${kind}] output`);
      if (!(output instanceof HTMLOutputElement)) continue;
      output.textContent = formatCount(count(kind));
      output.dataset.value = String(count(kind));
    }
    byId("inference-text").replaceChildren(...this.#words(answer, count));
  }

  /**
   * @param {InferenceAnswer} answer
   * @param {(kind: Kind) => number} count
   */
  #words({ arrays }, count) {
    if (this.#index < 0) {
      return [
        `The first edges are inferred from the steps up to ${formatCount(arrays.times[0])}: move forward in time.`,
      ];
    }
    const precision = arrays.average_precision[this.#index];
    const [found, all] = [count("found"), count("found") + count("missed")];
    const output = { class: "numeral", "data-key": "average_precision", "data-value": precision };
    return [
      `From the steps up to ${formatCount(arrays.times[this.#index])}, the observer finds ${formatCount(found)} of the `,
      `${formatCount(all)} edges and takes ${formatCount(count("false"))} other pairs for edges. Average precision `,
      el("output", output, formatFixed(precision, 2)),
      ".",
    ];
  }

  /**
   * Return all pairs by kind and confidence, in the order in which they are drawn.
   * @param {InferenceAnswer} answer
   * @returns {EdgeGroup[]}
   */
  #groups({ arrays }) {
    const { pairs, true: actual, weights, confidence } = arrays;
    const first = this.#index * actual.length;
    /** @type {Map<string, number[]>} */
    const edges = new Map();
    actual.forEach((exists, p) => {
      const inferred = this.#index >= 0 && weights[first + p] > 0;
      if (!inferred && !exists) return;
      const kind = !inferred ? "missed" : exists ? "found" : "false";
      // NaN, where there is no confidence, is not confident either.
      const key = `${kind} ${inferred && confidence[first + p] >= CONFIDENT}`;
      if (!edges.has(key)) edges.set(key, []);
      edges.get(key)?.push(pairs[2 * p], pairs[2 * p + 1]);
    });
    const kinds = /** @type {Kind[]} */ (Object.keys(LOOKS));
    return kinds.flatMap((kind) =>
      [false, true].map((confident) => ({
        ...LOOKS[kind],
        kind,
        width: (confident ? 1.9 : 1) * LOOKS[kind].width,
        edges: Uint32Array.from(edges.get(`${kind} ${confident}`) ?? []),
      })),
    );
  }

  #drawPlot() {
    if (!this.#answer) return;
    const { times, average_precision: precision } = this.#answer.arrays;
    const colour = cssColour("exposed");
    this.plot.show({
      x: times,
      low: 0,
      high: 1,
      logX: true,
      xTitle: "step t",
      lines: [{ values: precision, colour, width: 2 }],
      drawBelow({ ctx, toX, toY, density }) {
        ctx.fillStyle = colour;
        times.forEach((time, i) => {
          ctx.beginPath();
          ctx.arc(toX(time), toY(precision[i]), 3 * density, 0, 2 * Math.PI);
          ctx.fill();
        });
      },
    });
  }
}
