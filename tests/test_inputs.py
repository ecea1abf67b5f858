"""Values of the wrong kind raise the package's own errors, with rule, value and remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure import privacy, recovery, theory
from peerpressure.errors import InvalidInputError, ModelError
from peerpressure.networks import cycle, k2

VERBS: dict[str, Callable[[Any], object]] = {
    "simulate": lambda model: pp.simulate(model, 5),
    "moments": lambda model: pp.moments(model, 5),
    "diagnose": pp.diagnose,
    "diagnose for a horizon": lambda model: pp.diagnose(model, 5),
    "recover": lambda model: pp.recover(pp.simulate(pp.Model(k2(), [0, 1]), 3), model),
    "forecast": lambda model: theory.forecast(model, 5),
    "consensus limit": theory.consensus_limit,
    "consensus rate": theory.consensus_rate,
    "consensus mode": theory.consensus_mode,
    "mean": theory.mean_opinion,
    "agent": lambda model: theory.agent_opinion(model, 0),
    "mode error": lambda model: theory.consensus_error(model, 5),
    "steps needed": lambda model: theory.steps_needed(model, 0.1),
    "replicates needed": lambda model: theory.replicates_needed(model, 5, 0.1),
    "influence": theory.influence,
    "start weight": lambda model: theory.start_weight(model, 5),
    "difference": lambda model: theory.opinion_difference(model, 0, 1),
    "outputs": lambda model: recovery.answers_of(pp.simulate(pp.Model(k2(), [0, 1]), 3), model),
    "diagnose fit": lambda model: recovery.diagnose_fit(pp.simulate(pp.Model(k2(), [0, 1]), 3), model),
    "information": lambda model: recovery.information(model, 5),
    "budget": lambda model: privacy.budget(model, 5),
    "exposure": lambda model: privacy.exposure(model, 5),
}
IN_DISCRETE_TIME: dict[str, Callable[[Any], object]] = {
    "contraction": lambda model: theory.contraction(model, 5),
    "contraction product": lambda model: theory.contraction_product(model, 5),
    "fixed point": lambda model: theory.fixed_point(model, 5),
    "ideal deviation": lambda model: theory.ideal_deviation(model, 5),
    "mode noise": theory.mode_noise,
    "retention": lambda model: theory.retention(model, 5),
}


@pytest.mark.parametrize("name", VERBS | IN_DISCRETE_TIME)
@pytest.mark.parametrize("value", [cycle(5), 3, None, "model"], ids=["network", "number", "none", "text"])
def test_what_is_no_model_is_named(name: str, value: object) -> None:
    with pytest.raises(ModelError, match=rf"Model.*got {type(value).__name__}; build one first: Model\(network"):
        (VERBS | IN_DISCRETE_TIME)[name](value)


@pytest.mark.parametrize("name", IN_DISCRETE_TIME)
def test_an_sde_is_no_model_in_discrete_time(name: str) -> None:
    with pytest.raises(ModelError, match="in discrete time, got SDE; pass the Model"):
        IN_DISCRETE_TIME[name](pp.SDE(pp.Model(k2(), [0, 1])))


@pytest.mark.parametrize("precision", ["a", None, [0.1], 1j, True])
def test_a_precision_must_be_a_number(precision: Any) -> None:
    model = pp.Model(k2(), [0, 1], noise=pp.Gaussian(1.0))
    for verb in (theory.steps_needed, lambda model, value: theory.replicates_needed(model, 5, value)):
        with pytest.raises(InvalidInputError, match="precision must be a finite number above 0"):
            verb(model, precision)


def test_data_must_have_a_known_form() -> None:
    with pytest.raises(InvalidInputError, match=r"data must be a run, a data frame, .* got list"):
        pp.recover([[0, 1]], pp.Model(k2(), [0, 1]))


@pytest.mark.parametrize("number", [2, np.int64(2), np.float32(2), np.float64(2), np.array(2), np.array(2.0)])
def test_one_number_may_be_of_any_kind(number: Any) -> None:
    model = pp.Model(k2(), [0, 1], stubbornness=number, pressure=pp.Linear(number), noise=pp.Gaussian(number))
    assert model.s.tolist() == [2.0, 2.0]
    assert model.pressure == pp.Linear(2.0)
    assert model.noise == pp.Gaussian(2.0)
    assert pp.AR1(number / 4).coefficient == 0.5


@pytest.mark.parametrize("value", ["2", None, [2.0], [1.0, 2.0, 3.0], [[1.0], [1.0, 2.0]]])
def test_stubbornness_is_one_number_or_one_for_each_agent(value: Any) -> None:
    with pytest.raises(ModelError, match="stubbornness must hold one number for each"):
        pp.Model(k2(), [0, 1], stubbornness=value)
