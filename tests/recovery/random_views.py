"""Random models and observers, and every estimator on them against conditioning in many digits.

``python -m tests.recovery.random_views --cases 2000 --seed 1`` judges more cases than the tests do.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, final
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.recovery import (
    METHODS,
    Answers,
    Observation,
    Prior,
    answers_of,
    information,
    kalman_filter,
    kalman_smoother,
    limits,
    recover,
)
from tests.recovery import exact
from tests.recovery.exact import Array, Best, Linear, Seen

Rng: TypeAlias = np.random.Generator

PRESSURES = ("0", "0.3", "2", "40", "t", "0.2*t^2", "1.5^t", "log(1 + t)", "1/t", "2 + sin(t)")
SCALES = ("1", "t^-0.5", "0.7^t", "t^0.3")
# How far results may be off: relative to the stated error, and in last digits of the outputs, as the estimate
# amplifies them. Estimates perturb the outputs by 8 of these and enlarge the errors threefold.
CLOSE, ROUNDING = 1e-6, 60 * np.finfo(np.float64).eps
# Where an opinion is known exactly, a variance of the error that rounding may make is not wrong.
CAUTION = 1e-9
# Six standard errors are exceeded twice in 10⁹ comparisons.
SIGMAS = 6.0
PRIOR = Prior(0.3, 0.8)


@final
@dataclass(frozen=True)
class Case:
    """A model, a run of it, and what is observed of the run."""

    model: pp.Model
    run: pp.Trajectory
    view: Observation
    data: Answers
    name: str

    @property
    def steps(self) -> int:
        return int(self.run.times[-1])


@final
@dataclass(frozen=True)
class Difference:
    """Something that a method says of one agent, and what is right."""

    case: str
    method: str
    what: str
    agent: int
    said: float
    right: float

    def __str__(self) -> str:
        return (
            f"{self.method}, {self.what} of agent {self.agent}: {self.said:.10g} for {self.right:.10g}\n  {self.case}"
        )


def pick(rng: Rng, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def cases(count: int, seed: int) -> Iterator[Case]:
    """Yield random cases; each has a seed of its own, so one can be looked at alone."""
    for k in range(count):
        yield case_of(seed, k)


def case_of(seed: int, k: int) -> Case:
    """Return the k-th case of a seed."""
    rng = np.random.default_rng([seed, k])
    n, steps = int(rng.integers(2, 8)), int(rng.integers(1, 9))
    model = pp.Model(
        network=_network(rng, n, steps),
        hidden=np.round(rng.normal(size=n), 3),
        stubbornness=pick(rng, [np.ones(n), rng.uniform(0.2, 3.0, n), 10.0 ** rng.uniform(-3, 3, n)]),
        pressure=pick(rng, PRESSURES),
        noise=_noise(rng, n),
        start=pick(rng, ["hidden", np.round(rng.normal(size=n), 2)]),
        adaptation=_adaptation(rng, n),
    )
    view = _view(rng, model, steps)
    run = _with_gaps(rng, pp.simulate(model, steps, 2, seed=k, record="all"), view)
    name = f"seed {seed}, case {k}: {n} agents, {steps} steps, {model.pressure}, {model.noise}, {view}"
    return Case(model, run, view, answers_of(run, model, view), name)


def _network(rng: Rng, n: int, steps: int) -> Any:
    kind = pick(rng, ["path", "connected", "complete", "temporal"])
    if kind == "temporal":
        events = [
            (t, *sorted(rng.choice(n, 2, replace=False).tolist()), float(pick(rng, [0.0, 1.0, 0.4, 2.5])))
            for t in sorted(rng.integers(1, steps + 2, 3 * n))
        ]
        # The path is there at first, so all agents meet.
        path = [(1, i, i + 1, 1.0) for i in range(n - 1)]
        latest = {(int(t), i, j): w for t, i, j, w in [*events, *path]}
        return pp.TemporalNetwork.from_events([(*key, w) for key, w in sorted(latest.items())], n=n)
    i, j = np.triu_indices(n, 1)
    # The path keeps the network connected.
    chosen = (rng.random(i.size) < {"path": 0.0, "connected": 0.4, "complete": 1.0}[kind]) | (j == i + 1)
    weights = pick(rng, [np.ones(i.size), rng.uniform(0.2, 3.0, i.size)])
    return pp.Network.from_edges((i[chosen], j[chosen]), weights=weights[chosen], n=n)


def _noise(rng: Rng, n: int) -> pp.Gaussian:
    std = pick(rng, [0.7, rng.uniform(0.1, 2.0, n), np.where(rng.random(n) < 0.3, 0.0, 0.8)])
    kind = pick(rng, ["white", "white", "frozen", pp.AR1(0.6), pp.AR1(-0.5), pp.AR1(0.99)])
    return pp.Gaussian(std, time_scale=pick(rng, SCALES), temporal=kind)


def _adaptation(rng: Rng, n: int) -> pp.Adaptation | None:
    if rng.random() < 0.6:
        return None
    return pp.Adaptation(pick(rng, ["0.1", "0.5", "1/t", "0.9/(1 + t)^2"]), pick(rng, [1.0, rng.uniform(0, 1, n)]))


def _with_gaps(rng: Rng, run: pp.Trajectory, view: Observation) -> pp.Trajectory:
    assert run.states is not None
    if rng.random() < 0.7:
        return run
    missing = rng.random(run.states.shape[1:]) < 0.25
    # The start is there, and one observed output.
    row = 1 if view.times is None else view.times[0]
    missing[0] = missing[row, run.model.network.indices(view.agents or [0])[0]] = False
    return pp.Trajectory(**(vars(run) | {"states": np.where(missing, np.nan, run.states)}))


def _view(rng: Rng, model: pp.Model, steps: int) -> Observation:
    if rng.random() < 0.35:
        return Observation()
    n, run = model.n, np.arange(1, steps + 1)
    agents = sorted(rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist()) if rng.random() < 0.7 else None
    times = sorted(rng.choice(run, int(rng.integers(1, steps + 1)), replace=False).tolist())
    return Observation(
        agents=agents,
        times=times if rng.random() < 0.3 else None,
        sees_start=bool(rng.random() < 0.2),
        rounding=float(pick(rng, [0.0, 0.0, 0.0, 0.25])),
    )


def differences(case: Case) -> list[Difference]:
    """Return everything that an estimator says and the oracle does not."""
    with exact.precise():
        return list(_differences(case))


def _differences(case: Case) -> Iterator[Difference]:
    data = case.data
    public, hidden = exact.paths(case.model, case.steps)
    if not data.present.any() or not data.seen.free.size:
        return
    view = exact.seen(public, data)
    wide = np.abs(np.asarray(data.values, dtype=np.float64))[:, data.present].max(initial=0.0)
    blue = exact.best(view, hidden[0])
    for method in METHODS:
        right = _formula(method, view, hidden[0], blue)
        if right is not None and (method != "innovations" or data.complete):
            yield from _estimate(case, method, right, wide, case.model.x0)
    told = information(case.model, case.steps, case.view) if data.present.all() else None
    if told is not None:
        said = (told.covariance @ np.eye(case.model.n), told.identified)
        yield from _variances(case, "information", *said, blue, wide)
    prior = exact.with_prior(view, np.full(case.model.n, 0.3), np.full(case.model.n, 0.8))
    after = exact.best(prior, hidden[0])
    if _can_be_eliminated(case.model):
        with mock.patch.object(limits, "FILTER_LIMIT", 0):
            yield from _estimate(case, "kalman", blue, wide, case.model.x0, name="elimination")
            yield from _estimate(case, "kalman", after, wide, name="elimination with a prior", prior=PRIOR)
    for method in ("kalman", "innovations") if data.complete else ("kalman",):
        now = exact.best(view, hidden[data.seen.last])
        yield from _estimate(case, method, now, wide, name=f"{method}, current", target="current")
        now = exact.best(prior, hidden[data.seen.last])
        yield from _estimate(case, method, now, wide, name=f"{method}, current, prior", prior=PRIOR, target="current")
    for method in ("gls", "kalman", *(("innovations",) if data.complete else ())):
        yield from _estimate(case, method, after, wide, name=f"{method} with a prior", prior=PRIOR)
    yield from _paths(case, view, (public, hidden), wide, None)
    yield from _paths(case, prior, (public, hidden), wide, PRIOR)


def _can_be_eliminated(model: pp.Model) -> bool:
    """Return whether the elimination for large networks takes such a model: all agents have fresh noise."""
    white = isinstance(model.noise.temporal, pp.noise.White)
    return bool((model.noise.deviations(model.n) > 0).all()) and (
        white or (isinstance(model.noise.temporal, pp.AR1) and model.adaptation is None)
    )


def _estimate(
    case: Case, method: str, right: Best, wide: float, truth: Array | None = None, *, name: str = "", **how: Any
) -> Iterator[Difference]:
    """Compare what `recover` says with what is right."""
    estimate = recover(case.run, case.model, method, case.view, **how)
    said = (estimate.value, estimate.covariance @ np.eye(case.model.n), estimate.identified)
    yield from _compare(case, name or method, said, right, wide, truth)


def _formula(method: str, view: Seen, goal: Linear, blue: Best) -> Best | None:
    """Return the method by its definition; None where the definition divides by an error of size 0."""
    V = view.V
    sizes = np.array([V[i, i] for i in range(len(V))], dtype=object)
    if method == "ols":
        return exact.weighted(view, exact.exact(np.ones(len(V))), goal)
    if method == "wls":
        return exact.weighted(view, 1 / sizes, goal) if (sizes > 0).all() else None
    if method == "snapshot":
        return exact.best(view, goal, view.last)
    return blue


def _paths(
    case: Case, view: Seen, paths: tuple[list[Linear], list[Linear]], wide: float, prior: Prior | None
) -> Iterator[Difference]:
    """Compare smoothed opinions at a step in the middle, and filtered ones after the last."""
    smooth, last = kalman_smoother(case.data, case.model, prior), case.data.seen.last
    filtered = kalman_filter(case.data, case.model, prior)
    for name, path, t in (("smoother", smooth, last // 2), ("filter", filtered, last)):
        for part, rows in (("public", paths[0][t]), ("current", paths[1][t])):
            law = getattr(path, part)
            said = (law.mean[:, t], law.covariance[t], law.identified[t])
            yield from _compare(case, f"{name}, {part} at {t}, prior {prior}", said, exact.best(view, rows), wide)


def _compare(
    case: Case,
    method: str,
    said: tuple[Array, Array, NDArray[np.bool_]],
    right: Best,
    wide: float,
    truth: Array | None = None,
) -> Iterator[Difference]:
    value, covariance, identified = said
    yield from _variances(case, method, covariance, identified, right, wide)
    std = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    slack = ROUNDING * wide * right.amplified
    for i in np.flatnonzero(identified & right.identified):
        off = np.abs(value[:, i] - right.value[:, i]).max()
        if off > _close(right) * (std[i] + 1) + slack[i]:
            yield Difference(case.name, method, "value", int(i), value[0, i], right.value[0, i])
        if truth is not None:
            worst = np.abs(value[:, i] - truth[i]).max()
            if worst > SIGMAS * std[i] + 1e-9:
                yield Difference(case.name, method, "error in standard errors", int(i), worst, std[i])


def _variances(
    case: Case, method: str, covariance: Array, identified: NDArray[np.bool_], right: Best, wide: float
) -> Iterator[Difference]:
    variance = np.where(identified, np.maximum(np.diagonal(covariance), 0.0), np.inf)
    true = np.where(right.identified, np.diagonal(right.covariance), np.inf)
    slack = (3 * ROUNDING * wide * right.amplified) ** 2
    low = true * (1 - CLOSE) - (ROUNDING * wide) ** 2 - 1e-24
    # A bound on the rounding errors of normal equations is part of their variance, and it is a wide one.
    high = true * (1 + (CLOSE if right.condition < 1e7 else 1e4 * _close(right))) + slack + CAUTION
    # Where last digits of outputs or of the model decide an opinion, it may be called undetermined.
    lost = np.isinf(variance) & ((slack > 1e-6) | (true > 1e9))
    wrong = ((variance < low) | (variance > high)) & ~lost
    for i in np.flatnonzero(wrong):
        yield Difference(case.name, method, "variance", int(i), variance[i], true[i])
    # Covariances may be off by as much as the variances of both may.
    known = np.flatnonzero(identified & right.identified & ~wrong)
    room = np.sqrt(high[known] - low[known])
    off = np.abs(covariance - right.covariance)[np.ix_(known, known)] > np.outer(room, room)
    for i, j in known[np.argwhere(off)]:
        yield Difference(case.name, method, f"covariance with {j}", int(i), covariance[i, j], right.covariance[i, j])


def _close(right: Best) -> float:
    """Return how close results must be, relative to their error; normal equations lose digits by their condition."""
    return max(CLOSE, 100 * float(np.finfo(np.float64).eps) * right.condition)


def main() -> int:
    """Print all differences and how many of them each method has."""
    parser = argparse.ArgumentParser(prog="python -m tests.recovery.random_views", description=__doc__)
    parser.add_argument("--cases", type=int, default=500, help="number of random cases")
    parser.add_argument("--seed", type=int, default=1, help="seed of the cases; 0 is that of the tests")
    chosen = parser.parse_args()
    count: Counter[str] = Counter()
    for case in cases(chosen.cases, chosen.seed):
        for difference in differences(case):
            count[f"{difference.method.split(',')[0]}: {difference.what}"] += 1
            print(difference, end="\n\n", flush=True)
    print(f"{chosen.cases} cases, differences: {dict(count) or 'none'}")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
