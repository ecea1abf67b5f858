// Where agents are on the screen, and which of them are near a point.

// At the sides are the buttons for zoom, below is the colour key; how far tools reach down from above is measured.
export const SIDE = 50;
// On a canvas as narrow as half of a stage, the network needs all the width there is.
const [NARROW, NARROW_SIDE] = [330, 20];
export const BELOW = 92;
const GAP = 18;
// How much a layout may be stretched to fill a canvas that is not square.
const MAX_STRETCH = 1.3;
const MAX_ZOOM = 40;
// Side of the grid's cells.
const CELL = 32;

/** The agents' positions in pixels, with a grid in which those near a point are found quickly. */
export class ScreenLayout {
  width = 1;
  height = 1;
  /** The height that tools cover at the top. */
  covered = 0;
  /** The height that is left free at the bottom. */
  below = BELOW;
  zoom = 1;
  panX = 0;
  panY = 0;
  /** Pixels per unit of the positions without zoom, the smaller of both directions. */
  scale = 1;
  // The extents of the positions, from the middle.
  #reachX = 1e-9;
  #reachY = 1e-9;
  // The agents in cell c are #members[#starts[c]] up to #members[#starts[c + 1] − 1].
  #columns = 1;
  #rows = 1;
  #starts = new Uint32Array(2);
  #members = new Uint32Array(0);

  /**
   * @param {ArrayLike<number>} positions n pairs within [−1, 1]
   * @param {number} n
   * @param {boolean} [exact] whether both directions have the same scale
   */
  constructor(positions, n, exact = false) {
    this.n = n;
    this.stretch = exact ? 1 : MAX_STRETCH;
    for (let i = 0; i < n; i += 1) {
      this.#reachX = Math.max(this.#reachX, Math.abs(positions[2 * i]));
      this.#reachY = Math.max(this.#reachY, Math.abs(positions[2 * i + 1]));
    }
    this.x = new Float32Array(n);
    this.y = new Float32Array(n);
    this.positions = positions;
  }

  get #above() {
    return this.covered + GAP;
  }

  /**
   * Fit the layout into a box.
   * @param {number} width
   * @param {number} height
   */
  fit(width, height) {
    this.width = width;
    this.height = height;
    const halfWidth = Math.max(40, width - 2 * (width < NARROW ? NARROW_SIDE : SIDE)) / 2;
    const halfHeight = Math.max(40, height - this.#above - this.below) / 2;
    const [mostX, mostY] = [halfWidth / this.#reachX, halfHeight / this.#reachY];
    this.scale = Math.min(mostX, mostY);
    const scaleX = Math.min(mostX, this.stretch * this.scale) * this.zoom;
    const scaleY = Math.min(mostY, this.stretch * this.scale) * this.zoom;
    for (let i = 0; i < this.n; i += 1) {
      this.x[i] = width / 2 + this.panX + this.positions[2 * i] * scaleX;
      this.y[i] = this.#above + halfHeight + this.panY - this.positions[2 * i + 1] * scaleY;
    }
    this.#buildGrid();
  }

  /**
   * Zoom by a factor, about a point that stays where it is.
   * @param {number} factor
   */
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.min(MAX_ZOOM, Math.max(1, this.zoom * factor));
    const growth = zoom / this.zoom;
    const [centreX, centreY] = [this.width / 2, (this.height + this.#above - this.below) / 2];
    this.panX = (this.panX + centreX - x) * growth + x - centreX;
    this.panY = (this.panY + centreY - y) * growth + y - centreY;
    this.zoom = zoom;
    this.#limitPan();
    this.fit(this.width, this.height);
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    this.panX += dx;
    this.panY += dy;
    this.#limitPan();
    this.fit(this.width, this.height);
  }

  /** Show everything again, from the next `fit` on. */
  resetZoom() {
    Object.assign(this, { zoom: 1, panX: 0, panY: 0 });
  }

  /** Keep part of the network in sight. */
  #limitPan() {
    const mostX = ((this.zoom - 1) * this.width) / 2;
    const mostY = ((this.zoom - 1) * this.height) / 2;
    this.panX = Math.min(mostX, Math.max(-mostX, this.panX));
    this.panY = Math.min(mostY, Math.max(-mostY, this.panY));
  }

  #buildGrid() {
    this.#columns = Math.max(1, Math.ceil(this.width / CELL));
    this.#rows = Math.max(1, Math.ceil(this.height / CELL));
    const starts = new Uint32Array(this.#columns * this.#rows + 1);
    const cells = new Int32Array(this.n);
    for (let i = 0; i < this.n; i += 1) {
      const inside = this.x[i] >= 0 && this.x[i] < this.width && this.y[i] >= 0 && this.y[i] < this.height;
      cells[i] = inside ? Math.floor(this.y[i] / CELL) * this.#columns + Math.floor(this.x[i] / CELL) : -1;
      if (inside) starts[cells[i] + 1] += 1;
    }
    for (let cell = 1; cell < starts.length; cell += 1) starts[cell] += starts[cell - 1];
    this.#starts = starts;
    this.#members = new Uint32Array(starts[starts.length - 1]);
    const next = starts.slice();
    for (let i = 0; i < this.n; i += 1) if (cells[i] >= 0) this.#members[next[cells[i]]++] = i;
  }

  /**
   * Return all agents within a distance of a point.
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   */
  within(x, y, radius) {
    /** @type {number[]} */
    const agents = [];
    const left = Math.max(0, Math.floor((x - radius) / CELL));
    const right = Math.min(this.#columns - 1, Math.floor((x + radius) / CELL));
    const top = Math.max(0, Math.floor((y - radius) / CELL));
    const bottom = Math.min(this.#rows - 1, Math.floor((y + radius) / CELL));
    if (left > right) return agents;
    for (let row = top; row <= bottom; row += 1) {
      const end = this.#starts[row * this.#columns + right + 1];
      for (let k = this.#starts[row * this.#columns + left]; k < end; k += 1) {
        const i = this.#members[k];
        if (Math.hypot(this.x[i] - x, this.y[i] - y) <= radius) agents.push(i);
      }
    }
    return agents;
  }

  /**
   * Return the agent nearest to a point, −1 if there is none within the radius.
   * @param {number} x
   * @param {number} y
   */
  nearest(x, y, radius = 22) {
    let best = -1;
    let least = Infinity;
    for (const i of this.within(x, y, radius)) {
      const distance = Math.hypot(this.x[i] - x, this.y[i] - y);
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  /**
   * Return the next agent in a direction, preferring those that are near and straight ahead; the same agent if there
   * is none.
   * @param {number} from
   * @param {number} dx
   * @param {number} dy
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
