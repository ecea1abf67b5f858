"""Size and power of the tests of fit: how often they reject the model that made the outputs, and other models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from scipy import stats

import peerpressure as pp
from peerpressure.recovery import FitDiagnostics, Observation, diagnose_fit
from peerpressure.recovery._diagnostics import TESTS

from .sections import Cell, Section, Table
from .settings import Settings

AGENTS, STEPS, LEVEL = 20, 50, 0.05
REPLICATES = 4_000

TEXT = f"""\
Outputs are made by one model and read by another: BA({AGENTS}, 2), ρ_t = t, white Gaussian noise with σ = 1, hidden
opinions uniform on [0, 4] and stubbornness on [0.5, 1.5]; y₀ = x₀ is not observed, and x₀ is unknown. A cell is the
share of runs in which a test rejects at {LEVEL:.0%}: *size* is the χ² test of the sum of squares, and *all* combines
all tests. *AIC* is the share of runs in which Akaike's criterion prefers the model that made the outputs to the one
that reads them, from all outputs and from those of every second agent. The second table has the tests under the model
that made the outputs, with the least p-value of Kolmogorov–Smirnov tests that the p-values of each are uniform.
"""


def base(**parts: object) -> pp.Model:
    """Return the model that reads the outputs, or another with these parts."""
    rng = np.random.default_rng(1)
    values = {
        "network": pp.networks.barabasi_albert(AGENTS, 2, seed=1),
        "hidden": 4 * rng.uniform(size=AGENTS),
        "stubbornness": rng.uniform(0.5, 1.5, AGENTS),
        "noise": pp.Gaussian(1.0),
    }
    return pp.Model(**(values | parts))  # type: ignore[arg-type]


def rivals() -> Mapping[str, pp.Model]:
    """Return models that differ from the one that reads their outputs."""
    right = base()
    i, j, weights = right.network.edges()
    pair = np.where(np.arange(AGENTS) % 2, 1.2, np.sqrt(2 - 1.2**2))
    one = np.where(np.arange(AGENTS) == 0, 1.5, 1.0)
    return {
        "AR(0.6) noise": replace(right, noise=pp.Gaussian(1.0, temporal=pp.AR1(0.6))),
        "AR(0.2) noise": replace(right, noise=pp.Gaussian(1.0, temporal=pp.AR1(0.2))),
        "σ of 1.2 and 0.75 by turns": replace(right, noise=pp.Gaussian(pair)),
        "σ of 1.5 for one agent": replace(right, noise=pp.Gaussian(one)),
        "Laplace noise": replace(right, noise=pp.Laplace(1.0)),
        "Student t noise, 5 degrees": replace(right, noise=pp.StudentT(1.0, df=5.0)),
        "uniform noise": replace(right, noise=pp.noise.Uniform(1.0)),
        "noise that grows as t^0.1": replace(right, noise=pp.Gaussian(1.0, time_scale=pp.Power(0.1))),
        "σ of 1.1": replace(right, noise=pp.Gaussian(1.1)),
        "another network": base(network=pp.networks.barabasi_albert(AGENTS, 2, seed=2)),
        "one edge less": base(network=pp.Network.from_edges((i[1:], j[1:]), weights=weights[1:], n=AGENTS)),
        "pressure 1.2 t": replace(right, pressure=pp.Linear(1.2)),
        "pressure t^0.9": replace(right, pressure=pp.Power(0.9)),
        "stubbornness in another order": replace(right, stubbornness=right.stubbornness[::-1]),
        "adaptation at rate 0.02": base(adaptation=0.02),
    }


def views() -> Mapping[str, tuple[pp.Model, int, Observation | None]]:
    """Return models that read their own outputs, with the number of steps and what is observed."""
    half, gaps = Observation(agents=range(0, AGENTS, 2)), Observation(times=range(2, STEPS + 1, 3))
    ar1, frozen = pp.Gaussian(1.0, temporal=pp.AR1(0.6)), pp.Gaussian(1.0, temporal="frozen")
    contacts = pp.networks.failing_edges(base().network, 0.2, STEPS, seed=7)
    return {
        "T = 2": (base(), 2, None),
        "T = 5": (base(), 5, None),
        "T = 50": (base(), STEPS, None),
        "T = 500": (base(), 500, None),
        "AR(0.6) noise, T = 5": (base(noise=ar1), 5, None),
        "AR(0.6) noise, T = 50": (base(noise=ar1), STEPS, None),
        "frozen noise": (base(noise=frozen), STEPS, None),
        "half of the agents observed": (base(), STEPS, half),
        "every third step observed": (base(), STEPS, gaps),
        "AR(0.6) noise, half observed": (base(noise=ar1), STEPS, half),
        "adaptation at rate 0.05": (base(adaptation=0.05), STEPS, None),
        "adaptation, half observed": (base(adaptation=0.05), STEPS, half),
        "an edge in five absent at each step": (base(network=contacts), STEPS, None),
        "Laplace noise, T = 10": (base(noise=pp.Laplace(1.0)), 10, None),
        "Student t noise, 3 degrees, T = 10": (base(noise=pp.StudentT(1.0, df=3.0)), 10, None),
        "uniform noise, T = 10": (base(noise=pp.noise.Uniform(1.0)), 10, None),
    }


def power(found: FitDiagnostics) -> tuple[float | None, ...]:
    """Return how often the χ² test of all squares rejects, how often all tests do together, and each of them."""
    each = [None if p is None else float(np.mean(p < LEVEL)) for p in found.tests.values()]
    together = None if found.p_value is None else float(np.mean(found.p_value < LEVEL))
    return each[0], together, *each[1:]


def preferred(made: pp.Model, read: pp.Model, run: pp.Trajectory, look: Observation | None = None) -> float | None:
    """Return how often Akaike's criterion prefers the model that made the outputs to the one that reads them."""
    right, wrong = (diagnose_fit(run, model, look).aic for model in (made, read))
    return None if right is None or wrong is None else float(np.mean(right < wrong))


def measure(settings: Settings) -> Section:
    """Return power against other models, and size under the right one."""
    runs = 100 if settings.quick else REPLICATES
    read, rows, sizes = base(), list[list[Cell]](), list[list[Cell]]()
    half = Observation(agents=range(0, AGENTS, 2))
    for name, made in rivals().items():
        run = pp.simulate(made, STEPS, runs, seed=3)
        rows.append(
            [name, *power(diagnose_fit(run, read)), preferred(made, read, run), preferred(made, read, run, half)]
        )
    for name, (model, steps, look) in views().items():
        gaussian = isinstance(model.noise, pp.Gaussian)
        # Other laws take an integral for each output.
        found = diagnose_fit(pp.simulate(model, steps, runs if gaussian else runs // 2, seed=4), model, look)
        # The test of one agent is cautious and not uniform.
        tests = {name: p for name, p in found.tests.items() if p is not None and name != "outlier"}
        uniform = [float(stats.kstest(p, "uniform").pvalue) for p in tests.values()]
        sizes.append([name, *power(found), min(uniform)])
    columns = ("", "size", "all", *list(TESTS)[1:])
    return Section(
        "Tests of fit",
        TEXT,
        [
            Table(f"Power at T = {STEPS}", (*columns, "AIC", "AIC, half observed"), rows),
            Table("Size", (*columns, "uniformity, least p"), sizes),
        ],
    )
