"""What is added to a scenario on the page: every part of a model, by one menu."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.explorer.catalogue import features
from peerpressure.scenario import scenario_from
from tests.explorer.driving import SMALL, STEPS, Driver

FEATURES = features()


def add(driver: Driver, path: str) -> None:
    with driver.answering():
        driver.page.click("#add")
        driver.page.click(f"[data-add='{path}']")


def remove(driver: Driver, path: str) -> None:
    with driver.answering():
        driver.page.click(f"[data-feature='{path}'] .remove")


def offered(driver: Driver) -> list[str]:
    """What the menu offers, which is closed again."""
    driver.page.click("#add")
    paths = driver.page.locator("#add-menu [data-add]").evaluate_all("all => all.map(one => one.dataset.add)")
    driver.press("Escape")
    assert driver.page.is_hidden("#add-menu")
    assert driver.focused() == "add"
    return [str(path) for path in paths]


def check_temporal(driver: Driver) -> None:
    """Networks that change by themselves have their own sliders, and no other changes."""
    with driver.answering():
        driver.row("network").locator("select").select_option("temporal:activity_driven")
    sent = {"temporal": "activity_driven", "n": SMALL["network"]["n"], "contacts": 2, "exponent": 2.8, "floor": 0.05}
    assert driver.scenario()["network"] == sent
    with driver.answering():
        driver.type("network.contacts", 3)
    assert driver.scenario()["network"]["contacts"] == 3
    assert "network.dynamics" not in offered(driver)


def test_one_menu_adds_what_is_wanted_and_each_can_be_taken_out(driver: Driver) -> None:
    # Nothing is there before it is wanted.
    assert driver.page.locator(".feature").count() == 0
    assert offered(driver) == [*FEATURES]
    add(driver, "agents.adaptation")
    assert driver.scenario()["agents"]["adaptation"] == 0.05
    driver.choose("agents.adaptation", "some")
    adaptation = {"rate": 0.05, "adaptation_weight": {"law": "two_camps", "share": 0.5}}
    assert driver.scenario()["agents"]["adaptation"] == adaptation
    with driver.answering():
        driver.type("agents.adaptation.adaptation_weight.share", 0.25)
    assert driver.scenario()["agents"]["adaptation"]["adaptation_weight"] == {"law": "two_camps", "share": 0.25}
    add(driver, "network.dynamics")
    assert driver.scenario()["network"]["dynamics"] == {"kind": "failing_edges", "probability": 0.2}
    # What is added is offered no more.
    assert len(offered(driver)) == len(FEATURES) - 2
    remove(driver, "network.dynamics")
    assert "dynamics" not in driver.scenario()["network"]
    assert driver.page.locator("[data-feature='network.dynamics']").count() == 0
    add(driver, "agents.zealots")
    zealots = driver.scenario()["agents"]["zealots"]
    assert len(zealots) == 1
    # All of it is part of the link.
    shown = driver.linked()
    assert shown["scenario"]["agents"]["zealots"] == zealots
    assert shown["scenario"]["agents"]["adaptation"]["rate"] == 0.05
    check_temporal(driver)


def check_distrust(driver: Driver) -> None:
    """Distrust is drawn on the network, by keys and by clicks."""
    page = driver.page
    with driver.answering():
        driver.row("network").locator("select").select_option("k2")
    page.click("#add")
    page.click("[data-add='network.signed']")
    assert page.get_attribute("#draw-distrust", "aria-pressed") == "true"
    # By keys: one agent, and the other one.
    page.focus("#network")
    driver.press("ArrowRight", "Enter")
    assert "Now choose a neighbour of agent" in page.inner_text("#message-text")
    with driver.answering():
        driver.press("ArrowRight", "ArrowLeft", "ArrowRight", "Enter")
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
    driver.press("Escape")
    assert page.get_attribute("#draw-distrust", "aria-pressed") == "false"
    page.click("[data-feature='network.signed'] .remove")
    assert page.locator("#draw-distrust").count() == 0


def test_agents_are_made_to_distrust_others_and_to_be_zealots(driver: Driver) -> None:
    check_distrust(driver)
    page = driver.page
    driver.go({"scenario": {"network": {"named": "karate"}, "run": {"steps": 9}}, "view": {"agents": [0, 33]}})
    for agent in (0, 33):
        with driver.answering():
            page.click(f"#zealot-{agent}")
    assert driver.scenario()["agents"]["zealots"] == [0, 33]
    keys = page.eval_on_selector_all("#network-key li:not([hidden])", "all => all.map(one => one.dataset.key)")
    assert keys == ["arrow", "mutual", "zealot"]
    assert page.inner_text("#verdict-heading") == "Disagreement"


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
    # What is computed for one topic only says so, once.
    driver.exist("#recovered[data-state=refused]")
    assert "what an observer recovers must be about one topic here, got 2" in page.inner_text("#strip-error")
    assert pp.load_scenario(driver.take("toml", tmp_path)).topics == read.topics
    assert "topics" in driver.take("python", tmp_path).read_text("utf-8")
    # The topic is part of the link, and another one of the comparison.
    assert driver.linked()["view"]["topic"] == 1
    remove(driver, "topics")
    assert "topics" not in driver.scenario()
    assert page.is_hidden("#topic-mode")
