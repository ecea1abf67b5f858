// The page, put together: the state on one side, what shows it on the other, and the computation between them.

import { keeper } from "./address.js";
import { Brush } from "./brush.js";
import { Clock } from "./clock.js";
import { Computation, onlyOnlookerDiffers } from "./computation.js";
import { Controls } from "./controls.js";
import { Curves } from "./curves.js";
import { byId, segmented } from "./elements.js";
import { Estimates } from "./estimates.js";
import { PLAIN_OBSERVE, fitted } from "./fit.js";
import { showFollowed } from "./followed.js";
import { listenToKeys } from "./keyboard.js";
import { clearRefusals, hush, showRefusal, tell } from "./messages.js";
import { Observer } from "./observer.js";
import { opening } from "./opening.js";
import { markPreset, showPresets } from "./presets.js";
import { PressurePanel } from "./pressure-panel.js";
import { offerSharing } from "./share.js";
import { Stage } from "./stage.js";
import { Store, fittingView } from "./store.js";
import { Tabs } from "./tabs.js";
import { followTheme } from "./theme.js";
import { Tools } from "./tools.js";
import { Transport } from "./transport.js";
import { acceptFiles } from "./upload.js";
import { forgetAhead, showAhead, showVerdict } from "./verdict.js";

/**
 * @typedef {import("./store.js").State} State
 * @typedef {import("./store.js").View} View
 * @typedef {import("./wire.js").Packed} Packed
 */

const COLOURS = [
  { id: "public", title: "What they show" },
  { id: "hidden", title: "What they think" },
  { id: "exposure", title: "Exposure" },
];

/** Count the answers that are shown, so that whoever drives the page can wait for the next. @param {string} what */
function counted(what) {
  const { dataset } = document.documentElement;
  dataset[what] = String(Number(dataset[what] ?? 0) + 1);
}

export class Explorer {
  /** Whether a picture has been shown yet. */
  #computed = false;
  /** The step at which the curves are marked. */
  #marked = -1;

  /** @param {any} catalogue @param {State} state */
  constructor(catalogue, state) {
    this.catalogue = catalogue;
    this.store = new Store(state, (now, before) => fitted(now, before, catalogue.default.scenario));
    this.clock = new Clock();
    this.stage = new Stage(this.store, this.clock);
    this.curves = new Curves((time) => this.clock.seekTime(time));
    this.pressure = new PressurePanel();
    this.brush = new Brush(this.stage, this.store);
    this.transport = new Transport(this.clock, (speed) => this.store.look({ speed }));
    this.estimates = new Estimates(catalogue, (index) => this.#point(index));
    this.observer = new Observer(this.store, this.stage, catalogue, (on) => this.tools.use(on ? "see" : "look"));
    this.tools = new Tools(this.store, this.stage, this.brush, (index) => this.observer.toggle(index));
    this.tabs = new Tabs((tab) => this.store.look({ tab }));
    this.colours = segmented({
      label: "Colour by",
      visibleLabel: false,
      options: COLOURS,
      value: state.view.colour,
      onChange: (colour) => this.#colourBy(/** @type {View["colour"]} */ (colour)),
    });
    this.address = keeper(() => this.#shared(), tell);
    this.computation = new Computation(
      () => this.store.scenario,
      () => ({ agents: this.stage.followed.map(({ name }) => name), observing: this.store.view.tab === "observer" }),
      this.#listeners(),
    );
  }

  /** Show everything and begin to compute. */
  start() {
    byId("colour-mode").append(this.colours);
    this.#closeRarerGroups();
    const files = acceptFiles(this.catalogue.limits.upload_bytes, (network) => this.store.change("network", network));
    new Controls(this.store, this.catalogue, { chooseFile: files.choose, drawByHand: () => this.tools.drawByHand() });
    showPresets(this.catalogue.presets, (preset) => this.#open(preset));
    this.#showView(this.store.view);
    this.#followState();
    this.#followButtons();
    this.computation.refresh();
  }

  /** The state as an address holds it. */
  #shared() {
    return { scenario: this.store.scenario, view: { ...this.store.view, time: this.clock.time } };
  }

  /** What becomes of the server's answers. @returns {import("./computation.js").Listeners} */
  #listeners() {
    return {
      picture: (graph, run) => this.#showPicture(graph, run),
      pressure: (answer) => {
        this.pressure.show(answer);
        counted("pressures");
      },
      exact: (answer) => this.#showExact(answer),
      observed: (answer) => {
        clearRefusals();
        this.estimates.show(answer);
        this.stage.setSeen(answer);
        counted("observations");
        this.address.soon();
      },
      refused: showRefusal,
      busy: (yes) => document.documentElement.toggleAttribute("data-busy", yes),
    };
  }

  /** @param {Packed} graph @param {Packed} run */
  #showPicture(graph, run) {
    clearRefusals();
    const isNew = graph !== this.stage.graph;
    this.stage.setPicture(graph, run);
    this.clock.setTimes(/** @type {any} */ (run.arrays.times), this.#computed ? this.clock.time : this.store.view.time);
    this.curves.setRun(run);
    this.curves.setFollowed(this.stage.followed);
    this.curves.draw();
    showVerdict(run.header.verdict);
    this.#showAgents();
    byId("network-facts").textContent = graph.header.facts.join(" · ");
    if (isNew) this.observer.build();
    // Opinions that were drawn leave the brush alone: a hand may still be on it.
    const byHand = Array.isArray(this.store.scenario.agents?.hidden);
    if (this.tools.tool === "draw" && !byHand) this.brush.renew();
    if (!this.#computed) this.#beginInMotion();
    this.#computed = true;
    counted("runs");
    this.address.soon();
  }

  /** @param {Packed | null} answer */
  #showExact(answer) {
    this.curves.setExact(answer);
    this.curves.draw();
    byId("exact-note").hidden = answer === null;
    const tuned = this.store.scenario.pressure?.kind === "tuned" ? null : this.stage.run?.header.tuned;
    const use = (/** @type {object} */ section) => this.store.change("pressure", section);
    showAhead(answer?.header.verdict ?? null, this.clock.times[this.clock.end], tuned, use);
    counted("exacts");
  }

  /** A first visit begins in motion, unless the person's machine asks for stillness. */
  #beginInMotion() {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!still && location.hash.length < 2 && !this.clock.playing) this.clock.toggle();
  }

  /** Where all stands in one column, the rarer groups of controls begin closed. */
  #closeRarerGroups() {
    if (!window.matchMedia("(max-width: 45.99rem)").matches) return;
    const rarer = document.querySelectorAll(".controls details:nth-of-type(n + 3)");
    for (const group of rarer) group.removeAttribute("open");
  }

  #showAgents() {
    showFollowed(this.stage.followed, {
      hidden: this.stage.hidden,
      byHand: Array.isArray(this.store.scenario.agents?.hidden),
      drop: (name) => this.store.look({ agents: this.store.view.agents.filter((one) => one !== name) }),
      set: (index, value) => this.brush.setOne(index, value),
    });
  }

  /** @param {View} view */
  #showView(view) {
    this.tabs.show(view.tab);
    this.colours.select(view.colour);
    this.transport.setSpeed(view.speed);
    byId("verdict").dataset.brief = String(view.tab === "observer");
    byId("log-time").setAttribute("aria-pressed", String(view.logTime));
    byId("log-size").setAttribute("aria-pressed", String(view.logSize));
    this.curves.setAxes(view);
    this.curves.setFollowed(this.stage.followed);
    this.curves.draw();
    this.stage.marksSeen = view.tab === "observer";
    this.stage.setSeen(this.stage.seen);
  }

  /** @param {any} preset */
  #open(preset) {
    this.#showState({ scenario: preset.state.scenario, view: fittingView(preset.state.view) });
    markPreset(preset.id);
    hush();
  }

  /** Show another state than the one that has been worked on. @param {State} state */
  #showState(state) {
    this.clock.pause();
    this.tools.reset();
    forgetAhead();
    this.store.replace(state);
    this.clock.seekTime(state.view.time);
  }

  /** @param {View["colour"]} colour */
  #colourBy(colour) {
    this.store.look(colour === "exposure" ? { colour, tab: "observer" } : { colour });
  }

  /** Point at an agent from one of the plots. @param {number} index */
  #point(index) {
    this.stage.cursor = index;
    this.stage.invalidate();
  }

  #followState() {
    const { store, clock, computation } = this;
    store.onScenario((now, before) => {
      markPreset(null);
      computation.refresh(onlyOnlookerDiffers(now, before));
    });
    store.onView((now, before) => {
      this.#showView(now);
      if (now.agents !== before.agents) {
        this.#showAgents();
        if (this.#computed) computation.exact();
      }
      if (now.tab === "observer" && before.tab !== "observer") computation.refresh(true);
      if (now.tab !== "observer" && this.tools.tool === "see") this.tools.use("look");
      if (this.#computed) this.address.soon();
    });
    clock.onChange(() => {
      if (clock.index !== this.#marked) this.curves.mark(clock.index);
      this.#marked = clock.index;
      if (this.#computed && !clock.playing) this.address.soon();
    });
    window.addEventListener("hashchange", async () => {
      if (this.address.isOwn(location.hash)) return;
      hush();
      this.#showState(await opening(this.catalogue.default));
    });
  }

  #followButtons() {
    const { store } = this;
    byId("log-time").addEventListener("click", () => store.look({ logTime: !store.view.logTime }));
    byId("log-size").addEventListener("click", () => store.look({ logSize: !store.view.logSize }));
    byId("message-close").addEventListener("click", hush);
    listenToKeys(this.clock);
    followTheme(() => {
      for (const part of [this.stage, this.curves, this.pressure, this.estimates]) part.restyle();
    });
    offerSharing({
      scenario: () => ({ ...store.scenario, observe: store.scenario.observe ?? PLAIN_OBSERVE }),
      time: () => this.clock.time,
      canvas: this.stage.canvas,
      link: () => this.address.now().then(() => location.href),
    });
  }
}
