"""Weights, their errors and the placebo: against regressions and permutations written out."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats

from peerpressure.fitting._groups import GroupPanel, Neighbours, PeerExposure, Shown
from peerpressure.fitting._seat_placebo import Shuffles, seat_placebo
from peerpressure.fitting._weights import WeightFit, fit_memories, shares_of_others
from tests.fitting.records import Array, ring


def panel(answers: Array, exposure: PeerExposure, strata: Any = None, first: Any = "before") -> GroupPanel:
    n = answers.shape[1]
    codes = np.zeros(n, dtype=np.intp) if strata is None else np.asarray(strata, dtype=np.intp)
    return GroupPanel(answers, exposure, first, codes, codes, codes, list(range(n)))


def made(rounds: int, n: int = 40, seed: int = 0) -> tuple[GroupPanel, Array]:
    """Return a panel of people who see others along a ring, and what they saw; nothing is very far away."""
    rng = np.random.default_rng(seed)
    answers = rng.uniform(size=(rounds, n))
    seen = Neighbours(answers, [sparse.csr_array(ring(n))] * (rounds - 1))
    return panel(answers, seen, np.arange(n) % 2), seen.values


def regression(y: Array, columns: list[Array]) -> tuple[Array, Array, Array]:
    """Return coefficients, residuals and design of least squares."""
    design = np.column_stack(columns)
    coefficients: Array = np.asarray(np.linalg.lstsq(design, y, rcond=None)[0], dtype=np.float64)
    return coefficients, y - design @ coefficients, design


def test_two_rounds_are_a_regression_on_the_first_answer_and_what_was_seen() -> None:
    record, seen = made(2)
    fit = WeightFit(replace(record, stratum=record.stratum * 0), memory=1.0)
    y = record.answers
    coefficients, left, design = regression(y[1], [np.ones(40), y[0], seen[1]])
    assert fit.w == pytest.approx([coefficients[2]], rel=1e-6)
    assert fit.fits[0].residual == pytest.approx(left, abs=1e-6)
    # The error: a sandwich by person with the leverage of what was seen taken out.
    pull = seen[1] - (rest := design[:, :2]) @ np.linalg.lstsq(rest, seen[1], rcond=None)[0]
    # In units of the own law, which the weight leaves.
    score = pull * left / (1 - 0.999 * pull**2 / (pull @ pull))
    expected = np.sqrt(40 / (40 - 2 - 1)) * np.sqrt(score @ score) / (pull @ pull)
    assert fit.std == pytest.approx([expected], rel=1e-5)
    effective = (pull @ pull) ** 2 / (pull**4).sum()
    low, high = fit.interval
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, effective - 1) * fit.std, rel=1e-5)


def test_a_weight_for_each_round_is_a_regression_of_each_on_all_that_came_before() -> None:
    record, seen = made(4)
    fit = WeightFit(replace(record, stratum=record.stratum * 0), "round", memory=1.0)
    y = record.answers
    for t in (1, 2, 3):
        coefficients, _, _ = regression(y[t], [np.ones(40), *y[:t], seen[t]])
        assert fit.w[t - 1] == pytest.approx(coefficients[-1], abs=1e-5)


def test_own_series_have_what_was_seen_taken_out_if_people_return_to_their_opinion() -> None:
    record, seen = made(3)
    w = WeightFit(replace(record, stratum=record.stratum * 0), memory=0.0).w[0]
    y, heights = record.answers, []
    for weight in (w, w - 1e-3, w + 1e-3):
        v = (y[1] - weight * seen[1]) / (1 - weight)
        first = regression((y[1] - weight * seen[1]), [(1 - weight) * np.ones(40), (1 - weight) * y[0]])[1]
        second = regression(
            (y[2] - weight * seen[2]), [(1 - weight) * np.ones(40), (1 - weight) * y[0], (1 - weight) * v]
        )[1]
        heights.append(-20 * (np.log(first @ first) + np.log(second @ second)))
    # The maximum of the profile likelihood with a scale for each round.
    assert heights[0] > max(heights[1:])


def test_strata_have_levels_of_their_own_and_units_do_not_matter() -> None:
    record, seen = made(3, seed=3)
    fit = WeightFit(record)
    shift = np.where(record.stratum == 0, 5.0, -2.0)
    moved = panel(record.answers + shift, Shown(seen + shift), record.stratum)
    assert WeightFit(moved).w == pytest.approx(fit.w, abs=1e-5)
    larger = panel(7 * record.answers, Shown(7 * seen), record.stratum)
    assert WeightFit(larger).w == pytest.approx(fit.w, abs=1e-5)
    assert WeightFit(larger).std == pytest.approx(fit.std, rel=1e-3)


@pytest.mark.parametrize("student", [False, True])
@pytest.mark.parametrize("memory", [0.0, 1.0])
def test_a_model_is_never_less_likely_than_one_that_it_contains(memory: float, student: bool) -> None:
    for seed in range(2):
        record, _ = made(4, seed=seed)
        heights = [
            WeightFit(record, course, memory=memory, student=student).log_likelihood
            for course in ("none", "constant", "round")
        ]
        # The scales are shrunk, so a fit is a little below the maximum.
        assert np.diff(heights).min() > -0.2


@pytest.mark.parametrize("first", ["before", "after"])
@pytest.mark.parametrize("given", [False, True])
def test_a_shuffle_is_the_same_study_with_people_on_other_seats(given: bool, first: Any) -> None:
    record, seen = made(4, n=12)
    record = replace(record, first=first, exposure=Shown(seen) if given else record.exposure)
    rng = np.random.default_rng(4)
    placebo = seat_placebo(record, 30, seed=9)
    rng = np.random.default_rng(9)
    seats = np.tile(np.arange(12)[:, None], (1, 30))
    for code in (0, 1):
        seats[record.stratum == code] = rng.permuted(seats[record.stratum == code], axis=0)
    for draw in (0, 17):
        seat = seats[:, draw]
        if given:
            shown = seen[:, seat]
        else:
            sees = ring(12)[np.ix_(seat, seat)]  # person i sees person j if the seat of i sees that of j
            shown = np.vstack([np.full(12, np.nan), (record.answers[:-1] @ sees.T) / 2])
        # Nothing is shuffled in a study that was made on these seats.
        again = seat_placebo(replace(record, exposure=Shown(shown)), 19, seed=1)
        assert placebo.shuffled[draw] == pytest.approx(again.statistic, abs=1e-8)


def test_a_p_value_counts_the_shuffles_that_are_as_extreme() -> None:
    shuffled = np.array([0.0, 1.0, 2.0, 3.0])
    assert Shuffles(2.0, shuffled).p_value == pytest.approx(3 / 5)
    assert Shuffles(9.0, shuffled).p_value == pytest.approx(1 / 5)
    assert Shuffles(9.0, shuffled, two_sided=True).p_value == pytest.approx(1 / 5)
    assert Shuffles(1.5, shuffled, two_sided=True).p_value == 1.0


def test_the_placebo_is_exact_on_dealt_seats() -> None:
    """Of all ways to deal the seats of one record, a part of p have a p-value of p or less."""
    rng = np.random.default_rng(2)
    answers = rng.standard_t(2, size=(2, 8))
    sees = ring(8, (1, 3))
    values = []
    for order in list(permutations(range(8)))[::997]:
        y = answers[:, order]
        record = panel(y, Neighbours(y, [sparse.csr_array(sees)]))
        values.append(seat_placebo(record, 199, seed=5).p_value)
    assert len(values) == 41
    assert np.mean(np.array(values) <= 0.25) == pytest.approx(0.25, abs=0.2)
    assert np.mean(np.array(values) <= 0.75) == pytest.approx(0.75, abs=0.2)


def test_exact_repeats_and_absurd_exposures_leave_the_weight_as_it_is() -> None:
    rng = np.random.default_rng(8)
    n, answers = 300, np.empty((2, 300))
    answers[0] = rng.normal(size=n)
    shown = rng.normal(size=(2, n))
    shown[0] = np.nan
    alone = 0.5 * answers[0] + 0.3 * rng.normal(size=n)
    answers[1] = 0.6 * alone + 0.4 * shown[1]
    whole = WeightFit(panel(answers, Shown(shown)), memory=1.0)
    assert whole.w[0] == pytest.approx(0.4, abs=3 * whole.std[0])
    # Forty per cent repeat their answer exactly: the average is what is left of the weight.
    lazy = answers.copy()
    lazy[1, :120] = answers[0, :120]
    for student in (False, True):
        fit = WeightFit(panel(lazy, Shown(shown)), memory=1.0, student=student)
        assert fit.w[0] == pytest.approx(0.24, abs=0.1)
    # One person in a hundred was shown a thousand times too much, and did not care.
    absurd = shown.copy()
    absurd[1, ::100] *= 1000
    fit = WeightFit(panel(answers, Shown(absurd)), memory=1.0)
    # As if each of them had been shown something at four robust scales.
    assert fit.w[0] == pytest.approx(whole.w[0], abs=0.12)
    assert fit.effective[0] > 30


def test_a_cluster_that_carries_everything_leaves_no_error_to_be_estimated() -> None:
    n = 90
    rng = np.random.default_rng(3)
    answers, shown = rng.normal(size=(2, n)), np.full((2, n), np.nan)
    clusters = np.arange(n) // 10
    shown[1, clusters == 0] = rng.normal(size=10)
    record = replace(panel(answers, Shown(shown)), cluster=clusters.astype(np.intp))
    fit = WeightFit(record, memory=1.0)
    assert fit.effective[0] < 1.5
    assert np.isinf(fit.std[0])


def test_shares_of_others_add_up_over_rounds() -> None:
    w = np.array([0.5, 0.2])
    assert shares_of_others(w, 0.0) == pytest.approx([0.5, 0.2])
    assert shares_of_others(w, 1.0) == pytest.approx([0.5, 0.6])
    fit = WeightFit(made(3, seed=6)[0], "round", memory=1.0)
    assert fit.shares == pytest.approx([fit.w[0], 1 - (1 - fit.w[0]) * (1 - fit.w[1])])
    assert fit.shares_std[0] == pytest.approx(fit.std[0], rel=1e-4)


def test_an_interval_is_the_union_over_memories_that_explain_the_answers() -> None:
    fits = fit_memories(made(3, seed=5)[0])
    assert {fit.memory for fit in fits.fits} == {0.0, 1.0}
    low, high = fits.interval
    assert (low <= fits.best.interval[0]).all()
    assert (high >= fits.best.interval[1]).all()
    assert len(fit_memories(made(2)[0]).fits) == 1
