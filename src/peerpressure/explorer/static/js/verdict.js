// The verdict in words: will they agree, on what, how fast, and what would do better.

import { byId, el } from "./elements.js";
import { count, indexed, number, sentence } from "./words.js";

const HEADINGS = {
  consensus: "They will agree, on the right value",
  biased_consensus: "They will agree, but on a biased value",
  oscillation: "Two sides will swing for ever",
  disagreement: "They will never quite agree",
  clusters: "They will agree in clusters",
  periodic: "They will repeat themselves for ever",
  random_walk: "They will agree, on a value that keeps wandering",
  unknown: "What becomes of them cannot be told",
};

/** @param {{exponent: number, log: boolean, constant: number | null} | null} law */
function power(law) {
  if (!law) return null;
  if (law.constant === 0) return el("span", {}, "0");
  if (law.exponent === 0) return el("span", {}, "stays");
  return el("span", {}, "∝ t", el("sup", {}, number(-law.exponent, 3)), law.log ? " log t" : "");
}

// What is known in numbers, each with what it means; the end of the run stands where the … are.
const FACTS = {
  value: ["target v", "the mean of hidden opinions, weighted by stubbornness: v = Σ s x₀ / Σ s"],
  disagreement: ["apart at t = …", "root mean square distance of agents to their common value"],
  distance: ["off v at t = …", "root mean square distance of agents to v"],
  bias: ["bias", "how far the agents' common value lies from v on average"],
  variance: ["variance", "how much the agents' common value differs from run to run"],
  disagreement_rate: ["disagreement", "how fast agents come to each other"],
};

/**
 * @param {keyof FACTS} key
 * @param {Node | string | null} shown hidden where null
 * @param {number | null} [exact]
 * @param {number} [end]
 */
function setFact(key, shown, exact = null, end = 0) {
  const list = byId("verdict-facts");
  if (!list.childElementCount) {
    for (const [name, [, hint]] of Object.entries(FACTS)) {
      const value = el("dd", { class: "numeral", "data-key": name });
      list.append(el("div", { "data-fact": name, hidden: true }, el("dt", { title: hint }), value));
    }
  }
  const cell = /** @type {HTMLElement} */ (list.querySelector(`[data-fact=${key}]`));
  const [term, value] = /** @type {HTMLElement[]} */ ([...cell.children]);
  term.textContent = FACTS[key][0].replace("…", count(end));
  value.replaceChildren(shown ?? "");
  value.dataset.value = String(exact);
  cell.hidden = shown === null;
  cell.classList.remove("stale");
}

/**
 * Say what becomes of the agents. What lies ahead takes longer to compute: it follows by `showAhead`, and until then
 * what was said before stays, but pale.
 * @param {any} verdict
 */
export function showVerdict(verdict) {
  const panel = byId("verdict");
  panel.dataset.outcome = verdict.outcome;
  const heading = (HEADINGS[verdict.outcome] ?? sentence(verdict.words)) + (verdict.estimated ? ", it seems" : "");
  if (byId("verdict-heading").textContent !== heading) byId("verdict-heading").textContent = heading;
  byId("verdict-reason").replaceChildren(indexed(verdict.reason));
  const rates = verdict.rates ?? {};
  setFact("value", number(verdict.value, 4), verdict.value);
  setFact("bias", power(rates.bias));
  setFact("variance", power(rates.variance));
  setFact("disagreement_rate", power(rates.disagreement));
  const ahead = panel.querySelectorAll("[data-fact=disagreement], [data-fact=distance], .advice");
  for (const place of ahead) place.classList.add("stale");
}

/**
 * Say where agents will be at the end, and what the tuned schedule would make of it.
 * @param {any} verdict null where that is too much to compute
 * @param {number} end the last time of the run
 * @param {object | null} tuned the section to use instead, null where it is in use
 * @param {(section: object) => void} useTuned
 */
export function showAhead(verdict, end, tuned, useTuned) {
  const ahead = verdict?.forecast;
  for (const key of /** @type {const} */ (["disagreement", "distance"])) {
    setFact(key, ahead ? number(ahead[key], 3) : null, ahead?.[key], end);
  }
  // Without a look ahead the schedule is offered for what it is; with one, only where it does better.
  const better = verdict?.advice && (verdict.advice.gain === null || verdict.advice.gain > 1.005);
  showAdvice(verdict, verdict === null || better ? tuned : null, useTuned);
}

/** Take back what was said of the end of another run. */
export function forgetAhead() {
  const ahead = byId("verdict").querySelectorAll("[data-fact=disagreement], [data-fact=distance], .advice");
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (ahead)) place.hidden = true;
}

/**
 * @param {any} verdict @param {object | null} tuned null where there is nothing to offer
 * @param {(section: object) => void} useTuned
 */
function showAdvice(verdict, tuned, useTuned) {
  const place = byId("verdict-advice");
  place.hidden = !tuned;
  place.classList.remove("stale");
  if (!tuned) return;
  const text = el("p", {});
  text.append(indexed(adviceWords(verdict?.advice, verdict?.kappa)));
  const click = () => useTuned(tuned);
  const button = el("button", { type: "button", class: "primary", id: "use-tuned", click }, "Use the tuned schedule");
  place.replaceChildren(text, button);
}

/** @param {any} advice @param {number | undefined} kappa */
function adviceWords(advice, kappa) {
  const schedule = `ρ_t = κt${kappa === undefined ? "" : `, κ = ${number(kappa, 3)},`}`;
  if (!advice) return `${schedule} averages noise away at the best rate.`;
  const [now, then] = [number(advice.error_now, 3), number(advice.error_tuned, 3)];
  return `${schedule} would leave an error of ${then} instead of ${now}.`;
}
