"""Comparisons of rival models: the truth wins, chance is not called pressure, and every rival has the same answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.fitting._courses import Course
from peerpressure.fitting._own_rivals import OWN_LAWS
from peerpressure.fitting._parameters import RATE
from peerpressure.fitting._record import panel
from peerpressure.fitting._rivals import AverageFit, fit_average
from peerpressure.networks import watts_strogatz
from tests.fitting.long_records import graph, record, walk

FEW = ["none", "constant", "linear", "constant+adaptation", "degroot", "walk"]


def test_pressure_that_grows_is_found_among_all_rivals() -> None:
    network = graph(20)
    comparison = pp.compare(record(network, 40, 1, lambda t: 0.2 * t), network)
    assert comparison.best == "linear"
    assert comparison.sentences[0] == "People respond to their neighbours."
    assert comparison.sentences[1].startswith("Pressure grows with time")
    assert comparison.weights["linear"] > 0.5
    assert sum(comparison.weights.values()) == pytest.approx(1)
    assert {"none", "power", "degroot", "walk", "own-return+period", "linear+adaptation"} <= set(comparison.fits)


@pytest.mark.parametrize(
    ("truth", "pressure", "adaptation"), [("none", 0.0, 0.0), ("constant", 0.5, 0.0), ("constant+adaptation", 0.5, 0.1)]
)
def test_the_truth_wins(truth: str, pressure: float, adaptation: float) -> None:
    network = graph(20)
    rows = record(network, 60, 3, lambda t: pressure, adaptation=adaptation)
    assert pp.compare(rows, network, FEW).best == truth


def test_walks_and_averages_win_where_they_are_true() -> None:
    network, rng = graph(20), np.random.default_rng(1)
    assert pp.compare(walk(20, 40, 1), network, FEW).best == "walk"
    W = network.adjacency.toarray() / network.degrees[:, None]
    y, rows = rng.random(20), []
    for _ in range(40):
        y = 0.6 * y + 0.4 * (W @ y) + 0.1 * rng.standard_normal(20)
        rows.append(y)
    comparison = pp.compare(np.array(rows), network, FEW)
    assert comparison.best == "degroot"
    fit = comparison.fit
    assert isinstance(fit, AverageFit)
    assert fit.weight == pytest.approx(0.4, abs=0.05)


def test_a_walk_is_not_explained_by_the_network() -> None:
    network = graph(15)
    comparison = pp.compare(walk(15, 40, 2), network, FEW)
    assert comparison.verdict == "no response"
    assert comparison.sentences[0] == "There is no sign that people respond to their neighbours in this network."
    assert "Each agent moves on from its last answer at random, independently of the others." in comparison.sentences
    assert not comparison.caveat


def test_no_pressure_is_rarely_called_pressure() -> None:
    """Friends who think alike to begin with, in six waves: likeness is not influence."""
    network = graph(60)
    D = np.diag(network.degrees)
    A = network.adjacency.toarray()
    smooth = np.linalg.inv(np.eye(60) + 3 * (np.eye(60) - np.linalg.inv(D) @ A))
    called = 0
    for seed in range(5):
        hidden = smooth @ np.random.default_rng(100 + seed).standard_normal(60)
        called += pp.compare(record(network, 6, seed, hidden=hidden), network).verdict == "responds"
    # At a size of 5 %, more than 2 of 5 has a probability of 0.001.
    assert called <= 2


def test_few_rows_are_asked_whether_anybody_had_seen_anything() -> None:
    network = graph(20)
    rows = record(network, 5, 1)
    with pytest.raises(pp.errors.InvalidInputError, match=r"5 waves of answers or fewer .*, got 5") as caught:
        pp.compare(rows, network)
    assert "peerpressure response ANSWERS --network NETWORK --first before if nobody had seen" in str(caught.value)
    with pytest.raises(pp.errors.InvalidInputError, match="5 waves of answers or fewer"):
        pp.compare(np.round(4 * rows), network, observation=pp.Observation(scale=(-4, 8)))
    with pytest.raises(pp.errors.InvalidInputError, match="5 waves of answers or fewer"):
        pp.compare(pd.DataFrame(np.c_[rows, rows[:, 0]]).assign(time=range(1, 6)), network)  # 20 is a stranger
    waves = pp.TemporalNetwork.from_snapshots([network, pp.Network(np.zeros((20, 20)))])
    with pytest.raises(pp.errors.InvalidInputError, match="5 waves of answers or fewer"):
        pp.compare(rows, waves)
    assert pp.compare(rows, network, ["none", "constant"]).fits
    assert pp.compare(rows).fits  # without a network there is nothing to respond to


def test_estimates_of_three_waves_are_not_drawn_to_zero() -> None:
    """Opinions of a large spread under pressure, for which a linear law of x given the first row is badly wrong."""
    network, values = graph(100), []
    for seed in range(12):
        hidden = np.random.default_rng(seed).standard_normal(100)
        comparison = pp.compare(record(network, 3, seed, lambda t: 0.3, hidden=hidden), network, ["none", "constant"])
        fit = comparison.fits["constant"]
        values.append(fit.parameters["pressure"].value[0])
    assert 0.2 < np.median(values) < 0.45


def test_every_rival_explains_the_same_answers() -> None:
    network = graph(12)
    rows = record(network, 20, 5, lambda t: 0.4)
    rows[3, 4] = rows[7, 2] = np.nan
    comparison = pp.compare(rows, network, ["none", "constant", "degroot", "walk"])
    assert comparison.scored == 19 * 12 - 2
    for fit in comparison.fits.values():
        off = np.where(comparison.panel.scored, comparison.panel.rows[1:] - fit.predictions(comparison.panel), 0.0)
        assert np.isfinite(off).all()
    assert set(comparison.fits) == {"none", "constant", "degroot", "walk"}


@pytest.mark.parametrize("alone", [True, False])
def test_averages_have_one_likelihood_with_and_without_the_filter(alone: bool) -> None:
    """A record whose only gap is the last row of one agent: the density of the rest has a closed form."""
    network = graph(8)
    rows = record(network, 12, 5, lambda t: 0.5)
    holes = rows.copy()
    holes[-1, 0] = np.nan
    data = panel(pp.Model(network, np.zeros(8)), np.arange(1, 13), holes)
    fit = fit_average(data, alone=alone)
    off = np.where(data.scored, rows[1:] - fit.predictions(replace(data, rows=rows)), 0.0)
    count = data.count
    height = -0.5 * count * np.log(2 * np.pi * fit.std**2) - 0.5 * float((off**2).sum()) / fit.std**2
    assert fit.log_likelihood == pytest.approx(height, rel=1e-6)


def test_the_fitted_model_is_ready_for_use() -> None:
    network = graph(15)
    rows = record(network, 40, 1, lambda t: 0.2 * t)
    comparison = pp.compare(rows, network, FEW)
    assert comparison.model is not None
    assert pp.simulate(comparison.model, 5).final.public.shape == (1, 15)
    assert pp.recover(rows, comparison.model).value.shape == (1, 15)
    assert np.isfinite(pp.privacy.exposure(comparison.model, steps=5).table["bits"]).all()


@pytest.mark.parametrize("best", ["walk", "degroot"])
def test_walks_and_averages_are_models_too(best: str) -> None:
    """One step of the model from the first row has the mean that the rival predicts."""
    network = graph(10)
    comparison = pp.compare(record(network, 20, 1, lambda t: 0.5), network, [best])
    assert comparison.model is not None
    assert comparison.model.update(1)(comparison.panel.rows[0]) == pytest.approx(
        comparison.fit.predictions(comparison.panel)[0]
    )


def test_opinions_and_parameters_are_averaged_with_intervals() -> None:
    network, hidden = graph(20), np.linspace(0, 1, 20)
    comparison = pp.compare(record(network, 60, 2, lambda t: 0.4, hidden=hidden), network, FEW)
    opinions = comparison.opinions
    inside = (opinions["low"] <= hidden) & (hidden <= opinions["high"])
    assert inside.mean() > 0.7
    parameters = comparison.parameters.set_index("parameter")
    low, high = parameters.loc["pressure, mean", ["low", "high"]]
    assert low < 0.4 < high
    assert low < parameters.loc["pressure, mean", "value"] < high
    assert parameters.loc["noise std", "low"] < 0.3 < parameters.loc["noise std", "high"]


@pytest.mark.parametrize(("rivals", "rho"), [(["none"], 0.0), (["none", "constant"], 0.5), (["own-return"], 0.0)])
def test_intervals_of_the_noise_cover_it(rivals: list[str], rho: float) -> None:
    """Also where one model has all the weight: a size of noise is estimated from a finite number of answers."""
    network, hidden, inside = graph(8), np.linspace(-1, 1, 8), 0
    for seed in range(16):
        rows = record(network, 16, seed, lambda t: rho, hidden=hidden)
        low, high = (
            pp.compare(rows, network, rivals).parameters.set_index("parameter").loc["noise std", ["low", "high"]]
        )
        inside += low <= 0.3 <= high
    # 15 on average at 95 %, and 11 with intervals of half the length.
    assert inside >= 14


@pytest.mark.parametrize("gap", [False, True])
def test_the_weight_of_an_average_has_an_interval(gap: bool) -> None:
    """DeGroot's weight is estimated from answers, and its pressure is no exact number."""
    network, weight, inside = graph(8), 0.3, 0
    A = np.asarray(network.adjacency.toarray())
    mean = A / A.sum(axis=1, keepdims=True)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = [rng.standard_normal(8)]
        for _ in range(15):
            rows.append((1 - weight) * rows[-1] + weight * (mean @ rows[-1]) + 0.3 * rng.standard_normal(8))
        record = np.array(rows)
        if gap:
            record[5, 2] = np.nan
        found = pp.compare(record, network, ["degroot"]).parameters.set_index("parameter")
        low, high = found.loc["pressure, mean", ["low", "high"]]
        inside += low <= weight / (1 - weight) / float(A.sum(axis=1).mean()) <= high
    # 11 on average, and 8 with intervals of half the length.
    assert inside >= 10


def test_the_best_of_bad_rivals_is_said_to_be_bad() -> None:
    network = graph(15)
    rows = record(network, 60, 1, lambda t: 0.4)
    # One agent whose noise is ten times that of the others.
    rows[:, 3] += 3 * np.random.default_rng(1).standard_normal(60)
    comparison = pp.compare(rows, network, ["none", "constant"])
    assert comparison.p_value is not None
    assert comparison.p_value < 1e-4
    assert any("fits badly" in sentence for sentence in comparison.sentences)


def test_what_was_computed_to_test_the_best_model_is_kept() -> None:
    network = graph(10)
    comparison = pp.compare(record(network, 15, 1, lambda t: 0.5), network, ["constant"])
    assert {"_residuals", "misses"} <= vars(comparison.diagnostics).keys()
    assert comparison.diagnostics is not None
    assert comparison.diagnostics.estimated == ("std",)


def test_what_the_best_model_misses_is_named() -> None:
    network, stubbornness = graph(15), np.ones(15)
    stubbornness[7] = 4.0
    rows = record(network, 80, 2, lambda t: 0.3 * t, stubbornness=stubbornness)
    comparison = pp.compare(rows, network, ["none", "constant", "linear"])
    assert comparison.misses is not None
    assert comparison.misses.missed[0].agents == (7,)
    assert "Even if the model is right, each search (agents, signs, ties) finds something in 1 of 20" in str(comparison)
    assert "Agent 7 is more stubborn than the model says." in comparison.sentences
    assert comparison.missed.iloc[0].tolist() == ["stubbornness", 7, -1]


@pytest.mark.parametrize("seed", range(4))
def test_averages_lie_in_their_intervals_where_the_likelihood_is_flat(seed: int) -> None:
    """Three people who keep their opinions: nothing bounds pressure from below, and its curvature says nothing."""
    rng = np.random.default_rng(seed)
    rows = rng.random(3) + 0.3 * rng.standard_normal((15, 3))
    parameters = pp.compare(rows, pp.networks.complete(3), ["none", "constant", "linear"]).parameters
    assert (parameters["low"] <= parameters["value"]).all()
    assert (parameters["value"] <= parameters["high"]).all()
    assert parameters["value"].max() < 5


PARTS = [("none", "constant"), ("constant", "power"), ("linear", "power"), ("none", "none+adaptation")]


@pytest.mark.parametrize("seed", range(2))
def test_no_model_explains_less_than_its_cases(seed: int) -> None:
    network = graph(8)
    fits = pp.compare(record(network, 13, seed, lambda t: 0.05 * t, adaptation=0.2), network).fits
    heights = {name: fit.log_likelihood for name, fit in fits.items()}
    adapting = [(part + "+adaptation", whole + "+adaptation") for part, whole in PARTS[:3]]
    same = [(name, name + "+adaptation") for name in ("constant", "linear", "power")]
    for part, whole in [*PARTS, *adapting, *same]:
        assert heights[whole] >= heights[part] - 0.02, (part, whole)


def test_models_at_the_end_of_a_range_have_no_weight() -> None:
    found = pp.compare(walk(12, 30, 1), graph(12), ["none", "none+adaptation", "constant+adaptation"])
    assert found.weights["none+adaptation"] == 0
    assert found.best == "none"
    assert found.table.set_index("model").loc["none+adaptation", "bic_difference"] == np.inf
    assert "not identified" in [text.get_text() for text in found.plot().axes[0].texts]
    assert any(note.startswith("none+adaptation has no weight: its adaptation") for note in found.notes)
    # Where nothing else is compared, there is nothing else to say.
    assert pp.compare(walk(12, 30, 1), graph(12), ["none+adaptation"]).weights == {"none+adaptation": 1.0}


@pytest.mark.parametrize(
    ("course", "point", "lost"),
    [
        (Course("power", 3.0, 5.0), [0.0, -3.0], "exponent"),
        (Course("power", 3.0, 5.0), [0.0, 3.0], "exponent"),
        (Course("power", 3.0, 5.0), [0.0, -2.9], ""),
        (Course("constant", 3.0, 5.0), [np.log(1e4)], "pressure"),
        (Course("linear", 3.0, 5.0), [np.log(1e4)], "slope"),
        # As good as no pressure, and as no adaptation, which are models of their own.
        (Course("constant", 3.0, 5.0), [np.log(1e-5)], ""),
        (Course("constant", 3.0, 5.0, adapts=True), [0.0, np.log(9)], "adaptation"),
        (Course("constant", 3.0, 5.0, adapts=True), [0.0, RATE.low], ""),
    ],
)
def test_the_ends_of_a_range_at_which_nothing_is_known(course: Course, point: list[float], lost: str) -> None:
    assert course.unidentified(np.array(point)) == lost


@pytest.mark.parametrize(
    ("rivals", "waves", "pressure", "words"),
    [
        (["none", "constant", "linear"], 30, lambda t: 0.2 * t, "Pressure grows with time, by"),
        (["none", "linear"], 30, lambda t: 0.2 * t, "but constant pressure is not ruled out."),
        (["none", "constant", "linear"], 30, lambda t: 0.6, "Pressure is constant, "),
        (["none", "constant"], 30, lambda t: 0.6, "if constant; growth is not ruled out."),
    ],
)
def test_growth_is_said_where_it_is_established(
    rivals: list[str], waves: int, pressure: Callable[[int], float], words: str
) -> None:
    network = graph(20)
    said = pp.compare(record(network, waves, 1, pressure), network, rivals).sentences
    assert any(words in sentence for sentence in said[1:3])


@pytest.mark.parametrize(
    ("rivals", "rows", "verdict", "words"),
    [
        (["none", "constant"], record(graph(20), 40, 1, lambda t: 0.5), "responds", "People respond"),
        (["none", "walk"], record(graph(20), 40, 1, lambda t: 0.5), "cannot tell", "but a model without a response"),
        (["constant"], record(graph(20), 40, 1), "cannot tell", "shuffled people explain as much"),
        (
            ["none", "constant"],
            record(graph(20), 60, 1),
            "no response",
            "of the way to the mean of neighbours at each step would",
        ),
        (["none", "constant"], record(graph(20), 8, 1), "cannot tell", "would not have been found"),
    ],
)
def test_two_witnesses_decide(rivals: list[str], rows: np.ndarray, verdict: str, words: str) -> None:
    found = pp.compare(rows, graph(20), rivals)
    assert found.verdict == verdict
    assert words in " ".join(found.sentences[:2])
    assert ("People respond to their neighbours." in found.sentences) == (verdict == "responds")


@pytest.mark.parametrize("directed", [False, True])
def test_a_comparison_on_a_network_that_changes_has_no_tests_of_fit(directed: bool) -> None:
    A = np.triu(graph(12).adjacency.toarray())
    graphs = [pp.Network(A if directed else A + A.T, directed=directed), pp.networks.cycle(12)]
    graphs[1] = pp.Network(graphs[1].adjacency, directed=directed)
    found = pp.compare(walk(12, 12, 1), pp.TemporalNetwork.from_snapshots(graphs), ["none", "constant"])
    assert found.p_value is None
    assert found.sentences[0] in str(found)


@pytest.mark.parametrize("seed", [11, 13])
def test_friends_who_approach_like_opinions_do_not_respond(seed: int) -> None:
    """Both witnesses say that they do, because levels that few rows tell badly leave a bias."""
    network, rng = watts_strogatz(60, 4, 0.2, seed=seed), np.random.default_rng(seed)
    W = network.adjacency.toarray() / network.degrees[:, None]
    shared = np.linalg.solve(4 * np.eye(60) - 3 * W, rng.normal(size=60))
    y, rows = rng.normal(size=60), []
    for _ in range(8):
        y = y + 0.3 * (shared / shared.std() - y) + 0.25 * rng.normal(size=60)
        rows.append(y)
    found = pp.compare(np.array(rows), network, ["none", "own-return", "own-return+neighbours"])
    assert found.p_value_placebo is not None
    assert found.p_value_placebo <= 0.05
    assert found.fit.uses_network
    assert found.verdict == "cannot tell"
    assert found.sentences[1].startswith("Both tests see a response, but its size is not clearly above 0")


def test_neighbours_who_share_an_event_do_not_respond() -> None:
    """Both witnesses say that they do, but no response to earlier answers moves neighbours in the same step."""
    rng, community = np.random.default_rng(1), np.arange(20) % 4
    network = pp.Network((community[:, None] == community) * (1.0 - np.eye(20)))
    event = (np.arange(20)[:, None] >= np.array([6, 9, 12, 14])) * np.array([1.0, -1.0, 1.0, -1.0])
    rows = rng.normal(0.5, 0.3, 20) + event[:, community] + 0.3 * rng.normal(size=(20, 20))
    found = pp.compare(rows, network, ["none", "own-return", "own-return+neighbours"])
    assert found.p_value_placebo is not None
    assert found.p_value_placebo <= 0.05
    assert found.fit.uses_network
    assert found.verdict == "cannot tell"
    assert "move together in the same step" in found.sentences[1]


def test_a_shock_that_all_share_is_no_response_where_answers_have_errors() -> None:
    """Rivals of answers with errors have no periods, so only rivals of the answers as they are tell."""
    rng, shock, rows = np.random.default_rng(9), 0.0, []
    opinions = rng.normal(0.5, 0.3, 20)
    for _ in range(20):
        shock = 0.8 * shock + 0.6 * rng.normal()
        rows.append(opinions + 0.3 * shock + 0.3 * rng.normal(size=20))
    points = np.clip(np.rint(2 * np.array(rows)) / 2, -0.5, 1.5)
    look = pp.Observation(scale=(-0.5, 1.5), rounding=0.5)
    found = pp.compare(points, watts_strogatz(20, 4, 0.2, seed=1), ["none", "constant"], observation=look)
    assert found.p_value_placebo is not None
    assert found.p_value_placebo <= 0.05
    assert found.best == "constant"
    assert found.verdict == "cannot tell"
    assert "a model without one (none+period), which can be compared only if errors" in found.sentences[1]


def test_people_who_move_away_are_not_said_to_show_no_response() -> None:
    network, rng = graph(20), np.random.default_rng(2)
    W = network.adjacency.toarray() / network.degrees[:, None]
    opinion = y = rng.normal(size=20)
    rows = []
    for _ in range(40):
        y = 0.6 * (opinion + 0.5 * rng.normal(size=20)) - 0.4 * (W @ y)
        rows.append(y)
    found = pp.compare(np.array(rows), network, ["none", "own-return", "own-return+neighbours"])
    assert found.weight.high < 0
    assert found.verdict == "cannot tell"
    assert "move away from their neighbours" in found.sentences[1]
    assert not any("also" in sentence for sentence in found.sentences)


def test_limits_are_stated_where_influence_is_claimed() -> None:
    network = graph(15)
    comparison = pp.compare(record(network, 30, 1, lambda t: 0.5), network, FEW)
    assert "friendships that form because people agree" in comparison.sentences[-1]
    assert comparison.caveat in str(comparison)


def test_models_of_the_user_are_rivals() -> None:
    network = graph(12)
    rows = record(network, 40, 1, lambda t: 0.5)
    right = pp.Model(network, np.zeros(12), pressure=0.5, noise=pp.Gaussian(1.0))
    comparison = pp.compare(rows, network, ["none", "constant", right, replace(right, pressure=pp.Constant(5.0))])
    assert list(comparison.fits) == ["none", "constant", "model 1", "model 2"]
    assert comparison.weights["model 1"] > comparison.weights["model 2"]
    # No parameter of its own is fitted.
    assert comparison.fits["model 1"].k == comparison.fits["none"].k
    assert comparison.fits["model 1"].log_likelihood <= comparison.fits["constant"].log_likelihood + 1e-6
    named = pp.compare(rows, network, {"mine": right})
    assert "mine" in named.fits
    assert "walk" in named.fits


def test_a_public_start_is_step_zero() -> None:
    network = graph(12)
    model = pp.Model(network, np.linspace(0, 1, 12), pressure=pp.Linear(0.3), noise=pp.Gaussian(0.2), start=0.5)
    run = pp.simulate(model, 40, seed=2)
    comparison = pp.compare(run, network, ["none", "constant", "linear"], start="public")
    assert comparison.scored == 40 * 12
    assert comparison.best == "linear"
    assert comparison.model is not None
    assert np.array_equal(comparison.model.start_state, np.full(12, 0.5))
    hidden = pp.compare(run, network, ["none", "constant", "linear"])
    assert hidden.scored == 39 * 12
    assert any("Step 0 was not used" in note for note in hidden.notes)


def test_answers_on_a_scale_are_said_to_be_taken_as_exact() -> None:
    network = graph(12)
    rows = 1 + 4 * record(network, 30, 1, lambda t: 0.5)
    rivals = ["none", "constant"]
    found = pp.compare(np.clip(np.rint(rows), 1, 5), network, rivals)
    # Whoever reads the first line only is warned as well.
    assert found.sentences[0].startswith("These answers lie on a grid and were taken as exact")
    assert found.sentences[1] == "People respond to their neighbours."
    note = found.notes[0]
    assert note.startswith("All answers lie on a grid of spacing 1, and are taken as exact")
    assert "the first and the last point of a scale" in note
    exact = pp.compare(rows, network, rivals)
    assert exact.notes == ()
    assert exact.sentences[0] == "People respond to their neighbours."
    # Digits that do no harm are no news.
    assert pp.compare(np.round(rows, 2), network, rivals).notes == ()


def test_without_a_network_only_rivals_without_neighbours_are_compared() -> None:
    frame = pd.DataFrame(walk(6, 30, 1), columns=list("abcdef")).assign(time=np.arange(1, 31))
    comparison = pp.compare(frame, None)
    assert set(comparison.fits) == {
        "none",
        "none+adaptation",
        "walk",
        *(name for name in OWN_LAWS if "neighbours" not in name),
    }
    assert comparison.best == "walk"
    assert "infer_network" in comparison.sentences[-1]


def test_frames_tidy_and_wide_and_files_give_the_same(tmp_path: Path) -> None:
    network = graph(8)
    rows = record(network, 15, 1, lambda t: 0.5)
    wide = pd.DataFrame(rows, columns=range(8)).assign(time=np.arange(1, 16))
    tidy = wide.melt("time", var_name="agent", value_name="public")
    wide.to_csv(tmp_path / "answers.csv", index=False)
    pp.networks.write_network(network, tmp_path / "edges.csv")
    forms = [(rows, network), (wide, network), (tidy, network)]
    heights = [pp.compare(data, graph, ["constant"]).fit.log_likelihood for data, graph in forms]
    heights.append(pp.compare(tmp_path / "answers.csv", tmp_path / "edges.csv", ["constant"]).fit.log_likelihood)
    assert heights == pytest.approx([heights[0]] * 4)


def test_texts_have_the_answer_first() -> None:
    network = graph(10)
    comparison = pp.compare(record(network, 20, 1, lambda t: 0.5), network, FEW)
    assert str(comparison).startswith(comparison.sentences[0])
    assert "<table" in comparison._repr_html_()
    assert list(comparison.table.columns) == ["model", "log_likelihood", "k", "bic_difference", "weight"]
    assert comparison.table["bic_difference"].iloc[0] == 0


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (np.ones((2, 6)), "needs 3 rows or more"),
        (np.ones((5, 6)), "answers must change over time"),
        (np.full((5, 6), np.inf), "answers must be finite"),
    ],
)
def test_bad_records_are_one_clear_line(rows: np.ndarray, match: str) -> None:
    with pytest.raises(InvalidInputError, match=match) as error:
        pp.compare(rows, graph(6))
    assert "\n" not in str(error.value)


def test_bad_arguments_are_one_clear_line() -> None:
    network = graph(6)
    rows = record(network, 10, 1)
    with pytest.raises(InvalidInputError, match="rivals of this record are"):
        pp.compare(rows, network, ["konstant"])
    with pytest.raises(InvalidInputError, match="start must be"):
        pp.compare(rows, network, start="open")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="the network must be"):
        pp.compare(rows, 5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="data come first"):
        pp.compare(network, rows)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="one record"):
        pp.compare(np.stack([rows, rows]), network)
    other = pp.Model(network, np.zeros(6), noise=pp.Laplace(1.0))
    with pytest.raises(InvalidInputError, match="white Gaussian noise"):
        pp.compare(rows, network, [other])


def test_a_model_that_fits_badly_tells_no_course_of_pressure() -> None:
    """Noise of two degrees of freedom makes falling pressure of constant one; the weight needs no law of errors."""
    network, rng = pp.networks.watts_strogatz(20, 4, 0.2, seed=1), np.random.default_rng(1)
    W, d = network.adjacency.toarray() / network.degrees[:, None], network.degrees
    x = rng.normal(0.5, 0.3, 20)
    y, rows = x, []
    for _ in range(60):
        own = 1 / (1 + d / 6)
        y = own * (x + 0.3 * rng.standard_t(2, 20)) + (1 - own) * (W @ y)
        rows.append(y)
    found = pp.compare(np.array(rows), network, ["none", "constant", "power"])
    assert found.best == "power"
    assert found.verdict == "responds"
    assert found.weight.low < 0.4 < found.weight.high
    assert "fits badly" in found.sentences[0]
    assert found.sentences[1] == "People respond to their neighbours."
    assert not any("On average they move" in sentence for sentence in found.sentences)
    assert not any("Pressure" in sentence for sentence in found.sentences)
