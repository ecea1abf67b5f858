"""The bias of the score of a record: how its residuals respond to hidden opinions, compiled.

Responses are followed for one point of the ray at a time, whose arrays stay in the caches of a processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from peerpressure.model.step import Array


def score_bias(
    matrices: Sequence[sparse.csr_array], slope: Array, rho: Array, rate: Array | None, place: float, probes: Array
) -> float:
    """Return the derivative of the correction at a place of the ray from no pressure (0) to the parameters (1).

    Parameters
    ----------
    matrices : sequence of csr_array
        What agents listen to at each row, over their stubbornness.
    slope, rate : array, (T, n)
        Degrees over stubbornness, and rates of adaptation, None for none.
    rho : array, (T,)
        Peer pressure.
    place : float
        Where on the ray.
    probes : array, (n, p)
        Columns z of unit vectors or random combinations of opinions, with Σ z zᵀ ≈ 1.
    """
    advance, n = _compiled(), probes.shape[0]
    before, after, adopted, moved = (np.zeros(probes.shape) for _ in range(4))
    share, bias, information = np.ones(n), np.zeros(n), np.zeros(n)
    for row, A in enumerate(matrices):
        eta = None if rate is None else rate[row]
        information += share**2
        advance(
            A.indptr, A.indices, A.data, slope[row], rho[row], place, eta, share, probes,
            before, after, adopted, moved, bias,
        )  # fmt: skip
        before, after = after, before
        if eta is not None:
            share = share * (1 - place * eta)
    return float((bias / information).sum())


@cache
def _compiled() -> Any:
    """Return one row of responses, compiled; numba is imported only now because that takes long."""
    from numba import njit

    # Sums may be taken in any order, which lets them use whole vectors.
    return njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})(_advance)


def _advance(
    ends: Any, sources: Any, weights: Any, slope: Array, rho: float, place: float, eta: Any, share: Array,
    probes: Array, before: Array, after: Array, adopted: Array, moved: Array, bias: Array,
) -> None:  # fmt: skip
    """Replace the responses of answers ``before`` by those ``after`` a row, and add its part of the bias."""
    n, p = probes.shape
    around, pull = np.empty(p), rho * place
    for i in range(n):
        around[:] = 0.0
        for e in range(ends[i], ends[i + 1]):
            # Names of single numbers keep them in registers; arrays might overlap.
            weight, source = weights[e], sources[e]
            for q in range(p):
                around[q] += weight * before[source, q]
        steep, kept = slope[i], share[i]
        gain, total = 1 / (1 + pull * steep), 0.0
        if eta is None:
            for q in range(p):
                near = around[q]
                response = (probes[i, q] + pull * near) * gain
                total += probes[i, q] * (steep * response - near)
                after[i, q] = response
            total *= rho
        else:
            for q in range(p):
                near, level, change = around[q], adopted[i, q], moved[i, q]
                response = (kept * probes[i, q] + level + pull * near) * gain
                total += probes[i, q] * (rho * (steep * response - near) - change)
                # Of the level k_t that was adopted: its response, and the derivative of that along the ray.
                moved[i, q] = change + eta[i] * (response - level - place * change)
                adopted[i, q] = level + place * eta[i] * (response - level)
                after[i, q] = response
        bias[i] += kept * total
