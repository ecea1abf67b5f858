// The guided tour: a panel beside what it is about, in which each step is done by the user or by a button. What was
// shown before comes back at the end.

import { byId, el, recall, store } from "./elements.js";
import { GUESSES, isOfTour, recoveryOn, STEPS, stateAt } from "./tour-steps.js";

/**
 * @typedef {import("./address.js").AddressWriter} AddressWriter
 * @typedef {import("./tour-steps.js").Memory} Memory
 * @typedef {import("./tour-steps.js").Page} Page
 * @typedef {import("./tour-steps.js").Step} Step
 * @typedef {import("./types.js").State} State
 *
 * @typedef {object} Actions
 * @property {AddressWriter} address
 * @property {(state: State) => void} open shows another state
 * @property {() => State} current
 */

/** Whether the panel lies beside the columns; below this width it is a sheet at the lower edge. */
const WIDE = "(min-width: 70rem)";

// Remembers that the tour was begun.
const TOURED = "peerpressure-toured";

const PLAYING_KEYS = [" ", "ArrowLeft", "ArrowRight", "Home", "End"];

/**
 * Return the number of a step in an address, 0 if the address is not one of the tour.
 * @param {string} fragment
 */
export function tourStep(fragment) {
  const match = /^#tour(?:=(\d+))?$/.exec(fragment);
  return match ? Math.min(STEPS.length, Math.max(1, Number(match[1] ?? 1))) : 0;
}

export class Tour {
  /** The step that is shown, −1 if there is no tour. */
  #index = -1;
  /** @type {Memory} */
  #memory = { guess: null, undefended: null };
  /** @type {{state: State, fragment: string} | null} */
  #before = null;
  /**
   * The states in which steps began.
   * @type {(State | undefined)[]}
   */
  #begun = [];
  /** Whether the step still has to be prepared, once the page has come to rest. */
  #entering = false;
  #done = false;
  #opening = false;

  /**
   * @param {Page} page
   * @param {Actions} actions
   */
  constructor(page, actions) {
    this.page = page;
    this.actions = actions;
    this.button = byId("tour-open");
    this.panel = this.#build();
    // The first thing to do for whoever has not been here.
    this.button.classList.toggle("primary", recall(TOURED) === null);
    this.button.addEventListener("click", () => (this.isActive ? this.end() : this.begin(1)));
    page.clock.onChange(() => this.#check());
    page.store.onView(() => this.#check());
    page.store.onScenario((now) => {
      if (this.isActive && !this.#opening && !isOfTour(now)) this.#leave();
    });
    new MutationObserver(() => this.#check()).observe(document.documentElement, {
      attributeFilter: ["data-busy", "data-runs", "data-observations"],
    });
    window.addEventListener("keydown", (event) => this.#onKey(event), { capture: true });
  }

  get isActive() {
    return this.#index >= 0;
  }

  /**
   * Begin at a step, counted from 1.
   * @param {number} number
   */
  begin(number) {
    if (!this.isActive) {
      const fragment = tourStep(location.hash) ? (history.state?.before ?? "") : location.hash;
      this.#before = { state: this.actions.current(), fragment };
      this.#memory = { guess: null, undefended: null };
      this.#begun = [];
    }
    this.actions.address.paused = true;
    store(TOURED, "yes");
    this.button.classList.remove("primary");
    this.button.setAttribute("aria-pressed", "true");
    this.#goTo(number - 1, true);
  }

  /**
   * Go where an address leads that the user has opened; return whether that is a step of a tour under way.
   * @param {string} fragment
   */
  follow(fragment) {
    const step = tourStep(fragment);
    if (this.isActive && step) this.begin(step);
    // The state of the address is about to be opened; until then nothing may be written there.
    else if (this.isActive) this.#close();
    return this.isActive;
  }

  /** End the tour and show what was shown before. */
  end() {
    if (!this.#before) return;
    const { state } = this.#before;
    this.#close();
    this.#open(state);
    this.actions.address.opened(state);
    this.button.focus();
  }

  /** End the tour, and keep what the user has opened meanwhile. */
  #leave() {
    if (!this.#before) return;
    const { state } = this.#before;
    this.#close();
    this.actions.address.opened(state);
  }

  #close() {
    const { before, ...rest } = history.state ?? {};
    // Whoever went back has left the entry of the tour.
    if (tourStep(location.hash)) history.replaceState(rest, "", this.#before?.fragment || location.pathname);
    this.page.clock.pause();
    this.#index = -1;
    this.#before = null;
    this.actions.address.paused = false;
    this.panel.hidden = true;
    this.button.setAttribute("aria-pressed", "false");
    this.#mark();
    this.#hide(false);
    document.documentElement.removeAttribute("data-tour");
  }

  /** @param {State} state */
  #open(state) {
    this.#opening = true;
    this.actions.open(state);
    this.#opening = false;
  }

  /**
   * @param {number} index of the step
   * @param {boolean} anew whether the page starts from the step's own state rather than from what is shown
   */
  #goTo(index, anew) {
    this.#index = index;
    const { id, secret } = STEPS[index];
    const fragment = `#tour=${index + 1}`;
    const { fragment: before } = /** @type {{fragment: string}} */ (this.#before);
    history.replaceState({ ...history.state, before }, "", fragment);
    // What is hidden must be so before anything new is shown.
    this.#hide(secret === true);
    if (anew) this.#open(this.#begun[index] ?? stateAt(id));
    else this.#begun[index] = this.actions.current();
    this.#done = false;
    this.#entering = true;
    this.#show();
    this.#check();
  }

  #restart() {
    if (STEPS[this.#index].id === "guess") this.#memory.guess = null;
    this.#goTo(this.#index, true);
  }

  /** Do the step, or go on if it is done. */
  #proceed() {
    const step = STEPS[this.#index];
    if (this.#entering) return;
    if (this.#index === STEPS.length - 1) this.end();
    else if (this.#done || !step.doIt) this.#goTo(this.#index + 1, false);
    else step.doIt(this.page, this.#memory);
  }

  /** Look whether the step is done, each time the page has come to rest. */
  #check() {
    const settled = !document.documentElement.hasAttribute("data-busy") && this.page.stage.run !== null;
    if (!this.isActive || !settled) return;
    const step = STEPS[this.#index];
    if (this.#entering) {
      this.#entering = false;
      step.enter(this.page);
      // What the step is about may be in another place now.
      this.#mark(step.about[0]);
      this.#check();
      return;
    }
    if (step.id === "observer") this.#memory.undefended = recoveryOn(this.page);
    const done = step.isDone(this.page, this.#memory);
    const text = done ? (step.result?.(this.page, this.#memory) ?? "") : "";
    const status = byId("tour-status");
    if (status.textContent !== text) status.textContent = text;
    if (done !== this.#done) {
      this.#done = done;
      if (step.reveals && done) this.#hide(false);
      // What was hidden has its size only once it has been drawn.
      const last = document.querySelector(step.about[step.about.length - 1] ?? "#tour");
      if (done) requestAnimationFrame(() => requestAnimationFrame(() => this.#bringIntoSight(last)));
      this.#showButtons();
    }
  }

  #build() {
    const button = (/** @type {string} */ id, /** @type {string} */ kind, /** @type {() => void} */ click) =>
      el("button", { type: "button", class: kind, id, click });
    const close = el(
      "button",
      { type: "button", class: "plain", "aria-label": "End the tour", click: () => this.end() },
      "×",
    );
    const panel = el(
      "section",
      { class: "tour", id: "tour", "aria-labelledby": "tour-heading", hidden: true },
      el("div", { class: "tour-top" }, el("p", { class: "blurb", id: "tour-count" }), close),
      el("h2", { id: "tour-heading", tabindex: -1, "aria-describedby": "tour-count tour-text" }),
      el("div", { id: "tour-text" }),
      el("p", { id: "tour-status", role: "status" }),
      el(
        "div",
        { class: "tour-buttons" },
        button("tour-back", "quiet", () => this.#goTo(this.#index - 1, true)),
        button("tour-next", "primary", () => this.#proceed()),
      ),
      el(
        "p",
        { class: "blurb tour-keys" },
        el("kbd", {}, "Ctrl"),
        " ",
        el("kbd", {}, "Enter"),
        " goes on, ",
        el("kbd", {}, "Esc"),
        " ends the tour.",
      ),
    );
    byId("message").after(panel);
    byId("tour-back").textContent = "Back";
    byId("tour-next").textContent = "Next";
    return panel;
  }

  #show() {
    const { title, place, about, text, id } = STEPS[this.#index];
    this.panel.hidden = false;
    this.panel.dataset.place = place;
    document.documentElement.dataset.tour = id;
    byId("tour-count").textContent = `Tour, step ${this.#index + 1} of ${STEPS.length}`;
    byId("tour-heading").textContent = title;
    const parts = typeof text === "function" ? text(this.page) : text;
    byId("tour-text").replaceChildren(...parts, ...(id === "guess" ? [this.#guesses()] : []));
    this.#showButtons();
    document.documentElement.style.setProperty("--tour-height", `${this.panel.offsetHeight}px`);
    this.#mark(about[0]);
    byId("tour-heading").focus({ preventScroll: true });
  }

  #showButtons() {
    const { act, doIt, id } = STEPS[this.#index];
    const last = this.#index === STEPS.length - 1;
    const open = act ?? (doIt ? "Do it for me" : "Next");
    const next = byId("tour-next", HTMLButtonElement);
    next.textContent = last ? "End the tour" : this.#done ? (id === "guess" ? "See what happens" : "Next") : open;
    next.dataset.done = String(this.#done);
    byId("tour-back").hidden = this.#index === 0;
  }

  #guesses() {
    const name = "tour-guess";
    const rows = GUESSES.map(({ id, title }) => {
      const choose = () => {
        this.#memory.guess = id;
        this.#check();
      };
      const checked = this.#memory.guess === id;
      return el("label", {}, el("input", { type: "radio", name, value: id, checked, change: choose }), title);
    });
    return el("fieldset", { class: "tour-guesses" }, el("legend", { class: "unseen" }, "Your guess"), ...rows);
  }

  /**
   * Outline where the user acts, and bring that into sight.
   * @param {string} [selector]
   */
  #mark(selector) {
    document.querySelector(".tour-about")?.classList.remove("tour-about");
    const place = selector ? document.querySelector(selector) : null;
    place?.classList.add("tour-about");
    place?.closest("details")?.setAttribute("open", "");
    this.#bringIntoSight(place);
  }

  /** @param {Element | null | undefined} place */
  #bringIntoSight(place) {
    // On a narrow screen the panel covers the lower part of the window.
    const wide = place?.closest(".controls") ? "center" : "nearest";
    place?.scrollIntoView({ block: window.matchMedia(WIDE).matches ? wide : "start", behavior: "instant" });
  }

  /** @param {boolean} on whether the outcome is hidden */
  #hide(on) {
    document.documentElement.toggleAttribute("data-secret", on);
    /** @type {HTMLElement} */ (document.querySelector(".reading")).inert = on;
    /** @type {HTMLElement} */ (document.querySelector(".transport")).inert = on;
  }

  /**
   * Whether a key would play the run, or move through it, while the outcome is hidden.
   * @param {KeyboardEvent} event
   */
  #givesAway({ key, target }) {
    if (!document.documentElement.hasAttribute("data-secret") || !(target instanceof Element)) return false;
    // Sliders use arrows, but not the space bar.
    const fields = key === " " ? "input:not([type=range])" : "input";
    const isUsed = target.closest(`${fields}, select, textarea, button, summary, a, canvas`) !== null;
    return !isUsed && PLAYING_KEYS.includes(key);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (!this.isActive || document.querySelector("dialog[open]")) return;
    const command = event.ctrlKey || event.metaKey;
    const typing = event.target instanceof HTMLInputElement && event.target.matches("[type=number], [type=text]");
    // The first press of Escape closes a menu, or lets go of an agent.
    const held = !byId("share-menu").hidden || (event.target === this.page.stage.canvas && this.page.stage.cursor >= 0);
    if (event.key === "Escape" && !held) this.end();
    else if (event.key === "Enter" && command) this.#proceed();
    else if (event.key.toLowerCase() === "z" && command && !event.shiftKey && !typing) this.#restart();
    else if (!this.#givesAway(event)) return;
    event.preventDefault();
    event.stopPropagation();
  }
}
