// A run as it is shown: whether it collapses early, how far colours reach, and which times playback and frames go
// through.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUpPage } from "./fakes.js";

setUpPage();
const JS = "../../../src/peerpressure/explorer/static/js";
const { reachFromNowOn, rowExtremes, sampleOf, shapeOf } = await import(`${JS}/run-shape.js`);
const { Clock, positionAt } = await import(`${JS}/playback.js`);
const { framePositions } = await import(`${JS}/recording.js`);

const upTo = (last, step = 1) => Array.from({ length: Math.floor(last / step) + 1 }, (_, k) => k * step);

test("a run whose spread collapses early is told by its shape", () => {
  const shapes = [
    [(t) => 1 / (1 + t), true, true],
    [(t) => Math.exp(-t / 30), true, false],
    [(t) => 0.2 + 0.8 / (1 + t), false, false],
    // It comes back, as opinions on a start that is common to all.
    [(t) => (t ? 1 / (1 + Math.abs(t - 5)) : 0), true, true],
    [(t) => (t === 150 ? 1 : 1 / (1 + t)), true, false],
    [() => 0, false, false],
    [(t) => t, false, false],
  ];
  const times = Float64Array.from(upTo(200));
  for (const [spread, collapses, early] of shapes) {
    const arrays = { times, spread_mean: Float32Array.from(times, spread) };
    assert.deepEqual(shapeOf({ arrays }), { collapses, early }, String(spread));
  }
});

test("colours zoomed to now reach as far as opinions from now on", () => {
  const reach = (...given) => [...reachFromNowOn(...given)];
  // Furthest from 0.25 in all that is left: 0.75 above it, then 0.5 below it, then 0.125.
  assert.deepEqual(reach([0.25, -0.25, 0.125, 0.25], [1, 0.5, 0.25, 0.375], 0.25, 8), [0.75, 0.5, 0.125, 0.125]);
  assert.deepEqual(reach([0, -1], [9, 1], 0, 2), [2, 1]);
  // What agents agree on is no extreme opinion, on whichever side of the centre: 0.48 is 0.19 from it, 0.1 as much.
  const agreed = reach([0, 0.48, 0.1], [1, 0.48, 0.1], 0.29, 1);
  assert.deepEqual(
    agreed.map((one) => one.toFixed(6)),
    ["0.710000", "0.570000", "0.570000"],
  );
  // What rounding alone tells apart has one colour, and what is beyond all numbers does not matter to the others.
  assert.deepEqual(reach([1, 1], [1, 1], 1, 1), [1e-5, 1e-5].map(Math.fround));
  assert.deepEqual(reach([Number.NaN, 0], [1, 0.5], 0, 2), [2, 0.5]);
});

test("agents that stand for all are spread over all values, and rows have their extremes", () => {
  assert.deepEqual(sampleOf([3, 1, 2], 5), [1, 2, 0]);
  assert.deepEqual(sampleOf([4, 3, 2, 1, 0], 3), [4, 2, 0]);
  const { low, high } = rowExtremes(Object.assign([3, 1, 2, -1, 0, 5], { shape: [2, 3] }));
  assert.deepEqual([...low, ...high], [1, -1, 3, 5]);
});

test("a time between two recorded ones has a position between theirs", () => {
  const given = [-1, 0, 5, 10, 15, 99];
  assert.deepEqual(
    given.map((time) => positionAt([0, 10, 20], time)),
    [0, 0, 0.5, 1, 1.5, 2],
  );
});

/** The times shown at the frames of a clock that plays from start to end, at sixty frames a second. */
function played(times, settings) {
  const clock = new Clock();
  Object.assign(clock, settings);
  clock.setTimes(Float64Array.from(times), 0);
  clock.toggle();
  const shown = [];
  for (let frame = 1; clock.playing && frame < 1e5; frame += 1) {
    clock.tick((frame * 1000) / 60);
    shown.push(clock.time);
  }
  return shown;
}

/** How many seconds pass before a time is shown. */
const secondsBefore = (end, shown) => shown.filter((time) => time < end).length / 60;
const isNear = (value, expected, most) => assert.ok(Math.abs(value - expected) < most, `${value} is not ${expected}`);

test("each decade of a run plays equally long", () => {
  const settings = { logarithmic: true, pace: 3 };
  for (const times of [upTo(10_000), [...upTo(499), ...upTo(10_000, 25).filter((time) => time >= 500)]]) {
    const shown = played(times, settings);
    for (const decade of [1, 2, 3, 4]) isNear(secondsBefore(10 ** decade, shown), 3 * decade, 0.3);
  }
  // The opinions of the page's first scenario come together by step 12 of 200, too fast to see on a linear axis.
  assert.ok(secondsBefore(12, played(upTo(200), settings)) > 3);
  isNear(secondsBefore(100, played(upTo(200), { speed: 20 })), 5, 0.1);
});

test("frames show both sides of an oscillation", () => {
  const positions = (last) => framePositions(Object.assign(new Clock(), { times: upTo(last), speed: last / 4 }));
  const many = positions(1_000);
  assert.equal(many.length, 50);
  for (const [k, position] of many.slice(0, -1).entries()) assert.equal(position % 2, k % 2);
  assert.ok(many.every((position, k) => !k || position > many[k - 1]));
  for (const [k, position] of positions(20).entries()) isNear(position, (20 * k) / 49, 1e-9);
});
