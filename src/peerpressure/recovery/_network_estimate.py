"""The result of inferring a network: weights with errors and confidences, and how well they rank the true edges."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Vector
from peerpressure.networks import Network
from peerpressure.recovery._network_likelihood import Index, Mask

if TYPE_CHECKING:
    import pandas


@final
@dataclass(frozen=True, eq=False)
class NetworkEstimate:
    """A network that was inferred from outputs, for the agents ``labels``.

    Weights are in units in which stubbornness is 1: w_ij = a_ij/s_i is how much agent i listens to agent j.

    Attributes
    ----------
    labels : tuple
        The n observed agents, in the order of all arrays.
    weights : array of shape (n, n)
        Weights w_ij ≥ 0; 0 where no edge is selected.
    std : array of shape (n, n)
        Standard errors of the positive weights, given that the others are 0; NaN elsewhere.
    confidence : array of shape (n, n)
        One minus the p-value of the one-sided test of w_ij = 0 against w_ij > 0: an absent edge exceeds 0.95 in 5 % of
        all cases. The test is that of the likelihood without the bounds w ≥ 0 and without a penalty, so that neither
        bound nor selection distorts it. NaN where it cannot be made: with fewer steps than agents, for instance.
    hidden, hidden_std : array of shape (n,)
        Hidden opinions x₀ and their standard errors.
    noise_std : array of shape (n,)
        Standard deviation σ_i of the noise, without its scale over time.
    scale_std : array of shape (n,)
        Standard error of log σ_i. The factor (w, x, σ) → c·(w, x, σ) is common to all of an agent's unknowns and is
        determined only by steps in which ρ_t d_i is small; errors of ``std`` and ``hidden_std`` contain it. Infinite
        where the outputs do not determine it to a factor of √e: weights and x₀ then have an arbitrary scale.
    goodness_of_fit : array of shape (n,)
        The p-values of the test that an agent's residuals are uncorrelated from one step to the next, and of the same
        size early and late. Small ones mean that another model made the outputs, such as rounded opinions or noise with
        memory; unobserved neighbours do not show.
    penalty : array of shape (n,)
        The penalty of each agent, in units of √(2 log n) standard errors; 0 if there was none.
    steps : array of shape (n,)
        Observed transitions that entered, over all replicates.
    log_likelihood : float
        Log-likelihood of the Gaussian law at the estimate, of x₀ as well.
    symmetric : bool
        Whether a_ij = a_ji was imposed.
    unobserved : int
        Agents that are not observed. If there are any, weights contain what the observed agents repeat of them, and no
        standard errors or confidences are given.

    See Also
    --------
    infer_network : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import path
    >>> from peerpressure.recovery import infer_network
    >>> model = Model(path(3), hidden=[0.0, 1.0, 2.0], noise=Gaussian(0.5))
    >>> found = infer_network(simulate(model, steps=400, seed=1), model.pressure)
    >>> found.average_precision(model.network)
    1.0
    """

    labels: tuple[Hashable, ...]
    weights: Vector
    std: Vector
    confidence: Vector
    hidden: Vector
    hidden_std: Vector
    noise_std: Vector
    scale_std: Vector
    goodness_of_fit: Vector
    penalty: Vector
    steps: Index
    log_likelihood: float
    symmetric: bool
    unobserved: int

    @property
    def scale_identified(self) -> Mask:
        """Where the scale of an agent's weights is determined, to a factor of √e or better."""
        return np.isfinite(self.scale_std)

    @property
    def relative_weights(self) -> Vector:
        """Shares w_ij/Σ_j w_ij, which do not depend on the scale; 0 for an agent that listens to nobody."""
        total = self.weights.sum(axis=1, keepdims=True)
        return self.weights / np.where(total > 0, total, 1.0)

    def interval(self, of: Literal["weights", "hidden", "noise_std"], level: float = 0.95) -> tuple[Vector, Vector]:
        """Return the lower and upper ends of confidence intervals; those of weights and σ are never negative.

        Parameters
        ----------
        of : {"weights", "hidden", "noise_std"}
            Which estimate.
        level : float, default 0.95
            Confidence level, strictly between 0 and 1.

        Returns
        -------
        low : array in the shape of the estimate
            Lower ends.
        high : array in the shape of the estimate
            Upper ends.

        Raises
        ------
        InvalidInputError
            If the level is not strictly between 0 and 1, or there is no such estimate.
        """
        if not 0 < level < 1:
            raise InvalidInputError(message("a level must be between 0 and 1", got=level, remedy="for instance 0.95"))
        if of not in ("weights", "hidden", "noise_std"):
            rule = "intervals are of weights, hidden or noise_std"
            raise InvalidInputError(message(rule, got=repr(of), remedy="check the spelling"))
        z = float(ndtri((1 + level) / 2))
        if of == "noise_std":
            # On the scale of log σ, whose law is closer to the normal one.
            return self.noise_std * np.exp(-z * self.scale_std), self.noise_std * np.exp(z * self.scale_std)
        value, error = (self.weights, self.std) if of == "weights" else (self.hidden, self.hidden_std)
        low = value - z * error
        return np.maximum(low, 0.0) if of == "weights" else low, value + z * error

    @property
    def ranking(self) -> Vector:
        """Scores (n, n) that order the pairs: by weight, and by confidence where the weight is 0."""
        # An unselected pair ranks below every selected one.
        return self.weights + 1e-9 * self._largest * np.nan_to_num(self.confidence)

    @property
    def _largest(self) -> float:
        positive = self.weights[self.weights > 0]
        return float(positive.min()) if positive.size else 1.0

    def average_precision(self, network: Network) -> float:
        """Return the average precision of the ranking of ordered pairs against the edges of a network.

        Parameters
        ----------
        network : Network
            The true network, with all of ``labels``.

        Returns
        -------
        float
            A number from 0 to 1; NaN where the observed agents have no edge.
        """
        picked = network.indices(self.labels)
        truth = network.adjacency.toarray()[np.ix_(picked, picked)] != 0
        return average_precision(truth, self.ranking)

    def to_dataframe(self, confidence: float = 0.0) -> pandas.DataFrame:
        """Return tidy rows for the pairs with a weight above 0, or with at least some confidence.

        Parameters
        ----------
        confidence : float, default 0.0
            Least confidence of a pair; 0 selects by the weights.

        Returns
        -------
        pandas.DataFrame
            Columns ``agent``, ``neighbour``, ``weight``, ``std`` and ``confidence``.
        """
        import pandas

        chosen = self.weights > 0 if confidence == 0 else self.confidence >= confidence
        i, j = np.nonzero(chosen)
        columns = {
            "agent": [self.labels[k] for k in i],
            "neighbour": [self.labels[k] for k in j],
            "weight": self.weights[i, j],
            "std": self.std[i, j],
            "confidence": self.confidence[i, j],
        }
        return pandas.DataFrame(columns)

    def __str__(self) -> str:
        n = len(self.labels)
        kind = "symmetric" if self.symmetric else "directed"
        scale, (least, most) = float(np.median(self.scale_std)), (int(self.steps.min()), int(self.steps.max()))
        steps = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        known = f"standard error {scale * np.median(self.noise_std):.2g}" if np.isfinite(scale) else "as assumed"
        lines = [
            f"Network of {n:,} agents, {kind}, from {steps} steps of each",
            f"  edges selected    {int((self.weights > 0).sum()):,} of {n * (n - 1):,} ordered pairs",
            f"  confident at 99%  {int(np.sum(self.confidence >= 0.99)):,}",
            f"  noise             {np.median(self.noise_std):.4g} (median agent), {known}",
            f"  scale of weights  identified for {int(self.scale_identified.sum()):,} of {n:,} agents",
        ]
        if np.isnan(self.confidence).all() and not self.unobserved:
            lines.append(
                "  note              confidences need more steps than agents; here weights only rank the pairs"
            )
        elif scale > 0.1:
            lines.append(
                "  note              most of a standard error is that of the scale, a factor of all weights of an"
            )
            lines.append("                    agent; confidences and relative weights do not depend on it")
        # Bonferroni's correction: the smallest of many p-values is small by chance.
        if float(self.goodness_of_fit.min()) * n < 1e-4:
            lines.append("  note              residuals depend on time: another model made these outputs")
        if self.unobserved:
            lines.append(f"  note              {self.unobserved:,} agents are not observed: weights are biased")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"NetworkEstimate({len(self.labels)} agents, {int((self.weights > 0).sum())} weights above 0)"


def average_precision(truth: ArrayLike, score: ArrayLike) -> float:
    """Return the average precision of scores of ordered pairs against a matrix of edges.

    The mean, over the edges, of the precision at the edge's own rank; pairs with equal scores share one rank.
    The diagonal is left out.

    Parameters
    ----------
    truth : array_like of bool, shape (n, n)
        Which ordered pairs are edges.
    score : array_like of float, shape (n, n)
        Larger for pairs that are more likely edges.

    Returns
    -------
    float
        A number from 0 to 1; NaN where there are no edges.

    See Also
    --------
    NetworkEstimate.average_precision : That of an inferred network.

    Examples
    --------
    >>> from peerpressure.recovery import average_precision
    >>> round(average_precision([[0, 1], [0, 0]], [[0, 0.2], [0.7, 0]]), 2)
    0.5
    """
    actual = np.asarray(truth, dtype=bool)
    off = ~np.eye(len(actual), dtype=bool)
    actual, value = actual[off], np.asarray(score, dtype=np.float64)[off]
    order = np.argsort(-value, kind="stable")
    actual, value = actual[order], value[order]
    if not actual.any():
        return float("nan")
    # The last position of each run of equal scores.
    ends = np.flatnonzero(np.append(np.diff(value) != 0, True))
    hits = np.cumsum(actual)[ends]
    return float((np.diff(hits, prepend=0) * hits / (ends + 1)).sum() / actual.sum())
