// The brush: hidden opinions drawn by hand on the network.

import { byId } from "./elements.js";
import { segmented, slider } from "./fields.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 */

// Larger networks are computed at the end of a stroke, not at every move.
const MAX_LIVE = 2_000;

/** @type {{id: "set" | "raise" | "lower", title: string}[]} */
const MODES = [
  { id: "set", title: "Set" },
  { id: "raise", title: "Raise" },
  { id: "lower", title: "Lower" },
];

/**
 * Round an opinion to four digits, which keeps scenarios and their links short.
 * @param {number} value
 */
function rounded(value) {
  return Number(value.toPrecision(4));
}

export class Brush {
  radius = 34;
  #mode = MODES[0].id;
  #value = 0;
  /** Whether the user has set the value; until then it follows the range of opinions. */
  #valueChosen = false;
  /**
   * The opinions during a stroke. Answers that arrive meanwhile do not change them.
   * @type {number[]}
   */
  #stroke = [];

  /**
   * @param {Stage} stage
   * @param {Store} store
   */
  constructor(stage, store) {
    this.stage = stage;
    this.store = store;
  }

  /** Start over with the settings that suit the current opinions. */
  reset() {
    this.#valueChosen = false;
    this.showSettings();
  }

  /** @param {number} value to paint with */
  choose(value) {
    this.#value = value;
    this.#valueChosen = true;
    this.showSettings();
  }

  showSettings() {
    const { centre, half } = this.stage.domain;
    const step = 10 ** Math.floor(Math.log10(half) - 2);
    const round = (/** @type {number} */ value) => Number((Math.round(value / step) * step).toPrecision(6));
    const high = round(centre + half);
    if (!this.#valueChosen) this.#value = high;
    byId("brush").replaceChildren(
      segmented({
        label: "Brush",
        visibleLabel: false,
        options: MODES,
        value: this.#mode,
        onChange: (mode) => {
          this.#mode = mode;
        },
      }),
      slider({
        parameter: {
          name: "value",
          title: "Opinion",
          kind: "float",
          min: round(centre - 1.5 * half),
          max: round(centre + 1.5 * half),
          default: high,
          step,
        },
        path: "view.brush.value",
        value: this.#value,
        onInput: (value) => {
          this.#value = value;
          this.#valueChosen = true;
        },
      }),
      slider({
        parameter: { name: "reach", title: "Brush size", kind: "int", min: 10, max: 120, default: 34, step: 2 },
        path: "view.brush.reach",
        value: this.radius,
        onInput: (value) => {
          this.radius = value;
        },
      }),
    );
  }

  /** Write the current opinions into the scenario, where single ones can be changed. */
  adoptOpinions() {
    if (!Array.isArray(this.store.scenario.agents?.hidden)) this.#write(this.#opinions());
  }

  /**
   * Paint at a point.
   * @param {number} x
   * @param {number} y
   * @param {boolean} first whether this begins a stroke
   */
  stroke(x, y, first) {
    const { layout } = this.stage.view;
    // A click with a small brush may miss every agent by little; the nearest one is meant.
    const touched = first && this.radius < 16 ? [layout.nearest(x, y)] : layout.within(x, y, this.radius);
    if (first) this.#stroke = this.#opinions();
    const hidden = this.#stroke;
    const change = 0.05 * this.stage.domain.half * (this.#mode === "raise" ? 1 : -1);
    for (const i of touched) if (i >= 0) hidden[i] = this.#mode === "set" ? this.#value : hidden[i] + change;
    this.stage.preview = Float32Array.from(hidden);
    this.stage.invalidate();
    if (this.stage.n <= MAX_LIVE && touched.length) this.#write(hidden.map(rounded));
  }

  /** End the stroke. */
  lift() {
    if (this.#stroke.length) this.#write(this.#stroke.map(rounded));
    this.#stroke = [];
  }

  /**
   * Set the opinion of one agent.
   * @param {number} index
   * @param {number} value
   */
  setOne(index, value) {
    const hidden = this.#opinions();
    hidden[index] = value;
    this.#write(hidden);
  }

  /** The opinions in the scenario, which may be newer than those shown; or if there are none, those computed. */
  #opinions() {
    const given = this.store.scenario.agents?.hidden;
    return Array.isArray(given) ? [...given] : Array.from(this.stage.hidden, rounded);
  }

  /** @param {number[]} hidden */
  #write(hidden) {
    this.store.setScenario("agents.hidden", hidden);
  }
}
