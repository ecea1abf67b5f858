// What differs between two scenarios, in a few words for each setting.

import { capitalise, plural } from "./format.js";

/**
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").Option} Choice
 * @typedef {import("./types.js").Scenario} Scenario
 * @typedef {import("./types.js").Section} Section
 *
 * @typedef {{path: string, title: string, a: string, b: string}} Difference
 */

/**
 * The tables of a scenario whose other keys depend on one of them, the kind.
 * @type {{path: string, title: string, kinds: string[], lists: ("generators" | "temporal_networks" | "named" | "schedules" | "hidden_laws" | "stubbornness" | "noises")[]}[]}
 */
const KINDS = [
  {
    path: "network",
    title: "network",
    kinds: ["generator", "named", "temporal"],
    lists: ["generators", "temporal_networks", "named"],
  },
  { path: "pressure", title: "peer pressure", kinds: ["kind", "formula"], lists: ["schedules"] },
  { path: "agents.hidden", title: "hidden opinions", kinds: ["law"], lists: ["hidden_laws"] },
  { path: "agents.stubbornness", title: "stubbornness", kinds: ["law"], lists: ["stubbornness"] },
  { path: "noise", title: "noise", kinds: ["law"], lists: ["noises"] },
];
/** @type {Record<string, string>} */
const TITLES = { run: "run", observe: "observer", privacy: "privacy", agents: "agents", time: "time" };
const MAX_TEXT = 48;

/** @param {unknown} value */
function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} table
 * @param {string[]} path
 * @returns {unknown}
 */
function valueAt(table, path) {
  return path.reduce((inner, key) => (isTable(inner) ? /** @type {Section} */ (inner)[key] : undefined), table);
}

/** @param {string} key */
function inWords(key) {
  return key.replaceAll("_", " ");
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function described(value) {
  if (value === undefined) return "–";
  if (typeof value === "number") return String(Number(value.toPrecision(4))).replace("-", "−");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length <= 4 ? value.map(described).join(", ") : plural(value.length, "value");
  if (!isTable(value)) return inWords(String(value)).slice(0, MAX_TEXT);
  const parts = Object.entries(/** @type {Section} */ (value)).map(
    ([key, inner]) => `${inWords(key)} ${described(inner)}`,
  );
  return parts.join(", ").slice(0, MAX_TEXT);
}

/**
 * Return the choice of the catalogue that a table stands for.
 * @param {typeof KINDS[number]} kind
 * @param {unknown} table
 * @param {Catalogue} catalogue
 * @returns {Choice | undefined}
 */
function choiceOf({ kinds, lists }, table, catalogue) {
  const chosen = kinds.map((key) => valueAt(table, [key])).find((value) => value !== undefined);
  const options = lists.flatMap((list) => catalogue[list]);
  return options.find(({ id }) => id === chosen);
}

/**
 * Return a table as its title in the catalogue with its numbers.
 * @param {typeof KINDS[number]} kind
 * @param {unknown} table
 * @param {Catalogue} catalogue
 */
function describedTable(kind, table, catalogue) {
  const choice = choiceOf(kind, table, catalogue);
  if (!choice) return described(table);
  const named = choice.parameters?.filter(({ name }) => valueAt(table, [name]) !== undefined) ?? [];
  const numbers = named.map(({ name, title }) => `${title} ${described(valueAt(table, [name]))}`);
  return [choice.title, ...numbers].join(", ");
}

/**
 * Return the differences of two tables, one for each key; tables within them are gone into.
 * @param {unknown} a
 * @param {unknown} b
 * @param {string[]} path
 * @param {(path: string[]) => string} titleOf
 * @returns {Difference[]}
 */
function leaves(a, b, path, titleOf) {
  if (JSON.stringify(a) === JSON.stringify(b)) return [];
  if (isTable(a) && isTable(b)) {
    const keys = new Set([...Object.keys(/** @type {Section} */ (a)), ...Object.keys(/** @type {Section} */ (b))]);
    return [...keys].flatMap((key) => leaves(valueAt(a, [key]), valueAt(b, [key]), [...path, key], titleOf));
  }
  const [one, two] = [described(a), described(b)];
  // Long lists may differ in their values only.
  return [{ path: path.join("."), title: titleOf(path), a: one, b: one === two ? `${two}, others` : two }];
}

/**
 * Return what differs between two scenarios. Where a kind differs, as that of the network, its numbers are part of it.
 * @param {Scenario} a
 * @param {Scenario} b
 * @param {Catalogue} catalogue
 * @returns {Difference[]}
 */
export function differences(a, b, catalogue) {
  /** @type {Difference[]} */
  const tables = [];
  /** @type {string[]} */
  const done = [];
  for (const kind of KINDS) {
    const [one, two] = [valueAt(a, kind.path.split(".")), valueAt(b, kind.path.split("."))];
    const same =
      kind.kinds.every((key) => valueAt(one, [key]) === valueAt(two, [key])) && isTable(one) === isTable(two);
    if (same) continue;
    done.push(kind.path);
    const [textA, textB] = [describedTable(kind, one, catalogue), describedTable(kind, two, catalogue)];
    tables.push({ path: kind.path, title: capitalise(kind.title), a: textA, b: textB });
  }
  const titleOf = (/** @type {string[]} */ path) => {
    const kind = KINDS.find((one) => path.join(".").startsWith(`${one.path}.`));
    const key = path[path.length - 1];
    const choices = kind ? [choiceOf(kind, valueAt(a, kind.path.split(".")), catalogue)] : [];
    const parameters = [
      ...choices.flatMap((choice) => choice?.parameters ?? []),
      ...catalogue.run,
      ...catalogue.privacy,
    ];
    const name = parameters.find((one) => one.name === key)?.title ?? inWords(key);
    const section = kind?.title ?? TITLES[path[0]] ?? inWords(path[0]);
    return capitalise(path.length === 1 || section === name ? section : `${section}: ${name}`);
  };
  const others = leaves(a, b, [], titleOf).filter(
    ({ path }) => !done.some((known) => path === known || path.startsWith(`${known}.`)),
  );
  return [...tables, ...others];
}
