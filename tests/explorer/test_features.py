"""What is added to a scenario on the page: every part of a model can be, within its legal range, and is exported."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.explorer.app import API
from peerpressure.explorer.catalogue import Choice, Feature, control, features, temporal_networks
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits, RequestError
from peerpressure.explorer.script import script
from peerpressure.networks import DYNAMICS, TEMPORAL
from peerpressure.scenario import Scenario, parse_scenario, scenario_from
from peerpressure.scenario.agents import Agents
from tests.explorer.driving import SMALL, STEPS, Driver
from tests.explorer.test_page_sharing import taken

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
    assert {*sections, *(path for path in FEATURES if "." not in path)} == set(Scenario.model_fields)
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


def test_the_program_of_several_topics_runs_the_same_run() -> None:
    wanted = with_value("topics", value(FEATURES["topics"].options[0], "default")) | {"agents": {"zealots": [3]}}
    built = CACHE.build({"scenario": wanted})
    held: dict[str, Any] = {}
    exec(script(built.scenario), held)
    np.testing.assert_array_equal(held["run"].states, built.run.states)


REFUSED = {
    "exact": "the exact law",
    "recovered": "what an observer recovers",
    "observe": "what an observer estimates",
    "exposure": "what an observer learns",
    "bench": "privacy under other noise",
    "inference": "an inferred network",
    "export/page": "a page without a server",
    "export/figure": "a picture",
}


@pytest.mark.parametrize("name", API)
def test_an_answer_about_several_topics_is_given_or_refused_with_its_reason(name: str) -> None:
    wanted = with_value("topics", value(FEATURES["topics"].options[2], "default")) | {"run": {"steps": 9}}
    body = {"scenario": wanted, "what": "network", "format": "svg", "name": "a.csv", "data": b"a,b\n", "edges": ""}
    if name not in REFUSED:
        assert API[name].answer(CACHE, body).content
        return
    with pytest.raises(RequestError, match=f"{REFUSED[name]} must be about one topic here, got 2; take topics out"):
        API[name].answer(CACHE, body)


@pytest.mark.parametrize("topic", [-1, True, 0.5, "first", None])
def test_a_topic_is_a_number(topic: Any) -> None:
    with pytest.raises(RequestError, match="a topic must be a number from 0 on"):
        API["run"].answer(CACHE, {"scenario": SMALL, "topic": topic})


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


def test_topics_are_added_shown_one_at_a_time_and_exported(driver: Driver, tmp_path: Path) -> None:
    page = driver.page
    driver.expected.add("422")
    assert page.is_hidden("#topic-mode")
    add(driver, "topics")
    assert driver.scenario()["topics"]["matrix"] == [[1, 0], [0.5, 0.5]]
    read = scenario_from(driver.scenario())
    run = pp.simulate(read.model(), STEPS, replicates=3, seed=1)
    states, target = np.asarray(run.states), np.broadcast_to(run.model.target, run.model.n)
    assert "24 agents" in page.inner_text("#network-facts")
    assert "2 topics" in page.inner_text("#network-facts")
    for topic, name in enumerate(("first", "second")):
        if topic:
            with driver.answering():
                page.get_by_label(name, exact=True).check(force=True)
        assert page.locator("#topic-mode input:checked").input_value() == str(topic)
        shown = states[..., topic::2]
        for step in (0, 17, STEPS):
            driver.go_to(step)
            assert driver.legend("minimum") == pytest.approx(shown[0, step].min(), rel=1e-6)
            assert driver.legend("mean") == pytest.approx(shown[0, step].mean(), rel=1e-6)
            assert driver.legend("spread-mean") == pytest.approx(np.ptp(shown[:, step], axis=-1).mean(), rel=1e-6)
            far = np.abs(shown[0, step] - target[topic::2]).max()
            assert driver.legend("max_distance") == pytest.approx(far, rel=1e-5)
    # What is computed for one topic only says so.
    page.wait_for_selector("#recovered[data-state=refused]", state="attached")
    assert "what an observer recovers must be about one topic here, got 2" in page.inner_text("#recovered")
    assert pp.load_scenario(taken(driver, "toml", tmp_path)).topics == read.topics
    assert "topics" in taken(driver, "python", tmp_path).read_text("utf-8")
    # The topic is part of the link, and another one of the comparison.
    assert driver.module("address", "await module.decodeState(given)", driver.link())["view"]["topic"] == 1
    with driver.answering():
        page.click("[data-feature='topics'] .remove")
    assert "topics" not in driver.scenario()
    assert page.is_hidden("#topic-mode")


# Two agents listen to each other, and the second to a third one.
DRAWN = """({ header: { directed: given, labels: ["a", "b", "c"], unit_weights: true, edges_shown: 2, edge_count: 2 },
    arrays: { edges: Uint32Array.from([0, 1, 1, 2]), looks: Uint32Array.from([0, 3]) } })"""


def test_the_edges_that_are_drawn_on_are_those_of_the_network(opened_page: Driver) -> None:
    both = {"edges": [[0, 1], [1, 0], [1, 2]], "weights": [1, 1, -1], "directed": True, "labels": ["a", "b", "c"]}
    assert opened_page.module("distrust", f"module.listedEdges({{}}, {DRAWN})", True) == both
    assert opened_page.module("distrust", "module.reversed(given, 1, 0)", both)["weights"] == [-1, -1, -1]
    assert opened_page.module("distrust", "module.reversed(given, 0, 2)", both) is None
    # Changes from step to step are kept, and a network that changes by itself has no edges to draw on.
    given = {"network": {"generator": "ring", "dynamics": {"kind": "gossip"}}, "temporal": {"temporal": "growing"}}
    drawn = DRAWN.replace("given", "false")
    assert opened_page.module("distrust", f"module.listedEdges(given.network, {drawn})", given)["dynamics"] == {
        "kind": "gossip"
    }
    assert opened_page.module("distrust", f"module.listedEdges(given.temporal, {drawn})", given) is None


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
