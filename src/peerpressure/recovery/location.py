"""The maximum of the likelihood of a constant seen through noise, ξ_t = x₀ + σ_t u_t, for each law of u.

Every function takes ξ (replicates, T, n), σ and ``present`` (T, n), and returns the estimates (replicates, n) with
their variances (n,). A new law is one function and one line in ``LOCATIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector
from peerpressure.noises import Custom, Noise, StudentT

Present: TypeAlias = NDArray[np.bool_]
Location: TypeAlias = tuple[Vector, Vector]
_STUDENT_ITERATIONS = 500
# Dividing by small gains leaves ξ_t with errors; those below this part of the noise are none of its doing.
_ROUNDING = 1e-3
_GOLDEN = (np.sqrt(5) - 1) / 2


def laplace(xi: Vector, sigma: Vector, present: Present, noise: Noise) -> Location:
    """Return the median weighted by 1/σ_t; its asymptotic variance 1/Σ(2/σ_t²) is half that of the mean."""
    weight = np.where(present, 1 / sigma, 0.0)
    order = np.argsort(xi, axis=1)
    sorted_xi = np.take_along_axis(xi, order, axis=1)
    total = np.cumsum(np.take_along_axis(np.broadcast_to(weight, xi.shape), order, axis=1), axis=1)
    half = total[:, -1:] / 2
    # Between two values that split the weights evenly every point is a maximum; the middle is unbiased.
    low = np.argmax(total >= half * (1 - 1e-12), axis=1)[:, None]
    high = np.argmax(total > half * (1 + 1e-12), axis=1)[:, None]
    ends = np.take_along_axis(sorted_xi, low, axis=1) + np.take_along_axis(sorted_xi, high, axis=1)
    return ends[:, 0] / 2, 1 / (2 * weight**2).sum(axis=0)


def uniform(xi: Vector, sigma: Vector, present: Present, noise: Noise) -> Location:
    """Return the middle of the x₀ that are possible, max(ξ_t − √3σ_t) ≤ x₀ ≤ min(ξ_t + √3σ_t).

    Its variance is ½/λ² · T²/((T+1)(T+2)) with λ = Σ 1/(2√3σ_t): exact for equal σ_t, where it is the midrange, and
    otherwise the law of two exponential gaps, right as T grows.
    """
    half = np.sqrt(3) * sigma
    low = np.where(present, xi - half, -np.inf).max(axis=1)
    high = np.where(present, xi + half, np.inf).min(axis=1)
    slack = _ROUNDING * half.max()
    if (low > high + slack).any():
        _refuse_impossible("uniform", int(np.argwhere(low > high + slack)[0][1]))
    count = present.sum(axis=0)
    rate = np.where(present, 1 / (2 * half), 0.0).sum(axis=0)
    return (low + high) / 2, count**2 / ((count + 1) * (count + 2)) / (2 * rate**2)


def student(xi: Vector, sigma: Vector, present: Present, noise: Noise) -> Location:
    """Return the fixed point x = Σ wξ/Σ w, w = (ν+1)/((ν + z²)b²), z = (ξ − x)/b, with variance (ν+3)/((ν+1)Σ b⁻²).

    b = σ√((ν−2)/ν) is the scale of Student's law. Started from the median, the iteration climbs to a maximum.
    """
    assert isinstance(noise, StudentT)
    nu = noise.df
    precision = np.where(present, nu / (nu - 2) / sigma**2, 0.0)
    x, _ = laplace(xi, sigma, present, noise)
    for _ in range(_STUDENT_ITERATIONS):
        weight = (nu + 1) / (nu + precision * (xi - x[:, None]) ** 2) * precision
        step = (weight * (xi - x[:, None])).sum(axis=1) / weight.sum(axis=1)
        x = x + step
        if (np.abs(step) <= 1e-13 * (np.abs(x) + sigma.max())).all():
            break
    return x, (nu + 3) / (nu + 1) / precision.sum(axis=0)


def rademacher(xi: Vector, sigma: Vector, present: Present, noise: Noise) -> Location:
    """Return the one x₀ from which every ξ_t is exactly σ_t away; known without error once two steps differ.

    While all signs are the same, x₀ may be on either side of them, and their place is returned. That happens with
    probability 2^(1−T) if all σ_t are equal and never otherwise, which makes the variance σ²2^(1−T), or 0.
    """
    first = np.argmax(present, axis=0)
    each = np.arange(sigma.shape[1])
    start, size = xi[:, first, each], sigma[first, each]
    slack = _ROUNDING * size
    possible = []
    for side in (start - size, start + size):
        off = np.abs(np.abs(xi - side[:, None]) - sigma) > slack
        possible.append(~(off & present).any(axis=1))
    below, above = possible
    if not (below | above).all():
        _refuse_impossible("Rademacher", int(np.argwhere(~(below | above))[0][1]))
    value = np.where(below & above, start, np.where(below, start - size, start + size))
    alike = (np.where(present, np.abs(sigma - size), 0.0) <= slack).all(axis=0)
    return value, np.where(alike, size**2 * 2.0 ** (1 - present.sum(axis=0)), 0.0)


def custom(xi: Vector, sigma: Vector, present: Present, noise: Noise) -> Location:
    """Return the maximum found by a grid and a golden section, with variance 1/(i·Σσ_t⁻²), i = E(∂ log p)².

    The law must have a density on the whole line: where it ends in a jump, no such variance holds.
    """
    assert isinstance(noise, Custom)
    law = noise.unit()
    if not (hasattr(law, "logpdf") and np.isinf(law.support()).all()):
        rule = "the likelihood of a custom law needs a density on the whole line"
        remedy = "use method='innovations', the best linear one"
        raise InvalidInputError(complain(rule, got=f"{law.dist.name} on {law.support()}", remedy=remedy))
    mean, deviation = float(law.mean()), float(law.std())

    def fit(x: Vector) -> Vector:
        z = mean + deviation * (xi - x[:, None]) / sigma
        return np.asarray(np.where(present, law.logpdf(z), 0.0).sum(axis=1))

    middle, _ = laplace(xi, sigma, present, noise)
    reach = 3 * np.where(present, sigma, 0.0).max(axis=0)
    value = _golden(fit, *_best_cell(fit, middle - reach, middle + reach))
    return value, 1 / (_unit_information(law, deviation) * np.where(present, sigma**-2.0, 0.0).sum(axis=0))


def _best_cell(fit: Callable[[Vector], Vector], low: Vector, high: Vector, cells: int = 16) -> tuple[Vector, Vector]:
    grid = np.array([low + (high - low) * share for share in np.linspace(0, 1, cells + 1)])
    best = np.argmax([fit(x) for x in grid], axis=0)[None]
    ends = [np.take_along_axis(grid, np.clip(best + side, 0, cells), axis=0)[0] for side in (-1, 1)]
    return ends[0], ends[1]


def _golden(fit: Callable[[Vector], Vector], low: Vector, high: Vector) -> Vector:
    for _ in range(40):
        width = _GOLDEN * (high - low)
        right_is_better = fit(low + width) > fit(high - width)
        low, high = np.where(right_is_better, high - width, low), np.where(right_is_better, high, low + width)
    return (low + high) / 2


def _unit_information(law: object, deviation: float) -> float:
    """Return the Fisher information about location of the law scaled to unit variance, E(∂ log p)²."""
    share = (np.arange(4000) + 0.5) / 4000
    z = law.ppf(share)  # type: ignore[attr-defined]
    small = 1e-4 * deviation
    score = (law.logpdf(z + small) - law.logpdf(z - small)) / (2 * small)  # type: ignore[attr-defined]
    return float(np.mean(score**2)) * deviation**2


def _refuse_impossible(law: str, agent: int) -> None:
    rule = f"outputs must be ones that {law} noise can make"
    got = f"steps of agent number {agent} that no hidden opinion explains"
    remedy = "check network, stubbornness, peer pressure and noise of the model against the run"
    raise InvalidInputError(complain(rule, got=got, remedy=remedy))


LOCATIONS: Mapping[str, Callable[[Vector, Vector, Present, Noise], Location]] = {
    "laplace": laplace,
    "uniform": uniform,
    "student": student,
    "rademacher": rademacher,
    "custom": custom,
}
