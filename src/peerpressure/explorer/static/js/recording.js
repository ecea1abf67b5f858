// An animation to save: the network from the start of the run to its end, as it plays on the page.

import { byId, context2d } from "./elements.js";
import { pictureOf } from "./picture.js";

/**
 * @typedef {import("./playback.js").Clock} Clock
 * @typedef {Omit<Parameters<typeof pictureOf>[1], "scale">} Frame
 */

// Frames per second, and at most so many of them: eight seconds.
const RATE = 12.5;
const MAX_FRAMES = 100;
const MIN_FRAMES = 12;
// Milliseconds for which a frame is shown; the last one long enough to be read.
const DELAY = 1_000 / RATE;
const LAST_DELAY = 2_000;
// Pixels of a frame beyond which the animation is made smaller.
const MAX_PIXELS = 1_600_000;
const SCALE = 2;
// The first one that the browser can record is taken.
const TYPES = ["video/webm;codecs=vp9", "video/webm", "video/mp4"];

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
    const pictureAt = (/** @type {number} */ position) => {
      clock.seek(position);
      return pictureOf([element], { scale, ...frame() });
    };
    const video = new Video(await pictureAt(positions[0]));
    for (const [k, position] of positions.entries()) {
      const shown = performance.now();
      video.draw(await pictureAt(position));
      bar.value = (k + 1) / positions.length;
      const delay = k === positions.length - 1 ? LAST_DELAY : DELAY;
      await new Promise((resume) => setTimeout(resume, shown + delay - performance.now()));
      if (!dialog.open) return null;
    }
    return await video.finish();
  } finally {
    dialog.close();
    clock.seek(before);
  }
}

/** A video of pictures, each shown from the moment at which it is drawn. */
class Video {
  /** @type {Blob[]} */
  #parts = [];

  /** @param {HTMLCanvasElement} first */
  constructor({ width, height }) {
    const canvas = document.createElement("canvas");
    // Codecs want even sizes.
    [canvas.width, canvas.height] = [width & ~1, height & ~1];
    this.ctx = context2d(canvas);
    const mimeType = TYPES.find((type) => MediaRecorder.isTypeSupported(type));
    this.recorder = new MediaRecorder(canvas.captureStream(), { mimeType, videoBitsPerSecond: 8e6 });
    this.recorder.ondataavailable = ({ data }) => this.#parts.push(data);
    this.recorder.start();
  }

  /** @param {HTMLCanvasElement} picture */
  draw(picture) {
    this.ctx.drawImage(picture, 0, 0);
  }

  /** @returns {Promise<Blob>} */
  finish() {
    const { recorder } = this;
    return new Promise((done) => {
      recorder.onstop = () => done(new Blob(this.#parts, { type: recorder.mimeType }));
      recorder.stop();
    });
  }
}
