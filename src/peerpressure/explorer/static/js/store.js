// What the page shows: the scenario, which the server computes, and the view, which is the page's own business.

/**
 * @typedef {Record<string, any>} Scenario
 * @typedef {{tab: "curves" | "observer", agents: (string | number)[], logTime: boolean, logSize: boolean,
 *            colour: "public" | "hidden" | "exposure", time: number, speed: number}} View
 * @typedef {{scenario: Scenario, view: View}} State
 */

/** @type {View} */
export const PLAIN_VIEW = {
  tab: "curves",
  agents: [],
  logTime: false,
  logSize: false,
  colour: "public",
  time: 0,
  speed: 20,
};

const FITS = {
  tab: (/** @type {unknown} */ value) => value === "curves" || value === "observer",
  agents: (/** @type {unknown} */ value) =>
    Array.isArray(value) && value.every((label) => typeof label === "string" || Number.isInteger(label)),
  logTime: (/** @type {unknown} */ value) => typeof value === "boolean",
  logSize: (/** @type {unknown} */ value) => typeof value === "boolean",
  colour: (/** @type {unknown} */ value) => ["public", "hidden", "exposure"].includes(/** @type {string} */ (value)),
  time: (/** @type {unknown} */ value) => Number.isFinite(value) && /** @type {number} */ (value) >= 0,
  speed: (/** @type {unknown} */ value) => Number.isFinite(value) && /** @type {number} */ (value) > 0,
};

/** Return a view in which whatever does not fit stands as in the plain one. @param {any} given @returns {View} */
export function fittingView(given) {
  const view = { ...PLAIN_VIEW };
  for (const [name, fits] of Object.entries(FITS)) {
    if (given && fits(given[name])) view[name] = given[name];
  }
  return view;
}

/**
 * Return a copy of a tree with another value at a path; undefined takes the key away.
 * @param {any} tree @param {string[]} path @param {unknown} value
 */
export function replaced(tree, [key, ...rest], value) {
  const copy = { ...tree };
  const next = rest.length ? replaced(copy[key] ?? {}, rest, value) : value;
  if (next === undefined) delete copy[key];
  else copy[key] = next;
  return copy;
}

/** The state and who wants to know of its changes. Nothing in it is ever changed in place. */
export class Store {
  /** @type {State} */
  #state;
  /** @type {Set<(now: Scenario, before: Scenario) => void>} */
  #scenarioListeners = new Set();
  /** @type {Set<(now: View, before: View) => void>} */
  #viewListeners = new Set();

  /**
   * @param {State} state
   * @param {(now: Scenario, before: Scenario) => Scenario} [fit] keeps the parts of a changed scenario in step
   */
  constructor(state, fit = (now) => now) {
    this.#state = state;
    this.fit = fit;
  }

  get scenario() {
    return this.#state.scenario;
  }

  get view() {
    return this.#state.view;
  }

  /** @param {(now: Scenario, before: Scenario) => void} listener */
  onScenario(listener) {
    this.#scenarioListeners.add(listener);
  }

  /** @param {(now: View, before: View) => void} listener */
  onView(listener) {
    this.#viewListeners.add(listener);
  }

  /** Set one key of the scenario by its dotted path. @param {string} path @param {unknown} value */
  change(path, value) {
    this.replace({ ...this.#state, scenario: replaced(this.#state.scenario, path.split("."), value) });
  }

  /** Set some of the view. @param {Partial<View>} part */
  look(part) {
    this.replace({ ...this.#state, view: { ...this.#state.view, ...part } });
  }

  /** Set everything at once. @param {State} state */
  replace(state) {
    const before = this.#state;
    const scenario = state.scenario === before.scenario ? state.scenario : this.fit(state.scenario, before.scenario);
    this.#state = { scenario, view: state.view };
    if (scenario !== before.scenario) {
      for (const listener of this.#scenarioListeners) listener(scenario, before.scenario);
    }
    if (state.view !== before.view) for (const listener of this.#viewListeners) listener(state.view, before.view);
  }
}
