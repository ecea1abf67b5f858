"""The network on its canvas: colours follow the data, time goes on, agents can be pointed at, drawn and shown."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.scenario.loading import scenario_from
from tests.explorer.asking import Asker
from tests.explorer.driving import AGENTS, SMALL, STEPS, Driver, layouts


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


def test_colours_fade_from_both_ends_to_the_middle_as_agents_agree(driver: Driver) -> None:
    first = driver.pixels()
    driver.go_to(STEPS)
    driver.frame()
    last = driver.pixels()
    # What agents think stays on their rings, so some colour stays too.
    assert 0 < orange(last) < 0.7 * orange(first)
    assert 0 < blue(last) < 0.7 * blue(first)
    # On request, colours show on which side of v the common opinion is, and the key says that they do.
    assert driver.page.get_attribute("#key", "data-zoomed") == "false"
    driver.page.click("#zoom-colours")
    driver.frame()
    assert blue(driver.pixels()) > 2 * blue(first)
    assert orange(driver.pixels()) == 0
    assert driver.page.get_attribute("#key", "data-zoomed") == "true"
    assert "Zoomed in: hidden opinions span" in driver.page.inner_text("#key-note")


def test_what_agents_think_does_not_change_with_time(driver: Driver) -> None:
    driver.page.get_by_label("Hidden", exact=True).check()
    driver.frame()
    first = driver.pixels()
    driver.go_to(STEPS // 2)
    driver.frame()
    assert np.array_equal(first, driver.pixels())


def test_playing_moves_on_and_stops_at_the_end(driver: Driver) -> None:
    driver.page.select_option("#speed", "100")
    driver.page.click("#play")
    driver.page.wait_for_selector("#play[data-playing=true]")
    driver.page.wait_for_selector("#play[data-playing=false]")
    assert driver.number("#time-shown") == STEPS
    driver.page.select_option("#speed", "2")
    driver.page.click("#play")
    driver.page.wait_for_selector("#play[data-playing=true]")
    assert driver.number("#time-shown") < STEPS
    driver.page.click("#play")
    driver.page.wait_for_selector("#play[data-playing=false]")


def test_examples_play_by_themselves_unless_stillness_is_wanted(one_page: Driver) -> None:
    one_page.open()
    one_page.frame()
    # Whoever wants no motion sees how it ends.
    assert one_page.number("#time-shown") == 200
    # Most happens in the first steps: the axis of time is logarithmic. One scale of colours holds for all times.
    assert one_page.page.get_attribute("#log-time", "aria-pressed") == "true"
    assert one_page.page.get_attribute("#zoom-colours", "aria-pressed") == "false"
    low, high = (float(one_page.page.inner_text(f"#key-{end}")) for end in ("low", "high"))
    assert high - low > 0.9
    one_page.page.click("#zoom-colours")
    one_page.frame()
    low, high = (float(one_page.page.inner_text(f"#key-{end}")) for end in ("low", "high"))
    assert 0 < high - low < 0.1
    one_page.open_preset("first-steps")
    assert one_page.page.get_attribute("#play", "data-playing") == "false"
    one_page.page.emulate_media(reduced_motion="no-preference")
    one_page.open()
    one_page.page.wait_for_selector("#time-shown:not([data-value='0'])")
    one_page.open_preset("too-fast")
    one_page.page.wait_for_selector("#play[data-playing=true]")
    one_page.page.select_option("#speed", "500")
    # Once only.
    one_page.page.wait_for_selector("#play[data-playing=false]")
    assert one_page.number("#time-shown") == 150
    one_page.check()
    one_page.page.emulate_media(reduced_motion="reduce")
    one_page.leave()


def test_an_oscillation_between_two_sides_is_seen(one_page: Driver) -> None:
    """At steps 100 and 101 opinions have changed sides by a thirtieth of the range that they began with."""
    one_page.be_open()
    one_page.open_preset("too-fast")
    shots = []
    for zoomed in ("true", "false"):
        if one_page.page.get_attribute("#zoom-colours", "aria-pressed") != zoomed:
            one_page.page.click("#zoom-colours")
        for step in (100, 101):
            one_page.go_to(step)
            one_page.frame()
            shots.append(one_page.pixels().astype(int))
    change = [np.abs(after - before).max(axis=2) for before, after in (shots[:2], shots[2:])]
    assert np.count_nonzero(change[0] > 60) > 2_000
    assert np.count_nonzero(change[1] > 60) == 0
    one_page.check()


def test_time_can_be_stepped(driver: Driver) -> None:
    steps = [("#step-on", 1), ("#step-on", 2), ("#step-back", 1), ("#to-end", STEPS), ("#to-start", 0)]
    for button, time in steps:
        driver.page.click(button)
        assert driver.number("#time-shown") == time


@layouts
def test_a_click_on_a_curve_goes_to_its_time(driver: Driver) -> None:
    over = driver.page.locator("#plot-opinions .u-over")
    box = over.bounding_box()
    assert box is not None
    over.click(position={"x": box["width"] / 2, "y": 20})
    assert abs(driver.number("#time-shown") - STEPS / 2) <= 1


@layouts
def test_pointing_shows_who_it_is_and_a_click_follows(driver: Driver) -> None:
    canvas = driver.page.locator("#network")
    driver.page.focus("#network")
    driver.page.keyboard.press("ArrowRight")
    place = driver.page.evaluate(
        """() => { const card = document.getElementById('agent-card').getBoundingClientRect();
           return [card.left, card.top, card.width, card.height] }"""
    )
    assert min(place) > 0
    canvas.blur()
    assert driver.page.is_hidden("#agent-card")
    Canvas(driver).move(agents_on(driver)[0])
    assert driver.page.inner_text("#agent-card b") == "Agent 0"
    driver.page.mouse.down()
    driver.page.mouse.up()
    assert driver.page.locator("#followed li").get_attribute("data-agent") == "0"
    with driver.answering("exacts"):
        driver.page.locator("#followed button.plain").click()
    assert driver.page.locator("#followed li").count() == 0


def test_zoom_makes_dots_larger_and_back(driver: Driver) -> None:
    plain = driver.pixels()
    driver.page.click("#zoom-in")
    driver.frame()
    assert not np.array_equal(plain, driver.pixels())
    driver.page.click("#zoom-reset")
    driver.frame()
    assert np.array_equal(plain, driver.pixels())


@layouts
def test_opinions_can_be_drawn_with_the_brush(driver: Driver) -> None:
    with driver.answering():
        driver.page.click("#draw")
    before = np.array(driver.scenario()["agents"]["hidden"])
    assert before == pytest.approx(scenario_from(SMALL).model().x0, rel=1e-3)
    agents, canvas, reach = agents_on(driver), Canvas(driver), 60
    driver.type("view.brush.value", 3)
    driver.type("view.brush.reach", reach)
    path = [canvas.middle, canvas.middle + np.array([15, 5])]
    with driver.answering():
        canvas.stroke(*path)
    driver.settle()
    hidden = np.array(driver.scenario()["agents"]["hidden"])
    painted = hidden == 3
    away = np.min([np.hypot(*(agents - place).T) for place in path], axis=0)
    # A pixel more or less is the browser's to step.
    assert painted[away < reach - 1].all()
    assert not painted[away > reach + 1].any()
    assert 1 <= painted.sum() < AGENTS
    assert np.array_equal(hidden[~painted], before[~painted])
    driver.page.get_by_label("Lower", exact=True).check()
    with driver.answering():
        canvas.stroke(canvas.middle)
    lowered = np.array(driver.scenario()["agents"]["hidden"])
    assert (lowered <= hidden + 1e-9).all()
    assert (lowered < hidden).sum() >= 1


@layouts
def test_the_brush_keeps_the_value_that_was_chosen(driver: Driver) -> None:
    with driver.answering():
        driver.page.click("#draw")
    driver.page.get_by_label("Set", exact=True).check()
    driver.type("view.brush.value", 0.2)
    driver.type("view.brush.reach", 30)
    agents, canvas = agents_on(driver), Canvas(driver)
    left, right = agents[agents[:, 0].argmin()], agents[agents[:, 0].argmax()]
    before = np.array(driver.scenario()["agents"]["hidden"])
    # The answer to what was drawn comes while the hand is still down.
    canvas.move(left)
    with driver.answering():
        driver.page.mouse.down()
    canvas.move(right)
    with driver.answering():
        driver.page.mouse.up()
    driver.settle()
    hidden = np.array(driver.scenario()["agents"]["hidden"])
    changed = hidden != before
    assert changed[[agents[:, 0].argmin(), agents[:, 0].argmax()]].all()
    assert set(hidden[changed]) == {0.2}
    # A second stroke, with opinions that the first has changed, draws the same.
    with driver.answering():
        canvas.stroke(*agents)
    driver.settle()
    assert set(driver.scenario()["agents"]["hidden"]) == {0.2}
    assert driver.row("view.brush.value").locator("> input[type=number]").input_value() == "0.2"


def test_opinions_can_be_typed_agent_by_agent(driver: Driver) -> None:
    driver.page.focus("#network")
    driver.page.keyboard.press("ArrowRight")
    driver.page.keyboard.press("Enter")
    agent = int(driver.page.locator("#followed li").get_attribute("data-agent") or "-1")
    with driver.answering():
        driver.row("agents.hidden").locator("select").select_option("by_hand")
    with driver.answering():
        field = driver.page.locator(f"#opinion-of-{agent}")
        field.fill("-2.5")
        field.press("Enter")
    assert driver.scenario()["agents"]["hidden"][agent] == -2.5
    # Another network has other agents, to whom these opinions do not belong.
    with driver.answering():
        driver.type("network.n", 40)
    assert driver.scenario()["agents"]["hidden"]["law"] == "uniform"


def test_the_observer_sees_whom_and_when_it_is_told(driver: Driver) -> None:
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    all_seen = driver.number('[data-method="auto"] [data-key="rmse"]')
    with driver.answering("observations"):
        driver.page.get_by_label("A share").check()
    assert len(driver.scenario("observe")["observe"]["agents"]) == AGENTS // 2
    # As the library chooses, with its reason.
    assert driver.page.inner_text('[data-method="auto"] figcaption') == "Kalman filter"
    assert f"{AGENTS // 2} of {AGENTS} agents are observed" in driver.page.inner_text('[data-method="auto"] .note')
    with driver.answering("observations"):
        driver.type("observe.agents", 25)
    assert len(driver.scenario("observe")["observe"]["agents"]) == AGENTS // 4
    few_seen = driver.number('[data-method="auto"] [data-key="rmse"]')
    assert few_seen > all_seen
    driver.page.get_by_label("Picked").check()
    driver.page.focus("#network")
    driver.page.keyboard.press("ArrowRight")
    with driver.answering("observations"):
        driver.page.keyboard.press("Enter")
    assert len(driver.scenario("observe")["observe"]["agents"]) in (AGENTS // 4 - 1, AGENTS // 4 + 1)
    with driver.answering("observations"):
        driver.page.get_by_label("Everyone").check()
    with driver.answering("observations"):
        driver.type("observe.times", 30)
    assert driver.scenario("observe")["observe"]["times"] == list(range(1, 31))
    with driver.answering("observations"):
        driver.type("observe.first_step", 5)
    seen = driver.scenario("observe")["observe"]
    assert (seen["first_step"], seen["times"]) == (5, list(range(5, 31)))


def test_exposure_is_painted_on_the_network(driver: Driver) -> None:
    with driver.answering("observations"):
        driver.page.get_by_label("Exposure").check()
    driver.frame()
    assert driver.page.inner_text("#key-high") == "fully known"
    everyone = driver.pixels()
    with driver.answering("observations"):
        driver.page.get_by_label("A share").check()
    driver.frame()
    assert not np.array_equal(everyone, driver.pixels())
    assert f"{AGENTS // 2} of {AGENTS} agents" in driver.page.inner_text("#exposure-text")
