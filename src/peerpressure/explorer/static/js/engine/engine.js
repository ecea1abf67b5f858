// The model of the paper in the page: y_t = g_t (x + ε_t) + C_t y_{t−1}, with g_t = s/(s + ρ_t d) and C_t = ρ_t A/(s + ρ_t d).
// It computes what the library computes, to rounding, with the same noise for the same seed; what it does not cover it
// refuses by name. Arrays over time are (steps + 1) × n, one row a step.

import { evaluate, parseFormula } from "./formula.js";
import { draw, FRESH, FROZEN } from "./philox.js";
import { NotCovered } from "./refusal.js";

export { FormulaError, parseFormula } from "./formula.js";
export { verdict } from "./long-run.js";
export { NotCovered };

/**
 * @typedef {import("./formula.js").Node} Formula
 * @typedef {import("./philox.js").Law} Law
 * @typedef {Record<string, unknown>} Section
 *
 * @typedef {object} Network agent i listens to columns starts[i]…starts[i + 1] − 1
 * @property {number} n
 * @property {boolean} directed
 * @property {Uint32Array} starts
 * @property {Uint32Array} columns
 * @property {Float64Array} weights
 * @property {Float64Array} degrees
 *
 * @typedef {object} Noise
 * @property {Law} law
 * @property {number} shape degrees of freedom of Student's t
 * @property {Float64Array} std of each agent
 * @property {boolean} frozen whether one draw is kept for all steps
 *
 * @typedef {object} Model
 * @property {number} n
 * @property {Network} network
 * @property {Float64Array} hidden
 * @property {Float64Array} stubbornness
 * @property {(t: number) => number} pressure
 * @property {Formula | null} formula of the pressure; null for a table
 * @property {string} text of the formula
 * @property {Noise} noise
 * @property {boolean} startsHidden whether public opinions start from the hidden ones
 * @property {Float64Array} start
 *
 * @typedef {object} Drawn what a scenario only names, as the library has drawn or read it
 * @property {number} [n]
 * @property {number[][]} [edges]
 * @property {ArrayLike<number>} [hidden]
 * @property {ArrayLike<number>} [stubbornness]
 * @property {ArrayLike<number>} [start]
 * @property {string | number[]} [pressure] a formula or a table
 *
 * @typedef {{ network: Section, agents?: Section, pressure?: Section, noise?: Section, [other: string]: unknown }} Scenario
 * @typedef {{ steps: number, seed?: number, replicate?: number }} Run
 * @typedef {{ value: Float64Array, std: Float64Array }} Estimates
 */

export const MOST_AGENTS = 500;
// Below this gain, dividing by it leaves no significant digits; the library's bound.
const LEAST_GAIN = 1e-10;
// An agent without neighbours under an infinite pressure would have a gain of 0/0; the library's least relief.
const LEAST_RELIEF = 1.4916681462400413e-154;
const LAWS = ["gaussian", "laplace", "uniform", "student", "rademacher", "none"];

/**
 * Refuse keys of a section that change the model and are not covered.
 * @param {string} name
 * @param {Section} section
 * @param {string[]} covered
 */
function refuseOthers(name, section, covered) {
  const other = Object.keys(section).find((key) => section[key] != null && !covered.includes(key));
  if (other) throw new NotCovered(`the engine in this page does not cover ${name}.${other}`);
}

/**
 * Return numbers of agents from one for all or one for each.
 * @param {string} name
 * @param {unknown} given
 * @param {number} n
 */
function perAgent(name, given, n) {
  if (typeof given === "number") return new Float64Array(n).fill(given);
  const isList = Array.isArray(given) || ArrayBuffer.isView(given);
  const values = isList ? Float64Array.from(/** @type {ArrayLike<number>} */ (given)) : null;
  if (!values) throw new NotCovered(`the engine in this page needs ${name} as numbers, not as a law to draw them from`);
  if (values.length !== n) throw new NotCovered(`there are ${values.length} values of ${name} for ${n} agents`);
  if (!values.every(Number.isFinite)) throw new NotCovered(`the engine in this page needs ${name} as finite numbers`);
  return values;
}

/**
 * Return a network; a directed edge goes from who listens to who is listened to.
 * @param {number[][]} edges pairs of agents, with a weight perhaps
 * @param {number} [agents] 1 more than the largest number in the edges if left out
 * @param {boolean} [directed]
 * @returns {Network}
 */
export function networkOf(edges, agents, directed = false) {
  const n = agents ?? 1 + edges.reduce((most, [i, j]) => Math.max(most, i, j), -1);
  if (n > MOST_AGENTS) throw new NotCovered(`the engine in this page takes at most ${MOST_AGENTS} agents, not ${n}`);
  /** @type {Map<number, number>[]} */
  const rows = Array.from({ length: n }, () => new Map());
  for (const [i, j, weight = 1] of edges) {
    if (i === j) throw new NotCovered(`agent ${i} is linked to itself`);
    if (!(weight >= 0)) throw new NotCovered("the engine in this page does not cover negative weights");
    if (!(rows[i] && rows[j])) throw new NotCovered(`the edge ${i}–${j} is not among ${n} agents`);
    if (weight > 0) {
      rows[i].set(j, weight);
      if (!directed) rows[j].set(i, weight);
    }
  }
  const sorted = rows.map((row) => [...row].sort(([a], [b]) => a - b));
  const starts = new Uint32Array(n + 1);
  sorted.forEach((row, i) => {
    starts[i + 1] = starts[i] + row.length;
  });
  const entries = sorted.flat();
  return {
    n,
    directed,
    starts,
    columns: Uint32Array.from(entries, ([j]) => j),
    weights: Float64Array.from(entries, ([, weight]) => weight),
    degrees: Float64Array.from(sorted, (row) => row.reduce((sum, [, weight]) => sum + weight, 0)),
  };
}

/**
 * @param {Section} section
 * @param {Drawn} drawn
 */
function networkOfSection(section, drawn) {
  const list = drawn.edges ?? section.edges;
  refuseOthers("network", section, [
    ...(drawn.edges ? ["generator", "named", "file", "seed", "n", "m", "p", "k", "labels"] : []),
    ...["edges", "weights", "labels", "directed", "direction", "signed"],
  ]);
  if (section.signed === true) throw new NotCovered("the engine in this page does not cover negative weights");
  if (!Array.isArray(list)) throw new NotCovered("the engine in this page needs the edges of the network");
  const weights = /** @type {number[] | undefined} */ (section.weights);
  const edges = /** @type {number[][]} */ (list).map(([i, j, weight], k) => {
    const [from, to] = section.direction === "influences" ? [j, i] : [i, j];
    return [from, to, weight ?? weights?.[k] ?? 1];
  });
  return networkOf(edges, drawn.n, section.directed === true);
}

/**
 * Return a formula, or a table, of the pressure.
 * @param {Section} section
 * @returns {string | number[]}
 */
function scheduleOf(section) {
  const kind = section.kind ?? (section.formula === undefined ? "linear" : "formula");
  const number = (/** @type {string} */ key, /** @type {number} */ otherwise) => Number(section[key] ?? otherwise);
  const times = (/** @type {number} */ factor, /** @type {string} */ rest) =>
    factor === 1 ? rest : `${factor}*${rest}`;
  switch (kind) {
    case "formula":
      return String(section.formula ?? section.text);
    case "constant":
      return `${number("value", 0)}`;
    case "linear":
      return times(number("slope", 1), "t") + (number("offset", 0) ? ` + ${number("offset", 0)}` : "");
    case "power":
      return times(number("scale", 1), number("exponent", 1) === 1 ? "t" : `t^${number("exponent", 1)}`);
    case "logarithmic":
      return times(number("scale", 1), "log1p(t)");
    case "stretched_exponential":
      return `${number("base", 2)}^(t^${number("exponent", 0.5)})`;
    case "table":
      return /** @type {number[]} */ (section.values);
    default:
      throw new NotCovered(`the engine in this page does not cover the pressure ${kind}`);
  }
}

/**
 * @param {string | number[]} schedule
 * @returns {Pick<Model, "pressure" | "formula" | "text">}
 */
function pressureOf(schedule) {
  const formula = typeof schedule === "string" ? parseFormula(schedule) : null;
  const at = (/** @type {number} */ t) => (formula ? evaluate(formula, t) : Number(schedule[t - 1]));
  const pressure = (/** @type {number} */ t) => {
    const value = at(t);
    if (value >= 0) return value;
    throw new NotCovered(`peer pressure must be a number ≥ 0 at every step, and is ${value} at t = ${t}`);
  };
  return { pressure, formula, text: typeof schedule === "string" ? schedule : "a table" };
}

/**
 * @param {Section} section
 * @param {number} n
 * @returns {Noise}
 */
function noiseOf(section, n) {
  const { law = "none", temporal = "white", time_scale: scale } = section;
  refuseOthers("noise", section, ["law", "std", "temporal", "df", "time_scale"]);
  if (!LAWS.includes(String(law))) throw new NotCovered(`the engine in this page does not cover the noise ${law}`);
  const kind = typeof temporal === "string" ? temporal : /** @type {Section} */ (temporal).kind;
  if (kind !== "white" && kind !== "frozen") {
    throw new NotCovered(`the engine in this page does not cover noise that is ${kind} in time`);
  }
  const isConstant = scale == null || scale === 1 || /** @type {Section} */ (scale).value === 1;
  if (!isConstant) throw new NotCovered("the engine in this page does not cover noise whose scale changes");
  return {
    law: /** @type {Law} */ (law),
    shape: Number(section.df ?? 0),
    std: law === "none" ? new Float64Array(n) : perAgent("noise.std", section.std ?? 1, n),
    frozen: kind === "frozen",
  };
}

/**
 * Return the model of a scenario; throws NotCovered, with a sentence that names it, for what is not covered.
 * @param {Scenario} scenario
 * @param {Drawn} [drawn]
 * @returns {Model}
 */
export function modelOf(scenario, drawn = {}) {
  refuseOthers("scenario", scenario, [
    ...["network", "agents", "pressure", "noise", "run", "observe", "privacy", "output", "name", "title"],
  ]);
  const { agents = {}, pressure = {}, noise = {} } = scenario;
  refuseOthers("agents", agents, ["hidden", "stubbornness", "start"]);
  const network = networkOfSection(scenario.network, drawn);
  const { n } = network;
  const hidden = perAgent("hidden opinions", drawn.hidden ?? agents.hidden, n);
  const stubbornness = perAgent("stubbornness", drawn.stubbornness ?? agents.stubbornness ?? 1, n);
  if (!stubbornness.every((s) => s > 0)) throw new NotCovered("stubbornness must be positive");
  const start = drawn.start ?? agents.start ?? "hidden";
  const startsHidden = start === "hidden";
  return {
    n,
    network,
    hidden,
    stubbornness,
    ...pressureOf(drawn.pressure ?? scheduleOf(pressure)),
    noise: noiseOf(noise, n),
    startsHidden,
    start: startsHidden ? hidden : perAgent("the start", start, n),
  };
}

/** One step: the gain of each agent, and the weight of the sum over its neighbours. */
class Step {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.gain = new Float64Array(model.n);
    this.weight = new Float64Array(model.n);
  }

  /** Read the pressure of step t, in two finite numbers whatever it is: ρ = weight/relief. */
  at(/** @type {number} */ t) {
    const { n, stubbornness, network } = this.model;
    const rho = this.model.pressure(t);
    const relief = Math.max(Math.min(1, 1 / rho), LEAST_RELIEF);
    const weight = Math.min(1, rho);
    for (let i = 0; i < n; i += 1) {
      const own = relief * stubbornness[i];
      const total = own + weight * network.degrees[i];
      this.gain[i] = own / total;
      this.weight[i] = weight / total;
    }
    return this;
  }

  /** Σ_j a_ij y_j, of a row of values. */
  sum(/** @type {Float64Array} */ values, /** @type {number} */ i, offset = 0) {
    const { starts, columns, weights } = this.model.network;
    let total = 0;
    for (let k = starts[i]; k < starts[i + 1]; k += 1) total += weights[k] * values[offset + columns[k]];
    return total;
  }
}

/**
 * Return the public opinions of one run.
 * @param {Model} model
 * @param {Run} run
 */
export function simulate(model, { steps, seed = 0, replicate = 0 }) {
  const { n, hidden, noise } = model;
  const states = new Float64Array((steps + 1) * n);
  states.set(model.start);
  const drawAt = (/** @type {number} */ step, /** @type {number} */ stream) => {
    return draw(noise.law, noise.shape, n, { seed, replicate, step, stream });
  };
  const kept = noise.frozen ? drawAt(0, FROZEN) : null;
  const step = new Step(model);
  for (let t = 1; t <= steps; t += 1) {
    const fresh = kept ?? drawAt(t, FRESH);
    const { gain, weight } = step.at(t);
    for (let i = 0; i < n; i += 1) {
      const own = gain[i] * hidden[i] + gain[i] * noise.std[i] * fresh[i];
      states[t * n + i] = weight[i] * step.sum(states, i, (t - 1) * n) + own;
    }
  }
  return states;
}

/**
 * Return the exact mean of every agent at every step: the run without noise.
 * @param {Model} model
 * @param {number} steps
 */
export function meanPath(model, steps) {
  const quiet = { ...model.noise, std: new Float64Array(model.n) };
  return simulate({ ...model, noise: { ...quiet, law: "none" } }, { steps });
}

/**
 * Multiply the coupling of a step by a matrix of n rows.
 * @param {Step} step
 * @param {Float64Array} matrix
 * @param {Float64Array} out
 */
function couple(step, matrix, out) {
  const { n, network } = step.model;
  out.fill(0);
  for (let i = 0; i < n; i += 1) {
    const row = out.subarray(i * n, (i + 1) * n);
    for (let k = network.starts[i]; k < network.starts[i + 1]; k += 1) {
      const factor = step.weight[i] * network.weights[k];
      const from = network.columns[k] * n;
      for (let j = 0; j < n; j += 1) row[j] += factor * matrix[from + j];
    }
  }
}

/** Transpose a square matrix in place. */
function transpose(/** @type {Float64Array} */ matrix, /** @type {number} */ n) {
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j < i; j += 1) {
      const kept = matrix[i * n + j];
      matrix[i * n + j] = matrix[j * n + i];
      matrix[j * n + i] = kept;
    }
  }
}

/**
 * Return the exact covariance after each step, given to a function: that of the states for white noise, and for frozen
 * noise its factor R, of which it is RRᵀ.
 * @param {Model} model
 * @param {number} steps
 * @param {(t: number, matrix: Float64Array) => void} use
 */
function propagate(model, steps, use) {
  const { n, noise } = model;
  let [now, next] = [new Float64Array(n * n), new Float64Array(n * n)];
  const step = new Step(model);
  for (let t = 1; t <= steps; t += 1) {
    step.at(t);
    couple(step, now, next);
    if (!noise.frozen) {
      // C P Cᵀ, as P is symmetric.
      transpose(next, n);
      couple(step, next, now);
      [now, next] = [next, now];
    }
    for (let i = 0; i < n; i += 1) {
      const own = step.gain[i] * noise.std[i];
      next[i * n + i] += noise.frozen ? own : own * own;
    }
    [now, next] = [next, now];
    use(t, now);
  }
}

/**
 * Return the exact mean and standard deviation of every agent at every step.
 * @param {Model} model
 * @param {number} steps
 */
export function moments(model, steps) {
  const { n, noise } = model;
  const std = new Float64Array((steps + 1) * n);
  propagate(model, steps, (t, matrix) => {
    for (let i = 0; i < n; i += 1) {
      const row = matrix.subarray(i * n, (i + 1) * n);
      const variance = noise.frozen ? row.reduce((sum, value) => sum + value * value, 0) : row[i];
      std[t * n + i] = Math.sqrt(variance);
    }
  });
  return { mean: meanPath(model, steps), std };
}

/**
 * Return the exact standard deviation of the mean of all public opinions at every step.
 * @param {Model} model
 * @param {number} steps
 */
export function stdOfMeanPath(model, steps) {
  const { n, noise } = model;
  const std = new Float64Array(steps + 1);
  propagate(model, steps, (t, matrix) => {
    let variance = 0;
    for (let j = 0; j < n; j += 1) {
      let column = 0;
      for (let i = 0; i < n; i += 1) column += matrix[i * n + j] / n;
      variance += noise.frozen ? column * column : column / n;
    }
    std[t] = Math.sqrt(variance);
  });
  return std;
}

/**
 * Return the same after so many steps.
 * @param {Model} model
 * @param {number} steps
 */
export function stdOfMean(model, steps) {
  return stdOfMeanPath(model, steps)[steps];
}

/**
 * Undo the update of a step by one subtraction: what each agent thought plus its noise.
 * @param {Step} step of which the pressure has been read
 * @param {Float64Array} states
 * @param {number} t
 * @param {Float64Array} out
 */
function invert(step, states, t, out) {
  const { n } = step.model;
  for (let i = 0; i < n; i += 1) {
    if (step.gain[i] < LEAST_GAIN) throw new NotCovered("pressure is so high that no digit of an opinion is left");
    out[i] = (states[t * n + i] - step.weight[i] * step.sum(states, i, (t - 1) * n)) / step.gain[i];
  }
}

/** The first step that can be undone: y_0 is not seen where it is x, and known elsewhere. */
const firstStep = (/** @type {Model} */ model) => (model.startsHidden ? 2 : 1);

/**
 * Return what an observer makes of the steps up to each one: the running mean of one subtraction, best for white noise
 * but for what the first step adds. Frozen noise is never averaged away.
 * @param {Model} model
 * @param {Float64Array} states
 * @returns {Estimates}
 */
export function runningEstimates(model, states) {
  const { n, noise } = model;
  const steps = states.length / n - 1;
  const [value, std] = [new Float64Array(states.length).fill(NaN), new Float64Array(states.length).fill(Infinity)];
  const [total, preferred, step] = [new Float64Array(n), new Float64Array(n), new Step(model)];
  const first = firstStep(model);
  for (let t = first; t <= steps; t += 1) {
    invert(step.at(t), states, t, preferred);
    const count = t - first + 1;
    for (let i = 0; i < n; i += 1) {
      total[i] += preferred[i];
      value[t * n + i] = total[i] / count;
      std[t * n + i] = noise.std[i] / (noise.frozen ? 1 : Math.sqrt(count));
    }
  }
  return { value, std };
}

/**
 * Return the best linear estimate of each hidden opinion from the steps 1…until, and its standard error.
 * @param {Model} model
 * @param {Float64Array} states
 * @param {number} until
 * @returns {Estimates}
 */
export function recover(model, states, until) {
  const { n, noise, hidden } = model;
  const running = runningEstimates(model, states.subarray(0, (until + 1) * n));
  const [value, std] = [running.value.slice(until * n), running.std.slice(until * n)];
  // Where the start is known, or nothing is left to improve, the running mean is all there is.
  if (!model.startsHidden || noise.law === "none") return { value, std };
  if (noise.frozen) {
    throw new NotCovered("the engine in this page does not recover opinions from frozen noise that starts from them");
  }
  if (!noise.std.every((one) => one > 0)) {
    throw new NotCovered("the engine in this page does not recover opinions of agents some of whom have no noise");
  }
  // y_1/g_1 = F x + ε_1 with F = S⁻¹(S + ρ_1 A): each agent's neighbours have said what they think.
  const step = new Step(model).at(1);
  const [information, right] = [new Float64Array(n * n), new Float64Array(n)];
  const { starts, columns, weights } = model.network;
  for (let i = 0; i < n; i += 1) {
    const precision = 1 / noise.std[i] ** 2;
    information[i * n + i] += (until - 1) * precision;
    if (until > 1) right[i] += (until - 1) * precision * value[i];
    if (step.gain[i] < LEAST_GAIN) continue;
    const said = states[n + i] / step.gain[i];
    /** @type {[number, number][]} */
    const row = [[i, 1]];
    for (let k = starts[i]; k < starts[i + 1]; k += 1) {
      row.push([columns[k], (step.weight[i] * weights[k]) / step.gain[i]]);
    }
    for (const [a, first] of row) {
      right[a] += precision * first * said;
      for (const [b, second] of row) information[a * n + b] += precision * first * second;
    }
  }
  return solve(information, right, hidden.length);
}

/**
 * Solve a positive definite system by Cholesky's method, with the standard errors √diag(A⁻¹).
 * @param {Float64Array} matrix
 * @param {Float64Array} right
 * @param {number} n
 * @returns {Estimates}
 */
function solve(matrix, right, n) {
  const l = matrix.slice();
  for (let j = 0; j < n; j += 1) {
    for (let i = j; i < n; i += 1) {
      let sum = l[i * n + j];
      for (let k = 0; k < j; k += 1) sum -= l[i * n + k] * l[j * n + k];
      if (i === j && !(sum > 0)) throw new NotCovered("these steps do not determine all opinions");
      l[i * n + j] = i === j ? Math.sqrt(sum) : sum / l[j * n + j];
    }
  }
  const forward = (/** @type {Float64Array} */ b, /** @type {number} */ from) => {
    const y = b.slice();
    for (let i = from; i < n; i += 1) {
      for (let k = from; k < i; k += 1) y[i] -= l[i * n + k] * y[k];
      y[i] /= l[i * n + i];
    }
    return y;
  };
  const value = forward(right, 0);
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < n; k += 1) value[i] -= l[k * n + i] * value[k];
    value[i] /= l[i * n + i];
  }
  // The i-th diagonal entry of A⁻¹ is the squared length of L⁻¹e_i.
  const std = Float64Array.from({ length: n }, (_, i) => {
    const unit = new Float64Array(n);
    unit[i] = 1;
    return Math.sqrt(forward(unit, i).reduce((sum, entry) => sum + entry * entry, 0));
  });
  return { value, std };
}
