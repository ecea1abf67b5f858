// An animation to save: the network from the start of the run to its end, as it plays on the page.

import { byId, context2d } from "./elements.js";
import { Gif, Palette } from "./gif.js";
import { pictureOf } from "./picture.js";

/**
 * @typedef {import("./playback.js").Clock} Clock
 * @typedef {Omit<Parameters<typeof pictureOf>[1], "scale">} Frame
 */

// Frames per second, and at most so many of them: eight seconds.
const RATE = 12.5;
const MAX_FRAMES = 100;
const MIN_FRAMES = 12;
// In hundredths of a second; the last frame is held long enough to be read.
const DELAY = 100 / RATE;
const LAST_DELAY = 200;
// Pixels of a frame, and bytes of the file, beyond which the animation is made smaller, or is cut off.
const MAX_PIXELS = 1_600_000;
const MAX_BYTES = 60_000_000;
const SCALE = 2;

/**
 * Return the positions of the clock to record: evenly spaced along the axis of time, like playback. Where a frame spans
 * more than one step, whole steps are recorded, odd and even ones in turn: else an oscillation between two sides would
 * look constant.
 * @param {Clock} clock
 * @returns {number[]}
 */
export function framePositions(clock) {
  const { lastIndex, duration } = clock;
  const wanted = Math.round(Math.min(MAX_FRAMES, Math.max(MIN_FRAMES, duration * RATE)));
  const positions = Array.from({ length: wanted }, (_, k) => clock.positionOfPart(k / (wanted - 1)));
  const chosen = positions.map((position, k) => {
    const step = k ? position - positions[k - 1] : 0;
    if (step <= 1) return position;
    const whole = Math.round(position);
    return whole % 2 === k % 2 || whole >= lastIndex ? whole : whole + 1;
  });
  return [...chosen.slice(0, -1), lastIndex];
}

/**
 * Record an element while time passes, with a dialog that shows how far it is and can be cancelled.
 * @param {Element} element
 * @param {Clock} clock
 * @param {() => Frame} frame called for each frame, returns how the element is painted
 * @returns {Promise<Blob | null>} null if it was cancelled
 */
export async function record(element, clock, frame) {
  const dialog = byId("recording", HTMLDialogElement);
  const bar = byId("recording-bar", HTMLProgressElement);
  const { position: before } = clock;
  clock.pause();
  bar.value = 0;
  byId("recording-cancel").onclick = () => dialog.close();
  dialog.showModal();
  try {
    const positions = framePositions(clock);
    const { width, height } = element.getBoundingClientRect();
    const scale = Math.min(SCALE, Math.sqrt(MAX_PIXELS / (width * height)));
    const pixelsAt = async (/** @type {number} */ position) => {
      clock.seek(position);
      const canvas = await pictureOf([element], { scale, ...frame() });
      const { data, width, height } = context2d(canvas).getImageData(0, 0, canvas.width, canvas.height);
      return { pixels: new Uint32Array(data.buffer), width, height };
    };
    return await encode(positions, pixelsAt, (part) => {
      bar.value = part;
      return dialog.open;
    });
  } finally {
    dialog.close();
    clock.seek(before);
  }
}

/**
 * @param {number[]} positions
 * @param {(position: number) => Promise<{pixels: Uint32Array, width: number, height: number}>} pixelsAt
 * @param {(part: number) => boolean} goOn called after each frame; false cancels
 */
async function encode(positions, pixelsAt, goOn) {
  const palette = new Palette();
  for (const part of [0, 0.1, 0.3, 1])
    palette.count((await pixelsAt(positions[Math.floor(part * (positions.length - 1))])).pixels);
  palette.choose();
  /** @type {Gif | null} */
  let gif = null;
  for (const [k, position] of positions.entries()) {
    const { pixels, width, height } = await pixelsAt(position);
    gif ??= new Gif(width, height, palette);
    const last = k === positions.length - 1 || gif.size > MAX_BYTES;
    gif.add(pixels, last ? LAST_DELAY : DELAY);
    // The page stays responsive between frames.
    await new Promise((resume) => setTimeout(resume));
    if (!goOn((k + 1) / positions.length)) return null;
    if (last) break;
  }
  return gif?.finish() ?? null;
}
