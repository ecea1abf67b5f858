// What the page's modules find in a browser, as little of it as they use: a clock that goes on when it is told to,
// elements that hold text and attributes, canvases on which nothing is seen, and a server that answers by hand.

/** A clock, with the timers and frames that wait for it. */
export class FakeClock {
  now = 0;
  #waiting = new Map();
  #frames = new Map();
  #count = 0;

  setTimeout = (work, delay = 0) => {
    this.#count += 1;
    this.#waiting.set(this.#count, { due: this.now + delay, work });
    return this.#count;
  };

  clearTimeout = (number) => {
    this.#waiting.delete(number);
  };

  requestAnimationFrame = (work) => {
    this.#count += 1;
    this.#frames.set(this.#count, work);
    return this.#count;
  };

  /** Whether anything waits. */
  get isBusy() {
    return this.#waiting.size + this.#frames.size > 0;
  }

  /** Forget all that waits. */
  clear() {
    this.#waiting.clear();
    this.#frames.clear();
  }

  /** Draw a frame. */
  frame() {
    const frames = [...this.#frames.values()];
    this.#frames.clear();
    for (const work of frames) work(this.now);
  }

  /** Let milliseconds pass, with all that was waiting for them, one after the other. */
  async pass(milliseconds) {
    const end = this.now + milliseconds;
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#waiting.delete(next.number);
      this.now = Math.max(this.now, next.due);
      next.work();
      await settled();
    }
    this.now = end;
  }

  #next(end) {
    const due = [...this.#waiting].map(([number, one]) => ({ number, ...one })).filter((one) => one.due <= end);
    return due.sort((a, b) => a.due - b.due || a.number - b.number)[0];
  }
}

/** Wait until no promise goes on by itself any more. */
export function settled() {
  return new Promise((done) => setImmediate(done));
}

/** Return a function for random numbers from 0 to 1, the same ones for the same seed. */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const MARKUP = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** An element without a place or a size. Its context, if it is a canvas, takes everything and shows nothing. */
export class FakeElement extends EventTarget {
  children = [];
  attributes = new Map();
  dataset = {};
  style = { setProperty() {} };
  hidden = false;
  value = "";
  clientWidth = 300;
  clientHeight = 150;

  constructor(tag = "div") {
    super();
    this.tag = tag;
    const names = new Set();
    this.classList = {
      add: (name) => names.add(name),
      remove: (name) => names.delete(name),
      contains: (name) => names.has(name),
      toggle: (name, on) => (on ? names.add(name) : names.delete(name)),
    };
  }

  append(...children) {
    for (const child of children) {
      this.children.push(child);
      if (child instanceof FakeElement) child.parent = this;
    }
  }

  appendChild(child) {
    this.append(child);
    return child;
  }

  insertBefore(child) {
    this.append(child);
    return child;
  }

  replaceChildren(...children) {
    this.children = [];
    this.append(...children);
  }

  focus() {}

  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((child) => child !== this);
  }

  setAttribute(name, value) {
    this.attributes.set(name, value);
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  removeAttribute(name) {
    this.attributes.delete(name);
  }

  toggleAttribute(name, on) {
    if (on) this.attributes.set(name, "");
    else this.attributes.delete(name);
  }

  /** The first child of a class, as in ":scope > .reason". */
  querySelector(selector) {
    const name = selector.split(".").at(-1);
    return this.children.find((child) => child.getAttribute?.("class") === name) ?? null;
  }

  /** No element is in one that matches. */
  closest() {
    return null;
  }

  getBoundingClientRect() {
    return { left: 0, top: 0, right: 300, bottom: 150, width: 300, height: 150 };
  }

  get textContent() {
    return this.children.map((child) => (typeof child === "string" ? child : child.textContent)).join("");
  }

  set textContent(text) {
    this.children = [String(text)];
  }

  get innerHTML() {
    return this.children
      .map((child) => (typeof child === "string" ? child.replace(/[&<>]/g, (one) => MARKUP[one]) : child.outerHTML))
      .join("");
  }

  get outerHTML() {
    return this.tag === "fragment" ? this.innerHTML : `<${this.tag}>${this.innerHTML}</${this.tag}>`;
  }

  /** The texts that were written on a canvas. */
  written = [];

  getContext() {
    const { written } = this;
    const known = { canvas: this, measureText: (text) => ({ width: 6 * text.length }) };
    return new Proxy(known, {
      get: (_, name) => known[name] ?? ((...given) => name === "fillText" && written.push(given[0])),
      set: () => true,
    });
  }
}

/** A document in which every id has an element, made when it is first asked for. */
export class FakeDocument extends EventTarget {
  documentElement = new FakeElement("html");
  body = new FakeElement("body");
  activeElement = null;
  /** The elements that `querySelectorAll` returns, whatever it is asked for. */
  panels = [];
  #byId = new Map();

  createElement = (tag) => new FakeElement(tag);
  createDocumentFragment = () => new FakeElement("fragment");

  getElementById(id) {
    if (!this.#byId.has(id)) this.#byId.set(id, new FakeElement());
    return this.#byId.get(id);
  }

  /** Forget all elements, with those who listen to them. */
  clear() {
    this.#byId.clear();
  }

  querySelector() {
    return null;
  }

  querySelectorAll() {
    return this.panels;
  }
}

/** Let modules find a browser: they are imported after this. */
export function setUpPage({ clock = new FakeClock(), hash = "" } = {}) {
  const document = new FakeDocument();
  const entries = [{ state: null, hash }];
  let entry = 0;
  const history = {
    get state() {
      return entries[entry].state;
    },
    replaceState(state, _, fragment) {
      entries[entry] = { state, hash: fragment };
    },
    pushState(state, _, fragment) {
      entries.splice(entry + 1, Infinity, { state, hash: fragment });
      entry += 1;
    },
    back: () => {
      entry -= 1;
    },
    forward: () => {
      entry += 1;
    },
  };
  const location = {
    protocol: "http:",
    get hash() {
      return entries[entry].hash;
    },
  };
  const anything = { [Symbol.hasInstance]: () => true };
  const browser = {
    document,
    history,
    location,
    performance: { now: () => clock.now },
    requestAnimationFrame: clock.requestAnimationFrame,
    devicePixelRatio: 1,
    addEventListener() {},
    dispatchEvent() {},
    matchMedia: () => ({ matches: false, addEventListener() {} }),
    getComputedStyle: () => ({ color: "black", fontSize: "16px", fontFamily: "sans" }),
    ResizeObserver: class {
      observe() {}
    },
    Path2D: class extends FakeElement {
      moveTo() {}
      lineTo() {}
      rect() {}
      addPath() {}
      closePath() {}
    },
    HTMLElement: FakeElement,
    HTMLCanvasElement: anything,
    HTMLInputElement: anything,
    HTMLSelectElement: anything,
  };
  for (const [name, value] of Object.entries(browser)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  // The tests' own timers stay real.
  globalThis.window = Object.assign(Object.create(globalThis), {
    setTimeout: clock.setTimeout,
    clearTimeout: clock.clearTimeout,
  });
  return { clock, document, entries };
}

/** @typedef {"answer" | "mistake" | "refuse" | "too late" | "superseded" | "busy" | "cut short" | "gone"} Outcome */

/** What takes the place of an answer: its status and its text. */
export const REFUSALS = {
  refuse: [422, "agents must be few, got many; take fewer"],
  "too late": [422, "this took longer than 20 s; take fewer agents"],
  superseded: [409, "the question was replaced by a newer one, or the explorer is about to end; ask again"],
  busy: [429, "at most 64 requests may wait for an answer at a time, got one more; try again in a moment"],
};
/** The same for a mistake at a control, with the key of the scenario. */
export const MISTAKE = [422, "the unknown name 'tt'; did you mean t?", "pressure.formula"];
/** Those after which the page asks again by itself. */
export const LOST = ["superseded", "busy", "cut short", "gone"];

/** A server that keeps every question until it is told what becomes of it. */
export class FakeServer {
  /** Questions that wait for an answer. */
  waiting = [];
  /** All questions, with what became of them, and the one to the same route that was last answered before. */
  asked = [];
  #answered = new Map();

  fetch = (path, { body, signal, headers } = {}) =>
    new Promise((resolve, reject) => {
      const name = path.replace("/api/", "");
      const other = headers?.["X-Tab"].endsWith("-a") ?? false;
      const known = this.#answered.get(`${name} ${other}`);
      const question = { name, other, body: body && JSON.parse(body), known, outcome: null, resolve, reject };
      this.asked.push(question);
      this.waiting.push(question);
      signal?.addEventListener("abort", () => {
        if (question.outcome) return;
        this.#take(question, "aborted");
        reject(new DOMException("aborted", "AbortError"));
      });
    });

  /** Let something become of a question. */
  end(question, outcome = "answer", answer = { answers: question.body }) {
    this.#take(question, outcome);
    if (outcome === "answer") this.#answered.set(`${question.name} ${question.other}`, question.body);
    if (outcome === "gone") return question.reject(new TypeError("Failed to fetch"));
    const [status, text, where = null] = outcome === "mistake" ? MISTAKE : (REFUSALS[outcome] ?? [200, ""]);
    const packed = outcome === "cut short";
    return question.resolve({
      ok: status === 200,
      status,
      headers: new Headers({ "Content-Type": packed ? "application/x-peerpressure" : "application/json" }),
      json: async () => (status === 200 ? answer : { error: { text: `${question.name}: ${text}`, where } }),
      arrayBuffer: async () => Uint8Array.of(16, 0, 0, 0, 123).buffer,
    });
  }

  #take(question, outcome) {
    question.outcome = outcome;
    this.waiting = this.waiting.filter((one) => one !== question);
  }
}
