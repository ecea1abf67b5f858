"""What the page shows is what the library says: verdict, curves, agents, exact bands, estimates."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.scenario import Scenario
from peerpressure.scenario.loading import scenario_from
from tests.explorer.driving import SMALL, STEPS, WIDE, Driver, Layout, fragment_of, layouts
from tests.explorer.serving import COARSE

SINGLE = 2e-7  # the page gets float32


def described(driver: Driver, endpoint: str = "run") -> Scenario:
    return scenario_from(driver.scenario(endpoint))


def simulated(scenario: Scenario) -> pp.Trajectory:
    return pp.simulate(scenario.model(), scenario.run.steps, replicates=scenario.run.replicates, seed=scenario.run.seed)


def near(value: Any) -> Any:
    return pytest.approx(float(value), rel=SINGLE, abs=SINGLE)


def test_curves_say_the_numbers_of_the_simulation_at_every_time_that_is_shown(driver: Driver) -> None:
    run = simulated(described(driver))
    assert driver.legend("target") == near(run.model.consensus_value)
    for step in (0, 3, 17, STEPS):
        driver.go_to(step)
        assert driver.number("#time-shown") == step
        for name in ("minimum", "maximum", "mean", "spread", "max_distance"):
            assert driver.legend(name) == near(getattr(run, name)[0, step]), (name, step)
        for name in ("spread", "max_distance"):
            assert driver.legend(f"{name}-mean") == near(getattr(run, name)[:, step].mean()), (name, step)


@layouts
def test_spread_and_distance_are_two_plots_in_line(driver: Driver) -> None:
    driver.go_to(20)
    assert driver.legend("spread") != driver.legend("max_distance")
    left, right = (driver.page.locator(f"#plot-{name} .u-over").bounding_box() for name in ("spread", "max_distance"))
    assert left is not None
    assert right is not None
    assert left["x"] + left["width"] < right["x"]
    assert (left["y"], left["width"], left["height"]) == (right["y"], right["width"], right["height"])


def test_spread_and_distance_have_one_range(opened_page: Driver) -> None:
    call = """module.commonRange({ spread: Object.assign(Float32Array.from([0, 4, 2, 8, 0, 3]), { shape: [2, 3] }),
        max_distance: Object.assign(Float32Array.from([9, 1, 6, 5, 5, 5]), { shape: [2, 3] }) }, given)"""
    expected = {(False, False): [0, 9], (True, False): [0, 6], (False, True): [1, 9], (True, True): [1, 6]}
    for (log_time, log_size), (low, high) in expected.items():
        assert opened_page.module("curves", call, {"logTime": log_time, "logSize": log_size}) == [low, high]


def test_the_verdict_is_the_librarys(driver: Driver) -> None:
    scenario = described(driver)
    driver.wait_for_exact()
    verdict = pp.diagnose(scenario.model(), scenario.run.steps)
    assert verdict.forecast is not None
    panel = driver.page.locator("#verdict")
    assert panel.get_attribute("data-outcome") == verdict.outcome.name.lower()
    told = replace(verdict, drawn=scenario.drawn_hidden)
    assert panel.locator("#verdict-summary").inner_text() == told.summary
    assert panel.locator("#verdict-outlook").inner_text() == told.outlook
    # The mathematics is shown to those who ask for it.
    assert panel.locator("#verdict-reason").is_hidden()
    panel.get_by_text("Why?").click()
    assert panel.locator("#verdict-reason").inner_text() == verdict.reason.replace("ρ_t", "ρt")
    panel.get_by_text("Why?").click()
    assert driver.number('#verdict [data-key="value"]') == verdict.value
    assert driver.number('#verdict [data-key="disagreement"]') == pytest.approx(verdict.forecast.disagreement, rel=1e-9)
    assert verdict.forecast.settling is not None
    assert driver.number('#verdict [data-key="each_other"]') == verdict.forecast.settling.each_other
    assert driver.number('#verdict [data-key="rms_distance"]') == pytest.approx(verdict.forecast.rms_distance, rel=1e-9)


def test_a_better_schedule_is_one_click_away_and_then_no_longer_offered(driver: Driver) -> None:
    with driver.answering("exacts"), driver.answering():
        driver.type("noise.std", 0.02)
    scenario = described(driver)
    advice = pp.diagnose(scenario.system(), scenario.run.steps).advice
    assert advice is not None
    driver.page.wait_for_selector("#use-advice")
    with driver.answering("exacts"), driver.answering():
        driver.page.click("#use-advice")
    assert described(driver).model().pressure == advice.suggestions[0].schedule
    driver.page.wait_for_selector("#use-advice", state="hidden")
    assert driver.page.inner_text("#pressure-text") == str(described(driver).model().pressure).replace("ρ_t", "ρt")


def test_an_agent_shows_and_thinks_what_the_run_has_for_it(driver: Driver) -> None:
    run = simulated(described(driver))
    driver.go_to(5)
    driver.page.focus("#network")
    seen = set()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
        driver.page.keyboard.press(key)
        agent = int(driver.page.inner_text("#agent-card b").lower().removeprefix("agent "))
        seen.add(agent)
        assert driver.number('#agent-card [data-key="public"]') == near(np.asarray(run.states)[0, 5, agent])
        assert driver.number('#agent-card [data-key="hidden"]') == near(run.model.x0[agent])
        assert driver.number('#agent-card [data-key="degree"]') == run.model.network.degrees[agent]
    assert len(seen) > 1


def test_a_newcomer_sees_the_catalogues_own_scenario(driver: Driver, catalogue: dict[str, Any]) -> None:
    driver.open()
    plain = catalogue["default"]["scenario"]
    assert driver.scenario() == {key: value for key, value in plain.items() if key not in ("observe", "privacy")}
    run = simulated(described(driver))
    driver.go_to(100)
    assert driver.legend("spread") == near(np.asarray(run.spread)[0, 100])


def test_a_followed_agent_gets_a_curve_and_its_exact_band(driver: Driver) -> None:
    run = simulated(described(driver))
    driver.page.focus("#network")
    driver.page.keyboard.press("ArrowRight")
    with driver.answering("exacts"):
        driver.page.keyboard.press("Enter")
    (agent,) = driver.sent("exact")["agents"]
    driver.go_to(30)
    assert driver.legend(f"agent-{agent}") == near(np.asarray(run.states)[0, 30, agent])
    assert driver.page.is_visible("#exact-note")


def test_the_observer_makes_of_the_run_what_the_library_does(driver: Driver) -> None:
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    scenario = described(driver, "observe")
    run = pp.simulate(scenario.model(), scenario.run.steps, seed=scenario.run.seed)
    with driver.answering("observations"):
        driver.page.locator("#observe-methods input[value=ols]").check()
    for method in ("auto", "ols"):
        estimate = pp.recover(run, run.model, method)
        error = float(np.sqrt(np.mean((estimate.value[0] - run.model.x0) ** 2)))
        assert driver.number(f'[data-method="{method}"] [data-key="rmse"]') == pytest.approx(error, rel=1e-6)
        title = pp.recovery.METHODS[estimate.method].title
        assert driver.page.inner_text(f'[data-method="{method}"] figcaption') == title
        # Without the argument, which a page does not have.
        note = estimate.note.removesuffix(" unless sees_start is true")
        assert driver.page.inner_text(f'[data-method="{method}"] .note') == f"{note}."
    assert driver.page.is_visible("#plot-budget canvas")
    told = pp.privacy.budget(run.model, scenario.run.steps)
    # Squares, with the same axes across and up.
    sizes = driver.page.locator(".scatter").evaluate_all("all => all.map(one => [one.clientWidth, one.clientHeight])")
    assert len(sizes) == 2
    assert all(abs((width - 34 - 6) - (height - 6 - 20)) <= 1 for width, height in sizes)
    assert f"ε = {told.epsilon:.0f}" in driver.page.inner_text("#budget-summary")
    assert told.promise[:40] in (driver.page.text_content("#budget-text") or "")


def test_the_first_view_tells_what_is_hidden_shown_and_recovered(driver: Driver) -> None:
    scenario = described(driver, "recovered")
    run = pp.simulate(scenario.model(), STEPS, seed=scenario.run.seed)
    times = sorted({round(time) for time in np.geomspace(1, STEPS, COARSE["MAX_RECOVERIES"])})
    for step in (0, times[3], STEPS):
        driver.go_to(step)
        driver.frame()
        assert driver.number("#strip-hidden") == near(np.ptp(run.model.x0))
        assert driver.number("#strip-public") == near(np.ptp(np.asarray(run.states)[0, step]))
        if not step:
            assert driver.page.inner_text("#strip-recovered") == "nothing yet"
            continue
        estimate = pp.recover(run, run.model, observation=pp.Observation(times=range(1, step + 1)))
        error = float(np.sqrt(np.mean((estimate.value[0] - run.model.x0) ** 2)))
        assert driver.number("#strip-recovered") == pytest.approx(error, rel=1e-4)
        assert driver.number("#recovered-made") == driver.number("#strip-recovered")
        assert driver.number("#recovered-expected") == pytest.approx(np.sqrt(np.mean(estimate.std**2)), rel=1e-4)
    assert driver.page.inner_text("#recovered-method") == pp.recovery.METHODS[estimate.method].title
    # The observer of the scenario, whoever that is.
    with driver.answering("recoveries"):
        driver.page.evaluate(
            "given => { location.hash = given }",
            fragment_of({"scenario": SMALL | {"observe": {"agents": [0, 1, 2]}}, "view": {"time": STEPS}}),
        )
    assert driver.page.inner_text("#recovered-method") == "Kalman filter"
    assert "3 of 24 agents are observed" in (driver.page.get_attribute("#recovered-method", "title") or "")


def test_a_random_value_is_told_with_that_of_this_run(driver: Driver) -> None:
    fast = SMALL | {"pressure": {"kind": "stretched_exponential", "base": 2.0, "exponent": 0.5}}
    with driver.answering():
        driver.page.evaluate("given => { location.hash = given }", fragment_of({"scenario": fast}))
    told = driver.page.inner_text("#verdict-sentence")
    run = simulated(described(driver))
    assert "depends on the noise" in told
    assert "±" in told
    value = re.search(r"At the end of this run they are at ([\d.]+)\.", told)
    assert value is not None
    assert float(value[1]) == pytest.approx(float(np.asarray(run.mean)[0, -1]), abs=0.5 * 10 ** -len(value[1][2:]))


def test_an_unknown_network_is_inferred_as_time_goes_on(driver: Driver) -> None:
    page = driver.page
    with driver.answering():
        driver.type("network.n", 6)
    with driver.answering("observations"):
        page.click("#tab-observer")
    assert not page.is_visible("#inference")
    driver.go_to(STEPS)
    driver.frame()
    known = driver.ink("#network")
    with driver.answering("inferences"):
        page.get_by_label("Unknown").check()
    driver.wait_for_other_ink("#network", known)
    scenario = described(driver, "inference")
    model = scenario.model()
    run, edges = pp.simulate(model, STEPS, seed=scenario.run.seed), model.network.adjacency.toarray() > 0
    for step, earliest in ((0, None), (20, 8), (STEPS, STEPS)):
        driver.go_to(step)
        inferred = np.zeros((6, 6), dtype=bool)
        # A busy machine leaves some of the times out.
        last = re.search(r"up to (\d+),", page.inner_text("#inference-text"))
        assert (last is None) == (earliest is None)
        if last is not None and earliest is not None:
            assert earliest <= int(last[1]) <= step
            look = pp.Observation(times=range(1, int(last[1]) + 1))
            estimate = pp.recovery.infer_network(run, model.pressure, observation=look)
            inferred = (estimate.weights + estimate.weights.T) > 0
            told = driver.number('#inference-text [data-key="average_precision"]')
            assert told == pytest.approx(estimate.average_precision(model.network))
        for kind, pairs in {"found": inferred & edges, "false": inferred & ~edges, "missed": ~inferred & edges}.items():
            assert driver.number(f"#edge-key [data-key={kind}] output") == pairs.sum() / 2, (kind, step)
    state = driver.module("address", "await module.decodeState(given)", driver.link())
    assert state["scenario"]["observe"]["unknown_network"] == {}
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") == 320
    page.click("#tab-curves")
    assert not page.is_visible("#edge-key")
    page.click("#tab-observer")
    # What was inferred is still there, and was asked for once.
    assert page.is_visible("#edge-key")
    assert len([request for request in driver.asked if request.url.endswith("/api/inference")]) == 1
    with driver.answering("inferences"):
        page.get_by_label("A share").check()
    assert "3 of 6 unobserved" in page.inner_text("#inference-text")
    assert not page.is_visible("#plot-precision")
    assert not page.is_visible("#edge-key")
    with driver.answering("observations"):
        page.get_by_label("Known", exact=True).check()
    assert not page.is_visible("#inference")
    assert "unknown_network" not in driver.scenario("observe")["observe"]


def test_pressure_is_plotted_as_it_is_typed_with_its_verdict(driver: Driver) -> None:
    with driver.answering():
        driver.row("pressure").locator("select").select_option("formula")
    field = driver.page.locator("[data-role=formula]")
    with driver.answering():
        field.fill("2^sqrt(t)")
    model = described(driver).model()
    assert driver.page.inner_text("#pressure-words") == pp.diagnose(model).outcome.value
    assert driver.page.inner_text("#pressure-text").replace("ρt", "ρ_t") == str(model.pressure)


def test_the_same_address_shows_the_same_numbers_in_another_page(
    driver: Driver, pages: Callable[[Layout], Driver]
) -> None:
    first, second = driver, pages(WIDE)
    with first.answering():
        first.type("run.seed", 77)
    first.page.click("#log-time")
    first.go_to(9)
    first.page.keyboard.press("ArrowRight")
    second.forget()
    second.open(first.link())
    assert second.scenario() == first.scenario()
    assert second.page.get_attribute("#log-time", "aria-pressed") == "true"
    assert second.number("#time-shown") == first.number("#time-shown")
    for key in ("minimum", "maximum", "mean", "spread", "max_distance"):
        assert second.legend(key) == first.legend(key)
    second.check()


def test_the_least_value_of_a_curve_may_be_any_on_a_logarithmic_axis(driver: Driver, catalogue: dict[str, Any]) -> None:
    """With this seed the least distance to v is 9.99·10⁻ᵏ, where the next multiple of 10⁻ᵏ is no power of ten."""
    (preset,) = [one for one in catalogue["presets"] if one["title"] == "More noise"]
    scenario = preset["state"]["scenario"]
    state = {"scenario": scenario | {"run": scenario["run"] | {"seed": 34}}, "view": preset["state"]["view"]}
    driver.open(fragment_of(state))
    driver.frame()
    assert driver.page.get_attribute("#log-size", "aria-pressed") == "true"
    drawn = driver.ink("#plot-max_distance canvas")
    driver.page.click("#log-size")
    driver.wait_for_other_ink("#plot-max_distance canvas", drawn)
