"""Directed and signed networks and zealots on the page: files, what the drawing tells apart, and the verdict."""

from __future__ import annotations

from tests.explorer.driving import Driver, fragment_of

FOLLOWS = b"from,to\nann,bob\nbob,cat\ncat,bob\ndan,ann\n"
FEUD = b"ann,bob,1\nbob,cat,-1\nann,cat,-1\n"


def marks(driver: Driver) -> list[str]:
    """What the legend of the network explains."""
    return [
        str(key)
        for key in driver.page.eval_on_selector_all(
            "#network-key li:not([hidden])", "all => all.map(one => one.dataset.key)"
        )
    ]


def test_the_edges_of_a_file_have_a_meaning_that_can_be_chosen(driver: Driver) -> None:
    with driver.answering():
        driver.page.set_input_files("#file", {"name": "follows.csv", "mimeType": "text/csv", "buffer": FOLLOWS})
    assert driver.page.is_hidden("#network-key")
    choice = driver.row("network.direction").locator("select")
    for meaning, edges in (
        ("listens", [[0, 1], [1, 2], [2, 1], [3, 0]]),
        ("influences", [[0, 3], [1, 0], [1, 2], [2, 1]]),
    ):
        with driver.answering():
            choice.select_option(meaning)
        assert driver.scenario()["network"]["edges"] == edges
        choice = driver.row("network.direction").locator("select")
        assert choice.input_value() == meaning
    # Of this network dan listens to nobody.
    assert marks(driver) == ["arrow", "mutual", "zealot"]
    # Another network has no such question.
    with driver.answering():
        driver.row("network").locator("select").first.select_option("cycle")
    assert driver.row("network.direction").is_hidden()


def test_distrust_is_read_drawn_and_told_of(driver: Driver) -> None:
    with driver.answering():
        driver.page.set_input_files("#file", {"name": "feud.csv", "mimeType": "text/csv", "buffer": FEUD})
    assert marks(driver) == ["negative"]
    assert driver.page.inner_text("#verdict-heading") == "Bipartite consensus"
    assert str(driver.page.text_content("[data-key=camps]")).startswith("±")
    assert "own limit" in driver.page.inner_text("#distance-name")


def test_an_agent_that_is_followed_can_be_made_a_zealot(driver: Driver) -> None:
    with driver.answering():
        driver.page.evaluate(
            "hash => { location.hash = hash }",
            fragment_of(
                {"scenario": {"network": {"named": "karate"}, "run": {"steps": 9}}, "view": {"agents": [0, 33]}}
            ),
        )
    for agent, zealots in ((0, [0]), (33, [0, 33])):
        with driver.answering():
            driver.page.click(f"#zealot-{agent}")
        assert driver.scenario()["agents"]["zealots"] == zealots
    assert marks(driver) == ["arrow", "mutual", "zealot"]
    assert driver.page.inner_text("#verdict-heading") == "Disagreement"
    assert driver.page.get_attribute("#zealot-33", "aria-pressed") == "true"
    with driver.answering():
        driver.page.click("#zealot-33")
    assert driver.scenario()["agents"]["zealots"] == [0]
    assert driver.page.inner_text("#verdict-heading") == "Consensus on v"
