// What happens over time, in three plots: what agents show, how far they are apart, and how far they are from v. The
// last two are different measurements and never share a plot.

import { FOLLOWED, token } from "./colour.js";
import { byId, el } from "./elements.js";
import { Plot, band, thread } from "./plot.js";
import { count, indexed, steady } from "./words.js";

/**
 * @typedef {import("./wire.js").Packed} Packed
 * @typedef {{label: string, colour: string, dashed?: boolean, at: (index: number) => number, key: string}} Entry
 */

const BAND = 2; // standard deviations

/** Take in all values that a plot can show. @param {ArrayLike<number>} values @param {[number, number]} range */
function widen(values, range) {
  for (let at = 0; at < values.length; at += 1) {
    if (!Number.isFinite(values[at])) continue;
    if (values[at] < range[0]) range[0] = values[at];
    if (values[at] > range[1]) range[1] = values[at];
  }
}

/** @param {any} table (rows, T) @param {number} row */
function rowOf(table, row) {
  const length = table.shape[1];
  return table.subarray(row * length, (row + 1) * length);
}

export class Curves {
  /** @type {Packed | null} */
  #run = null;
  /** @type {Packed | null} */
  #exact = null;
  /** @type {{index: number, label: string, name: string | number}[]} */
  #followed = [];
  #axes = { logTime: false, logSize: false };
  /** @type {Map<HTMLElement, Entry[]>} */
  #legends = new Map();
  #index = 0;

  /** @param {(time: number) => void} onSeek */
  constructor(onSeek) {
    this.opinions = new Plot(byId("plot-opinions"), { height: 152, label: "Opinions over time", onSeek });
    this.spread = new Plot(byId("plot-spread"), { height: 128, label: "Spread over time", onSeek });
    this.distance = new Plot(byId("plot-distance"), { height: 128, label: "Distance to v over time", onSeek });
  }

  /** @param {Packed} run */
  setRun(run) {
    this.#run = run;
    this.#exact = null;
  }

  /** @param {Packed | null} exact the exact law of the mean and of the agents followed, where it is known */
  setExact(exact) {
    this.#exact = exact;
  }

  /** @param {{index: number, label: string, name: string | number}[]} followed */
  setFollowed(followed) {
    this.#followed = followed;
  }

  /** @param {{logTime: boolean, logSize: boolean}} axes */
  setAxes({ logTime, logSize }) {
    this.#axes = { logTime, logSize };
  }

  /** Draw everything. */
  draw() {
    if (!this.#run) return;
    this.#drawOpinions(this.#run);
    for (const name of /** @type {const} */ (["spread", "distance"])) this.#drawMeasure(this.#run, name);
    this.mark(this.#index);
  }

  restyle() {
    this.draw();
    for (const plot of [this.opinions, this.spread, this.distance]) plot.restyle();
  }

  /** Mark the step that is shown, and say the numbers there. @param {number} index */
  mark(index) {
    this.#index = index;
    if (!this.#run) return;
    const time = this.#run.arrays.times[Math.min(index, this.#run.arrays.times.length - 1)];
    for (const plot of [this.opinions, this.spread, this.distance]) plot.mark(time);
    for (const [place, entries] of this.#legends) {
      entries.forEach((entry, at) => {
        const value = entry.at(index);
        const output = /** @type {HTMLElement} */ (place.children[at].lastElementChild);
        output.textContent = steady(value);
        output.dataset.value = String(value);
      });
    }
  }

  /** @param {Packed} run */
  #drawOpinions(run) {
    const { times, states, minimum, maximum, mean } = run.arrays;
    const n = run.header.n;
    const v = run.header.consensus_value;
    const [top, middle, bottom] = [maximum, mean, minimum].map((table) => rowOf(table, 0));
    const own = this.#followed.map(({ index, label, name }, at) => ({
      values: Float32Array.from(times, (_, t) => states[t * n + index]),
      colour: token(FOLLOWED[at]),
      label,
      name,
    }));
    const range = /** @type {[number, number]} */ ([v, v]);
    for (const values of [top, bottom]) widen(values, range);
    const exact = this.#exact;
    const [soft, ink, target, sure] = [token("soft"), token("ink"), token("target"), token("exact")];
    this.opinions.show({
      x: times,
      logX: this.#axes.logTime,
      low: range[0],
      high: range[1],
      lines: [
        { values: top, colour: soft, width: 1 },
        { values: bottom, colour: soft, width: 1 },
        { values: Float32Array.from(times, () => v), colour: target, width: 1.5, dash: [5, 4] },
        { values: middle, colour: ink, width: 1.75 },
        ...own.map(({ values, colour }) => ({ values, colour, width: 1.5 })),
      ],
      under(pen, toX, toY) {
        band(pen, times, bottom, top, toX, toY, soft, 0.1);
        exact?.header.names.forEach((/** @type {string} */ _, /** @type {number} */ at) => {
          const [centre, std] = [rowOf(exact.arrays.mean, at), rowOf(exact.arrays.std, at)];
          const edge = (/** @type {number} */ side) =>
            Float64Array.from(centre, (value, t) => value + side * BAND * std[t]);
          const colour = at === 0 ? sure : token(FOLLOWED[at - 1]);
          band(pen, exact.arrays.times, edge(-1), edge(1), toX, toY, colour, at === 0 ? 0.28 : 0.13);
        });
      },
    });
    this.#legend("legend-opinions", [
      { key: "maximum", label: "max", colour: "soft", at: (t) => top[t] },
      { key: "mean", label: "mean", colour: "ink", at: (t) => middle[t] },
      { key: "minimum", label: "min", colour: "soft", at: (t) => bottom[t] },
      { key: "target", label: "target v", colour: "target", dashed: true, at: () => v },
      ...own.map(({ values, label, name }, at) => ({
        key: `agent-${name}`,
        label,
        colour: FOLLOWED[at],
        at: (/** @type {number} */ t) => values[t],
      })),
    ]);
  }

  /** @param {Packed} run @param {"spread" | "distance"} name */
  #drawMeasure(run, name) {
    const { times } = run.arrays;
    const table = run.arrays[name];
    const average = run.arrays[`${name}_mean`];
    const first = rowOf(table, 0);
    const several = run.header.replicates > 1;
    const { logTime, logSize } = this.#axes;
    const range = /** @type {[number, number]} */ ([Infinity, 0]);
    const from = logTime ? 1 : 0;
    for (let row = 0; row < table.shape[0]; row += 1) {
      widen(rowOf(table, row).subarray(from).filter((/** @type {number} */ value) => !logSize || value > 0), range);
    }
    const [accent, ink, soft] = [token("accent"), token("ink"), token("soft")];
    this[name].show({
      x: times,
      logX: logTime,
      logY: logSize,
      low: logSize ? range[0] : 0,
      high: range[1],
      lines: [
        { values: first, colour: accent, width: several ? 1.25 : 1.75 },
        ...(several ? [{ values: average, colour: ink, width: 1.75 }] : []),
      ],
      under(pen, toX, toY) {
        pen.strokeStyle = soft;
        pen.lineWidth = window.devicePixelRatio || 1;
        pen.globalAlpha = 0.25;
        for (let row = 1; row < table.shape[0]; row += 1) thread(pen, times, rowOf(table, row), toX, toY);
        pen.globalAlpha = 1;
      },
    });
    const label = `mean of ${count(run.header.replicates)}`;
    const entries = [
      { key: name, label: "run", colour: "accent", at: (/** @type {number} */ t) => first[t] },
      { key: `${name}-mean`, label, colour: "ink", at: (/** @type {number} */ t) => average[t] },
    ];
    this.#legend(`legend-${name}`, several ? entries : entries.slice(0, 1));
  }

  /** @param {string} id @param {Entry[]} entries */
  #legend(id, entries) {
    const place = byId(id);
    this.#legends.set(place, entries);
    place.replaceChildren(
      ...entries.map(({ key, label, colour, dashed }) => {
        const name = el("span", { class: "legend-name" });
        name.append(indexed(label));
        const swatch = el("span", { class: dashed ? "swatch dashed" : "swatch" });
        swatch.style.setProperty("--colour", `var(--${colour})`);
        return el("li", { "data-key": key }, swatch, name, el("output", { class: "numeral" }));
      }),
    );
  }
}
