"""Advice: better schedules for a horizon, judged by the agents' RMS distance to v."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, complete, cycle, failing_edges, path, star
from peerpressure.noise import AR1, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Linear, Power, Schedule, Table
from peerpressure.sde import SDE
from peerpressure.theory import Advice, Outcome, diagnose, optimal_schedule
from peerpressure.theory._advice import Suggestion
from peerpressure.theory._text import schedule_text
from tests.theory.reasons import known

from .laws import rms_distance


def advised(model: Model | SDE, steps: int) -> Advice:
    return known(diagnose(model, steps).advice)


def check_promises(model: Model, steps: int) -> None:
    """Compare every number of the advice with the law of the state by dense recursions."""
    suggestions = advised(model, steps)
    assert suggestions.rms_distance == pytest.approx(rms_distance(model, steps), rel=1e-9)
    distances = [one.rms_distance for one in suggestions.suggestions]
    assert distances == sorted(distances)
    for one in suggestions.suggestions:
        exact = rms_distance(replace(model, pressure=one.schedule), steps)
        assert one.rms_distance == pytest.approx(exact, rel=1e-9)
        assert one.gain == pytest.approx(suggestions.rms_distance / exact)
        assert one.gain >= 1.05


def test_a_schedule_that_helps_the_mode_and_harms_the_agents_is_not_advised() -> None:
    rng = np.random.default_rng(23)
    s, x = rng.uniform(0.5, 1, 60), rng.uniform(size=60)
    model = Model(barabasi_albert(60, 2, seed=1), x, s, noise=Gaussian(0.1))
    # κt brings the mode closer to v, and the agents farther away.
    tuned = Linear.tuned(model.network, s)
    assert rms_distance(replace(model, pressure=tuned), 30) > 2 * rms_distance(model, 30)
    check_promises(model, 30)
    (best,) = advised(model, 30).suggestions
    assert best.name == "optimal"
    assert best.gain > 1.8


GRAPHS = (path(4), star(6), cycle(5), complete(4), barabasi_albert(9, 2, seed=1))
SCHEDULES = (Linear(), Linear(5.0), Power(0.5), Power(1.5), Constant(1.0))
NOISES: tuple[Noise, ...] = (
    NoNoise(),
    Gaussian(0.2),
    Gaussian(0.2, temporal=AR1(0.5)),
    Gaussian(0.2, temporal="frozen"),
    Gaussian(0.2, time_scale="t^0.6"),
)


def test_promises_are_kept() -> None:
    rng = np.random.default_rng(8)
    for k in range(15):
        graph, n = GRAPHS[k % 5], GRAPHS[k % 5].n
        network = failing_edges(graph, 0.3, steps=20, seed=k) if k % 4 == 3 else graph
        model = Model(
            network,
            rng.normal(size=n),
            rng.uniform(0.2, 2, n),
            SCHEDULES[int(rng.integers(5))],
            NOISES[int(rng.integers(5))],
            start="hidden" if k % 3 else rng.normal(size=n),
            adaptation=0.1 if k % 5 == 4 else None,
        )
        check_promises(model, int(rng.integers(2, 20)))


def test_nothing_is_said_where_nothing_helps() -> None:
    model = Model(complete(5), hidden=np.arange(5.0), noise=Gaussian(0.5))
    best = replace(model, pressure=optimal_schedule(model, 12).schedule)
    assert advised(best, 12).suggestions == ()
    agreed = Model(complete(5), hidden=np.ones(5))
    assert advised(agreed, 12) == Advice(0.0, ())
    assert "times smaller" not in diagnose(best, 12).explain()


def few(network: Network, pressure: Schedule, noise: Noise) -> Model:
    rng = np.random.default_rng(2)
    return Model(network, rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n), pressure, noise)


def test_the_tuned_line_is_named_with_its_outcome() -> None:
    model = few(barabasi_albert(10, 2, seed=1), Linear(4.0), Gaussian(0.3))
    suggestions = {one.name: one for one in advised(model, 100).suggestions}
    tuned = suggestions["tuned"]
    assert tuned.schedule == Linear(model.kappa)
    assert tuned.outcome is Outcome.CONSENSUS
    assert suggestions["optimal"].outcome is None
    assert suggestions["optimal"].rms_distance < tuned.rms_distance
    # Noise that grows needs a steeper line, and no line averages out what grows like √t.
    growing = replace(model, pressure=Linear(0.02), noise=Gaussian(0.3, time_scale="t^0.3"))
    (line,) = (one.schedule for one in advised(growing, 100).suggestions if one.name == "tuned")
    assert isinstance(line, Linear)
    assert line.slope == pytest.approx(model.kappa / 0.4)
    faster = replace(growing, noise=Gaussian(0.3, time_scale="t^0.6"))
    assert {one.name for one in advised(faster, 100).suggestions} <= {"optimal"}


def test_where_no_optimum_is_computed_the_reason_is_given() -> None:
    process = SDE(few(cycle(5), Linear(5.0), Gaussian(0.3)), step=0.5)
    suggestions = advised(process, 10)
    assert suggestions.omitted is not None
    assert suggestions.omitted.code == "optimum_omitted"
    large = few(barabasi_albert(120, 2, seed=1), Linear(), Gaussian(0.1))
    suggestions = advised(large, 50)
    assert known(suggestions.omitted).code == "optimum_omitted"
    (best, *_) = suggestions.suggestions
    assert best.name == "averaging"
    assert best.rms_distance == pytest.approx(rms_distance(replace(large, pressure=best.schedule), 50), rel=1e-9)
    assert best.gain > 1.5
    # Such a line is told in words, with the number of its last steps.
    words = schedule_text(best)
    assert words.startswith(f"ρ_t = {float(best.schedule(1)):g} t, then agree at once in the last ")
    assert "max(" not in diagnose(large, 50).answer()
    high = best.schedule(np.arange(1, 51)) > 1e3
    assert best.averaging_steps == int(high.sum())
    assert high[-best.averaging_steps :].all()
    # A table is described by its course.
    small = few(cycle(5), Linear(5.0), Gaussian(0.3))
    (first, *_) = advised(small, 10).suggestions
    assert isinstance(first.schedule, Table)
    assert f"ρ_10 = {first.schedule.values[-1]:.3g}" in diagnose(small, 10).explain()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.0], "ρ_1 = 1"),
        ([1.0, 2.0], "ρ_1 = 1, ρ_2 = 2"),
        ([1.0, 2.0, 4.5], "ρ_1 = 1, ρ_2 = 2, ρ_3 = 4.5"),
        ([1.0, 2.0, 4.5, 6.0], "ρ_1 = 1, ρ_2 = 2, ρ_4 = 6"),
    ],
)
def test_a_table_is_told_by_its_first_its_middle_and_its_last_pressure(values: list[float], text: str) -> None:
    assert schedule_text(Suggestion("optimal", Table(values), 0.1, 2.0, None)) == text
    assert schedule_text(Suggestion("line", Linear(2.0), 0.1, 2.0, None)) == "ρ_t = 2 t"


@pytest.mark.parametrize("size", [1.0, 1e-3, 0.0])
def test_a_schedule_is_recommended_where_it_brings_agents_visibly_closer(size: float) -> None:
    """By a hundredth of the range of opinions, whatever their unit, or of the noise where all are equal."""
    noise = Gaussian(0.3 * (size or 1.0))
    model = Model(star(8), size * np.linspace(0, 1, 8), pressure=Linear(0.2), noise=noise)
    for steps, expected in ((20, True), (4_000, False)):
        verdict = diagnose(model, steps)
        advice = known(verdict.advice)
        # Relative to what is left, both are better.
        assert advice.suggestions[0].gain > 1.2
        gained = advice.rms_distance - advice.suggestions[0].rms_distance
        assert (gained >= 0.01 * (size or 0.3)) == expected
        assert (advice.recommended is not None) == expected
        assert ("better pressure" in verdict.answer()) == expected
        assert verdict.to_dict()["advice"]["suggestions"][0]["worthwhile"] == expected
