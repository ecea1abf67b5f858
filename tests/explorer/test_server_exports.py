"""What is taken home says the same as the page: scenario, numbers, pictures, and Python that runs."""

from __future__ import annotations

import io
import re
import runpy
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib.image
import numpy as np
import pytest
import xarray
from matplotlib.collections import LineCollection

import peerpressure as pp
from peerpressure import cli
from peerpressure.errors import CancelledError
from peerpressure.explorer import exports
from peerpressure.explorer.answers import bench_answer, budget_answer, inferred_edges, observe_answer
from peerpressure.explorer.bundle import STATIC
from peerpressure.explorer.catalogue import presets
from peerpressure.explorer.exports import Look, python_file
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits, RequestError
from peerpressure.recovery import METHODS
from peerpressure.report.store import from_csv
from peerpressure.scenario import Experiment, estimates, load_scenario, scenario_from
from peerpressure.support.progress import cancellable
from tests.explorer.asking import SMALL, Asker, served, unpack
from tests.waiting import result_of, wait_for_event

TRIANGLE = {"edges": [[0, 1], [1, 2], [0, 2], [2, 3]], "weights": [1.0, 2.5, 1.0, 0.5], "labels": ["a", "b", 3, "d'"]}
VARIANTS: dict[str, dict[str, Any]] = {
    "small": SMALL,
    "inline": {
        "network": TRIANGLE,
        "agents": {"hidden": [0.1, 0.9, 0.4, 0.2], "stubbornness": [1.0, 2.0, 0.5, 1.0], "start": [0.0, 0.0, 1.0, 1.0]},
        "noise": {"law": "student", "std": [0.1, 0.2, 0.3, 0.4], "df": 4.0, "temporal": {"ar1": 0.5}},
        "run": {"steps": 12, "replicates": 2, "seed": 3},
        "observe": {
            "agents": ["a", 3],
            "times": [1, 2, 3],
            "methods": ["kalman"],
            "prior": {"mean": 0.5, "variance": 0.1},
        },
    },
    "half": SMALL | {"observe": {"agents": list(range(15)), "first_step": 5}},
    "camps": {
        "network": {"named": "karate"},
        "agents": {"hidden": {"law": "two_camps", "low": -1.0, "high": 1.0, "share": 0.3, "std": 0.1, "seed": 9}},
        "pressure": {"kind": "tuned"},
        "noise": {
            "law": "laplace",
            "std": 0.3,
            "temporal": "frozen",
            "time_scale": {"kind": "power", "exponent": -0.5},
        },
        "run": {"steps": 9, "seed": 2},
    },
    "optimal": SMALL | {"pressure": {"kind": "optimal"}},
    "pieces": {
        "network": {"generator": "erdos_renyi", "n": 40, "p": 0.04, "connected": False},
        "agents": {"hidden": {"law": "normal", "mean": 2.0, "std": 0.5}, "stubbornness": 2.0},
        "pressure": {"formula": "t*log(1 + t)"},
        "noise": {"law": "uniform", "std": 0.2},
        "run": {"steps": 9, "seed": 2},
    },
    "table": SMALL
    | {"pressure": {"kind": "table", "values": [float(t) for t in range(1, 60)]}, "noise": {"law": "none"}},
    "adapting": SMALL
    | {"agents": {"adaptation": {"rate": "0.1/t", "adaptation_weight": {"law": "uniform", "low": 0.2, "high": 0.9}}}},
    "following": SMALL | {"agents": {"adaptation": 0.02}},
    "flowing": SMALL
    | {
        "time": {"continuous": True, "step": 0.2, "scaling": "model", "method": "euler"},
        "observe": {"methods": ["kalman"]},
    },
    "failing": SMALL | {"network": SMALL["network"] | {"dynamics": {"kind": "failing_edges", "probability": 0.4}}},
    "meeting": SMALL | {"network": {"temporal": "activity_driven", "n": 40, "contacts": 2, "floor": 0.1}},
}


# Few agents: each fit of an agent takes some milliseconds.
UNKNOWN: dict[str, Any] = SMALL | {
    "network": {"generator": "barabasi_albert", "n": 5, "m": 2},
    "run": {"steps": 60, "replicates": 2, "seed": 5},
    "observe": {"methods": ["ols"], "unknown_network": {"symmetric": True}},
}


@pytest.fixture(scope="module")
def asker(explorer: str) -> Iterator[Asker]:
    with Asker(explorer) as one:
        yield one


# The observer of half of the agents names no method.
PROGRAMS = ["inline", "half", "camps", "flowing"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_makes_the_very_states_again(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    read = scenario_from(VARIANTS[name])
    (tmp_path / "program.py").write_bytes(python_file(read))
    made = runpy.run_path(str(tmp_path / "program.py"))["run"]
    run = pp.simulate(read.system(), read.run.steps, read.run.replicates, seed=read.run.seed)
    assert np.array_equal(made.states, np.asarray(run.states))
    printed = capfd.readouterr().out
    if read.observe is not None:
        for estimate in Experiment(read).estimates.values():
            assert str(estimate) in printed


def test_a_program_infers_the_network_that_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_bytes(python_file(scenario_from(UNKNOWN)))
    estimate = runpy.run_path(str(tmp_path / "program.py"))["estimate"]
    limits = Limits(inferred=2 * 5 * 10_060)
    shown = inferred_edges(ModelCache(limits).build({"scenario": UNKNOWN}), limits)
    i, j = shown.pairs.T
    assert np.array_equal(shown.weights[-1], np.maximum(estimate.weights, estimate.weights.T)[i, j].astype(np.float32))


def test_a_program_comes_as_a_file(asker: Asker) -> None:
    answer = asker.post("export/python")
    assert answer.headers["content-disposition"] == 'attachment; filename="peerpressure_run.py"'
    assert answer.content == python_file(scenario_from(SMALL))


def test_hostile_labels_stay_labels_in_a_program(tmp_path: Path) -> None:
    nasty = '\'); import os; os.abort() #\n"""\\'
    read = scenario_from({"network": {"edges": [[0, 1]], "labels": [nasty, "b"]}, "run": {"steps": 1}})
    (tmp_path / "program.py").write_bytes(python_file(read))
    assert runpy.run_path(str(tmp_path / "program.py"))["model"].network.labels == (nasty, "b")


@pytest.mark.parametrize("name", [*VARIANTS])
def test_the_scenario_reads_back_from_its_file(name: str, asker: Asker, tmp_path: Path) -> None:
    answer = asker.post("export/toml", VARIANTS[name])
    assert answer.headers["content-disposition"] == 'attachment; filename="peerpressure.toml"'
    file = tmp_path / "scenario.toml"
    file.write_bytes(answer.content)
    assert load_scenario(file) == scenario_from(VARIANTS[name])


def test_the_command_line_runs_the_scenario(asker: Asker, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scenario.toml"
    small = VARIANTS["inline"] | {"observe": {"methods": ["kalman"]}}
    file.write_bytes(asker.post("export/toml", small).content)
    text = file.read_text().replace("figures = true", "figures = false").replace("report = true", "report = false")
    file.write_text(text)
    assert cli.invoke(["run", str(file), "--out", str(tmp_path / "out")]) == 0, capfd.readouterr().err
    with xarray.open_dataset(tmp_path / "out" / "run.nc") as data:
        states = asker.packed("run", small).arrays["states"]
        assert np.array_equal(data["public"].to_numpy()[0].astype(np.float32), states)


def test_the_table_holds_every_number_in_full(asker: Asker) -> None:
    answer = asker.post("export/csv")
    table = from_csv(answer.content)
    read = scenario_from(SMALL)
    run = pp.simulate(read.model(), 40, 3, seed=5)
    assert list(table.columns) == ["replicate", "time", "agent", "public"]
    assert np.array_equal(table["public"].to_numpy(), np.asarray(run.states).ravel())


def test_netcdf_holds_states_and_summaries(asker: Asker) -> None:
    answer = asker.post("export/netcdf")
    read = scenario_from(SMALL)
    run = pp.simulate(read.model(), 40, 3, seed=5)
    with xarray.open_dataset(io.BytesIO(answer.content), engine="scipy") as data:
        assert np.array_equal(data["public"].to_numpy(), np.asarray(run.states))
        assert np.array_equal(data["max_distance"].to_numpy(), np.asarray(run.max_distance))
        assert data.attrs["pressure"] == "ρ_t = 0.7 t"


def test_files_have_a_bound_that_is_told() -> None:
    with served(Limits(rows=1_000, numbers=2_000)) as address, Asker(address) as asker:
        assert "rows of a table must be at most 1,000" in asker.refused("export/csv")["text"]
        assert "numbers in a file must be at most 2,000" in asker.refused("export/netcdf")["text"]


@pytest.mark.parametrize("what", exports.SUBJECTS)
def test_pictures_are_pictures(what: str, asker: Asker) -> None:
    asked: dict[str, Any] = {"what": what, "time": 3}
    pixels = matplotlib.image.imread(io.BytesIO(asker.post("export/figure", format="png", **asked).content))
    assert min(pixels.shape[:2]) > 600
    assert pixels.std() > 0.02
    if what != exports.SUBJECTS[0]:
        return
    # Other formats are those of one function for all.
    svg = asker.post("export/figure", format="svg", **asked)
    assert svg.headers["content-type"] == "image/svg+xml"
    assert svg.headers["content-disposition"] == f'attachment; filename="peerpressure-{what}.svg"'
    assert ElementTree.fromstring(svg.content).tag.endswith("svg")
    pdf = asker.post("export/figure", format="pdf", **asked)
    assert pdf.headers["content-type"] == "application/pdf"
    assert pdf.content.startswith(b"%PDF")


def test_the_figure_of_privacy_has_the_numbers_of_the_page() -> None:
    built = ModelCache(Limits()).build({"scenario": SMALL})
    grid = exports._privacy(built, Limits())().axes
    (_, over_time), (_, noise) = (unpack(answer(built, Limits())) for answer in (budget_answer, bench_answer))
    lines = [axes.lines[0].get_xydata() for axes in grid]
    for line, (x, y) in zip(
        (lines[0], lines[1], lines[3]),
        (
            (over_time["budget_times"], over_time["budget_epsilon"]),
            (noise["noise"], noise["epsilon"]),
            (noise["noise"], noise["error"]),
        ),
        strict=True,
    ):
        assert np.allclose(line, np.stack([x, y], axis=1))


def test_a_picture_of_the_observer_has_the_bounds_of_the_question_about_it(asker: Asker) -> None:
    (many,) = [preset.state["scenario"] for preset in presets() if preset.example.name == "many"]
    for steps in (200, 1):
        scenario = many | {"observe": {"methods": ["ols"]}, "run": many["run"] | {"steps": steps}}
        told = asker.refused("observe", scenario)
        assert asker.refused("export/figure", scenario, what="observer", format="png") == told
        assert told["where"] == "observe"
        assert "10,000" in told["text"]


def test_nobody_who_draws_waits_for_somebody_elses_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, free = threading.Event(), threading.Event()

    def slow(experiment: Experiment) -> Any:
        begun.set()
        wait_for_event(free, "somebody else's picture")
        return estimates(experiment)

    monkeypatch.setattr(exports, "estimates", slow)
    with (
        served(Limits()) as address,
        ThreadPoolExecutor(1) as pool,
        Asker(address, "one") as one,
        Asker(address, "two") as two,
    ):
        observer = pool.submit(one.post, "export/figure", what="observer", format="png")
        wait_for_event(begun, "the start of a computation")
        answer = two.post("export/figure", what="curves", format="svg")
        free.set()
        assert answer.status_code == 200, answer.text
        result_of(observer, "the picture of an observer")


def test_a_picture_that_waits_for_another_to_be_drawn_can_be_cancelled() -> None:
    cache, stopped = ModelCache(Limits()), threading.Event()
    built = cache.build({"scenario": SMALL})

    def job() -> bytes:
        with cancellable(stopped.is_set):
            return exports.picture(built, "curves", Look(), "svg", cache)

    with ThreadPoolExecutor(1) as pool, exports._DRAWING:
        waiting = pool.submit(job)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.5)
        stopped.set()
        with pytest.raises(CancelledError):
            result_of(waiting, "the end of a job")


@pytest.mark.parametrize(
    ("what", "part"), [("curves", "summaries"), ("observer", "estimates"), ("network", "simulate")]
)
def test_the_computation_behind_a_picture_can_be_cancelled(
    what: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, cancelled = threading.Event(), []
    original = getattr(exports, part)

    def computed(*arguments: Any, **named: Any) -> Any:
        stopped.set()
        try:
            return original(*arguments, **named)
        except CancelledError:
            cancelled.append(part)
            raise

    monkeypatch.setattr(exports, part, computed)
    cache = ModelCache(Limits())
    built = cache.build({"scenario": SMALL})
    with cancellable(stopped.is_set), pytest.raises(CancelledError):
        exports.picture(built, what, Look(3), "svg", cache)
    assert cancelled == [part]


def test_pictures_have_the_axes_the_colours_and_the_rings_of_the_page() -> None:
    cache = ModelCache(Limits())
    built = cache.build({"scenario": SMALL})
    for log_time, log_size in ((False, True), (True, False)):
        left, right = exports._curves(built, Look(log_time=log_time, log_size=log_size), Limits())().axes
        assert (left.get_xscale() == "symlog", right.get_xscale() == "symlog") == (log_time, log_time)
        assert (right.get_yscale() == "log") == log_size
    places, v = cache.drawing(built.model.network), built.model.consensus_value
    _, ring, _, dots = exports._network(built, places, Look(7), Limits())().axes[0].collections
    public = pp.simulate(built.system, 7, seed=SMALL["run"]["seed"], record="final").final.public[0]
    assert np.array_equal(np.asarray(ring.get_array()), built.model.x0)
    assert np.array_equal(np.asarray(dots.get_array()), public)
    half = np.abs(built.model.x0 - v).max()
    assert dots.get_clim() == ring.get_clim() == (v - half, v + half)
    *_, alone = exports._network(built, places, Look(7, colour="hidden"), Limits())().axes[0].collections
    assert np.array_equal(np.asarray(alone.get_array()), built.model.x0)
    # Zoomed to the opinions from step 7 on; hidden ones need the whole scale, and have no rings then.
    figure = exports._network(built, places, Look(7, zoom_colours=True), Limits())()
    _, _, dots = figure.axes[0].collections
    states = np.asarray(pp.simulate(built.system, built.steps, seed=SMALL["run"]["seed"]).states)[0]
    reach = np.abs(states[7:] - v).max()
    assert reach < 0.9 * half
    assert dots.get_clim() == pytest.approx((v - reach, v + reach))
    assert "zoomed in" in figure.axes[1].get_xlabel()


def test_pictures_show_directions_distrust_and_zealots() -> None:
    edges = [[0, 1], [1, 0], [1, 2], [2, 3], [3, 1]]
    network = {"edges": edges, "weights": [1.0, 1.0, -1.0, 1.0, 1.0], "directed": True, "signed": True}
    cache = ModelCache(Limits())
    built = cache.build({"scenario": SMALL | {"network": network, "agents": {"zealots": [3]}}})
    figure = exports._network(built, cache.drawing(built.model.network), Look(7), Limits())()
    lines, dashed, heads, *dots, outline = figure.axes[0].collections
    # A mutual edge, one of trust and one of distrust; of the zealot's edges only those of others are left.
    assert len(lines.get_paths()) == 2
    assert len(dashed.get_paths()) == 1
    assert dashed.get_linestyle() != lines.get_linestyle()
    assert len(heads.get_paths()) == 2
    assert [np.shape(one.get_offsets())[0] for one in dots] == [3, 1] * 3
    assert np.shape(outline.get_offsets())[0] == 1
    notes = figure.axes[1].get_xlabel()
    assert all(word in notes for word in ("listens to", "distrust", "listens to nobody"))


def test_curves_have_the_values_of_all_classes() -> None:
    network = {"edges": [[0, 1], [1, 0], [2, 3], [3, 2]], "directed": True}
    built = ModelCache(Limits()).build({"scenario": SMALL | {"network": network}})
    left, right = exports._curves(built, Look(), Limits())().axes
    heights = [np.asarray(line.get_ydata(), dtype=float) for line in left.lines]
    levels = [float(y[0]) for y in heights if np.ptp(y) == 0]
    assert levels == built.model.class_values.tolist()
    assert len(levels) == 2
    assert "largest distance to own limits" in [text.get_text() for text in right.texts]
    # Without the states there is no distance.
    _, right = exports._curves(built, Look(), Limits(numbers=1))().axes
    assert [text.get_text() for text in right.texts if "distance" in text.get_text()] == []


def test_a_mistake_of_the_observer_does_not_prevent_other_pictures(asker: Asker) -> None:
    wrong = SMALL | {"observe": {"methods": ["none such"]}}
    for what, status in (("network", 200), ("observer", 422)):
        assert asker.post("export/figure", wrong, what=what, time=1, format="png").status_code == status


def test_the_picture_of_a_network_follows_time(asker: Asker) -> None:
    early, late, beyond = (
        asker.post("export/figure", what="network", time=t, format="svg").content for t in (0, 40, 1e9)
    )
    assert early != late
    # There is nothing beyond the end, and the same picture is the same file.
    assert beyond == late


def test_a_method_that_fails_is_left_out_of_the_picture(asker: Asker) -> None:
    scenario = SMALL | {"observe": {"agents": [0, 1, 2], "methods": ["innovations", "kalman"]}}
    assert asker.post("export/figure", scenario, what="observer", format="png").status_code == 200
    scenario = SMALL | {"observe": {"agents": [0, 1, 2], "methods": ["innovations"]}}
    assert "kalman" in asker.refused("export/figure", scenario, what="observer", format="png")["text"]


def test_the_picture_of_an_unknown_network_follows_time() -> None:
    limits = Limits(inferred=2 * 5 * 10_060)
    cache = ModelCache(limits)
    built = cache.build({"scenario": UNKNOWN})
    nothing, all_steps = (exports.picture(built, "observer", Look(time), "svg", cache) for time in (0, 1e9))
    assert ElementTree.fromstring(all_steps).tag.endswith("svg")
    assert nothing != all_steps
    partly = UNKNOWN | {"observe": {"agents": [0, 1], "unknown_network": {}}}
    with pytest.raises(RequestError, match="3 of 5 unobserved"):
        exports.picture(cache.build({"scenario": partly}), "observer", Look(60), "svg", cache)


@pytest.mark.parametrize(
    "asked", [{}, {"what": "x"}, {"what": "curves", "format": "eps"}, {"time": "now"}, {"time": True}]
)
def test_only_pictures_that_there_are_can_be_asked_for(asker: Asker, asked: dict[str, Any]) -> None:
    error = asker.refused("export/figure", **({"what": "curves", "format": "eps"} | asked))
    assert "curves, network, observer" in error["text"]


@pytest.mark.parametrize("asked", [{"view": "x"}, {"view": {"agents": 5}}, {"other": 5}, {"other": [1]}], ids=str)
def test_a_page_is_asked_for_with_objects(asker: Asker, asked: dict[str, Any]) -> None:
    answer = asker.post("export/page", **asked)
    assert (answer.status_code, "must" in answer.json()["error"]["text"]) == (400, True)


def test_a_picture_of_the_observer_has_the_titles_the_bars_and_the_square_axes_of_the_page() -> None:
    cache = ModelCache(Limits())
    built = cache.build({"scenario": SMALL | {"observe": {"methods": ["auto", "ols"]}}})
    figure = exports._observer(built, cache.limits)()
    shown = unpack(observe_answer(built, cache.limits)).facts["methods"]
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == [f"({letter}) {METHODS[one['used']].title}" for letter, one in zip("ab", shown, strict=True)]
    # The page says the same of its error bars.
    page = (STATIC / "index.html").read_text("utf-8")
    assert figure.axes[0].get_ylabel() == "estimate ± 1 standard deviation"
    assert re.search(r"what the observer makes of it, ± 1 standard deviation", page)
    for axes in figure.axes:
        assert axes.get_box_aspect() == 1
        assert axes.get_xlim() == axes.get_ylim()
    (lines,) = (one for one in figure.axes[0].collections if isinstance(one, LineCollection))
    bars = [np.asarray(bar) for bar in lines.get_segments()]
    estimate = unpack(observe_answer(built, cache.limits)).arrays
    ends = np.array([[bar[0, 1], bar[1, 1]] for bar in bars])
    np.testing.assert_allclose(ends.mean(axis=1), estimate["estimate_auto"], rtol=1e-9)
    np.testing.assert_allclose(np.diff(ends, axis=1)[:, 0] / 2, estimate["std_auto"], rtol=1e-9)
