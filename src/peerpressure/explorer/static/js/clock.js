// The time that is shown: a place among the recorded steps, moved by hand or by playing.

/** Where in a run the page looks; `at` counts recorded steps and may lie between two of them while playing. */
export class Clock {
  /** @type {Float64Array} */
  times = new Float64Array([0]);
  at = 0;
  playing = false;
  /** Steps of the model in a second. */
  speed = 20;
  #last = 0;
  /** @type {Set<() => void>} */
  #listeners = new Set();

  /** @param {() => void} listener */
  onChange(listener) {
    this.#listeners.add(listener);
  }

  /** The recorded step that is shown, as an index. */
  get index() {
    return Math.min(this.times.length - 1, Math.round(this.at));
  }

  /** The step of the model that is shown. */
  get time() {
    return this.times[this.index];
  }

  get end() {
    return this.times.length - 1;
  }

  /**
   * Take another run's steps, and stay as near as can be to the time that was shown.
   * @param {Float64Array} times @param {number} wanted
   */
  setTimes(times, wanted) {
    this.times = times;
    if (!this.playing || this.at > this.end) this.at = this.#indexOf(wanted);
    this.#tell();
  }

  /** @param {number} time */
  #indexOf(time) {
    let [low, high] = [0, this.end];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low > 0 && time - this.times[low - 1] < this.times[low] - time ? low - 1 : low;
  }

  /** Go to a recorded step. @param {number} index */
  seek(index) {
    this.at = Math.min(this.end, Math.max(0, index));
    this.#tell();
  }

  /** Go to a time of the model. @param {number} time */
  seekTime(time) {
    this.seek(this.#indexOf(time));
  }

  /** Go by so many recorded steps, and stop playing. @param {number} by */
  step(by) {
    this.playing = false;
    this.seek(this.index + by);
  }

  /** Play on, from the start where the end was reached; or pause. */
  toggle() {
    this.playing = !this.playing;
    if (this.playing && this.at >= this.end) this.at = 0;
    this.#last = 0;
    if (!this.playing) this.at = this.index;
    this.#tell();
  }

  pause() {
    if (this.playing) this.toggle();
  }

  /** Move on to the time of a frame. @param {number} now milliseconds */
  tick(now) {
    if (!this.playing) return;
    // Recorded steps may lie far apart, and farther apart later on.
    const low = Math.min(Math.floor(this.at), this.end - 1);
    const spacing = low >= 0 ? this.times[low + 1] - this.times[low] : 1;
    // A page that was out of sight must not jump ahead.
    const passed = this.#last ? Math.min(100, now - this.#last) : 0;
    this.#last = now;
    this.at = Math.min(this.end, this.at + ((passed / 1000) * this.speed) / spacing);
    if (this.at >= this.end) this.playing = false;
    this.#tell();
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}
