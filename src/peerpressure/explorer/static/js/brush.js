// Hidden opinions drawn by hand: a brush on the network that sets, raises or lowers what agents think.

import { byId, segmented } from "./elements.js";
import { slider } from "./slider.js";

/**
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 */

// Larger networks are computed when the hand is lifted, and not at every touch.
const MOST_LIVE = 2_000;

/** Return an opinion as short as it can be told apart from others. @param {number} value */
function short(value) {
  return Number(value.toPrecision(4));
}

export class Brush {
  /** @type {"set" | "raise" | "lower"} */
  #way = "set";
  #value = 0;
  #reach = 34;
  #range = "";

  /** @param {Stage} stage @param {Store} store */
  constructor(stage, store) {
    this.stage = stage;
    this.store = store;
  }

  get reach() {
    return this.#reach;
  }

  /** Offer the brush's own settings, for the opinions that there are. */
  show() {
    const { centre, half } = this.stage.domain ?? { centre: 0, half: 1 };
    const range = `${centre} ${half}`;
    if (range === this.#range) return;
    this.#range = range;
    this.#value = short(centre + half);
    const step = 10 ** Math.floor(Math.log10(half) - 2);
    const round = (/** @type {number} */ value) => Number((Math.round(value / step) * step).toPrecision(6));
    byId("brush").replaceChildren(
      segmented({
        label: "Brush",
        visibleLabel: false,
        options: [{ id: "set", title: "Set" }, { id: "raise", title: "Raise" }, { id: "lower", title: "Lower" }],
        value: this.#way,
        onChange: (way) => {
          this.#way = /** @type {"set" | "raise" | "lower"} */ (way);
        },
      }),
      slider({
        spec: {
          name: "value",
          title: "Opinion",
          kind: "float",
          min: round(centre - 1.5 * half),
          max: round(centre + 1.5 * half),
          default: round(centre + half),
          step,
        },
        path: "view.brush.value",
        value: round(centre + half),
        onInput: (value) => {
          this.#value = value;
        },
      }),
      slider({
        spec: { name: "reach", title: "Brush size", kind: "int", min: 10, max: 120, default: 34, step: 2 },
        path: "view.brush.reach",
        value: this.#reach,
        onInput: (value) => {
          this.#reach = value;
        },
      }),
    );
  }

  /** Take what agents think now as drawn by hand, so that it can be changed. */
  begin() {
    if (!Array.isArray(this.store.scenario.agents?.hidden)) this.#keep(Array.from(this.stage.hidden, short));
  }

  /** Paint at a point. @param {number} x @param {number} y @param {boolean} first whether the hand was just put down */
  stroke(x, y, first) {
    const { places } = this.stage.view;
    const touched = first && this.#reach < 16 ? [places.nearest(x, y)] : places.within(x, y, this.#reach);
    const hidden = Float32Array.from(this.stage.hidden);
    const by = 0.05 * (this.stage.domain?.half ?? 1) * (this.#way === "raise" ? 1 : -1);
    for (const index of touched) if (index >= 0) hidden[index] = this.#way === "set" ? this.#value : hidden[index] + by;
    this.stage.preview = hidden;
    this.stage.invalidate();
    if (this.stage.n <= MOST_LIVE && touched.length) this.#keep(Array.from(hidden, short));
  }

  /** The hand is lifted: what was drawn counts. */
  lift() {
    if (this.stage.preview) this.#keep(Array.from(this.stage.preview, short));
  }

  /** Set one agent's opinion. @param {number} index @param {number} value */
  setOne(index, value) {
    const given = this.store.scenario.agents?.hidden;
    const hidden = Array.isArray(given) ? [...given] : Array.from(this.stage.hidden, short);
    hidden[index] = value;
    this.#keep(hidden);
  }

  /** @param {number[]} hidden */
  #keep(hidden) {
    this.store.change("agents.hidden", hidden);
  }
}
