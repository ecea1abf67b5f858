// Form fields: sliders, rows of radio buttons, and the choice of a kind with its parameters.

import { el, uniqueId } from "./elements.js";
import { typeset } from "./format.js";
import { refusalSlot } from "./messages.js";

/**
 * @typedef {import("./types.js").Option} Option
 * @typedef {import("./types.js").Parameter} Parameter
 * @typedef {import("./types.js").Section} Section
 *
 * @typedef {object} Choice what is chosen in a field with several kinds
 * @property {string} id of the option
 * @property {Section} values of its parameters; other keys may stand among them
 */

const LOG_STOPS = 300;

/**
 * Return the values at which a logarithmic slider stops, each once: at its low end, many stops round to one integer.
 * @param {Parameter} parameter
 */
export function sliderStops({ kind, min, max, step }) {
  // A minimum of 0 cannot be reached by powers, so it becomes an extra stop.
  const low = min > 0 ? min : Math.min(step, max / 1e3);
  const stops = Array.from({ length: LOG_STOPS + 1 }, (_, i) => {
    const value = low * (max / low) ** (i / LOG_STOPS);
    return kind === "int" ? Math.round(value) : Number(value.toPrecision(3));
  });
  return [...new Set([min, ...stops.filter((value) => value > min && value < max), max])];
}

/**
 * Return the index of the stop nearest to a value.
 * @param {number[]} stops in ascending order
 * @param {number} value
 */
export function nearestStop(stops, value) {
  const above = stops.findIndex((stop) => stop >= value);
  if (above <= 0) return above === 0 ? 0 : stops.length - 1;
  return value - stops[above - 1] < stops[above] - value ? above - 1 : above;
}

/**
 * Round to the nearest step of a linear slider, without the noise of floating point.
 * @param {Parameter} parameter
 * @param {number} value
 */
function roundToStep({ min, step }, value) {
  return Number((Math.round((value - min) / step) * step + min).toPrecision(12));
}

/**
 * Return a row for a parameter: its name, a number to type, and a slider for the same number.
 * @param {object} options
 * @param {Parameter} options.parameter
 * @param {string} options.path where the number stands in the scenario
 * @param {number} options.value
 * @param {(value: number) => void} options.onInput
 */
export function slider({ parameter, path, value: initial, onInput }) {
  const { title, kind, min, max, step, scale } = parameter;
  const id = uniqueId("parameter");
  const stops = scale === "log" ? sliderStops(parameter) : null;
  const limits = stops ? { min: 0, max: stops.length - 1, step: 1 } : { min, max, step };
  const number = el("input", {
    type: "number",
    id,
    class: "number",
    step: kind === "int" ? 1 : "any",
    inputmode: "decimal",
  });
  const range = el("input", { type: "range", class: "range", "aria-label": `${title}, slider`, ...limits });
  const label = el("label", { for: id, class: "field-label" }, typeset(title));

  /** @param {number} value */
  function showOnRange(value) {
    range.value = String(stops ? nearestStop(stops, value) : value);
    const part = (Number(range.value) - limits.min) / (limits.max - limits.min || 1);
    range.style.setProperty("--part", String(part));
    range.setAttribute("aria-valuetext", String(value));
  }
  /** @param {number} value */
  function show(value) {
    number.value = String(value);
    showOnRange(value);
  }
  range.addEventListener("input", () => {
    const value = stops ? stops[Number(range.value)] : roundToStep(parameter, Number(range.value));
    show(value);
    onInput(value);
  });
  number.addEventListener("input", () => {
    if (number.value === "" || Number.isNaN(number.valueAsNumber)) return;
    // What is being typed must not be overwritten, even if it is rounded.
    const value = kind === "int" ? Math.round(number.valueAsNumber) : number.valueAsNumber;
    showOnRange(value);
    onInput(value);
  });
  show(initial);
  return el("div", { class: "parameter", "data-path": path }, label, number, range, refusalSlot());
}

/**
 * Return radio buttons that look like one control.
 * @template {string} Id
 * @param {object} options
 * @param {string} options.label
 * @param {{id: Id, title: string}[]} options.options
 * @param {Id} options.value
 * @param {(id: Id) => void} options.onChange
 * @param {boolean} [options.visibleLabel]
 * @returns {HTMLElement & {select: (id: Id) => void}}
 */
export function segmented({ label, options, value, onChange, visibleLabel = true }) {
  const name = uniqueId("choice");
  const inputs = options.map(({ id }) =>
    el("input", { type: "radio", name, value: id, checked: id === value, change: () => onChange(id) }),
  );
  const segments = options.map(({ title }, i) => el("label", { class: "segment" }, inputs[i], el("span", {}, title)));
  const legend = el("legend", { class: visibleLabel ? "field-label" : "unseen" }, label);
  const fieldset = el("fieldset", { class: "segmented" }, legend, el("div", { class: "segments" }, ...segments));
  const select = (/** @type {Id} */ id) => {
    for (const input of inputs) input.checked = input.getAttribute("value") === id;
  };
  return Object.assign(fieldset, { select });
}

/**
 * Return the parameters with which an option starts: those of the previous option, where they fit, else its defaults.
 * @param {Option} option
 * @param {Section} previous
 */
function startingValues(option, previous) {
  /** @type {Section} */
  const values = {};
  for (const { name, kind, min, max, default: fallback } of option.parameters ?? []) {
    const value = previous[name];
    const fits =
      typeof value === "number" && value >= min && value <= max && (kind === "float" || Number.isInteger(value));
    values[name] = fits ? value : fallback;
  }
  return values;
}

/**
 * Return a field for choosing one of several kinds, with sliders for its parameters.
 * @param {object} spec
 * @param {string} spec.label
 * @param {string} spec.path where the section stands in the scenario
 * @param {Option[]} spec.options
 * @param {Choice} spec.chosen
 * @param {(chosen: Choice) => void} spec.onChange
 * @param {(chosen: Choice) => Node | null} [spec.extra] what a kind needs in addition to its parameters
 * @param {boolean} [spec.row] shows the kinds side by side instead of in a list
 */
export function choiceField({ label, path, options, chosen, onChange, extra, row = false }) {
  const known = options.some((option) => option.id === chosen.id);
  // A scenario can have a kind that the catalogue does not offer; it stays available until another one is chosen.
  const offered = known ? options : [...options, { id: chosen.id, title: chosen.id.replaceAll("_", " ") }];
  const blurb = el("p", { class: "blurb" });
  const parameters = el("div", { class: "parameters" });
  let current = chosen;

  function fill() {
    const option = offered.find(({ id }) => id === current.id);
    blurb.replaceChildren(typeset(option?.blurb ?? ""));
    blurb.hidden = !option?.blurb;
    // A parameter can also be a list with one number per agent, which no slider can show.
    const sliders = (option?.parameters ?? [])
      .filter(({ name }) => !Array.isArray(current.values[name]))
      .map((parameter) => {
        const { name } = parameter;
        return slider({
          parameter,
          path: `${path}.${name}`,
          value: /** @type {number} */ (current.values[name] ?? parameter.default),
          onInput(value) {
            current = { id: current.id, values: { ...current.values, [name]: value } };
            onChange(current);
          },
        });
      });
    const more = extra?.(current) ?? null;
    parameters.replaceChildren(...sliders, ...(more ? [more] : []));
  }

  /** @param {string} id */
  function choose(id) {
    const option = offered.find((one) => one.id === id) ?? offered[0];
    current = { id, values: startingValues(option, current.values) };
    onChange(current);
    fill();
  }

  const head = row
    ? segmented({ label, options: offered, value: chosen.id, onChange: choose })
    : selectField(label, offered, chosen.id, choose);
  fill();
  return el("div", { class: "field", "data-path": path }, head, blurb, parameters, refusalSlot());
}

/**
 * @param {string} label
 * @param {Option[]} options
 * @param {string} value
 * @param {(id: string) => void} onChange
 */
function selectField(label, options, value, onChange) {
  const id = uniqueId("select");
  /** @type {Map<string, HTMLOptionElement[]>} */
  const groups = new Map();
  for (const option of options) {
    const entry = el("option", { value: option.id, selected: option.id === value }, option.title);
    const group = option.group ?? "";
    groups.set(group, [...(groups.get(group) ?? []), entry]);
  }
  const entries = [...groups].flatMap(([group, members]) =>
    group ? [el("optgroup", { label: group }, ...members)] : members,
  );
  const list = el("select", { id, change: () => onChange(list.value) }, ...entries);
  const name = el("label", { for: id, class: "field-label" }, label);
  return el("div", { class: "select-row" }, name, el("div", { class: "select" }, list));
}
