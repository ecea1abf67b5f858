"""Combinations of networks, updates, adaptation and time: verdicts, and the law of each agent, against exact laws.

``python -m tests.truth --combinations 400`` judges all 378 models of the 42 combinations, and random ones; a sample of
them is judged here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.truth.case import Array
from tests.truth.combinations import Combination, build, random_combination, table_of_combinations
from tests.truth.judge_combinations import Judgement, judge
from tests.truth.second_moments import late_laws
from tests.truth.table_of_combinations import MARK, Key, cell, rows, table

PAGE = Path(__file__).with_name("outcomes.md")
SAMPLE = [(number, key, models) for number, (key, models) in enumerate(table_of_combinations())]
RANDOM = 8
# Of every third combination a model is judged by its exact law; all are compared with the page.
JUDGED = 3


def assert_right(found: Judgement) -> None:
    assert not found.wrong, f"{found.name}: {'; '.join(found.wrong)}"


@pytest.mark.parametrize(("number", "key", "models"), SAMPLE, ids=[str(key) for _, key, _ in SAMPLE])
def test_one_model_of_each_combination(number: int, key: Key, models: list[Combination]) -> None:
    # Another pressure and noise for each combination.
    which = (4 * number) % len(models)
    if number % JUDGED == 0:
        found = judge(models[which])
        assert not found.unknown, found
        assert_right(found)
    printed = rows(PAGE.read_text(encoding="utf-8"))[key]
    assert printed[which] == cell(models[which])


@pytest.mark.parametrize("number", range(RANDOM))
def test_random_combinations(number: int) -> None:
    assert_right(judge(random_combination(number, seed=3)))


# Topics that do not mix, and topics with signs.
@pytest.mark.parametrize("number", [47, 23])
def test_topics_and_oscillating_pressure(number: int) -> None:
    assert_right(judge(random_combination(number, seed=5)))


def test_the_page_lists_all_combinations_and_none_is_unknown() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(MARK) == 2
    listed = rows(text)
    assert set(listed) == {key for _, key, _ in SAMPLE}
    assert all("unknown" not in cells and len(cells) == 9 for cells in listed.values())
    assert table({key: listed[key] for _, key, _ in SAMPLE}) in text


def test_the_reference_is_the_recursion_of_the_mean() -> None:
    model = build("check", "directed", np.random.default_rng(1), pressure="t^2", rate=0.2)
    ((_, A),) = model.phases[0]
    y, x = model.start, model.hidden
    for t in range(1, 20_001):
        y, x = _stepped(model, A, y, x, float(t) ** 2)
    np.testing.assert_allclose(late_laws(model)[-1].mean[-1], y, atol=1e-4)


def _stepped(model: Combination, A: Array, y: Array, x: Array, rho: float) -> tuple[Array, Array]:
    y = (model.stubbornness * x + rho * (A @ y)) / (model.stubbornness + rho * A.sum(axis=1))
    return y, x + model.rate * (y - x)
