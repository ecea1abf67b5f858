// How a pressure grows, from the tree of its formula: the term c·e^(p·t^q)·t^a·(log t)^b that outgrows all others. What
// this does not decide, such as a difference of equal terms, is refused by name.

import { evaluate, isConstant } from "./formula.js";
import { NotCovered } from "./refusal.js";

/**
 * @typedef {import("./formula.js").Node} Node
 *
 * @typedef {object} Lead the leading term; with a factor of 0 all others are 0
 * @property {number} factor c
 * @property {number} rate p
 * @property {number} speed q > 0; 0 without an exponential
 * @property {number} power a
 * @property {number} logs b
 *
 * @typedef {"bounded" | "slow" | "fast"} Growth of a pressure: bounded; unbounded with a divergent sum of its
 *   reciprocals; or with a convergent one
 */

/** @type {Lead} */
const ONE = { factor: 1, rate: 0, speed: 0, power: 0, logs: 0 };
/** @type {Lead} */
const ZERO = { ...ONE, factor: 0 };
/** @type {Lead} */
const T = { ...ONE, power: 1 };

const undecided = (/** @type {string} */ what) => {
  return new NotCovered(`the growth of ${what} is not decided by the engine in this page`);
};

const constant = (/** @type {number} */ value) => (value === 0 ? ZERO : { ...ONE, factor: value });
const isLimit = (/** @type {Lead} */ { rate, power, logs }) => rate === 0 && power === 0 && logs === 0;

/** The sign of what a positive term with these exponents does: 1 if it grows, −1 if it vanishes, 0 if it has a limit. */
function direction(/** @type {Lead} */ { rate, power, logs }) {
  return Math.sign(rate) || Math.sign(power) || Math.sign(logs);
}

/** @returns {Lead} */
function times(/** @type {Lead} */ one, /** @type {Lead} */ other) {
  if (one.factor === 0 || other.factor === 0) return ZERO;
  const speed = Math.max(one.speed, other.speed);
  const rateAt = (/** @type {Lead} */ lead) => (lead.speed === speed ? lead.rate : 0);
  const rate = speed > 0 ? rateAt(one) + rateAt(other) : 0;
  // The slower exponential would then lead, which these numbers do not hold.
  if (speed > 0 && rate === 0) throw undecided("a product of exponentials that cancel");
  return {
    factor: one.factor * other.factor,
    rate,
    speed,
    power: one.power + other.power,
    logs: one.logs + other.logs,
  };
}

/** @returns {Lead} */
function raised(/** @type {Lead} */ lead, /** @type {number} */ exponent) {
  if (exponent === 0) return ONE;
  if (lead.factor === 0 && exponent > 0) return ZERO;
  if (lead.factor === 0 || (lead.factor < 0 && !Number.isInteger(exponent))) throw undecided("a power of such a term");
  const { factor, rate, speed, power, logs } = lead;
  return {
    factor: factor ** exponent,
    rate: rate * exponent,
    speed,
    power: power * exponent,
    logs: logs * exponent,
  };
}

/** The ratio of two terms, as far as its direction is concerned. */
function outgrows(/** @type {Lead} */ one, /** @type {Lead} */ other) {
  if (one.speed !== other.speed || one.rate !== other.rate) {
    const [first, second] = [one, other].map(({ rate, speed }) => [Math.sign(rate) * speed, rate]);
    return Math.sign(first[0] - second[0] || first[1] - second[1]);
  }
  return Math.sign(one.power - other.power || one.logs - other.logs);
}

/** @returns {Lead} */
function plus(/** @type {Lead} */ one, /** @type {Lead} */ other) {
  if (one.factor === 0) return other;
  if (other.factor === 0) return one;
  const ahead = outgrows(one, other);
  if (ahead) return ahead > 0 ? one : other;
  if (one.factor + other.factor === 0) throw undecided("a difference of terms that cancel");
  return { ...one, factor: one.factor + other.factor };
}

/** @returns {Lead} */
function logarithm(/** @type {Lead} */ lead, scale = 1) {
  const { factor, rate, speed, power, logs } = lead;
  if (factor <= 0) throw undecided("a logarithm of such a term");
  if (rate) return { ...ONE, factor: rate * scale, power: speed };
  if (power) return { ...ONE, factor: power * scale, logs: 1 };
  if (logs || factor === 1) throw undecided("a logarithm of a logarithm, or of what tends to 1");
  return { ...ONE, factor: Math.log(factor) * scale };
}

/** @returns {Lead} */
function exponential(/** @type {Lead} */ lead) {
  if (lead.factor === 0) return ONE;
  if (isLimit(lead)) return { ...ONE, factor: Math.exp(lead.factor) };
  if (lead.rate || lead.logs || lead.power <= 0) throw undecided("an exponential of such a term");
  return { ...ONE, rate: lead.factor, speed: lead.power };
}

/** @returns {Lead} */
function ofCall(/** @type {string} */ name, /** @type {Node[]} */ operands) {
  const leads = operands.map(leadOf);
  const [lead] = leads;
  const grows = lead.factor !== 0 && direction(lead) > 0;
  switch (name) {
    case "sqrt":
      return raised(lead, 0.5);
    case "log":
      return logarithm(lead);
    case "log2":
      return logarithm(lead, Math.LOG2E);
    case "log10":
      return logarithm(lead, Math.LOG10E);
    case "log1p":
      return logarithm(plus(ONE, lead));
    case "exp":
      return exponential(lead);
    case "expm1":
      return plus(exponential(lead), { ...ONE, factor: -1 });
    case "abs":
      return { ...lead, factor: Math.abs(lead.factor) };
    case "floor":
    case "ceil":
      if (grows) return lead;
      throw undecided(`${name} of what does not grow`);
    case "min":
    case "max":
      return leads.reduce((one, other) => extreme(name === "max" ? 1 : -1, one, other));
    default:
      throw undecided(name);
  }
}

/** @returns {Lead} */
function extreme(/** @type {number} */ sign, /** @type {Lead} */ one, /** @type {Lead} */ other) {
  const difference = plus(one, { ...other, factor: -other.factor });
  return difference.factor * sign > 0 ? one : other;
}

/** @returns {Lead} */
function power(/** @type {Node} */ base, /** @type {Node} */ exponent) {
  if (isConstant(exponent)) return raised(leadOf(base), evaluate(exponent, 0));
  const [lead, height] = [leadOf(base), leadOf(exponent)];
  if (lead.factor === 1 && isLimit(lead) && isConstant(base)) return ONE;
  // b^h = e^(h·log b); only where log b is exactly known.
  if (!isConstant(base) || lead.factor <= 0) throw undecided("such a power");
  return exponential(times(height, constant(Math.log(lead.factor))));
}

/**
 * Return the leading term of a formula.
 * @param {Node} node
 * @returns {Lead}
 */
export function leadOf(node) {
  if (isConstant(node)) return constant(evaluate(node, 0));
  switch (node.kind) {
    case "name":
      return T;
    case "negative":
      return times(constant(-1), leadOf(node.operand));
    case "operation": {
      if (node.symbol === "^") return power(node.left, node.right);
      const [left, right] = [leadOf(node.left), leadOf(node.right)];
      if (node.symbol === "+") return plus(left, right);
      if (node.symbol === "-") return plus(left, times(constant(-1), right));
      return times(left, node.symbol === "*" ? right : raised(right, -1));
    }
    case "call":
      return ofCall(node.name, node.operands);
    default:
      throw undecided("this");
  }
}

/**
 * Return how a pressure with this leading term grows.
 * @param {Lead} lead
 * @returns {Growth}
 */
export function growthOf({ factor, rate, power, logs, speed }) {
  if (factor < 0) throw new NotCovered("the pressure is negative in the long run");
  if (factor === 0 || direction({ factor, rate, power, logs, speed }) <= 0) return "bounded";
  // The sum of 1/ρ converges beyond t, and at t·(log t)^b for b > 1.
  return rate > 0 || power > 1 || (power === 1 && logs > 1) ? "fast" : "slow";
}
