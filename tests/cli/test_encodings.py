"""Every command speaks in whatever encoding its output has: readable, and without a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = """[network]
edges = [[0, 1], [1, 2], [0, 2]]
labels = ["Jörg", "ρ", "Cat"]
[noise]
law = "gaussian"
[run]
steps = 9
[observe]
[privacy]
[output]
figures = false
report = false
"""
SWEEP = """scenario = 'study.toml'
replications = 1
[[axis]]
field = 'noise.std'
values = [0.5]
[measure]
names = ['spread']
"""
OUTPUTS = "time,Jörg,ρ,Cat\n" + "".join(f"{t},0.1,0.2,0.3\n" for t in range(1, 9))
COMMANDS: list[list[str]] = [
    ["--help"],
    *([name, "--help"] for name in ("new", "check", "run", "diagnose", "recover", "explore", "paper", "sweep")),
    ["version"],
    ["new", "started"],
    ["check", "study.toml"],
    ["check", "study.toml", "--json"],
    ["check", "bad.toml"],
    ["run", "bad.toml"],
    ["diagnose", "study.toml", "--pressure", "2^sqrt(t)"],
    ["diagnose", "--graph", "star:9", "--pressure", "2^sqrt(t)", "--noise", "gaussian:1", "--steps", "20"],
    ["diagnose", "--graph", "cycle:9", "--adaptation", "0.1", "--noise", "gaussian:1"],
    ["diagnose", "--graph", "cycle:9", "--continuous"],
    ["diagnose", "--graph", "ρ"],
    ["run", "study.toml"],
    ["run", "study.toml", "--json"],
    ["recover", "study.toml", "--outputs", "outputs.csv"],
    ["recover", "study.toml", "--outputs", "missing.csv"],
    ["recover", "study.toml", "--outputs", "outputs.csv", "--json"],
    ["sweep", "run", "sweep.toml"],
    ["sweep", "status", "sweep.toml"],
    ["sweep", "collect", "sweep.toml"],
    ["sweep", "measures"],
]
FAILING = {("check", "bad.toml"): 2, ("run", "bad.toml"): 2, ("diagnose", "ρ"): 2, ("recover", "missing.csv"): 1}
ENVIRONMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "cp1252": ("cp1252", {"PYTHONIOENCODING": "cp1252"}),
    "latin-1": ("latin-1", {"PYTHONIOENCODING": "latin-1"}),
    "ascii": ("ascii", {"PYTHONIOENCODING": "ascii"}),
    "the plain locale": ("ascii", {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "utf-8": ("utf-8", {"PYTHONIOENCODING": "utf-8"}),
}
# One process for all commands, as the shell would call them one by one: its start takes longer than most of them.
DRIVER = """
import json, sys
from peerpressure import cli
for arguments in json.loads(sys.argv[1]):
    sys.stdout.write("\\n>>> "); sys.stdout.flush()
    sys.stderr.write("\\n>>> "); sys.stderr.flush()
    status = cli.invoke(arguments)
    sys.stdout.write(f"\\n<<< {status}"); sys.stdout.flush()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "bad.toml").write_text(SCENARIO.replace("gaussian", "ρ"), encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    (tmp_path / "outputs.csv").write_text(OUTPUTS, encoding="utf-8")
    return tmp_path


def python(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[bytes]:
    # Only what bears on encodings is taken out of the environment.
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONIO", "LC_", "LANG"))}
    plain = {name: value for name, value in plain.items() if name not in ("PYTHONUTF8", "PYTHONCOERCECLOCALE")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, check=False, env={**plain, **settings}
    )


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_command_speaks_in_every_encoding(name: str, folder: Path) -> None:
    encoding, settings = ENVIRONMENTS[name]
    done = python(folder, "-c", DRIVER, json.dumps(COMMANDS), **settings)
    out, err = done.stdout.decode(encoding), done.stderr.decode(encoding)
    assert done.returncode == 0, err
    assert "Traceback" not in err
    answers = [part.rpartition("\n<<< ") for part in out.split("\n>>> ")[1:]]
    for command, (said, _, status), told in zip(COMMANDS, answers, err.split("\n>>> ")[1:], strict=True):
        failing = {FAILING.get((command[0], word)) for word in command[1:]} - {None}
        assert {int(status)} == (failing or {0}), (command, told)
        assert "\ufffd" not in said + told
        if "--json" in command:
            assert "ρ" in json.dumps(json.loads(said), ensure_ascii=False) or command[0] != "recover"
    fate = answers[COMMANDS.index(["diagnose", "study.toml", "--pressure", "2^sqrt(t)"])][0]
    assert ("rho_t" in fate) == (encoding != "utf-8"), fate


@pytest.mark.parametrize("name", ["cp1252", "the plain locale"])
def test_the_command_itself_does_so_too(name: str, folder: Path) -> None:
    encoding, settings = ENVIRONMENTS[name]
    done = python(folder, "-m", "peerpressure", "diagnose", "study.toml", "--pressure", "2^sqrt(t)", **settings)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "rho_t = 2^sqrt(t)" in done.stdout.decode(encoding)
    done = python(folder, "-m", "peerpressure", "check", "bäd.toml", **settings)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
