// The rule of validity, for all panels: what a panel shows belongs to the scenario as it is, or is marked. A panel names
// the answers that it shows in `data-answers`, and is
// - current: it shows the answer for the scenario as it is;
// - pending: it shows the last answer in a paler colour, until the one for the scenario comes,
//   or a mistake at a control is corrected, beside which it is told;
// - refused: there is no answer. Nothing is shown but the reason, in panels with `data-tells`.
// Whoever asks the server for something that is shown does so by `follow`, which alone decides whether an answer is still
// one for what is asked.

import { NAMES } from "./answers.js";
import { Refusal } from "./api.js";
import { el } from "./elements.js";

/**
 * @typedef {"run" | import("./answers.js").Following | "other" | "other-exact" | "other-exposure"} Part an answer; the
 *   others are about the scenario that is compared with
 * @typedef {"current" | "pending" | "refused"} PanelState
 * @typedef {{state: PanelState, reason: string}} Known
 */

// What is computed after a part, from the same scenario, and so waits and fails with it.
/** @type {Partial<Record<Part, Part[]>>} */
const FOLLOWING = {
  run: NAMES,
  other: ["other-exact", "other-exposure"],
};

/** @type {Map<string, Known>} */
const known = new Map();

/** @type {Map<Part, (state: "pending" | "refused") => void>} */
const withdrawals = new Map();

/** @type {((refusal: Refusal) => void) | null} */
let whenLost = null;

/**
 * Say how to take back what an answer has brought, when it comes to belong to another scenario, or to none.
 * @param {Part} part
 * @param {(state: "pending" | "refused") => void} withdraw
 */
export function onWithdrawal(part, withdraw) {
  withdrawals.set(part, withdraw);
}

/** @param {() => void} listener called when a question was lost and has to be asked again */
export function onLost(listener) {
  whenLost = listener;
}

/**
 * Ask for an answer and show it, and let its panels be pending until then, or refused if there is none.
 * @template T
 * @param {Part} part
 * @param {object} question
 * @param {() => Promise<T | undefined>} question.task undefined if a newer one has taken its place
 * @param {() => unknown[]} question.about what the answer depends on, now; once that is something else, another answer is
 *   on its way
 * @param {(answer: T, isCurrent: boolean) => void} question.show
 * @param {(refusal: Refusal) => void} [question.onRefusal]
 */
export async function follow(part, { task, about, show, onRefusal }) {
  const asked = about();
  const isCurrent = () => isSame(asked, about());
  setState(part, "pending");
  try {
    const answer = await task();
    if (answer === undefined) return;
    const current = isCurrent();
    show(answer, current);
    if (current) setState(part, "current");
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Also if the question is an old one: no newer one will be answered either.
    if (error.isLost) whenLost?.(error);
    if (!isCurrent()) return;
    // A mistake at a control is told beside it, once; until it is corrected, the last answer stays in a paler colour.
    if (part === "run" && error.where) setState(part, "pending");
    else setState(part, "refused", error.message);
    onRefusal?.(error);
  }
}

/**
 * Whether two lists have the same entries.
 * @param {unknown[]} one
 * @param {unknown[]} other
 */
export function isSame(one, other) {
  return one.length === other.length && one.every((entry, k) => entry === other[k]);
}

/**
 * Set the state of an answer, of those that follow from it, and of all panels that show them.
 * @param {Part} part
 * @param {PanelState} state
 * @param {string} [reason] why it is refused
 */
export function setState(part, state, reason = "") {
  const parts = state === "current" ? [part] : [part, ...(FOLLOWING[part] ?? [])];
  for (const one of parts) {
    known.set(one, { state, reason });
    if (state !== "current") withdrawals.get(one)?.(state);
  }
  showStates();
}

/**
 * Return what has become of an answer.
 * @param {string} part
 * @returns {Known}
 */
export function stateOf(part) {
  return known.get(part) ?? { state: "pending", reason: "" };
}

/** Show the states of all panels, after one has changed the answers that it shows. A reason is told once. */
export function showStates() {
  const told = new Set();
  for (const panel of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-answers]"))) {
    const { state, reason } = panelState((panel.dataset.answers ?? "").split(" "));
    panel.dataset.state = state;
    if (!("tells" in panel.dataset)) continue;
    const isNew = state === "refused" && !told.has(reason) && !panel.closest("[hidden]");
    tell(panel, isNew ? reason : "");
    if (isNew) told.add(reason);
  }
}

/**
 * Return the state of a panel: it is refused with the first of its answers, and pending with any of them.
 * @param {string[]} parts
 */
function panelState(parts) {
  const states = parts.map(stateOf);
  if (states[0].state === "refused") return states[0];
  return states.find(({ state }) => state === "pending") ?? { state: "current", reason: "" };
}

/**
 * @param {HTMLElement} panel
 * @param {string} reason empty if there is nothing to tell
 */
function tell(panel, reason) {
  const place = /** @type {HTMLElement | null} */ (panel.querySelector(":scope > .reason"));
  if (!reason) place?.remove();
  else if (place) Object.assign(place, { textContent: reason, title: reason });
  else panel.append(el("span", { class: "reason", title: reason }, reason));
}
