// Keeping the parts of a scenario in step: what was said of one network's agents means nothing for those of another.

/** @typedef {import("./store.js").Scenario} Scenario */

/** What an observer does where a scenario does not say: the paper's regression, and the best there is. */
export const PLAIN_OBSERVE = { methods: ["ols", "innovations"] };

/**
 * Return the scenario with whatever a change has left without meaning taken out. Parts that were changed together with
 * it, as by a preset, are left alone.
 * @param {Scenario} now @param {Scenario} before @param {Scenario} plain where parts are taken from instead
 * @returns {Scenario}
 */
export function fitted(now, before, plain) {
  let scenario = now;
  if (now.network !== before.network) {
    const agents = { ...scenario.agents };
    for (const key of ["hidden", "stubbornness", "start"]) {
      if (Array.isArray(agents[key]) && agents[key] === before.agents?.[key]) {
        agents[key] = plain.agents?.[key];
        if (agents[key] === undefined) delete agents[key];
        scenario = { ...scenario, agents };
      }
    }
    const same = now.observe?.agents && now.observe.agents === before.observe?.agents;
    if (same) scenario = { ...scenario, observe: seeingAll(now.observe) };
  }
  const shorter = now.run?.steps < before.run?.steps && scenario.observe;
  return shorter ? { ...scenario, observe: untilStep(scenario.observe, now.run.steps) } : scenario;
}

/** @param {any} observe */
function seeingAll(observe) {
  const { agents, ...rest } = observe;
  return { ...rest, methods: bestFor(rest, rest.methods) };
}

/** @param {any} observe @param {number} steps */
function untilStep(observe, steps) {
  const cut = { ...observe };
  if (cut.first_step > steps) cut.first_step = steps;
  if (cut.times) {
    cut.times = cut.times.filter((/** @type {number} */ t) => t <= steps);
    if (!cut.times.length || cut.times.at(-1) === steps) delete cut.times;
  }
  return cut;
}

/**
 * Return the methods with the best estimator for what is seen: undoing the update needs all agents and all steps; the
 * Kalman filter needs neither.
 * @param {any} observe @param {string[]} [methods]
 */
export function bestFor(observe, methods = PLAIN_OBSERVE.methods) {
  const all = !observe.agents && !observe.times && !(observe.first_step > 1);
  const [best, other] = all ? ["innovations", "kalman"] : ["kalman", "innovations"];
  return [...new Set(methods.map((method) => (method === other ? best : method)))];
}
