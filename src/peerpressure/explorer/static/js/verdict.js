// The verdict: will they agree, on what, how fast, and what would do better.

import { byId, el } from "./elements.js";
import { formatCount, formatNumber, typeset } from "./format.js";
import { reasonsInPictures } from "./why.js";

/**
 * @typedef {import("./types.js").PowerLaw} PowerLaw
 * @typedef {import("./types.js").PressureSection} PressureSection
 * @typedef {import("./types.js").Suggestion} Suggestion
 * @typedef {import("./types.js").Verdict} Verdict
 */

// The terms and their tooltips; … stands for the end of the run.
const FACTS = {
  value: ["target v", "the influence-weighted mean of hidden opinions: v = Σ s x₀ / Σ s if links have no direction"],
  classes: ["targets", "values of the closed classes, which listen to nobody outside; others end in between"],
  camps: ["targets", "values of the two camps"],
  disagreement: ["disagreement at t = …", "root mean square distance of agents to their common value"],
  rms_distance: ["distance to v at t = …", "root mean square distance of agents to v"],
  each_other: [
    "close to each other",
    "two agents, who may be on different sides of v, as a root mean square over pairs and noise; exact, up to t = …",
  ],
  near_value: ["close to v", "an agent, as a root mean square over agents and noise; exact, up to t = …"],
  bias: ["bias in the long run", "how far the agents' common value lies from v on average"],
  variance: ["variance in the long run", "how much the agents' common value differs from run to run"],
  disagreement_rate: ["disagreement in the long run", "how fast the agents' opinions approach each other"],
};

const MAX_VALUES = 3;

// Share of the steps up to which agents who are close in the last ones are not said to be so from then on.
const SHORT = 0.1;

// What depends on the forecast, which takes longer to compute than the rest.
const FORECAST_FACTS = ["disagreement", "rms_distance", "each_other", "near_value"];
const FORECAST_PARTS = FORECAST_FACTS.map((key) => `[data-fact=${key}]`)
  .concat("#verdict-outlook")
  .join();

function forecastParts() {
  return [...byId("verdict").querySelectorAll(FORECAST_PARTS), byId("verdict-advice")];
}

/** @param {PowerLaw | null} law */
function powerLaw(law) {
  if (!law) return null;
  if (law.constant === 0) return "0";
  if (law.exponent === 0) return "stays";
  if (law.exponent === null) return "faster than every power of t";
  return el("span", {}, "∝ t", el("sup", {}, formatNumber(-law.exponent, 3)), law.log ? " log t" : "");
}

/**
 * @param {keyof typeof FACTS} key
 * @param {Node | string | null} shown null hides the fact
 * @param {number | null} [value] in full precision
 * @param {number} [end] of the run
 * @param {boolean} [own] whether agents have limits of their own in place of v
 * @param {boolean} [camps] whether two camps have opposite values in place of a common one
 */
function setFact(key, shown, value = null, end = 0, own = false, camps = false) {
  const list = byId("verdict-facts");
  if (!list.childElementCount) list.append(...Object.entries(FACTS).map(([name, [, hint]]) => factRow(name, hint)));
  const row = /** @type {HTMLElement} */ (list.querySelector(`[data-fact=${key}]`));
  const [term, output] = /** @type {HTMLElement[]} */ ([...row.children]);
  const [name, hint] = FACTS[key].map((text) => text.replace("…", formatCount(end)));
  term.textContent = name
    .replace("to v", own ? "to own limit" : "to v")
    .replace(" at", camps ? " within camps at" : " at");
  term.title = hint
    .replace("to v", own ? "to their own limits" : "to v")
    .replace("their common value", camps ? "the value of their camp" : "their common value");
  output.replaceChildren(shown ?? "");
  output.dataset.value = String(value);
  row.hidden = shown === null;
}

/**
 * @param {string} name
 * @param {string} hint
 */
function factRow(name, hint) {
  const output = el("dd", { class: "numeral", "data-key": name });
  const row = el("div", { "data-fact": name, hidden: true }, el("dt", { title: hint }), output);
  if (FORECAST_FACTS.includes(name)) row.dataset.answers = "exact";
  return row;
}

/**
 * Show a verdict, except for its forecast. That takes longer to compute, and until `showForecast` brings it, the
 * previous one stays in a paler colour.
 * @param {Verdict} verdict
 * @param {number[]} values of closed classes and camps
 * @param {string} thisRun what came of it in this run, where that is random
 * @param {boolean} adapts whether hidden opinions change
 */
export function showVerdict({ outcome, heading: text, summary, reason, value, rates }, values, thisRun, adapts) {
  const panel = byId("verdict");
  panel.dataset.outcome = outcome;
  const heading = byId("verdict-heading");
  // Screen readers announce the heading whenever it is set.
  if (heading.textContent !== text) heading.textContent = text;
  byId("verdict-summary").textContent = summary;
  byId("verdict-run").textContent = thisRun;
  byId("verdict-reason").replaceChildren(typeset(reason));
  const pictures = reasonsInPictures({ outcome }, adapts);
  byId("verdict-pictures").replaceChildren(...pictures);
  // Without pictures there is nothing else to see.
  if (!pictures.length) byId("verdict-theorem").setAttribute("open", "");
  const list = values
    .slice(0, MAX_VALUES)
    .map((one) => formatNumber(one, 3))
    .concat(values.length > MAX_VALUES ? ["…"] : [])
    .join(", ");
  const opposite = values.length === 2 && values[0] === -values[1];
  setFact("value", values.length > 1 ? null : formatNumber(values[0] ?? value, 4), values[0] ?? value);
  setFact("classes", values.length > 1 && !opposite ? list : null);
  setFact("camps", opposite ? `±${formatNumber(values[1], 3)}` : null);
  setFact("bias", powerLaw(rates.bias));
  setFact("variance", powerLaw(rates.variance));
  setFact("disagreement_rate", powerLaw(rates.disagreement));
}

/**
 * Show where agents will be at the end of the run, and a schedule that brings them closer to v, if there is one.
 * @param {Verdict | null} verdict null if the forecast would take too long
 * @param {number} end of the run
 * @param {string} pressure the formula of ρ_t
 * @param {(section: PressureSection) => void} onUse
 */
export function showForecast(verdict, end, pressure, onUse) {
  const forecast = verdict?.forecast;
  const own = forecast?.own_limits;
  const camps = verdict?.reasons.some(({ code }) => code === "camps");
  const outlook = byId("verdict-outlook");
  outlook.textContent = verdict?.outlook ?? "";
  outlook.hidden = !verdict?.outlook;
  for (const key of /** @type {const} */ (["disagreement", "rms_distance"])) {
    const shown = forecast ? estimate(forecast[key], forecast[`${key}_stderr`]) : null;
    setFact(key, shown, forecast?.[key], end, own, key === "disagreement" && camps);
  }
  const settling = forecast?.settling;
  setFact("each_other", settling ? since(settling.each_other, settling) : null, settling?.each_other, end);
  setFact("near_value", settling ? since(settling.value, settling) : null, settling?.value, end, own);
  const present = { pressure, target: own ? "their limits" : "v", distance: verdict?.advice?.rms_distance ?? null };
  const best = verdict?.advice?.suggestions[0];
  showAdvice(best?.worthwhile ? best : undefined, present, onUse);
}

/**
 * Return from when on agents are close, in words.
 * @param {number | null} step
 * @param {import("./types.js").Settling} settling
 */
export function since(step, { tolerance, steps, step_length: length, is_bound: isBound }) {
  const near = `within ${formatNumber(tolerance, 1)}`;
  const moment = (/** @type {number} */ at) =>
    length === null ? `step ${formatCount(at)}` : `time ${formatNumber(at * length, 3)}`;
  if (step === null) return `not ${near} by ${moment(steps)}`;
  if (isBound) return step ? `not ${near} before ${moment(step)}` : "not known";
  const held = steps - step + 1;
  // Where distances rise and fall they may well rise again.
  if (step && (held === 1 || held <= SHORT * steps)) {
    return `${near} only ${held > 1 ? `in the last ${formatCount(held)} steps` : "at the last step"}`;
  }
  return `${near} from ${step ? `${moment(step)} on` : "the start"}`;
}

/**
 * @param {number | null} value
 * @param {number} stderr standard error, 0 if the value is exact
 */
function estimate(value, stderr) {
  return formatNumber(value, 3) + (stderr ? ` ± ${formatNumber(stderr, 1)}` : "");
}

/** Hide the forecast, when another scenario is opened. */
export function hideForecast() {
  for (const part of forecastParts()) part.toggleAttribute("hidden", true);
}

/**
 * @typedef {object} Present what a suggestion is compared with
 * @property {string} pressure the formula of ρ_t
 * @property {string} target what distances are to
 * @property {number | null} distance RMS distance at the end of the run
 *
 * @param {Suggestion | undefined} best undefined if there is nothing to recommend
 * @param {Present} present
 * @param {(section: PressureSection) => void} onUse
 */
function showAdvice(best, present, onUse) {
  const place = byId("verdict-advice");
  place.hidden = !best;
  if (!best) return;
  const text = el("p", {}, typeset(adviceText(best, present)));
  const click = () => onUse(best.section);
  const button = el("button", { type: "button", class: "primary", id: "use-advice", click }, "Use it");
  place.replaceChildren(text, button);
}

/** @type {Record<Suggestion["name"], string>} */
const ADVISED = {
  optimal: "the best pressure for a run of this length",
  averaging: "a pressure that rises in a straight line and is very high at the end",
  line: "a pressure that rises in another straight line",
  tuned: "the pressure that is tuned to this network",
};

// A longer formula is that of a table.
const LONGEST_FORMULA = 40;

/**
 * @param {Suggestion} best
 * @param {Present} present
 */
function adviceText(best, { pressure, target, distance }) {
  const named = (/** @type {string} */ words, /** @type {string} */ formula) =>
    formula && formula.length <= LONGEST_FORMULA ? `${words}, ${formula},` : words;
  const [now, then] = [formatNumber(distance, 2), formatNumber(best.rms_distance, 2)];
  const after = best.words ? ` In the long run: ${best.words}.` : "";
  return (
    `Under ${named("the present pressure", pressure)} agents end ${now} from ${target}. ` +
    `Under ${named(ADVISED[best.name], best.name === "averaging" ? "" : best.text)} they would end ${then} from ${target}.${after}`
  );
}
