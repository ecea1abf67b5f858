"""The Gaussian prior of the hidden opinions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array
from peerpressure.support.parameters import is_labelled, values_in_order

# Or a series, mapping or data frame by label, which have no common type.
PerAgent: TypeAlias = float | Sequence[float] | NDArray[Any] | Any


@final
@dataclass(frozen=True, eq=False, init=False)
class Prior:
    """A Gaussian prior of the hidden opinions, x₀ ~ N(mean, variance).

    Parameters
    ----------
    mean : float, array, series or mapping, (agents,)
        One number for all agents, or one for each. A series or mapping is matched with the agents by label, an array
        taken in order.
    variance : float, array, series, mapping or data frame, (agents,) or (agents, agents)
        Likewise, or a positive definite covariance matrix, whose rows and columns a data frame names.

    Raises
    ------
    InvalidInputError
        If a number is not finite, a variance not positive, or the sizes differ.

    See Also
    --------
    recover : Takes a prior to return posterior means instead of unbiased estimates.

    Examples
    --------
    >>> from peerpressure import Prior
    >>> Prior.uniform(0, 1)
    Prior(mean 0.5, variance 0.0833333)
    >>> Prior({"bob": 0.2, "ann": 0.9}, 0.1).in_order(["ann", "bob"]).mean
    array([0.9, 0.2])
    """

    mean: Array
    variance: Array
    names: tuple[Hashable, ...] | None

    def __init__(self, mean: PerAgent, variance: PerAgent) -> None:
        mean, variance, names = _named(mean, variance)
        centre, spread = _numbers("mean", mean, most=1), _numbers("variance", variance, most=2)
        _check_positive(spread)
        sizes = {moment.shape[0] for moment in (centre, spread) if moment.ndim}
        if len(sizes) > 1:
            rule = "mean and variance of a prior must be of the same agents"
            got = f"{centre.shape[0]} means and {spread.shape[0]} variances"
            raise InvalidInputError(message(rule, got=got, remedy="give one of each per agent"))
        object.__setattr__(self, "mean", centre)
        object.__setattr__(self, "variance", spread)
        object.__setattr__(self, "names", names)

    def in_order(self, labels: Sequence[Any]) -> Prior:
        """Return the prior of the agents with these labels, in their order; one without names is in order already.

        Parameters
        ----------
        labels : sequence
            Labels of the agents, usually those of a network.

        Returns
        -------
        Prior
            Means and variances in the order of the labels.

        Raises
        ------
        InvalidInputError
            If a label has no name in the prior, or a name no label.
        """
        if self.names is None:
            return self
        places = np.array(values_in_order({name: k for k, name in enumerate(self.names)}, labels), dtype=np.intp)
        mean = self.mean[places] if self.mean.ndim else self.mean
        variance = self.variance[np.ix_(*[places] * self.variance.ndim)] if self.variance.ndim else self.variance
        return Prior(mean, variance)

    @classmethod
    def uniform(cls, low: float, high: float) -> Prior:
        """Return the Gaussian with mean and variance of the uniform law between two values.

        Parameters
        ----------
        low, high : float
            Ends of the uniform law, low < high.

        Returns
        -------
        Prior
            Mean (low + high)/2 and variance (high − low)²/12.

        Raises
        ------
        InvalidInputError
            If ``low`` is not below ``high``.
        """
        if not low < high:
            rule = "a uniform prior must reach from a lower to a higher value"
            raise InvalidInputError(message(rule, got=f"{low} to {high}", remedy="for instance from 0 to 1"))
        # Matching moments: linear estimators use only mean and variance of a prior.
        return cls((low + high) / 2, (high - low) ** 2 / 12)

    @property
    def is_diagonal(self) -> bool:
        """Whether opinions are independent under this prior."""
        return self.variance.ndim < 2

    def means(self, n: int) -> Array:
        """Return the mean of each of n agents.

        Parameters
        ----------
        n : int
            Number of agents.

        Returns
        -------
        array of shape (n,)
            Means, in units of opinion.

        Raises
        ------
        InvalidInputError
            If the prior is of another number of agents.
        """
        self._check_size(n)
        return np.broadcast_to(self.mean, (n,))

    def variances(self, n: int) -> Array:
        """Return the variance of each of n agents.

        Parameters
        ----------
        n : int
            Number of agents.

        Returns
        -------
        array of shape (n,)
            Variances.

        Raises
        ------
        InvalidInputError
            If the prior is of another number of agents.
        """
        self._check_size(n)
        return np.broadcast_to(self.variance, (n,)) if self.is_diagonal else self.variance.diagonal()

    def covariance(self, n: int) -> Array:
        """Return the covariance matrix of n agents.

        Parameters
        ----------
        n : int
            Number of agents.

        Returns
        -------
        array of shape (n, n)
            Covariances.
        """
        return np.diag(self.variances(n)) if self.is_diagonal else self.variance

    def given(self, known: Array) -> tuple[Array, Prior]:
        """Return the prior of some opinions given the others.

        Parameters
        ----------
        known : array of shape (replicates, n)
            The opinions that are known, and NaN for the f others, the same in all rows.

        Returns
        -------
        means : array of shape (replicates, f)
            Conditional means of the others.
        prior : Prior
            A prior with their conditional variance.
        """
        n = known.shape[1]
        free = np.isnan(known[0])
        mean, rows = self.means(n), known.shape[0]
        start = np.broadcast_to(mean[free], (rows, int(free.sum())))
        # Independent opinions do not inform one another, so conditioning only drops the known entries.
        if self.is_diagonal or free.all():
            spread = self.variance if self.variance.ndim != 1 else self.variance[free]
            return start, Prior(mean[free], spread)
        P = self.variance
        # A solve is more accurate than the inverse; Schur complement and gain share it.
        weight = np.linalg.solve(P[np.ix_(~free, ~free)], P[np.ix_(~free, free)])
        spread = P[np.ix_(free, free)] - P[np.ix_(free, ~free)] @ weight
        return start + (known[:, ~free] - mean[~free]) @ weight, Prior(mean[free], (spread + spread.T) / 2)

    def _check_size(self, n: int) -> None:
        if self.names is not None:
            rule, got = "a prior with the names of agents must be matched with them", f"{len(self.names)} names"
            raise InvalidInputError(message(rule, got=got, remedy="use prior.in_order(network.labels)"))
        for name, moment in (("mean", self.mean), ("variance", self.variance)):
            if moment.ndim and moment.shape[0] != n:
                rule = f"the {name} of a prior must be one number, or one for each of the {n} agents"
                raise InvalidInputError(message(rule, got=f"{moment.shape[0]} of them", remedy="check their number"))

    def __repr__(self) -> str:
        mean = f"{self.mean:.6g}" if self.mean.ndim == 0 else f"{self.mean.min():.4g}–{self.mean.max():.4g}"
        if self.variance.ndim == 0:
            return f"Prior(mean {mean}, variance {self.variance:.6g})"
        each = self.variances(self.variance.shape[0])
        kind = "variance" if self.is_diagonal else "correlated, variance"
        return f"Prior(mean {mean}, {kind} {each.min():.4g}–{each.max():.4g})"


def update(value: Array, covariance: Array, resolution: Array, mean: Array, prior: Array) -> tuple[Array, Array]:
    """Return mean and covariance of x given an estimate of what data resolve of it, by the conjugate rule.

    v = Πx + error, error ~ N(0, V), x ~ N(m, P):  G = PΠᵀ(ΠPΠᵀ + V)⁺,  E x = m + G(v − Πm),  Cov x = P − GΠP.

    ``value`` and ``mean`` are (replicates, f), the matrices (f, f); V may be singular, 0 even.
    """
    middle = resolution @ prior @ resolution.T + covariance
    # A least-squares solve is the pseudo-inverse: `middle` is singular where the data determine nothing (resolution 0).
    gain = np.linalg.lstsq(middle, resolution @ prior, rcond=None)[0].T
    spread = prior - gain @ resolution @ prior
    return mean + (value - mean @ resolution.T) @ gain.T, (spread + spread.T) / 2


def _named(mean: PerAgent, variance: PerAgent) -> tuple[PerAgent, PerAgent, tuple[Hashable, ...] | None]:
    """Return the numbers without names, those of the variance in the order of the mean, and the names if there are."""
    given = {"mean": mean, "variance": variance}
    tables = {name: value for name, value in given.items() if _has_names(value)}
    if not tables:
        return mean, variance, None
    first: Any = next(iter(tables.values()))
    names = tuple(first if isinstance(first, Mapping) else first.index.tolist())
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise InvalidInputError(message("each agent must have one value", got=f"{twice!r} twice", remedy="keep one"))
    for name, value in given.items():
        if name not in tables and np.ndim(value):
            rule = "mean and variance of a prior must both name their agents, or none of them"
            raise InvalidInputError(message(rule, got=f"a {name} without names", remedy="name both, or pass arrays"))
    return _in_order(mean, names), _in_order(variance, names), names


def _has_names(value: Any) -> bool:
    return is_labelled(value) or hasattr(value, "columns")


def _in_order(value: Any, names: tuple[Hashable, ...]) -> PerAgent:
    if is_labelled(value):
        return values_in_order(value, names)
    if not hasattr(value, "columns"):
        return value
    if {*value.index} != {*names} or {*value.columns} != {*names}:
        rule = "rows and columns of a covariance must have the same names, those of the means"
        raise InvalidInputError(message(rule, got=f"columns {[*value.columns][:3]}", remedy="rename them"))
    return value.loc[[*names], [*names]].to_numpy()


def _numbers(name: str, value: PerAgent, *, most: int) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        # NaN fails the check below: all invalid input gets the same message.
        array = np.array(np.nan)
    if array.ndim > most or array.size == 0 or not np.isfinite(array).all():
        rule = f"the {name} of a prior must be finite: one number, or one for each agent"
        remedy = "for instance Prior(0.5, 1/12)" + ("; a square matrix for correlated opinions" if most == 2 else "")
        raise InvalidInputError(message(rule, got=repr(value)[:60], remedy=remedy))
    # A frozen dataclass does not protect the contents of its arrays.
    array.flags.writeable = False
    return array


def _check_positive(spread: Array) -> None:
    if spread.ndim < 2:
        if not (spread > 0).all():
            remedy = "for an opinion that is known use a tiny variance"
            raise InvalidInputError(
                message("the variance of a prior must be positive", got=f"{spread.min():g}", remedy=remedy)
            )
        return
    if spread.shape[0] != spread.shape[1] or not np.allclose(spread, spread.T):
        rule = "the covariance of a prior must be square and symmetric"
        raise InvalidInputError(message(rule, got=f"shape {spread.shape}", remedy="use (P + P.T) / 2"))
    # With this much less on the diagonal, rounding errors cannot make up for an eigenvalue that is not positive.
    margin = np.finfo(np.float64).eps * len(spread) * float(np.trace(spread))
    _, failed = linalg.lapack.dpotrf(spread - margin * np.eye(len(spread)))
    # Eigenvalues take thirty times as long as the factor.
    if failed and (least := float(np.linalg.eigvalsh(spread)[0])) <= 0:
        rule = "the covariance of a prior must be positive definite"
        raise InvalidInputError(message(rule, got=f"smallest eigenvalue {least:g}", remedy="add to its diagonal"))
