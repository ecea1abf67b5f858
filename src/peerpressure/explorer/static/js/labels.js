// The names of agents beside their dots, as many as there is room for once the network is zoomed in.

import { BELOW, SIDE } from "./screen-layout.js";

/**
 * @typedef {import("./screen-layout.js").ScreenLayout} ScreenLayout
 *
 * @typedef {{left: number, right: number, y: number}} Box where a name would be
 */

// From this zoom on agents are named.
const MIN_ZOOM = 1.4;
// More names than this would cover the network.
const MAX_NAMES = 150;
// In a crowd hardly any name fits, and looking for room takes time.
const MAX_TRIED = 400;
const MAX_LETTERS = 22;
const GAP = 3;
const HEIGHT = 14;

/**
 * @typedef {object} PlacedName
 * @property {string} text
 * @property {number} x of its left end
 * @property {number} y of its middle
 */

/**
 * Return the names that fit beside their agents without covering each other or another dot, those of the largest dots
 * first.
 * @param {ScreenLayout} layout
 * @param {Float32Array} radii of the dots
 * @param {(index: number) => string} nameOf
 * @param {(text: string) => number} widthOf
 * @returns {PlacedName[]}
 */
export function placedNames(layout, radii, nameOf, widthOf) {
  if (layout.zoom < MIN_ZOOM) return [];
  const { x, y, covered } = layout;
  // Not where tools and the key lie over the network.
  const [right, bottom] = [layout.width - SIDE, layout.height - BELOW];
  const inSight = [...radii.keys()].filter((i) => x[i] > 0 && x[i] < right && y[i] > covered && y[i] < bottom);
  inSight.sort((a, b) => radii[b] - radii[a] || a - b);
  const largest = inSight.length ? radii[inSight[0]] : 0;
  /** @type {Box[]} */
  const taken = [];
  /** @type {PlacedName[]} */
  const placed = [];
  for (const i of inSight.slice(0, MAX_TRIED)) {
    if (placed.length >= MAX_NAMES) break;
    const name = nameOf(i);
    const text = name.length > MAX_LETTERS ? `${name.slice(0, MAX_LETTERS - 1)}…` : name;
    const wide = widthOf(text);
    // To the right of the dot, or else to its left.
    const spot = [x[i] + radii[i] + GAP, x[i] - radii[i] - GAP - wide].find((left) => {
      const box = { left, right: left + wide, y: y[i] };
      return (
        left > 0 &&
        box.right < right &&
        !taken.some((one) => overlap(one, box)) &&
        isFree(layout, radii, largest, i, box)
      );
    });
    if (spot === undefined) continue;
    taken.push({ left: spot, right: spot + wide, y: y[i] });
    placed.push({ text, x: spot, y: y[i] });
  }
  return placed;
}

/**
 * @param {Box} one
 * @param {Box} other
 */
function overlap(one, other) {
  return Math.abs(one.y - other.y) < HEIGHT && one.left < other.right + GAP && other.left < one.right + GAP;
}

/**
 * Whether no other dot lies where a name would.
 * @param {ScreenLayout} layout
 * @param {Float32Array} radii
 * @param {number} largest of the radii
 * @param {number} own the agent of the name
 * @param {Box} box
 */
function isFree(layout, radii, largest, own, { left, right, y }) {
  const half = (right - left) / 2;
  return layout.within(left + half, y, half + HEIGHT / 2 + largest).every((i) => {
    const aside = Math.max(left - layout.x[i], layout.x[i] - right, 0);
    const above = Math.max(Math.abs(layout.y[i] - y) - HEIGHT / 2, 0);
    return i === own || Math.hypot(aside, above) >= radii[i];
  });
}
