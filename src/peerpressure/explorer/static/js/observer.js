// The observer: who is seen, for how long, by which methods, and what agents are promised.

import { byId, el, segmented } from "./elements.js";
import { PLAIN_OBSERVE, bestFor } from "./fit.js";
import { slider } from "./slider.js";
import { plural } from "./words.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 */

const MOST_METHODS = 4;
const WHO = [
  { id: "all", title: "Everyone" },
  { id: "share", title: "A share" },
  { id: "some", title: "Picked" },
];

/** Return the order in which agents come into sight: well mixed, and always the same. @param {number} n */
export function mixedOrder(n) {
  const key = (/** @type {number} */ i) => Math.imul((i + 1) ^ ((i + 1) >>> 7), 0x9e3779b1) >>> 0;
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => key(a) - key(b));
}

export class Observer {
  #writing = false;
  /** How those who are seen are chosen. @type {string} */
  #who = "all";

  /**
   * @param {Store} store @param {Stage} stage @param {any} catalogue
   * @param {(on: boolean) => void} pick begins or ends picking agents on the network
   */
  constructor(store, stage, catalogue, pick) {
    this.store = store;
    this.stage = stage;
    this.catalogue = catalogue;
    this.pick = pick;
    store.onScenario((now, before) => {
      const same = now.observe === before.observe && now.privacy === before.privacy;
      if (!this.#writing && !(same && now.run?.steps === before.run?.steps)) this.build();
    });
  }

  get observe() {
    return this.store.scenario.observe ?? PLAIN_OBSERVE;
  }

  /** Build the controls for the scenario as it is. */
  build() {
    if (!this.observe.agents) this.#who = "all";
    else if (this.#who === "all") this.#who = "share";
    const onChange = (/** @type {string} */ id) => this.#chooseWho(id);
    const who = segmented({ label: "Who is seen", options: WHO, value: this.#who, onChange });
    byId("observe-who").replaceChildren(who, el("div", { class: "parameters", id: "observe-who-more" }));
    byId("observe-when").replaceChildren(...this.#when());
    byId("observe-privacy").replaceChildren(...this.#privacy());
    this.#showMethods();
    this.#showWho();
  }

  /** Show an agent to the observer, or hide it. @param {number} index */
  toggle(index) {
    const label = this.stage.labelOf(index);
    /** @type {(string | number)[]} */
    const agents = this.observe.agents ?? [];
    const next = agents.includes(label) ? agents.filter((one) => one !== label) : [...agents, label];
    if (next.length) this.#write({ agents: next });
    this.#showWho();
  }

  /** @param {() => void} change */
  #quietly(change) {
    this.#writing = true;
    change();
    this.#writing = false;
  }

  /** @param {Record<string, any>} change keys with undefined are left out */
  #write(change) {
    const all = Object.entries({ ...this.observe, ...change });
    const next = Object.fromEntries(all.filter(([, value]) => value !== undefined));
    this.#quietly(() => this.store.change("observe", { ...next, methods: bestFor(next, next.methods) }));
    this.#showMethods();
  }

  /** @param {string} id */
  #chooseWho(id) {
    this.#who = id;
    this.pick(id === "some");
    if (id === "all") this.#write({ agents: undefined });
    else if (!this.observe.agents) this.#write({ agents: this.#share(0.5) });
    this.#showWho();
  }

  /** @param {number} share @returns {(string | number)[]} */
  #share(share) {
    const many = Math.max(1, Math.round(share * this.stage.n));
    const chosen = mixedOrder(this.stage.n).slice(0, many);
    return chosen.sort((a, b) => a - b).map((index) => this.stage.labelOf(index));
  }

  #showWho() {
    const agents = this.observe.agents;
    const rows = [];
    if (agents && this.#who === "share") rows.push(this.#shareSlider(agents.length));
    if (agents) rows.push(el("p", { class: "blurb", id: "seen-count" }, this.#seenWords()));
    if (agents && this.#who === "some") {
      rows.push(el("p", { class: "blurb" }, "Click an agent, or press Enter on it, to show or hide it."));
    }
    byId("observe-who-more").replaceChildren(...rows);
  }

  #seenWords() {
    return `${plural(this.observe.agents?.length ?? 0, "agent")} of ${this.stage.n} seen, ringed on the network.`;
  }

  /** @param {number} seen */
  #shareSlider(seen) {
    return slider({
      spec: { name: "share", title: "Share of agents, %", kind: "int", min: 1, max: 100, default: 50, step: 1 },
      path: "observe.agents",
      value: Math.round((100 * seen) / Math.max(1, this.stage.n)),
      onInput: (percent) => {
        this.#write({ agents: this.#share(percent / 100) });
        byId("seen-count").textContent = this.#seenWords();
      },
    });
  }

  #when() {
    const steps = this.store.scenario.run?.steps ?? 1;
    const span = { first: Math.max(1, this.observe.first_step ?? 1), last: this.observe.times?.at(-1) ?? steps };
    const set = () => {
      const [from, until] = [span.first, Math.max(span.first, span.last)];
      const times = until < steps ? Array.from({ length: until - from + 1 }, (_, at) => from + at) : undefined;
      this.#write({ first_step: from > 1 ? from : undefined, times });
    };
    const row = (/** @type {"first" | "last"} */ name, /** @type {string} */ title, /** @type {string} */ path) =>
      slider({
        spec: { name, title, kind: "int", min: 1, max: steps, default: span[name], step: 1 },
        path,
        value: span[name],
        onInput: (value) => {
          span[name] = value;
          set();
        },
      });
    return [row("first", "From step", "observe.first_step"), row("last", "Until step", "observe.times")];
  }

  #privacy() {
    return this.catalogue.privacy.map((/** @type {any} */ spec) =>
      slider({
        spec,
        path: `privacy.${spec.name}`,
        value: this.store.scenario.privacy?.[spec.name] ?? spec.default,
        onInput: (value) =>
          this.#quietly(() => this.store.change("privacy", { ...this.store.scenario.privacy, [spec.name]: value })),
      }),
    );
  }

  #showMethods() {
    const chosen = this.observe.methods ?? PLAIN_OBSERVE.methods;
    byId("observe-methods").replaceChildren(
      ...this.catalogue.methods.map((/** @type {any} */ method) => {
        const box = /** @type {HTMLInputElement} */ (
          el("input", { type: "checkbox", checked: chosen.includes(method.id), value: method.id })
        );
        box.addEventListener("change", () => {
          if (!this.#chooseMethod(method.id, box.checked)) box.checked = !box.checked;
        });
        return el("label", { class: "tick", title: method.blurb }, box, el("span", {}, method.title));
      }),
    );
  }

  /**
   * Add a method or take it out; there is always one, and never more than can be told apart.
   * @param {string} id @param {boolean} on
   */
  #chooseMethod(id, on) {
    const now = this.observe.methods ?? PLAIN_OBSERVE.methods;
    const next = on ? [...now, id] : now.filter((/** @type {string} */ one) => one !== id);
    const fits = next.length > 0 && next.length <= MOST_METHODS;
    if (fits) this.#quietly(() => this.store.change("observe", { ...this.observe, methods: next }));
    return fits;
  }
}
