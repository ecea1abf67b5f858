// Numbers and symbols, formatted for reading.

/** @typedef {import("./types.js").AgentLabel} AgentLabel */

/** @type {Record<string, string>} */
const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/**
 * Return an integer in superscript digits.
 * @param {number} exponent
 */
export function superscript(exponent) {
  return [...String(exponent)].map((character) => SUPERSCRIPTS[character]).join("");
}

/**
 * Return a number with a given number of significant digits, in scientific notation only if it is very large or small.
 * @param {number | null | undefined} value
 */
export function formatNumber(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude >= 6 || magnitude < -3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${mantissa} × 10${superscript(Number(exponent))}`.replaceAll("-", "−");
  }
  const text =
    Math.abs(magnitude) >= digits && magnitude > 0 ? Math.round(value).toString() : value.toPrecision(digits);
  return (Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : text).replaceAll("-", "−");
}

/**
 * Return a number with a fixed number of decimals; its width stays the same while it changes.
 * @param {number} value
 */
export function formatFixed(value, decimals = 3) {
  if (!Number.isFinite(value)) return formatNumber(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 10 ** -decimals)) return formatNumber(value, 3);
  return value.toFixed(size >= 1000 ? 0 : decimals).replace("-", "−");
}

/**
 * Return the labels of evenly spaced ticks, with as many decimals as their spacing needs.
 * @param {number[]} values
 */
export function formatTicks(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0] ?? 1) || 1;
  if (step < 1e-4 || step >= 1e5) return values.map((value) => formatNumber(value, 2));
  let decimals = 0;
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return values.map((value) => value.toLocaleString("en-US", digits).replace("-", "−"));
}

/**
 * Return a count with its digits grouped by three.
 * @param {number} value
 */
export function formatCount(value) {
  return value.toLocaleString("en-US");
}

/**
 * Return a count together with its noun, in the singular or plural.
 * @param {number} count
 * @param {string} noun
 */
export function plural(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Return how an agent is called: a name stands for itself, a number becomes "agent 7".
 * @param {AgentLabel} label
 */
export function agentName(label) {
  return typeof label === "number" ? `agent ${label}` : label;
}

/**
 * Return text with its first letter in upper case.
 * @param {string} text
 */
export function capitalise(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// A subscript follows a single letter, as in x_t or x_{t+1} but not in delay_pressure; an exponent is a number.
const SUBSCRIPT = /(?<=(?<![\p{L}\p{N}_])\p{L})_(\{[^{}]*\}|[\p{L}\p{N}](?![\p{L}\p{N}_]))/u.source;
const EXPONENT = /(?<=\p{L})\^([-−]?\d+(?:\.\d+)?)/u.source;
const SCRIPT = new RegExp(`${SUBSCRIPT}|${EXPONENT}`, "gu");

/**
 * Return text with 1e-05 written as 10⁻⁵ and 2.5e+07 as 2.5 × 10⁷.
 * @param {string} text
 */
function withPowersOfTen(text) {
  return text.replace(/(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)\b/g, (_, mantissa, exponent) => {
    const power = `10${superscript(Number(exponent))}`;
    return mantissa === "1" ? power : `${mantissa} × ${power}`;
  });
}

/**
 * Return text in which the index of ρ_t becomes a subscript, the exponent of t^1.5 a superscript, and 1e-05 a power.
 * @param {string} given
 * @returns {DocumentFragment}
 */
export function typeset(given) {
  const text = withPowersOfTen(given);
  const fragment = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(SCRIPT)) {
    fragment.append(text.slice(end, match.index));
    const raised = match[2] !== undefined;
    const script = document.createElement(raised ? "sup" : "sub");
    script.textContent = raised ? match[2].replace("-", "−") : match[1].replace(/^\{|\}$/g, "");
    fragment.append(script);
    end = match.index + match[0].length;
  }
  fragment.append(text.slice(end));
  return fragment;
}
