// The first screen: one sentence and one control, in the words of people who have never seen the model.

import { byId, el } from "./elements.js";
import { formatNumber } from "./format.js";

/**
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").PressureSection} PressureSection
 * @typedef {import("./types.js").Verdict} Verdict
 */

/** How fast pressure grows, as a power of time; null if it is given in another way. */
function powerOf(/** @type {PressureSection | undefined} */ pressure) {
  if (pressure?.kind === "constant") return 0;
  if (pressure?.kind === "linear") return 1;
  return pressure?.kind === "power" ? Number(pressure.exponent) : null;
}

/** Return how fast pressure grows in words. */
function growthInWords(/** @type {number} */ power) {
  if (power === 0) return "not at all";
  if (power < 0.75) return "slowly";
  if (power <= 1) return "steadily";
  return power <= 2 ? "too fast" : "much too fast";
}

/**
 * Return what becomes of them in one sentence, or null where it takes more than that.
 * @param {Pick<Verdict, "outcome" | "value">} verdict
 * @param {ArrayLike<number>} hidden what they think
 * @param {PressureSection | undefined} pressure
 */
export function inOneSentence({ outcome, value }, hidden, pressure) {
  const power = powerOf(pressure);
  if (power === null || value === null) return null;
  const mean = Array.from(hidden).reduce((sum, one) => sum + one, 0) / hidden.length;
  const isMean = Math.abs(mean - value) < 1e-3 * Math.abs(value || 1);
  const average = `${formatNumber(value, 2)}, the ${isMean ? "" : "weighted "}average of what they think`;
  if (outcome === "consensus") return `In the long run everybody says ${average}.`;
  if (outcome === "biased_consensus" && power > 1) {
    return `They agree on what is left over from the first steps, and not on ${average}.`;
  }
  if (outcome === "disagreement" && power === 0)
    return "They come closer and never agree: everybody’s own opinion still counts.";
  return null;
}

/** Offer the one control of the first screen: how fast pressure grows, from not at all to much too fast. */
export function offerOneControl(/** @type {Store} */ store) {
  const range = el("input", { type: "range", class: "range", id: "growth", min: 0, max: 3, step: 0.25 });
  const words = el("output", { for: "growth" });
  const show = () => {
    const power = powerOf(store.scenario.pressure) ?? 1;
    range.value = String(power);
    range.style.setProperty("--part", String(power / 3));
    words.textContent = growthInWords(power);
    range.setAttribute("aria-valuetext", growthInWords(power));
  };
  range.addEventListener("input", () => {
    store.setScenario("pressure", { kind: "power", scale: 1, exponent: Number(range.value) });
  });
  store.onScenario(show);
  byId("one-control").append(el("label", { for: "growth" }, "How fast pressure grows"), range, words);
  show();
  byId("laboratory").addEventListener("click", () => store.setView({ simple: false }));
}
