// The page, put together: the state on one side, what shows it on the other, and the computation between them.

import { decoded, encoded, keeper } from "./address.js";
import { Brush } from "./brush.js";
import { Clock } from "./clock.js";
import { FOLLOWED } from "./colour.js";
import { Computation, onlyOnlookerDiffers } from "./computation.js";
import { Controls } from "./controls.js";
import { Curves } from "./curves.js";
import { byId, segmented } from "./elements.js";
import { fitted } from "./fit.js";
import { showFollowed } from "./followed.js";
import { listenToKeys } from "./keyboard.js";
import { clearRefusals, hush, showRefusal, tell } from "./messages.js";
import { Observer } from "./observer.js";
import { Pointing } from "./pointing.js";
import { markPreset, showPresets } from "./presets.js";
import { PressurePanel } from "./pressure-panel.js";
import { offerSharing } from "./share.js";
import { Stage } from "./stage.js";
import { Store, fittingView } from "./store.js";
import { Tabs } from "./tabs.js";
import { followTheme } from "./theme.js";
import { Transport } from "./transport.js";
import { acceptFiles } from "./upload.js";
import { showAhead, showVerdict } from "./verdict.js";
import { catalogue as readCatalogue } from "./wire.js";

/** Return the state that the address holds, or the catalogue's own where it holds none that can be read. @param {any} plain */
async function opening(plain) {
  const first = { scenario: plain.scenario, view: fittingView(plain.view) };
  if (location.hash.length < 2) return first;
  try {
    return await decoded(location.hash);
  } catch {
    tell("The address does not hold a scenario that can be read, so this is where everybody starts.", "bad");
    return first;
  }
}

/** Count the answers that are shown, so that whoever drives the page can wait for the next. @param {string} what */
function counted(what) {
  const { dataset } = document.documentElement;
  dataset[what] = String(Number(dataset[what] ?? 0) + 1);
}

async function start() {
  const catalogue = await readCatalogue();
  const store = new Store(await opening(catalogue.default), (now, before) => fitted(now, before, catalogue.default.scenario));
  const clock = new Clock();
  const stage = new Stage(store, clock);
  const curves = new Curves((time) => clock.seekTime(time));
  const pressure = new PressurePanel();
  const brush = new Brush(stage, store);
  const transport = new Transport(clock, (speed) => store.look({ speed }));
  const address = keeper(() => ({ scenario: store.scenario, view: { ...store.view, time: clock.time } }), tell);
  let computed = false;

  const useTool = (/** @type {import("./pointing.js").Tool} */ tool) => {
    pointing.setTool(tool);
    byId("draw").setAttribute("aria-pressed", String(tool === "draw"));
    byId("brush").hidden = tool !== "draw";
    if (tool === "draw") {
      brush.show();
      store.look({ colour: "hidden" });
    }
  };
  const drawByHand = () => {
    brush.begin();
    useTool("draw");
  };
  const follow = (/** @type {number} */ index) => {
    const label = stage.labelOf(index);
    const known = stage.followed.map(({ name }) => name);
    const agents = known.includes(label) ? known.filter((one) => one !== label) : [...known, label].slice(-FOLLOWED.length);
    store.look({ agents });
  };

  const pointing = new Pointing(stage, {
    follow,
    see: (index) => observer.toggle(index),
    stroke(x, y, first) {
      brush.stroke(x, y, first);
    },
    lift: () => brush.lift(),
    reach: () => brush.reach,
  });
  const observer = new Observer(store, stage, catalogue, {
    point(index) {
      stage.cursor = index;
      stage.invalidate();
    },
    pick: (on) => useTool(on ? "see" : "look"),
  });

  const showAgents = () =>
    showFollowed(stage.followed, {
      hidden: stage.hidden,
      byHand: Array.isArray(store.scenario.agents?.hidden),
      drop: (name) => store.look({ agents: store.view.agents.filter((one) => one !== name) }),
      set: (index, value) => brush.setOne(index, value),
    });
  const useTuned = (/** @type {object} */ section) => store.change("pressure", section);

  const computation = new Computation(
    () => store.scenario,
    () => ({ agents: stage.followed.map(({ name }) => name), observing: store.view.tab === "observer" }),
    {
      picture(graph, run) {
        clearRefusals();
        const isNew = graph !== stage.graph;
        stage.setPicture(graph, run);
        clock.setTimes(run.arrays.times, computed ? clock.time : store.view.time);
        curves.setRun(run);
        curves.setFollowed(stage.followed);
        curves.draw();
        showVerdict(run.header.verdict);
        showAgents();
        byId("network-facts").textContent = graph.header.facts.join(" · ");
        if (isNew) observer.build();
        if (byId("draw").getAttribute("aria-pressed") === "true") brush.show();
        counted("runs");
        if (!computed) autoplay();
        computed = true;
        address.soon();
      },
      pressure(answer) {
        pressure.show(answer);
        counted("pressures");
      },
      exact(answer) {
        curves.setExact(answer);
        curves.draw();
        const tuned = store.scenario.pressure?.kind === "tuned" ? null : stage.run?.header.tuned;
        showAhead(answer?.header.verdict ?? null, stage.run?.header.steps, tuned, useTuned);
        byId("exact-note").hidden = answer === null;
        counted("exacts");
      },
      observed(answer) {
        clearRefusals();
        observer.show(answer);
        stage.setSeen(answer);
        counted("observations");
        address.soon();
      },
      refused: showRefusal,
      busy: (yes) => document.documentElement.toggleAttribute("data-busy", yes),
    },
  );

  // A first visit begins in motion, unless the person's machine asks for stillness.
  const autoplay = () => {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!still && location.hash.length < 2 && !clock.playing) clock.toggle();
  };

  // Where all stands in one column, the rarer groups begin closed.
  if (window.matchMedia("(max-width: 45.99rem)").matches) {
    for (const group of document.querySelectorAll(".controls details:nth-of-type(n + 3)")) group.removeAttribute("open");
  }

  const colours = segmented({
    label: "Colour by",
    visibleLabel: false,
    options: [{ id: "public", title: "What they show" }, { id: "hidden", title: "What they think" }, { id: "exposure", title: "Exposure" }],
    value: store.view.colour,
    onChange: (colour) => store.look({ colour: /** @type {any} */ (colour), ...(colour === "exposure" ? { tab: "observer" } : {}) }),
  });
  byId("colour-mode").append(colours);
  const tabs = new Tabs((tab) => store.look({ tab }));
  new Controls(store, catalogue, { chooseFile: () => files.choose(), drawByHand });
  const files = acceptFiles(catalogue.limits.upload_bytes, (network) => store.change("network", network));
  showPresets(catalogue.presets, (preset) => {
    clock.pause();
    useTool("look");
    store.replace({ scenario: preset.state.scenario, view: fittingView(preset.state.view) });
    clock.seekTime(store.view.time);
    markPreset(preset.id);
    hush();
  });

  const showView = (/** @type {import("./store.js").View} */ view) => {
    tabs.show(view.tab);
    byId("verdict").dataset.brief = String(view.tab === "observer");
    colours.select(view.colour);
    transport.setSpeed(view.speed);
    stage.marksSeen = view.tab === "observer";
    for (const [id, on] of /** @type {[string, boolean][]} */ ([["log-time", view.logTime], ["log-size", view.logSize]])) {
      byId(id).setAttribute("aria-pressed", String(on));
    }
    curves.setAxes(view);
    curves.setFollowed(stage.followed);
    curves.draw();
    stage.setSeen(stage.seen);
  };
  showView(store.view);
  store.onScenario((now, before) => {
    markPreset(null);
    computation.refresh(onlyOnlookerDiffers(now, before));
  });
  store.onView((now, before) => {
    showView(now);
    if (now.agents !== before.agents) {
      showAgents();
      computation.exact();
    }
    if (now.tab !== before.tab && now.tab === "observer") computation.observe();
    if (now.tab !== "observer" && pointing.tool === "see") useTool("look");
    if (computed) address.soon();
  });

  let marked = -1;
  clock.onChange(() => {
    if (clock.index !== marked) curves.mark(clock.index);
    marked = clock.index;
    if (computed && !clock.playing) address.soon();
  });
  byId("draw").addEventListener("click", () => (pointing.tool === "draw" ? useTool("look") : drawByHand()));
  byId("log-time").addEventListener("click", () => store.look({ logTime: !store.view.logTime }));
  byId("log-size").addEventListener("click", () => store.look({ logSize: !store.view.logSize }));
  byId("message-close").addEventListener("click", hush);
  listenToKeys(clock);
  followTheme(() => {
    for (const part of [stage, curves, pressure, observer]) part.restyle();
  });
  offerSharing({
    scenario: () => store.scenario,
    time: () => clock.time,
    canvas: stage.canvas,
    link: async () => {
      await address.now();
      return location.href;
    },
  });
  window.addEventListener("hashchange", async () => {
    if (address.isOwn(location.hash)) return;
    store.replace(await opening(catalogue.default));
    clock.seekTime(store.view.time);
  });
  computation.refresh();
}

start().catch((error) => {
  tell(error.message, "bad");
  throw error;
});
