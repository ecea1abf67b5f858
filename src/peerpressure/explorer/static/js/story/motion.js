// Pictures that move for a moment, unless the reader prefers that nothing does.

const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

/** What is moving; a second movement of the page ends the first. @type {{ end: () => void } | null} */
let current = null;

/**
 * Call a function with parts from 0 to 1 for so many milliseconds; at once with 1 where nothing should move.
 * @param {number} duration
 * @param {(part: number) => void} paint
 */
export function tween(duration, paint) {
  current?.end();
  if (calm.matches || document.hidden) {
    paint(1);
    return;
  }
  let frame = 0;
  const began = performance.now();
  const mine = {
    end: () => {
      cancelAnimationFrame(frame);
      current = null;
      paint(1);
    },
  };
  const step = (/** @type {number} */ now) => {
    const part = Math.min(1, Math.max(0, (now - began) / duration));
    if (part === 1) {
      mine.end();
      return;
    }
    paint(part * part * (3 - 2 * part));
    frame = requestAnimationFrame(step);
  };
  current = mine;
  frame = requestAnimationFrame(step);
}

/** End what moves when the reader takes over, or asks for rest. */
export function followMotion() {
  calm.addEventListener("change", () => current?.end());
}
