// Where agents stand on the screen, and who stands near a point.

const PADDING = 26;
// Room for the key to the colours.
const BELOW = 64;
// A layout may be stretched this much to fill a canvas that is not square.
const STRETCH = 1.3;
const CELL = 32;

/** Where each agent stands in pixels, with a grid of cells to find neighbours of a point by. */
export class Places {
  /** @param {Float32Array} positions n pairs within [−1, 1] @param {number} n */
  constructor(positions, n) {
    this.n = n;
    this.x = new Float32Array(n);
    this.y = new Float32Array(n);
    this.positions = positions;
    this.width = 1;
    this.height = 1;
    this.zoom = 1;
    this.panX = 0;
    this.panY = 0;
  }

  /** Fit the layout into a box of this many pixels. @param {number} width @param {number} height */
  fit(width, height) {
    this.width = width;
    this.height = height;
    const free = { x: Math.max(40, width - 2 * PADDING) / 2, y: Math.max(40, height - PADDING - BELOW) / 2 };
    const middle = PADDING + free.y;
    const least = Math.min(free.x, free.y);
    const scaleX = Math.min(free.x, STRETCH * least) * this.zoom;
    const scaleY = Math.min(free.y, STRETCH * least) * this.zoom;
    for (let i = 0; i < this.n; i += 1) {
      this.x[i] = width / 2 + this.panX + this.positions[2 * i] * scaleX;
      this.y[i] = middle + this.panY - this.positions[2 * i + 1] * scaleY;
    }
    this.#index();
  }

  /** Enlarge about a point that stays where it is. @param {number} factor @param {number} x @param {number} y */
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.min(40, Math.max(1, this.zoom * factor));
    const grown = zoom / this.zoom;
    this.panX = (this.panX + this.width / 2 - x) * grown + x - this.width / 2;
    const middle = (this.height + PADDING - BELOW) / 2;
    this.panY = (this.panY + middle - y) * grown + y - middle;
    this.zoom = zoom;
    this.#bound();
    this.fit(this.width, this.height);
  }

  /** Move by so many pixels. @param {number} dx @param {number} dy */
  pan(dx, dy) {
    this.panX += dx;
    this.panY += dy;
    this.#bound();
    this.fit(this.width, this.height);
  }

  /** Keep some of the network in sight. */
  #bound() {
    const far = { x: ((this.zoom - 1) * this.width) / 2, y: ((this.zoom - 1) * this.height) / 2 };
    this.panX = Math.min(far.x, Math.max(-far.x, this.panX));
    this.panY = Math.min(far.y, Math.max(-far.y, this.panY));
  }

  #index() {
    this.columns = Math.max(1, Math.ceil(this.width / CELL));
    const rows = Math.max(1, Math.ceil(this.height / CELL));
    this.starts = new Uint32Array(this.columns * rows + 1);
    const cells = new Int32Array(this.n);
    for (let i = 0; i < this.n; i += 1) {
      const inside = this.x[i] >= 0 && this.x[i] < this.width && this.y[i] >= 0 && this.y[i] < this.height;
      cells[i] = inside ? Math.floor(this.y[i] / CELL) * this.columns + Math.floor(this.x[i] / CELL) : -1;
      if (inside) this.starts[cells[i] + 1] += 1;
    }
    for (let cell = 1; cell < this.starts.length; cell += 1) this.starts[cell] += this.starts[cell - 1];
    this.members = new Uint32Array(this.starts[this.starts.length - 1]);
    const next = this.starts.slice();
    for (let i = 0; i < this.n; i += 1) if (cells[i] >= 0) this.members[next[cells[i]]++] = i;
  }

  /**
   * Return all agents within a distance of a point.
   * @param {number} x @param {number} y @param {number} reach
   */
  within(x, y, reach) {
    const found = [];
    const rows = (this.starts.length - 1) / this.columns;
    const first = (/** @type {number} */ at) => Math.max(0, Math.floor((at - reach) / CELL));
    const last = (/** @type {number} */ at, /** @type {number} */ many) =>
      Math.min(many - 1, Math.floor((at + reach) / CELL));
    const [left, right, top, bottom] = [first(x), last(x, this.columns), first(y), last(y, rows)];
    if (left > right) return found;
    for (let row = top; row <= bottom; row += 1) {
      for (let at = this.starts[row * this.columns + left]; at < this.starts[row * this.columns + right + 1]; at += 1) {
        const i = this.members[at];
        if (Math.hypot(this.x[i] - x, this.y[i] - y) <= reach) found.push(i);
      }
    }
    return found;
  }

  /** Return the agent nearest to a point, or −1 if none is near. @param {number} x @param {number} y */
  nearest(x, y, reach = 22) {
    let best = -1;
    let least = Infinity;
    for (const i of this.within(x, y, reach)) {
      const distance = Math.hypot(this.x[i] - x, this.y[i] - y);
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  /**
   * Return the next agent from one in a direction: near, and not far off to the side.
   * @param {number} from @param {number} dx @param {number} dy
   */
  towards(from, dx, dy) {
    let best = from;
    let least = Infinity;
    for (let i = 0; i < this.n; i += 1) {
      const [x, y] = [this.x[i] - this.x[from], this.y[i] - this.y[from]];
      const ahead = x * dx + y * dy;
      const aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (ahead <= 0.5 || aside > 2 * ahead) continue;
      const cost = ahead + 2 * aside;
      if (cost < least) [best, least] = [i, cost];
    }
    return best;
  }
}
