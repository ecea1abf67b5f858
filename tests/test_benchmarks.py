"""The benchmark compares like with like: every contender computes the model that it is said to compute."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks import bound, cross_check, peers, report, score_power, short_panels, whole_user
from benchmarks.__main__ import MEASUREMENTS, arguments, main
from benchmarks.clock import Job, costs, ratio
from benchmarks.contenders import CONTENDERS, Run, numba_loop
from benchmarks.contenders.peerpressure_simulate import run as ours
from benchmarks.processes import fresh, spread
from benchmarks.sections import Section, Table, Target, count, share, shown
from benchmarks.settings import FULL, QUICK, Settings
from benchmarks.software_network import software_network
from benchmarks.workload import SEED, workload

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


def test_ndlib_computes_the_noiseless_model_under_constant_pressure() -> None:
    run, made = _contender("NDlib FJModel"), workload(60)
    model = Model(made.network, hidden=made.hidden, stubbornness=made.stubbornness, pressure=Constant(1.0))
    expected = simulate(model, STEPS, record="final").final.public
    found = run(made.network, made.hidden, made.stubbornness, 0.5, STEPS, 2, 1)
    np.testing.assert_allclose(found, np.repeat(expected, 2, axis=0), rtol=0, atol=1e-10)


def test_seldon_computes_the_noiseless_model_under_the_highest_pressure() -> None:
    run, made = _contender("Seldon DeGroot"), workload(60)
    model = Model(made.network, hidden=made.hidden, stubbornness=made.stubbornness, pressure=Constant(1e15))
    expected = simulate(model, STEPS, record="final").final.public
    found = run(made.network, made.hidden, made.stubbornness, 0.5, STEPS, 2, 1)
    np.testing.assert_allclose(found, np.repeat(expected, 2, axis=0), rtol=0, atol=1e-10)


def test_a_contender_that_is_not_installed_has_a_line_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = replace(CONTENDERS["JAX"], imports=("no_such_package",))
    monkeypatch.setattr(peers, "CONTENDERS", {"JAX": missing})
    assert [row[-1] for row in peers._terms().rows] == ["yes", "no: skipped"]
    assert not missing.takes(100)


def test_software_network_joins_code_to_the_names_it_uses() -> None:
    network = software_network(("lazy_loader",))
    assert network.is_bipartite
    assert network.degrees.min() >= 1
    assert network.edge_count > network.n


def test_shuffled_workload_is_the_same_model() -> None:
    made = workload(60)
    order = np.random.default_rng(SEED).permutation(60)
    given = (0.0, STEPS, 1, 1)
    natural = ours(made.network, made.hidden, made.stubbornness, *given)
    other = made.shuffled()
    shuffled = ours(other.network, other.hidden, other.stubbornness, *given)
    np.testing.assert_allclose(shuffled, natural[:, order], rtol=0, atol=1e-12)


def test_whole_answers_name_where_their_time_goes() -> None:
    def busy() -> int:
        return sum(value * value for value in range(20_000))

    # Which of them is first depends on what else the machine does.
    top = whole_user.top_three(busy)
    assert any(re.fullmatch(r"tests/test_benchmarks\.py:\d+ <genexpr> \d+%", one) for one in top)
    assert whole_user._shortened("~", 0, "<method 'append' of 'list' objects>") == "append"
    assert whole_user._shortened("~", 0, "<built-in method numpy.zeros>") == "numpy.zeros"
    found = fresh(whole_user.program("slider, 1,000 agents", FULL, profiled=False))
    assert found.keys() == {"seconds", "processors"}


def test_workload_is_the_model_that_is_timed() -> None:
    made = workload(60)
    expected = simulate(made.model, STEPS, record="final", seed=4).final.public
    assert isinstance(made.model.noise, Gaussian)
    np.testing.assert_array_equal(ours(made.network, made.hidden, made.stubbornness, 0.1, STEPS, 1, 4), expected)


def test_rounds_interleave_after_a_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[tuple[str, int]] = []
    # Among all that other tests have left here, it would take a second.
    monkeypatch.setattr("benchmarks.clock.gc.collect", lambda: order.append(("garbage", 0)))
    jobs = {
        name: Job(lambda steps, name=name: order.append((name, steps)), steps=5, work=10)  # type: ignore[misc]
        for name in ("a", "b")
    }
    found = costs(jobs, rounds=2)
    assert order == [("a", 1), ("b", 1), *([("garbage", 0), ("a", 0), ("a", 5), ("b", 0), ("b", 5)] * 2)]
    assert all(values.shape == (2,) and (values >= 0).all() for values in found.values())


def test_ratio_is_taken_within_rounds() -> None:
    assert ratio(np.array([10.0, 100.0, 30.0]), np.array([1.0, 10.0, 1.0])) == 10.0


def test_traffic_counts_each_byte_once_where_all_fits() -> None:
    n = 1_000
    for replicates, order in ((1, 2 * n), (32, 0)):
        case = bound.Case(n, replicates, 1)
        graph = 4 * (n + 1) + 4 * workload(n).network.adjacency.nnz + order
        assert bound.traffic(case) == pytest.approx(16 + (graph + 24 * n) / (n * case.width))


def test_traffic_grows_where_the_cache_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    case, nnz = bound.Case(1_000, 32, 1), workload(1_000).network.adjacency.nnz
    roomy = bound.traffic(case)
    monkeypatch.setattr(bound, "last_level_cache", lambda: 0)
    assert bound.traffic(case) - roomy == pytest.approx(8 * (nnz / 1_000 - 1))


@pytest.mark.parametrize(("replicates", "threads"), [(1, 1), (1, 3), (32, 2), (32, 3), (48, 2)])
def test_parts_cover_every_agent_of_every_block_once(replicates: int, threads: int) -> None:
    case = bound.Case(5_000, replicates, threads)
    seen = np.zeros((case.blocks, case.agents), int)
    for block, begin, end in case.parts:
        seen[block, begin:end] += 1
    assert (seen == 1).all()


def test_settings_fill_a_round_within_limits() -> None:
    settings = Settings(seconds=1.0)
    assert settings.steps_for(10.0, 1_000_000) == 100
    assert settings.steps_for(1e9, 100) == 2
    assert settings.steps_for(1.0, 1) == 20_000


@pytest.mark.parametrize(
    ("measured", "at_least", "verdict"), [(2.0, True, "yes"), (2.0, False, "no"), (None, True, "not measured")]
)
def test_targets_say_whether_they_were_met(measured: float | None, at_least: bool, verdict: str) -> None:
    assert Target("speed", 1.5, measured, "×", at_least).verdict == verdict


def test_numbers_are_shown_short() -> None:
    assert [shown(cell) for cell in (None, "x", 3, 1.23456, 12345.6)] == ["–", "x", "3", "1.23", "12,346"]
    assert [count(n) for n in (1, 32, 100, 10_000_000)] == ["1", "32", "10²", "10⁷"]


def test_shares_have_a_standard_error_also_where_all_records_agree() -> None:
    assert share([True] * 190 + [False] * 10) == "0.950 ± 0.015"
    assert share([0.5, 0.7, 0.9]) == "0.700 ± 0.115"
    assert share([0.0] * 400) == "0.000 ± 0.003"


def test_studies_take_the_number_of_their_records() -> None:
    assert Settings(records=25).records_or(400) == 25
    assert Settings().records_or(400) == 400
    assert arguments(["--records", "25"]).records == 25


def test_short_panels_count_records_with_and_without_adapting_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_panels, "RECORDS", {30: 2})
    monkeypatch.setattr(short_panels, "WAVES", (3,))
    monkeypatch.setattr(short_panels, "KINDS", ("likeness",))
    monkeypatch.setattr(short_panels, "ADAPTED_WAVES", (5,))
    section = short_panels.measure(Settings(records=1))
    panels, adapting = section.tables
    assert [row[:4] for row in panels.rows] == [[30, 3, "likeness", 1]]
    assert [row[:4] for row in adapting.rows] == [[60, 5, "likeness", 1]]
    assert all("±" in str(cell) for cell in adapting.rows[0][4:])


def test_report_holds_machine_targets_definitions_and_tables() -> None:
    section = Section("Speed", "What it means.", [Table("Costs", ("", "ns"), [["us", 1.5], ["them", None]])],
                      [Target("faster", 2.0, 3.0, "×")])  # fmt: skip
    text = report.markdown([section], quick=True)
    for part in (
        "Processor",
        "| faster | ≥ 2× | 3× | yes |",
        "What it means.",
        "| us | 1.5 |",
        "| them | – |",
        "quick",
    ):
        assert part in text


def test_command_runs_what_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Settings] = []

    def measure(settings: Settings) -> Section:
        asked.append(settings)
        return Section("Speed", "", [Table("Costs", ("", "ns"), [["us", 1.5]])])

    monkeypatch.setitem(MEASUREMENTS, "speed", measure)
    main(["--quick", "--only", "speed", "--write", str(tmp_path / "b.md"), "--json", str(tmp_path / "b.json")])
    assert asked == [QUICK]
    assert "| us | 1.5 |" in (tmp_path / "b.md").read_text(encoding="utf-8")
    found = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["sections"]
    assert found["speed"]["tables"][0]["rows"] == [["us", 1.5]]
    assert arguments([]).only == list(MEASUREMENTS)


def test_sections_of_a_former_run_on_this_machine_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def section(name: str, cost: float, settings: Settings) -> Section:
        table, target = Table("Costs", ("", "ns"), [["us", cost]]), Target(f"fast {name}", 2.0, cost)
        return Section(name, "What it means.", [table], [target])

    for name, cost in (("speed", 1.5), ("memory", 2.5)):
        monkeypatch.setitem(MEASUREMENTS, name, partial(section, name, cost))
    file, page = tmp_path / "b.json", tmp_path / "b.md"
    main(["--quick", "--only", "memory", "--json", str(file)])
    main(["--quick", "--only", "speed", "--json", str(file), "--write", str(page)])
    text = page.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Targets", "## speed", "## memory"]
    assert "| fast memory | ≥ 2 | 2.5 | yes |" in text
    # Another machine, or other sizes, cannot be mixed with this one.
    other = json.loads(file.read_text(encoding="utf-8")) | {"machine": {"Processor": "another"}}
    file.write_text(json.dumps(other), encoding="utf-8")
    main(["--quick", "--only", "speed", "--json", str(file), "--write", str(page)])
    assert "memory" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", cross_check.PEERS)
def test_other_packages_take_the_same_steps_on_a_follower_network(name: str) -> None:
    if not cross_check.is_installed(name):
        pytest.skip(f"{name} is not installed in working order")
    assert max(cross_check.differences(name, cross_check.followed())) < 1e-12


def test_their_limits_are_ours() -> None:
    fast, slow = cross_check.limits(cross_check.followed())
    assert max(float(row[-1] or 0) for row in (fast, slow)) < 1e-12
    assert abs(float(fast[1] or 0) - float(slow[1] or 0)) > 1e-3


def test_several_processes_measure_what_one_does() -> None:
    items = [(next(iter(score_power.settings_of())), 1)]
    assert spread(score_power.judged, items, 2) == spread(score_power.judged, items, 1)
    # In the order of the items, by processes that have little to load.
    assert spread(pow, [(2, k) for k in range(6)], 2) == [1, 2, 4, 8, 16, 32]
