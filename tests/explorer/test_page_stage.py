"""The network on its canvas: colours follow the data, time goes on, agents can be pointed at, drawn and shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.scenario.loading import scenario_from
from tests.explorer.asking import Asker
from tests.explorer.driving import AGENTS, SMALL, STEPS, Driver


def orange(pixels: NDArray[np.uint8]) -> int:
    """How much of a picture is in the colour of high opinions."""
    red, blue = pixels[..., 0].astype(int), pixels[..., 2].astype(int)
    return int(((red - blue > 70) & (pixels[..., 3] > 200)).sum())


def blue(pixels: NDArray[np.uint8]) -> int:
    """How much of a picture is in the colour of low opinions."""
    red, blue = pixels[..., 0].astype(int), pixels[..., 2].astype(int)
    return int(((blue - red > 70) & (pixels[..., 3] > 200)).sum())


def agents_on(driver: Driver) -> NDArray[np.float64]:
    """Where the agents are on the canvas, in pixels, (agents, 2)."""
    with Asker(driver.address) as asker:
        positions = asker.packed("network", driver.scenario()).arrays["positions"]
    found = driver.module(
        "screen-layout",
        """await (async () => { const { clientWidth, clientHeight } = document.getElementById('network');
            const layout = new module.ScreenLayout(given.flat(), given.length);
            const bottom = id => document.getElementById(id).getBoundingClientRect().bottom;
            const { top } = document.getElementById('network').getBoundingClientRect();
            layout.covered = Math.max(0, ...['stage-tools', 'brush'].map(id => bottom(id) && bottom(id) - top));
            const stage = await import('/static/js/stage.js');
            layout.below = stage.roomFor(document.getElementById('key'));
            layout.fit(clientWidth, clientHeight);
            return [...layout.x].map((x, at) => [x, layout.y[at]]) })()""",
        positions.tolist(),
    )
    return np.array(found)


class Canvas:
    """The network as a mouse finds it."""

    def __init__(self, driver: Driver) -> None:
        box = driver.page.locator("#network").bounding_box()
        assert box is not None
        self.mouse, self.corner = driver.page.mouse, np.array([box["x"], box["y"]])
        self.middle = np.array([box["width"] / 2, 0.45 * box["height"]])

    def move(self, place: NDArray[np.float64]) -> None:
        self.mouse.move(*(self.corner + place).tolist())

    def stroke(self, *places: NDArray[np.float64]) -> None:
        """Draw from place to place."""
        self.move(places[0])
        self.mouse.down()
        for place in places[1:]:
            self.move(place)
        self.mouse.up()


def test_the_run_plays_and_its_colours_follow_opinions(driver: Driver) -> None:
    page = driver.page
    first = driver.pixels()
    page.click("#zoom-in")
    assert not np.array_equal(first, driver.pixels())
    page.click("#zoom-reset")
    assert np.array_equal(first, driver.pixels())
    driver.go_to(STEPS)
    last = driver.pixels()
    # What agents think stays on their rings, so some colour stays too.
    assert 0 < orange(last) < 0.7 * orange(first)
    assert 0 < blue(last) < 0.7 * blue(first)
    # On request, colours show on which side of v the common opinion is, and the key says that they do.
    assert page.get_attribute("#key", "data-zoomed") == "false"
    page.click("#zoom-colours")
    assert blue(driver.pixels()) > 2 * blue(first)
    assert orange(driver.pixels()) == 0
    assert page.get_attribute("#key", "data-zoomed") == "true"
    assert "Zoomed in: hidden opinions span" in page.inner_text("#key-note")
    page.click("#zoom-colours")
    # What agents think does not change with time.
    page.get_by_label("Hidden", exact=True).check()
    hidden = driver.pixels()
    driver.go_to(STEPS // 2)
    assert np.array_equal(hidden, driver.pixels())
    page.get_by_label("Public", exact=True).check()
    page.click("#to-start")
    for button, time in (("on", 1), ("on", 2), ("back", 1)):
        page.click(f"#step-{button}")
        assert driver.number("#time-shown") == time
    page.select_option("#speed", "100")
    page.click("#play")
    driver.exist(f"#time-shown[data-value='{STEPS}']")
    driver.exist("#play[data-playing=false]")
    for end, time in (("end", STEPS), ("start", 0)):
        page.click(f"#to-{end}")
        assert driver.number("#time-shown") == time


def check_drawing(driver: Driver) -> None:
    """The brush changes those within its reach, to the value that was chosen."""
    page = driver.page
    with driver.answering():
        page.click("#draw")
    before = np.array(driver.scenario()["agents"]["hidden"])
    assert before == pytest.approx(scenario_from(SMALL).model().x0, rel=1e-3)
    agents, canvas, reach = agents_on(driver), Canvas(driver), 60
    driver.type("view.brush.value", 3)
    driver.type("view.brush.reach", reach)
    path = [canvas.middle, canvas.middle + np.array([15, 5])]
    with driver.answering():
        canvas.stroke(*path)
    hidden = np.array(driver.scenario()["agents"]["hidden"])
    painted = hidden == 3
    away = np.min([np.hypot(*(agents - place).T) for place in path], axis=0)
    # A pixel more or less is the browser's to step.
    assert painted[away < reach - 1].all()
    assert not painted[away > reach + 1].any()
    assert 1 <= painted.sum() < AGENTS
    assert np.array_equal(hidden[~painted], before[~painted])
    page.get_by_label("Lower", exact=True).check()
    with driver.answering():
        canvas.stroke(canvas.middle)
    lowered = np.array(driver.scenario()["agents"]["hidden"])
    assert (lowered <= hidden + 1e-9).all()
    assert (lowered < hidden).sum() >= 1
    # The brush keeps its value while answers come with the hand still down, and when opinions have changed.
    page.get_by_label("Set", exact=True).check()
    driver.type("view.brush.value", 0.2)
    driver.type("view.brush.reach", 30)
    ends = [agents[:, 0].argmin(), agents[:, 0].argmax()]
    canvas.move(agents[ends[0]])
    with driver.answering():
        page.mouse.down()
    canvas.move(agents[ends[1]])
    with driver.answering():
        page.mouse.up()
    hidden = np.array(driver.scenario()["agents"]["hidden"])
    assert set(hidden[hidden != lowered]) == {0.2}
    assert (hidden[ends] == 0.2).all()
    with driver.answering():
        canvas.stroke(*agents[:4])
    driver.settle()
    assert set(driver.scenario()["agents"]["hidden"][:4]) == {0.2}
    assert driver.row("view.brush.value").locator("> input[type=number]").input_value() == "0.2"


def test_a_hand_points_follows_and_draws(driver: Driver, catalogue: dict[str, Any]) -> None:
    page = driver.page
    # A click on a curve goes to its time.
    over = page.locator("#plot-opinions .u-over")
    box = over.bounding_box()
    assert box is not None
    over.click(position={"x": box["width"] / 2, "y": 20})
    assert abs(driver.number("#time-shown") - STEPS / 2) <= 1
    page.focus("#network")
    driver.press("ArrowRight")
    card = page.locator("#agent-card").bounding_box()
    assert card is not None
    assert min(card["x"], card["y"], card["width"], card["height"]) > 0
    page.locator("#network").blur()
    assert page.is_hidden("#agent-card")
    Canvas(driver).stroke(agents_on(driver)[0])
    assert page.inner_text("#agent-card b") == "Agent 0"
    assert page.locator("#followed li").get_attribute("data-agent") == "0"
    check_drawing(driver)
    # Opinions that are set by hand can be typed as well.
    field = page.locator("#opinion-of-0")
    with driver.answering():
        field.fill("-2.5")
        field.press("Enter")
    assert driver.scenario()["agents"]["hidden"][0] == -2.5
    with driver.answering("exacts"):
        page.locator("#followed button.plain").click()
    assert page.locator("#followed li").count() == 0
    # Another network has other agents, to whom these opinions do not belong.
    with driver.answering():
        driver.type("network.n", 40)
    assert driver.scenario()["agents"]["hidden"]["law"] == catalogue["default"]["scenario"]["agents"]["hidden"]["law"]


def test_the_observer_sees_whom_and_when_it_is_told(driver: Driver, catalogue: dict[str, Any]) -> None:
    page = driver.page
    # Colours of what an observer learns need its answers, whether it is looked at or not.
    with driver.answering("exposures"), driver.answering("observations"):
        page.get_by_label("Exposure").check()
    assert page.inner_text("#key-high") == "fully known"
    everyone = driver.pixels()
    page.click("#tab-observer")
    all_seen = driver.number('[data-method="auto"] [data-key="rmse"]')
    with driver.answering("exposures"), driver.answering("observations"):
        page.get_by_label("A share").check()
    assert not np.array_equal(everyone, driver.pixels())
    assert f"{AGENTS // 2} of {AGENTS} agents" in page.inner_text("#exposure-text")
    assert len(driver.scenario("observe")["observe"]["agents"]) == AGENTS // 2
    # As the library chooses, with its reason.
    assert page.inner_text('[data-method="auto"] figcaption') == "Kalman filter"
    assert f"{AGENTS // 2} of {AGENTS} agents are observed" in page.inner_text('[data-method="auto"] .note')
    with driver.answering("observations"):
        driver.type("observe.agents", 25)
    assert len(driver.scenario("observe")["observe"]["agents"]) == AGENTS // 4
    assert driver.number('[data-method="auto"] [data-key="rmse"]') > all_seen
    page.get_by_label("Picked").check()
    page.focus("#network")
    driver.press("ArrowRight")
    with driver.answering("observations"):
        driver.press("Enter")
    assert len(driver.scenario("observe")["observe"]["agents"]) in (AGENTS // 4 - 1, AGENTS // 4 + 1)
    # At most four methods at a time, and at least one.
    ticks = page.locator("#observe-methods input")
    others = [one["id"] for one in catalogue["methods"] if one["id"] != "auto"][:3]
    with driver.answering("observations"):
        for method in others:
            page.locator(f"#observe-methods input[value={method}]").check()
    disabled = page.locator("#observe-methods input:disabled")
    assert disabled.count() == ticks.count() - 4
    assert "4 at a time" in page.inner_text("#methods-note")
    with driver.answering("observations"):
        for method in others:
            page.locator(f"#observe-methods input[value={method}]").uncheck()
    assert disabled.evaluate_all("ticks => ticks.map(tick => tick.value)") == ["auto"]
    assert page.is_hidden("#methods-note")
