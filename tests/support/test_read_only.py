"""Results cannot be changed: what a result holds is read-only, and what it hands out anew is the caller's own."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure import privacy, recovery, sde, theory
from peerpressure.networks import barabasi_albert, cycle, gossip, joint_connectivity, path
from peerpressure.scenario import Experiment, scenario_from
from peerpressure.simulation.trajectory import State

HIDDEN = np.linspace(0.0, 1.0, 5)
NOISY = pp.Model(cycle(5), HIDDEN, noise=pp.Gaussian(0.3))
ADAPTING = pp.Model(cycle(5), HIDDEN, noise=pp.Gaussian(0.3), adaptation=0.1)
HASTY = pp.Model(path(4), HIDDEN[:4], pressure=pp.StretchedExponential())
STEADY = pp.Model(cycle(5), HIDDEN, pressure=pp.Constant(1.0), noise=pp.Gaussian(0.3))
EQUATION = pp.SDE(NOISY, 0.1)
SCENARIO = {
    "network": {"generator": "cycle", "n": 5},
    "noise": {"law": "gaussian", "std": 0.3},
    "run": {"steps": 5, "replicates": 2},
    "observe": {"methods": ["gls"]},
}
# What a result refers to and was not computed.
INPUTS = (pp.Model, pp.SDE, pp.Network, pp.TemporalNetwork, pp.noise.Noise, pp.schedules.Schedule, pp.Adaptation)


@cache
def run() -> pp.Trajectory:
    return pp.simulate(NOISY, 20, 3, seed=1)


def _density() -> Any:
    return sde.solve_density(pp.SDE(pp.Model(pp.networks.k2(), [0.0, 1.0], noise=pp.Gaussian(0.3)), 0.1), 1.0)


def _weights() -> Any:
    return recovery.infer_network(pp.simulate(NOISY, 60, 1, seed=1), NOISY.pressure)


RESULTS: dict[str, Callable[[], Any]] = {
    "run": run,
    "run of some agents": lambda: pp.simulate(NOISY, 20, 3, record=pp.Record(every=5, agents=[1, 3])),
    "run of final states": lambda: pp.simulate(NOISY, 20, 3, record="final"),
    "run that adapts": lambda: pp.simulate(ADAPTING, 20, 3),
    "run of an equation": lambda: pp.simulate(EQUATION, 20, 3),
    "state": lambda: run().final,
    "outputs": lambda: recovery.answers_of(run(), NOISY),
    "estimate by ols": lambda: pp.recover(run(), NOISY, "ols"),
    "estimate by gls": lambda: pp.recover(run(), NOISY, "gls"),
    "estimate by innovations": lambda: pp.recover(run(), NOISY, "innovations"),
    "estimate by kalman": lambda: pp.recover(run(), NOISY, "kalman"),
    "fit": lambda: pp.fit(recovery.answers_of(run(), NOISY), NOISY, ("std",)),
    "tests of fit": lambda: recovery.diagnose_fit(run(), NOISY),
    "information": lambda: recovery.information(NOISY, 5),
    "network": _weights,
    "moments": lambda: theory.moments(NOISY, 5),
    "functional": lambda: theory.consensus_mode(NOISY),
    "forecast": lambda: theory.forecast(NOISY, 100),
    "verdict": lambda: pp.diagnose(NOISY, 10),
    "verdict of several classes": lambda: pp.diagnose(pp.Model(cycle(4), HIDDEN[:4], [1, 1, 1, np.inf])),
    "phases": lambda: pp.diagnose(HASTY, 10),
    "stationary state": lambda: pp.diagnose(STEADY, 10),
    "limit curve": lambda: theory.consensus_limit_curve(ADAPTING, [0.05, 0.1]),
    "retention": lambda: theory.retention(ADAPTING, 10),
    "schedule": lambda: theory.optimal_schedule(NOISY, 5).schedule.values,
    "budget": lambda: privacy.budget(NOISY, 10),
    "calibration": lambda: privacy.calibrate(NOISY, 10, epsilon=1.0),
    "exposure": lambda: privacy.exposure(NOISY, 10),
    "frontier": lambda: privacy.frontier(NOISY, [5, 10], [1.0]),
    "density": _density,
    "exact density": lambda: sde.exact_density(EQUATION, 1.0),
    "joint connectivity": lambda: joint_connectivity(gossip(barabasi_albert(6, 2, seed=1), 20, seed=1), 5),
    "experiment": lambda: Experiment(scenario_from(SCENARIO)),
}


def _parts(value: Any, where: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield all arrays and tables that the public attributes of a result lead to, with their places."""
    if isinstance(value, (np.ndarray, pd.DataFrame)):
        yield where, value
    elif isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            yield from _parts(part, f"{where}[{i}]", seen)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _parts(part, f"{where}[{name!r}]", seen)
    elif dataclasses.is_dataclass(value) and not isinstance(value, (type, *INPUTS)) and id(value) not in seen:
        seen.add(id(value))
        for name in dir(value):
            if not name.startswith("_") and (part := _attribute(value, name)) is not None:
                yield from _parts(part, f"{where}.{name}", seen)


def _attribute(value: Any, name: str) -> Any:
    try:
        part = getattr(value, name)
    # A property that this result has not, such as the covariance of agents one by one.
    except (pp.PeerPressureError, AttributeError, NotImplementedError):
        return None
    return None if callable(part) and not dataclasses.is_dataclass(part) else part


@pytest.mark.parametrize("name", RESULTS)
def test_what_a_result_holds_cannot_be_changed(name: str) -> None:
    result = RESULTS[name]()
    first, again = (dict(_parts(result, name, set())) for _ in range(2))
    assert first
    for where, value in first.items():
        if isinstance(value, np.ndarray) and np.shares_memory(value, again[where]):
            assert not value.flags.writeable, f"{where} can be written to"
        if isinstance(value, pd.DataFrame):
            assert value is not again[where], f"{where} is the table of the result itself"
            value[value.columns[0]] = None
            third = dict(_parts(result, name, set()))[where]
            assert not third.iloc[:, 0].isna().all(), f"{where} is changed by a change of what it gave"


def test_assignments_are_refused_and_nothing_changes() -> None:
    estimate, states = pp.recover(run(), NOISY, "gls"), run().states
    assert states is not None
    before = states.copy(), estimate.value.copy()
    with pytest.raises(ValueError, match="read-only"):
        states[0, 0, 0] = 9
    with pytest.raises(ValueError, match="read-only"):
        estimate.value[0, 0] = 9
    with pytest.raises(ValueError, match="read-only"):
        run().final.public[:] += 1
    np.testing.assert_array_equal(states, before[0])
    np.testing.assert_array_equal(estimate.value, before[1])


def _change(array: Any) -> None:
    try:
        array[...] = 9
    except ValueError as error:
        assert "read-only" in str(error)  # noqa: PT017 — either it is refused, or it changes a copy


def test_tables_and_arrays_with_labels_cannot_corrupt_a_run() -> None:
    result = pp.simulate(NOISY, 20, 3, seed=1)
    before = pickle.dumps([result.states, result.minimum, result.final.public, result.times, result.replicates])
    data = result.to_xarray()
    for variable in (*data.data_vars.values(), *data.coords.values()):
        if np.issubdtype(variable.dtype, np.number):
            _change(variable.values)
    table = result.to_dataframe()
    for column in table.select_dtypes("number"):
        _change(table[column].to_numpy())
        table[column] = 9
    assert pickle.dumps([result.states, result.minimum, result.final.public, result.times, result.replicates]) == before


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_a_copy_of_a_result_is_as_read_only(copied: Callable[[Any], Any]) -> None:
    again = copied(run())
    assert not again.states.flags.writeable
    assert not again.final.public.flags.writeable
    np.testing.assert_array_equal(again.states, run().states)


def test_a_stored_run_is_as_read_only(tmp_path: Path) -> None:
    run().save(tmp_path / "run.npz")
    states = pp.Trajectory.load(tmp_path / "run.npz").states
    assert states is not None
    assert not states.flags.writeable


def test_states_are_not_copied_and_the_caller_keeps_his_own_array() -> None:
    own = np.zeros((1, 5))
    state = State(3, own)
    assert np.shares_memory(state.public, own)
    assert own.flags.writeable
    assert not state.public.flags.writeable
    assert not dataclasses.replace(state, step=4).public.flags.writeable
