// A plot of curves over time. uPlot draws axes and lines; this adds bands, the marker of the time shown, and colours.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { cssColour } from "./colour.js";
import { axisFont, el, typeScale } from "./elements.js";
import { formatFixed, formatNumber, formatTicks, superscript } from "./format.js";
import { setDrawing } from "./picture.js";

/**
 * @typedef {number[] | Float32Array | Float64Array} Numbers
 *
 * @typedef {object} Line
 * @property {Numbers | (number | null)[]} values null leaves a gap
 * @property {string} colour
 * @property {number} [width]
 * @property {number[]} [dash]
 * @property {string} [name] under which its value is shown beside the pointer
 *
 * @typedef {object} Painter draws on a plot, in the plot's coordinates
 * @property {CanvasRenderingContext2D} ctx
 * @property {(x: number) => number} toX
 * @property {(y: number) => number} toY
 * @property {number} density pixels of the canvas for each pixel of the page
 *
 * @typedef {object} Content
 * @property {Numbers} x
 * @property {Line[]} lines
 * @property {number} [end] of the axis of x, if that is not the last one
 * @property {number} low
 * @property {number} high
 * @property {boolean} [logX]
 * @property {boolean} [logY]
 * @property {string} [xTitle]
 * @property {(painter: Painter) => void} [drawBelow] draws what lies below the lines
 */

// Over more decades than this, a logarithmic axis has ticks at powers of ten only.
const MAX_DECADES = 12;

/**
 * Return the ticks of a logarithmic axis. uPlot's own start from the lower end of the axis, and never stop if that is
 * not a round number.
 * @param {number} low
 * @param {number} high
 */
export function logSplits(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.floor(Math.log10(high))];
  const digits = last - first > MAX_DECADES ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const decades = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  // Parsed from text, because 10 ** -24 is not exactly 1e-24.
  const splits = decades.flatMap((exponent) => digits.map((digit) => Number(`${digit}e${exponent}`)));
  return splits.filter((split) => split >= low && split <= high);
}

/**
 * Return the labels of a logarithmic axis: at powers of ten, or if there are fewer than two of them, at all ticks.
 * @param {(number | null)[]} splits null for ticks that uPlot leaves out
 */
function formatLogTicks(splits) {
  const exponents = splits.map((value) => (value === null ? NaN : Math.log10(value)));
  const labelAll = exponents.filter(Number.isInteger).length < 2;
  return splits.map((value, i) => {
    const exponent = exponents[i];
    if (value === null || (!labelAll && !Number.isInteger(exponent))) return "";
    if (exponent >= 4 || exponent < -2) return Number.isInteger(exponent) ? `10${superscript(exponent)}` : "";
    return String(Number(value.toPrecision(1)));
  });
}

export class Plot {
  /** @type {uPlot | null} */
  #chart = null;
  /** Everything that uPlot can only be told when it is created. */
  #style = "";
  /** @type {Content} */
  #content = { x: [], lines: [], low: 0, high: 1 };
  /** @type {uPlot.AlignedData} */
  #data = [[]];
  #time = 0;

  /**
   * @param {HTMLElement} host
   * @param {object} options
   * @param {number} options.height
   * @param {string} options.label for screen readers
   * @param {(x: number) => void} [options.onSeek] called with the time at which the plot is clicked
   */
  constructor(host, { height, label, onSeek }) {
    this.host = host;
    this.height = height;
    this.onSeek = onSeek;
    this.marker = el("div", { class: "plot-time" });
    this.tip = el("div", { class: "plot-tip", "aria-hidden": "true", hidden: true });
    host.classList.add("plot");
    host.setAttribute("role", "img");
    host.setAttribute("aria-label", label);
    new ResizeObserver(() => this.#resize()).observe(host);
    setDrawing(host, (scale) => this.#picture(scale));
  }

  /** The height that the stylesheet gives to some plots, which depends on the window. */
  get #height() {
    return (this.host.classList.contains("tall") && this.host.clientHeight) || this.height;
  }

  /** @param {Content} content */
  show(content) {
    this.#content = content.logX ? fromFirstPositive(content) : content;
    const { x, lines, logX, logY, xTitle } = this.#content;
    const looks = lines.map(({ colour, width, dash }) => [colour, width, dash]);
    const style = JSON.stringify([looks, logX, logY, xTitle, cssColour("line")]);
    this.#data = [x, ...lines.map(({ values }) => (logY ? Array.from(values, positiveOrNull) : values))];
    if (this.#chart && style === this.#style) this.#chart.setData(this.#data);
    else this.#rebuild(style);
    this.mark(this.#time);
  }

  /** Draw again after a change of theme. */
  restyle() {
    if (!this.#chart) return;
    this.#style = "";
    this.show(this.#content);
  }

  /**
   * Mark the time that is shown.
   * @param {number} time
   */
  mark(time) {
    this.#time = time;
    if (!this.#chart) return;
    const { x, logX } = this.#content;
    const [first, last] = this.#xRange();
    const inside = x.length > 1 && time >= first && time <= last && !(logX && time <= 0);
    this.marker.hidden = !inside;
    if (inside) this.marker.style.setProperty("transform", `translateX(${this.#chart.valToPos(time, "x")}px)`);
  }

  /** @param {string} style */
  #rebuild(style) {
    this.#chart?.destroy();
    this.#style = style;
    const chart = new uPlot(this.#options(1), this.#data, this.host);
    chart.over.append(this.marker, this.tip);
    chart.over.addEventListener("click", () => this.onSeek?.(chart.posToVal(chart.cursor.left ?? 0, "x")));
    this.#chart = chart;
  }

  /**
   * Draw the plot anew, larger by a factor. uPlot knows no other density than the screen's, so everything in it is
   * made larger instead.
   * @param {number} scale
   * @returns {Promise<HTMLCanvasElement>}
   */
  async #picture(scale) {
    /** @type {uPlot} */
    const chart = await new Promise((done) => {
      const { hooks, ...options } = this.#options(scale);
      new uPlot({ ...options, hooks: { ...hooks, draw: [done] } }, this.#data, document.createElement("div"));
    });
    const { ctx, bbox } = chart;
    if (!this.marker.hidden && this.onSeek) {
      ctx.fillStyle = cssColour("accent");
      ctx.globalAlpha = 0.75;
      const width = 1.5 * scale * uPlot.pxRatio;
      ctx.fillRect(chart.valToPos(this.#time, "x", true), bbox.top, width, bbox.height);
    }
    chart.destroy();
    return ctx.canvas;
  }

  /**
   * @param {number} scale by which everything is made larger
   * @returns {uPlot.Options}
   */
  #options(scale) {
    const { logX, logY, lines, xTitle } = this.#content;
    const grid = { stroke: cssColour("grid"), width: scale };
    const font = axisFont(scale);
    const noPoints = { show: false };
    /** @returns {uPlot.Axis} */
    const axis = (/** @type {boolean | undefined} */ log) => ({
      stroke: cssColour("soft"),
      font,
      grid,
      ticks: { ...grid, size: 4 * scale },
      values: (_chart, splits) => (log ? formatLogTicks(splits) : formatTicks(splits)),
      ...(log && { splits: (_chart, _axis, low, high) => logSplits(low, high) }),
    });
    // Axes leave as much room as their type needs.
    const room = scale * typeScale();
    const title = { label: xTitle, labelFont: font, labelSize: 14 * room, labelGap: -2 * scale };
    return {
      width: scale * Math.max(60, this.host.clientWidth),
      height: scale * this.#height,
      padding: [8 * scale, 10 * scale, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: noPoints },
      scales: {
        x: { time: false, distr: logX ? 3 : 1, range: () => this.#xRange() },
        y: { distr: logY ? 3 : 1, range: () => this.#yRange() },
      },
      axes: [
        { ...axis(logX), ...title, size: 30 * room, gap: 3 * room, space: 50 * room },
        {
          ...axis(logY),
          // As wide as the longest label, of which a letter is some 6.6 pixels wide.
          size: (_, labels) => room * Math.max(44, 14 + 6.6 * Math.max(0, ...(labels ?? []).map((one) => one.length))),
          ...{ gap: 4 * room, space: 30 * room },
        },
      ],
      series: [
        {},
        ...lines.map(({ colour, width = 1.5, dash }) => {
          return { stroke: colour, width: scale * width, dash: dash?.map((one) => scale * one), points: noPoints };
        }),
      ],
      hooks: {
        drawAxes: [(chart) => this.#drawBelow(chart, scale * uPlot.pxRatio)],
        // Axes are only known once a chart is drawn.
        draw: [() => this.mark(this.#time)],
        setCursor: [(chart) => this.#showTip(chart)],
      },
    };
  }

  /**
   * Show the values of the lines that have names beside the pointer.
   * @param {uPlot} chart
   */
  #showTip(chart) {
    const { left = -1, idx } = chart.cursor;
    const { x, lines, xTitle } = this.#content;
    const known = typeof idx === "number" && left >= 0;
    this.tip.hidden = !known;
    if (!known) return;
    const rows = lines.flatMap(({ name, values }) => {
      const value = values[idx];
      return name && value !== null && Number.isFinite(value) ? [`${name} ${formatFixed(value)}`] : [];
    });
    this.tip.replaceChildren(
      ...[`${xTitle ?? "t"} = ${formatNumber(x[idx], 4)}`, ...rows].map((row) => el("div", {}, row)),
    );
    // On the side where there is room for it.
    const isRight = left > chart.over.clientWidth / 2;
    this.tip.style.setProperty("left", isRight ? "auto" : `${left + 8}px`);
    this.tip.style.setProperty("right", isRight ? `${chart.over.clientWidth - left + 8}px` : "auto");
  }

  /**
   * From the first time to the last. uPlot itself would extend a logarithmic axis to the next power of ten.
   * @returns {[number, number]}
   */
  #xRange() {
    const { x, logX, end } = this.#content;
    const first = x[0] ?? (logX ? 1 : 0);
    return [first, end && end > first ? end : x.length > 1 ? x[x.length - 1] : first + 1];
  }

  /** @returns {[number, number]} */
  #yRange() {
    const { low, high, logY } = this.#content;
    if (logY) return low > 0 && high >= low ? [low * 0.8, Math.min(high * 1.25, Number.MAX_VALUE)] : [1e-6, 1];
    const margin = high > low ? 0.04 * (high - low) : Math.max(1e-9, Math.abs(high) * 0.1) || 1;
    return [low - margin, high + margin];
  }

  /**
   * @param {uPlot} chart
   * @param {number} density
   */
  #drawBelow(chart, density) {
    const { drawBelow } = this.#content;
    if (!drawBelow) return;
    const { ctx } = chart;
    const { left, top, width, height } = chart.bbox;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    const [toX, toY] = ["x", "y"].map((axis) => (/** @type {number} */ at) => chart.valToPos(at, axis, true));
    drawBelow({ ctx, toX, toY, density });
    ctx.restore();
  }

  #resize() {
    if (!this.#chart || !this.host.clientWidth) return;
    this.#chart.setSize({ width: this.host.clientWidth, height: this.#height });
    this.mark(this.#time);
  }
}

/** @param {number | null} value */
function positiveOrNull(value) {
  return value !== null && value > 0 ? value : null;
}

/**
 * Return the content from its first positive x on, as a logarithmic axis needs it.
 * @param {Content} content
 * @returns {Content}
 */
function fromFirstPositive(content) {
  const { x, lines } = content;
  let start = 0;
  while (start < x.length && x[start] <= 0) start += 1;
  return { ...content, x: x.slice(start), lines: lines.map((line) => ({ ...line, values: line.values.slice(start) })) };
}

/**
 * Fill the band between two curves.
 * @param {Painter} painter
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} low
 * @param {ArrayLike<number>} high
 * @param {string} colour
 * @param {number} alpha
 */
export function fillBand({ ctx, toX, toY }, x, low, high, colour, alpha) {
  ctx.globalAlpha = alpha;
  ctx.fillStyle = colour;
  ctx.beginPath();
  for (let i = 0; i < x.length; i += 1) ctx.lineTo(toX(x[i]), toY(high[i]));
  for (let i = x.length - 1; i >= 0; i -= 1) ctx.lineTo(toX(x[i]), toY(low[i]));
  ctx.fill();
  ctx.globalAlpha = 1;
}

/**
 * Stroke a curve, without the points that a logarithmic axis cannot show.
 * @param {Painter} painter
 * @param {ArrayLike<number>} x
 * @param {ArrayLike<number>} y
 */
export function strokeCurve({ ctx, toX, toY }, x, y) {
  ctx.beginPath();
  for (let i = 0; i < x.length; i += 1) {
    const [px, py] = [toX(x[i]), toY(y[i])];
    if (Number.isFinite(px) && Number.isFinite(py)) ctx.lineTo(px, py);
  }
  ctx.stroke();
}
