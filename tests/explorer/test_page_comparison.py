"""Two scenarios side by side, and the way back through all that was changed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.scenario import scenario_from
from tests.explorer.driving import PHONE, SMALL, STEPS, Driver, fragment_of

LOUDER = SMALL | {"noise": {"law": "gaussian", "std": 1.5}, "run": SMALL["run"] | {"steps": 20}}


def compared(driver: Driver) -> Driver:
    """Show the small scenario as A and a louder, shorter one as B."""
    with driver.answering("comparisons"), driver.answering():
        fragment = fragment_of({"scenario": LOUDER, "other": SMALL})
        driver.page.evaluate("given => { location.hash = given }", fragment)
    driver.page.wait_for_selector("#name-a:not(:empty)")
    return driver


def mean_of(scenario: dict[str, Any], step: int) -> float:
    read = scenario_from(scenario)
    run = pp.simulate(read.model(), read.run.steps, 1, seed=read.run.seed)
    return float(np.asarray(run.states)[0, step].mean())


def test_the_present_becomes_a_and_changes_go_to_b(driver: Driver) -> None:
    asked = len([one for one in driver.asked if one.url.endswith("/api/run")])
    driver.page.click("#compare")
    driver.frame()
    # Nothing differs yet, in words and in pictures, and nothing is computed again.
    assert "Nothing yet" in driver.page.inner_text("#comparison")
    assert driver.ink("#network-a") == driver.ink("#network")
    assert len([one for one in driver.asked if one.url.endswith("/api/run")]) == asked
    before = driver.ink("#network-a")
    with driver.answering():
        driver.type("noise.std", 1.5)
    driver.go_to(10)
    driver.wait_for_other_ink("#network", before)
    rows = driver.page.locator("#differences tr").evaluate_all("rows => rows.map(row => row.innerText.split('\\t'))")
    assert rows == [["Noise: standard deviation σ₀", "0.5", "1.5"]]
    louder = SMALL | {"noise": {"law": "gaussian", "std": 1.5}}
    assert driver.legend("mean") == pytest.approx(mean_of(louder, 10), rel=1e-5)
    assert driver.legend("mean-a") == pytest.approx(mean_of(SMALL, 10), rel=1e-5)
    assert driver.page.inner_text("#verdict-a").startswith("A Consensus on v")
    assert driver.page.inner_text("#verdict-heading") == "Consensus on v"


def test_both_have_one_time_and_one_colour_scale(driver: Driver) -> None:
    compared(driver)
    assert driver.page.inner_text("#time-end") == str(STEPS)
    low, high = (float(driver.page.inner_text(f"#key-{end}").replace("−", "-")) for end in ("low", "high"))
    values = [scenario_from(one).model() for one in (LOUDER, SMALL)]
    # Colours of all times: v, and the opinions that are furthest from it in either of them.
    reach = max(float(np.abs(model.x0 - model.consensus_value).max()) for model in values)
    assert (high - low) / 2 == pytest.approx(reach, abs=0.02)
    driver.go_to(30)
    assert driver.page.inner_text("#ended-b") == "ended at t = 20"
    assert driver.page.is_hidden("#ended-a")
    assert driver.legend("mean") == pytest.approx(mean_of(LOUDER, 20), rel=1e-5)
    assert driver.legend("mean-a") == pytest.approx(mean_of(SMALL, 30), rel=1e-5)
    driver.page.click("#zoom-in")
    driver.frame()
    zooms = "() => [...document.querySelectorAll('.picture-canvas canvas')].map(canvas => canvas.width)"
    assert len(set(driver.page.evaluate(zooms))) == 1


def test_a_link_holds_both_and_the_keyboard_swaps_and_ends_it(driver: Driver) -> None:
    compared(driver)
    state = driver.module("address", "await module.decodeState(given)", driver.link())
    assert (state["scenario"], state["other"]) == (LOUDER, SMALL)
    driver.page.focus("#comparison-swap")
    with driver.answering():
        driver.page.keyboard.press("Enter")
    rows = driver.page.locator("#differences tr").evaluate_all("rows => rows.map(row => row.innerText.split('\\t'))")
    assert rows == [["Noise: standard deviation σ₀", "1.5", "0.5"], ["Run: steps", "20", "40"]]
    assert driver.scenario()["run"]["steps"] == STEPS
    driver.page.wait_for_function("() => history.state?.depth === 1")
    driver.page.focus("#comparison-end")
    driver.page.keyboard.press("Enter")
    assert driver.page.is_hidden("#picture-a")
    assert driver.page.evaluate("() => document.activeElement.id") == "compare"
    # Both are changes, which can be undone.
    driver.page.wait_for_function("() => history.state?.depth === 2")
    with driver.answering("comparisons"):
        driver.page.go_back()
    driver.page.wait_for_selector("#picture-a:visible #name-a:not(:empty)")
    assert driver.page.inner_text("#differences tr >> nth=1") == "Run: steps\t20\t40"


def test_a_phone_shows_one_above_the_other(driver: Driver) -> None:
    compared(driver)
    driver.page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    driver.frame()
    boxes = [driver.page.locator(one).bounding_box() for one in ("#network-a", "#network")]
    a, b = (box for box in boxes if box is not None)
    assert a["x"] == b["x"]
    assert a["y"] + a["height"] <= b["y"]
    play = driver.page.locator("#play").bounding_box()
    assert play is not None
    assert play["y"] + play["height"] <= PHONE["height"]
    assert driver.page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]


def test_differences_are_few_and_in_words(opened_page: Driver, catalogue: dict[str, Any]) -> None:
    other = SMALL | {
        "network": {"named": "karate"},
        "pressure": {"formula": "t^2"},
        "agents": {"hidden": list(range(24)), "zealots": [3]},
        "observe": {"first_step": 2},
    }
    found = opened_page.module("differences", "module.differences(...given)", [SMALL, other, catalogue])
    assert [(one["title"], one["a"], one["b"]) for one in found] == [
        ("Network", "Scale-free (Barabási–Albert), agents 24, edges per new agent 2", "Karate"),
        ("Peer pressure", "Linear, slope 1", "formula t^2"),
        ("Hidden opinions", "Uniform, lowest 0, highest 1", "24 values"),
        ("Stubbornness", "Different, lowest 0.5, highest 1", "–"),
        ("Agents: zealots", "–", "3"),
        ("Observer", "–", "first step 2"),
    ]


def depth(driver: Driver) -> int:
    return int(driver.page.evaluate("() => history.state?.depth ?? 0"))


def test_a_drag_is_one_change_and_nobody_leaves_by_undoing(driver: Driver) -> None:
    slider = driver.row("noise.std").locator("input[type=range]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    y, places = box["y"] + box["height"] / 2, [box["x"] + part * box["width"] for part in (0.3, 0.5, 0.8)]
    driver.page.mouse.move(places[0], y)
    driver.page.mouse.down()
    for place in places[1:]:
        with driver.answering():
            driver.page.mouse.move(place, y)
    # Longer than a change takes to be settled.
    driver.page.wait_for_timeout(300)
    assert depth(driver) == 0
    driver.page.mouse.up()
    driver.page.wait_for_function("() => history.state?.depth === 1")
    # What only concerns the view is a change as well, for which nothing is computed.
    driver.page.click("#log-size")
    driver.page.wait_for_function("() => history.state?.depth === 2")
    runs = driver.page.get_attribute("html", "data-runs")
    driver.page.click("#undo")
    driver.page.wait_for_selector("#log-size[aria-pressed=false]")
    assert driver.page.get_attribute("html", "data-runs") == runs
    with driver.answering():
        driver.page.click("#undo")
    assert driver.scenario()["noise"] == SMALL["noise"]
    assert driver.page.is_disabled("#undo")
    driver.page.keyboard.press("Control+z")
    driver.page.wait_for_timeout(100)
    assert depth(driver) == 0
    # The time that is shown is no change.
    driver.go_to(7)
    driver.page.wait_for_timeout(400)
    assert driver.page.is_enabled("#redo")
    with driver.answering():
        driver.page.keyboard.press("Control+y")
    driver.page.wait_for_function("() => history.state?.depth === 1")
    assert json.dumps(driver.scenario()["noise"]) != json.dumps(SMALL["noise"])
