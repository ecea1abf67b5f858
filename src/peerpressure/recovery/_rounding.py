"""The error that rounding makes in an estimate, measured by moving the outputs in their last digits.

Where noise cancels, as frozen noise does, an estimate may be exact on paper and still depend on the last digits of
the outputs. A standard error must not be smaller than that. Perturbing the data and solving again measures it for any
estimator, whatever its algebra (stochastic arithmetic: Vignes, 1993).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from peerpressure.recovery._estimate import Array, Estimate
from peerpressure.recovery._observation import Outputs

# Perturbed copies of the first replicate; eight give the size of the error to about a quarter.
_COPIES = 8
# Last digits by which an output is moved: those that simulation and estimation lose between them.
_DIGITS = 8.0
# Standard errors are enlarged by this many measured ones, and left alone where that is less than a part of them.
_SAFETY, _NEGLIGIBLE = 3.0, 0.05
# Agents up to whom copies cost little; of more, only estimates that claim more digits than this are measured.
_MOST_AGENTS = 300
_SUSPICIOUS = 1e-6
# Numbers in the copies of a large network, 1 GB; beyond, rounding is not measured.
_MOST_NUMBERS = 2**27


def with_rounding_error(estimator: Callable[[Outputs], Estimate], data: Outputs) -> Estimate:
    """Return the estimate with the error that rounding makes added to its covariance, where it matters."""
    if data.known.shape[1] > _MOST_AGENTS:
        found = estimator(data)
        if not _is_suspicious(found, data):
            return found
    probed = estimator(with_copies(data))
    value, moved = without_copies(probed.value, probed.variance)
    goodness_of_fit = None if probed.goodness_of_fit is None else probed.goodness_of_fit[: len(value)]
    found = replace(probed, value=value, goodness_of_fit=goodness_of_fit)
    return replace(found, covariance=_enlarged(found.covariance, moved)) if moved.any() else found


def _enlarged(covariance: Any, moved: Array) -> Any:
    """Return C + DᵀD; of a large C, which may be sparse, the diagonal alone is enlarged."""
    n = moved.shape[1]
    if n <= _MOST_AGENTS:
        return covariance @ np.eye(n) + moved.T @ moved
    return covariance + sparse.diags_array(np.square(moved).sum(axis=0), format="csr")


def _is_suspicious(found: Estimate, data: Outputs) -> bool:
    """Say whether a standard error is so small that rounding may have made it so, and copies fit in memory."""
    if _COPIES * data.values[0].size > _MOST_NUMBERS:
        return False
    if not hasattr(found.covariance, "toarray") and not isinstance(found.covariance, np.ndarray):
        return False
    claimed = found.std[data.seen.free]
    return bool((claimed < _SUSPICIOUS * np.abs(data.values[0]).max(initial=0.0)).any())


def with_copies(data: Outputs) -> Outputs:
    """Return the outputs with perturbed copies of the first replicate appended."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(_COPIES, *data.values.shape[1:]))
    digits = _DIGITS * np.finfo(data.values.dtype).eps
    copies = (data.values[:1] * (1 + digits * signs)).astype(data.values.dtype)
    return replace(
        data,
        values=np.concatenate([data.values, copies]),
        known=np.concatenate([data.known, np.repeat(data.known[:1], _COPIES, axis=0)]),
        replicates=np.concatenate([data.replicates, np.full(_COPIES, data.replicates[0])]),
        copies=_COPIES,
    )


def without_copies(values: Array, variance: Array) -> tuple[Array, Array]:
    """Return the estimates of the data themselves, and D with DᵀD the covariance that rounding adds to theirs.

    ``values`` are (replicates and copies, …, n) and ``variance`` (…, n); D is (copies, …, n), 0 where it is negligible.
    """
    own, copies = values[:-_COPIES], values[-_COPIES:]
    moved = _SAFETY / np.sqrt(_COPIES) * (copies - own[0])
    # Entries that rounding hardly moves keep their exact covariance.
    return own, np.where(np.square(moved).sum(axis=0) > _NEGLIGIBLE * variance, moved, 0.0)
