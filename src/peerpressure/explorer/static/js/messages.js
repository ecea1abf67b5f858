// Messages: errors beside the control that caused them, everything else in a bar that lies over the page.

import { byId, el } from "./elements.js";

/**
 * Show a message in the bar until it is closed or replaced. A `bad` one also goes away once its cause is gone.
 * @param {string} text
 * @param {"note" | "warn" | "bad"} [tone]
 */
export function showMessage(text, tone = "note") {
  const bar = byId("message");
  byId("message-text").textContent = text;
  bar.dataset.tone = tone;
  bar.hidden = false;
}

export function hideMessage() {
  byId("message").hidden = true;
}

/** Return the element in which `showRefusal` puts its text; it belongs directly into a row with a `data-path`. */
export function refusalSlot() {
  return el("p", { class: "refusal", role: "status", hidden: true });
}

/** @param {HTMLElement} element */
function isInSight(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  // Columns scroll on their own, so being within the window is not enough.
  return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}

/** Remove every error that is shown. */
export function clearRefusals() {
  for (const slot of document.querySelectorAll(".refusal:not([hidden])")) {
    slot.toggleAttribute("hidden", true);
    const row = slot.parentElement;
    row?.classList.remove("refused");
    for (const input of row?.querySelectorAll("[aria-invalid]") ?? []) input.removeAttribute("aria-invalid");
  }
  const bar = byId("message");
  if (bar.dataset.tone === "bad") bar.hidden = true;
}

/**
 * Return the row for a key of the scenario, or for the nearest table that contains it.
 * @param {string} where
 */
function rowFor(where) {
  for (let path = where.replaceAll("[", ".").replaceAll("]", ""); path; path = path.replace(/\.?[^.]*$/, "")) {
    const row = document.querySelector(`[data-path="${CSS.escape(path)}"]`);
    if (row) return row;
  }
  return null;
}

/**
 * Show an error from the server beside the control that caused it, or in the bar if that cannot be seen.
 * @param {{message: string, where: string | null}} refusal
 */
export function showRefusal({ message, where }) {
  clearRefusals();
  const row = where ? rowFor(where) : null;
  /** @type {HTMLElement | null | undefined} */
  const slot = row?.querySelector(":scope > .refusal");
  if (!row || !slot) {
    // Unless a panel tells it in its own place.
    const told = [...document.querySelectorAll(".reason")].some((one) => one.textContent === message);
    if (!told) showMessage(message, "bad");
    return;
  }
  slot.textContent = message;
  slot.hidden = false;
  row.classList.add("refused");
  row.closest("details")?.setAttribute("open", "");
  if (!isInSight(slot)) showMessage(message, "bad");
  // A schedule is refused as a whole, but if it has a formula, that is what the user typed.
  const culprit = row.querySelector("[data-role=formula]") ?? row.querySelector("input:not([type=radio]), select");
  culprit?.setAttribute("aria-invalid", "true");
}
