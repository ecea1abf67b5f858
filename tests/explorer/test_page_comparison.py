"""Two scenarios side by side; on a phone and in words they are looked at elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.scenario import scenario_from
from tests.explorer.driving import SMALL, STEPS, Driver
from tests.explorer.test_page_controls import key_span

SHORT = SMALL | {"noise": {"law": "gaussian", "std": 1.5}, "run": SMALL["run"] | {"steps": 20}}
ROWS = "rows => rows.map(row => row.innerText.split('\\t'))"


def mean_of(scenario: dict[str, Any], step: int) -> float:
    read = scenario_from(scenario)
    run = pp.simulate(read.model(), read.run.steps, 1, seed=read.run.seed)
    return float(np.asarray(run.states)[0, step].mean())


def differences(driver: Driver) -> Any:
    return driver.page.locator("#differences tr").evaluate_all(ROWS)


def test_the_present_becomes_a_changes_go_to_b_and_both_have_one_time_and_one_colour_scale(driver: Driver) -> None:
    page = driver.page
    asked = len([one for one in driver.asked if one.url.endswith("/api/run")])
    page.click("#compare")
    driver.frame()
    # Nothing differs yet, in words and in pictures, and nothing is computed again.
    assert "Nothing yet" in page.inner_text("#comparison")
    before = driver.ink("#network-a")
    assert before == driver.ink("#network")
    assert len([one for one in driver.asked if one.url.endswith("/api/run")]) == asked
    with driver.answering():
        driver.type("noise.std", 1.5)
    with driver.answering():
        driver.type("run.steps", 20)
    driver.go_to(10)
    driver.wait_for_other_ink("#network", before)
    assert differences(driver) == [["Noise: standard deviation σ₀", "0.5", "1.5"], ["Run: steps", "40", "20"]]
    assert page.inner_text("#verdict-a").startswith("A Consensus on v")
    assert page.inner_text("#verdict-heading") == "Consensus on v"
    assert page.inner_text("#time-end") == str(STEPS)
    models = [scenario_from(one).model() for one in (SHORT, SMALL)]
    # Colours of all times: v, and the opinions that are furthest from it in either of them.
    reach = max(float(np.abs(model.x0 - model.consensus_value).max()) for model in models)
    assert key_span(driver) / 2 == pytest.approx(reach, abs=0.02)
    driver.go_to(30)
    assert page.inner_text("#ended-b") == "ended at t = 20"
    assert page.is_hidden("#ended-a")
    assert driver.legend("mean") == pytest.approx(mean_of(SHORT, 20), rel=1e-5)
    assert driver.legend("mean-a") == pytest.approx(mean_of(SMALL, 30), rel=1e-5)
    # A link holds both, and the keyboard swaps and ends it, which can be undone.
    state = driver.linked()
    assert (state["scenario"], state["other"]) == (SHORT, SMALL)
    depth = page.evaluate("() => history.state.depth")
    page.focus("#comparison-swap")
    with driver.answering():
        driver.press("Enter")
    assert differences(driver)[1] == ["Run: steps", "20", "40"]
    assert driver.scenario()["run"]["steps"] == STEPS
    driver.wait_for_depth(depth + 1)
    page.focus("#comparison-end")
    driver.press("Enter")
    assert page.is_hidden("#picture-a")
    assert driver.focused() == "compare"
    driver.wait_for_depth(depth + 2)
    with driver.answering("comparisons"):
        page.go_back()
    driver.see("#picture-a")
