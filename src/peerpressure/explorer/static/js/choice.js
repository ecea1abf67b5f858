// A choice among kinds, each with parameters of its own: networks, laws of opinion, schedules, noises.

import { el, freshId, segmented } from "./elements.js";
import { refusalPlace, slider } from "./slider.js";
import { indexed } from "./words.js";

/**
 * @typedef {import("./slider.js").Parameter} Parameter
 * @typedef {{id: string, title: string, blurb?: string, parameters?: Parameter[], group?: string}} Option
 * @typedef {{id: string, values: Record<string, any>}} Chosen
 */

/** Return the values that a kind begins with; what the last kind had under the same name stays, where it fits. */
function begin(/** @type {Option} */ option, /** @type {Record<string, any>} */ before) {
  const values = {};
  for (const spec of option.parameters ?? []) {
    const kept = before[spec.name];
    const whole = spec.kind === "float" || Number.isInteger(kept);
    const fits = typeof kept === "number" && kept >= spec.min && kept <= spec.max && whole;
    values[spec.name] = fits ? kept : spec.default;
  }
  return values;
}

/**
 * Return a field with which one kind and its parameters are chosen.
 * @param {{label: string, path: string, options: Option[], chosen: Chosen, prefix?: string,
 *          onChange: (chosen: Chosen) => void, extra?: (chosen: Chosen) => Node | null, row?: boolean}} spec
 *        `prefix` is where the parameters stand in the scenario, if not below `path` itself; `row` shows the kinds side
 *        by side; `extra` adds what a kind needs besides its parameters
 * @returns {HTMLElement}
 */
export function choice({ label, path, options, chosen, prefix = path, onChange, extra, row = false }) {
  const known = options.some((option) => option.id === chosen.id);
  // A scenario that was opened may hold a kind that the catalogue does not offer; it stays until another is chosen.
  const offered = known ? options : [...options, { id: chosen.id, title: chosen.id.replaceAll("_", " ") }];
  const blurb = el("p", { class: "blurb" });
  const below = el("div", { class: "parameters" });
  let now = chosen;

  function fill() {
    const option = offered.find((one) => one.id === now.id);
    blurb.replaceChildren(indexed(option?.blurb ?? ""));
    blurb.hidden = !option?.blurb;
    // A key may hold a list, one number for each agent, which no slider can show.
    const single = (option?.parameters ?? []).filter(({ name }) => !Array.isArray(now.values[name]));
    const rows = single.map((spec) =>
      slider({
        spec,
        path: `${prefix}.${spec.name}`,
        value: now.values[spec.name] ?? spec.default,
        onInput(value) {
          now = { id: now.id, values: { ...now.values, [spec.name]: value } };
          onChange(now);
        },
      }),
    );
    const more = extra?.(now) ?? null;
    below.replaceChildren(...rows, ...(more ? [more] : []));
  }

  /** @param {string} id */
  function choose(id) {
    const option = offered.find((one) => one.id === id) ?? offered[0];
    now = { id, values: begin(option, now.values) };
    onChange(now);
    fill();
  }

  const head = row
    ? segmented({ label, options: offered, value: chosen.id, onChange: choose })
    : select(label, offered, chosen.id, choose);
  const field = el("div", { class: "field", "data-path": path }, head, blurb, below, refusalPlace());
  fill();
  return field;
}

/**
 * @param {string} label @param {Option[]} options @param {string} value @param {(id: string) => void} onChange
 */
function select(label, options, value, onChange) {
  const id = freshId("select");
  const groups = new Map();
  for (const option of options) {
    const entry = el("option", { value: option.id, selected: option.id === value }, option.title);
    groups.set(option.group ?? "", [...(groups.get(option.group ?? "") ?? []), entry]);
  }
  const parts = [...groups].flatMap(([group, entries]) =>
    group ? [el("optgroup", { label: group }, ...entries)] : entries,
  );
  const list = /** @type {HTMLSelectElement} */ (el("select", { id, change: () => onChange(list.value) }, ...parts));
  const name = el("label", { for: id, class: "field-label" }, label);
  return el("div", { class: "select-row" }, name, el("div", { class: "select" }, list));
}
