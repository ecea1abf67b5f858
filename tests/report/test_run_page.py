"""The page of one run: what stands on it, and what of it lies beside it as files."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from peerpressure.plotting import network, render
from peerpressure.plotting.run import opinions
from peerpressure.report.drawing import Order, elsewhere, here
from peerpressure.report.pictures import settled
from peerpressure.report.run import (
    CAPTIONS,
    FIGURES,
    OWN,
    TABLES,
    figures,
    model_rows,
    order_figures,
    outcome_rows,
    run_files,
)
from peerpressure.scenario import Experiment, results, scenario_from, summaries
from peerpressure.scenario.experiment import agents
from peerpressure.support.text import with_deviation
from tests.cli.calling import run

PLAIN: dict[str, Any] = {
    "network": {"generator": "star", "n": 6},
    "noise": {"law": "gaussian", "std": 0.3},
    "run": {"steps": 12, "replicates": 2, "seed": 1},
    "observe": {"agents": [0, 1], "methods": ["kalman"], "prior": {"low": 0.0, "high": 1.0}},
    "privacy": {},
}


def experiment(**sections: Any) -> Experiment:
    return Experiment(scenario_from(PLAIN | sections))


def without(*names: str) -> Experiment:
    return Experiment(scenario_from({name: part for name, part in PLAIN.items() if name not in names}))


def test_every_figure_has_a_caption_and_is_cleared_away_with_the_others() -> None:
    assert set(CAPTIONS) == set(FIGURES)
    assert {f"{name}.png" for name in FIGURES} | {f"{name}.csv" for name in TABLES} < OWN


def test_what_is_drawn_follows_from_what_is_asked() -> None:
    drawn = {
        "all": experiment(),
        "nobody looks": without("observe", "privacy"),
        "moving": experiment(agents={"adaptation": 0.1}),
        "only the end": experiment(run=PLAIN["run"] | {"record": "final"}, observe=None),
    }
    names = {case: [*order_figures(one).drawings] for case, one in drawn.items()}
    assert names == {
        "all": ["opinions", "estimates", "opinion_map", "exposure", "exposure_map", "budget", "frontier"],
        "nobody looks": ["opinions", "opinion_map"],
        "moving": ["opinions", "hidden", "estimates", "opinion_map", "exposure", "exposure_map", "budget"],
        "only the end": ["opinion_map", "exposure", "exposure_map", "budget", "frontier"],
    }


def test_the_agents_of_a_small_network_are_drawn_where_their_opinions_are_recorded() -> None:
    sizes = {
        "few": {"network": {"generator": "cycle", "n": 30}},
        "many": {"network": {"generator": "cycle", "n": 31}},
        "unrecorded": {"run": PLAIN["run"] | {"record": "summaries"}},
    }
    for case, sections in sizes.items():
        one = experiment(observe=None, privacy=None, **sections)
        ((name, (table, _, agents)),) = figures(one, "summaries", summaries(one))
        assert name == "opinions"
        assert (agents is not None) == (case == "few")
        if agents is not None:
            assert agents.shape == (table["time"].nunique(), 30)


def test_no_word_is_cut_once_the_layout_is_settled() -> None:
    ends = pd.DataFrame(
        {"minimum": [-0.09, 0.1], "maximum": [1.13, 0.9], "spread": [1.2, 0.8], "max_distance": [0.6, 0.4]}
    )
    figure = settled(opinions(ends.assign(replicate=0, time=[1, 99], mean=0.5), 0.5))
    picture = imread(io.BytesIO(render(figure, "png")), format="png")[:, :, :3]
    for border in (picture[:2], picture[-2:], picture[:, :2], picture[:, -2:]):
        assert (border == 1).all()


def test_the_network_is_drawn_in_the_colours_of_what_is_thought_and_said() -> None:
    table = pd.DataFrame(
        {"agent": ["Ada", "Bob", "Eve"], "hidden": [0.0, 0.2, 1.0], "final_mean": [0.4, 0.4, 0.5], "degree": [1, 1, 0]}
    )
    edges = pd.DataFrame({"source": [0, 1], "target": [1, 2], "one_way": [False, True], "negative": False})
    figure = network.opinions(table, edges, (0.5, 1.0), "$v$")
    *pair, bar = figure.axes
    dots = [axes.collections[-1] for axes in pair]
    colours = [np.asarray(one.get_array()).tolist() for one in dots]
    assert colours == [table["hidden"].tolist(), table["final_mean"].tolist()]
    assert {one.get_clim() for one in dots} == {(-0.5, 1.5)}
    assert [tick.get_text() for tick in bar.get_xticklabels()] == ["-0.5", "$v$ = 0.5", "1.5"]
    assert {text.get_text() for axes in pair for text in axes.texts} == {"Ada", "Bob", "Eve"}


@pytest.mark.parametrize(
    "sections",
    [
        {"network": {"generator": "complete", "n": 20}},
        {"network": {"generator": "cycle", "n": 121}},
        {"topics": {"names": ["tax", "rent"]}},
        {"network": {"edges": [[0, 1]]}, "agents": {"hidden": [0, 1], "zealots": [0, 1]}},
    ],
)
def test_a_network_that_cannot_be_read_in_a_picture_is_not_drawn(sections: dict[str, Any]) -> None:
    one = experiment(observe=None, privacy=None, **sections)
    assert [name for name, _ in figures(one, "agents", agents(one))] == []


def test_without_noise_no_budget_is_drawn() -> None:
    # Whoever sees everything then knows everything, at once.
    one = experiment(noise={"law": "none"}, observe=None)
    assert {"budget", "frontier"} & set(order_figures(one).drawings) == {"frontier"}


def test_every_table_and_figure_on_the_page_lies_beside_it() -> None:
    files = run_files(without("privacy"), "study")
    content = files["report.html"]
    assert isinstance(content, bytes)
    page = content.decode()
    assert set(re.findall(r"<code>(\w+\.csv)</code>", page)) == {name for name in files if name.endswith(".csv")}
    assert page.count("<figure>") == len([name for name in files if name.endswith(".png")])
    assert set(files) <= OWN | {"run.nc", "verdict.json", "scenario.toml"}


@pytest.mark.parametrize(
    ("sections", "row", "says"),
    [
        ({"agents": {"adaptation": "0.1/t"}}, "hidden opinions", "adapting by η_t = 0.1/t"),
        (
            {"network": PLAIN["network"] | {"dynamics": {"kind": "failing_edges", "probability": 0.1}}},
            "network",
            "6 agents, 5 pairs",
        ),
        ({"time": {"step": 0.25}}, "time", "continuous time, exact steps of 0.25"),
        ({}, "network", "6 agents, 5 edges, bipartite, degrees 1–5"),
    ],
)
def test_what_was_run_is_told_in_words(sections: dict[str, Any], row: str, says: str) -> None:
    told = dict(model_rows(experiment(**sections)))
    assert told[row].startswith(says) or f", {says}" in told[row]
    assert ("time" in told) == ("time" in sections)


def test_the_outcome_includes_hidden_opinions_where_they_adapt() -> None:
    assert "spread of hidden opinions" in dict(outcome_rows(experiment(agents={"adaptation": 0.1})))
    assert "spread of hidden opinions" not in dict(outcome_rows(experiment()))


def test_what_stands_after_a_mean_is_called_a_standard_deviation_over_replicates() -> None:
    one = experiment(observe=None, privacy=None)
    means = one.run.final.public.mean(axis=1)
    told = dict(outcome_rows(one))
    assert told["mean"] == with_deviation(means.mean(), means.std(ddof=1))
    assert told["±"] == "standard deviation over 2 replicates"
    assert results(one)["agents"]["final_std"].tolist() == pytest.approx(one.run.final.public.std(axis=0, ddof=1))


@pytest.mark.filterwarnings("error")
def test_one_replicate_has_no_standard_deviation() -> None:
    one = experiment(observe=None, privacy=None, run={"steps": 12}, agents={"adaptation": 0.1})
    assert not any("±" in word for row in outcome_rows(one) for word in row)
    files = run_files(one, "study")
    stored, page = files["agents.csv"], files["report.html"]
    assert isinstance(stored, bytes)
    assert isinstance(page, bytes)
    table = pd.read_csv(io.BytesIO(stored))
    assert table[["final_std", "final_hidden_std"]].isna().all(axis=None)
    assert b"standard deviation over" not in page


def test_drawings_do_not_depend_on_the_process_that_draws() -> None:
    table = pd.DataFrame({"time": [1, 2], "epsilon": [1.0, 2.0], "mu": [1.0, 2.0]})
    orders = [
        Order("budget", (table,), formats, pictured) for formats, pictured in ((("png", "svg"), True), ((), False))
    ]
    with elsewhere(cores=2) as submit:
        pending = [submit(order) for order in orders]
        wrong = submit(Order("budget", (None,)))
        assert [wait() for wait in pending] == [here(order)() for order in orders]
        with pytest.raises(TypeError):
            wrong()
    assert here(orders[1])() == ({}, None)
    with elsewhere(cores=1) as submit:
        assert submit is here


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("more", [(), ("--replicates", "2")], ids=["one", "two"])
def test_numbers_that_no_axis_holds_are_refused_in_one_line(
    more: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ("--network", "path:2", "--noise", "gaussian:1e308", "--steps", "1", "--seed", "3")
    told = run(capfd, "simulate", *given, *more, "--out", tmp_path / "out")
    assert (told.status, told.out) == (1, "")
    assert "rescale hidden opinions and noise" in told.err.splitlines()[-1]
