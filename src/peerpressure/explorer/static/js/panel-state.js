// Whether panels show what belongs to the scenario. A panel names the answers that it shows in `data-answers`, and is
// - current: it shows the answer for the scenario as it is;
// - pending: until that answer comes, it shows the last one in a paler colour;
// - refused: there is no answer. Nothing is shown but the reason, in panels with `data-tells`.

import { el } from "./elements.js";

/**
 * @typedef {"run" | "exact" | "observe" | "inference" | "other"} Part an answer; "other" is the scenario compared with
 * @typedef {"current" | "pending" | "refused"} PanelState
 */

// What is computed after a part, from the same scenario, and so waits and fails with it.
/** @type {Partial<Record<Part, Part[]>>} */
const FOLLOWING = { run: ["exact", "observe", "inference"] };

/** @type {Map<string, {state: PanelState, reason: string}>} */
const known = new Map();

/**
 * Set the state of an answer and of all panels that show it.
 * @param {Part} part
 * @param {PanelState} state
 * @param {string} [reason] why it is refused
 */
export function setState(part, state, reason = "") {
  for (const one of sharing(part, state)) known.set(one, { state, reason });
  showStates();
}

/**
 * Return the parts that come into a state together.
 * @param {Part} part
 * @param {PanelState} state
 * @returns {Part[]}
 */
export function sharing(part, state) {
  return [part, ...((state !== "current" && FOLLOWING[part]) || [])];
}

/** Show the states of all panels, after one has changed the answers that it shows. */
export function showStates() {
  for (const panel of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-answers]"))) {
    const { state, reason } = stateOf((panel.dataset.answers ?? "").split(" "));
    panel.dataset.state = state;
    if ("tells" in panel.dataset) tell(panel, state === "refused" ? reason : "");
  }
}

/**
 * Return the state of a panel: it is refused with the first of its answers, and pending with any of them.
 * @param {string[]} parts
 */
function stateOf(parts) {
  const states = parts.map((part) => known.get(part) ?? { state: "pending", reason: "" });
  if (states[0].state === "refused") return states[0];
  return states.find(({ state }) => state === "pending") ?? { state: "current", reason: "" };
}

/**
 * @param {HTMLElement} panel
 * @param {string} reason empty if there is nothing to tell
 */
function tell(panel, reason) {
  const place = panel.querySelector(":scope > .reason");
  if (!reason) place?.remove();
  else if (place) place.textContent = reason;
  else panel.append(el("span", { class: "reason" }, reason));
}
