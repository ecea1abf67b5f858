// People on one fixed scale, a row for each: hollow where they wish, full where they speak. Whoever wishes for the lower
// half is a circle, the others are squares; the colour is that of the opinion at the place where it is drawn.

/**
 * @typedef {import("./toys.js").Row} Row
 * @typedef {import("./toys.js").Shown} Shown
 * @typedef {import("../colour.js").Scale} Scale
 *
 * @typedef {object} Look
 * @property {number} width
 * @property {number} row height of a row
 * @property {Scale} scale
 * @property {"left" | "above" | "none"} names where names stand
 * @property {boolean} wishes whether they are seen
 * @property {boolean} words whether what is said is seen
 * @property {number} [beyond] how far the scale goes on beyond its ends
 * @property {number} [rooms] how many rows each room has
 * @property {boolean} [plain] without numbers
 * @property {number} [circle] height of the picture of who hears whom
 * @property {number} [history] height of the picture of what was said day by day
 */

const SVG = "http://www.w3.org/2000/svg";
const [LOW, HIGH] = [0, 100];
// The scale goes on beyond its ends, where a mood can lead.
const BEYOND = 8;
const SIDE = 14;
const NAME = 62;
const AXIS = 44;
const TOP = 10;
const HEADING = 20;
const TICKS = [0, 25, 50, 75, 100];
const DAYS = [0, 10, 25, 100, 300, 1000];
// Room for a line of small text.
const NAMED = 16;

/**
 * @param {Element} parent
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function add(parent, tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** The colour of an opinion. */
function colourOf(/** @type {Scale} */ scale, /** @type {number} */ value) {
  return scale.css[scale.level((value - LOW) / (HIGH - LOW))];
}

/** A circle or a square of a person. */
function person(
  /** @type {Element} */ parent,
  /** @type {boolean} */ isCircle,
  /** @type {number} */ x,
  /** @type {number} */ y,
  /** @type {number} */ r,
  /** @type {Record<string, string | number>} */ attributes,
) {
  if (isCircle) return add(parent, "circle", { cx: x, cy: y, r, ...attributes });
  const side = 1.8 * r;
  return add(parent, "rect", { x: x - side / 2, y: y - side / 2, width: side, height: side, ...attributes });
}

/** Most happens early: a long history is drawn with early days stretched. */
export const isStretched = (/** @type {number[][]} */ paths) => paths[0].length > 51;

/** One drawing in the making. */
class Drawing {
  /**
   * @param {SVGElement} svg
   * @param {Look} look
   */
  constructor(svg, look) {
    this.svg = svg;
    this.look = look;
    this.left = SIDE + (look.names === "left" || look.history ? NAME : 0);
  }

  x(/** @type {number} */ value) {
    const { width, beyond = BEYOND } = this.look;
    const [least, most] = [LOW - beyond, HIGH + beyond];
    const inside = Math.min(most, Math.max(least, value));
    return this.left + ((inside - least) / (most - least)) * (width - this.left - SIDE);
  }

  colour(/** @type {number} */ value) {
    return colourOf(this.look.scale, value);
  }

  /** The scale itself, in its colours. */
  axis(/** @type {number} */ top, /** @type {number} */ bottom) {
    for (const tick of TICKS) {
      add(this.svg, "line", { class: "grid", x1: this.x(tick), x2: this.x(tick), y1: top, y2: bottom });
    }
    const cells = 40;
    const width = (this.x(HIGH) - this.x(LOW)) / cells;
    for (let k = 0; k < cells; k += 1) {
      const fill = this.colour(LOW + ((k + 0.5) / cells) * (HIGH - LOW));
      // A little wider, or gaps would be seen between them.
      add(this.svg, "rect", { x: this.x(LOW) + k * width, y: bottom + 6, width: width + 0.6, height: 7, fill });
    }
    if (this.look.plain) return;
    TICKS.forEach((tick, k) => {
      const name = k === 0 ? `${tick} blue` : k === TICKS.length - 1 ? `${tick} orange` : `${tick}`;
      add(this.svg, "text", { class: "tick", x: this.x(tick), y: bottom + 32, "text-anchor": "middle" }, name);
    });
  }

  /** A person's row. */
  row(/** @type {Row} */ row, /** @type {number} */ y) {
    const { look, svg } = this;
    const r = Math.min(8, look.row * 0.42);
    // What is said leaves the ring of the wish to be seen where both are the same.
    const full = 0.8 * r;
    const isCircle = row.wish < (LOW + HIGH) / 2;
    const marked = row.name !== undefined;
    const speaks = look.words && Number.isFinite(row.said);
    if (row.name !== undefined && look.names === "left") {
      add(svg, "text", { class: "name", x: SIDE, y: y + 5 }, row.name);
    }
    if (row.name !== undefined && look.names === "above") {
      add(svg, "text", { class: "name", x: this.x(LOW) + 6, y: y - 16 }, row.name);
    }
    if (speaks && look.wishes) {
      const line = { x1: this.x(row.wish), x2: this.x(row.said), y1: y, y2: y };
      add(svg, "line", { class: "kept", ...line, stroke: this.colour(row.wish) });
    }
    if (row.told !== undefined && row.sure !== undefined) {
      const [from, to] = [row.told - row.sure, row.told + row.sure];
      add(svg, "line", { class: "sure", x1: this.x(from), x2: this.x(to), y1: y, y2: y });
    }
    if (look.wishes) {
      const stroke = this.colour(row.wish);
      person(svg, isCircle, this.x(row.wish), y, r, { class: marked ? "wish marked" : "wish", stroke });
    }
    // Nobody's side is known from words alone.
    const shape = isCircle || !look.wishes;
    if (look.words && row.next !== undefined) {
      person(svg, shape, this.x(row.next), y, full, { class: "next", fill: this.colour(row.next) });
    }
    if (speaks) person(svg, shape, this.x(row.said), y, full, { class: "said", fill: this.colour(row.said) });
    if (row.told !== undefined) {
      const x = this.x(row.told);
      add(svg, "line", { class: "told", x1: x, x2: x, y1: y - look.row * 0.5, y2: y + look.row * 0.5 });
    }
  }

  /** What was said, day by day, from top to bottom. */
  history(
    /** @type {number[][]} */ paths,
    /** @type {Row[]} */ rows,
    /** @type {number} */ top,
    /** @type {number} */ height,
  ) {
    const { svg } = this;
    const days = paths[0].length - 1;
    const far = isStretched(paths) ? 0.5 : 1;
    const y = (/** @type {number} */ t) => top + (days ? (t / days) ** far : 0) * height;
    const isSeen = (/** @type {number} */ t) => t % days === 0 || Math.floor(2 * y(t)) > Math.floor(2 * y(t - 1));
    const seen = Array.from(paths[0].keys()).filter(isSeen);
    paths.forEach((path, i) => {
      const points = seen.map((t) => `${this.x(path[t]).toFixed(1)},${y(t).toFixed(1)}`).join(" ");
      add(svg, "polyline", { class: "path", points, stroke: this.colour(rows[i].wish) });
      if (far < 1) return;
      path.forEach((value, t) => {
        person(svg, rows[i].wish < (LOW + HIGH) / 2, this.x(value), y(t), 3, { fill: this.colour(value) });
      });
    });
    let above = -Infinity;
    for (const t of [...DAYS.filter((day) => day === 0 || (far < 1 && y(day) < y(days) - NAMED)), days]) {
      if (y(t) - above < NAMED) continue;
      above = y(t);
      add(svg, "text", { class: "tick", x: SIDE, y: above + 4 }, `day ${t.toLocaleString("en")}`);
    }
  }
}

/** Who hears whom, in a circle, in the colours of what they want and say. */
function circle(/** @type {Drawing} */ drawing, /** @type {Shown} */ shown, /** @type {number} */ height) {
  const { rows, friends = [] } = shown;
  const { svg, look } = drawing;
  const place = rows.map((_, k) => {
    const angle = (2 * Math.PI * k) / rows.length - Math.PI / 2;
    const radius = height / 2 - 20;
    return [look.width / 2 + 1.25 * radius * Math.cos(angle), height / 2 + 8 + radius * Math.sin(angle)];
  });
  for (const [a, b] of friends) {
    const [[x1, y1], [x2, y2]] = [place[a], place[b]];
    add(svg, "line", { class: "friends", x1, y1, x2, y2 });
  }
  rows.forEach((row, k) => {
    const [x, y] = place[k];
    const colours = { class: "both", fill: drawing.colour(row.said), stroke: drawing.colour(row.wish) };
    person(svg, row.wish < (LOW + HIGH) / 2, x, y, 8, colours);
    if (row.name) add(svg, "text", { class: "name", x, y: y - 14, "text-anchor": "middle" }, row.name);
  });
}

/**
 * Draw what a toy shows.
 * @param {SVGElement} svg
 * @param {Shown} shown
 * @param {Look} look
 */
export function draw(svg, shown, look) {
  svg.replaceChildren();
  const drawing = new Drawing(svg, look);
  const { rows } = shown;
  const heading = look.names === "above" ? HEADING : 0;
  const between = look.rooms ? HEADING + 18 : 0;
  const isMarked = shown.mark !== undefined && look.words;
  const first = TOP + (look.circle ? look.circle + 10 : 0) + (isMarked ? NAMED : 0);
  const places = rows.map((_, k) => {
    const room = look.rooms ? Math.floor(k / look.rooms) : 0;
    return first + (k + 0.5) * look.row + (k + 1) * heading + (look.rooms ? (room + 1) * between : 0);
  });
  const end = places[places.length - 1] + look.row / 2 + (look.rooms ? 10 : 0);
  const withHistory = look.words && look.history && shown.paths ? look.history : 0;
  const bottom = end + (withHistory ? withHistory + 34 : 4);
  svg.setAttribute("viewBox", `0 0 ${look.width} ${bottom + AXIS}`);
  svg.setAttribute("height", String(bottom + AXIS));
  drawing.axis(first - TOP / 2, bottom);
  if (look.circle) circle(drawing, shown, look.circle);
  for (let k = 0; look.rooms && k < rows.length; k += look.rooms) {
    const y = places[k] - look.row / 2 - 6;
    const height = look.rooms * look.row + 12;
    add(svg, "rect", { class: "room", x: 2, y, width: look.width - 4, height, rx: 8 });
    add(svg, "text", { class: "name", x: SIDE, y: y - 6 }, k ? "Room B" : "Room A");
  }
  if (shown.mark !== undefined && isMarked) {
    const x = drawing.x(shown.mark);
    add(svg, "text", { class: "tick", x, y: first - TOP / 2 - 4, "text-anchor": "middle" }, shown.markName);
    add(svg, "line", { class: "mark", x1: x, x2: x, y1: first - TOP / 2, y2: bottom });
  }
  rows.forEach((row, k) => {
    drawing.row(row, places[k]);
  });
  if (withHistory && shown.paths) drawing.history(shown.paths, rows, end + 16, withHistory);
}
