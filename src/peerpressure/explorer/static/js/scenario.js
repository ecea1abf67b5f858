// Rules on how the sections of a scenario depend on each other.

/**
 * @typedef {import("./types.js").ObserveSection} ObserveSection
 * @typedef {import("./types.js").Scenario} Scenario
 */

// The method that suits what is observed, as the library chooses it.
export const DEFAULT_METHODS = ["auto"];

/** Whether the agents change their opinions at all times rather than in steps. */
export function isContinuous(/** @type {Scenario} */ { time }) {
  return /** @type {{continuous?: boolean} | undefined} */ (time)?.continuous === true;
}

/**
 * Return what the observer does; if the scenario does not say, it sees everything and estimates as well as it can.
 * @param {Scenario} scenario
 * @returns {ObserveSection}
 */
export function observerOf(scenario) {
  return scenario.observe ?? { methods: DEFAULT_METHODS };
}

/**
 * Return a changed scenario without whatever the change made meaningless, such as opinions of single agents when the
 * network is another. Sections that were changed at the same time, as by a preset, are left alone.
 * @param {Scenario} now
 * @param {Scenario} before
 * @param {Scenario} defaults
 * @returns {Scenario}
 */
export function reconcile(now, before, defaults) {
  let scenario = now;
  if (now.network !== before.network) {
    const agents = { ...scenario.agents };
    for (const key of ["hidden", "stubbornness", "susceptibility", "zealots", "start", "activation"]) {
      if (Array.isArray(agents[key]) && agents[key] === before.agents?.[key]) {
        agents[key] = defaults.agents?.[key];
        if (agents[key] === undefined) delete agents[key];
        scenario = { ...scenario, agents };
      }
    }
    const { observe } = now;
    const sameAgents = observe?.agents && observe.agents === before.observe?.agents;
    if (sameAgents) scenario = { ...scenario, observe: observingEveryone(observe) };
    const { insiders, ...privacy } = now.privacy ?? {};
    if (insiders && insiders === before.privacy?.insiders) scenario = { ...scenario, privacy };
  }
  const shorter = now.run.steps < before.run.steps;
  if (!shorter || !scenario.observe) return scenario;
  return { ...scenario, observe: untilStep(scenario.observe, now.run.steps) };
}

/**
 * @param {ObserveSection} observe
 * @returns {ObserveSection}
 */
function observingEveryone({ agents, ...rest }) {
  return rest;
}

/**
 * @param {ObserveSection} observe
 * @param {number} steps
 * @returns {ObserveSection}
 */
function untilStep(observe, steps) {
  const cut = { ...observe };
  if (cut.first_step !== undefined && cut.first_step > steps) cut.first_step = steps;
  if (cut.times) {
    cut.times = cut.times.filter((time) => time <= steps);
    if (!cut.times.length || cut.times.at(-1) === steps) delete cut.times;
  }
  return cut;
}
