// A state as the fragment of an address: JSON, deflated, in URL-safe base64.

// Browsers truncate or refuse addresses of some megabytes, and programs that pass links on do so much earlier.
const MAX_FRAGMENT = 1_000_000;
// A short fragment can inflate to gigabytes.
const MAX_STATE = 64_000_000;

/**
 * Pass bytes through a stream.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {CompressionStream | DecompressionStream} stream
 * @param {number} [limit] throws beyond this many bytes
 */
async function transform(bytes, stream, limit = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > limit) {
      await reader.cancel();
      throw new Error("the address holds too much");
    }
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/**
 * Return the fragment for a state, null if it would be too long.
 * @param {object} state
 */
export async function encodeState(state) {
  const bytes = await transform(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let text = "";
  // In pieces, because engines limit how many arguments a call may have.
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  const fragment = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return fragment.length > MAX_FRAGMENT ? null : `#${fragment}`;
}

/**
 * Return what a fragment holds, not checked in any way.
 * @param {string} fragment
 */
export async function inflated(fragment) {
  const text = atob(fragment.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const state = await transform(bytes, new DecompressionStream("deflate-raw"), MAX_STATE);
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(state));
}
