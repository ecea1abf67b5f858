"""Every control changes what it says, and nothing else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.explorer.driving import Driver


def reached(tree: Any, path: str) -> Any:
    for key in path.split("."):
        tree = tree[key]
    return tree


def without(tree: dict[str, Any], path: str) -> dict[str, Any]:
    key, _, rest = path.partition(".")
    return {
        name: without(value, rest) if name == key and rest else value
        for name, value in tree.items()
        if rest or name != key
    }


def choose(driver: Driver, path: str, kind: str) -> None:
    with driver.answering():
        driver.row(path).locator("select").first.select_option(kind)


def test_every_slider_sets_its_key_and_leaves_the_others(driver: Driver) -> None:
    paths = driver.page.locator(".controls .parameter").evaluate_all("rows => rows.map(row => row.dataset.path)")
    assert {"network.n", "network.m", "pressure.slope", "noise.std", "run.steps", "run.replicates", "run.seed"} <= set(
        paths
    )
    for path in paths:
        before = driver.scenario()
        slider = driver.row(path).locator("input[type=range]")
        up = float(slider.input_value()) < float(slider.get_attribute("max") or "0")
        slider.focus()
        with driver.answering():
            driver.page.keyboard.press("ArrowRight" if up else "ArrowLeft")
        after = driver.scenario()
        shown = float(driver.row(path).locator("> input[type=number]").input_value())
        key = path.removesuffix(".value") if path.startswith("agents.stubbornness") else path
        assert reached(after, key) == shown, path
        assert reached(before, key) != shown if path != "pressure.offset" else shown > 0
        assert without(after, key) == without(before, key), path


def test_a_number_can_be_typed(driver: Driver) -> None:
    with driver.answering():
        driver.type("network.n", 57)
    assert driver.scenario()["network"]["n"] == 57
    assert driver.page.inner_text("#network-facts").startswith("57 agents")


def test_every_kind_of_network_law_schedule_and_noise_can_be_chosen(driver: Driver, catalogue: dict[str, Any]) -> None:
    networks = {one["id"]: {"generator": one["id"]} for one in catalogue["generators"]}
    networks |= {f"named:{one['id']}": {"named": one["id"]} for one in catalogue["named"]}
    agents = {f"named:{one['id']}": one["n"] for one in catalogue["named"]}
    sections = {
        "agents.hidden": (catalogue["hidden_laws"], "law"),
        "pressure": (catalogue["schedules"], "kind"),
        "noise": (catalogue["noises"], "law"),
    }
    assert driver.scenario()["network"]["generator"] == next(iter(networks))
    assert max(len(options) for options, _ in sections.values()) < len(networks)
    # The first of each are there from the start, and the others follow, one of each for one run.
    for count, (name, network) in list(enumerate(networks.items()))[1:]:
        chosen = {path: options[count] for path, (options, _) in sections.items() if count < len(options)}
        with driver.answering():
            for path, kind in {"network": name, **{path: option["id"] for path, option in chosen.items()}}.items():
                driver.row(path).locator("select").first.select_option(kind)
        sent = driver.scenario()
        assert network.items() <= sent["network"].items()
        if name in agents:
            assert sent["network"] == network
            assert driver.page.inner_text("#network-facts").startswith(f"{agents[name]} agents")
        for path, option in chosen.items():
            section = reached(sent, path)
            assert section.get(sections[path][1], "formula") == option["id"]
            assert {spec["name"] for spec in option["parameters"]} <= set(section)
    assert driver.page.locator("#message").is_hidden()


def test_noise_through_time_and_stubbornness(driver: Driver) -> None:
    choose(driver, "noise.temporal", "frozen")
    assert driver.scenario()["noise"]["temporal"] == "frozen"
    choose(driver, "noise.temporal", "ar1")
    with driver.answering():
        driver.type("noise.temporal.ar1", 0.5)
    assert driver.scenario()["noise"]["temporal"] == {"ar1": 0.5}
    with driver.answering():
        driver.row("agents.stubbornness").get_by_label("The same for all").check()
    assert driver.scenario()["agents"]["stubbornness"] == 1.0
    choose(driver, "noise", "none")
    assert driver.scenario()["noise"] == {"law": "none"}
    assert driver.row("noise.temporal").count() == 0


def test_a_bad_formula_is_refused_in_the_librarys_words_and_nothing_moves(driver: Driver) -> None:
    driver.expected.add("422")
    choose(driver, "pressure", "formula")
    field = driver.page.locator("[data-role=formula]")
    field.scroll_into_view_if_needed()
    places = [driver.page.locator(part).bounding_box() for part in ("#network", "[data-role=formula]", "#verdict")]
    field.fill("t + import os")
    driver.page.wait_for_selector('[data-path^="pressure"] > .refusal:not([hidden])')
    # It is said once, and nothing moves below the hands.
    assert driver.page.is_hidden("#message")
    moved = [driver.page.locator(part).bounding_box() for part in ("#network", "[data-role=formula]", "#verdict")]
    assert moved == places
    told = driver.row("pressure").locator(".refusal:visible").inner_text()
    import peerpressure as pp

    with pytest.raises(pp.errors.FormulaError) as refused:
        pp.schedules.Formula("t + import os")
    assert str(refused.value) in told
    assert field.get_attribute("aria-invalid") == "true"
    # What belongs to the last formula is not shown.
    assert driver.page.inner_text("#pressure-text") == driver.page.inner_text("#legend-spread") == ""
    with driver.answering():
        field.fill("t")
    assert driver.page.locator(".refusal:visible").count() == 0
    assert field.get_attribute("aria-invalid") is None


def test_work_beyond_the_bound_is_refused_with_the_bound(driver: Driver, catalogue: dict[str, Any]) -> None:
    driver.expected.add("422")
    with driver.answering():
        driver.type("run.replicates", 1000)
    driver.type("run.steps", 100_000)
    driver.page.wait_for_selector("#message[data-tone=bad]:not([hidden])")
    assert f"{catalogue['limits']['work']:,}" in driver.page.inner_text("#message-text")
    assert driver.page.inner_text("#legend-spread") == ""


def test_a_refusal_that_cannot_be_seen_where_it_belongs_is_in_the_bar(driver: Driver) -> None:
    driver.expected.add("422")
    choose(driver, "pressure", "formula")
    driver.page.set_viewport_size({"width": 1400, "height": 300})
    network = driver.page.locator("#network").bounding_box()
    field = driver.page.locator("[data-role=formula]")
    field.evaluate("field => { field.value = 't +'; field.dispatchEvent(new Event('input', { bubbles: true })) }")
    driver.page.wait_for_selector("#message[data-tone=bad]:not([hidden])")
    assert driver.page.locator("#network").bounding_box() == network


def test_four_methods_at_a_time_and_at_least_one(driver: Driver, catalogue: dict[str, Any]) -> None:
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    ticks = driver.page.locator("#observe-methods input")
    others = [one["id"] for one in catalogue["methods"] if one["id"] != "auto"]
    for method in others[:3]:
        with driver.answering("observations"):
            driver.page.locator(f"#observe-methods input[value={method}]").check()
    assert driver.page.locator("#observe-methods input:disabled").count() == ticks.count() - 4
    assert "4 at a time" in driver.page.inner_text("#methods-note")
    for method in others[:3]:
        with driver.answering("observations"):
            driver.page.locator(f"#observe-methods input[value={method}]").uncheck()
    assert driver.page.locator("#observe-methods input:disabled").evaluate_all("ticks => ticks.map(t => t.value)") == [
        "auto"
    ]
    assert driver.page.is_hidden("#methods-note")


def test_changes_can_be_undone_and_done_again(driver: Driver) -> None:
    for depth, steps in enumerate((30, 50), 1):
        with driver.answering():
            driver.type("run.steps", steps)
        # A change is settled when nothing has followed it for a moment.
        driver.page.wait_for_function("depth => history.state?.depth === depth", arg=depth)
    steps_shown = driver.row("run.steps").locator("> input[type=number]")
    with driver.answering():
        driver.page.go_back()
    assert steps_shown.input_value() == "30"
    driver.page.focus("#play")
    with driver.answering():
        driver.page.keyboard.press("Control+Shift+z")
    assert steps_shown.input_value() == "50"
    with driver.answering():
        driver.page.keyboard.press("Control+z")
    assert steps_shown.input_value() == "30"
    assert driver.scenario()["run"]["steps"] == 30


# Names of a program, numbers as a program writes them, and the words of a proof.
JARGON = re.compile(r"\b[a-z]+_[a-z_]+\b|\b[a-z_]+\(\)|\b\d(?:\.\d+)?e[+-]\d+|local exponent")


def test_every_preset_opens(driver: Driver, catalogue: dict[str, Any]) -> None:
    for preset in catalogue["presets"]:
        driver.open_preset(preset["id"])
        assert driver.page.text_content("#lead b") == preset["title"].replace("_", "")
        # Words for people who do not program; mathematics only where it is asked for.
        words = driver.page.evaluate("() => document.body.textContent")
        jargon = r"\b[a-z]+_[a-z_]+\b|\b[a-z_]+\(\)|\b\d(?:\.\d+)?e[+-]\d+|local exponent"
        assert re.findall(jargon, words) == [], preset["id"]
        assert driver.page.locator("#verdict-why").get_attribute("open") is None
        assert driver.page.is_visible("#verdict-summary") == (preset["state"]["view"].get("tab") != "observer")
        assert driver.page.locator(".refusal:visible").count() == 0
        assert driver.page.locator("#message").is_hidden(), (preset["id"], driver.page.inner_text("#message"))
        wanted = {key: value for key, value in preset["state"]["scenario"].items() if key not in ("observe", "privacy")}
        assert driver.scenario() == wanted
        tab = preset["state"].get("view", {}).get("tab", "curves")
        assert driver.page.is_visible(f"#panel-{tab}")


def test_axes_can_be_logarithmic(driver: Driver) -> None:
    def ink(name: str) -> str:
        return driver.ink(f"#plot-{name} canvas")

    driver.wait_for_exact()
    driver.frame()
    plain: dict[str, str] = {}
    # Exact curves and the forecast are drawn when they arrive, one after the other.
    while plain != (plain := {name: ink(name) for name in ("opinions", "spread", "max_distance")}):
        driver.page.wait_for_timeout(500)
    driver.page.click("#log-size")
    driver.wait_for_other_ink("#plot-spread canvas", plain["spread"])
    sized = {name: ink(name) for name in plain}
    assert sized["opinions"] == plain["opinions"]
    driver.page.click("#log-time")
    driver.wait_for_other_ink("#plot-opinions canvas", sized["opinions"])
    timed = {name: ink(name) for name in plain}
    assert all(timed[name] != sized[name] for name in plain)
    driver.page.click("#log-time")
    driver.page.click("#log-size")
    driver.wait_for_other_ink("#plot-spread canvas", timed["spread"])
    driver.frame()
    assert {name: ink(name) for name in plain} == plain


def test_while_a_slider_moves_one_question_is_open_at_a_time_and_the_last_one_counts(driver: Driver) -> None:
    driver.page.evaluate(
        """() => { const plain = window.fetch, open = {}; window.most = {};
            window.fetch = (path, options) => {
                open[path] = (open[path] ?? 0) + 1;
                window.most[path] = Math.max(window.most[path] ?? 0, open[path]);
                return plain(path, options).finally(() => { open[path] -= 1 }) } }"""
    )
    slider = driver.row("noise.std").locator("input[type=range]")
    slider.focus()
    for _ in range(25):
        driver.page.keyboard.press("ArrowRight")
    wanted = float(driver.row("noise.std").locator("> input[type=number]").input_value())
    driver.frame()
    driver.settle()
    assert driver.scenario()["noise"]["std"] == wanted
    most = driver.page.evaluate("() => window.most")
    assert "/api/run" in most
    assert set(most.values()) == {1}
