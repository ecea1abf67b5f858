"""Groups that meet only now and then, part for a while, or part for ever.

Three groups of different opinions are joined by bridges that are there in some steps only, so that most steps are not
connected by themselves. In one course the bridges are gone for two stretches of time and come back; in the other they
are gone for ever.

Tables
------
parting_courses
    course (returning, parted), group, time, mean, low, high, path, own_value, consensus_value: exact mean and 95 % band
    of each group's mean, weighted by degree, and one run; own_value is v of the group alone.
parting_windows
    course, first, last, pieces: the stretches of windows over which the network is not jointly connected, and into how
    many pieces it falls there.
parting_summary
    course, steps, window, rounds_connected, windows_connected, spread, distance: the shares of steps, and of windows,
    that are connected; in the end, how far the groups' means are apart and how far the farthest is from v, exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.experiments.convergence import NOISE, agents_drawn
from peerpressure.experiments.rates import NORMAL_95
from peerpressure.experiments.streams import stream
from peerpressure.experiments.temporal.ties import beside
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert
from peerpressure.networks.temporal.joint import joint_connectivity
from peerpressure.noises import Gaussian
from peerpressure.schedules import Linear
from peerpressure.simulation import simulate
from peerpressure.theory.moments import moments

GROUPS = 3
MEMBERS = 20
BRIDGES = 6  # between any two groups
EVERY = 3  # the bridges are there in one of so many steps
WINDOW = 10
TIMES = 70
STEPS = 3_000
# Rounds in which the bridges may be there, by course.
MEETING: Mapping[str, Sequence[tuple[int, int]]] = {
    "returning": ((1, 30), (101, 300), (1_001, 3_000)),
    "parted": ((1, 100),),
}


def parting(seed: int, steps: int = STEPS, *, members: int = MEMBERS) -> dict[str, pd.DataFrame]:
    """Return the tables of both courses."""
    courses, windows, summary = [], [], []
    for name, meeting in MEETING.items():
        model = parting_model(seed, meeting, members=members)
        courses.append(_course(name, model, members, steps, stream(seed, name)))
        windows.append(_broken(name, model, steps))
        summary.append(_summary(name, model, courses[-1], steps))
    return {
        "parting_courses": pd.concat(courses, ignore_index=True),
        "parting_windows": pd.concat(windows, ignore_index=True),
        "parting_summary": pd.DataFrame(summary),
    }


def parting_model(seed: int, meeting: Sequence[tuple[int, int]], *, members: int = MEMBERS) -> Model:
    """Return groups of rising opinions, whose bridges are there in every third step of these stretches."""
    n = GROUPS * members
    drawn, stubbornness = agents_drawn(n, seed)
    network = _bridged(seed, meeting, members)
    pressure = Linear.tuned(network.aggregate, stubbornness)
    return Model(network, np.sort(drawn), stubbornness, pressure, Gaussian(NOISE))


def _bridged(seed: int, meeting: Sequence[tuple[int, int]], members: int) -> TemporalNetwork:
    inside = [barabasi_albert(members, 2, seed=stream(seed, f"group {g}")).adjacency for g in range(GROUPS)]
    lasting = Network(sparse.block_diag(inside, format="csr"), connected=False)
    # The bridges lead from the last agents of a group, who brought few ties along, to the last of another.
    pairs = [
        ((a + 1) * members - 1 - k, (b + 1) * members - 1 - k)
        for a, b in itertools.combinations(range(GROUPS), 2)
        for k in range(BRIDGES)
    ]
    rounds = [t for first, last in meeting for t in range(first, last + 1, EVERY)]
    passing = [(t + late, i, j, 1 - late) for t in rounds for late in (0, 1) for i, j in pairs]
    return beside(lasting, TemporalNetwork.from_events(np.array(passing), n=lasting.n))


def _course(name: str, model: Model, members: int, steps: int, seed: int) -> pd.DataFrame:
    times = _times(steps)
    groups = np.repeat(np.arange(GROUPS), members)
    weights = np.where(groups == np.arange(GROUPS)[:, None], model.network.degrees, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    law, run = moments(model, steps, of=weights, times=times), simulate(model, steps, seed=seed)
    assert run.states is not None, "all states were asked for"
    paths, parts = run.states[0, times] @ weights.T, []
    for g in range(GROUPS):
        mean, half, own = law.mean[:, g], NORMAL_95 * law.std[:, g], groups == g
        curve = {"time": times, "mean": mean, "low": mean - half, "high": mean + half, "path": paths[:, g]}
        value = float(model.s[own] @ model.x0[own] / model.s[own].sum())
        ends = {"own_value": value, "consensus_value": model.consensus_value}
        parts.append(pd.DataFrame({"course": name, "group": g + 1} | curve | ends))
    return pd.concat(parts, ignore_index=True)


def _times(steps: int) -> NDArray[np.int64]:
    """Return times evenly spaced in their logarithm, in the middle between two steps with bridges."""
    spaced = np.unique(np.geomspace(1, steps, TIMES).astype(np.int64))
    return np.unique(np.concatenate([spaced[spaced <= EVERY], spaced[spaced > EVERY] // EVERY * EVERY, [steps]]))


def _broken(name: str, model: Model, steps: int) -> pd.DataFrame:
    assert model.temporal_network is not None, "bridges come and go"
    joint = joint_connectivity(model.temporal_network, WINDOW, steps)
    rows = [(name, first, last, int(joint.components[(first - 1) // WINDOW])) for first, last in joint.broken]
    return pd.DataFrame(rows, columns=["course", "first", "last", "pieces"])


def _summary(name: str, model: Model, course: pd.DataFrame, steps: int) -> dict[str, float | str]:
    assert model.temporal_network is not None, "bridges come and go"
    alone, together = (
        joint_connectivity(model.temporal_network, window, steps).connected.mean() for window in (1, WINDOW)
    )
    ends = course[course["time"] == steps]["mean"].to_numpy()
    return {
        "course": name,
        "steps": steps,
        "window": WINDOW,
        "rounds_connected": float(alone),
        "windows_connected": float(together),
        "spread": float(np.ptp(ends)),
        "distance": float(np.abs(ends - model.consensus_value).max()),
    }
