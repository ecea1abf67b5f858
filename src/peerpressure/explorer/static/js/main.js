// The page begins here.

import { Explorer } from "./explorer.js";
import { tell } from "./messages.js";
import { opening } from "./opening.js";
import { catalogue as readCatalogue } from "./wire.js";

async function start() {
  // What is drawn is not drawn again when a font arrives; one that cannot be had is done without.
  const fonts = Promise.allSettled([...document.fonts].map((font) => font.load()));
  const catalogue = await readCatalogue();
  await fonts;
  new Explorer(catalogue, await opening(catalogue.default)).start();
}

start().catch((error) => {
  tell(error.message, "bad");
  throw error;
});
