// A recording in the page in the place of a server: `fetch` answers from it. Only pages without a server hold this
// module, and all others use it as they use the browser's own function.

/**
 * @typedef {import("./types.js").AgentLabel} AgentLabel
 * @typedef {import("./types.js").Scenario} Scenario
 *
 * @typedef {object} Index of a recording
 * @property {Scenario[]} scenarios that it answers about
 * @property {Record<string, {status: number, error: object}>} refusals in the place of answers
 * @property {Record<string, [number, number]>} places offset and length of each answer
 *
 * @typedef {{arrays: Record<string, {dtype: string, shape: number[], offset: number}>, names: AgentLabel[]}} ExactHeader
 */

import { canonical, canPlay, FormulaError, NotCovered, played } from "./playable.js";

const JSON_TYPE = { "Content-Type": "application/json" };
const PACKED_TYPE = { "Content-Type": "application/x-peerpressure" };
/** @type {Record<string, Record<string, string>>} */
const FILES = {
  "export/toml": { "Content-Type": "application/toml", "Content-Disposition": 'filename="peerpressure.toml"' },
  "export/python": { "Content-Type": "text/x-python", "Content-Disposition": 'filename="peerpressure_run.py"' },
};
const FIXED = "This page is a recording, and computes nothing.";

/**
 * Read a header of JSON, and where the bytes behind it begin.
 * @param {ArrayBuffer} buffer
 */
function headed(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { header, start: Math.ceil((4 + length) / 8) * 8 };
}

async function openTape() {
  const text = document.getElementById("tape")?.textContent ?? "";
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const buffer = await new Response(inflated).arrayBuffer();
  const { header, start } = headed(buffer);
  return { index: /** @type {Index} */ (header), buffer, start };
}

/** @type {ReturnType<typeof openTape> | undefined} */
let tape;

/**
 * Return what the answers about a scenario depend on. Its observer is the recorded one: no other can be chosen.
 * @param {Scenario} scenario
 */
function modelOf({ observe, privacy, ...rest }) {
  return canonical(rest);
}

/**
 * Return exact moments of the agents asked for, as far as they are recorded.
 * @param {ArrayBuffer} buffer
 * @param {AgentLabel[]} agents
 */
function rowsOf(buffer, agents) {
  const { header, start } = /** @type {{header: ExactHeader, start: number}} */ (headed(buffer));
  const rows = [0, ...agents.map((label) => header.names.indexOf(label, 1)).filter((row) => row > 0)];
  const parts = [];
  let offset = 0;
  for (const [name, place] of Object.entries(header.arrays)) {
    const width = /** @type {number} */ (place.shape.at(-1)) * (place.dtype === "float64" ? 8 : 4);
    const picked = name === "times" ? [0] : rows;
    const part = new Uint8Array(Math.ceil((picked.length * width) / 8) * 8);
    for (const [k, row] of picked.entries()) {
      part.set(new Uint8Array(buffer, start + place.offset + row * width, width), k * width);
    }
    if (name !== "times") place.shape[0] = rows.length;
    place.offset = offset;
    offset += part.length;
    parts.push(part);
  }
  header.names = rows.map((row) => header.names[row]);
  const text = new TextEncoder().encode(JSON.stringify(header));
  const head = new Uint8Array(Math.ceil((4 + text.length) / 8) * 8);
  new DataView(head.buffer).setUint32(0, text.length, true);
  head.set(text, 4);
  return new Blob([head, ...parts]);
}

/**
 * @param {string} text
 * @param {string | null} [where]
 */
function refusal(text, where = null) {
  return new Response(JSON.stringify({ error: { text, where } }), { status: 422, headers: JSON_TYPE });
}

/**
 * Answer a question from the recording.
 * @param {string} path
 * @param {{body?: string}} [options]
 * @returns {Promise<Response>}
 */
export async function fetch(path, { body = "{}" } = {}) {
  tape ??= openTape();
  const { index, buffer, start } = await tape;
  const part = (/** @type {string} */ name) => {
    const [offset, length] = index.places[name];
    return buffer.slice(start + offset, start + offset + length);
  };
  const question = path.replace("/api/", "");
  if (question === "catalogue") return new Response(part(question), { headers: JSON_TYPE });
  // Files to upload are bytes.
  if (typeof body !== "string") return refusal(FIXED);
  const { scenario, agents = [] } = JSON.parse(body);
  const number = scenario ? index.scenarios.findIndex((one) => modelOf(one) === modelOf(scenario)) : -1;
  const name = `${number}/${question}`;
  if (question === "check" && number >= 0) return new Response("{}", { headers: JSON_TYPE });
  if (number < 0) {
    const model = index.places["0/model"] && canPlay(scenario, index.scenarios[0]);
    if (!model) return refusal(FIXED);
    if (question === "check") return new Response("{}", { headers: JSON_TYPE });
    if (question === "network") return new Response(part("0/network"), { headers: PACKED_TYPE });
    try {
      const base = JSON.parse(new TextDecoder().decode(part("0/model")));
      return new Response(played(question, scenario, base, agents), { headers: PACKED_TYPE });
    } catch (error) {
      const isFormula = error instanceof FormulaError;
      if (!isFormula && !(error instanceof NotCovered)) throw error;
      return refusal(error.message, isFormula ? "pressure.formula" : null);
    }
  }
  const refused = index.refusals[name];
  if (refused) return new Response(JSON.stringify(refused), { status: refused.status, headers: JSON_TYPE });
  if (!index.places[name]) return refusal(`${FIXED} This was not recorded.`);
  const answer = question === "exact" ? rowsOf(part(name), agents) : part(name);
  return new Response(answer, { headers: FILES[question] ?? PACKED_TYPE });
}
