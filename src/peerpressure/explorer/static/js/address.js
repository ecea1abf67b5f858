// The state in the page's address, and its entries in the browser's history.

import { ask, Refusal } from "./api.js";
import { encodeState, inflated } from "./fragment.js";
import { showMessage } from "./messages.js";
import { checkedView } from "./store.js";

/**
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").UncheckedState} UncheckedState
 */

/**
 * Return the state in a fragment; throws if there is none. The scenario still has to be checked by the server.
 * @param {string} fragment
 * @returns {Promise<State>}
 */
export async function decodeState(fragment) {
  const state = await inflated(fragment);
  const { scenario, view, other = null } = state ?? {};
  for (const one of other === null ? [scenario] : [scenario, other]) {
    if (typeof one?.network !== "object") throw new Error("the address holds no scenario");
  }
  return { scenario, view: checkedView(view), other };
}

/**
 * Return the state in the address, or the default if it holds none that can be used.
 * @param {UncheckedState} fallback
 * @returns {Promise<State>}
 */
export async function initialState(fallback) {
  const first = { scenario: fallback.scenario, view: checkedView(fallback.view), other: fallback.other };
  if (location.hash.length < 2) return first;
  try {
    const state = await decodeState(location.hash);
    // The controls can show every scenario that the server accepts.
    for (const scenario of [state.scenario, state.other]) if (scenario) await ask("/api/check", { scenario });
    return state;
  } catch (error) {
    const reason = error instanceof Refusal ? ` ${error.message}` : "";
    const text = "The address contains no valid scenario, so the page opened with the default one.";
    showMessage(`${text}${reason}`, "warn");
    return first;
  }
}

// While one of these is held, a change is not settled yet.
const HELD = "input:active, canvas:active";

/**
 * Return what an entry of the history stands for, as text: all that was chosen, but not the time shown or its speed.
 * @param {State} state
 */
function entryOf({ scenario, view: { time, speed, pace, ...chosen }, other = null }) {
  return JSON.stringify([scenario, chosen, other]);
}

/** Keeps the address up to date with the state, with an entry in the browser's history for each settled change. */
export class AddressWriter {
  #timer = 0;
  /**
   * Null while another address is being opened.
   * @type {string | null}
   */
  #written = location.hash;
  /** What the current entry stands for. */
  #entry = "";
  /** The depth of the last entry of this page, as far as it is known; beyond it may be other pages. */
  #last = AddressWriter.depth;

  /**
   * @param {() => State} chosen
   * @param {() => State} shown the same, with the time and with what the page chooses by itself
   */
  constructor(chosen, shown) {
    this.chosen = chosen;
    this.shown = shown;
    this.#entry = entryOf(chosen());
  }

  /** The number of entries of this page before the current one. */
  static get depth() {
    return Number(history.state?.depth ?? 0);
  }

  get canUndo() {
    return AddressWriter.depth > 0;
  }

  get canRedo() {
    return AddressWriter.depth < this.#last;
  }

  /** Go back, but not beyond the first entry of the page, which would leave it. */
  undo() {
    if (this.canUndo) history.back();
  }

  redo() {
    if (this.canRedo) history.forward();
  }

  /** Write nothing until the state in the address has been opened. */
  opening() {
    window.clearTimeout(this.#timer);
    this.#written = null;
  }

  /**
   * Take note of a state that was opened from an entry of the history.
   * @param {State} state
   */
  opened(state) {
    this.opening();
    this.#entry = entryOf(state);
    this.#written = location.hash;
  }

  /** Write the address shortly after the last change: browsers limit how often a page may do so. */
  schedule() {
    window.clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.write(), 250);
  }

  async write() {
    if (document.querySelector(HELD)) {
      this.schedule();
      return;
    }
    const entry = entryOf(this.chosen());
    const fragment = await encodeState(this.shown());
    // The user may have gone to another entry, whose state is about to be opened.
    if (location.hash !== this.#written) return;
    if (fragment === null) {
      showMessage("This scenario is too large for an address. Download it as TOML to share it.");
    } else if (fragment !== this.#written) this.#enter(entry, fragment);
    else this.#entry = entry;
  }

  /**
   * @param {string} entry
   * @param {string} fragment
   */
  #enter(entry, fragment) {
    // A frame without an address of its own, as in a notebook, cannot have a fragment.
    if (location.protocol === "about:") return;
    const { depth } = AddressWriter;
    this.#written = fragment;
    // The time belongs to the entry that it is looked at in.
    if (entry === this.#entry) history.replaceState({ depth }, "", fragment);
    else {
      history.pushState({ depth: depth + 1 }, "", fragment);
      this.#last = depth + 1;
    }
    this.#entry = entry;
    this.onEntry?.();
  }

  /**
   * Called when the current entry has changed.
   * @type {(() => void) | undefined}
   */
  onEntry;

  /**
   * Whether a fragment was written here, rather than opened by the user.
   * @param {string} fragment
   */
  wrote(fragment) {
    return fragment === this.#written;
  }
}
