// Peer pressure as it is typed: its curve, its name and what will come of it.

import { token } from "./colour.js";
import { byId } from "./elements.js";
import { Plot } from "./plot.js";
import { indexed } from "./words.js";

export class PressurePanel {
  /** @type {any} */
  #answer = null;

  constructor() {
    this.plot = new Plot(byId("plot-pressure"), { height: 112, label: "Peer pressure over time" });
    this.text = byId("pressure-text");
    this.words = byId("pressure-words");
  }

  /** @param {{text: string, times: number[], values: (number | null)[], outcome: string, words: string}} answer */
  show(answer) {
    this.#answer = answer;
    this.text.replaceChildren(indexed(answer.text));
    this.words.textContent = answer.words;
    this.words.dataset.outcome = answer.outcome;
    this.draw();
  }

  draw() {
    if (!this.#answer) return;
    const { times, values } = this.#answer;
    const finite = values.filter((/** @type {number | null} */ value) => value !== null && Number.isFinite(value));
    this.plot.show({
      x: times,
      low: 0,
      high: Math.max(...finite, 0),
      lines: [{ values, colour: token("pressure"), width: 2 }],
    });
  }

  restyle() {
    this.draw();
    this.plot.restyle();
  }
}
