// The observer's controls: whom it sees, when, by which methods it estimates, and the terms of the privacy budget.

import { byId, el } from "./elements.js";
import { segmented, slider } from "./fields.js";
import { agentName, plural } from "./format.js";
import { DEFAULT_METHODS, isContinuous, observerOf } from "./scenario.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").ObserveSection} ObserveSection
 *
 * @typedef {"all" | "share" | "some"} Selection how the agents that are seen are selected
 */

// More could not be told apart by their colours.
const MAX_METHODS = 4;

/** @type {{id: Selection, title: string}[]} */
const SELECTIONS = [
  { id: "all", title: "Everyone" },
  { id: "share", title: "A share" },
  { id: "some", title: "Picked" },
];

/** @type {{id: "nobody" | "followed", title: string}[]} */
const INSIDERS = [
  { id: "nobody", title: "Nobody" },
  { id: "followed", title: "Agents followed" },
];

/** @type {{id: "known" | "unknown", title: string}[]} */
const NETWORKS = [
  { id: "known", title: "Known" },
  { id: "unknown", title: "Unknown" },
];

/**
 * Return the agents in a fixed order that looks random. A share is its beginning, so a larger share contains a
 * smaller one.
 * @param {number} n
 */
function shuffledAgents(n) {
  const hash = (/** @type {number} */ i) => Math.imul((i + 1) ^ ((i + 1) >>> 7), 0x9e3779b1) >>> 0;
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => hash(a) - hash(b));
}

export class ObserverControls {
  /** Whether the change of the scenario comes from here, and so is shown already. */
  #writing = false;
  /** @type {Selection} */
  #selection = "all";

  /**
   * @param {Store} store
   * @param {Stage} stage
   * @param {Catalogue} catalogue
   * @param {(on: boolean) => void} onPick begins or ends picking agents on the network
   */
  constructor(store, stage, catalogue, onPick) {
    this.store = store;
    this.stage = stage;
    this.catalogue = catalogue;
    this.onPick = onPick;
    store.onScenario((now, before) => {
      const same = now.observe === before.observe && now.privacy === before.privacy;
      if (!this.#writing && !(same && now.run.steps === before.run.steps)) this.build();
    });
    store.onView((now, before) => now.agents !== before.agents && this.stage.graph && this.#showInsiders());
  }

  /** @returns {ObserveSection} */
  get #observe() {
    return observerOf(this.store.scenario);
  }

  get #methods() {
    return this.#observe.methods ?? DEFAULT_METHODS;
  }

  /** Build the controls for the current scenario. */
  build() {
    if (!this.#observe.agents) this.#selection = "all";
    else if (this.#selection === "all") this.#selection = "share";
    const selection = segmented({
      label: "Observed agents",
      options: SELECTIONS,
      value: this.#selection,
      onChange: (id) => this.#select(id),
    });
    byId("observe-who").replaceChildren(selection, el("div", { class: "parameters", id: "observe-who-more" }));
    const network = segmented({
      label: "The network is",
      options: NETWORKS,
      value: this.#observe.unknown_network ? "unknown" : "known",
      onChange: (id) => this.#write({ unknown_network: id === "unknown" ? {} : undefined }),
    });
    byId("observe-network").replaceChildren(network);
    byId("observe-when").replaceChildren(...this.#timeSliders());
    byId("observe-privacy").replaceChildren(...this.#privacySliders());
    this.#showInsiders();
    this.#showMethods();
    this.#showSelection();
  }

  /**
   * Show an agent to the observer, or hide it.
   * @param {number} index
   */
  toggleAgent(index) {
    const label = this.stage.labelOf(index);
    const agents = this.#observe.agents ?? [];
    const next = agents.includes(label) ? agents.filter((one) => one !== label) : [...agents, label];
    if (next.length) this.#write({ agents: next });
    this.#showSelection();
  }

  /**
   * @param {string} path
   * @param {unknown} value
   */
  #setScenario(path, value) {
    this.#writing = true;
    this.store.setScenario(path, value);
    this.#writing = false;
  }

  /**
   * Change the section.
   * @param {Partial<ObserveSection>} change undefined removes a key
   */
  #write(change) {
    const entries = Object.entries({ ...this.#observe, ...change });
    /** @type {ObserveSection} */
    const next = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    this.#setScenario("observe", next);
    this.#showMethods();
  }

  /** @param {Selection} id */
  #select(id) {
    this.#selection = id;
    this.onPick(id === "some");
    if (id === "all") this.#write({ agents: undefined });
    else if (!this.#observe.agents) this.#write({ agents: this.#share(0.5) });
    this.#showSelection();
  }

  /**
   * @param {number} share
   * @returns {AgentLabel[]}
   */
  #share(share) {
    const count = Math.max(1, Math.round(share * this.stage.n));
    const agents = shuffledAgents(this.stage.n).slice(0, count);
    return agents.sort((a, b) => a - b).map((index) => this.stage.labelOf(index));
  }

  #showSelection() {
    const { agents } = this.#observe;
    const rows = [];
    if (agents && this.#selection === "share") rows.push(this.#shareSlider(agents.length));
    if (agents) rows.push(el("p", { class: "blurb", id: "seen-count" }, this.#countText()));
    if (agents && this.#selection === "some") {
      rows.push(el("p", { class: "blurb" }, "Click an agent, or press Enter on it, to show or hide it."));
    }
    byId("observe-who-more").replaceChildren(...rows);
  }

  #countText() {
    return `${plural(this.#observe.agents?.length ?? 0, "agent")} of ${this.stage.n} seen, ringed on the network.`;
  }

  /** @param {number} count of agents that are seen */
  #shareSlider(count) {
    return slider({
      parameter: { name: "share", title: "Share of agents, %", kind: "int", min: 1, max: 100, default: 50, step: 1 },
      path: "observe.agents",
      value: Math.round((100 * count) / Math.max(1, this.stage.n)),
      onInput: (percent) => {
        this.#write({ agents: this.#share(percent / 100) });
        byId("seen-count").textContent = this.#countText();
      },
    });
  }

  #timeSliders() {
    const { steps } = this.store.scenario.run;
    const { first_step = 1, times } = this.#observe;
    const span = { first: Math.max(1, first_step), last: times?.at(-1) ?? steps };
    const write = () => {
      const [first, last] = [span.first, Math.max(span.first, span.last)];
      this.#write({
        first_step: first > 1 ? first : undefined,
        times: last < steps ? Array.from({ length: last - first + 1 }, (_, i) => first + i) : undefined,
      });
    };
    /**
     * @param {"first" | "last"} name
     * @param {string} title
     * @param {string} path
     */
    const row = (name, title, path) =>
      slider({
        parameter: { name, title, kind: "int", min: 1, max: steps, default: span[name], step: 1 },
        path,
        value: span[name],
        onInput: (value) => {
          span[name] = value;
          write();
        },
      });
    return [row("first", "From step", "observe.first_step"), row("last", "Until step", "observe.times")];
  }

  #privacySliders() {
    const { privacy } = this.store.scenario;
    return this.catalogue.privacy.map((parameter) =>
      slider({
        parameter,
        path: `privacy.${parameter.name}`,
        value: /** @type {number} */ (privacy?.[parameter.name] ?? parameter.default),
        onInput: (value) => this.#setScenario("privacy", { ...this.store.scenario.privacy, [parameter.name]: value }),
      }),
    );
  }

  /** Who tells the observer what they know: nobody, or the agents that are followed. */
  #showInsiders() {
    const insiders = /** @type {AgentLabel[]} */ (this.store.scenario.privacy?.insiders ?? []);
    const choice = segmented({
      label: "Insiders, who tell it what they know",
      options: INSIDERS,
      value: insiders.length ? "followed" : "nobody",
      onChange: (id) => {
        const followed = this.stage.followed.map(({ label }) => label);
        const chosen = id === "followed" ? followed : [];
        this.#setScenario("privacy", { ...this.store.scenario.privacy, insiders: chosen });
        this.#showInsiders();
      },
    });
    const names = insiders.map(agentName).join(", ");
    const hint = this.stage.followed.length ? "" : "Follow some agents on the network to choose them.";
    byId("observe-insiders").replaceChildren(choice, el("p", { class: "blurb" }, names || hint));
  }

  #showMethods() {
    const { methods } = this.catalogue;
    const boxes = methods.map(({ id }) => {
      const box = el("input", { type: "checkbox", checked: this.#methods.includes(id), value: id });
      box.addEventListener("change", () => {
        const others = this.#methods.filter((one) => one !== id);
        this.#setScenario("observe", { ...this.#observe, methods: box.checked ? [...others, id] : others });
        this.#limitMethods(boxes);
      });
      return box;
    });
    this.#limitMethods(boxes);
    byId("observe-methods").replaceChildren(
      ...methods.map(({ title, blurb }, i) =>
        el("label", { class: "tick", title: blurb }, boxes[i], el("span", {}, title)),
      ),
    );
  }

  /**
   * Leave only the ticks that can be changed: at least one method is used, not too many, and no other than suits.
   * @param {HTMLInputElement[]} boxes one for each method of the catalogue
   */
  #limitMethods(boxes) {
    const used = this.#methods.length;
    const continuous = isContinuous(this.store.scenario);
    boxes.forEach((box, i) => {
      const possible = used < MAX_METHODS && (this.catalogue.methods[i].continuous || !continuous);
      box.disabled = box.checked ? used === 1 : !possible;
    });
    const notes = [
      used === MAX_METHODS && `${MAX_METHODS} at a time; untick one to choose another.`,
      continuous && "The others need steps, and time is continuous here.",
    ].filter(Boolean);
    byId("methods-note").textContent = notes.join(" ");
    byId("methods-note").hidden = notes.length === 0;
  }
}
