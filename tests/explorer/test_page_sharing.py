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

import peerpressure as pp
from peerpressure.scenario.loading import scenario_from
from tests.explorer.driving import SMALL, STEPS, Driver, fragment_of


def taken(driver: Driver, what: str, folder: Path) -> Path:
    driver.page.click("#share")
    with driver.page.expect_download() as download:
        driver.page.click(f'[data-take="{what}"]')
    place = folder / download.value.suggested_filename
    download.value.save_as(place)
    return place


def test_the_scenario_is_a_file_that_the_library_reads(driver: Driver, tmp_path: Path) -> None:
    file = taken(driver, "toml", tmp_path)
    assert file.suffix == ".toml"
    read = pp.load_scenario(file)
    shown = scenario_from(driver.scenario())
    assert read.run == shown.run
    assert np.array_equal(read.model().x0, shown.model().x0)
    assert read.model().pressure == shown.model().pressure
    driver.go_to(7)
    run = pp.simulate(read.model(), STEPS, replicates=read.run.replicates, seed=read.run.seed)
    assert driver.legend("spread") == pytest.approx(float(np.asarray(run.spread)[0, 7]), rel=1e-6)


def test_data_open_in_pandas_and_xarray(driver: Driver, tmp_path: Path) -> None:
    table = pd.read_csv(taken(driver, "csv", tmp_path))
    assert len(table) > STEPS
    with xr.open_dataset(taken(driver, "netcdf", tmp_path), engine="scipy") as data:
        driver.go_to(11)
        spread = data["spread"].isel(replicate=0).sel(time=11)
        assert driver.legend("spread") == pytest.approx(float(spread), rel=1e-6)


def test_the_program_is_python(driver: Driver, tmp_path: Path) -> None:
    text = taken(driver, "python", tmp_path).read_text("utf-8")
    assert "peerpressure" in {
        name.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for name in node.names
    }
    compile(text, "program.py", "exec")


def test_pictures_are_pictures(driver: Driver, tmp_path: Path) -> None:
    from PIL import Image

    for what in ("curves", "network", "observer"):
        root = ElementTree.parse(taken(driver, f"figure:{what}:svg", tmp_path)).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        with Image.open(taken(driver, f"figure:{what}:png", tmp_path)) as picture:
            assert min(picture.size) > 300


def test_what_is_not_shown_is_not_exported(driver: Driver, tmp_path: Path) -> None:
    """Estimates add much work to a scenario, and not every method applies in continuous time."""
    assert pp.load_scenario(taken(driver, "toml", tmp_path)).observe is None
    continuous = SMALL | {"time": {"continuous": True, "step": 0.1}, "run": {"steps": 10, "seed": 1}}
    with driver.answering():
        driver.page.evaluate("given => { location.hash = given }", fragment_of({"scenario": continuous}))
    for what in (
        "toml",
        "python",
        "csv",
        "netcdf",
        *(f"figure:{one}:png" for one in ("curves", "network", "observer")),
    ):
        assert taken(driver, what, tmp_path).stat().st_size > 100
    with driver.answering("observations"):
        driver.page.click("#tab-observer")
    assert driver.page.locator("[data-method]").evaluate_all("found => found.map(one => one.dataset.method)") == [
        "auto"
    ]
    assert driver.page.is_disabled("#observe-methods input[value=ols]")
    observe = pp.load_scenario(taken(driver, "toml", tmp_path)).observe
    assert observe is not None
    assert observe.chosen_methods == ["auto"]


def test_files_that_are_asked_for_at_once_all_come(driver: Driver) -> None:
    driver.page.evaluate(
        """() => { window.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push(this.download) };
            for (const what of ['toml', 'toml', 'python', 'toml'])
                document.querySelector(`[data-take="${what}"]`).click() }"""
    )
    driver.page.wait_for_function("() => window.saved.length === 4")
    driver.page.evaluate("() => { delete HTMLAnchorElement.prototype.click }")
    assert driver.page.is_hidden("#message")


def test_a_file_that_takes_its_time_is_announced(driver: Driver) -> None:
    driver.page.evaluate(
        """() => { const plain = window.fetch;
            window.fetch = async (...asked) => {
                if (asked[0].includes('/export/')) await new Promise(go => { window.release = go });
                return plain(...asked) } }"""
    )
    driver.page.click("#share")
    with driver.page.expect_download():
        driver.page.click("[data-take=toml]")
        driver.page.wait_for_selector("#message:has-text('being prepared'):not([hidden])")
        driver.page.evaluate("() => window.release()")
    driver.page.wait_for_selector("#message", state="hidden")


def dropped(driver: Driver, name: str, data: bytes) -> None:
    driver.page.evaluate(
        """([name, data]) => { const bytes = Uint8Array.from(atob(data), sign => sign.charCodeAt(0));
            const held = new DataTransfer(); held.items.add(new File([bytes], name));
            for (const type of ['dragover', 'drop'])
                window.dispatchEvent(new DragEvent(type, { dataTransfer: held, bubbles: true, cancelable: true })) }""",
        [name, base64.b64encode(data).decode()],
    )


def test_an_edge_list_can_be_dropped_in(driver: Driver) -> None:
    with driver.answering():
        dropped(driver, "friends.csv", b"a,b\nb,c\nc,a\nc,d\n")
    assert driver.page.inner_text("#network-facts").startswith("4 agents · 4 edges")
    assert driver.page.is_hidden("#drop-cover")
    network = scenario_from(driver.scenario()).graph
    assert sorted(map(str, network.labels)) == ["a", "b", "c", "d"]
    assert network.edge_count == 4
    # The link holds the whole network.
    again = driver.module("address", "await module.decodeState(given)", driver.link())
    assert again["scenario"]["network"] == driver.scenario()["network"]


def test_a_graphml_file_can_be_dropped_in_and_its_agents_keep_their_names(driver: Driver) -> None:
    graph = nx.krackhardt_kite_graph()
    file = io.BytesIO()
    nx.write_graphml(nx.relabel_nodes(graph, {node: f"p{node}" for node in graph}), file)
    with driver.answering():
        dropped(driver, "kite.graphml", file.getvalue())
    assert driver.page.inner_text("#network-facts").startswith("10 agents · 18 edges")
    driver.page.focus("#network")
    driver.page.keyboard.press("ArrowRight")
    name = driver.page.text_content("#agent-card b")
    assert name in {f"p{node}" for node in graph}
    with driver.answering("exacts"):
        driver.page.keyboard.press("Enter")
    assert driver.sent("exact")["agents"] == [name]


def test_a_directed_graphml_file_stays_directed(driver: Driver) -> None:
    graph = nx.DiGraph([("ann", "bob"), ("bob", "cat"), ("cat", "bob")])
    held = io.BytesIO()
    nx.write_graphml(graph, held)
    with driver.answering():
        dropped(driver, "listeners.graphml", held.getvalue())
    assert "3 directed edges" in driver.page.inner_text("#message-text")
    network = driver.scenario()["network"]
    assert (network["directed"], network["edges"]) == (True, [[0, 1], [1, 2], [2, 1]])


def test_a_file_can_be_chosen_as_well(driver: Driver) -> None:
    with driver.page.expect_file_chooser() as chooser, driver.answering():
        driver.page.click("#choose-file")
        chooser.value.set_files({"name": "ring.txt", "mimeType": "text/plain", "buffer": b"0 1\n1 2\n2 3\n3 0\n"})
    assert driver.scenario()["network"]["edges"] == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert driver.row("network").locator("select").input_value() == "own"


def test_a_file_that_is_no_network_is_refused_and_the_picture_stays(driver: Driver) -> None:
    driver.expected.update({"415", "422"})
    facts = driver.page.inner_text("#network-facts")
    dropped(driver, "evil.exe", b"MZ")
    driver.page.wait_for_selector("#message[data-tone=bad]:not([hidden])")
    assert ".graphml" in driver.page.inner_text("#message-text")
    driver.page.click("#message-close")
    dropped(driver, "broken.graphml", b"<graphml><node></graphml>")
    driver.page.wait_for_selector("#message[data-tone=bad]:not([hidden])")
    assert driver.page.inner_text("#network-facts") == facts


STRANGE = {
    "no base64": "#nonsense!",
    "not deflated": "#" + "A" * 300,
    "no scenario": fragment_of({"view": {}}),
    "not a state": fragment_of([1, 2, 3]),
    "strange sections": fragment_of({"scenario": {"network": {}, "agents": {"stubbornness": "x"}, "run": 3}}),
    "a file": fragment_of({"scenario": {"network": {"file": "/etc/passwd"}, "run": {"steps": 3}}}),
    "too large when unpacked": "#" + fragment_of("x" * 80_000_000)[1:],
}


def check_usual_start(page: Driver, catalogue: dict[str, Any], name: str) -> None:
    assert page.page.is_visible("#message"), name
    assert "where everybody starts" in page.page.inner_text("#message-text"), name
    plain = catalogue["default"]["scenario"]
    wanted = {key: value for key, value in plain.items() if key not in ("observe", "privacy")}
    assert page.scenario() == wanted, name


def test_a_damaged_address_gives_a_message_and_the_usual_start(one_page: Driver, catalogue: dict[str, Any]) -> None:
    one_page.expected.add("422")
    one_page.be_open()
    for count, (name, fragment) in enumerate(STRANGE.items()):
        # The usual start is computed only where it is not there already.
        with one_page.answering():
            one_page.type("run.seed", 50 + count)
        with one_page.answering():
            one_page.page.evaluate("given => { location.hash = given }", fragment)
        check_usual_start(one_page, catalogue, name)
    # A page that is loaded reads its address by the same means; one holds no state, and the server refuses the other.
    for name in ("no base64", "a file"):
        one_page.asked.clear()
        one_page.open(STRANGE[name])
        check_usual_start(one_page, catalogue, name)
    one_page.check()


def test_a_view_that_makes_no_sense_is_shown_plainly(driver: Driver) -> None:
    scenario = {"network": {"generator": "k2"}, "run": {"steps": 5}}
    view = {"tab": "<b>", "agents": [{"a": 1}], "logTime": "yes", "time": -4, "speed": 0, "colour": 7}
    driver.open(fragment_of({"scenario": scenario, "view": view}))
    assert driver.scenario() == scenario
    assert driver.page.is_visible("#panel-curves")
    assert driver.page.get_attribute("#log-time", "aria-pressed") == "false"
