// Helpers for building the page. Text is only ever inserted as text nodes, so nothing typed or uploaded becomes markup.

/**
 * Create an element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [attributes] functions become event listeners, `true` a bare attribute; null,
 *   undefined and false are left out
 * @param {...(Node | string | null)} children null is left out
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, /** @type {EventListener} */ (value));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * Return the element with this id, which index.html must contain.
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [type] its class, where more than an HTMLElement is needed
 * @returns {T}
 */
export function byId(id, type) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  if (type && !(element instanceof type)) throw new Error(`#${id} is not a ${type.name}`);
  return /** @type {T} */ (element);
}

let idCount = 0;

/**
 * Return an id that no other element has.
 * @param {string} prefix
 */
export function uniqueId(prefix) {
  idCount += 1;
  return `${prefix}-${idCount}`;
}

/** How much larger type is than browsers set it: in a presentation, or by the user's own choice. */
export function typeScale() {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

/** Return the page's font at the size of axis labels, times a factor, for drawing on a canvas. */
export function axisFont(scale = 1) {
  return `${11 * scale * typeScale()}px ${getComputedStyle(document.body).fontFamily}`;
}

/**
 * Return the context of a canvas. It is null only if the canvas already has one of another kind.
 * @param {HTMLCanvasElement} canvas
 */
export function context2d(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

/**
 * Return what was stored in the browser under a name, null if there is nothing.
 * @param {string} name
 */
export function recall(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage may be disabled
  }
}

/**
 * Store a text in the browser.
 * @param {string} name
 * @param {string} text
 */
export function store(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    // Storage may be disabled; then the text lasts until the page is left.
  }
}

/**
 * Open and close a menu by its button, walk through it by arrows, and close it by Escape or a click elsewhere.
 * @param {HTMLElement} button
 * @param {HTMLElement} menu
 * @param {(yes: boolean) => void} open shows or hides the menu
 */
export function listenToMenu(button, menu, open) {
  button.addEventListener("click", () => open(Boolean(menu.hidden)));
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("button")].filter((item) => !item.disabled && !item.closest("[hidden]"));
    const i = items.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (event.key === "Escape") {
      open(false);
      button.focus();
    } else if (event.key === "ArrowDown") items[(i + 1) % items.length].focus();
    else if (event.key === "ArrowUp") items[(i + items.length - 1) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.hidden && !menu.parentElement?.contains(/** @type {Node} */ (event.target))) open(false);
  });
}
