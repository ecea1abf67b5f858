// Make one script of the modules of each page that needs no server: node bundle.mjs [folder].

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const STATIC = fileURLToPath(new URL("../../src/peerpressure/explorer/static/", import.meta.url));
const shared = {
  absWorkingDir: STATIC,
  bundle: true,
  minify: true,
  charset: "utf8",
  legalComments: "inline",
  logLevel: "warning",
  outdir: process.argv[2] ?? "bundles",
};
await build({ ...shared, entryPoints: { story: "js/story/story.js" } });
// In a recorded page, the function `fetch` of recorded.js stands in for the browser's.
await build({ ...shared, entryPoints: { recorded: "js/explorer.js" }, inject: ["js/recorded.js"] });
