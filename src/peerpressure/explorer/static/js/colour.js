// Colours: the scales for opinions and exposure, the colours of the stylesheet, and the light and dark themes.

import { byId, recall, store } from "./elements.js";

/**
 * @typedef {import("./types.js").Theme} Theme
 *
 * @typedef {object} Scale
 * @property {string[]} css the colours, from low to high
 * @property {(part: number) => number} level the index of the colour for a part of the way from 0 to 1
 */

const LEVELS = 129;

/**
 * Convert a colour from OKLab, in polar coordinates, to sRGB.
 * @param {number} lightness
 * @param {number} chroma
 * @param {number} hue in degrees
 */
function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const channels = linear.map((channel) => {
    const y = Math.min(1, Math.max(0, channel));
    return Math.round(255 * (y <= 0.0031308 ? 12.92 * y : 1.055 * y ** (1 / 2.4) - 0.055));
  });
  return `rgb(${channels.join(" ")})`;
}

/**
 * @param {(part: number) => [lightness: number, chroma: number, hue: number]} path
 * @returns {Scale}
 */
function makeScale(path) {
  const css = Array.from({ length: LEVELS }, (_, level) => oklch(...path(level / (LEVELS - 1))));
  // Comparisons with NaN are false, which gives it the lowest level.
  return { css, level: (part) => (part > 0 ? (part < 1 ? Math.round(part * (LEVELS - 1)) : LEVELS - 1) : 0) };
}

// Lightness. Every colour contrasts with the background by 3 : 1 or more.
const OPINION_LIGHTNESS = { light: { low: 0.42, high: 0.66 }, dark: { low: 0.53, high: 0.78 } };
const EXPOSURE_LIGHTNESS = { light: { low: 0.66, high: 0.42 }, dark: { low: 0.53, high: 0.8 } };

/**
 * Return the scale from dark blue (0) over grey (½) to light orange (1). Each half is a straight line in OKLab: equal
 * differences of opinion look equal, blue and orange differ under every kind of colour blindness, and lightness alone
 * tells high from low, as in a greyscale print.
 * @param {Theme} theme
 */
export function opinionScale(theme) {
  const { low, high } = OPINION_LIGHTNESS[theme];
  return makeScale((part) => {
    return [low + (high - low) * part, 0.138 * Math.abs(2 * part - 1), part < 0.5 ? 255 : 50];
  });
}

/**
 * Return the scale from not exposed (0) to fully exposed (1).
 * @param {Theme} theme
 */
export function exposureScale(theme) {
  const { low, high } = EXPOSURE_LIGHTNESS[theme];
  return makeScale((part) => [low + (high - low) * part, 0.012 + 0.15 * part, 345]);
}

/** The colours of agents that are followed, as names in the stylesheet; they differ in lightness as well as in hue. */
export const FOLLOWED_COLOURS = ["follow-1", "follow-2", "follow-3", "follow-4", "follow-5", "follow-6"];

/** @type {Map<string, string>} */
const cssColours = new Map();

/**
 * Return a colour of the stylesheet, as it is in the current theme.
 * @param {string} name of the custom property, without its dashes
 */
export function cssColour(name) {
  const known = cssColours.get(name);
  if (known) return known;
  // A custom property is only resolved to a colour where a real property uses it.
  const probe = document.createElement("i");
  probe.style.setProperty("color", `var(--${name})`);
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  cssColours.set(name, colour);
  return colour;
}

const STORAGE_KEY = "peerpressure-theme";
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

/** @returns {Theme} */
export function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return prefersDark.matches ? "dark" : "light";
}

/**
 * Follow the system's theme until the user chooses one with the button.
 * @param {() => void} restyle called after each change
 */
export function followTheme(restyle) {
  const button = byId("theme");
  const stored = recall(STORAGE_KEY);
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
  const showButton = () => button.setAttribute("aria-pressed", String(currentTheme() === "dark"));
  const update = () => {
    showButton();
    cssColours.clear();
    restyle();
  };
  button.addEventListener("click", () => {
    const next = currentTheme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    store(STORAGE_KEY, next);
    update();
  });
  prefersDark.addEventListener("change", update);
  showButton();
}
