"""How often 95 % intervals hold the hidden opinion, for every method, law, temporal kind and view."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import peerpressure as pp
from peerpressure.recovery import Observation, recover

from .sections import Cell, Section, Table
from .settings import Settings

AGENTS, STEPS, LEVEL = 12, (4, 12, 40), 0.95
REPLICATES = 4_000
NOISES: Mapping[str, pp.noise.Noise] = {
    "Gaussian": pp.Gaussian(0.5),
    "Gaussian, AR(0.6)": pp.Gaussian(0.5, temporal=pp.AR1(0.6)),
    "Gaussian, frozen": pp.Gaussian(0.5, temporal="frozen"),
    "Gaussian, σ by agent": pp.Gaussian(np.linspace(0.1, 1.5, AGENTS)),
    "Laplace": pp.Laplace(0.5),
    "Student t, 5 degrees": pp.StudentT(0.5, df=5.0),
    "uniform": pp.noise.Uniform(0.5),
}
VIEWS: Mapping[str, Observation] = {
    "a third of the agents observed": Observation(agents=range(0, AGENTS, 3)),
    "every third step": Observation(times=tuple(range(3, 41, 3))),
    "rounded to 0.5": Observation(rounding=0.5),
}
# The innovations, GLS and the Kalman filter are one estimate of complete outputs; the first takes no others.
COMPLETE, PARTIAL = ("ols", "wls", "innovations", "likelihood", "snapshot"), ("ols", "wls", "kalman", "gls", "snapshot")
EXTENSIONS = ("adaptation 0.05", "an edge in five absent at each step")

TEXT = f"""\
Percentage of nominal {LEVEL:.0%} intervals that hold the hidden opinion, over all identified agents of {REPLICATES:,}
runs on BA({AGENTS}, 2) with ρ_t = t, given starts and stubbornness between 0.5 and 2; the standard error of a cell is
at most 0.35. A dash marks a method that does not take the data, or data that identify nobody. Variances are exact under
any law, and linear estimates from many outputs are approximately Gaussian; the likelihood's intervals are exact.
"""


def model_of(noise: pp.noise.Noise, extension: str = "") -> pp.Model:
    """Return the model of all tables."""
    rng = np.random.default_rng(7)
    network = pp.networks.barabasi_albert(AGENTS, 2, seed=7)
    return pp.Model(
        pp.networks.failing_edges(network, 0.2, 40, seed=7) if extension == EXTENSIONS[1] else network,
        hidden=rng.uniform(size=AGENTS),
        stubbornness=rng.uniform(0.5, 2.0, AGENTS),
        pressure="t",
        noise=noise,
        start=np.full(AGENTS, 0.5),
        adaptation=0.05 if extension == EXTENSIONS[0] else None,
    )


def coverage(model: pp.Model, steps: int, method: str, view: Observation | None, replicates: int) -> float | None:
    """Return the share of intervals that hold x₀, in per cent."""
    run = pp.simulate(model, steps, replicates, seed=steps)
    try:
        found = recover(run, model, method, view)
    except pp.errors.PeerPressureError:
        return None
    if not found.identified.any():
        return None
    low, high = found.interval(LEVEL)
    inside = (low <= model.x0) & (model.x0 <= high)
    return 100 * float(inside[:, found.identified].mean())


def measure(settings: Settings) -> Section:
    """Return coverage by law and length, by view, and of extended models."""
    runs = 200 if settings.quick else REPLICATES
    return Section("Coverage of intervals", TEXT, [_by_law(runs), _by_view(runs)])


def _by_law(replicates: int) -> Table:
    rows: list[list[Cell]] = []
    for name, noise in NOISES.items():
        model = model_of(noise)
        shares = [[coverage(model, T, method, None, replicates) for T in STEPS] for method in COMPLETE]
        rows.append([name, *(", ".join("–" if one is None else f"{one:.1f}" for one in three) for three in shares)])
    lengths = ", ".join(map(str, STEPS))
    return Table(f"Complete outputs of T = {lengths} steps", ["noise", *COMPLETE], rows)


def _by_view(replicates: int) -> Table:
    noise, rows = NOISES["Gaussian, AR(0.6)"], list[list[Cell]]()
    for name, view in [*VIEWS.items(), *((name, None) for name in EXTENSIONS)]:
        model = model_of(noise, name)
        rows.append([name, *(coverage(model, STEPS[-1], method, view, replicates) for method in PARTIAL)])
    return Table(f"Partial outputs and extended models, Gaussian AR(0.6) noise, T = {STEPS[-1]}", ["", *PARTIAL], rows)
