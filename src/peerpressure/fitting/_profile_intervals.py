"""The maximum of a modified profile likelihood from several starts, and the intervals of its likelihood ratio.

The interval of a parameter is the set of its values at which the profile, maximised over all other unknowns, is less
than ½q² below the maximum. For a quantity that agents have for themselves, such as x₀, that set is the union over the
shared coordinates ψ of its sets at ψ, with what the height of ψ leaves of ½q². If a profile never falls by that
much, the end of the interval is the end of the legal range.

The modification compares with the estimate and holds near it. As adaptation η tends to 1, answers lose all memory of
x₀, and the modification grows by a term for each agent that weak data do not outweigh. The likelihood with x₀
integrated out does not, and is used for an unknown η. If every agent also has a stubbornness or noise of its own,
there is none: a maximum at an end of the range of η, or far from that of the likelihood without the modification, is
then no estimate, and its interval is the legal range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from peerpressure.fitting._joint_fit import ProfileLikelihood, ProfilePoint
from peerpressure.fitting._maximum import FINEST, STEP, Heights, Maximum, allowance, curvature, highest, rough_scales
from peerpressure.fitting._parameters import COORDINATES, UnknownParameter
from peerpressure.model.step import Array
from peerpressure.recovery import limits

# Best starts from which a search of several coordinates continues.
_STARTS = 3
# Points between the ends of a profile at which agents' own intervals are united.
_PATH = 25
# Points of 1/s between the ends of its interval at which intervals of x₀ are united.
_GRID = 15
# An interval that is longer than this many standard errors has no end within reach.
_MAX_ERRORS = 1e4
# Coordinates of which a maximum may be one of the modification alone.
_LOCAL = ("adaptation",)
# Maxima with and without the modification disagree if they are farther apart than this in a coordinate, and the plain
# likelihood at the modified one is lower by more than this: by more than a standard error.
_APART, _LOWER = 0.25, 0.5
# A maximum is at an end of the search range if the profile there is lower by no more than this: it is flat up to it.
_FLAT = 0.01


@final
@dataclass(frozen=True, eq=False)
class ReplicateFit:
    """Intervals by name, those of x₀ and their covariance (n, n), or variances (n,) of a large network, and log p."""

    parameters: dict[str, UnknownParameter]
    hidden: UnknownParameter
    covariance: Array
    log_likelihood: float


def fit_replicate(problem: ProfileLikelihood, level: float) -> ReplicateFit:
    """Return the estimate of one replicate, with intervals of the given level."""
    plain = _searched(problem)
    log_likelihood = problem.height(plain) + _constant(problem)
    if _loses_memory(problem):
        problem = replace(problem, integrated=True)
        return _Profile(problem, _searched(problem), level, frozenset()).result(log_likelihood)
    # The modification compares with the estimate, so it is repeated once with the estimate that it leads to.
    modified = problem.modified(plain)
    best = _searched(modified)
    modified = modified.modified(best)
    best = _at(modified, best).scaled().climbed(best, FINEST).point
    doubtful = [k for k in _local(problem) if _is_doubtful(problem, plain, modified, best, k)]
    return _Profile(modified, best, level, frozenset(doubtful)).result(log_likelihood)


def _loses_memory(problem: ProfileLikelihood) -> bool:
    """Return whether some value of the shared parameters makes answers forget x₀, which then is integrated out.

    Not with a stubbornness or noise of each agent: these have no law here, and keep the modified profile.
    """
    names = set(problem.unknown.names)
    return bool(names & set(_LOCAL)) and not names & {"stubbornness", "agent_std"}


def _local(problem: ProfileLikelihood) -> list[int]:
    return [k for k, name in enumerate(problem.unknown.coordinates) if name in _LOCAL]


def _is_doubtful(problem: ProfileLikelihood, plain: Array, modified: ProfileLikelihood, best: Array, k: int) -> bool:
    """Return whether the modified maximum is at an end of the range, or contradicts the plain one, in a coordinate."""
    scale = COORDINATES[problem.unknown.coordinates[k]]
    ends = (np.where(np.arange(best.size) == k, end, best) for end in (scale.low, scale.high))
    if any(_height_at(modified, end, k) > modified.height(best) - _FLAT for end in ends):
        return True
    if abs(best[k] - plain[k]) <= _APART:
        return False
    lost = problem.height(plain) - _height_at(problem, best, k)
    return bool(lost > _LOWER or _height_at(modified, plain, k) > modified.height(best))


def _height_at(problem: ProfileLikelihood, z: Array, k: int) -> float:
    """Return the profile in one coordinate, at its value in z."""
    there = _at(problem, z)
    return replace(there, free=tuple(j for j in there.free if j != k)).scaled().climbed(z).height


def _at(problem: ProfileLikelihood, z: Array) -> Maximum:
    """Return a point from which a search begins; no search is for a σ that a formula maximises."""
    names = problem.unknown.coordinates
    low, high = (np.array([getattr(COORDINATES[name], end) for name in names]) for end in ("low", "high"))
    free = tuple(k for k, name in enumerate(names) if name != "std" or not problem.unknown.closed_form_std)
    return Maximum(Heights(problem.height), low, high, free, np.eye(z.size), z, problem.height(z))


def _searched(problem: ProfileLikelihood) -> Array:
    """Return the highest point, searched from a grid of starts."""
    starts = problem.unknown.starts()
    if "std" in problem.unknown.coordinates and not problem.unknown.closed_form_std:
        # Residuals of a fit without peer pressure bound σ from above by order of magnitude; w = 0 is always legal.
        rough = _rough_log_std(problem)
        starts = np.concatenate([np.where(np.isnan(starts), rough + shift, starts) for shift in (-4, -3, -2, -1, 0.0)])
    first = _at(problem, starts[0])
    return highest(first, starts, 1 if len(first.free) == 1 else _STARTS).point if first.free else first.point


def _rough_log_std(problem: ProfileLikelihood) -> float:
    design = problem.design
    y = problem.sample.path[design.rows] / design.scale
    count = np.maximum(design.used.sum(axis=0), 1)
    rest = (y - (y * design.used).sum(axis=0) / count) * design.used
    return float(np.log(np.sqrt((rest**2).sum() / design.used.sum()) + 1e-300))


def _constant(problem: ProfileLikelihood) -> float:
    used = problem.design.used
    return float(-np.log(problem.design.scale[used]).sum() - 0.5 * used.sum() * np.log(2 * np.pi))


class _Profile:
    """Intervals around one maximum."""

    def __init__(self, problem: ProfileLikelihood, best: Array, level: float, doubtful: frozenset[int]) -> None:
        self.problem, self.names, self.level = problem, problem.unknown.coordinates, level
        self.doubtful = doubtful
        self.state = problem.state(best)
        # From here on every coordinate has its value; a σ that a formula gave is one like the others.
        self.best = np.where(np.isnan(best), self.state.log_std[0], best)
        left = self.state.degrees_of_freedom
        common = "std" in problem.unknown
        self.left = max(left.sum() - len(self.names), 1.0) if common else np.inf
        self.own_left = left if "agent_std" in problem.unknown else np.full(left.size, self.left)
        self.drop = float(allowance(level, self.left))
        self.scales = rough_scales(problem.height, self.best, problem.height(self.best), range(len(self.names)))
        self.top = replace(_at(problem, best), root=np.diag(self.scales))
        self.covariance, self.curved = self._covariance()

    def result(self, log_likelihood: float) -> ReplicateFit:
        """Return all intervals."""
        shared = {}
        ends = [self._ends(k) for k in range(len(self.names))]
        for name in dict.fromkeys(self.names):
            at = [k for k, other in enumerate(self.names) if other == name]
            shared[name] = self._shared(name, at, [ends[k] for k in at])
        own, covariance = self._own(ends)
        hidden = own.pop("hidden")
        return ReplicateFit(shared | own, hidden, covariance, log_likelihood)

    # Shared parameters.

    def _covariance(self) -> tuple[Array, bool]:
        """Return the inverse of minus the second derivative in all shared coordinates, and whether it is positive."""
        size = len(self.names)
        if not size:
            return np.zeros((0, 0)), True
        bends = curvature(self.problem.height, self.best, 0.5 * self.scales)
        least = np.linalg.eigvalsh(bends)[0] if np.isfinite(bends).all() else -1.0
        if least <= 0:
            return np.full((size, size), np.inf), False
        return np.asarray(np.linalg.inv(bends), dtype=np.float64), True

    def _ends(self, k: int) -> tuple[float, float]:
        """Return the ends of a coordinate's interval; ∓∞ where the profile stays above within the search range."""
        if k in self.doubtful:
            return -np.inf, np.inf
        pure = self.names == ("std",)
        drop = float(allowance(self.level, self.left, scale=True)) if pure else self.drop
        low, high = (self._end(k, drop, side) for side in (-1, 1))
        return low, high

    def _end(self, k: int, drop: float, side: int) -> float:
        """Return where the profile in a coordinate has fallen by the drop on one side."""
        top = self.top
        end = top.end(k, side, drop, self.covariance, float(self.best[k]))
        there = next((z for z in top.visited if z[k] == end), top.point)
        others = [j for j in top.free if j != k]
        # If another coordinate would go on beyond its range, so would this one.
        stuck = (np.minimum(there - top.low, top.high - there) < 1e-9)[others].any()
        return side * np.inf if stuck else end

    def _shared(self, name: str, at: list[int], ends: list[tuple[float, float]]) -> UnknownParameter:
        """Return a shared parameter from its coordinates and their ends."""
        sure = np.array([k not in self.doubtful for k in at]) & self.curved
        factor = self.problem.unknown.std_of_agents if name == "std" else 1.0
        variance = self.covariance[at, at]
        return COORDINATES[name].parameter(self.best[at], variance, np.array(ends), sure=sure, factor=factor)

    # What agents have for themselves.

    def _own(self, ends: list[tuple[float, float]]) -> tuple[dict[str, UnknownParameter], Array]:
        """Return the intervals of what agents have for themselves, by name, and the covariance of x̂₀."""
        slopes = self._derivatives()
        united = self._united(ends, slopes)
        seen = self.problem.design.used.any(axis=0)
        out = {}
        for name, ends_of in united.items():
            (low, high), (value, own) = ends_of, self._estimates(name)
            with np.errstate(invalid="ignore"):
                indirect = np.einsum("ia,ab,ib->i", slopes[name], self.covariance, slopes[name])
                std = np.sqrt(own**2 + np.nan_to_num(indirect, nan=np.inf))
            # A curvature at a point that is no estimate says nothing of what follows from it.
            std = np.where(np.isfinite(value) & seen & (not self.doubtful), std, np.inf)
            if name == "hidden":
                low = np.where(value - low > _MAX_ERRORS * own, -np.inf, low)
                high = np.where(high - value > _MAX_ERRORS * own, np.inf, high)
                known = seen & ~self.problem.design.free
                low, high, std = np.where(known, value, low), np.where(known, value, high), np.where(known, 0.0, std)
            # Nothing is known of an agent without answers that count.
            least = -np.inf if name == "hidden" else 0.0
            low, high = np.where(seen, low, least), np.where(seen, high, np.inf)
            fine = seen & np.isfinite(low) & np.isfinite(high) & np.isfinite(std)
            factor = self.problem.unknown.std_of_agents if name == "agent_std" else 1.0
            shown = np.where(seen, value, np.nan)
            out[name] = UnknownParameter(shown * factor, std * factor, low * factor, high * factor, fine)
        return out, self._opinion_covariance(slopes["hidden"])

    def _estimates(self, name: str) -> tuple[Array, Array]:
        """Return the agents' own estimates, and their standard errors at given shared parameters."""
        state = self.state
        if name == "agent_std":
            std = np.exp(state.log_std)
            return std, std / np.sqrt(2 * np.maximum(state.degrees_of_freedom, 1))
        if name == "stubbornness":
            curvature = np.maximum(self.problem.curvature(state), 1e-300)
            return _inverse(state.w), _inverse(state.w) ** 2 / np.sqrt(curvature)
        return state.opinions, np.sqrt(_opinion_variance(self.problem, state))

    def _opinion_covariance(self, slopes: Array) -> Array:
        own = _opinion_variance(self.problem, self.state)
        inner = self.covariance if self.curved else np.zeros_like(self.covariance)
        if own.size > limits.DENSE_LIMIT:
            return np.asarray(own + np.einsum("ia,ab,ib->i", slopes, inner, slopes))
        return np.asarray(np.diag(own) + slopes @ inner @ slopes.T)

    def _derivatives(self) -> dict[str, Array]:
        """Return the derivatives of agents' own estimates by the shared coordinates, (n, coordinates) each."""
        columns: dict[str, list[Array]] = {"hidden": [], "agent_std": [], "stubbornness": []}
        for k, step in enumerate(STEP * self.scales):
            move = step * (np.arange(self.best.size) == k)
            up, down = (self.problem.state(self.best + sign * move) for sign in (1, -1))
            columns["hidden"].append((up.opinions - down.opinions) / (2 * step))
            columns["agent_std"].append((np.exp(up.log_std) - np.exp(down.log_std)) / (2 * step))
            with np.errstate(invalid="ignore"):
                columns["stubbornness"].append((_inverse(up.w) - _inverse(down.w)) / (2 * step))
        n = self.state.opinions.size
        return {name: np.nan_to_num(np.array(of).reshape(-1, n).T) for name, of in columns.items()}

    def _united(self, ends: list[tuple[float, float]], slopes: dict[str, Array]) -> dict[str, tuple[Array, Array]]:
        """Return the unions of agents' own intervals over the shared coordinates."""
        if len(self.top.free) == 1:
            return self._along(self.top.free[0], *ends[self.top.free[0]])
        own = self._own_ends(self.state, 0.0)
        if not self.top.free:
            return own
        limits = [COORDINATES[name].limits for name in self.names]
        unbounded = [bool(np.isinf(e).any() and np.isinf(of).any()) for e, of in zip(ends, limits, strict=True)]
        unbounded = [far or k in self.doubtful for k, far in enumerate(unbounded)]
        out = {}
        # In several coordinates the union is that of their quadratic approximation, exact in the agents' own part.
        for name, (low, high) in own.items():
            centre, direct = self._estimates(name)
            with np.errstate(invalid="ignore"):
                indirect = 2 * self.drop * np.einsum("ia,ab,ib->i", slopes[name], self.covariance, slopes[name])
                # What follows a parameter without an end has none either.
                follows = (np.abs(slopes[name] * self.scales) > 1e-3 * direct[:, None])[:, unbounded].any(axis=1)
                indirect = np.where(follows | np.isnan(indirect), np.inf, indirect)
                below, above = (np.sqrt((end - centre) ** 2 + indirect) for end in (low, high))
                ends_of = centre - below, centre + above
            least = -np.inf if name == "hidden" else 0.0
            out[name] = np.maximum(np.nan_to_num(ends_of[0], nan=least), least), np.nan_to_num(ends_of[1], nan=np.inf)
        return out

    def _along(self, k: int, low: float, high: float) -> dict[str, tuple[Array, Array]]:
        """Return the unions along the profile of the only coordinate that no formula maximises."""
        scale, top, middle = COORDINATES[self.names[k]], self.problem.height(self.best), self.best[k]
        # Closer near the estimate, since an open profile goes far.
        share = np.linspace(0, 1, _PATH // 2 + 1)[1:] ** 2
        ends = max(low, scale.low), min(high, scale.high)
        united: dict[str, tuple[Array, Array]] = self._own_ends(self.state, 0.0)
        for value in np.concatenate([middle + share * (end - middle) for end in ends]):
            z = self.top.point.copy()
            z[k] = value
            state = self.problem.state(z)
            for name, (a, b) in self._own_ends(state, max(top - state.height, 0.0)).items():
                united[name] = np.fmin(united[name][0], a), np.fmax(united[name][1], b)
        return united

    def _own_ends(self, state: ProfilePoint, lost: float) -> dict[str, tuple[Array, Array]]:
        """Return the intervals of agents' own quantities at a state whose height has lost some of the allowance."""
        left = np.maximum(allowance(self.level, self.own_left) - lost, 0.0)
        information = np.where(state.of.information > 0, state.of.information, np.nan)
        if "stubbornness" in self.problem.unknown:
            return _stubborn_ends(self.problem, state, left, information)
        if "agent_std" in self.problem.unknown:
            nu, squares = state.degrees_of_freedom, state.squares
        else:
            nu, squares = np.asarray(state.degrees_of_freedom.sum()), np.asarray(state.squares.sum())
        if {"std", "agent_std"} & set(self.problem.unknown.names):
            half = np.sqrt(squares * np.expm1(2 * left / (nu + 1)) / information)
        else:
            half = np.sqrt(2 * left / information) * np.exp(state.log_std)
        # Nothing is known of an opinion about which there is no information.
        half = np.where(np.isnan(information), np.inf, half)
        out = {"hidden": (state.opinions - half, state.opinions + half)}
        if "agent_std" in self.problem.unknown:
            drop = np.maximum(allowance(self.level, self.own_left, scale=True) - lost, 0.0)
            out["agent_std"] = _scale_ends(np.exp(state.log_std), np.maximum(nu, 1e-300), drop)
        return out


def _inverse(w: Array) -> Array:
    """Return s = 1/w; w = 0 means that the answers show no sign of an agent's neighbours."""
    return np.asarray(np.divide(1.0, w, out=np.full(w.shape, np.inf), where=w > 0))


def _opinion_variance(problem: ProfileLikelihood, state: ProfilePoint) -> Array:
    """Return the variance of each x̂₀ at given shared parameters."""
    information = state.of.information
    own = np.divide(np.exp(2 * state.log_std), information, out=np.zeros(information.size), where=information > 0)
    if "stubbornness" in problem.unknown:
        own = own + state.of.pull**2 / np.maximum(problem.curvature(state), 1e-300)
    return np.asarray(own)


def _bisected(drop: Callable[[Array], Array], inner: Array, outer: Array, wanted: Array) -> Array:
    """Return where a function that increases from inner to outer reaches the wanted values, element by element."""
    for _ in range(50):
        middle = (inner + outer) / 2
        below = drop(middle) < wanted
        inner, outer = np.where(below, middle, inner), np.where(below, outer, middle)
    return (inner + outer) / 2


def _scale_ends(centre: Array, nu: Array, drop: Array) -> tuple[Array, Array]:
    """Return where ν(log r + ½(r⁻² − 1)) reaches the drop, as centre · r."""
    ratio = drop / nu

    def fallen(x: Array) -> Array:
        return np.asarray(x + 0.5 * np.expm1(-2 * x))

    low = _bisected(lambda x: fallen(-x), np.zeros_like(ratio), 0.5 * np.log1p(2 * ratio + 2 * np.sqrt(ratio)), ratio)
    high = _bisected(fallen, np.zeros_like(ratio), ratio + 0.5 + np.sqrt(ratio), ratio)
    return centre * np.exp(-low), centre * np.exp(high)


def _stubborn_ends(
    problem: ProfileLikelihood, state: ProfilePoint, left: Array, information: Array
) -> dict[str, tuple[Array, Array]]:
    """Return the intervals of s = 1/w and, united over w, of x₀."""
    weight, precision = problem.weights(state.of), np.exp(-2 * state.log_std)
    A, B, C = state.of.forms

    def height(w: Array) -> Array:
        jacobian = (weight * np.log1p(state.of.slope * w)).sum(axis=0)
        return np.asarray(jacobian - 0.5 * precision * (A + 2 * B * w + C * w**2))

    top = height(state.w)

    def fallen(w: Array) -> Array:
        return top - height(w)

    curvature = problem.curvature(state)
    nothing, outer = np.zeros_like(state.w), 2 * state.w + 1 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    # The logarithm of the Jacobian grows more slowly than the squares, so doubling ends.
    for _ in range(200):
        # Agents that are not fitted have a flat likelihood.
        short = (fallen(outer) < left) & (curvature > 0)
        if not short.any():
            break
        outer = np.where(short, 2 * outer, outer)
    low = np.where(fallen(nothing) <= left, 0.0, _bisected(fallen, state.w, nothing, left))
    high = _bisected(fallen, state.w, outer, left)
    ends = np.full(low.shape, np.inf), np.full(low.shape, -np.inf)
    for share in np.linspace(0, 1, _GRID):
        w = low + share * (high - low)
        half = np.sqrt(2 * np.maximum(left - fallen(w), 0.0) / (information * precision))
        at = state.of.base + state.of.pull * w
        ends = np.fmin(ends[0], at - half), np.fmax(ends[1], at + half)
    return {"hidden": ends, "stubbornness": (_inverse(high), _inverse(low))}
