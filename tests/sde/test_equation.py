"""The equation: its drift as printed, its noise in both scalings, tables in real time, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import ModelError, ScheduleError
from peerpressure.sde import SDE
from tests.builders import SCHEDULES, random_model

STD = np.linspace(0.0, 2.0, 23)


@pytest.mark.parametrize("name", sorted(set(SCHEDULES) - {"table"}))
@pytest.mark.parametrize("t", [1e-3, 0.3, 1.0, 2.7, 400.0])
def test_drift_is_the_one_that_is_printed(name: str, t: float) -> None:
    sde = SDE(random_model(pressure=SCHEDULES[name], noise=pp.Gaussian(STD)))
    S, D = np.diag(sde.s), np.diag(sde.network.degrees)
    rho, L = float(sde.pressure(t)), sde.network.laplacian.toarray()
    y = np.random.default_rng(3).normal(size=sde.n)
    inverse = np.linalg.inv(S + rho * D)
    printed = inverse @ (S @ (sde.x0 - y) - rho * L @ y)
    np.testing.assert_allclose(sde.rate(t, y), printed, atol=1e-13)
    B, b = sde.drift(t)
    np.testing.assert_allclose(b - B @ y, printed, atol=1e-13)
    np.testing.assert_allclose(sde.noise_size(t), np.diag(inverse) * STD)
    model = replace(sde, scaling="model")
    np.testing.assert_allclose(model.noise_size(t), np.diag(inverse @ S) * STD)


def test_overflowing_pressure_leaves_the_neighbours_mean() -> None:
    sde = SDE(random_model(pressure="t^400", noise=pp.Gaussian(1.0)))
    B, b = sde.drift(1e3)
    assert not b.any()
    assert not sde.noise_size(1e3).any()
    np.testing.assert_allclose(B @ np.ones(sde.n), 0.0, atol=1e-12)


def test_rates_of_a_batch_are_those_of_its_columns() -> None:
    sde = SDE(random_model())
    batch = np.random.default_rng(0).normal(size=(sde.n, 4))
    whole = sde.rate(2.5, batch)
    np.testing.assert_array_equal(whole, np.stack([sde.rate(2.5, column) for column in batch.T], axis=1))


def test_a_table_holds_each_pressure_for_one_unit_of_time() -> None:
    model = pp.Model(
        pp.networks.k2(), [0, 1], pressure=[3.0, 0.5], noise=pp.Gaussian(1.0, time_scale=pp.schedules.Table([2.0, 5.0]))
    )
    sde = SDE(model, step=0.07)
    for t, rho, scale in ((0.0, 3.0, 2.0), (0.4, 3.0, 2.0), (1.0, 3.0, 2.0), (1.001, 0.5, 5.0), (2.0, 0.5, 5.0)):
        np.testing.assert_allclose(sde.noise_size(t), scale / (1 + rho))
        np.testing.assert_allclose(sde.update(t).coupling_scale, rho / (1 + rho))
    # A hundred steps of 0.07 end a rounding error after t = 7.
    longer = SDE(pp.Model(pp.networks.k2(), [0, 1], pressure=pp.schedules.Table(np.arange(1.0, 8.0))), step=0.07)
    assert longer.time(100) > 7
    np.testing.assert_allclose(longer.update(longer.time(100)).coupling_scale, 7 / 8)
    with pytest.raises(ScheduleError, match="7 values"):
        longer.update(7.01)


def test_many_times_are_read_at_once() -> None:
    sde = SDE(random_model(pressure=[1.0, 4.0], noise=pp.Gaussian(1.0, time_scale="1 + t")))
    own_weight, weight = sde.homogeneous([0.5, 2.0])
    np.testing.assert_allclose(weight / own_weight, [1.0, 4.0])
    np.testing.assert_allclose(sde.noise_scale([0.5, 2.0]), [1.5, 3.0])


def test_method_is_chosen_by_size() -> None:
    small, large = (SDE(pp.Model(pp.networks.cycle(n), np.zeros(n))) for n in (20, 300))
    assert (small.path_method, large.path_method) == ("exact", "taylor")
    assert replace(large, method="exact").path_method == "exact"
    assert SDE(replace(large.model, adaptation=pp.Adaptation(0.1))).path_method == "euler"
    assert "step 0.1, noise as printed, exact paths" in repr(small)
    assert "noise as in the model, euler paths" in repr(replace(small, scaling="model", method="euler"))


def test_it_delegates_to_its_model() -> None:
    model = random_model(pressure=2.0, noise=pp.Gaussian(0.3), start=np.arange(23.0))
    sde = SDE(model)
    for name in ("n", "network", "x0", "s", "noise", "pressure", "start_state", "consensus_value"):
        assert getattr(sde, name) is getattr(model, name) or getattr(sde, name) == getattr(model, name)
    np.testing.assert_allclose(sde.deviations, 0.3 / model.s)
    np.testing.assert_array_equal(replace(sde, scaling="model").deviations, np.full(23, 0.3))


BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"noise": pp.Gaussian(1.0, temporal=pp.AR1(-0.5))}, {}, "autocorrelation is above 0.*white noise"),
    ({"noise": pp.Gaussian(1.0, temporal=pp.AR1(0.0))}, {}, "a coefficient between 0 and 1"),
    ({"noise": pp.Gaussian(1.0, time_scale=pp.Power(-1), temporal=pp.AR1(0.5))}, {}, r"as t\^\(−1\) does"),
    ({"pressure": "t*log(t)"}, {}, "from time 0 on.*not before t = 1.*shift it"),
    ({"pressure": pp.Linear(1, -0.5)}, {}, "from time 0 on"),
    ({"noise": pp.Gaussian(1.0, time_scale="log(t)")}, {}, "from time 0 on"),
    ({"noise": pp.Gaussian(1.0, time_scale=pp.Power(-0.5))}, {}, "infinite variance at once.*shift it"),
    ({}, {"step": 0.0}, "positive, finite number, got 0.0"),
    ({}, {"step": np.inf}, "positive, finite"),
    ({}, {"step": True}, "positive, finite"),
    ({}, {"step": "small"}, "got 'small'"),
    ({}, {"scaling": "both"}, "scaling must be one of 'printed', 'model', got 'both'"),
    ({}, {"method": "heun"}, "method must be one of 'auto', 'exact', 'taylor', 'euler'"),
    ({}, {"method": "euler", "step": 1.5}, "not be longer than 1"),
    (
        {"adaptation": 0.1},
        {"method": "taylor"},
        "Taylor steps are for constant hidden opinions.*the method exact or euler",
    ),
    ({"noise": pp.Gaussian(1.0, temporal="frozen")}, {"method": "taylor"}, "white noise"),
    ({"adaptation": 0.1}, {"method": "euler", "step": 1.5}, "use the method exact"),
]


@pytest.mark.parametrize(("parts", "options", "message"), BAD, ids=[message for _, _, message in BAD])
def test_bad_input_is_refused(parts: dict[str, Any], options: dict[str, Any], message: str) -> None:
    model = random_model(**parts)
    with pytest.raises(ModelError, match=message):
        SDE(model, **options)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ModelError, match="made from a Model, got str"):
        SDE("model")  # type: ignore[arg-type]
