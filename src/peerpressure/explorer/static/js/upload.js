// Networks from files: chosen, or dropped anywhere on the page.

import { byId } from "./elements.js";
import { tell } from "./messages.js";
import { Refusal, upload } from "./wire.js";
import { plural } from "./words.js";

/**
 * @param {number} most bytes that the server takes
 * @param {(network: object) => void} take
 */
export function acceptFiles(most, take) {
  const input = /** @type {HTMLInputElement} */ (byId("file"));
  const cover = byId("drop-cover");

  /** @param {File} file */
  async function open(file) {
    if (file.size > most) {
      const [bound, size] = [plural(most, "byte"), plural(file.size, "byte")];
      tell(`A file may hold ${bound} here, and ${file.name} has ${size}; peerpressure run reads larger ones.`, "bad");
      return;
    }
    try {
      const answer = await upload(file);
      take(answer.network);
      tell(`${file.name}: ${answer.facts.join(", ")}`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      tell(error.message, "bad");
    }
  }

  const holdsFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragover", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    cover.hidden = false;
  });
  window.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) cover.hidden = true;
  });
  window.addEventListener("drop", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    cover.hidden = true;
    const file = event.dataTransfer?.files[0];
    if (file) open(file);
  });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    if (file) open(file);
    input.value = "";
  });
  return { choose: () => input.click() };
}
