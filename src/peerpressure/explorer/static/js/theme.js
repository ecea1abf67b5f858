// Light and dark: as the machine has it, until the person says otherwise.

import { forgetTokens } from "./colour.js";
import { byId } from "./elements.js";

const KEPT = "peerpressure-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** @returns {"light" | "dark"} */
export function currentTheme() {
  const said = document.documentElement.dataset.theme;
  return said === "light" || said === "dark" ? said : dark.matches ? "dark" : "light";
}

function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null; // a browser may keep nothing
  }
}

/** @param {string} theme */
function keep(theme) {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    // then the choice holds for this visit
  }
}

/** Follow the machine and the button. @param {() => void} restyle */
export function followTheme(restyle) {
  const button = byId("theme");
  const said = kept();
  if (said === "light" || said === "dark") document.documentElement.dataset.theme = said;
  const show = () => button.setAttribute("aria-pressed", String(currentTheme() === "dark"));
  const change = () => {
    show();
    forgetTokens();
    restyle();
  };
  button.addEventListener("click", () => {
    const next = currentTheme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    keep(next);
    change();
  });
  dark.addEventListener("change", change);
  show();
}
