// How a section of the scenario reads as a choice with values, and back. Keys that the page does not know (those of the
// model's extensions) are carried along untouched.

import { sentence } from "./words.js";

/** @typedef {import("./choice.js").Chosen} Chosen */

const NETWORK_KINDS = ["generator", "named", "edges", "weights", "labels", "file", "weighted", "largest_component"];

/** @param {Record<string, any>} section @param {string[]} known */
function others(section, known) {
  return Object.fromEntries(Object.entries(section ?? {}).filter(([key]) => !known.includes(key)));
}

/** @param {any[]} options @returns {string[]} the names of all parameters of all options */
function parameterNames(options) {
  return options.flatMap((option) => (option.parameters ?? []).map((/** @type {any} */ spec) => spec.name));
}

/** @param {any} catalogue */
export function networkSection(catalogue) {
  const known = [...NETWORK_KINDS, ...parameterNames(catalogue.generators), "connected", "seed"];
  return {
    options: [
      ...catalogue.generators.map((/** @type {any} */ one) => ({ ...one, group: "Made to order" })),
      ...catalogue.named.map((/** @type {any} */ one) => ({ ...one, id: `named:${one.id}`, group: "Real networks" })),
    ],
    /** @param {any} section @returns {Chosen} */
    read(section) {
      if (section.edges) return { id: "own", values: {} };
      if (section.temporal) return { id: `temporal:${section.temporal}`, values: {} };
      return { id: section.generator ?? `named:${section.named}`, values: section };
    },
    /** @param {Chosen} chosen @param {any} before */
    write({ id, values }, before) {
      const extras = before.temporal ? {} : others(before, known);
      if (id.startsWith("named:")) return { named: id.slice(6), ...extras };
      const generator = catalogue.generators.find((/** @type {any} */ one) => one.id === id);
      const names = generator.parameters.map((/** @type {any} */ spec) => spec.name);
      const kept = before.generator === id ? ["seed", "connected"].filter((key) => before[key] !== undefined) : [];
      const picked = Object.fromEntries(names.map((/** @type {string} */ name) => [name, values[name]]));
      const stays = Object.fromEntries(kept.map((key) => [key, before[key]]));
      return { generator: id, ...generator.fixed, ...picked, ...stays, ...extras };
    },
    /** What a section holds beside its kind and the kind's parameters. @param {any} section */
    extras: (section) => (section.temporal ? {} : others(section, known)),
    /** The options that only this section itself can be. @param {any} section */
    own(section) {
      if (section.edges) return [{ id: "own", title: "From your file", group: "Yours" }];
      if (!section.temporal) return [];
      const { temporal, ...rest } = section;
      const blurb = Object.entries(rest).map(([key, value]) => `${key} ${JSON.stringify(value)}`).join(", ");
      return [{ id: `temporal:${temporal}`, title: sentence(temporal.replaceAll("_", " ")), group: "Temporal", blurb }];
    },
  };
}

/**
 * A table whose kind stands under one key, with the kind's parameters beside it.
 * @param {string} key @param {any[]} options
 */
export function tagged(key, options) {
  const names = parameterNames(options);
  return {
    options,
    /** @param {any} section @returns {Chosen} */
    read(section) {
      const unnamed = section.formula === undefined ? options[0].id : "formula";
      return { id: section[key] ?? unnamed, values: section };
    },
    /** @param {Chosen} chosen @param {any} [before] */
    write({ id, values }, before = {}) {
      const own = options.find((one) => one.id === id)?.parameters ?? [];
      const picked = Object.fromEntries(own.map((/** @type {any} */ spec) => [spec.name, values[spec.name]]));
      return { [key]: id, ...picked, ...others(before, [key, ...names, "formula", "values", "law", "seed"]) };
    },
  };
}

/** Stubbornness: one number, or drawn. @param {any[]} options */
export function stubbornnessSection(options) {
  return {
    options,
    /** @param {any} value @returns {Chosen} */
    read(value) {
      if (typeof value === "number" || value === undefined) return { id: "number", values: { value: value ?? 1 } };
      return Array.isArray(value) ? { id: "given", values: {} } : { id: value.law, values: value };
    },
    /** @param {Chosen} chosen */
    write({ id, values }) {
      if (id === "number") return values.value;
      return { law: id, low: values.low, high: values.high };
    },
  };
}

/** How noise goes on in time: a word, or AR(1) with its share. @param {any[]} options */
export function temporalSection(options) {
  return {
    options,
    /** @param {any} value @returns {Chosen} */
    read: (value) => (typeof value === "object" ? { id: "ar1", values: value } : { id: value ?? "white", values: {} }),
    /** @param {Chosen} chosen */
    write: ({ id, values }) => (id === "ar1" ? { ar1: values.ar1 } : id),
  };
}
