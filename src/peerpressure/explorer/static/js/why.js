// Why the agents come to what they do: five small drawings, each with a sentence, for those who do not read theorems.

import { el } from "./elements.js";

/**
 * @typedef {import("./types.js").Verdict} Verdict
 * @typedef {(draw: Pen) => void} Drawing
 */

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [120, 56];

/** Draws lines, dots and rings in one picture; classes are those of the stylesheet. */
class Pen {
  svg = document.createElementNS(SVG, "svg");

  constructor() {
    this.svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    this.svg.setAttribute("aria-hidden", "true");
  }

  #add(/** @type {string} */ tag, /** @type {Record<string, string | number>} */ attributes) {
    const shape = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) shape.setAttribute(name, String(value));
    this.svg.append(shape);
  }

  dot(/** @type {number} */ x, /** @type {number} */ y, r = 4, look = "said") {
    this.#add("circle", { class: look, cx: x, cy: y, r });
  }

  ring(/** @type {number} */ x, /** @type {number} */ y, r = 4) {
    this.dot(x, y, r, "thought");
  }

  line(/** @type {number[][]} */ points, look = "path") {
    this.#add("polyline", { class: look, points: points.map((point) => point.join(",")).join(" ") });
  }

  bar(/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ height, look = "own", width = 9) {
    this.#add("rect", { class: look, x, y, width, height });
  }
}

/** What one agent says: a part of what it thinks, and a part of what three neighbours have said. @type {Drawing} */
function rule(pen) {
  const self = [88, 28];
  for (const [x, y] of [
    [30, 10],
    [22, 30],
    [34, 48],
  ]) {
    pen.line([[x + 6, y], self], "link");
    pen.dot(x, y, 5);
  }
  pen.ring(self[0], self[1], 9);
  pen.dot(self[0], self[1], 4.5);
}

/** The part of its own opinion in what an agent says, step by step. */
function ownPart(/** @type {(step: number) => number} */ share) {
  return (/** @type {Pen} */ pen) => {
    for (let step = 0; step < 8; step += 1) {
      const own = 40 * share(step);
      pen.bar(12 + 12 * step, 8, 40 - own, "others");
      pen.bar(12 + 12 * step, 48 - own, own, "own");
    }
  };
}

/** What four agents say over time. */
function courses(/** @type {(start: number, step: number) => number} */ at) {
  return (/** @type {Pen} */ pen) => {
    for (const start of [-1, -0.6, 0.5, 1]) {
      pen.line(Array.from({ length: 22 }, (_, step) => [6 + 5 * step, 28 - 22 * at(start, step)]));
    }
  };
}

/** Where opinions end, above what is thought. */
function ends(/** @type {number[]} */ said, /** @type {number | null} */ mean) {
  return (/** @type {Pen} */ pen) => {
    const thought = [12, 24, 30, 36, 84, 108];
    pen.line(
      [
        [6, 44],
        [114, 44],
      ],
      "link",
    );
    for (const x of thought) pen.ring(x, 44);
    if (mean !== null) {
      pen.line(
        [
          [mean, 6],
          [mean, 50],
        ],
        "level",
      );
    }
    for (const [k, x] of said.entries()) pen.dot(x, said.length > 1 && mean === null ? 14 + (k % 2) * 6 : 16);
  };
}

/** What is thought stays where it is, whatever is said. @type {Drawing} */
function remain(pen) {
  for (const [k, x] of [14, 30, 44, 80, 106].entries()) {
    const y = 8 + 10 * k;
    pen.line(
      [
        [x, y],
        [58, y],
      ],
      "link",
    );
    pen.ring(x, y);
    pen.dot(58, y, 3.5);
  }
}

const MEAN = 49;
const SIDES = (/** @type {number} */ start, /** @type {number} */ step) => {
  return (step % 2 ? -1 : 1) * Math.sign(start) * (0.6 + 0.4 * (Math.abs(start) - 0.6) * 0.5 ** step);
};

/** The middle three drawings, by what becomes of the agents. @type {Record<string, [Drawing, string][]>} */
const COURSES = {
  consensus: [
    [
      ownPart((step) => 1 / (1 + 0.7 * step)),
      "Pressure keeps growing, so the part of their own opinion shrinks towards nothing.",
    ],
    [
      courses((start, step) => start / (1 + 0.4 * step)),
      "So do the differences between what they say: in the long run all say the same.",
    ],
    [
      ends([MEAN], MEAN),
      "The parts shrink slowly. Every step adds a little of what everybody thinks, and its mean is where they come to rest.",
    ],
  ],
  biased_consensus: [
    [
      ownPart((step) => 0.75 * 0.42 ** step),
      "What everybody thinks stops counting too soon, or is moved by noise that never changes.",
    ],
    [
      courses((start, step) => 0.25 + (start - 0.25) * 0.72 ** step),
      "They still listen to each other, so differences between what they say vanish.",
    ],
    [
      ends([66], MEAN),
      "They agree on what is left over from the beginning or from the noise, and not on the mean of what they think.",
    ],
  ],
  disagreement: [
    [
      ownPart((step) => 0.3 + 0.5 * 0.5 ** step),
      "Pressure stays bounded, or some listen to nobody: a part of their own opinion always remains.",
    ],
    [
      courses((start, step) => start * (0.4 + 0.6 * 0.7 ** step)),
      "It keeps what they say apart. They come closer, but never agree.",
    ],
    [
      ends([28, 38, 42, 46, 62, 74], null),
      "Everybody comes to rest between their own opinion and those of their neighbours.",
    ],
  ],
  oscillation: [
    [
      ownPart((step) => 0.75 * 0.42 ** step),
      "Pressure grows so fast that after a few steps nobody's own opinion counts any more.",
    ],
    [
      courses(SIDES),
      "There are two sides that hear only each other. Each repeats what the other has just said, and they swap forever.",
    ],
    [ends([34, 74], null), "The two values that they exchange are left over from the first steps."],
  ],
};

/**
 * Return the drawings for a verdict, with their sentences; none where these would not be true.
 * @param {Pick<Verdict, "outcome">} verdict
 * @param {boolean} adapts whether hidden opinions change
 */
export function reasonsInPictures({ outcome }, adapts) {
  const middle = COURSES[outcome];
  if (!middle || adapts) return [];
  /** @type {[Drawing, string][]} */
  const frames = [
    [
      rule,
      "What anybody says is a mix: a part of what they think, and a part of what their neighbours have just said.",
    ],
    ...middle,
    [
      remain,
      "Nobody has changed what they think. Whoever knows the rule can subtract the neighbours' part, and is left with it.",
    ],
  ];
  return frames.map(([draw, words]) => {
    const pen = new Pen();
    draw(pen);
    return el("li", {}, pen.svg, el("p", {}, words));
  });
}
