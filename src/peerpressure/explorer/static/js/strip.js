// The story in one strip: what agents hide, what they show, and what an observer recovers, for the same agents.

import { byId, context2d } from "./elements.js";
import { formatCount, formatFixed } from "./format.js";
import { errorAt, recoveredIndex } from "./recovered.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./types.js").RecoveredAnswer} RecoveredAnswer
 */

const RADIUS = { small: 2.6, large: 4.2 };
const MARGIN = 6;
// Where a row is higher than this, agents stand one above the other in it, in the order of what they hide.
const ROOMY = 50;
// The part of a row that they take up.
const FILLED = 0.7;
// Below this nobody sees a difference, and what is said of it is as wide as other numbers.
const TINY = 0.001;

/**
 * Return the difference between the largest and the smallest value.
 * @param {ArrayLike<number>} values
 */
function spreadOf(values) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i += 1) [low, high] = [Math.min(low, values[i]), Math.max(high, values[i])];
  return high - low;
}

export class Strip {
  /** @type {RecoveredAnswer | null} */
  #answer = null;

  /** @param {Stage} stage */
  constructor(stage) {
    this.stage = stage;
    this.canvas = byId("strip-canvas", HTMLCanvasElement);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** @param {RecoveredAnswer | null} answer null if there is none */
  show(answer) {
    this.#answer = answer;
    this.draw();
  }

  /** Draw what is hidden, shown and recovered at the time of the clock. */
  draw() {
    const { stage } = this;
    if (!stage.run || !this.canvas.clientWidth) return;
    const { hidden, shown } = stage;
    const { n } = stage;
    // Until there is an answer for a new network, the last one is that of other agents.
    const isOfThese = this.#answer?.arrays.truth.length === n;
    const row = this.#answer && isOfThese ? recoveredIndex(this.#answer, stage.clock.time) : -1;
    const recovered = row < 0 ? null : this.#answer?.arrays.values.subarray(row * n, (row + 1) * n);
    this.#write("hidden", "spread", spreadOf(hidden));
    this.#write("public", "spread", spreadOf(shown));
    const error = this.#answer && recovered ? errorAt(this.#answer, row).made : null;
    this.#write("recovered", error === null ? "" : "error", error);
    byId("strip-time").textContent = `t = ${formatCount(stage.clock.time)}`;
    this.#drawRows([hidden, shown, ...(recovered ? [recovered] : [])]);
  }

  /**
   * @param {string} name of the row
   * @param {string} words before the number
   * @param {number | null} value null if there is none yet
   */
  #write(name, words, value) {
    const output = byId(`strip-${name}`);
    const isTiny = value !== null && value > 0 && value < TINY;
    const number = value === null || isTiny ? `below ${TINY}` : formatFixed(value);
    const text = value === null || !Number.isFinite(value) ? "nothing yet" : `${words} ${number}`;
    output.dataset.value = String(value);
    if (output.textContent !== text) output.textContent = text;
  }

  /** @param {ArrayLike<number>[]} rows opinions of all agents, from top to bottom */
  #drawRows(rows) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const density = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * density);
    this.canvas.height = Math.round(height * density);
    const ctx = context2d(this.canvas);
    ctx.scale(density, density);
    const { agents, colours } = this.stage.sample;
    const roomy = height / 3 > ROOMY;
    const radius = roomy ? RADIUS.large : RADIUS.small;
    const toX = (/** @type {number} */ value) => {
      const part = Math.min(1, Math.max(0, this.stage.partOf(value)));
      return MARGIN + part * (width - 2 * MARGIN);
    };
    const toY = (/** @type {number} */ row, /** @type {number} */ k) => {
      const within = roomy && agents.length > 1 ? FILLED * (k / (agents.length - 1) - 0.5) : 0;
      return ((row + 0.5 + within) * height) / 3;
    };
    ctx.globalAlpha = roomy ? 0.25 : 0.4;
    agents.forEach((agent, k) => {
      ctx.strokeStyle = colours[k];
      ctx.beginPath();
      rows.forEach((values, row) => {
        if (Number.isFinite(values[agent])) ctx.lineTo(toX(values[agent]), toY(row, k));
      });
      ctx.stroke();
    });
    ctx.globalAlpha = 1;
    agents.forEach((agent, k) => {
      rows.forEach((values, row) => {
        if (!Number.isFinite(values[agent])) return;
        ctx.fillStyle = this.stage.colourOf(values[agent]);
        ctx.beginPath();
        ctx.arc(toX(values[agent]), toY(row, k), radius, 0, 2 * Math.PI);
        ctx.fill();
      });
    });
  }
}
