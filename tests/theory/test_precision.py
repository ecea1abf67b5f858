"""How much is enough: replicates and steps against exact moments and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, complete, cycle, k2, path
from peerpressure.noise import Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Logarithmic, Power, Schedule, Table
from peerpressure.simulation import simulate
from peerpressure.theory import (
    _advice,
    agent_opinion,
    consensus_error,
    consensus_limit,
    consensus_mode,
    ideal_deviation,
    replicates_needed,
    steps_needed,
)

ODD = barabasi_albert(20, 2, seed=5)
TREE = barabasi_albert(20, 1, seed=5)
TUNED = Linear.tuned(ODD, 1.0)


def make(network: Network, pressure: Schedule, noise: Noise | None = None) -> Model:
    hidden = np.random.default_rng(1).uniform(size=network.n)
    return Model(network, hidden, pressure=pressure, noise=Gaussian(1.0) if noise is None else noise)


def test_replicates_on_two_agents_by_hand() -> None:
    model = Model(k2(), [0.0, 1.0], noise=Gaussian(2.0))
    # The deviation of one agent is 2·√9/10 and that of the mode √2 smaller.
    assert replicates_needed(model, 9, 0.1, of=agent_opinion(model, 0)) == math.ceil((1.959964 * 0.6 / 0.1) ** 2)
    assert replicates_needed(model, 9, 0.1) == math.ceil((1.959964 * 0.6 / 0.1) ** 2 / 2)
    assert replicates_needed(model, 9, 0.1, confidence=0.99) == math.ceil((2.575829 * 0.6 / 0.1) ** 2 / 2)
    assert replicates_needed(model, 9, 100.0) == 1
    assert replicates_needed(Model(k2(), [0.0, 1.0]), 9, 1e-9) == 1


def test_several_functionals_take_as_many_as_the_widest() -> None:
    model = make(TREE, Linear())
    singles = [replicates_needed(model, 50, 0.02, of=row) for row in np.eye(20)[:4]]
    assert replicates_needed(model, 50, 0.02, of=np.eye(20)[:4]) == max(singles)


def test_the_promised_confidence_is_kept() -> None:
    model = make(ODD, Linear())
    needed = replicates_needed(model, 30, 0.05)
    weights = consensus_mode(model).weights
    public = simulate(model, 30, 400 * needed, seed=3, record="final").final.public @ weights
    means = public.reshape(400, needed).mean(axis=1)
    inside = np.mean(np.abs(means - public.mean()) <= 0.05)
    # 400 trials at 95 %: a binomial with deviation 0.011; rounding up makes it a little safer than promised.
    assert inside > 0.95 - 4.5 * 0.011


@pytest.mark.parametrize("precision", [0.2, 0.05, 0.02, 0.015])
@pytest.mark.parametrize("pressure", [Linear(), TUNED, Power(0.7)])
def test_steps_are_the_first_to_be_enough(pressure: Schedule, precision: float) -> None:
    model = make(ODD, pressure)
    if isinstance(pressure, Power) and precision < 0.02:
        precision = 0.03
    T = steps_needed(model, precision)
    assert consensus_error(model, T) <= precision
    assert T == 1 or consensus_error(model, T - 1) > precision


def test_steps_under_the_tuned_schedule_are_those_of_an_average() -> None:
    model = make(ODD, TUNED)
    T = steps_needed(model, 0.01)
    assert ideal_deviation(model, T) == pytest.approx(0.01, rel=0.02)


def test_without_noise_only_the_bias_has_to_go() -> None:
    model = make(ODD, TUNED, NoNoise())
    T = steps_needed(model, 1e-3)
    assert consensus_error(model, T) <= 1e-3 < consensus_error(model, T - 1)


@pytest.mark.parametrize(
    ("network", "pressure", "noise", "words"),
    [
        (ODD, Power(1.5), Gaussian(1.0), r"[Bb]iased consensus.*try ρ_t = "),
        (TREE, Power(1.5), Gaussian(1.0), r"oscillation.*try ρ_t = "),
        (ODD, Constant(3.0), Gaussian(1.0), r"disagreement.*try ρ_t = "),
        (ODD, Linear(), Gaussian(1.0, temporal="frozen"), r"frozen noise leaves an error of 0\.2.*fresh noise"),
        (ODD, Linear(), Gaussian(1.0, time_scale=Power(2.0)), r"disagreement"),
    ],
)
def test_the_impossible_is_rejected_with_a_remedy(
    network: Network, pressure: Schedule, noise: Noise, words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        steps_needed(make(network, pressure, noise), 1e-3)


def test_what_is_too_far_off_is_refused_with_a_better_schedule() -> None:
    with pytest.raises(InvalidInputError, match=r"within 1,000 steps.*try ρ_t = 0\.27"):
        steps_needed(make(ODD, Linear()), 1e-3, max_steps=1000)
    with pytest.raises(InvalidInputError, match=r"within 500 steps.*allow more steps"):
        steps_needed(make(ODD, TUNED), 1e-3, max_steps=500)
    with pytest.raises(InvalidInputError, match="within 500 steps"):
        steps_needed(make(ODD, Logarithmic()), 1e-3, max_steps=500)


def error_path(model: Model, steps: int) -> NDArray[np.float64]:
    """Return the error of the mode after 1…steps steps, by dense recursions of mean and covariance."""
    A, s, y, times = model.network.adjacency.toarray(), model.s, model.start_state, np.arange(1, steps + 1)
    d, P, errors = A.sum(axis=1), np.zeros_like(A), np.empty(steps)
    w, rho = d / d.sum(), model.pressure(times)[:, None]
    couplings, gains = (rho / (s + rho * d))[:, :, None] * A, s / (s + rho * d)
    variances = (gains * model.noise.deviations(model.n) * model.noise.scale(times)[:, None]) ** 2
    for k, (C, g) in enumerate(zip(couplings, gains, strict=True)):
        y = g * model.x0 + C @ y
        P = C @ P @ C.T
        P[np.diag_indices(model.n)] += variances[k]
        errors[k] = np.sqrt((w @ y - model.consensus_value) ** 2 + w @ P @ w)
    return errors


STARTS = [[3.0, 0, 0], [0.0, 0, 0], [1.0, -2, 0.5], [0.0, 5, 0]]


@pytest.mark.parametrize("noise", [NoNoise(), Gaussian(0.05), Gaussian(0.02, time_scale=Power(0.3))], ids=str)
@pytest.mark.parametrize("start", STARTS, ids=str)
@pytest.mark.parametrize("stubbornness", [[1.0, 1, 5], [0.2, 3, 1]], ids=str)
def test_the_precision_is_kept_from_then_on(stubbornness: list[float], start: list[float], noise: Noise) -> None:
    model = Model(path(3), [0.0, 0, 1], stubbornness, noise=noise, start=start)
    errors = error_path(model, 1000)
    for precision in (0.01, float(errors[1]) * 1.001, float(errors[30]) * 1.001, float(errors[200]) * 1.001):
        if errors[500:].max() <= precision:
            above = np.flatnonzero(errors > precision)
            assert steps_needed(model, precision) == (int(above[-1]) + 2 if above.size else 1)


def test_an_error_that_crosses_zero_is_not_taken_for_precision() -> None:
    model = Model(path(3), [0.0, 0, 1], [1.0, 1, 5], start=[3.0, 0, 0])
    assert consensus_error(model, 1) < 0.01
    assert consensus_error(model, 2) > 0.13
    assert steps_needed(model, 0.01) == 164


def test_a_precision_that_is_lost_again_is_not_reached() -> None:
    # Ever weaker pressure lets each agent return to its own opinion, and the error rises after the first steps.
    model = Model(complete(4), [-2.0, -1, 0.5, 2], [1.7, 1, 1.6, 0.5], "0.6/sqrt(t)", start=[-1.0, 0, 1.5, 3])
    errors = error_path(model, 2000)
    lowest = float(errors.min())
    assert errors[-1] > 1.1 * lowest
    with pytest.raises(InvalidInputError, match="only where agents converge to v"):
        steps_needed(model, 1.05 * lowest)


def test_a_value_beside_v_is_precise_enough_if_it_is_near() -> None:
    model = Model(cycle(5), np.arange(5.0), [1, 2, 1, 3, 1], Power(1.5))
    limit = consensus_limit(model)
    away = abs(limit.mean - model.consensus_value)
    T = steps_needed(model, 1.2 * away)
    errors = error_path(model, 2 * T)
    assert errors[T - 2] > 1.2 * away >= errors[T - 1 :].max()
    with pytest.raises(InvalidInputError, match="only where agents converge to v"):
        steps_needed(model, 0.99 * away)


def test_a_table_ends_the_search() -> None:
    with pytest.raises(InvalidInputError, match="within 3 steps"):
        steps_needed(make(ODD, Table([1.0, 2.0, 3.0])), 1e-3)


@pytest.mark.parametrize("precision", [0.0, -1.0, math.inf, math.nan])
def test_illegal_precisions_are_rejected(precision: float) -> None:
    model = make(ODD, Linear())
    with pytest.raises(InvalidInputError, match="finite number above 0"):
        steps_needed(model, precision)
    with pytest.raises(InvalidInputError, match="finite number above 0"):
        replicates_needed(model, 10, precision)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, math.nan])
def test_illegal_confidences_are_rejected(confidence: float) -> None:
    with pytest.raises(InvalidInputError, match="above 0 and below 1"):
        replicates_needed(make(ODD, Linear()), 10, 0.1, confidence=confidence)


def test_a_hopeless_precision_is_rejected() -> None:
    with pytest.raises(InvalidInputError, match="within reach"):
        replicates_needed(make(ODD, Linear()), 10, 1e-300)


def test_agents_without_pressure_who_adapt_to_their_noise_never_stay_close() -> None:
    model = Model(k2(), [0.0, 1.0], pressure=Constant(0.0), noise=Gaussian(0.5), adaptation=1e-4)
    with pytest.raises(InvalidInputError, match="grows without bound"):
        steps_needed(model, 0.36)


def test_no_stationary_error_is_claimed_of_pressure_that_oscillates() -> None:
    # At even and odd steps the error is another one; below the larger of them it is not reached forever.
    model = Model(path(4), [0.0, 1.0, 0.0, 2.0], pressure="0.3*(2 + t - 2*floor(t/2))", start=[1.0, 0.0, 0.0, 0.0])
    errors = error_path(model, 400)
    precision = 1.001 * float(errors[-2:].max())
    assert steps_needed(model, precision, max_steps=400) == int(np.flatnonzero(errors > precision)[-1]) + 2


def test_opinions_that_follow_noise_without_bound_keep_no_precision() -> None:
    model = Model(path(3), [0.3, 1.5, -3.8], pressure="0.9/t", noise=Gaussian(0.5), adaptation=1e-4)
    with pytest.raises(InvalidInputError, match="grows without bound"):
        steps_needed(model, 1.25, max_steps=3_000)


def test_where_every_step_counts_the_longest_path_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_advice, "_MOST_WORK", 0.0)
    model = Model(k2(), [0.0, 1.0], [1.0, 3.0], Formula("t*(2 + sin(t))"), Gaussian(1.0))
    with pytest.raises(InvalidInputError, match=r"within 32,768 steps, the most that are computed"):
        steps_needed(model, 1e-4, max_steps=10**9)
