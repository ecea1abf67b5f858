"""What is added to a scenario on the page: every part of a model, by one menu."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.explorer.catalogue import features
from peerpressure.scenario import scenario_from
from tests.explorer.driving import SMALL, STEPS, Driver
from tests.explorer.test_page_sharing import taken

FEATURES = {feature.path: feature for feature in features()}


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
