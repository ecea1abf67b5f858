// What a recorded page leaves out: settings are words in the place of controls, and whatever needs a server says so.

import { byId, el } from "./elements.js";
import { typeset } from "./format.js";

/** @typedef {import("./types.js").Recorded} Recorded */

// The controls that ask a server. Others, such as the time, the colours, the axes and the agents followed, work.
const NEEDS_SERVER = ["#examples-open", "#draw", "#file"];
// Entries of the menu that need one unless they are recorded.
const FILES = ["csv", "netcdf", "page"];
// Parts of the observer's tab that are nothing but controls.
const OBSERVER = [".observe-controls", ".methods", "#observe-privacy", "#observe-insiders"];

/** @param {Element | null} element */
function hide(element) {
  element?.toggleAttribute("hidden", true);
}

/**
 * Show a recorded run instead of the controls.
 * @param {Recorded} recorded
 * @param {{compares: boolean, hasFiles: boolean}} has whether a comparison and a scenario to save are recorded
 */
export function showRecorded({ reason, plays, notes, settings, provenance }, { compares, hasFiles }) {
  document.documentElement.toggleAttribute("data-recorded", true);
  document.documentElement.toggleAttribute("data-plays", plays);
  const rows = settings.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, typeset(text))));
  const made = ["software", "command", "contents"].flatMap((key) => (provenance[key] ? [String(provenance[key])] : []));
  const controls = /** @type {HTMLElement} */ (document.querySelector(".controls"));
  controls.setAttribute("aria-label", "Settings");
  controls.prepend(
    el("h2", {}, plays ? "A run to play with" : "A recorded run"),
    el("p", { class: "blurb", id: "recorded-reason" }, reason),
    ...notes.map((note) => el("p", { class: "recorded-note" }, note)),
    el("dl", { id: "recorded-settings" }, ...rows),
  );
  controls.append(
    el("p", { class: "blurb", id: "recorded-provenance" }, `Made by ${made[0]}. ${origin(made.slice(1))}`),
  );
  for (const selector of [...NEEDS_SERVER, ...OBSERVER]) hide(document.querySelector(selector));
  if (!compares) hide(byId("compare"));
  const missing = [...FILES, ...(hasFiles ? [] : ["toml", "python"])];
  for (const item of byId("share-menu").querySelectorAll("button")) {
    const { take = "", more = "" } = item.dataset;
    if (missing.includes(take) || more === "figures" || (more === "files" && !hasFiles)) hide(item);
  }
}

/** @param {string[]} parts the command, if there is one, and what the file contains */
function origin(parts) {
  const held = parts.at(-1) ?? "";
  const command = parts.length > 1 ? `Reproduced by: ${parts[0]}. ` : "";
  return `${command}The file ${held}.`;
}
