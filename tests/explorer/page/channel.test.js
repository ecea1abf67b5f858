// Requests: of many wishes the last is served, and what a server says or fails to say is told in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeServer, LOST, REFUSALS, settled, setUpPage } from "./fakes.js";

const { clock } = setUpPage();
const JS = "../../../src/peerpressure/explorer/static/js";
const { ask, Channel, download, OTHER_TAB, readCatalogue, Refusal, upload } = await import(`${JS}/api.js`);

/** Work that takes some time, and ends at once when it is aborted. */
function work(answer, milliseconds, seen = []) {
  return (signal) =>
    new Promise((done, fail) => {
      seen.push(answer);
      const timer = clock.setTimeout(() => done(answer), milliseconds);
      signal.addEventListener("abort", () => {
        clock.clearTimeout(timer);
        fail(new Error("aborted"));
      });
    });
}

test("of many wishes the last is served, and one runs at a time", async () => {
  const [channel, begun] = [new Channel(), []];
  const answers = Promise.all([0, 1, 2, 3, 4].map((k) => channel.latest(work(k, 20, begun))));
  assert.deepEqual(begun, [0]);
  await clock.pass(20);
  assert.deepEqual(begun, [0, 4]);
  await clock.pass(20);
  assert.deepEqual(await answers, [0, undefined, undefined, undefined, 4]);
});

test("work is given up for a newer wish after three seconds, counted from its beginning", async () => {
  const channel = new Channel();
  const endless = channel.latest(work("endless", Infinity));
  await clock.pass(10_000);
  const patient = channel.latest(work("next", 20));
  // It has lasted long enough already.
  await clock.pass(0);
  await clock.pass(20);
  assert.deepEqual([await endless, await patient], [undefined, "next"]);
  const [slow, second, third] = [channel.latest(work("slow", Infinity)), channel.latest(work(2, 0)), null];
  assert.equal(third, null);
  await clock.pass(2_000);
  const last = channel.latest(work("last", 0));
  await clock.pass(999);
  let isOver = false;
  slow.then(() => {
    isOver = true;
  });
  await settled();
  assert.equal(isOver, false);
  await clock.pass(2);
  assert.deepEqual([await slow, await second, await last], [undefined, undefined, "last"]);
});

test("work that nothing newer waits for may last as long as it likes", async () => {
  const answer = new Channel().latest(work("late", 60_000));
  await clock.pass(60_000);
  assert.equal(await answer, "late");
});

test("work of half a second ends while wishes keep coming, so the picture follows a slider", async () => {
  const [channel, served] = [new Channel(), []];
  for (let k = 0; k < 8; k += 1) {
    channel.latest(work(k, 500)).then((answer) => answer !== undefined && served.push(answer));
    await clock.pass(50);
  }
  await clock.pass(2_000);
  assert.deepEqual(served, [0, 7]);
});

test("an error reaches whoever asked, and the next is served", async () => {
  const channel = new Channel();
  const refuse = async () => {
    throw new Refusal("no", "run", 422);
  };
  await assert.rejects(channel.latest(refuse), { message: "no", where: "run" });
  assert.equal(await channel.latest(async () => 2), 2);
});

test("a question that the server gave up for a newer one is no error, unless there is no newer one", async () => {
  const channel = new Channel();
  const superseded = () => Promise.reject(new Refusal("newer", null, 409));
  const [first, second] = [channel.latest(superseded), channel.latest(async () => 2)];
  assert.deepEqual([await first, await second], [undefined, 2]);
  await assert.rejects(channel.latest(superseded), { message: "newer" });
});

test("cancelled work has no answer, whether it runs or waits", async () => {
  const [channel, begun] = [new Channel(), []];
  const answers = [channel.latest(work(0, 20, begun)), channel.latest(work(1, 20, begun))];
  channel.cancel();
  assert.deepEqual(await Promise.all(answers), [undefined, undefined]);
  assert.deepEqual(begun, [0]);
  const next = channel.latest(work(2, 20));
  await clock.pass(20);
  assert.equal(await next, 2);
});

function served() {
  const server = new FakeServer();
  globalThis.fetch = server.fetch;
  return server;
}

test("a question has its tab and its body, and its answer comes back", async () => {
  const server = served();
  const [first, second] = [ask("/api/run", { scenario: 1 }), ask("/api/run", { scenario: 2 }, undefined, OTHER_TAB)];
  assert.deepEqual(
    server.waiting.map(({ other }) => other),
    [false, true],
  );
  for (const question of [...server.waiting]) server.end(question);
  assert.deepEqual([await first, await second], [{ answers: { scenario: 1 } }, { answers: { scenario: 2 } }]);
});

test("what takes the place of an answer is told, and lost questions are told from refused ones", async () => {
  for (const outcome of [...Object.keys(REFUSALS), "cut short", "gone"]) {
    const server = served();
    const answer = ask("/api/run", {});
    server.end(server.waiting[0], outcome);
    const error = await answer.then(assert.fail, (one) => one);
    assert.ok(error instanceof Refusal);
    assert.equal(error.isLost, LOST.includes(outcome), outcome);
    const words = { "cut short": /^The response ended too early/, gone: /^The explorer does not respond/ };
    if (words[outcome]) assert.match(error.message, words[outcome]);
    else assert.equal(error.message, `run: ${REFUSALS[outcome][1]}`);
  }
});

test("a page of the server's that is not for this program is told by its status", async () => {
  globalThis.fetch = async () => new Response("<h1>Bad gateway</h1>", { status: 502 });
  await assert.rejects(ask("/api/run", {}), { message: "The server answered 502.", status: 502 });
  await assert.rejects(readCatalogue(), { message: "The server answered 502." });
});

test("an aborted question is not taken for a server that is gone", async () => {
  const server = served();
  const controller = new AbortController();
  const answer = ask("/api/run", {}, controller.signal);
  controller.abort();
  await assert.rejects(answer, { name: "AbortError" });
  assert.equal(server.waiting.length, 0);
});

test("files go out with their names and come back with theirs", async () => {
  const seen = [];
  const headers = { "Content-Disposition": 'attachment; filename="run.csv"' };
  globalThis.fetch = async (path, { headers: { "Content-Type": type } }) => {
    seen.push([path, type]);
    return path.startsWith("/api/upload") ? Response.json({ network: 1 }) : new Response("a,b", { headers });
  };
  assert.deepEqual(await upload(new File(["0 1"], "a b.txt"), "directed"), { network: 1 });
  const { blob, name } = await download("/api/export/csv", {});
  assert.deepEqual([await blob.text(), name], ["a,b", "run.csv"]);
  delete headers["Content-Disposition"];
  assert.equal((await download("/api/export/csv", {})).name, "csv");
  assert.deepEqual(seen[0], ["/api/upload?name=a+b.txt&edges=directed", "application/octet-stream"]);
  assert.deepEqual(seen[1], ["/api/export/csv", "application/json"]);
});
