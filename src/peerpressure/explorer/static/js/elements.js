// Building the page's elements. Text always goes in as text nodes: nothing that was typed or uploaded becomes markup.

/**
 * Make an element. Attributes with a function are listeners; `class` and `data-…` go as they are; null leaves one out.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | null)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, /** @type {EventListener} */ (value));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/**
 * Return the element with this id, which the page is sure to have.
 * @template {HTMLElement} T
 * @param {string} id
 * @returns {T}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return /** @type {T} */ (found);
}

let counter = 0;

/** Return an id that no other element has. @param {string} stem */
export function freshId(stem) {
  counter += 1;
  return `${stem}-${counter}`;
}

/**
 * A row of radio buttons that looks like one control.
 * @param {{label: string, options: {id: string, title: string}[], value: string, onChange: (id: string) => void,
 *          visibleLabel?: boolean}} spec
 * @returns {HTMLElement & {select: (id: string) => void}}
 */
export function segmented({ label, options, value, onChange, visibleLabel = true }) {
  const name = freshId("choice");
  const inputs = options.map(({ id }) =>
    el("input", { type: "radio", name, value: id, checked: id === value, change: () => onChange(id) }),
  );
  const row = el(
    "div",
    { class: "segments" },
    ...options.map((option, at) => el("label", { class: "segment" }, inputs[at], el("span", {}, option.title))),
  );
  const legend = el("legend", { class: visibleLabel ? "field-label" : "unseen" }, label);
  const group = el("fieldset", { class: "segmented" }, legend, row);
  const select = (/** @type {string} */ id) => {
    for (const input of inputs) /** @type {HTMLInputElement} */ (input).checked = input.getAttribute("value") === id;
  };
  return Object.assign(group, { select });
}

/** Return the font of the marks on axes, which are drawn and not set. */
export function axisFont() {
  return `11px ${getComputedStyle(document.body).fontFamily}`;
}
