"""What the page shows is what the library says: verdict, curves, agents, exact bands, estimates."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.scenario import Scenario
from peerpressure.scenario.loading import scenario_from
from tests.explorer.driving import STEPS, Driver
from tests.explorer.serving import COARSE

SINGLE = 2e-7  # the page gets float32


def described(driver: Driver, endpoint: str = "run") -> Scenario:
    return scenario_from(driver.scenario(endpoint))


def simulated(scenario: Scenario) -> pp.Trajectory:
    return pp.simulate(scenario.model(), scenario.run.steps, replicates=scenario.run.replicates, seed=scenario.run.seed)


def near(value: Any) -> Any:
    return pytest.approx(float(value), rel=SINGLE, abs=SINGLE)


def rms(errors: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def check_curves(driver: Driver, run: pp.Trajectory) -> None:
    """Curves say the numbers of the simulation at every time that is shown."""
    assert driver.legend("target") == near(run.model.consensus_value)
    for step in (0, 17, STEPS):
        driver.go_to(step)
        assert driver.number("#time-shown") == step
        for name in ("minimum", "maximum", "mean", "spread", "max_distance"):
            assert driver.legend(name) == near(getattr(run, name)[0, step]), (name, step)
        for name in ("spread", "max_distance"):
            assert driver.legend(f"{name}-mean") == near(getattr(run, name)[:, step].mean()), (name, step)


def check_agents(driver: Driver, run: pp.Trajectory) -> None:
    """An agent shows and thinks what the run has for it; one that is followed has a curve and its exact band."""
    page, states = driver.page, np.asarray(run.states)[0]
    driver.go_to(5)
    page.focus("#network")
    seen = set()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft"):
        driver.press(key)
        agent = int(page.inner_text("#agent-card b").lower().removeprefix("agent "))
        seen.add(agent)
        assert driver.number('#agent-card [data-key="public"]') == near(states[5, agent])
        assert driver.number('#agent-card [data-key="hidden"]') == near(run.model.x0[agent])
        assert driver.number('#agent-card [data-key="degree"]') == run.model.network.degrees[agent]
    assert len(seen) > 1
    with driver.answering("exacts"):
        driver.press("Enter")
    assert driver.sent("exact")["agents"] == [agent]
    driver.go_to(30)
    assert driver.legend(f"agent-{agent}") == near(states[30, agent])
    assert page.is_visible("#exact-note")


def check_recovered(driver: Driver) -> None:
    """The first view tells what is hidden, shown and recovered."""
    page, scenario = driver.page, described(driver, "recovered")
    run = pp.simulate(scenario.model(), STEPS, seed=scenario.run.seed)
    times = sorted({round(time) for time in np.geomspace(1, STEPS, COARSE["MAX_RECOVERIES"])})
    for step in (0, times[3], STEPS):
        driver.go_to(step)
        driver.frame()
        assert driver.number("#strip-hidden") == near(np.ptp(run.model.x0))
        assert driver.number("#strip-public") == near(np.ptp(np.asarray(run.states)[0, step]))
        if not step:
            assert page.inner_text("#strip-recovered") == "nothing yet"
            continue
        estimate = pp.recover(run, run.model, observation=pp.Observation(times=range(1, step + 1)))
        assert driver.number("#strip-recovered") == pytest.approx(rms(estimate.value[0] - run.model.x0), rel=1e-4)
        assert driver.number("#recovered-made") == driver.number("#strip-recovered")
        assert driver.number("#recovered-expected") == pytest.approx(rms(estimate.std), rel=1e-4)
    assert page.inner_text("#recovered-method") == pp.recovery.METHODS[estimate.method].title


def check_axes(driver: Driver) -> None:
    """Axes can be logarithmic, and linear again."""
    names = ("opinions", "spread", "max_distance")

    def inks() -> dict[str, str]:
        return {name: driver.ink(f"#plot-{name} canvas") for name in names}

    plain = inks()
    driver.page.click("#log-size")
    driver.wait_for_other_ink("#plot-spread canvas", plain["spread"])
    sized = inks()
    assert sized["opinions"] == plain["opinions"]
    driver.page.click("#log-time")
    driver.wait_for_other_ink("#plot-opinions canvas", sized["opinions"])
    timed = inks()
    assert all(timed[name] != sized[name] for name in names)
    driver.page.click("#log-time")
    driver.page.click("#log-size")
    driver.wait_for_other_ink("#plot-spread canvas", timed["spread"])
    assert inks() == plain


def check_verdict(driver: Driver) -> None:
    scenario, panel = described(driver), driver.page.locator("#verdict")
    verdict = pp.diagnose(scenario.model(), scenario.run.steps)
    assert verdict.forecast is not None
    assert verdict.forecast.settling is not None
    assert panel.get_attribute("data-outcome") == verdict.outcome.name.lower()
    told = replace(verdict, drawn=scenario.drawn_hidden)
    assert panel.locator("#verdict-summary").inner_text() == told.summary
    assert panel.locator("#verdict-outlook").inner_text() == told.outlook
    # The mathematics is shown to those who ask for it.
    assert panel.locator("#verdict-reason").is_hidden()
    panel.get_by_text("Why?").click()
    assert panel.locator("#verdict-pictures svg").count() == 5
    assert panel.locator("#verdict-reason").is_hidden()
    panel.get_by_text("The theorem").click()
    assert panel.locator("#verdict-reason").inner_text() == verdict.reason.replace("ρ_t", "ρt")
    panel.get_by_text("Why?").click()
    assert driver.number('#verdict [data-key="value"]') == verdict.value
    assert driver.number('#verdict [data-key="disagreement"]') == pytest.approx(verdict.forecast.disagreement, rel=1e-9)
    assert driver.number('#verdict [data-key="each_other"]') == verdict.forecast.settling.each_other
    assert driver.number('#verdict [data-key="rms_distance"]') == pytest.approx(verdict.forecast.rms_distance, rel=1e-9)


def test_curves_agents_verdict_and_estimates_are_the_librarys_and_a_link_shows_them_again(driver: Driver) -> None:
    page, run = driver.page, simulated(described(driver))
    check_curves(driver, run)
    check_agents(driver, run)
    check_recovered(driver)
    check_verdict(driver)
    check_axes(driver)
    before = page.get_attribute("#log-time", "aria-pressed")
    page.click("#log-time")
    pressed = page.get_attribute("#log-time", "aria-pressed")
    assert pressed != before
    driver.go_to(9)
    driver.press("ArrowRight")
    sent, link = driver.scenario(), driver.link()
    names = ("minimum", "maximum", "mean", "spread", "max_distance")
    time, numbers = driver.number("#time-shown"), [driver.legend(name) for name in names]
    driver.asked.clear()
    driver.open(link)
    assert driver.scenario() == sent
    driver.exist(f"#log-time[aria-pressed={pressed}]")
    assert page.locator("#followed li").count() == 1
    assert driver.number("#time-shown") == time
    assert [driver.legend(name) for name in names] == numbers
    # A better schedule is one click away, where it is worth one.
    assert page.is_hidden("#use-advice")
    with driver.answering("exacts"), driver.answering():
        driver.type("noise.std", 2)
    scenario = described(driver)
    advice = pp.diagnose(scenario.system(), scenario.run.steps).advice
    assert advice is not None
    driver.see("#use-advice")
    with driver.answering("exacts"), driver.answering():
        page.click("#use-advice")
    assert described(driver).model().pressure == advice.suggestions[0].schedule
    driver.gone("#use-advice")


def check_estimates(driver: Driver) -> None:
    """Estimates, their pictures and the budget are those of the library."""
    page = driver.page
    scenario = described(driver, "observe")
    run = pp.simulate(scenario.model(), scenario.run.steps, seed=scenario.run.seed)
    with driver.answering("observations"):
        page.locator("#observe-methods input[value=ols]").check()
    for method in ("auto", "ols"):
        estimate = pp.recover(run, run.model, method)
        error = rms(estimate.value[0] - run.model.x0)
        assert driver.number(f'[data-method="{method}"] [data-key="rmse"]') == pytest.approx(error, rel=1e-6)
        title = pp.recovery.METHODS[estimate.method].title
        assert page.inner_text(f'[data-method="{method}"] figcaption') == title
        # Without the argument, which a page does not have.
        note = estimate.note.removesuffix(" unless sees_start is true")
        assert page.inner_text(f'[data-method="{method}"] .note') == f"{note}."
    # Squares, with the same axes across and up.
    sizes = page.locator(".scatter").evaluate_all("all => all.map(one => [one.clientWidth, one.clientHeight])")
    assert len(sizes) == 2
    assert all(abs((width - 34 - 6) - (height - 6 - 20)) <= 1 for width, height in sizes)
    driver.exist("#budget[data-state=current]")
    assert page.is_visible("#plot-budget canvas")
    told = pp.privacy.budget(run.model, scenario.run.steps)
    assert f"ε = {told.epsilon:.0f}" in page.inner_text("#budget-summary")
    assert told.promise[:40] in (page.text_content("#budget-text") or "")


def check_inferred(driver: Driver, scenario: Scenario) -> None:
    """What is inferred at a time is what the library infers from the steps until then."""
    model = scenario.model()
    run, edges = pp.simulate(model, STEPS, seed=scenario.run.seed), model.network.adjacency.toarray() > 0
    for step, earliest in ((0, None), (20, 8), (STEPS, STEPS)):
        driver.go_to(step)
        inferred = np.zeros((6, 6), dtype=bool)
        # Not at all times, but at some that are spaced evenly.
        last = re.search(r"up to (\d+),", driver.page.inner_text("#inference-text"))
        assert (last is None) == (earliest is None)
        if last is not None and earliest is not None:
            assert earliest <= int(last[1]) <= step
            look = pp.Observation(times=range(1, int(last[1]) + 1))
            estimate = pp.infer_network(run, model.pressure, observation=look)
            inferred = (estimate.weights + estimate.weights.T) > 0
            told = driver.number('#inference-text [data-key="average_precision"]')
            assert told == pytest.approx(estimate.average_precision(model.network))
        for kind, pairs in {"found": inferred & edges, "false": inferred & ~edges, "missed": ~inferred & edges}.items():
            assert driver.number(f"#edge-key [data-key={kind}] output") == pairs.sum() / 2, (kind, step)


def test_the_observer_makes_of_the_run_what_the_library_does(driver: Driver) -> None:
    page = driver.page
    with driver.answering():
        driver.type("network.n", 6)
    driver.observe()
    check_estimates(driver)
    assert not page.is_visible("#inference")
    driver.go_to(STEPS)
    known = driver.ink("#network")
    with driver.answering("inferences"):
        page.get_by_label("Unknown").check()
    driver.wait_for_other_ink("#network", known)
    check_inferred(driver, described(driver, "inference"))
    assert driver.linked()["scenario"]["observe"]["unknown_network"] == {}
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
    with driver.answering("observations"):
        page.get_by_label("Known", exact=True).check()
    assert not page.is_visible("#inference")
