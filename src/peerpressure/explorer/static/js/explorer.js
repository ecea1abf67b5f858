// The page: it connects the state, the parts that show it, and the computation. This is the entry point.

import { AddressWriter, initialState } from "./address.js";
import { countAnswer, NAMES } from "./answers.js";
import { readCatalogue } from "./api.js";
import { Bench } from "./bench.js";
import { Brush } from "./brush.js";
import { followTheme } from "./colour.js";
import { Comparison } from "./comparison.js";
import { Computation, onlyObserverChanged } from "./computation.js";
import { Connection } from "./connection.js";
import { Controls } from "./controls.js";
import { Curves, PressurePanel } from "./curves.js";
import { byId } from "./elements.js";
import { Estimates } from "./estimates.js";
import { segmented } from "./fields.js";
import { acceptFiles, listenToShareMenu } from "./files.js";
import { inOneSentence, offerOneControl } from "./first-screen.js";
import { showRecorded } from "./fixed.js";
import { agentName } from "./format.js";
import { Inference } from "./inference.js";
import { clearRefusals, hideMessage, showMessage, showRefusal } from "./messages.js";
import { ObserverControls } from "./observer.js";
import { listenToTabs, markPreset, showFollowed, showPresets, showTab } from "./panels.js";
import { Clock, listenToKeys, Transport } from "./playback.js";
import { Tools } from "./pointing.js";
import { Presentation } from "./presentation.js";
import { Recovered, recoveredLegend } from "./recovered.js";
import { alternates, shapeOf } from "./run-shape.js";
import { observerOf, reconcile } from "./scenario.js";
import { Stage } from "./stage.js";
import { checkedView, Store } from "./store.js";
import { Strip } from "./strip.js";
import { onLost, onWithdrawal, showStates, stateOf } from "./validity.js";
import { hideForecast, showForecast, showVerdict } from "./verdict.js";

/**
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").ExactAnswer} ExactAnswer
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").Preset} Preset
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").View} View
 */

/** @type {{id: View["colour"], title: string}[]} */
const COLOURS = [
  { id: "public", title: "Public" },
  { id: "hidden", title: "Hidden" },
  { id: "exposure", title: "Exposure" },
];

class Explorer {
  /** Whether a run has been shown yet. */
  #started = false;
  /** Whether the next run is shown for the first time, and so to be looked at. */
  #fresh = true;
  /** Whether the next run plays by itself. */
  #playsNext = false;
  /** What the page chooses where the view leaves it open: not anew for each change, or axes would flip in a drag. */
  #shape = { collapses: false, early: false };
  /**
   * The topics that can be chosen from.
   * @type {{names: string, choice: ReturnType<typeof segmented> | null}}
   */
  #topics = { names: "[]", choice: null };
  /** The recorded step that the curves mark. */
  #markedIndex = -1;
  /** @type {ExactAnswer | null} */
  #exact = null;

  /**
   * @param {Catalogue} catalogue
   * @param {State} state
   */
  constructor(catalogue, state) {
    this.catalogue = catalogue;
    this.store = new Store(state, (now, before) => reconcile(now, before, catalogue.default.scenario));
    this.clock = new Clock();
    this.stage = new Stage(this.store, this.clock);
    this.curves = new Curves(this.stage, (time) => this.clock.seekTime(time));
    this.recovered = new Recovered(this.stage, (time) => this.clock.seekTime(time));
    this.strip = new Strip(this.stage);
    this.pressure = new PressurePanel();
    this.brush = new Brush(this.stage, this.store);
    this.transport = new Transport(this.clock, (chosen) => this.store.setView(chosen));
    this.estimates = new Estimates(catalogue.methods, (index) => this.#pointAt(index));
    this.bench = new Bench();
    this.inference = new Inference({
      onSeek: (time) => this.clock.seekTime(time),
      onEdges: (groups) => this.stage.setEdges(groups),
    });
    this.observer = new ObserverControls(this.store, this.stage, catalogue, (on) =>
      this.tools.use(on ? "see" : "look"),
    );
    this.tools = new Tools(this.store, this.stage, this.brush, (index) => this.observer.toggleAgent(index));
    this.colours = segmented({
      label: "Colour by",
      visibleLabel: false,
      options: COLOURS,
      value: state.view.colour,
      // Exposure is only computed while the observer's tab is open.
      onChange: (colour) => this.store.setView(colour === "exposure" ? { colour, tab: "observer" } : { colour }),
    });
    const chosen = () => ({ scenario: this.store.scenario, view: this.store.view, other: this.store.other });
    const shown = () => ({ ...chosen(), view: { ...this.#shownView, time: this.clock.time } });
    this.address = new AddressWriter(chosen, shown);
    this.comparison = new Comparison({
      store: this.store,
      stage: this.stage,
      catalogue,
      present: () => this.#results,
      onChange: (results) => {
        this.curves.setOther(results?.run ?? null);
        this.pressure.setOther(results?.run ?? null);
        this.#setTimes();
        this.#showView();
        if (this.#started) this.address.schedule();
        countAnswer("comparison");
      },
    });
    /** @type {import("./answers.js").Shows} */
    this.answers = {
      exact: (answer) => this.#showExact(answer),
      recovered: (answer) => this.#showRecovered(answer),
      observe: (answer) => this.#showObservation(answer),
      exposure: (answer) => {
        this.estimates.showExposure(answer);
        if (answer) this.stage.setExposure(answer);
      },
      budget: (answer) => this.bench.showBudget(answer),
      bench: (answer) => this.bench.showBench(answer),
      inference: (answer) => this.inference.show(answer),
    };
    this.computation = new Computation(
      {
        scenario: () => this.store.scenario,
        agents: () => this.stage.followed.map(({ label }) => label),
        observing: () => this.store.view.tab === "observer",
        topic: () => this.store.view.topic,
      },
      {
        onRun: (graph, run) => this.#showRun(graph, run),
        answers: this.answers,
        onRefusal: showRefusal,
        onBusy: (busy) => document.documentElement.toggleAttribute("data-busy", busy),
      },
    );
  }

  /** Show everything, and start to compute. */
  start() {
    byId("colour-mode").append(this.colours);
    byId("legend-recovered").append(...recoveredLegend());
    this.#closeRareGroups();
    const { limits, presets } = this.catalogue;
    const files = acceptFiles(limits.upload_bytes, (network) => this.store.setScenario("network", network));
    const { recorded } = this.catalogue;
    const actions = {
      files,
      drawByHand: () => this.tools.drawByHand(),
      stage: this.stage,
      distrust: (on = this.tools.tool === "distrust") => {
        if (on !== (this.tools.tool === "distrust")) this.tools.use(on ? "distrust" : "look");
        return on;
      },
    };
    if (recorded) {
      const has = { compares: this.store.other !== null, hasFiles: "scenarios" in recorded.provenance };
      showRecorded(recorded, has);
      if (recorded.plays) {
        new Controls(this.store, this.catalogue, actions, ["pressure", "noise", "run"]);
        this.#offerWhatIsKnown();
      }
    } else new Controls(this.store, this.catalogue, actions);
    listenToTabs((tab) => this.store.setView({ tab }));
    showPresets(presets, (preset) => this.#openPreset(preset));
    markPreset(null);
    this.#showView();
    this.#listenToState();
    this.#listenToAddress();
    this.#listenToButtons();
    offerOneControl(this.store);
    this.#listenToValidity();
    // On a first visit only: a link shows what it was made to show, also one that the server was started with.
    const { view } = this.catalogue.default;
    this.#playsNext = location.hash.length < 2 && !(view instanceof Object && "time" in view);
    this.computation.refresh();
    if (this.store.other) this.comparison.refresh();
  }

  /** Whether hidden opinions are given one by one, rather than by a law. */
  get #byHand() {
    return Array.isArray(this.store.scenario.agents?.hidden);
  }

  /** What is known of the scenario; null if the answers shown are those of another one. */
  get #results() {
    const { graph, run, exposure } = this.stage;
    const isCurrent = (/** @type {import("./validity.js").Part} */ part) => stateOf(part).state === "current";
    if (!graph || !run || !isCurrent("run")) return null;
    return {
      graph,
      run,
      exposure: isCurrent("exposure") ? exposure : null,
      exact: isCurrent("exact") ? this.#exact : null,
    };
  }

  /** Let the clock follow the longer one of the runs that are compared. */
  #setTimes() {
    const runs = [this.stage.run, this.stage.second?.shown?.run].flatMap((run) => (run ? [run.arrays.times] : []));
    if (!runs.length) return;
    const longest = runs.reduce((a, b) => (b[b.length - 1] > a[a.length - 1] ? b : a));
    if (longest !== this.clock.times) {
      this.clock.setTimes(longest, this.#started ? this.clock.time : this.store.view.time);
    }
  }

  /**
   * @param {NetworkAnswer} graph
   * @param {RunAnswer} run
   */
  #showRun(graph, run) {
    clearRefusals();
    const newNetwork = graph !== this.stage.graph;
    if (this.#fresh) this.#shape = shapeOf(run);
    this.#fresh = false;
    this.stage.show(graph, run);
    this.clock.holds = alternates(run.arrays, run.header.n);
    this.#setTimes();
    this.curves.setRun(run);
    this.pressure.show(run);
    this.#showView();
    const adapts = run.arrays.hidden.shape.length > 1;
    showVerdict(run.header.verdict, run.header.class_values, run.header.this_run, adapts);
    byId("verdict-plain").textContent =
      (adapts ? null : inOneSentence(run.header.verdict, run.arrays.hidden, this.store.scenario.pressure)) ??
      run.header.verdict.summary;
    byId("name-b").textContent = run.header.verdict.heading;
    this.#showTopics(run.header.topics, run.header.topic);
    this.#showFollowed();
    byId("network-facts").textContent = graph.header.facts.join(" · ");
    if (newNetwork) this.observer.build();
    // If opinions are drawn, the user may be holding the brush at this moment, and its settings must stay.
    if (this.tools.tool === "draw" && !this.#byHand) this.brush.reset();
    if (this.#playsNext) this.#autoplay();
    this.#playsNext = false;
    this.#started = true;
    countAnswer("run");
    this.address.schedule();
  }

  /** Take back answers that belong to another scenario, or to none, and ask again once a server is back. */
  #listenToValidity() {
    for (const part of NAMES) {
      onWithdrawal(part, (state) => {
        if (state === "refused") this.answers[part](null);
        // While nobody looks at the observer, no newer answer is on its way.
        const isStale = state === "refused" || this.store.view.tab !== "observer";
        if (part === "exposure" && isStale) this.stage.setExposure(null);
      });
    }
    const connection = new Connection(() => {
      this.computation.restart();
      this.comparison.refresh();
    });
    onLost(() => connection.wait());
  }

  /** @param {ExactAnswer | null} answer null if there is none */
  #showExact(answer) {
    this.#exact = answer;
    this.curves.setExact(answer);
    this.curves.draw();
    byId("exact-note").hidden = answer === null;
    const pressure = this.stage.run?.header.pressure ?? "";
    showForecast(answer?.header.verdict ?? null, this.clock.endTime, pressure, (section) =>
      this.store.setScenario("pressure", section),
    );
    countAnswer("exact");
  }

  /** @param {import("./types.js").RecoveredAnswer | null} answer null if there is none */
  #showRecovered(answer) {
    this.recovered.show(answer);
    this.strip.show(answer);
    this.bench.showRecovered(answer);
  }

  /** @param {import("./types.js").ObserveAnswer | null} answer null if there is none */
  #showObservation(answer) {
    if (!answer) return this.estimates.clear();
    clearRefusals();
    this.estimates.show(answer);
    this.address.schedule();
  }

  /** Play; if the system asks for reduced motion, show a newcomer how it ends. */
  #autoplay() {
    const reduced = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!reduced && !this.clock.playing) this.clock.toggle();
    else if (reduced && !this.#started) this.clock.seekTime(this.clock.endTime);
  }

  /** The view, with what the page chooses filled in. */
  get #shownView() {
    const { view } = this.store;
    return {
      ...view,
      logTime: view.logTime ?? this.#shape.early,
      // Colours tell the truth about agreement unless somebody asks for a closer look.
      zoomColours: view.zoomColours ?? false,
    };
  }

  /** On narrow screens, where everything is in one column, close the groups of controls that are used less. */
  #closeRareGroups() {
    if (!window.matchMedia("(max-width: 45.99rem)").matches) return;
    const groups = document.querySelectorAll(".controls details:nth-of-type(n + 3)");
    for (const group of groups) group.removeAttribute("open");
  }

  #showFollowed() {
    showFollowed(this.stage.followed, {
      hidden: this.stage.hidden,
      editable: this.#byHand,
      zealots: this.store.scenario.agents?.zealots ?? [],
      onZealot: (label, on) => this.#setZealot(label, on),
      onUnfollow: (label) => this.store.setView({ agents: this.store.view.agents.filter((one) => one !== label) }),
      onSet: (index, value) => this.brush.setOne(index, value),
    });
  }

  /**
   * Offer the topics of the scenario, of which one is shown.
   * @param {string[]} names none if there is one only
   * @param {number} shown
   */
  #showTopics(names, shown) {
    byId("topic-mode").hidden = names.length < 2;
    // Not anew for each run, or a keyboard would lose its place.
    if (JSON.stringify(names) === this.#topics.names) this.#topics.choice?.select(String(shown));
    else {
      const options = names.map((title, k) => ({ id: String(k), title }));
      const onChange = (/** @type {string} */ topic) => this.store.setView({ topic: Number(topic) });
      const choice = segmented({ label: "Topic", visibleLabel: false, options, value: String(shown), onChange });
      byId("topic-mode").replaceChildren(choice);
      this.#topics = { names: JSON.stringify(names), choice };
    }
  }

  /**
   * Tell those who hear the page which agents are followed from now on, and which no longer.
   * @param {import("./types.js").AgentLabel[]} now
   * @param {import("./types.js").AgentLabel[]} before
   */
  #sayFollowed(now, before) {
    const begun = now.filter((label) => !before.includes(label)).map((label) => `${agentName(label)} is followed`);
    const ended = before
      .filter((label) => !now.includes(label))
      .map((one) => `${agentName(one)} is no longer followed`);
    byId("said").textContent = [...ended, ...begun].join(", ");
  }

  /**
   * Let an agent listen to nobody, or to its neighbours again.
   * @param {import("./types.js").AgentLabel} label
   * @param {boolean} on
   */
  #setZealot(label, on) {
    const others = (this.store.scenario.agents?.zealots ?? []).filter((one) => one !== label);
    const zealots = on ? [...others, label] : others;
    this.store.setScenario("agents.zealots", zealots.length ? zealots : undefined);
  }

  #showView() {
    const view = this.#shownView;
    const observing = view.tab === "observer";
    document.documentElement.toggleAttribute("data-simple", this.#isSimple);
    showTab(view.tab);
    this.colours.select(view.colour);
    this.transport.setSpeed({ speed: view.speed, pace: view.pace, logarithmic: view.logTime });
    for (const id of ["verdict", "verdict-a"]) byId(id).dataset.brief = String(observing);
    byId("log-time").setAttribute("aria-pressed", String(view.logTime));
    byId("log-size").setAttribute("aria-pressed", String(view.logSize));
    this.curves.setAxes(view);
    this.curves.setFollowed(this.stage.followed);
    this.curves.draw();
    this.recovered.setAxes(view);
    this.recovered.draw();
    this.strip.draw();
    this.stage.marksObserved = observing;
    this.stage.zoomed = view.zoomColours;
    this.inference.setVisible(observing);
    const exposed = observing && view.colour === "exposure";
    byId("picture-b").dataset.answers = exposed ? "run exposure" : "run";
    byId("canvas-a").dataset.answers = exposed ? "other other-exposure" : "other";
    showStates();
    this.stage.setExposure(this.stage.exposure);
  }

  /** Whether only the first screen is shown. A recording that computes nothing has nothing to set there, and shows all. */
  get #isSimple() {
    const { recorded } = this.catalogue;
    return this.store.view.simple && (!recorded || recorded.plays);
  }

  /** In a page that computes by itself: what was recorded of its first run alone is offered while that is shown. */
  #offerWhatIsKnown() {
    const { store } = this;
    const text = (/** @type {import("./types.js").Scenario} */ { observe: _, privacy: __, ...rest }) =>
      JSON.stringify(rest);
    const recorded = text(store.scenario);
    store.onScenario((now) => {
      const isOther = text(now) !== recorded;
      document.documentElement.toggleAttribute("data-changed", isOther);
      const { tab, colour } = store.view;
      if (isOther && (tab !== "curves" || colour === "exposure")) store.setView({ tab: "curves", colour: "public" });
    });
  }

  /** @param {Preset} preset */
  #openPreset(preset) {
    const { state } = preset;
    // An example is compared like any other change.
    this.#openState({ scenario: state.scenario, view: checkedView(state.view), other: this.store.other });
    this.#playsNext = true;
    markPreset(preset);
    hideMessage();
  }

  /** @param {State} state */
  #openState(state) {
    this.clock.pause();
    this.tools.reset();
    this.#playsNext = false;
    if (this.computation.abandon(state.scenario)) {
      hideForecast();
      this.#fresh = true;
    }
    this.store.open(state);
    this.clock.seekTime(state.view.time);
  }

  /** Open the state of the address, after going back or forth or to another address. */
  async #openAddress() {
    const { hash } = location;
    this.address.opening();
    hideMessage();
    const state = await initialState(this.catalogue.default);
    // Somebody may be faster than the answer.
    if (location.hash !== hash) return;
    this.address.opened(state);
    // Between entries of this page, what has not changed need not be computed again.
    const same = history.state !== null && JSON.stringify(state.scenario) === JSON.stringify(this.store.scenario);
    const other = JSON.stringify(state.other) === JSON.stringify(this.store.other) ? this.store.other : state.other;
    this.#openState({ ...state, other, ...(same && { scenario: this.store.scenario }) });
    this.#showChanges();
  }

  #showChanges() {
    byId("undo").toggleAttribute("disabled", !this.address.canUndo);
    byId("redo").toggleAttribute("disabled", !this.address.canRedo);
  }

  /**
   * Highlight the agent that is pointed at in a scatter plot.
   * @param {number} index −1 for none
   */
  #pointAt(index) {
    this.stage.cursor = index;
    this.stage.invalidate();
  }

  #listenToState() {
    const { store, clock, computation } = this;
    store.onScenario((now, before) => {
      markPreset(null);
      this.comparison.showDifferences();
      computation.refresh(onlyObserverChanged(now, before));
    });
    store.onView((now, before) => {
      this.#showView();
      if (now.agents !== before.agents) {
        this.#sayFollowed(now.agents, before.agents);
        this.#showFollowed();
        if (this.#started) computation.computeExact();
      }
      if (now.topic !== before.topic) computation.refresh();
      else if (now.tab === "observer" && before.tab !== "observer") computation.refreshObserver();
      if (now.tab !== "observer" && this.tools.tool === "see") this.tools.use("look");
      if (this.#started) this.address.schedule();
    });
    clock.onChange(() => {
      if (clock.index !== this.#markedIndex) {
        this.curves.mark(clock.time);
        this.recovered.mark(clock.time);
        this.comparison.mark();
        this.inference.mark(clock.time);
      }
      this.#markedIndex = clock.index;
      this.strip.draw();
      if (this.#started && !clock.playing) this.address.schedule();
    });
  }

  #listenToAddress() {
    window.addEventListener("hashchange", () => {
      if (!this.address.wrote(location.hash)) this.#openAddress();
    });
    this.address.onEntry = () => this.#showChanges();
    byId("undo").addEventListener("click", () => this.address.undo());
    byId("redo").addEventListener("click", () => this.address.redo());
  }

  #listenToButtons() {
    const { store } = this;
    byId("log-time").addEventListener("click", () => store.setView({ logTime: !this.#shownView.logTime }));
    byId("zoom-colours").addEventListener("click", () => {
      store.setView({ zoomColours: !this.#shownView.zoomColours });
    });
    byId("log-size").addEventListener("click", () => store.setView({ logSize: !store.view.logSize }));
    byId("message-close").addEventListener("click", hideMessage);
    listenToKeys(this.clock, this.address);
    const restyle = () => {
      const { stage, comparison, curves, recovered, pressure, estimates, bench, inference } = this;
      for (const part of [stage, comparison, curves, recovered, pressure, estimates, bench, inference]) part.restyle();
      this.strip.draw();
    };
    followTheme(restyle);
    const logTime = () => this.#shownView.logTime;
    new Presentation({ store, logTime, restyle });
    listenToShareMenu({
      scenario: (observer) => {
        // Only an observer that is shown, or asked for, is added to the scenario.
        const shown = observer || store.view.tab === "observer";
        return shown ? { ...store.scenario, observe: observerOf(store.scenario) } : store.scenario;
      },
      look: () => {
        const { colour, logTime, logSize, zoomColours } = this.#shownView;
        return { time: this.clock.time, colour, log_time: logTime, log_size: logSize, zoom_colours: zoomColours };
      },
      state: () => ({
        scenario: store.scenario,
        other: store.other,
        view: { ...this.#shownView, time: this.clock.time },
      }),
      stage: this.stage,
      link: () => this.address.write().then(() => location.href),
    });
  }
}

async function start() {
  // Canvases are not redrawn when a font arrives, so wait for all of them; a font that fails to load is done without.
  const fonts = Promise.allSettled([...document.fonts].map((font) => font.load()));
  const catalogue = await readCatalogue();
  await fonts;
  new Explorer(catalogue, await initialState(catalogue.default)).start();
}

start().catch((error) => {
  showMessage(error.message, "bad");
  throw error;
});
