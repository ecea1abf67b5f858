"""What is added to a scenario on the page: every part of a model can be, within its legal range, and is exported."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from peerpressure.explorer.catalogue import Choice, Feature, control, features, temporal_networks
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits
from peerpressure.explorer.script import script
from peerpressure.networks import DYNAMICS, TEMPORAL
from peerpressure.scenario import Scenario, parse_scenario
from peerpressure.scenario.agents import Agents
from tests.explorer.driving import SMALL, Driver

CACHE = ModelCache(Limits())
FEATURES = {feature.path: feature for feature in features()}


def value(choice: Choice, ends: str) -> Any:
    """The value of a kind, as the page writes it."""
    numbers = {one.name: control(one)[ends] for one in choice.sliders}
    if [*numbers] == ["value"]:
        return numbers["value"]
    if not numbers and not choice.fixed:
        return choice.id
    table: dict[str, Any] = copy.deepcopy(dict(choice.fixed or {}))
    for name, number in numbers.items():
        *outer, last = name.split(".")
        inner = table
        for key in outer:
            inner = inner[key]
        inner[last] = number
    return table


def with_value(path: str, found: Any) -> dict[str, Any]:
    scenario = copy.deepcopy(SMALL)
    *outer, last = path.split(".")
    inner = scenario
    for key in outer:
        inner = inner.setdefault(key, {})
    inner[last] = found
    return scenario


KINDS = [(feature, choice) for feature in FEATURES.values() for choice in feature.options]


def test_every_part_of_a_model_has_a_control() -> None:
    # The first two have fields of their own in the group of opinions.
    agents = {"hidden", "stubbornness", *(path.split(".")[1] for path in FEATURES if path.startswith("agents."))}
    assert agents == set(Agents.model_fields)
    sections = {"network", "agents", "pressure", "noise", "run", "observe", "privacy", "output"}
    # Several topics are for the command line: the page draws opinions on one.
    assert {*sections, "time", "topics"} == set(Scenario.model_fields)
    assert {choice.id for choice in FEATURES["network.dynamics"].options} == set(DYNAMICS)
    assert {choice.id for choice in temporal_networks()} == set(TEMPORAL)


@pytest.mark.parametrize(("feature", "choice"), KINDS, ids=lambda one: getattr(one, "path", getattr(one, "id", "")))
def test_every_kind_is_legal_and_exported(feature: Feature, choice: Choice) -> None:
    # Edges that nearly all fail leave agents who never meet, in a short run.
    changing = feature.path == "network.dynamics"
    for ends in ("default",) if changing else ("min", "default", "max"):
        wanted = with_value(feature.path, value(choice, ends)) | {"run": {"steps": 400 if changing else 9}}
        scenario = CACHE.load({"scenario": wanted})
        assert parse_scenario(scenario.to_toml()) == scenario
    assert ("pp.SDE(model" if feature.path == "time" else feature.path.rpartition(".")[2]) in script(scenario)


@pytest.mark.parametrize("choice", temporal_networks(), ids=lambda choice: choice.id)
def test_networks_that_change_by_themselves_are_legal(choice: Choice) -> None:
    sizes = {one.name: control(one)["default"] for one in choice.sliders}
    assert CACHE.load({"scenario": SMALL | {"network": {"temporal": choice.id, **sizes}}}).graph.n > 2


def add(driver: Driver, path: str) -> None:
    with driver.answering():
        driver.page.click("#add")
        driver.page.click(f"[data-add='{path}']")


def test_one_menu_adds_what_is_wanted_and_each_can_be_taken_out(driver: Driver) -> None:
    page = driver.page
    # Nothing is there before it is wanted.
    assert page.locator(".feature").count() == 0
    page.click("#add")
    assert page.locator("#add-menu [data-add]").evaluate_all("all => all.map(one => one.dataset.add)") == [*FEATURES]
    page.keyboard.press("Escape")
    assert page.is_hidden("#add-menu")
    assert page.evaluate("() => document.activeElement.id") == "add"
    add(driver, "agents.adaptation")
    assert driver.scenario()["agents"]["adaptation"] == 0.05
    with driver.answering():
        driver.row("agents.adaptation").locator("select").select_option("some")
    assert driver.scenario()["agents"]["adaptation"] == {
        "rate": 0.05,
        "adaptation_weight": {"law": "two_camps", "share": 0.5},
    }
    with driver.answering():
        driver.type("agents.adaptation.adaptation_weight.share", 0.25)
    assert driver.scenario()["agents"]["adaptation"]["adaptation_weight"] == {"law": "two_camps", "share": 0.25}
    add(driver, "network.dynamics")
    assert driver.scenario()["network"]["dynamics"] == {"kind": "failing_edges", "probability": 0.2}
    # What is added is offered no more.
    page.click("#add")
    assert page.locator("#add-menu [data-add]").count() == len(FEATURES) - 2
    page.keyboard.press("Escape")
    with driver.answering():
        page.click("[data-feature='network.dynamics'] .remove")
    assert "dynamics" not in driver.scenario()["network"]
    assert page.locator("[data-feature='network.dynamics']").count() == 0
    add(driver, "agents.zealots")
    zealots = driver.scenario()["agents"]["zealots"]
    assert len(zealots) == 1
    # All of it is part of the link.
    driver.link()
    shown = driver.module("address", "module.decodeState(location.hash)")
    assert shown["scenario"]["agents"]["zealots"] == zealots
    assert shown["scenario"]["agents"]["adaptation"]["rate"] == 0.05


def test_distrust_is_drawn_on_the_network(driver: Driver) -> None:
    page = driver.page
    with driver.answering():
        driver.row("network").locator("select").select_option("k2")
    page.click("#add")
    page.click("[data-add='network.signed']")
    assert page.get_attribute("#draw-distrust", "aria-pressed") == "true"
    # By keys: one agent, and the other one.
    page.focus("#network")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert "Now choose a neighbour of agent" in page.inner_text("#message-text")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    with driver.answering():
        page.keyboard.press("Enter")
    assert driver.scenario()["network"] == {"edges": [[0, 1]], "weights": [-1], "signed": True}
    assert page.locator("#network-key [data-key=negative]").is_visible()
    # By a click on the line, which goes across the middle of the network.
    box = page.locator("#network").bounding_box()
    assert box is not None
    with driver.answering():
        for y in range(int(box["height"] / 4), int(3 * box["height"] / 4), 13):
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + y)
    assert driver.scenario()["network"] == {"edges": [[0, 1]], "weights": [1]}
    page.focus("#network")
    page.keyboard.press("Escape")
    assert page.get_attribute("#draw-distrust", "aria-pressed") == "false"
    page.click("[data-feature='network.signed'] .remove")
    assert page.locator("#draw-distrust").count() == 0


# Two agents listen to each other, and the second to a third one.
DRAWN = """({ header: { directed: given, labels: ["a", "b", "c"], unit_weights: true, edges_shown: 2, edge_count: 2 },
    arrays: { edges: Uint32Array.from([0, 1, 1, 2]), looks: Uint32Array.from([0, 3]) } })"""


def test_the_edges_that_are_drawn_on_are_those_of_the_network(driver: Driver) -> None:
    both = {"edges": [[0, 1], [1, 0], [1, 2]], "weights": [1, 1, -1], "directed": True, "labels": ["a", "b", "c"]}
    assert driver.module("distrust", f"module.listedEdges({{}}, {DRAWN})", True) == both
    assert driver.module("distrust", "module.reversed(given, 1, 0)", both)["weights"] == [-1, -1, -1]
    assert driver.module("distrust", "module.reversed(given, 0, 2)", both) is None
    # Changes from step to step are kept, and a network that changes by itself has no edges to draw on.
    given = {"network": {"generator": "ring", "dynamics": {"kind": "gossip"}}, "temporal": {"temporal": "growing"}}
    drawn = DRAWN.replace("given", "false")
    assert driver.module("distrust", f"module.listedEdges(given.network, {drawn})", given)["dynamics"] == {
        "kind": "gossip"
    }
    assert driver.module("distrust", f"module.listedEdges(given.temporal, {drawn})", given) is None


def test_networks_that_change_have_their_own_sliders(driver: Driver) -> None:
    with driver.answering():
        driver.row("network").locator("select").select_option("temporal:activity_driven")
    sent = driver.scenario()["network"]
    assert sent == {
        "temporal": "activity_driven",
        "n": SMALL["network"]["n"],
        "contacts": 2,
        "exponent": 2.8,
        "floor": 0.05,
    }
    with driver.answering():
        driver.type("network.contacts", 3)
    assert driver.scenario()["network"]["contacts"] == 3
    # Such a network has no other changes.
    driver.page.click("#add")
    assert driver.page.locator("[data-add='network.dynamics']").count() == 0
    driver.page.keyboard.press("Escape")
