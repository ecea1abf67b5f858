// The state in the address: # and the state as JSON, deflated, in base64 for URLs.

import { fittingView } from "./store.js";

// Browsers cut or refuse addresses beyond some megabytes, and people's programs far earlier.
const LONGEST = 1_000_000;
const LARGEST_STATE = 64_000_000;

/** @param {Uint8Array} bytes @param {CompressionStream | DecompressionStream} through @param {number} [most] */
async function streamed(bytes, through, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(through).getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error("the address holds too much");
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Return the fragment for a state, or null where it would be too long for an address. @param {object} state */
export async function encoded(state) {
  const bytes = await streamed(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  const fragment = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return fragment.length > LONGEST ? null : `#${fragment}`;
}

/** Return the state in a fragment; raises whatever is wrong with it. @param {string} fragment */
export async function decoded(fragment) {
  const text = atob(fragment.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  const plain = await streamed(bytes, new DecompressionStream("deflate-raw"), LARGEST_STATE);
  const state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(plain));
  const sections = state?.scenario;
  if (typeof sections !== "object" || sections === null || typeof sections.network !== "object") {
    throw new Error("the address holds no scenario");
  }
  return { scenario: sections, view: fittingView(state.view) };
}

/**
 * Keep the address up to date with the last state that could be computed, a moment after the last change.
 * @param {() => object} current
 * @param {(text: string) => void} tell
 */
export function keeper(current, tell) {
  let timer = 0;
  let written = location.hash;
  async function write() {
    const fragment = await encoded(current());
    if (fragment === null) {
      tell("This scenario is too large for an address. Download it as TOML to share it.");
    } else if (fragment !== written) {
      written = fragment;
      history.replaceState(null, "", fragment);
    }
  }
  return {
    soon() {
      window.clearTimeout(timer);
      timer = window.setTimeout(write, 250);
    },
    now: write,
    /** Whether a fragment is the one written here, and not one that the person opened. @param {string} fragment */
    isOwn: (fragment) => fragment === written,
  };
}
