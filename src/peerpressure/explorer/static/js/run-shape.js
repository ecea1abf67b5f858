// The shape of a run as a whole, from which the page chooses how to show it.

/** @typedef {import("./types.js").RunAnswer} RunAnswer */

// The spread has collapsed once it stays below this share of its largest value.
const COLLAPSED = 0.1;
// A collapse within this share of the run takes up too little of a linear axis to be seen.
const EARLY = 0.1;
// Colours reach so many times as far as the distance from the centre that all opinions have in common: what agents
// agree on is not drawn as an extreme opinion.
const COMMON = 3;
// Noise moves opinions as far in two steps as in one; those that alternate come back.
const ALTERNATING = 0.5;
// States are in single precision, whose rounding must not be drawn as differences of opinion.
const RESOLUTION = 1e-5;

/**
 * Return whether the spread collapses, and whether so early that a logarithmic axis of time shows it better.
 * @param {RunAnswer} run
 * @returns {{collapses: boolean, early: boolean}}
 */
export function shapeOf({ arrays: { times, spread_mean: spread } }) {
  let most = 0;
  for (const value of spread) most = Math.max(most, value);
  let last = spread.length - 1;
  while (last >= 0 && !(spread[last] >= COLLAPSED * most)) last -= 1;
  const collapses = most > 0 && last < spread.length - 1;
  return { collapses, early: collapses && times[last + 1] <= EARLY * times[times.length - 1] };
}

/**
 * Return whether opinions go back and forth from step to step: after two steps they are closer to where they were than
 * after one.
 * @param {Pick<RunAnswer["arrays"], "times" | "states">} arrays
 * @param {number} n
 */
export function alternates({ times, states }, n) {
  let [once, twice] = [0, 0];
  for (let t = times.length >> 1; t + 2 < times.length; t += 1) {
    // Where steps are left out there is nothing to be seen.
    if (times[t + 2] - times[t] > 2.5 * (times[1] - times[0])) return false;
    for (let i = t * n; i < (t + 1) * n; i += 1) {
      once += Math.abs(states[i + n] - states[i]);
      twice += Math.abs(states[i + 2 * n] - states[i]);
    }
  }
  return twice < ALTERNATING * once;
}

/**
 * Return for each time how far opinions are from a centre at most, then or later. Distances at single times go up and
 * down with the noise, and colours with them.
 * @param {ArrayLike<number>} low the lowest opinion at each time
 * @param {ArrayLike<number>} high
 * @param {number} centre
 * @param {number} most the range of colours without zoom, which is never exceeded
 */
export function reachFromNowOn(low, high, centre, most) {
  const reach = new Float32Array(low.length);
  let later = RESOLUTION * Math.max(most, Math.abs(centre));
  for (let t = low.length - 1; t >= 0; t -= 1) {
    const now = Math.max(high[t] - centre, centre - low[t], COMMON * Math.max(low[t] - centre, centre - high[t]));
    // NaN, an opinion beyond all numbers, is not below the maximum and counts as far away.
    later = Math.max(later, now < most ? now : most);
    reach[t] = later;
  }
  return reach;
}

/**
 * Return agents that stand for all of them, evenly spaced in the order of their values.
 * @param {ArrayLike<number>} values one per agent
 * @param {number} most
 */
export function sampleOf(values, most) {
  const order = Array.from(values, (_, agent) => agent).sort((a, b) => values[a] - values[b]);
  if (order.length <= most) return order;
  return Array.from({ length: most }, (_, k) => order[Math.round((k * (order.length - 1)) / (most - 1))]);
}

/**
 * Return the lowest and the highest value of each row of a matrix.
 * @param {ArrayLike<number> & {shape: number[]}} matrix
 */
export function rowExtremes(matrix) {
  const [rows, columns] = matrix.shape;
  const [low, high] = [new Float32Array(rows).fill(Infinity), new Float32Array(rows).fill(-Infinity)];
  for (let row = 0; row < rows; row += 1) {
    for (let k = row * columns; k < (row + 1) * columns; k += 1) {
      low[row] = Math.min(low[row], matrix[k]);
      high[row] = Math.max(high[row], matrix[k]);
    }
  }
  return { low, high };
}
