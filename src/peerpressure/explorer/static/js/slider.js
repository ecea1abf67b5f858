// One parameter: a name, a number that can be typed, and a slider for the same number.

import { el, freshId } from "./elements.js";
import { indexed } from "./words.js";

/**
 * @typedef {{name: string, title: string, kind: "int" | "float", min: number, max: number, default: number,
 *            step: number, scale?: "log"}} Parameter
 */

const NOTCHES = 300;

/**
 * Return the values that a logarithmic slider stops at, each once: near its low end whole numbers lie far apart.
 * @param {Parameter} spec
 * @returns {number[]}
 */
export function ladder({ kind, min, max, step }) {
  // The end itself may be 0, which no power reaches.
  const low = min > 0 ? min : Math.min(step, max / 1e3);
  const rungs = Array.from({ length: NOTCHES + 1 }, (_, at) => {
    const value = low * (max / low) ** (at / NOTCHES);
    return kind === "int" ? Math.round(value) : Number(value.toPrecision(3));
  });
  return [...new Set([min, ...rungs.filter((value) => value > min && value < max), max])];
}

/** Return the nearest of a slider's steps, as people would write it. @param {Parameter} spec @param {number} value */
function tidy({ min, step }, value) {
  return Number((Math.round((value - min) / step) * step + min).toPrecision(12));
}

/** Return the place of the rung nearest to a value. @param {number[]} rungs @param {number} value */
export function nearestRung(rungs, value) {
  const above = rungs.findIndex((rung) => rung >= value);
  if (above <= 0) return above === 0 ? 0 : rungs.length - 1;
  return value - rungs[above - 1] < rungs[above] - value ? above - 1 : above;
}

/**
 * Return a parameter's row.
 * @param {{spec: Parameter, path: string, value: number, onInput: (value: number) => void}} options
 * @returns {HTMLElement & {show: (value: number) => void}}
 */
export function slider({ spec, path, value, onInput }) {
  const id = freshId("parameter");
  const rungs = spec.scale === "log" ? ladder(spec) : null;
  const number = /** @type {HTMLInputElement} */ (
    el("input", { type: "number", id, class: "number", step: spec.kind === "int" ? 1 : "any", inputmode: "decimal" })
  );
  const span = rungs ? { min: 0, max: rungs.length - 1, step: 1 } : { min: spec.min, max: spec.max, step: spec.step };
  const range = /** @type {HTMLInputElement} */ (
    el("input", { type: "range", class: "range", "aria-label": `${spec.title}, slider`, ...span })
  );
  const label = el("label", { for: id, class: "field-label" });
  label.append(indexed(spec.title));
  const row = el("div", { class: "parameter", "data-path": path }, label, number, range, refusalPlace());

  /** @param {number} now */
  function place(now) {
    range.value = String(rungs ? nearestRung(rungs, now) : now);
    const part = (Number(range.value) - span.min) / (span.max - span.min || 1);
    range.style.setProperty("--part", String(part));
    range.setAttribute("aria-valuetext", String(now));
  }
  /** @param {number} now */
  function show(now) {
    number.value = String(now);
    place(now);
  }
  range.addEventListener("input", () => {
    const now = rungs ? rungs[Number(range.value)] : tidy(spec, Number(range.value));
    show(now);
    onInput(now);
  });
  number.addEventListener("input", () => {
    if (number.value === "" || Number.isNaN(number.valueAsNumber)) return;
    const now = spec.kind === "int" ? Math.round(number.valueAsNumber) : number.valueAsNumber;
    place(now);
    onInput(now);
  });
  show(value);
  return Object.assign(row, { show });
}

/** Return the place where a row says what the library refused of it. */
export function refusalPlace() {
  return el("p", { class: "refusal", hidden: true });
}
