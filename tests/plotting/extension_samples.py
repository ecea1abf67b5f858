"""Small fixed tables for the figures of the extensions, made up without running the model."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

V = 0.5
TIME = np.unique(np.geomspace(1, 1000, 25).astype(int))
RATES = np.array([0.01, 0.1, 1.0])


def timescale_samples() -> dict[str, pd.DataFrame]:
    """Tables of opinions that adapt."""
    return {
        "timescale_opinions": _opinions(),
        "timescale_consensus_limit": pd.DataFrame(
            {"rate": RATES, "mean": V - 0.02 * RATES, "std": 0.02 * np.sqrt(RATES), "steps": 1000}
            | {"sampled_mean": V - 0.021 * RATES, "standard_error": 0.004, "consensus_value": V}
        ),
        "timescale_sampled_limit": pd.DataFrame({"rate": np.repeat(RATES, 2), "run": [0, 1] * 3, "value": V - 0.01}),
        "timescale_hidden_disagreement": pd.DataFrame(
            [
                {"rate": rate, "steps": steps, "weighted_disagreement": 0.3 * np.exp(-rate * steps) + 0.01 / steps}
                for rate, steps in product(RATES, (10, 100))
            ]
        ),
        "timescale_decreasing": pd.concat(
            [
                pd.DataFrame(
                    {"rate": rate, "sum_diverges": diverges, "time": TIME, "public": 0.2 / TIME, "hidden": hidden}
                )
                for rate, diverges, hidden in (
                    ("0.5/t", True, 0.3 * TIME**-0.5),
                    ("0.5/t^2", False, 0.2 + 0.1 / TIME),
                )
            ]
        ),
        **_forgetting(),
    }


def _opinions() -> pd.DataFrame:
    parts = []
    starts = {"lowest": 0.0, "middle": 0.45, "highest": 1.0}
    for rate, (agent, start), kind in product((0.003, 0.1), starts.items(), ("public", "hidden")):
        time = np.concatenate([[0], TIME])
        mean = V + (start - V) * np.exp(-time * (rate if kind == "hidden" else 0.5))
        law = {"mean": mean, "low": mean - 0.02, "high": mean + 0.02, "path": mean + 0.01}
        parts.append(pd.DataFrame({"rate": rate, "agent": agent, "kind": kind, "time": time} | law))
    return pd.concat(parts, ignore_index=True)


def _forgetting() -> dict[str, pd.DataFrame]:
    steps = np.array([1, 10, 100])
    told, errors = [], []
    for rate, limit in ((0.0, np.inf), (0.1, 5.0)):
        information = np.minimum(TIME, limit * TIME / (TIME + 5.0) if rate else TIME)
        columns = {"time": TIME, "retention": (1 - rate) ** TIME, "information": information, "limit": limit}
        told.append(pd.DataFrame({"rate": rate} | columns))
        for target, variance in (("initial", 1.0 / steps + rate), ("current", 1.0 / steps ** (1 + 20 * rate))):
            own = {"steps": steps, "variance": variance, "sampled": 1.02 * variance, "standard_error": 0.02 * variance}
            errors.append(pd.DataFrame({"rate": rate, "target": target} | own))
    return {"forgetting_information": pd.concat(told), "forgetting_recovery": pd.concat(errors)}


def temporal_samples() -> dict[str, pd.DataFrame]:
    """Tables of temporal networks."""
    networks = {"constant": 0.0, "slow": 1e-4, "fast": -8e-3, "rewired": 3e-4, "isolated": 0.1}
    law = [
        pd.DataFrame({"network": name, "time": TIME, "bias": off, "std": 0.1 / np.sqrt(TIME)}).assign(
            weighted_disagreement=(0.3 / TIME if name != "isolated" else 0.3 + 0.1 / TIME),
            weighted_distance=abs(off) + 0.3 / TIME,
        )
        for name, off in networks.items()
    ]
    facts = {
        "pairs": 275,
        "edges": 160.5,
        "changes": [0.0, 2.0, 105.0, 41.0, 129.0],
        "isolated": [0.0, 0.0, 0.0, 0.0, 0.03],
    }
    fates = ["consensus", "biased_consensus", "biased_consensus", "biased_consensus", "periodic"]
    common = [(name, V + off, off) for name, off in networks.items() if name != "isolated"]
    return {
        "edge_turnover_networks": pd.DataFrame({"network": list(networks)} | facts | {"outcome": fates}),
        "edge_turnover_targets": pd.DataFrame(common, columns=["network", "target", "bias"]),
        "edge_turnover_law": pd.concat(law, ignore_index=True),
        **_broadcaster(),
        **_splitting(),
    }


def _broadcaster() -> dict[str, pd.DataFrame]:
    paths = []
    for dwell, target in ((1, 0.15), (10, 0.05), (0, 0.01)):
        mean = target + 0.05 / TIME
        band = {"low": mean - 0.01, "high": mean + 0.01, "target": target}
        paths.append(pd.DataFrame({"dwell_time": dwell, "time": TIME, "mean": mean} | band))
    shares = [
        {"weight": weight, "dwell_time": dwell, "share": 0.01 + 0.1 * weight / dwell, "std": 0.002}
        | {"mean": 0.0101 + 0.1 * weight / dwell, "consensus_value": 0.01}
        for weight, dwell in product((1.0, 4.0), (1, 10, 100))
    ]
    return {"broadcaster_paths": pd.concat(paths), "broadcaster_shares": pd.DataFrame(shares)}


def _splitting() -> dict[str, pd.DataFrame]:
    paths = []
    for bridges, (group, value) in product(("returning", "removed"), ((1, 0.15), (2, 0.48), (3, 0.85))):
        mean = V + (value - V) * (1 / np.sqrt(TIME) if bridges == "returning" else 1 - 1 / TIME)
        law = {"mean": mean, "low": mean - 0.02, "high": mean + 0.02, "path": mean + 0.01}
        ends = {"group_value": value, "consensus_value": V}
        paths.append(pd.DataFrame({"bridges": bridges, "group": group, "time": TIME} | law | ends))
    windows = [("returning", 31, 100, 3), ("removed", 101, 1000, 3)]
    facts = {"steps": 1000, "window": 10, "steps_connected": 0.2, "windows_connected": 0.7}
    return {
        "splitting_paths": pd.concat(paths, ignore_index=True),
        "splitting_windows": pd.DataFrame(windows, columns=["bridges", "first", "last", "components"]),
        "splitting_summary": pd.DataFrame(
            {"bridges": ["returning", "removed"]}
            | facts
            | {"group_spread": [0.01, 0.7], "group_max_distance": [0.01, 0.35]}
        ),
    }


def continuous_samples() -> dict[str, pd.DataFrame]:
    """Tables of the model in continuous time."""
    steps = 2.0 ** -np.arange(1, 5)
    paths = [
        pd.DataFrame({"step": h, "time": t, "mean": V - 0.1 * np.exp(-t) * (1 + h), "std": 0.1 * t / (1 + t**2)})
        for h, t in ((h, np.arange(0.0, 4.0 + 1e-9, h or 0.1)) for h in (0.0, 0.5, 1.0))
    ]
    oscillations = {"discrete": 0.03 + 0.1 / TIME, "continuous": 0.1 / TIME**2.0}
    runs = [
        pd.DataFrame({"dynamics": dynamics, "time": TIME, "agent_1": V, "oscillation": size}).assign(
            minimum=V - size, maximum=V + size
        )
        for dynamics, size in oscillations.items()
    ]
    ends = [("discrete", "first", 0.47), ("discrete", "second", 0.53), ("continuous", "both", 0.501)]
    return {
        **_density(),
        "shrinking_steps": pd.concat(paths, ignore_index=True),
        "weak_errors": pd.DataFrame({"step": steps, "mean_error": 0.02 * steps, "std_error": 0.01 * steps}),
        "strong_errors": pd.DataFrame({"step": steps, "error": 0.03 * steps, "standard_error": 0.001 * steps}),
        "oscillation_paths": pd.concat(runs, ignore_index=True),
        "oscillation_limits": pd.DataFrame(ends, columns=["dynamics", "side", "mean"]).assign(
            std=0.004, consensus_value=V
        ),
    }


def _density() -> dict[str, pd.DataFrame]:
    """A normal density on 24 × 24 cells at three times, narrower and nearer to the diagonal each time."""
    low, high, cells = -1.0, 2.0, 24
    edges = np.linspace(low, high, cells + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    x, y = np.meshgrid(centres, centres, indexing="ij")
    laws, parts = [], []
    for time, off, std in ((0.5, 0.5, 0.3), (1.0, 0.3, 0.25), (2.0, 0.1, 0.2)):
        means = (V - off, V + off)
        density = np.exp(-((x - means[0]) ** 2 + (y - means[1]) ** 2) / (2 * std**2)) / (2 * np.pi * std**2)
        columns, rows = np.nonzero(density > 1e-3 * density.max())
        own = {"column": columns, "row": rows, "density": density[columns, rows]}
        parts.append(pd.DataFrame({"time": time} | own))
        law = {"time": time, "mean_1": means[0], "mean_2": means[1], "variance_1": std**2, "variance_2": std**2}
        laws.append(law | {"covariance": 0.0, "error": 0.01})
    axis = {"hidden": [0.0, 1.0], "stubbornness": 1.0, "low": low, "high": high, "cells": cells, "consensus_value": V}
    return {
        "density_law": pd.DataFrame(laws),
        "density_cells": pd.concat(parts, ignore_index=True),
        "density_grid": pd.DataFrame({"agent": [1, 2]} | axis | {"mass_error": 1e-15, "lowest": 0.0}),
    }
