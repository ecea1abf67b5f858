"""Pages without a server, as a browser shows them that reaches nobody."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.explorer.bundle import page
from peerpressure.explorer.protocol import Limits
from peerpressure.explorer.recorded import record
from peerpressure.scenario import scenario_from
from peerpressure.support.text import HtmlPage
from tests.explorer.driving import SMALL, STEPS, STILL, Driver, violations
from tests.explorer.test_server_recorded import AGENT, OTHER, comparison

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def check_numbers(driver: Driver) -> None:
    """The page plays, and its numbers are the library's."""
    model = scenario_from(SMALL).model()
    run = pp.simulate(model, STEPS, replicates=3, seed=1)
    for step in (17, STEPS):
        driver.go_to(step)
        for name in ("minimum", "maximum", "mean", "spread", "max_distance"):
            assert driver.legend(name) == pytest.approx(getattr(run, name)[0, step], rel=2e-7, abs=2e-7), (name, step)
    assert driver.page.inner_text("#verdict-heading") == pp.diagnose(model).heading
    assert driver.page.inner_text("#verdict-a-heading") == pp.diagnose(scenario_from(OTHER).model()).heading
    assert driver.page.is_visible("#network-a")
    assert "2" in driver.page.inner_text("#differences")
    driver.page.click("#to-start")
    driver.page.click("#play")
    driver.wait_for("() => Number(document.querySelector('#time-shown').dataset.value) > 2", "the run to play")
    driver.page.click("#play")


def check_observer(driver: Driver, folder: Path) -> None:
    """Agents can be followed and the observer watched; what needs a server is not there."""
    page = driver.page
    assert page.locator("#followed li").get_attribute("data-agent") == str(AGENT)
    with driver.answering("exacts"):
        page.click(f"#followed [data-agent='{AGENT}'] button.plain")
    driver.observe()
    model = scenario_from(SMALL).model()
    estimate = pp.recover(pp.simulate(model, STEPS, seed=1), model)
    rmse = float(np.sqrt(np.mean((estimate.value[0] - model.x0) ** 2)))
    assert driver.number("#estimates [data-method='auto'] output") == pytest.approx(rmse, rel=1e-5)
    driver.go_to(STEPS)
    assert driver.number("#strip-recovered") == pytest.approx(rmse, rel=1e-5)
    driver.exist("#budget[data-state=current]")
    assert "ε =" in page.inner_text("#budget-summary")
    assert "agents over" in page.inner_text("#exposure-text")
    assert violations(page) == []
    reason = page.inner_text("#recorded-reason")
    assert "peerpressure explore" in reason
    for selector in ("#examples-open", "#draw", "#observe-who", "#observe-privacy", "#observe-methods"):
        assert page.is_hidden(selector), selector
    file = driver.take("toml", folder)
    assert scenario_from(tomllib.loads(file.read_text("utf-8"))).run.steps == STEPS
    page.click("#share")
    offered = "#share-menu [data-take]:not([hidden])"
    assert page.locator(offered).evaluate_all(
        "items => items.filter(item => !item.closest('#share-figures')).map(item => item.dataset.take)"
    ) == ["link", "network", "plots", "animation", "toml", "python"]
    assert page.locator("#share-menu > button >> visible=true").count() == 4
    driver.press("Escape")


def check_presentation(driver: Driver) -> None:
    """A lecture shows the network and one curve in large type, all of it in sight."""
    page = driver.page
    ids = "all => all.map(one => one.id)"
    driver.resize(1280, 720)
    page.focus("#present")
    plots = []
    for key in "p234":
        driver.press(key)
        plots.append(page.locator("#panel-curves .curve .plot >> visible=true").evaluate_all(ids))
    assert plots == [[f"plot-{name}"] for name in ("opinions", "recovered", "spread", "max_distance")]
    assert page.is_visible("#network")
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")
    size = "() => parseFloat(getComputedStyle(document.querySelector('#verdict-sentence')).fontSize)"
    assert page.evaluate(size) >= 20
    box = page.locator("#plot-max_distance").bounding_box()
    assert box is not None
    assert box["height"] > 180
    # Keys play and step; nothing that needs a hand is in sight.
    driver.press("End", "ArrowLeft")
    assert page.inner_text("#time-shown") == str(STEPS - 1)
    assert page.locator("button >> visible=true").evaluate_all(ids) == ["presentation-leave"]
    driver.press("Escape")
    assert page.is_visible("#present")
    assert driver.focused() == "present"
    page.click("#present")
    page.click("#presentation-leave")
    assert page.is_hidden("#presentation")


def check_notebook(driver: Driver, file: Path) -> None:
    """The page works in a frame of a notebook, too."""
    notebook = Driver(driver.page.context.new_page(), "about:")
    notebook.page.set_content(HtmlPage(file.read_text("utf-8"))._repr_html_())
    inner = notebook.page.frame_locator("iframe")
    inner.locator("html[data-runs]").wait_for(state="attached")
    inner.locator("#to-end").click()
    assert inner.locator("#time-shown").inner_text() == str(STEPS)
    # A change of the view is no change of an address, for a frame has none.
    inner.locator("#log-size").click()
    notebook.rest()
    assert inner.locator("#log-size").get_attribute("aria-pressed") == "true"
    assert notebook.said == []


def test_an_exported_page_is_all_there_from_disk_and_in_a_notebook(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(str(page(comparison())).encode())
    with browser.new_context(**STILL, offline=True) as context:
        driver = Driver(context.new_page(), file.as_uri())
        driver.page.goto(file.as_uri())
        driver.exist("html[data-runs][data-exacts][data-comparisons]")
        driver.settle()
        check_numbers(driver)
        check_observer(driver, tmp_path)
        check_presentation(driver)
        # It has asked for nothing but itself, and the policy it has made for itself was kept.
        assert {request.url.partition("#")[0] for request in driver.asked} == {file.as_uri()}
        assert driver.said == []
        check_notebook(driver, file)


def test_a_page_to_play_with_opens_in_the_first_screen_and_offers_what_it_can_compute(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(str(page(record({"scenario": SMALL, "view": {"simple": True}}, Limits(), ""))), "utf-8")
    with browser.new_context(**STILL, offline=True) as context:
        driver = Driver(context.new_page(), file.as_uri())
        driver.page.goto(file.as_uri())
        driver.exist("html[data-runs][data-recoveries][data-simple]")
        with driver.answering("recoveries"):
            driver.page.locator("#growth").fill("2")
        assert "left over from the first steps" in driver.page.inner_text("#verdict-plain")
        driver.page.click("#laboratory")
        assert driver.page.inner_text("#pressure-text") == "ρt = t2"
        # What was recorded of another run is not offered for this one.
        for selector in ("#tab-observer", "#colour-mode [value=exposure]"):
            assert driver.page.is_hidden(selector)
        with driver.answering("recoveries"):
            driver.page.click("#undo")
            driver.exist("html[data-simple]")
            # Changes right after one another are undone together; on a busy machine some time has passed between them.
            if driver.page.is_enabled("#undo"):
                driver.page.evaluate("document.getElementById('undo').click()")
        driver.page.click("#laboratory")
        assert driver.page.is_visible("#tab-observer")
        assert driver.said == []
