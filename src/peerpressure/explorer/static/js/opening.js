// Where the page begins: with what its address holds, if that can be used.

import { decoded } from "./address.js";
import { tell } from "./messages.js";
import { fittingView } from "./store.js";
import { Refusal, ask } from "./wire.js";

/**
 * Return the state that the address holds, or the plain one where it holds none that can be used.
 * @param {any} plain as the catalogue has it
 * @returns {Promise<import("./store.js").State>}
 */
export async function opening(plain) {
  const first = { scenario: plain.scenario, view: fittingView(plain.view) };
  if (location.hash.length < 2) return first;
  try {
    const given = await decoded(location.hash);
    // The server knows what a scenario may be; what it takes, the controls can show.
    await ask("/api/pressure", { scenario: given.scenario });
    return given;
  } catch (error) {
    const why = error instanceof Refusal ? ` ${error.message}` : "";
    tell(`The address does not hold a scenario that can be used, so this is where everybody starts.${why}`, "warn");
    return first;
  }
}
