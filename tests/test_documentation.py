"""Every block of code in the documentation runs, its generated pages are complete, and its links exist."""

from __future__ import annotations

import contextlib
import io
import pkgutil
import re
import runpy
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from docs import outputs
from docs.pages import NAMESPACES

import peerpressure as pp
from peerpressure import cli
from peerpressure.explorer.protocol import Limits
from peerpressure.reproduction._single import EXPERIMENTS, settable
from peerpressure.scenario import Experiment, results, scenario_from, states
from tests.explorer.asking import served
from tests.in_process import drawn_once, worker_here
from tests.sources import FILES

__all__ = ["drawn_once", "worker_here"]

ROOT = Path(__file__).parents[1]
PACKAGE = Path(pp.__file__).parent
EXAMPLES = PACKAGE / "scenario" / "examples"
# Copies of files of the repository, which are made when the documentation is built.
COPIED = {f"{name}.md" for name in ("contributing", "changelog", "conduct", "security", "machines")}
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in COPIED]
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS]
# Whose links must lead somewhere.
LINKED = [*PAGES, *sorted((ROOT / "benchmarks").glob("*.md")), *sorted((ROOT / "tests").rglob("*.md"))]

# What no test runs, by the beginning of a command or a line of a block, and why.
NOT_RUN = {
    "git clone ": "needs the address of the repository",
    "cd ": "goes to the folder of the clone",
    "pip install": "needs the package index; tests/test_distribution.py installs the wheel",
    "make ": "runs these tests, or takes minutes",
    "pre-commit install": "changes the hooks of the repository",
    "peerpressure explore": "serves until it is interrupted; tests/explorer starts it",
    "peerpressure story": "opens a browser; tests/story writes the page",
    "peerpressure paper": "takes minutes; tests/cli/test_paper.py runs a short one",
    "export ": "sets a variable of the shell",
    "peerpressure warmup": "takes a minute; tests/cli/test_first_use.py looks at what it compiles",
    "from dask_kubernetes.operator import": "needs a cluster",
    "from mpi4py import MPI": "needs several processes; tests/simulation/partition runs these blocks in three",
    "mpiexec ": "needs several processes; tests/simulation/partition starts them",
}
# Fewer steps, runs and figures show as well that a block runs.
SHORTER = {
    "steps=1000": "steps=60",
    "steps=500": "steps=100",
    "barabasi_albert(100_000,": "barabasi_albert(10_000,",
    "--steps 1000": "--steps 60",
    "\nn = 100 ": "\nn = 20 ",
    "steps = 1000": "steps = 20",
    "steps = 100\n": "steps = 20\n",
    "steps = 400": "steps = 40",
    "replicates=50": "replicates=5",
    "replicates = 20": "replicates = 3",
    "replications = 5": "replications = 1",
    "replications = 6": "replications = 1",
    "replications=100": "replications=2",
    "count = 4": "count = 2",
    "figures = true": "figures = false",
    "report = true": "report = false",
    "--workers 2": "--workers 1",
}
# What a scenario has where a block shows a part of one.
BASE: dict[str, Any] = {"network": {"file": "friends.csv"}, "run": {"steps": 20}}


class Block(NamedTuple):
    """A block of code on a page: its language and its text."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    fences = r"^( *)```(python|toml|sh)\n(.*?)^\1```$"
    found = re.findall(fences, page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [Block(language, text) for _, language, text in found]


def left_out(line: str) -> bool:
    return any(line.startswith(beginning) for beginning in NOT_RUN)


def shorter(text: str) -> str:
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


def shorten(folder: Path) -> None:
    """Let the scenarios in a folder take less time."""
    for file in folder.rglob("*.toml"):
        file.write_text(shorter(file.read_text(encoding="utf-8")), encoding="utf-8")


def run_python(code: str, names: dict[str, Any]) -> outputs.Output:
    if any(left_out(line) for line in code.splitlines()):
        return outputs.Output("", None)
    return outputs.execute(code, names)


def run_shell(code: str) -> None:
    for line in code.splitlines():
        command = line.split("  #")[0].split(" # ")[0].strip()
        for part in filter(None, command.split(" && ")):
            if left_out(part):
                continue
            program, *arguments = shlex.split(part)
            assert program == "peerpressure", f"{part!r} is neither run nor listed in NOT_RUN"
            assert cli.invoke(arguments) == 0, part
            if arguments[0] == "new":
                shorten(Path())


def variants(text: str) -> Iterator[str]:
    """Yield the block, and the block with each line that is commented out in place of the line of the same key."""
    yield text
    for comment, key in re.findall(r"^(# (\w+) = .*)$", text, flags=re.MULTILINE):
        yield re.sub(rf"^{key} = .*$", comment.removeprefix("# "), text, count=1, flags=re.MULTILINE)


def run_toml(text: str) -> None:
    for variant in variants(text):
        given = tomllib.loads(variant)
        if "scenario" in given:
            Path("sweep.toml").write_text(variant, encoding="utf-8")
            assert cli.invoke(["check", "sweep.toml"]) == 0, variant
            continue
        missing = {name: value for name, value in BASE.items() if name not in given}
        file = Path("scenario.toml")
        file.write_text(_toml(missing) + variant, encoding="utf-8")
        assert cli.invoke(["check", str(file)]) == 0, variant


def _toml(tables: dict[str, Any]) -> str:
    keys = {name: "".join(f"{key} = {value!r}\n" for key, value in table.items()) for name, table in tables.items()}
    return "".join(f"[{name}]\n{lines}\n" for name, lines in keys.items())


def prepare(folder: Path, page: str = "") -> None:
    """Put into a folder the shipped examples, a graph with the same people as a file of Gephi, and a page's modules."""
    # A page that writes the example itself must find no file that it would overwrite.
    if "peerpressure new . --example own_data" not in page:
        shutil.copytree(EXAMPLES / "own_data", folder, dirs_exist_ok=True)
    (folder / "friends.gexf").write_bytes(_gephi())
    for name, module in re.findall(r"[Ss]ave this as `(\w+\.py)`:\n\n```python\n(.*?)```", page, flags=re.DOTALL):
        (folder / name).write_text(module, encoding="utf-8")


@cache
def _gephi() -> bytes:
    import networkx as nx
    import pandas as pd

    own, file = EXAMPLES / "own_data", io.BytesIO()
    people = pd.read_csv(own / "people.csv", sep=";", decimal=",").set_index("name")
    friends = pd.read_csv(own / "friends.csv", sep=";", decimal=",")
    graph = nx.from_pandas_edgelist(friends, "Source", "Target", ["Weight"])
    for column, name in (("opinion", "opinion"), ("stubbornness", "s")):
        nx.set_node_attributes(graph, people[column].to_dict(), name)
    nx.write_gexf(graph, file)
    return file.getvalue()


@pytest.mark.usefixtures("drawn_once", "worker_here")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "__page__"}
    whole = page.read_text(encoding="utf-8")
    # Pages that show outputs print and draw these, and are short enough.
    shown = outputs.shown(whole)
    with contextlib.ExitStack() as stack:
        address = "http://127.0.0.1:8321"
        live = stack.enter_context(served(Limits())) if address in whole else address
        stack.enter_context(outputs.style())
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        prepare(tmp_path, whole)
        if not shown:
            shorten(tmp_path)
        for block in blocks(page):
            text = block.text if shown else shorter(block.text)
            if block.language == "python":
                output = run_python(text.replace(address, live.rstrip("/")), names)
                assert outputs.stale(page, shown.get(text, outputs.Shown(None, None)), output) == []
            elif block.language == "sh":
                run_shell(text)
            else:
                run_toml(text)


def test_outputs_that_changed_are_found(tmp_path: Path) -> None:
    page, picture = tmp_path / "page.md", "images/outputs/page-1.webp"
    code = "import matplotlib.pyplot as plt\n\nplt.plot([1, {last}])\nprint('ends at', {last} / 3)\n"
    block = f"```python\n{code.format(last=4)}```\n\n```text\n```\n\n![A line]({picture})\n"
    page.write_text(block, encoding="utf-8")
    (tmp_path / picture).parent.mkdir(parents=True)
    outputs.write(page)
    ((now, show),) = outputs.shown(page.read_text(encoding="utf-8")).items()
    assert show == outputs.Shown("ends at 1.3333333333333333\n", picture)
    with outputs.style():
        same, other = (outputs.execute(text, {}) for text in (now, code.format(last=-4)))
        assert outputs.stale(page, show, same) == []
        assert outputs.stale(page, show, same._replace(printed="ends at\n1.334")) == []
        assert len(outputs.stale(page, show, other)) == 2
        assert len(outputs.stale(page, show, outputs.Output("stops at 1.333", None))) == 2


def test_code_fits_into_the_page_in_every_usual_font() -> None:
    # docs/check.py measures the same in a browser, where docs/_static/custom.css sets the size of the letters.
    lines = [(page.name, line) for page in DOCS for block in blocks(page) for line in block.text.splitlines()]
    assert [(page, line) for page, line in lines if len(line) > 119] == []


def test_the_page_on_own_data_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    page = (ROOT / "docs" / "howto" / "data.md").read_text(encoding="utf-8")
    shown = "".join(re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)).splitlines()
    assert cli.invoke(["check", "study.toml"]) == 0
    checked = capfd.readouterr().out
    assert cli.invoke(["recover", "observed.csv", "--scenario", "study.toml"]) == 0
    assert [line for line in checked.splitlines()[1:] if line not in shown] == []
    words = " ".join((checked + capfd.readouterr().out).split())
    # Abridged lines end in an ellipsis, and the files stand side by side.
    files = shown.index(next(line for line in shown if line.startswith("…")))
    told = [line.rstrip("…").strip() for line in shown[files + 1 :]]
    assert [line for line in told if " ".join(line.split()) not in words] == []


def without_code(text: str) -> str:
    """Return a page without its code and its comments, which no reader of the sources sees."""
    return re.sub(r"<!--.*?-->|^( *)(```+).*?^\1\2$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: those of its headings, as GitHub and MyST make them."""
    text = re.sub(r"^( *)(```+).*?^\1\2$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def lost_links(page: Path) -> list[str]:
    """Return the links and pictures of a page that lead to no file, or to no heading of a page."""
    text = without_code(page.read_text(encoding="utf-8"))
    # Of a card, :link: names a page without its ending.
    links = [f"{link}.md" for link in re.findall(r"^:link: (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)]
    links += re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)
    lost = []
    for link in links:
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if "://" in link or link.startswith("mailto:"):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            lost.append(link)
    return lost


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    assert {page.name: lost for page in LINKED if (lost := lost_links(page))} == {}


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a-heading) [c](there.md#another) ![d](no.png) `[e](f.md)`", encoding="utf-8"
    )
    assert lost_links(page) == ["there.md#another", "no.png"]


def test_pages_are_readable_in_the_repository() -> None:
    # There a directive of Sphinx is code, or plain text. Only the first page of the built documentation has some.
    directives = r"^ *(?::{3,}|```)\{.*"
    pages = [page for page in PAGES if page != ROOT / "docs" / "contents.md"]
    assert [(page.name, line) for page in pages for line in re.findall(directives, page.read_text("utf-8"), re.M)] == []


def test_every_page_is_listed_in_a_table_of_contents() -> None:
    listed = set()
    for page in DOCS:
        for tree in re.findall(r"<!-- \{toctree\}\n(.*?)-->", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            names = [line.strip() for line in tree.splitlines() if line.strip() and not line.startswith(":")]
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    assert [page for page in DOCS if page not in listed and page != ROOT / "docs" / "contents.md"] == []


def test_paths_and_names_exist() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    # The changelog's table of moved names has in its first column what no longer exists.
    moved = re.search(r"^\| before \| now \|\n(?:\|.*\n)+", text, flags=re.MULTILINE)
    assert moved
    text = text.replace(moved[0], "\n".join(row.split("|")[2] for row in moved[0].splitlines()))
    # `engine/wide.py` and the like are paths within the package, and `benchmarks/` beside it.
    named = r"(?<!ave this as )`([a-z_/]+\.(?:py|cu)|[a-z_]+/)`"
    modules = set(re.findall(named, text))
    assert [name for name in modules if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []
    # `random.gauss` is Python's, and `network.dynamics` a key of scenario files.
    names = set(re.findall(r"`(?:pp\.|peerpressure\.)?(\w+)\.(\w+)(?!\.json)\b", text))
    names -= {("random", "gauss"), ("network", "dynamics")}
    files = {"csv", "graphml", "json", "nc", "py", "pyi", "sh", "toml"}
    assert sorted(f"{home}.{name}" for home, name in names if name not in files and not is_known(home, name)) == []


@cache
def modules() -> dict[str, list[str]]:
    """Return the full names of the public modules of the package by the last part of each."""
    found: dict[str, list[str]] = {}
    for module in pkgutil.walk_packages(pp.__path__, "peerpressure."):
        if "._" not in module.name:
            found.setdefault(module.name.rpartition(".")[2], []).append(module.name)
    return found


@cache
def attributes() -> set[str]:
    """Return the names of all attributes of public classes."""
    public = [getattr(import_module(home), name) for home in NAMESPACES for name in dir(import_module(home))]
    classes = {value for value in public if isinstance(value, type)}
    return {name for one in classes for name in (*dir(one), *getattr(one, "__annotations__", ()))}


def is_known(home: str, name: str) -> bool:
    """Whether ``home.name`` is in a module or class of the package, or an attribute of a variable called that."""
    homes = modules().get(home, [])
    if homes and (name in modules() or any(hasattr(import_module(module), name) for module in homes)):
        return True
    if home in {"model", "network", "noise", "plan", "run", "sde"} or isinstance(getattr(pp, home, None), type):
        return name in attributes()
    return not homes


def test_prose_has_no_names_of_classes() -> None:
    classes = {name for file in FILES for name in re.findall(r"^ *class (\w+)", file.read_text("utf-8"), flags=re.M)}
    code = re.compile(r"^( *)```.*?^\1```$|`[^`]*`|\]\([^)]*\)", flags=re.DOTALL | re.MULTILINE)
    # One word with a capital may begin a sentence.
    words = {page.name: re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", code.sub("", page.read_text("utf-8"))) for page in PAGES}
    assert {name: found for name, given in words.items() if (found := classes.intersection(given))} == {}


def test_generated_pages_are_current() -> None:
    # Otherwise: python docs/pages.py
    made = runpy.run_path(str(ROOT / "docs" / "pages.py"))["committed_pages"]()
    folder = ROOT / "docs" / "reference"
    assert [name for name, text in made.items() if (folder / name).read_text(encoding="utf-8") != text] == []


# The table dictionary is written by hand; what it lists is what is written.


def dictionary() -> dict[str, list[str]]:
    page = (ROOT / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    parts = re.split(r"^### `(\w+)`$", page, flags=re.MULTILINE)[1:]
    return {name: re.findall(r"^- `(\w+)`:", text, re.MULTILINE) for name, text in zip(*[iter(parts)] * 2, strict=True)}


def written() -> dict[str, set[str]]:
    """The columns of every table of three scenarios that have all tables between them."""
    plain: dict[str, Any] = {
        "network": {"generator": "barabasi_albert", "n": 6, "m": 2, "seed": 1},
        "noise": {"law": "gaussian", "std": 0.5},
        "run": {"steps": 30, "seed": 1},
        "observe": {"methods": ["innovations"], "unknown_network": {}},
        "privacy": {},
        "output": {"states": True},
    }
    network = plain["network"] | {"dynamics": {"kind": "failing_edges", "probability": 0.2}}
    extended = plain | {"network": network, "agents": {"adaptation": 0.1}, "observe": {"methods": ["kalman"]}}
    found: dict[str, set[str]] = {}
    topical = plain | {"topics": {"names": ["tax", "rent"]}, "observe": {"methods": ["innovations"]}}
    for scenario in (plain, extended, topical):
        experiment = Experiment(scenario_from(scenario))
        tables = results(experiment) | {"states": next(states(experiment.run, 100))}
        for name, table in tables.items():
            found[name] = found.get(name, set()) | set(table.columns)
    return found


def test_the_table_dictionary_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    assert cli.invoke(["recover", "observed.csv", "--scenario", "study.toml", "--out", "recovered.csv"]) == 0
    model = pp.Model(pp.networks.cycle(5), hidden=range(5), noise=pp.Gaussian(1.0))
    fitted = pp.fit(pp.recovery.answers_of(pp.simulate(model, 20, seed=1), model), model, ("std",))
    found = written() | {
        "recover": set(Path("recovered.csv").read_text(encoding="utf-8").splitlines()[0].split(",")),
        "fit": set(fitted.to_dataframe().columns),
        "sweep": {"replication", "measure", "detail", "replicate", "value"},
    }
    assert {name: set(columns) for name, columns in dictionary().items()} == found


def test_the_page_says_what_combines_with_what() -> None:
    # Otherwise: python docs/combines.py
    combines = runpy.run_path(str(ROOT / "docs" / "combines.py"))
    assert combines["content"]() == combines["current"]()


def test_tables_have_as_many_cells_in_each_row_as_in_the_head() -> None:
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    text = "\n".join(re.sub(r"^( *)(```+).*?^\1\2", "", page, flags=re.DOTALL | re.MULTILINE) for page in pages)
    for table in re.findall(r"(?:^ *\|.*\n)+", text, flags=re.MULTILINE):
        bars = {line: len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(set(bars.values())) == 1, bars


def test_the_page_on_the_paper_has_every_figure_with_its_number_and_parameters() -> None:
    page = (ROOT / "docs" / "howto" / "paper.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (Figure \d+|–) \| `(\w+)` \| (.*) \|$", page, flags=re.MULTILINE)
    assert {name: re.findall(r"`(\w+)`", taken) for _, name, taken in rows} == {
        name: settable(name) for name in EXPERIMENTS
    }
    report = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "report" / "templates").rglob("*.html"))
    captions = re.findall(r'figure\("(\w+)".*?"(Figure \d+)(?:, Appendix A)?"\)', report)
    assert {name: number for number, name, _ in rows if number != "–"} == dict(captions)


def test_the_gallery_shows_every_example_with_its_sentence() -> None:
    folder = ROOT / "docs" / "gallery"
    index = (folder / "index.md").read_text(encoding="utf-8")
    cards = re.findall(r"\(thumbnails/(.*)\.webp\)\]\((.*)\.md\) \| \*\*\[(.*)\]\((.*)\.md\)\*\*<br>(.*) \|", index)
    pages = {page.stem: page.read_text(encoding="utf-8") for page in folder.glob("*.md") if page.stem != "index"}
    assert sorted(link for *_, link, _ in cards) == sorted(pages)
    for picture, target, title, link, sentence in cards:
        assert picture == target == link
        assert pages[link].startswith(f"# {title}\n\n{sentence}\n")
