// How a section of a scenario is read as a choice with values, and written back. Keys that the page does not know, such
// as those of the model's extensions, are kept.

import { capitalise } from "./format.js";

/**
 * @typedef {import("./fields.js").Choice} Choice
 * @typedef {import("./types.js").AgentsSection} AgentsSection
 * @typedef {import("./types.js").Catalogue} Catalogue
 * @typedef {import("./types.js").NetworkSection} NetworkSection
 * @typedef {import("./types.js").NoiseSection} NoiseSection
 * @typedef {import("./types.js").Option} Option
 * @typedef {import("./types.js").Section} Section
 */

const NETWORK_KEYS = [
  "generator",
  "named",
  "edges",
  "weights",
  "labels",
  "file",
  "weighted",
  "largest_component",
  "connected",
  "directed",
  "signed",
  "seed",
];

/**
 * Return a table with some of its keys only.
 * @param {Section} table
 * @param {string[]} keys
 * @returns {Section}
 */
function pick(table, keys) {
  return Object.fromEntries(keys.map((key) => [key, table[key]]));
}

/**
 * Return a table without some of its keys.
 * @param {Section} table
 * @param {string[]} keys
 * @returns {Section}
 */
export function omit(table, keys) {
  return Object.fromEntries(Object.entries(table).filter(([key]) => !keys.includes(key)));
}

/** @param {Option[]} options */
function parameterNames(options) {
  return options.flatMap(({ parameters = [] }) => parameters.map(({ name }) => name));
}

/**
 * Return the section of a network that changes by itself; it has no other changes.
 * @param {Option[]} options
 * @param {string} id
 * @param {Section} values
 * @param {NetworkSection} before
 * @returns {NetworkSection}
 */
function writeTemporal(options, id, values, before) {
  const kept = before.temporal === id ? ["seed", "steps", "repeat"].filter((key) => before[key] !== undefined) : [];
  return {
    temporal: id,
    ...pick(values, parameterNames(options.filter((one) => one.id === id))),
    ...pick(before, kept),
  };
}

/** @param {Catalogue} catalogue */
export function networkForm({ generators, named, temporal_networks: temporals }) {
  const known = [...NETWORK_KEYS, ...parameterNames(generators)];
  return {
    options: [
      ...generators.map((option) => ({ ...option, group: "Made to order" })),
      ...temporals.map((option) => ({ ...option, id: `temporal:${option.id}`, group: "Changing from step to step" })),
      ...named.map((option) => ({ ...option, id: `named:${option.id}`, group: "Real networks" })),
    ],

    /**
     * @param {NetworkSection} section
     * @returns {Choice}
     */
    read(section) {
      if (section.edges) return { id: "own", values: {} };
      if (section.temporal) return { id: `temporal:${section.temporal}`, values: section };
      return { id: section.generator ?? `named:${section.named}`, values: section };
    },

    /**
     * @param {Choice} choice
     * @param {NetworkSection} before
     * @returns {NetworkSection}
     */
    write({ id, values }, before) {
      if (id.startsWith("temporal:")) return writeTemporal(temporals, id.slice(9), values, before);
      const extras = this.extras(before);
      if (id.startsWith("named:")) return { named: id.slice(6), ...extras };
      const options = generators.filter((option) => option.id === id);
      const kept = before.generator === id ? ["seed", "connected"].filter((key) => before[key] !== undefined) : [];
      return {
        generator: id,
        ...options[0]?.fixed,
        ...pick(values, parameterNames(options)),
        ...pick(before, kept),
        ...extras,
      };
    },

    /**
     * Return what a section has in addition to its kind and that kind's parameters.
     * @param {NetworkSection} section
     */
    extras: (section) => (section.temporal ? {} : omit(section, known)),

    /**
     * Return options for what only the section itself can be: a network from a file, or one that changes in time.
     * @param {NetworkSection} section
     * @returns {Option[]}
     */
    ownOptions(section) {
      if (section.edges) return [{ id: "own", title: "From your file", group: "Yours" }];
      const { temporal, ...rest } = section;
      if (!temporal || temporals.some((option) => option.id === temporal)) return [];
      const blurb = Object.entries(rest).map(([key, value]) => `${key} ${JSON.stringify(value)}`);
      const title = capitalise(temporal.replaceAll("_", " "));
      return [{ id: `temporal:${temporal}`, title, group: "Temporal", blurb: blurb.join(", ") }];
    },
  };
}

/**
 * The form of a section whose kind stands under one key, with the parameters beside it.
 * @param {string} key
 * @param {Option[]} options
 */
export function taggedForm(key, options) {
  const known = [key, ...parameterNames(options), "formula", "values", "law", "seed"];
  return {
    options,

    /**
     * @param {Section} section
     * @returns {Choice}
     */
    read(section) {
      const unnamed = section.formula === undefined ? options[0].id : "formula";
      return { id: String(section[key] ?? unnamed), values: section };
    },

    /**
     * @param {Choice} choice
     * @param {Section} [before]
     * @returns {Section}
     */
    write({ id, values }, before = {}) {
      const names = parameterNames(options.filter((option) => option.id === id));
      return { [key]: id, ...pick(values, names), ...omit(before, known) };
    },
  };
}

/**
 * The form of stubbornness: one number for all agents, or a law.
 * @param {Option[]} options
 */
export function stubbornnessForm(options) {
  return {
    options,

    /**
     * @param {AgentsSection["stubbornness"]} value
     * @returns {Choice}
     */
    read(value = 1) {
      if (typeof value === "number") return { id: "number", values: { value } };
      return Array.isArray(value) ? { id: "given", values: {} } : { id: value.law, values: value };
    },

    /** @param {Choice} choice */
    write({ id, values }) {
      return id === "number" ? values.value : { law: id, low: values.low, high: values.high };
    },
  };
}

/**
 * The form of how noise depends on the noise before: a word, or AR(1) with its coefficient.
 * @param {Option[]} options
 */
export function temporalForm(options) {
  return {
    options,

    /**
     * @param {NoiseSection["temporal"]} value
     * @returns {Choice}
     */
    read: (value = "white") => (typeof value === "object" ? { id: "ar1", values: value } : { id: value, values: {} }),

    /** @param {Choice} choice */
    write: ({ id, values }) => (id === "ar1" ? { ar1: values.ar1 } : id),
  };
}
