// Playback: the time that is shown, the buttons and the slider that control it, and the keyboard shortcuts.

import { byId } from "./elements.js";
import { formatCount } from "./format.js";

/** The position in a run, in recorded steps. It may lie between two of them while playing. */
export class Clock {
  /** When the steps were recorded, in the model's time. */
  times = new Float64Array([0]);
  position = 0;
  playing = false;
  /** In the model's time per second. */
  speed = 20;
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
    let [low, high] = [0, this.lastIndex];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low > 0 && time - this.times[low - 1] < this.times[low] - time ? low - 1 : low;
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
    // Later steps of a long run are recorded farther apart.
    const low = Math.min(Math.floor(this.position), this.lastIndex - 1);
    const spacing = low >= 0 ? this.times[low + 1] - this.times[low] : 1;
    // No frames come while the page is hidden; it must not jump ahead afterwards.
    const elapsed = this.#lastFrame ? Math.min(100, now - this.#lastFrame) : 0;
    this.#lastFrame = now;
    this.position = Math.min(this.lastIndex, this.position + ((elapsed / 1000) * this.speed) / spacing);
    if (this.position >= this.lastIndex) this.playing = false;
    this.#notify();
  }

  #notify() {
    for (const listener of this.#listeners) listener();
  }
}

// In steps per second.
const SPEEDS = [2, 5, 10, 20, 50, 100, 500];

/** The buttons and the slider below the network. */
export class Transport {
  /**
   * @param {Clock} clock
   * @param {(speed: number) => void} onSpeed
   */
  constructor(clock, onSpeed) {
    this.clock = clock;
    this.range = byId("time", HTMLInputElement);
    this.speed = byId("speed", HTMLSelectElement);
    for (const speed of SPEEDS) this.speed.append(new Option(`${speed} steps/s`, String(speed)));
    byId("play").addEventListener("click", () => clock.toggle());
    byId("to-start").addEventListener("click", () => this.#seek(0));
    byId("to-end").addEventListener("click", () => this.#seek(clock.lastIndex));
    byId("step-back").addEventListener("click", () => clock.step(-1));
    byId("step-on").addEventListener("click", () => clock.step(1));
    this.range.addEventListener("input", () => this.#seek(Number(this.range.value)));
    this.speed.addEventListener("change", () => onSpeed(Number(this.speed.value)));
    clock.onChange(() => this.#show());
  }

  /** @param {number} speed */
  setSpeed(speed) {
    this.clock.speed = speed;
    const nearest = SPEEDS.reduce((best, one) => (Math.abs(one - speed) < Math.abs(best - speed) ? one : best));
    this.speed.value = String(nearest);
  }

  /** @param {number} index */
  #seek(index) {
    this.clock.playing = false;
    this.clock.seek(index);
  }

  #show() {
    const { clock, range } = this;
    range.max = String(clock.lastIndex);
    range.value = String(clock.index);
    range.style.setProperty("--part", String(clock.lastIndex ? clock.index / clock.lastIndex : 0));
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
 */
export function listenToKeys(clock) {
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
      if (event.key.toLowerCase() !== "z" || typing) return;
      if (event.shiftKey) history.forward();
      // Not beyond the first entry of the page, which would leave it.
      else if (history.state?.depth) history.back();
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
