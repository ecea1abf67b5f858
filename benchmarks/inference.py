"""How well and how fast the network is inferred from public opinions, against other methods on the same data."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure import Gaussian, Model, Network, Observation, simulate
from peerpressure.networks import barabasi_albert, named, watts_strogatz
from peerpressure.recovery import average_precision, infer_network

from .sections import Cell, Section, Table
from .settings import Settings

Matrix = NDArray[np.float64]
Score = Callable[[Matrix, Matrix], Matrix]
STEPS = (50, 100, 200, 500, 2_000)
RUNS = 3
STD = 0.5
# Lines of the IEEE 30-bus test system, a part of the American electric power network of 1961.
IEEE_30 = (
    "1-2 1-3 2-4 3-4 2-5 2-6 4-6 5-7 6-7 6-8 6-9 6-10 9-11 9-10 4-12 12-13 12-14 12-15 12-16 14-15 16-17 15-18 18-19 "
    "19-20 10-20 10-17 10-21 10-22 21-22 15-23 22-24 23-24 24-25 25-26 25-27 28-27 27-29 27-30 29-30 8-28 6-28"
)

TEXT = f"""\
Average precision of the inferred edges over ordered pairs, mean over {RUNS} runs; ρ_t = t, white Gaussian noise with
σ = {STD:g}, hidden opinions uniform on [0, 1] and equal stubbornness; y₀ is not observed. *infer_network* knows σ here,
which only sets the scale of weights. *VAR(1)* regresses y_t on y_(t−1), *weighted* with errors of size 1/ρ_t, which
they have under high pressure. *Graphical lasso* is that of scikit-learn with a cross-validated penalty. Methods of
netrd run where it is installed, each with its defaults; of both directions of their scores the better one counts.
Scores are absolute values, except that of infer_network, whose weights are not negative.
"""


def networks(run: int) -> Mapping[str, Network]:
    """Return the networks of one run; those that are drawn differ from run to run."""
    lines = [tuple(int(end) - 1 for end in line.split("-")) for line in IEEE_30.split()]
    return {
        "BA(30, 2)": barabasi_albert(30, 2, seed=run),
        "WS(40, 4, 0.1)": watts_strogatz(40, 4, 0.1, seed=run),
        "karate": named("karate"),
        "IEEE 30-bus": Network.from_edges(np.array(lines), n=30),
    }


# What others would do with the same outputs y (T, n) and pressures ρ_t (T,): scores of the pairs (i, j), i hears j.


def vector_autoregression(y: Matrix, rho: Matrix) -> Matrix:
    """Return the coefficients of y_t on y_{t−1}, by least squares."""
    return _regression(y, np.ones_like(rho))


def weighted_autoregression(y: Matrix, rho: Matrix) -> Matrix:
    """Return the same with errors of size 1/ρ_t, which they have once pressure is high."""
    return _regression(y, rho)


def _regression(y: Matrix, weight: Matrix) -> Matrix:
    design = np.column_stack([y[:-1], np.ones(len(y) - 1)]) * weight[1:, None]
    return np.asarray(np.linalg.lstsq(design, y[1:] * weight[1:, None])[0][:-1].T)


def lagged_correlation(y: Matrix, rho: Matrix) -> Matrix:
    """Return the correlations of y_{t,i} with y_{t−1,j}."""
    now, before = ((part - part.mean(axis=0)) / part.std(axis=0) for part in (y[1:], y[:-1]))
    return np.asarray(now.T @ before / len(now))


def partial_correlation(y: Matrix, rho: Matrix) -> Matrix:
    """Return minus the inverse covariance of simultaneous opinions, scaled to a unit diagonal."""
    inverse = np.linalg.pinv(np.cov(y.T), rcond=1e-10)
    scale = np.sqrt(np.abs(np.diag(inverse)))
    return np.asarray(-inverse / np.outer(scale, scale))


def graphical_lasso(y: Matrix, rho: Matrix) -> Matrix:
    """Return minus the sparse inverse covariance of scaled opinions."""
    scaled = (y - y.mean(axis=0)) / y.std(axis=0)
    model = import_module("sklearn.covariance").GraphicalLassoCV(alphas=5, max_iter=200)
    return -np.asarray(model.fit(scaled).precision_)


def _netrd(name: str) -> Score:
    def score(y: Matrix, rho: Matrix) -> Matrix:
        method = getattr(import_module("netrd.reconstruction"), name)()
        # Some of them print what they do.
        with contextlib.redirect_stdout(io.StringIO()):
            method.fit(y.T)
        found = method.results
        return np.asarray(next(found[key] for key in ("weights_matrix", "thresholded_matrix") if key in found))

    return score


def methods() -> dict[str, Score]:
    """Return what is compared, apart from ``infer_network``."""
    found: dict[str, Score] = {
        "VAR(1)": vector_autoregression,
        "VAR(1), weighted": weighted_autoregression,
        "lag-1 correlation": lagged_correlation,
        "partial correlation": partial_correlation,
    }
    if find_spec("sklearn"):
        found["graphical lasso"] = graphical_lasso
    if find_spec("netrd"):
        names = ("CorrelationMatrix", "GrangerCausality", "OUInference")
        found |= {f"netrd {name}": _netrd(name) for name in names}
    return found


def precision(network: Network, run: int, steps: tuple[int, ...]) -> dict[str, list[float]]:
    """Return the average precision of every method after each number of steps, on one run; NaN where it failed."""
    model = Model(network, np.random.default_rng(run).uniform(size=network.n), noise=Gaussian(STD))
    path = simulate(model, steps[-1], seed=run)
    truth = network.adjacency.toarray() > 0
    found: dict[str, list[float]] = {name: [] for name in ("infer_network", *methods())}
    for last in steps:
        look = Observation(times=range(1, last + 1))
        estimate = infer_network(path, model.pressure, std="known", observation=look)
        found["infer_network"].append(estimate.average_precision(network))
        y, rho = np.asarray(path.states)[0, 1 : last + 1], np.asarray(model.pressure(np.arange(1, last + 1)))
        for name, method in methods().items():
            found[name].append(_rated(method, y, rho, truth))
    return found


def _rated(method: Score, y: Matrix, rho: Matrix, truth: Any) -> float:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = np.nan_to_num(np.abs(method(y, rho)))
    except Exception:  # a method that fails on such data has no score, whatever it raises
        return float("nan")
    return max(average_precision(truth, score), average_precision(truth, score.T))


def seconds(agents: int, steps: int) -> list[Cell]:
    """Return a row: the size, the time in seconds, and the average precision."""
    network = barabasi_albert(agents, 2, seed=0)
    model = Model(network, np.random.default_rng(0).uniform(size=agents), noise=Gaussian(STD))
    path = simulate(model, steps, seed=0)
    begin = time.perf_counter()
    found = infer_network(path, model.pressure, std="known")
    taken = time.perf_counter() - begin
    return [f"{agents:,} agents, {steps:,} steps", taken, found.average_precision(network)]


def measure(settings: Settings) -> Section:
    """Return precision by network, method and number of steps, and the time that inference takes."""
    quick = settings.quick
    steps, runs = (STEPS[1:3], 1) if quick else (STEPS, RUNS)
    tables = []
    for name in networks(0):
        every = [precision(networks(run)[name], run, steps) for run in range(runs)]
        rows: list[list[Cell]] = []
        for method in every[0]:
            mean = np.mean([one[method] for one in every], axis=0)
            rows.append([method, *(None if np.isnan(value) else float(value) for value in mean)])
        tables.append(Table(f"Average precision, {name}", ("", *(f"T = {last:,}" for last in steps)), rows))
    sizes = ((100, 300),) if quick else ((100, 300), (300, 1_000), (1_000, 2_000))
    rows = [seconds(*size) for size in sizes]
    tables.append(Table("Time of infer_network on BA networks", ("", "seconds", "average precision"), rows))
    return Section("Network inference", TEXT, tables)
