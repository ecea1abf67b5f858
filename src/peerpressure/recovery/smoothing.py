"""One pass backwards through what the filter did, which tells each state what later outputs say of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from peerpressure.model import Vector
from peerpressure.recovery.filtering import Correction, Moment
from peerpressure.recovery.knowledge import Belief


def run_smoother(moments: Sequence[Moment], hidden: Belief) -> Iterator[tuple[int, Belief]]:
    """Yield (t, belief about the state z_t given all outputs), from the last step down to 0.

    Given x₀, E z_t = a + B x₀ + P r and Cov z_t = P − P N P, where r and N sum up the innovations of t and later:
    r ← h v/f + Lᵀr and N ← h hᵀ/f + LᵀNL with L = I − K hᵀ for each output, r ← Fᵀr and N ← FᵀNF for each step.
    No covariance is inverted, so that states which noise does not reach are no special case.
    """
    n = hidden.mean.shape[1]
    states = moments[-1].predicted.root.shape[0]
    r = np.zeros((states, hidden.mean.shape[0] + n))
    N = np.zeros((states, states))
    for moment in reversed(moments):
        for correction in reversed(moment.corrections):
            r, N = _before(correction, r, N)
        yield moment.t, _smoothed(moment, hidden, r, N)
        if moment.step:
            r = moment.step.backward(r)
            N = moment.step.backward(moment.step.backward(N).T)


def _before(correction: Correction, r: Vector, N: Vector) -> tuple[Vector, Vector]:
    """Return r and N before one output; the columns of r are constants and then slopes in x₀."""
    agent, gain, f = correction.agent, correction.gain, correction.variance
    innovation = np.concatenate([correction.constant, -correction.slope])
    r = r.copy()
    r[agent] += innovation / f - gain @ r
    N = N.copy()
    N[:, agent] -= N @ gain
    N[agent] -= gain @ N
    N[agent, agent] += 1 / f
    return r, N


def _smoothed(moment: Moment, hidden: Belief, r: Vector, N: Vector) -> Belief:
    state = moment.predicted
    root, replicates = state.root, state.mean.shape[1]
    reach = root @ (root.T @ r)
    spread = root @ (np.eye(root.shape[1]) - root.T @ N @ root) @ root.T
    constant, slope = state.mean + reach[:, :replicates], state.slope + reach[:, replicates:]
    return hidden.image(constant.T, slope, spread)
