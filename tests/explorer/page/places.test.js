// Where things are drawn: agents, their names, the axes of plots and of scatter plots.

import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, setUpPage } from "./fakes.js";

const { document } = setUpPage();
const JS = "../../../src/peerpressure/explorer/static/js";
const { commonRange } = await import(`${JS}/estimates.js`);
const { placedNames } = await import(`${JS}/labels.js`);
const { logSplits, Plot } = await import(`${JS}/plot.js`);
const { ScreenLayout } = await import(`${JS}/screen-layout.js`);

/** Agents at random places of a canvas. */
function scattered(n, random, width, height) {
  const layout = new ScreenLayout(
    Array.from({ length: 2 * n }, () => 2 * random() - 1),
    n,
  );
  layout.fit(width, height);
  return layout;
}

test("whoever is nearest is found", () => {
  const random = seededRandom(5);
  const layout = scattered(400, random, 600, 400);
  let lost = 0;
  for (let k = 0; k < 60; k += 1) {
    const [x, y] = [600 * random(), 400 * random()];
    const far = [...layout.x].map((one, i) => Math.hypot(one - x, layout.y[i] - y));
    const least = Math.min(...far);
    if (least > 40) lost += 1;
    assert.equal(layout.nearest(x, y, 40), least <= 40 ? far.indexOf(least) : -1);
    assert.deepEqual(
      layout.within(x, y, 40).sort((a, b) => a - b),
      [...far.keys()].filter((i) => far[i] <= 40),
    );
  }
  assert.ok(lost > 0 && lost < 60);
});

test("a point that is zoomed about stays where it is, and part of the network in sight", () => {
  const layout = scattered(9, seededRandom(1), 500, 400);
  const before = [layout.x[3], layout.y[3]];
  layout.zoomBy(2, ...before);
  assert.ok(Math.hypot(layout.x[3] - before[0], layout.y[3] - before[1]) < 1e-3);
  layout.pan(1e9, -1e9);
  assert.deepEqual([layout.panX, layout.panY], [250, -200]);
  layout.zoomBy(1e9);
  assert.equal(layout.zoom, 40);
  layout.resetZoom();
  layout.fit(500, 400);
  assert.deepEqual([layout.x[3], layout.y[3]], before);
});

test("arrows go where they point and reach everyone", () => {
  const layout = scattered(60, seededRandom(7), 500, 500);
  const { x, y } = layout;
  const reached = new Set([0]);
  for (const i of reached) {
    const [right, left, down, up] = [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
    ].map(([dx, dy]) => layout.towards(i, dx, dy));
    assert.ok(x[right] >= x[i] && x[i] >= x[left] && y[down] >= y[i] && y[i] >= y[up]);
    for (const next of [right, left, down, up]) reached.add(next);
  }
  assert.equal(reached.size, 60);
});

test("agents are named where there is room, once the network is zoomed in", () => {
  const [x, y] = [
    [60, 70, 300, 395],
    [200, 202, 260, 200],
  ];
  const within = (left, top, radius) => [0, 1, 2, 3].filter((i) => Math.hypot(x[i] - left, y[i] - top) <= radius);
  const names = ["a hub", "hidden beside it", "a name that is far too long for any drawing", "at the edge"];
  const placed = (zoom) => {
    const layout = { zoom, x, y, width: 400, height: 400, covered: 40, within };
    const found = placedNames(
      layout,
      Float32Array.of(9, 4, 4, 4),
      (i) => names[i],
      (text) => 6 * text.length,
    );
    return found.map(({ text, x: left }) => [text, Math.round(left)]);
  };
  assert.deepEqual(placed(1), []);
  // The hub's name is left of it, as another dot is to its right; that one's goes to the right, which is free.
  assert.deepEqual(placed(2), [
    ["a hub", 18],
    ["hidden beside it", 77],
    ["a name that is far to…", 161],
  ]);
});

test("a scatter plot has room for all error bars", () => {
  const numbers = (values) => Object.fromEntries(Object.entries(values).map(([k, all]) => [k, Float64Array.from(all)]));
  const clouds = [
    { truth: [0, 1], estimate: [0.5, 3], std: [0.25, 2] },
    { truth: [0, 1], estimate: [-1, Number.NaN], std: [Number.NaN, 1] },
  ];
  const { low, high } = commonRange(clouds.map(numbers));
  assert.ok(low < -1 && high > 5 && high - low < 1.1 * 6);
  assert.deepEqual(commonRange([]), { low: 0, high: 1 });
});

test("the marks of a logarithmic axis are round numbers in its range", () => {
  assert.deepEqual(logSplits(9.99e-4, 0.011), [0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01]);
  assert.deepEqual(logSplits(0.2, 0.2), [0.2]);
  assert.deepEqual(logSplits(8e-25, 2e-24), [8e-25, 9e-25, 1e-24, 2e-24]);
  const wide = logSplits(5e-324, Number.MAX_VALUE);
  assert.deepEqual([wide[0], wide.at(-1), wide.length], [1e-323, 1e308, 632]);
});

/** What the axes of a plot of two values over two times are marked with, if both are logarithmic. */
async function marks(low, high, from) {
  const host = document.createElement("div");
  const plot = new Plot(host, { height: 150, label: "" });
  const lines = [{ values: [low, high], colour: "black" }];
  plot.show({ x: [from, 10 * from], low, high, logX: true, logY: true, lines });
  // It is drawn at the end of what the browser does at a time.
  await null;
  const drawn = (one) => [...(one.written ?? []), ...(one.children ?? []).flatMap(drawn)];
  return drawn(host).filter(Boolean);
}

test("a logarithmic axis may begin anywhere", async () => {
  // Leading digits at which sums of steps miss the next power of ten, among others, at every size that numbers have.
  for (const size of [-300, -44, -17, -8, -3, 0, 5, 30]) {
    for (const low of [1, 1.01, 1.3, 5.55, 9.99].map((digits) => Number(`${digits}e${size}`))) {
      for (const decades of [0, 0.5, 3, 30]) {
        const found = await marks(low, low * 10 ** decades, low);
        // The time axis goes over one decade, so a power of ten is on it, unless it is too small to be marked.
        assert.ok(found.length || low < 1e-15, `from ${low} over ${decades} decades`);
      }
    }
  }
});

test("what no logarithmic axis can show does no harm", async () => {
  for (const low of [0, -0, -1, 5e-324, 1e-310, 1e308, 1.7e308, Number.NaN, Infinity]) {
    for (const high of [0, -1, 5e-324, 1, 1.7e308, Number.NaN, Infinity]) {
      for (const from of [1, low]) await marks(low, high, from);
    }
  }
});
