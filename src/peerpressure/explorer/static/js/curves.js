// Curves over time: public opinions, their spread and largest distance to v, and the peer pressure.

import { cssColour, FOLLOWED_COLOURS } from "./colour.js";
import { byId, el } from "./elements.js";
import { formatCount, formatFixed, typeset } from "./format.js";
import { fillBand, Plot, strokeCurve } from "./plot.js";

/**
 * @typedef {import("./types.js").ExactAnswer} ExactAnswer
 * @typedef {import("./types.js").FollowedAgent} FollowedAgent
 * @typedef {import("./types.js").PressureAnswer} PressureAnswer
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 *
 * @typedef {object} LegendEntry
 * @property {string} key
 * @property {string} label
 * @property {string} colour its name in the stylesheet
 * @property {boolean} [dashed]
 * @property {(index: number) => number} valueAt the value at a recorded step
 */

// Values of closed classes with their numbers in the legend.
const MAX_TARGETS = 4;
// Half the width of the bands, in standard deviations.
const BAND = 2;

/**
 * Return a range that is extended to contain all finite values.
 * @param {Iterable<number>} values
 * @param {[number, number]} range
 * @returns {[number, number]}
 */
function extend(values, [low, high]) {
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/**
 * Return a row of a matrix.
 * @template {Float32Array | Float64Array} T
 * @param {T & {shape: number[]}} matrix
 * @param {number} row
 * @returns {T}
 */
function rowOf(matrix, row) {
  const length = matrix.shape[1];
  return /** @type {T} */ (matrix.subarray(row * length, (row + 1) * length));
}

/**
 * Return the range of spreads and distances together.
 * @param {Pick<RunAnswer["arrays"], "spread" | "max_distance">} measures
 * @param {{logTime: boolean, logSize: boolean}} axes
 * @returns {[number, number]}
 */
export function commonRange({ spread, max_distance: distance }, { logTime, logSize }) {
  /** @type {[number, number]} */
  let range = [Infinity, 0];
  for (const matrix of [spread, distance]) {
    for (let row = 0; row < matrix.shape[0]; row += 1) {
      // A logarithmic axis leaves out time 0, and values of 0.
      const visible = rowOf(matrix, row).subarray(logTime ? 1 : 0);
      range = extend(logSize ? visible.filter((value) => value > 0) : visible, range);
    }
  }
  return range;
}

/** Three plots of a run. Spread and distance never share one: they are different measures. */
export class Curves {
  /** @type {RunAnswer | null} */
  #run = null;
  /** @type {ExactAnswer | null} */
  #exact = null;
  /** @type {FollowedAgent[]} */
  #followed = [];
  #axes = { logTime: false, logSize: false };
  /** @type {Map<HTMLElement, LegendEntry[]>} */
  #legends = new Map();
  #index = 0;

  /** @param {(time: number) => void} onSeek */
  constructor(onSeek) {
    this.opinions = new Plot(byId("plot-opinions"), { height: 172, label: "Opinions over time", onSeek });
    this.spread = new Plot(byId("plot-spread"), { height: 140, label: "Spread over time", onSeek });
    this.max_distance = new Plot(byId("plot-max_distance"), {
      height: 140,
      label: "Largest distance to v over time",
      onSeek,
    });
    this.plots = [this.opinions, this.spread, this.max_distance];
  }

  /** @param {RunAnswer} run */
  setRun(run) {
    this.#run = run;
    this.#exact = null;
  }

  /** @param {ExactAnswer | null} exact null if it is not known */
  setExact(exact) {
    this.#exact = exact;
  }

  /** @param {FollowedAgent[]} followed */
  setFollowed(followed) {
    this.#followed = followed;
  }

  /** @param {{logTime: boolean, logSize: boolean}} axes */
  setAxes({ logTime, logSize }) {
    this.#axes = { logTime, logSize };
  }

  draw() {
    if (!this.#run) return;
    this.#drawOpinions(this.#run);
    // One range for both, so that their heights can be compared.
    const range = commonRange(this.#run.arrays, this.#axes);
    this.#drawMeasure(this.#run, "spread", range);
    this.#drawMeasure(this.#run, "max_distance", range);
    const own = this.#run.header.own_limits;
    byId("distance-name").textContent = own ? "Largest distance to own limit" : "Largest distance to v";
    byId("distance-question").textContent = own ? "do all reach theirs?" : "do all agree on v?";
    this.mark(this.#index);
  }

  restyle() {
    this.draw();
    for (const plot of this.plots) plot.restyle();
  }

  /**
   * Mark a recorded step, and show the numbers there.
   * @param {number} index
   */
  mark(index) {
    this.#index = index;
    if (!this.#run) return;
    const { times } = this.#run.arrays;
    const time = times[Math.min(index, times.length - 1)];
    for (const plot of this.plots) plot.mark(time);
    for (const [list, entries] of this.#legends) {
      const outputs = list.querySelectorAll("output");
      entries.forEach(({ valueAt }, i) => {
        const value = valueAt(index);
        outputs[i].textContent = formatFixed(value);
        outputs[i].dataset.value = String(value);
      });
    }
  }

  /** @param {RunAnswer} run */
  #drawOpinions({ header, arrays }) {
    const { n, class_values: values } = header;
    const { times, states } = arrays;
    const [top, middle, bottom] = [rowOf(arrays.maximum, 0), rowOf(arrays.mean, 0), rowOf(arrays.minimum, 0)];
    const followed = this.#followed.map(({ index, label, name }, i) => ({
      values: Float32Array.from(times, (_, t) => states[t * n + index]),
      colour: FOLLOWED_COLOURS[i],
      label,
      name,
    }));
    const [low, high] = extend(bottom, extend(top, [values[0], values[values.length - 1]]));
    const exact = this.#exact;
    const soft = cssColour("soft");
    this.opinions.show({
      x: times,
      logX: this.#axes.logTime,
      low,
      high,
      lines: [
        { values: top, colour: soft, width: 1 },
        { values: bottom, colour: soft, width: 1 },
        ...values.map((v) => ({
          values: Float32Array.from(times, () => v),
          colour: cssColour("target"),
          width: values.length > 8 ? 0.75 : 1.5,
          dash: [5, 4],
        })),
        { values: middle, colour: cssColour("ink"), width: 1.75 },
        ...followed.map(({ values, colour }) => ({ values, colour: cssColour(colour), width: 1.5 })),
      ],
      drawBelow(painter) {
        fillBand(painter, times, bottom, top, soft, 0.1);
        exact?.header.names.forEach((_, row) => {
          const [mean, std] = [rowOf(exact.arrays.mean, row), rowOf(exact.arrays.std, row)];
          const edge = (/** @type {1 | -1} */ side) => mean.map((value, t) => value + side * BAND * std[t]);
          const colour = cssColour(row === 0 ? "exact" : FOLLOWED_COLOURS[row - 1]);
          fillBand(painter, exact.arrays.times, edge(-1), edge(1), colour, row === 0 ? 0.28 : 0.13);
        });
      },
    });
    this.#showLegend("legend-opinions", [
      { key: "maximum", label: "max", colour: "soft", valueAt: (t) => top[t] },
      { key: "mean", label: "mean", colour: "ink", valueAt: (t) => middle[t] },
      { key: "minimum", label: "min", colour: "soft", valueAt: (t) => bottom[t] },
      ...values.slice(0, MAX_TARGETS).map((v, k) => ({
        key: k ? `target-${k}` : "target",
        label: k ? "" : values.length > 1 ? "targets" : "target v",
        colour: "target",
        dashed: true,
        valueAt: () => v,
      })),
      ...followed.map(({ values, colour, label, name }) => ({
        key: `agent-${label}`,
        label: name,
        colour,
        valueAt: (/** @type {number} */ t) => values[t],
      })),
    ]);
  }

  /**
   * @param {RunAnswer} run
   * @param {"spread" | "max_distance"} name
   * @param {[number, number]} range
   */
  #drawMeasure({ header, arrays }, name, range) {
    const { times } = arrays;
    const matrix = arrays[name];
    const rows = Array.from({ length: matrix.shape[0] }, (_, row) => rowOf(matrix, row));
    const average = arrays[`${name}_mean`];
    const several = header.replicates > 1;
    const { logTime, logSize } = this.#axes;
    const soft = cssColour("soft");
    this[name].show({
      x: times,
      logX: logTime,
      logY: logSize,
      low: logSize ? range[0] : 0,
      high: range[1],
      lines: [
        { values: rows[0], colour: cssColour("accent"), width: several ? 1.25 : 1.75 },
        ...(several ? [{ values: average, colour: cssColour("ink"), width: 1.75 }] : []),
      ],
      drawBelow(painter) {
        const { ctx } = painter;
        ctx.strokeStyle = soft;
        ctx.lineWidth = window.devicePixelRatio || 1;
        ctx.globalAlpha = 0.25;
        for (const row of rows.slice(1)) strokeCurve(painter, times, row);
        ctx.globalAlpha = 1;
      },
    });
    const label = `mean of ${formatCount(header.replicates)}`;
    /** @type {LegendEntry[]} */
    const entries = [
      { key: name, label: "run", colour: "accent", valueAt: (t) => rows[0][t] },
      { key: `${name}-mean`, label, colour: "ink", valueAt: (t) => average[t] },
    ];
    this.#showLegend(`legend-${name}`, several ? entries : entries.slice(0, 1));
  }

  /**
   * @param {string} id
   * @param {LegendEntry[]} entries
   */
  #showLegend(id, entries) {
    const list = byId(id);
    this.#legends.set(list, entries);
    list.replaceChildren(
      ...entries.map(({ key, label, colour, dashed }) => {
        const swatch = el("span", { class: dashed ? "swatch dashed" : "swatch" });
        swatch.style.setProperty("--colour", `var(--${colour})`);
        const name = el("span", { class: "legend-name" }, typeset(label));
        return el("li", { "data-key": key }, swatch, name, el("output", { class: "numeral" }));
      }),
    );
  }
}

/** The plot of the peer pressure beside its controls, with its formula and its outcome. */
export class PressurePanel {
  /** @type {PressureAnswer | null} */
  #answer = null;

  constructor() {
    this.plot = new Plot(byId("plot-pressure"), { height: 112, label: "Peer pressure over time" });
    this.text = byId("pressure-text");
    this.words = byId("pressure-words");
  }

  /** @param {PressureAnswer} answer */
  show(answer) {
    this.#answer = answer;
    this.text.replaceChildren(typeset(answer.text));
    this.words.textContent = answer.words;
    this.words.dataset.outcome = answer.outcome;
    this.draw();
  }

  draw() {
    if (!this.#answer) return;
    const { times, values } = this.#answer;
    this.plot.show({
      x: times,
      low: 0,
      high: Math.max(0, ...values.filter((value) => value !== null)),
      lines: [{ values, colour: cssColour("pressure"), width: 2 }],
    });
  }

  restyle() {
    this.draw();
    this.plot.restyle();
  }
}
