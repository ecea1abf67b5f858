// Taking it away: a link, the scenario, the data, the pictures, and the program that reproduces them.

import { byId } from "./elements.js";
import { tell } from "./messages.js";
import { Refusal, attachment } from "./wire.js";

/** @typedef {import("./store.js").Scenario} Scenario */

/** Hand a file to the person. @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads the file after the click is over.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * @param {{scenario: () => Scenario, time: () => number, canvas: HTMLCanvasElement,
 *          link: () => Promise<string>}} options
 */
export function offerSharing({ scenario, time, canvas, link }) {
  const menu = byId("share-menu");
  const button = byId("share");
  const open = (/** @type {boolean} */ yes) => {
    menu.hidden = !yes;
    button.setAttribute("aria-expanded", String(yes));
    if (yes) /** @type {HTMLElement | null} */ (menu.querySelector("button"))?.focus();
  };
  button.addEventListener("click", () => open(menu.hidden));
  menu.addEventListener("keydown", (event) => {
    const items = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button")]);
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (event.key === "Escape") {
      open(false);
      button.focus();
    } else if (event.key === "ArrowDown") items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowUp") items[(at + items.length - 1) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.hidden && !menu.parentElement?.contains(/** @type {Node} */ (event.target))) open(false);
  });

  /** @param {string} what */
  async function take(what) {
    if (what === "link") {
      const address = await link();
      try {
        await navigator.clipboard.writeText(address);
        tell("The link is on the clipboard. It holds everything that is set here.");
      } catch {
        tell("Copy the address from the browser's address bar: it holds everything that is set here.");
      }
    } else if (what === "canvas") {
      canvas.toBlob((blob) => blob && save(blob, "network-as-shown.png"));
    } else if (what.startsWith("figure:")) {
      const [, figure, format] = what.split(":");
      const question = { scenario: scenario(), what: figure, time: time(), format };
      const { blob, name } = await attachment("/api/export/figure", question);
      save(blob, name);
    } else {
      const { blob, name } = await attachment(`/api/export/${what}`, { scenario: scenario() });
      save(blob, name);
    }
  }

  for (const item of menu.querySelectorAll("button")) {
    item.addEventListener("click", async () => {
      open(false);
      button.focus();
      try {
        await take(/** @type {string} */ (item.dataset.take));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        tell(error.message, "bad");
      }
    });
  }
}
