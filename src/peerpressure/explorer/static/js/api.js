// Requests to the server.

/**
 * @typedef {import("./types.js").Answers} Answers
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").Packed} Packed
 * @typedef {import("./types.js").UploadAnswer} UploadAnswer
 */

// Nobody has answered; the server gave the question up, as it does with all of them when it ends; it had too much to do.
const LOST = [0, 409, 429];

/** An error that the server reports. Its message is meant for people. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {string | null} where the key of the scenario that caused it, such as "run.steps"
   * @param {number} status of the HTTP response; 0 if there was none
   */
  constructor(message, where, status) {
    super(message);
    this.where = where;
    this.status = status;
  }

  /** Whether the question was lost, though nothing is wrong with it. */
  get isLost() {
    return LOST.includes(this.status);
  }
}

// Tells the server which requests come from this page: it gives up older ones of the same kind for a newer one.
// Numbers, because browsers make UUIDs only on pages from this machine or by HTTPS.
const TAB = crypto.getRandomValues(new Uint32Array(4)).join("-");
/** For questions about a second scenario, which must not supersede those about the first. */
export const OTHER_TAB = `${TAB}-a`;

const ARRAY_TYPES = { float32: Float32Array, float64: Float64Array, uint32: Uint32Array };

/**
 * Read a binary answer: a JSON header followed by arrays. The arrays are views of the buffer, not copies.
 * @param {ArrayBuffer} buffer
 * @returns {Packed}
 */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  /** @type {{arrays: Record<string, {dtype: keyof typeof ARRAY_TYPES, shape: number[], offset: number}>}} */
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  /** @type {Packed["arrays"]} */
  const arrays = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const size = shape.reduce((product, extent) => product * extent, 1);
    arrays[name] = Object.assign(new ARRAY_TYPES[dtype](buffer, start + offset, size), { shape });
  }
  return { header, arrays };
}

/**
 * Send a body and return the response; throws a Refusal unless that is a success.
 * @param {string} path
 * @param {BodyInit} body
 * @param {{signal?: AbortSignal, type?: string, tab?: string}} [options]
 */
async function post(path, body, { signal, type = "application/json", tab = TAB } = {}) {
  let response;
  try {
    response = await fetch(path, { method: "POST", body, signal, headers: { "Content-Type": type, "X-Tab": tab } });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(
      "The explorer does not respond. Restart it with peerpressure explore; this page will then continue.",
      null,
      0,
    );
  }
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  const message = error?.text ?? `The server answered ${response.status}.`;
  throw new Refusal(message, error?.where ?? null, response.status);
}

/**
 * Ask for something that is computed from a scenario.
 * @template {keyof Answers} Path
 * @param {Path} path
 * @param {object} question
 * @param {AbortSignal} [signal]
 * @param {string} [tab]
 * @returns {Promise<Answers[Path]>}
 */
export async function ask(path, question, signal, tab) {
  const response = await post(path, JSON.stringify(question), { signal, tab });
  const packed = response.headers.get("Content-Type")?.startsWith("application/x-peerpressure");
  try {
    const answer = packed ? unpack(await response.arrayBuffer()) : await response.json();
    return answer;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal("The response ended too early; the page will try again.", null, 0);
  }
}

/**
 * Have the server read a network file.
 * @param {File} file
 * @param {import("./types.js").EdgeMeaning} edges
 * @returns {Promise<UploadAnswer>}
 */
export async function upload(file, edges) {
  const path = `/api/upload?${new URLSearchParams({ name: file.name, edges })}`;
  const response = await post(path, await file.arrayBuffer(), { type: "application/octet-stream" });
  return response.json();
}

/**
 * Ask for a file, and return its contents and its name.
 * @param {string} path
 * @param {object} question
 */
export async function download(path, question) {
  const response = await post(path, JSON.stringify(question));
  const name = /filename="?([^";]+)"?/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  return { blob: await response.blob(), name: name ?? path.split("/").at(-1) ?? "download" };
}

/**
 * Read the catalogue of everything that can be chosen.
 * @returns {Promise<Catalogue>}
 */
export async function readCatalogue() {
  const response = await fetch("/api/catalogue");
  if (!response.ok) throw new Refusal(`The server answered ${response.status}.`, null, response.status);
  return response.json();
}

// While a slider is being dragged, requests that take up to this many milliseconds finish, so the picture keeps up
// with the hand. Only longer ones are aborted in favour of the latest.
const GRACE = 3_000;

/** @typedef {{controller: AbortController, since: number, timer: number}} Flight */

/** Requests for one purpose: at most one is in flight, and of those waiting only the latest is ever sent. */
export class Channel {
  /** @type {Flight | null} */
  #flight = null;
  /** @type {{run: (flight: Flight) => void, drop: () => void} | null} */
  #waiting = null;

  /**
   * Run a task as soon as the one before it has ended. Resolves to undefined if a newer task has taken its place.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} task
   * @returns {Promise<T | undefined>}
   */
  latest(task) {
    return new Promise((resolve, reject) => {
      this.#waiting?.drop();
      const drop = () => resolve(undefined);
      const run = async (/** @type {Flight} */ flight) => {
        const { signal } = flight.controller;
        try {
          const answer = await task(signal);
          resolve(signal.aborted ? undefined : answer);
        } catch (error) {
          // The server drops a request for a newer one. Without a newer one here it was lost.
          const dropped = error instanceof Refusal && error.status === 409 && this.#waiting !== null;
          const superseded = signal.aborted || dropped;
          if (superseded) drop();
          else reject(error);
        } finally {
          window.clearTimeout(flight.timer);
          this.#flight = null;
          this.#next();
        }
      };
      this.#waiting = { run, drop };
      const flight = this.#flight;
      if (!flight) this.#next();
      else if (!flight.timer) {
        const left = GRACE - (performance.now() - flight.since);
        flight.timer = window.setTimeout(() => flight.controller.abort(), Math.max(0, left));
      }
    });
  }

  /** Abort the task in flight and drop the one waiting. */
  cancel() {
    this.#waiting?.drop();
    this.#waiting = null;
    this.#flight?.controller.abort();
  }

  #next() {
    if (!this.#waiting) return;
    const { run } = this.#waiting;
    this.#waiting = null;
    this.#flight = { controller: new AbortController(), since: performance.now(), timer: 0 };
    run(this.#flight);
  }
}
