// Two panels of which one shows.

import { byId } from "./elements.js";

const NAMES = /** @type {const} */ (["curves", "observer"]);

export class Tabs {
  /** @param {(name: "curves" | "observer") => void} onChoose */
  constructor(onChoose) {
    for (const [at, name] of NAMES.entries()) {
      const tab = byId(`tab-${name}`);
      tab.addEventListener("click", () => onChoose(name));
      tab.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const next = NAMES[(at + 1) % NAMES.length];
        onChoose(next);
        byId(`tab-${next}`).focus();
        event.preventDefault();
      });
    }
  }

  /** @param {string} chosen */
  show(chosen) {
    for (const name of NAMES) {
      byId(`tab-${name}`).setAttribute("aria-selected", String(name === chosen));
      byId(`tab-${name}`).tabIndex = name === chosen ? 0 : -1;
      byId(`panel-${name}`).hidden = name !== chosen;
    }
  }
}
