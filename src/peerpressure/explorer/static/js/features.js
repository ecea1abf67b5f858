// Features that a scenario has only if they are added: one menu offers them, and each has a field with a button that
// takes it out again.

import { byId, el, listenToMenu } from "./elements.js";
import { choiceField, slider } from "./fields.js";
import { typeset } from "./format.js";
import { refusalSlot } from "./messages.js";

/**
 * @typedef {import("./fields.js").Choice} Choice
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").Feature} Feature
 * @typedef {import("./types.js").Option} Option
 * @typedef {import("./types.js").Section} Section
 */

// The most agents that the slider of zealots offers.
const MAX_ZEALOTS = 50;
const [ZEALOTS, DISTRUST] = ["agents.zealots", "network.signed"];

/** @param {unknown} value */
function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} table
 * @param {string} path
 * @returns {unknown}
 */
function valueAt(table, path) {
  return path.split(".").reduce((inner, key) => /** @type {Section | undefined} */ (inner)?.[key], table);
}

/**
 * Whether a value has all that is fixed for a kind.
 * @param {unknown} value
 * @param {unknown} fixed
 * @returns {boolean}
 */
function holds(value, fixed) {
  // Lists are compared by what they hold.
  if (!isTable(fixed)) return JSON.stringify(value) === JSON.stringify(fixed);
  return (
    isTable(value) &&
    Object.entries(/** @type {Section} */ (fixed)).every(([key, one]) => holds(valueAt(value, key), one))
  );
}

/** @param {Option} option */
function isNumber({ parameters = [] }) {
  return parameters.length === 1 && parameters[0].name === "value";
}

/**
 * Read the value of a feature as one of its kinds; one that none describes, such as a list, is "given".
 * @param {Option[]} options
 * @param {unknown} value
 * @returns {Choice}
 */
function readFeature(options, value) {
  for (const option of options) {
    const { id, fixed, parameters = [] } = option;
    if (isNumber(option) && typeof value === "number") return { id, values: { value } };
    if (!parameters.length && !fixed && value === id) return { id, values: {} };
    if (fixed && holds(value, fixed)) {
      return { id, values: Object.fromEntries(parameters.map(({ name }) => [name, valueAt(value, name)])) };
    }
  }
  return { id: "given", values: {} };
}

/**
 * Return the value of a feature of this kind; keys of a table that have no control are kept.
 * @param {Option[]} options
 * @param {Choice} choice
 * @param {unknown} before
 * @returns {unknown}
 */
function writeFeature(options, { id, values }, before) {
  const option = options.find((one) => one.id === id);
  if (!option) return before;
  if (isNumber(option)) return values.value;
  const { fixed, parameters = [] } = option;
  if (!fixed && !parameters.length) return id;
  const kept = readFeature(options, before).id === id ? /** @type {Section} */ (before) : {};
  const table = structuredClone({ ...kept, ...fixed });
  for (const { name } of parameters) {
    const keys = name.split(".");
    const inner = keys
      .slice(0, -1)
      .reduce((one, key) => /** @type {Section} */ (one[key]), /** @type {Section} */ (table));
    inner[keys[keys.length - 1]] = values[name];
  }
  return table;
}

/** The value with which a feature is added. */
function startOf(/** @type {Feature} */ { options }) {
  const [{ id, parameters = [] }] = options;
  return writeFeature(
    options,
    { id, values: Object.fromEntries(parameters.map((one) => [one.name, one.default])) },
    {},
  );
}

export class Features {
  /** Distrust has a field as soon as it is wanted, before any edge is negative. */
  #wantsDistrust = false;

  /**
   * @param {Store} store
   * @param {Feature[]} features
   * @param {object} page
   * @param {(path: string, value: unknown) => void} page.write without building the field anew
   * @param {(count: number) => AgentLabel[]} page.hubs the agents with the most neighbours
   * @param {() => number} page.agents how many there are
   * @param {(on?: boolean) => boolean} page.distrust takes up or puts down the tool, and tells whether it is in hand
   * @param {() => void} page.rebuild builds the fields of the network again
   */
  constructor(store, features, page) {
    this.store = store;
    this.features = features;
    this.page = page;
    this.#listen();
  }

  /** @param {Feature} feature */
  #value({ path }) {
    return valueAt(this.store.scenario, path);
  }

  /** @param {Feature} feature */
  #has(feature) {
    return this.#value(feature) !== undefined || (feature.path === DISTRUST && this.#wantsDistrust);
  }

  /**
   * Return the keys of a group that have fields here.
   * @param {string} group
   */
  keysOf(group) {
    return this.features.filter(({ path }) => path.startsWith(`${group}.`)).map(({ path }) => path.split(".")[1]);
  }

  /**
   * Return the fields of the features that the scenario has, of one group of controls.
   * @param {string} group those of a section, or "run" for those without one
   */
  fields(group) {
    const here = this.features.filter(({ path }) => (path.includes(".") ? path.split(".")[0] : "run") === group);
    return here.filter((feature) => this.#has(feature)).map((feature) => this.#field(feature));
  }

  /** @param {Feature} feature */
  #field(feature) {
    const { path, title, options } = feature;
    const click = () => {
      if (path === DISTRUST) this.#trust();
      else this.store.setScenario(path, undefined);
      byId("add").focus();
    };
    const label = { "aria-label": `Remove ${title.toLowerCase()}`, title: "Take out" };
    const remove = el("button", { type: "button", class: "plain remove", ...label, click }, "×");
    /** @type {Record<string, () => HTMLElement>} */
    const own = { [ZEALOTS]: () => this.#zealots(feature), [DISTRUST]: () => this.#distrust(feature) };
    const field = own[path]
      ? own[path]()
      : choiceField({
          label: title,
          path,
          options,
          chosen: readFeature(options, this.#value(feature)),
          onChange: (choice) => this.page.write(path, writeFeature(options, choice, this.#value(feature))),
        });
    return el("div", { class: "feature", "data-feature": path }, field, remove);
  }

  /** @param {Feature} feature */
  #zealots({ path, title, blurb }) {
    const chosen = /** @type {AgentLabel[]} */ (this.#value({ path, title, options: [] }) ?? []);
    const most = Math.max(1, Math.min(MAX_ZEALOTS, this.page.agents() - 1));
    const names = el("p", { class: "blurb", id: "zealot-names" });
    const show = (/** @type {AgentLabel[]} */ labels) => {
      names.textContent = `Now: ${labels.slice(0, 8).join(", ")}${labels.length > 8 ? ", …" : ""}.`;
    };
    show(chosen);
    const count = slider({
      parameter: { name: "count", title: "the best connected", kind: "int", min: 1, max: most, default: 1, step: 1 },
      path: `${path}.count`,
      value: chosen.length,
      onInput: (value) => {
        const labels = this.page.hubs(value);
        show(labels);
        this.page.write(path, labels);
      },
    });
    const words = [el("p", { class: "field-label" }, title), el("p", { class: "blurb" }, typeset(blurb ?? ""))];
    return el("div", { class: "field", "data-path": path }, ...words, count, names, refusalSlot());
  }

  /** @param {Feature} feature */
  #distrust({ path, title, blurb }) {
    const pressed = String(this.page.distrust());
    const click = () => this.page.distrust(!this.page.distrust());
    const toggle = { type: "button", class: "quiet", id: "draw-distrust", "aria-pressed": pressed, click };
    const words = [el("p", { class: "field-label" }, title), el("p", { class: "blurb" }, typeset(blurb ?? ""))];
    return el(
      "div",
      { class: "field", "data-path": path },
      ...words,
      el("button", toggle, "Draw distrust"),
      refusalSlot(),
    );
  }

  /** Let all agents trust those they listen to. */
  #trust() {
    this.#wantsDistrust = false;
    this.page.distrust(false);
    const { signed, weights, ...network } = this.store.scenario.network;
    const positive = /** @type {number[] | undefined} */ (weights)?.map(Math.abs);
    // Weights of 1 need not be told.
    const kept = positive?.some((weight) => weight !== 1) ? { weights: positive } : {};
    if (signed) this.store.setScenario("network", { ...network, ...kept });
    else this.page.rebuild();
  }

  /** @param {Feature} feature */
  #add(feature) {
    const { path } = feature;
    if (path === DISTRUST) {
      this.#wantsDistrust = true;
      this.page.distrust(true);
      this.page.rebuild();
    } else this.store.setScenario(path, path === ZEALOTS ? this.page.hubs(1) : startOf(feature));
    const field = document.querySelector(`[data-feature="${path}"]`);
    field?.closest("details")?.setAttribute("open", "");
    /** @type {HTMLElement | null | undefined} */ (field?.querySelector("select, input, button"))?.focus();
    field?.scrollIntoView({ block: "nearest" });
  }

  /** Offer in the menu what the scenario does not have yet. */
  #fill() {
    const { temporal } = this.store.scenario.network;
    // A network that changes by itself has no other changes, and no edges to draw on.
    const fitting = this.features.filter(({ path }) => !path.startsWith("network.") || !temporal);
    const missing = fitting.filter((feature) => !this.#has(feature));
    const items = missing.map((feature) =>
      el(
        "button",
        { type: "button", role: "menuitem", "data-add": feature.path, click: () => this.#choose(feature) },
        el("span", {}, el("b", {}, feature.title), " ", el("span", { class: "blurb" }, typeset(feature.blurb ?? ""))),
      ),
    );
    byId("add-menu").replaceChildren(...items);
    return items;
  }

  /** @param {Feature} feature */
  #choose(feature) {
    this.#open(false);
    this.#add(feature);
  }

  /** @param {boolean} yes */
  #open(yes) {
    const items = yes ? this.#fill() : [];
    byId("add-menu").hidden = !yes;
    byId("add").setAttribute("aria-expanded", String(yes));
    items[0]?.focus();
  }

  #listen() {
    listenToMenu(byId("add"), byId("add-menu"), (yes) => this.#open(yes));
  }
}
