// The page's state: the scenario, which the server computes, and the view, which only concerns the page.

/**
 * @typedef {import("./types.js").Scenario} Scenario
 * @typedef {import("./types.js").Section} Section
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").View} View
 */

/** @type {View} */
const DEFAULT_VIEW = {
  simple: false,
  tab: "curves",
  agents: [],
  logTime: null,
  logSize: false,
  colour: "public",
  zoomColours: null,
  time: 0,
  speed: 20,
  pace: 3,
  topic: 0,
};

/** @type {Record<keyof View, (value: unknown) => boolean>} */
const IS_VALID = {
  simple: (value) => typeof value === "boolean",
  tab: (value) => value === "curves" || value === "observer",
  agents: (value) =>
    Array.isArray(value) && value.every((label) => typeof label === "string" || Number.isInteger(label)),
  logTime: (value) => value === null || typeof value === "boolean",
  logSize: (value) => typeof value === "boolean",
  colour: (value) => value === "public" || value === "hidden" || value === "exposure",
  zoomColours: (value) => value === null || typeof value === "boolean",
  time: (value) => typeof value === "number" && Number.isFinite(value) && value >= 0,
  speed: (value) => typeof value === "number" && Number.isFinite(value) && value > 0,
  pace: (value) => typeof value === "number" && Number.isFinite(value) && value > 0,
  topic: (value) => Number.isInteger(value) && Number(value) >= 0,
};

/**
 * Return a view from outside the page, with defaults in place of anything missing or invalid.
 * @param {unknown} given
 * @returns {View}
 */
export function checkedView(given) {
  const values = /** @type {Record<string, unknown>} */ (given ?? {});
  const valid = Object.entries(IS_VALID).filter(([name, isValid]) => isValid(values[name]));
  return { ...DEFAULT_VIEW, ...Object.fromEntries(valid.map(([name]) => [name, values[name]])) };
}

/**
 * Return a copy of a table with another value at a path; undefined removes the key.
 * @template {Section} T
 * @param {T} table
 * @param {string[]} path
 * @param {unknown} value
 * @returns {T}
 */
function withValueAt(table, [key, ...rest], value) {
  /** @type {Section} */
  const copy = { ...table };
  const inner = /** @type {Section} */ (copy[key] ?? {});
  const next = rest.length ? withValueAt(inner, rest, value) : value;
  if (next === undefined) delete copy[key];
  else copy[key] = next;
  return /** @type {T} */ (copy);
}

/** Holds the state and reports its changes. No part of the state is ever modified in place. */
export class Store {
  /** @type {State} */
  #state;
  /** @type {Set<(now: Scenario, before: Scenario) => void>} */
  #scenarioListeners = new Set();
  /** @type {Set<(now: View, before: View) => void>} */
  #viewListeners = new Set();
  /** @type {Set<(other: Scenario | null) => void>} */
  #otherListeners = new Set();

  /**
   * @param {State} state
   * @param {(now: Scenario, before: Scenario) => Scenario} reconcile applied to each changed scenario
   */
  constructor(state, reconcile) {
    this.#state = state;
    this.reconcile = reconcile;
  }

  get scenario() {
    return this.#state.scenario;
  }

  /** The scenario that is compared with; null if there is none. */
  get other() {
    return this.#state.other ?? null;
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

  /** @param {(other: Scenario | null) => void} listener */
  onOther(listener) {
    this.#otherListeners.add(listener);
  }

  /**
   * Set one key of the scenario.
   * @param {string} path with dots, as in "run.steps"
   * @param {unknown} value undefined removes the key
   */
  setScenario(path, value) {
    this.replace({ ...this.#state, scenario: withValueAt(this.#state.scenario, path.split("."), value) });
  }

  /** @param {Partial<View>} part */
  setView(part) {
    this.replace({ ...this.#state, view: { ...this.#state.view, ...part } });
  }

  /** @param {Scenario | null} other */
  setOther(other) {
    this.open({ ...this.#state, other });
  }

  /** @param {State} state */
  replace(state) {
    const before = this.scenario;
    const scenario = state.scenario === before ? before : this.reconcile(state.scenario, before);
    this.open({ ...state, scenario });
  }

  /**
   * Show a state that is complete in itself, as from a link.
   * @param {State} state
   */
  open(state) {
    const before = this.#state;
    const { scenario, view } = state;
    this.#state = state;
    // First, so a run is drawn with the colours of both scenarios.
    if (this.other !== (before.other ?? null)) for (const listener of this.#otherListeners) listener(this.other);
    if (scenario !== before.scenario) {
      for (const listener of this.#scenarioListeners) listener(scenario, before.scenario);
    }
    if (view !== before.view) for (const listener of this.#viewListeners) listener(view, before.view);
  }
}
