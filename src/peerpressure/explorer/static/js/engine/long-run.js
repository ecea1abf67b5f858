// What becomes of the public opinions in the long run: do the agents agree, and on what. It is decided by how the
// pressure grows, by who hears whom, and by the noise; cases that need more are refused by name.

import { growthOf, leadOf } from "./growth.js";
import { NotCovered } from "./refusal.js";

/**
 * @typedef {import("./engine.js").Model} Model
 * @typedef {import("./engine.js").Network} Network
 *
 * @typedef {"consensus" | "biased_consensus" | "oscillation" | "periodic" | "disagreement"} Outcome
 *
 * @typedef {object} Verdict
 * @property {Outcome} outcome
 * @property {number} value the mean of the hidden opinions weighted by stubbornness and influence
 * @property {Float64Array} weights of the hidden opinions in it, of sum 1
 * @property {import("./growth.js").Growth} growth of the pressure
 * @property {number} period 2 where there are two sides that only hear each other
 */

/** Return whether every agent of a set of starting points is reached, by who is heard or by who hears. */
function reached(/** @type {number[][]} */ next, /** @type {number} */ from) {
  const seen = new Uint8Array(next.length);
  const waiting = [from];
  seen[from] = 1;
  for (let i = waiting.pop(); i !== undefined; i = waiting.pop()) {
    for (const j of next[i]) {
      if (!seen[j]) {
        seen[j] = 1;
        waiting.push(j);
      }
    }
  }
  return seen;
}

/** Who is heard by each agent. */
function heardBy(/** @type {Network} */ { n, starts, columns }) {
  return Array.from({ length: n }, (_, i) => [...columns.subarray(starts[i], starts[i + 1])]);
}

/**
 * Return the one set of agents whom everybody hears, directly or not, and who hear nobody else.
 * @param {Network} network
 */
function closedClass(network) {
  const heard = heardBy(network);
  // Whoever is reached last from anywhere lies in a closed class: go on to somebody who does not hear back.
  let inside = reached(heard, 0);
  for (let i = 0; i < network.n; i += 1) {
    if (!inside[i]) continue;
    const mine = reached(heard, i);
    if (mine.reduce((sum, one) => sum + one, 0) < inside.reduce((sum, one) => sum + one, 0)) inside = mine;
  }
  const [any] = [...inside.keys()].filter((i) => inside[i]);
  /** @type {number[][]} */
  const hearers = heard.map(() => []);
  heard.forEach((row, i) => {
    for (const j of row) hearers[j].push(i);
  });
  return reached(hearers, any).every(Boolean) ? [...inside.keys()].filter((i) => inside[i]) : null;
}

function gcd(/** @type {number} */ a, /** @type {number} */ b) {
  let [x, y] = [a, b];
  while (y) [x, y] = [y, x % y];
  return x;
}

/**
 * Return the greatest common divisor of the lengths of all cycles within a closed class; 1 for one agent.
 * @param {Network} network
 * @param {number[]} members
 */
function periodOf(network, members) {
  const heard = heardBy(network);
  const distance = new Map([[members[0], 0]]);
  let period = 0;
  // A map is gone through in the order of its entries, those that are added meanwhile included: breadth first.
  for (const [i, steps] of distance) {
    for (const j of heard[i]) {
      const known = distance.get(j);
      if (known === undefined) distance.set(j, steps + 1);
      else period = gcd(period, Math.abs(steps + 1 - known));
    }
  }
  return period || 1;
}

/**
 * Return the weights ℓs of the hidden opinions in the value, of sum 1; ℓ spans the left kernel of D − A.
 * @param {Model} model
 * @param {number[]} members of the closed class
 */
function weightsOf({ n, network, stubbornness }, members) {
  const weights = new Float64Array(n);
  const left = network.directed ? leftKernel(network, members) : new Float64Array(members.length).fill(1);
  members.forEach((i, k) => {
    weights[i] = left[k] * stubbornness[i];
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** Solve ℓᵀ(D − A) = 0 on a closed class by elimination without differences (Grassmann, Taksar & Heyman). */
function leftKernel(/** @type {Network} */ { starts, columns, weights }, /** @type {number[]} */ members) {
  const m = members.length;
  const place = new Map(members.map((i, k) => [i, k]));
  const a = new Float64Array(m * m);
  members.forEach((i, k) => {
    for (let e = starts[i]; e < starts[i + 1]; e += 1) a[k * m + Number(place.get(columns[e]))] = weights[e];
  });
  const out = new Float64Array(m);
  for (let k = m - 1; k > 0; k -= 1) {
    for (let j = 0; j < k; j += 1) out[k] += a[k * m + j];
    for (let i = 0; i < k; i += 1) {
      const factor = a[i * m + k] / out[k];
      for (let j = 0; j < k; j += 1) if (j !== i) a[i * m + j] += factor * a[k * m + j];
    }
  }
  const left = new Float64Array(m);
  left[0] = 1;
  for (let k = 1; k < m; k += 1) {
    for (let i = 0; i < k; i += 1) left[k] += left[i] * a[i * m + k];
    left[k] /= out[k];
  }
  return left;
}

/** Whether the share s/d of an opinion is the same for all, which keeps the mean where it started. */
function isBalanced(/** @type {Model} */ { network, stubbornness }) {
  const shares = stubbornness.map((s, i) => s / network.degrees[i]);
  return Math.max(...shares) - Math.min(...shares) <= 1e-9 * Math.max(...shares);
}

/**
 * Return the verdict on a model.
 * @param {Model} model
 * @returns {Verdict}
 */
export function verdict(model) {
  const { hidden, noise, network, formula } = model;
  if (!formula) throw new NotCovered("a table of pressures has no long run");
  if (hidden.every((opinion) => opinion === hidden[0])) throw new NotCovered("all hidden opinions are equal");
  const members = closedClass(network);
  if (!members)
    throw new NotCovered("the engine in this page does not judge networks of parts that do not hear each other");
  const growth = growthOf(leadOf(formula));
  const period = periodOf(network, members);
  const weights = weightsOf(model, members);
  const value = weights.reduce((sum, weight, i) => sum + weight * hidden[i], 0);
  const quiet = noise.std.every((std) => std === 0);
  if (members.length === 1 && !(quiet && growth !== "fast")) {
    throw new NotCovered("the engine in this page does not judge networks that follow one agent");
  }
  return { outcome: outcomeOf(model, growth, period, quiet), value, weights, growth, period };
}

/**
 * @param {Model} model
 * @param {import("./growth.js").Growth} growth
 * @param {number} period
 * @param {boolean} quiet
 * @returns {Outcome}
 */
function outcomeOf(model, growth, period, quiet) {
  if (growth === "bounded") return "disagreement";
  // One draw for all steps is never averaged away, so they agree beside the value.
  if (growth === "slow") return quiet || !model.noise.frozen ? "consensus" : "biased_consensus";
  if (quiet && isBalanced(model)) {
    throw new NotCovered(
      "without noise, and with equal shares for all, the outcome depends on sums that stay constant",
    );
  }
  if (period === 1) return "biased_consensus";
  return period === 2 ? "oscillation" : "periodic";
}
