// The controls: five groups, each of which reads and writes one section of the scenario.

import { choice } from "./choice.js";
import { byId, el, freshId } from "./elements.js";
import { networkSection, stubbornnessSection, tagged, temporalSection } from "./sections.js";
import { refusalPlace, slider } from "./slider.js";

/** @typedef {import("./store.js").Store} Store */

const BY_HAND = {
  id: "by_hand",
  title: "Drawn by hand",
  blurb: "Paint on the network with the brush, or follow an agent and type its opinion.",
};
const KNOWN = ["network", "agents", "pressure", "noise", "run", "observe", "privacy", "output"];

export class Controls {
  /** The group that writes at this moment, which need not be built anew for what it wrote itself. */
  #writing = "";

  /**
   * @param {Store} store @param {any} catalogue
   * @param {{chooseFile: () => void, drawByHand: () => void}} actions
   */
  constructor(store, catalogue, actions) {
    this.store = store;
    this.catalogue = catalogue;
    this.actions = actions;
    this.groups = {
      network: () => this.#network(),
      agents: () => this.#agents(),
      pressure: () => this.#pressure(),
      noise: () => this.#noise(),
      run: () => this.#run(),
    };
    for (const name of Object.keys(this.groups)) this.#build(name);
    store.onScenario((now, before) => {
      for (const name of Object.keys(this.groups)) {
        if (now[name] !== before[name] && name !== this.#writing) this.#build(name);
      }
    });
  }

  /** @param {string} name */
  #build(name) {
    const place = byId(`group-${name}`);
    place.replaceChildren(...this.groups[name]().filter(Boolean));
  }

  /** @param {string} name @param {unknown} section */
  #write(name, section) {
    this.#writing = name;
    this.store.change(name, section);
    this.#writing = "";
  }

  #network() {
    const section = this.store.scenario.network;
    const form = networkSection(this.catalogue);
    const own = form.own(section);
    return [
      choice({
        label: "Who listens to whom",
        path: "network",
        options: [...own, ...form.options],
        chosen: form.read(section),
        onChange: (now) => {
          const kept = own.some((option) => option.id === now.id);
          this.#write("network", kept ? section : form.write(now, this.store.scenario.network));
        },
      }),
      el(
        "button",
        { type: "button", class: "quiet wide", id: "choose-file", click: this.actions.chooseFile },
        "Open or drop an edge list or GraphML file",
      ),
      this.#extras("network", form.extras(section)),
    ];
  }

  #agents() {
    const agents = this.store.scenario.agents ?? {};
    const byHand = Array.isArray(agents.hidden);
    const form = tagged("law", this.catalogue.hidden_laws);
    const stubbornness = stubbornnessSection(this.catalogue.stubbornness);
    const set = (/** @type {string} */ key, /** @type {unknown} */ value) =>
      this.#write("agents", { ...this.store.scenario.agents, [key]: value });
    return [
      choice({
        label: "Hidden opinions x₀",
        path: "agents.hidden",
        options: [...form.options, BY_HAND],
        chosen: byHand ? { id: "by_hand", values: {} } : form.read(agents.hidden ?? {}),
        onChange: (now) => (now.id === "by_hand" ? this.actions.drawByHand() : set("hidden", form.write(now))),
      }),
      choice({
        label: "Stubbornness s",
        path: "agents.stubbornness",
        options: stubbornness.options,
        chosen: stubbornness.read(agents.stubbornness),
        onChange: (now) => set("stubbornness", stubbornness.write(now)),
        row: true,
      }),
      this.#extras("agents", without(agents, ["hidden", "stubbornness"])),
    ];
  }

  #pressure() {
    const section = this.store.scenario.pressure ?? {};
    const form = tagged("kind", this.catalogue.schedules);
    return [
      choice({
        label: "Peer pressure ρ at step t",
        path: "pressure",
        options: form.options,
        chosen: form.read(section),
        onChange: (now) => {
          if (now.id !== "formula") this.#write("pressure", form.write(now));
          else this.#write("pressure", { formula: String(section.formula ?? this.#formulas()[0]) });
        },
        extra: (now) => (now.id === "formula" ? this.#formula() : null),
      }),
    ];
  }

  #formulas() {
    return this.catalogue.schedules.find((/** @type {any} */ one) => one.id === "formula")?.examples ?? ["t"];
  }

  #formula() {
    const id = freshId("formula");
    const plain = { spellcheck: "false", autocomplete: "off" };
    const input = /** @type {HTMLInputElement} */ (
      el("input", { type: "text", id, class: "formula", "data-role": "formula", ...plain })
    );
    const set = () => this.#write("pressure", { formula: input.value });
    input.value = this.store.scenario.pressure?.formula ?? "";
    input.addEventListener("input", set);
    const examples = this.#formulas().map((/** @type {string} */ text) =>
      el("button", { type: "button", class: "chip", click: () => { input.value = text; set(); } }, text),
    );
    const label = el("label", { for: id, class: "field-label" }, "Formula in t");
    const chips = el("div", { class: "chips" }, ...examples);
    return el("div", { class: "formula-field", "data-path": "pressure.formula" }, label, input, chips, refusalPlace());
  }

  #noise() {
    const section = this.store.scenario.noise ?? { law: "none" };
    const form = tagged("law", this.catalogue.noises);
    const temporal = temporalSection(this.catalogue.temporals);
    const silent = section.law === "none";
    return [
      choice({
        label: "What masks an opinion",
        path: "noise",
        options: form.options,
        chosen: form.read(section),
        onChange: (now) => {
          const before = this.store.scenario.noise ?? { law: "none" };
          const kept = now.id === "none" ? {} : without(before, ["law"]);
          this.#write("noise", form.write(now, kept));
          if ((now.id === "none") !== (before.law === "none")) this.#build("noise");
        },
      }),
      silent
        ? null
        : choice({
            label: "From step to step",
            path: "noise.temporal",
            options: temporal.options,
            chosen: temporal.read(section.temporal),
            onChange: (now) => this.#write("noise", { ...this.store.scenario.noise, temporal: temporal.write(now) }),
          }),
      this.#extras("noise", without(section, ["law", "std", "df", "temporal"])),
    ];
  }

  #run() {
    const section = this.store.scenario.run;
    return [
      ...this.catalogue.run.map((/** @type {any} */ spec) =>
        slider({
          spec,
          path: `run.${spec.name}`,
          value: section[spec.name] ?? spec.default,
          onInput: (value) => this.#write("run", { ...this.store.scenario.run, [spec.name]: value }),
        }),
      ),
      ...Object.keys(this.store.scenario)
        .filter((key) => !KNOWN.includes(key))
        .map((key) => this.#extra(key, key, this.store.scenario[key])),
    ];
  }

  /**
   * Name what a section holds beyond the controls, each with a way to take it out.
   * @param {string} name @param {object} extras
   */
  #extras(name, extras) {
    const entries = Object.entries(extras);
    if (!entries.length) return null;
    const items = entries.map(([key, value]) => el("li", {}, this.#extra(`${name}.${key}`, key, value)));
    return el("ul", { class: "extras" }, ...items);
  }

  /** @param {string} path @param {string} key @param {unknown} value */
  #extra(path, key, value) {
    const said = JSON.stringify(value).replaceAll('"', "").replaceAll(":", " ").replaceAll(",", ", ");
    const click = () => this.store.change(path, undefined);
    const remove = el("button", { type: "button", class: "plain", "aria-label": `Take out ${key}`, click }, "×");
    const text = said.length > 60 ? `${said.slice(0, 59)}…` : said;
    const name = el("b", {}, key.replaceAll("_", " "));
    return el("span", { class: "extra", "data-path": path }, name, ` ${text}`, remove, refusalPlace());
  }
}

/** @param {Record<string, any>} table @param {string[]} keys */
function without(table, keys) {
  return Object.fromEntries(Object.entries(table).filter(([key]) => !keys.includes(key)));
}
