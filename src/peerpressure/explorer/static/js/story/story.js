// The page of the story: a guess opens each toy, its control redraws it, and a link leads to the same in the explorer.

import { currentTheme, opinionScale } from "../colour.js";
import { byId, el } from "../elements.js";
import { encodeState } from "../fragment.js";
import { draw, isStretched } from "./drawing.js";
import { followMotion, tween } from "./motion.js";
import { followPresentation } from "./slides.js";
import { facts, toysOf } from "./toys.js";

/**
 * @typedef {import("./toys.js").Toy} Toy
 * @typedef {import("./toys.js").Shown} Shown
 * @typedef {import("./toys.js").Row} Row
 * @typedef {import("./drawing.js").Look} Look
 */

const EXPLORER = document.documentElement.dataset.explorer ?? "";
const print = window.matchMedia("print");

/**
 * How the picture of each toy looks: heights in pixels, and what is seen before the guess.
 * @type {Record<string, Partial<Look> & { before: Partial<Look> }>}
 */
const LOOKS = {
  friends: { row: 30, names: "left", before: {} },
  steady: { row: 9, before: { words: false } },
  agreement: { row: 9, history: 150, before: { words: false } },
  lifted: { row: 9, before: {} },
  rooms: { row: 24, rooms: 3, history: 190, before: {} },
  counting: { row: 24, names: "left", circle: 170, before: {} },
  unmasking: { row: 9, names: "left", beyond: 15, before: { wishes: false } },
  hiding: { row: 30, names: "above", before: { words: false } },
};

const KEY = {
  wish: "hollow: what they want",
  said: "full: what they say",
  next: "pale: a day later",
  path: "line: one person, day by day from top to bottom",
  told: "bar: what a listener works out, on a line that shows how far off it may be (19 lines in 20 reach the truth)",
};

const EXPLORE = el("code", {}, "peerpressure explore");

/** Return the first of its kind within a section, which story.html must contain. */
function part(/** @type {Element} */ section, /** @type {string} */ selector) {
  const found = section.querySelector(selector);
  if (!found) throw new Error(`${section.id} has no ${selector}`);
  return /** @type {HTMLElement} */ (found);
}

/** One toy on the page. */
class Play {
  guess = "";
  /** @type {Row[]} */
  #rows = [];

  /**
   * @param {Toy} toy
   * @param {number} index among all toys
   */
  constructor(toy, index) {
    this.toy = toy;
    this.number = index + 1;
    this.section = byId(toy.id);
    this.title = part(this.section, "h2").textContent ?? "";
    this.inputs = [...this.section.querySelectorAll("input")];
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.svg.setAttribute("role", "img");
    this.answer = part(this.section, ".answer");
    this.same = el("details", { class: "same" });
    this.key = el("p", { class: "key", "aria-hidden": "true" });
    this.output = el("output", { class: "setting" });
    this.code = el("code");
    this.printed = el("samp");
    this.link = el("a", { target: "_blank", rel: "noopener" }, "open this in the explorer");
    this.#build();
    this.value = toy.first;
  }

  get value() {
    const [first] = this.inputs;
    if (first.type === "checkbox") return Number(first.checked);
    const chosen = Number((this.inputs.find((input) => input.checked) ?? first).value);
    return this.toy.stops?.[chosen] ?? chosen;
  }

  set value(value) {
    const [first] = this.inputs;
    if (first.type === "range") first.value = String(this.toy.stops?.indexOf(value) ?? value);
    else if (first.type === "checkbox") first.checked = value === 1;
    else for (const input of this.inputs) input.checked = Number(input.value) === value;
  }

  #build() {
    const { section } = this;
    const heading = part(section, "h2");
    heading.id = `${section.id}-title`;
    heading.dataset.number = String(this.number);
    section.setAttribute("aria-labelledby", `${section.id}-title`);
    part(section, ".stage").append(this.svg, this.key);
    // A box or a choice says by itself what is set.
    if (this.inputs[0].type === "range") part(section, ".control").append(this.output);
    const label = `Python of ${this.title}`;
    this.same.append(
      el("summary", {}, "The same in Python, and in the explorer"),
      el("pre", { tabindex: "0", role: "region", "aria-label": label }, this.code),
      el("p", {}, "It prints ", this.printed, "."),
      el(
        "p",
        {},
        "While ",
        EXPLORE.cloneNode(true),
        " runs on this computer, you can ",
        this.link,
        " with the same numbers and the same seed.",
      ),
    );
    this.same.addEventListener("toggle", () => this.#tell());
    part(section, ".play").append(this.same);
    for (const button of section.querySelectorAll("button[data-guess]")) {
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => this.take(String(/** @type {HTMLElement} */ (button).dataset.guess)));
    }
    for (const input of this.inputs) {
      input.addEventListener("input", () => this.show());
      // What is announced while a slider moves would never come to an end.
      input.addEventListener("change", () => this.announce());
    }
  }

  /** Take a guess, and show what is right. */
  take(/** @type {string} */ guess) {
    const isFirst = this.guess === "";
    this.guess = guess;
    const { right } = this.toy.show(this.value);
    for (const button of this.section.querySelectorAll("button[data-guess]")) {
      const { dataset } = /** @type {HTMLElement} */ (button);
      button.setAttribute("aria-pressed", String(dataset.guess === guess));
      dataset.state = dataset.guess === right ? "right" : dataset.guess === guess ? "wrong" : "other";
    }
    this.section.dataset.guessed = guess === right ? "right" : "wrong";
    const { after } = this.toy;
    if (isFirst && after !== undefined) this.value = after;
    if (isFirst && this.toy.id === "agreement") this.#playDays();
    else this.show();
    this.announce();
  }

  /** Let the days go by. */
  #playDays() {
    const { stops = [] } = this.toy;
    tween(4000, (part) => {
      this.value = stops[Math.round((stops.length - 1) * part)];
      this.show(false);
    });
  }

  announce() {
    byId("live").textContent = this.section.dataset.guessed ? (this.answer.textContent ?? "") : "";
  }

  /** The whole answer, with what the guess was worth. */
  #sentences(/** @type {Shown} */ shown) {
    const right = part(this.section, `[data-guess="${shown.right}"]`).textContent;
    if (!this.guess) return [`${right}.`, ...shown.answer];
    const guess = part(this.section, `[data-guess="${this.guess}"]`).textContent;
    const first =
      this.guess === shown.right ? `You were right: “${right}”.` : `You guessed “${guess}”. It is “${right}”.`;
    return [first, ...shown.answer];
  }

  /** Show the toy as its control stands; what moves goes there from where it was. */
  show(moves = true) {
    const { toy, value } = this;
    const shown = toy.show(value);
    this.output.value = toy.words(value);
    for (const input of this.inputs) if (input.type === "range") input.setAttribute("aria-valuetext", toy.words(value));
    this.answer.replaceChildren(...this.#sentences(shown).map((one) => el("p", {}, one)));
    this.answer.append(...tableOf(shown), ...metersOf(shown));
    this.section.dataset.printed = shown.printed;
    this.#tell();
    const from = this.#rows;
    this.#rows = shown.rows;
    if (!moves || from.length === 0 || !this.section.dataset.guessed) this.paint(shown);
    else tween(450, (part) => this.paint({ ...shown, rows: between(from, shown.rows, part) }));
  }

  /** Write the same in Python, and the link to it, where they are looked at. */
  async #tell() {
    if (!this.same.open) return;
    const { toy, value } = this;
    this.code.textContent = toy.python(value);
    this.printed.textContent = toy.show(value).printed.replace("\n", ", then ");
    const fragment = await encodeState({ scenario: toy.scenario(value), view: toy.view ?? {}, other: null });
    if (value === this.value && fragment) this.link.href = EXPLORER + fragment;
  }

  /** @param {Shown} shown */
  paint(shown = this.toy.show(this.value)) {
    const { before, ...look } = LOOKS[this.toy.id];
    if (this.toy.stops) this.inputs[0].max = String(this.toy.stops.length - 1);
    const told = this.section.dataset.guessed || print.matches ? {} : before;
    const whole = { names: /** @type {const} */ ("none"), wishes: true, words: true, row: 9, ...look, ...told };
    const hides = told === before;
    const rows = hides ? this.#beforeGuess(shown.rows) : shown.rows;
    draw(this.svg, { ...shown, rows, mark: hides ? undefined : shown.mark }, { ...whole, ...surface(this.svg) });
    const words = whole.words && rows.some((row) => Number.isFinite(row.said));
    const has = {
      wish: whole.wishes,
      said: words,
      next: words && rows[0].next !== undefined,
      path: whole.words && whole.history !== undefined,
      told: rows[0].told !== undefined,
    };
    const kinds = /** @type {(keyof typeof KEY)[]} */ (Object.keys(KEY));
    const added = {
      said: shown.day === undefined ? "" : ` on day ${shown.day}`,
      path: shown.paths && isStretched(shown.paths) ? " (early days are stretched)" : "",
    };
    this.key.replaceChildren(
      ...kinds
        .filter((kind) => has[kind])
        .map((kind) =>
          el("span", { class: kind }, KEY[kind] + (kind === "said" || kind === "path" ? added[kind] : "")),
        ),
    );
    this.svg.setAttribute("aria-label", [this.title, ...(hides ? [] : shown.answer)].join(". "));
  }

  /** The rows without what must not be seen before the guess, and in no telling order. @returns {Row[]} */
  #beforeGuess(/** @type {Row[]} */ given) {
    const rows = given.map(({ told: _told, sure: _sure, ...row }, k) => {
      return this.toy.id === "friends" && k === 0 ? { ...row, said: Number.NaN } : row;
    });
    return rows.sort((a, b) => (a.member ?? 0) - (b.member ?? 0));
  }
}

/** A calculation, line by line. */
function tableOf(/** @type {Shown} */ { sum = [] }) {
  if (sum.length === 0) return [];
  const rows = sum.map(([words, number]) => el("tr", {}, el("th", { scope: "row" }, words), el("td", {}, number)));
  return [el("table", { class: "sum" }, el("tbody", {}, ...rows))];
}

/** What is spent of a budget. */
function metersOf(/** @type {Shown} */ { budget = [] }) {
  return budget.map(([on, share, words]) => {
    const meter = el("meter", { min: "0", max: "1", high: "0.999", optimum: "0", value: String(Math.min(1, share)) });
    return el("label", { class: "budget" }, `Spent if ${on} `, meter, ` ${words}`);
  });
}

/** The width and the colours of a picture. */
function surface(/** @type {SVGElement} */ svg) {
  const width = Math.round(svg.parentElement?.clientWidth || 640);
  return { width, scale: opinionScale(print.matches ? "light" : currentTheme()) };
}

/** Rows on their way. @returns {Row[]} */
function between(/** @type {Row[]} */ from, /** @type {Row[]} */ to, /** @type {number} */ part) {
  const along = (/** @type {number | undefined} */ a, /** @type {number | undefined} */ b) => {
    return a === undefined || b === undefined || !Number.isFinite(a) ? b : a + part * (b - a);
  };
  return to.map((row, k) => ({
    ...row,
    wish: along(from[k].wish, row.wish) ?? row.wish,
    said: along(from[k].said, row.said) ?? row.said,
    told: along(from[k].told ?? from[k].said, row.told),
    sure: along(from[k].sure, row.sure),
  }));
}

/** The picture of the opening: words lie in one line, and wishes are spread. */
function cover(/** @type {Toy} */ toy) {
  const svg = /** @type {SVGElement} */ (/** @type {unknown} */ (byId("cover")));
  const { rows } = toy.show(toy.first);
  const look = { names: /** @type {const} */ ("none"), wishes: true, words: true, row: 9, plain: true };
  const paint = (part = 1) => {
    const sorted = rows.map((row) => ({ ...row, said: row.wish + part * (row.said - row.wish) }));
    draw(svg, { ...toy.show(toy.first), mark: undefined, rows: sorted }, { ...look, ...surface(svg) });
  };
  tween(2500, paint);
  return paint;
}

function start() {
  const data = JSON.parse(byId("club").textContent ?? "");
  const toys = toysOf(data);
  for (const place of document.querySelectorAll("[data-fill]")) {
    place.textContent = String(
      facts[/** @type {keyof typeof facts} */ (/** @type {HTMLElement} */ (place).dataset.fill)],
    );
  }
  document.documentElement.dataset.scripted = "";
  followMotion();
  const plays = toys.map((toy, k) => new Play(toy, k));
  byId("contents").append(...plays.map(({ toy, title }) => el("li", {}, el("a", { href: `#${toy.id}` }, title))));
  const paintCover = cover(toys[2]);
  for (const play of plays) play.show();
  const repaint = () => {
    paintCover();
    for (const play of plays) play.paint();
  };
  for (const query of [print, window.matchMedia("(prefers-color-scheme: dark)")])
    query.addEventListener("change", repaint);
  window.addEventListener("resize", repaint);
  followPresentation(repaint);
  document.documentElement.dataset.ready = "";
}

start();
