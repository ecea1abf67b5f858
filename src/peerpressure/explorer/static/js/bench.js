// Privacy beside recovery: what is promised against the observer, and what its estimates achieve, over time and noise.

import { cssColour } from "./colour.js";
import { byId } from "./elements.js";
import { typeset } from "./format.js";
import { Plot } from "./plot.js";
import { errorAt } from "./recovered.js";

/**
 * @typedef {import("./types.js").BenchAnswer} BenchAnswer
 * @typedef {import("./types.js").BudgetAnswer} BudgetAnswer
 * @typedef {import("./types.js").RecoveredAnswer} RecoveredAnswer
 */

const HEIGHT = 124;

export class Bench {
  /** @type {{budget: BudgetAnswer | null, recovered: RecoveredAnswer | null, bench: BenchAnswer | null}} */
  #answers = { budget: null, recovered: null, bench: null };

  constructor() {
    const plot = (/** @type {string} */ id, /** @type {string} */ label) =>
      new Plot(byId(id), { height: HEIGHT, label });
    this.plots = {
      budget: plot("plot-budget", "Privacy budget over time"),
      time: plot("plot-bench-time", "Expected error of the estimates over time"),
      epsilon: plot("plot-bench-epsilon", "Privacy budget over the size of the noise"),
      error: plot("plot-bench-error", "Expected error of the estimates over the size of the noise"),
    };
  }

  /** @param {BudgetAnswer | null} answer null if there is none */
  showBudget(answer) {
    this.#answers.budget = answer;
    const { summary, text } = answer?.header ?? { summary: "", text: "" };
    byId("budget-summary").replaceChildren(typeset(summary));
    byId("budget-text").replaceChildren(typeset(text));
    byId("budget-why").hidden = !text;
    this.draw();
  }

  /** @param {RecoveredAnswer | null} answer null if there is none */
  showRecovered(answer) {
    this.#answers.recovered = answer;
    this.draw();
  }

  /** @param {BenchAnswer | null} answer null if there is none */
  showBench(answer) {
    this.#answers.bench = answer;
    const failed = answer?.header.failed ?? "";
    byId("bench-failed").replaceChildren(typeset(failed));
    byId("bench-failed").hidden = !failed;
    this.draw();
  }

  restyle() {
    this.draw();
    for (const plot of Object.values(this.plots)) plot.restyle();
  }

  draw() {
    const { budget, recovered, bench } = this.#answers;
    const { budget_times: times = [], budget_epsilon: epsilon = [] } = budget?.arrays ?? {};
    const [promise, error] = [cssColour("exposed"), cssColour("accent")];
    this.#show("budget", times, epsilon, promise, { xTitle: "step t" });
    // Estimates of several runs are averaged.
    const share = 1 / Math.sqrt(budget?.header.runs ?? 1);
    const errors = Array.from(recovered?.arrays.times ?? [], (_, index) =>
      recovered ? (errorAt(recovered, index).expected ?? NaN) * share : NaN,
    );
    this.#show("time", recovered?.arrays.times ?? [], errors, error, { xTitle: "step t", logX: true });
    const now = bench?.header.std;
    const axes = { xTitle: "noise, standard deviation", logX: true, logY: true, now };
    this.#show("epsilon", bench?.arrays.noise ?? [], bench?.arrays.epsilon ?? [], promise, axes);
    this.#show("error", bench?.arrays.noise ?? [], bench?.arrays.error ?? [], error, axes);
  }

  /**
   * @param {keyof Bench["plots"]} name
   * @param {ArrayLike<number>} x
   * @param {ArrayLike<number>} y
   * @param {string} colour
   * @param {{xTitle: string, logX?: boolean, logY?: boolean, now?: number}} axes `now` is marked on the axis of x
   */
  #show(name, x, y, colour, { now, ...axes }) {
    const plot = this.plots[name];
    const values = Array.from(y, (value) => (Number.isFinite(value) ? value : null));
    // The first estimates may be off by more than all opinions.
    const finite = values.filter((value) => value !== null).sort((a, b) => a - b);
    const high = name === "time" ? finite[Math.floor(0.9 * (finite.length - 1))] : finite.at(-1);
    plot.host.hidden = finite.length < 2;
    if (finite.length < 2) return;
    plot.show({
      x: Float64Array.from(x),
      low: axes.logY ? finite[0] : 0,
      high: high ?? 1,
      ...axes,
      lines: [{ values, colour, width: 2 }],
      drawBelow({ ctx, toX, toY, density }) {
        if (now === undefined) return;
        ctx.strokeStyle = cssColour("soft");
        ctx.lineWidth = density;
        ctx.beginPath();
        ctx.moveTo(toX(now), toY(finite[0] / 10));
        ctx.lineTo(toX(now), toY(10 * (high ?? 1)));
        ctx.stroke();
      },
    });
  }
}
