// Small parts of the page: the tabs, the presets, the topics, and the agents that are followed.

import { FOLLOWED_COLOURS } from "./colour.js";
import { byId, el } from "./elements.js";
import { segmented } from "./fields.js";
import { agentName, typeset } from "./format.js";

/**
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").FollowedAgent} FollowedAgent
 * @typedef {import("./types.js").Preset} Preset
 * @typedef {import("./types.js").View} View
 */

const TABS = /** @type {const} */ (["curves", "observer"]);

/** @param {(tab: View["tab"]) => void} onChoose */
export function listenToTabs(onChoose) {
  for (const [i, name] of TABS.entries()) {
    const tab = byId(`tab-${name}`);
    tab.addEventListener("click", () => onChoose(name));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      // With two tabs, the next one is also the previous one.
      const next = TABS[(i + 1) % TABS.length];
      onChoose(next);
      byId(`tab-${next}`).focus();
      event.preventDefault();
    });
  }
}

/** @param {View["tab"]} chosen */
export function showTab(chosen) {
  for (const name of TABS) {
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === chosen));
    byId(`tab-${name}`).tabIndex = name === chosen ? 0 : -1;
    byId(`panel-${name}`).hidden = name !== chosen;
  }
  byId("axis-tools").hidden = chosen !== "curves";
}

const PRESET_GROUPS = [
  { id: "start", title: "To start with" },
  { id: "paper", title: "From the paper" },
  { id: "beyond", title: "Beyond the paper" },
  { id: "extensions", title: "Extensions" },
];

/**
 * List the presets as cards, in a drawer that lies over the page while one is chosen.
 * @param {Preset[]} presets
 * @param {(preset: Preset) => void} open
 */
export function showPresets(presets, open) {
  const drawer = byId("examples", HTMLDialogElement);
  const choose = (/** @type {Preset} */ preset) => {
    drawer.close();
    open(preset);
  };
  for (const { id, title } of PRESET_GROUPS) {
    const cards = presets.filter(({ group }) => group === id).map((preset) => presetCard(preset, choose));
    const heading = el("h3", { id: `examples-${id}` }, title);
    byId("presets").append(el("section", { "aria-labelledby": heading.id }, heading, ...cards));
  }
  byId("examples-open").addEventListener("click", () => {
    drawer.showModal();
    drawer.querySelector(".card[aria-pressed=true]")?.scrollIntoView({ block: "nearest" });
  });
  byId("examples-close").addEventListener("click", () => drawer.close());
  // Only what lies beside the drawer is the dialog itself, as its content fills it up.
  drawer.addEventListener("click", (event) => {
    const { right } = drawer.getBoundingClientRect();
    if (event.target === drawer && event.clientX > right) drawer.close();
  });
}

/**
 * @param {Preset} preset
 * @param {(preset: Preset) => void} open
 */
function presetCard(preset, open) {
  return el(
    "button",
    { type: "button", class: "card", "data-preset": preset.id, click: () => open(preset) },
    el("span", { class: "card-title" }, typeset(preset.title)),
    el("span", { class: "card-blurb" }, typeset(preset.blurb)),
  );
}

const LEAD = "Agents under growing peer pressure: do they agree, on what, and can an observer tell what they hide?";

/**
 * Mark the card of the preset that is shown, and say in the header what it shows.
 * @param {Preset | null} preset null if the scenario is no preset, or no longer
 */
export function markPreset(preset) {
  for (const card of byId("presets").querySelectorAll(".card")) {
    card.setAttribute("aria-pressed", String(card.getAttribute("data-preset") === preset?.id));
  }
  const lead = byId("lead");
  if (preset) lead.replaceChildren(el("b", {}, typeset(preset.title)), ": ", typeset(preset.blurb));
  else lead.textContent = LEAD;
  lead.title = lead.textContent ?? "";
}

/**
 * Show the agents that are followed as chips below the network. Their opinions can be typed there if they are set by
 * hand.
 * @param {FollowedAgent[]} agents
 * @param {object} options
 * @param {ArrayLike<number>} options.hidden opinions of all agents
 * @param {AgentLabel[]} options.zealots agents who listen to nobody
 * @param {(label: AgentLabel, on: boolean) => void} options.onZealot
 * @param {boolean} options.editable
 * @param {(label: AgentLabel) => void} options.onUnfollow
 * @param {(index: number, value: number) => void} options.onSet
 */
export function showFollowed(agents, { hidden, zealots, editable, onUnfollow, onSet, onZealot }) {
  const focused = document.activeElement?.id;
  byId("followed-hint").hidden = agents.length > 0;
  byId("followed").replaceChildren(
    ...agents.map(({ index, label, name }, i) => {
      const swatch = el("span", { class: "dot" });
      swatch.style.setProperty("--colour", `var(--${FOLLOWED_COLOURS[i]})`);
      const input = editable ? opinionInput(`opinion-of-${label}`, name, hidden[index]) : null;
      input?.addEventListener("change", () => {
        if (Number.isFinite(input.valueAsNumber)) onSet(index, input.valueAsNumber);
      });
      const isZealot = zealots.includes(label);
      const zealot = {
        "aria-label": `${name} listens to nobody`,
        "aria-pressed": String(isZealot),
        title: "A zealot listens to nobody and never changes its mind",
        id: `zealot-${label}`,
        click: () => onZealot(label, !isZealot),
      };
      const toggle = el("button", { type: "button", class: "toggle", ...zealot }, "zealot");
      const stop = { "aria-label": `Stop following ${name}`, click: () => onUnfollow(label) };
      const button = el("button", { type: "button", class: "plain", ...stop }, "×");
      return el(
        "li",
        { class: "chip followed", "data-agent": label },
        swatch,
        el("span", {}, name),
        input,
        toggle,
        button,
      );
    }),
  );
  if (focused && /^(opinion-of|zealot)-/.test(focused)) document.getElementById(focused)?.focus();
}

/**
 * @param {string} id
 * @param {string} name of the agent
 * @param {number} value
 */
function opinionInput(id, name, value) {
  const label = `Hidden opinion of ${name}`;
  const input = el("input", { type: "number", step: "any", class: "number", id, "aria-label": label });
  input.value = String(Number(value.toPrecision(4)));
  return input;
}

/**
 * Tell those who hear the page which agents are followed from now on, and which no longer.
 * @param {AgentLabel[]} now
 * @param {AgentLabel[]} before
 */
export function sayFollowed(now, before) {
  const begun = now.filter((label) => !before.includes(label)).map((label) => `${agentName(label)} is followed`);
  const ended = before.filter((label) => !now.includes(label)).map((one) => `${agentName(one)} is no longer followed`);
  byId("said").textContent = [...ended, ...begun].join(", ");
}

/** The topics of a scenario, of which one is shown. */
export class Topics {
  #names = "[]";
  /** @type {ReturnType<typeof segmented> | null} */
  #choice = null;

  /** @param {(topic: number) => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
  }

  /**
   * @param {string[]} names none if there is one only
   * @param {number} shown
   */
  show(names, shown) {
    byId("topic-mode").hidden = names.length < 2;
    // Not anew for each run, or a keyboard would lose its place.
    if (JSON.stringify(names) === this.#names) {
      this.#choice?.select(String(shown));
      return;
    }
    this.#names = JSON.stringify(names);
    const options = names.map((title, k) => ({ id: String(k), title }));
    const onChange = (/** @type {string} */ topic) => this.onChange(Number(topic));
    this.#choice = segmented({ label: "Topic", visibleLabel: false, options, value: String(shown), onChange });
    byId("topic-mode").replaceChildren(this.#choice);
  }
}
