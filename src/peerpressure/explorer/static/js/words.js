// Numbers and symbols as a person reads them.

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** Return a whole number as a power's exponent. @param {number} exponent */
export function superscript(exponent) {
  return [...String(exponent)].map((sign) => SUPERSCRIPTS[sign]).join("");
}

/**
 * Return a number with so many significant digits, in plain notation wherever that is short.
 * @param {number | null | undefined} value
 * @param {number} [digits]
 */
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= 6 || size < -3) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${mantissa} × 10${superscript(Number(exponent))}`.replaceAll("-", "−");
  }
  const text = Math.abs(size) >= digits && size > 0 ? Math.round(value).toString() : value.toPrecision(digits);
  return (Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : text).replaceAll("-", "−");
}

/** Return a number with a fixed count of decimals, so that it does not jump about while it changes. */
export function steady(/** @type {number} */ value, decimals = 3) {
  if (!Number.isFinite(value)) return number(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 10 ** -decimals)) return number(value, 3);
  return value.toFixed(size >= 1000 ? 0 : decimals).replace("-", "−");
}

/** Return evenly spaced numbers with as many decimals as their spacing needs. @param {number[]} values */
export function ticks(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0] ?? 1) || 1;
  if (step < 1e-4 || step >= 1e5) return values.map((value) => number(value, 2));
  let decimals = 0;
  while (decimals < 6 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals += 1;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return values.map((value) => value.toLocaleString("en-US", digits).replace("-", "−"));
}

/** Return a count with thin groups of three. @param {number} value */
export function count(value) {
  return value.toLocaleString("en-US");
}

/** Return what an agent is called: by its own name, or by its number. @param {string | number} label */
export function nameOf(label) {
  return typeof label === "number" ? `agent ${label}` : label;
}

/** Return words with a capital at their head. @param {string} words */
export function sentence(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return a noun in the number that fits. @param {number} many @param {string} noun */
export function plural(many, noun) {
  return `${count(many)} ${noun}${many === 1 ? "" : "s"}`;
}

// An index stands after a single letter, as in x_t or x_{t+1} but not in delay_pressure; an exponent is a number.
const INDEX = /(?<=(?<![\p{L}\p{N}_])\p{L})_(\{[^{}]*\}|[\p{L}\p{N}](?![\p{L}\p{N}_]))/u.source;
const EXPONENT = /(?<=\p{L})\^([-−]?\d+(?:\.\d+)?)/u.source;
const SMALL = new RegExp(`${INDEX}|${EXPONENT}`, "gu");

/**
 * Return text in which the index of ρ_t and its like stands as an index, and the exponent of t^1.5 as an exponent.
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function indexed(text) {
  const fragment = document.createDocumentFragment();
  let from = 0;
  for (const match of text.matchAll(SMALL)) {
    fragment.append(text.slice(from, match.index));
    const raised = match[2] !== undefined;
    const small = document.createElement(raised ? "sup" : "sub");
    small.textContent = raised ? match[2].replace("-", "−") : match[1].replace(/^\{|\}$/g, "");
    fragment.append(small);
    from = match.index + match[0].length;
  }
  fragment.append(text.slice(from));
  return fragment;
}
