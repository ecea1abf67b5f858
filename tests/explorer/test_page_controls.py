"""Every control changes what it says, and nothing else; what is refused is told where it belongs; all can be undone."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import peerpressure as pp
from peerpressure.scenario import scenario_from
from tests.explorer.driving import JARGON, SMALL, Driver


def reached(tree: Any, path: str) -> Any:
    for key in path.split("."):
        tree = tree[key]
    return tree


# The numbers beside the sliders, by the keys of the scenario that they set.
NUMBERS = """rows => Object.fromEntries(rows.map(row =>
    [row.dataset.path, row.querySelector(':scope > input[type=number]').valueAsNumber]))"""
# How many questions of a kind were open at once.
COUNT = """() => { const plain = window.fetch, open = {}; window.most = {};
    window.fetch = (path, options) => {
        open[path] = (open[path] ?? 0) + 1;
        window.most[path] = Math.max(window.most[path] ?? 0, open[path]);
        return plain(path, options).finally(() => { open[path] -= 1 }) } }"""


def test_every_slider_and_field_sets_its_key_and_the_last_of_many_changes_counts(driver: Driver) -> None:
    page = driver.page
    sliders = page.locator(".controls .parameter")
    before = sliders.evaluate_all(NUMBERS)
    assert {"network.n", "network.m", "pressure.slope", "noise.std", "run.steps", "run.replicates"} <= set(before)
    page.evaluate(COUNT)
    wanted = before
    for path in before:
        slider = driver.row(path).locator("input[type=range]")
        up = float(slider.input_value()) < float(slider.get_attribute("max") or "0")
        slider.focus()
        driver.press("ArrowRight" if up else "ArrowLeft")
        shown = sliders.evaluate_all(NUMBERS)
        assert {key for key in before if shown[key] != wanted[key]} == {path}
        wanted = shown
    driver.frame()
    driver.settle()
    expected = copy.deepcopy(SMALL)
    for path, number in wanted.items():
        section, _, key = path.rpartition(".")
        reached(expected, section)[key] = number
    assert driver.scenario() == expected
    # While sliders move, one question of a kind is open at a time.
    most = page.evaluate("() => window.most")
    assert most["/api/run"] == max(most.values()) == 1
    # What is typed counts as well, and what depends on a choice comes and goes with it.
    driver.type("network.n", 57)
    driver.choose("noise.temporal", "ar1")
    with driver.answering():
        driver.type("noise.temporal.ar1", 0.5)
    assert page.inner_text("#network-facts").startswith("57 agents")
    assert driver.scenario()["noise"]["temporal"] == {"ar1": 0.5}
    driver.choose("noise", "none")
    assert driver.scenario()["noise"] == {"law": "none"}
    assert driver.row("noise.temporal").count() == 0


# Refuse all questions at once, so nothing is computed, and say what was asked about each of several choices: cards to
# click on, or the values of fields by their paths.
ASKED = """async choices => {
    const asked = [], frame = () => new Promise(done => requestAnimationFrame(done));
    window.fetch = async (path, options) => {
        if (path === '/api/run') asked.push(JSON.parse(options.body).scenario);
        const error = { text: 'nothing is computed', where: null };
        return new Response(JSON.stringify({ error }), { status: 422 }) };
    const found = [];
    for (const choice of choices) {
        asked.length = 0;
        if (typeof choice === 'string') document.querySelector(choice).click();
        else for (const [path, value] of Object.entries(choice)) {
            const field = document.querySelector(`[data-path="${path}"] select`);
            field.value = value;
            field.dispatchEvent(new Event('change', { bubbles: true })) }
        for (let count = 0; count < 600 && !asked.length; count += 1) await frame();
        await frame();
        found.push({ scenario: asked.at(-1), lead: document.querySelector('#lead b')?.textContent,
            tab: document.querySelector('[role=tab][aria-selected=true]').id }) }
    return found }"""


def test_every_kind_and_every_example_can_be_chosen(driver: Driver, catalogue: dict[str, Any]) -> None:
    networks = {one["id"]: {"generator": one["id"]} for one in catalogue["generators"]}
    networks |= {f"named:{one['id']}": {"named": one["id"]} for one in catalogue["named"]}
    sections = {
        "agents.hidden": (catalogue["hidden_laws"], "law"),
        "pressure": (catalogue["schedules"], "kind"),
        "noise": (catalogue["noises"], "law"),
    }
    assert max(len(options) for options, _ in sections.values()) < len(networks)
    # The first of each are there from the start, and the others follow, one of each at once.
    chosen = [
        {
            "network": name,
            **{path: options[count]["id"] for path, (options, _) in sections.items() if count < len(options)},
        }
        for count, name in enumerate(networks)
    ][1:]
    for choice, asked in zip(chosen, driver.page.evaluate(ASKED, chosen), strict=True):
        sent, network = asked["scenario"], networks[choice.pop("network")]
        assert network.items() <= sent["network"].items()
        assert "generator" in network or sent["network"] == network
        for path, kind in choice.items():
            options, key = sections[path]
            (option,) = (one for one in options if one["id"] == kind)
            assert reached(sent, path).get(key, "formula") == kind
            assert {spec["name"] for spec in option["parameters"]} <= set(reached(sent, path))
    presets = catalogue["presets"]
    cards = [f'[data-preset="{preset["id"]}"]' for preset in presets]
    for preset, asked in zip(presets, driver.page.evaluate(ASKED, cards), strict=True):
        state = preset["state"]
        assert asked["scenario"] == {
            key: value for key, value in state["scenario"].items() if key not in ("observe", "privacy")
        }
        assert asked["lead"] == preset["title"].replace("_", "")
        assert asked["tab"] == f"tab-{state['view'].get('tab', 'curves')}"
    driver.leave()


def key_span(driver: Driver) -> float:
    """The range of opinions that the colours span, as the key tells it."""
    low, high = (float(driver.page.inner_text(f"#key-{end}").replace("−", "-")) for end in ("low", "high"))
    return high - low


def test_examples_open_and_play_by_themselves_unless_stillness_is_wanted(one_page: Driver) -> None:
    driver, page = one_page, one_page.page
    driver.open()
    # Whoever wants no motion sees how it ends, in one scale of colours for all times.
    driver.exist("#time-shown[data-value='200']")
    assert page.inner_text("#time-end") == "200"
    # One sentence, one network and one control, and no scrolling; the laboratory is one click away.
    assert page.locator("input >> visible=true").evaluate_all("all => all.map(one => one.id)") == ["time", "growth"]
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight")
    assert page.is_visible("#strip-canvas")
    assert page.is_hidden("#panel-curves")
    page.click("#laboratory")
    assert page.get_attribute("#zoom-colours", "aria-pressed") == "false"
    spans = [key_span(driver)]
    page.click("#zoom-colours")
    driver.exist("#key[data-zoomed=true]")
    spans.append(key_span(driver))
    assert spans[0] > 0.9
    assert 0 < spans[1] < spans[0] / 5
    page.emulate_media(reduced_motion="no-preference")
    driver.open_preset("too_fast_tree")
    driver.exist("#play[data-playing=true]")
    assert page.is_hidden("#message")
    assert JARGON.findall(page.evaluate("() => document.body.textContent")) == []
    page.select_option("#speed", "500")
    # Once only.
    driver.exist("#play[data-playing=false]")
    assert driver.number("#time-shown") == 150
    driver.check()
    driver.leave()


def test_refusals_are_told_once_in_the_librarys_words_and_nothing_moves(driver: Driver) -> None:
    page = driver.page
    driver.expected.add("422")
    driver.choose("pressure", "formula")
    field = page.locator("[data-role=formula]")
    field.scroll_into_view_if_needed()
    parts = ("#network", "[data-role=formula]", "#verdict")
    places = [page.locator(part).bounding_box() for part in parts]
    field.fill("t + import os")
    driver.see('[data-path^="pressure"] > .refusal:not([hidden])')
    assert page.is_hidden("#message")
    assert [page.locator(part).bounding_box() for part in parts] == places
    with pytest.raises(pp.errors.FormulaError) as refused:
        pp.schedules.Formula("t + import os")
    assert str(refused.value) in driver.row("pressure").locator(".refusal:visible").inner_text()
    assert field.get_attribute("aria-invalid") == "true"
    # It is told once, and what belongs to the last formula stays, in a paler colour.
    panels = page.locator("[data-answers]")
    assert set(panels.evaluate_all("panels => panels.map(({ dataset }) => dataset.state)")) <= {"pending", "current"}
    assert page.locator(".reason").count() == 0
    assert page.is_visible("#network")
    assert page.inner_text("#legend-spread") != ""
    # What is typed is plotted with its verdict.
    with driver.answering():
        field.fill("2^sqrt(t)")
    assert page.locator(".refusal:visible").count() == 0
    assert field.get_attribute("aria-invalid") is None
    model = scenario_from(driver.scenario()).model()
    assert page.inner_text("#pressure-words") == pp.diagnose(model).outcome.value
    assert page.inner_text("#pressure-text").replace("ρt", "ρ_t") == str(model.pressure)
    # A refusal that cannot be seen where it belongs is in the bar.
    driver.resize(1400, 300)
    network = page.locator("#network").bounding_box()
    field.evaluate("field => { field.value = 't +'; field.dispatchEvent(new Event('input', { bubbles: true })) }")
    driver.see("#message[data-tone=bad]:not([hidden])")
    assert page.locator("#network").bounding_box() == network


def test_a_drag_is_one_change_and_all_changes_can_be_undone_and_done_again(driver: Driver) -> None:
    page = driver.page
    slider = driver.row("noise.std").locator("input[type=range]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    y, places = box["y"] + box["height"] / 2, [box["x"] + part * box["width"] for part in (0.3, 0.5, 0.8)]
    page.mouse.move(places[0], y)
    page.mouse.down()
    for place in places[1:]:
        with driver.answering():
            page.mouse.move(place, y)
    driver.rest()
    depth = "() => history.state?.depth ?? 0"
    assert page.evaluate(depth) == 0
    page.mouse.up()
    driver.wait_for_depth(1)
    # What only concerns the view is a change as well, for which nothing is computed.
    page.click("#log-size")
    driver.wait_for_depth(2)
    runs = page.get_attribute("html", "data-runs")
    page.click("#undo")
    driver.exist("#log-size[aria-pressed=false]")
    assert page.get_attribute("html", "data-runs") == runs
    with driver.answering():
        page.go_back()
    assert driver.scenario()["noise"] == SMALL["noise"]
    # Nobody leaves the page by undoing.
    assert page.is_disabled("#undo")
    driver.press("Control+z")
    # The time that is shown is no change.
    driver.go_to(7)
    driver.rest()
    assert page.evaluate(depth) == 0
    page.focus("#play")
    with driver.answering():
        driver.press("Control+y")
    driver.wait_for_depth(1)
    assert json.dumps(driver.scenario()["noise"]) != json.dumps(SMALL["noise"])
