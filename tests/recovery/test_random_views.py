"""Estimators, information, filter and smoother on random models and views, against conditioning in many digits."""

from __future__ import annotations

import pytest

from tests.recovery.random_views import case_of, differences

# Cases of other seeds that were wrong once: an exact fact that leaves only rounding errors; opinions that were lost;
# smoothed opinions with variance 0; a start that is known in part.
FOUND = [(1, 61), (1, 360), (1, 366), (1, 17)]


@pytest.mark.parametrize(("seed", "k"), [*((0, k) for k in range(48)), *FOUND])
def test_estimates_are_those_of_the_joint_law(seed: int, k: int) -> None:
    assert not [str(one) for one in differences(case_of(seed, k))]
