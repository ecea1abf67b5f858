// The agents that are followed, as chips below the network; with opinions drawn by hand, each can be typed there too.

import { FOLLOWED } from "./colour.js";
import { byId, el } from "./elements.js";

/**
 * @param {{index: number, label: string, name: string | number}[]} agents
 * @param {{hidden: Float32Array, byHand: boolean, drop: (name: string | number) => void,
 *          set: (index: number, value: number) => void}} options
 */
export function showFollowed(agents, { hidden, byHand, drop, set }) {
  const place = byId("followed");
  const focused = document.activeElement?.id;
  byId("followed-hint").hidden = agents.length > 0;
  place.replaceChildren(
    ...agents.map(({ index, label, name }, at) => {
      const swatch = el("span", { class: "dot" });
      swatch.style.setProperty("--colour", `var(--${FOLLOWED[at]})`);
      const field = byHand ? opinion(index, label, name, hidden[index], set) : null;
      const stop = `Stop following ${label}`;
      const button = el("button", { type: "button", class: "plain", "aria-label": stop, click: () => drop(name) }, "×");
      return el("li", { class: "chip followed", "data-agent": name }, swatch, el("span", {}, label), field, button);
    }),
  );
  if (focused?.startsWith("opinion-of-")) document.getElementById(focused)?.focus();
}

/**
 * @param {number} index @param {string} label @param {string | number} name @param {number} value
 * @param {(index: number, value: number) => void} set
 */
function opinion(index, label, name, value, set) {
  const id = `opinion-of-${name}`;
  const input = /** @type {HTMLInputElement} */ (
    el("input", { type: "number", step: "any", class: "number", id, "aria-label": `Hidden opinion of ${label}` })
  );
  input.value = String(Number(value.toPrecision(4)));
  input.addEventListener("change", () => {
    if (Number.isFinite(input.valueAsNumber)) set(index, input.valueAsNumber);
  });
  return input;
}
