"""Random models of every family: what the package says of them against long exact recursions.

``python -m tests.truth --cases 5000`` judges more of them. Cases whose truth no finite horizon tells are counted as
open (see ``trend``), and are neither right nor wrong.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.truth.case import Array, Case, curve
from tests.truth.families import draw
from tests.truth.judge import judge
from tests.truth.recursion import EXACT, truths
from tests.truth.table import judged, shares, table
from tests.truth.trend import trend

CASES = 150
MOST_UNKNOWN = 0.03


@pytest.mark.parametrize("family", shares(CASES))
def test_what_is_said_is_true(family: str) -> None:
    found = judged(family, shares(CASES)[family])
    print(table({family: found}))
    wrong = [one for one in found if one.mark == "wrong"]
    assert not wrong, "\n\n".join(map(str, wrong))
    # Pressure that depends on the parity of t is left open where two sides may hear of it.
    unknown = [one for one in found if one.mark == "unknown" and "t/2" not in one.case.pressure]
    assert len(unknown) < MOST_UNKNOWN * len(found), "\n\n".join(map(str, unknown))


def naive(case: Case, steps: int) -> tuple[Array, Array]:
    """Return mean and variance of each agent after some steps, taken one by one."""
    s, y, P, t = case.stubbornness, case.start, np.zeros((case.n, case.n)), np.arange(steps)
    A = case.cycle[t % len(case.cycle)]
    rho = curve(case.pressure)(np.arange(1.0, steps + 1))[:, None]
    whole, scale = s + rho * A.sum(axis=2), curve(case.scale)(np.arange(1.0, steps + 1))[:, None]
    gains, couplings = s / whole, (rho / whole)[:, :, None] * A
    for C, g, noise in zip(
        couplings, gains * case.hidden, (gains * case.std * scale)[:, :, None] * np.eye(case.n), strict=True
    ):
        y, P = g + C @ y, C @ P @ C.T + noise**2
    return y, np.diag(P)


@pytest.mark.parametrize(
    ("pressure", "scale", "rtol"),
    [("2.0", "1", 2e-3), ("t", "1", 2e-3), ("0.3*t^0.5", "1", 2e-3), ("t^1.5", "1", 2e-3), ("2*t^0.5", "t", 1e-2)],
)
def test_blocks_of_steps_are_as_good_as_single_ones(pressure: str, scale: str, rtol: float) -> None:
    cycle = np.array([[[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 2, 1], [2, 0, 0], [1, 0, 0.0]]])
    hidden, stubbornness, std = np.array([[0.0, 1.0, 3.0], [1.0, 2.0, 0.5], [0.5, 0.2, 1.0]])
    case = Case("temporal network", pressure, cycle, hidden, stubbornness, start=hidden, std=std, scale=scale)
    reading = truths([case])[0].readings[5]
    assert reading.t > 4 * EXACT
    mean, variance = naive(case, int(reading.t))
    np.testing.assert_allclose(reading.states[-1], mean, rtol=2e-4)
    np.testing.assert_allclose(reading.deviations[-1] ** 2, variance, rtol=rtol)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [("t**-0.1", "zero"), ("1/np.log(t)", "zero"), ("np.log(t)**-0.3", "zero"), ("1e-9/t", "zero"),
     ("1 + t**-0.3", "finite"), ("0.1 + t**-0.1", "finite"), ("2 - 1/t", "finite"), ("1e-3 + t**-0.3", "finite"),
     ("np.log(np.log(t))**-0.3", "open"), ("np.log(t)", "infinite"), ("t**0.1", "infinite")],
)  # fmt: skip
def test_trends_are_told_apart(formula: str, expected: str) -> None:
    t = EXACT * 4.0 ** np.arange(11)
    assert trend(t.tolist(), np.broadcast_to(eval(formula), t.shape).tolist(), [1e-7] * 11) == expected


def test_a_slow_path_through_v_is_left_open() -> None:
    # It comes to the opinion that never adapts as t^(−0.018), and is on the other side of v at the horizon.
    path, weight = np.array([[[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]]), np.array([0.0, 1, 1])
    hidden, start = np.array([[-0.229, -1.532, 0.23], [0.089, 1.062, 0.377]])
    case = Case(
        "adaptation", "0.69375*t + 1.021", path, hidden, np.array([0.05, 0.5, 5.0]), start, np.zeros(3),
        rate="0.5/sqrt(t)", weight=weight,
    )  # fmt: skip
    found = judge(case, truths([case])[0])
    assert next(one for one in found if one.question == "outcome").mark == "open"
    assert not [one for one in found if one.mark == "wrong"]


def test_noise_that_opinions_adapt_to_more_slowly_than_it_is_averaged_is_left_open() -> None:
    # The spread of hidden opinions rises until t = 7·10¹², where pressure counts as much as the rate, and falls then.
    A = np.zeros((1, 3, 3))
    A[0, 0, 1:] = A[0, 1:, 0] = 1.0
    case = Case(
        "adaptation", "0.5*t^0.3", A, np.array([-1.5, -0.5, 0.5]), np.ones(3), np.zeros(3), np.full(3, 0.5),
        scale="log(1 + t)", rate="0.0001", weight=np.array([0.0, 1.0, 1.0]),
    )  # fmt: skip
    found = {one.question: one.mark for one in judge(case, truths([case])[0])}
    assert found["hidden"] == "open"
    assert "wrong" not in found.values()


def test_agents_who_hear_of_a_fixed_opinion_by_way_of_others_are_left_open() -> None:
    # They come to 0.192 at t = 10¹¹, and the mean of all of them is 0.189 at the horizon.
    line = np.diag([3.0, 2.6, 2.2], 1)
    hidden, weight = np.array([0.192, 0.502, -0.387, 0.173]), np.array([0.0, 1, 1, 1])
    case = Case(
        "adaptation", "1.465/sqrt(t)", (line + line.T)[None], hidden, np.array([1.5, 2.8, 2.4, 1.1]), hidden,
        np.zeros(4), rate="0.0001", weight=weight,
    )  # fmt: skip
    assert "wrong" not in {one.mark for one in judge(case, truths([case])[0])}


# A common opinion that wanders like √log t, and terms like t^(−1.07) and 1/t of opposite signs, which cross at 10¹⁹.
@pytest.mark.parametrize(("seed", "number"), [(37, 66), (1_000_040, 31)])
def test_what_shows_long_after_the_horizon_is_not_held_against_a_verdict(seed: int, number: int) -> None:
    case = draw("temporal network", number + 1, seed)[number]
    assert "wrong" not in {one.mark for one in judge(case, truths([case])[0])}


def test_the_same_seed_gives_the_same_models() -> None:
    first, again, other = (draw("temporal network", 3, seed)[2].code for seed in (0, 0, 1))
    assert first == again != other
