// The network on a canvas: edges on a layer of their own that is drawn once, agents anew in every frame.

import { token } from "./colour.js";
import { Places } from "./places.js";

/**
 * @typedef {import("./colour.js").Scale} Scale
 * @typedef {{n: number, positions: Float32Array, edges: Uint32Array, degrees: Float32Array}} Graph
 * @typedef {{fill: Float32Array, ring: Float32Array | null, scale: Scale, part: (value: number) => number,
 *            followed: Map<number, string>, seen: Uint32Array | null, cursor: number,
 *            brush: {x: number, y: number, reach: number} | null}} Look
 */

const TURN = 2 * Math.PI;
// Above this many agents they are squares, which are filled much faster than discs.
const MOST_DISCS = 6_000;
// Rings of hidden opinion show only where dots are large enough to hold them.
const LEAST_RINGED = 4.2;

export class NetworkView {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.back = document.createElement("canvas");
    this.places = new Places(new Float32Array(0), 0);
    /** @type {Graph} */
    this.graph = { n: 0, positions: new Float32Array(0), edges: new Uint32Array(0), degrees: new Float32Array(0) };
    this.radii = new Float32Array(0);
    this.size = 0;
  }

  /** Show another network. @param {Graph} graph */
  setGraph(graph) {
    const same = graph.n === this.graph.n;
    const { zoom, panX, panY } = this.places;
    this.graph = graph;
    this.places = new Places(graph.positions, graph.n);
    if (same) Object.assign(this.places, { zoom, panX, panY });
    this.refit();
  }

  /** Take the canvas's present size and draw the edges anew. */
  refit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const density = window.devicePixelRatio || 1;
    for (const layer of [this.canvas, this.back]) {
      layer.width = Math.max(1, Math.round(width * density));
      layer.height = Math.max(1, Math.round(height * density));
    }
    this.places.fit(width, height);
    this.#measure(width, height);
    this.drawEdges();
  }

  /** @param {number} width @param {number} height */
  #measure(width, height) {
    const { n, degrees } = this.graph;
    const room = Math.sqrt((width * height) / Math.max(1, n));
    this.size = Math.min(11, Math.max(0.9, 0.185 * room)) * Math.min(3, Math.sqrt(this.places.zoom));
    let most = 1;
    for (const degree of degrees) most = Math.max(most, degree);
    this.radii = Float32Array.from(degrees, (degree) => this.size * (0.78 + 0.75 * Math.sqrt(degree / most)));
  }

  drawEdges() {
    const pen = /** @type {CanvasRenderingContext2D} */ (this.back.getContext("2d"));
    const { edges } = this.graph;
    const { x, y, zoom } = this.places;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.back.width, this.back.height);
    const density = window.devicePixelRatio || 1;
    pen.setTransform(density, 0, 0, density, 0, 0);
    const crowd = edges.length / 2 / zoom;
    pen.globalAlpha = Math.min(1, Math.max(0.06, 12 / Math.sqrt(crowd + 1)));
    pen.strokeStyle = token("edge");
    pen.lineWidth = crowd < 400 ? 1.1 : 0.7;
    // One path of many thousand lines is slow to stroke; some hundred at a time are not.
    for (let from = 0; from < edges.length; from += 1000) {
      pen.beginPath();
      for (let at = from; at < Math.min(edges.length, from + 1000); at += 2) {
        pen.moveTo(x[edges[at]], y[edges[at]]);
        pen.lineTo(x[edges[at + 1]], y[edges[at + 1]]);
      }
      pen.stroke();
    }
  }

  /** Draw one frame. @param {Look} look */
  draw(look) {
    const pen = this.context;
    const density = window.devicePixelRatio || 1;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.back, 0, 0);
    pen.setTransform(density, 0, 0, density, 0, 0);
    if (look.fill.length !== this.graph.n) return;
    const ringed = look.ring !== null && this.size >= LEAST_RINGED && this.graph.n <= MOST_DISCS;
    if (ringed) {
      this.#fill(look.ring, look, 0);
      this.#plain(token("stage"), -1.9);
    } else if (this.size >= 2.5) {
      this.#plain(token("stage"), 1.2);
    }
    this.#fill(look.fill, look, ringed ? -3.1 : 0);
    if (look.seen) this.#outline((i) => look.seen[i] === 1, token("ink"), 2.6, 1.3);
    for (const [i, colour] of look.followed) this.#outline((j) => j === i, colour, 4.2, 2.4, [i]);
    if (look.cursor >= 0) this.#outline(() => true, token("ink"), 7.2, 1.6, [look.cursor]);
    if (look.brush) this.#circle(look.brush);
  }

  /**
   * Fill all agents, those of one colour together.
   * @param {Float32Array} values @param {Look} look @param {number} grow
   */
  #fill(values, { scale, part }, grow) {
    const { n } = this.graph;
    const levels = scale.css.length;
    const starts = new Uint32Array(levels + 1);
    const level = new Uint8Array(n);
    for (let i = 0; i < n; i += 1) {
      level[i] = scale.at(part(values[i]));
      starts[level[i] + 1] += 1;
    }
    for (let at = 1; at <= levels; at += 1) starts[at] += starts[at - 1];
    const order = new Uint32Array(n);
    const next = starts.slice();
    for (let i = 0; i < n; i += 1) order[next[level[i]]++] = i;
    for (let at = 0; at < levels; at += 1) {
      if (starts[at] < starts[at + 1]) this.#dots(order.subarray(starts[at], starts[at + 1]), scale.css[at], grow);
    }
  }

  /** @param {string} colour @param {number} grow */
  #plain(colour, grow) {
    this.#dots(Uint32Array.from({ length: this.graph.n }, (_, i) => i), colour, grow);
  }

  /** @param {Uint32Array} agents @param {string} colour @param {number} grow */
  #dots(agents, colour, grow) {
    const pen = this.context;
    const { x, y } = this.places;
    pen.fillStyle = colour;
    pen.beginPath();
    if (this.graph.n > MOST_DISCS) {
      const side = Math.max(1.6, 1.7 * this.size);
      for (const i of agents) pen.rect(x[i] - side / 2, y[i] - side / 2, side, side);
    } else {
      for (const i of agents) {
        const r = Math.max(0.8, this.radii[i] + grow);
        pen.moveTo(x[i] + r, y[i]);
        pen.arc(x[i], y[i], r, 0, TURN);
      }
    }
    pen.fill();
  }

  /**
   * @param {(i: number) => boolean} wanted @param {string} colour @param {number} grow @param {number} width
   * @param {Iterable<number>} [among]
   */
  #outline(wanted, colour, grow, width, among = this.radii.keys()) {
    const pen = this.context;
    const { x, y } = this.places;
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    for (const i of among) {
      if (!wanted(i)) continue;
      const r = this.radii[i] + grow;
      pen.moveTo(x[i] + r, y[i]);
      pen.arc(x[i], y[i], r, 0, TURN);
    }
    pen.stroke();
  }

  /** @param {{x: number, y: number, reach: number}} brush */
  #circle({ x, y, reach }) {
    const pen = this.context;
    pen.strokeStyle = token("accent");
    pen.lineWidth = 1.5;
    pen.setLineDash([4, 4]);
    pen.beginPath();
    pen.arc(x, y, reach, 0, TURN);
    pen.stroke();
    pen.setLineDash([]);
  }
}
