"""The attack suite in small: every old hole beats what `simulate` prints, and nothing beats a release."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.attacks import (
    ATTACKS,
    MECHANISMS,
    Claim,
    Mechanism,
    by_bits,
    by_likelihood,
    by_seed,
    lowest_bit,
    plain_runs,
    preferred,
    released_runs,
    violations,
)

import peerpressure as pp
from peerpressure.model.step import Array
from peerpressure.privacy import _grid, budget

RUNS = 20_000
NAMES = [f"{one.name}, T = {one.steps}" for one in MECHANISMS]
EACH = pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)


@pytest.fixture(autouse=True)
def _known_words(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    monkeypatch.setattr(_grid, "random_words", lambda shape: rng.integers(0, 2**64, shape, dtype=np.uint64))


def both(mechanism: Mechanism, run: object, runs: int = RUNS) -> list[Array]:
    assert callable(run)
    return [run(mechanism.model(moved), mechanism.steps, runs, 11 + k) for k, moved in enumerate((0.0, 1.0))]


def claimed(mechanism: Mechanism, **how: object) -> Claim:
    return Claim(budget(mechanism.model(0.0), mechanism.steps, **how).epsilon)  # type: ignore[arg-type]


@EACH
def test_low_bits_beat_a_plain_run_and_not_a_release(mechanism: Mechanism) -> None:
    claim, before, after = claimed(mechanism), both(mechanism, plain_runs), both(mechanism, released_runs)
    assert by_bits(mechanism, before, ATTACKS[0], claimed(mechanism, unit="topic")) > 0
    assert [by_bits(mechanism, after, attack, claim) for attack in ATTACKS] == [0] * len(ATTACKS)
    assert by_likelihood(mechanism, after, claim) == 0
    assert by_likelihood(mechanism, after, claimed(mechanism, runs=4), 4) == 0


@EACH
def test_small_seeds_are_tried_first(mechanism: Mechanism) -> None:
    assert by_seed(mechanism, plain_runs) == 1
    assert by_seed(mechanism, released_runs) == 0


def test_the_default_seed_gives_all_opinions_away() -> None:
    model = pp.Model(pp.networks.cycle(4), [0.3, 0.7, 0.1, 0.9], noise=pp.Gaussian(25.0), start=0.0)
    assert budget(model, 1).epsilon < 0.15
    blank = pp.Model(model.network, np.zeros(4), noise=model.noise, start=0.0)
    shown, noise = (preferred(one, plain_runs(one, 1, 1, seed))[0, 0] for one, seed in ((model, None), (blank, 0)))
    np.testing.assert_allclose(np.asarray(shown - noise), np.asarray(model.x0), atol=1e-13)


def test_a_person_with_topics_beats_the_epsilon_of_one_topic() -> None:
    mechanism = Mechanism("topics", {"noise": pp.Gaussian(5.0)}, 3, topics=8)
    outputs = both(mechanism, released_runs)
    assert by_likelihood(mechanism, outputs, claimed(mechanism, unit="topic")) > 0
    assert by_likelihood(mechanism, outputs, claimed(mechanism)) == 0


def test_several_runs_beat_the_epsilon_of_one() -> None:
    mechanism = MECHANISMS[1]
    outputs = both(mechanism, released_runs, 9 * RUNS)
    assert by_likelihood(mechanism, outputs, claimed(mechanism), 9) > 0
    assert by_likelihood(mechanism, outputs, claimed(mechanism, runs=9), 9) == 0


def test_noise_on_a_grid_with_opinions_off_it_would_leak_everything() -> None:
    """Both are rounded or neither: the border of the method."""
    model = MECHANISMS[0].model(0.0)
    grid = _grid.grid_of(model.noise, 4, 1, 1.0)
    noise = grid.noise(0, RUNS)[:, 0] * grid.step[0]
    off = [x + noise for x in (0.0, 1.0 / 3)]
    on_it = [int(np.count_nonzero(lowest_bit(values) >= math.log2(grid.step[0]))) for values in off]
    assert violations([(on_it[0], on_it[1])], RUNS, claimed(MECHANISMS[0])) == 1
    assert on_it == [RUNS, 0]


def test_an_attack_that_is_no_attack_proves_nothing() -> None:
    claim = Claim(1.0)
    assert violations([(100, 100), (0, 0), (RUNS, RUNS), (200, 90)], RUNS, claim) == 0
    assert violations([(1000, 10), (0, RUNS)], RUNS, claim) == 2
