"""The joint maximum of the likelihood in x₀ and in unknown parameters, one replicate at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Vector
from peerpressure.recovery.concave import Block, Concave, Sample, place, solve_curved
from peerpressure.recovery.unknowns import Course, Unknowns


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

    grid = unknown.candidates()

    def height(value: float) -> float:
        problem, _ = _problem(unknown, sample, times, value)
        return problem.value(_maximum(problem))

    best = int(np.argmax([height(value) for value in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    options = {"xatol": 1e-10 * (1 + abs(grid[best]))}
    value = float(optimize.minimize_scalar(lambda v: -height(v), bounds=ends, method="bounded", options=options).x)
    problem, course = _problem(unknown, sample, times, value)
    return _found(unknown, problem, course, _maximum(problem), value, at_edge=best in (0, grid.size - 1))


def _problem(
    unknown: Unknowns, sample: Sample, times: NDArray[np.int64], value: float | None
) -> tuple[Concave, Course]:
    """Return the concave problem for one course of peer pressure."""
    course = unknown.course(times, value)
    y, q, d = sample.public, sample.pull, sample.degrees
    nothing = np.zeros_like(y)
    ratio = np.zeros(d.shape[1]) if unknown.stubbornness else 1 / unknown.model.s
    a, b = 1 + course.rho * d * ratio, y - sample.share * np.nan_to_num(sample.known) + course.rho * ratio * q
    da, db = course.first * d * ratio, course.first * ratio * q
    fixed = 0.0 if unknown.std else 1 / float(unknown.model.noise.deviations(d.shape[1]).mean())
    used = np.flatnonzero(sample.present.any(axis=0))
    blocks = []
    if unknown.std:
        blocks.append(Block("h", None, a, b, da, db))
    if unknown.stubbornness:
        blocks.append(Block("kappa", used, course.rho * d, course.rho * q, course.first * d, course.first * q))
    free = used[np.isnan(sample.known[used])]
    if free.size:
        blocks.append(Block("x", free, nothing, -sample.share, nothing, nothing))
    return Concave(sample, tuple(blocks), fixed * a, fixed * b), course


def _maximum(problem: Concave) -> Vector:
    """Return the maximum, started where peer pressure plays no part and so every coordinate is allowed."""
    sample = problem.sample
    here, share = sample.present, sample.share
    weight = (here * share**2).sum(axis=0)
    centre = (sample.public * here * share).sum(axis=0) / np.where(weight > 0, weight, 1.0)
    spread = float(np.sqrt((here * (sample.public - share * centre) ** 2 / sample.scale**2).sum() / here.sum()))
    unknown_h = any(block.name == "h" for block in problem.blocks)
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
    curvature = -problem.slopes(x)[1]
    if value is not None:
        curvature = _with_pressure(problem, course, x, h, curvature, unknown)
    covariance = solve_curved(curvature, np.eye(len(curvature)))
    names, values, G = _natural(problem, parts, h, len(curvature))
    spread = G @ covariance @ G.T
    deviations = np.sqrt(np.maximum(spread.diagonal(), 0.0))
    out, errors = _by_name(names, values), _by_name(names, deviations)
    if unknown.stubbornness:
        # Without a positive κ the agent minds its neighbours not at all: its stubbornness is beyond all bounds.
        used = np.flatnonzero(sample.present.any(axis=0))
        fine = parts["kappa"] > 0
        for of in (out, errors):
            everyone = np.full(n, np.inf)
            everyone[used[fine]] = of["stubbornness"][fine]
            of["stubbornness"] = everyone
    if value is not None and unknown.pressure:
        out[unknown.pressure] = np.array([value])
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
        row[np.arange(z.size), at + np.arange(z.size)] = own
        names += [label] * z.size
        values.append(value)
        rows.append(row)
        at += z.size
    return np.array(names), np.concatenate(values), np.concatenate(rows)


def _inverse(h: float, kappa: Vector) -> tuple[Vector, Vector, Vector]:
    """Return s = h/κ and its derivatives by κ and by h."""
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
    m_p, e_p = course.first * sample.degrees * kappa, course.first * kappa * sample.pull
    bend = course.second * kappa * (sample.degrees / m - e * sample.pull * precision)
    out = np.zeros((len(curvature) + 1, len(curvature) + 1))
    out[:-1, :-1] = curvature
    out[-1, -1] = (here * (m_p**2 / m**2 + e_p**2 * precision - bend)).sum()
    own = Block("pressure", None, m_p, e_p, m_p, e_p)
    at = 0
    for block in problem.blocks:
        array = here * (block.a * m_p / m**2 + block.b * e_p * precision - block.da / m + e * block.db * precision)
        place(out, block, at, own, len(curvature), array)
        at += block.size
    return out
