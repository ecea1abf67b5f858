// Animated GIFs, as the specification of GIF89a has them: one table of colours, and frames that only hold what changes.

// A colour is looked up by five bits of each of its channels.
const BUCKETS = 1 << 15;
// The last entry of the table stands for pixels that stay as they are.
const TRANSPARENT = 255;
const COLOURS = 255;
const MAX_CODE = 4096;

/** @param {number} pixel red in the lowest byte */
function bucketOf(pixel) {
  return ((pixel >> 3) & 31) | ((pixel >> 6) & 992) | ((pixel >> 9) & 31744);
}

/** The colours of a GIF: the most frequent ones of some frames, each the mean of its bucket. */
export class Palette {
  #counts = new Float64Array(BUCKETS);
  #reds = new Float64Array(BUCKETS);
  #greens = new Float64Array(BUCKETS);
  #blues = new Float64Array(BUCKETS);
  /** The entry for each bucket, −1 if it has not been looked for yet. */
  #nearest = new Int16Array(BUCKETS).fill(-1);
  /** @type {number[][]} */
  colours = [];

  /**
   * Count the colours of a frame.
   * @param {Uint32Array} pixels
   */
  count(pixels) {
    // Part of the pixels is enough; their number is no multiple of usual widths, so no column is left out.
    for (let i = 0; i < pixels.length; i += 7) {
      const pixel = pixels[i];
      const bucket = bucketOf(pixel);
      this.#counts[bucket] += 1;
      this.#reds[bucket] += pixel & 255;
      this.#greens[bucket] += (pixel >> 8) & 255;
      this.#blues[bucket] += (pixel >> 16) & 255;
    }
  }

  /** Choose the colours; frames are counted before and mapped afterwards. */
  choose() {
    const counts = this.#counts;
    const used = [...counts.keys()].filter((bucket) => counts[bucket] > 0).sort((a, b) => counts[b] - counts[a]);
    const means = [this.#reds, this.#greens, this.#blues].map((sums) => {
      return (/** @type {number} */ bucket) => Math.round(sums[bucket] / counts[bucket]);
    });
    this.colours = used.slice(0, COLOURS).map((bucket) => means.map((mean) => mean(bucket)));
  }

  /**
   * Return the entry for a pixel.
   * @param {number} pixel
   */
  entryOf(pixel) {
    const bucket = bucketOf(pixel);
    if (this.#nearest[bucket] < 0) this.#nearest[bucket] = this.#search(pixel);
    return this.#nearest[bucket];
  }

  /** @param {number} pixel */
  #search(pixel) {
    let [best, least] = [0, Infinity];
    this.colours.forEach(([red, green, blue], entry) => {
      const squared =
        ((pixel & 255) - red) ** 2 + (((pixel >> 8) & 255) - green) ** 2 + (((pixel >> 16) & 255) - blue) ** 2;
      if (squared < least) [best, least] = [entry, squared];
    });
    return best;
  }
}

/** Collects bytes. */
class Bytes {
  #data = new Uint8Array(1 << 16);
  length = 0;

  /** @param {number} byte */
  push(byte) {
    if (this.length === this.#data.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.#data);
      this.#data = larger;
    }
    this.#data[this.length++] = byte;
  }

  /** @param {Iterable<number>} bytes */
  extend(bytes) {
    for (const byte of bytes) this.push(byte);
  }

  /** @param {number} value of two bytes */
  short(value) {
    this.extend([value & 255, value >> 8]);
  }

  get data() {
    return this.#data.slice(0, this.length);
  }
}

/**
 * Append entries, compressed as GIF wants it: Lempel, Ziv and Welch, in codes of 9 to 12 bits, in blocks of 255 bytes.
 * @param {Bytes} out
 * @param {Uint8Array} entries
 */
export function compress(out, entries) {
  const [clear, end] = [256, 257];
  const block = new Uint8Array(255);
  let [filled, bits, pending] = [0, 0, 0];
  const byte = (/** @type {number} */ value) => {
    block[filled++] = value;
    if (filled < 255) return;
    out.push(255);
    out.extend(block);
    filled = 0;
  };
  let [width, next] = [9, 258];
  const emit = (/** @type {number} */ code) => {
    pending |= code << bits;
    bits += width;
    for (; bits >= 8; bits -= 8, pending >>>= 8) byte(pending & 255);
  };
  // The code of a known text and one more entry, for each such pair.
  const known = new Int16Array(MAX_CODE * 256).fill(-1);
  out.push(8);
  emit(clear);
  let text = entries[0];
  for (let i = 1; i < entries.length; i += 1) {
    const pair = (text << 8) | entries[i];
    if (known[pair] >= 0) {
      text = known[pair];
      continue;
    }
    emit(text);
    text = entries[i];
    if (next < MAX_CODE) {
      known[pair] = next;
      if (next === 1 << width) width += 1;
      next += 1;
    } else {
      emit(clear);
      known.fill(-1);
      [width, next] = [9, 258];
    }
  }
  emit(text);
  emit(end);
  if (bits > 0) byte(pending & 255);
  if (filled) {
    out.push(filled);
    out.extend(block.subarray(0, filled));
  }
  out.push(0);
}

/** An animated GIF that is written frame by frame, and plays once and again. */
export class Gif {
  #out = new Bytes();
  /** @type {Uint32Array | null} */
  #before = null;

  /**
   * @param {number} width
   * @param {number} height
   * @param {Palette} palette
   */
  constructor(width, height, palette) {
    this.width = width;
    this.height = height;
    this.palette = palette;
    const out = this.#out;
    out.extend(new TextEncoder().encode("GIF89a"));
    out.short(width);
    out.short(height);
    out.extend([0xf7, 0, 0]);
    for (let entry = 0; entry < 256; entry += 1) out.extend(palette.colours[entry] ?? [0, 0, 0]);
    out.extend([0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0]);
  }

  /** In bytes. */
  get size() {
    return this.#out.length;
  }

  /**
   * @param {Uint32Array} pixels
   * @param {number} delay until the next frame, in hundredths of a second
   */
  add(pixels, delay) {
    const { left, top, width, height } = this.#changed(pixels);
    const entries = new Uint8Array(width * height);
    let k = 0;
    for (let y = top; y < top + height; y += 1) {
      for (let i = y * this.width + left; i < y * this.width + left + width; i += 1) {
        entries[k++] = this.#before?.[i] === pixels[i] ? TRANSPARENT : this.palette.entryOf(pixels[i]);
      }
    }
    this.#before = pixels;
    const out = this.#out;
    // The frame before stays, and shines through where nothing changes.
    out.extend([0x21, 0xf9, 4, 0x05, delay & 255, delay >> 8, TRANSPARENT, 0, 0x2c]);
    for (const value of [left, top, width, height]) out.short(value);
    out.push(0);
    compress(out, entries);
  }

  /**
   * Return the smallest rectangle that contains all changes since the frame before, at least one pixel.
   * @param {Uint32Array} pixels
   */
  #changed(pixels) {
    const before = this.#before;
    if (!before) return { left: 0, top: 0, width: this.width, height: this.height };
    let [left, right, top, bottom] = [this.width, 0, this.height, 0];
    for (let y = 0, i = 0; y < this.height; y += 1) {
      for (let x = 0; x < this.width; x += 1, i += 1) {
        if (pixels[i] === before[i]) continue;
        if (x < left) left = x;
        if (x > right) right = x;
        if (y < top) top = y;
        bottom = y;
      }
    }
    if (left > right) return { left: 0, top: 0, width: 1, height: 1 };
    return { left, top, width: right - left + 1, height: bottom - top + 1 };
  }

  finish() {
    this.#out.push(0x3b);
    return new Blob([this.#out.data], { type: "image/gif" });
  }
}
