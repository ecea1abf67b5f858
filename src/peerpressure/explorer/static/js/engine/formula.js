// Safe arithmetic in one variable t, in the syntax of the library: a formula is parsed into a small tree, never executed.

/**
 * @typedef {{ kind: "number", value: number }} NumberNode
 * @typedef {{ kind: "name", name: string }} NameNode
 * @typedef {{ kind: "negative", operand: Node }} NegativeNode
 * @typedef {{ kind: "operation", symbol: string, left: Node, right: Node }} OperationNode
 * @typedef {{ kind: "call", name: string, operands: Node[] }} CallNode
 * @typedef {NumberNode | NameNode | NegativeNode | OperationNode | CallNode} Node
 *
 * @typedef {{ text: string, at: number }} Token
 */

/** A text that is no formula. */
export class FormulaError extends Error {
  /** @override */
  name = "FormulaError";
}

const MAX_NODES = 60;
const MAX_LENGTH = 25 * MAX_NODES;
const MAX_NESTING = 50;

/** @type {Record<string, number>} */
const CONSTANTS = { pi: Math.PI, e: Math.E };
/** @type {Record<string, (...values: number[]) => number>} */
const FUNCTIONS = {
  sqrt: Math.sqrt,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  log1p: Math.log1p,
  exp: Math.exp,
  expm1: Math.expm1,
  abs: Math.abs,
  floor: Math.floor,
  ceil: Math.ceil,
  sin: Math.sin,
  cos: Math.cos,
};
/** @type {Record<string, (...values: number[]) => number>} */
const CHOICES = { min: Math.min, max: Math.max };
/** @type {Record<string, (left: number, right: number) => number>} */
const OPERATORS = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  // As in C and NumPy, where 1 to any power is 1.
  "^": (left, right) => (left === 1 || (left === -1 && Math.abs(right) === Infinity) ? 1 : left ** right),
};
const NAMES = ["t", ...Object.keys(CONSTANTS), ...Object.keys(FUNCTIONS), ...Object.keys(CHOICES)];
const ALLOWED = `use numbers, + - * / ^, parentheses and the names ${NAMES.join(", ")}`;

/** @type {Record<string, string>} */
const TYPESET = { "−": "-", "·": "*", "×": "*", "÷": "/" };
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻";
const TOKEN = /[ \t\n\r\f\v]*(\*\*|[-+*/^(),]|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[A-Za-z_]\w*|$)/y;

/** Return the text with its typeset signs spelled in ASCII; a run of raised signs is an exponent. */
function inAscii(/** @type {string} */ text) {
  const exponents = text.replace(new RegExp(`[${RAISED}]+`, "g"), (run) => {
    return `^${[...run].map((sign) => "0123456789-"[RAISED.indexOf(sign)]).join("")}`;
  });
  return exponents.replace(/[−·×÷]/g, (sign) => TYPESET[sign]);
}

/** @returns {Token[]} */
function tokensOf(/** @type {string} */ text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const begin = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw fault(text, begin, "something unreadable");
    const [, token] = match;
    const at = TOKEN.lastIndex - token.length;
    if (/^[\d.]/.test(token)) {
      if (/[A-Za-z_]/.test(text[TOKEN.lastIndex] ?? "")) throw fault(text, at, "a number run into a word");
      // Python reads no leading zeros, which other languages take for octal numbers.
      if (/^0+[1-9]\d*$/.test(token)) throw fault(text, at, "a number with a leading zero");
    }
    if (token) tokens.push({ text: token === "**" ? "^" : token, at });
  }
  return tokens;
}

function fault(/** @type {string} */ text, /** @type {number} */ at, /** @type {string} */ problem) {
  return new FormulaError(
    `a formula must be arithmetic in t, got ${problem} at column ${at + 1} of '${text}'; ${ALLOWED}`,
  );
}

/** A parser of one text. */
class Reader {
  #place = 0;
  #nodes = 0;
  #nesting = 0;

  /** @param {string} text */
  constructor(text) {
    this.text = inAscii(text);
    this.tokens = tokensOf(this.text);
  }

  read() {
    const tree = this.#sum();
    if (this.#place < this.tokens.length) throw this.#fault(`an unexpected '${this.#next}'`);
    return tree;
  }

  get #next() {
    return this.tokens[this.#place]?.text ?? "";
  }

  #fault(/** @type {string} */ problem) {
    return fault(this.text, this.tokens[this.#place]?.at ?? this.text.length, problem);
  }

  #take(/** @type {string} */ text) {
    if (this.#next !== text) throw this.#fault(this.#next ? `'${this.#next}' in place of '${text}'` : `no '${text}'`);
    this.#place += 1;
  }

  /**
   * Count a node, and evaluate it where nothing in it depends on t: 1/0 is a fault of the formula, not of a later step.
   * @template {Node} T
   * @param {T} node
   */
  #counted(node) {
    this.#nodes += 1;
    if (this.#nodes > MAX_NODES) throw this.#fault(`more than ${MAX_NODES} numbers, names and operations`);
    if (isConstant(node) && !Number.isFinite(evaluate(node, 0))) {
      throw this.#fault("a constant part whose value is undefined or infinite in doubles");
    }
    return node;
  }

  /** @returns {Node} */
  #sum() {
    let left = this.#product();
    while (this.#next === "+" || this.#next === "-") left = this.#joined(left, () => this.#product());
    return left;
  }

  /** @returns {Node} */
  #product() {
    let left = this.#signed();
    while (this.#next === "*" || this.#next === "/") left = this.#joined(left, () => this.#signed());
    return left;
  }

  /** @returns {Node} */
  #joined(/** @type {Node} */ left, /** @type {() => Node} */ operand) {
    const symbol = this.#next;
    this.#place += 1;
    return this.#counted({ kind: "operation", symbol, left, right: operand() });
  }

  /**
   * A power binds more tightly than the sign before it, and less tightly than that of its exponent.
   * @returns {Node}
   */
  #signed() {
    const sign = this.#next;
    if (sign !== "+" && sign !== "-") return this.#power();
    this.#place += 1;
    this.#nesting += 1;
    if (this.#nesting > MAX_NODES) throw this.#fault(`more than ${MAX_NODES} numbers, names and operations`);
    const operand = this.#signed();
    this.#nesting -= 1;
    return sign === "+" ? operand : this.#counted({ kind: "negative", operand });
  }

  /** @returns {Node} */
  #power() {
    const left = this.#atom();
    // Powers group from the right.
    return this.#next === "^" ? this.#joined(left, () => this.#signed()) : left;
  }

  /** @returns {Node} */
  #atom() {
    const token = this.#next;
    if (token === "(") {
      const [inner] = this.#inParentheses(false);
      return inner;
    }
    if (/^[\d.]/.test(token)) {
      const node = this.#counted({ kind: "number", value: Number(token) });
      this.#place += 1;
      return node;
    }
    if (!/^\w/.test(token)) throw this.#fault(token ? `an unexpected '${token}'` : "nothing where a number should be");
    if (!NAMES.includes(token)) throw this.#fault(`the unknown name '${token}'`);
    this.#place += 1;
    const callable = token in FUNCTIONS || token in CHOICES;
    if (!callable) return this.#counted({ kind: "name", name: token });
    if (this.#next !== "(") throw this.#fault(`the function ${token} without its argument`);
    const operands = this.#inParentheses(true);
    if (token in FUNCTIONS ? operands.length !== 1 : operands.length < 2) {
      throw this.#fault(`${token} with ${operands.length} arguments`);
    }
    return this.#counted({ kind: "call", name: token, operands });
  }

  #inParentheses(/** @type {boolean} */ several) {
    this.#take("(");
    this.#nesting += 1;
    if (this.#nesting > MAX_NESTING) throw this.#fault(`more than ${MAX_NESTING} nested parentheses`);
    const inner = [this.#sum()];
    while (several && this.#next === ",") {
      this.#place += 1;
      // A comma may follow the last argument, as in Python.
      if (this.tokens[this.#place]?.text !== ")") inner.push(this.#sum());
    }
    this.#take(")");
    this.#nesting -= 1;
    return inner;
  }
}

/**
 * Whether a part does not depend on t.
 * @param {Node} node
 * @returns {boolean}
 */
export function isConstant(node) {
  if (node.kind === "number") return true;
  if (node.kind === "name") return node.name !== "t";
  if (node.kind === "negative") return isConstant(node.operand);
  if (node.kind === "operation") return isConstant(node.left) && isConstant(node.right);
  return node.operands.every(isConstant);
}

/**
 * Return the value at t: infinite where it overflows, NaN where it is undefined.
 * @param {Node} node
 * @param {number} t
 * @returns {number}
 */
export function evaluate(node, t) {
  switch (node.kind) {
    case "number":
      return node.value;
    case "name":
      return node.name === "t" ? t : CONSTANTS[node.name];
    case "negative":
      return -evaluate(node.operand, t);
    case "operation":
      return OPERATORS[node.symbol](evaluate(node.left, t), evaluate(node.right, t));
    default: {
      const values = node.operands.map((operand) => evaluate(operand, t));
      return (FUNCTIONS[node.name] ?? CHOICES[node.name])(...values);
    }
  }
}

/**
 * Parse a formula; throws a FormulaError for anything else.
 * @param {string} text
 * @returns {Node}
 */
export function parseFormula(text) {
  if (text.length > MAX_LENGTH) throw new FormulaError(`a formula must have at most ${MAX_LENGTH} characters`);
  return new Reader(text).read();
}
