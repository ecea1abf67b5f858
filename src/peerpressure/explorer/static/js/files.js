// Files: networks to open, and scenarios, data and pictures to download.

import { download, Refusal, upload } from "./api.js";
import { cssColour } from "./colour.js";
import { byId, listenToMenu } from "./elements.js";
import { formatCount, plural } from "./format.js";
import { hideMessage, showMessage } from "./messages.js";
import { pictureOf } from "./picture.js";
import { record } from "./recording.js";

/**
 * @typedef {import("./types.js").EdgeMeaning} EdgeMeaning
 * @typedef {import("./types.js").NetworkSection} NetworkSection
 * @typedef {import("./types.js").Scenario} Scenario
 */

// Milliseconds after which somebody wonders whether anything happens.
const NOTICEABLE = 400;

/**
 * Show what the server refuses instead of throwing it.
 * @param {() => Promise<void>} action
 */
async function reportingRefusals(action) {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    showMessage(error.message, "bad");
  }
}

/**
 * Accept network files, chosen in a dialog or dropped anywhere on the page.
 * @param {number} maxBytes
 * @param {(network: NetworkSection) => void} onNetwork
 */
export function acceptFiles(maxBytes, onNetwork) {
  const input = byId("file", HTMLInputElement);
  const cover = byId("drop-cover");
  /**
   * The file that is shown, how its edges were read, and the section that came of it.
   * @type {{file: File, edges: EdgeMeaning, network: NetworkSection} | null}
   */
  let opened = null;

  /**
   * @param {File} file
   * @param {EdgeMeaning} [edges]
   */
  async function open(file, edges = "") {
    if (file.size > maxBytes) {
      const [limit, size] = [plural(maxBytes, "byte"), plural(file.size, "byte")];
      const remedy = "peerpressure run reads larger ones";
      showMessage(`A file may hold ${limit} here, and ${file.name} has ${size}; ${remedy}.`, "bad");
      return;
    }
    await reportingRefusals(async () => {
      const { network, facts } = await upload(file, edges);
      opened = { file, edges, network };
      onNetwork(network);
      showMessage(`${file.name}: ${facts.join(", ")}`);
    });
  }

  const hasFile = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    cover.hidden = false;
  });
  window.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) cover.hidden = true;
  });
  window.addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    cover.hidden = true;
    const file = event.dataTransfer?.files[0];
    if (file) open(file);
  });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    if (file) open(file);
    // Otherwise choosing the same file again would be no change.
    input.value = "";
  });
  return {
    choose: () => input.click(),
    /** How the edges of the network shown were read; null if it is not from a file opened on this page. */
    edgesOf: (/** @type {NetworkSection} */ network) => (opened?.network === network ? opened.edges : null),
    /** Read the same file again, with another meaning of its edges. */
    read: (/** @type {EdgeMeaning} */ edges) => opened && open(opened.file, edges),
  };
}

/**
 * Have the browser save a file.
 * @param {Blob} blob
 * @param {string} name
 */
function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads the file some time after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * @typedef {object} Shared what the menu gives away
 * @property {(observer: boolean) => Scenario} scenario with the observer, also if it is not shown
 * @property {() => object} look what is shown of it: the time, the colours and the axes
 * @property {() => import("./types.js").State} state all that is set and shown
 * @property {import("./stage.js").Stage} stage
 * @property {() => Promise<string>} link
 */

// Pixels of a picture for each pixel of the page, at least.
const PICTURE_SCALE = 2;

/** What holds the network, and all that lies over it. */
function holder() {
  return /** @type {HTMLElement} */ (document.querySelector(".canvas-holder"));
}

/**
 * Bring the stage up to date, and return how a picture of it is painted.
 * @param {import("./stage.js").Stage} stage
 */
function painted(stage) {
  stage.paint();
  const { time, endTime } = stage.clock;
  const caption = `t = ${formatCount(time)} of ${formatCount(endTime)}`;
  return { background: cssColour("stage"), margin: 0, caption };
}

/**
 * Do something while time stands still: all parts of a picture are from one moment.
 * @param {import("./playback.js").Clock} clock
 * @param {() => Promise<void>} action
 */
async function atRest(clock, action) {
  const { playing } = clock;
  clock.pause();
  try {
    await action();
  } finally {
    if (playing && !clock.playing) clock.toggle();
  }
}

/**
 * Save elements of the page as a picture.
 * @param {Element[]} elements
 * @param {string} name
 * @param {Omit<Parameters<typeof pictureOf>[1], "scale">} options
 */
async function savePicture(elements, name, options) {
  const scale = Math.max(PICTURE_SCALE, window.devicePixelRatio);
  const canvas = await pictureOf(elements, { scale, ...options });
  const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ done) => canvas.toBlob(done));
  if (blob) save(blob, name);
}

/**
 * Copy or save what an entry of the menu names.
 * @param {string} what
 * @param {Shared} shared
 */
async function take(what, { scenario, look, state, stage, link }) {
  if (what === "link") {
    const address = await link();
    try {
      await navigator.clipboard.writeText(address);
      showMessage("Link copied. It contains all settings.");
    } catch {
      showMessage("Copy the address from the browser's address bar: it contains all settings.");
    }
  } else if (what === "network") {
    await atRest(stage.clock, () => savePicture([holder()], "network-as-shown.png", painted(stage)));
  } else if (what === "plots") {
    const figures = [...document.querySelectorAll("[role=tabpanel]:not([hidden]) figure")];
    const visible = figures.filter((figure) => figure.checkVisibility());
    const options = { background: cssColour("page") };
    await atRest(stage.clock, () => savePicture(visible, "plots-as-shown.png", options));
  } else if (what === "animation") {
    const blob = await record(holder(), stage.clock, () => painted(stage));
    if (blob) save(blob, `network-as-shown.${/video.(\w+)/.exec(blob.type)?.[1]}`);
  } else if (what.startsWith("figure:")) {
    const [, figure, format] = what.split(":");
    await saveExport("figure", { ...look(), scenario: scenario(figure === "observer"), what: figure, format });
  } else if (what === "page") await saveExport("page", state());
  else await saveExport(what, { scenario: scenario(false) });
}

// The server drops a request for a newer one of its kind, so files are requested one after the other.
let lastExport = Promise.resolve();

/**
 * Save a file that the server computes, and say so while that takes its time.
 * @param {string} kind
 * @param {object} question
 */
function saveExport(kind, question) {
  const work = lastExport.then(async () => {
    let told = false;
    const slow = window.setTimeout(() => {
      told = true;
      showMessage("Preparing the file…");
    }, NOTICEABLE);
    try {
      const { blob, name } = await download(`/api/export/${kind}`, question);
      save(blob, name);
      if (told) hideMessage();
    } finally {
      window.clearTimeout(slow);
    }
  });
  lastExport = work.catch(() => {});
  return work;
}

/**
 * Listen to the menu for sharing and downloading.
 * @param {Shared} shared
 */
export function listenToShareMenu(shared) {
  const menu = byId("share-menu");
  const button = byId("share");
  const items = [...menu.querySelectorAll("button")];
  const groups = items.filter((item) => item.dataset.more);
  const unfold = (/** @type {HTMLElement | null} */ chosen) => {
    for (const group of groups) {
      group.setAttribute("aria-expanded", String(group === chosen));
      byId(`share-${group.dataset.more}`).hidden = group !== chosen;
    }
  };
  const open = (/** @type {boolean} */ yes) => {
    menu.hidden = !yes;
    button.setAttribute("aria-expanded", String(yes));
    unfold(null);
    if (yes) items.find((item) => !item.hidden)?.focus();
  };
  listenToMenu(button, menu, open);
  for (const group of groups) {
    group.addEventListener("click", () => unfold(group.getAttribute("aria-expanded") === "true" ? null : group));
  }
  for (const item of items.filter((one) => one.dataset.take)) {
    item.addEventListener("click", () => {
      open(false);
      button.focus();
      reportingRefusals(() => take(item.dataset.take ?? "", shared));
    });
  }
}
