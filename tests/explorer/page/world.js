// The page without its pictures: the modules that ask the server and decide what is shown, connected as explorer.js
// connects them, with a server that answers by hand. What each part of the page shows is the question that it answers.

import assert from "node:assert/strict";
import { FakeServer, LOST, REFUSALS, settled, setUpPage } from "./fakes.js";

const { clock, document } = setUpPage();
const JS = "../../../src/peerpressure/explorer/static/js";
const { Comparison } = await import(`${JS}/comparison.js`);
const { Computation, onlyObserverChanged } = await import(`${JS}/computation.js`);
const { Connection } = await import(`${JS}/connection.js`);
const { checkedView, Store } = await import(`${JS}/store.js`);
const { onLost, onWithdrawal, setState, stateOf } = await import(`${JS}/validity.js`);

/** Questions about the observer, which are asked if somebody looks at it. */
export const OBSERVING = ["observe", "exposure", "budget", "bench"];
export const OF_OBSERVER = ["recovered", ...OBSERVING];
/** What is computed from a run, each part without the others. */
export const APART = ["exact", ...OF_OBSERVER, "inference"];
export const PARTS = ["run", ...APART, "other", "other-exact", "other-exposure"];
/** The routes that each part of the page is asked for by. */
export const ROUTES = Object.fromEntries(PARTS.map((part) => [part, [part.replace("other-", "")]]));
ROUTES.run = ROUTES.other = ["network", "run"];

const NOTHING = ["generators", "temporal_networks", "named", "schedules", "hidden_laws", "stubbornness", "noises"];
const CATALOGUE = { ...Object.fromEntries(NOTHING.map((list) => [list, []])), run: [], privacy: [] };

/** A scenario whose sections are its own. */
export function scenarioOf(number = 0) {
  return {
    network: { generator: "cycle", n: 5 + number },
    topics: { names: ["a", "b"] },
    agents: { hidden: { law: "uniform" } },
    pressure: { kind: "power", exponent: 1 },
    run: { steps: 20, seed: 1 },
  };
}

const withoutObserver = ({ observe, privacy, ...rest }) => rest;
const observed = (scenario) => ({ ...scenario, observe: scenario.observe ?? { methods: ["auto"] } });

/** Return what edges and positions depend on. */
function networkOf({ network, topics, run, agents }) {
  return JSON.stringify([network, topics, run.seed, agents.stubbornness, agents.susceptibility, agents.zealots]);
}

function inferred({ scenario }) {
  const { privacy, observe, ...rest } = scenario;
  const { methods, prior, target, ...seen } = observe;
  return [rest, seen];
}

/** An answer, with as much in it as the second network needs to be drawn. */
function answerTo({ name, body }) {
  const answer = { answers: body, header: {}, arrays: {} };
  if (name === "network") {
    const none = new Uint32Array(0);
    const [positions, radii] = [new Float32Array(2), Float32Array.of(1)];
    return { ...answer, header: { n: 1 }, arrays: { positions, radii, degrees: radii, edges: none, looks: none } };
  }
  if (name !== "run") return answer;
  const values = Object.assign(Float32Array.of(1), { shape: [1] });
  const header = { n: 1, consensus_value: 0, verdict: { outcome: "consensus", heading: "They agree", summary: "So." } };
  return { ...answer, header, arrays: { times: Float64Array.of(0), hidden: values, states: values } };
}

export class World {
  server = new FakeServer();
  /** The answers that are shown, by part. */
  shown = {};
  /** Whether the forecast of an exact answer can be seen. */
  forecast = false;
  /** What colours the network by exposure. */
  exposure = null;
  busy = false;
  refusals = [];
  log = [];

  constructor({ scenario = scenarioOf(), view = {}, other = null } = {}) {
    globalThis.fetch = this.server.fetch;
    clock.clear();
    document.clear();
    setState("run", "pending");
    setState("other", "pending");
    this.store = new Store({ scenario, view: checkedView(view), other }, (now) => now);
    this.computation = new Computation(this.#source(), this.#listeners());
    this.comparison = new Comparison({
      store: this.store,
      stage: this.#stage(),
      catalogue: CATALOGUE,
      present: () => this.#results,
      onChange: (results) => {
        this.shown.other = results;
      },
    });
    this.#listenToState();
    this.#listenToValidity();
    this.computation.refresh();
    if (other) this.comparison.refresh();
  }

  #source() {
    return {
      scenario: () => this.store.scenario,
      agents: () => this.store.view.agents,
      observing: () => this.store.view.tab === "observer",
      topic: () => this.store.view.topic,
    };
  }

  #listeners() {
    return {
      answers: Object.fromEntries(APART.map((part) => [part, (answer) => this.#show(part, answer)])),
      onRun: (graph, run) => {
        if (graph !== this.shown.run?.graph) this.exposure = null;
        this.shown.run = { graph, run };
      },
      onRefusal: (refusal) => this.refusals.push(refusal.message),
      onBusy: (busy) => {
        this.busy = busy;
      },
    };
  }

  #show(part, answer) {
    this.shown[part] = answer;
    if (part === "exact") this.forecast = answer !== null;
    if (part === "exposure") this.exposure = answer;
  }

  #stage() {
    const nowhere = document.createElement("canvas");
    const clock = { time: 0, position: 0, timeNow: 0, times: [] };
    const stage = { clock, canvas: nowhere, view: { tools: [], below: 0 }, look: {}, run: null, second: null };
    return Object.assign(stage, { rescale() {}, invalidate() {} });
  }

  get #results() {
    if (this.state("run") !== "current") return null;
    const known = (part, answer) => (this.state(part) === "current" ? answer : null);
    return { ...this.shown.run, exact: known("exact", this.shown.exact), exposure: known("exposure", this.exposure) };
  }

  #listenToState() {
    const { store, computation } = this;
    store.onScenario((now, before) => computation.refresh(onlyObserverChanged(now, before)));
    store.onView((now, before) => {
      if (now.agents !== before.agents && this.shown.run) computation.computeExact();
      if (now.topic !== before.topic) computation.refresh();
      else if (now.tab === "observer" && before.tab !== "observer") computation.refreshObserver();
    });
  }

  #listenToValidity() {
    for (const part of APART) {
      onWithdrawal(part, (state) => {
        if (state === "refused") this.#show(part, null);
        const isStale = state === "refused" || this.store.view.tab !== "observer";
        if (part === "exposure" && isStale) this.exposure = null;
      });
    }
    const connection = new Connection(() => {
      this.computation.restart();
      this.comparison.refresh();
    });
    onLost(() => connection.wait());
  }

  // What a person does.

  set(path, value) {
    this.store.setScenario(path, value);
  }

  look(view) {
    this.store.setView(view);
  }

  /** Open another state, as an example or an address does. */
  open(state) {
    if (this.computation.abandon(state.scenario)) this.forecast = false;
    this.store.open({ view: this.store.view, other: this.store.other, ...state });
  }

  compare() {
    document.getElementById("compare").dispatchEvent(new Event("click"));
  }

  swap() {
    document.getElementById("comparison-swap").dispatchEvent(new Event("click"));
  }

  // What the server does.

  /** The questions to a route that wait. */
  waiting(name, other = false) {
    return this.server.waiting.filter((question) => question.name === name && question.other === other);
  }

  async end(question, outcome = "answer") {
    this.server.end(question, outcome, answerTo(question));
    await settled();
  }

  /** Draw a frame, and let the hand rest for as long as the exact law waits. */
  async rest(milliseconds = 200) {
    clock.frame();
    await settled();
    await clock.pass(milliseconds);
    await settled();
  }

  /** Let the server answer, but for routes with another outcome, until it was asked nothing for a moment. */
  async answer(outcomes = {}) {
    do {
      await this.rest();
      for (const question of [...this.server.waiting]) {
        const name = question.other ? `other-${question.name}` : question.name;
        // What was aborted meanwhile is nobody's question any more.
        if (!question.outcome) await this.end(question, outcomes[name]);
      }
    } while (this.server.waiting.length);
    await this.rest();
  }

  /** Let the server answer everything, until there is nothing to be done any more. */
  async finish() {
    for (let round = 0; this.server.waiting.length || clock.isBusy; round += 1) {
      assert.ok(round < 60, `the page never comes to rest: it asks for ${this.server.waiting.map(({ name }) => name)}`);
      await this.answer();
      await clock.pass(1_000);
    }
  }

  // What must be so.

  state(part) {
    return stateOf(part).state;
  }

  /** The question that a part has to answer for the scenario as it is, as text. */
  wanted(part) {
    const { scenario, other, view } = this.store;
    const questions = {
      run: () => ({ scenario: withoutObserver(scenario), topic: view.topic }),
      exact: () => withoutObserver(scenario),
      inference: () => inferred({ scenario: observed(scenario) }),
      other: () => ({ scenario: withoutObserver(other), topic: view.topic }),
      "other-exact": () => withoutObserver(other),
      "other-exposure": () => ({ scenario: observed(other) }),
    };
    return JSON.stringify((questions[part] ?? (() => ({ scenario: observed(scenario) })))());
  }

  /** The question that is answered by what a part shows, as text; null if it shows nothing. */
  answered(part) {
    const [, kind = part] = part.split("other-");
    const answer = part.startsWith("other") ? this.shown.other : this.shown;
    const one = part === "other" ? answer : answer?.[kind];
    if (!one) return null;
    if (part === "run" || part === "other") return JSON.stringify(one.run.answers);
    if (kind === "exact") return JSON.stringify(one.answers.scenario);
    return JSON.stringify(kind === "inference" ? inferred(one.answers) : one.answers);
  }

  /** The parts that somebody looks at. */
  get looked() {
    const { scenario, other, view } = this.store;
    const observing = view.tab === "observer";
    const inference = observing && scenario.observe?.unknown_network;
    const second = ["other", "other-exact", ...(view.colour === "exposure" ? ["other-exposure"] : [])];
    return [
      "run",
      "exact",
      "recovered",
      ...(observing ? OBSERVING : []),
      ...(inference ? ["inference"] : []),
      ...(other ? second : []),
    ];
  }

  /** At any time: what counts as current is so, nothing is shown of what was refused, and nothing is asked twice. */
  check() {
    const { other } = this.store;
    for (const part of PARTS.filter((one) => other || !one.startsWith("other"))) {
      if (this.state(part) === "current") assert.equal(this.answered(part), this.wanted(part), `${part} is current`);
      if (this.state(part) === "refused") {
        const nothing = part === "run" || this.answered(part) === null || part === "inference";
        assert.ok(nothing, `${part} is refused, and shows an answer`);
      }
    }
    if (this.state("run") === "current") {
      assert.equal(networkOf(this.shown.run.graph.answers.scenario), networkOf(this.store.scenario), "the network");
    }
    this.#checkQuestions();
  }

  #checkQuestions() {
    // A network and its run are asked for together, and if one of them fails nobody waits for the other.
    const single = this.server.waiting.filter(({ name }) => name !== "network" && name !== "run");
    const routes = single.map(({ name, other }) => `${name} ${other}`);
    assert.equal(new Set(routes).size, routes.length, `two questions at a time: ${routes}`);
    for (const { name, other, body, known } of this.server.waiting) {
      const again = name === "network" && !other && known && networkOf(body.scenario) === networkOf(known.scenario);
      assert.ok(!again, "a network that is known is asked for again");
    }
  }

  /** Whether the server has said that it does not answer what a part is asked. */
  #isRefused(part) {
    const first = part.startsWith("other") ? "other" : "run";
    return this.server.asked.some(({ name, other, body, outcome }) => {
      const refused = REFUSALS[outcome] && !LOST.includes(outcome) && other === (first === "other");
      const asked = JSON.stringify(withoutObserver(body?.scenario ?? {}));
      const now = JSON.stringify(withoutObserver(first === "other" ? this.store.other : this.store.scenario));
      return refused && asked === now && [...ROUTES[part], ...ROUTES[first]].includes(name);
    });
  }

  /** Once all is answered: what somebody looks at is current, or was refused for good. */
  checkAtRest() {
    this.check();
    assert.equal(this.busy, false, "the page counts as busy");
    for (const part of this.looked) {
      const { state, reason } = stateOf(part);
      assert.notEqual(state, "pending", `${part} is pending, and nothing is asked for`);
      if (state === "refused") assert.ok(this.#isRefused(part), `${part} is refused for no reason: ${reason}`);
    }
    if (this.state("exact") === "current") {
      assert.ok(this.forecast, "the forecast is hidden");
      assert.deepEqual(this.shown.exact.answers.agents, this.store.view.agents, "the agents that are followed");
    }
    const colours = this.exposure && JSON.stringify(this.exposure.answers);
    if (colours) assert.equal(colours, this.wanted("exposure"), "the network is coloured by what was learned before");
  }

  /** Everything is known that somebody looks at. */
  checkCurrent() {
    this.checkAtRest();
    for (const part of this.looked) assert.equal(this.state(part), "current", part);
  }
}

export { clock, document, stateOf };
