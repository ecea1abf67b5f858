// Scenarios: what belongs to which of them, what an address holds, and what becomes of their edges.

import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom, setUpPage } from "./fakes.js";

setUpPage();
const JS = "../../../src/peerpressure/explorer/static/js";
const { decodeState } = await import(`${JS}/address.js`);
const { encodeState } = await import(`${JS}/fragment.js`);
const { listedEdges, reversed } = await import(`${JS}/distrust.js`);
const { reconcile } = await import(`${JS}/scenario.js`);
const { checkedView } = await import(`${JS}/store.js`);

const random = seededRandom(3);
const VIEW = {
  tab: "observer",
  agents: ["ä", 3],
  logTime: true,
  logSize: false,
  colour: "hidden",
  zoomColours: true,
  time: 7,
  speed: 5,
  pace: 2,
  topic: 1,
  simple: true,
};

test("a state comes back from its address", async () => {
  for (const size of [1, 50, 3000]) {
    const state = {
      scenario: {
        network: { edges: Array.from({ length: size }, () => [Math.floor(99 * random()), Math.floor(99 * random())]) },
        agents: { hidden: Array.from({ length: size }, random) },
        run: { steps: size },
        time: { continuous: true },
      },
      view: VIEW,
      other: size > 1 ? { network: { named: "karate" }, run: { steps: 3 } } : null,
    };
    const fragment = await encodeState(state);
    assert.match(fragment, /^#[A-Za-z0-9_-]+$/);
    assert.deepEqual(await decodeState(fragment), state);
  }
});

test("a state too large for an address has none", async () => {
  const hidden = Array.from({ length: 90_000 }, random);
  assert.equal(await encodeState({ scenario: { network: {}, agents: { hidden } } }), null);
});

test("an address that holds no state, or too much, is refused", async () => {
  const large = await encodeState({ scenario: "x".repeat(65_000_000) });
  const [none, list] = [await encodeState({ view: VIEW }), await encodeState([1, 2, 3])];
  for (const fragment of ["#nonsense!", `#${"A".repeat(300)}`, none, list, await encodeState(null)]) {
    await assert.rejects(decodeState(fragment));
  }
  assert.ok(large.length < 1_000_000);
  await assert.rejects(decodeState(large), { message: "the address holds too much" });
});

test("parts that lost their meaning are taken out, and others stay", () => {
  const before = {
    network: { generator: "k2" },
    agents: { hidden: [0, 1], stubbornness: 2 },
    run: { steps: 9 },
    observe: { agents: [0], methods: ["kalman"], times: [1, 2, 8] },
  };
  const plain = { agents: { hidden: { law: "uniform" } } };
  const network = { named: "karate" };
  const other = reconcile({ ...before, network }, before, plain);
  assert.deepEqual(other.agents, { hidden: { law: "uniform" }, stubbornness: 2 });
  assert.deepEqual(other.observe, { methods: ["kalman"], times: [1, 2, 8] });
  assert.deepEqual(reconcile({ ...before, run: { steps: 5 } }, before, plain).observe.times, [1, 2]);
  const whole = { ...before, network, agents: { hidden: [1] } };
  assert.deepEqual(reconcile(whole, before, plain).agents, { hidden: [1] });
});

/** Two agents listen to each other, and the second to a third one. */
function drawn(directed) {
  const header = { directed, labels: ["a", "b", "c"], unit_weights: true, edges_shown: 2, edge_count: 2 };
  return { header, arrays: { edges: Uint32Array.of(0, 1, 1, 2), looks: Uint32Array.of(0, 3) } };
}

test("the edges that are drawn on are those of the network", () => {
  const edges = [
    [0, 1],
    [1, 0],
    [1, 2],
  ];
  const both = { edges, weights: [1, 1, -1], directed: true, labels: ["a", "b", "c"] };
  assert.deepEqual(listedEdges({}, drawn(true)), both);
  assert.deepEqual(reversed(both, 1, 0).weights, [-1, -1, -1]);
  assert.equal(reversed(both, 0, 2), null);
  // Changes from step to step are kept, and a network that changes by itself has no edges to draw on.
  const dynamics = { kind: "gossip" };
  assert.deepEqual(listedEdges({ generator: "ring", dynamics }, drawn(false)).dynamics, dynamics);
  assert.equal(listedEdges({ temporal: "growing" }, drawn(false)), null);
});

test("a view that makes no sense is shown plainly", () => {
  assert.deepEqual(checkedView(VIEW), VIEW);
  const strange = {
    tab: "<b>",
    agents: [{ a: 1 }],
    logTime: "yes",
    time: -4,
    speed: 0,
    pace: Infinity,
    colour: 7,
    simple: 1,
  };
  assert.deepEqual(checkedView({ ...strange, logSize: 1, zoomColours: "no", topic: -1, more: 1 }), checkedView(null));
  const { tab, agents, logTime, time } = checkedView(undefined);
  assert.deepEqual([tab, agents, logTime, time], ["curves", [], null, 0]);
});
