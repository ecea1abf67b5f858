// Playback: the time that is shown, the buttons and the slider that control it, and the keyboard shortcuts.

import { byId } from "./elements.js";
import { formatCount } from "./format.js";

/**
 * Return the position of a time among recorded ones, between two of them where it lies between theirs.
 * @param {ArrayLike<number>} times
 * @param {number} time
 */
export function positionAt(times, time) {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  if (low === 0 || time >= times[low]) return low;
  return low - (times[low] - time) / (times[low] - times[low - 1]);
}

/** The position in a run, in recorded steps. It may lie between two of them while playing. */
export class Clock {
  /** When the steps were recorded, in the model's time. */
  times = new Float64Array([0]);
  position = 0;
  playing = false;
  /** Whether time passes in proportion to itself, which gives each decade the same duration. */
  logarithmic = false;
  /** Whether each step is shown as it is, because opinions between two steps that alternate are nobody's. */
  holds = false;
  /** In the model's time per second, if not logarithmic. */
  speed = 20;
  /** In seconds per decade, if logarithmic. */
  pace = 3;
  #lastFrame = 0;
  /** @type {Set<() => void>} */
  #listeners = new Set();

  /** @param {() => void} listener */
  onChange(listener) {
    this.#listeners.add(listener);
  }

  /** The recorded step nearest to the position. */
  get index() {
    return Math.min(this.times.length - 1, Math.round(this.position));
  }

  /** The last recorded step. */
  get lastIndex() {
    return this.times.length - 1;
  }

  get time() {
    return this.times[this.index];
  }

  get endTime() {
    return this.times[this.lastIndex];
  }

  /** The first time after the start, from which on decades are counted. */
  get #unit() {
    return this.times[1] || 1;
  }

  /** How far the time shown is along the axis of time, from 0 to 1. */
  get part() {
    const [now, end] = [this.time / this.#unit, this.endTime / this.#unit];
    if (!end) return 0;
    return this.logarithmic ? Math.log1p(now) / Math.log1p(end) : now / end;
  }

  /**
   * Return the position at a part of the axis of time.
   * @param {number} part
   */
  positionOfPart(part) {
    const end = this.endTime / this.#unit;
    return positionAt(this.times, this.#unit * (this.logarithmic ? Math.expm1(part * Math.log1p(end)) : part * end));
  }

  /** @param {number} part of the axis of time */
  seekPart(part) {
    this.seek(Math.round(this.positionOfPart(part)));
  }

  /** How long it takes to play, in seconds. */
  get duration() {
    const end = this.endTime / this.#unit;
    return this.logarithmic ? (this.pace * Math.log1p(end)) / Math.LN10 : this.endTime / this.speed;
  }

  /**
   * Switch to another run. Playback goes on; otherwise the position becomes the one nearest to a time.
   * @param {Float64Array<ArrayBuffer>} times
   * @param {number} time
   */
  setTimes(times, time) {
    this.times = times;
    if (!this.playing || this.position > this.lastIndex) this.position = this.#indexAt(time);
    this.#notify();
  }

  /** @param {number} time */
  #indexAt(time) {
    return Math.round(positionAt(this.times, time));
  }

  /** The time at the position, which may lie between two recorded steps. */
  get timeNow() {
    const low = Math.min(Math.floor(this.position), this.lastIndex);
    const part = this.position - low;
    return part > 0 ? this.times[low] + part * (this.times[low + 1] - this.times[low]) : this.times[low];
  }

  /** @param {number} index */
  seek(index) {
    this.position = Math.min(this.lastIndex, Math.max(0, index));
    this.#notify();
  }

  /** @param {number} time */
  seekTime(time) {
    this.seek(this.#indexAt(time));
  }

  /**
   * Stop and move by some recorded steps.
   * @param {number} by
   */
  step(by) {
    this.playing = false;
    this.seek(this.index + by);
  }

  /** Play, from the start if the end has been reached; or pause. */
  toggle() {
    this.playing = !this.playing;
    if (this.playing && this.position >= this.lastIndex) this.position = 0;
    this.#lastFrame = 0;
    if (!this.playing) this.position = this.index;
    this.#notify();
  }

  pause() {
    if (this.playing) this.toggle();
  }

  /**
   * Advance to a frame.
   * @param {number} now in milliseconds
   */
  tick(now) {
    if (!this.playing) return;
    // No frames come while the page is hidden; it must not jump ahead afterwards.
    const elapsed = this.#lastFrame ? Math.min(100, now - this.#lastFrame) / 1000 : 0;
    this.#lastFrame = now;
    const [time, unit] = [this.timeNow, this.#unit];
    this.position = positionAt(
      this.times,
      this.logarithmic ? (time + unit) * 10 ** (elapsed / this.pace) - unit : time + elapsed * this.speed,
    );
    if (this.position >= this.lastIndex) this.playing = false;
    this.#notify();
  }

  #notify() {
    for (const listener of this.#listeners) listener();
  }
}

// In steps per second, and in seconds per decade.
const SPEEDS = [2, 5, 10, 20, 50, 100, 500];
const PACES = [10, 5, 3, 2, 1, 0.5];

/**
 * @param {number[]} values
 * @param {number} wanted
 */
function nearest(values, wanted) {
  return values.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
}

/** The buttons and the slider below the network. */
export class Transport {
  /**
   * @param {Clock} clock
   * @param {(chosen: {speed: number} | {pace: number}) => void} onSpeed
   */
  constructor(clock, onSpeed) {
    this.clock = clock;
    this.range = byId("time", HTMLInputElement);
    this.speed = byId("speed", HTMLSelectElement);
    byId("play").addEventListener("click", () => clock.toggle());
    byId("to-start").addEventListener("click", () => this.#seek(0));
    byId("to-end").addEventListener("click", () => this.#seek(clock.lastIndex));
    byId("step-back").addEventListener("click", () => clock.step(-1));
    byId("step-on").addEventListener("click", () => clock.step(1));
    this.range.addEventListener("input", () => {
      clock.playing = false;
      clock.seekPart(Number(this.range.value));
    });
    this.range.addEventListener("keydown", (event) => this.#onKey(event));
    this.speed.addEventListener("change", () => {
      const value = Number(this.speed.value);
      onSpeed(clock.logarithmic ? { pace: value } : { speed: value });
    });
    this.#listSpeeds();
    clock.onChange(() => this.#show());
  }

  /** @param {{speed: number, pace: number, logarithmic: boolean}} given */
  setSpeed(given) {
    const relisted = given.logarithmic !== this.clock.logarithmic;
    Object.assign(this.clock, given);
    if (relisted) this.#listSpeeds();
    const { speed, pace, logarithmic } = given;
    this.speed.value = String(logarithmic ? nearest(PACES, pace) : nearest(SPEEDS, speed));
    this.#show();
  }

  #listSpeeds() {
    const options = this.clock.logarithmic
      ? PACES.map((pace) => new Option(`${pace} s/decade`, String(pace)))
      : SPEEDS.map((speed) => new Option(`${speed} steps/s`, String(speed)));
    this.speed.replaceChildren(...options);
  }

  /**
   * Arrow keys go to the next recorded step, wherever that is along the slider.
   * @param {KeyboardEvent} event
   */
  #onKey(event) {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    this.clock.step(by);
    event.preventDefault();
  }

  /** @param {number} index */
  #seek(index) {
    this.clock.playing = false;
    this.clock.seek(index);
  }

  #show() {
    const { clock, range } = this;
    range.value = String(clock.part);
    range.style.setProperty("--part", String(clock.part));
    range.setAttribute("aria-valuetext", `step ${clock.time}`);
    const time = byId("time-shown");
    time.textContent = formatCount(clock.time);
    time.dataset.value = String(clock.time);
    byId("time-end").textContent = formatCount(clock.endTime);
    const play = byId("play");
    play.dataset.playing = String(clock.playing);
    play.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
  }
}

const TEXT_INPUTS = "input:not([type=range], [type=radio], [type=checkbox]), textarea";
const HAS_OWN_KEYS = "input, select, textarea, button, summary, a, dialog";
// Sliders use arrows, but not the space bar.
const HAS_OWN_SPACE = "input:not([type=range]), select, textarea, button, summary, a, dialog";

/**
 * Listen to the keyboard shortcuts, wherever the focused element does not use the keys itself.
 * @param {Clock} clock
 * @param {{undo: () => void, redo: () => void}} changes
 */
export function listenToKeys(clock, changes) {
  const help = byId("keys", HTMLDialogElement);
  byId("help").addEventListener("click", () => help.showModal());
  byId("keys-close").addEventListener("click", () => help.close());
  /** @type {Record<string, () => void>} */
  const shortcuts = {
    " ": () => clock.toggle(),
    ArrowLeft: () => clock.step(-1),
    ArrowRight: () => clock.step(1),
    Home: () => clock.step(-Infinity),
    End: () => clock.step(Infinity),
  };
  window.addEventListener("keydown", (event) => {
    if (event.altKey || !(event.target instanceof Element)) return;
    const typing = event.target.matches(TEXT_INPUTS);
    if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if ((key !== "z" && key !== "y") || typing) return;
      if (key === "y" || event.shiftKey) changes.redo();
      else changes.undo();
      event.preventDefault();
      return;
    }
    const taken = event.target.closest(event.key === " " ? HAS_OWN_SPACE : HAS_OWN_KEYS) !== null;
    if (event.key === "?" && !typing && !help.open) help.showModal();
    else if (shortcuts[event.key] && !taken) shortcuts[event.key]();
    else return;
    event.preventDefault();
  });
}
