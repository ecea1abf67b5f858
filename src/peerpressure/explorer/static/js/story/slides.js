// Presenting: one part of the page at a time, larger, moved by keys.

import { byId } from "../elements.js";

const NEXT = ["ArrowRight", "PageDown"];
const BACK = ["ArrowLeft", "PageUp"];

/** Whether a key belongs to what has the focus. */
function isTaken(/** @type {KeyboardEvent} */ event) {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  return target instanceof HTMLInputElement && target.type !== "checkbox" && !event.key.startsWith("Page");
}

/**
 * Let a button and a key begin and end a presentation.
 * @param {() => void} repaint called when widths have changed
 */
export function followPresentation(repaint) {
  const root = document.documentElement;
  const slides = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-slide]")]);
  const said = byId("slide");
  let at = 0;

  const show = () => {
    const presents = "presents" in root.dataset;
    slides.forEach((slide, k) => {
      slide.toggleAttribute("data-current", presents && k === at);
    });
    said.hidden = !presents;
    said.textContent = `${at + 1} of ${slides.length} · → next · ← back · Esc ends`;
    repaint();
    if (presents) window.scrollTo(0, 0);
    else slides[at].scrollIntoView();
  };

  const begin = () => {
    // Begin with what is being read.
    const seen = slides.findIndex((slide) => slide.getBoundingClientRect().bottom > window.innerHeight / 3);
    at = Math.max(0, seen);
    root.dataset.presents = "";
    show();
  };
  const end = () => {
    delete root.dataset.presents;
    show();
  };

  byId("present").addEventListener("click", begin);
  document.addEventListener("keydown", (event) => {
    const presents = "presents" in root.dataset;
    if (isTaken(event)) return;
    if (event.key === "p" || event.key === "P") (presents ? end : begin)();
    else if (!presents) return;
    else if (event.key === "Escape") end();
    else if (NEXT.includes(event.key)) move(1);
    else if (BACK.includes(event.key)) move(-1);
    else return;
    event.preventDefault();
  });

  const move = (/** @type {number} */ by) => {
    at = Math.min(slides.length - 1, Math.max(0, at + by));
    show();
  };
}
