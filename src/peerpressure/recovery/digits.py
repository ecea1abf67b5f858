"""Answers with fewer digits than a model computes: decimals of a table, and answers on a scale.

An observer who takes such answers as exact reads rounding errors as opinions. If noise has a density, exact answers
never lie on a grid, so a grid is evidence of rounding that was not declared. Without noise, opinions may lie on one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.model.statespace import System, transitions
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian, Noise

if TYPE_CHECKING:
    from peerpressure.recovery.observation import Answers


# Most decimals that are looked for, and last digits by which a decimal number may be off in binary.
_DECIMALS, _LAST_DIGITS = 12, 4
# A grid must be this many times coarser than the precision of the answers: every number lies on a fine enough one.
_COARSER = 1000
# Answers below which nothing is concluded, and those from which a grid is guessed before all are read.
_FEW, _FIRST = 6, 1000
# Rounding to less than this part of the noise of an answer, given the earlier ones, does no harm.
HARMLESS = 0.1
# Rounding whose variance, w²/12, is more than this part of the variance of the noise spoils estimates of parameters:
# from about here on, intervals that take answers as exact miss the truth noticeably more often than they should.
_SPOILT = 0.01


def spacing_of(data: Answers, agents: NDArray[np.bool_] | None = None, *, repeats: bool = True) -> float | None:
    """Return the spacing of a grid on which all answers lie, None if they have the digits of their type.

    ``agents`` (n,) are those that are looked at, all by default. A grid is one of decimals or, if ``repeats`` count,
    any on which at least half of the answers repeat others.
    """
    columns = np.arange(data.seen.agents.size) if agents is None else np.flatnonzero(agents[data.seen.agents])
    own = data.values.shape[0] - data.copies
    return _spacing(lambda row: data.values[:own, row][:, columns], data.values, repeats=repeats)


def spacing_of_rows(rows: Array) -> float | None:
    """Return the spacing of a grid on which a table of answers, (T, n), lies, as `spacing_of` does."""
    return _spacing(lambda row: rows[row], rows[None], repeats=True)


def _spacing(values_at: Callable[[int], NDArray[Any]], values: NDArray[Any], *, repeats: bool) -> float | None:
    """Return the spacing of the values at all steps, which are read one step at a time, since they may be many."""

    def finite(row: int) -> Array:
        there = np.asarray(values_at(row), dtype=np.float64)
        return there[np.isfinite(there)]

    rows, first = range(values.shape[1]), np.empty(0)
    for row in rows:
        first = np.append(first, finite(row))
        if first.size >= _FIRST:
            break
    if first.size < _FEW:
        return None
    least = _COARSER * float(np.finfo(values.dtype).eps) * float(np.abs(first).max())
    spacing = next((10.0**-k for k in range(_DECIMALS + 1) if 10.0**-k > least and _is_decimal(first, k, least)), None)
    wider = _repeated(first, least) if repeats else None
    if spacing is None or (wider is not None and wider > spacing):
        return wider
    decimals = round(-np.log10(spacing))
    return spacing if all(_is_decimal(finite(row), decimals, least) for row in rows) else None


def _is_decimal(values: Array, decimals: int, least: float) -> bool:
    scaled = values * 10.0**decimals
    slack = _LAST_DIGITS / _COARSER * max(least, float(np.abs(values).max(initial=0.0)) * 1e-16) * 10.0**decimals
    return bool((np.abs(scaled - np.rint(scaled)) <= slack).all())


def _repeated(values: Array, least: float) -> float | None:
    """Return the least distance between values of which at least half repeat others, None if fewer do."""
    different = np.unique(values)
    if different.size < 2 or 2 * different.size > values.size:
        return None
    spacing = float(np.diff(different).min())
    # Opinions that have met to the last digit repeat themselves too, but early ones differ by anything.
    return spacing if spacing > least else None


def undeclared_rounding(system: System, data: Answers) -> float | None:
    """Return the spacing of answers that noise with a density cannot have left on a grid, where it does harm."""
    model = system.model
    noise, std = model.noise, model.noise.deviations(model.n)
    if data.seen.rounding or noise.is_zero or (spacing := spacing_of(data, std > 0)) is None or not has_density(noise):
        return None
    sizes = _noise_of_outputs(system, data)[:, std[data.seen.agents] > 0]
    if not sizes.all():
        # An agent that keeps its opinion repeats it exactly; repetition is then no evidence.
        spacing = spacing_of(data, std > 0, repeats=False)
    # Noise that is smaller than the digits leaves opinions where they are, perhaps on a grid.
    visible = _COARSER * float(np.finfo(data.values.dtype).eps) * float(np.nanmax(np.abs(data.values)))
    if spacing is None or sizes.max(initial=0.0) < visible:
        return None
    fresh = 0.0 if noise.is_frozen else float(np.sqrt(1 - noise.autocorrelation**2) * sizes[sizes > 0].min())
    return spacing if spacing > HARMLESS * fresh else None


def has_density(noise: Noise) -> bool:
    """Whether the law has a density; the usual one needs no statistics of SciPy, which take long to load."""
    return isinstance(noise, Gaussian) or hasattr(noise.unit().dist, "pdf")


def _noise_of_outputs(system: System, data: Answers) -> Array:
    """Return the standard deviation of the noise in each observed answer, (T, k), 0 for opinions that are kept."""
    seen, times = data.seen.agents, data.seen.times
    steps = {t: step.noise_std[seen] for t, step in enumerate(transitions(system, data.seen.last), 1)}
    return np.array([steps[int(t)] for t in times])


def spoils(spacing: float, noise: Array) -> bool:
    """Return whether rounding to a spacing spoils estimates from answers with noise of these standard deviations."""
    return bool(spacing**2 / 12 * np.mean(1 / np.square(noise)) > _SPOILT)


AS_NUMBERS = "declare {rounding} with the method kalman or gls"
AS_ANSWERS = "declare {rounding}, or the first and the last point of a scale, or measurement noise"


def grid_note(
    spacing: float,
    effect: str = "fewer digits than the model computes, and standard errors take them as exact",
    remedy: str = AS_NUMBERS,
) -> str:
    """Return the remark that answers lie on a grid which was not declared, what that does, and what to do."""
    rounding = f"a rounding of {spacing:.10g}"
    return f"all answers lie on a grid of spacing {spacing:.10g}, {effect}: {remedy.format(rounding=rounding)}"


def contradiction_remedy(data: Answers, otherwise: str) -> str:
    """Return what to do about answers that contradict a model: declare their rounding, if they are on a grid."""
    spacing = spacing_of(data)
    if spacing is None:
        return otherwise
    return grid_note(spacing, "fewer digits than the model computes", f"{AS_NUMBERS}, or {otherwise}")
