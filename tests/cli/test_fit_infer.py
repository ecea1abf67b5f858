"""``peerpressure fit`` and ``peerpressure infer``: from a table to parameters, and to a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure import cli
from tests.cli.calling import run

NETWORK = pp.networks.cycle(8)
MODEL = pp.Model(NETWORK, np.linspace(0, 1, 8), pressure=1.5, noise=pp.Gaussian(0.2))


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Return the files of answers and of edges."""
    pp.simulate(MODEL, 120, seed=1).to_dataframe().query("time > 0").to_csv(tmp_path / "answers.csv", index=False)
    edges = [f"{a},{b}" for a in range(8) for b in [(a + 1) % 8]]
    (tmp_path / "edges.csv").write_text("source,target\n" + "\n".join(edges) + "\n")
    return tmp_path / "answers.csv", tmp_path / "edges.csv"


def test_fit_estimates_noise_and_constant_pressure(
    capfd: pytest.CaptureFixture[str], tables: tuple[Path, Path], tmp_path: Path
) -> None:
    answers, edges = map(str, tables)
    told = run(capfd, "fit", answers, "--network", edges, "--out", str(tmp_path / "fit.csv"))
    assert told.status == 0
    assert "constant" in told.out
    assert "BIC" in told.out
    table = pd.read_csv(tmp_path / "fit.csv").set_index("parameter")
    for name, truth in (("std", 0.2), ("constant", 1.5)):
        assert table.loc[name, "low"] < truth < table.loc[name, "high"]
    assert len(table) == 2 + 8
    facts = json.loads(run(capfd, "fit", answers, "--network", edges, "--json").out)
    assert facts["number_of_parameters"] == 10
    assert facts["p_value"][0] > 0.001


def test_fit_names_its_options_in_errors(capfd: pytest.CaptureFixture[str], tables: tuple[Path, Path]) -> None:
    answers, edges = map(str, tables)
    refused = run(capfd, "fit", answers, "--network", edges, "--unknown", "slop")
    assert refused.status != 0
    assert "unknowns must be among" in refused.err
    assert run(capfd, "fit", "missing.csv", "--network", edges).status != 0
    assert run(capfd, "fit", answers, "--network", edges, "--out", "table.txt").status != 0


def test_fit_takes_answers_on_a_scale(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = pp.Model(pp.networks.cycle(4), [2.0, 2.5, 3.5, 4.0], pressure=0.5, noise=pp.Gaussian(1.0))
    rows = np.clip(np.rint(np.asarray(pp.simulate(model, 15, seed=1).states)[0, 1:]), 1, 5)
    pd.DataFrame(rows, columns=list("abcd")).assign(time=np.arange(1, 16)).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\nc,d\nd,a\n")
    given = ("fit", str(tmp_path / "a.csv"), "--network", str(tmp_path / "e.csv"), "--unknown", "std")
    known = json.loads(run(capfd, *given, "--scale", "1:5", "--json").out)
    assert known["estimates"][0]["parameter"] == "std"
    assert known["estimates"][0]["identified"]
    assert not any("grid" in note for note in known["notes"])
    ignored = json.loads(run(capfd, *given, "--json").out)
    assert "declare a rounding of 1" in ignored["notes"][0]
    assert not ignored["estimates"][0]["identified"]
    noisy = json.loads(run(capfd, *given, "--measurement-noise", "--json").out)
    assert {"std", "measurement_noise"} <= {row["parameter"] for row in noisy["estimates"]}
    for wrong in ("5", "1:2", "a:b"):
        refused = run(capfd, *given, "--scale", wrong)
        assert refused.status == 2
        assert "a scale must be" in refused.err


def test_infer_finds_who_listens_to_whom(
    capfd: pytest.CaptureFixture[str], tables: tuple[Path, Path], tmp_path: Path
) -> None:
    told = run(capfd, "infer", str(tables[0]), "--pressure", "1.5", "--out", str(tmp_path / "found.csv"))
    assert told.status == 0
    found = pd.read_csv(tmp_path / "found.csv").query("confidence > 0.99")
    assert {tuple(pair) for pair in found[["agent", "neighbour"]].to_numpy().tolist()} <= {
        (a, b) for a in range(8) for b in ((a + 1) % 8, (a - 1) % 8)
    }
    assert len(found) > 8
    facts = json.loads(run(capfd, "infer", str(tables[0]), "--pressure", "1.5", "--symmetric", "--json").out)
    assert facts["symmetric"] is True
    assert run(capfd, "infer", str(tables[0]), "--pressure", "nonsense").status != 0


def test_recover_takes_the_method_that_can_read_the_table(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scenario = "[network]\ngenerator='cycle'\nn=8\n[pressure]\nkind='constant'\nvalue=1.5\n"
    scenario += "[noise]\nlaw='gaussian'\nstd=0.2\n"
    (tmp_path / "study.toml").write_text(scenario)
    rows = pp.simulate(MODEL, 20, seed=1).to_dataframe().query("time > 0")
    rows.drop(rows.index[30]).to_csv(tmp_path / "gaps.csv", index=False)
    study, gaps = str(tmp_path / "study.toml"), str(tmp_path / "gaps.csv")
    told = run(capfd, "recover", gaps, "--scenario", study)
    assert told.status == 0
    assert "by kalman" in told.out
    assert "kalman was chosen: answers are missing" in " ".join(told.out.split())
    refused = run(capfd, "recover", gaps, "--scenario", study, "--method", "innovations")
    assert refused.status != 0
    assert "use the method kalman" in refused.err


def test_infer_finds_distrust(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    camps = pp.networks.rival_camps(8, 3, seed=2)
    model = pp.Model(camps, [-1.0, 1.0] * 4, pressure=1.5, noise=pp.Gaussian(0.5))
    file = tmp_path / "answers.csv"
    pp.simulate(model, 400, seed=1).to_dataframe().query("time > 0").to_csv(file, index=False)
    facts = json.loads(run(capfd, "infer", str(file), "--pressure", "1.5", "--signed", "--json").out)
    assert facts["signed"]
    truth = camps.adjacency.toarray()
    found = {(int(edge["agent"]), int(edge["neighbour"])): edge["weight"] for edge in facts["edges"]}
    there = [pair for pair in zip(*np.nonzero(truth), strict=True) if pair in found]
    assert len(there) > 0.8 * np.count_nonzero(truth)
    assert all(np.sign(found[pair]) == np.sign(truth[pair]) for pair in there)
    warned = run(capfd, "infer", str(file), "--pressure", "1.5")
    assert "infer a signed network" in " ".join(warned.out.split())


def test_recover_offers_what_it_does_and_names_infer(capfd: pytest.CaptureFixture[str]) -> None:
    told = run(capfd, "recover", "--help").out
    assert "--unknown-network" in told
    assert "peerpressure infer" in " ".join(told.split())


@pytest.fixture
def distrust(tmp_path: Path) -> tuple[Path, Path]:
    """Return a scenario with distrust whose observer does not know the network, and its outputs."""
    scenario, outputs = tmp_path / "study.toml", tmp_path / "observed.csv"
    scenario.write_text(
        "[network]\ngenerator = 'rival_camps'\nn = 8\ndegree = 3\nseed = 2\n[pressure]\nformula = '1.5'\n"
        "[noise]\nlaw = 'gaussian'\nstd = 0.5\n[run]\nsteps = 300\nseed = 1\n"
    )
    pp.simulate(pp.load_scenario(scenario).model(), 300, seed=1).to_dataframe().query("time > 0").to_csv(
        outputs, index=False
    )
    return scenario, outputs


def test_recover_names_the_key_that_allows_distrust(
    distrust: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    scenario, outputs = distrust
    command = ("recover", str(outputs), "--scenario", str(scenario), "--unknown-network")
    refused = run(capfd, *command)
    assert refused.status == 2
    assert "(signed in unknown_network of [observe])" in refused.err
    # The key is the remedy.
    scenario.write_text(scenario.read_text() + "[observe]\nunknown_network = { signed = true }\n")
    assert "listens to" in run(capfd, *command).out
    scenario.write_text(scenario.read_text().replace("signed = true", "signed = true, symmetric = true"))
    both = run(capfd, *command).err
    assert "(signed in unknown_network of [observe], symmetric in unknown_network of [observe])" in both


def test_infer_names_its_options_as_remedies(distrust: tuple[Path, Path], capfd: pytest.CaptureFixture[str]) -> None:
    command = ("infer", str(distrust[1]), "--pressure", "1.5")
    assert "infer a signed network" in " ".join(run(capfd, *command).out.split())
    assert (
        "ask for a signed or a symmetric network, not both (--signed, --symmetric)"
        in run(capfd, *command, "--signed", "--symmetric").err
    )
    assert (
        "use a common deviation, or infer a directed network (--std, --symmetric)"
        in run(capfd, *command, "--std", "agent", "--symmetric").err
    )


READERS: dict[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "recover": lambda study, data: ("recover", data, "--scenario", study),
    "fit": lambda study, data: ("fit", data, "--network", study.with_name("ran") / "edges.csv"),
    "compare": lambda study, data: (
        *("compare", data, "--network", study.with_name("ran") / "edges.csv"),
        *("--rival", "none", "--rival", "constant"),
    ),
    "infer": lambda study, data: ("infer", data, "--pressure", "1.5"),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study whose results are beside it."""
    study = tmp_path_factory.mktemp("stored") / "study.toml"
    study.write_text(
        "[network]\ngenerator='cycle'\nn=6\n[pressure]\nkind='constant'\nvalue=1.5\n"
        "[noise]\nlaw='gaussian'\nstd=0.2\n[run]\nsteps=40\nseed=3\n"
        "[output]\nfigures=false\nreport=false\nstates=true\n"
    )
    assert cli.invoke(["run", str(study), "--out", str(study.with_name("ran"))]) == 0
    return study


@pytest.mark.parametrize("command", READERS)
def test_a_stored_run_is_read_as_its_table_is(
    capfd: pytest.CaptureFixture[str], stored: Path, tmp_path: Path, command: str
) -> None:
    study, ran = stored, stored.with_name("ran")
    told = [run(capfd, *READERS[command](study, data), "--json") for data in (ran / "run.nc", ran, ran / "states.csv")]
    assert [answer.status for answer in told] == [0, 0, 0], [answer.err for answer in told]
    # Numbers of agents are texts in a table for which no network is given.
    plain = [re.sub(r'"(\d+)"', r"\1", answer.out) for answer in told]
    by_run, by_folder, by_table = ({**json.loads(text), "outputs": ""} for text in plain)
    assert by_run == by_folder == by_table
    # The run is kept among the inputs of the results.
    out = tmp_path / "found"
    assert run(capfd, *READERS[command](study, ran), "--out", out).status == 0
    assert any((out / "inputs").rglob("run.nc"))
    assert run(capfd, "rerun", out).status == 0


def test_networks_of_waves_and_people_without_ties(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answers, edges, people = (tmp_path / name for name in ("answers.csv", "ties.csv", "people.csv"))
    rng = np.random.default_rng(1)
    rows = "".join(
        f"{name},{','.join(map(str, rng.normal(size=12).round(3)))}\n" for name in ("ann", "bob", "cat", "dan")
    )
    answers.write_text(f"name,{','.join(f'wave{k}' for k in range(1, 13))}\n{rows}")
    edges.write_text("wave,source,target\n1,ann,bob\n1,bob,cat\n5,cat,ann\n5,bob,ann\n")
    given = [answers, "--network", edges, "--directed"]
    told = run(capfd, "fit", *given)
    assert told.status == 2
    assert "'dan'" in told.err
    assert "people without ties are named by a table of agents, a matrix or a graph" in told.err
    people.write_text("name\nann\nbob\ncat\ndan\n")
    for command in ("fit", "compare"):
        told = run(capfd, command, *given, "--agents", people, "--json", "--out", tmp_path / command)
        assert told.status == 0, told.err
        assert "a column for each of 12 waves" in told.json["outputs"]
        table = pd.read_csv(tmp_path / command / "edges.csv")
        assert set(map(tuple, table[["time", "source", "target"]].values.tolist())) >= {
            (1, "ann", "bob"),
            (5, "cat", "ann"),
        }
    assert "--agents" in run(capfd, "compare", answers, "--agents", people).err


@pytest.mark.parametrize("command", [["infer", "--pressure", "1.5"], ["compare"]])
def test_tables_without_a_network_are_said_to_be_read(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    file, rng = tmp_path / "answers.csv", np.random.default_rng(1)
    rows = "".join(f"{k},{k + 1},{a},{b},{c}\n" for k, (a, b, c) in enumerate(rng.normal(size=(30, 3)).round(3)))
    file.write_text(f",time,ann,bob,cat\n{rows}")
    told = run(capfd, *command, file)
    assert told.out.startswith(f"{file}: separated by commas, time from 'time', a column for each of 3 agents, 'ann',")
    answer = run(capfd, *command, file, "--json").json
    assert answer["outputs"].endswith("3 agents, 'ann', 'bob', 'cat'")
    if "agents" in answer:
        assert [row["agent"] for row in answer["agents"]] == ["ann", "bob", "cat"]


def test_a_stored_run_has_steps_and_no_dates(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pp.simulate(MODEL, 5, seed=1).save(tmp_path / "run.npz")
    (tmp_path / "edges.csv").write_text("source,target\n" + "\n".join(f"{a},{(a + 1) % 8}" for a in range(8)))
    given = ("fit", tmp_path / "run.npz", "--network", tmp_path / "edges.csv")
    refused = run(capfd, *given, "--step", "1 day")
    assert refused.status == 2
    assert "times of a stored run count steps already" in refused.err
    (tmp_path / "run.nc").write_bytes(b"damaged")
    refused = run(capfd, "fit", tmp_path / "run.nc", "--network", tmp_path / "edges.csv")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "a netCDF file must be readable" in refused.err


# Words that only Python programs have: arguments of functions, and calls.
PYTHON = re.compile(r"\b[a-z_]+=(?!=)|\b[A-Z]\w*\(|\b(?:method|observation|unknowns?|target|record)='")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("recover", "gaps.csv", "--scenario", "study.toml", "--method", "innovations"),
            "the method kalman, gls or ols, which can do without (--method)",
        ),
        (("recover", "rounded.csv", "--scenario", "study.toml", "--method", "innovations"), "the method kalman"),
        (("recover", "answers.csv", "--scenario", "study.toml", "--method", "mle"), ""),
        (("recover", "answers.csv", "--scenario", "study.toml", "--method", "magic"), "innovations"),
        (("recover", "few.csv", "--scenario", "large.toml", "--method", "kalman"), ""),
        (("fit", "answers.csv", "--network", "edges.csv", "--unknown", "slop"), "for instance std and stubbornness"),
        (("fit", "answers.csv", "--network", "edges.csv", "--scale", "1:2"), "1 and 5 for five points"),
        (("fit", "answers.csv", "--network", "edges.csv", "--level", "2"), "level"),
        (("fit", "answers.csv", "--network", "signed.csv"), "signed"),
        (("fit", "answers.csv", "--network", "edges.csv", "--unknown", "std", "--unknown", "std"), ""),
        (("fit", "few.csv", "--network", "edges.csv"), ""),
        (("compare", "answers.csv", "--network", "signed.csv"), "signed"),
        (
            ("compare", "few.csv", "--network", "edges.csv"),
            "a public start uses step 0, a hidden one does not (--start)",
        ),
        (("compare", "answers.csv", "--network", "edges.csv", "--rival", "konstant"), "rivals"),
        (("infer", "answers.csv", "--pressure", "nonsense"), ""),
        (("infer", "few.csv", "--pressure", "1", "--symmetric"), ""),
        (
            ("infer", "answers.csv", "--pressure", "1", "--std", "agent", "--symmetric"),
            "use a common deviation, or infer a directed network (--std, --symmetric)",
        ),
        (("simulate", "--network", "signed.csv"), "signed"),
        (("simulate", "--network", "ba:3:9"), ""),
        (("simulate", "--network", "k2", "--noise", "gaussian:-1"), "--noise"),
        (("simulate", "--network", "k2", "--pressure", "t +"), "--pressure"),
        (("simulate", "--network", "k2", "--isolated", "away"), "--isolated"),
        (("simulate", "--network", "apart.csv"), ""),
        (("release", "study.toml", "--out", "new"), "[agents]"),
    ],
)
def test_errors_name_options_and_keys_and_no_arguments_of_python(
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = "[agents]\nhidden=[0,0,0,0,1,1,1,1]\n[network]\ngenerator='cycle'\nn=8\n[pressure]\nkind='constant'\n"
    scenario += "value=1.5\n[noise]\nlaw='gaussian'\nstd=0.2\n[run]\nsteps=9\n"
    Path("study.toml").write_text(scenario)
    Path("large.toml").write_text("[network]\ngenerator='cycle'\nn=20000\n[noise]\nlaw='gaussian'\nstd=0.2\n")
    rows = pp.simulate(MODEL, 20, seed=1).to_dataframe().query("time > 0")
    rows.to_csv("answers.csv", index=False)
    rows.assign(public=rows["public"].round(1)).to_csv("rounded.csv", index=False)
    rows.drop(rows.index[30]).to_csv("gaps.csv", index=False)
    rows.query("time <= 2").to_csv("few.csv", index=False)
    edges = [f"{a},{(a + 1) % 8}" for a in range(8)]
    Path("edges.csv").write_text("source,target\n" + "\n".join(edges))
    Path("signed.csv").write_text("source,target,weight\n" + "\n".join(f"{edge},-1" for edge in edges))
    Path("apart.csv").write_text("source,target\na,b\nc,d\n")
    before = sorted(Path.cwd().iterdir())
    refused = run(capfd, *arguments)
    # What only warns tells options in the output.
    words = refused.err if refused.status else refused.out
    assert says in words
    assert not PYTHON.search(words), words
    assert refused.status == 0 or sorted(Path.cwd().iterdir()) == before
