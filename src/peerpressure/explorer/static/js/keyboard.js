// Keys that work wherever nothing else wants them.

import { byId } from "./elements.js";

/** @typedef {import("./clock.js").Clock} Clock */

const TYPED_INTO = "input:not([type=range], [type=radio], [type=checkbox]), textarea";

/** Whether the element that has the focus uses keys of its own. @param {KeyboardEvent} event */
function isTaken(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  return target.closest("input, select, textarea, button, summary, a, dialog") !== null;
}

/** @param {Clock} clock */
export function listenToKeys(clock) {
  const help = /** @type {HTMLDialogElement} */ (byId("keys"));
  byId("help").addEventListener("click", () => help.showModal());
  byId("keys-close").addEventListener("click", () => help.close());
  const actions = {
    " ": () => clock.toggle(),
    ArrowLeft: () => clock.step(-1),
    ArrowRight: () => clock.step(1),
    Home: () => clock.step(-Infinity),
    End: () => clock.step(Infinity),
  };
  window.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const typing = /** @type {HTMLElement} */ (event.target).matches(TYPED_INTO);
    if (event.key === "?" && !typing && !help.open) help.showModal();
    else if (actions[event.key] && !isTaken(event)) actions[event.key]();
    else return;
    event.preventDefault();
  });
}
