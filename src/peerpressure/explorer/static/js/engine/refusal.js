/** What this engine does not cover, in a sentence that names it. */
export class NotCovered extends Error {
  /** @override */
  name = "NotCovered";
}
