// Panels show what belongs to the scenario, or nothing: after a refusal, a time-out, a loss or a restart of any answer.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { LOST, MISTAKE, REFUSALS, settled } from "./fakes.js";
import { APART, clock, document, OBSERVING, OF_OBSERVER, PARTS, ROUTES, scenarioOf, stateOf, World } from "./world.js";

const STATIC = new URL("../../../src/peerpressure/explorer/static/", import.meta.url);
const text = (name) => readFileSync(new URL(name, STATIC), "utf-8");
const OUTCOMES = [...Object.keys(REFUSALS), "cut short", "gone"];
const SECOND = ["other", "other-exact", "other-exposure"];
const EVERYTHING = { scenario: { ...scenarioOf(), observe: { unknown_network: {} } }, view: { tab: "observer" } };

/** A page that shows all there is, with its answers. */
async function complete({ compares = false } = {}) {
  const compared = { ...EVERYTHING, other: scenarioOf(1), view: { tab: "observer", colour: "exposure" } };
  const world = new World(compares ? compared : EVERYTHING);
  await world.answer();
  world.checkCurrent();
  return world;
}

function states(world, parts = world.looked) {
  return Object.fromEntries(parts.map((part) => [part, world.state(part)]));
}

function all(parts, state) {
  return Object.fromEntries(parts.map((part) => [part, state]));
}

/** Orders in which each one is the first once, and each comes before and after each other one. */
function orders(list) {
  const turned = list.map((_, k) => [...list.slice(k), ...list.slice(0, k)]);
  return [...turned, ...turned.map((order) => [...order].reverse())];
}

test("every answer that the page asks for, and every answer that a panel shows, is tried here", () => {
  const asked = [...text("js/types.d.ts").matchAll(/"\/api\/(\w+)": \w+/g)].map(([, name]) => name);
  assert.deepEqual(new Set(asked), new Set([...Object.values(ROUTES).flat(), "check"]));
  const shown = [...text("index.html").matchAll(/data-answers="([^"]+)"/g)].flatMap(([, names]) => names.split(" "));
  assert.deepEqual(new Set(shown), new Set(PARTS.filter((part) => !part.startsWith("other-"))));
});

test("a network and its run are shown together", async () => {
  for (const [first, second] of orders(["network", "run"])) {
    const world = await complete();
    world.set("network.n", 9);
    assert.deepEqual(states(world), all(world.looked, "pending"));
    await world.rest();
    await world.end(world.waiting(first)[0]);
    assert.deepEqual(states(world), all(world.looked, "pending"));
    await world.end(world.waiting(second)[0]);
    assert.equal(world.state("run"), "current");
    await world.answer();
    world.checkCurrent();
  }
});

test("each part is pending until its own answer comes, in whatever order they come", async () => {
  for (const order of orders(APART)) {
    const world = new World(EVERYTHING);
    await world.rest();
    for (const name of ROUTES.run) await world.end(world.waiting(name)[0]);
    await world.rest();
    for (const [k, part] of order.entries()) {
      assert.deepEqual(states(world, order), { ...all(order, "current"), ...all(order.slice(k), "pending") });
      await world.end(world.waiting(part)[0]);
    }
    world.checkCurrent();
  }
});

for (const outcome of OUTCOMES) {
  const isLost = LOST.includes(outcome);
  test(`whichever answers there are none of (${outcome}), their parts say so, and all others have theirs`, async () => {
    for (let set = 1; set < 2 ** APART.length; set += 1) {
      const failing = APART.filter((_, k) => (set >> k) & 1);
      const world = await complete();
      world.set("network.n", 9);
      await world.answer(all(failing, outcome));
      world.check();
      assert.deepEqual(states(world), { ...all(world.looked, "current"), ...all(failing, "refused") });
      for (const part of failing) {
        const { reason } = stateOf(part);
        if (REFUSALS[outcome]) assert.equal(reason, `${part}: ${REFUSALS[outcome][1]}`);
        else assert.match(reason, outcome === "gone" ? /does not respond/ : /ended too early/);
      }
      const asked = world.server.asked.length;
      await world.finish();
      // The page asks again by itself, and only if an answer may come.
      if (isLost) world.checkCurrent();
      else assert.equal(world.server.asked.length, asked);
    }
  });

  test(`without a run (${outcome}) there is nothing, until there is one again`, async () => {
    for (const route of ROUTES.run) {
      const world = await complete();
      world.set("network.n", 9);
      await world.answer({ [route]: outcome });
      assert.deepEqual(states(world), all(world.looked, "refused"));
      const { reason } = stateOf("run");
      assert.deepEqual(world.refusals, [reason]);
      for (const part of APART) assert.equal(stateOf(part).reason, reason);
      if (!isLost) world.set("network.n", 10);
      await world.finish();
      world.checkCurrent();
    }
  });

  test(`what is compared with may have no answer (${outcome}), and the rest has its own`, async () => {
    for (const failing of ["other-network", "other-run", "other-exact", "other-exposure"]) {
      const world = await complete({ compares: true });
      world.open({ scenario: world.store.scenario, other: scenarioOf(2) });
      await world.answer({ [failing]: outcome });
      world.check();
      const refused = SECOND.includes(failing) ? [failing] : SECOND;
      assert.deepEqual(states(world), { ...all(world.looked, "current"), ...all(refused, "refused") });
      if (!isLost) world.open({ scenario: world.store.scenario, other: scenarioOf(3) });
      await world.finish();
      world.checkCurrent();
    }
  });
}

test("a mistake at a control is told once, and the last answers stay in a paler colour until it is corrected", async () => {
  const panels = PARTS.map((part) => {
    const one = document.createElement("div");
    Object.assign(one.dataset, { answers: part, tells: "" });
    return one;
  });
  document.panels = panels;
  for (const route of ROUTES.run) {
    const world = await complete();
    const before = world.answered("run");
    world.set("network.n", 9);
    await world.answer({ [route]: "mistake" });
    assert.deepEqual(states(world), all(world.looked, "pending"));
    assert.equal(world.answered("run"), before);
    assert.deepEqual(world.refusals, [`${route}: ${MISTAKE[1]}`]);
    assert.equal(panels.map(({ textContent }) => textContent).join(""), "");
    // Nobody asks for what would be refused for the same mistake.
    const asked = world.server.asked.length;
    world.set("observe.methods", ["ols"]);
    for (const tab of ["curves", "observer"]) world.look({ tab });
    await world.finish();
    assert.equal(world.server.asked.length, asked);
    assert.equal(world.refusals.length, 1);
    world.set("network.n", 10);
    await world.finish();
    world.checkCurrent();
  }
  document.panels = [];
});

test("a page that waits while its server ends goes on with the next one, without a click", async () => {
  const world = await complete({ compares: true });
  world.set("pressure.exponent", 2);
  world.open({ scenario: world.store.scenario, other: scenarioOf(2) });
  await world.rest();
  // A server that ends gives up all questions, and then nobody answers for a while.
  for (const question of [...world.server.waiting]) await world.end(question, "superseded");
  await world.rest();
  for (let seconds = 0; seconds < 5; seconds += 1) {
    assert.equal(world.state("run"), "refused");
    await clock.pass(1_000);
    for (const question of [...world.server.waiting]) await world.end(question, "gone");
  }
  await world.finish();
  world.checkCurrent();
});

test("a server that is gone is asked for once a second, by one question at a time", async () => {
  const world = await complete();
  world.set("network.n", 9);
  await world.rest();
  for (const question of [...world.server.waiting]) await world.end(question, "gone");
  const since = world.server.asked.length;
  for (let seconds = 0; seconds < 3; seconds += 1) {
    await clock.pass(1_000);
    assert.deepEqual(
      world.server.waiting.map(({ name }) => name),
      ["catalogue"],
    );
    await clock.pass(5_000);
    await world.end(world.server.waiting[0], seconds < 2 ? "gone" : "refuse");
  }
  assert.equal(world.server.asked.length - since, 3);
  await world.finish();
  world.checkCurrent();
});

test("a panel is refused with the first of its answers, pending with any of them, and the first tells the reason", async () => {
  const panel = (answers, tells) => {
    const one = document.createElement("div");
    Object.assign(one.dataset, { answers }, tells && { tells: "" });
    return one;
  };
  const [verdict, strip, silent] = [panel("run", true), panel("run exposure", true), panel("recovered", false)];
  document.panels = [verdict, strip, silent];
  const now = () => document.panels.map((one) => one.dataset.state);
  const world = await complete();
  assert.deepEqual(now(), ["current", "current", "current"]);
  world.set("observe.methods", ["ols"]);
  assert.deepEqual(now(), ["current", "pending", "pending"]);
  await world.answer({ exposure: "refuse", recovered: "too late" });
  // The first answer is there, so the second is still waited for.
  assert.deepEqual(now(), ["current", "current", "refused"]);
  assert.equal(verdict.textContent + strip.textContent + silent.textContent, "");
  world.set("run.seed", 9);
  await world.answer({ run: "refuse" });
  assert.deepEqual(now(), ["refused", "refused", "refused"]);
  // One error is told once.
  assert.equal(verdict.textContent, `run: ${REFUSALS.refuse[1]}`);
  assert.equal(strip.textContent, "");
  world.set("run.seed", 10);
  await world.answer({ run: "too late" });
  assert.equal(verdict.textContent, `run: ${REFUSALS["too late"][1]}`);
  assert.equal(silent.textContent, "");
  world.set("run.seed", 11);
  await world.finish();
  assert.deepEqual(now(), ["current", "current", "current"]);
  assert.equal(verdict.textContent, "");
  document.panels = [];
});

test("what is known is not asked for again when somebody looks at it again, and what was refused is", async () => {
  const world = await complete();
  const asked = () => world.server.asked.length;
  let before = asked();
  const lookAway = async () => {
    for (const tab of ["curves", "observer"]) world.look({ tab });
    await world.finish();
  };
  await lookAway();
  assert.equal(asked(), before);
  world.set("run.seed", 9);
  await world.answer({ budget: "refuse" });
  before = asked();
  await lookAway();
  assert.ok(asked() > before);
  world.checkCurrent();
  before = asked();
  world.set("privacy.epsilon", 2);
  await world.finish();
  // Neither the run, nor its exact law, nor an inferred network depends on the observer's privacy.
  assert.deepEqual(
    world.server.asked.slice(before).map(({ name }) => name),
    OF_OBSERVER,
  );
  world.checkCurrent();
});

test("nothing about the observer but its recovered opinions is asked for while nobody looks at it", async () => {
  const world = new World({ scenario: EVERYTHING.scenario });
  await world.finish();
  world.checkCurrent();
  const names = () => new Set(world.server.asked.map(({ name }) => name));
  assert.deepEqual(names(), new Set(["network", "run", "exact", "recovered"]));
  world.look({ tab: "observer" });
  await world.finish();
  assert.deepEqual(names(), new Set(["network", "run", ...APART]));
  world.checkCurrent();
});

test("changes within a frame are asked for once, and exact laws once the hand rests", async () => {
  const world = await complete();
  const before = world.server.asked.length;
  for (let k = 1; k <= 5; k += 1) world.set("pressure.exponent", k);
  clock.frame();
  await settled();
  assert.deepEqual(
    world.server.asked.slice(before).map(({ name }) => name),
    ["run"],
  );
  await world.end(world.waiting("run")[0]);
  await clock.pass(149);
  assert.equal(world.waiting("exact").length, 0);
  await clock.pass(1);
  assert.equal(world.waiting("exact").length, 1);
  // The next run gives up what would slow it down.
  world.set("pressure.exponent", 6);
  clock.frame();
  assert.equal(world.waiting("exact").length, 0);
  await world.finish();
  world.checkCurrent();
});

test("a run is shown that has become stale, as a slider is dragged, and does not count as current", async () => {
  const world = await complete();
  world.set("pressure.exponent", 2);
  await world.rest();
  world.set("pressure.exponent", 3);
  await world.rest();
  await world.end(world.waiting("run")[0]);
  assert.equal(world.shown.run.run.answers.scenario.pressure.exponent, 2);
  assert.equal(world.state("run"), "pending");
  await world.finish();
  world.checkCurrent();
});

test("a network is asked for once, though its run is refused or another run waits", async () => {
  const world = await complete();
  const networks = () => world.server.asked.filter(({ name }) => name === "network").length;
  world.set("network.n", 9);
  await world.rest();
  world.set("pressure.exponent", 2);
  await world.rest();
  for (const name of ["network", "run"]) await world.end(world.waiting(name)[0]);
  await world.answer({ run: "refuse" });
  world.set("pressure.exponent", 3);
  await world.finish();
  assert.equal(networks(), 2);
  world.checkCurrent();
});

test("an example that is opened again while its run is computed has its run and its exact law", async () => {
  for (const rounds of [0, 1, 2]) {
    const world = await complete();
    const example = { ...scenarioOf(1), observe: { methods: ["ols"] } };
    world.open({ scenario: example });
    await world.rest();
    for (const name of ROUTES.run) if (rounds) await world.end(world.waiting(name)[0]);
    if (rounds > 1) await world.rest();
    world.set("observe.methods", ["wls"]);
    world.open({ scenario: example });
    await world.finish();
    world.checkCurrent();
  }
});

test("an inferred network goes with the scenario that it belongs to", async () => {
  const world = await complete();
  assert.ok(world.shown.inference.answers);
  world.set("observe.unknown_network", undefined);
  assert.equal(world.state("inference"), "pending");
  await world.finish();
  assert.equal(world.shown.inference, "known");
  // Also after a restart of the server, and if the answer was on its way.
  world.set("observe.unknown_network", {});
  await world.answer({ bench: "gone" });
  world.set("observe.unknown_network", undefined);
  await world.finish();
  assert.equal(world.shown.inference, "known");
  assert.equal(world.state("inference"), "pending");
  world.set("observe.unknown_network", {});
  await world.rest();
  assert.equal(world.waiting("inference").length, 1);
  world.set("run.seed", 9);
  assert.equal(world.waiting("inference").length, 0);
  await world.finish();
  world.checkCurrent();
});

test("exposure of another scenario does not colour the network while nobody looks at the observer", async () => {
  const world = await complete();
  world.look({ colour: "exposure" });
  assert.ok(world.exposure);
  world.look({ tab: "curves" });
  world.set("pressure.exponent", 2);
  assert.equal(world.exposure, null);
  // Nor one that comes late.
  await world.finish();
  world.look({ tab: "observer" });
  await world.rest();
  assert.equal(world.waiting("exposure").length, 1);
  world.look({ tab: "curves" });
  world.set("pressure.exponent", 3);
  await world.end(world.waiting("exposure")[0]);
  await world.finish();
  assert.equal(world.exposure, null);
  world.look({ tab: "observer" });
  await world.finish();
  assert.equal(JSON.stringify(world.exposure.answers), world.wanted("exposure"));
  // Nor what is pending when somebody looks elsewhere.
  world.set("observe.methods", ["ols"]);
  world.look({ tab: "curves" });
  await world.finish();
  assert.equal(world.exposure, null);
});

test("scenarios are swapped at any time, and each shows its own answers", async () => {
  const world = await complete({ compares: true });
  const [b, a] = [world.store.scenario, world.store.other];
  world.swap();
  // What is known of B is that of A now, without a question.
  assert.equal(world.waiting("network", true).length, 0);
  await world.finish();
  assert.deepEqual([world.store.scenario, world.store.other], [a, b]);
  world.checkCurrent();
  // While A is still being computed.
  world.open({ scenario: b, other: scenarioOf(2) });
  await world.rest();
  for (const name of ROUTES.run) await world.end(world.waiting(name)[0]);
  assert.equal(world.waiting("run", true).length, 1);
  world.swap();
  for (const name of ROUTES.run) await world.end(world.waiting(name, true)[0]);
  await settled();
  world.check();
  await world.finish();
  world.checkCurrent();
});

test("a scenario is compared with itself, and swapped, before all of it is known", async () => {
  const world = new World();
  await world.rest();
  for (const name of ROUTES.run) await world.end(world.waiting(name)[0]);
  world.compare();
  world.look({ topic: 1 });
  world.compare();
  world.compare();
  world.check();
  world.swap();
  world.look({ colour: "exposure", tab: "observer" });
  await world.finish();
  world.checkCurrent();
  const before = world.server.asked.length;
  world.compare();
  await world.finish();
  assert.equal(world.shown.other, null);
  assert.equal(world.server.asked.length, before);
});

test("nothing of an older comparison is left where a newer one is refused", async () => {
  const world = await complete({ compares: true });
  world.open({ scenario: world.store.scenario, other: scenarioOf(2) });
  await world.rest();
  world.open({ scenario: world.store.scenario, other: scenarioOf(3) });
  await world.rest();
  for (const name of ROUTES.other) await world.end(world.waiting(name, true)[0]);
  assert.equal(world.state("other"), "pending");
  await world.answer({ "other-run": "refuse" });
  assert.equal(world.state("other"), "refused");
  assert.equal(world.shown.other, null);
});

test("what is learned about A belongs to its own observer", async () => {
  const world = await complete({ compares: true });
  world.set("privacy.epsilon", 2);
  world.swap();
  world.check();
  await world.finish();
  world.checkCurrent();
  const names = world.server.asked.filter(({ other }) => other).map(({ name }) => name);
  assert.equal(names.filter((name) => OBSERVING.includes(name)).length, 2);
});
