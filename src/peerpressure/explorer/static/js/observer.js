// The observer: who is seen and for how long, what it makes of that, what agents are exposed to, and their budget.

import { token } from "./colour.js";
import { byId, el, segmented } from "./elements.js";
import { PLAIN_OBSERVE, bestFor } from "./fit.js";
import { Plot } from "./plot.js";
import { Scatter, commonSpan } from "./scatter.js";
import { slider } from "./slider.js";
import { indexed, number, plural } from "./words.js";

/**
 * @typedef {import("./wire.js").Packed} Packed
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 */

const COLOURS = ["estimate-1", "estimate-2", "estimate-3", "estimate-4"];

/** Return the order in which agents come into sight: well mixed, and always the same. @param {number} n */
export function mixedOrder(n) {
  const key = (/** @type {number} */ i) => Math.imul((i + 1) ^ ((i + 1) >>> 7), 0x9e3779b1) >>> 0;
  return Array.from({ length: n }, (_, i) => i).sort((a, b) => key(a) - key(b));
}

export class Observer {
  /** @type {Packed | null} */
  #answer = null;
  /** @type {Map<string, Scatter>} */
  #scatters = new Map();
  #writing = false;

  /**
   * @param {Store} store @param {Stage} stage @param {any} catalogue
   * @param {{point: (index: number) => void, pick: (on: boolean) => void}} actions
   */
  constructor(store, stage, catalogue, actions) {
    this.store = store;
    this.stage = stage;
    this.catalogue = catalogue;
    this.actions = actions;
    this.who = "all";
    this.budget = new Plot(byId("plot-budget"), { height: 140, label: "Privacy budget over time" });
    store.onScenario((now, before) => {
      if (this.#writing) return;
      if (now.observe !== before.observe || now.run?.steps !== before.run?.steps || now.privacy !== before.privacy) this.build();
    });
  }

  get observe() {
    return this.store.scenario.observe ?? PLAIN_OBSERVE;
  }

  /** @param {Record<string, any>} change keys with undefined are left out */
  #write(change) {
    const next = Object.fromEntries(Object.entries({ ...this.observe, ...change }).filter(([, value]) => value !== undefined));
    this.#writing = true;
    this.store.change("observe", { ...next, methods: bestFor(next, next.methods) });
    this.#writing = false;
    this.#showMethods();
  }

  /** Build the controls for the scenario as it is. */
  build() {
    if (this.who !== "some") this.who = this.observe.agents ? "share" : "all";
    if (!this.observe.agents) this.who = "all";
    const who = segmented({
      label: "Who is seen",
      options: [{ id: "all", title: "Everyone" }, { id: "share", title: "A share" }, { id: "some", title: "Picked" }],
      value: this.who,
      onChange: (id) => this.#chooseWho(id),
    });
    byId("observe-who").replaceChildren(who, el("div", { class: "parameters", id: "observe-who-more" }));
    byId("observe-when").replaceChildren(...this.#when());
    byId("observe-privacy").replaceChildren(...this.#privacy());
    this.#showMethods();
    this.#showWho();
  }

  /** @param {string} id */
  #chooseWho(id) {
    this.who = id;
    this.actions.pick(id === "some");
    if (id === "all") this.#write({ agents: undefined });
    else if (!this.observe.agents) this.#write({ agents: this.#share(0.5) });
    this.#showWho();
  }

  /** @param {number} share */
  #share(share) {
    const { n } = this.stage;
    const many = Math.max(1, Math.round(share * n));
    return mixedOrder(n).slice(0, many).sort((a, b) => a - b).map((index) => this.stage.labelOf(index));
  }

  #showWho() {
    const place = byId("observe-who-more");
    const agents = this.observe.agents;
    if (this.who === "all" || !agents) return place.replaceChildren();
    const said = el("p", { class: "blurb", id: "seen-count" }, `${plural(agents.length, "agent")} of ${this.stage.n} seen, ringed on the network.`);
    if (this.who === "some") {
      const hint = el("p", { class: "blurb" }, "Click an agent, or press Enter on it, to show or hide it.");
      return place.replaceChildren(said, hint);
    }
    const spec = /** @type {const} */ ({ name: "share", title: "Share of agents, %", kind: "int", min: 1, max: 100, default: 50, step: 1 });
    const value = Math.round((100 * agents.length) / Math.max(1, this.stage.n));
    const row = slider({
      spec,
      path: "observe.agents",
      value,
      onInput: (percent) => {
        const chosen = this.#share(percent / 100);
        said.textContent = `${plural(chosen.length, "agent")} of ${this.stage.n} seen, ringed on the network.`;
        this.#write({ agents: chosen });
      },
    });
    return place.replaceChildren(row, said);
  }

  /** Show an agent to the observer, or hide it. @param {number} index */
  toggle(index) {
    const label = this.stage.labelOf(index);
    const agents = this.observe.agents ?? [];
    const next = agents.includes(label) ? agents.filter((/** @type {unknown} */ one) => one !== label) : [...agents, label];
    if (next.length) this.#write({ agents: next });
    this.#showWho();
  }

  #when() {
    const steps = this.store.scenario.run?.steps ?? 1;
    const first = Math.max(1, this.observe.first_step ?? 1);
    const last = this.observe.times?.at(-1) ?? steps;
    const spec = (/** @type {string} */ name, /** @type {string} */ title, /** @type {number} */ value) =>
      /** @type {const} */ ({ name, title, kind: "int", min: 1, max: steps, default: value, step: 1 });
    const span = { first, last };
    const set = () => {
      const [from, until] = [span.first, Math.max(span.first, span.last)];
      const times = until < steps ? Array.from({ length: until - from + 1 }, (_, at) => from + at) : undefined;
      this.#write({ first_step: from > 1 ? from : undefined, times });
    };
    return [
      slider({ spec: spec("first", "From step", 1), path: "observe.first_step", value: first, onInput: (value) => { span.first = value; set(); } }),
      slider({ spec: spec("last", "Until step", steps), path: "observe.times", value: last, onInput: (value) => { span.last = value; set(); } }),
    ];
  }

  #privacy() {
    return this.catalogue.privacy.map((/** @type {any} */ spec) =>
      slider({
        spec,
        path: `privacy.${spec.name}`,
        value: this.store.scenario.privacy?.[spec.name] ?? spec.default,
        onInput: (value) => {
          this.#writing = true;
          this.store.change("privacy", { ...this.store.scenario.privacy, [spec.name]: value });
          this.#writing = false;
        },
      }),
    );
  }

  #showMethods() {
    const chosen = this.observe.methods ?? PLAIN_OBSERVE.methods;
    byId("observe-methods").replaceChildren(
      ...this.catalogue.methods.map((/** @type {any} */ method) => {
        const box = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox", checked: chosen.includes(method.id), value: method.id }));
        box.addEventListener("change", () => {
          const now = this.observe.methods ?? PLAIN_OBSERVE.methods;
          const next = box.checked ? [...now, method.id] : now.filter((/** @type {string} */ id) => id !== method.id);
          if (!next.length || next.length > COLOURS.length) box.checked = !box.checked;
          else this.store.change("observe", { ...this.observe, methods: next });
        });
        return el("label", { class: "tick", title: method.blurb }, box, el("span", {}, method.title));
      }),
    );
  }

  /** @param {Packed} answer */
  show(answer) {
    this.#answer = answer;
    this.draw();
  }

  /** Point an agent out in all plots. @param {number} index */
  point(index) {
    for (const scatter of this.#scatters.values()) scatter.draw(index);
  }

  draw() {
    const answer = this.#answer;
    if (!answer) return;
    const { truth } = answer.arrays;
    const clouds = answer.header.methods.map((/** @type {any} */ method, /** @type {number} */ at) => ({
      method,
      cloud: method.failed ? null : { truth, estimate: answer.arrays[`estimate_${method.id}`], std: answer.arrays[`std_${method.id}`], colour: token(COLOURS[at % COLOURS.length]) },
    }));
    const up = commonSpan(clouds.flatMap(({ cloud }) => (cloud ? [cloud] : [])));
    this.#scatters = new Map();
    byId("estimates").replaceChildren(...clouds.map(({ method, cloud }) => this.#facet(method, cloud, up)));
    // The rest of the text is a table of the most exposed, whom the network shows.
    byId("exposure-text").textContent = (answer.header.exposure?.text ?? "").split("\n").slice(0, 2).join(": ");
    this.#drawBudget(answer);
  }

  /** @param {any} method @param {import("./scatter.js").Cloud | null} cloud @param {import("./scatter.js").Span} up */
  #facet(method, cloud, up) {
    const about = this.catalogue.methods.find((/** @type {any} */ one) => one.id === method.id);
    const head = el("figcaption", {}, el("b", {}, about?.title ?? method.id));
    const figure = el("figure", { class: "facet", "data-method": method.id }, head);
    if (!cloud) {
      figure.append(el("p", { class: "blurb failed" }, method.failed));
      return figure;
    }
    const scatter = new Scatter((index) => this.actions.point(index));
    this.#scatters.set(method.id, scatter);
    const error = el("output", { class: "numeral", "data-value": method.rmse, "data-key": "rmse" }, number(method.rmse, 3));
    const expected = method.expected_rmse === null ? "" : `, expected ${number(method.expected_rmse, 3)}`;
    figure.append(scatter.canvas, el("p", { class: "blurb" }, "typical error ", error, expected));
    scatter.show(cloud, up, `Estimates by ${about?.title ?? method.id} against the truth; typical error ${number(method.rmse, 3)}`);
    return figure;
  }

  /** @param {Packed} answer */
  #drawBudget(answer) {
    const { budget_times: times, budget_epsilon: epsilon } = answer.arrays;
    const facts = answer.header.budget;
    byId("budget").hidden = !times;
    byId("budget-text").replaceChildren(indexed(facts?.text ?? ""));
    if (!times) return;
    const finite = Array.from(epsilon).filter(Number.isFinite);
    this.budget.show({
      x: times,
      low: 0,
      high: Math.max(...finite, 0),
      xTitle: "step t",
      lines: [{ values: Array.from(epsilon, (value) => (Number.isFinite(value) ? value : null)), colour: token("exposed"), width: 2 }],
    });
  }

  restyle() {
    this.draw();
    this.budget.restyle();
  }
}
