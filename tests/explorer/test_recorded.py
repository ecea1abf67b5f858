"""Pages without a server, as a browser shows them that reaches nobody."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.explorer.bundle import page
from peerpressure.rendering import HtmlPage
from peerpressure.scenario import scenario_from
from tests.explorer.driving import SMALL, STEPS, STILL, Driver, violations
from tests.explorer.test_server_recorded import AGENT, OTHER, comparison

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Driver, Path]]:
    """The page of a comparison, opened from disk."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_bytes(str(page(comparison())).encode())
    context = browser.new_context(**STILL, offline=True)
    driver = Driver(context.new_page(), file.as_uri())
    driver.page.goto(file.as_uri())
    driver.page.wait_for_selector("html[data-runs][data-exacts][data-comparisons]", state="attached")
    driver.settle()
    yield driver, file
    # It has asked for nothing but itself, and the policy it has made for itself was kept.
    assert {request.url.partition("#")[0] for request in driver.asked} == {file.as_uri()}
    assert driver.said == []
    context.close()


def test_an_exported_page_plays_from_disk_with_the_library_s_numbers(opened: tuple[Driver, Path]) -> None:
    driver, _ = opened
    model = scenario_from(SMALL).model()
    run = pp.simulate(model, STEPS, replicates=3, seed=1)
    for step in (0, 17, STEPS):
        driver.go_to(step)
        for name in ("minimum", "maximum", "mean", "spread", "max_distance"):
            assert driver.legend(name) == pytest.approx(getattr(run, name)[0, step], rel=2e-7, abs=2e-7), (name, step)
    assert driver.page.inner_text("#verdict-heading") == pp.diagnose(model).heading
    assert driver.page.inner_text("#verdict-a-heading") == pp.diagnose(scenario_from(OTHER).model()).heading
    assert driver.page.is_visible("#network-a")
    assert "2" in driver.page.inner_text("#differences")
    driver.page.click("#to-start")
    driver.page.click("#play")
    driver.page.wait_for_function("() => Number(document.querySelector('#time-shown').dataset.value) > 2")
    driver.page.click("#play")


def test_agents_can_be_followed_and_the_observer_watched(opened: tuple[Driver, Path]) -> None:
    driver, _ = opened
    assert driver.page.locator("#followed li").get_attribute("data-agent") == str(AGENT)
    with driver.answering("exacts"):
        driver.page.click(f"#followed [data-agent='{AGENT}'] button.plain")
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    model = scenario_from(SMALL).model()
    run = pp.simulate(model, STEPS, seed=1)
    estimate = pp.recover(run, model)
    rmse = float(np.sqrt(np.mean((estimate.value[0] - model.x0) ** 2)))
    assert driver.number("#estimates [data-method='auto'] output") == pytest.approx(rmse, rel=1e-5)
    driver.go_to(STEPS)
    assert driver.number("#strip-recovered") == pytest.approx(rmse, rel=1e-5)
    driver.page.wait_for_selector("#budget[data-state=current]", state="attached")
    assert "ε =" in driver.page.inner_text("#budget-summary")
    assert "agents over" in driver.page.inner_text("#exposure-text")


def test_axe_finds_no_fault_in_an_exported_page(opened: tuple[Driver, Path]) -> None:
    assert violations(opened[0].page) == []


def test_what_needs_a_server_is_disabled_and_says_why(opened: tuple[Driver, Path]) -> None:
    driver, _ = opened
    reason = driver.page.inner_text("#recorded-reason")
    assert "peerpressure explore" in reason
    for selector in ("#examples-open", "#tour-open", "#draw"):
        assert driver.page.is_disabled(selector)
        assert driver.page.get_attribute(selector, "title") == reason
    enabled = "#observe-who input:enabled, #observe-privacy input:enabled, #observe-methods input:enabled"
    assert driver.page.locator(enabled).count() == 0
    driver.page.click("#share")
    items = driver.page.locator("#share-menu button:enabled")
    offered = ["link", "network", "plots", "animation", "toml", "python"]
    assert items.evaluate_all("items => items.map(item => item.dataset.take)") == offered
    with driver.page.expect_download() as saved:
        driver.page.click("[data-take=toml]")
    assert scenario_from(tomllib.loads(saved.value.path().read_text("utf-8"))).run.steps == STEPS


def test_a_lecture_shows_the_network_and_one_curve_in_large_type(opened: tuple[Driver, Path]) -> None:
    page, shown = opened[0].page, "#panel-curves .curve .plot >> visible=true"
    page.set_viewport_size({"width": 1280, "height": 720})
    page.focus("#present")
    page.keyboard.press("p")
    plots = [page.locator(shown).evaluate_all("all => all.map(one => one.id)")]
    for key in "234":
        page.keyboard.press(key)
        plots.append(page.locator(shown).evaluate_all("all => all.map(one => one.id)"))
    assert plots == [[f"plot-{name}"] for name in ("opinions", "recovered", "spread", "max_distance")]
    assert page.is_visible("#network")
    # All of it is in sight, and read from the last row.
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")
    assert (
        page.evaluate("() => parseFloat(getComputedStyle(document.querySelector('#verdict-sentence')).fontSize)") >= 20
    )
    box = page.locator("#plot-max_distance").bounding_box()
    assert box is not None
    assert box["height"] > 180
    # Keys play and step; nothing that needs a hand is in sight.
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#time-shown") == str(STEPS - 1)
    assert page.locator("button >> visible=true").evaluate_all("all => all.map(one => one.id)") == [
        "presentation-leave"
    ]
    page.keyboard.press("Escape")
    assert page.is_visible("#present")
    assert page.evaluate("() => document.activeElement.id") == "present"
    page.click("#present")
    page.click("#presentation-leave")
    assert page.is_hidden("#presentation")
    page.set_viewport_size(STILL["viewport"])


def test_a_page_works_in_a_frame_of_a_notebook(opened: tuple[Driver, Path]) -> None:
    driver, file = opened
    notebook = Driver(driver.page.context.new_page(), "about:")
    notebook.page.set_content(HtmlPage(file.read_text("utf-8"))._repr_html_())
    inner = notebook.page.frame_locator("iframe")
    inner.locator("html[data-runs]").wait_for(state="attached")
    inner.locator("#to-end").click()
    assert inner.locator("#time-shown").inner_text() == str(STEPS)
    # A change of the view is no change of an address, for a frame has none.
    inner.locator("#log-size").click()
    notebook.page.wait_for_timeout(400)
    assert inner.locator("#log-size").get_attribute("aria-pressed") == "true"
    assert notebook.said == []
