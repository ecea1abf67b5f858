"""The command line as a user meets it: a process with arguments, two streams and an exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from peerpressure import __version__, cli
from peerpressure.errors import InvalidInputError, TooLargeError
from peerpressure.plotting import draw
from peerpressure.report.store import from_csv
from peerpressure.reproduction import _experiments
from tests import waiting
from tests.cli.calling import process

STEPS = "200"


def test_bad_usage_as_a_process(tmp_path: Path) -> None:
    done = process("paper", "--out", tmp_path, "--steps", "5")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith("peerpressure: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TooLargeError("a run must fit in memory, got more; record less"), 1),
        (OSError(28, "No space left on device", "somewhere"), 1),
        (MemoryError(), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_failures_are_one_line_with_their_status_and_leave_nothing(
    error: BaseException,
    status: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(_experiments, "convergence", fails)
    assert cli.invoke(["paper", "--out", str(tmp_path / "out")]) == status
    shown = capfd.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_errors_of_a_process_beside_are_raised() -> None:
    process = _experiments._beside(-1, separate_process=True, seeds=100, progress=lambda _: None)
    with process as extensions, pytest.raises(InvalidInputError, match="seed must be"):
        extensions()


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(_experiments, "convergence", fails)
    with pytest.raises(ZeroDivisionError):
        cli.invoke(["paper", "--out", str(tmp_path / "out")])


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_ends_a_run_with_130_and_no_traceback(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = f"""
import sys, time
from peerpressure import cli
from peerpressure.reproduction import _experiments
_experiments.convergence = lambda *_: (print("ready", flush=True), time.sleep(1_000))
sys.argv = ["peerpressure", "paper", "--workers", "2", "--out", {str(out)!r}]
cli.main()
"""
    command = [sys.executable, "-c", code]
    # A group of its own gets the signal, as a terminal sends it: the processes that the command started, too.
    with waiting.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert waiting.line_of(started) == "ready\n"
        assert started.stderr is not None
        os.killpg(started.pid, signal.SIGINT)
        assert waiting.wait_for_end(started) == 130
        assert started.stderr.read() == "peerpressure: interrupted\n"
    assert not out.exists()


def test_version_and_help(capfd: pytest.CaptureFixture[str]) -> None:
    for arguments in (["version"], ["--version"]):
        assert cli.invoke(arguments) == 0
        assert capfd.readouterr().out == f"peerpressure {__version__}\n"
    for arguments in ([], ["--help"]):
        assert cli.invoke(arguments) == 0
        assert "paper" in capfd.readouterr().out
    assert cli.invoke(["paper", "--help"]) == 0
    assert "consensus value" in capfd.readouterr().out


def test_one_figure_with_other_parameters(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "one"
    assert (
        cli.invoke(["paper", "--only", "agreement", "--set", "noise=0.5, agents=12,steps=100", "--out", str(out)]) == 0
    )
    assert "files written" in capfd.readouterr().out
    assert {path.suffix for path in (out / "figures").iterdir()} == {".pdf", ".png", ".svg"}
    agents = (out / "tables" / "agents.csv").read_text().splitlines()
    assert len(agents) == 13
    assert (out / "tables" / "summary.tex").read_text().startswith("\\begin{table}")
    assert not (out / "report.html").exists()


def test_one_figure_on_another_graph_under_another_pressure(tmp_path: Path) -> None:
    settings = "graph=karate,pressure=t^2,steps=100"
    assert cli.invoke(["paper", "--only", "failure", "--set", settings, "--out", str(tmp_path / "one")]) == 0
    files = (tmp_path / "one" / "tables").glob("*.csv")
    tables = {file.stem: from_csv(file.read_bytes()) for file in files}
    assert len(tables["agents"]) == 34
    runs = tables["summary"].set_index("run")
    assert runs["pressure"].to_dict() == {"slow_graph karate": "t", "fast_graph karate": "t^2"}
    assert set(runs["edges"]) == {78}
    titles = [axes.get_title("left") for axes in draw("failure", tables).axes]
    assert titles == [r"(a) karate, 78 edges, $\rho_t = t^{2}$"]


def test_every_figure_can_be_made_alone_but_the_one_that_compares_all() -> None:
    from peerpressure.plotting import FIGURES
    from peerpressure.reproduction._single import EXPERIMENTS, PARAMETERS, settable

    assert set(FIGURES) - set(EXPERIMENTS) == {"exact_vs_sampled"}
    assert set(EXPERIMENTS) <= set(FIGURES)
    assert {name for figure in EXPERIMENTS for name in settable(figure)} == set(PARAMETERS)
