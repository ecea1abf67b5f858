r"""The weight of what people saw in their answers, and everything else as a free law of their own.

A person who saw m_t answers y_t = (1 − w_t) v_t + w_t m_t, anybody else y_t = v_t. What would have been said without
seeing anything follows any linear law of the person's own history:

    v_t = a[stratum, t] + Σ_{h<t} b[t, h] q_h + e_t,     q_h = (1 − φ) v_h + φ y_h,

so opinions with noise, walks, returns to an own level or a common one, and shocks that a stratum shares all belong to
w = 0. The memory φ is 0 for people who return to their opinion, as in the model of peer pressure, and 1 for people who
go on from their last answer. If people knew each other before the first row, the mean of what each has seen so far is
one more regressor, so only changes of what they see count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special, stats

from peerpressure.fitting._groups import Codes, GroupPanel
from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled

Course: TypeAlias = Literal["none", "constant", "round"]

DEGREES: Final = np.array([2.1, 2.5, 3, 3.5, 4, 5, 6, 8, 12, 20, 50, 200.0])  # of freedom, of Student's errors
LARGEST: Final = 0.95  # weight; beyond, an own series y/(1 − w) says nothing
FAR: Final = 4.0  # robust scales between what was seen and what was said, beyond which an exposure counts less
SHRINKAGE: Final = 10  # people's worth of the common scale in the scale of each stratum
FEW: Final = 10  # people who moved, below which all tell the scale
LEAST_EFFECTIVE: Final = 1.5  # clusters; with fewer, one of them decides and no error can be estimated
NEAR: Final = float(stats.chi2.ppf(0.95, 1) / 2)  # log-likelihood within which a memory is as good as the best
MEMORIES: Final = (0.0, 1.0)
FINE_MEMORIES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
MANY_PEOPLE: Final = 300  # from which a finer grid of memories can be told apart
_STEPS, _TOLERANCE = 60, 1e-4


@final
class Round:
    """The answers of one row, and what came before them: everything that does not depend on parameters."""

    def __init__(self, panel: GroupPanel, t: int, *, bounded: bool) -> None:
        self.t = t
        self.people = np.flatnonzero(panel.answered[t])
        self.stratum = panel.stratum[self.people]
        self.answers, self.seen = panel.answers[: t + 1, self.people], panel.seen[: t + 1, self.people]
        self.saw = np.isfinite(self.seen)
        self.seen = np.where(self.saw, self.seen, 0.0)
        count = int(panel.stratum.max()) + 1
        one = np.ones(self.people.size)
        self.strata = sparse.csr_array((one, (self.stratum, np.arange(self.people.size))), (count, self.people.size))
        moved = np.diff(self.answers[-2:], axis=0)[0] != 0
        # Exact repeats, of a third of real people, would shrink the scale to 0 and make outliers of all others.
        self.moved = moved if moved.sum() > FEW else np.ones(moved.size, dtype=bool)
        self.bound = self._bound() if bounded else one
        self.extra = mean_seen(self.seen[1:], self.saw[1:]) if panel.first == "after" else np.empty((one.size, 0))

    def _bound(self) -> Array:
        """Return weights below 1 of people who saw something absurdly far from what they had said."""
        far = np.where(self.saw[-1], np.abs(self.seen[-1] - self.answers[-2]), 0.0)
        if self.saw[-1].sum() <= FEW:
            return np.ones(far.size)
        limit = FAR * 1.4826 * np.median(far[self.saw[-1]])
        return np.where(far > limit, np.square(limit / np.maximum(far, limit)), 1.0) if limit else np.ones(far.size)

    def own(self, w: Array, memory: float) -> tuple[Array, Array]:
        """Return q_0 … q_{t−1}, (m, t), and their derivatives with respect to the weight of the same row."""
        q, slope = self.answers[:-1].copy(), np.zeros((self.t, self.people.size))
        for h in range(1, self.t):
            v = np.where(self.saw[h], (self.answers[h] - w[h - 1] * self.seen[h]) / (1 - w[h - 1]), self.answers[h])
            q[h] = (1 - memory) * v + memory * self.answers[h]
            slope[h] = np.where(self.saw[h], (1 - memory) * (v - self.seen[h]) / (1 - w[h - 1]), 0.0)
        return q.T, slope.T

    def share_of_own(self, w: Array) -> Array:
        """Return the factor of the own law in an answer, 1 − w_t or 1; (m,)."""
        return np.where(self.saw[-1], 1 - w[self.t - 1], 1.0)


def mean_seen(seen: Array, saw: NDArray[np.bool_]) -> Array:
    """Return the mean of what people have seen, and who has seen nothing, (…, 2); rows come first."""
    count = saw.sum(axis=0)
    mean = np.where(saw, seen, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.stack([mean, (count == 0).astype(np.float64)], axis=-1)


@final
class Projection:
    """Least squares on an intercept for each stratum and some columns, all times a factor, under weights."""

    def __init__(self, row: Round, columns: Array, factor: Array, weight: Array) -> None:
        self.strata, self.stratum, self.factor, self.weight = row.strata, row.stratum, factor, weight
        norm = row.strata @ (weight * factor**2)
        self._per = np.divide(1.0, norm, out=np.zeros(norm.shape), where=norm > 0)
        columns = columns * factor[:, None]
        self._columns = self._within(columns)
        # A small ridge, relative to each column as it was: collinear columns get 0, and empty ones do.
        size = np.sqrt(np.einsum("mk,m,mk->k", columns, weight, columns))
        unit = np.divide(1.0, size, out=np.zeros(size.shape), where=size > 0)
        gram = (self._columns.T * weight) @ self._columns * np.outer(unit, unit)
        self._inverse = np.linalg.inv(gram + 1e-9 * np.eye(unit.size)) * np.outer(unit, unit)

    def _means(self, values: Array) -> Array:
        weights = self.weight * self.factor
        return np.asarray((self.strata @ (values.T * weights).T).T * self._per).T

    def _within(self, values: Array) -> Array:
        return np.asarray(values - (self._means(values)[self.stratum].T * self.factor).T)

    def coefficients(self, values: Array) -> Array:
        """Return the coefficients of the columns."""
        return np.asarray(self._inverse @ (self._columns.T @ (self._within(values).T * self.weight).T))

    def residual(self, values: Array) -> Array:
        """Return what is left of values, (m,) or (m, k)."""
        left = self._within(values)
        return np.asarray(left - self._columns @ (self._inverse @ (self._columns.T @ (left.T * self.weight).T)))

    def distinct(self, values: Array) -> Array:
        """Return what is left of regressors, 0 for those that the own law has already, up to rounding errors."""
        left = self.residual(values)
        return np.where(np.square(left).sum(axis=0) > 1e-6 * np.square(values).sum(axis=0), left, 0.0)


@final
@dataclass(frozen=True, eq=False)
class RoundFit:
    """One row at the estimates: residuals (m,), their scale and weights, and −∂e/∂θ with the own law taken out.

    ``shift`` is what residuals have more where somebody said 1 more in this row and all before it.
    """

    row: Round
    projection: Projection
    predicted: Array
    residual: Array
    scale: Array
    weight: Array
    score: Array
    shift: float


@final
class WeightFit:
    """Weights of what was seen, own law and scales, by Fisher scoring: least squares, or Student's errors.

    Parameters
    ----------
    panel : GroupPanel
        The record.
    course : {"none", "constant", "round"}
        Whether the weight is 0, the same in all rounds, or free in each.
    memory : float
        φ, from people who return to their opinion (0) to people who go on from their last answer (1).
    student : bool
        Whether errors have Student's distribution with estimated degrees of freedom, which finds influence in spite
        of outliers; least squares give the average size of it, also where people differ.
    bounded : bool
        Whether absurd exposures count less.
    importance : array, optional
        Further weights of people, (n,).
    """

    def __init__(
        self,
        panel: GroupPanel,
        course: Course = "constant",
        *,
        memory: float = 0.0,
        student: bool = False,
        bounded: bool = True,
        importance: Array | None = None,
    ) -> None:
        self.panel, self.course, self.memory = panel, course, memory
        steps = panel.rows - 1
        self.design = {"none": np.zeros((steps, 0)), "constant": np.ones((steps, 1)), "round": np.eye(steps)}[course]
        self._rows = [Round(panel, t, bounded=bounded) for t in range(1, panel.rows)]
        if importance is not None:
            for row in self._rows:
                row.bound = row.bound * importance[row.people]
        self.degrees = 8.0 if student else np.inf
        self.theta = np.zeros(self.design.shape[1])
        self.fits = self._search()

    @property
    def w(self) -> Array:
        """The weights of rounds 2 … T."""
        return np.asarray(self.design @ self.theta)

    @property
    def count(self) -> int:
        """The number of answers that are explained."""
        return sum(row.people.size for row in self._rows)

    def _search(self) -> list[RoundFit]:
        fits: list[RoundFit] = []
        for step in range(_STEPS):
            check_cancelled()
            fits = [self._fitted(row, fits[k] if fits else None) for k, row in enumerate(self._rows)]
            if np.isfinite(self.degrees) and step % 3 == 2:
                moved = np.concatenate([(one.residual / one.scale)[one.row.moved] for one in fits])
                heights = [_student_log_density(moved, degrees).sum() for degrees in DEGREES]
                self.degrees = float(DEGREES[int(np.argmax(heights))])
            if not self.theta.size:
                if step > 15:
                    break
                continue
            information = sum((one.score.T * one.weight) @ one.score for one in fits)
            gradient = sum(one.score.T @ (one.weight * one.residual) for one in fits)
            move = np.linalg.lstsq(information + 1e-12 * np.eye(self.theta.size), gradient, rcond=None)[0]
            size = float(np.abs(self.design @ move).max())
            if size < _TOLERANCE and step > 8:
                break
            theta = self.theta + move * min(1.0, 0.3 / max(size, 1e-12))
            self.theta = theta * min(1.0, LARGEST / max(float(np.abs(self.design @ theta).max()), 1e-12))
        return fits

    def _fitted(self, row: Round, last: RoundFit | None) -> RoundFit:
        """Return the own law of a row at the present weights, with scales and robust weights brought up to date."""
        w = self.w if self.theta.size else np.zeros(self.panel.rows - 1)
        factor, (q, slope) = row.share_of_own(w), row.own(w, self.memory)
        columns = np.column_stack([q, row.extra])
        y = row.answers[-1] - np.where(row.saw[-1], w[row.t - 1] * row.seen[-1], 0.0)
        old = np.ones(y.size) if last is None else last.scale
        robust = self._robust(None if last is None else last.residual / old, y.size)
        projection = Projection(row, columns, factor, row.bound * robust / old**2)
        e = projection.residual(y)
        scale = self._scale(row, columns, robust, e)
        weight = row.bound * self._robust(e / scale, y.size) / scale**2
        projection = Projection(row, columns, factor, weight)
        predicted = (y - e) / factor  # the own law without its noise
        score = np.zeros((y.size, w.size))
        score[:, row.t - 1] = np.where(row.saw[-1], row.seen[-1] - predicted, 0.0)
        b = projection.coefficients(y)
        score[:, : row.t - 1] = (factor[:, None] * slope[:, 1:]) * b[1 : row.t]
        shift = 1 - float(b[: row.t].sum())
        return RoundFit(row, projection, predicted, e, scale, weight, projection.distinct(score @ self.design), shift)

    def _robust(self, z: Array | None, size: int) -> Array:
        if z is None or not np.isfinite(self.degrees):
            return np.ones(size)
        return np.asarray((self.degrees + 1) / (self.degrees + z**2))

    @staticmethod
    def _scale(row: Round, columns: Array, robust: Array, e: Array) -> Array:
        """Return scales by stratum, from those who moved, shrunk towards the common one."""
        moved = row.moved.astype(np.float64)
        squares, count = row.strata @ (robust * e**2 * moved), np.maximum(row.strata @ moved - 1, 0)
        free = max(float(count.sum()) - columns.shape[1], 1.0)
        common = squares.sum() / free
        by_stratum = (squares * count.sum() / free + SHRINKAGE * common) / (count + SHRINKAGE)
        return np.asarray(np.sqrt(np.maximum(by_stratum, 1e-300)))[row.stratum]

    @cached_property
    def log_likelihood(self) -> float:
        """The log-likelihood of the explained answers."""
        logs = sum(float(np.log(one.scale).sum()) for one in self.fits)
        z = np.concatenate([one.residual / one.scale for one in self.fits])
        return float(_student_log_density(z, self.degrees).sum()) - logs

    @cached_property
    def k(self) -> int:
        """The number of parameters: the weights, and the own law with its scales."""
        own = sum(2 * np.unique(one.row.stratum).size + one.row.t + one.row.extra.shape[1] for one in self.fits)
        return int(self.theta.size + own + np.isfinite(self.degrees))

    # Errors

    @cached_property
    def _by(self) -> Codes:
        return self.panel.cluster if self.panel.has_clusters else np.arange(self.panel.n)

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """Scores (G, k) and information (G, k, k) by cluster."""
        size, k = int(self._by.max()) + 1, self.theta.size
        scores, information = np.zeros((size, k)), np.zeros((size, k, k))
        for one in self.fits:
            by, weighted = self._by[one.row.people], one.score * one.weight[:, None]
            np.add.at(scores, by, weighted * one.residual[:, None])
            np.add.at(information, by, weighted[:, :, None] * one.score[:, None, :])
        return scores, information

    @property
    def information(self) -> Array:
        """The information about θ, (k, k)."""
        return np.asarray(self._sums[1].sum(axis=0))

    @cached_property
    def covariance(self) -> Array:
        """Covariance of θ: a sandwich by cluster, or by person, that takes leverage out."""
        scores, by_cluster = self._sums
        information = self.information + 1e-12 * np.eye(self.theta.size)
        curvature: Array = np.zeros(information.shape)
        for one in self.fits:
            curvature = curvature + (one.score.T * self._slope(one)) @ one.score
        least = np.linalg.eigvalsh(information).min()
        if not np.linalg.eigvalsh(curvature).min() > 0.2 * max(least, 0.0):
            curvature = information
        # A cluster that carries all information counts for nothing, as in the jackknife.
        share = by_cluster @ np.linalg.pinv(information, rcond=1e-10)
        apart = np.linalg.solve(np.eye(self.theta.size) - 0.999 * share, scores[:, :, None])[:, :, 0]
        inverse, n = np.linalg.pinv(curvature, rcond=1e-10), self.panel.n
        small = 1.0 if self.panel.has_clusters else n / max(n - self.panel.rows - 1, 1)
        return np.asarray(small * inverse @ (apart.T @ apart) @ inverse)

    def _slope(self, one: RoundFit) -> Array:
        if not np.isfinite(self.degrees):
            return one.weight
        spread, squares = self.degrees * one.scale**2, one.residual**2
        return np.asarray(one.row.bound * (self.degrees + 1) * (spread - squares) / (spread + squares) ** 2)

    @cached_property
    def effective(self) -> Array:
        """The number of clusters that carry the information about each weight, (T − 1,)."""
        by_cluster = np.einsum("tk,gkl,tl->gt", self.design, self._sums[1], self.design)
        total, squares = by_cluster.sum(axis=0), np.square(by_cluster).sum(axis=0)
        return np.where(total > 1e-6, np.square(total) / np.maximum(squares, 1e-300), 0.0)

    @property
    def is_at_edge(self) -> bool:
        """Whether only the end of the range that is searched bounds a weight."""
        return bool(np.abs(self.w).max(initial=0.0) > LARGEST - _TOLERANCE)

    @cached_property
    def std(self) -> Array:
        """Standard errors of the weights, ∞ at an edge and where too few clusters carry the information; (T − 1,)."""
        variance = np.einsum("tk,kl,tl->t", self.design, self.covariance, self.design)
        known = (self.effective > LEAST_EFFECTIVE) & (not self.is_at_edge)
        return np.where(known, np.sqrt(np.maximum(variance, 0.0)), np.inf)

    @property
    def interval(self) -> tuple[Array, Array]:
        """Ends of 95 % intervals of the weights."""
        reach = stats.t.ppf(0.975, np.maximum(self.effective - 1, 1.0)) * self.std
        return self.w - reach, self.w + reach

    @property
    def shares(self) -> Array:
        """The share of others in the answers of each round since the first row, (T − 1,)."""
        return shares_of_others(self.w, self.memory)

    @property
    def shares_std(self) -> Array:
        """Standard errors of the shares."""
        steps = 1e-5 * np.eye(self.theta.size)
        ends = [
            [shares_of_others(self.design @ (self.theta + sign * step), self.memory) for sign in (1, -1)]
            for step in steps
        ]
        slope = np.column_stack([(up - down) / 2e-5 for up, down in ends])
        return np.asarray(np.sqrt(np.maximum(np.einsum("tk,kl,tl->t", slope, self.covariance, slope), 0.0)))


def shares_of_others(w: Array, memory: float) -> Array:
    """Return the share of others in each answer: own_t = (1 − w_t)(1 − φ + φ own_{t−1})."""
    own, shares = 1.0, []
    for weight in w:
        own = (1 - weight) * (1 - memory + memory * own)
        shares.append(1 - own)
    return np.array(shares)


def _student_log_density(z: Array, degrees: float) -> Array:
    if not np.isfinite(degrees):
        return np.asarray(-0.5 * (z**2 + np.log(2 * np.pi)))
    constant = special.gammaln((degrees + 1) / 2) - special.gammaln(degrees / 2) - 0.5 * np.log(degrees * np.pi)
    return np.asarray(constant - (degrees + 1) / 2 * np.log1p(z**2 / degrees))


@final
@dataclass(frozen=True, eq=False)
class Remembered:
    """Fits with several memories: the likeliest is the estimate, and intervals are unions over all that are near it.

    A memory that is picked and taken as known costs three to five points of coverage.
    """

    fits: Sequence[WeightFit]

    @cached_property
    def best(self) -> WeightFit:
        """The likeliest fit."""
        return max(self.fits, key=lambda one: one.log_likelihood)

    @cached_property
    def near(self) -> list[WeightFit]:
        """All fits that the record cannot tell from the best."""
        return [one for one in self.fits if one.log_likelihood > self.best.log_likelihood - NEAR]

    @cached_property
    def interval(self) -> tuple[Array, Array]:
        """Ends of 95 % intervals of the weights, (T − 1,) each."""
        low, high = zip(*(one.interval for one in self.near), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)


def fit_memories(
    panel: GroupPanel, course: Course = "constant", *, student: bool = False, importance: Array | None = None
) -> Remembered:
    """Fit all memories that so many people could tell apart; with two rows there is nothing to remember."""
    grid = FINE_MEMORIES if panel.people.size >= MANY_PEOPLE else MEMORIES
    memories = grid if panel.rows > 2 else (1.0,)
    return Remembered(
        [WeightFit(panel, course, memory=memory, student=student, importance=importance) for memory in memories]
    )
