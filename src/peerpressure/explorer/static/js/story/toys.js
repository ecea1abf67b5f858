// The eight toys of the story as numbers: what each control sets up, what the engine makes of it, and the same in Python.
// Wishes are colours from 0 (blue) to 100 (orange). Nothing here touches the page.

import { meanPath, modelOf, runningEstimates, simulate, stdOfMean, verdict } from "../engine/engine.js";

/**
 * @typedef {import("../engine/engine.js").Scenario} Scenario
 * @typedef {import("../engine/engine.js").Model} Model
 * @typedef {{ n: number, edges: number[][] }} Club
 *
 * @typedef {object} Row one person, or what is drawn like one
 * @property {number} wish
 * @property {number} said
 * @property {string} [name]
 * @property {number} [told] what a listener makes of it, and how sure that is
 * @property {number} [sure]
 * @property {number} [next] what is said a day later
 * @property {number} [member] place among all members
 *
 * @typedef {object} Shown what is to be seen for one setting of the control
 * @property {Row[]} rows
 * @property {number} [mark] a value that all rows share
 * @property {string} [markName]
 * @property {number} [day] on which the rows are heard, where that is not the day of the text
 * @property {number[][]} [paths] what is said day by day, one list a person
 * @property {number[][]} [friends] who hears whom, where that is drawn
 * @property {[string, string][]} [sum] a calculation, line by line
 * @property {[string, number, string][]} [budget] what is spent of it: on what, as a share, in words
 * @property {string[]} answer sentences
 * @property {string} right the guess that turns out right
 * @property {string} printed what the Python prints
 *
 * @typedef {object} Toy
 * @property {string} id
 * @property {number} first what the control is set to
 * @property {number[]} [stops] the settings of a slider, where they are not evenly spaced
 * @property {(value: number) => Scenario} scenario
 * @property {(value: number) => Shown} show
 * @property {(value: number) => string} python
 * @property {(value: number) => string} words the setting in words
 * @property {number} [after] what the control is set to after the first guess
 * @property {Record<string, unknown>} [view] what the explorer shows first
 */

const DAYS = 300;
const LATE = 3000;
const SEED = 1;
const MOOD = 6;
const MIDDLE = 50;
const GROWTH = 0.2;
/** What the members of the club want. */
const WISHES = [
  ...[6, 10, 27, 20, 6, 16, 17, 8, 25, 6, 15, 19, 16, 21, 25, 32, 12],
  ...[22, 24, 12, 3, 32, 12, 82, 95, 88, 85, 93, 75, 91, 83, 76, 90, 96],
];
/** Whom the listener tries to see through. */
const KIM = 30;
/** Members in the order of their rows: from the bluest wish to the most orange one. */
const ORDER = WISHES.map((_, i) => i).sort((a, b) => WISHES[a] - WISHES[b]);
const FRIENDS = [10, 20, 30];
const STEADY_DAYS = 1000;
const LIFTED = 5;
const LEFT = [5, 15, 25];
const RIGHT = [75, 85, 95];
const ADA = [100, 10, 30, 20, 40, 0, 30, 20, 10];
const STUBBORN = 5;
const BUDGET = 3;
/** Errors beyond so many standard deviations happen one time in 22. */
const SURE = 2;

// Where they begin a line, a bundler would take them for its own.
const IMPORT = "import peerpressure as pp\n";
const NUMPY = "import numpy as np\n";

const one = (/** @type {number} */ value) => value.toFixed(1);
const two = (/** @type {number} */ value) => value.toFixed(2);
const many = (/** @type {number} */ count, /** @type {string} */ what) => `${count} ${what}${count === 1 ? "" : "s"}`;
/** How much a friend's voice counts. */
const loud = (/** @type {number} */ pressure) => {
  return `a friend's voice counts ${pressure === 1 ? "" : `${pressure.toLocaleString("en")} times `}as much as your own wish`;
};
const list = (/** @type {ArrayLike<number>} */ values) => `[${Array.from(values).join(", ")}]`;
const average = (/** @type {ArrayLike<number>} */ values) => {
  return Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;
};
const median = (/** @type {number[]} */ values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
};
const lowest = (/** @type {ArrayLike<number>} */ values) => Math.min(...Array.from(values));
const highest = (/** @type {ArrayLike<number>} */ values) => Math.max(...Array.from(values));
const gap = (/** @type {ArrayLike<number>} */ values) => highest(values) - lowest(values);
const rounded = (/** @type {number} */ value) => Math.round(value);

/** What all say on one day. */
const day = (/** @type {Float64Array} */ states, /** @type {number} */ n, /** @type {number} */ t) => {
  return states.subarray(t * n, (t + 1) * n);
};

/** Keep the last result: the explorer's link, the picture and the Python ask for the same one. */
function kept(/** @type {(value: number) => Shown} */ show) {
  let [last, shown] = [Number.NaN, /** @type {Shown | null} */ (null)];
  return (/** @type {number} */ value) => {
    if (shown === null || value !== last) [last, shown] = [value, show(value)];
    return shown;
  };
}

/** 1. You and three friends. @returns {Toy} */
function friends() {
  const scenario = (/** @type {number} */ wish) => ({
    network: { edges: FRIENDS.map((_, k) => [0, k + 1]) },
    agents: { hidden: [wish, ...FRIENDS] },
    pressure: { kind: "constant", value: 1 },
    run: { steps: 1, seed: SEED },
  });
  const saidFor = (/** @type {number} */ wish) => simulate(modelOf(scenario(wish)), { steps: 1 })[FRIENDS.length + 1];
  return {
    id: "friends",
    first: 90,
    scenario,
    words: (wish) => `you want ${wish}`,
    show: (wish) => {
      const said = saidFor(wish);
      const moved = saidFor(100) - saidFor(0);
      const heard = FRIENDS.reduce((sum, one) => sum + one, 0);
      const names = ["You", "Friend", "Friend", "Friend"];
      return {
        rows: [wish, ...FRIENDS].map((one, k) => ({ wish: one, said: k ? one : said, name: names[k] })),
        right: moved > 75 ? "all" : moved > 37 ? "half" : moved > 5 ? "quarter" : "none",
        answer: [
          `You want ${wish} and say ${one(said)}.`,
          `Move your wish all the way, by 100, and your words move by ${rounded(moved)}: yours is one of ` +
            `${FRIENDS.length + 1} voices, and all count the same.`,
        ],
        sum: [
          ["What you want", one(wish)],
          [`What your friends said: ${FRIENDS.join(", ")}`, `+ ${one(heard)}`],
          ["Together", one(wish + heard)],
          ["You say a quarter of that", one(said)],
        ],
        printed: two(said),
      };
    },
    python: (wish) => `${IMPORT}
you, friends = ${wish}, ${list(FRIENDS)}
network = pp.Network.from_edges([(0, 1), (0, 2), (0, 3)])
model = pp.Model(network, [you, *friends], pressure=1)
said = pp.simulate(model, steps=1).states[0, 1]
print(f"{said[0]:.2f}")`,
  };
}

/** 2. One slider of pressure. @returns {Toy} */
function steady(/** @type {Club} */ club) {
  const scenario = (/** @type {number} */ pressure) => ({
    network: { named: "karate" },
    agents: { hidden: WISHES, start: MIDDLE },
    pressure: { kind: "constant", value: pressure },
    run: { steps: STEADY_DAYS, seed: SEED },
  });
  const model = (/** @type {number} */ pressure) => modelOf(scenario(pressure), club);
  const saidFor = (/** @type {number} */ pressure) => day(meanPath(model(pressure), STEADY_DAYS), club.n, STEADY_DAYS);
  const stops = [0, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50];
  const strongest = highest(stops);
  return {
    id: "steady",
    stops,
    first: 1,
    after: strongest,
    scenario,
    words: loud,
    show: kept((pressure) => {
      const said = saidFor(pressure);
      const left = gap(saidFor(strongest));
      const apart = verdict(model(strongest)).outcome === "disagreement";
      return {
        rows: rowsOf(said),
        right: apart ? (left < gap(WISHES) / 5 ? "almost" : "hardly") : "yes",
        answer: [
          `With a pressure of ${pressure}, those who differ most say colours that are ${one(gap(said))} apart after ` +
            `${STEADY_DAYS.toLocaleString("en")} days. What they want is ${gap(WISHES)} apart.`,
          `${pressure === strongest ? "" : `At the end of the slider, ${one(left)} are left. `}` +
            `A steady pressure squeezes them together ` +
            (apart
              ? "and then no further: however long you wait, the gap stays, for everybody's own wish still counts for something."
              : "and closes the gap."),
        ],
        printed: one(gap(said)),
      };
    }),
    python: (pressure) => `${NUMPY}${IMPORT}
wishes = ${wrapped(WISHES)}
network = pp.networks.named("karate")
model = pp.Model(network, wishes, pressure=${pressure}, start=${MIDDLE})
said = pp.simulate(model, steps=${STEADY_DAYS}).states[0, -1]
print(f"{np.ptp(said):.1f}")`,
  };
}

/** A list over several lines, as Python code has it. */
function wrapped(/** @type {number[]} */ values) {
  return `[\n    ${values.slice(0, 17).join(", ")},\n    ${values.slice(17).join(", ")},\n]`;
}

/** @returns {Row[]} */
function rowsOf(/** @type {ArrayLike<number>} */ said) {
  return ORDER.map((i) => ({ wish: WISHES[i], said: said[i] }));
}

/** The club under a pressure that grows day by day, with everybody's moods. @returns {Scenario} */
function growing(/** @type {Record<string, unknown>} */ pressure, /** @type {object} */ noise = {}, steps = DAYS) {
  return {
    network: { named: "karate" },
    agents: { hidden: WISHES, start: MIDDLE },
    pressure,
    noise: { law: "gaussian", std: MOOD, ...noise },
    run: { steps, seed: SEED },
  };
}

const GROWING = { formula: `${GROWTH}*t` };
const CLUB_IN_PYTHON = `${NUMPY}${IMPORT}
wishes = ${wrapped(WISHES)}
network = pp.networks.named("karate")
`;

/** 3. Pressure that grows: will they agree, and on what? @returns {Toy} */
function agreement(/** @type {Club} */ club) {
  const scenario = () => growing(GROWING, {}, LATE);
  const run = once(() => {
    const model = modelOf(scenario(), club);
    return { states: simulate(model, { steps: LATE, seed: SEED }), ...verdict(model) };
  });
  return {
    id: "agreement",
    stops: [...Array(20).keys(), 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000, LATE],
    first: LATE,
    scenario,
    words: (t) => `day ${t.toLocaleString("en")}: ${loud(Number((GROWTH * t).toFixed(1)))}`,
    show: kept((t) => {
      const { states, outcome, value } = run();
      const said = day(states, club.n, t);
      const candidates = { most: median(WISHES), average: average(WISHES), halfway: MIDDLE };
      const near = Object.entries(candidates).sort((a, b) => Math.abs(a[1] - value) - Math.abs(b[1] - value));
      const nearest = lowest(WISHES.map((wish) => Math.abs(wish - value)));
      return {
        rows: rowsOf(said),
        mark: value,
        markName: "average wish",
        paths: ORDER.map((i) => Array.from({ length: t + 1 }, (_, k) => states[k * club.n + i])),
        right: outcome === "consensus" ? near[0][0] : "never",
        answer: [
          t
            ? `Day ${t.toLocaleString("en")}: they say colours from ${one(lowest(said))} to ${one(highest(said))}. ` +
              `At first pressure is low, and they fly apart; while it grows, the gap closes.`
            : `Day 0: nobody has heard anybody yet, and all say ${MIDDLE}, the grey.`,
          `In the end they will all say ${one(value)}, and that is the average of all ${club.n} wishes. Nobody wanted ` +
            `it: even the closest wish is ${one(nearest)} away.`,
        ],
        printed: `${outcome} on ${one(value)}\n${one(lowest(said))} to ${one(highest(said))}`,
      };
    }),
    python: (
      t,
    ) => `${CLUB_IN_PYTHON}model = pp.Model(network, wishes, pressure="${GROWTH}*t", noise=pp.Gaussian(${MOOD}), start=${MIDDLE})
verdict = pp.diagnose(model)
print(verdict.outcome.name.lower(), "on", f"{verdict.value:.1f}")
said = pp.simulate(model, steps=${LATE}, seed=${SEED}).states[0, ${t}]
print(f"{said.min():.1f} to {said.max():.1f}")`,
  };
}

/** @template Result @param {() => Result} make @returns {() => Result} */
function once(make) {
  /** @type {{ result: Result } | null} */
  let made = null;
  return () => {
    made ??= { result: make() };
    return made.result;
  };
}

/** 4. The pressure is lifted. @returns {Toy} */
function lifted(/** @type {Club} */ club) {
  const table = (/** @type {number} */ gone) => {
    return Array.from({ length: DAYS + LIFTED }, (_, k) => (gone && k >= DAYS ? 0 : GROWTH * (k + 1)));
  };
  const scenario = (/** @type {number} */ gone) => {
    return growing({ kind: "table", values: table(gone) }, {}, DAYS + LIFTED);
  };
  const saidFor = (/** @type {number} */ gone) => {
    const states = simulate(modelOf(scenario(gone), club), { steps: DAYS + LIFTED, seed: SEED });
    return { before: day(states, club.n, DAYS), after: day(states, club.n, DAYS + 1) };
  };
  return {
    id: "lifted",
    first: 0,
    after: 1,
    scenario,
    words: (gone) => (gone ? "the pressure is gone" : "the pressure is on"),
    show: kept((gone) => {
      const { before, after } = saidFor(1);
      const said = gone ? after : saidFor(0).after;
      const off = (/** @type {ArrayLike<number>} */ words) =>
        average(WISHES.map((wish, i) => Math.abs(wish - words[i])));
      const share = (off(before) - off(after)) / off(before);
      return {
        rows: rowsOf(said),
        right: share > 0.6 ? "wishes" : share > 0.2 ? "drift" : "same",
        answer: gone
          ? [
              `The day before, what they said was ${one(off(before))} away from what they want, on average. Now it is ` +
                `${one(off(after))}, and that is only the mood of the day, typically ${MOOD} points to either side.`,
              `They did not have to change back, because they had never changed. All they had agreed on was what to say.`,
            ]
          : [`Day ${DAYS + 1} with the pressure on: colours from ${one(lowest(said))} to ${one(highest(said))}.`],
        printed: `${one(lowest(said))} to ${one(highest(said))}`,
      };
    }),
    python: (gone) => `${CLUB_IN_PYTHON}pressure = [${GROWTH} * day for day in range(1, ${DAYS + LIFTED + 1})]
${gone ? `pressure[${DAYS}:] = [0] * ${LIFTED}  # gone from day ${DAYS + 1} on` : `# gone from day ${DAYS + 1} on with: pressure[${DAYS}:] = [0] * ${LIFTED}`}
model = pp.Model(network, wishes, pressure=pressure, noise=pp.Gaussian(${MOOD}), start=${MIDDLE})
said = pp.simulate(model, steps=${DAYS + LIFTED}, seed=${SEED}).states[0, ${DAYS + 1}]
print(f"{said.min():.1f} to {said.max():.1f}")`,
  };
}

/** 5. Two rooms that hear only each other. @returns {Toy} */
function rooms() {
  const n = LEFT.length + RIGHT.length;
  const heard = LEFT.flatMap((_, i) => RIGHT.map((_, j) => [i, LEFT.length + j]));
  /** A door lets the first two people of a room hear each other. */
  const scenario = (/** @type {number} */ power, door = false) => ({
    network: { edges: door ? [...heard, [0, 1]] : heard },
    agents: { hidden: [...LEFT, ...RIGHT] },
    pressure: { formula: `t^${power}` },
    noise: { law: "gaussian", std: MOOD },
    run: { steps: STEADY_DAYS, seed: SEED },
  });
  const runOf = (/** @type {Model} */ model) => simulate(model, { steps: STEADY_DAYS, seed: SEED });
  const meeting = (/** @type {number} */ power) => {
    const model = modelOf(scenario(power));
    const states = runOf(model);
    const last = day(states, n, STEADY_DAYS);
    const apart = Math.abs(average(last.subarray(0, LEFT.length)) - average(last.subarray(LEFT.length)));
    return { states, apart, outcome: verdict(model).outcome };
  };
  const accident = (/** @type {number} */ power) => {
    return average(day(runOf(modelOf(scenario(power, true))), n, STEADY_DAYS));
  };
  return {
    id: "rooms",
    first: 0.5,
    after: 2,
    scenario,
    words: (power) => `on day 10, ${loud(rounded(10 ** power))}`,
    show: kept((power) => {
      const { states, apart, outcome } = meeting(power);
      const fast = meeting(2).outcome;
      const wishes = [...LEFT, ...RIGHT];
      const at = 20;
      const mean = average(wishes);
      const swaps = outcome === "oscillation";
      const leftover = swaps ? accident(power) : undefined;
      const said = `After ${STEADY_DAYS.toLocaleString("en")} days the rooms are ${one(apart)} apart`;
      return {
        rows: wishes.map((wish, i) => ({ wish, said: states[at * n + i], next: states[(at + 1) * n + i] })),
        day: at,
        paths: wishes.map((_, i) => Array.from({ length: at + 1 }, (_, k) => states[k * n + i])),
        mark: leftover,
        markName: "if two of one room hear each other",
        right: fast === "oscillation" ? "never" : "sooner",
        answer:
          leftover !== undefined
            ? [
                `${said}, and they will never meet. The pressure is so high so soon that everybody repeats what the other ` +
                  `room said the day before: the rooms swap colours, day after day, like two people in a corridor who ` +
                  `keep stepping aside to the same side.`,
                `Let two people of one room hear each other, and the swapping dies out. But then they agree on what is left ` +
                  `over from the first few days, ${one(leftover)} in this try (the dashed line), and not on ` +
                  `${rounded(mean)}, the average wish.`,
              ]
            : [
                `That is so where pressure grows fast. Here it grows slowly enough. ` +
                  (apart < 1
                    ? `${said}: they have met, at the average wish of ${rounded(mean)}.`
                    : `${said}. They still swap, a little less each day, and will meet in the end.`),
              ],
        printed: `${outcome}, ${one(apart)} apart`,
      };
    }),
    python: (power) => `${IMPORT}
left, right = ${list(LEFT)}, ${list(RIGHT)}
network = pp.Network.from_edges([(i, j) for i in range(3) for j in range(3, 6)])
model = pp.Model(network, left + right, pressure="t^${power}", noise=pp.Gaussian(${MOOD}))
said = pp.simulate(model, steps=${STEADY_DAYS}, seed=${SEED}).states[0, -1]
apart = abs(said[:3].mean() - said[3:].mean())
print(f"{pp.diagnose(model).outcome.name.lower()}, {apart:.1f} apart")`,
  };
}

/** 6. Who counts: Ada is like all others, or popular, or stubborn. @returns {Toy} */
function counting() {
  const n = ADA.length;
  const ring = ADA.map((_, i) => [i, (i + 1) % n]);
  const known = ADA.map((_, i) => [0, i]).slice(2, -1);
  const scenario = (/** @type {number} */ who) => ({
    network: { edges: who === 1 ? [...ring, ...known] : ring },
    agents: { hidden: ADA, stubbornness: ADA.map((_, i) => (i === 0 && who === 2 ? STUBBORN : 1)) },
    pressure: { formula: `${GROWTH}*t` },
    run: { steps: DAYS, seed: SEED },
  });
  const endOf = (/** @type {number} */ who) => {
    const model = modelOf(scenario(who));
    return { value: verdict(model).value, said: day(meanPath(model, DAYS), n, DAYS) };
  };
  return {
    id: "counting",
    first: 0,
    after: 2,
    scenario,
    words: (who) => ["Ada is like everybody", "Ada is popular", "Ada is stubborn"][who],
    show: kept((who) => {
      const { value, said } = endOf(who);
      const [alike, popular, stubborn] = [0, 1, 2].map((one) => endOf(one).value);
      const [byFriends, byWill] = [Math.abs(popular - alike), Math.abs(stubborn - alike)];
      const told = [
        `Ada is one of ${n}, with two friends. In the end they agree on ${one(value)}, the average wish.`,
        `Ada is now a friend of all ${n - 1} others. In the end they agree on ${one(value)}: popularity has ` +
          `${byFriends < 0.05 ? "not moved it at all" : `moved it by ${one(byFriends)}`}. ` +
          `Everybody hears her, but she hears everybody as well, and says what they say.`,
        `Ada's own wish now counts ${STUBBORN} times as much with her as anybody else's with them. In the end they agree ` +
          `on ${one(value)}, which is ${one(byWill)} closer to what she wants. It is still an average, in which her wish ` +
          `counts ${STUBBORN} times.`,
      ];
      return {
        rows: ADA.map((wish, i) => ({ wish, said: said[i], name: i ? undefined : "Ada" })),
        friends: who === 1 ? [...ring, ...known] : ring,
        day: DAYS,
        mark: value,
        markName: "in the end",
        right: byWill > 2 * byFriends ? "stubborn" : byFriends > 2 * byWill ? "popular" : "both",
        answer: [
          told[who],
          `On day ${DAYS} they are on the way there: those who differ most are still ${one(gap(said))} apart.`,
        ],
        printed: one(value),
      };
    }),
    python: (who) => `${IMPORT}
wishes = ${list(ADA)}  # Ada's is the first
friends = [(i, (i + 1) % ${n}) for i in range(${n})]
${["", `friends += [(0, i) for i in range(2, ${n - 1})]  # Ada knows everybody\n`, ""][who]}network = pp.Network.from_edges(friends)
stubbornness = [${who === 2 ? STUBBORN : 1}] + [1] * ${n - 1}
model = pp.Model(network, wishes, stubbornness, pressure="${GROWTH}*t")
print(f"{pp.diagnose(model).value:.1f}")`,
  };
}

/** 7. You unmask them: what is left when the friends' part is taken away. @returns {Toy} */
function unmasking(/** @type {Club} */ club) {
  const { n } = club;
  const scenario = () => growing(GROWING);
  const run = once(() => {
    const model = modelOf(scenario(), club);
    const states = simulate(model, { steps: DAYS, seed: SEED });
    return { model, states, running: runningEstimates(model, states).value };
  });
  /** The average of one subtraction a day over the last days. */
  const toldFor = (/** @type {number} */ days) => {
    const { running } = run();
    const until = (/** @type {number} */ t) => WISHES.map((_, i) => (t ? running[t * n + i] * t : 0));
    const [all, before] = [until(DAYS), until(DAYS - days)];
    return all.map((total, i) => (total - before[i]) / days);
  };
  return {
    id: "unmasking",
    first: 1,
    scenario,
    view: { tab: "observer" },
    words: (days) => `you have listened for ${many(days, "day")}`,
    show: kept((days) => {
      const { model, states } = run();
      const told = toldFor(days);
      const side = (/** @type {number} */ value) => value >= MIDDLE;
      const correct = (/** @type {number[]} */ found) => found.filter((one, i) => side(one) === side(WISHES[i])).length;
      const off = average(told.map((one, i) => Math.abs(one - WISHES[i])));
      const said = day(states, n, DAYS);
      const { degrees } = model.network;
      const voices = 1 + model.pressure(DAYS) * degrees[KIM];
      const heard = (states[DAYS * n + KIM] * voices - toldFor(1)[KIM]) / (voices - 1);
      const ofFriends = (heard * (voices - 1)) / voices;
      // Numbers that add up as they are printed.
      const rest = (Number(said[KIM].toFixed(4)) - Number(ofFriends.toFixed(4))).toFixed(4);
      return {
        rows: ORDER.map((i) => ({
          wish: WISHES[i],
          said: said[i],
          told: told[i],
          sure: (SURE * MOOD) / Math.sqrt(days),
          name: i === KIM ? "Kim" : undefined,
          member: i,
        })),
        right: correct(toldFor(1)) > 0.9 * n ? "know" : correct(toldFor(1)) > 0.6 * n ? "perhaps" : "cannot",
        answer: [
          `Take one of them, Kim, on day ${DAYS}. The voice of each of her ${degrees[KIM]} friends counts ` +
            `${rounded(model.pressure(DAYS))} times as much as her own wish. So ${degrees[KIM]} × ` +
            `${rounded(model.pressure(DAYS))} = ${rounded(voices - 1)} of ${rounded(voices)} parts of what she says are theirs.`,
          `Do that for everybody, with ${many(days, "day")} of listening, and you put ${correct(told)} of ${n} on the right ` +
            `side of ${MIDDLE}, the middle. You are ${one(off)} off on average. ` +
            `(Rows now stand in the order of the wishes.)`,
        ],
        sum: [
          [`Kim says on day ${DAYS}`, said[KIM].toFixed(4)],
          [
            `less the part of her friends, who said ${heard.toFixed(4)} on average the day before: ${rounded(voices - 1)}/${rounded(voices)} of it`,
            `− ${ofFriends.toFixed(4)}`,
          ],
          ["leaves her own part", rest],
          [`which is 1/${rounded(voices)} of what she wants, her mood included`, `× ${rounded(voices)}`],
          ["So this one day tells", one(Number(rest) * voices)],
          [`Average of ${many(days, "such day")}; in truth she wants ${WISHES[KIM]}`, one(told[KIM])],
        ],
        printed: `${one(told[KIM])}\n${correct(told)} of ${n}`,
      };
    }),
    python: (
      days,
    ) => `${CLUB_IN_PYTHON}model = pp.Model(network, wishes, pressure="${GROWTH}*t", noise=pp.Gaussian(${MOOD}), start=${MIDDLE})
said = pp.simulate(model, steps=${DAYS}, seed=${SEED}).states[0]
left = np.zeros(network.n)
for day in range(${DAYS - days + 1}, ${DAYS + 1}):
    pressure = ${GROWTH} * day
    voices = 1 + pressure * network.degrees
    left += (voices * said[day] - pressure * (network.adjacency @ said[day - 1])) / ${days}
print(f"{left[${KIM}]:.1f}\\n{sum((left >= ${MIDDLE}) == (np.array(wishes) >= ${MIDDLE}))} of {network.n}")`,
  };
}

/** 8. Spend a budget of noise to hide. @returns {Toy} */
function hiding(/** @type {Club} */ club) {
  const scenario = (/** @type {number} */ blur, temporal = "frozen") => growing(GROWING, { std: blur, temporal });
  /** The colour of the door on that day without any blur. */
  const clear = once(() => average(day(meanPath(modelOf(scenario(1), club), DAYS), club.n, DAYS)));
  const spent = (/** @type {number} */ blur, /** @type {string} */ temporal) => {
    const model = modelOf(scenario(blur, temporal), club);
    const states = simulate(model, { steps: DAYS, seed: SEED });
    const { value, std } = runningEstimates(model, states);
    const at = DAYS * club.n + KIM;
    const off = Math.abs(average(day(states, club.n, DAYS)) - clear());
    return { told: value[at], sure: SURE * std[at], said: states[at], off };
  };
  // Errors are in proportion to the blur.
  const costs = (/** @type {number} */ cost) => {
    return `typically ${two(cost)}\u00a0of\u00a0${BUDGET}${cost > BUDGET ? ": too much" : ""}`;
  };
  const price = once(() => ["white", "frozen"].map((kind) => stdOfMean(modelOf(scenario(1, kind), club), DAYS)));
  return {
    id: "hiding",
    first: 10,
    scenario,
    view: { tab: "observer" },
    words: (blur) => `two rolls in three between −${blur} and ${blur}`,
    show: kept((blur) => {
      const [fresh, steadfast] = ["white", "frozen"].map((kind) => spent(blur, kind));
      const [freshCost, keptCost] = price().map((cost) => cost * blur);
      const most = Math.floor(BUDGET / price()[1]);
      return {
        rows: [
          { wish: WISHES[KIM], ...fresh, name: "a new blur every day" },
          { wish: WISHES[KIM], ...steadfast, name: "one blur, kept" },
        ],
        mark: average(WISHES),
        markName: "right colour",
        budget: [
          ["new every day", freshCost / BUDGET, costs(freshCost)],
          ["kept", keptCost / BUDGET, costs(keptCost)],
        ],
        right: steadfast.sure > 2 * fresh.sure ? "kept" : fresh.sure > 2 * steadfast.sure ? "fresh" : "alike",
        answer: [
          `After ${DAYS} days the listener knows your wish to about ±${one(fresh.sure)} if your blur is new every day, and ` +
            `to ±${one(steadfast.sure)} if you keep one. In this try you keep a roll of ${one(steadfast.told - WISHES[KIM]).replace("-", "−")}.`,
          `The price: if everybody hides like that, new blurs typically shift the door by ${two(freshCost)} points, kept ` +
            `ones by ${two(keptCost)}. A single try may differ: in this one it is ${two(fresh.off)} and ` +
            `${two(steadfast.off)}. ` +
            (keptCost > BUDGET
              ? `A kept blur of ${blur} is over the budget of ${BUDGET}.`
              : `The budget of ${BUDGET} pays for a kept blur of up to ${most}.`),
        ],
        printed: `±${one(fresh.sure)} and ${two(freshCost)}\n±${one(steadfast.sure)} and ${two(keptCost)}`,
      };
    }),
    python: (blur) => `${CLUB_IN_PYTHON}for blur in pp.Gaussian(${blur}), pp.Gaussian(${blur}, temporal="frozen"):
    model = pp.Model(network, wishes, pressure="${GROWTH}*t", noise=blur, start=${MIDDLE})
    estimate = pp.recover(pp.simulate(model, steps=${DAYS}, seed=${SEED}), model)
    error = np.sqrt(pp.moments(model, steps=${DAYS}).covariance.mean())
    print(f"±{${SURE} * estimate.std[${KIM}]:.1f} and {error:.2f}")`,
  };
}

/**
 * Return the toys in their order.
 * @param {Club} club who is friends with whom
 * @returns {Toy[]}
 */
export function toysOf(club) {
  return [friends(), steady(club), agreement(club), lifted(club), rooms(), counting(), unmasking(club), hiding(club)];
}

/** What the text says of what is set up here. */
export const facts = {
  members: WISHES.length,
  blue: WISHES.filter((wish) => wish < MIDDLE).length,
  orange: WISHES.filter((wish) => wish >= MIDDLE).length,
  days: DAYS,
  stubborn: STUBBORN,
  mood: MOOD,
  circle: ADA.length,
  budget: BUDGET,
  kim: WISHES[KIM],
  blurred: WISHES[KIM] + 10,
};
