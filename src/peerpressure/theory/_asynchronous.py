"""Exact moments where it is random who updates: the step in the mean, and the covariance that chance adds to it.

With the change δ_t = g_t ∘ (x + ε_t) + C_t y_{t−1} − y_{t−1} of those who update, and masks m_t of mean q that are
independent of it, y_t = (y_{t−1} + q ∘ δ_t) + (m_t − q) ∘ δ_t. The first part is an affine map with the gain q ∘ g, the
coupling QC and the share 1 − q of the old opinion; the second has mean 0, is uncorrelated with everything of the past,
and has the covariance Cov(m) ∘ E[δδᵀ].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.statespace import ModelTransition, StateLayout, model_transitions


@final
@dataclass(frozen=True, eq=False)
class AveragedStep:
    """A step: ``averaged`` over who updates, and ``synchronous``, as it is for those who do.

    ``masks`` is the covariance of the masks, (agents, agents); None where it is known who updates, and both are one.
    """

    averaged: ModelTransition
    synchronous: ModelTransition
    masks: Vector | None

    def added_by_chance(self, mean: Vector, P: Vector, R: Vector, hidden: Vector) -> Vector | None:
        """Return the covariance that the masks add to the public opinions, Cov(m) ∘ E[δδᵀ], (agents, agents).

        ``mean`` and ``P`` are the mean and covariance of the state before the step, and ``R`` its covariance with the
        noise memory.
        """
        if self.masks is None:
            return None
        n, N, phi = len(self.masks), self.synchronous.noise_std, self.synchronous.phi
        expected = self._change(mean, hidden)
        found = self._change(np.ascontiguousarray(self._change(P).T))
        if R.size:
            cross = phi * self._change(R) * N
            found += cross + cross.T
        found[np.diag_indices(n)] += N**2
        found += np.outer(expected, expected)
        found *= self.masks
        return found

    def _change(self, columns: Vector, hidden: Vector | None = None) -> Vector:
        n = self.synchronous.layout.agents
        return np.asarray(self.synchronous.forward(columns, hidden=hidden)[:n] - columns[:n])

    @property
    def reaches(self) -> Vector:
        """The weights of an agent's own y_t in y_t and, where that is in the state, x_{t+1}; (1 or 2, agents)."""
        rate, n = self.averaged.update.adaptation_rate, self.averaged.layout.agents
        later = [] if not self.averaged.layout.has_hidden else [np.zeros(n) if rate is None else rate]
        return np.stack([np.ones(n), *later])


def averaged_transitions(model: Model, times: range, layout: StateLayout) -> Iterator[AveragedStep]:
    """Yield the steps of any model that lead to these times, averaged over who updates where that is random."""
    activation = model.activation
    if activation is None or not activation.is_random:
        yield from (AveragedStep(step, step, None) for step in model_transitions(model, times, layout=layout))
        return
    q = activation.probabilities
    masks = activation.pairs - np.outer(q, q)
    for step in model_transitions(model.synchronous, times, layout=layout):
        yield AveragedStep(replace(step, update=step.update.lazy(q), noise_std=q * step.noise_std), step, masks)
