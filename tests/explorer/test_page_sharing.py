"""What can be taken away opens elsewhere, and what is brought in is read."""

from __future__ import annotations

import ast
import base64
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

import peerpressure as pp
from peerpressure.scenario.loading import scenario_from
from tests.explorer.driving import SMALL, STEPS, Driver, fragment_of

PICTURES = [f"figure:{what}" for what in ("curves", "network", "observer")]


def check_files(driver: Driver, folder: Path) -> None:
    """Files hold what is shown, and nothing that is not shown."""
    read = pp.load_scenario(driver.take("toml", folder))
    shown = scenario_from(driver.scenario())
    assert read.run == shown.run
    assert np.array_equal(read.model().x0, shown.model().x0)
    assert read.model().pressure == shown.model().pressure
    # Estimates would add much work to a scenario.
    assert read.observe is None
    driver.go_to(7)
    run = pp.simulate(read.model(), STEPS, replicates=read.run.replicates, seed=read.run.seed)
    assert driver.legend("spread") == pytest.approx(float(np.asarray(run.spread)[0, 7]), rel=1e-6)
    assert len(pd.read_csv(driver.take("csv", folder))) > STEPS
    with xr.open_dataset(driver.take("netcdf", folder), engine="scipy") as data:
        spread = float(data["spread"].isel(replicate=0).sel(time=7))
    assert driver.legend("spread") == pytest.approx(spread, rel=1e-6)
    program = ast.parse(driver.take("python", folder).read_text("utf-8"))
    assert "peerpressure" in {
        name.name for node in ast.walk(program) if isinstance(node, ast.Import) for name in node.names
    }
    for what in PICTURES:
        assert ElementTree.parse(driver.take(f"{what}:svg", folder)).getroot().tag == "{http://www.w3.org/2000/svg}svg"


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
    announced = "one => one.checkVisibility() && one.textContent.includes('being prepared')"
    driver.wait_for(f"() => ({announced})(document.getElementById('message'))", "word of files")
    page.evaluate("() => window.release()")
    driver.wait_for("() => window.saved.length === 4", "four files")
    driver.gone("#message")
    page.evaluate("() => { delete HTMLAnchorElement.prototype.click }")


def test_what_is_shown_can_be_taken_away(driver: Driver, tmp_path: Path) -> None:
    check_files(driver, tmp_path)
    check_files_at_once(driver)
    driver.go({"scenario": SMALL | {"time": {"continuous": True, "step": 0.1}, "run": {"steps": 10, "seed": 1}}})
    for what in ("toml", "python", "csv", "netcdf"):
        assert driver.take(what, tmp_path).stat().st_size > 100
    for what in PICTURES:
        with Image.open(driver.take(f"{what}:png", tmp_path)) as picture:
            assert min(picture.size) > 300
    # Not every method applies in continuous time.
    driver.observe()
    methods = "found => found.map(one => one.dataset.method)"
    assert driver.page.locator("[data-method]").evaluate_all(methods) == ["auto"]
    assert driver.page.is_disabled("#observe-methods input[value=ols]")
    observe = pp.load_scenario(driver.take("toml", tmp_path)).observe
    assert observe is not None
    assert observe.methods == ["auto"]


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


STRANGE = {
    "no base64": "#nonsense!",
    "not deflated": "#" + "A" * 300,
    "no scenario": fragment_of({"view": {}}),
    "not a state": fragment_of([1, 2, 3]),
    "strange sections": fragment_of({"scenario": {"network": {}, "agents": {"stubbornness": "x"}, "run": 3}}),
    "a file": fragment_of({"scenario": {"network": {"file": "/etc/passwd"}, "run": {"steps": 3}}}),
    "too large when unpacked": "#" + fragment_of("x" * 80_000_000)[1:],
}


def check_usual_start(driver: Driver, catalogue: dict[str, Any], name: str) -> None:
    assert driver.page.is_visible("#message"), name
    assert "where everybody starts" in driver.page.inner_text("#message-text"), name
    plain = catalogue["default"]["scenario"]
    wanted = {key: value for key, value in plain.items() if key not in ("observe", "privacy")}
    assert driver.scenario() == wanted, name


def test_addresses_open_what_they_hold_and_damaged_ones_the_usual_start(
    one_page: Driver, catalogue: dict[str, Any]
) -> None:
    driver, page = one_page, one_page.page
    driver.expected.add("422")
    driver.be_open()
    for count, (name, fragment) in enumerate(STRANGE.items()):
        # The usual start is computed only where it is not there already.
        with driver.answering():
            driver.type("run.seed", 50 + count)
        with driver.answering():
            page.evaluate("given => { location.hash = given }", fragment)
        check_usual_start(driver, catalogue, name)
    # A page that is loaded reads its address by the same means; one holds no state, and the server refuses the other.
    for name in ("no base64", "a file"):
        driver.asked.clear()
        driver.open(STRANGE[name])
        check_usual_start(driver, catalogue, name)
    # A server that was started with a link opens exactly that.
    state = {"scenario": SMALL, "view": {"time": 7, "agents": [2]}, "other": SMALL | {"noise": {"law": "none"}}}
    page.route("**/api/catalogue", lambda route: route.fulfill(json=catalogue | {"default": state}))
    page.emulate_media(reduced_motion="no-preference")
    driver.open()
    driver.exist("#name-a:not(:empty)")
    assert driver.scenario() == SMALL
    # It shows its time, and does not play by itself.
    assert page.inner_text("#time-shown") == "7"
    assert page.locator("#followed li").count() == 1
    assert page.inner_text("#differences tr").startswith("Noise")
    driver.check()
    driver.leave()
