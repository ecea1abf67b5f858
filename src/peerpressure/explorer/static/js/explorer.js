// The page: it connects the state, the parts that show it, and the computation. This is the entry point.

import { AddressWriter, initialState } from "./address.js";
import { countAnswer, NAMES } from "./answers.js";
import { readCatalogue } from "./api.js";
import { followTheme } from "./colour.js";
import { Computation, onlyObserverChanged } from "./computation.js";
import { Connection } from "./connection.js";
import { Controls } from "./controls.js";
import { byId } from "./elements.js";
import { acceptFiles, listenToShareMenu } from "./files.js";
import { offerOneControl } from "./first-screen.js";
import { showRecorded } from "./fixed.js";
import { clearRefusals, hideMessage, showMessage, showRefusal } from "./messages.js";
import { PanelTable } from "./panel-table.js";
import { listenToTabs, markPreset, sayFollowed, showPresets } from "./panels.js";
import { Clock, listenToKeys } from "./playback.js";
import { Presentation } from "./presentation.js";
import { alternates, shapeOf } from "./run-shape.js";
import { observerOf, reconcile } from "./scenario.js";
import { checkedView, Store } from "./store.js";
import { onLost, onWithdrawal, showStates, stateOf } from "./validity.js";
import { hideForecast } from "./verdict.js";

/**
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").ExactAnswer} ExactAnswer
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").Preset} Preset
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").View} View
 */

class Explorer {
  /** Whether a run has been shown yet. */
  #started = false;
  /** Whether the next run is shown for the first time, and so to be looked at. */
  #fresh = true;
  /** Whether the next run plays by itself. */
  #playsNext = false;
  /** What the page chooses where the view leaves it open: not anew for each change, or axes would flip in a drag. */
  #shape = { collapses: false, early: false };
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
    this.panels = new PanelTable({
      store: this.store,
      clock: this.clock,
      catalogue,
      present: () => this.#results,
      onOther: () => {
        this.#setTimes();
        this.#showView();
        if (this.#started) this.address.schedule();
      },
    });
    this.stage = this.panels.stage;
    this.comparison = this.panels.comparison;
    this.tools = this.panels.tools;
    const chosen = () => ({ scenario: this.store.scenario, view: this.store.view, other: this.store.other });
    const shown = () => ({ ...chosen(), view: { ...this.#shownView, time: this.clock.time } });
    this.address = new AddressWriter(chosen, shown);
    const answers = NAMES.map((name) => [name, (/** @type {never} */ answer) => this.#showAnswer(name, answer)]);
    this.answers = /** @type {import("./answers.js").Shows} */ (Object.fromEntries(answers));
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
    const isNewNetwork = graph !== this.stage.graph;
    if (this.#fresh) this.#shape = shapeOf(run);
    this.#fresh = false;
    this.panels.tell("run", run, graph, isNewNetwork);
    this.clock.holds = alternates(run.arrays, run.header.n);
    this.#setTimes();
    this.#showView();
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

  /**
   * @template {import("./answers.js").Following} Name
   * @param {Name} name
   * @param {Parameters<import("./answers.js").Shows[Name]>[0]} answer null if there is none
   */
  #showAnswer(name, answer) {
    if (name === "exact") this.#exact = /** @type {ExactAnswer | null} */ (answer);
    if (name === "observe" && answer) clearRefusals();
    this.panels.tell(name, .../** @type {Parameters<import("./panel-table.js").Occasions[Name]>} */ ([answer]));
    if (name === "exact") countAnswer(name);
    if (name === "observe" && answer) this.address.schedule();
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

  #showView() {
    const view = this.#shownView;
    document.documentElement.toggleAttribute("data-simple", this.#isSimple);
    this.panels.tell("view", view);
    const exposed = view.tab === "observer" && view.colour === "exposure";
    byId("picture-b").dataset.answers = exposed ? "run exposure" : "run";
    byId("canvas-a").dataset.answers = exposed ? "other other-exposure" : "other";
    showStates();
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
        sayFollowed(now.agents, before.agents);
        this.panels.showFollowed();
        if (this.#started) computation.computeExact();
      }
      if (now.topic !== before.topic) computation.refresh();
      else if (now.tab === "observer" && before.tab !== "observer") computation.refreshObserver();
      if (now.tab !== "observer" && this.tools.tool === "see") this.tools.use("look");
      if (this.#started) this.address.schedule();
    });
    clock.onChange(() => {
      if (clock.index !== this.#markedIndex) this.panels.tell("step", clock.time);
      this.#markedIndex = clock.index;
      this.panels.tell("frame");
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
    const restyle = () => this.panels.tell("theme");
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
