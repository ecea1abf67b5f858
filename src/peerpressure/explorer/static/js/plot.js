// A plot of curves over time: uPlot draws axes and lines, and the page adds bands, the time shown and the colours.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { token } from "./colour.js";
import { axisFont, el } from "./elements.js";
import { superscript, ticks } from "./words.js";

/**
 * @typedef {{values: ArrayLike<number>, colour: string, width?: number, dash?: number[]}} Line
 * @typedef {(pen: CanvasRenderingContext2D, toX: (x: number) => number, toY: (y: number) => number) => void} Under
 * @typedef {{x: ArrayLike<number>, lines: Line[], low: number, high: number, logX?: boolean, logY?: boolean,
 *            under?: Under, xTitle?: string}} Content
 */

const NONE = { show: false };

// Decades up to which a logarithmic axis marks more than powers of ten.
const MOST_DECADES = 12;

/**
 * Return the marks of a logarithmic axis. uPlot counts them from the lower end on, and never ends where that is not a
 * round number.
 * @param {number} low @param {number} high
 */
export function logSplits(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.floor(Math.log10(high))];
  const digits = last - first > MOST_DECADES ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const decades = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  // Read from text: 10 ** -24 is not 1e-24.
  const marks = decades.flatMap((exponent) => digits.map((digit) => Number(`${digit}e${exponent}`)));
  return marks.filter((mark) => mark >= low && mark <= high);
}

/** Mark powers of ten as powers, and plain numbers where there are few of them. @param {(number | null)[]} splits */
function logTicks(splits) {
  const exponents = splits.map((value) => (value === null ? NaN : Math.log10(value)));
  const few = exponents.filter(Number.isInteger).length < 2;
  return splits.map((value, at) => {
    const exponent = exponents[at];
    if (value === null || (!few && !Number.isInteger(exponent))) return "";
    if (exponent >= 4 || exponent < -2) return Number.isInteger(exponent) ? `10${superscript(exponent)}` : "";
    return String(Number(value.toPrecision(1)));
  });
}

export class Plot {
  /** @type {any} */
  #chart = null;
  #shape = "";
  /** @type {Content | null} */
  #content = null;
  #time = 0;

  /**
   * @param {HTMLElement} host
   * @param {{height: number, label: string, onSeek?: (x: number) => void}} options
   */
  constructor(host, { height, label, onSeek }) {
    this.host = host;
    this.height = height;
    this.onSeek = onSeek;
    this.marker = el("div", { class: "plot-time" });
    host.classList.add("plot");
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", label);
    new ResizeObserver(() => this.#resize()).observe(host);
  }

  /** Draw these curves. @param {Content} content */
  show(content) {
    const usable = content.logX ? withoutZero(content) : content;
    this.#content = usable;
    const { x, lines, logX, logY, xTitle } = usable;
    const looks = lines.map(({ colour, width, dash }) => [colour, width, dash]);
    const shape = JSON.stringify([looks, logX, logY, xTitle, token("line")]);
    const data = [x, ...lines.map(({ values }) => (logY ? Array.from(values, positive) : values))];
    if (shape !== this.#shape || !this.#chart) this.#build(shape, data);
    else this.#chart.setData(data);
    this.mark(this.#time);
  }

  /** Draw again, in the colours of the day. */
  restyle() {
    this.#shape = "";
    if (this.#content) this.show(this.#content);
  }

  /** Mark the time that is shown. @param {number} time */
  mark(time) {
    this.#time = time;
    if (!this.#chart || !this.#content) return;
    const { x, logX } = this.#content;
    const inside = x.length > 1 && time >= x[0] && time <= x[x.length - 1] && !(logX && time <= 0);
    this.marker.hidden = !inside;
    if (inside) this.marker.style.setProperty("transform", `translateX(${this.#chart.valToPos(time, "x")}px)`);
  }

  /** @param {string} shape @param {any[]} data */
  #build(shape, data) {
    this.#chart?.destroy();
    this.#shape = shape;
    const { logX, logY, lines, xTitle } = /** @type {Content} */ (this.#content);
    const grid = { stroke: token("grid"), width: 1 };
    const font = axisFont();
    const axis = { stroke: token("soft"), font, grid, ticks: { ...grid, size: 4 } };
    const along = (/** @type {boolean | undefined} */ log) => ({
      ...axis,
      values: (/** @type {any} */ _, /** @type {number[]} */ marks) => (log ? logTicks(marks) : ticks(marks)),
      ...(log && {
        splits: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ low, /** @type {number} */ high) =>
          logSplits(low, high),
      }),
    });
    const options = {
      width: Math.max(60, this.host.clientWidth),
      height: this.height,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: NONE },
      scales: {
        x: { time: false, distr: logX ? 3 : 1, range: () => this.#width() },
        y: { distr: logY ? 3 : 1, range: () => this.#range() },
      },
      axes: [
        { ...along(logX), size: 30, gap: 3, label: xTitle, labelFont: font, labelSize: 14, labelGap: -2 },
        { ...along(logY), size: 44, gap: 4 },
      ],
      series: [{}, ...lines.map(({ colour: stroke, width = 1.5, dash }) => ({ stroke, width, dash, points: NONE }))],
      hooks: { drawAxes: [(/** @type {any} */ chart) => this.#drawUnder(chart)] },
    };
    const chart = new uPlot(options, data, this.host);
    chart.over.append(this.marker);
    chart.over.addEventListener("click", () => this.onSeek?.(chart.posToVal(chart.cursor.left, "x")));
    this.#chart = chart;
  }

  /** From the first time to the last; a logarithmic axis would else go on to the next power of ten. */
  #width() {
    const { x, logX } = /** @type {Content} */ (this.#content);
    const first = x[0] ?? (logX ? 1 : 0);
    return [first, x.length > 1 ? x[x.length - 1] : first + 1];
  }

  #range() {
    const { low, high, logY } = /** @type {Content} */ (this.#content);
    if (logY) return low > 0 && high >= low ? [low * 0.8, Math.min(high * 1.25, Number.MAX_VALUE)] : [1e-6, 1];
    const room = high > low ? 0.04 * (high - low) : Math.max(1e-9, Math.abs(high) * 0.1) || 1;
    return [low - room, high + room];
  }

  /** @param {any} chart */
  #drawUnder(chart) {
    const { under } = /** @type {Content} */ (this.#content);
    if (!under) return;
    const pen = chart.ctx;
    const { left, top, width, height } = chart.bbox;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    under(pen, (x) => chart.valToPos(x, "x", true), (y) => chart.valToPos(y, "y", true));
    pen.restore();
  }

  #resize() {
    if (!this.#chart || !this.host.clientWidth) return;
    this.#chart.setSize({ width: this.host.clientWidth, height: this.height });
    this.mark(this.#time);
  }
}

/** @param {number} value */
function positive(value) {
  return value > 0 ? value : null;
}

/**
 * Return the content from its first positive x on, as a logarithmic axis needs.
 * @param {Content} content @returns {Content}
 */
function withoutZero(content) {
  let from = 0;
  while (from < content.x.length && content.x[from] <= 0) from += 1;
  const cut = (/** @type {ArrayLike<number>} */ values) => Array.prototype.slice.call(values, from);
  return { ...content, x: cut(content.x), lines: content.lines.map((line) => ({ ...line, values: cut(line.values) })) };
}

/**
 * Fill the band between two curves.
 * @param {CanvasRenderingContext2D} pen @param {ArrayLike<number>} x @param {ArrayLike<number>} low
 * @param {ArrayLike<number>} high @param {(x: number) => number} toX @param {(y: number) => number} toY
 * @param {string} colour @param {number} alpha
 */
export function band(pen, x, low, high, toX, toY, colour, alpha) {
  pen.globalAlpha = alpha;
  pen.fillStyle = colour;
  pen.beginPath();
  for (let at = 0; at < x.length; at += 1) pen.lineTo(toX(x[at]), toY(high[at]));
  for (let at = x.length - 1; at >= 0; at -= 1) pen.lineTo(toX(x[at]), toY(low[at]));
  pen.fill();
  pen.globalAlpha = 1;
}

/**
 * Draw a thin line, leaving out what a logarithmic axis cannot show.
 * @param {CanvasRenderingContext2D} pen @param {ArrayLike<number>} x @param {ArrayLike<number>} y
 * @param {(x: number) => number} toX @param {(y: number) => number} toY
 */
export function thread(pen, x, y, toX, toY) {
  pen.beginPath();
  for (let at = 0; at < x.length; at += 1) {
    const [px, py] = [toX(x[at]), toY(y[at])];
    if (Number.isFinite(px) && Number.isFinite(py)) pen.lineTo(px, py);
  }
  pen.stroke();
}
