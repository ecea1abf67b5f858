"""The weight of the mean of the neighbours' last answers in the next one; its interval assumes no law of errors.

Least squares with levels of agents and effects of periods, as for the placebo, have a bias that grows with the weight
and falls with the number of rows: an error is part of the level that is taken out, and of all later answers (Nickell).
The bias is computed from the residuals: their signs are drawn again, and the equation passes them on.

References
----------
.. [1] S. Nickell (1981), Biases in dynamic models with fixed effects. Econometrica 49.
.. [2] J. Hahn and G. Kuersteiner (2002), Asymptotically unbiased inference for a dynamic panel model with fixed effects
   when both n and T are large. Econometrica 70.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from peerpressure.fitting._place_placebo import PartialEffect
from peerpressure.fitting._record import Panel
from peerpressure.fitting._response import Weight
from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled

# Numbers by which the bias is averaged, at least this many draws of them, and the steps in which it is found.
_NUMBERS, _LEAST_DRAWS, _MOST_DRAWS, _ROUNDS = 1_000, 4, 50, 6
_SLOPE = 0.02  # difference of weights by which the slope of the bias is taken
# Sum of the weights of neighbours and of the own last answer beyond which errors would grow.
_STABLE = 0.99
# Change of the estimate with the truth below which it says nothing of it.
_LEAST_SLOPE = 0.1
UNKNOWN = Weight(np.nan, -np.inf, np.inf, np.inf)


def neighbour_weight(panel: Panel) -> Weight:
    """Return the weight of the neighbours' mean with its 95 % interval; NaN where all hear the same."""
    parts = PartialEffect(panel)
    if not np.isfinite(parts(np.arange(panel.n)[None])).all():
        return UNKNOWN
    return _Regression(panel, parts).weight()


class _Regression:
    """Answers on the neighbours' mean and on the own last answer, without levels and effects of periods."""

    def __init__(self, panel: Panel, parts: PartialEffect) -> None:
        self.parts, (self.periods, self.people) = parts, parts.used.shape
        self.listening = parts.listening
        self.regressors = np.stack([parts.around(np.arange(panel.n)[None])[0][0], parts.own])
        self.answers = parts.within(panel.filled[1:] - np.nanmean(panel.rows))
        self.information = np.einsum("ktn,ltn->kl", self.regressors, self.regressors)
        self.inverse = np.linalg.pinv(self.information, rcond=1e-12, hermitian=True)
        self.least_squares = self.inverse @ np.einsum("ktn,tn->k", self.regressors, self.answers)
        count = float(parts.used.sum())
        self.left = count - self.periods - self.people - 1
        self.inflation = count / max(self.left, 1.0)
        draws = int(np.clip(_NUMBERS // self.people, _LEAST_DRAWS, _MOST_DRAWS))
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(draws, self.periods, self.people))
        self.errors = np.moveaxis(signs * self._residual(self.least_squares) * np.sqrt(self.inflation), 0, 2)

    def weight(self) -> Weight:
        """Return the estimate without its bias, and the interval."""
        estimate = self.least_squares
        for _ in range(_ROUNDS):
            check_cancelled()
            # Weights beyond 1 mean nothing, and the search would run away with them.
            estimate = np.clip(self.least_squares - self._bias(estimate), -1.0, 1.0)
        change = np.column_stack(
            [self._bias(estimate + step) - self._bias(estimate - step) for step in _SLOPE * np.eye(2)]
        )
        slope = np.eye(2) + change / (2 * _SLOPE)
        value, reach = float(estimate[0]), np.inf
        if self.left >= 1 and np.linalg.svd(slope, compute_uv=False)[-1] > _LEAST_SLOPE:
            back = np.linalg.inv(slope)
            std = float(np.sqrt((back @ self._covariance(estimate) @ back.T)[0, 0]))
            reach = float(stats.t.ppf(0.975, max(self._effective - 1, 1.0))) * std
            return Weight(value, value - reach, value + reach, std)
        return UNKNOWN._replace(value=value)

    def _residual(self, estimate: Array) -> Array:
        return np.asarray(self.parts.used * (self.answers - np.tensordot(estimate, self.regressors, 1)))

    def _bias(self, estimate: Array) -> Array:
        """Return the bias of least squares where these are the weights of the neighbours' mean and the last answer."""
        neighbours, own = estimate * min(1.0, _STABLE / max(float(np.abs(estimate).sum()), 1e-12))
        last = np.zeros((self.people, self.errors.shape[2]))
        lasts, means = np.empty((2, *self.errors.shape))
        for row, W in enumerate(self.listening):
            lasts[row], means[row] = last, W @ last
            last = own * last + neighbours * means[row] + self.errors[row]
        errors, values = np.moveaxis(self.errors, 2, 0), np.moveaxis(np.stack([means, lasts]), 3, 1)
        # Errors are related to what is taken out alone: the rest of the product is 0 on average.
        products = -np.einsum("dtn,kdtn->k", errors, values - self.parts.within(values))
        return np.asarray(self.inverse @ products / len(errors))

    def _covariance(self, estimate: Array) -> Array:
        """Return the covariance of least squares from sums over all steps of each person, without their leverage."""
        scores = np.einsum("ktn,tn->nk", self.regressors, self._residual(estimate))
        by_person = np.einsum("ktn,ltn->nkl", self.regressors, self.regressors)
        scores = np.linalg.solve(np.eye(2) - 0.999 * by_person @ self.inverse, scores[:, :, None])[:, :, 0]
        return np.asarray(self.inflation * self.inverse @ (scores.T @ scores) @ self.inverse)

    @property
    def _effective(self) -> float:
        """The number of people who carry the information about the weight."""
        own = self.information[0, 1] / max(self.information[1, 1], 1e-300)
        by_person = np.square(self.regressors[0] - own * self.regressors[1]).sum(axis=0)
        return float(by_person.sum() ** 2 / np.square(by_person).sum())
