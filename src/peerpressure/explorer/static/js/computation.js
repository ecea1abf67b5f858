// What has to be computed after a change, in which order, and who gets the answers.

import { ask, Channel, Refusal } from "./api.js";
import { observerOf } from "./scenario.js";

/**
 * @typedef {import("./panel-state.js").Part} Part
 * @typedef {import("./panel-state.js").PanelState} PanelState
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").ExactAnswer} ExactAnswer
 * @typedef {import("./types.js").InferenceAnswer} InferenceAnswer
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").ObserveAnswer} ObserveAnswer
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 * @typedef {import("./types.js").Scenario} Scenario
 *
 * @typedef {object} Source what is computed
 * @property {() => Scenario} scenario
 * @property {() => AgentLabel[]} agents those that are followed
 * @property {() => boolean} observing whether the observer's tab is open
 *
 * @typedef {object} Listeners
 * @property {(graph: NetworkAnswer, run: RunAnswer, scenario: Scenario) => void} onRun
 * @property {(answer: ExactAnswer) => void} onExact
 * @property {(answer: ObserveAnswer) => void} onObservation
 * @property {(answer: InferenceAnswer | string | null) => void} onInference null if the network is known; a text says
 *   why there is no answer, and is empty until there is one
 * @property {(part: Part, state: PanelState, reason: string) => void} onState
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
  const names = Object.keys(withoutObserver({ ...now, ...before }));
  return names.every((name) => now[name] === before[name]);
}

/**
 * Return what edges and positions depend on, as text.
 * @param {Pick<Scenario, "network" | "run" | "agents">} scenario
 */
function networkKey({ network, run, agents }) {
  return JSON.stringify([network, run.seed, agents?.stubbornness, agents?.susceptibility, agents?.zealots]);
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

// Milliseconds without another run after which the hand counts as resting. Exact moments are of use only then; until
// then they would slow down the runs.
const REST = 150;

export class Computation {
  #channels = {
    run: new Channel(),
    exact: new Channel(),
    observe: new Channel(),
    inference: new Channel(),
  };
  #frame = 0;
  /** Whether more than the observer has to be computed in the next frame. */
  #everything = false;
  /** @type {{key: string, answer: NetworkAnswer} | null} */
  #network = null;
  /** What the inferred network that is shown, or being computed, depends on. */
  #inferenceKey = "";
  /**
   * What became of it.
   * @type {{state: PanelState, reason: string}}
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
    this.#mark(this.#everything ? "run" : "observe", "pending");
    if (this.#frame) return;
    this.#begin();
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#everything) {
        this.#computeRun();
      } else if (this.source.observing()) {
        this.#computeObservation();
        this.#computeInference();
      }
      this.#everything = false;
      this.#end();
    });
  }

  /** Abort what is being computed for a scenario that will be replaced by another. */
  abandon() {
    const { run, observe } = this.#channels;
    for (const channel of [run, observe]) channel.cancel();
    this.#forgetExact();
  }

  /** Abort the exact moments of a scenario that has been replaced, or do not begin them. */
  #forgetExact() {
    window.clearTimeout(this.#resting);
    this.#channels.exact.cancel();
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
   * @param {Part} part
   * @param {PanelState} state
   * @param {string} [reason]
   */
  #mark(part, state, reason = "") {
    this.listeners.onState(part, state, reason);
  }

  /**
   * Whether an answer for a scenario is still one for the scenario as it is. If not, another one is on its way.
   * @param {Part} part
   * @param {Scenario} given
   */
  #isCurrent(part, given) {
    const now = this.source.scenario();
    return part === "observe" ? now === given : onlyObserverChanged(now, given);
  }

  /**
   * Ask for an answer, and show what becomes of it in the state of its panels.
   * @template T
   * @param {Part} part
   * @param {Scenario} given
   * @param {() => Promise<T | undefined>} task undefined if a newer one has taken its place
   * @param {(answer: T) => void} show
   * @param {(refusal: Refusal) => void} [onRefusal]
   */
  async #track(part, given, task, show, onRefusal = this.listeners.onRefusal) {
    this.#mark(part, "pending");
    try {
      const answer = await task();
      if (answer === undefined) return;
      const current = this.#isCurrent(part, given);
      show(answer);
      if (current) this.#mark(part, "current");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!this.#isCurrent(part, given)) return;
      if (part === "run") this.#forgetFollowing();
      this.#mark(part, "refused", error.message);
      onRefusal(error);
    }
  }

  /** Abort what was computed from a run, which there is none of any more. */
  #forgetFollowing() {
    this.#forgetExact();
    this.#channels.observe.cancel();
    this.#channels.inference.cancel();
    this.#inferenceKey = "";
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
    this.#forgetExact();
    const task = () =>
      this.#channels.run.latest((signal) => {
        const network = this.#network?.key === key ? this.#network.answer : ask("/api/network", { scenario }, signal);
        return Promise.all([network, ask("/api/run", { scenario }, signal)]);
      });
    const show = (/** @type {[NetworkAnswer, RunAnswer]} */ [network, run]) => {
      this.#network = { key, answer: network };
      this.listeners.onRun(network, run, given);
      window.clearTimeout(this.#resting);
      this.#resting = window.setTimeout(() => this.computeExact(), REST);
      if (this.source.observing()) this.#computeObservation();
      else this.#channels.observe.cancel();
      this.#computeInference();
    };
    return this.#whileBusy(this.#track("run", given, task, show));
  }

  /** Compute the exact law of the network's mean and of the agents that are followed. */
  computeExact() {
    const given = this.source.scenario();
    const question = { scenario: withoutObserver(given), agents: this.source.agents() };
    const task = () => this.#channels.exact.latest((signal) => ask("/api/exact", question, signal));
    // The scenario is valid but too large for this. The curves have no band then, and say why.
    return this.#track("exact", given, task, this.listeners.onExact, () => {});
  }

  #computeObservation() {
    const scenario = this.source.scenario();
    const question = { scenario: { ...scenario, observe: observerOf(scenario) } };
    const task = () => this.#channels.observe.latest((signal) => ask("/api/observe", question, signal));
    return this.#whileBusy(this.#track("observe", scenario, task, this.listeners.onObservation));
  }

  /** Infer the network, unless it is known or has been inferred; this takes seconds, and nothing else waits for it. */
  #computeInference() {
    const scenario = this.source.scenario();
    const question = { scenario: { ...scenario, observe: observerOf(scenario) } };
    const key = inferenceKey(question.scenario);
    if (key === this.#inferenceKey) {
      this.#mark("inference", this.#inferred.state, this.#inferred.reason);
      return;
    }
    const wanted = key !== "" && this.source.observing();
    this.#inferenceKey = wanted ? key : "";
    this.#channels.inference.cancel();
    this.#inferred = { state: "pending", reason: "" };
    this.listeners.onInference(wanted ? "" : null);
    if (!wanted) return;
    const task = () => this.#channels.inference.latest((signal) => ask("/api/inference", question, signal));
    const show = (/** @type {InferenceAnswer} */ answer) => {
      this.#inferred = { state: "current", reason: "" };
      this.listeners.onInference(answer);
    };
    // A refusal concerns the inference alone, and is shown in its place.
    const refuse = (/** @type {Refusal} */ { message }) => {
      this.#inferred = { state: "refused", reason: message };
    };
    this.#whileBusy(this.#track("inference", scenario, task, show, refuse));
  }
}
