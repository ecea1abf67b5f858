// The connection to the server: once that is gone, ask from time to time whether it is back.

const PERIOD = 1_000; // milliseconds

export class Connection {
  #timer = 0;

  /** @param {() => void} onReturn */
  constructor(onReturn) {
    this.onReturn = onReturn;
  }

  /** Wait for the server, which has not answered. */
  wait() {
    if (!this.#timer) this.#timer = window.setTimeout(() => this.#try(), PERIOD);
  }

  async #try() {
    const isBack = await fetch("/api/catalogue", { cache: "no-store" }).then(
      (response) => response.ok,
      () => false,
    );
    this.#timer = 0;
    if (isBack) this.onReturn();
    else this.wait();
  }
}
