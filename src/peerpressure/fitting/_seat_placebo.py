"""The placebo: people keep what they said and swap their seats, so nobody can respond to what a shuffled seat shows.

If nobody responds, whole histories of people are exchangeable over the seats of a stratum, whatever the distribution
of their answers. The own law is fitted once, without any network; for each shuffle, only what was seen is computed
again. The test is exact where seats were dealt by chance, and approximately right where friends are alike, because its
statistic is studentised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._groups import Codes, GroupPanel, Neighbours
from peerpressure.fitting._weights import WeightFit, mean_seen
from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled

NUMBERS_AT_ONCE: Final = 2_000_000  # of one array over people and shuffles
_TINY = 1e-9
_FAR = 3.0  # robust scales beyond which a deviation counts as this one


@final
@dataclass(frozen=True, eq=False)
class Shuffles:
    """A statistic, and what it is where seats are shuffled.

    Attributes
    ----------
    statistic : float
        Its value on the seats as they were, in standard errors.
    shuffled : array, (R,)
        Its values among shuffled seats.
    two_sided : bool
        Whether small values count as much as large ones.
    """

    statistic: float
    shuffled: Array
    two_sided: bool = False

    @property
    def p_value(self) -> float:
        """The share of shuffles, the true one included, with a statistic at least as extreme."""
        margin = _TINY * abs(self.statistic)
        above = int((self.shuffled >= self.statistic - margin).sum())
        if self.two_sided:
            above = 2 * min(above, int((self.shuffled <= self.statistic + margin).sum()))
        return min((1 + above) / (1 + self.shuffled.size), 1.0)


def check_permutations(permutations: object, seed: object) -> None:
    """Raise if a number of shuffles or a seed is none."""
    if isinstance(permutations, bool) or not isinstance(permutations, int | np.integer) or permutations < 19:
        rule, remedy = "permutations must be a whole number of 19 or more", "999 give p-values to a thousandth"
        raise InvalidInputError(message(rule, got=repr(permutations), remedy=remedy))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInputError(message("seed must be a whole number of 0 or more", got=repr(seed), remedy="use 0"))


def seat_placebo(panel: GroupPanel, permutations: int, seed: int) -> Shuffles:
    """Return the score of the weight at 0, studentised, on the true and on shuffled seats."""
    # An own law that does not know who saw what.
    null = WeightFit(replace(panel, first="before"), "none", student=True, bounded=False)
    truth = float(_scores(panel, null, np.arange(panel.n)[:, None])[0])
    if abs(truth) < _TINY:
        return Shuffles(0.0, np.zeros(permutations))
    return Shuffles(truth, _over_shuffles(panel, permutations, seed, lambda seats: _scores(panel, null, seats)))


def balance_placebo(panel: GroupPanel, permutations: int, seed: int) -> Shuffles | None:
    """Return the correlation of first answers with what was seen first, which chance alone leaves near 0."""
    if panel.saw_the_same or not (np.isfinite(panel.seen[1]) & panel.answered[0]).sum() > 2:
        return None
    first = panel.answers[0]

    def correlations(seats: Codes) -> Array:
        seen = panel.exposure.shuffled(seats)[1]
        there = np.isfinite(seen) & np.isfinite(first)[:, None]
        # Within strata: questions differ in their answers.
        own = _centred(panel, np.where(there, first[:, None], 0.0), there)
        shown = _centred(panel, np.where(there, seen, 0.0), there)
        scale = np.sqrt(np.square(own).sum(axis=0) * np.square(shown).sum(axis=0))
        return np.asarray(np.divide((own * shown).sum(axis=0), scale, out=np.zeros(scale.shape), where=scale > 1e-300))

    truth = float(correlations(np.arange(panel.n)[:, None])[0])
    return Shuffles(truth, _over_shuffles(panel, permutations, seed + 1, correlations), two_sided=True)


def alike_placebo(panel: GroupPanel, fit: WeightFit, permutations: int, seed: int) -> Shuffles | None:
    """Return whether neighbours are alike in what they would have said without a response; None without networks.

    A person's opinion is measured by the first answer and by what later answers have beyond the fit, response included,
    each by how much of an opinion it shows and how well. So it shows likeness that first answers are too noisy for.
    """
    there = panel.answered[1]
    opinion = np.where(there, _clipped(panel, np.where(there, panel.answers[0], np.nan)), 0.0)
    opinion /= max(float(np.square(opinion[there]).mean()), 1e-300)
    for one in fit.fits:
        limit = _FAR * one.scale
        opinion[one.row.people] += max(one.shift, 0.0) * np.clip(one.residual, -limit, limit) / one.scale**2
    opinion = _centred(panel, opinion[:, None], there[:, None])[:, 0]
    return _likeness_of(panel, np.tile(np.where(there, opinion, np.nan), (panel.rows, 1)), permutations, seed + 4)


def shared_placebo(panel: GroupPanel, fit: WeightFit, permutations: int, seed: int) -> Shuffles | None:
    """Return whether neighbours move together in the same round, which a response to earlier answers leaves at chance.

    None if there is more than one network, or none.
    """
    if not panel.is_one_network:
        return None
    left = np.full(panel.answers.shape, np.nan)
    for one in fit.fits:
        left[one.row.t - 1, one.row.people] = one.weight * one.residual
    return _likeness_of(panel, left, permutations, seed + 3)


def _likeness_of(panel: GroupPanel, values: Array, permutations: int, seed: int) -> Shuffles | None:
    """Return the studentised sum of products of people's values, (T, n), and those of the people seen before t + 1."""
    if not isinstance(panel.exposure, Neighbours):
        return None
    around = Neighbours(values, panel.exposure.networks)

    def statistics(seats: Codes) -> Array:
        products = np.nan_to_num(values[:-1, :, None] * around.shuffled(seats)[1:]).sum(axis=0)
        scale = np.sqrt(np.square(products).sum(axis=0))
        return np.asarray(np.divide(products.sum(axis=0), scale, out=np.zeros(scale.shape), where=scale > 0))

    truth = float(statistics(np.arange(panel.n)[:, None])[0])
    return Shuffles(truth, _over_shuffles(panel, permutations, seed, statistics))


def _clipped(panel: GroupPanel, values: Array) -> Array:
    """Return values about the median of their stratum, none of them further from it than some robust scales."""
    out = np.zeros(values.size)
    for code in np.unique(panel.stratum):
        members = (panel.stratum == code) & np.isfinite(values)
        off = values[members] - np.median(values[members])
        limit = _FAR * 1.4826 * np.median(np.abs(off))
        out[members] = np.clip(off, -limit, limit) if limit else off
    return out


def _over_shuffles(panel: GroupPanel, permutations: int, seed: int, statistic: Callable[[Codes], Array]) -> Array:
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(panel.stratum == code) for code in np.unique(panel.stratum)]
    at_once = max(1, min(permutations, NUMBERS_AT_ONCE // max(panel.n, 1)))
    parts = []
    for begin in range(0, permutations, at_once):
        check_cancelled()
        seats = np.tile(np.arange(panel.n)[:, None], (1, min(at_once, permutations - begin)))
        for people in members:
            seats[people] = rng.permuted(seats[people], axis=0)
        parts.append(statistic(seats))
    return np.concatenate(parts)


def _centred(panel: GroupPanel, values: Array, there: Array) -> Array:
    one = sparse.csr_array((np.ones(panel.n), (panel.stratum, np.arange(panel.n))))
    means = (one @ values) / np.maximum(one @ there.astype(np.float64), 1)
    return np.where(there, values - means[panel.stratum], 0.0)


def _scores(panel: GroupPanel, null: WeightFit, seats: Codes) -> Array:
    """Return the studentised scores for a positive weight, one for each column of seats."""
    seen = panel.exposure.shuffled(seats)
    saw = np.isfinite(seen)
    scores = np.zeros(seats.shape)
    for one in null.fits:
        t, people = one.row.t, one.row.people
        now, there = seen[t, people], saw[t, people]
        if panel.first == "before":
            pull = one.projection.distinct(np.where(there, now - one.predicted[:, None], 0.0))
        elif t == 1:
            continue  # what is seen first and its mean are the same
        else:
            mean = mean_seen(seen[1 : t + 1, people], saw[1 : t + 1, people])[..., 0]
            pull = one.projection.distinct(np.where(there, now - mean, 0.0))
            pull = _without(pull, one.projection.distinct(mean), one.weight)
        scores[people] += pull * (one.weight * one.residual)[:, None]
    total = scores.sum(axis=0)
    # Clusters belong to seats; without them every person is one.
    parts = _by_cluster(panel, scores, seats) if panel.has_clusters else scores
    variance = np.square(parts).sum(axis=0)
    enough = variance > 1e-20 * max(float(np.square(scores).sum(axis=0).max()), 1e-300)
    return np.where(enough, total / np.sqrt(np.maximum(variance, 1e-300)), 0.0)


def _without(values: Array, other: Array, weight: Array) -> Array:
    """Return columns of values with the column of the other in the same place taken out."""
    norm = np.maximum((other**2 * weight[:, None]).sum(axis=0), 1e-300)
    return np.asarray(values - other * ((other * values * weight[:, None]).sum(axis=0) / norm))


def _by_cluster(panel: GroupPanel, scores: Array, seats: Codes) -> Array:
    on_seats = np.empty_like(scores)
    np.put_along_axis(on_seats, seats, scores, axis=0)
    clusters = sparse.csr_array((np.ones(panel.n), (panel.cluster, np.arange(panel.n))))
    return np.asarray(clusters @ on_seats)
