// The controls: five groups, each of which reads and writes one section of the scenario.

import { byId, el, uniqueId } from "./elements.js";
import { Features } from "./features.js";
import { choiceField, slider } from "./fields.js";
import { refusalSlot } from "./messages.js";
import { networkForm, omit, stubbornnessForm, taggedForm, temporalForm } from "./sections.js";

/**
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").NoiseSection} NoiseSection
 * @typedef {import("./types.js").Section} Section
 *
 * @typedef {"network" | "agents" | "pressure" | "noise" | "run"} Group
 */

const EDGES = [
  {
    id: "",
    title: "As the file says",
    blurb: "Graph files say whether edges are directed; those of an edge list go both ways.",
  },
  { id: "listens", title: "Source listens to target", blurb: "As in a list of who follows whom." },
  { id: "influences", title: "Source influences target", blurb: "As in a list of who is followed by whom." },
  { id: "mutual", title: "Both listen to each other" },
];
const DRAWN = {
  id: "by_hand",
  title: "Drawn by hand",
  blurb: "Paint on the network with the brush, or follow an agent and type its opinion.",
};
/** @type {NoiseSection} */
const NO_NOISE = { law: "none" };
// The sections that have controls of their own, here or in the observer's tab, or that do not concern the page.
const KNOWN_SECTIONS = [
  "network",
  "topics",
  "agents",
  "pressure",
  "noise",
  "time",
  "run",
  "observe",
  "privacy",
  "output",
];
// Longer values of keys without a control are truncated.
const MAX_EXTRA_LENGTH = 60;

export class Controls {
  /**
   * The group that is being written; it already shows what it writes.
   * @type {Group | null}
   */
  #writing = null;
  /** @type {Record<Group, () => (HTMLElement | null)[]>} */
  #builders = {
    network: () => this.#network(),
    agents: () => this.#agents(),
    pressure: () => this.#pressure(),
    noise: () => this.#noise(),
    run: () => this.#run(),
  };

  /**
   * @param {Store} store
   * @param {Catalogue} catalogue
   * @param {object} actions
   * @param {ReturnType<typeof import("./files.js").acceptFiles>} actions.files
   * @param {() => void} actions.drawByHand
   * @param {import("./stage.js").Stage} actions.stage
   * @param {(on?: boolean) => boolean} actions.distrust
   * @param {Group[]} [groups] of settings that can be changed
   */
  constructor(store, catalogue, actions, groups = ["network", "agents", "pressure", "noise", "run"]) {
    this.store = store;
    this.catalogue = catalogue;
    this.actions = actions;
    this.features = new Features(store, catalogue.features, {
      write: (path, value) => this.#writeAt(path, value),
      hubs: (count) => actions.stage.hubs(count),
      agents: () => actions.stage.n,
      distrust: actions.distrust,
      rebuild: () => this.#build("network"),
    });
    for (const group of groups) this.#build(group);
    store.onScenario((now, before) => {
      for (const group of groups) {
        // What has no group of its own is shown with the run.
        const withRun = now.time !== before.time || now.topics !== before.topics;
        const changed = now[group] !== before[group] || (group === "run" && withRun);
        if (changed && group !== this.#writing) this.#build(group);
      }
    });
  }

  /** @param {Group} group */
  #build(group) {
    const fields = this.#builders[group]();
    byId(`group-${group}`).replaceChildren(...fields.filter((field) => field !== null));
  }

  /**
   * @param {Group} group
   * @param {Section} section
   */
  #write(group, section) {
    this.#writing = group;
    this.store.setScenario(group, section);
    this.#writing = null;
  }

  /**
   * @param {string} path
   * @param {unknown} value
   */
  #writeAt(path, value) {
    const [first] = path.split(".");
    this.#writing = first === "time" || first === "topics" ? "run" : /** @type {Group} */ (first);
    this.store.setScenario(path, value);
    this.#writing = null;
  }

  #network() {
    const section = this.store.scenario.network;
    const form = networkForm(this.catalogue);
    const ownOptions = form.ownOptions(section);
    const file = { id: "choose-file", click: this.actions.files.choose };
    const meaning = this.#edgeMeaning();
    return [
      choiceField({
        label: "Who listens to whom",
        path: "network",
        options: [...ownOptions, ...form.options],
        chosen: form.read(section),
        onChange: (choice) => {
          const own = ownOptions.some(({ id }) => id === choice.id);
          meaning?.toggleAttribute("hidden", !own);
          this.#write("network", own ? section : form.write(choice, this.store.scenario.network));
        },
      }),
      el("button", { type: "button", class: "quiet wide", ...file }, "Open or drop an edge list or GraphML file"),
      meaning,
      ...this.features.fields("network"),
      this.#extras("network", omit(form.extras(section), this.features.keysOf("network"))),
    ];
  }

  /** The question what an edge of the file that is shown means; null if the network is from no file. */
  #edgeMeaning() {
    const { files } = this.actions;
    const edges = files.edgesOf(this.store.scenario.network);
    if (edges === null) return null;
    return choiceField({
      label: "An edge of the file",
      path: "network.direction",
      options: EDGES,
      chosen: { id: edges, values: {} },
      onChange: ({ id }) => files.read(/** @type {import("./types.js").EdgeMeaning} */ (id)),
    });
  }

  #agents() {
    const agents = this.store.scenario.agents ?? {};
    const { hidden = {} } = agents;
    const form = taggedForm("law", this.catalogue.hidden_laws);
    const stubbornness = stubbornnessForm(this.catalogue.stubbornness);
    const set = (/** @type {Section} */ part) => this.#write("agents", { ...this.store.scenario.agents, ...part });
    return [
      choiceField({
        label: "Hidden opinions x₀",
        path: "agents.hidden",
        options: [...form.options, DRAWN],
        chosen: Array.isArray(hidden) ? { id: DRAWN.id, values: {} } : form.read(hidden),
        onChange: (choice) => {
          if (choice.id === DRAWN.id) this.actions.drawByHand();
          else set({ hidden: form.write(choice) });
        },
      }),
      choiceField({
        label: "Stubbornness s",
        path: "agents.stubbornness",
        options: stubbornness.options,
        chosen: stubbornness.read(agents.stubbornness),
        onChange: (choice) => set({ stubbornness: stubbornness.write(choice) }),
        row: true,
      }),
      ...this.features.fields("agents"),
      this.#extras("agents", omit(agents, ["hidden", "stubbornness", ...this.features.keysOf("agents")])),
    ];
  }

  #pressure() {
    const section = this.store.scenario.pressure ?? {};
    const form = taggedForm("kind", this.catalogue.schedules);
    return [
      choiceField({
        label: "Peer pressure ρ at step t",
        path: "pressure",
        options: form.options,
        chosen: form.read(section),
        onChange: (choice) => {
          if (choice.id !== "formula") this.#write("pressure", form.write(choice));
          else this.#write("pressure", { formula: section.formula ?? this.#exampleFormulas()[0] });
        },
        extra: ({ id }) => (id === "formula" ? this.#formulaField() : null),
      }),
    ];
  }

  #exampleFormulas() {
    return this.catalogue.schedules.find(({ id }) => id === "formula")?.examples ?? ["t"];
  }

  #formulaField() {
    const id = uniqueId("formula");
    const plain = { spellcheck: "false", autocomplete: "off" };
    const input = el("input", { type: "text", id, class: "formula", "data-role": "formula", ...plain });
    const write = () => this.#write("pressure", { formula: input.value });
    input.value = this.store.scenario.pressure?.formula ?? "";
    input.addEventListener("input", write);
    const examples = this.#exampleFormulas().map((formula) => {
      const click = () => {
        input.value = formula;
        write();
      };
      return el("button", { type: "button", class: "chip", click }, formula);
    });
    const label = el("label", { for: id, class: "field-label" }, "Formula in t");
    const chips = el("div", { class: "chips" }, ...examples);
    return el("div", { class: "formula-field", "data-path": "pressure.formula" }, label, input, chips, refusalSlot());
  }

  #noise() {
    const section = this.store.scenario.noise ?? NO_NOISE;
    const form = taggedForm("law", this.catalogue.noises);
    const temporal = temporalForm(this.catalogue.temporals);
    return [
      choiceField({
        label: "Noise law",
        path: "noise",
        options: form.options,
        chosen: form.read(section),
        onChange: (choice) => {
          const before = this.store.scenario.noise ?? NO_NOISE;
          const silent = choice.id === "none";
          this.#write("noise", form.write(choice, silent ? {} : omit(before, ["law"])));
          // Without noise there is no second field.
          if (silent !== (before.law === "none")) this.#build("noise");
        },
      }),
      section.law === "none"
        ? null
        : choiceField({
            label: "From step to step",
            path: "noise.temporal",
            options: temporal.options,
            chosen: temporal.read(section.temporal),
            onChange: (choice) =>
              this.#write("noise", { ...this.store.scenario.noise, temporal: temporal.write(choice) }),
          }),
      this.#extras("noise", omit(section, ["law", "std", "df", "temporal"])),
    ];
  }

  #run() {
    const { scenario } = this.store;
    return [
      ...this.catalogue.run.map((parameter) =>
        slider({
          parameter,
          path: `run.${parameter.name}`,
          value: /** @type {number} */ (scenario.run[parameter.name] ?? parameter.default),
          onInput: (value) => this.#write("run", { ...this.store.scenario.run, [parameter.name]: value }),
        }),
      ),
      ...this.features.fields("run"),
      ...Object.keys(omit(scenario, KNOWN_SECTIONS)).map((key) => this.#extra(key, key, scenario[key])),
    ];
  }

  /**
   * List what a section has without a control, with buttons that remove it.
   * @param {Group} group
   * @param {Section} extras
   */
  #extras(group, extras) {
    const items = Object.entries(extras).map(([key, value]) =>
      el("li", {}, this.#extra(`${group}.${key}`, key, value)),
    );
    return items.length ? el("ul", { class: "extras" }, ...items) : null;
  }

  /**
   * @param {string} path
   * @param {string} key
   * @param {unknown} value
   */
  #extra(path, key, value) {
    const json = JSON.stringify(value).replaceAll(/["{}]/g, "").replaceAll(/[:_]/g, " ").replaceAll(",", ", ");
    const text = json.length > MAX_EXTRA_LENGTH ? `${json.slice(0, MAX_EXTRA_LENGTH - 1)}…` : json;
    const click = () => this.store.setScenario(path, undefined);
    const remove = el("button", { type: "button", class: "plain", "aria-label": `Take out ${key}`, click }, "×");
    const name = el("b", {}, key.replaceAll("_", " "));
    return el("span", { class: "extra", "data-path": path }, name, ` ${text}`, remove, refusalSlot());
  }
}
