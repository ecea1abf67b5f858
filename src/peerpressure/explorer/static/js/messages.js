// What the page has to say: refusals beside the control that is to blame, other news in one line that can be put away.

import { byId } from "./elements.js";

/**
 * Say something in the bar; it stays until put away or replaced, and what is `bad` until it is put right.
 * @param {string} text @param {"note" | "warn" | "bad"} [tone]
 */
export function tell(text, tone = "note") {
  const bar = byId("message");
  byId("message-text").textContent = text;
  bar.dataset.tone = tone;
  bar.hidden = false;
}

/** Put the bar away. */
export function hush() {
  byId("message").hidden = true;
}

/** Take away all refusals that are shown. */
export function clearRefusals() {
  for (const place of document.querySelectorAll(".refusal:not([hidden])")) {
    const row = /** @type {HTMLElement} */ (place.parentElement);
    /** @type {HTMLElement} */ (place).hidden = true;
    row.classList.remove("refused");
    for (const input of row.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
  }
  const bar = byId("message");
  if (bar.dataset.tone === "bad") bar.hidden = true;
}

/** Return the row for a key of the scenario, or for the nearest table that holds it. @param {string} where */
function rowFor(where) {
  for (let path = where.replaceAll("[", ".").replaceAll("]", ""); path; path = path.replace(/\.?[^.]*$/, "")) {
    const rows = [...document.querySelectorAll(`[data-path="${CSS.escape(path)}"]`)];
    if (rows.length) return rows[0];
  }
  return null;
}

/**
 * Show what the library refused, in its own words, where it belongs.
 * @param {{message: string, where: string | null}} refusal
 */
export function showRefusal({ message, where }) {
  clearRefusals();
  const row = where ? rowFor(where) : null;
  const place = /** @type {HTMLElement | null} */ (row?.querySelector(":scope > .refusal"));
  tell(message, "bad");
  if (!row || !place) return;
  place.textContent = message;
  place.hidden = false;
  row.classList.add("refused");
  row.closest("details")?.setAttribute("open", "");
  // A schedule is refused as a whole; it is the formula in it that was typed.
  const blamed = row.querySelector("[data-role=formula]") ?? row.querySelector("input:not([type=radio]), select");
  blamed?.setAttribute("aria-invalid", "true");
}
