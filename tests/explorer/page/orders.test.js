// Whatever happens in whatever order, the page ends with the answers for the scenario as it is. People, frames, time
// and the server take turns at random; each order has a seed, which is in the failure.

import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "./fakes.js";
import { clock, scenarioOf, World } from "./world.js";

const ORDERS = 500;
const OUTCOMES = ["answer", "answer", "answer", "refuse", "too late", "superseded", "busy", "cut short", "gone"];

/** Scenarios to open, some of which share all their sections, as an example that is opened twice does. */
function examples() {
  const [one, two] = [scenarioOf(1), scenarioOf(2)];
  return [one, { ...one }, { ...one, observe: { unknown_network: {} } }, { ...one, privacy: { epsilon: 1 } }, two];
}

/** What may happen, each as likely as it is often listed. */
function events(random) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const digit = () => Math.floor(random() * 3);
  const known = examples();
  const question = (world) => pick(world.server.waiting);
  const people = {
    pressure: (world) => world.set("pressure.exponent", digit()),
    network: (world) => world.set("network.n", 5 + digit()),
    seed: (world) => world.set("run.seed", digit()),
    methods: (world) => world.set("observe.methods", [`method ${digit()}`]),
    unknown: (world) => world.set("observe.unknown_network", pick([{}, undefined])),
    privacy: (world) => world.set("privacy.epsilon", digit()),
    topic: (world) => world.look({ topic: pick([0, 1]) }),
    agents: (world) => world.look({ agents: [digit()] }),
    tab: (world) => world.look({ tab: pick(["curves", "observer"]) }),
    colour: (world) => world.look({ colour: pick(["public", "exposure"]) }),
    example: (world) => world.open({ scenario: pick(known) }),
    "another comparison": (world) => world.open({ scenario: world.store.scenario, other: pick(known) }),
    compare: (world) => world.compare(),
    swap: (world) => world.swap(),
  };
  const rest = {
    frame: () => clock.frame(),
    moment: () => clock.pass(20 + 200 * random()),
    second: () => clock.pass(1_100),
    grace: () => clock.pass(3_100),
    answer: async (world) => {
      const one = question(world);
      const outcome = pick(OUTCOMES);
      if (!one) return "";
      world.log.push(`${one.name} ${one.other ? "of A " : ""}${outcome}`);
      return world.end(one, outcome);
    },
    "many answers": async (world) => {
      for (const one of [...world.server.waiting]) if (random() < 0.7 && !one.outcome) await world.end(one);
    },
  };
  const often = ["frame", "frame", "answer", "answer", "answer", "answer", "moment", "many answers"];
  const names = [...Object.keys(people), ...Object.keys(rest), ...often, ...often];
  return () => {
    const name = pick(names);
    return [name, people[name] ?? rest[name]];
  };
}

async function live(seed) {
  const random = seededRandom(seed);
  const other = random() < 0.3 ? scenarioOf(2) : null;
  const world = new World({ view: { tab: random() < 0.5 ? "observer" : "curves" }, other });
  const next = events(random);
  try {
    for (let k = 0; k < 6 + 24 * random(); k += 1) {
      const [name, event] = next();
      world.log.push(name);
      await event(world);
      await clock.pass(0);
      world.check();
    }
    world.log.push("the server answers everything");
    await world.finish();
    world.checkAtRest();
    const asked = world.server.asked.length;
    world.log.push("somebody looks elsewhere and back");
    const { tab } = world.store.view;
    const all = world.looked.every((part) => world.state(part) === "current");
    for (const one of ["curves", "observer", "curves", tab]) world.look({ tab: one });
    await world.finish();
    if (all && tab === "observer") assert.equal(world.server.asked.length, asked, "what is known is asked for again");
    world.log.push("something changes, and is answered");
    world.set("run.seed", 7);
    world.look({ tab: "observer" });
    if (world.store.other) world.open({ scenario: world.store.scenario, other: scenarioOf(3) });
    await world.finish();
    world.checkCurrent();
  } catch (error) {
    throw new Error(`order ${seed}: ${error.message}, after ${world.log.join(", ")}`, { cause: error });
  }
}

test("whatever happens, every part ends with the answer for the scenario as it is", async () => {
  for (let seed = 1; seed <= ORDERS; seed += 1) await live(seed);
});
