"""Fisher information: a dense oracle, closed forms, and that seeing more never tells less."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import peerpressure as pp
from peerpressure.recovery import Observation, information
from tests.builders import random_model
from tests.recovery.cases import small_model


@given(seed=st.integers(0, 50), data=st.data())
@settings(max_examples=10, deadline=None)
def test_seeing_more_never_tells_less(seed: int, data: st.DataObject) -> None:
    kinds = [pp.Gaussian(0.5), pp.Gaussian(0.5, temporal=pp.AR1(0.7)), pp.Gaussian(0.5, temporal="frozen")]
    model = random_model(6, seed, noise=data.draw(st.sampled_from(kinds)))
    less = data.draw(st.sets(st.integers(0, 5), min_size=1, max_size=5))
    more = less | data.draw(st.sets(st.integers(0, 5)))
    times = sorted(data.draw(st.sets(st.integers(1, 8), min_size=1)))
    bounds = [
        information(model, steps, view).bound
        for steps, view in (
            (8, Observation(agents=sorted(less), times=times, rounding=0.1)),
            (8, Observation(agents=sorted(less), times=times)),
            (8, Observation(agents=sorted(more), times=times)),
            (8, Observation(agents=sorted(more))),
            (9, Observation(agents=sorted(more))),
            (9, Observation()),
            (9, Observation(sees_start=True)),
        )
    ]
    for blind, sharp in pairwise(bounds):
        assert (sharp <= blind * (1 + 1e-6) + 1e-9).all()


def test_closed_forms() -> None:
    given_start = random_model(9, noise=pp.Gaussian(2.0), start=np.zeros(9))
    np.testing.assert_allclose(information(given_start, 50).bound, 4 / 50)
    assert information(given_start, 50).of(3) == pytest.approx(50 / 4)
    model = random_model(9, noise=pp.Gaussian(2.0), pressure=pp.Linear())
    F = np.eye(9) + (model.network.adjacency / model.s[:, None]).toarray()
    J = (49 * np.eye(9) + F.T @ F) / 4
    np.testing.assert_allclose(information(model, 50).matrix @ np.eye(9), J)
    np.testing.assert_allclose(information(model, 50).diagonal, J.diagonal())


def test_what_is_not_seen_may_not_be_identified() -> None:
    model = pp.Model(pp.networks.k2(), hidden=[0.0, 0.0], noise=pp.Gaussian(1.0))
    told = information(model, 1)
    assert not told.identified.any()
    assert told.of(0) == 0
    assert "nobody identified" in repr(told)
    sharp = information(model, 5, Observation(sees_start=True))
    assert sharp.of(0) == np.inf
    assert "2 identified" in repr(sharp)


def test_refuses_bad_steps() -> None:
    model = small_model()
    for steps in (-1, 1.5, True):
        with pytest.raises(pp.errors.InvalidInputError, match="steps must be a whole number"):
            information(model, steps)  # type: ignore[arg-type]
