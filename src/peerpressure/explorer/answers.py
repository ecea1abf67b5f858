"""The verdict as the page gets it: in plain values and in words, and in so many words where it would take too long."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import message
from peerpressure.explorer.encoding import pack
from peerpressure.explorer.layout import Drawing
from peerpressure.explorer.limits import Limits, Shown, shown
from peerpressure.explorer.models import Prepared
from peerpressure.explorer.requests import OverdueError, RequestError
from peerpressure.model import Model
from peerpressure.networks import Network
from peerpressure.sde import SDE
from peerpressure.simulation import Record, simulate
from peerpressure.theory import (
    Outcome,
    Rate,
    Reason,
    ReasonCode,
    Verdict,
    agent,
    diagnose,
    mean,
    moments,
    regime_of,
)
from peerpressure.theory._forecast import MOST_AGENTS
from peerpressure.trajectory import SUMMARIES


def verdict(asked: Prepared, limits: Limits) -> dict[str, Any]:
    """Return what becomes of the agents; where that takes too long, only that it is not known here."""
    return _told(_found(asked, limits) or _unsaid(asked.model))


def outlook(asked: Prepared, limits: Limits) -> dict[str, Any] | None:
    """Return the verdict with where agents stand at the end of the run, None where that takes too long."""
    model = asked.model
    exact = 2 * model.network.adjacency.nnz * model.n * asked.steps
    affordable = exact <= limits.exact if model.n <= MOST_AGENTS else 64 * model.n * asked.steps <= limits.work
    found = _found(asked, limits, asked.steps) if affordable else None
    return None if found is None else _told(found)


def _found(asked: Prepared, limits: Limits, steps: int | None = None) -> Verdict | None:
    if _rounds(asked) > limits.rounds:
        return None
    try:
        return diagnose(asked.hurried(limits.verdict_seconds), steps)
    except OverdueError:
        return None


def _rounds(asked: Prepared) -> float:
    """Return how many agents and neighbours there are in all steps that a verdict has to follow."""
    temporal_network = asked.model.temporal_network
    if temporal_network is None:
        return 0.0
    recurring = temporal_network.period or temporal_network.last_change
    return float(recurring * (asked.model.n + asked.model.network.degrees.sum()))


def _unsaid(model: Model) -> Verdict:
    reasons = (Reason(ReasonCode.NOT_COMPUTED),)
    rate, pressure = Rate(regime_of(model.pressure)), str(model.pressure)
    return Verdict(Outcome.UNKNOWN, reasons, False, model.consensus_value, model.kappa, pressure, rate)


def _told(found: Verdict) -> dict[str, Any]:
    return found.to_dict() | {"text": str(found)}


# What agents show on average, and how far they scatter, exactly; and the verdict with what lies ahead.

MOST_NAMED = 20  # agents that are followed one by one
FEWEST = 8  # times below which a curve says nothing
CONTINUOUS = 60  # times at which an equation is solved


def exact_answer(asked: Prepared, body: Mapping[str, Any], limits: Limits) -> bytes:
    """Return mean and standard deviation of the network's mean and of the named agents, (names, times)."""
    named = _agents(body)
    functionals = [mean(asked.system), *(agent(asked.system, label) for label in named)]
    choice = _times(asked, len(functionals), limits)
    step = asked.system.step if isinstance(asked.system, SDE) else 1
    found = moments(asked.system, asked.steps, of=functionals, times=choice.times * step)
    facts = {
        "names": ["network mean", *named],
        "every": choice.every,
        "dense": choice.dense,
        "verdict": outlook(asked, limits),
    }
    return pack(facts, {"times": found.times.astype(np.float64), "mean": found.mean.T, "std": found.std.T})


def _agents(body: Mapping[str, Any]) -> list[int | str]:
    given = body.get("agents", [])
    plain = isinstance(given, list) and all(isinstance(one, int | str) and not isinstance(one, bool) for one in given)
    if not plain or len(given) > MOST_NAMED:
        rule = f"agents must be a list of at most {MOST_NAMED} labels"
        raise RequestError(422, message(rule, got=ascii(given)[:60], remedy="name fewer"), "agents")
    return list(given)


def _times(asked: Prepared, functionals: int, limits: Limits) -> Shown:
    """Return as many times as can be afforded: each goes back through all steps before it."""
    size = asked.model.network.adjacency.nnz + 10 * asked.model.n
    most = 2 * limits.exact // (functionals * asked.steps * size)
    if most < FEWEST:
        what, remedy = (
            "steps × edges of an exact law",
            "take fewer steps, or a smaller network; curves are still simulated",
        )
        limits.check("exact", FEWEST * functionals * asked.steps * size // 2, what=what, remedy=remedy)
    return shown(asked.steps, min(most, CONTINUOUS if isinstance(asked.system, SDE) else limits.times))


# How pressure grows, and what that means for these agents; asked while a formula is being typed.

MOST_POINTS = 240


def pressure_answer(asked: Prepared, limits: Limits) -> dict[str, Any]:
    """Return ρ_t as text and at some times (null where it leaves the range of doubles), and the outcome in words."""
    pressure = asked.model.pressure
    times = shown(asked.steps, MOST_POINTS).times[1:] * (asked.system.step if isinstance(asked.system, SDE) else 1)
    told = verdict(asked, limits)
    kept = ("outcome", "words", "estimated", "reason", "kappa")
    return {"text": str(pressure), "times": times, "values": pressure(times)} | {name: told[name] for name in kept}


# What agents show: one run in full, the extremes of some and the means of all, and what will become of them.

Array: TypeAlias = NDArray[Any]
MOST_CURVES = 20  # replicates drawn one by one
BATCH = 2_000_000  # numbers that one call may hold for all of its replicates


def run_answer(asked: Prepared, limits: Limits) -> bytes:
    """Return the states of the first replicate and the summaries of all, with the verdict."""
    begin = time.perf_counter()
    model, scenario = asked.model, asked.scenario
    numbers = model.n * (1 if model.adaptation is None else 2)
    choice = shown(asked.steps, min(limits.times, limits.states // numbers))
    arrays = _arrays(asked, choice)
    facts = {
        "n": model.n,
        "steps": asked.steps,
        "replicates": scenario.run.replicates,
        "consensus_value": model.consensus_value,
        "verdict": verdict(asked, limits),
        "tuned": {"kind": "tuned"},
        "every": choice.every,
        "dense": choice.dense,
        "elapsed_ms": 1e3 * (time.perf_counter() - begin),
    }
    return pack(facts, arrays)


def _arrays(asked: Prepared, choice: Shown) -> dict[str, Array]:
    """Return the first replicate agent by agent, the summaries of some, and mean spread and distance over all."""
    model, count, length = asked.model, asked.scenario.run.replicates, choice.times.size
    size = max(MOST_CURVES, BATCH // max(model.n, length))
    found = _beginning(asked, range(min(size, count)), choice)
    sums = {name: found[name].sum(axis=0) for name in ("spread", "distance")}
    for begin in range(size, count, size):
        asked.token.check()
        more = recorded(asked, range(begin, min(begin + size, count)), choice, SUMMARIES)
        sums = {name: total + more[name].sum(axis=0) for name, total in sums.items()}
    arrays = {name: found[name][:MOST_CURVES] for name in SUMMARIES}
    arrays |= {f"{name}_mean": total / count for name, total in sums.items()}
    arrays |= {"states": found["states"][0], "stubbornness": model.stubbornness}
    arrays["hidden"] = found["hidden"][0] if "hidden" in found else model.hidden
    return {"times": found["times"].astype(np.float64)} | {name: a.astype(np.float32) for name, a in arrays.items()}


def _beginning(asked: Prepared, rows: range, choice: Shown) -> dict[str, Array]:
    """Return the summaries of the first replicates, with what agents show, and hold if that changes, in one of them."""
    held = ["times", "states"] + ["hidden"] * (asked.model.adaptation is not None)
    if len(rows) * choice.times.size * asked.model.n <= BATCH:
        return recorded(asked, rows, choice, [*held, *SUMMARIES])
    return recorded(asked, [0], choice, held) | recorded(asked, rows, choice, SUMMARIES)


def recorded(asked: Prepared, rows: Sequence[int], choice: Shown, names: Sequence[str]) -> dict[str, Array]:
    """Return parts of a run of these replicates, (replicates, times, …), at the times that are shown."""
    system, seed = asked.system, asked.scenario.run.seed
    keep = Record(states="states" in names, summaries="spread" in names)
    run = simulate(system, choice.dense, rows, seed=seed, record=keep)
    found = {name: np.asarray(getattr(run, name)) for name in names}
    if choice.dense < choice.steps:
        sparse = replace(keep, every=choice.every)
        late = simulate(system, choice.steps - choice.dense, rows, seed=seed, record=sparse, start=run)
        # The second part begins where the first one ended.
        for name, early in found.items():
            axis = 0 if name == "times" else 1
            more = np.delete(getattr(late, name), 0, axis=axis)
            found[name] = np.concatenate([early, more], axis=axis)
    return found


# Who listens to whom, where each agent stands on the page, and what is to be known of the network.

MOST_EDGES = 60_000  # lines beyond which a picture shows none of them


def network_answer(model: Model, places: Drawing) -> bytes:
    """Return positions, edges and degrees, with facts in words."""
    network = model.network
    sources, targets, _ = network.edges()
    edges = np.stack([sources, targets], axis=1).astype(np.uint32)
    stride = -(-len(edges) // MOST_EDGES)
    facts: dict[str, Any] = {
        "n": network.n,
        "edge_count": network.edge_count,
        "edges_shown": len(edges[::stride]),
        "facts": facts_of(network),
        "labels": labels_of(network.labels),
        "connected": network.is_connected,
        "bipartite": network.is_bipartite,
        "weighted": network.is_weighted,
        "kappa": model.kappa,
    }
    arrays = {"positions": places, "edges": edges[::stride], "degrees": network.degrees.astype(np.float32)}
    return pack(facts, arrays)


def facts_of(network: Network) -> list[str]:
    """Return what a person would want to know of a network, in words."""
    return repr(network).removeprefix("Network(").removesuffix(")").split(", ")


def labels_of(labels: Sequence[Hashable]) -> list[Any] | None:
    """Return the names of agents as JSON can hold them; None where they are just counted."""
    if isinstance(labels, range):
        return None
    return [label if isinstance(label, int | str) else str(label) for label in labels]
