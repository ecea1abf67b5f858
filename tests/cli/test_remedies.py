"""Remedies of the command line fit the place of the mistake: the file, the option or the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import run

Captured = pytest.CaptureFixture[str]
CYCLE = '[network]\ngenerator = "cycle"\nn = 6\n'
NOISE = '[noise]\nlaw = "gaussian"\nstd = 0.5\n'
SWEEP = 'scenario = "a.toml"\n[measure]\nnames = ["spread"]\n'


def _file(folder: Path, text: str, name: str = "a.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


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
        capfd, "recover", outputs, "--scenario", _file(tmp_path, network + NOISE + "[observe]\nfirst_step = 1\n")
    )
    assert answer.status == status
    assert "[run]" not in answer.err if status == 0 else "add a section [run]" in answer.err


def test_words_of_the_library_stay_whole_on_the_command_line(tmp_path: Path, capfd: Captured) -> None:
    rows = [f"{t},{i},{0.1 * i + 0.001 * ((7 * t + 3 * i) % 11) / 11:.5f}" for t in range(1, 9) for i in range(6)]
    outputs = _file(tmp_path, "\n".join(["time,agent,public", *rows]), "o.csv")
    file = _file(tmp_path, CYCLE + NOISE.replace("0.5", "1e-5"))
    assert "declare a rounding of 1e-05 with the method kalman" in " ".join(
        run(capfd, "recover", outputs, "--scenario", file).out.split()
    )


def test_recover_takes_several_methods(tmp_path: Path, capfd: Captured) -> None:
    rows = [f"{t},{i},{0.1 * i + 0.01 * t}" for t in range(1, 5) for i in range(6)]
    outputs = _file(tmp_path, "\n".join(["time,agent,public", *rows]), "o.csv")
    file = _file(tmp_path, CYCLE + NOISE)
    answer = run(capfd, "recover", outputs, "--scenario", file, "--method", "ols", "--method", "gls", "--json")
    assert [one["method"] for one in answer.json["methods"]] == ["ols", "gls"]
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


def test_one_number_serves_as_the_start_of_all(tmp_path: Path, capfd: Captured) -> None:
    text = CYCLE + "[agents]\nstart = 0.5\n[run]\nsteps = 5\n"
    assert run(capfd, "check", _file(tmp_path, text)).status == 0
    assert run(capfd, "check", _file(tmp_path, text.replace("0.5", "true"))).status == 2
    answer = run(capfd, "run", _file(tmp_path, text + "[output]\nfigures = false\nreport = false\n"), "--json")
    assert answer.status == 0
