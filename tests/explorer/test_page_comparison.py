"""Two scenarios side by side; on a phone and in words they are looked at elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.scenario import scenario_from
from tests.explorer.driving import SMALL, STEPS, Driver

LOUD = SMALL | {"noise": {"law": "gaussian", "std": 1.5}}
SHORT = LOUD | {"run": SMALL["run"] | {"steps": 20}}
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
    assert driver.ink("#network-a") == driver.ink("#network")
    assert len([one for one in driver.asked if one.url.endswith("/api/run")]) == asked
    before = driver.ink("#network-a")
    with driver.answering():
        driver.type("noise.std", 1.5)
    driver.go_to(10)
    driver.wait_for_other_ink("#network", before)
    assert differences(driver) == [["Noise: standard deviation σ₀", "0.5", "1.5"]]
    assert driver.legend("mean") == pytest.approx(mean_of(LOUD, 10), rel=1e-5)
    assert driver.legend("mean-a") == pytest.approx(mean_of(SMALL, 10), rel=1e-5)
    assert page.inner_text("#verdict-a").startswith("A Consensus on v")
    assert page.inner_text("#verdict-heading") == "Consensus on v"
    with driver.answering():
        driver.type("run.steps", 20)
    assert page.inner_text("#time-end") == str(STEPS)
    low, high = (float(page.inner_text(f"#key-{end}").replace("−", "-")) for end in ("low", "high"))
    models = [scenario_from(one).model() for one in (SHORT, SMALL)]
    # Colours of all times: v, and the opinions that are furthest from it in either of them.
    reach = max(float(np.abs(model.x0 - model.consensus_value).max()) for model in models)
    assert (high - low) / 2 == pytest.approx(reach, abs=0.02)
    driver.go_to(30)
    assert page.inner_text("#ended-b") == "ended at t = 20"
    assert page.is_hidden("#ended-a")
    assert driver.legend("mean") == pytest.approx(mean_of(SHORT, 20), rel=1e-5)
    assert driver.legend("mean-a") == pytest.approx(mean_of(SMALL, 30), rel=1e-5)
    page.click("#zoom-in")
    driver.frame()
    widths = "() => [...document.querySelectorAll('.picture-canvas canvas')].map(canvas => canvas.width)"
    assert len(set(page.evaluate(widths))) == 1


def test_a_link_holds_both_and_the_keyboard_swaps_and_ends_it(driver: Driver) -> None:
    page = driver.page
    driver.go({"scenario": SHORT, "other": SMALL}, "comparisons")
    state = driver.linked()
    assert (state["scenario"], state["other"]) == (SHORT, SMALL)
    page.focus("#comparison-swap")
    with driver.answering():
        driver.press("Enter")
    assert differences(driver) == [["Noise: standard deviation σ₀", "1.5", "0.5"], ["Run: steps", "20", "40"]]
    assert driver.scenario()["run"]["steps"] == STEPS
    driver.wait_for_depth(1)
    page.focus("#comparison-end")
    driver.press("Enter")
    assert page.is_hidden("#picture-a")
    assert driver.focused() == "compare"
    # Both are changes, which can be undone.
    driver.wait_for_depth(2)
    with driver.answering("comparisons"):
        page.go_back()
    driver.see("#picture-a")
    driver.exist("#name-a:not(:empty)")
    assert page.inner_text("#differences tr >> nth=1") == "Run: steps\t20\t40"
