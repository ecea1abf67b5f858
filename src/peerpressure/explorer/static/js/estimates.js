// What the observer makes of it: estimates against the truth, one plot for each method, and the budget that is spent.

import { token } from "./colour.js";
import { byId, el } from "./elements.js";
import { Plot } from "./plot.js";
import { Scatter, commonSpan } from "./scatter.js";
import { indexed, number } from "./words.js";

/**
 * @typedef {import("./wire.js").Packed} Packed
 * @typedef {import("./scatter.js").Cloud} Cloud
 * @typedef {import("./scatter.js").Span} Span
 */

const PAPER = "estimate-1";
const OTHERS = ["estimate-2", "estimate-3", "estimate-4"];

export class Estimates {
  /** @type {Packed | null} */
  #answer = null;

  /** @param {any} catalogue @param {(index: number) => void} onPoint told at whom the pointer is, −1 for nobody */
  constructor(catalogue, onPoint) {
    this.catalogue = catalogue;
    this.onPoint = onPoint;
    this.budget = new Plot(byId("plot-budget"), { height: 140, label: "Privacy budget over time" });
  }

  /** @param {Packed} answer */
  show(answer) {
    this.#answer = answer;
    this.draw();
  }

  draw() {
    const answer = this.#answer;
    if (!answer) return;
    /** @type {any[]} */
    const methods = answer.header.methods;
    const clouds = methods.map(({ id, failed }) =>
      failed ? null : this.#cloud(answer, id, this.#colour(id, methods)),
    );
    const up = commonSpan(clouds.filter((cloud) => cloud !== null));
    byId("estimates").replaceChildren(...methods.map((method, at) => this.#facet(method, clouds[at], up)));
    // The rest of the text is a table of the most exposed, whom the network shows.
    byId("exposure-text").textContent = (answer.header.exposure?.text ?? "").split("\n").slice(0, 2).join(": ");
    this.#drawBudget(answer);
  }

  restyle() {
    this.draw();
    this.budget.restyle();
  }

  /**
   * The paper's method keeps its colour, whichever others stand beside it.
   * @param {string} id @param {{id: string}[]} all
   */
  #colour(id, all) {
    const isPaper = (/** @type {string} */ one) =>
      this.catalogue.methods.some((/** @type {any} */ method) => method.id === one && method.paper);
    if (isPaper(id)) return token(PAPER);
    const rank = all.filter((method) => !isPaper(method.id)).findIndex((method) => method.id === id);
    return token(OTHERS[rank % OTHERS.length]);
  }

  /** @param {Packed} answer @param {string} id @param {string} colour @returns {Cloud} */
  #cloud({ arrays }, id, colour) {
    const [estimate, std] = [arrays[`estimate_${id}`], arrays[`std_${id}`]];
    return /** @type {any} */ ({ truth: arrays.truth, estimate, std, colour });
  }

  /** @param {any} method @param {Cloud | null} cloud @param {Span} up */
  #facet(method, cloud, up) {
    const title = this.catalogue.methods.find((/** @type {any} */ one) => one.id === method.id)?.title ?? method.id;
    const figure = el("figure", { class: "facet", "data-method": method.id }, el("figcaption", {}, el("b", {}, title)));
    if (!cloud) {
      figure.append(el("p", { class: "blurb failed" }, method.failed));
      return figure;
    }
    const scatter = new Scatter((index) => {
      scatter.draw(index);
      this.onPoint(index);
    });
    const shown = number(method.rmse, 3);
    const error = el("output", { class: "numeral", "data-value": method.rmse, "data-key": "rmse" }, shown);
    const expected = method.expected_rmse === null ? "" : `, expected ${number(method.expected_rmse, 3)}`;
    figure.append(scatter.canvas, el("p", { class: "blurb" }, "typical error ", error, expected));
    scatter.show(cloud, up, `Estimates against the truth, ${title}: typical error ${shown}`);
    return figure;
  }

  /** @param {Packed} answer */
  #drawBudget({ arrays, header }) {
    const { budget_times: times, budget_epsilon: epsilon } = arrays;
    byId("budget-text").replaceChildren(indexed(header.budget?.text ?? ""));
    byId("plot-budget").hidden = !times;
    if (!times) return;
    const values = Array.from(epsilon, (value) => (Number.isFinite(value) ? value : null));
    this.budget.show({
      x: times,
      low: 0,
      high: Math.max(0, ...values.map(Number)),
      xTitle: "step t",
      lines: [{ values: /** @type {number[]} */ (values), colour: token("exposed"), width: 2 }],
    });
  }
}
