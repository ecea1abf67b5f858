// Talking to the server: packed arrays in, the library's own complaints out, one request in flight for each purpose.

/**
 * @typedef {Float32Array | Float64Array | Uint32Array} Numbers
 * @typedef {{header: any, arrays: Record<string, Numbers & {shape: number[]}>}} Packed
 */

/** What the server refused, in the library's words; `where` names the key of the scenario that is to blame. */
export class Refusal extends Error {
  /** @param {string} text @param {string | null} where @param {number} status */
  constructor(text, where, status) {
    super(text);
    this.where = where;
    this.status = status;
  }
}

const TAB = crypto.randomUUID();
const KINDS = { float32: Float32Array, float64: Float64Array, uint32: Uint32Array };

/**
 * Return what a packed answer holds; the arrays are views of its bytes, not copies.
 * @param {ArrayBuffer} buffer
 * @returns {Packed}
 */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const area = Math.ceil((4 + length) / 8) * 8;
  /** @type {Packed["arrays"]} */
  const arrays = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(header.arrays)) {
    const size = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
    arrays[name] = Object.assign(new KINDS[dtype](buffer, area + offset, size), { shape });
  }
  return { header, arrays };
}

/**
 * Send a body and return the response, or raise what the server refused.
 * @param {string} path
 * @param {BodyInit} body
 * @param {{signal?: AbortSignal, type?: string}} [options]
 */
async function send(path, body, { signal, type = "application/json" } = {}) {
  let response;
  try {
    response = await fetch(path, { method: "POST", body, signal, headers: { "Content-Type": type, "X-Tab": TAB } });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal("The server does not answer; start it again with peerpressure explore.", null, 0);
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  const text = told.error?.text ?? `The server answered ${response.status}.`;
  throw new Refusal(text, told.error?.where ?? null, response.status);
}

/** @param {Response} response */
async function contents(response) {
  const packed = response.headers.get("Content-Type")?.startsWith("application/x-peerpressure");
  return packed ? unpack(await response.arrayBuffer()) : response.json();
}

/**
 * Ask for what can be computed from a scenario.
 * @param {string} path @param {object} question @param {AbortSignal} [signal]
 */
export async function ask(path, question, signal) {
  return contents(await send(path, JSON.stringify(question), { signal }));
}

/** Send a file as it is. @param {File} file */
export async function upload(file) {
  const path = `/api/upload?name=${encodeURIComponent(file.name)}`;
  return contents(await send(path, await file.arrayBuffer(), { type: "application/octet-stream" }));
}

/** Ask for a file; return its bytes and its name. @param {string} path @param {object} question */
export async function attachment(path, question) {
  const response = await send(path, JSON.stringify(question));
  const name = /filename="?([^";]+)"?/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  return { blob: await response.blob(), name: name ?? path.split("/").at(-1) ?? "download" };
}

/** Read the catalogue of all that can be chosen. */
export async function catalogue() {
  const response = await fetch("/api/catalogue");
  if (!response.ok) throw new Refusal(`The server answered ${response.status}.`, null, response.status);
  return response.json();
}

// While a slider moves, a request as young as this is let finish, so that the picture follows the hand; an older one
// is given up for the newer wish.
const YOUNG = 120;

/** One purpose's requests: at most one is in flight, and of those that wait only the latest is ever sent. */
export class Channel {
  /** @type {{controller: AbortController, since: number, timer: number} | null} */
  #flight = null;
  /**
   * @type {{work: (signal: AbortSignal) => Promise<any>, resolve: (answer: any) => void,
   *         reject: (error: any) => void} | null}
   */
  #next = null;

  /**
   * Do some work that takes a signal; resolves to undefined where newer work has taken its place.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work
   * @returns {Promise<T | undefined>}
   */
  latest(work) {
    return new Promise((resolve, reject) => {
      this.#next?.resolve(undefined);
      this.#next = { work, resolve, reject };
      const flight = this.#flight;
      if (!flight) this.#start();
      else if (!flight.timer) {
        const left = YOUNG - (performance.now() - flight.since);
        flight.timer = window.setTimeout(() => flight.controller.abort(), Math.max(0, left));
      }
    });
  }

  /** Give up whatever is under way. */
  cancel() {
    this.#next?.resolve(undefined);
    this.#next = null;
    this.#flight?.controller.abort();
  }

  async #start() {
    if (!this.#next) return;
    const { work, resolve, reject } = this.#next;
    this.#next = null;
    const controller = new AbortController();
    const flight = { controller, since: performance.now(), timer: 0 };
    this.#flight = flight;
    try {
      const answer = await work(controller.signal);
      resolve(controller.signal.aborted ? undefined : answer);
    } catch (error) {
      const superseded = controller.signal.aborted || (error instanceof Refusal && error.status === 409);
      if (superseded) resolve(undefined);
      else reject(error);
    } finally {
      window.clearTimeout(flight.timer);
      this.#flight = null;
      this.#start();
    }
  }
}
