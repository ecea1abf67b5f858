// What has to be computed after a change, in which order, and who gets the answers.

import { countAnswer, NAMES, OBSERVED } from "./answers.js";
import { ask, Channel } from "./api.js";
import { observerOf } from "./scenario.js";
import { follow, isSame, setState, stateOf } from "./validity.js";

/**
 * @typedef {import("./api.js").Refusal} Refusal
 * @typedef {import("./validity.js").Known} Known
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 * @typedef {import("./types.js").Scenario} Scenario
 *
 * @typedef {object} Source what is computed
 * @property {() => Scenario} scenario
 * @property {() => AgentLabel[]} agents those that are followed
 * @property {() => boolean} observing whether the observer's tab is open
 * @property {() => number} topic the one that is shown, where there are several
 *
 * @typedef {object} Listeners
 * @property {(graph: NetworkAnswer, run: RunAnswer) => void} onRun
 * @property {import("./answers.js").Shows} answers
 * @property {(refusal: Refusal) => void} onRefusal
 * @property {(busy: boolean) => void} onBusy
 */

/**
 * Return the scenario without its observer, whose mistakes must not hold up everything else.
 * @param {Scenario} scenario
 */
function withoutObserver({ observe, privacy, ...rest }) {
  return rest;
}

/**
 * Whether two scenarios differ in nothing but the observer.
 * @param {Scenario} now
 * @param {Scenario} before
 */
export function onlyObserverChanged(now, before) {
  return isSame(runParts(now), runParts(before));
}

/**
 * Return what a run depends on: the sections of a scenario that are given, but for the observer.
 * @param {Scenario} scenario
 */
function runParts(scenario) {
  const given = Object.entries(withoutObserver(scenario)).filter(([, section]) => section !== undefined);
  return given.sort(([one], [other]) => (one < other ? -1 : 1)).flat();
}

/**
 * Return what edges and positions depend on, as text.
 * @param {Pick<Scenario, "network" | "topics" | "run" | "agents">} scenario
 */
function networkKey({ network, topics, run, agents }) {
  return JSON.stringify([network, topics, run.seed, agents?.stubbornness, agents?.susceptibility, agents?.zealots]);
}

/**
 * Return what an inferred network depends on, as text; empty if the network is known.
 * @param {Scenario} scenario
 */
function inferenceKey({ privacy, observe, ...rest }) {
  if (!observe?.unknown_network) return "";
  const { methods, prior, target, ...seen } = observe;
  return JSON.stringify([rest, seen]);
}

/**
 * Return the question for a run, which names a topic only if there are several.
 * @param {object} scenario
 * @param {number} topic
 */
export function asked(scenario, topic) {
  return "topics" in scenario ? { scenario, topic } : { scenario };
}

// Milliseconds without another run after which the hand counts as resting. Exact moments are of use only then; until
// then they would slow down the runs.
const REST = 150;

/** @type {import("./answers.js").OfObserver[]} */
const OF_OBSERVER = ["recovered", ...OBSERVED];

export class Computation {
  /** @type {Record<import("./answers.js").Following | "run", Channel>} */
  #channels = Object.assign({ run: new Channel() }, ...NAMES.map((name) => ({ [name]: new Channel() })));
  #frame = 0;
  /** Whether more than the observer has to be computed in the next frame. */
  #everything = false;
  /** @type {{key: string, answer: NetworkAnswer} | null} */
  #network = null;
  /** Whether there is no run because of a mistake at a control. */
  #isMistaken = false;
  /** How many runs were asked for. */
  #runs = 0;
  /**
   * What the inferred network that is shown, or being computed, depends on; null if what is shown counts no longer.
   * @type {string | null}
   */
  #inferenceKey = "";
  /**
   * What became of it.
   * @type {Known}
   */
  #inferred = { state: "pending", reason: "" };
  #tasks = 0;
  /** The timer that waits for the hand to rest. */
  #resting = 0;

  /**
   * @param {Source} source
   * @param {Listeners} listeners
   */
  constructor(source, listeners) {
    this.source = source;
    this.listeners = listeners;
  }

  /** Compute everything again, or just the observer; at most once per frame. */
  refresh(observerOnly = false) {
    this.#everything ||= !observerOnly;
    if (this.#everything) setState("run", "pending");
    else for (const part of [...OF_OBSERVER, /** @type {const} */ ("inference")]) setState(part, "pending");
    if (this.#inferenceKey !== inferenceKey(this.source.scenario())) this.#forgetInference();
    if (this.#frame) return;
    this.#begin();
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#everything) this.#computeRun();
      else this.#computeObserver();
      this.#everything = false;
      this.#end();
    });
  }

  /** Compute what somebody sees who looks at the observer, unless all of it is known. */
  refreshObserver() {
    if (OF_OBSERVER.some((part) => stateOf(part).state !== "current")) this.refresh(true);
  }

  /** Compute everything again, after the server was gone. */
  restart() {
    this.#forgetInference();
    this.refresh();
  }

  /**
   * Abort what is being computed if a scenario with another run is about to be opened, and return whether it is. A run
   * that stays as it is will not be computed again.
   * @param {Scenario} next
   */
  abandon(next) {
    if (onlyObserverChanged(next, this.source.scenario())) return false;
    this.#channels.run.cancel();
    this.#forgetObserver();
    this.#forgetExact();
    return true;
  }

  /** Abort the exact moments of a scenario that has been replaced, or do not begin them. */
  #forgetExact() {
    window.clearTimeout(this.#resting);
    this.#channels.exact.cancel();
  }

  #forgetObserver() {
    for (const part of OF_OBSERVER) this.#channels[part].cancel();
  }

  /** Abort the inference of a network that is of no use any more. */
  #forgetInference() {
    this.#channels.inference.cancel();
    this.#inferenceKey = null;
  }

  #begin() {
    this.#tasks += 1;
    this.listeners.onBusy(true);
  }

  #end() {
    this.#tasks -= 1;
    if (!this.#tasks) this.listeners.onBusy(false);
  }

  /**
   * Mark the page as busy while something is computed that it waits for.
   * @param {Promise<void>} work
   */
  async #whileBusy(work) {
    this.#begin();
    try {
      await work;
    } finally {
      this.#end();
    }
  }

  /** Compute the run, and the network if it has changed. They are shown together or not at all. */
  #computeRun() {
    const given = this.source.scenario();
    const scenario = withoutObserver(given);
    const key = networkKey(scenario);
    const topic = this.source.topic();
    this.#forgetExact();
    this.#runs += 1;
    this.#isMistaken = false;
    const question = {
      about: () => [this.#runs, this.source.topic(), ...runParts(this.source.scenario())],
      task: () =>
        this.#channels.run.latest((signal) => {
          const network = this.#network?.key === key ? this.#network.answer : this.#askNetwork(key, scenario, signal);
          return Promise.all([network, ask("/api/run", asked(scenario, topic), signal)]);
        }),
      show: (/** @type {[NetworkAnswer, RunAnswer]} */ [network, run]) => {
        this.listeners.onRun(network, run);
        window.clearTimeout(this.#resting);
        this.#resting = window.setTimeout(() => this.computeExact(), REST);
        this.#computeObserver();
      },
      onRefusal: (/** @type {Refusal} */ refusal) => {
        this.#forgetFollowing();
        this.#isMistaken = refusal.where !== null;
        this.listeners.onRefusal(refusal);
      },
    };
    return this.#whileBusy(follow("run", question));
  }

  /**
   * Ask for a network and remember it, also if its run is refused: many runs have the same one.
   * @param {string} key
   * @param {object} scenario
   * @param {AbortSignal} signal
   */
  async #askNetwork(key, scenario, signal) {
    const answer = await ask("/api/network", { scenario }, signal);
    this.#network = { key, answer };
    return answer;
  }

  /** Abort what was computed from a run, which there is none of any more. */
  #forgetFollowing() {
    this.#forgetExact();
    this.#forgetObserver();
    this.#forgetInference();
  }

  /** Compute the exact law of the network's mean and of the agents that are followed. */
  computeExact() {
    const question = { scenario: withoutObserver(this.source.scenario()), agents: this.source.agents() };
    return follow("exact", {
      about: () => runParts(this.source.scenario()),
      task: () => this.#channels.exact.latest((signal) => ask("/api/exact", question, signal)),
      // If it is refused, the scenario is valid but too large for this. The curves have no band then, and say why.
      show: this.listeners.answers.exact,
    });
  }

  /** Compute what the observer makes of the run: its estimates over time, and the rest if somebody looks at it. */
  #computeObserver() {
    // Every answer would repeat the mistake, and with the next run comes the observer.
    if (this.#isMistaken) return;
    this.#observe("recovered");
    for (const part of OBSERVED) {
      if (this.source.observing()) this.#observe(part);
      else {
        this.#channels[part].cancel();
        // Nobody will ask for it, so what is shown of the scenario before is withdrawn.
        if (stateOf(part).state !== "current") setState(part, "pending");
      }
    }
    this.#computeInference();
  }

  /**
   * @template {import("./answers.js").OfObserver} Name
   * @param {Name} part
   */
  #observe(part) {
    const scenario = this.source.scenario();
    const question = { scenario: { ...scenario, observe: observerOf(scenario) } };
    const task = () => this.#channels[part].latest((signal) => ask(`/api/${part}`, question, signal));
    const about = () => [this.source.scenario()];
    /** @type {import("./answers.js").ShowsOfObserver} */
    const shows = this.listeners.answers;
    const show = (/** @type {import("./types.js").Answers[`/api/${Name}`]} */ answer) => {
      shows[part](answer);
      countAnswer(part);
    };
    // A refusal is told once, though it concerns several answers.
    const onRefusal = part === "observe" ? this.listeners.onRefusal : undefined;
    return this.#whileBusy(follow(part, { task, about, show, onRefusal }));
  }

  /** Infer the network, unless it is known or has been inferred; this takes seconds, and nothing else waits for it. */
  #computeInference() {
    const scenario = this.source.scenario();
    const question = { scenario: { ...scenario, observe: observerOf(scenario) } };
    const key = inferenceKey(scenario);
    if (key === this.#inferenceKey) {
      const { state, reason } = this.#inferred;
      setState("inference", state, reason);
      return;
    }
    const wanted = key !== "" && this.source.observing();
    this.#inferenceKey = wanted ? key : "";
    this.#channels.inference.cancel();
    this.#inferred = { state: "pending", reason: "" };
    setState("inference", "pending");
    this.listeners.answers.inference(wanted ? "pending" : "known");
    if (!wanted) return;
    const work = follow("inference", {
      about: () => [this.#inferenceKey],
      task: () => this.#channels.inference.latest((signal) => ask("/api/inference", question, signal)),
      show: (answer) => {
        this.#inferred = { state: "current", reason: "" };
        this.listeners.answers.inference(answer);
        countAnswer("inference");
      },
      onRefusal: ({ message }) => {
        this.#inferred = { state: "refused", reason: message };
      },
    });
    this.#whileBusy(work);
  }
}
