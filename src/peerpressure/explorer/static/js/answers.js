// The answers that follow from a run, in one table: when each is asked for, and what counts its arrivals.

/**
 * @typedef {import("./types.js").Answers} Answers
 *
 * @typedef {keyof typeof FOLLOWING} Following the name of an answer, which is that of its question
 * @typedef {Exclude<Following, "exact" | "inference">} OfObserver
 *
 * @typedef {{[Name in OfObserver]: (answer: Answers[`/api/${Name}`] | null) => void}} ShowsOfObserver
 * @typedef {object} ShowsOthers
 * @property {(answer: Answers["/api/exact"] | null) => void} exact
 * @property {(answer: Answers["/api/inference"] | "pending" | "known" | null) => void} inference of a network, which may
 *   be known, or wait to be inferred
 *
 * @typedef {ShowsOfObserver & ShowsOthers} Shows what shows each answer, null if there is none
 */

// With the run, or once nobody has changed anything for a moment; the rest while somebody looks at the observer, and
// networks are inferred once.
const FOLLOWING = /** @type {const} */ ({
  exact: { when: "rest", counts: "exacts" },
  recovered: { when: "run", counts: "recoveries" },
  observe: { when: "observed", counts: "observations" },
  exposure: { when: "observed", counts: "exposures" },
  budget: { when: "observed", counts: "budgets" },
  bench: { when: "observed", counts: "benches" },
  inference: { when: "once", counts: "inferences" },
});

export const NAMES = /** @type {Following[]} */ (Object.keys(FOLLOWING));

/** About the observer and computed apart, as somebody looks at it: one that takes long does not hold up the others. */
export const OBSERVED = /** @type {OfObserver[]} */ (NAMES.filter((name) => FOLLOWING[name].when === "observed"));

/**
 * Count the answers shown in an attribute of the page; tests wait for the next one.
 * @param {Following | "run" | "comparison"} name
 */
export function countAnswer(name) {
  const { dataset } = document.documentElement;
  const counts = name === "run" || name === "comparison" ? `${name}s` : FOLLOWING[name].counts;
  dataset[counts] = String(Number(dataset[counts] ?? 0) + 1);
}
