"""What each law of noise can and cannot promise; one row of ``PROMISES`` for each.

A promise is what holds for every pair of opinions at most Δ apart. Fisher information alone is none: it says how well
an observer can estimate, on average and without a bound on the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, final

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector
from peerpressure.noises import Custom, Gaussian, Laplace, Noise, NoNoise, Rademacher, StudentT, Uniform
from peerpressure.privacy import gaussian, laplace
from peerpressure.privacy.release import Release

Columns: TypeAlias = dict[str, Vector]


@final
@dataclass(frozen=True)
class Promise:
    """How one law turns moves into privacy.

    ``account(release, sensitivity, delta, noise)`` returns named columns with one number for each agent, ``epsilon``
    always among them: the smallest ε known to hold, inf if none does, nan if nothing is known.
    """

    account: Callable[[Release, float, float, Noise], Columns]
    text: str


def unit_information(noise: Noise) -> float:
    """Return the Fisher information about its centre in one draw of unit variance; 1 for a normal law, else more.

    >>> unit_information(Laplace()), round(unit_information(StudentT(df=5.0)), 12)
    (2.0, 1.25)
    """
    if isinstance(noise, Gaussian | Laplace):
        return 1.0 if isinstance(noise, Gaussian) else 2.0
    if isinstance(noise, StudentT):
        return (noise.df + 1) / (noise.df + 3) * noise.df / (noise.df - 2)
    return _measured_information(noise.distribution) if isinstance(noise, Custom) else math.inf


def _measured_information(law: Any) -> float:
    """Return Var(X)·E (d/dx log f)² by quadrature, inf where the law has jumps or the integral does not settle."""
    if not hasattr(law.dist, "logpdf") or any(law.pdf(end) > 0 for end in law.support() if math.isfinite(end)):
        return math.inf
    rough, fine = (_score_square(law, tail) for tail in (1e-7, 1e-10))
    return fine * float(law.var()) if fine < 1.01 * rough else math.inf


def _score_square(law: Any, tail: float, panels: int = 400) -> float:
    """Return ∫ (f′/f)² f over all but the two tails, by Gauss–Legendre panels between quantiles."""
    # Quantiles that crowd into the tails like the logistic law's follow steep ends and broad middles alike.
    levels = 1 / (1 + np.exp(-np.linspace(-math.log(1 / tail), math.log(1 / tail), panels + 1)))
    edges = law.ppf(levels)
    nodes, weights = np.polynomial.legendre.leggauss(6)
    half = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half) + half * nodes
    h = np.maximum(1e-2 * half, 1e-6 * np.abs(x))
    score = (law.logpdf(x - 2 * h) - 8 * law.logpdf(x - h) + 8 * law.logpdf(x + h) - law.logpdf(x + 2 * h)) / (12 * h)
    return float(np.sum(half * weights * score**2 * law.pdf(x)))


def _gaussian(moved: Release, sensitivity: float, delta: float, noise: Noise) -> Columns:
    mu = sensitivity * np.sqrt(moved.squares)
    distinct, where = np.unique(mu, return_inverse=True)
    return {"mu": mu, "zcdp": mu**2 / 2, "epsilon": gaussian.epsilon_of(distinct, delta)[where]}


def _laplace(moved: Release, sensitivity: float, delta: float, noise: Noise) -> Columns:
    def account(values: Vector, counts: Vector) -> tuple[float, ...]:
        a = math.sqrt(2) * sensitivity * values
        bounds = laplace.epsilon_between(a, counts, delta)
        return laplace.basic(a, counts), laplace.advanced(a, counts, delta), *bounds

    names = ("epsilon_basic", "epsilon_advanced", "epsilon_low", "epsilon")
    return dict(zip(names, _each_agent(moved, account), strict=True))


def _student(moved: Release, sensitivity: float, delta: float, noise: Noise) -> Columns:
    """Account for Student's t, whose loss at a move h is at most (ν + 1) arsinh(h/(2√(ν − 2)))."""
    df = noise.shape

    def account(values: Vector, counts: Vector) -> tuple[float, ...]:
        a = (df + 1) * np.arcsinh(sensitivity * values / (2 * math.sqrt(df - 2)))
        basic, advanced = laplace.basic(a, counts), laplace.advanced(a, counts, delta)
        return basic, advanced, min(basic, advanced)

    names = ("epsilon_basic", "epsilon_advanced", "epsilon")
    return dict(zip(names, _each_agent(moved, account), strict=True))


def _uniform(moved: Release, sensitivity: float, delta: float, noise: Noise) -> Columns:
    """Account for bounded noise: with probability Π(1 − hΔ/2√3) nothing is told, and else everything that ε counts."""

    def account(values: Vector, counts: Vector) -> tuple[float]:
        overlap = np.maximum(1 - sensitivity * values / (2 * math.sqrt(3)), 0.0)
        with np.errstate(divide="ignore"):
            return (-math.expm1(float(counts @ np.log(overlap))),)

    (reached,) = _each_agent(moved, account)
    return {"epsilon": np.where(reached <= delta, 0.0, np.inf), "delta_needed": reached}


def _nothing(moved: Release, sensitivity: float, delta: float, noise: Noise) -> Columns:
    n = moved.std.size
    return {"epsilon": np.full(n, np.inf), "delta_needed": np.ones(n)}


def _unknown(moved: Release, sensitivity: float, delta: float, noise: Noise) -> Columns:
    return {"epsilon": np.full(moved.std.size, np.nan)}


def _each_agent(moved: Release, account: Callable[[Vector, Vector], tuple[float, ...]]) -> Vector:
    """Return the accounts of all agents, (numbers, agents), each distinct list of moves being worked out once."""
    found: dict[bytes, tuple[float, ...]] = {}
    rows = []
    for agent in range(moved.std.size):
        values, counts = moved.moves(agent)
        # Rounding to 12 digits makes equal agents equal whatever the order of their sums.
        key = np.array([f"{value:.12g}" for value in values]).tobytes() + counts.tobytes()
        if key not in found:
            found[key] = account(values, counts)
        rows.append(found[key])
    return np.array(rows).T


PROMISES: Mapping[type[Noise], Promise] = MappingProxyType(
    {
        Gaussian: Promise(_gaussian, "Exact: μ-Gaussian privacy, and from it zCDP and the smallest ε at this δ."),
        Laplace: Promise(
            _laplace,
            "Pure ε by basic composition; at this δ, ε lies between epsilon_low and epsilon, the latter being safe.",
        ),
        StudentT: Promise(
            _student,
            "Pure ε by basic composition, and an ε at this δ by advanced composition; both hold, neither is smallest.",
        ),
        Uniform: Promise(
            _uniform,
            "Bounded noise has no finite ε below the δ in delta_needed: with that probability an opinion is ruled out.",
        ),
        Rademacher: Promise(
            _nothing, "A coin hides nothing: of two opinions, most often only one can have led to what is seen."
        ),
        NoNoise: Promise(_nothing, "Without noise everything is told."),
        Custom: Promise(
            _unknown,
            "Nothing is promised: the Fisher information of this law bounds estimation, not the worst case, so no ε.",
        ),
    }
)


def promise_of(noise: Noise) -> Promise:
    """Return what the law of this noise promises."""
    if type(noise) not in PROMISES:
        rule = f"privacy is known for {', '.join(law.__name__ for law in PROMISES)} noise"
        raise InvalidInputError(complain(rule, got=type(noise).__name__, remedy="wrap the law as Custom(distribution)"))
    return PROMISES[type(noise)]
