// The steps of the guided tour: what each says, what it asks the user to do, and how the page can tell that it is done.

import { el } from "./elements.js";
import { formatNumber } from "./format.js";
import { checkedView } from "./store.js";

/**
 * @typedef {import("./types.js").MethodResult} MethodResult
 * @typedef {import("./types.js").ObserveAnswer} ObserveAnswer
 * @typedef {import("./types.js").PressureSection} PressureSection
 * @typedef {import("./types.js").Scenario} Scenario
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").View} View
 *
 * @typedef {object} Page the parts of the page that a step uses
 * @property {import("./store.js").Store} store
 * @property {import("./playback.js").Clock} clock
 * @property {import("./stage.js").Stage} stage
 * @property {import("./estimates.js").Estimates} estimates
 * @property {import("./pointing.js").Tools} tools
 *
 * @typedef {object} Recovery how well the observer does
 * @property {number} error typical error
 * @property {number} right agents that it puts into the right camp
 * @property {number} n
 *
 * @typedef {object} Memory what one step leaves for the next
 * @property {string | null} guess
 * @property {Recovery | null} undefended
 *
 * @typedef {object} Step
 * @property {string} id
 * @property {string} title
 * @property {"left" | "above" | "right"} place of the panel on a wide screen, beside what the step is about
 * @property {string[]} about selectors of what the step is about: the first is where the user acts, the last is brought
 *   into sight once the step is done
 * @property {boolean} [secret] whether the outcome is hidden
 * @property {boolean} [reveals] whether it is shown once the step is done
 * @property {string} [act] what the button says that does the step
 * @property {(string | Node)[] | ((page: Page) => (string | Node)[])} text
 * @property {(page: Page) => void} enter prepares the page
 * @property {(page: Page, memory: Memory) => void} [doIt]
 * @property {(page: Page, memory: Memory) => boolean} isDone asked whenever the page has come to rest
 * @property {(page: Page, memory: Memory) => string} [result] what to say once it is done
 */

// The members of the club with five neighbours or more.
const INNER_CIRCLE = [0, 1, 2, 3, 8, 13, 23, 31, 32, 33];
const MEMBERS = 34;
const RAISED = 2;
// As many agents make a camp.
const MIN_CAMP = 4;
// Share of the range of opinions below which members say the same.
const ALIKE = 0.1;
// The error that counts as a defence, as a multiple of that without.
const DEFENDED = 1.5;

/** @type {Scenario} */
const START = {
  network: { named: "karate" },
  agents: { hidden: Array(MEMBERS).fill(0), stubbornness: 1 },
  pressure: { kind: "power", exponent: 0, scale: 1 },
  noise: { law: "gaussian", std: 0.5 },
  run: { steps: 100, replicates: 10, seed: 1 },
  observe: { methods: ["innovations", "ols"] },
};
const CAMPS = Array.from({ length: MEMBERS }, (_, i) => (INNER_CIRCLE.includes(i) ? 1 : 0));
/** @type {PressureSection} */
const PRESSURE = { ...START.pressure, exponent: RAISED };

/** @type {{id: string, title: string, outcomes: string[]}[]} */
export const GUESSES = [
  { id: "fair", title: "They agree, on the average of what they think", outcomes: ["consensus"] },
  {
    id: "biased",
    title: "They agree, but on something else",
    outcomes: ["biased_consensus", "neutral", "random_walk"],
  },
  {
    id: "never",
    title: "They never agree",
    outcomes: ["disagreement", "oscillation", "periodic", "clusters", "bipartite"],
  },
];

/**
 * Return the state in which a step begins if those before it were done by the page.
 * @param {string} id
 * @returns {State}
 */
export function stateAt(id) {
  const done = STEPS.findIndex((step) => step.id === id);
  const after = (/** @type {string} */ name) => done > STEPS.findIndex((step) => step.id === name);
  const scenario = { ...START };
  if (after("paint")) scenario.agents = { ...START.agents, hidden: CAMPS };
  if (after("pressure")) scenario.pressure = PRESSURE;
  const time = after("see") ? START.run.steps : 0;
  return { scenario, view: checkedView({ time, tab: after("observer") ? "observer" : "curves" }), other: null };
}

/** Whether a scenario is still one of the tour, and not one that the user has opened meanwhile. */
export function isOfTour(/** @type {Scenario} */ { network }) {
  return JSON.stringify(network) === JSON.stringify(START.network);
}

/**
 * @param {ArrayLike<number>} values
 * @returns {{low: number, high: number, middle: number}}
 */
function rangeOf(values) {
  const [low, high] = [Math.min(...Array.from(values)), Math.max(...Array.from(values))];
  return { low, high, middle: (low + high) / 2 };
}

/** @param {Page} page */
function hasTwoCamps({ stage }) {
  const { low, high, middle } = rangeOf(stage.hidden);
  const above = Array.from(stage.hidden).filter((value) => value > middle).length;
  return high - low >= 0.2 && above >= MIN_CAMP && stage.n - above >= MIN_CAMP;
}

/** Whether the pressure grows. */
function isRaised(/** @type {PressureSection | undefined} */ pressure) {
  if (pressure?.kind === "constant") return false;
  return pressure?.kind !== "power" || Number(pressure.exponent) >= 0.3;
}

/**
 * Return how well the best method that is shown recovers hidden opinions; null if none does.
 * @param {Page} page
 * @returns {Recovery | null}
 */
export function recoveryOn({ estimates: { answer } }) {
  if (!answer) return null;
  const { header, arrays } = answer;
  /** @type {MethodResult | undefined} */
  const best = header.methods.filter(({ rmse }) => rmse !== null).sort((a, b) => Number(a.rmse) - Number(b.rmse))[0];
  if (!best) return null;
  const { truth } = arrays;
  const estimate = arrays[`estimate_${best.id}`];
  const { middle } = rangeOf(truth);
  const right = Array.from(truth).filter((value, i) => value > middle === estimate[i] > middle).length;
  return { error: Number(best.rmse), right, n: truth.length };
}

/** @param {Recovery} recovery */
function inWords({ error, right, n }) {
  return `typically off by ${formatNumber(error, 2)}, with ${right} of ${n} members in the right camp`;
}

/**
 * Return what the outcome shows, by the reasons for it; empty where other things than the pressure count.
 * @param {import("./types.js").Verdict} verdict
 */
export function moralOf({ outcome, regime, reasons }) {
  const has = (/** @type {string} */ name) => reasons.some(({ code }) => code === name);
  if (outcome === "consensus" && has("start_forgotten")) {
    return "Pressure that grows slowly leaves time for every opinion to count.";
  }
  if (has("start_remembered") && outcome !== "consensus") {
    return "The pressure grew too fast: early opinions were kept, and members with many neighbours counted for more.";
  }
  if (has("frozen_noise")) return "Noise that is drawn once does not average out.";
  const apart = outcome === "disagreement" && regime === "bounded";
  return apart ? "Without growing pressure, everybody keeps a part of their own opinion." : "";
}

/**
 * Return whether the guess was right, and what happens, by the verdict that was computed.
 * @param {Page} page
 * @param {Memory} memory
 */
function judged({ stage }, { guess }) {
  const verdict = stage.run?.header.verdict;
  if (!verdict) return "";
  const { outcome, summary } = verdict;
  const chosen = GUESSES.find(({ id }) => id === guess);
  const known = GUESSES.some(({ outcomes }) => outcomes.includes(outcome));
  const answer = !chosen || !known ? "" : chosen.outcomes.includes(outcome) ? "You guessed right. " : "Not quite. ";
  return `${answer}${summary} ${moralOf(verdict)}`.trim();
}

/**
 * Return how much of the difference between the camps is left in public at the end of the run.
 * @param {Page} page
 */
export function spreadInWords({ stage }) {
  const { low, high } = rangeOf(stage.hidden);
  const { minimum = [], maximum = [], times = [] } = stage.run?.arrays ?? {};
  const last = times.length - 1;
  const left = (maximum[last] - minimum[last]) / (high - low);
  if (!(left >= ALIKE)) return "In public next to nothing is left of the two camps.";
  return `In public members still differ by up to ${formatNumber(maximum[last] - minimum[last], 2)}.`;
}

/**
 * @param {string} text with *names* of things on the page
 * @returns {(string | Node)[]}
 */
function marked(text) {
  return text.split("*").map((part, i) => (i % 2 ? el("b", {}, part) : part));
}

/** @type {Step[]} */
export const STEPS = [
  {
    id: "paint",
    title: "Paint two camps",
    place: "right",
    about: [".canvas-holder"],
    secret: true,
    text: marked(
      "These are the 34 members of a karate club; lines are friendships. For now, all have the opinion 0. " +
        "Drag over the *middle of the network* to give some of them the opinion 1.",
    ),
    enter: ({ tools }) => {
      tools.drawByHand();
      tools.brush.choose(1);
    },
    doIt: ({ store }) => store.setScenario("agents.hidden", CAMPS),
    isDone: hasTwoCamps,
    result: ({ stage }) => {
      const { middle } = rangeOf(stage.hidden);
      const above = Array.from(stage.hidden).filter((value) => value > middle).length;
      // Colours tell opinions from v, from which the larger camp may hardly differ.
      return `Two camps: ${above} members think more than ${formatNumber(middle, 2)}, and ${stage.n - above} less.`;
    },
  },
  {
    id: "pressure",
    title: "Raise the pressure",
    place: "right",
    about: ["#group-pressure"],
    secret: true,
    text: marked(
      "Members speak in public, with some noise, and feel the pressure to say what their friends say. Now this " +
        "pressure stays the same, and differences remain. Let it grow: under *Peer pressure*, raise the *exponent*.",
    ),
    enter: ({ tools, store }) => {
      tools.use("look");
      store.setView({ colour: "public" });
    },
    doIt: ({ store }) => store.setScenario("pressure", PRESSURE),
    isDone: ({ store }) => isRaised(store.scenario.pressure),
    result: ({ store }) => {
      const { kind, exponent } = store.scenario.pressure ?? {};
      return kind === "power" ? `The pressure now grows like t to the power ${exponent}.` : "The pressure now grows.";
    },
  },
  {
    id: "guess",
    title: "What will they say in the end?",
    place: "right",
    about: [".canvas-holder"],
    secret: true,
    act: "I don’t know, show me",
    text: ["The pressure grows, step by step. What becomes of the public opinions?"],
    enter: ({ tools, store, clock }) => {
      tools.use("look");
      store.setView({ colour: "public" });
      clock.seek(0);
    },
    isDone: (_, { guess }) => guess !== null,
  },
  {
    id: "see",
    title: "See what happens",
    place: "left",
    about: [".canvas-holder"],
    secret: true,
    reveals: true,
    act: "Skip to the end",
    text: marked(
      "The *colours* are what members say in public: grey is v, the weighted mean of what all of them think, blue is " +
        "below and orange above. As they come closer, the colours are stretched. What they think does not change.",
    ),
    enter: ({ store, clock }) => {
      store.setView({ tab: "curves", colour: "public", logTime: true, zoomColours: true });
      clock.pause();
      clock.seek(0);
      if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) clock.seek(clock.lastIndex);
      else clock.toggle();
    },
    doIt: ({ clock }) => {
      clock.pause();
      clock.seek(clock.lastIndex);
    },
    isDone: ({ clock }) => !clock.playing && clock.index === clock.lastIndex,
    result: judged,
  },
  {
    id: "observer",
    title: "Unmask them",
    place: "left",
    about: [".tabs", "#estimates"],
    text: (page) =>
      marked(
        `${spreadInWords(page)} But an observer has watched every step, and knows the network, the pressure and the ` +
          "law of the noise. Open *The observer*: each point is a member, and points on the dashed line are estimated " +
          "correctly.",
      ),
    enter: ({ clock }) => clock.pause(),
    doIt: ({ store }) => store.setView({ tab: "observer" }),
    isDone: (page) => page.store.view.tab === "observer" && recoveryOn(page) !== null,
    result: (page) => {
      const recovery = recoveryOn(page);
      return recovery ? `What they hide is known: the observer is ${inWords(recovery)}.` : "";
    },
  },
  {
    id: "defence",
    title: "The defence",
    place: "above",
    about: ["#group-noise", "#estimates"],
    text: marked(
      "New noise at each step averages out, so watching longer reveals more. Noise that is kept does not. Under " +
        "*Noise*, set *From step to step* to *Frozen*. More noise, or fewer members who are seen, help too.",
    ),
    enter: ({ store }) => store.setView({ tab: "observer" }),
    doIt: ({ store }) => store.setScenario("noise", { ...store.scenario.noise, temporal: "frozen" }),
    isDone: (page, memory) => {
      const recovery = recoveryOn(page);
      memory.undefended ??= recovery;
      return recovery !== null && memory.undefended !== null && recovery.error >= DEFENDED * memory.undefended.error;
    },
    result: (page, { undefended }) => {
      const recovery = recoveryOn(page);
      if (!recovery || !undefended) return "";
      const before = `Before, it was off by ${formatNumber(undefended.error, 2)}`;
      return `The observer is now ${inWords(recovery)}. ${before}, with ${undefended.right}.`;
    },
  },
  {
    id: "end",
    title: "That is the story",
    place: "left",
    about: [],
    text: [
      el(
        "ul",
        {},
        el("li", {}, "Growing pressure makes agents agree in public; if it grows too fast, not on the average."),
        el("li", {}, "Agreement in public does not hide what agents think from an observer who knows the rules."),
        el("li", {}, "Noise protects them best if it does not average out."),
      ),
      el(
        "p",
        {},
        "Your own scenario comes back when the tour ends. More stories are under ",
        el("b", {}, "Examples"),
        ".",
      ),
    ],
    enter: () => undefined,
    isDone: () => true,
  },
];
