"""Every public object tells what it is in one line; ``print`` gives the page, and notebooks a table."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from scipy import stats

import peerpressure as pp
from peerpressure import networks, privacy, recovery, scenario, sde, sweep, theory
from peerpressure.networks import cycle, failing_edges, k2
from tests.support.test_read_only import ADAPTING, HIDDEN, NOISY, RESULTS, run

WIDTH = 120
# Models and runs name all of their parts, and a figure of speech for each takes room.
WIDER = {"Model": 240, "SDE": 300, "Trajectory": 200, "DensityPath": 200}
NAMESPACES = (pp, networks, privacy, recovery, scenario, sde, sweep, theory, pp.noise, pp.schedules)
RING = {"network": {"generator": "cycle", "n": 5}, "run": {"steps": 5}}
LARGE = pp.Model(networks.named("karate"), np.linspace(0.0, 1.0, 34), noise=pp.Gaussian(np.linspace(0.1, 0.5, 34)))
MORE: dict[str, Callable[[], Any]] = {
    "models": lambda: [NOISY, ADAPTING, LARGE, pp.SDE(LARGE)],
    "networks": lambda: [cycle(5), failing_edges(cycle(5), 0.2, 9, seed=1), networks.named("karate")],
    "schedules": lambda: [
        pp.Constant(2.0),
        pp.Linear(0.5),
        pp.Logarithmic(1.5),
        pp.Power(2.0),
        pp.StretchedExponential(),
        pp.schedules.Formula("2^sqrt(t)"),
        pp.schedules.Table(np.linspace(1.0, 50.0, 500)),
        pp.Power(2.0).growth,
    ],
    "laws": lambda: [
        pp.Gaussian(np.linspace(0.1, 1.0, 50), time_scale="1/t", temporal=pp.AR1(0.5)),
        pp.Laplace(1.0),
        pp.noise.Uniform(0.3),
        pp.noise.Rademacher(0.3),
        pp.noise.StudentT(1.0, df=5.0),
        pp.noise.Custom(stats.logistic(scale=0.2)),
        pp.noise.NoNoise(),
        pp.noise.White(),
        pp.noise.Frozen(),
        pp.noise.AR1(0.5),
    ],
    "agents": lambda: [
        pp.Adaptation(0.1, np.linspace(0.1, 1.0, 40)),
        pp.Model(k2(), [0, 1], activation=0.5).activation,
    ],
    "records": lambda: [pp.Record(every=5, agents=[1, 3])],
    "observations": lambda: [
        recovery.Observation(agents=list(range(0, 34, 2)), first_step=3),
        recovery.Prior(np.linspace(0.0, 1.0, 34), 1.0),
    ],
    "scenario": lambda: [scenario.scenario_from(RING), scenario.Experiment(scenario.scenario_from(RING))],
    "large": lambda: [
        pp.diagnose(LARGE, 50),
        pp.diagnose(dataclasses.replace(LARGE, adaptation=pp.Adaptation(0.1)), 20),
        pp.diagnose(pp.Model(failing_edges(cycle(5), 0.2, 9, seed=1), HIDDEN)),
        privacy.budget(LARGE, 20),
        privacy.exposure(LARGE, 20),
        pp.recover(pp.simulate(LARGE, 20, 2, seed=1), LARGE),
    ],
    "optimum": lambda: theory.optimal_schedule(NOISY, 5),
    "problem": lambda: scenario.Problem("network.n", "must be at least 2, got 1; name more agents", 3),
    "axes": lambda: [sweep.Range(0.1, 1.0, 5), sweep.Draws(0.1, 1.0, 5)],
}


def public_classes() -> dict[str, type]:
    """Return the classes of the namespaces, those for annotations too, except for errors and enumerations."""
    return {
        name: one
        for space in NAMESPACES
        for name in (*space.__all__, *getattr(space, "_INTERNAL", ()))
        if inspect.isclass(one := getattr(space, name))
        and one.__module__.startswith("peerpressure.")
        and not issubclass(one, Exception | Enum)
    }


PUBLIC = public_classes()


def parts(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield a value and the package's own objects in it."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from parts(one, depth)
    elif type(value) in PUBLIC.values() and depth < 4:
        yield value
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from parts(getattr(value, field.name), depth + 1)


def seen(name: str) -> list[Any]:
    return list(parts((RESULTS | MORE)[name]()))


@pytest.mark.parametrize("name", [*RESULTS, *MORE])
def test_one_line_says_what_it_is(name: str) -> None:
    for value in seen(name):
        text = repr(value)
        assert "\n" not in text, text
        assert len(text) <= WIDER.get(type(value).__name__, WIDTH), text


# Protocols and base classes, and what only files, sweeps and releases make.
WITHOUT = {"Covariance", "Estimator", "Noise", "Schedule", "Generator", "Measure", "Design", "Trade", "Granularity"}
WITHOUT |= {"Noisy", "OneShot", "ZeroSum", "Release", "GaussianMoments", "GaussianTransition", "TaylorScheme"}
WITHOUT |= {"ObservedOutputs"}
WITHOUT |= {"Alternative", "Failure", "Fingerprint", "Plan", "Score", "ScoreTests", "Sweep", "SweepStatus", "Unit"}


def test_results_in_notebooks_are_small_tables() -> None:
    class Rows(HTMLParser):
        count = 0

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.count += tag == "tr"

    data = pp.simulate(LARGE, 40, seed=1)
    values = [
        *(run(), pp.diagnose(NOISY, 10), pp.recover(run(), NOISY)),
        *(privacy.budget(NOISY, 10), privacy.exposure(NOISY, 9)),
        *(cycle(5), networks.rival_camps(6, 3, seed=1), failing_edges(cycle(5), 0.2, 9, seed=1)),
        *(NOISY, ADAPTING, LARGE, pp.SDE(LARGE), pp.Model(cycle(5)), pp.moments(LARGE, 10)),
        *MORE["schedules"]()[:-1],
        *(pp.fit(data, LARGE, ("slope",)), pp.infer_network(data, "t"), recovery.diagnose_fit(data, LARGE)),
    ]
    for value in values:
        page = Rows()
        page.feed(value._repr_html_())
        assert 2 <= page.count <= 30, type(value)


def test_parts_of_a_model_in_notebooks_have_a_sketch() -> None:
    for value in (cycle(5), failing_edges(cycle(5), 0.2, 9, seed=1), NOISY, pp.moments(NOISY, 10), pp.Linear()):
        assert "<polyline" in value._repr_html_(), type(value)
    network = failing_edges(cycle(5), 0.5, 9, seed=1)
    counts = [network.snapshot(t).edge_count for t in range(1, 10)]
    heights = [float(point.split(",")[1]) for point in polyline(network._repr_html_())]
    assert np.corrcoef(counts, heights)[0, 1] < -0.999  # y counts from above
    # A formula that is negative at some steps is shown as far as it is a number.
    assert "<svg" in pp.schedules.Formula("5 - t")._repr_html_()
    assert "<svg" not in pp.Model(cycle(5))._repr_html_()


def polyline(html: str) -> list[str]:
    """Return the points of the only curve in a text."""
    return html.split("points='")[1].partition("'")[0].split()


def test_runs_and_estimates_in_notebooks_have_a_sketch() -> None:
    own, estimate = run(), pp.recover(run(), NOISY)
    assert own._repr_html_().count("<polyline") == NOISY.n
    assert pp.simulate(NOISY, 9, record="summaries")._repr_html_().count("<polyline") == 3
    assert pp.simulate(NOISY, 9, record="final")._repr_html_().count("<svg") == 0
    # An interval for each agent, and the line through the estimates.
    assert estimate._repr_html_().count("<polyline") == NOISY.n + 1


def test_public_classes_without_an_example_are_few() -> None:
    made = {type(value).__name__ for name in (*RESULTS, *MORE) for value in seen(name)}
    assert set(PUBLIC) - made == WITHOUT
