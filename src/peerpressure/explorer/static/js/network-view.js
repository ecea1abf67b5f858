// The network on a canvas. Edges are drawn once, on a layer of their own; agents are drawn in every frame.

import { cssColour } from "./colour.js";
import { axisFont, context2d } from "./elements.js";
import { placedNames } from "./labels.js";
import { BELOW, ScreenLayout } from "./screen-layout.js";

/**
 * @typedef {import("./colour.js").Scale} Scale
 *
 * @typedef {object} EdgeGroup edges that are drawn alike
 * @property {string} kind
 * @property {Uint32Array} edges pairs of agents
 * @property {string} colour its name in the stylesheet
 * @property {number} width
 * @property {number[]} dash
 * @property {number} alpha
 * @property {boolean} [heads] whether arrowheads show who is listened to
 *
 * @typedef {object} Graph
 * @property {number} n
 * @property {Float32Array} positions
 * @property {Uint32Array} edges
 * @property {Uint32Array} looks flags of the edges: ONE_WAY, NEGATIVE
 * @property {Float32Array} degrees 0 for agents who listen to nobody
 * @property {Float32Array} radii of the dots, in units of the positions
 * @property {boolean} exact whether the positions must not be stretched
 *
 * @typedef {object} NetworkMarks what the drawing tells apart, for its legend
 * @property {boolean} oneWay whether some agents listen without being listened to
 * @property {boolean} mutual whether others listen to each other, on the same network
 * @property {boolean} heads whether arrows are drawn, for which dots must be large enough
 * @property {boolean} negative
 * @property {boolean} zealots whether some agents listen to nobody
 *
 * @typedef {object} BrushCircle
 * @property {number} x
 * @property {number} y
 * @property {number} radius
 *
 * @typedef {object} Look how a frame is drawn
 * @property {Float32Array} fill the value of each agent
 * @property {Float32Array | null} ring a second value, drawn as a ring around the first
 * @property {Scale} scale
 * @property {(value: number) => number} part maps values to [0, 1]
 * @property {(value: number) => number} ringPart does so for rings
 * @property {Map<number, string>} followed the colours of agents that are followed
 * @property {number[] | null} observed the agents to mark as observed
 * @property {number} cursor the agent to highlight, −1 for none
 * @property {BrushCircle | null} brush
 */

const TURN = 2 * Math.PI;
// Larger networks are drawn with squares, which the browser fills much faster than discs.
const MAX_DISCS = 6_000;
// Typical radii, without zoom.
const MIN_SIZE = 0.9;
const MAX_SIZE = 13;
// Dots with these radii would touch; this share leaves a gap between them.
const FILLED = 0.72;
// Smaller dots have no room for a ring.
export const MIN_RINGED_SIZE = 4.2;
// From this radius on a ring has its whole width.
const WHOLE_RING = 8;
// Smaller dots, those of some 1,500 agents on a desk, have no room for arrowheads; nor have this many edges.
const MIN_HEADED_SIZE = 2.5;
const MAX_HEADS = 8_000;
// Opacity below which lines are drawn in an exact grey.
const PALE = 0.2;
// Flags of an edge.
const ONE_WAY = 1;
const NEGATIVE = 2;
// Browsers stroke one path of many thousand lines slowly; some hundred at a time are fast.
const EDGES_PER_PATH = 500;

/**
 * Return the edges of a network by their flags.
 * @param {Graph} graph
 * @returns {Map<number, Uint32Array>}
 */
function byLook({ edges, looks }) {
  const kinds = new Set(looks);
  // Most networks have one kind, which need not be copied.
  if (kinds.size <= 1) return new Map([...kinds].map((look) => [look, edges]));
  const pick = (/** @type {number} */ look) => edges.filter((_, k) => looks[k >> 1] === look);
  return new Map([...kinds].sort().map((look) => [look, pick(look)]));
}

export class NetworkView {
  /** @type {Graph} */
  graph = {
    n: 0,
    positions: new Float32Array(0),
    edges: new Uint32Array(0),
    looks: new Uint32Array(0),
    degrees: new Float32Array(0),
    radii: new Float32Array(0),
    exact: false,
  };
  /**
   * The network's own edges, those that are drawn alike together.
   * @type {Map<number, Uint32Array>}
   */
  #byLook = new Map();
  /**
   * The agents who listen to nobody, drawn as squares.
   * @type {Set<number>}
   */
  #zealots = new Set();
  layout = new ScreenLayout([], 0);
  /** The typical radius of a dot. */
  size = 0;
  #radii = new Float32Array(0);
  #edgeLayer = document.createElement("canvas");
  /** @type {import("./labels.js").PlacedName[]} */
  #names = [];
  /**
   * What is drawn in place of the network's own edges, the lowest first.
   * @type {EdgeGroup[] | null}
   */
  #edgeGroups = null;

  /** The height that is left free at the bottom. */
  below = BELOW;
  /** Pixels of the canvas for each pixel of the page. */
  #density = window.devicePixelRatio || 1;
  /** Whether the edge layer has changed since the last picture. */
  #redrawn = true;
  /**
   * The layers of the last picture.
   * @type {{canvas: HTMLCanvasElement, edges: HTMLCanvasElement, density: number} | null}
   */
  #layers = null;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {HTMLElement[]} tools that lie over its top
   * @param {(index: number) => string} nameOf an agent
   */
  constructor(canvas, tools, nameOf) {
    this.canvas = canvas;
    this.tools = tools;
    this.nameOf = nameOf;
    this.context = context2d(canvas);
  }

  /**
   * Draw a frame on a canvas of its own, as it is on the screen but with more pixels.
   * @param {number} density
   * @param {Look} look
   */
  picture(density, look) {
    const screen = { canvas: this.canvas, edges: this.#edgeLayer, density: this.#density };
    const { clientWidth, clientHeight } = screen.canvas;
    const [width, height] = [Math.round(clientWidth * density), Math.round(clientHeight * density)];
    const known = this.#layers?.canvas.width === width && this.#layers.canvas.height === height;
    if (!known) {
      const [canvas, edges] = [document.createElement("canvas"), document.createElement("canvas")];
      for (const layer of [canvas, edges]) Object.assign(layer, { width, height });
      this.#layers = { canvas, edges, density };
    }
    const layers = /** @type {typeof screen} */ (this.#layers);
    this.#drawOn(layers);
    // Frames of an animation have their edges in common.
    if (this.#redrawn || !known) this.drawEdges();
    this.#redrawn = false;
    this.draw(look);
    this.#drawOn(screen);
    return layers.canvas;
  }

  /** @param {{canvas: HTMLCanvasElement, edges: HTMLCanvasElement, density: number}} layers */
  #drawOn({ canvas, edges, density }) {
    this.canvas = canvas;
    this.context = context2d(canvas);
    this.#edgeLayer = edges;
    this.#density = density;
  }

  /**
   * Show another network, zoomed as before if it has as many agents.
   * @param {Graph} graph
   */
  setGraph(graph) {
    const sameSize = graph.n === this.graph.n;
    const { zoom, panX, panY } = this.layout;
    this.graph = graph;
    this.#byLook = byLook(graph);
    this.#zealots = new Set([...graph.degrees.keys()].filter((i) => graph.degrees[i] === 0));
    // Groups of edges refer to the network before.
    this.#edgeGroups = null;
    this.layout = new ScreenLayout(graph.positions, graph.n, graph.exact);
    if (sameSize) Object.assign(this.layout, { zoom, panX, panY });
    this.refit();
  }

  /** Adapt to the canvas's size and to the zoom. */
  refit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    this.#density = window.devicePixelRatio || 1;
    for (const layer of [this.canvas, this.#edgeLayer]) {
      layer.width = Math.max(1, Math.round(width * this.#density));
      layer.height = Math.max(1, Math.round(height * this.#density));
    }
    const { top } = this.canvas.getBoundingClientRect();
    // A tool that is hidden is nowhere; its box would be that of the window's corner.
    const tools = this.tools.filter((tool) => tool.offsetHeight > 0);
    this.layout.covered = Math.max(0, ...tools.map((tool) => tool.getBoundingClientRect().bottom - top));
    this.layout.below = this.below;
    this.layout.fit(width, height);
    this.#measure();
    this.drawEdges();
    this.#placeNames();
  }

  #measure() {
    const { radii } = this.graph;
    const { scale, zoom } = this.layout;
    const typical = radii.slice().sort()[radii.length >> 1];
    // Zoomed in, dots grow less than the distances between them.
    this.size = Math.min(MAX_SIZE, Math.max(MIN_SIZE, FILLED * typical * scale)) * Math.min(3, Math.sqrt(zoom));
    this.#radii = radii.map((radius) => (this.size * radius) / typical);
  }

  #placeNames() {
    this.context.font = axisFont();
    const widthOf = (/** @type {string} */ text) => this.context.measureText(text).width;
    this.#names = placedNames(this.layout, this.#radii, this.nameOf, widthOf);
  }

  /** Follow the layout, which was moved. */
  moved() {
    this.drawEdges();
    this.#placeNames();
  }

  /** @param {EdgeGroup[] | null} groups null for the network's own edges */
  setEdges(groups) {
    this.#edgeGroups = groups;
    this.drawEdges();
  }

  drawEdges() {
    const ctx = context2d(this.#edgeLayer);
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.#edgeLayer.width, this.#edgeLayer.height);
    ctx.setTransform(this.#density, 0, 0, this.#density, 0, 0);
    this.#redrawn = true;
    for (const group of this.#edgeGroups ?? this.#ownEdges()) {
      this.#strokeEdges(ctx, group);
      if (group.heads) this.#fillHeads(ctx, group);
    }
  }

  /**
   * What the drawing tells apart.
   * @returns {NetworkMarks}
   */
  get marks() {
    const looks = [...this.#byLook.keys()];
    const has = (/** @type {number} */ flag) => looks.some((look) => (look & flag) !== 0);
    return {
      oneWay: has(ONE_WAY),
      mutual: looks.some((look) => (look & ONE_WAY) === 0),
      heads: this.#hasHeads,
      negative: has(NEGATIVE),
      zealots: this.#zealots.size > 0,
    };
  }

  get #hasHeads() {
    const ends = [...this.#byLook].filter(([look]) => look & ONE_WAY).map(([, edges]) => edges.length);
    // Of a network that is zoomed in, about this share is in sight.
    const visible = ends.reduce((sum, length) => sum + length, 0) / 2 / this.layout.zoom ** 2;
    return this.size >= MIN_HEADED_SIZE && visible <= MAX_HEADS;
  }

  /** @returns {EdgeGroup[]} */
  #ownEdges() {
    const crowd = this.graph.edges.length / 2 / this.layout.zoom;
    // Paler than in proportion to their number: where many edges meet, at hubs, they add up.
    const alpha = Math.min(1, Math.max(0.03, (150 / (crowd + 1)) ** 0.7));
    const width = crowd < 400 ? 1.1 : 0.7;
    return [...this.#byLook].map(([look, edges]) => ({
      kind: "own",
      edges,
      heads: (look & ONE_WAY) !== 0 && this.#hasHeads,
      width,
      // Distrust differs in colour and line, and stays visible among many other edges.
      ...(look & NEGATIVE
        ? { colour: "bad", dash: [4, 3], alpha: Math.min(1, 2 * alpha) }
        : { colour: alpha < PALE ? "edge-pale" : "edge", dash: [], alpha }),
    }));
  }

  /**
   * Fill arrowheads at the second ends of edges, beside the dots.
   * @param {CanvasRenderingContext2D} ctx
   * @param {EdgeGroup} group
   */
  #fillHeads(ctx, { edges, colour, alpha }) {
    const { x, y, width, height } = this.layout;
    const length = Math.min(9, 3.5 + 0.6 * this.size);
    ctx.globalAlpha = Math.min(1, 2 * alpha);
    // Pale lines need darker heads to be seen at all.
    ctx.fillStyle = cssColour(colour.startsWith("edge") ? "soft" : colour);
    ctx.beginPath();
    for (let k = 0; k < edges.length; k += 2) {
      const [from, to] = [edges[k], edges[k + 1]];
      const apart = Math.hypot(x[to] - x[from], y[to] - y[from]);
      const hidden = x[to] < 0 || x[to] > width || y[to] < 0 || y[to] > height;
      if (hidden || apart < this.#radii[to] + length) continue;
      const [dx, dy] = [(x[to] - x[from]) / apart, (y[to] - y[from]) / apart];
      const tip = this.#radii[to] + 1.2;
      const [tipX, tipY] = [x[to] - tip * dx, y[to] - tip * dy];
      const [baseX, baseY] = [tipX - length * dx, tipY - length * dy];
      const half = 0.36 * length;
      ctx.moveTo(tipX, tipY);
      ctx.lineTo(baseX - half * dy, baseY + half * dx);
      ctx.lineTo(baseX + half * dy, baseY - half * dx);
      ctx.closePath();
    }
    ctx.fill();
  }

  /**
   * @param {CanvasRenderingContext2D} ctx
   * @param {EdgeGroup} group
   */
  #strokeEdges(ctx, { edges, colour, width, dash, alpha }) {
    const { x, y } = this.layout;
    ctx.globalAlpha = alpha;
    ctx.strokeStyle = cssColour(colour);
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    for (let start = 0; start < edges.length; start += 2 * EDGES_PER_PATH) {
      ctx.beginPath();
      for (let k = start; k < Math.min(edges.length, start + 2 * EDGES_PER_PATH); k += 2) {
        ctx.moveTo(x[edges[k]], y[edges[k]]);
        ctx.lineTo(x[edges[k + 1]], y[edges[k + 1]]);
      }
      ctx.stroke();
    }
  }

  /**
   * Draw one frame.
   * @param {Look} look
   */
  draw(look) {
    const ctx = this.context;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.clearRect(0, 0, this.canvas.width, this.canvas.height);
    ctx.drawImage(this.#edgeLayer, 0, 0);
    ctx.setTransform(this.#density, 0, 0, this.#density, 0, 0);
    const { fill, observed, followed, cursor, brush } = look;
    if (fill.length !== this.graph.n) return;
    const ring = this.size >= MIN_RINGED_SIZE && this.graph.n <= MAX_DISCS ? look.ring : null;
    if (ring) {
      this.#fillByValue(ring, { ...look, part: look.ringPart }, 0);
      this.#fillAll(cssColour("stage"), -2.5);
    } else if (this.size >= 2.5) {
      this.#fillAll(cssColour("stage"), 1.2);
    }
    this.#fillByValue(fill, look, ring ? -3.7 : 0);
    if (this.#zealots.size) this.#outline(this.#zealots, cssColour("ink"), 0.8, 1.5);
    if (observed) this.#outline(observed, cssColour("ink"), 2.6, 1.3);
    for (const [i, colour] of followed) this.#outline([i], colour, 4.2, 2.4);
    if (cursor >= 0) this.#outline([cursor], cssColour("ink"), 7.2, 1.6);
    if (this.#names.length) this.#drawNames();
    if (brush) this.#drawBrush(brush);
  }

  /**
   * Fill all agents by their values. Those of one colour are filled together, which is much faster than one by one; a
   * counting sort brings them together.
   * @param {Float32Array} values
   * @param {Look} look
   * @param {number} grow added to the radius
   */
  #fillByValue(values, { scale, part }, grow) {
    const { n } = this.graph;
    const levels = scale.css.length;
    const starts = new Uint32Array(levels + 1);
    const level = new Uint8Array(n);
    for (let i = 0; i < n; i += 1) {
      level[i] = scale.level(part(values[i]));
      starts[level[i] + 1] += 1;
    }
    for (let k = 1; k <= levels; k += 1) starts[k] += starts[k - 1];
    const order = new Uint32Array(n);
    const next = starts.slice();
    for (let i = 0; i < n; i += 1) order[next[level[i]]++] = i;
    for (let k = 0; k < levels; k += 1) {
      if (starts[k] < starts[k + 1]) this.#fill(order.subarray(starts[k], starts[k + 1]), scale.css[k], grow);
    }
  }

  /**
   * @param {string} colour
   * @param {number} grow added to the radius
   */
  #fillAll(colour, grow) {
    this.#fill(this.#radii.keys(), colour, grow);
  }

  /**
   * @param {Iterable<number>} agents
   * @param {string} colour
   * @param {number} grow added to the radius
   */
  #fill(agents, colour, grow) {
    const ctx = this.context;
    const { x, y } = this.layout;
    ctx.fillStyle = colour;
    ctx.beginPath();
    if (this.graph.n > MAX_DISCS) {
      for (const i of agents) {
        const side = 1.8 * this.#radii[i];
        ctx.rect(x[i] - side / 2, y[i] - side / 2, side, side);
      }
    } else {
      for (const i of agents) {
        // Rings are thinner on small dots, whose fill must stay visible.
        const part = grow < 0 ? Math.min(1, this.#radii[i] / WHOLE_RING) : 1;
        this.#trace(ctx, i, Math.max(0.8, this.#radii[i] + part * grow));
      }
    }
    ctx.fill();
  }

  /**
   * @param {Iterable<number>} agents
   * @param {string} colour
   * @param {number} grow added to the radius
   * @param {number} lineWidth
   */
  #outline(agents, colour, grow, lineWidth) {
    const ctx = this.context;
    ctx.strokeStyle = colour;
    ctx.lineWidth = lineWidth;
    ctx.beginPath();
    for (const i of agents) this.#trace(ctx, i, this.#radii[i] + grow);
    ctx.stroke();
  }

  /**
   * Add the outline of an agent to the path: a disc, or a square for a zealot.
   * @param {CanvasRenderingContext2D} ctx
   * @param {number} i
   * @param {number} radius
   */
  #trace(ctx, i, radius) {
    const { x, y } = this.layout;
    if (this.#zealots.has(i)) {
      // As large as the disc.
      const side = radius * Math.sqrt(Math.PI);
      ctx.rect(x[i] - side / 2, y[i] - side / 2, side, side);
      return;
    }
    ctx.moveTo(x[i] + radius, y[i]);
    ctx.arc(x[i], y[i], radius, 0, TURN);
  }

  #drawNames() {
    const ctx = this.context;
    ctx.font = axisFont();
    ctx.textBaseline = "middle";
    ctx.lineJoin = "round";
    ctx.lineWidth = 3;
    // A halo, as edges pass below.
    ctx.strokeStyle = cssColour("stage");
    ctx.fillStyle = cssColour("ink");
    for (const { text, x, y } of this.#names) {
      ctx.strokeText(text, x, y);
      ctx.fillText(text, x, y);
    }
  }

  /** @param {BrushCircle} brush */
  #drawBrush({ x, y, radius }) {
    const ctx = this.context;
    ctx.strokeStyle = cssColour("accent");
    ctx.lineWidth = 1.5;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, TURN);
    ctx.stroke();
    ctx.setLineDash([]);
  }
}
