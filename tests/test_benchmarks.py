"""The benchmark compares like with like: every contender computes the model that it is said to compute."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from benchmarks import clock
from benchmarks.__main__ import MEASUREMENTS, arguments, main
from benchmarks.clock import Job, agrees, costs, ratio
from benchmarks.contenders import CONTENDERS, Run, numba_loop
from benchmarks.contenders.peerpressure_simulate import run as ours
from benchmarks.processes import spread
from benchmarks.report import PAGE, RESULTS, page
from benchmarks.sections import Section
from benchmarks.settings import QUICK, Settings
from benchmarks.workload import workload

from peerpressure import Constant, Gaussian, Model, Network, simulate

SAME_MODEL = [name for name in CONTENDERS if name not in ("NDlib FJModel", "Seldon DeGroot")]
STEPS = 7

# Mesa, NDlib and what they import warn of their own future, which is not ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the numba loops in Python: the same lines, without the seconds that their compilation takes."""
    for kernel in ("_serial", "_parallel"):
        monkeypatch.setattr(numba_loop, kernel, numba_loop._steps)


def test_every_study_can_be_chosen() -> None:
    assert arguments(["--only", *MEASUREMENTS]).only == list(MEASUREMENTS)
    assert arguments([]).only == list(MEASUREMENTS)


def _contender(name: str) -> Run:
    if not CONTENDERS[name].is_installed:
        pytest.skip(f"{name} is not installed in working order")
    return CONTENDERS[name].run


@pytest.fixture
def weighted() -> Network:
    base = workload(60).network.adjacency.tocoo()
    upper = base.row < base.col
    weights = np.random.default_rng(3).uniform(0.5, 2.0, int(upper.sum()))
    return Network.from_edges(np.stack([base.row[upper], base.col[upper]], axis=1), weights=weights, n=60)


@pytest.mark.parametrize("replicates", [1, 3])
@pytest.mark.parametrize("name", SAME_MODEL)
def test_without_noise_contenders_end_where_we_do(name: str, replicates: int, weighted: Network) -> None:
    run, made = _contender(name), workload(60)
    for network in (made.network, weighted):
        given = (network, made.hidden, made.stubbornness, 0.0, STEPS, replicates, 1)
        np.testing.assert_allclose(run(*given), ours(*given), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", SAME_MODEL)
def test_contenders_add_the_same_noise(name: str) -> None:
    run, made = _contender(name), workload(60)
    std, quiet = 0.5, ours(made.network, made.hidden, made.stubbornness, 0.0, 1, 1, 1)
    deviation = run(made.network, made.hidden, made.stubbornness, std, 1, 40, 5) - quiet
    gain = made.stubbornness / (made.stubbornness + made.network.degrees)
    z = deviation / (gain * std)
    assert z.shape == (40, 60)
    # The sum of 2,400 squared normals has standard deviation √4800; 4.5 of them are one in 10⁵.
    assert abs((z**2).sum() - z.size) < 4.5 * np.sqrt(2 * z.size)


# NDlib has constant pressure and Seldon the highest, both without noise.
@pytest.mark.parametrize(("name", "pressure"), [("NDlib FJModel", 1.0), ("Seldon DeGroot", 1e15)])
def test_others_compute_the_noiseless_model_under_a_pressure_of_their_own(name: str, pressure: float) -> None:
    run, made = _contender(name), workload(60)
    model = Model(made.network, hidden=made.hidden, stubbornness=made.stubbornness, pressure=Constant(pressure))
    expected = simulate(model, STEPS, record="final").final.public
    found = run(made.network, made.hidden, made.stubbornness, 0.5, STEPS, 2, 1)
    np.testing.assert_allclose(found, np.repeat(expected, 2, axis=0), rtol=0, atol=1e-10)


def test_workload_is_the_model_that_is_timed() -> None:
    made = workload(60)
    expected = simulate(made.model, STEPS, record="final", seed=4).final.public
    assert isinstance(made.model.noise, Gaussian)
    np.testing.assert_array_equal(ours(made.network, made.hidden, made.stubbornness, 0.1, STEPS, 1, 4), expected)


def test_ratio_is_taken_within_rounds() -> None:
    assert ratio(np.array([10.0, 100.0, 30.0]), np.array([1.0, 10.0, 1.0])) == 10.0


def test_the_job_that_comes_first_in_a_round_is_not_favoured(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each call takes 0.2 s of preparation, 1 s for memory that the job before had, and 1 s a step.
    before: list[str] = []

    def call(name: str, steps: int) -> float:
        spent = 0.2 + steps + (before[-1:] != [name])
        before.append(name)
        return spent

    monkeypatch.setattr(clock, "seconds", lambda call, steps: call(steps))
    jobs = {name: Job(partial(call, name), steps, work=10**9) for name, steps in [("ours", 3), ("theirs", 1)]}
    measured = costs(jobs, 2)
    assert {name: values.round(9).tolist() for name, values in measured.items()} == {"ours": [1, 1], "theirs": [1, 1]}


def test_rounds_of_a_busy_machine_do_not_agree() -> None:
    assert agrees(np.array([4.0, 4.2, 4.1, 9.0, 4.3]))
    assert not agrees(np.array([4.0, 8.2, 2.1, 9.0, 4.3]))


class _Half(NamedTuple):
    """What a task returns."""

    value: float
    is_even: bool


asked: list[int] = []


def _half(number: int) -> _Half:
    asked.append(number)
    return _Half(number / 2, number % 2 == 0)


def test_an_interrupted_study_is_continued(tmp_path: Path) -> None:
    asked.clear()
    settings = replace(QUICK, kept=tmp_path / "kept.jsonl")
    expected = spread(_half, [(3,), (4,)], settings)
    assert expected == [_Half(1.5, False), _Half(2.0, True)]
    # A process that is killed leaves half of a line.
    kept = tmp_path / "kept.jsonl"
    kept.write_text(kept.read_text(encoding="utf-8")[:-9], encoding="utf-8")
    assert spread(_half, [(3,), (4,), (5,)], settings) == [*expected, _Half(2.5, False)]
    assert spread(_half, [(5,), (4,)], settings) == [_Half(2.5, False), _Half(2.0, True)]
    assert asked == [3, 4, 4, 5]


def test_what_was_measured_is_kept_in_folders_that_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def speed(settings: Settings) -> Section:
        assert (tmp_path / "figures").is_dir()
        return Section("Speed", "Fast.", [])

    monkeypatch.setitem(MEASUREMENTS, "speed", speed)
    main(["--only", "speed", "--json", f"{tmp_path}/figures/all.json", "--write", f"{tmp_path}/pages/results.md"])
    assert '"title": "Speed"' in (tmp_path / "figures" / "all.json").read_text(encoding="utf-8")
    assert "Fast." in (tmp_path / "pages" / "results.md").read_text(encoding="utf-8")


def test_the_page_of_the_documentation_is_a_part_of_the_report() -> None:
    # Otherwise: python -m benchmarks.report
    assert PAGE.read_text(encoding="utf-8") == page(RESULTS.read_text(encoding="utf-8"))
