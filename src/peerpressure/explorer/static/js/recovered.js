// What an observer recovers as time goes on: its estimates, which spread out again while public opinions meet.

import { cssColour, FOLLOWED_COLOURS } from "./colour.js";
import { byId, el } from "./elements.js";
import { formatFixed, typeset } from "./format.js";
import { fillBand, Plot, strokeCurve } from "./plot.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./types.js").RecoveredAnswer} RecoveredAnswer
 */

// Half the width of the bands, in standard deviations.
const BAND = 2;

/**
 * Return which of the answer's times is the last one up to a time, −1 before the first.
 * @param {RecoveredAnswer} answer
 * @param {number} time
 */
export function recoveredIndex({ arrays: { times } }, time) {
  return times.findLastIndex((one) => one <= time);
}

/**
 * Return the typical error of the estimates at one of the times, as it is and as the method expects it; null if nothing
 * is estimated yet.
 * @param {RecoveredAnswer} answer
 * @param {number} index
 */
export function errorAt({ arrays: { values, std, truth } }, index) {
  const sums = { made: 0, expected: 0, count: 0 };
  const first = index * truth.length;
  for (let i = 0; index >= 0 && i < truth.length; i += 1) {
    if (!Number.isFinite(values[first + i])) continue;
    sums.made += (values[first + i] - truth[i]) ** 2;
    sums.expected += std[first + i] ** 2;
    sums.count += 1;
  }
  const root = (/** @type {number} */ sum) => (sums.count ? Math.sqrt(sum / sums.count) : null);
  return { made: root(sums.made), expected: root(sums.expected) };
}

export class Recovered {
  /** @type {RecoveredAnswer | null} */
  #answer = null;
  #logTime = false;
  #time = 0;

  /**
   * @param {Stage} stage
   * @param {(time: number) => void} onSeek
   */
  constructor(stage, onSeek) {
    this.stage = stage;
    this.plot = new Plot(byId("plot-recovered"), { height: 150, label: "Recovered opinions over time", onSeek });
  }

  /** @param {RecoveredAnswer | null} answer null if there is none */
  show(answer) {
    this.#answer = answer;
    const { failed, title, note } = answer?.header ?? { failed: null, title: null, note: "" };
    const method = byId("recovered-method");
    method.textContent = title ?? "";
    method.title = note;
    byId("recovered-failed").replaceChildren(typeset(failed ?? ""));
    byId("plot-recovered").hidden = !answer || failed !== null;
    byId("legend-recovered").hidden = !answer || failed !== null;
    this.draw();
  }

  /** @param {{logTime: boolean}} axes */
  setAxes({ logTime }) {
    this.#logTime = logTime;
  }

  /**
   * Mark a time, and say how far the observer has come by then.
   * @param {number} time
   */
  mark(time) {
    this.#time = time;
    this.plot.mark(time);
    if (!this.#answer) return;
    const { made, expected } = errorAt(this.#answer, recoveredIndex(this.#answer, time));
    for (const [key, value] of Object.entries({ made, expected })) {
      const output = byId(`recovered-${key}`);
      output.textContent = value === null ? "–" : formatFixed(value);
      output.dataset.value = String(value);
    }
  }

  restyle() {
    this.draw();
    this.plot.restyle();
  }

  draw() {
    const { stage } = this;
    const [answer, run] = [this.#answer, stage.run];
    if (!answer || !run || answer.arrays.truth.length !== stage.n || !answer.arrays.times.length) return;
    const { times, values, std, truth } = answer.arrays;
    const n = truth.length;
    // An estimate whose error exceeds the range of opinions tells nothing yet.
    const most = 2 * stage.domain.half;
    const columnOf = (/** @type {Float32Array} */ matrix, /** @type {number} */ agent) =>
      Float32Array.from(times, (_, row) => (std[row * n + agent] < most ? matrix[row * n + agent] : NaN));
    const { agents, colours } = stage.sample;
    const followed = stage.followed.map(({ index }, i) => {
      return { mean: columnOf(values, index), std: columnOf(std, index), colour: cssColour(FOLLOWED_COLOURS[i]) };
    });
    const { times: steps } = run.arrays;
    const [first, end] = [steps[this.#logTime ? Math.min(1, steps.length - 1) : 0], steps[steps.length - 1]];
    const marks = [first, ...times.filter((time) => time > first && time < end), end];
    // The axes of the public opinions above, with which these are compared.
    const { low, high } = stage.opinionRange;
    this.plot.show({
      x: Float64Array.from(marks),
      end,
      low,
      high,
      logX: this.#logTime,
      lines: [],
      drawBelow(painter) {
        const { ctx, density } = painter;
        for (const { mean, std: deviation, colour } of followed) {
          const edge = (/** @type {1 | -1} */ side) => mean.map((value, t) => value + side * BAND * deviation[t]);
          fillBand(painter, times, edge(-1), edge(1), colour, 0.14);
        }
        ctx.lineWidth = 1.1 * density;
        ctx.globalAlpha = 0.85;
        agents.forEach((agent, k) => {
          ctx.strokeStyle = colours[k];
          strokeCurve(painter, times, columnOf(values, agent));
        });
        ctx.globalAlpha = 1;
        for (const { mean, colour } of followed) {
          ctx.lineWidth = 2 * density;
          ctx.strokeStyle = colour;
          strokeCurve(painter, times, mean);
        }
        agents.forEach((agent, k) => {
          ctx.fillStyle = colours[k];
          ctx.beginPath();
          ctx.arc(painter.toX(end), painter.toY(truth[agent]), 2.6 * density, 0, 2 * Math.PI);
          ctx.fill();
        });
      },
    });
    this.mark(this.#time);
  }
}

/** Return the legend of the plot, whose numbers `mark` sets. */
export function recoveredLegend() {
  const entry = (/** @type {string} */ key, /** @type {string} */ label) =>
    el("li", { "data-key": `recovered-${key}` }, label, el("output", { class: "numeral", id: `recovered-${key}` }));
  return [
    entry("made", "error at this step"),
    entry("expected", "typical over runs"),
    el("li", {}, el("span", { class: "truth-dot" }), "at the right: what they hide"),
  ];
}
