"""The report, the figures and the command of a comparison."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.plotting import comparison as draw
from tests.cli.calling import run
from tests.fitting.long_records import graph, record, walk

NAMES = ["none", "constant", "linear", "walk"]


@pytest.fixture(scope="module")
def found() -> pp.fitting.Comparison:
    network = graph(12)
    return pp.compare(record(network, 30, 1, lambda t: 0.3 * t), network, NAMES)


def test_the_report_has_the_answer_first_and_all_figures(found: pp.fitting.Comparison, tmp_path: Path) -> None:
    file = found.report(tmp_path / "report.html")
    text = file.read_text(encoding="utf-8")
    assert text.index("People respond to their neighbours.") < text.index("<img")
    headings = re.findall("<h2>(.*?)</h2>", text)
    assert headings[0].startswith("Which model")
    assert "Error of the next answer" in headings
    assert "Peer pressure over time" in headings
    assert text.count("<img") >= 4
    assert "friendships that form because people agree" in text
    # Nothing is fetched from elsewhere.
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)


def test_a_report_that_cannot_be_written_leaves_the_old_one(found: pp.fitting.Comparison, tmp_path: Path) -> None:
    with pytest.raises(pp.errors.FileFormatError):
        found.report(tmp_path / "missing" / "report.html")


def test_figures_show_what_the_tables_have(found: pp.fitting.Comparison) -> None:
    figure = found.plot()
    first, second, third, fourth = figure.axes
    assert [tick.get_text() for tick in first.get_yticklabels()] == list(found.table["model"])
    line = next(line for line in second.lines if len(line.get_xdata()) == found.panel.length)  # type: ignore[arg-type]
    assert np.allclose(np.asarray(line.get_ydata()), found.pressure["best"])
    assert third.get_xlabel() == "last answer"
    assert [text.get_text() for text in fourth.get_legend().get_texts()] == ["linear", "none", "walk"]  # type: ignore[union-attr]


def test_bands_of_pressure_fit_into_the_axes_or_say_how_far_they_reach() -> None:
    course = pd.DataFrame({"step": [2, 3, 4, 5], "best": 0.5})
    near = draw.pressure(course.assign(low=0.1, high=[0.9, 0.9, 1.4, 1.4]), "constant").axes[0]
    assert near.get_ylim()[1] > 1.4
    assert not [text for text in near.texts if "up to" in text.get_text()]
    far = draw.pressure(course.assign(low=0.1, high=[0.9, 0.9, 35.0, 35.0]), "constant").axes[0]
    assert far.get_ylim()[1] < 5
    assert [text.get_text() for text in far.texts if "up to" in text.get_text()] == ["up to 35"]
    endless = draw.pressure(course.assign(low=0.1, high=[np.inf, np.inf, 0.9, 0.9]), "constant").axes[0]
    assert "no upper end" in [text.get_text() for text in endless.texts]


def test_errors_of_the_best_model_are_the_smallest(found: pp.fitting.Comparison) -> None:
    means = found.errors.groupby("model")["error"].mean()
    assert means.idxmin() == "linear"


def test_faults_are_drawn_on_the_network(found: pp.fitting.Comparison) -> None:
    rows = [("stubbornness", 3, -1), ("tie", 4, 9), ("sign", 0, 1)]
    faults = pd.DataFrame(rows, columns=["kind", "first", "second"])
    figure = draw.missed([str(label) for label in found.network.labels], found.edges, faults)
    red = [line for line in figure.axes[0].lines if line.get_linewidth() > 1]
    assert [line.get_linestyle() for line in red] == ["-", "--"]


def test_a_walk_has_a_report_too(tmp_path: Path) -> None:
    network = graph(8)
    comparison = pp.compare(walk(8, 25, 1), network, ["none", "walk", "own-return"])
    text = comparison.report(tmp_path / "walk.html").read_text(encoding="utf-8")
    assert "Each agent moves on from its last answer" in text


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    network = graph(10)
    rows = record(network, 25, 1, lambda t: 0.3 * t)
    frame = pd.DataFrame(rows, columns=[f"p{k}" for k in range(10)])
    frame.insert(0, "wave", np.arange(1, 26))
    frame.to_csv(tmp_path / "answers.csv", index=False)
    pairs = np.argwhere(np.triu(network.adjacency.toarray()))
    pd.DataFrame([(f"p{i}", f"p{j}") for i, j in pairs]).to_csv(tmp_path / "edges.csv", index=False, header=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMAND = (
    "compare",
    "answers.csv",
    "--network",
    "edges.csv",
    "--rival",
    "none",
    "--rival",
    "constant",
    "--rival",
    "linear",
    "--rival",
    "walk",
)


def test_the_command_prints_the_answer_first(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    answer = run(capfd, *COMMAND, "--report", "report.html", "--out", "opinions.csv")
    assert answer.status == 0, answer.err
    read, *said = answer.out.splitlines()
    assert read.startswith("answers.csv: separated by commas")
    assert said[0] == "People respond to their neighbours."
    assert said[1].startswith("Pressure grows with time")
    assert "all models explain the same 240 answers" in answer.out
    assert (files / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    opinions = pd.read_csv(files / "opinions.csv")
    assert set(opinions["agent"]) == {f"p{k}" for k in range(10)}
    assert (opinions["low"] < opinions["high"]).all()


def test_the_command_answers_in_json(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    facts = run(capfd, *COMMAND, "--json").json
    assert facts["best"] == "linear"
    assert facts["models"][0]["model"] == "linear"
    assert len(facts["opinions"]) == 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", "missing.csv", "--network", "edges.csv"), "missing.csv"),
        (("compare", "answers.csv", "--network", "missing.csv"), "missing.csv"),
        ((*COMMAND, "--report", "report.pdf"), "a report must be an HTML file"),
        ((*COMMAND, "--out", "opinions.xlsx"), "opinions.xlsx"),
        ((*COMMAND, "--rival", "konstant"), "rivals of this record are"),
        ((*COMMAND, "--out", "answers.csv"), "answers.csv"),
    ],
)
def test_bad_arguments_write_nothing(
    files: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    before = {file.name: file.read_bytes() for file in files.iterdir()}
    refused = run(capfd, *arguments)
    assert refused.status in (1, 2)
    assert refused.out == ""
    assert words in refused.err
    assert "Traceback" not in refused.err
    assert {file.name: file.read_bytes() for file in files.iterdir()} == before


def test_agents_that_the_network_lacks_are_named(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = (files / "answers.csv").read_text(encoding="utf-8").replace("p3", "zoe", 1)
    (files / "answers.csv").write_text(text, encoding="utf-8")
    refused = run(capfd, *COMMAND)
    assert refused.status != 0
    assert "zoe" in refused.err
