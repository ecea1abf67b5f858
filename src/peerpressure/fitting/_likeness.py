"""Whether people and those whom they see grew more alike over the rounds.

People who knew each other before the first row are alike for other reasons as well. If they are as alike in all rounds,
changes of what they see tell a response from these. If they approach opinions that friends share, from first answers
that were something else, then what they see foretells their own answers without any response.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from peerpressure.fitting._groups import GroupPanel
from peerpressure.model.step import Array

_FEW = 8  # people with answers in all rounds, below which nothing is said


class Likeness(NamedTuple):
    """Correlations of answers with those of the people seen, by row but the last, and the p-value of their growth."""

    by_row: Array
    p_value: float


def likeness(panel: GroupPanel) -> Likeness:
    """Return how alike people were to those whom they saw, and whether that grew."""
    rows = panel.rows - 1
    there = panel.answered[rows] & np.isfinite(panel.seen[1:]).all(axis=0)
    if there.sum() < _FEW or rows < 2:
        return Likeness(np.full(rows, np.nan), 1.0)
    products = np.zeros((rows, int(there.sum())))
    # What was seen before a row are answers of the row before.
    for row, (own, seen) in enumerate(zip(panel.answers[:-1], panel.seen[1:], strict=True)):
        products[row] = _products(own[there], seen[there], panel.stratum[there])
    slopes = (np.arange(rows) - 0.5 * (rows - 1)) @ products
    error = float(np.sqrt(np.square(slopes - slopes.mean()).sum()))
    p_value = float(stats.norm.sf(slopes.sum() / error)) if error > 0 else 1.0
    return Likeness(products.mean(axis=1), p_value)


def _products(own: Array, seen: Array, stratum: Array) -> Array:
    """Return products whose mean is a correlation, with the mean of each stratum taken out."""
    count = np.bincount(stratum)
    deviations = [values - (np.bincount(stratum, values) / np.maximum(count, 1))[stratum] for values in (own, seen)]
    scale = np.sqrt(np.prod([np.mean(values**2) for values in deviations]))
    return np.asarray(np.prod(deviations, axis=0) / scale if scale > 0 else np.zeros(own.size))
