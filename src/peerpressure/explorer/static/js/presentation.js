// Presentation: the network and one curve in large type, for a lecture. Keys do everything, and Escape leaves.

import { byId } from "./elements.js";

/**
 * @typedef {import("./store.js").Store} Store
 *
 * @typedef {object} Presented what a presentation needs to know of the page
 * @property {Store} store
 * @property {() => boolean} logTime whether time is shown on a logarithmic axis
 * @property {() => void} restyle draws canvases again, whose type has another size
 */

/** The plots, by the keys that show them. */
const CURVES = ["opinions", "recovered", "spread", "max_distance"];
const TEXT_INPUTS = "input:not([type=range], [type=radio], [type=checkbox]), textarea, select, dialog[open] *";

export class Presentation {
  #curve = CURVES[0];
  /**
   * What had the focus before.
   * @type {Element | null}
   */
  #before = null;
  /** Plots that fill their place only here. */
  #stretched = CURVES.map((name) => byId(`plot-${name}`)).filter((plot) => !plot.classList.contains("tall"));

  /** @param {Presented} page */
  constructor(page) {
    this.page = page;
    byId("present").addEventListener("click", () => this.enter());
    byId("presentation-leave").addEventListener("click", () => this.leave());
    window.addEventListener("keydown", (event) => this.#onKey(event), { capture: true });
    // The browser keeps Escape to itself while the page fills the screen.
    document.addEventListener("fullscreenchange", () => {
      if (!document.fullscreenElement) this.leave();
    });
  }

  get isOn() {
    return "presenting" in document.documentElement.dataset;
  }

  enter() {
    if (this.isOn) return;
    this.#before = document.activeElement;
    this.#show(this.#curve);
    byId("presentation").hidden = false;
    // No control is in sight, and the keys are the page's own.
    byId("presentation").focus();
    // Refused in a frame and where nobody has clicked; the window is large enough then.
    document.documentElement.requestFullscreen?.().catch(() => {});
  }

  leave() {
    if (!this.isOn) return;
    delete document.documentElement.dataset.presenting;
    byId("presentation").hidden = true;
    for (const plot of this.#stretched) plot.classList.remove("tall");
    this.page.restyle();
    if (document.fullscreenElement) document.exitFullscreen();
    if (this.#before instanceof HTMLElement) this.#before.focus();
  }

  /** @param {string} curve */
  #show(curve) {
    this.#curve = curve;
    document.documentElement.dataset.presenting = curve;
    for (const plot of this.#stretched) plot.classList.add("tall");
    this.page.store.setView({ tab: "curves" });
    this.page.restyle();
  }

  #swapColours() {
    const { store } = this.page;
    store.setView({ colour: store.view.colour === "hidden" ? "public" : "hidden" });
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof Element)) return;
    if (event.target.matches(TEXT_INPUTS)) return;
    const key = event.key.toLowerCase();
    /** @type {Record<string, () => void>} */
    const actions = this.isOn
      ? {
          escape: () => this.leave(),
          p: () => this.leave(),
          h: () => this.#swapColours(),
          l: () => this.page.store.setView({ logTime: !this.page.logTime() }),
          ...Object.fromEntries(CURVES.map((curve, k) => [String(k + 1), () => this.#show(curve)])),
        }
      : { p: () => this.enter() };
    if (!actions[key]) return;
    actions[key]();
    event.preventDefault();
    event.stopPropagation();
  }
}
