// What a press on the network does: follow an agent, draw opinions, or show an agent to the observer.

import { FOLLOWED } from "./colour.js";
import { byId } from "./elements.js";
import { Pointing } from "./pointing.js";

/**
 * @typedef {import("./brush.js").Brush} Brush
 * @typedef {import("./pointing.js").Tool} Tool
 * @typedef {import("./stage.js").Stage} Stage
 * @typedef {import("./store.js").Store} Store
 */

export class Tools {
  /** @param {Store} store @param {Stage} stage @param {Brush} brush @param {(index: number) => void} see */
  constructor(store, stage, brush, see) {
    this.store = store;
    this.stage = stage;
    this.brush = brush;
    this.pointing = new Pointing(stage, {
      follow: (index) => this.#follow(index),
      see,
      stroke: (x, y, first) => brush.stroke(x, y, first),
      lift: () => brush.lift(),
      reach: () => brush.reach,
    });
    byId("draw").addEventListener("click", () => {
      if (this.tool === "draw") this.use("look");
      else this.drawByHand();
    });
  }

  get tool() {
    return this.pointing.tool;
  }

  /** @param {Tool} tool */
  use(tool) {
    this.pointing.setTool(tool);
    byId("draw").setAttribute("aria-pressed", String(tool === "draw"));
    byId("brush").hidden = tool !== "draw";
    if (tool !== "draw") return;
    this.brush.show();
    this.store.look({ colour: "hidden" });
  }

  /** Take the opinions that there are as drawn by hand, and offer the brush. */
  drawByHand() {
    this.brush.begin();
    this.use("draw");
  }

  /** Put everything back for another scenario. */
  reset() {
    this.use("look");
    this.brush.renew();
    this.pointing.zoom(0);
  }

  /** Follow an agent, or stop. @param {number} index */
  #follow(index) {
    const label = this.stage.labelOf(index);
    const known = this.stage.followed.map(({ name }) => name);
    const agents = known.includes(label) ? known.filter((one) => one !== label) : [...known, label];
    this.store.look({ agents: agents.slice(-FOLLOWED.length) });
  }
}
