// One parameter: a name, a number that can be typed, and a slider for the same number.

import { el, freshId } from "./elements.js";
import { indexed } from "./words.js";

/**
 * @typedef {{name: string, title: string, kind: "int" | "float", min: number, max: number, default: number,
 *            step: number, scale?: "log"}} Parameter
 */

const NOTCHES = 300;

/**
 * Return a number of a parameter's kind, rounded as people would write it.
 * @param {Parameter} spec @param {number} value
 */
function tidy(spec, value) {
  if (spec.kind === "int") return Math.round(value);
  if (spec.scale === "log") return Number(value.toPrecision(3));
  return Number((Math.round((value - spec.min) / spec.step) * spec.step + spec.min).toPrecision(12));
}

/** Where a logarithmic slider's first notch stands; its end itself may be 0. @param {Parameter} spec */
function floor(spec) {
  return spec.min > 0 ? spec.min : Math.min(spec.step, spec.max / 1e3);
}

/** @param {Parameter} spec @param {number} value @returns {number} a place on the slider */
export function notchOf(spec, value) {
  if (spec.scale !== "log") return Math.min(spec.max, Math.max(spec.min, value));
  if (value <= spec.min) return 0;
  const part = Math.log(value / floor(spec)) / Math.log(spec.max / floor(spec));
  return Math.min(NOTCHES, Math.max(spec.min > 0 ? 0 : 1, Math.round(part * NOTCHES)));
}

/** @param {Parameter} spec @param {number} notch @returns {number} the value there */
export function valueAt(spec, notch) {
  if (spec.scale !== "log") return tidy(spec, notch);
  if (notch <= 0) return spec.min;
  return Math.min(spec.max, tidy(spec, floor(spec) * (spec.max / floor(spec)) ** (notch / NOTCHES)));
}

/**
 * Return a parameter's row.
 * @param {{spec: Parameter, path: string, value: number, onInput: (value: number) => void}} options
 * @returns {HTMLElement & {show: (value: number) => void}}
 */
export function slider({ spec, path, value, onInput }) {
  const id = freshId("parameter");
  const log = spec.scale === "log";
  const number = /** @type {HTMLInputElement} */ (
    el("input", { type: "number", id, class: "number", step: spec.kind === "int" ? 1 : "any", inputmode: "decimal" })
  );
  const range = /** @type {HTMLInputElement} */ (
    el("input", {
      type: "range",
      class: "range",
      "aria-label": `${spec.title}, slider`,
      min: log ? 0 : spec.min,
      max: log ? NOTCHES : spec.max,
      step: log ? 1 : spec.step,
    })
  );
  const label = el("label", { for: id, class: "field-label" });
  label.append(indexed(spec.title));
  const row = el("div", { class: "parameter", "data-path": path }, label, number, range, refusalPlace());

  /** @param {number} now */
  function place(now) {
    range.value = String(notchOf(spec, now));
    const part = (Number(range.value) - Number(range.min)) / (Number(range.max) - Number(range.min) || 1);
    range.style.setProperty("--part", String(part));
    range.setAttribute("aria-valuetext", String(now));
  }
  /** @param {number} now */
  function show(now) {
    number.value = String(now);
    place(now);
  }
  range.addEventListener("input", () => {
    const now = valueAt(spec, Number(range.value));
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
