// What has to be computed after a change, in which order, and what becomes of the answers.

import { PLAIN_OBSERVE } from "./fit.js";
import { Channel, Refusal, ask } from "./wire.js";

/**
 * @typedef {import("./wire.js").Packed} Packed
 * @typedef {import("./store.js").Scenario} Scenario
 * @typedef {{picture: (graph: Packed, run: Packed) => void, pressure: (answer: any) => void,
 *            exact: (answer: Packed | null) => void, observed: (answer: Packed) => void,
 *            refused: (refusal: Refusal) => void, busy: (yes: boolean) => void}} Listeners
 */

/**
 * The scenario without its observer, whose mistakes must not keep the others' picture back.
 * @param {Scenario} scenario
 */
function unseen({ observe, privacy, ...rest }) {
  return rest;
}

/** Whether two scenarios differ in nothing but who looks on. @param {Scenario} now @param {Scenario} before */
export function onlyOnlookerDiffers(now, before) {
  const names = new Set([...Object.keys(unseen(now)), ...Object.keys(unseen(before))]);
  return [...names].every((name) => now[name] === before[name]);
}

/** @param {Scenario} scenario what positions and edges depend on */
function graphKey(scenario) {
  return JSON.stringify([scenario.network, scenario.run?.seed, scenario.agents?.stubbornness]);
}

export class Computation {
  #channels = { run: new Channel(), pressure: new Channel(), exact: new Channel(), observe: new Channel() };
  #frame = 0;
  #whole = false;
  /** @type {{key: string, answer: Packed} | null} */
  #graph = null;
  #works = 0;

  /**
   * @param {() => Scenario} scenario
   * @param {() => {agents: (string | number)[], observing: boolean}} options
   * @param {Listeners} listeners
   */
  constructor(scenario, options, listeners) {
    this.scenario = scenario;
    this.options = options;
    this.listeners = listeners;
  }

  /** Compute everything anew, or just what the observer makes of it; at most once in a frame. */
  refresh(observer = false) {
    this.#whole ||= !observer;
    if (this.#frame) return;
    this.#begin();
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#whole) {
        this.#pressure();
        this.#run();
      } else if (this.options().observing) this.observe();
      this.#whole = false;
      this.#end();
    });
  }

  #begin() {
    this.#works += 1;
    this.listeners.busy(true);
  }

  #end() {
    this.#works -= 1;
    if (!this.#works) this.listeners.busy(false);
  }

  /** @param {() => Promise<void>} work */
  async #guarded(work) {
    this.#begin();
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.listeners.refused(error);
    } finally {
      this.#end();
    }
  }

  #pressure() {
    const scenario = unseen(this.scenario());
    const work = this.#channels.pressure.latest((signal) => ask("/api/pressure", { scenario }, signal));
    // What is wrong with it is told by the run, which is computed from the same scenario.
    this.#begin();
    work.then((answer) => answer && this.listeners.pressure(answer), () => undefined).finally(() => this.#end());
  }

  /** Compute the run, and the network where it is another; both are shown together or not at all. */
  #run() {
    const scenario = unseen(this.scenario());
    const key = graphKey(scenario);
    return this.#guarded(async () => {
      const answers = await this.#channels.run.latest(async (signal) => {
        const graph = this.#graph?.key === key ? this.#graph.answer : ask("/api/network", { scenario }, signal);
        return Promise.all([graph, ask("/api/run", { scenario }, signal)]);
      });
      if (!answers) return;
      const [graph, run] = /** @type {[Packed, Packed]} */ (answers);
      this.#graph = { key, answer: graph };
      this.listeners.picture(graph, run);
      this.refine();
    });
  }

  /** Compute what takes longer and depends on what is looked at. */
  refine() {
    this.exact();
    if (this.options().observing) this.observe();
    else this.#channels.observe.cancel();
  }

  /** Compute the exact law of the mean and of the agents that are followed. */
  async exact() {
    const { agents } = this.options();
    const scenario = unseen(this.scenario());
    try {
      const answer = await this.#channels.exact.latest((signal) => ask("/api/exact", { scenario, agents }, signal));
      if (answer) this.listeners.exact(answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Too large for exact moments, which is no fault of the scenario: the curves stand without their band.
      this.listeners.exact(null);
    }
  }

  /** Compute what the observer makes of the run. */
  observe() {
    const whole = this.scenario();
    const scenario = { ...whole, observe: whole.observe ?? PLAIN_OBSERVE };
    return this.#guarded(async () => {
      const answer = await this.#channels.observe.latest((signal) => ask("/api/observe", { scenario }, signal));
      if (answer) this.listeners.observed(answer);
    });
  }
}
