// Pictures of parts of the page, larger than on the screen: canvases are drawn anew, and texts and keys on top of them.

import { context2d } from "./elements.js";
import { capitalise } from "./format.js";

/**
 * @typedef {(scale: number) => HTMLCanvasElement | Promise<HTMLCanvasElement>} Drawing draws an element anew, larger by a
 *   factor
 *
 * @typedef {object} Sheet what a picture is painted on
 * @property {CanvasRenderingContext2D} ctx
 * @property {number} scale
 * @property {number} left of the page's pixels that are at the edges of the picture
 * @property {number} top
 */

/** @type {WeakMap<Element, Drawing>} */
const drawings = new WeakMap();

// What only works on the page has no place in a picture.
const LEFT_OUT =
  "button, input, select, .stage-tools, .axis-tools, .zoom, .brush, .agent-card, .unseen, #followed-hint";

/**
 * Say how an element is drawn anew for a picture.
 * @param {Element} element
 * @param {Drawing} drawing
 */
export function setDrawing(element, drawing) {
  drawings.set(element, drawing);
}

/**
 * Return a picture of some elements, one below the other; those side by side on the page stay so.
 * @param {Element[]} elements
 * @param {object} options
 * @param {number} options.scale pixels of the picture for each pixel of the page
 * @param {string} options.background
 * @param {number} [options.margin]
 * @param {string} [options.caption] a line of text in the upper left corner, where the page has its tools
 */
export async function pictureOf(elements, { scale, background, margin = 12, caption = "" }) {
  const rows = inRows(elements);
  const width = Math.max(...rows.map(({ left, right }) => right - left)) + 2 * margin;
  const height = rows.reduce((sum, { top, bottom }) => sum + bottom - top + margin, margin);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const ctx = context2d(canvas);
  ctx.fillStyle = background;
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.scale(scale, scale);
  let y = margin;
  for (const { members, left, top, bottom } of rows) {
    for (const member of members) await paint({ ctx, scale, left: left - margin, top: top - y }, member);
    y += bottom - top + margin;
  }
  writeCaption(ctx, caption, margin);
  return canvas;
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} margin
 */
function writeCaption(ctx, text, margin) {
  const style = getComputedStyle(document.body);
  ctx.font = `14px ${style.fontFamily}`;
  ctx.fillStyle = style.color;
  ctx.fillText(text, margin + 14, margin + 26);
}

/**
 * Return elements in rows, as they are on the page, from top to bottom.
 * @param {Element[]} elements
 */
function inRows(elements) {
  /** @type {{members: Element[], left: number, right: number, top: number, bottom: number}[]} */
  const rows = [];
  const boxes = elements.map((member) => ({ member, ...member.getBoundingClientRect().toJSON() }));
  for (const { member, left, right, top, bottom } of boxes.sort((a, b) => a.top - b.top)) {
    const row = rows.find((one) => Math.abs(one.top - top) < 8);
    if (!row) rows.push({ members: [member], left, right, top, bottom });
    else {
      row.members.push(member);
      Object.assign(row, { left: Math.min(row.left, left), right: Math.max(row.right, right) });
      Object.assign(row, { bottom: Math.max(row.bottom, bottom) });
    }
  }
  return rows;
}

/**
 * Paint an element and all within it.
 * @param {Sheet} sheet
 * @param {Element} element
 */
async function paint(sheet, element) {
  if (element.matches(LEFT_OUT) || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    return;
  const box = element.getBoundingClientRect();
  const { ctx, left, top } = sheet;
  const [x, y] = [box.left - left, box.top - top];
  const drawing = drawings.get(element);
  if (drawing) {
    const drawn = await drawing(sheet.scale);
    ctx.drawImage(drawn, x, y, box.width, box.height);
    // The page must not stand still while several large networks are drawn.
    await new Promise((resume) => setTimeout(resume));
    return;
  }
  if (element instanceof SVGSVGElement) {
    paintSign(ctx, element, x, y, box);
    return;
  }
  // The boxes of chips are as wide as their buttons, which are left out.
  if (!element.matches(".chip, .canvas-holder")) paintBox(ctx, getComputedStyle(element), x, y, box);
  if (element instanceof HTMLInputElement) writeValue(ctx, element, x + box.width, y);
  for (const child of element.childNodes) {
    if (child instanceof Text) paintText(sheet, child);
    else if (child instanceof Element) await paint(sheet, child);
  }
}

/**
 * Paint the background and the upper border of an element; swatches in legends consist of these.
 * @param {CanvasRenderingContext2D} ctx
 * @param {CSSStyleDeclaration} style
 * @param {number} x
 * @param {number} y
 * @param {DOMRect} box
 */
function paintBox(ctx, style, x, y, { width, height }) {
  ctx.globalAlpha = Number(style.opacity);
  const colours = style.backgroundImage.match(/rgba?\([^)]*\)/g);
  if (colours && colours.length > 1) {
    const gradient = ctx.createLinearGradient(x, 0, x + width, 0);
    for (const [k, colour] of colours.entries()) gradient.addColorStop(k / (colours.length - 1), colour);
    fillRounded(ctx, gradient, style, [x, y, width, height]);
  } else if (!style.backgroundColor.endsWith(", 0)"))
    fillRounded(ctx, style.backgroundColor, style, [x, y, width, height]);
  const line = Number.parseFloat(style.borderTopWidth);
  if (line > 0) strokeBorder(ctx, style, line, [x, y, width, height]);
  ctx.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string | CanvasGradient} fill
 * @param {CSSStyleDeclaration} style
 * @param {[number, number, number, number]} box
 */
function fillRounded(ctx, fill, style, box) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.roundRect(...box, Math.min(Number.parseFloat(style.borderTopLeftRadius) || 0, box[3] / 2));
  ctx.fill();
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {CSSStyleDeclaration} style
 * @param {number} line its width
 * @param {[number, number, number, number]} box
 */
function strokeBorder(ctx, style, line, [x, y, width, height]) {
  const dashes = { dashed: [3 * line, 2 * line], dotted: [line, line] };
  ctx.strokeStyle = style.borderTopColor;
  ctx.lineWidth = line;
  ctx.setLineDash(dashes[/** @type {keyof typeof dashes} */ (style.borderTopStyle)] ?? []);
  ctx.beginPath();
  // Swatches have an upper border only, boxes have all four.
  if (Number.parseFloat(style.borderBottomWidth) > 0) {
    const radius = Math.min(Number.parseFloat(style.borderTopLeftRadius) || 0, height / 2);
    ctx.roundRect(x + line / 2, y + line / 2, width - line, height - line, radius);
  } else {
    ctx.moveTo(x, y + line / 2);
    ctx.lineTo(x + width, y + line / 2);
  }
  ctx.stroke();
  ctx.setLineDash([]);
}

/**
 * Paint a small drawing that is made of paths.
 * @param {CanvasRenderingContext2D} ctx
 * @param {SVGSVGElement} element
 * @param {number} x
 * @param {number} y
 * @param {DOMRect} box
 */
function paintSign(ctx, element, x, y, { width, height }) {
  const view = element.viewBox.baseVal;
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(width / view.width, height / view.height);
  for (const path of element.querySelectorAll("path")) {
    const { fill, stroke, strokeWidth, strokeDasharray } = getComputedStyle(path);
    const shape = new Path2D(path.getAttribute("d") ?? "");
    ctx.lineWidth = Number.parseFloat(strokeWidth);
    ctx.setLineDash((strokeDasharray.match(/[\d.]+/g) ?? []).map(Number));
    if (fill !== "none") {
      ctx.fillStyle = fill;
      ctx.fill(shape);
    }
    if (stroke !== "none") {
      ctx.strokeStyle = stroke;
      ctx.stroke(shape);
    }
  }
  ctx.restore();
}

/**
 * Set the font and the colour of an element, and return how far letters rise above their line.
 * @param {CanvasRenderingContext2D} ctx
 * @param {CSSStyleDeclaration} style
 */
function setFont(ctx, style) {
  ctx.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  ctx.fillStyle = style.color;
  if ("letterSpacing" in ctx) ctx.letterSpacing = style.letterSpacing === "normal" ? "0px" : style.letterSpacing;
  return ctx.measureText("x").fontBoundingBoxAscent;
}

/**
 * Write the number in a field, at the right.
 * @param {CanvasRenderingContext2D} ctx
 * @param {HTMLInputElement} input
 * @param {number} right
 * @param {number} top
 */
function writeValue(ctx, input, right, top) {
  const style = getComputedStyle(input);
  const ascent = setFont(ctx, style);
  ctx.textAlign = "right";
  ctx.fillText(input.value, right - Number.parseFloat(style.paddingRight), top + ascent + 2);
  ctx.textAlign = "left";
}

/**
 * Write a text where it is on the page, word by word, because the page breaks lines between words.
 * @param {Sheet} sheet
 * @param {Text} node
 */
function paintText({ ctx, left, top }, node) {
  const parent = /** @type {Element} */ (node.parentElement);
  const style = getComputedStyle(parent);
  const ascent = setFont(ctx, style);
  const range = document.createRange();
  const capital =
    node === parent.firstChild && getComputedStyle(parent, "::first-letter").textTransform === "uppercase";
  // Canvases do not know digits of equal width, which are placed one by one.
  const parts = style.fontVariantNumeric.includes("tabular-nums") ? /\S/gu : /\S+/g;
  for (const { 0: part, index } of node.data.matchAll(parts)) {
    range.setStart(node, index);
    range.setEnd(node, index + part.length);
    const box = range.getBoundingClientRect();
    const text = capital && !node.data.slice(0, index).trim() ? capitalise(part) : part;
    if (box.width > 0) ctx.fillText(text, box.left - left, box.top - top + ascent);
  }
}
