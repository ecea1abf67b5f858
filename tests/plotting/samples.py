"""Small fixed tables of the right shape for every figure, made up without running the model."""

from __future__ import annotations

from functools import cache
from itertools import product

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from peerpressure.plotting import draw
from peerpressure.report.pictures import settled
from peerpressure.report.store import from_csv, to_csv
from tests.plotting.extension_samples import continuous_samples, temporal_samples, timescale_samples

V = 0.5
TIMES = np.arange(0, 1001)
STEPS = np.array([5, 10, 20, 50, 100, 200])
NOISES = np.arange(5.5, 10.5, 1.5)
TERMS = {"intercept": -0.8, "agents": 0.0, "noise": 0.2}


def path_of(run: str, low: float, high: float) -> pd.DataFrame:
    """Extremes that close in on [low, high], and an agent that oscillates between them."""
    reach = 0.5 / np.sqrt(1 + TIMES)
    minimum, maximum = low - reach, high + reach
    return pd.DataFrame(
        {
            "run": run,
            "time": TIMES,
            "minimum": minimum,
            "maximum": maximum,
            "mean": (minimum + maximum) / 2,
            "agent_1": np.where(TIMES % 2, maximum, minimum),
            "spread": maximum - minimum,
            "max_distance": np.maximum(maximum - V, V - minimum),
            "expected_minimum": minimum + 0.01,
            "expected_maximum": maximum - 0.01,
        }
    )


def sample_tables() -> dict[str, pd.DataFrame]:
    """Return one table of each name that a figure or the report reads."""
    parts = (_convergence(), _rates(), _two_agents(), _residuals(), _sweep(), _noise_levels(), _beyond())
    further = (timescale_samples(), temporal_samples(), continuous_samples())
    tables = {name: table for part in parts + further for name, table in part.items()}
    return tables | {"audit": sample_audit(), "audit_seeds": sample_seeds()}


@cache
def tables_read() -> dict[str, pd.DataFrame]:
    """Return the samples as the report reads them: from CSV."""
    return {name: from_csv(to_csv(table)) for name, table in sample_tables().items()}


@cache
def _drawn(name: str) -> tuple[Figure, list[str]]:
    """Return a figure of these tables, and the settings and tables that drawing it has changed."""
    settings, tables = dict(mpl.rcParams), tables_read()
    copies = {key: table.copy() for key, table in tables.items()}
    figure = settled(draw(name, tables))
    changed = [key for key, value in mpl.rcParams.items() if key not in settings or settings[key] != value]
    return figure, changed + [key for key, copy in copies.items() if not tables[key].equals(copy)]


def sample_figure(name: str) -> Figure:
    """Return a figure of these tables, drawn once for all tests that look at it and change nothing."""
    return _drawn(name)[0]


def changed_by(name: str) -> list[str]:
    """Return the names of settings of Matplotlib and of tables that drawing a figure has changed."""
    return _drawn(name)[1]


def _convergence() -> dict[str, pd.DataFrame]:
    runs = {"slow_tree": (V, V), "fast_tree": (0.45, 0.55), "fast_triangle": (0.45, 0.45), "fast_cycles": (0.4, 0.4)}
    return {
        "agents": pd.DataFrame(
            {"agent": [1, 2, 3, 4], "hidden": [0.1, 0.4, 0.6, 0.9], "degree_tree": [3, 1, 1, 1]},
        ),
        "edges": pd.DataFrame({"network": ["tree"] * 3 + ["cycles"], "source": [1, 1, 1, 2], "target": [2, 3, 4, 3]}),
        "paths": pd.concat([path_of(run, *ends) for run, ends in runs.items()], ignore_index=True),
        "summary": pd.DataFrame(
            {
                "run": list(runs),
                "bipartite": [True, True, False, False],
                "edges": [99, 99, 100, 197],
                "pressure": ["t", "2^√t", "2^√t", "2^√t"],
                "steps": 1000,
                "consensus_value": V,
                "mean": [np.mean(ends) for ends in runs.values()],
                "spread": [0.01, 0.1, 1e-9, 1e-16],
                "max_distance": [0.01, 0.1, 0.05, 0.1],
                "oscillation": [0.001, 0.1, 0.0, 0.0],
                "predicted": ["consensus", "oscillation", "biased_consensus", "biased_consensus"],
            }
        ),
        "transients": pd.DataFrame(
            [
                {"network": network, "graph": 7, "smallest_eigenvalue": -1.0 + low, "time": time, "change": change}
                | {"agent_1": change / 2, "spread": 1.1 * change}
                for network, low, changes in (("tree", 0.0, (0.1, 0.1, 0.1)), ("triangle", 0.01, (0.1, 1e-3, 1e-6)))
                for time, change in zip((100, 500, 2000), changes, strict=True)
            ]
        ),
        "choices": pd.DataFrame(
            [
                {"question": "first graph of the growth", "where": "Sec. II", "chosen": "star", "why": "usual"}
                | {"alternative": "triangle", "measure": "variance", "value": 0.25, "alternative_value": 0.245}
            ]
        ),
        "typical_failures": pd.DataFrame(
            {"seed": [6, 7, 8], "chosen": [False, True, False], "bias": [0.01, 0.03, 0.02], "oscillation": 0.02}
        ),
    }


def _rates() -> dict[str, pd.DataFrame]:
    rng, time = np.random.default_rng(0), np.array([1, 10, 100, 1000])
    errors = {"error": -0.1 / time, "weighted_distance": 0.3 / time, "weighted_disagreement": 0.2 / time}
    band = {"error_low": -0.2 / time, "error_high": -0.05 / time}
    return {
        "contraction": pd.concat(
            [
                pd.DataFrame({"schedule": name, "time": time, "product": product, "sum_diverges": diverges})
                for name, product, diverges in (("t", 1 / (time + 1.0), True), ("2^√t", 0.03 + 0.5 / time, False))
            ]
        ),
        "approach_exact": pd.DataFrame({"time": time} | errors | band | {"weighted_distance": 0.3 / np.sqrt(time)}),
        "approach_paths": pd.concat([pd.DataFrame({"path": p, "time": time} | errors) for p in range(3)]),
        "tuning": pd.concat(
            [
                pd.DataFrame({"schedule": name, "time": time, "rms": time**power, "ideal": 0.5 * time**-0.5})
                for name, power in (("t", -0.2), ("κt", -0.5))
            ]
        ),
        "biased_consensus": pd.DataFrame({"value": rng.normal(0.4, 0.01, 500)}),
        "biased_consensus_law": pd.DataFrame([{"mean": 0.4, "std": 0.01, "consensus_value": V}]),
    }


def _two_agents() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    kinds = {
        ("ols", "printed_limit"): (2.14, -2.14),
        ("ols", "homoskedastic"): (2.19, -2.18),
        ("ols", "textbook"): (0.02, -0.0198),
        ("ols", "exact"): (1.56, -1.54),
        ("ols", "empirical"): (1.50, -1.48),
        ("innovations", "exact"): (0.01, 0.0),
        ("innovations", "empirical"): (0.011, 0.0),
    }
    rows = [
        {"method": method, "kind": kind, "variance_1": v, "covariance": c, "variance_2": v, "centre_1": 1.0}
        | {"centre_2": 2.0, "smallest_eigenvalue": v + c, "largest_eigenvalue": v - c}
        | {"uncertainty": 0.2 if kind == "empirical" else 0.0}
        for (method, kind), (v, c) in kinds.items()
    ]
    estimates = []
    for method in ("ols", "innovations"):
        v, c = kinds[method, "exact"]
        drawn = rng.multivariate_normal([1, 2], [[v, c], [c, v]], 40)
        columns = {"method": method, "replicate": np.arange(40), "agent_1": drawn[:, 0], "agent_2": drawn[:, 1]}
        estimates.append(pd.DataFrame(columns))
    return {"two_agents_estimates": pd.concat(estimates), "two_agents_covariances": pd.DataFrame(rows)}


def _residuals() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(2)
    std = rng.uniform(0.3, 0.7, 12)
    drawn = rng.normal(size=(30, 12)) * std
    agents = pd.DataFrame(
        {"agent": np.arange(1, 13), "degree": 2, "stubbornness": 0.7, "mean_residual": drawn.mean(axis=0)}
        | {"std": drawn.std(axis=0), "exact_std": std, "exact_std_of_mean": std / np.sqrt(30)}
    )
    tests = {"shapiro": 0.98, "shapiro_p": 0.4, "anderson": 0.3, "anderson_p": 0.5}
    shape = {"skewness": 0.1, "excess_kurtosis": 0.2, "exact_excess_kurtosis": 0.3}
    fits = [
        {"sample": name, "size": 12, "mean": 0.0, "std": spread, "exact_std": spread} | shape | tests
        for name, spread in (("mean_vector", 0.09), ("whitened", 1.0))
    ]
    cells = {"replicate": np.repeat(np.arange(30), 12), "agent": np.tile(np.arange(1, 13), 30)}
    return {
        "residuals": pd.DataFrame(cells | {"residual": drawn.ravel()}),
        "residual_agents": agents,
        "residual_normality": pd.DataFrame(fits),
    }


def _sweep() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(3)
    boxes = [
        {"edges": edges, "by": by, "level": level, "cells": 8, "low_whisker": 0.4 * m, "first_quartile": 0.8 * m}
        | {"median": m, "third_quartile": 1.2 * m, "high_whisker": 1.7 * m, "mean": m, "exact_mean": 1.02 * m}
        for edges in (1, 2)
        for by, levels in (("noise_variance", NOISES**2), ("agents", np.array([20, 50, 80])))
        for level in levels
        for m in [0.0125 * level if by == "noise_variance" else 0.75]
    ]
    vectors = [
        pd.DataFrame(
            {"edges": edges, "agents": size, "noise": noise, "noise_variance": noise**2}
            | {"agent": np.arange(1, size + 1), "mean_residual": rng.normal(0, 0.11 * noise, size)}
        )
        for edges, size, noise in product((1, 2), (20, 50, 80), NOISES)
    ]
    terms = [
        {"edges": edges, "source": source, "regressor": regressor, "term": term, "estimate": at}
        | {"standard_error": 0.02, "t": at / 0.02, "p": 0.01, "low": at - 0.04, "high": at + 0.04}
        for edges, source, regressor, (term, at) in product(
            (1, 2), ("measured", "exact", "printed"), ("noise", "noise_variance"), TERMS.items()
        )
    ]
    comparison = [
        {
            "edges": edges,
            "term": term,
            "regressor": "noise",
            "printed": at,
            "printed_error": 0.02,
            "measured": at + 0.01,
        }
        | {"measured_error": 0.02, "exact": at, "z": 0.3, "p": 0.76, "expected_z": 0.2}
        for edges, (term, at) in product((1, 2), TERMS.items())
    ]
    effect = [
        {"edges": edges, "agents": size, "graphs": 9, "variance": 0.35 - 0.05 * edges, "standard_error": 0.01}
        for edges, size in product((1, 2), (20, 50, 80))
    ]
    # The last cell of each size is beyond the whisker of its box by noise.
    cells = [
        {"edges": edges, "agents": size, "noise": noise, "noise_variance": noise**2, "replications": 20}
        | {"mean_residual_variance": 0.0125 * noise**2 * (2 if noise == NOISES[-1] else 1), "exact": 0.0127 * noise**2}
        for edges, size, noise in product((1, 2), (20, 50, 80), NOISES)
    ]
    return {
        "size_effect": pd.DataFrame(effect),
        "sweep_cells": pd.DataFrame(cells),
        "sweep_boxes": pd.DataFrame(boxes),
        "replication_boxes": pd.DataFrame(boxes).rename(columns={"cells": "values"}),
        "regression_tests": pd.DataFrame(
            {"edges": [2, 1], "r_squared": 0.6, "breusch_pagan_p": 1e-4, "noise_error": 0.02, "joint": 8.8}
            | {"noise_robust_error": 0.021, "joint_p": 0.03, "rival_z": 5.5}
        ),
        "sweep_residuals": pd.concat(vectors),
        "regression": pd.DataFrame(terms),
        "regression_comparison": pd.DataFrame(comparison),
    }


def _noise_levels() -> dict[str, pd.DataFrame]:
    time = np.unique(np.geomspace(1, 1000, 30).astype(int))
    paths, law = [], []
    for noise in (0.5, 1.0, 2.0):
        reach, calm = 0.3 / np.sqrt(time) + noise / time, 0.3 / np.sqrt(time)
        ends = {"minimum": V - reach, "maximum": V + reach, "expected_minimum": V - calm, "expected_maximum": V + calm}
        paths.append(pd.DataFrame({"noise": noise, "time": time} | ends | {"consensus_value": V}))
        parts = {"bias": -0.1 * time**-0.2, "std": 0.2 * noise * time**-0.3, "weighted_disagreement": calm}
        parts["weighted_distance"] = 2 * calm
        law.append(pd.DataFrame({"noise": noise, "time": time} | parts))
    powers = [
        {"noise": noise, "quantity": "bias", "source": "exact", "exponent": 0.2, "standard_error": 0.001}
        | {"low": 0.198, "high": 0.202, "constant": 0.1}
        for noise in (0.5, 1.0, 2.0)
    ]
    return {
        "noise_paths": pd.concat(paths),
        "noise_law": pd.concat(law),
        "noise_exponents": pd.DataFrame(powers),
        "noise_hitting_times": pd.DataFrame(
            {"noise": [0.5, 2.0], "distance": 0.01, "exponent": 0.2, "constant": [0.1, 0.4], "time": [1e5, 1e8]}
        ),
    }


def _beyond() -> dict[str, pd.DataFrame]:
    powers = {"ols": 0.0 * STEPS + 1.5, "wls": 3 / np.sqrt(STEPS), "innovations": 1 / STEPS}
    observed = [
        {
            "fraction": part,
            "group": group,
            "agents": 10,
            "ratio": ratio,
            "low": 0.8 * ratio,
            "high": min(1, 1.2 * ratio),
        }
        for part in (0.2, 0.5, 0.8)
        for group, ratio in (("observed", 0.5 - 0.35 * part), ("unobserved", 0.9 - 0.2 * part))
    ]
    spent = {"white": np.sqrt(STEPS), "growing": STEPS**0.25, "frozen": 1 + 0.0 * STEPS}
    missed = {"white": STEPS**-0.5, "growing": STEPS**-0.25, "frozen": 0.1 + 0.0 * STEPS}
    exact = np.geomspace(0.01, 10, 30)
    z = np.sin(np.arange(30) * 1.7)
    return {
        "observers": pd.concat(
            [
                pd.DataFrame({"network": network, "observer": name, "steps": STEPS, "variance": variance}).assign(
                    sampled=1.01 * variance, standard_error=0.05 * variance
                )
                for network, (name, variance) in product(("two_agents", "scale_free"), powers.items())
            ]
        ),
        "observation_error": pd.DataFrame(
            [
                {"error": error, "steps": steps, "variance": 1 / steps + 0.7 * error, "floor": 2 * error / np.pi}
                for error, steps in product((0.0, 0.01, 0.1), STEPS)
            ]
        ),
        "partial_observers": pd.DataFrame(observed),
        "privacy_over_time": pd.concat(
            [
                pd.DataFrame({"design": name, "steps": STEPS, "mu": spent[name], "rms_error": missed[name]}).assign(
                    information=spent[name] ** 2, epsilon=2 * spent[name]
                )
                for name in spent
            ]
        ),
        "network_leak": pd.DataFrame(
            [
                {"steps": steps, "method": method, "average_precision": 0.1 + 0.3 * k + 0.1 * j, "chance": 0.1}
                for k, steps in enumerate((30, 300))
                for j, method in enumerate(("likelihood", "var", "weighted_var"))
            ]
        ),
        "network_defence": pd.DataFrame(
            [
                {"defence": defence, "strength": strength, "average_precision": 0.9 / (1 + k)}
                for defence in ("noise", "published_noise", "every", "fraction")
                for k, strength in enumerate((0.2, 1.0))
            ]
        ),
        "exact_vs_sampled": pd.DataFrame(
            {"experiment": np.repeat(["two_agents", "sweep", "noise_levels"], 10), "quantity": "variance"}
            | {"exact": exact, "sampled": exact * (1 + 0.01 * z), "standard_error": 0.01 * exact, "z": z}
        ),
    }


def sample_audit() -> pd.DataFrame:
    """Return one claim of each verdict, with text that would break a careless page."""
    claims = {"confirmed": "A < B & C", "corrected": "x_t^2 is 1e-07", "refuted": "<script>alert(1)</script>"}
    rows = [
        {"id": f"claim-{verdict}", "claim": claim, "where": "Model", "printed": "about 1", "rule": "Confirmed if < 3."}
        | {"found": "1.00 ± 0.01", "verdict": verdict, "why": f"Because of {claim}."}
        | {"correction": "It is 2." if verdict == "corrected" else "–"}
        for verdict, claim in (claims | {"ambiguous": "Two readings.", "cannot be tested": "Too few runs."}).items()
    ]
    return pd.DataFrame(rows)


def sample_seeds() -> pd.DataFrame:
    """Return the verdicts of three seeds on one claim, one of them another."""
    return pd.DataFrame({"seed": [7, 8, 9], "id": "claim-refuted", "verdict": ["refuted", "refuted", "confirmed"]})
