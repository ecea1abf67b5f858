// Presets as cards: the paper's figures, what lies beyond it, and the extensions.

import { byId, el, segmented } from "./elements.js";
import { indexed } from "./words.js";

const GROUPS = { paper: "From the paper", beyond: "Beyond the paper", extensions: "Extensions" };

/**
 * Show the cards of one group at a time, the paper's first.
 * @param {{id: string, title: string, group: string, blurb: string, state: any}[]} presets
 * @param {(preset: any) => void} open
 */
export function showPresets(presets, open) {
  const cards = presets.map((preset) => card(preset, open));
  const groups = Object.keys(GROUPS).filter((group) => presets.some((preset) => preset.group === group));
  const show = (/** @type {string} */ group) => {
    cards.forEach((one, at) => {
      one.hidden = presets[at].group !== group;
    });
    byId("presets").scrollTo({ left: 0 });
  };
  const options = groups.map((id) => ({ id, title: GROUPS[id] }));
  const choice = { label: "Examples", visibleLabel: false, options, value: groups[0], onChange: show };
  byId("preset-groups").append(segmented(choice));
  byId("presets").append(...cards);
  show(groups[0]);
}

/** @param {any} preset @param {(preset: any) => void} open */
function card(preset, open) {
  return el(
    "button",
    { type: "button", class: "card", "data-preset": preset.id, title: preset.blurb, click: () => open(preset) },
    el("span", { class: "card-title" }, indexed(preset.title)),
    el("span", { class: "card-blurb" }, indexed(preset.blurb)),
  );
}

/** Mark the preset that is shown, if any. @param {string | null} id */
export function markPreset(id) {
  for (const button of byId("presets").querySelectorAll(".card")) {
    button.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (button).dataset.preset === id));
  }
}
