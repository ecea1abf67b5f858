// Estimates against the truth: a small plot for each method, all on the same scale. Who is known well lies on the line.

import { token } from "./colour.js";
import { axisFont, el } from "./elements.js";
import { ticks } from "./words.js";

/**
 * @typedef {{truth: Float64Array, estimate: Float64Array, std: Float64Array, colour: string}} Cloud
 * @typedef {{low: number, high: number}} Span
 */

const HEIGHT = 186;
const EDGE = { left: 34, right: 6, top: 6, bottom: 20 };

/**
 * Return the span of all that is to be seen, with the farthest error bars left out.
 * @param {Cloud[]} clouds @returns {Span}
 */
export function commonSpan(clouds) {
  let [low, high] = [Infinity, -Infinity];
  const seen = [];
  for (const { truth, estimate } of clouds) {
    for (const value of truth) [low, high] = [Math.min(low, value), Math.max(high, value)];
    for (const value of estimate) if (Number.isFinite(value)) seen.push(value);
  }
  seen.sort((a, b) => a - b);
  if (seen.length) {
    low = Math.min(low, seen[Math.floor(0.01 * (seen.length - 1))]);
    high = Math.max(high, seen[Math.ceil(0.99 * (seen.length - 1))]);
  }
  const room = 0.06 * (high - low || 1);
  return { low: low - room, high: high + room };
}

/** Return round numbers within a span. @param {number} low @param {number} high @param {number} about */
export function roundTicks(low, high, about) {
  const rough = (high - low) / about;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => one >= rough) ?? rough;
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high; at += 1) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

export class Scatter {
  /** @type {Cloud | null} */
  #cloud = null;
  /** @type {Span} */
  #across = { low: 0, high: 1 };
  /** @type {Span} */
  #up = { low: 0, high: 1 };

  /** @param {(index: number) => void} onPoint told whom the pointer is at, −1 for nobody */
  constructor(onPoint) {
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { class: "scatter", role: "img" }));
    this.canvas.addEventListener("pointermove", (event) => onPoint(this.#nearest(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("pointerleave", () => onPoint(-1));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** @param {Cloud} cloud @param {Span} up of estimates @param {string} label */
  show(cloud, up, label) {
    this.#cloud = cloud;
    this.#up = up;
    this.#across = commonSpan([{ ...cloud, estimate: new Float64Array(0) }]);
    this.canvas.setAttribute("aria-label", label);
    this.draw();
  }

  /** @param {number} value */
  #x(value) {
    const width = this.canvas.clientWidth - EDGE.left - EDGE.right;
    return EDGE.left + (width * (value - this.#across.low)) / (this.#across.high - this.#across.low);
  }

  /** @param {number} value */
  #y(value) {
    const height = HEIGHT - EDGE.top - EDGE.bottom;
    return HEIGHT - EDGE.bottom - (height * (value - this.#up.low)) / (this.#up.high - this.#up.low);
  }

  /** @param {number} x @param {number} y */
  #nearest(x, y) {
    if (!this.#cloud) return -1;
    const { truth, estimate } = this.#cloud;
    let [best, least] = [-1, 144];
    for (let i = 0; i < truth.length; i += 1) {
      const far = (this.#x(truth[i]) - x) ** 2 + (this.#y(estimate[i]) - y) ** 2;
      if (far < least) [best, least] = [i, far];
    }
    return best;
  }

  /** Draw, with one agent pointed out. @param {number} [chosen] */
  draw(chosen = -1) {
    const width = this.canvas.clientWidth;
    if (!this.#cloud || !width) return;
    const density = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * density);
    this.canvas.height = Math.round(HEIGHT * density);
    const pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    pen.scale(density, density);
    this.#axes(pen, width);
    pen.beginPath();
    pen.rect(EDGE.left, EDGE.top, width - EDGE.left - EDGE.right, HEIGHT - EDGE.top - EDGE.bottom);
    pen.clip();
    this.#diagonal(pen);
    this.#points(pen, this.#cloud);
    if (chosen >= 0) this.#one(pen, this.#cloud, chosen);
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} width */
  #axes(pen, width) {
    pen.strokeStyle = token("grid");
    pen.fillStyle = token("soft");
    pen.font = axisFont();
    pen.lineWidth = 1;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const across = roundTicks(this.#across.low, this.#across.high, Math.max(2, width / 70));
    ticks(across).forEach((text, at) => {
      line(pen, this.#x(across[at]), EDGE.top, this.#x(across[at]), HEIGHT - EDGE.bottom);
      pen.fillText(text, this.#x(across[at]), HEIGHT - EDGE.bottom + 5);
    });
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const up = roundTicks(this.#up.low, this.#up.high, 5);
    ticks(up).forEach((text, at) => {
      line(pen, EDGE.left, this.#y(up[at]), width - EDGE.right, this.#y(up[at]));
      pen.fillText(text, EDGE.left - 5, this.#y(up[at]));
    });
  }

  /** @param {CanvasRenderingContext2D} pen */
  #diagonal(pen) {
    pen.strokeStyle = token("soft");
    pen.setLineDash([4, 3]);
    const { low, high } = this.#across;
    line(pen, this.#x(low), this.#y(low), this.#x(high), this.#y(high));
    pen.setLineDash([]);
  }

  /** @param {CanvasRenderingContext2D} pen @param {number} truth @param {number} estimate @param {number} std */
  #bar(pen, truth, estimate, std) {
    if (!Number.isFinite(std)) return;
    line(pen, this.#x(truth), this.#y(estimate - std), this.#x(truth), this.#y(estimate + std));
  }

  /** @param {CanvasRenderingContext2D} pen @param {Cloud} cloud */
  #points(pen, { truth, estimate, std, colour }) {
    const crowd = Math.sqrt(100 / Math.max(100, truth.length));
    pen.strokeStyle = colour;
    pen.fillStyle = colour;
    pen.lineWidth = 1;
    pen.globalAlpha = 0.45 * crowd;
    for (let i = 0; i < truth.length; i += 1) this.#bar(pen, truth[i], estimate[i], std[i]);
    pen.globalAlpha = Math.max(0.35, 0.9 * crowd);
    pen.beginPath();
    for (let i = 0; i < truth.length; i += 1) {
      if (!Number.isFinite(estimate[i])) continue;
      pen.moveTo(this.#x(truth[i]) + 2.2, this.#y(estimate[i]));
      pen.arc(this.#x(truth[i]), this.#y(estimate[i]), 2.2, 0, 2 * Math.PI);
    }
    pen.fill();
    pen.globalAlpha = 1;
  }

  /** @param {CanvasRenderingContext2D} pen @param {Cloud} cloud @param {number} index */
  #one(pen, { truth, estimate, std }, index) {
    const [x, y] = [this.#x(truth[index]), this.#y(estimate[index])];
    pen.strokeStyle = token("ink");
    pen.lineWidth = 1.75;
    this.#bar(pen, truth[index], estimate[index], std[index]);
    pen.beginPath();
    pen.arc(x, y, 4.5, 0, 2 * Math.PI);
    pen.stroke();
  }
}

/** @param {CanvasRenderingContext2D} pen @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function line(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}
