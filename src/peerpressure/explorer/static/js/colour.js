// Colours of opinions. Both maps are straight lines in OKLab on either side of the middle, so that equal differences of
// opinion look equally large; blue against orange is told apart by every kind of colour vision.

/** @typedef {{css: string[], at: (part: number) => number}} Scale */

const LEVELS = 129;

/** Return sRGB for a colour given by OKLab lightness, chroma and hue in degrees. */
function rgb(/** @type {number} */ L, /** @type {number} */ C, /** @type {number} */ hue) {
  const a = C * Math.cos((hue * Math.PI) / 180);
  const b = C * Math.sin((hue * Math.PI) / 180);
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const parts = linear.map((x) => {
    const y = Math.min(1, Math.max(0, x));
    return Math.round(255 * (y <= 0.0031308 ? 12.92 * y : 1.055 * y ** (1 / 2.4) - 0.055));
  });
  return `rgb(${parts.join(" ")})`;
}

/** @param {(part: number) => [number, number, number]} path */
function scale(path) {
  const css = Array.from({ length: LEVELS }, (_, level) => rgb(...path(level / (LEVELS - 1))));
  const at = (/** @type {number} */ part) =>
    part > 0 ? (part < 1 ? Math.round(part * (LEVELS - 1)) : LEVELS - 1) : 0;
  return { css, at };
}

// The middle is a grey that shows on the page; the ends go away from the page's lightness.
const OPINION_ENDS = { light: { end: 0.5, middle: 0.82 }, dark: { end: 0.71, middle: 0.4 } };
const EXPOSURE_ENDS = { light: { low: 0.9, high: 0.45 }, dark: { low: 0.32, high: 0.78 } };

/** From blue (0) over grey (½) to orange (1). @param {"light" | "dark"} theme @returns {Scale} */
export function opinionScale(theme) {
  const { end, middle } = OPINION_ENDS[theme];
  return scale((part) => {
    const far = Math.abs(2 * part - 1);
    return [middle + (end - middle) * far, 0.138 * far, part < 0.5 ? 255 : 50];
  });
}

/** From hardly to fully exposed. @param {"light" | "dark"} theme @returns {Scale} */
export function exposureScale(theme) {
  const { low, high } = EXPOSURE_ENDS[theme];
  return scale((part) => [low + (high - low) * part, 0.012 + 0.15 * part, 345]);
}

/** @type {Map<string, string>} */
const tokens = new Map();

/** Return one of the page's own colours, as the present theme has it. @param {string} name */
export function token(name) {
  const known = tokens.get(name);
  if (known) return known;
  // Only a property that is a colour is computed as one.
  const probe = document.createElement("i");
  probe.style.setProperty("color", `var(--${name})`);
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  tokens.set(name, colour);
  return colour;
}

/** Forget the colours of the last theme. */
export function forgetTokens() {
  tokens.clear();
}

// Agents that are followed; they differ in lightness as well as in hue.
export const FOLLOWED = ["follow-1", "follow-2", "follow-3", "follow-4", "follow-5", "follow-6"];
