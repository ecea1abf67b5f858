"""The joint maximum of the Gaussian likelihood in x₀ and in unknown parameters, one replicate at a time.

Given y_{t−1}, the public opinion of agent i is y_t ~ N((s x₀ + ρ_t a_t)/(s + ρ_t d), (sστ_t/(s + ρ_t d))²)
with a_t = Σ w y_{t−1}. With h = 1/σ, κ = h/s and ξ̃ = h x₀,

    log p = log m − ½ e²/τ² + constant,   m = h + ρ_t d κ,   e = h y_t + ρ_t κ (d y_t − a_t) − ξ̃:

the logarithm of a linear function less the square of another, for every given course of ρ. So the likelihood is concave
in these coordinates, and Newton's method finds its one maximum. Where hidden opinions adapt, the adopted part is
subtracted from y_t in the first term of e, and ξ̃ is multiplied by the share that is left of x₀.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.model import Vector
from peerpressure.progress import checkpoint
from peerpressure.recovery._limits import FLAT
from peerpressure.recovery._unknowns import Course, Unknowns

# Newton's method needs far fewer; a flat likelihood raises an error earlier, in `solve_curved`.
_ITERATIONS = 200


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """One replicate: y_t less what was adopted, q_t = d y_t − a_t, relative scale τ, presence, d and the share of x₀.

    All of these are (T, n); ``known`` (n,) is x₀ or NaN.
    """

    public: Vector
    coupling: Vector
    scale: Vector
    present: NDArray[np.bool_]
    degrees: Vector
    share: Vector
    known: Vector


@final
@dataclass(frozen=True, eq=False)
class ReplicateBlock:
    """Coordinates that enter m by ``a`` and e by ``b``, (T, n) each: one common to all agents, or one for each.

    ``da`` and ``db`` are their derivatives in the parameter of ρ.
    """

    name: str
    agents: NDArray[np.int64] | None
    a: Vector
    b: Vector
    da: Vector
    db: Vector

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return 1 if self.agents is None else self.agents.size

    def spread(self, values: Vector) -> Vector:
        """Return the coordinates as they meet (T, n) arrays."""
        if self.agents is None:
            return np.asarray(values)
        out = np.zeros(self.a.shape[1])
        out[self.agents] = values
        return out

    def collect(self, array: Vector) -> Vector:
        """Return the sums of a (T, n) array that belong to each coordinate."""
        return np.atleast_1d(array.sum()) if self.agents is None else array.sum(axis=0)[self.agents]


@final
@dataclass(frozen=True, eq=False)
class Concave:
    """The log-likelihood as a function of the stacked coordinates of its blocks; what is fixed is in m₀ and e₀."""

    sample: Sample
    blocks: tuple[ReplicateBlock, ...]
    m0: Vector
    e0: Vector

    def parts(self, coordinates: Vector) -> dict[str, Vector]:
        """Return the coordinates block by block."""
        ends = np.cumsum([block.size for block in self.blocks])
        pieces = np.split(coordinates, ends[:-1])
        return {block.name: piece for block, piece in zip(self.blocks, pieces, strict=True)}

    def m_and_e(self, coordinates: Vector) -> tuple[Vector, Vector]:
        """Return the two linear functions, (T, n) each."""
        m, e = self.m0, self.e0
        for block, values in zip(self.blocks, self.parts(coordinates).values(), strict=True):
            each = block.spread(values)
            m, e = m + block.a * each, e + block.b * each
        return m, e

    def value(self, coordinates: Vector) -> float:
        """Return Σ log p, −∞ outside m > 0."""
        m, e = self.m_and_e(coordinates)
        here, tau = self.sample.present, self.sample.scale
        # m is a precision and must be positive. −∞ makes the line search step back into the domain.
        if (m[here] <= 0).any():
            return -np.inf
        # The constant does not affect the maximum, but log-likelihoods of different models are compared.
        constant = -np.log(tau[here]) - 0.5 * np.log(2 * np.pi)
        return float((np.log(m[here]) - 0.5 * (e[here] / tau[here]) ** 2 + constant).sum())

    def slopes(self, coordinates: Vector) -> tuple[Vector, Vector]:
        """Return gradient and Hessian."""
        m, e = self.m_and_e(coordinates)
        here, precision = self.sample.present, self.sample.scale**-2.0
        gradient = np.concatenate([b.collect(here * (b.a / m - e * b.b * precision)) for b in self.blocks])
        hessian = np.zeros((gradient.size, gradient.size))
        for (left, at), (right, to) in self._pairs():
            # Minus two squares: negative semidefinite everywhere, so Newton's direction always climbs.
            array = here * (-left.a * right.a / m**2 - left.b * right.b * precision)
            place(hessian, left, at, right, to, array)
        return gradient, hessian

    def _pairs(self) -> Iterator[tuple[tuple[ReplicateBlock, int], tuple[ReplicateBlock, int]]]:
        starts = np.cumsum([0] + [block.size for block in self.blocks])
        placed = list(zip(self.blocks, (int(s) for s in starts), strict=False))
        for i, one in enumerate(placed):
            for other in placed[i:]:
                yield one, other

    def maximise(self, start: Vector) -> Vector:
        """Return the maximum by Newton's method, each step halved until it climbs."""
        x, height = start, self.value(start)
        for _ in range(_ITERATIONS):
            checkpoint()
            gradient, hessian = self.slopes(x)
            step = solve_curved(-hessian, gradient)
            # Twice the gain that the quadratic model predicts; it does not depend on the scale of the coordinates.
            climb = float(gradient @ step)
            # Below this the gain is lost in the rounding error of the height. A last full step adds digits to x, in
            # which the height is flat, unless it falls.
            if climb <= 1e-14 * (1 + abs(height)):
                return x + step if self.value(x + step) >= height else x
            share = 1.0
            # Armijo's condition. Written as `not >=`, because a comparison with −∞ or NaN must count as a failure.
            while not self.value(x + share * step) >= height + 0.1 * share * climb and share > 1e-10:
                share /= 2
            if share <= 1e-10:
                return x
            x = x + share * step
            height = self.value(x)
        raise PeerPressureError("the likelihood has no maximum within reach: the outputs say too little; observe more")


def place(matrix: Vector, left: ReplicateBlock, at: int, right: ReplicateBlock, to: int, array: Vector) -> None:
    """Put the sums of a (T, n) array where the two blocks meet in a symmetric matrix."""
    if left.agents is None or right.agents is None:
        sums = right.collect(array) if left.agents is None else left.collect(array)
        block = sums[None, :] if left.agents is None else sums[:, None]
    else:
        total = array.sum(axis=0)
        # Two blocks with one coordinate per agent meet only in the same agent: a diagonal of sums over time.
        block = np.where(left.agents[:, None] == right.agents[None, :], total[left.agents][:, None], 0.0)
    matrix[at : at + left.size, to : to + right.size] = block
    matrix[to : to + right.size, at : at + left.size] = block.T


def solve_curved(curvature: Vector, right: Vector) -> Vector:
    """Return curvature⁻¹ right; raise an error if the likelihood is flat in some direction."""
    # Scaled to a unit diagonal first, so that the smallest eigenvalue measures dependence between unknowns and not
    # their units.
    diagonal = curvature.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = curvature * scale[:, None] * scale
    # A zero on the diagonal is a parameter that does not enter at all.
    least = np.linalg.eigvalsh(scaled)[0] if (diagonal > 0).all() else 0.0
    if least <= FLAT:
        rule = "the outputs must settle every unknown"
        remedy = "observe more steps, or take fewer parameters as unknown"
        raise InvalidInputError(message(rule, got="a likelihood that is flat in some direction", remedy=remedy))
    side = right * scale if right.ndim == 1 else right * scale[:, None]
    solved = np.linalg.solve(scaled, side)
    return np.asarray(solved * scale if right.ndim == 1 else solved * scale[:, None])


@final
@dataclass(frozen=True, eq=False)
class Found:
    """Values and standard errors by name, the covariance of x₀ of the ``agents`` that have one, and log p."""

    values: dict[str, Vector]
    deviations: dict[str, Vector]
    agents: NDArray[np.int64]
    covariance: Vector
    log_likelihood: float


def fit_one(unknown: Unknowns, sample: Sample, times: NDArray[np.int64]) -> Found:
    """Return the maximum for one replicate: by Newton's method within, by a search over ρ's own parameter without."""
    if unknown.pressure is None:
        problem, course = _problem(unknown, sample, times, None)
        return _found(unknown, problem, course, _maximum(problem), None, at_edge=False)
    from scipy import optimize

    # In ρ's parameter the likelihood is not concave and may have several maxima: a grid first, then a local search
    # between the neighbours of the best candidate.
    grid = unknown.candidates()

    def height(value: float) -> float:
        problem, _ = _problem(unknown, sample, times, value)
        return problem.value(_maximum(problem))

    best = int(np.argmax([height(value) for value in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    # Near a maximum the height changes with the square, so 1e-10 is more than the heights can resolve; errors of the
    # parameter stay far below its standard error.
    options = {"xatol": 1e-10 * (1 + abs(grid[best]))}
    value = float(optimize.minimize_scalar(lambda v: -height(v), bounds=ends, method="bounded", options=options).x)
    problem, course = _problem(unknown, sample, times, value)
    return _found(unknown, problem, course, _maximum(problem), value, at_edge=best in (0, grid.size - 1))


def _problem(
    unknown: Unknowns, sample: Sample, times: NDArray[np.int64], value: float | None
) -> tuple[Concave, Course]:
    """Return the concave problem for one course of peer pressure."""
    course = unknown.course(times, value)
    y, q, d = sample.public, sample.coupling, sample.degrees
    nothing = np.zeros_like(y)
    # κ = h/s: with s known, κ is a multiple of h and merges into its coefficient; otherwise it is a block of its own.
    ratio = np.zeros(d.shape[1]) if unknown.stubbornness else 1 / unknown.model.s
    a, b = 1 + course.rho * d * ratio, y - sample.share * np.nan_to_num(sample.known) + course.rho * ratio * q
    da, db = course.first * d * ratio, course.first * ratio * q
    # Proportions of std between agents are in the scale τ, so only the mean std is a parameter.
    fixed = 0.0 if unknown.std else 1 / float(unknown.model.noise.deviations(d.shape[1]).mean())
    used = np.flatnonzero(sample.present.any(axis=0))
    blocks = []
    # This block comes first: `_natural` writes derivatives by h into column 0.
    if unknown.std:
        blocks.append(ReplicateBlock("h", None, a, b, da, db))
    if unknown.stubbornness:
        blocks.append(ReplicateBlock("kappa", used, course.rho * d, course.rho * q, course.first * d, course.first * q))
    # A known x₀ is in b already; estimating it as well would make the Hessian singular.
    free = used[np.isnan(sample.known[used])]
    if free.size:
        blocks.append(ReplicateBlock("x", free, nothing, -sample.share, nothing, nothing))
    return Concave(sample, tuple(blocks), fixed * a, fixed * b), course


def _maximum(problem: Concave) -> Vector:
    """Return the maximum, started where peer pressure plays no part and so every coordinate is allowed."""
    sample = problem.sample
    here, share = sample.present, sample.share
    weight = (here * share**2).sum(axis=0)
    centre = (sample.public * here * share).sum(axis=0) / np.where(weight > 0, weight, 1.0)
    # The residual std of a fit without peer pressure; with κ = 0 every m is at least h > 0, inside the domain.
    spread = float(np.sqrt((here * (sample.public - share * centre) ** 2 / sample.scale**2).sum() / here.sum()))
    unknown_h = any(block.name == "h" for block in problem.blocks)
    # Constant outputs have spread 0; the bound avoids a division by 0 and leaves the error to the flatness check.
    h = 1 / max(spread, 1e-300) if unknown_h else float(problem.m0[here].min())
    level = {"h": np.full(centre.size, h), "kappa": 0 * centre, "x": h * centre}
    start = [level[b.name][:1] if b.agents is None else level[b.name][b.agents] for b in problem.blocks]
    return problem.maximise(np.concatenate(start))


def _found(
    unknown: Unknowns, problem: Concave, course: Course, x: Vector, value: float | None, *, at_edge: bool
) -> Found:
    """Return parameters with standard errors √diag(G (−H)⁻¹ Gᵀ), G the derivative of parameters by coordinates."""
    parts = problem.parts(x)
    sample, n = problem.sample, problem.sample.known.size
    h = float(parts["h"][0]) if unknown.std else float(1 / unknown.model.noise.deviations(n).mean())
    # The observed information; by the concave parametrisation it is exact, without finite differences.
    curvature = -problem.slopes(x)[1]
    if value is not None:
        curvature = _with_pressure(problem, course, x, h, curvature, unknown)
    covariance = solve_curved(curvature, np.eye(len(curvature)))
    names, values, G = _natural(problem, parts, h, len(curvature))
    spread = G @ covariance @ G.T
    deviations = np.sqrt(np.maximum(spread.diagonal(), 0.0))
    out, errors = _by_name(names, values), _by_name(names, deviations)
    if unknown.stubbornness:
        # κ ≤ 0 at the maximum means that the outputs contain no sign of the agent's neighbours: the likelihood
        # increases up to s = ∞.
        used = np.flatnonzero(sample.present.any(axis=0))
        fine = parts["kappa"] > 0
        for of in (out, errors):
            everyone = np.full(n, np.inf)
            everyone[used[fine]] = of["stubbornness"][fine]
            of["stubbornness"] = everyone
    if value is not None and unknown.pressure:
        out[unknown.pressure] = np.array([value])
        # At the edge of the grid the maximum may lie outside, so the curvature there gives no standard error.
        errors[unknown.pressure] = np.array([np.inf if at_edge else np.sqrt(covariance[-1, -1])])
    hidden = np.flatnonzero(names == "hidden")
    agents = next((b.agents for b in problem.blocks if b.name == "x" and b.agents is not None), np.arange(0))
    return Found(out, errors, agents, spread[np.ix_(hidden, hidden)], problem.value(x))


def _natural(
    problem: Concave, parts: dict[str, Vector], h: float, size: int
) -> tuple[NDArray[np.str_], Vector, Vector]:
    """Return names and values of σ = 1/h, s = h/κ and x₀ = ξ̃/h, with their derivatives by all coordinates."""
    names: list[str] = []
    values: list[Vector] = []
    rows: list[Vector] = []
    at = 0
    by_h = next((k for k, b in enumerate(problem.blocks) if b.name == "h"), None)
    for block in problem.blocks:
        z = parts[block.name]
        label, value, own, through_h = {
            "h": ("std", 1 / z, -1 / z**2, 0 * z),
            "kappa": ("stubbornness", *_inverse(h, z)),
            "x": ("hidden", z / h, np.full(z.size, 1 / h), -z / h**2),
        }[block.name]
        row = np.zeros((z.size, size))
        if by_h is not None:
            row[:, 0] = through_h
        # After column 0, since for the block of h the two coincide and its own derivative is the right one.
        row[np.arange(z.size), at + np.arange(z.size)] = own
        names += [label] * z.size
        values.append(value)
        rows.append(row)
        at += z.size
    return np.array(names), np.concatenate(values), np.concatenate(rows)


def _inverse(h: float, kappa: Vector) -> tuple[Vector, Vector, Vector]:
    """Return s = h/κ and its derivatives by κ and by h."""
    # Values for κ ≤ 0 are replaced by ∞ afterwards; 1 only avoids a division by 0.
    safe = np.where(kappa > 0, kappa, 1.0)
    return h / safe, -h / safe**2, 1 / safe


def _by_name(names: NDArray[np.str_], values: Vector) -> dict[str, Vector]:
    return {str(name): values[names == name] for name in np.unique(names)}


def _with_pressure(
    problem: Concave, course: Course, x: Vector, h: float, curvature: Vector, unknown: Unknowns
) -> Vector:
    """Return −H with one more row and column, for the parameter of peer pressure, in which m and e are not linear."""
    sample = problem.sample
    n = sample.known.size
    kappa = h / unknown.model.s
    if unknown.stubbornness:
        kappa = np.zeros(n)
        block = next(b for b in problem.blocks if b.name == "kappa")
        kappa[block.agents] = problem.parts(x)["kappa"]
    m, e = problem.m_and_e(x)
    here, precision = sample.present, sample.scale**-2.0
    m_p, e_p = course.first * sample.degrees * kappa, course.first * kappa * sample.coupling
    # m and e are not linear in the exponent, so their second derivatives enter, multiplied by ∂log p/∂m and ∂log p/∂e.
    bend = course.second * kappa * (sample.degrees / m - e * sample.coupling * precision)
    out = np.zeros((len(curvature) + 1, len(curvature) + 1))
    out[:-1, :-1] = curvature
    out[-1, -1] = (here * (m_p**2 / m**2 + e_p**2 * precision - bend)).sum()
    own = ReplicateBlock("pressure", None, m_p, e_p, m_p, e_p)
    at = 0
    for block in problem.blocks:
        # The mixed derivative has two extra terms, as the coefficients a and b themselves depend on the parameter.
        array = here * (block.a * m_p / m**2 + block.b * e_p * precision - block.da / m + e * block.db * precision)
        place(out, block, at, own, len(curvature), array)
        at += block.size
    return out
