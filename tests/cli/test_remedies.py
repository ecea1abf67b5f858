"""Remedies of the command line fit the place of the mistake: the file, the option or the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import SMALL, run

Captured = pytest.CaptureFixture[str]
CYCLE = '[network]\ngenerator = "cycle"\nn = 6\n'
NOISE = '[noise]\nlaw = "gaussian"\nstd = 0.5\n'
SWEEP = 'scenario = "a.toml"\n[measure]\nnames = ["spread"]\n'


def _file(folder: Path, text: str, name: str = "a.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_missing_section_is_added_as_a_section(tmp_path: Path, capfd: Captured) -> None:
    answer = run(capfd, "run", _file(tmp_path, CYCLE))
    assert answer.status == 2
    assert "add a section [run] with steps = …" in answer.err
    assert "add a section [network]" in run(capfd, "run", _file(tmp_path, "[run]\nsteps = 3\n")).err
    sweep = _file(tmp_path, 'scenario = "a.toml"\n', "sweep.toml")
    _file(tmp_path, SMALL)
    assert "add a section [measure] with names = …" in run(capfd, "sweep", sweep).err
    # A key that is no section stays one.
    assert "add n = …" in run(capfd, "check", _file(tmp_path, '[network]\ngenerator = "cycle"\n')).out


def test_scenarios_and_sweeps_are_told_apart(tmp_path: Path, capfd: Captured) -> None:
    scenario, sweep = _file(tmp_path, SMALL), _file(tmp_path, SWEEP, "sweep.toml")
    for command in (["sweep"], ["sweep", "status"], ["sweep", "collect"], ["sweep", "plot"]):
        answer = run(capfd, *command, scenario)
        assert answer.status == 2
        assert f"this is a scenario; use peerpressure run {scenario}" in answer.err
        assert answer.err.count("\n") == 1
    for arguments in (["run", sweep], ["diagnose", sweep], ["recover", sweep, "--outputs", "o.csv"]):
        answer = run(capfd, *arguments)
        assert answer.status == 2
        assert f"this is a sweep; use peerpressure sweep {sweep}" in answer.err
        assert answer.err.count("\n") == 1
    # A sweep that has lost its line scenario is none of the two.
    assert "add scenario = …" in run(capfd, "sweep", _file(tmp_path, '[measure]\nnames = ["mean"]\n')).err


@pytest.mark.parametrize(
    ("network", "status"),
    [
        (CYCLE, 0),
        (CYCLE + 'dynamics = { kind = "failing_edges", probability = 0.2 }\n', 2),
        (CYCLE + '[pressure]\nkind = "optimal"\n', 2),
    ],
    ids=["constant", "temporal", "optimal"],
)
def test_recover_needs_no_run_unless_the_model_does(network: str, status: int, tmp_path: Path, capfd: Captured) -> None:
    rows = [f"{t},{i},{0.1 * i + 0.01 * t}" for t in range(1, 5) for i in range(6)]
    outputs = _file(tmp_path, "\n".join(["time,agent,public", *rows]), "o.csv")
    answer = run(
        capfd, "recover", _file(tmp_path, network + NOISE + "[observe]\nfirst_step = 1\n"), "--outputs", outputs
    )
    assert answer.status == status
    assert "[run]" not in answer.err if status == 0 else "add a section [run]" in answer.err


def test_recover_takes_several_methods_and_other_options_once(tmp_path: Path, capfd: Captured) -> None:
    rows = [f"{t},{i},{0.1 * i + 0.01 * t}" for t in range(1, 5) for i in range(6)]
    outputs = _file(tmp_path, "\n".join(["time,agent,public", *rows]), "o.csv")
    file = _file(tmp_path, CYCLE + NOISE)
    answer = run(capfd, "recover", file, "--outputs", outputs, "--method", "ols", "--method", "gls", "--json")
    assert [one["method"] for one in answer.json["methods"]] == ["ols", "gls"]
    for twice in (["--out", "x", "--out", "y"], ["--out=x", "--out", "y"]):
        answer = run(capfd, "run", file, *twice)
        assert (answer.status, answer.out) == (2, "")
        assert "--out is given twice" in answer.err
    assert "--seed is given twice" in run(capfd, "diagnose", "--graph", "k2", "--seed", "1", "--seed", "1").err
    # What follows -- is no option, and an option's value may be the name of another.
    assert "twice" not in run(capfd, "check", "--", "--json").err


def test_components_of_a_file_are_chosen_in_the_file(tmp_path: Path, capfd: Captured) -> None:
    _file(tmp_path, "source,target\na,b\nb,c\nd,e\n", "e.csv")
    text = '[network]\nfile = "e.csv"\n[run]\nsteps = 5\n'
    answer = run(capfd, "check", _file(tmp_path, text))
    assert answer.status == 0
    assert "2 components" in answer.out
    answer = run(capfd, "check", _file(tmp_path, text.replace("[run]", "largest_component = true\n[run]")))
    assert answer.status == 0
    assert "3 agents, 2 edges, bipartite, degrees 1–2)" in answer.out
    _file(tmp_path, "time,source,target\n1,a,b\n2,c,d\n", "c.csv")
    answer = run(capfd, "check", _file(tmp_path, '[network]\ncontacts = "c.csv"\n[run]\nsteps = 5\n'))
    assert "set largest_component = true" in answer.out
    assert "()" not in answer.out
    random = '[network]\ngenerator = "erdos_renyi"\nn = 30\np = 0.02\n[run]\nsteps = 5\n'
    answer = run(capfd, "check", _file(tmp_path, random))
    assert "set connected to false" in answer.out
    assert "()" not in answer.out
    assert run(capfd, "check", _file(tmp_path, random.replace("p =", "connected = false\np ="))).status == 0


def test_a_list_of_another_length_is_counted(tmp_path: Path, capfd: Captured) -> None:
    answer = run(capfd, "check", _file(tmp_path, CYCLE + "[agents]\nhidden = [1, 2]\n[run]\nsteps = 5\n"))
    assert "got 2 numbers; give 6 numbers" in answer.out
    assert "vector" not in answer.out


@pytest.mark.parametrize("command", ["check", "run", "diagnose", "sweep", "recover"])
def test_an_unreadable_file_is_a_wrong_argument(command: str, tmp_path: Path, capfd: Captured) -> None:
    more = ["--outputs", "o.csv"] if command == "recover" else []
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"# caf\xe9\n")
    for place in (tmp_path / "none.toml", latin, tmp_path):
        answer = run(capfd, command, place, *more)
        # A folder in place of a sweep file has its own message.
        assert answer.status == 2, answer.err
        assert str(place) in answer.err + answer.out


def test_check_refuses_what_run_refuses_for_its_size(tmp_path: Path, capfd: Captured) -> None:
    large = '[network]\ngenerator = "cycle"\nn = 100000\n[run]\nsteps = 100000\nreplicates = 100\n'
    answer = run(capfd, "check", _file(tmp_path, large))
    assert answer.status == 2
    assert "run.record" in answer.out
    assert "8 TB" in answer.out
    assert "record" in answer.out
    answer = run(capfd, "check", _file(tmp_path, large), "--json")
    assert [problem["path"] for problem in answer.json["problems"]] == ["run.record"]
    small = run(capfd, "check", _file(tmp_path, large + 'record = "final"\n'))
    assert small.status == 0
    assert "of memory" in small.out


@pytest.mark.parametrize(
    ("text", "path", "remedy"),
    [
        ('[network]\ngenerator = "ring"\nn = 6\n', "line 2, network.generator", "did you mean 'cycle'?"),
        ('[network]\ngenerator = "BA"\nn = 6\n', "line 2, network.generator", "did you mean 'barabasi_albert'?"),
        ('[network]\ngenerator = "torus"\nn = 6\n', "line 2, network.generator", "one of barabasi_albert, watts"),
        ('[network]\ntemporal = "growth"\nn = 6\n', "line 2, network.temporal", "did you mean 'growing'?"),
        (CYCLE + 'dynamics = { kind = "failing" }\n', "line 4, network.dynamics.kind", "did you mean 'failing_edges'?"),
        (CYCLE + '[noise]\nlaw = "gausian"\n', "line 5, noise.law", "did you mean 'gaussian'?"),
        (CYCLE + '[noise]\nlaw = "normal"\n', "line 5, noise.law", "did you mean 'gaussian'?"),
        (CYCLE + '[pressure]\nkind = "liner"\n', "line 5, pressure.kind", "did you mean 'linear'?"),
        (CYCLE + '[agents]\nhidden = { law = "unifrm" }\n', "line 5, agents.hidden.law", "did you mean 'uniform'?"),
        (CYCLE + '[agents]\nhidden = { law = "gaussian" }\n', "line 5, agents.hidden.law", "did you mean 'normal'?"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(
    text: str, path: str, remedy: str, tmp_path: Path, capfd: Captured
) -> None:
    answer = run(capfd, "check", _file(tmp_path, text + "[run]\nsteps = 5\n"))
    assert answer.status == 2
    assert answer.out.count("\n") == 2
    assert f"{path}: " in answer.out
    assert remedy in answer.out


def test_one_number_serves_as_the_start_of_all(tmp_path: Path, capfd: Captured) -> None:
    text = CYCLE + "[agents]\nstart = 0.5\n[run]\nsteps = 5\n"
    assert run(capfd, "check", _file(tmp_path, text)).status == 0
    assert run(capfd, "check", _file(tmp_path, text.replace("0.5", "true"))).status == 2
    answer = run(capfd, "run", _file(tmp_path, text + "[output]\nfigures = false\nreport = false\n"), "--json")
    assert answer.status == 0


def test_outputs_that_cannot_be_read_are_a_wrong_argument(tmp_path: Path, capfd: Captured) -> None:
    answer = run(capfd, "recover", _file(tmp_path, CYCLE + NOISE), "--outputs", tmp_path / "none.csv")
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "none.csv" in answer.err
