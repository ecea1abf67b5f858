// Noise as a function of (seed, replicate, step, agent), as the library draws it: Philox-4x32-10 on a counter, then the
// law's own transform. The same seed gives the same run here and in Python, up to rounding.

/**
 * @typedef {"gaussian" | "laplace" | "uniform" | "student" | "rademacher" | "none"} Law
 * @typedef {{ seed: number, replicate: number, step: number, stream: number }} Draw
 */

// The counter's fourth word. A Student draw takes the stream that follows as well.
export const FRESH = 0;
export const FROZEN = 2;

// Agents are drawn in groups of 8; counter 4g + l of group g serves the agents 8g + l and 8g + 4 + l.
const GROUP = 8;
const HALF = 4;
const ROUNDS = 10;
const TWO_32 = 2 ** 32;
const TWO_52 = 2 ** 52;
// Half a cell of 2⁻⁵², rounded as in the library: centres of cells lie symmetrically and are never 0.
const HALF_CELL = 2 ** -53;

/**
 * Write the high and the low word of a product of two 32-bit words.
 * @param {number} a
 * @param {number} b
 * @param {Uint32Array} out
 */
function multiply(a, b, out) {
  const [a0, a1, b0, b1] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const low = a0 * b0;
  const middle = a1 * b0 + (low >>> 16);
  const other = a0 * b1 + (middle % 65536);
  out[0] = a1 * b1 + Math.floor(middle / 65536) + Math.floor(other / 65536);
  out[1] = Math.imul(a, b);
}

const first = new Uint32Array(2);
const second = new Uint32Array(2);

/**
 * Write the four words at a counter under a key.
 * @param {ArrayLike<number>} counter
 * @param {ArrayLike<number>} key
 * @param {Uint32Array} words
 */
export function philox(counter, key, words) {
  let [c0, c1, c2, c3] = [counter[0] >>> 0, counter[1] >>> 0, counter[2] >>> 0, counter[3] >>> 0];
  let [k0, k1] = [key[0] >>> 0, key[1] >>> 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    multiply(c0, 0xd2511f53, first);
    multiply(c2, 0xcd9e8d57, second);
    [c0, c1, c2, c3] = [second[0] ^ c1 ^ k0, second[1], first[0] ^ c3 ^ k1, first[1]];
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  words[0] = c0;
  words[1] = c1;
  words[2] = c2;
  words[3] = c3;
}

/** The highest 52 of 64 bits, as a share of 1: in [0, 1). */
function share(/** @type {number} */ high, /** @type {number} */ low) {
  return (high * 2 ** 20 + (low >>> 12)) / TWO_52;
}

/** In (0, 1], as a logarithm needs. */
function openUnit(/** @type {number} */ high, /** @type {number} */ low) {
  return 1 - share(high, low);
}

/** Cosine and sine of a uniform angle: 52 bits choose it in an octant, three more the octant. */
function octant(/** @type {number} */ high, /** @type {number} */ low) {
  const angle = (share(high, low) + HALF_CELL) * 0.7853981633974483;
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const [one, other] = low & 1 ? [sine, cosine] : [cosine, sine];
  return [low & 2 ? -one : one, low & 4 ? -other : other];
}

/** A uniform number of mean 0 on (−½, ½). */
function centredUnit(/** @type {number} */ high, /** @type {number} */ low) {
  return share(high, low) - (0.5 - HALF_CELL);
}

/** A double exponential of unit variance, with the sign of a bit that its size does not use. */
function laplace(/** @type {number} */ high, /** @type {number} */ low) {
  const size = Math.log(openUnit(high, low)) * Math.SQRT1_2;
  return low & 1 ? -size : size;
}

/** Student's t of unit variance (Bailey, 1994). */
function student(/** @type {number} */ shape, /** @type {Uint32Array} */ words) {
  const size = Math.sqrt((shape - 2) * Math.expm1((-2 / shape) * Math.log(openUnit(words[0], words[1]))));
  return size * octant(words[2], words[3])[0];
}

/**
 * Return the numbers of the two agents that share a counter, of mean 0 and variance 1.
 * @param {Law} law
 * @param {number} shape degrees of freedom of Student's t
 * @param {Uint32Array} words
 * @param {Uint32Array} more words of the stream that follows, for Student's t
 */
function pair(law, shape, words, more) {
  const [w0, w1, w2, w3] = words;
  switch (law) {
    case "gaussian": {
      const radius = Math.sqrt(-2 * Math.log(openUnit(w0, w1)));
      const [cosine, sine] = octant(w2, w3);
      return [radius * cosine, radius * sine];
    }
    case "laplace":
      return [laplace(w0, w1), laplace(w2, w3)];
    case "uniform":
      return [centredUnit(w0, w1) * Math.sqrt(12), centredUnit(w2, w3) * Math.sqrt(12)];
    case "student":
      return [student(shape, words), student(shape, more)];
    case "rademacher":
      return [w0 >>> 31 ? -1 : 1, w2 >>> 31 ? -1 : 1];
    default:
      return [0, 0];
  }
}

/**
 * Return one number of mean 0 and variance 1 for each agent.
 * @param {Law} law
 * @param {number} shape degrees of freedom of Student's t
 * @param {number} agents
 * @param {Draw} draw
 */
export function draw(law, shape, agents, { seed, replicate, step, stream }) {
  const noise = new Float64Array(agents);
  const key = [seed % TWO_32, Math.floor(seed / TWO_32)];
  const [words, more] = [new Uint32Array(4), new Uint32Array(4)];
  for (let start = 0; start < agents; start += GROUP) {
    for (let lane = 0; lane < HALF && start + lane < agents; lane += 1) {
      const block = start / 2 + lane;
      philox([block, step, replicate, stream], key, words);
      if (law === "student") philox([block, step, replicate, stream + 1], key, more);
      const [one, other] = pair(law, shape, words, more);
      noise[start + lane] = one;
      if (start + lane + HALF < agents) noise[start + lane + HALF] = other;
    }
  }
  return noise;
}
