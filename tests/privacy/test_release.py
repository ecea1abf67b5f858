"""Releases: what is published, what it is computed from, what is refused, and that nothing else gets out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

import peerpressure as pp
from peerpressure.errors import InvalidInputError, ModelError
from peerpressure.model.step import Array
from peerpressure.noise import Custom, Uniform
from peerpressure.privacy import _grid, budget, delay_pressure, release
from peerpressure.privacy._grid import grid_of, nearest
from peerpressure.privacy._shifts import _resemblance
from tests.builders import random_model
from tests.cli.calling import run as command

Words: TypeAlias = NDArray[np.uint64]
N, T = 6, 5
TEMPORAL = pp.TemporalNetwork.from_events([(1, 0, 1), (1, 1, 2), (2, 2, 3), (3, 0, 1, 0.0), (3, 0, 3), (4, 4, 5)], n=N)
PARTS: dict[str, dict[str, Any]] = {
    "gaussian": {"noise": pp.Gaussian(5.0)},
    "laplace": {"noise": pp.Laplace(60.0)},
    "by agent": {"noise": pp.Gaussian(np.linspace(8.0, 90.0, N))},
    "growing": {"noise": pp.Gaussian(20.0, time_scale=pp.Power(0.5))},
    "frozen": {"noise": pp.Gaussian(5.0, temporal="frozen")},
    "laplace frozen": {"noise": pp.Laplace(5.0, temporal="frozen")},
    "temporal": {"noise": pp.Gaussian(5.0), "temporal_network": TEMPORAL, "isolated": "keep"},
    "table": {"noise": pp.Gaussian(5.0), "activation": np.tile([[1, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 1]], (3, 1))},
}


def model_of(name: str = "gaussian", **parts: Any) -> pp.Model:
    return random_model(N, **({"start": 0.25} | PARTS[name] | parts))


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> list[Words]:
    """Words that are known, in place of those of the operating system, in the order in which they were drawn."""
    rng, drawn = np.random.default_rng(5), list[Words]()

    def known(shape: tuple[int, ...]) -> Words:
        drawn.append(rng.integers(0, 2**64, shape, dtype=np.uint64))
        return drawn[-1]

    monkeypatch.setattr(_grid, "random_words", known)
    return drawn


@pytest.mark.parametrize(
    ("name", "runs"), [*((name, 3) for name in PARTS), ("gaussian", 1), ("gaussian", 40), ("temporal", 40)]
)
def test_opinions_follow_from_sums_on_the_grid_alone(name: str, runs: int, words: list[Words]) -> None:
    model = model_of(name)
    found = release(model, T, runs=runs, threads=1)
    grid = grid_of(model.noise, N, T, 1.0)
    before = np.full((runs, N), 0.25)
    for t in range(1, T + 1):
        known = words[0 if model.noise.is_frozen else t - 1]
        k = _grid.draws(grid.law, grid.std[min(t, len(grid.std)) - 1] / grid.step, known)
        sums = (nearest(model.x0, grid.step) + k) * grid.step
        # A sum of two multiples of a power of two is exact.
        np.testing.assert_array_equal(nearest(model.x0, grid.step) * grid.step + k * grid.step, sums)
        update = model.update(t)
        before = update.gain * sums + (update.coupling @ before.T).T
        np.testing.assert_allclose(found.opinions[:, t - 1], before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PARTS)
def test_equal_sums_give_equal_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but a + k enters: opinions that differ by whole steps, under noise that makes up for it."""
    model = model_of(name)
    grid, shift = grid_of(model.noise, N, T, 1.0), np.array([7.0, 0, 0, -300, 0, 12])
    near = nearest(model.x0, grid.step) * grid.step
    found = []
    for moved in (0.0, shift):
        rng = np.random.default_rng(3)
        monkeypatch.setattr(_grid, "random_words", lambda shape, rng=rng: rng.integers(0, 2**64, shape, np.uint64))
        drawn = _grid.draws
        with monkeypatch.context() as patch:
            patch.setattr(_grid, "draws", lambda *args, drawn=drawn, moved=moved: drawn(*args) - moved)
            found.append(release(replace(model, hidden=near + moved * grid.step), T, runs=3).opinions)
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("name", PARTS)
def test_the_account_is_that_of_real_numbers_and_a_little_delta(name: str) -> None:
    found, ideal = release(model_of(name), T, runs=2), budget(model_of(name), T, runs=2)
    assert ideal.epsilon <= found.epsilon <= ideal.epsilon + 2e-4
    assert found.delta == 1e-5
    added = float(re.findall(r"adds (\S+) to δ", found.statement["arithmetic"])[0])
    assert 0 < added < 1e-11


def test_noise_is_scaled_to_a_budget() -> None:
    found = release(model_of(), T, epsilon=0.5, sensitivity=0.3)
    assert found.epsilon == 0.5
    assert "Δ = 0.300049" in found.statement["neighbouring inputs"]
    assert release(random_model(N, start=0.0), T, epsilon=0.5).epsilon == 0.5


def test_persons_topics_and_insiders_are_those_of_an_account() -> None:
    hidden = np.random.default_rng(1).uniform(size=(N, 3))
    model = pp.Model(pp.networks.cycle(N).with_topics(3), hidden, noise=pp.Gaussian(9.0), start=0.0)
    person, topic = release(model, T), release(model, T, unit="topic")
    assert person.epsilon > 1.5 * topic.epsilon
    assert "each person" in person.statement["guarantee"]
    assert "one topic of a person" in topic.statement["guarantee"]
    assert list(person.to_dataframe().columns) == ["run", "time", "agent", "topic", "public"]
    assert "an insider and tells" in release(model, T, insiders=[2]).statement["observer"]


def test_large_epsilon_or_little_delta_cannot_be_promised() -> None:
    with pytest.raises(InvalidInputError, match="must add less than half of δ"):
        release(model_of(noise=pp.Gaussian(0.3)), T)
    assert release(model_of(), T, delta=1e-9).delta == 1e-9


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"adaptation": 0.1}, "constant hidden opinions"),
        ({"noise": pp.Gaussian(5.0, temporal=pp.AR1(0.5))}, "white or frozen noise"),
        ({"noise": Uniform(5.0)}, "Gaussian or Laplace noise"),
        ({"noise": pp.StudentT(5.0)}, "Gaussian or Laplace noise"),
        ({"noise": Custom(stats.norm())}, "Gaussian or Laplace noise"),
        ({"noise": pp.NoNoise()}, "finite ε"),
        ({"noise": pp.Gaussian([0.0, 1, 1, 1, 1, 1])}, "finite ε"),
        ({"noise": pp.Gaussian(5.0, temporal="frozen", time_scale=pp.Power(0.5))}, "finite ε"),
        ({"start": "hidden"}, "start that does not show hidden opinions"),
        ({"start": np.linspace(0, 1, N)}, "declared to be public"),
    ],
)
def test_what_is_not_covered_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        release(model_of(**change), T)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (lambda x: x**2, "order of agents is theirs, rank correlation 1.00"),
        (lambda x: -np.exp(x), "rank correlation -1.00"),
        (lambda x: np.roll(x, 3), "their values in another order"),
        (lambda x: 2 - 3 * np.roll(x, 3), "their values in another order"),
        (lambda x: x + 0.04 * np.cos(40 * x), "within 5% of their range"),
        (lambda x: np.where(np.arange(40) == 7, x, 0.5), "the hidden opinion of agent 7"),
        (lambda x: np.roll(x, 3) + 1e-6 * np.cos(40 * x), "their values in another order"),
        (lambda x: (x - 0.5) ** 2, "a function of them, Chatterjee's correlation"),
        (lambda x: x + 0.3 * np.cos(400 * x), "rank correlation 0"),
    ],
)
def test_a_start_that_shows_hidden_opinions_is_refused_unless_it_was_published(
    start: Callable[[Array], Array], words: str
) -> None:
    hidden = np.random.default_rng(3).uniform(size=40)
    model = pp.Model(pp.networks.cycle(40), hidden, start=start(hidden), noise=pp.Gaussian(20.0))
    with pytest.raises(InvalidInputError, match=re.escape(words)) as refused:
        release(model, 2, public_start=True)
    assert "declare it as published" in str(refused.value)
    assert release(model, 2, public_start="published").opinions.shape == (1, 2, 40)


def test_few_agents_and_unrelated_starts_are_released() -> None:
    refused = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = (2, 3, 7, 25)[seed % 4]
        found = _resemblance(rng.normal(size=n), rng.uniform(size=n))
        refused += found is not None
        # Values of one scale, or of one law, are in part the same.
        scale, law = rng.integers(1, 6, (2, n)) / 5, rng.uniform(size=(2, 100 * n))
        refused += n > 7 and _resemblance(*scale) is not None
        refused += _resemblance(*law) is not None
    assert refused <= 2
    assert _resemblance(np.array([0.1, 0.5]), np.array([0.1, 0.51])) is not None


def test_a_release_says_first_that_it_is_simulated() -> None:
    released = release(model_of(), T)
    assert next(iter(released.statement.values())).startswith("Simulated public opinions, computed by a model")
    assert "which its numbers cannot prove" in released.statement["start"]
    with pytest.raises(InvalidInputError, match="True, False or 'published', got 'yes'"):
        release(model_of(), T, public_start="yes")  # type: ignore[arg-type]


def test_random_updates_and_continuous_time_are_refused() -> None:
    with pytest.raises(ModelError, match="who updates"):
        release(model_of(activation=0.5), T)
    with pytest.raises(InvalidInputError, match="defined for a Model"):
        release(pp.SDE(model_of()), T)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [0, 3])
def test_a_seed_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"from the operating system, got seed {seed}"):
        release(model_of(), T, seed=seed)


@pytest.mark.parametrize("record", ["summaries", pp.Record(states=False)])
def test_summaries_are_no_release(record: Any) -> None:
    with pytest.raises(InvalidInputError, match="opinions of agents"):
        release(model_of(), T, record=record)


def test_some_agents_and_steps_may_be_released() -> None:
    found = release(model_of(), T, record=pp.Record(every=2, agents=[4, 1]))
    assert found.times.tolist() == [2, 4, 5]
    assert list(found.names["agent"]) == [4, 1]
    final = release(model_of(), T, record="final", runs=3)
    assert final.times.tolist() == [T]
    assert final.opinions.shape == (3, 1, N)


def test_a_hidden_start_that_nobody_hears_is_no_part_of_it(words: list[Words]) -> None:
    quiet = delay_pressure(model_of(start="hidden"), T)
    shown = release(quiet, T).opinions
    words.clear()
    assert shown.shape == (1, T, N)
    assert np.isfinite(shown).all()
    # The start of the agents is not in the data, nor is anything computed from it.
    assert release(quiet, T).times[0] == 1


def test_two_releases_have_nothing_in_common() -> None:
    one, two = (release(model_of(), T).opinions for _ in range(2))
    assert not np.isin(one, two).any()


@pytest.mark.parametrize("move", [lambda x: x + 3.0, lambda x: x * 40, lambda x: x[::-1]])
def test_no_sentence_depends_on_the_hidden_opinions(move: Callable[[Array], Array]) -> None:
    model = model_of()
    other = replace(model, hidden=move(model.x0))
    assert release(model, T, public_network=True).statement == release(other, T, public_network=True).statement


def test_a_release_holds_neither_opinions_nor_seeds(tmp_path: Path) -> None:
    hidden = np.array([0.123456789, 7.987654321, 3.141414141, 2.727272727, 9.101010101, 5.555555551])
    model = replace(model_of(), hidden=hidden)
    found = release(model, T, public_network=True)
    assert {field.name for field in fields(found)} == {
        "opinions", "times", "names", "epsilon", "delta", "statement", "network",
    }  # fmt: skip
    files = found.write(tmp_path / "published")
    assert sorted(file.name for file in files) == ["network.graphml", "opinions.csv", "release.json", "statement.txt"]
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not any(f"{value:.6f}" in text for value in hidden)
        assert "hidden" not in text.replace("hidden opinion", "")
    facts = json.loads((tmp_path / "published" / "release.json").read_text(encoding="utf-8"))
    said = {"epsilon": found.epsilon, "delta": 1e-5, "statement": dict(found.statement)}
    assert facts == {"schema_version": 1, **said}
    table = pd.read_csv(tmp_path / "published" / "opinions.csv", converters={"public": float})
    np.testing.assert_array_equal(table["public"].to_numpy().reshape(found.opinions.shape), found.opinions)
    events = release(model_of("temporal"), T, public_network=True).write(tmp_path / "events")
    assert pp.networks.read_events(events[0]).n == N
    assert [file.name for file in release(model_of(), T).write(tmp_path / "private")] == [
        "opinions.csv", "release.json", "statement.txt",
    ]  # fmt: skip


def test_nothing_is_overwritten_or_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.txt").write_text("mine")
    found = release(model_of(), T)
    with pytest.raises(InvalidInputError, match="a folder of its own"):
        found.write(tmp_path)
    monkeypatch.setattr(pd.DataFrame, "to_csv", lambda *_args, **_how: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        found.write(tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]


SCENARIO = """[network]
generator = "cycle"
n = 4
[agents]
hidden = {hidden}
start = {start}
[noise]
law = "{law}"
std = 5.0
[run]
steps = 6
replicates = 2
{more}
"""


def released(capfd: pytest.CaptureFixture[str], folder: Path, *options: str, **parts: str) -> Any:
    file = folder / "study.toml"
    base = {"hidden": "[0.0, 1.0, 0.5, 0.25]", "start": "0.5", "law": "gaussian", "more": ""}
    file.write_text(SCENARIO.format(**(base | parts)), encoding="utf-8")
    return command(capfd, "release", file, "--out", folder / "published", *options)


def test_the_command_writes_a_release(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = released(capfd, tmp_path, "--epsilon", "1", "--with-network")
    assert answer.status == 0
    words = " ".join(answer.out.split())
    assert "with ε = 1 and δ = 1e-05" in words
    assert "4 files in" in words
    table = pd.read_csv(tmp_path / "published" / "opinions.csv", converters={"public": float})
    assert list(table.columns) == ["run", "time", "agent", "public"]
    assert len(table) == 2 * 6 * 4
    again = released(capfd, tmp_path)
    assert again.status == 2
    assert "a folder of its own" in again.err


def test_the_command_prints_json(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    more = "[privacy]\nsensitivity = 0.5\ndelta = 1e-6\ninsiders = [2]"
    facts = released(capfd, tmp_path, "--json", more=more).json
    assert facts["delta"] == 1e-6
    assert "Δ = 0.5;" in facts["statement"]["neighbouring inputs"]
    assert "an insider" in facts["statement"]["observer"]
    assert {"person", "seed", "arithmetic", "start"} < set(facts["statement"])


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"more": "seed = 3"}, "got run.seed = 3; delete seed from [run]"),
        ({"more": "seed = 0"}, "got run.seed = 0; delete seed from [run]"),
        ({"hidden": '{ law = "uniform" }'}, "hidden opinions of its own"),
        ({"start": '"hidden"'}, "a start that does not show hidden opinions"),
        ({"start": "[0.0, 1.0, 1.0, 1.0]"}, "not declared to be public"),
        ({"law": "uniform"}, "Gaussian or Laplace noise"),
        ({"more": 'record = "summaries"'}, "opinions of agents"),
        ({"more": "[time]\ncontinuous = true\nstep = 0.1"}, "defined for a Model"),
    ],
)
def test_the_command_refuses_in_one_line(
    parts: dict[str, str], reason: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = released(capfd, tmp_path, **parts)
    assert answer.status == 2
    assert reason in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "published").exists()


def test_a_list_is_declared_public_in_the_scenario(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    more = "[privacy]\npublic_start = true"
    assert released(capfd, tmp_path, start="[0.0, 1.0, 1.0, 1.0]", more=more).status == 0
