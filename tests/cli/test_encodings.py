"""Every command speaks in whatever encoding its output has: readable, and without a traceback."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests import waiting

ROOT = Path(__file__).parents[2]
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
NAMES = ("new", "check", "run", "diagnose", "recover", "release", "explore", "paper", "sweep", "warmup")
WITH_RHO = ["diagnose", "study.toml", "--pressure", "2^sqrt(t)"]
COMMANDS: list[list[str]] = [
    ["--help"],
    *([name, "--help"] for name in NAMES),
    ["version"],
    ["new", "started"],
    ["check", "study.toml"],
    ["check", "study.toml", "--json"],
    ["check", "bad.toml"],
    ["run", "bad.toml"],
    WITH_RHO,
    ["diagnose", "--network", "star:9", "--pressure", "2^sqrt(t)", "--noise", "gaussian:1", "--steps", "20"],
    ["diagnose", "--network", "cycle:9", "--adaptation", "0.1", "--noise", "gaussian:1"],
    ["diagnose", "--network", "cycle:9", "--continuous"],
    ["diagnose", "--network", "ρ"],
    ["run", "study.toml"],
    ["run", "study.toml", "--json"],
    ["recover", "outputs.csv", "--scenario", "study.toml"],
    ["recover", "missing.csv", "--scenario", "study.toml"],
    ["recover", "outputs.csv", "--scenario", "study.toml", "--json"],
    ["sweep", "run", "sweep.toml", "--workers", "1"],
    ["sweep", "status", "sweep.toml"],
    ["sweep", "collect", "sweep.toml"],
    ["sweep", "measures"],
]
# Its last argument reaches the process as bytes that the plain locale cannot read.
FOREIGN = ["run", "bäd.toml"]
FAILING = {("check", "bad.toml"): 2, ("run", "bad.toml"): 2, ("diagnose", "ρ"): 2, ("recover", "missing.csv"): 2}
PLAIN_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
FEW = [["version"], ["check", "bad.toml"], WITH_RHO, ["recover", "outputs.csv", "--scenario", "study.toml", "--json"]]
# The first encoding, which has the fewest characters, comes from the locale, and the others are set as PYTHONIOENCODING
# would set them. What an encoding lacks is written by one function, so few commands suffice for these; other tests of
# commands read UTF-8.
ENCODINGS = {"ascii": COMMANDS, "utf-8": FEW, "cp1252": FEW, "latin-1": FEW}
# One process for all commands, as the shell would call them one by one: its start takes longer than most of them. The
# worker of the sweep writes nothing that is read here.
DRIVER = """
import json, shutil, sys
from peerpressure import cli
from peerpressure.sweep import _runners
from tests import in_process
_runners.ProcessPoolExecutor = in_process.Pool
for encoding, commands in json.loads(sys.argv[1]).items():
    shutil.rmtree("started", ignore_errors=True)
    if encoding == "ascii":
        commands.append(sys.argv[2:])
        assert sys.stdout.encoding in ("ascii", "ANSI_X3.4-1968"), sys.stdout.encoding
    else:
        sys.stdout.reconfigure(encoding=encoding); sys.stderr.reconfigure(encoding=encoding)
    for arguments in commands:
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


def python(folder: Path, *arguments: str, **settings: str) -> CompletedProcess[str]:
    """Run Python, and return each byte that it printed as the character of that number."""
    return waiting.run([sys.executable, *arguments], cwd=folder, encoding="latin-1", env=os.environ | settings)


def test_every_command_speaks_in_every_encoding(folder: Path) -> None:
    done = python(folder, "-c", DRIVER, json.dumps(ENCODINGS), *FOREIGN, **PLAIN_LOCALE, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    out, err = (stream.split("\n>>> ")[1:] for stream in (done.stdout, done.stderr))
    # The answer to what no encoding can read has the bytes as they came.
    said, told = out.pop(len(COMMANDS)), err.pop(len(COMMANDS))
    assert (said, told.count("\n")) == ("\n<<< 2", 1)
    assert "check the path" in told
    assert len(out) == len(err) == sum(map(len, ENCODINGS.values()))
    for encoding, commands in ENCODINGS.items():
        texts = ([stream.pop(0).encode("latin-1").decode(encoding) for _ in commands] for stream in (out, err))
        check(encoding, commands, *texts)


def check(encoding: str, commands: list[list[str]], out: list[str], err: list[str]) -> None:
    """Each command answers as it should, in characters that the encoding has."""
    answers = [part.rpartition("\n<<< ") for part in out]
    for command, (said, _, status), told in zip(commands, answers, err, strict=True):
        failing = {FAILING.get((command[0], word)) for word in command[1:]} - {None}
        assert {int(status)} == (failing or {0}), (command, told)
        assert "\ufffd" not in said + told
        if "--json" in command:
            assert "ρ" in json.dumps(json.loads(said), ensure_ascii=False) or command[0] != "recover"
    fate = answers[commands.index(WITH_RHO)][0]
    assert ("rho_t" in fate) == (encoding != "utf-8"), fate


def test_the_command_itself_does_so_too(folder: Path) -> None:
    arguments = ("-m", "peerpressure", "diagnose", "study.toml", "--pressure", "2^sqrt(t)")
    done = python(folder, *arguments, PYTHONIOENCODING="cp1252", NO_COLOR="1")
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.encode("latin-1").decode("cp1252")
    assert "rho_t = 2^sqrt(t)" in said
    # Neither colour nor progress outside a terminal.
    assert "\x1b" not in said
