// What the observer concludes: each method's estimates against the truth, and what is learned about agents.

import { cssColour } from "./colour.js";
import { axisFont, byId, context2d, el } from "./elements.js";
import { formatNumber, formatTicks, typeset } from "./format.js";
import { setDrawing } from "./picture.js";

/**
 * @typedef {import("./types.js").Method} Method
 * @typedef {import("./types.js").MethodResult} MethodResult
 * @typedef {import("./types.js").ExposureAnswer} ExposureAnswer
 * @typedef {import("./types.js").ObserveAnswer} ObserveAnswer
 *
 * @typedef {object} Cloud the points of a scatter plot, one per agent
 * @property {Float64Array} truth
 * @property {Float64Array} estimate NaN if the agent is not identified
 * @property {Float64Array} std
 * @property {string} colour
 *
 * @typedef {{low: number, high: number}} Range
 */

const MARGIN = { left: 34, right: 6, top: 6, bottom: 20 };
// The pointer is at an agent within this many pixels.
const POINTER_RADIUS = 12;

/**
 * Return the range of the truth and of all estimates with their error bars.
 * @param {Pick<Cloud, "truth" | "estimate" | "std">[]} clouds
 * @returns {Range}
 */
export function commonRange(clouds) {
  let [low, high] = [Infinity, -Infinity];
  const include = (/** @type {number} */ value) => {
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  };
  for (const { truth, estimate, std } of clouds) {
    for (const value of truth) include(value);
    for (let i = 0; i < estimate.length; i += 1) {
      const bar = Number.isFinite(std[i]) ? std[i] : 0;
      include(estimate[i] - bar);
      include(estimate[i] + bar);
    }
  }
  if (low > high) return { low: 0, high: 1 };
  const margin = 0.04 * (high - low || 1);
  return { low: low - margin, high: high + margin };
}

/**
 * Return round numbers within a range.
 * @param {Range} range
 * @param {number} count about how many
 */
function roundTicks({ low, high }, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  /** @type {number[]} */
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

/**
 * Estimates against the truth, with error bars. Both axes are alike: right estimates are on the diagonal, and a
 * cloud that is higher than wide shows errors beyond the differences of opinion.
 */
class Scatter {
  /** @type {Cloud | null} */
  #cloud = null;
  /** @type {Range} */
  #range = { low: 0, high: 1 };

  /** @param {(index: number) => void} onPoint called with the agent at the pointer, −1 for none */
  constructor(onPoint) {
    this.canvas = el("canvas", { class: "scatter", role: "img" });
    this.canvas.addEventListener("pointermove", (event) => onPoint(this.#nearest(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("pointerleave", () => onPoint(-1));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    setDrawing(this.canvas, (scale) => this.#picture(scale));
  }

  /**
   * @param {Cloud} cloud
   * @param {Range} range
   * @param {string} label for screen readers
   */
  show(cloud, range, label) {
    this.#cloud = cloud;
    this.#range = range;
    this.canvas.setAttribute("aria-label", label);
    this.draw();
  }

  /** The side of the plot, a square. */
  get #side() {
    return Math.max(1, this.canvas.clientWidth - MARGIN.left - MARGIN.right);
  }

  /** @param {number} value */
  #x(value) {
    const { low, high } = this.#range;
    return MARGIN.left + (this.#side * (value - low)) / (high - low);
  }

  /** @param {number} value */
  #y(value) {
    return MARGIN.top + this.#side + MARGIN.left - this.#x(value);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #nearest(x, y) {
    if (!this.#cloud) return -1;
    const { truth, estimate } = this.#cloud;
    let [best, least] = [-1, POINTER_RADIUS ** 2];
    for (let i = 0; i < truth.length; i += 1) {
      const squared = (this.#x(truth[i]) - x) ** 2 + (this.#y(estimate[i]) - y) ** 2;
      if (squared < least) [best, least] = [i, squared];
    }
    return best;
  }

  /**
   * Return a copy of the plot at another density.
   * @param {number} density
   */
  #picture(density) {
    this.draw(-1, density);
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [this.canvas.width, this.canvas.height];
    if (copy.width && copy.height) context2d(copy).drawImage(this.canvas, 0, 0);
    this.draw();
    return copy;
  }

  /** @param {number} [highlighted] an agent */
  draw(highlighted = -1, density = window.devicePixelRatio || 1) {
    const width = this.canvas.clientWidth;
    if (!this.#cloud || !width) return;
    const height = this.#side + MARGIN.top + MARGIN.bottom;
    this.canvas.style.setProperty("height", `${height}px`);
    this.canvas.width = Math.round(width * density);
    this.canvas.height = Math.round(height * density);
    const ctx = context2d(this.canvas);
    ctx.scale(density, density);
    this.#drawAxes(ctx, width);
    ctx.beginPath();
    ctx.rect(MARGIN.left, MARGIN.top, this.#side, this.#side);
    ctx.clip();
    this.#drawDiagonal(ctx);
    this.#drawPoints(ctx, this.#cloud);
    if (highlighted >= 0) this.#drawHighlight(ctx, this.#cloud, highlighted);
  }

  /**
   * @param {CanvasRenderingContext2D} ctx
   * @param {number} width
   */
  #drawAxes(ctx, width) {
    const [left, right, top] = [MARGIN.left, width - MARGIN.right, MARGIN.top];
    const bottom = top + this.#side;
    ctx.strokeStyle = cssColour("grid");
    ctx.fillStyle = cssColour("soft");
    ctx.font = axisFont();
    ctx.lineWidth = 1;
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    const ticks = roundTicks(this.#range, Math.max(2, width / 36));
    const texts = formatTicks(ticks);
    texts.forEach((text, i) => {
      const x = this.#x(ticks[i]);
      strokeLine(ctx, x, top, x, bottom);
      ctx.fillText(text, x, bottom + 5);
    });
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    texts.forEach((text, i) => {
      const y = this.#y(ticks[i]);
      strokeLine(ctx, left, y, right, y);
      ctx.fillText(text, left - 5, y);
    });
  }

  /** @param {CanvasRenderingContext2D} ctx */
  #drawDiagonal(ctx) {
    ctx.strokeStyle = cssColour("soft");
    ctx.setLineDash([4, 3]);
    const { low, high } = this.#range;
    strokeLine(ctx, this.#x(low), this.#y(low), this.#x(high), this.#y(high));
    ctx.setLineDash([]);
  }

  /**
   * @param {CanvasRenderingContext2D} ctx
   * @param {Cloud} cloud
   * @param {number} i
   */
  #drawErrorBar(ctx, { truth, estimate, std }, i) {
    if (!Number.isFinite(std[i])) return;
    const x = this.#x(truth[i]);
    strokeLine(ctx, x, this.#y(estimate[i] - std[i]), x, this.#y(estimate[i] + std[i]));
  }

  /**
   * @param {CanvasRenderingContext2D} ctx
   * @param {Cloud} cloud
   */
  #drawPoints(ctx, cloud) {
    const { truth, estimate, colour } = cloud;
    // The more points, the paler each of them.
    const opacity = Math.sqrt(100 / Math.max(100, truth.length));
    ctx.strokeStyle = colour;
    ctx.fillStyle = colour;
    ctx.lineWidth = 1;
    ctx.globalAlpha = 0.45 * opacity;
    for (let i = 0; i < truth.length; i += 1) this.#drawErrorBar(ctx, cloud, i);
    ctx.globalAlpha = Math.max(0.35, 0.9 * opacity);
    ctx.beginPath();
    for (let i = 0; i < truth.length; i += 1) {
      if (!Number.isFinite(estimate[i])) continue;
      ctx.moveTo(this.#x(truth[i]) + 2.2, this.#y(estimate[i]));
      ctx.arc(this.#x(truth[i]), this.#y(estimate[i]), 2.2, 0, 2 * Math.PI);
    }
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} ctx
   * @param {Cloud} cloud
   * @param {number} i
   */
  #drawHighlight(ctx, cloud, i) {
    ctx.strokeStyle = cssColour("ink");
    ctx.lineWidth = 1.75;
    this.#drawErrorBar(ctx, cloud, i);
    ctx.beginPath();
    ctx.arc(this.#x(cloud.truth[i]), this.#y(cloud.estimate[i]), 4.5, 0, 2 * Math.PI);
    ctx.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 */
function strokeLine(ctx, x0, y0, x1, y1) {
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.lineTo(x1, y1);
  ctx.stroke();
}

const PAPER_COLOUR = "estimate-1";
const OTHER_COLOURS = ["estimate-2", "estimate-3", "estimate-4"];

export class Estimates {
  /** @type {ObserveAnswer | null} */
  #answer = null;

  /**
   * @param {Method[]} methods all that there are
   * @param {(index: number) => void} onPoint called with the agent at the pointer, −1 for none
   */
  constructor(methods, onPoint) {
    this.methods = methods;
    this.onPoint = onPoint;
  }

  /** What is shown; null if there is no answer. */
  get answer() {
    return this.#answer;
  }

  /** @param {ObserveAnswer} answer */
  show(answer) {
    this.#answer = answer;
    this.draw();
  }

  /** @param {ExposureAnswer | null} answer null if there is none */
  showExposure(answer) {
    byId("exposure-text").replaceChildren(answer ? typeset(`${answer.header.summary} ${answer.header.note}`) : "");
  }

  /** Remove what is shown, where there is no answer. */
  clear() {
    this.#answer = null;
    byId("estimates").replaceChildren();
  }

  draw() {
    const answer = this.#answer;
    if (!answer) return;
    const { methods } = answer.header;
    const clouds = methods.map((method) => (method.failed ? null : this.#cloud(answer, method)));
    const range = commonRange(clouds.filter((cloud) => cloud !== null));
    byId("estimates").replaceChildren(...methods.map((method, i) => this.#facet(method, clouds[i], range)));
  }

  restyle() {
    this.draw();
  }

  /**
   * @param {ObserveAnswer} answer
   * @param {MethodResult} method
   * @returns {Cloud}
   */
  #cloud({ header, arrays }, { id }) {
    return {
      truth: arrays.truth,
      estimate: arrays[`estimate_${id}`],
      std: arrays[`std_${id}`],
      colour: cssColour(this.#colour(id, header.methods)),
    };
  }

  /**
   * Return the colour of a method. That of the paper is always the same, whatever others are beside it.
   * @param {string} id
   * @param {MethodResult[]} all that are shown
   */
  #colour(id, all) {
    const isPaper = (/** @type {string} */ one) => this.methods.some((method) => method.id === one && method.paper);
    if (isPaper(id)) return PAPER_COLOUR;
    const rank = all.filter((method) => !isPaper(method.id)).findIndex((method) => method.id === id);
    return OTHER_COLOURS[rank % OTHER_COLOURS.length];
  }

  /**
   * @param {MethodResult} method
   * @param {Cloud | null} cloud null if the method failed
   * @param {Range} range
   */
  #facet(method, cloud, range) {
    const titleOf = (/** @type {string} */ name) => this.methods.find(({ id }) => id === name)?.title ?? name;
    const title = titleOf(method.used);
    const figure = el("figure", { class: "facet", "data-method": method.id }, el("figcaption", {}, el("b", {}, title)));
    if (!cloud) {
      figure.append(el("p", { class: "blurb failed" }, method.failed));
      return figure;
    }
    const scatter = new Scatter((index) => {
      scatter.draw(index);
      this.onPoint(index);
    });
    const rmse = formatNumber(method.rmse, 3);
    const error = el("output", { class: "numeral", "data-value": method.rmse, "data-key": "rmse" }, rmse);
    const expected =
      method.expected_rmse === null ? "" : `, typical over runs ${formatNumber(method.expected_rmse, 3)}`;
    figure.append(scatter.canvas, el("p", { class: "blurb" }, "error ", error, expected));
    if (method.note) figure.append(el("p", { class: "blurb note" }, typeset(`${method.note}.`)));
    scatter.show(cloud, range, `Estimates against the truth, ${title}: error ${rmse}`);
    return figure;
  }
}
