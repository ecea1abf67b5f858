// Numbers and symbols as people read them, colours as people see them, and the stops of sliders.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setUpPage } from "./fakes.js";

setUpPage();
const JS = "../../../src/peerpressure/explorer/static/js";
const format = await import(`${JS}/format.js`);
const { exposureScale, opinionScale } = await import(`${JS}/colour.js`);
const { since } = await import(`${JS}/verdict.js`);
const { reachFromNowOn } = await import(`${JS}/run-shape.js`);
const { nearestStop, sliderStops } = await import(`${JS}/fields.js`);

test("numbers read as people write them", () => {
  const words = new Map([
    [0, "0"],
    [0.5314062, "0.531"],
    [-0.25, "−0.250"],
    [100, "100"],
    [1234.5678, "1235"],
    [2.5e7, "2.50 × 10⁷"],
    [-3.21e-9, "−3.21 × 10⁻⁹"],
    [null, "–"],
    [Number.NaN, "–"],
    [-Infinity, "−∞"],
  ]);
  for (const [value, expected] of words) assert.equal(format.formatNumber(value), expected);
});

test("a number that changes keeps its width, unless it is very large or small", () => {
  const words = new Map([
    [0, "0.000"],
    [-1.5, "−1.500"],
    [999.9996, "1000.000"],
    [1234.5, "1235"],
    [2e5, "200000"],
    [4e-4, "4.00 × 10⁻⁴"],
    [Infinity, "∞"],
  ]);
  for (const [value, expected] of words) assert.equal(format.formatFixed(value), expected);
});

test("ticks have the decimals that their spacing needs", () => {
  assert.deepEqual(format.formatTicks([0, 0.25, 0.5]), ["0.00", "0.25", "0.50"]);
  assert.deepEqual(format.formatTicks([-20, 0, 20]), ["−20", "0", "20"]);
  assert.deepEqual(format.formatTicks([0, 2500, 5000]), ["0", "2,500", "5,000"]);
  assert.deepEqual(format.formatTicks([0, 1e-5]), ["0", "1.0 × 10⁻⁵"]);
  assert.deepEqual(format.formatTicks([]), []);
});

test("counts and names are those of people", () => {
  assert.deepEqual([format.plural(1, "agent"), format.plural(50_000, "agent")], ["1 agent", "50,000 agents"]);
  assert.deepEqual([format.agentName(7), format.agentName("Anna")], ["agent 7", "Anna"]);
});

test("an index is set as an index, and nothing becomes markup", () => {
  const place = document.createElement("p");
  place.append(format.typeset("ρ_t = <b>x_{t+1}</b> t^-1.5 my_name 1e-05 2.5e+07 2e"));
  const expected = "ρ<sub>t</sub> = &lt;b&gt;x<sub>t+1</sub>&lt;/b&gt; t<sup>−1.5</sup> my_name 10⁻⁵ 2.5 × 10⁷ 2e";
  assert.equal(place.innerHTML, expected);
});

test("agents who are close at the end only are not said to be so from then on", () => {
  const settling = { tolerance: 0.1, steps: 40, each_other: null, value: null, step_length: null, is_bound: false };
  const words = [null, 0, 30, 39, 40].map((step) => since(step, settling));
  assert.deepEqual(words, [
    "not within 0.1 by step 40",
    "within 0.1 from the start",
    "within 0.1 from step 30 on",
    "within 0.1 only in the last 2 steps",
    "within 0.1 only at the last step",
  ]);
});

test("colours of opinions that agree beside the centre are those of no extreme opinion", () => {
  const [domain, agreed] = [{ centre: 0.29, half: 0.71 }, Float32Array.of(0.48)];
  const [half] = reachFromNowOn(agreed, agreed, domain.centre, domain.half);
  const part = 0.5 + (agreed[0] - domain.centre) / (2 * half);
  assert.ok(part > 0.6 && part < 0.7);
});

const PARAMETERS = [
  { kind: "int", min: 2, max: 50_000, step: 1 },
  { kind: "float", min: 0, max: 10, step: 0.01 },
  { kind: "float", min: 0.001, max: 100, step: 0.001 },
];

test("a logarithmic slider reaches both ends, and every notch of it counts", () => {
  for (const parameter of PARAMETERS) {
    const stops = sliderStops(parameter);
    assert.deepEqual([stops[0], stops.at(-1)], [parameter.min, parameter.max]);
    for (let k = 1; k < stops.length; k += 1) {
      const step = stops[k] - stops[k - 1];
      assert.ok(step > 0);
      // No step is much wider than its share of the way, but where whole numbers or the way to 0 ask for it.
      assert.ok(k === 1 || stops[k] / stops[k - 1] < 1.1 || step === 1, `from ${stops[k - 1]} to ${stops[k]}`);
    }
    if (parameter.kind === "int") assert.ok(stops.every(Number.isInteger));
    assert.deepEqual(
      stops.map((stop) => nearestStop(stops, stop)),
      [...stops.keys()],
    );
  }
});

test("a number between two stops is shown at the nearer one, and beyond the last at the last", () => {
  const stops = [0, 1, 10];
  assert.deepEqual(
    [-5, 0.4, 0.6, 5, 6, 99].map((value) => nearestStop(stops, value)),
    [0, 0, 1, 1, 2, 2],
  );
});

const THEMES = { light: [255, 255, 255], dark: [25, 29, 33] };
const channels = (css) => css.match(/[0-9]+/g).map(Number);
const linear = (rgb) =>
  rgb.map((one) => one / 255).map((y) => (y <= 0.04045 ? y / 12.92 : ((y + 0.055) / 1.055) ** 2.4));
const times = (matrix, vector) => matrix.map((row) => row.reduce((sum, one, k) => sum + one * vector[k], 0));

function oklab(css) {
  const cones = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
  ];
  const axes = [
    [0.2104542553, 0.793617785, -0.0040720468],
    [1.9779984951, -2.428592205, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.808675766],
  ];
  return times(axes, times(cones, linear(channels(css))).map(Math.cbrt));
}

test("equal differences of opinion look equally large", () => {
  for (const theme of Object.keys(THEMES)) {
    const labs = opinionScale(theme).css.map(oklab);
    // Rounding to 8 bits moves single colours, so steps are taken wide enough not to see it.
    const wide = labs.filter((_, level) => level % 16 === 0);
    const steps = wide.slice(1).map((lab, k) => Math.hypot(...lab.map((one, axis) => one - wide[k][axis])));
    assert.ok(Math.max(...steps) / Math.min(...steps) < 1.15);
    const [first, middle, last] = [labs[0], labs[64], labs[128]];
    assert.ok(Math.abs(middle[1]) < 0.005 && Math.abs(middle[2]) < 0.005);
    // To eyes without red-green or blue-yellow sense the two ends differ still: by the other of the two axes.
    assert.ok(Math.abs(first[2] - last[2]) > 0.15);
    assert.ok(Math.abs(first[1] - last[1]) > 0.08);
  }
});

test("every colour stands out from the stage, and its grey tells high from low", () => {
  const luminance = (rgb) => times([[0.2126, 0.7152, 0.0722]], linear(rgb))[0];
  for (const [theme, stage] of Object.entries(THEMES)) {
    const ground = luminance(stage);
    for (const { css } of [opinionScale(theme), exposureScale(theme)]) {
      const greys = css.map((one) => luminance(channels(one)));
      for (const grey of greys) assert.ok((Math.max(grey, ground) + 0.05) / (Math.min(grey, ground) + 0.05) >= 3);
      // Steps of rounding aside, lightness goes one way only, and differs by a factor of 2.5 or more at the ends.
      const way = Math.sign(greys.at(-1) - greys[0]);
      for (let k = 1; k < greys.length; k += 1) assert.ok(way * (greys[k] - greys[k - 1]) > -0.004);
      assert.ok(Math.max(...greys) > 2.5 * Math.min(...greys));
    }
  }
});

test("what lies beyond the scale has the colour of its end", () => {
  const { level } = opinionScale("light");
  assert.deepEqual([-1, 0, 0.5, 1, 7, Number.NaN].map(level), [0, 0, 64, 128, 128, 0]);
});
