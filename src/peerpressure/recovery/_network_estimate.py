"""An inferred network: weights with errors and confidences, what to doubt, and how well they rank the true edges."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, ndtri

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.recovery._network_likelihood import Index, Mask
from peerpressure.recovery.digits import grid_note
from peerpressure.support.parameters import checked_level
from peerpressure.support.results import read_only
from peerpressure.support.text import html_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# A weight with a confidence below this is negative, and so many of them are suspicious.
_NEGATIVE = 1e-3
# P-value of the test of distrust below which the summary warns.
_SUSPICIOUS = 1e-2


@final
@read_only
@dataclass(frozen=True, eq=False)
class NetworkEstimate:
    """A network that was inferred from answers, for the agents ``labels``.

    Weights are in units in which stubbornness is 1: w_ij = a_ij/s_i is how much agent i listens to agent j. A negative
    weight is distrust: i moves away from what j says.

    Attributes
    ----------
    labels : tuple
        The n observed agents, in the order of all arrays.
    weights : array of shape (n, n)
        Weights w_ij, which are negative only where ``signed``; 0 where no edge is selected.
    std : array of shape (n, n)
        Standard errors of the selected weights, given that the others are 0; NaN elsewhere.
    confidence : array of shape (n, n)
        One minus the p-value of the one-sided test of w_ij = 0 against w_ij > 0, or of the two-sided test where
        ``signed``: an absent edge exceeds 0.95 in 5 % of all cases. The test is that of the likelihood without the
        bounds w ≥ 0 and without a penalty: neither bound nor selection distorts it. NaN if it cannot be made: with
        fewer steps than agents, for instance.
    hidden, hidden_std : array of shape (n,)
        Hidden opinions x₀ and their standard errors.
    noise_std : array of shape (n,)
        Standard deviation σ_i of the noise, without its scale over time.
    scale_std : array of shape (n,)
        Standard error of log σ_i. The factor (w, x, σ) → c·(w, x, σ) is common to all of an agent's unknowns and is
        determined only by steps in which ρ_t d_i is small; errors of ``std`` and ``hidden_std`` contain it. Infinite
        where the answers do not determine it to a factor of √e: weights and x₀ then have an arbitrary scale.
    goodness_of_fit : array of shape (n,)
        The p-values of the test that an agent's residuals are uncorrelated from one step to the next, and of the same
        size early and late. Small ones mean that another model made the answers, such as rounded opinions or noise with
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
    spacing : float
        Spacing of the grid on which all answers lie, where it is not small beside their noise; 0 elsewhere.
    distrust_p_value : float
        The p-value of the test that no weight is negative; NaN where no edge can be tested.
    signed : bool
        Whether weights may be negative.

    See Also
    --------
    infer_network : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import path
    >>> from peerpressure.recovery import infer_network
    >>> model = Model(path(3), hidden=[0.0, 1.0, 2.0], noise=Gaussian(0.5))
    >>> estimate = infer_network(simulate(model, steps=400, seed=1), model.pressure)
    >>> estimate.average_precision(model.network)
    1.0
    """

    labels: tuple[Hashable, ...]
    weights: Array
    std: Array
    confidence: Array
    hidden: Array
    hidden_std: Array
    noise_std: Array
    scale_std: Array
    goodness_of_fit: Array
    penalty: Array
    steps: Index
    log_likelihood: float
    symmetric: bool
    unobserved: int
    spacing: float = 0.0
    distrust_p_value: float = float("nan")
    signed: bool = False

    @property
    def scale_identified(self) -> Mask:
        """Where the scale of an agent's weights is determined, to a factor of √e or better."""
        return np.isfinite(self.scale_std)

    @property
    def relative_weights(self) -> Array:
        """Shares w_ij/Σ_j |w_ij|, which do not depend on the scale; 0 for an agent that listens to nobody."""
        total = np.abs(self.weights).sum(axis=1, keepdims=True)
        return self.weights / np.where(total > 0, total, 1.0)

    def interval(
        self, level: float = 0.95, of: Literal["weights", "hidden", "noise_std"] = "weights"
    ) -> tuple[Array, Array]:
        """Return the lower and upper ends of confidence intervals; those of σ and of unsigned weights are 0 or more.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level, strictly between 0 and 1.
        of : {"weights", "hidden", "noise_std"}, default "weights"
            Which estimate.

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
        level = checked_level(level)
        if of not in ("weights", "hidden", "noise_std"):
            rule = "intervals are of weights, hidden or noise_std"
            raise InvalidInputError(message(rule, got=repr(of), remedy="check the spelling"))
        z = float(ndtri((1 + level) / 2))
        if of == "noise_std":
            # On the scale of log σ, whose law is closer to the normal one.
            return self.noise_std * np.exp(-z * self.scale_std), self.noise_std * np.exp(z * self.scale_std)
        value, error = (self.weights, self.std) if of == "weights" else (self.hidden, self.hidden_std)
        low = value - z * error
        return np.maximum(low, 0.0) if of == "weights" and not self.signed else low, value + z * error

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the inferred network, agents coloured by their estimated hidden opinions.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        network = Network(self.weights, self.labels, directed=True, signed=self.signed)
        return network.plot(ax, self.hidden if np.isfinite(self.hidden).all() else None)

    @property
    def value(self) -> Array:
        """The estimated weights, as every estimate has its numbers; (n, n)."""
        return self.weights

    def summary(self) -> str:
        """Return the size of the network, its noise, and what a reader must know, line by line.

        Returns
        -------
        str
            The text that ``print`` shows.
        """
        return str(self)

    @property
    def ranking(self) -> Array:
        """Scores (n, n) that order the pairs: by the size of the weight, and by confidence where the weight is 0."""
        # An unselected pair ranks below every selected one.
        return np.abs(self.weights) + 1e-9 * self._least * np.nan_to_num(self.confidence)

    @property
    def _selected(self) -> Mask:
        return np.asarray(self.weights != 0)

    @property
    def _least(self) -> float:
        sizes = np.abs(self.weights[self._selected])
        return float(sizes.min()) if sizes.size else 1.0

    @property
    def negative_pairs(self) -> Mask:
        """Pairs (n, n) with distrust: the negative weights where ``signed``, else those with a confidence below 0.001.

        The latter are pairs whose weight, without the bound, is negative at a level of 0.1 %.
        """
        if self.signed:
            return np.asarray(self.weights < 0)
        return np.asarray(np.nan_to_num(self.confidence, nan=1.0) < _NEGATIVE)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of the result, in sentences; empty if there is nothing to say."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        scale, n = float(np.median(self.scale_std)), len(self.labels)
        if np.isnan(self.confidence).all() and not self.unobserved:
            yield "confidences need more steps than agents; here weights only rank the pairs"
        elif scale > 0.1:
            yield (
                "most of a standard error is that of the scale, a factor of all weights of an agent; confidences and "
                "relative weights do not depend on it"
            )
        shown = self.distrust_p_value < _SUSPICIOUS
        if shown and not self.signed:
            yield (
                f"{int(self.negative_pairs.sum())} weights are negative at a level of 0.1 % (p = "
                f"{self.distrust_p_value:.1g} together): these answers show distrust, or do not fit the model. "
                "Weights are fitted as if none were negative, so the edges and confidences above may be false; "
                "infer a signed network, with weights of both signs"
            )
        if self.signed and self.distrust_p_value >= _SUSPICIOUS:
            yield (
                f"no weight is negative beyond chance (p = {self.distrust_p_value:.1g}): weights are more precise if "
                "they are inferred without signs"
            )
        # Bonferroni's correction: the smallest of many p-values is small by chance.
        if float(self.goodness_of_fit.min()) * n < 1e-4:
            yield "residuals depend on time: the model does not fit the data"
        if self.unobserved:
            yield f"{self.unobserved:,} agents are not observed: weights are biased"
        if self.spacing:
            effect = "and are taken as exact, so weights and intervals may be wrong"
            remedy = "where the network is known, fit and recover take {rounding}"
            yield grid_note(self.spacing, effect, remedy)

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
        """Return tidy rows for the pairs with a weight other than 0, or with at least some confidence.

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

        chosen = self._selected if confidence == 0 else self.confidence >= confidence
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
        head, rows = self._described()
        indented = "\n" + " " * 20
        return "\n".join([head, *(f"  {name:<18}{indented.join(wrap(text, 88))}" for name, text in rows)])

    def _repr_html_(self) -> str:
        head, rows = self._described()
        return f"<div>{html_table(rows, head)}</div>"

    def _described(self) -> tuple[str, list[tuple[str, str]]]:
        """Return a heading, and the facts by name."""
        n = len(self.labels)
        kind = ("symmetric" if self.symmetric else "directed") + (", with distrust" if self.signed else "")
        scale, (fewest, longest) = float(np.median(self.scale_std)), (int(self.steps.min()), int(self.steps.max()))
        steps = f"{fewest:,}" if fewest == longest else f"{fewest:,} to {longest:,}"
        known = f"standard error {scale * np.median(self.noise_std):.2g}" if np.isfinite(scale) else "as assumed"
        rows = [
            ("edges selected", f"{self._count()} of {n * (n - 1):,} ordered pairs"),
            ("confident at 99%", f"{int(np.sum(self.confidence >= 0.99)):,}"),
            ("noise", f"{np.median(self.noise_std):.4g} (median agent), {known}"),
            ("scale of weights", f"identified for {int(self.scale_identified.sum()):,} of {n:,} agents"),
        ]
        rows += [("note", note) for note in self.notes]
        return f"Network of {n:,} agents, {kind}, from {steps} steps of each", rows

    def __repr__(self) -> str:
        kind = "weights of both signs" if self.signed else "weights above 0"
        return f"NetworkEstimate({len(self.labels)} agents, {int(self._selected.sum())} {kind})"

    def _count(self) -> str:
        """Return the number of selected weights, and how many of them are negative, where they may be."""
        negative = f" ({int(self.negative_pairs.sum()):,} negative)" if self.signed else ""
        return f"{int(self._selected.sum()):,}{negative}"


def distrust(one_sided: Array) -> float:
    """Return the p-value of the test that no weight is negative, from the one-sided confidence of each pair, (n, n).

    Weights of absent edges are equally likely to be estimated above and below 0, so few confidences are close to 0. The
    test is of the least one, with Bonferroni's correction, and of the number of those below 0.001.
    """
    values = one_sided[np.isfinite(one_sided) & ~np.eye(len(one_sided), dtype=bool)]
    if not values.size:
        return float("nan")
    # A share of 0.1 % of so many tests reaches that level by chance.
    low = int((values < _NEGATIVE).sum())
    many = float(bdtrc(low - 1, values.size, _NEGATIVE)) if low else 1.0
    return min(1.0, 2 * min(values.size * float(values.min()), many))


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
