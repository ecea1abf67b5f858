// What a recorded page leaves out: settings are words in the place of controls, and whatever needs a server says so.

import { byId, el } from "./elements.js";
import { typeset } from "./format.js";

/** @typedef {import("./types.js").Recorded} Recorded */

// The controls that ask a server. Others, such as the time, the colours, the axes and the agents followed, work.
const NEEDS_SERVER = ["#examples-open", "#draw", "#file"];
// Entries of the menu that need one unless they are recorded.
const FILES = ["csv", "netcdf", "page"];
// Parts of the observer's tab with controls in them.
const OBSERVER = [".observe-controls", "#observe-privacy", "#observe-methods"];

/**
 * Disable an element, and say why.
 * @param {Element | null} element
 * @param {string} reason
 */
function disable(element, reason) {
  if (!(element instanceof HTMLElement)) return;
  element.toggleAttribute("disabled", true);
  element.title = reason;
}

/**
 * Put an element into a fieldset that is disabled, with all that comes into it later.
 * @param {Element | null} element
 * @param {string} reason
 */
function enclose(element, reason) {
  if (!element) return;
  const fieldset = el("fieldset", { class: "fixed", disabled: true, title: reason });
  element.replaceWith(fieldset);
  fieldset.append(element);
}

/**
 * Show a recorded run instead of the controls.
 * @param {Recorded} recorded
 * @param {{compares: boolean, hasFiles: boolean}} has whether a comparison and a scenario to save are recorded
 */
export function showRecorded({ reason, notes, settings, provenance }, { compares, hasFiles }) {
  document.documentElement.toggleAttribute("data-recorded", true);
  const rows = settings.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, typeset(text))));
  const made = ["software", "command", "contents"].flatMap((key) => (provenance[key] ? [String(provenance[key])] : []));
  const controls = /** @type {HTMLElement} */ (document.querySelector(".controls"));
  controls.setAttribute("aria-label", "Settings");
  controls.prepend(
    el("h2", {}, "A recorded run"),
    el("p", { class: "blurb", id: "recorded-reason" }, reason),
    ...notes.map((note) => el("p", { class: "recorded-note" }, note)),
    el("dl", { id: "recorded-settings" }, ...rows),
  );
  controls.append(
    el("p", { class: "blurb", id: "recorded-provenance" }, `Made by ${made[0]}. ${origin(made.slice(1))}`),
  );
  for (const selector of NEEDS_SERVER) disable(document.querySelector(selector), reason);
  if (!compares) disable(byId("compare"), reason);
  document.querySelector(".observe-controls")?.before(el("p", { class: "recorded-note" }, reason));
  for (const selector of OBSERVER) enclose(document.querySelector(selector), reason);
  const missing = [...FILES, ...(hasFiles ? [] : ["toml", "python"])];
  for (const item of byId("share-menu").querySelectorAll("button")) {
    const { take = "" } = item.dataset;
    if (missing.includes(take) || take.startsWith("figure:")) disable(item, reason);
  }
}

/** @param {string[]} parts the command, if there is one, and what the file contains */
function origin(parts) {
  const held = parts.at(-1) ?? "";
  const command = parts.length > 1 ? `Reproduced by: ${parts[0]}. ` : "";
  return `${command}The file ${held}.`;
}
