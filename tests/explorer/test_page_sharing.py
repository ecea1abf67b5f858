"""What can be taken away opens elsewhere, and what is brought in is read."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
import xarray as xr

import peerpressure as pp
from peerpressure.scenario.loading import scenario_from
from tests.explorer.driving import Driver, fragment_of


def test_what_is_shown_can_be_taken_away(driver: Driver, tmp_path: Path) -> None:
    """Files hold what is shown, and nothing that is not shown; what is in them is looked at without a browser."""
    read = pp.load_scenario(driver.take("toml", tmp_path))
    shown = scenario_from(driver.scenario())
    assert read.run == shown.run
    assert np.array_equal(read.model().x0, shown.model().x0)
    # Estimates would add much work to a scenario.
    assert read.observe is None
    driver.go_to(7)
    with xr.open_dataset(driver.take("netcdf", tmp_path), engine="scipy") as data:
        spread = float(data["spread"].isel(replicate=0).sel(time=7))
    assert driver.legend("spread") == pytest.approx(spread, rel=1e-6)
    picture = ElementTree.parse(driver.take("figure:network:svg", tmp_path))
    assert picture.getroot().tag == "{http://www.w3.org/2000/svg}svg"
    check_files_at_once(driver)


def check_files_at_once(driver: Driver) -> None:
    """A file that takes its time is announced, and files that are asked for at once all come."""
    page = driver.page
    page.evaluate(
        """() => { window.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push(this.download) };
            const plain = window.fetch, held = new Promise(go => { window.release = go });
            window.fetch = async (...asked) => {
                if (asked[0].includes('/export/')) await held;
                return plain(...asked) };
            for (const what of ['toml', 'toml', 'python', 'toml'])
                document.querySelector(`[data-take="${what}"]`).click() }"""
    )
    announced = "one => one.checkVisibility() && one.textContent.includes('Preparing the file')"
    driver.wait_for(f"() => ({announced})(document.getElementById('message'))", "word of files")
    page.evaluate("() => window.release()")
    driver.wait_for("() => window.saved.length === 4", "four files")
    driver.gone("#message")


def drop(driver: Driver, name: str, data: bytes) -> None:
    driver.page.evaluate(
        """([name, data]) => { const bytes = Uint8Array.from(atob(data), sign => sign.charCodeAt(0));
            const held = new DataTransfer(); held.items.add(new File([bytes], name));
            for (const type of ['dragover', 'drop'])
                window.dispatchEvent(new DragEvent(type, { dataTransfer: held, bubbles: true, cancelable: true })) }""",
        [name, base64.b64encode(data).decode()],
    )


def graphml(graph: Any) -> bytes:
    held = io.BytesIO()
    nx.write_graphml(graph, held)
    return held.getvalue()


def check_dropped(driver: Driver) -> None:
    """Files that are dropped in become networks, with their names and directions."""
    page = driver.page
    with driver.answering():
        drop(driver, "friends.csv", b"a,b\nb,c\nc,a\nc,d\n")
    assert page.inner_text("#network-facts").startswith("4 agents · 4 edges")
    assert page.is_hidden("#drop-cover")
    network = scenario_from(driver.scenario()).graph
    assert sorted(map(str, network.labels)) == ["a", "b", "c", "d"]
    assert network.edge_count == 4
    # The link holds the whole network.
    assert driver.linked()["scenario"]["network"] == driver.scenario()["network"]
    kite = nx.krackhardt_kite_graph()
    with driver.answering():
        drop(driver, "kite.graphml", graphml(nx.relabel_nodes(kite, {node: f"p{node}" for node in kite})))
    assert page.inner_text("#network-facts").startswith("10 agents · 18 edges")
    page.focus("#network")
    driver.press("ArrowRight")
    name = page.text_content("#agent-card b")
    assert name in {f"p{node}" for node in kite}
    with driver.answering("exacts"):
        driver.press("Enter")
    assert driver.sent("exact")["agents"] == [name]
    with driver.answering():
        drop(driver, "listeners.graphml", graphml(nx.DiGraph([("ann", "bob"), ("bob", "cat"), ("cat", "bob")])))
    assert "3 directed edges" in page.inner_text("#message-text")
    network = driver.scenario()["network"]
    assert (network["directed"], network["edges"]) == (True, [[0, 1], [1, 2], [2, 1]])


def marks(driver: Driver) -> list[str]:
    """What the legend of the network explains."""
    keys = "all => all.map(one => one.dataset.key)"
    return [str(key) for key in driver.page.eval_on_selector_all("#network-key li:not([hidden])", keys)]


def choose_file(driver: Driver, name: str, data: bytes) -> None:
    with driver.page.expect_file_chooser() as chooser, driver.answering():
        driver.page.click("#choose-file")
        chooser.value.set_files({"name": name, "mimeType": "text/plain", "buffer": data})


def check_chosen(driver: Driver) -> None:
    """The edges of a file have a meaning that can be chosen, and distrust in it is read, drawn and told of."""
    page = driver.page
    choose_file(driver, "ring.txt", b"0 1\n1 2\n2 3\n3 0\n")
    assert driver.scenario()["network"]["edges"] == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert driver.row("network").locator("select").input_value() == "own"
    choose_file(driver, "feud.csv", b"ann,bob,1\nbob,cat,-1\nann,cat,-1\n")
    assert marks(driver) == ["negative"]
    assert page.inner_text("#verdict-heading") == "Bipartite consensus"
    assert str(page.text_content("[data-key=camps]")).startswith("±")
    assert "own limit" in page.inner_text("#distance-name")
    choose_file(driver, "follows.csv", b"from,to\nann,bob\nbob,cat\ncat,bob\ndan,ann\n")
    assert page.is_hidden("#network-key")
    meanings = {"listens": [[0, 1], [1, 2], [2, 1], [3, 0]], "influences": [[0, 3], [1, 0], [1, 2], [2, 1]]}
    for meaning, edges in meanings.items():
        driver.choose("network.direction", meaning)
        assert driver.scenario()["network"]["edges"] == edges
        assert driver.row("network.direction").locator("select").input_value() == meaning
    # Of this network dan listens to nobody.
    assert marks(driver) == ["arrow", "mutual", "zealot"]


def check_strange(driver: Driver) -> None:
    """A file that is no network is refused, and the picture stays."""
    driver.expected.update({"415", "422"})
    facts = driver.page.inner_text("#network-facts")
    for name, data, told in (("evil.exe", b"MZ", ".graphml"), ("broken.graphml", b"<graphml><node></graphml>", "")):
        drop(driver, name, data)
        driver.see("#message[data-tone=bad]:not([hidden])")
        assert told in driver.page.inner_text("#message-text")
        driver.page.click("#message-close")
    assert driver.page.inner_text("#network-facts") == facts


def test_networks_can_be_brought_in(driver: Driver) -> None:
    check_dropped(driver)
    check_chosen(driver)
    check_strange(driver)
    # Edges of a network that no file holds have no meaning to choose.
    with driver.answering():
        driver.row("network").locator("select").first.select_option("cycle")
    assert driver.row("network.direction").is_hidden()


def check_usual_start(driver: Driver, catalogue: dict[str, Any]) -> None:
    assert driver.page.is_visible("#message")
    assert "the default one" in driver.page.inner_text("#message-text")
    plain = catalogue["default"]["scenario"]
    wanted = {key: value for key, value in plain.items() if key not in ("observe", "privacy")}
    assert driver.scenario() == wanted
    # What was said this time would pass for what is said the next time.
    driver.page.click("#message-close")


# The policy of the page lets nothing run that it does not bring along.
INJECT = """() => { const script = document.createElement('script'); script.textContent = 'window.ran = 1';
    document.body.append(script);
    return window.ran ?? 0 }"""


def test_addresses_open_what_they_hold_and_damaged_ones_the_usual_start(
    one_page: Driver, catalogue: dict[str, Any]
) -> None:
    """One address holds no state, and the server refuses the other; all others are read by Node."""
    driver, page = one_page, one_page.page
    driver.expected.update({"422", "Content Security Policy", "violates the following"})
    driver.open("#nonsense!")
    check_usual_start(driver, catalogue)
    page.click("#laboratory")
    page.click("#theme")
    with driver.answering():
        driver.type("run.seed", 50)
    with driver.answering():
        file = {"scenario": {"network": {"file": "/etc/passwd"}, "run": {"steps": 3}}}
        page.evaluate("given => { location.hash = given }", fragment_of(file))
    check_usual_start(driver, catalogue)
    # Nothing that is brought in becomes markup, and a view that makes no sense is shown plainly.
    labels = ["<img src=x onerror=alert(1)>", "b", "c"]
    scenario = {"network": {"edges": [[0, 1], [1, 2]], "labels": labels}, "run": {"steps": 9}}
    view = {"tab": "<b>", "agents": labels, "logTime": "yes", "time": -4, "speed": 0, "colour": 7}
    # A server that was started with a link opens exactly that.
    state = {"scenario": scenario, "view": view, "other": scenario | {"noise": {"law": "gaussian", "std": 1}}}
    page.route("**/api/catalogue", lambda route: route.fulfill(json=catalogue | {"default": state}))
    driver.asked.clear()
    driver.open()
    driver.exist("#name-a:not(:empty)")
    assert driver.scenario() == scenario
    assert page.locator("#followed li").first.get_attribute("data-agent") == labels[0]
    assert page.locator("img").count() == 0
    assert page.evaluate(INJECT) == 0
    assert page.get_attribute("#log-time", "aria-pressed") == "false"
    assert page.inner_text("#differences tr").startswith("Noise")
    # What was chosen for the eyes is kept.
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    driver.check()
    driver.leave()
