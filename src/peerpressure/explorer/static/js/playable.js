// Answers that a page without a server computes itself: the engine stands in for the server where it covers the model.
// The network and the hidden opinions are those of the recording; pressure, noise and the number of steps may change.

import * as engine from "./engine/engine.js";

export { FormulaError, NotCovered } from "./engine/engine.js";

/**
 * @typedef {import("./types.js").Scenario} Scenario
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 *
 * @typedef {object} Base what the recording knows of the model, in full precision
 * @property {number} n
 * @property {number[][]} edges pairs with a weight
 * @property {boolean} directed
 * @property {number[]} hidden
 * @property {number[]} stubbornness
 * @property {number[] | "hidden"} start
 * @property {number} value the consensus value v
 * @property {number} tuned the slope of the pressure that is tuned to the network
 * @property {AgentLabel[]} labels
 * @property {Record<string, string>} headings of verdicts
 *
 * @typedef {Float32Array | Float64Array} Numbers
 */

/** Sections that a page without a server can change. */
const FREE = ["pressure", "noise", "run"];
/** Sections that change nothing of a run, or nothing that is shown here. */
const ASIDE = ["observe", "privacy", "output"];
/** Opinions that a picture holds, and those that all replicates have together. */
const MOST = { numbers: 500_000, simulated: 3_000_000, curves: 20, covariances: 150_000_000 };
const MOST_PRESSURES = 240;
const MOST_RECOVERIES = 24;

const NOT_HERE =
  "This page computes runs and what an observer recovers; save the scenario for this, and open it with peerpressure explore.";

/**
 * Return a value as text that does not depend on the order of keys.
 * @param {unknown} value
 * @returns {string}
 */
export function canonical(value) {
  return JSON.stringify(value, (_, inner) =>
    inner && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/**
 * Whether only what can be computed here differs between two scenarios.
 * @param {Scenario} scenario
 * @param {Scenario} recorded
 */
export function canPlay(scenario, recorded) {
  const fixed = (/** @type {Scenario} */ one) =>
    canonical(Object.fromEntries(Object.entries(one).filter(([name]) => ![...FREE, ...ASIDE].includes(name))));
  return fixed(scenario) === fixed(recorded) && scenario.run.seed === recorded.run.seed;
}

/**
 * Return the answer to a question, packed as the server packs it. Throws what the page shows as a refusal.
 * @param {string} question
 * @param {Scenario} scenario
 * @param {Base} base
 * @param {AgentLabel[]} agents asked for by name
 */
export function played(question, scenario, base, agents) {
  const {
    steps,
    seed = 0,
    replicates = 1,
  } = /** @type {{steps: number, seed?: number, replicates?: number}} */ (scenario.run);
  if ((steps + 1) * base.n > MOST.numbers) {
    const most = Math.floor(MOST.numbers / base.n) - 1;
    throw new engine.NotCovered(`a run in this page has at most ${most} steps with ${base.n} agents, not ${steps}`);
  }
  const { n, edges, hidden, stubbornness, start, directed } = base;
  const { noise, pressure } = scenario;
  const tuned = pressure?.kind === "tuned" ? { kind: "linear", slope: base.tuned } : pressure;
  // All other sections are those of the recording, and say nothing that the engine does not cover.
  const model = engine.modelOf(
    { network: { edges, directed }, agents: {}, pressure: tuned, noise, run: scenario.run },
    { n, edges, hidden, stubbornness, start: start === "hidden" ? undefined : start },
  );
  const run = { model, steps, seed };
  if (question === "run") return packed(runOf(run, replicates, base));
  if (question === "recovered") return packed(recoveredOf(run));
  if (question === "exact") return packed(exactOf(run, base, agents));
  throw new engine.NotCovered(NOT_HERE);
}

/** The long run in words; what the engine does not decide is said to be so. */
function verdictOf(/** @type {engine.Model} */ model, /** @type {Base} */ { headings, value }) {
  /** @type {{outcome: string, reason: string}} */
  let found = { outcome: "unknown", reason: "" };
  try {
    found = { outcome: engine.verdict(model).outcome, reason: "" };
  } catch (error) {
    if (!(error instanceof engine.NotCovered)) throw error;
    found.reason = error.message;
  }
  const v = value.toPrecision(3).replace("-", "−");
  const isWeighted = model.stubbornness.some((one) => one !== model.stubbornness[0]);
  const cause = model.noise.law === "none" ? "the start" : "the noise and the start";
  const mean = `the ${isWeighted ? "stubbornness-weighted " : ""}mean of hidden opinions`;
  /** @type {Record<string, string>} */
  const summaries = {
    consensus: `All agents come to agree on ${v}, ${mean}.`,
    biased_consensus: `All agents come to agree on a value that depends on ${cause}, not on ${v}, ${mean}.`,
    disagreement: "Agents come closer to each other and never agree.",
    oscillation: "The agents of two sides exchange two values forever.",
    periodic: "Agents keep exchanging different values.",
    unknown: `What becomes of them in the long run is not decided here: ${found.reason}.`,
  };
  const heading = headings[found.outcome];
  return {
    ...{ outcome: found.outcome, heading, words: heading.charAt(0).toLowerCase() + heading.slice(1), outlook: null },
    ...{ summary: summaries[found.outcome], reason: found.reason, reasons: [], regime: "", value, kappa: 0 },
    ...{ rates: { bias: null, variance: null, disagreement: null }, forecast: null, advice: null },
  };
}

/**
 * @param {{model: engine.Model, steps: number, seed: number}} run
 * @param {number} replicates
 * @param {Base} base
 */
function runOf({ model, steps, seed }, replicates, base) {
  const { n, hidden, stubbornness } = model;
  const count = Math.max(1, Math.min(replicates, Math.floor(MOST.simulated / (n * steps))));
  const curves = Math.min(count, MOST.curves);
  const times = Float64Array.from({ length: steps + 1 }, (_, t) => t);
  const names = /** @type {const} */ (["minimum", "maximum", "mean", "spread", "max_distance"]);
  const rows = Object.fromEntries(names.map((name) => [name, new Float32Array(curves * times.length)]));
  const averages = { spread: new Float64Array(times.length), max_distance: new Float64Array(times.length) };
  let states = new Float64Array(0);
  for (let replicate = 0; replicate < count; replicate += 1) {
    const own = engine.simulate(model, { steps, seed, replicate });
    if (replicate === 0) states = own;
    for (let t = 0; t < times.length; t += 1) {
      const said = own.subarray(t * n, (t + 1) * n);
      const [low, high] = [said.reduce((a, b) => Math.min(a, b)), said.reduce((a, b) => Math.max(a, b))];
      const measures = {
        ...{ minimum: low, maximum: high, mean: said.reduce((a, b) => a + b) / n, spread: high - low },
        max_distance: Math.max(high - base.value, base.value - low),
      };
      averages.spread[t] += measures.spread / count;
      averages.max_distance[t] += measures.max_distance / count;
      if (replicate < curves) for (const name of names) rows[name][replicate * times.length + t] = measures[name];
    }
  }
  const every = Math.max(1, Math.ceil(steps / MOST_PRESSURES));
  const at = Float64Array.from({ length: Math.floor(steps / every) }, (_, k) => (k + 1) * every);
  const header = {
    ...{ n, topics: [], topic: 0, steps, replicates: count, consensus_value: base.value, class_values: [base.value] },
    ...{ own_limits: false, signed: false, this_run: "", verdict: verdictOf(model, base) },
    pressure: `ρ_t = ${model.text.replaceAll("*", " ").replaceAll(/\d+\.\d+/g, (digits) => `${+(+digits).toPrecision(6)}`)}`,
  };
  return {
    header,
    arrays: {
      times: shaped(times),
      pressure_times: shaped(at),
      pressures: shaped(at.map((t) => model.pressure(t))),
      states: shaped(Float32Array.from(states), times.length, n),
      hidden: shaped(Float32Array.from(hidden)),
      stubbornness: shaped(Float32Array.from(stubbornness)),
      ...Object.fromEntries(names.map((name) => [name, shaped(rows[name], curves, times.length)])),
      spread_mean: shaped(Float32Array.from(averages.spread)),
      max_distance_mean: shaped(Float32Array.from(averages.max_distance)),
    },
  };
}

/** What an observer makes of the steps up to several times, evenly spaced on a logarithmic axis. */
function recoveredOf(/** @type {{model: engine.Model, steps: number, seed: number}} */ { model, steps, seed }) {
  const { n, hidden } = model;
  const states = engine.simulate(model, { steps, seed });
  const spaced = Array.from({ length: MOST_RECOVERIES }, (_, k) => Math.round(steps ** (k / (MOST_RECOVERIES - 1))));
  // Without noise nothing is known of those who start from what they hide until they have heard each other.
  const first = model.noise.law === "none" && model.startsHidden ? 2 : 1;
  const times = [...new Set(spaced)].filter((t) => t >= first);
  const [values, std] = [new Float32Array(times.length * n), new Float32Array(times.length * n)];
  times.forEach((until, row) => {
    const found = engine.recover(model, states, until);
    values.set(found.value, row * n);
    std.set(found.std, row * n);
  });
  return {
    header: { failed: null, method: "innovations", title: "Innovations", note: "" },
    arrays: {
      times: shaped(Float64Array.from(times)),
      values: shaped(values, times.length, n),
      std: shaped(std, times.length, n),
      truth: shaped(Float64Array.from(hidden)),
    },
  };
}

/** The exact mean and deviation of the network's mean and of some agents. */
function exactOf(
  /** @type {{model: engine.Model, steps: number}} */ { model, steps },
  /** @type {Base} */ base,
  /** @type {AgentLabel[]} */ agents,
) {
  const { n } = model;
  if (n * n * steps > MOST.covariances) throw new engine.NotCovered("the exact band takes too long in this page");
  const { mean, std } = engine.moments(model, steps);
  const rows = agents.map((label) => base.labels.indexOf(label)).filter((index) => index >= 0);
  const length = steps + 1;
  const [means, deviations] = [
    new Float64Array((1 + rows.length) * length),
    new Float64Array((1 + rows.length) * length),
  ];
  deviations.set(engine.stdOfMeanPath(model, steps));
  for (let t = 0; t < length; t += 1) {
    for (let i = 0; i < n; i += 1) means[t] += mean[t * n + i] / n;
    rows.forEach((index, k) => {
      means[(1 + k) * length + t] = mean[t * n + index];
      deviations[(1 + k) * length + t] = std[t * n + index];
    });
  }
  const names = ["network mean", ...rows.map((index) => base.labels[index])];
  return {
    header: { names, every: 1, dense: steps, verdict: null },
    arrays: {
      times: shaped(Float64Array.from({ length }, (_, t) => t)),
      mean: shaped(means, names.length, length),
      std: shaped(deviations, names.length, length),
    },
  };
}

/**
 * Give an array its shape: one axis, unless it is said otherwise.
 * @template {Numbers} T
 * @param {T} values
 * @param {number[]} shape
 */
function shaped(values, ...shape) {
  return { values, shape: shape.length ? shape : [values.length] };
}

const padded = (/** @type {number} */ size) => Math.ceil(size / 8) * 8;

/**
 * Pack an answer as the server does: the length of a header of JSON, the header, and the arrays.
 * @param {{header: object, arrays: Record<string, {values: Numbers, shape: number[]}>}} answer
 */
function packed({ header, arrays }) {
  let offset = 0;
  const places = Object.fromEntries(
    Object.entries(arrays).map(([name, { values, shape }]) => {
      const place = { dtype: values instanceof Float64Array ? "float64" : "float32", shape, offset };
      offset += padded(values.byteLength);
      return [name, place];
    }),
  );
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays: places }));
  const start = padded(4 + text.length);
  const bytes = new Uint8Array(start + offset);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  for (const [name, { values }] of Object.entries(arrays)) {
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), start + places[name].offset);
  }
  return bytes;
}
