"""Who responds less than the others: weights of single people, shrunk towards the common one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import stats

from peerpressure.fitting._groups import GroupPanel
from peerpressure.fitting._seat_placebo import Shuffles
from peerpressure.fitting._weights import WeightFit
from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False)
class People:
    """Weights of single people.

    Attributes
    ----------
    placebo : Shuffles or None
        Whether who responds more in one round does so in others, with people shuffled in each; None with two rows.
    value, std : array, (n,)
        Weights after shrinkage and their standard errors, NaN for people who were shown nothing.
    common : float
        The weight of all.
    """

    placebo: Shuffles | None
    value: Array
    std: Array
    common: float

    @property
    def differ(self) -> bool:
        """Whether people are known to differ in how much they respond."""
        return self.placebo is not None and self.placebo.p_value <= 0.05 and bool(np.nanmax(self.std) > 0)

    def table(self, panel: GroupPanel) -> pd.DataFrame:
        """Return person, weight, low, high and stubborn, the least responsive first; without rows if unknown."""
        import pandas as pd

        columns = ["agent", "weight", "low", "high", "stubborn"]
        if not self.differ:
            return pd.DataFrame([], columns=columns)
        reach = stats.norm.ppf(0.975) * self.std
        known = [k for k in np.argsort(self.value, kind="stable") if np.isfinite(self.value[k])]
        low, high = self.value - reach, self.value + reach
        rows = [(panel.labels[k], self.value[k], low[k], high[k], bool(high[k] < self.common)) for k in known]
        return pd.DataFrame(rows, columns=columns)


def people_of(fit: WeightFit, permutations: int, seed: int) -> People:
    """Return weights of single people from least squares with one common weight.

    The score of a person in a round is information times (own weight − common weight), plus noise that is independent
    between rounds. So products over pairs of rounds estimate the variance of weights, whatever the noise.
    """
    panel = fit.panel
    score, information = np.zeros((panel.rows - 1, panel.n)), np.zeros((panel.rows - 1, panel.n))
    for one in fit.fits:
        pull = np.where(one.row.saw[-1], one.score[:, 0], 0.0)
        score[one.row.t - 1, one.row.people] = pull * one.weight * one.residual
        information[one.row.t - 1, one.row.people] = pull**2 * one.weight
    total, known = score.sum(axis=0), information.sum(axis=0)
    common = float(fit.w[-1])
    pairs = list(combinations(range(panel.rows - 1), 2))
    denominator = sum(float(information[a] @ information[b]) for a, b in pairs)
    if not pairs or denominator <= 0:
        return People(None, np.full(panel.n, np.nan), np.full(panel.n, np.nan), common)
    variance = max(sum(float(score[a] @ score[b]) for a, b in pairs) / denominator, 0.0)
    shrunk = common + variance * total / (1 + variance * known)
    std = np.sqrt(variance / (1 + variance * known))
    there = known > 0
    placebo = _agreement(panel, score, pairs, permutations, seed)
    return People(placebo, np.where(there, shrunk, np.nan), np.where(there, std, np.nan), common)


def _agreement(panel: GroupPanel, score: Array, pairs: list[tuple[int, int]], permutations: int, seed: int) -> Shuffles:
    rng = np.random.default_rng(seed + 2)
    members = [np.flatnonzero(panel.stratum == code) for code in np.unique(panel.stratum)]

    def statistic(scores: Array) -> float:
        products = sum(scores[a] * scores[b] for a, b in pairs)
        return float(products.sum() / np.sqrt(max(float(np.square(products).sum()), 1e-300)))

    shuffled = np.empty(permutations)
    for draw in range(permutations):
        check_cancelled()
        mixed = score.copy()
        for row in mixed[1:]:
            for people in members:
                row[people] = row[rng.permutation(people)]
        shuffled[draw] = statistic(mixed)
    return Shuffles(statistic(score), shuffled)
