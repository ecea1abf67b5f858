// The page begins here.

import { Explorer } from "./explorer.js";
import { tell } from "./messages.js";
import { opening } from "./opening.js";
import { catalogue as readCatalogue } from "./wire.js";

async function start() {
  const catalogue = await readCatalogue();
  new Explorer(catalogue, await opening(catalogue.default)).start();
}

start().catch((error) => {
  tell(error.message, "bad");
  throw error;
});
