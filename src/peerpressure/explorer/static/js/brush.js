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
  /** Whether the value was chosen by hand; then it stays. */
  #chosen = false;
  #reach = 34;
  /** The opinions of the stroke that is being made; no answer that comes meanwhile changes them. @type {number[]} */
  #drawn = [];

  /** @param {Stage} stage @param {Store} store */
  constructor(stage, store) {
    this.stage = stage;
    this.store = store;
  }

  get reach() {
    return this.#reach;
  }

  /** Offer other settings, for other opinions than those that were drawn. */
  renew() {
    this.#chosen = false;
    this.show();
  }

  /** Offer the brush's own settings, for the opinions that there are. */
  show() {
    const { centre, half } = this.stage.domain ?? { centre: 0, half: 1 };
    const step = 10 ** Math.floor(Math.log10(half) - 2);
    const round = (/** @type {number} */ value) => Number((Math.round(value / step) * step).toPrecision(6));
    if (!this.#chosen) this.#value = round(centre + half);
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
        value: this.#value,
        onInput: (value) => {
          this.#value = value;
          this.#chosen = true;
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
    if (!Array.isArray(this.store.scenario.agents?.hidden)) this.#keep(this.#opinions());
  }

  /** Paint at a point. @param {number} x @param {number} y @param {boolean} first whether the hand was just put down */
  stroke(x, y, first) {
    const { places } = this.stage.view;
    const touched = first && this.#reach < 16 ? [places.nearest(x, y)] : places.within(x, y, this.#reach);
    if (first) this.#drawn = this.#opinions();
    const hidden = this.#drawn;
    const by = 0.05 * (this.stage.domain?.half ?? 1) * (this.#way === "raise" ? 1 : -1);
    for (const index of touched) if (index >= 0) hidden[index] = this.#way === "set" ? this.#value : hidden[index] + by;
    this.stage.preview = Float32Array.from(hidden);
    this.stage.invalidate();
    if (this.stage.n <= MOST_LIVE && touched.length) this.#keep(hidden.map(short));
  }

  /** The hand is lifted: what was drawn counts. */
  lift() {
    if (this.#drawn.length) this.#keep(this.#drawn.map(short));
    this.#drawn = [];
  }

  /** Set one agent's opinion. @param {number} index @param {number} value */
  setOne(index, value) {
    const hidden = this.#opinions();
    hidden[index] = value;
    this.#keep(hidden);
  }

  /** What agents think: as drawn, which may be newer than what is shown, or as computed. @returns {number[]} */
  #opinions() {
    const given = this.store.scenario.agents?.hidden;
    return Array.isArray(given) ? [...given] : Array.from(this.stage.hidden, short);
  }

  /** @param {number[]} hidden */
  #keep(hidden) {
    this.store.change("agents.hidden", hidden);
  }
}
