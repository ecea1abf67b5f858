// The transport: play, pause, step, go to a time, and how fast.

import { byId } from "./elements.js";
import { count } from "./words.js";

/** @typedef {import("./clock.js").Clock} Clock */

// Steps in a second that can be chosen.
const SPEEDS = [2, 5, 10, 20, 50, 100, 500];

export class Transport {
  /** @param {Clock} clock @param {(speed: number) => void} onSpeed */
  constructor(clock, onSpeed) {
    this.clock = clock;
    this.range = /** @type {HTMLInputElement} */ (byId("time"));
    this.speed = /** @type {HTMLSelectElement} */ (byId("speed"));
    for (const speed of SPEEDS) this.speed.append(new Option(`${speed} steps/s`, String(speed)));
    byId("play").addEventListener("click", () => clock.toggle());
    byId("to-start").addEventListener("click", () => this.#go(0));
    byId("to-end").addEventListener("click", () => this.#go(clock.end));
    byId("step-back").addEventListener("click", () => clock.step(-1));
    byId("step-on").addEventListener("click", () => clock.step(1));
    this.range.addEventListener("input", () => this.#go(Number(this.range.value)));
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
  #go(index) {
    this.clock.playing = false;
    this.clock.seek(index);
  }

  #show() {
    const { clock, range } = this;
    range.max = String(clock.end);
    range.value = String(clock.index);
    range.style.setProperty("--part", String(clock.end ? clock.index / clock.end : 0));
    range.setAttribute("aria-valuetext", `step ${clock.time}`);
    const time = byId("time-shown");
    time.textContent = count(clock.time);
    time.dataset.value = String(clock.time);
    byId("time-end").textContent = count(clock.times[clock.end]);
    const play = byId("play");
    play.dataset.playing = String(clock.playing);
    play.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
  }
}
