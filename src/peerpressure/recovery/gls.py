"""Generalised least squares, solved in one piece: the reference that recursions are held against.

All outputs that are seen are stacked into Y = Q x₀ + q + L e, where e are independent draws of unit variance.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from peerpressure.errors import TooLargeError, complain
from peerpressure.model import Model, Vector
from peerpressure.recovery.estimate import Estimate
from peerpressure.recovery.knowledge import estimate_of, known_before
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior

# Numbers in L; its factorisation takes some ten seconds at this size.
_LARGEST = 1.6e7
# A row of L that is, to this precision, a sum of others carries no noise of its own.
_RANK_TOLERANCE = 1e-12
# An exact fact with smaller weights than this says nothing of x₀.
_VOID = 1e-10


def gls(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate of x₀ (with a prior, the conditional mean) from one dense system.

    x̂₀ = (QᵀV⁻¹Q)⁻¹QᵀV⁻¹(Y − q),  V = L Lᵀ;  V may be singular: what noise does not reach is an exact fact. Only the
    second moments of noise enter, whatever its law; if it is Gaussian, this is the maximum of the likelihood.
    """
    _refuse_large(model, data)
    Q, q, L = stacked(model, data)
    values = np.asarray(data.values[:, data.present], dtype=np.float64).T - q[:, None]
    facts = separated(np.concatenate([Q, values], axis=1), L, model.n)
    return estimate_of(model, data, "gls", known_before(model, data, prior).learn(*facts))


def stacked(model: Model, data: Outputs) -> tuple[Vector, Vector, Vector]:
    """Return Q (outputs, n), q (outputs,) and L of all outputs that are seen, in the order of time and then of agents.

    With the covariance of noise over time factored as K = W Wᵀ, agent i has ε_t = std_i Σ_k W[t, k] e_{k,i}.
    """
    n, last = model.n, data.seen.last
    root = _root_of_time(model, last)
    hidden_start = isinstance(model.start, str)
    # Columns: how y_t, and what agents hold, depend on x₀, on 1 and on each draw.
    public = np.zeros((n, n + 1 + last * n))
    public[:, :n], public[:, n] = np.eye(n) * hidden_start, 0.0 if hidden_start else model.start_state
    held = np.zeros_like(public)
    held[:, :n] = np.eye(n)
    each = np.arange(n)
    rows: list[Vector] = []
    for t in range(last + 1):
        if t:
            update = model.update(t)
            public = update.couple(public) + update.gain[:, None] * held
            draws = public[:, n + 1 :].reshape(n, last, n)
            draws[each, :, each] += np.outer(update.gain * model.noise.deviations(n), root[t - 1])
            held = update.adapt(held, public)
        for row in np.flatnonzero(data.seen.times == t):
            rows.append(public[data.seen.agents[data.present[row]]])
    Q, q, L = np.split(np.concatenate(rows), [n, n + 1], axis=1)
    if data.seen.blur:
        L = np.concatenate([L, np.sqrt(data.seen.blur) * np.eye(len(L))], axis=1)
    return Q, q[:, 0], L


def _root_of_time(model: Model, last: int) -> Vector:
    """Return W with W Wᵀ = K, the covariance of one agent's noise over the times 1…last, which may be singular."""
    if not last:
        return np.empty((0, 0))
    times = np.arange(1, last + 1)
    scale = model.noise.scale(times)
    values, vectors = np.linalg.eigh(model.noise.temporal.correlation(times))
    # A correlation that vanishes is rounded to one of order 1e-16, the root of which would not be small.
    kept = values > last * np.finfo(float).eps * values[-1]
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.where(kept, values, 0.0)))


def separated(facts: Vector, L: Vector, n: int) -> tuple[Vector, Vector, Vector]:
    """Return facts, rows of [Q | Y], as exact ones, with their errors, and ones blurred by independent unit noise.

    With LᵀΠ = U [R₁ R₂; 0 R₃], the first rows divided by R₁ᵀ have unit noise; what they explain of the others is all
    noise but for R₃, which may be a rounding error of 0, or be what it seems to be.
    """
    size = np.linalg.norm(L, axis=1)
    noisy = size > 0
    scaled = facts[noisy] / size[noisy, None]
    if not scaled.size:
        return *_telling(facts, np.zeros(len(facts)), n), facts[:0]
    triangle, order = linalg.qr((L[noisy] / size[noisy, None]).T, mode="r", pivoting=True)
    reach = np.abs(triangle.diagonal())
    rank = int(np.count_nonzero(reach > _RANK_TOLERANCE * reach[0]))
    blurred = linalg.solve_triangular(triangle[:rank, :rank], scaled[order[:rank]], trans="T")
    exact = scaled[order[rank:]] - triangle[:rank, rank:].T @ blurred
    errors = np.concatenate([np.zeros(int((~noisy).sum())), np.linalg.norm(triangle[rank:, rank:], axis=0)])
    return *_telling(np.concatenate([facts[~noisy], exact]), errors, n), blurred


def _telling(exact: Vector, errors: Vector, n: int) -> tuple[Vector, Vector]:
    """Return the exact facts that are of x₀ at all, with their errors."""
    telling = np.linalg.norm(exact[:, :n], axis=1) > _VOID
    return np.asarray(exact[telling]), np.asarray(errors[telling])


def _refuse_large(model: Model, data: Outputs) -> None:
    numbers = int(data.present.sum()) * model.n * max(1, data.seen.last)
    if numbers > _LARGEST:
        rule = f"generalised least squares in one piece takes up to {_LARGEST:.2g} numbers"
        remedy = "use method='kalman', which gives the same estimate step by step"
        raise TooLargeError(complain(rule, got=f"{numbers:.2g}", remedy=remedy))
