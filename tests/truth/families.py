"""Random models of every family: pressures, networks, noises, adaptations, temporal networks and continuous time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tests.truth.case import Array, Case

Rng = np.random.Generator
T = TypeVar("T")

# {c} is a scale of order 1, {k} the slope κ/r for a ratio r from RATIOS.
PRESSURES: dict[str, Sequence[str]] = {
    "bounded": ["{c}", "{c}*(2 - 1/t)", "{c}*t/(1 + t)", "{c}/t", "{c}*(1 + exp(-t))", "0", "{c}/sqrt(t)",
                "3 + sin(t)"],
    "slow": ["{c}*t^0.5", "{c}*t^0.8", "{c}*log(1 + t)", "{c}*log(1 + t)^2", "{c}*sqrt(t)*log(1 + t)", "{c}*t^0.3",
             "{c}*t/log(2 + t)"],
    "linear": ["{k}*t", "{k}*t + {c}", "{k}*t*(1 + 1/t)", "{k}*t + sqrt(t)", "{k}*(t + log(1 + t))"],
    "marginal": ["{c}*t*log(1 + t)", "{c}*t*log(1 + t)^0.5", "{c}*t*sqrt(1 + log(t))"],
    "fast": ["{c}*t^1.2", "{c}*t^1.5", "{c}*t^2", "{c}*t*log(1 + t)^2", "2^sqrt(t)", "0.01*1.02^t", "{c}*exp(t)",
             "{k}*t^1.01", "0.1*t^3"],
    "oscillating": ["{k}*t*(2 + sin(t))", "{k}*2^floor(log2(t))", "{k}*(2 + t - 2*floor(t/2))*t",
                    "{c}*t^1.5*(2 + cos(t))", "{k}*(2 + t - 2*floor(t/2))"],
}  # fmt: skip
RATIOS = (0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
SCALES = ("1", "1", "t^-0.25", "1/sqrt(t)", "1/t", "t^0.2", "t^0.4", "t^0.5", "t^0.75", "t", "1/log(2 + t)", "exp(-t)",
          "1 + 1/t", "log(1 + t)")  # fmt: skip
RATES = ("0.05", "0.5", "1", "0.9/t", "0.5/sqrt(t)", "0.8/t^2", "0.5/(t*log(2 + t))", "exp(-t)", "0.0001", "0.5/t^0.75",
         "1/(1 + log(t))", "0.2/(1 + 1/t)")  # fmt: skip


def pick(rng: Rng, options: Sequence[T]) -> T:
    return options[int(rng.integers(len(options)))]


def graph(rng: Rng, n: int, *, weighted: bool | None = None) -> Array:
    """Return a connected graph: a path, cycle, star, complete, bipartite or random one, or two weakly joined halves."""
    A, kind = (
        np.zeros((n, n)),
        pick(rng, ["path", "cycle", "star", "complete", "random", "random", "bipartite", "weak"]),
    )
    i, j = np.triu_indices(n, 1)
    chosen = {
        "path": j == i + 1,
        "cycle": (j == i + 1) | ((i == 0) & (j == n - 1)),
        "star": i == 0,
        "complete": i >= 0,
        "random": (j == i + 1) | (rng.random(i.size) < 0.4),
        "bipartite": (i + j) % 2 == 1,
        "weak": (i < n // 2) == (j < n // 2),
    }[kind]
    weight = np.where(chosen, rng.uniform(0.3, 3.0, i.size) if _weighted(rng, weighted) else 1.0, 0.0)
    if kind == "weak":
        weight[(i == n // 2 - 1) & (j == n // 2)] = pick(rng, [1.0, 0.05, 1e-3])
    A[i, j] = weight
    return np.asarray(A + A.T)


def _weighted(rng: Rng, weighted: bool | None) -> bool:
    return bool(rng.random() < 0.5) if weighted is None else weighted


def agents(rng: Rng, A: Array) -> dict[str, Any]:
    """Return hidden opinions, stubbornness and a start, with the coincidences that real data have."""
    n, d = len(A), A.sum(axis=1)
    hidden = {
        "random": rng.normal(size=n).round(3),
        "symmetric": np.arange(n) - (n - 1) / 2,
        "mirrored": np.minimum(np.arange(n), n - 1 - np.arange(n)).astype(float),
        "equal": np.full(n, 0.7),
        "two": np.arange(n) % 2.0,
    }[pick(rng, ["random"] * 5 + ["symmetric", "mirrored", "equal", "two"])]
    stubbornness = {
        "equal": np.ones(n),
        "random": rng.uniform(0.3, 2.0, n).round(3),
        "degree": 0.5 * np.where(d > 0, d, 1.0),
        "unequal": np.geomspace(0.05, 5.0, n)[rng.permutation(n)].round(4),
    }[pick(rng, ["equal", "random", "random", "degree", "unequal"])]
    start = {
        "hidden": hidden.copy(),
        "random": rng.normal(size=n).round(3),
        "shifted": hidden + 1.0,
        "zero": np.zeros(n),
    }[pick(rng, ["hidden"] * 4 + ["random", "shifted", "zero"])]
    return {"hidden": hidden, "stubbornness": stubbornness, "start": start}


def pressure(rng: Rng, kind: str, kappa: float) -> str:
    c, k = round(float(rng.uniform(0.3, 3.0)), 3), kappa / pick(rng, RATIOS)
    return pick(rng, PRESSURES[kind]).format(c=c, k=k)


def noise(rng: Rng, n: int, *, phi: float | None = None, scale: str | None = None) -> dict[str, Any]:
    """Return the noise of a model; frozen, white or AR(1)."""
    std = np.full(n, 0.5) if rng.random() < 0.6 else rng.uniform(0.0, 1.0, n).round(2) + 0.05 * (np.arange(n) == 0)
    chosen = pick(rng, [0.0, 0.0, 1.0, 0.6, -0.5]) if phi is None else phi
    return {"std": std, "phi": chosen, "scale": pick(rng, SCALES) if scale is None else scale}


def static(rng: Rng, kind: str, *, noisy: bool, most: int = 6) -> Case:
    A = graph(rng, int(rng.integers(2, most + 1)))
    who = agents(rng, A)
    text = pressure(rng, kind, float(who["stubbornness"].sum() / A.sum()))
    parts: dict[str, Any] = noise(rng, len(A)) if noisy else {"std": np.zeros(len(A))}
    # The mean of an oscillating pressure is no substitute for it while pressure is low.
    return Case(kind, text, A[None], averages=text != "3 + sin(t)", **who, **parts)


def white(rng: Rng) -> Case:
    """Plain models with white noise of constant scale, as in the paper."""
    kind = pick(rng, ["bounded", "slow", "linear", "linear", "marginal", "fast", "fast"])
    case = static(rng, kind, noisy=True)
    return replace(case, family="white noise", phi=0.0, scale="1")


def noiseless(rng: Rng) -> Case:
    return replace(static(rng, pick(rng, list(PRESSURES)), noisy=False), family="no noise")


def coloured(rng: Rng) -> Case:
    """Frozen and AR(1) noise of constant scale."""
    case = static(rng, pick(rng, ["bounded", "slow", "linear", "marginal", "fast"]), noisy=True, most=5)
    return replace(case, family="frozen and AR(1) noise", phi=pick(rng, [1.0, 1.0, 0.6, -0.5, 0.95]), scale="1")


def scaled(rng: Rng) -> Case:
    """Noise whose scale grows or fades."""
    case = static(rng, pick(rng, ["bounded", "slow", "linear", "linear", "marginal", "fast"]), noisy=True, most=5)
    return replace(case, family="noise scale over time", scale=pick(rng, SCALES[2:]))


def oscillating(rng: Rng) -> Case:
    return replace(static(rng, "oscillating", noisy=bool(rng.random() < 0.5), most=5), family="oscillating pressure")


def adapting(rng: Rng) -> Case:
    """Hidden opinions that adapt, all alike or not, some never."""
    kind = pick(rng, ["bounded", "bounded", "slow", "linear", "linear", "fast"])
    case = static(rng, kind, noisy=bool(rng.random() < 0.6), most=4)
    n, scale = case.n, "1" if rng.random() < 0.6 else pick(rng, SCALES)
    weight = pick(rng, [None, None, None, rng.uniform(0.2, 1.0, n).round(2), np.where(np.arange(n) == 0, 0.0, 1.0)])
    return replace(case, family="adaptation", rate=pick(rng, RATES), weight=weight, scale=scale)


def temporal(rng: Rng) -> Case:
    """Networks that repeat, with agents isolated at times, or that change at first and then stay."""
    kind = pick(rng, ["bounded", "slow", "linear", "linear", "fast"])
    n, settles = int(rng.integers(3, 6)), bool(rng.random() < 0.3)
    while True:
        graphs = np.stack([graph(rng, n) for _ in range(int(rng.integers(2, 5)))])
        # Edges are left out at random, so connectivity is joint only and agents may be isolated.
        kept = rng.random(graphs.shape) < pick(rng, [1.0, 0.7, 0.4])
        graphs = np.where(np.triu(kept, 1) | np.triu(kept, 1).transpose(0, 2, 1), graphs, 0.0)
        if _connected(graphs.sum(axis=0)) and np.all(np.any(np.diff(graphs, axis=0) != 0, axis=(1, 2))):
            break
    who = agents(rng, graphs.mean(axis=0))
    text = pressure(rng, kind, float(who["stubbornness"].sum() / graphs.mean(axis=0).sum()))
    parts: dict[str, Any] = {"std": np.zeros(n)}
    if rng.random() < 0.6:
        parts = noise(rng, n, scale="1" if rng.random() < 0.7 else None)
    prefix, cycle = (graphs[:-1], graphs[-1:]) if settles else (None, graphs)
    rate = pick(rng, RATES) if rng.random() < 0.25 else "0"
    return Case(
        "temporal network", text, cycle, prefix=prefix, averages=text != "3 + sin(t)", rate=rate, **who, **parts
    )


def _connected(A: Array) -> bool:
    return bool(np.all(np.linalg.matrix_power(np.eye(len(A)) + (A > 0), len(A)) > 0))


def continuous(rng: Rng) -> Case:
    """The stochastic differential equation with white noise."""
    kind = pick(rng, ["bounded", "slow", "linear", "fast"])
    case = static(rng, kind, noisy=bool(rng.random() < 0.7), most=4)
    # Single steps are fewer here, and 1.02^t is still small after them.
    text = f"{round(float(rng.uniform(0.3, 3)), 2)}" if kind == "bounded" else case.pressure.replace("1.02^t", "1.2^t")
    return replace(case, family="continuous time", phi=0.0, scale="1", continuous=True, pressure=text)


# Each family with its share of all cases.
FAMILIES: dict[str, tuple[int, Callable[[Rng], Case]]] = {
    "no noise": (10, noiseless),
    "white noise": (9, white),
    "frozen and AR(1) noise": (8, coloured),
    "noise scale over time": (8, scaled),
    "oscillating pressure": (7, oscillating),
    "adaptation": (8, adapting),
    "temporal network": (8, temporal),
    "continuous time": (3, continuous),
}


def draw(family: str, count: int, seed: int = 0) -> list[Case]:
    """Return a number of models of a family; the same for the same seed, and the first ones for any number."""
    which = list(FAMILIES).index(family)
    return [FAMILIES[family][1](np.random.default_rng([seed, which, number])) for number in range(count)]
