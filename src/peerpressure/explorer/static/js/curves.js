// Curves over time: public opinions, their spread and largest distance to v, and the peer pressure.

import { cssColour, FOLLOWED_COLOURS } from "./colour.js";
import { byId, el } from "./elements.js";
import { formatCount, formatFixed, typeset } from "./format.js";
import { positionAt } from "./playback.js";
import { fillBand, Plot, strokeCurve } from "./plot.js";

/**
 * @typedef {import("./types.js").ExactAnswer} ExactAnswer
 * @typedef {import("./types.js").FollowedAgent} FollowedAgent
 * @typedef {import("./types.js").RunAnswer} RunAnswer
 *
 * @typedef {object} LegendEntry
 * @property {string} key
 * @property {string} label
 * @property {string} colour its name in the stylesheet
 * @property {boolean} [dashed]
 * @property {ArrayLike<number>} [times] if they are not those of the run
 * @property {(index: number) => number} valueAt the value at a recorded step
 */

// Values of closed classes with their numbers in the legend.
const MAX_TARGETS = 4;
// Curves of the run that is compared with.
const OTHER_DASH = [3, 3];
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
 * @param {Pick<RunAnswer["arrays"], "spread" | "max_distance">[]} others of runs in the same plots
 * @returns {[number, number]}
 */
export function commonRange({ spread, max_distance: distance }, { logTime, logSize }, others = []) {
  /** @type {[number, number]} */
  let range = [Infinity, 0];
  for (const matrix of [spread, distance, ...others.flatMap((one) => [one.spread, one.max_distance])]) {
    for (let row = 0; row < matrix.shape[0]; row += 1) {
      // A logarithmic axis leaves out time 0, and values of 0.
      const visible = rowOf(matrix, row).subarray(logTime ? 1 : 0);
      range = extend(logSize ? visible.filter((value) => value > 0) : visible, range);
    }
  }
  return range;
}

/**
 * Stroke a dashed curve below the lines of a plot.
 * @param {import("./plot.js").Painter} painter
 * @param {ArrayLike<number>} times
 * @param {ArrayLike<number>} values
 * @param {{colour: string, width: number}} look
 */
function strokeOther(painter, times, values, { colour, width }) {
  const { ctx, density } = painter;
  ctx.strokeStyle = colour;
  ctx.lineWidth = width * density;
  ctx.setLineDash(OTHER_DASH.map((length) => length * density));
  strokeCurve(painter, times, values);
  ctx.setLineDash([]);
}

/** Three plots of a run. Spread and distance never share one: they are different measures. */
export class Curves {
  /** @type {RunAnswer | null} */
  #run = null;
  /**
   * The run that is compared with.
   * @type {RunAnswer | null}
   */
  #other = null;
  /** @type {ExactAnswer | null} */
  #exact = null;
  /** @type {FollowedAgent[]} */
  #followed = [];
  #axes = { logTime: false, logSize: false };
  /** @type {Map<HTMLElement, LegendEntry[]>} */
  #legends = new Map();
  #time = 0;

  /**
   * @param {import("./stage.js").Stage} stage
   * @param {(time: number) => void} onSeek
   */
  constructor(stage, onSeek) {
    this.stage = stage;
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

  /** @param {RunAnswer | null} run null without comparison */
  setOther(run) {
    this.#other = run;
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
    // One range for both makes their heights comparable.
    const range = commonRange(this.#run.arrays, this.#axes, this.#other ? [this.#other.arrays] : []);
    this.#drawMeasure(this.#run, "spread", range);
    this.#drawMeasure(this.#run, "max_distance", range);
    const own = this.#run.header.own_limits;
    byId("distance-name").textContent = own ? "Largest distance to own limit" : "Largest distance to v";
    byId("distance-question").textContent = own ? "do all reach theirs?" : "do all agree on v?";
    this.mark(this.#time);
  }

  restyle() {
    this.draw();
    for (const plot of this.plots) plot.restyle();
  }

  /** The end of the axis of time. */
  get #end() {
    const runs = [this.#run, this.#other].filter((run) => run !== null);
    return Math.max(...runs.map(({ arrays: { times } }) => times[times.length - 1]));
  }

  /** The name of a curve, with that of its scenario if there are two. */
  #named(/** @type {string} */ label, letter = "B") {
    return this.#other ? `${label} ${letter}` : label;
  }

  /**
   * Mark a time, and show the numbers there.
   * @param {number} time
   */
  mark(time) {
    this.#time = time;
    if (!this.#run) return;
    const own = this.#run.arrays.times;
    for (const plot of this.plots) plot.mark(time);
    for (const [list, entries] of this.#legends) {
      const outputs = list.querySelectorAll("output");
      entries.forEach(({ valueAt, times = own }, i) => {
        const value = valueAt(Math.round(positionAt(times, time)));
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
    const other = this.#otherOpinions();
    const range = this.stage.opinionRange;
    const [low, high] = extend(values, extend(other.all, [range.low, range.high]));
    const { agents, colours } = this.stage.sample;
    const exact = this.#exact;
    const soft = cssColour("soft");
    this.opinions.show({
      x: times,
      end: this.#end,
      logX: this.#axes.logTime,
      low,
      high,
      lines: [
        { values: top, colour: soft, width: 1, name: "max" },
        { values: bottom, colour: soft, width: 1, name: "min" },
        ...values.map((v) => ({
          values: Float32Array.from(times, () => v),
          colour: cssColour("target"),
          width: values.length > 8 ? 0.75 : 1.5,
          dash: [5, 4],
        })),
        { values: middle, colour: cssColour("ink"), width: 1.75, name: "mean" },
        ...followed.map(({ values, colour, name }) => ({ values, colour: cssColour(colour), width: 1.5, name })),
      ],
      drawBelow(painter) {
        other.draw(painter);
        fillBand(painter, times, bottom, top, soft, 0.1);
        painter.ctx.lineWidth = painter.density;
        painter.ctx.globalAlpha = 0.7;
        agents.forEach((agent, k) => {
          painter.ctx.strokeStyle = colours[k];
          strokeCurve(
            painter,
            times,
            Float32Array.from(times, (_, t) => states[t * n + agent]),
          );
        });
        painter.ctx.globalAlpha = 1;
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
      { key: "mean", label: this.#named("mean"), colour: "ink", valueAt: (t) => middle[t] },
      ...other.entries,
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

  /** The range and the mean of opinions in the run that is compared with: what to draw of them, and to print. */
  #otherOpinions() {
    if (!this.#other) return { all: [], entries: [], draw: () => {} };
    const { times, ...arrays } = this.#other.arrays;
    const [top, middle, bottom] = [rowOf(arrays.maximum, 0), rowOf(arrays.mean, 0), rowOf(arrays.minimum, 0)];
    const [soft, ink] = [cssColour("soft"), cssColour("ink")];
    /** @type {LegendEntry} */
    const entry = { key: "mean-a", label: "mean A", colour: "ink", dashed: true, times, valueAt: (t) => middle[t] };
    return {
      all: [...top, ...bottom],
      entries: [entry],
      draw(/** @type {import("./plot.js").Painter} */ painter) {
        for (const values of [top, bottom]) strokeOther(painter, times, values, { colour: soft, width: 1 });
        strokeOther(painter, times, middle, { colour: ink, width: 1.5 });
      },
    };
  }

  /**
   * The curves of one measure in the run that is compared with.
   * @param {"spread" | "max_distance"} name
   */
  #otherMeasure(name) {
    if (!this.#other) return { entries: [], draw: () => {} };
    const { header, arrays } = this.#other;
    const { times } = arrays;
    const [run, average] = [rowOf(arrays[name], 0), arrays[`${name}_mean`]];
    const curves = [
      { key: `${name}-a`, label: "run A", colour: "accent", values: run, width: 1.5 },
      { key: `${name}-mean-a`, label: "typical A", colour: "ink", values: average, width: 1.5 },
    ].slice(0, header.replicates > 1 ? 2 : 1);
    return {
      entries: curves.map(({ values, width, ...entry }) => {
        return { ...entry, dashed: true, times, valueAt: (/** @type {number} */ t) => values[t] };
      }),
      draw(/** @type {import("./plot.js").Painter} */ painter) {
        for (const { values, colour, width } of curves) {
          strokeOther(painter, times, values, { colour: cssColour(colour), width });
        }
      },
    };
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
    const other = this.#otherMeasure(name);
    const soft = cssColour("soft");
    this[name].show({
      x: times,
      end: this.#end,
      logX: logTime,
      logY: logSize,
      low: logSize ? range[0] : 0,
      high: range[1],
      lines: [
        { values: rows[0], colour: cssColour("accent"), width: several ? 1.25 : 1.75, name: "this run" },
        ...(several ? [{ values: average, colour: cssColour("ink"), width: 1.75, name: "typical over runs" }] : []),
      ],
      drawBelow(painter) {
        const { ctx, density } = painter;
        ctx.strokeStyle = soft;
        ctx.lineWidth = density;
        ctx.globalAlpha = 0.25;
        for (const row of rows.slice(1)) strokeCurve(painter, times, row);
        ctx.globalAlpha = 1;
        other.draw(painter);
      },
    });
    const label = this.#other ? "typical B" : `typical over ${formatCount(header.replicates)} runs`;
    /** @type {LegendEntry[]} */
    const entries = [
      { key: name, label: this.#other ? "run B" : "this run", colour: "accent", valueAt: (t) => rows[0][t] },
      { key: `${name}-mean`, label, colour: "ink", valueAt: (t) => average[t] },
    ];
    this.#showLegend(`legend-${name}`, [...(several ? entries : entries.slice(0, 1)), ...other.entries]);
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
  /** @type {RunAnswer | null} */
  #run = null;
  /**
   * The run that is compared with.
   * @type {RunAnswer | null}
   */
  #other = null;

  constructor() {
    this.plot = new Plot(byId("plot-pressure"), { height: 112, label: "Peer pressure over time" });
    this.text = byId("pressure-text");
    this.words = byId("pressure-words");
  }

  /** @param {RunAnswer | null} run null without comparison */
  setOther(run) {
    this.#other = run;
    this.draw();
  }

  /** @param {RunAnswer} run */
  show(run) {
    const { pressure, verdict } = run.header;
    this.#run = run;
    this.text.replaceChildren(typeset(pressure));
    this.words.textContent = verdict.words;
    this.words.dataset.outcome = verdict.outcome;
    this.draw();
  }

  draw() {
    if (!this.#run) return;
    const { pressure_times: times, pressures } = this.#run.arrays;
    const [colour, other] = [cssColour("pressure"), this.#other?.arrays];
    const [, high] = extend(other?.pressures ?? [], extend(pressures, [0, 0]));
    this.plot.show({
      x: times,
      end: Math.max(times.at(-1) ?? 1, other?.pressure_times.at(-1) ?? 0),
      low: 0,
      high,
      lines: [{ values: Array.from(pressures, (value) => (Number.isFinite(value) ? value : null)), colour, width: 2 }],
      drawBelow(painter) {
        if (other) strokeOther(painter, other.pressure_times, other.pressures, { colour, width: 2 });
      },
    });
  }

  restyle() {
    this.draw();
    this.plot.restyle();
  }
}
