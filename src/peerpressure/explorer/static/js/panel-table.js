// All that the page shows, in one table: what each panel does when there is a run, an answer, another view or time.

import { countAnswer } from "./answers.js";
import { Bench } from "./bench.js";
import { Brush } from "./brush.js";
import { Comparison } from "./comparison.js";
import { Curves, PressurePanel } from "./curves.js";
import { byId } from "./elements.js";
import { Estimates } from "./estimates.js";
import { segmented } from "./fields.js";
import { inOneSentence } from "./first-screen.js";
import { Inference } from "./inference.js";
import { ObserverControls } from "./observer.js";
import { showFollowed, showTab, Topics } from "./panels.js";
import { Transport } from "./playback.js";
import { Tools } from "./pointing.js";
import { Recovered, recoveredLegend } from "./recovered.js";
import { Stage } from "./stage.js";
import { Strip } from "./strip.js";
import { showForecast, showVerdict } from "./verdict.js";

/**
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").NetworkAnswer} NetworkAnswer
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 * @typedef {import("./types.js").View} View
 * @typedef {View & {logTime: boolean, zoomColours: boolean}} ShownView the view, with what the page chooses filled in
 *
 * @typedef {object} Moments what a panel may have to do something at, besides the arrival of an answer
 * @property {(run: RunAnswer, graph: NetworkAnswer, isNewNetwork: boolean) => void} run a run is there
 * @property {(run: RunAnswer | null) => void} other another run is compared with it, or none any more
 * @property {(view: ShownView) => void} view something is looked at in another way
 * @property {(time: number) => void} step another recorded step is shown
 * @property {() => void} frame the time shown has moved
 * @property {() => void} theme colours or sizes of type have changed
 *
 * @typedef {Moments & import("./answers.js").Shows} Occasions
 * @typedef {Partial<Occasions>} Panel
 */

/** @type {{id: View["colour"], title: string}[]} */
const COLOURS = [
  { id: "public", title: "Public" },
  { id: "hidden", title: "Hidden" },
  { id: "exposure", title: "Exposure" },
];

export class PanelTable {
  /**
   * @param {object} page
   * @param {import("./store.js").Store} page.store
   * @param {import("./playback.js").Clock} page.clock
   * @param {Catalogue} page.catalogue
   * @param {() => import("./comparison.js").Results | null} page.present what is known of the scenario
   * @param {() => void} page.onOther called when what the run is compared with has changed
   */
  constructor({ store, clock, catalogue, present, onOther }) {
    this.store = store;
    const seek = (/** @type {number} */ time) => clock.seekTime(time);
    const stage = new Stage(store, clock);
    this.stage = stage;
    this.brush = new Brush(stage, store);
    this.observer = new ObserverControls(store, stage, catalogue, (on) => this.tools.use(on ? "see" : "look"));
    this.tools = new Tools(store, stage, this.brush, (index) => this.observer.toggleAgent(index));
    const curves = new Curves(stage, seek);
    const pressure = new PressurePanel();
    const recovered = new Recovered(stage, seek);
    const strip = new Strip(stage);
    const transport = new Transport(clock, (chosen) => store.setView(chosen));
    const bench = new Bench();
    const estimates = new Estimates(catalogue.methods, (index) => {
      stage.cursor = index;
      stage.invalidate();
    });
    const inference = new Inference({ onSeek: seek, onEdges: (groups) => stage.setEdges(groups) });
    const topics = new Topics((topic) => store.setView({ topic }));
    const colours = segmented({
      label: "Colour by",
      visibleLabel: false,
      options: COLOURS,
      value: store.view.colour,
      // Exposure is only computed while the observer's tab is open.
      onChange: (colour) => store.setView(colour === "exposure" ? { colour, tab: "observer" } : { colour }),
    });
    this.comparison = new Comparison({
      store,
      stage,
      catalogue,
      present,
      onChange: (results) => {
        this.tell("other", results?.run ?? null);
        onOther();
        countAnswer("comparison");
      },
    });
    byId("colour-mode").append(colours);
    byId("legend-recovered").append(...recoveredLegend());

    /** @type {Record<string, Panel>} */
    this.table = {
      stage: {
        run: (run, graph) => stage.show(graph, run),
        view: ({ tab, zoomColours }) => {
          stage.marksObserved = tab === "observer";
          stage.zoomed = zoomColours;
          stage.setExposure(stage.exposure);
        },
        theme: () => stage.restyle(),
        exposure: (answer) => {
          if (answer) stage.setExposure(answer);
        },
      },
      comparison: { step: () => this.comparison.mark(), theme: () => this.comparison.restyle() },
      colours: { view: ({ colour }) => colours.select(colour) },
      transport: {
        view: ({ speed, pace, logTime }) => transport.setSpeed({ speed, pace, logarithmic: logTime }),
      },
      verdict: {
        run: ({ header, arrays }) => {
          const adapts = arrays.hidden.shape.length > 1;
          showVerdict(header.verdict, header.class_values, header.this_run, adapts);
          const sentence = adapts ? null : inOneSentence(header.verdict, arrays.hidden, store.scenario.pressure);
          byId("verdict-plain").textContent = sentence ?? header.verdict.summary;
          byId("name-b").textContent = header.verdict.heading;
        },
        view: ({ tab }) => {
          for (const id of ["verdict", "verdict-a"]) byId(id).dataset.brief = String(tab === "observer");
        },
        exact: (answer) => {
          byId("exact-note").hidden = answer === null;
          const words = stage.run?.header.pressure ?? "";
          showForecast(answer?.header.verdict ?? null, clock.endTime, words, (section) =>
            store.setScenario("pressure", section),
          );
        },
      },
      topics: { run: ({ header }) => topics.show(header.topics, header.topic) },
      followed: { run: () => this.showFollowed() },
      facts: {
        run: (_run, graph) => {
          byId("network-facts").textContent = graph.header.facts.join(" · ");
        },
      },
      tabs: {
        view: ({ tab, logTime, logSize }) => {
          showTab(tab);
          byId("log-time").setAttribute("aria-pressed", String(logTime));
          byId("log-size").setAttribute("aria-pressed", String(logSize));
        },
      },
      curves: {
        run: (run) => curves.setRun(run),
        other: (run) => curves.setOther(run),
        view: (view) => {
          curves.setAxes(view);
          curves.setFollowed(stage.followed);
          curves.draw();
        },
        step: (time) => curves.mark(time),
        theme: () => curves.restyle(),
        exact: (answer) => {
          curves.setExact(answer);
          curves.draw();
        },
      },
      recovered: {
        view: (view) => {
          recovered.setAxes(view);
          recovered.draw();
        },
        step: (time) => recovered.mark(time),
        theme: () => recovered.restyle(),
        recovered: (answer) => recovered.show(answer),
      },
      strip: {
        view: () => strip.draw(),
        frame: () => strip.draw(),
        theme: () => strip.draw(),
        recovered: (answer) => strip.show(answer),
      },
      pressure: {
        run: (run) => pressure.show(run),
        other: (run) => pressure.setOther(run),
        theme: () => pressure.restyle(),
      },
      estimates: {
        theme: () => estimates.restyle(),
        observe: (answer) => (answer ? estimates.show(answer) : estimates.clear()),
        exposure: (answer) => estimates.showExposure(answer),
      },
      bench: {
        theme: () => bench.restyle(),
        recovered: (answer) => bench.showRecovered(answer),
        budget: (answer) => bench.showBudget(answer),
        bench: (answer) => bench.showBench(answer),
      },
      inference: {
        view: ({ tab }) => inference.setVisible(tab === "observer"),
        step: (time) => inference.mark(time),
        theme: () => inference.restyle(),
        inference: (answer) => inference.show(answer),
      },
      tools: {
        run: (_run, _graph, isNewNetwork) => {
          if (isNewNetwork) this.observer.build();
          // If opinions are drawn, the user may be holding the brush at this moment, and its settings must stay.
          if (this.tools.tool === "draw" && !this.#byHand) this.brush.reset();
        },
      },
    };
  }

  /**
   * Let every panel do what it has to on an occasion, in the order of the table.
   * @template {keyof Occasions} Name
   * @param {Name} name
   * @param {Parameters<Occasions[Name]>} given
   */
  tell(name, ...given) {
    for (const panel of Object.values(this.table)) {
      const react = /** @type {((...given: Parameters<Occasions[Name]>) => void) | undefined} */ (panel[name]);
      react?.(...given);
    }
  }

  /** Whether hidden opinions are given one by one, rather than by a law. */
  get #byHand() {
    return Array.isArray(this.store.scenario.agents?.hidden);
  }

  /** Show the agents that are followed. */
  showFollowed() {
    const { stage, store } = this;
    showFollowed(stage.followed, {
      hidden: stage.hidden,
      editable: this.#byHand,
      zealots: store.scenario.agents?.zealots ?? [],
      onZealot: (label, on) => this.#setZealot(label, on),
      onUnfollow: (label) => store.setView({ agents: store.view.agents.filter((one) => one !== label) }),
      onSet: (index, value) => this.brush.setOne(index, value),
    });
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
}
