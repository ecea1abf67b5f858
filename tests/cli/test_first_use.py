"""What a new user meets first: help, completion, examples, and the verdict before the figures."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import peerpressure
from peerpressure import Frozen, cli
from peerpressure.cli import warmup
from peerpressure.explorer.shapes import shape_of
from peerpressure.support import progress
from tests import waiting
from tests.cli.calling import process, run

Captured = pytest.CaptureFixture[str]


def test_short_help_works_everywhere(capfd: Captured) -> None:
    for arguments in ([], ["run"], ["diagnose"], ["sweep"], ["sweep", "plot"]):
        answer = run(capfd, *arguments, "-h")
        assert answer.status == 0
        assert answer.out == run(capfd, *arguments, "--help").out
        assert answer.out.isascii()


def test_arguments_have_capital_letters(capfd: Captured) -> None:
    for command in cli.COMMANDS:
        usage = run(capfd, command, "--help").out.split("\n\n")[0].split("[OPTIONS]")[1]
        assert usage == usage.upper(), usage
        assert "[[" not in usage


def test_help_is_as_wide_as_the_terminal(capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    widths = {}
    for columns in (60, 110):
        monkeypatch.setattr(
            shutil, "get_terminal_size", lambda *_, columns=columns, **_options: os.terminal_size((columns, 24))
        )
        widths[columns] = max(map(len, run(capfd, "diagnose", "--help").out.splitlines()))
    assert widths[60] <= 60
    assert 90 < widths[110] <= 110


def test_completion_offers_commands_and_options() -> None:
    words = {"_PEERPRESSURE_COMPLETE": "complete_bash", "COMP_WORDS": "peerpressure di", "COMP_CWORD": "1"}
    assert process(**words).out.split() == ["diagnose"]
    words |= {"COMP_WORDS": "peerpressure diagnose --expl", "COMP_CWORD": "2"}
    assert process(**words).out.split() == ["--explain"]


def test_examples_are_written_with_the_files_that_they_name(tmp_path: Path, capfd: Captured) -> None:
    listed = run(capfd, "new", "--example", "?")
    names = [line.partition(":")[0] for line in listed.out.splitlines()]
    assert {"karate", "pressure_and_noise", "too_fast"} <= set(names)
    # One of each kind: with a file of numbers, in a folder of its own, a sweep, and alone.
    for name in ("graph", "own_data", "pressure_and_noise", "karate"):
        folder = tmp_path / name
        answer = run(capfd, "new", folder, "--example", name)
        assert answer.status == 0
        command = "sweep" if name == "pressure_and_noise" else "run"
        file = folder / ("study.toml" if (folder / "study.toml").exists() else f"{name}.toml")
        assert answer.out == f"{file}: edit it, then peerpressure {command} {file}\n"
        assert run(capfd, "check", file).status == 0
    assert {path.name for path in (tmp_path / "pressure_and_noise").iterdir()} == {
        "pressure_and_noise.toml",
        "too_fast.toml",
    }
    assert run(capfd, "new", tmp_path / "karate", "--example", "karate").status == 2


def test_compilation_is_announced_and_loading_is_not() -> None:
    from numba import njit

    shown: list[str] = []
    inner = njit(lambda x: x + 1)
    outer = njit(lambda x: 2 * inner(x))
    progress.announce_compilation()
    with progress.announcing(shown.append):
        outer(1)
        first = list(shown)
        outer(2)
    assert shown == first
    assert first == [progress.COMPILING, progress.COMPILING, ""]


def test_warmup_has_a_run_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name, _ in warmup._jobs()]
    assert len(names) == len(set(names)) == 4 * (len(warmup.KINDS) + 1) + 4
    # Other tests compile these kinds when they need them, so the runs are only looked at here.
    asked: list[Any] = []
    monkeypatch.setattr(peerpressure, "simulate", lambda system, *_, **__: asked.append(system))
    for kind in warmup.KINDS:
        warmup._simulate(kind, 1, np.dtype(float))
    plain, extended, frozen, continuous = asked
    assert (plain.adaptation, plain.temporal_network, plain.activation) == (None, None, None)
    assert extended.adaptation is not None
    assert extended.temporal_network is not None
    assert isinstance(frozen.noise.temporal, Frozen)
    assert continuous.path_method == "taylor"


@pytest.mark.parametrize("replicates", [1, 16])
@pytest.mark.parametrize("adaptation", [None, 0.1])
def test_threads_that_share_agents_need_no_kernel_of_their_own(adaptation: float | None, replicates: int) -> None:
    from peerpressure.simulation.engine import narrow, wide

    kernels = (narrow.run_narrow, wide.run_wide)
    model = peerpressure.Model(peerpressure.networks.cycle(10_000), hidden=[0.0, 1.0] * 5_000, adaptation=adaptation)
    alone = peerpressure.simulate(model, 20, replicates, threads=1, record="final")
    known = [set(kernel.signatures) for kernel in kernels]
    shared = peerpressure.simulate(model, 20, replicates, threads=2, record="final")
    assert [set(kernel.signatures) for kernel in kernels] == known
    np.testing.assert_array_equal(alone.final.public, shared.final.public)


@pytest.mark.parametrize("replicates", [1, 16])
def test_all_extensions_of_the_model_share_one_kernel(replicates: int) -> None:
    from peerpressure.simulation.engine import narrow, wide

    path, star = peerpressure.networks.path(4), peerpressure.networks.star(4)
    networks: tuple[Any, ...] = (path, peerpressure.TemporalNetwork.from_snapshots([path, star]))
    updates = (None, 0.5, "single", [[True, False] * 2] * 5)
    kernels = (narrow.run_narrow, wide.run_wide)
    known: list[set[Any]] = []
    for adaptation, network, activation in itertools.product((None, 0.1), networks, updates):
        parts: dict[str, Any] = {"adaptation": adaptation, "activation": activation}
        model = peerpressure.Model(network, hidden=[0.0, 1.0, 2.0, 3.0], **parts)
        peerpressure.simulate(model, 5, replicates)
        if activation is None:
            peerpressure.simulate(peerpressure.SDE(model, method="euler"), 5, replicates)
        # The first two are the model of the paper and an extension of it.
        known = known or [set(kernel.signatures) for kernel in kernels]
    assert [set(kernel.signatures) for kernel in kernels] == known


def test_warmup_compiles_what_estimates_use(monkeypatch: pytest.MonkeyPatch) -> None:
    from peerpressure.fitting import _integrated

    asked = set[str]()

    def noted(module: Any, name: str) -> None:
        kernel = getattr(module, name)()

        def asking() -> Any:
            asked.add(name)
            return kernel

        monkeypatch.setattr(module, name, asking)

    noted(_integrated, "_compiled")
    warmup._compare()
    assert asked == {"_compiled"}


def test_warmup_compiles_what_fits_to_answers_use(monkeypatch: pytest.MonkeyPatch) -> None:
    from peerpressure.fitting import _path_loops

    compiled, asked = {name: getattr(_path_loops, name) for name in ("forward", "backward")}, set[str]()

    def noted(name: str) -> Any:
        def asking(*arrays: Any) -> Any:
            asked.add(name)
            return compiled[name](*arrays)

        return asking

    for name in compiled:
        monkeypatch.setattr(_path_loops, name, noted(name))
    warmup._fit_answers()
    assert asked == {"forward", "backward"}


def test_warmup_draws_networks_that_have_no_shape_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[peerpressure.Network] = []
    monkeypatch.setattr("peerpressure.explorer.layout.drawing", drawn.append)
    warmup._draw()
    assert [network.directed for network in drawn] == [False, True]
    assert all(shape_of(network) is None for network in drawn)


def test_a_line_of_stages_announces_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.status import Status

    from peerpressure.cli.terminal import progress_line

    shown: list[str] = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(Status, "update", lambda _, text: shown.append(text))
    with progress_line() as show_stage:
        show_stage("diagnosing")
        progress.announce(progress.COMPILING)
        progress.announce("")
    assert shown == ["diagnosing", progress.COMPILING, "diagnosing"]


def test_a_diagnosis_needs_no_run(tmp_path: Path, capfd: Captured) -> None:
    file = tmp_path / "study.toml"
    file.write_text('[network]\ngenerator = "cycle"\nn = 7\n[noise]\nlaw = "gaussian"\n')
    answer = run(capfd, "diagnose", file, "--json")
    assert answer.status == 0
    assert answer.json["forecast"] is None
    # As if the file had that length, or the seed that its opinions are drawn from.
    assert run(capfd, "diagnose", file, "--seed", 3, "--json").json["value"] != answer.json["value"]
    found = run(capfd, "diagnose", file, "--steps", 40, "--json").json["forecast"]
    plain = run(capfd, "diagnose", "--network", "cycle:7", "--noise", "gaussian:1", "--steps", 40, "--json")
    assert found == plain.json["forecast"]
    # A network that changes has no law without a length.
    file.write_text('[network]\ngenerator = "cycle"\nn = 7\ndynamics = { kind = "failing_edges", probability = 0.2 }\n')
    lines = run(capfd, "diagnose", file).err.splitlines()
    assert len(lines) == 1
    assert "[run]" in lines[0]
    assert run(capfd, "diagnose", file, "--steps", 40).status == 0


DIAGNOSE = ["diagnose", "--network", "k2"]


@pytest.mark.parametrize("closed", [[1], [2], [0, 1, 2]])
def test_closed_streams_are_no_errors(closed: list[int]) -> None:
    """For instance of a service that wants no output."""
    shell = ["sh", "-c", " ".join(['exec "$@"', *(f"{number}>&-" for number in closed)]), "sh"]
    done = waiting.run([*shell, sys.executable, "-m", "peerpressure", "version"])
    assert done.returncode == 0
    assert done.stderr == ""
    assert bool(done.stdout) == (1 not in closed)


# Copies of a process that has loaded everything, each with closed streams as Python finds them when it starts: without
# an object. Their other streams are files, and their statuses are printed.
COPIES = """
import contextlib, io, json, os, sys
from peerpressure import cli
with contextlib.redirect_stdout(io.StringIO()):
    cli.invoke(["diagnose", "--network", "k2"])
for number, (arguments, closed) in enumerate(json.loads(sys.argv[1])):
    if not os.fork():
        for stream, name in enumerate(("stdin", "stdout", "stderr")):
            if stream in closed:
                os.close(stream)
                setattr(sys, name, None)
            elif stream:
                os.dup2(os.open(f"{name}-{number}", os.O_CREAT | os.O_WRONLY), stream)
        sys.argv[1:] = arguments
        cli.main()
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def test_commands_answer_through_the_streams_that_are_open(tmp_path: Path) -> None:
    cases = [(DIAGNOSE, [2]), ([*DIAGNOSE, "--json"], [1]), (["run", "missing.toml"], [2]), (DIAGNOSE, [0, 1, 2])]
    program = [sys.executable, "-c", COPIES, json.dumps(cases)]
    done = waiting.run(program, cwd=tmp_path)
    # An error without an error stream still has its status.
    assert (done.stdout.split(), done.stderr) == (["0", "0", "2", "0"], "")
    assert (tmp_path / "stdout-0").stat().st_size > 0
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir() if path.name != "stdout-0"} == {
        "stderr-1": 0,
        "stdout-2": 0,
    }


def test_ctrl_c_while_modules_load_is_one_line(capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "peerpressure.cli", Interrupted("peerpressure.cli"))
    with pytest.raises(SystemExit) as ended:
        import_module("peerpressure.__main__").main()
    assert ended.value.code == 130
    assert capfd.readouterr().err == "peerpressure: interrupted\n"
