"""Random choices behind the generators: pairs of agents, rewired edges, waiting times, activities and edge dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks._events import Events, Positions
from peerpressure.networks._network import Network

Ends = tuple[NDArray[np.int64], NDArray[np.int64]]
Ids = NDArray[np.int64]

BLOCK = 4096  # random numbers drawn at a time


# Edges


def random_pairs(n: int, p: float, rng: np.random.Generator) -> Ends:
    """Return each of the n(n-1)/2 pairs with probability p, independently, in time linear in the result.

    The gaps between chosen pairs have a geometric distribution (Batagelj & Brandes 2005).
    """
    total = n * (n - 1) // 2
    if p == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    mean = total * p
    reached = -1
    blocks: list[NDArray[np.int64]] = []
    while reached < total:
        # The number of chosen pairs is binomial with a variance of at most its mean: six standard deviations more than
        # the mean nearly always suffice in one block, and 16 covers small means.
        size = BLOCK if blocks else int(mean + 6 * np.sqrt(mean)) + 16
        # Gaps beyond the last pair are cut there to keep their sum within 64 bits.
        gaps = np.minimum(rng.geometric(p, size), total + 1)
        blocks.append(reached + np.cumsum(gaps))
        reached = int(blocks[-1][-1])
    codes = np.concatenate(blocks)
    return pairs_of(codes[codes < total])


def pairs_of(codes: NDArray[np.int64]) -> Ends:
    """Return the pair i > j with code i(i-1)/2 + j."""
    # The positive root of i(i − 1)/2 = code, rounded down.
    i = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) / 2).astype(np.int64)
    # For large codes the square root may be rounded across an integer.
    i -= i * (i - 1) // 2 > codes
    i += i * (i + 1) // 2 <= codes
    return i, codes - i * (i - 1) // 2


def rewired_ring(n: int, k: int, p: float, rng: np.random.Generator) -> Ends:
    """Return a ring in which each agent has its k nearest neighbours, with edges rewired with probability p."""
    near = np.tile(np.arange(n), k // 2)
    far = (near + np.repeat(np.arange(1, k // 2 + 1), n)) % n
    moved = np.flatnonzero(rng.random(near.size) < p)
    if not moved.size:
        return near, far
    # Python sets and lists are faster here than arrays of single elements.
    present = set(_codes(near, far, n).tolist())
    degrees = np.full(n, k).tolist()
    draws = random_agents(n, rng)
    for edge in moved.tolist():
        agent, old = int(near[edge]), int(far[edge])
        if degrees[agent] == n - 1:
            continue  # all others are neighbours already
        # Rejection takes a constant number of draws as long as degrees are far below n, and needs no list of
        # non-neighbours.
        new = next(w for w in draws if w != agent and min(agent, w) * n + max(agent, w) not in present)
        present.remove(min(agent, old) * n + max(agent, old))
        present.add(min(agent, new) * n + max(agent, new))
        degrees[old] -= 1
        degrees[new] += 1
        far[edge] = new
    return near, far


def _codes(i: NDArray[np.int64], j: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return np.minimum(i, j) * n + np.maximum(i, j)


def random_agents(n: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield agents drawn uniformly, without end."""
    while True:
        # Drawn in blocks: a call of NumPy for each agent would cost more than all the rest of the loop.
        yield from rng.integers(n, size=BLOCK).tolist()


def random_regular_pairs(n: int, degree: int, rng: np.random.Generator) -> Ends:
    """Return a simple graph in which every agent has this degree, asymptotically uniform.

    Free ends are shuffled and paired.  Pairs that would be self-loops or repeated edges are returned to the free
    ends; if no free ends can be paired, all starts again (Steger & Wormald 1999).
    """
    while True:
        codes = _try_pairing(n, degree, rng)
        if codes is not None:
            return codes // n, codes % n


def _try_pairing(n: int, degree: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    made = np.empty(0, np.int64)
    free = np.repeat(np.arange(n), degree)
    while free.size:
        rng.shuffle(free)
        i, j = free[::2], free[1::2]
        codes = _codes(i, j, n)
        first = np.zeros(codes.size, dtype=bool)
        # Keep the first of equal pairs in one shuffle.
        first[np.unique(codes, return_index=True)[1]] = True
        # Pairs accepted in earlier shuffles count as linked too.
        good = first & (i != j) & ~np.isin(codes, made)
        # The check is quadratic in the number of agents, so it runs only after a shuffle without any good pair, when
        # few are left.
        if not good.any() and not _can_be_paired(np.unique(free), made, n):
            return None
        made = np.concatenate([made, codes[good]])
        free = np.concatenate([i[~good], j[~good]])
    return made


def _can_be_paired(agents: NDArray[np.int64], made: NDArray[np.int64], n: int) -> bool:
    """Return whether any two of the agents are not yet linked."""
    i, j = np.triu_indices(agents.size, 1)
    return not np.isin(_codes(agents[i], agents[j], n), made).all()


# Waiting times and activities


class Switches(NamedTuple):
    """Events of alternating renewal processes: item, step, and whether it is the 1st, 3rd, 5th, … event of its item."""

    who: NDArray[np.int64]
    times: NDArray[np.int64]
    odd: NDArray[np.bool_]


def switches(
    times: NDArray[np.int64],
    even: NDArray[np.float64],
    odd: NDArray[np.float64],
    steps: int,
    rng: np.random.Generator,
) -> Switches:
    """Return all events up to the last step of alternating renewal processes with geometric waiting times.

    Process k starts at ``times[k]``.  Its first event comes with probability ``odd[k]`` at each step, its second with
    ``even[k]``, and so on alternately.  The time needed grows with the number of events, not of steps.
    """
    # A process with rate 0 never has an event.
    who = np.flatnonzero(odd > 0)
    now = times[who]
    probabilities = (even, odd)
    rounds = [Switches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool))]
    count = 1
    # All processes draw their k-th waiting time together, so the loop runs as often as the largest number of events of
    # any of them.
    while who.size:
        p = probabilities[count % 2][who]
        # A process whose next event has probability 0 stays as it is; rng.geometric does not accept 0.
        going = p > 0
        who, now, p = who[going], now[going], p[going]
        # Waiting times are cut to keep sums within 64 bits, at a value that leads past the last step even from step 0.
        now = now + np.minimum(rng.geometric(p), steps + 1)
        inside = now <= steps
        who, now = who[inside], now[inside]
        rounds.append(Switches(who, now, np.full(who.size, count % 2 == 1)))
        count += 1
    return Switches(*(np.concatenate([part[k] for part in rounds]) for k in range(3)))


def truncated_geometric(probability: float, steps: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return geometric waiting times, conditioned to be at most ``steps``."""
    if probability == 1:
        return np.ones(count, np.int64)
    # The inverse of P(wait ≤ k | wait ≤ steps) = (1 − (1−p)^k) / (1 − (1−p)^steps), exact for small p too.
    rate = np.log1p(-probability)
    waits = np.ceil(np.log1p(rng.random(count) * np.expm1(steps * rate)) / rate).astype(np.int64)
    # A uniform draw of exactly 0 gives the wait 0, and rounding may exceed ``steps`` by one.
    return np.asarray(np.clip(waits, 1, steps))


def distinct_others(agents: NDArray[np.int64], n: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return, for each of the agents, m distinct other agents drawn uniformly, shape (agents, m).

    Floyd's algorithm for sampling without replacement (Bentley & Floyd 1987, Comm. ACM 30, 754), for all rows at once.
    """
    chosen = np.empty((agents.size, m), np.int64)
    for k, top in enumerate(range(n - 1 - m, n - 1)):
        drawn = rng.integers(top + 1, size=agents.size)
        repeat = (chosen[:, :k] == drawn[:, None]).any(axis=1)
        # A number that is taken already is replaced by ``top``, which no earlier round could draw; all subsets are
        # equally likely.
        chosen[:, k] = np.where(repeat, top, drawn)
    # Skip the agent itself: numbers 0…n−2 stand for the n − 1 others.
    return chosen + (chosen >= agents[:, None])


def activities(exponent: float, floor: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return draws from the power law with density ∝ a^(−exponent) on [floor, 1]."""
    u = rng.random(count)
    # The general formula divides by exponent − 1; its limit is the log-uniform distribution.
    if exponent == 1:
        return np.asarray(floor ** (1 - u))
    # The inverse of the distribution function of a/floor.
    ratios = (1 + u * np.expm1((exponent - 1) * np.log(floor))) ** (1 / (1 - exponent))
    # Rounding may exceed the upper end, and an activity is a probability.
    return np.asarray(np.minimum(floor * ratios, 1))


def mean_activity(exponent: float, floor: float) -> float:
    """Return the mean of the power law of `activities`.

    >>> round(mean_activity(0, 0.5), 9)
    0.75
    """
    # With a = floor·x the factor floor^(1 − exponent) cancels, which would overflow for small floors and large
    # exponents.
    return floor * _integral(1 - exponent, 1 / floor) / _integral(-exponent, 1 / floor)


def _integral(power: float, top: float) -> float:
    """Return the integral of x^power from 1 to ``top``."""
    # expm1 avoids the cancellation in (top^(power + 1) − 1)/(power + 1) for powers near −1.
    return float(np.log(top)) if power == -1 else float(np.expm1((power + 1) * np.log(top))) / (power + 1)


# Edge-Markovian dynamics


class EdgesOf(NamedTuple):
    """The edges of a network as the pairs that may be linked, numbered as in ``network.edges()``."""

    network: Network

    def chosen(self, p: float, rng: np.random.Generator) -> Ids:
        """Return each pair with probability p, independently."""
        return np.flatnonzero(rng.random(self.network.edge_count) < p)

    def ends(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and their weights when linked."""
        i, j, weights = self.network.edges()
        return i[ids], j[ids], weights[ids]


class AllPairs(NamedTuple):
    """All pairs of n agents as codes i·n + j with i < j, which are never listed."""

    n: int

    def chosen(self, p: float, rng: np.random.Generator) -> Ids:
        """Return each pair with probability p, independently."""
        larger, smaller = random_pairs(self.n, p, rng)
        return smaller * self.n + larger

    def ends(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and their weights when linked."""
        return ids // self.n, ids % self.n, np.ones(ids.size)


def markovian_events(
    pairs: EdgesOf | AllPairs, birth: float, death: float, steps: int, rng: np.random.Generator
) -> Events:
    """Return the events of edges that appear and disappear with these probabilities per step.

    Only pairs that are ever linked are drawn: those present at the start, by the stationary distribution, and those
    whose first birth is within the steps.
    """
    early = pairs.chosen(birth / (birth + death), rng)
    # 1 − (1 − birth)^(steps − 1), without cancellation for rare births; log1p(−1) is −∞, hence the branch.
    in_time = -np.expm1((steps - 1) * np.log1p(-birth)) if birth < 1 else float(steps > 1)
    late = pairs.chosen(in_time, rng)
    # Pairs present at the start are not born again; for the others the draw is independent.
    late = late[~np.isin(late, early)]
    births = 1 + truncated_geometric(birth, steps - 1, late.size, rng)
    ids = np.concatenate([early, late])
    starts = np.concatenate([np.ones(early.size, np.int64), births])
    # All chains are present at ``starts``, so odd events are deaths and even ones are births.
    later = switches(starts, np.full(ids.size, birth), np.full(ids.size, death), steps, rng)
    i, j, weights = pairs.ends(ids)
    started = Events(starts, i, j, weights)
    changed = Events(later.times, i[later.who], j[later.who], np.where(later.odd, 0, weights[later.who]))
    events = Events.joined([started, changed])
    return events.taken(np.argsort(events.times, kind="stable"))


# Rewiring


def rewiring_events(
    network: Network, edges: NDArray[np.int64], times: NDArray[np.int64], rng: np.random.Generator
) -> Events:
    """Return the events of edges, numbered as in ``network.edges()``, that are rewired one by one at these times.

    An edge stays where it is if the agent at its fixed end is linked with all others already.
    """
    n = network.n
    i, j, weights = network.edges()
    # Plain lists and sets, since single elements of arrays are slow to read and write.
    ends: list[list[int]] = np.stack([i, j], axis=1).tolist()
    present = {a * n + b for a, b in ends}
    degrees: list[int] = np.diff(network.adjacency.indptr).tolist()
    draws = random_agents(n, rng)
    rewirings: list[tuple[int, int, int, int]] = []
    sides: list[int] = rng.integers(2, size=edges.size).tolist()
    for time, edge, side in zip(times.tolist(), edges.tolist(), sides, strict=True):
        stays, goes = ends[edge][side], ends[edge][1 - side]
        if degrees[stays] == n - 1:
            continue
        comes = next(k for k in draws if k != stays and _code(stays, k, n) not in present)
        old, new = _code(stays, goes, n), _code(stays, comes, n)
        present.remove(old)
        present.add(new)
        degrees[goes] -= 1
        degrees[comes] += 1
        ends[edge][1 - side] = comes
        rewirings.append((time, edge, old, new))
    return _events(np.array(rewirings, dtype=np.int64).reshape(-1, 4), weights, n)


def _code(a: int, b: int, n: int) -> int:
    return a * n + b if a < b else b * n + a


def _events(rewirings: NDArray[np.int64], weights: NDArray[np.float64], n: int) -> Events:
    times, edges, old, new = rewirings.T
    # Each move first ends the old edge and then begins the new one; if a pair has several events in one step, the last
    # one applies.
    codes = np.stack([old, new], axis=1).ravel()
    values = np.stack([np.zeros(times.size), weights[edges]], axis=1).ravel()
    events = Events(np.repeat(times, 2), codes // n, codes % n, values)
    # A stable sort by pair and step keeps the events of one pair and step in the order of the moves.
    order = np.lexsort((events.times, codes))
    last = np.ones(order.size, dtype=bool)
    last[:-1] = (np.diff(codes[order]) != 0) | (np.diff(events.times[order]) != 0)
    kept = events.taken(order[last])
    return kept.taken(np.argsort(kept.times, kind="stable"))
