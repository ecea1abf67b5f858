// Distrust, drawn on the network: an edge that is clicked, or whose two agents are chosen one after the other, turns
// negative, and positive again.

import { agentName } from "./format.js";
import { showMessage } from "./messages.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").NetworkSection} NetworkSection
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 */

const [ONE_WAY, NEGATIVE] = [1, 2]; // flags of an edge
const REACH = 7; // pixels from a line within which a click is on it

/**
 * Return the section that lists the edges of a network as it is drawn; null if what is drawn does not tell.
 * @param {NetworkSection} section
 * @param {NetworkAnswer} graph
 * @returns {NetworkSection | null}
 */
export function listedEdges(section, { header, arrays }) {
  if (section.edges) return section;
  if (section.temporal || !header.unit_weights || header.edges_shown < header.edge_count) return null;
  /** @type {[number, number][]} */
  const edges = [];
  /** @type {number[]} */
  const weights = [];
  for (const [k, flags] of arrays.looks.entries()) {
    const [a, b] = arrays.edges.subarray(2 * k, 2 * k + 2);
    const weight = flags & NEGATIVE ? -1 : 1;
    edges.push([a, b]);
    weights.push(weight);
    if (header.directed && !(flags & ONE_WAY)) {
      edges.push([b, a]);
      weights.push(weight);
    }
  }
  const { dynamics } = section;
  return {
    edges,
    weights,
    ...(header.directed && { directed: true }),
    ...(header.labels && { labels: header.labels }),
    ...(dynamics !== undefined && { dynamics }),
  };
}

/**
 * Return a section with the sign of all edges between two agents reversed; null if there are none.
 * @param {NetworkSection} section with a list of edges
 * @param {number} a
 * @param {number} b
 * @returns {NetworkSection | null}
 */
export function reversed(section, a, b) {
  const { edges = [], signed, ...rest } = section;
  const before = /** @type {number[]} */ (section.weights ?? edges.map(() => 1));
  const hit = edges.map(([one, two]) => (one === a && two === b) || (one === b && two === a));
  if (!hit.some(Boolean)) return null;
  const weights = before.map((weight, k) => (hit[k] ? -weight : weight));
  return { ...rest, edges, weights, ...(weights.some((weight) => weight < 0) && { signed: true }) };
}

export class Distrust {
  /** The agent that was chosen first, −1 for none. */
  #first = -1;

  /**
   * @param {Store} store
   * @param {Stage} stage
   */
  constructor(store, stage) {
    this.store = store;
    this.stage = stage;
  }

  reset() {
    this.#first = -1;
  }

  /**
   * Take an agent, or the edge at a place where there is none.
   * @param {number} index of the agent, −1 for none
   * @param {number} [x]
   * @param {number} [y]
   */
  take(index, x = 0, y = 0) {
    if (index < 0) {
      const edge = this.#edgeAt(x, y);
      if (edge) this.#reverse(...edge);
      this.reset();
    } else if (this.#first < 0 || this.#first === index) {
      this.#first = this.#first === index ? -1 : index;
      if (this.#first >= 0) showMessage(`Now choose a neighbour of ${this.#name(index)}.`);
    } else {
      this.#reverse(this.#first, index);
      this.reset();
    }
  }

  /** @param {number} index */
  #name(index) {
    return agentName(this.stage.labelOf(index));
  }

  /**
   * @param {number} a
   * @param {number} b
   */
  #reverse(a, b) {
    const { graph } = this.stage;
    const { scenario } = this.store;
    if (!graph) return;
    const listed = listedEdges(scenario.network, graph);
    if (!listed) {
      showMessage(
        "Distrust can be drawn on networks that do not change, without weights, and with all edges drawn.",
        "bad",
      );
      return;
    }
    const network = reversed(listed, a, b);
    if (!network) {
      showMessage(`${this.#name(a)} and ${this.#name(b)} are not connected, so there is no trust to reverse.`, "bad");
      return;
    }
    const negative = edgeBetween(network, a, b) < 0;
    showMessage(`${this.#name(a)} and ${this.#name(b)}: ${negative ? "distrust" : "trust"}.`);
    this.store.replace({
      scenario: { ...scenario, network, ...sameAgents(scenario) },
      view: this.store.view,
      other: this.store.other,
    });
  }

  /**
   * Return the agents of the edge nearest to a place, null if none is near.
   * @param {number} x
   * @param {number} y
   * @returns {[number, number] | null}
   */
  #edgeAt(x, y) {
    const { graph, view } = this.stage;
    if (!graph) return null;
    const { edges } = graph.arrays;
    const { x: xs, y: ys } = view.layout;
    let [best, nearest] = [-1, REACH];
    for (let k = 0; k < edges.length; k += 2) {
      const distance = distanceTo(x, y, xs[edges[k]], ys[edges[k]], xs[edges[k + 1]], ys[edges[k + 1]]);
      if (distance < nearest) [best, nearest] = [k, distance];
    }
    return best < 0 ? null : [edges[best], edges[best + 1]];
  }
}

/**
 * Return what a scenario says of single agents, as other lists: agents stay who they are when an edge changes.
 * @param {import("./types.js").Scenario} scenario
 */
function sameAgents({ agents, observe }) {
  return structuredClone({ ...(agents && { agents }), ...(observe && { observe }) });
}

/**
 * @param {NetworkSection} section
 * @param {number} a
 * @param {number} b
 */
function edgeBetween({ edges = [], weights }, a, b) {
  const place = edges.findIndex(([one, two]) => (one === a && two === b) || (one === b && two === a));
  return /** @type {number[] | undefined} */ (weights)?.[place] ?? 1;
}

/**
 * Return the distance of a point from a line between two others.
 * @param {number} x
 * @param {number} y
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function distanceTo(x, y, x1, y1, x2, y2) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1);
  const part = Math.min(1, Math.max(0, along));
  return Math.hypot(x - x1 - part * dx, y - y1 - part * dy);
}
