"""A placebo for records of many rows: people are dealt to the places of the network.

Do the last answers of neighbours tell more than those of people who were dealt to their places? Each answer is
explained by the agent's own level, an effect of the period, the agent's own last answer, and the mean of the last
answers of those the agent listens to,

    y_ti = a_i + b_t + φ y_{t−1,i} + c m_ti + e_ti.

If nobody responds, whole series of answers are exchangeable over the places of the network, whatever their law: shocks
that all share are effects of periods, and friends who are alike have like levels. Series are dealt to places at random,
and the studentised c of the true places is compared with those of the others. Given what is not of the neighbours, the
studentised c is a monotone function of the partial correlation of y and m, so nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from peerpressure.fitting._record import Panel
from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled
from peerpressure.support.results import read_only

# Parts of the neighbours' means that are left below this share of them are rounding errors.
_NOTHING = 1e-10
# Correlations that differ by less are those of the same places under other names.
_SAME = 1e-12
# Deals are made together while their answers are no more numbers than this, which stay in the caches of a processor.
_TOGETHER = 50_000
# Standard deviations beyond which an error counts as this one.
_FAR = 3.0
# Levels and power by which the smallest effect that would be found is defined.
_LEVEL, _POWER = 0.05, 0.8


@final
@read_only
@dataclass(frozen=True, eq=False)
class Placebo:
    """The effect of the neighbours' last answers, and that of people who were dealt to their places.

    Attributes
    ----------
    effect : float
        The coefficient c of the mean of the neighbours' last answers; NaN where none can be told from what all share.
    shuffled : array, (permutations,)
        The same with people dealt to the places of the network at random.
    p_value : float
        The share of deals, the true one included, whose studentised effect is at least as large.
    """

    effect: float
    shuffled: Array
    p_value: float

    @property
    def can_tell(self) -> bool:
        """Whether neighbours' answers differ at all from what all agents share."""
        return bool(np.isfinite(self.effect))

    @cached_property
    def smallest(self) -> float:
        """The effect that would be found in 8 of 10 records, from the spread of effects among random places."""
        spread = float(np.nanstd(self.shuffled)) if np.isfinite(self.shuffled).any() else np.nan
        return float(stats.norm.isf(_LEVEL) + stats.norm.ppf(_POWER)) * spread


def placebo(panel: Panel, permutations: int = 999, seed: int = 0) -> Placebo:
    """Return the effect of neighbours' last answers, tested by dealing people to the places of the network.

    Answers that are missing are not explained, and stand for their neighbours' knowledge as the last one before.
    """
    rng = np.random.default_rng(seed)
    test = PartialEffect(panel)
    (effect,), (correlation,) = test(np.arange(panel.n)[None])
    if not np.isfinite(effect):
        return Placebo(np.nan, np.full(permutations, np.nan), 1.0)
    effects, correlations = np.hstack([test(deals) for deals in _deals(panel, rng, permutations)])
    # Where a deal leaves nothing of the neighbours' means, it says nothing against them either.
    reached = np.nan_to_num(correlations, nan=-np.inf) >= correlation - _SAME
    p_value = (1 + int(reached.sum())) / (permutations + 1)
    return Placebo(float(effect), effects, p_value)


def _deals(panel: Panel, rng: np.random.Generator, permutations: int) -> Iterator[NDArray[np.int64]]:
    """Yield deals of people to places, some at a time, (deals, n)."""
    most = max(1, _TOGETHER // panel.rows.size)
    for first in range(0, permutations, most):
        check_cancelled()
        yield np.array([rng.permutation(panel.n) for _ in range(min(most, permutations - first))])


def together(panel: Panel, predictions: Array, permutations: int = 999, seed: int = 0) -> float:
    """Return the p-value of neighbours who move together in the same step, beyond predictions from earlier answers.

    A response to earlier answers leaves nothing of that; shocks, trends and seasons that neighbours share do.
    """
    rng = np.random.default_rng(seed)
    off = np.where(panel.scored, panel.rows[1:] - predictions, 0.0)
    off = _both_ways(panel.scored.astype(np.float64))(off)
    limit = _FAR * float(off[panel.scored].std())
    errors, means = np.clip(off, -limit, limit), _means(_listening(panel))

    def statistic(deals: NDArray[np.int64]) -> Array:
        dealt = np.moveaxis(errors[:, deals], 1, 0)
        products = (dealt * means(dealt)).sum(axis=1)
        return np.asarray(products.sum(axis=1) / np.maximum(np.sqrt(np.square(products).sum(axis=1)), 1e-300))

    (truth,) = statistic(np.arange(panel.n)[None])
    reached = sum(int((statistic(deals) >= truth - _SAME).sum()) for deals in _deals(panel, rng, permutations))
    return (1 + reached) / (permutations + 1)


class PartialEffect:
    """The partial effect and correlation of neighbours' last answers, for any deal of people to places."""

    def __init__(self, panel: Panel) -> None:
        rows = panel.filled - np.nanmean(panel.rows)
        present = np.isfinite(panel.rows)
        # Own last answers must be known as well.
        self.used = (present[1:] & present[:-1]).astype(np.float64)
        self.within = _both_ways(self.used)
        self.last = np.ascontiguousarray(rows[:-1])
        self.own = self.within(self.last)
        answers = self.within(rows[1:])
        size = float((self.own**2).sum())
        self.own_unit = self.own / np.sqrt(size) if size > 0 else self.own
        self.answers = answers - float((answers * self.own_unit).sum()) * self.own_unit
        self.size = float((self.answers**2).sum())
        self.listening = _listening(panel)
        self.means = _means(self.listening)

    def __call__(self, deals: NDArray[np.int64]) -> Array:
        """Return effects and partial correlations (2, deals) if person ``deals[:, k]`` sits at k, NaN for none."""
        around, whole = self.around(deals)
        product = (self.answers * around).sum(axis=(1, 2))
        left = np.square(around).sum(axis=(1, 2)) - (around * self.own_unit).sum(axis=(1, 2)) ** 2
        found = np.full((2, len(deals)), np.nan)
        there = (left > _NOTHING * whole) & (self.size > 0)
        left, product = left[there], product[there]
        found[:, there] = product / left, product / np.sqrt(left * self.size)
        return found

    def around(self, deals: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return neighbours' means without levels and effects of periods, and their sums of squares with these.

        They are (deals, T, n) and (deals,).
        """
        means = self.means(np.moveaxis(self.last[:, deals], 1, 0))
        around = np.take_along_axis(means, np.argsort(deals, axis=1)[:, None], axis=2)
        return self.within(around), (self.used * around**2).sum(axis=(1, 2))


def _listening(panel: Panel) -> list[sparse.csr_array]:
    """Return the matrix from last answers by place to the means of those that each place listens to, for each row."""
    weights = np.divide(1.0, panel.degrees, out=np.zeros_like(panel.degrees), where=panel.degrees > 0)
    if panel.model.is_constant:
        return [sparse.csr_array(sparse.diags_array(weights[0]) @ panel.adjacency(1))] * panel.length
    return [
        sparse.csr_array(sparse.diags_array(weights[row]) @ panel.adjacency(row + 1)) for row in range(panel.length)
    ]


def _means(listening: Sequence[sparse.csr_array]) -> Callable[[Array], Array]:
    """Return the function from last answers by place, (…, T, n), to the means of those that each place listens to."""
    W = listening[0]
    if all(each is W for each in listening):
        return lambda last: np.asarray((W @ last.reshape(-1, last.shape[-1]).T).T).reshape(last.shape)
    whole = sparse.block_diag(listening, format="csr")
    return lambda last: np.asarray((whole @ last.reshape(-1, whole.shape[1]).T).T).reshape(last.shape)


def _both_ways(used: Array) -> Callable[[Array], Array]:
    """Return the function that takes levels of agents and effects of periods from values (…, T, n) that are used."""
    agents, periods = np.maximum(used.sum(axis=0), 1.0), used.sum(axis=1)
    if used.all():
        return lambda values: (
            values
            - (level := values.mean(axis=-2, keepdims=True))
            - values.mean(axis=-1, keepdims=True)
            + level.mean(axis=-1, keepdims=True)
        )
    # Least squares: what is left of periods once agents have their levels.
    left = np.linalg.pinv(np.diag(periods) - (used / agents) @ used.T, hermitian=True)

    def within(values: Array) -> Array:
        values = used * (values - (used * values).sum(axis=-2, keepdims=True) / agents)
        effects = used * (values.sum(axis=-1) @ left)[..., None]
        return np.asarray(used * (values - effects + effects.sum(axis=-2, keepdims=True) / agents))

    return within
