"""Exact mean and variance of public and hidden opinions, without sampling."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system
from peerpressure.model.step import Array
from peerpressure.sde import SDE, moments_at, moments_of
from peerpressure.support.progress import ShouldStop, cancellable
from peerpressure.support.results import read_only
from peerpressure.support.text import curve, html_sketch, html_table
from peerpressure.theory.propagation._functionals import (
    Functionals,
    Times,
    real_times,
    stacked,
    step_count,
    whole_times,
)
from peerpressure.theory.propagation._recursions import Sums, forward_moments, moments_of_sums

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


What: TypeAlias = Literal["public", "hidden", "joint"]

# A full covariance of this size takes 32 MB, and a step of it some 50 ms.
LARGEST_COVARIANCE = 2_000
_TABLE = "simulate instead, or give a table of who updates as the activation, for which there are functionals"
_LISTED, _SKETCHED = 6, 25  # names in the table and in the sketch of a notebook


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Mean and variance of agents, or of functionals, as ``moments`` returns them.

    They are exact for every noise distribution, as only its standard deviation enters.

    Attributes
    ----------
    times : array of shape (times,)
        Steps, or real times for an ``SDE``.
    names : tuple
        Labels of agents, or names of functionals.
    mean, variance : array of shape (times, names)
        Moments at each time.
    covariance : array of shape (names, names)
        Covariance at the last time.

    See Also
    --------
    moments : Computes them.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, moments
    >>> from peerpressure.networks import k2
    >>> result = moments(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(1.0)), 2)
    >>> result.mean[-1].round(3), result.variance[-1].round(3)
    (array([0.333, 0.667]), array([0.222, 0.222]))
    """

    times: Times | NDArray[np.float64]
    names: tuple[Hashable, ...]
    mean: Array
    variance: Array
    covariance: Array

    def __post_init__(self) -> None:
        for array in (self.times, self.mean, self.variance, self.covariance):
            # A frozen dataclass does not protect the contents of its arrays.
            array.flags.writeable = False

    @property
    def std(self) -> Array:
        """The standard deviations, shape (times, names)."""
        return np.sqrt(self.variance)

    def band(self, z: float = 1.96) -> tuple[Array, Array]:
        """Return mean − z·std and mean + z·std; 1.96 covers 95 % of a normal distribution.

        Parameters
        ----------
        z : float, default 1.96
            Half-width in standard deviations.

        Returns
        -------
        low : array of shape (times, names)
            Lower end of the band.
        high : array of shape (times, names)
            Upper end of the band.
        """
        half_width = z * self.std
        return self.mean - half_width, self.mean + half_width

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean over time, with a band that covers 95 % of a normal distribution for at most 12 names.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from peerpressure.plotting.results import bands

        return bands(ax, self.times, self.mean, *self.band(), [str(name) for name in self.names])

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row for each time and name, with columns time, name, mean and std.

        Returns
        -------
        pandas.DataFrame
            Columns ``time``, ``name``, ``mean`` and ``std``.
        """
        import pandas as pd

        count = len(self.names)
        return pd.DataFrame(
            {
                "time": np.repeat(self.times, count),
                "name": [*self.names] * self.times.size,
                "mean": self.mean.ravel(),
                "std": self.std.ravel(),
            }
        )

    def __repr__(self) -> str:
        first, last = (f"{time:.6g}" if isinstance(time, float) else f"{time}" for time in self.times[[0, -1]].tolist())
        when = f"t = {first}" + f"…{last} ({self.times.size} times)" * (self.times.size > 1)
        if len(self.names) > 4:
            what = f"{len(self.names):,} agents or functionals"
        else:
            final_values = zip(self.names, self.mean[-1], self.std[-1], strict=True)
            what = "; ".join(f"{name} {mean:.6g} ± {std:.3g}" for name, mean, std in final_values)
        return f"Moments({when}, at the end {what})"

    def _repr_html_(self) -> str:
        last, shown = self.times[-1], slice(_LISTED)
        final = zip(self.names[shown], self.mean[-1, shown], self.std[-1, shown], strict=True)
        rows = [(str(name), f"{mean:.6g} ± {std:.3g}") for name, mean, std in final]
        more = len(self.names) - len(rows)
        rows += [("", f"and {more:,} more")] * (more > 0)
        lines = [curve(self.times, self.mean[:, k]) for k in range(min(len(self.names), _SKETCHED))]
        sketch = html_sketch(lines, "means over time") if self.times.size > 1 else ""
        return f"<div>{html_table(rows, f'Mean ± standard deviation at t = {last:,.6g}')}{sketch}</div>"


def moments(
    model: System,
    steps: int,
    of: Functionals | None = None,
    *,
    times: ArrayLike | None = None,
    what: What = "public",
    should_stop: ShouldStop | None = None,
) -> Moments:
    """Return the exact mean and variance of opinions, or of functionals of them, up to t = ``steps``.

    Parameters
    ----------
    model : Model or SDE
        The model, in discrete or continuous time.
    steps : int
        The last step, at least 1; steps of an ``SDE`` have its own length.
    of : Functional, sequence of them, or array of shape (functionals, agents), optional
        Weighted sums, for any number of agents; the work grows with the number of times. Left out, every agent, for up
        to 2,000 of them (1,000 where hidden opinions count).
    times : array_like, optional
        Times from 0 to the last; they are returned in order, each once. By default every step, or the last one for
        functionals.
    what : {"public", "hidden", "joint"}, default "public"
        Public opinions y_t, hidden opinions x_{t+1} after step t, or both, public ones first; functionals then have
        2·agents weights.
    should_stop : callable, optional
        Called at every step; the work is cancelled if it returns True.

    Returns
    -------
    Moments
        Mean and variance at the times, and the covariance at the last.

    Raises
    ------
    InvalidInputError
        If times, weights or ``what`` are invalid, or there are too many agents for their covariance.
    CancelledError
        If ``should_stop`` returns True.

    See Also
    --------
    theory.consensus_mode, theory.mean_opinion, theory.agent_opinion, theory.opinion_difference : Functionals.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, moments
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import agent_opinion
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(1.0))
    >>> moments(model, 9, of=agent_opinion(model, 0))
    Moments(t = 9, at the end agent 0 0.5 ± 0.3)
    """
    steps = step_count(steps)
    if what not in get_args(What):
        rule = "moments are those of what is 'public', 'hidden' or 'joint'"
        raise InvalidInputError(message(rule, got=repr(what), remedy="leave it out for public opinions"))
    with cancellable(should_stop):
        checked_system(model)
        # Continuous time has differential equations where discrete time has recursions.
        if isinstance(model, SDE):
            return _continuous(model, steps, of, times, what)
        return _discrete(model.model, steps, of, times, what)


def _discrete(model: Model, steps: int, of: Functionals | None, times: ArrayLike | None, what: What) -> Moments:
    if of is not None:
        names, weights = stacked(model, of, agents=2 * model.n if what == "joint" else model.n)
        chosen = _chosen(times, steps, default=np.array([steps]))
        if what == "hidden":
            # Functionals of hidden opinions are functionals of the joint state with weight 0 on the public part.
            weights = np.concatenate([np.zeros_like(weights), weights], axis=1)
        result = _sums(model, weights, chosen)
        return Moments(chosen, names, result.mean, result.variance, result.covariance)
    at = model.layout if what == "public" else model.layout.with_hidden
    # The limit counts entries of the state; with hidden opinions there are two per agent.
    remedy = "ask for functionals, for instance of=consensus_mode(model), which work for any number"
    if model.activation is not None and model.activation.is_random:
        remedy = _TABLE
    _check_size(model.n, LARGEST_COVARIANCE * model.n // at.memory.start, remedy)
    chosen = _chosen(times, steps, default=np.arange(steps + 1))
    result = forward_moments(model, chosen, hidden=what != "public")
    kept = slice(model.n, None) if what == "hidden" else slice(None)
    return Moments(
        chosen, _labels(model, what), result.mean[:, kept], result.variance[:, kept], result.covariance[kept, kept]
    )


def _sums(model: Model, weights: Array, times: Times) -> Sums:
    """Return the moments of sums by the adjoint, or from the covariance of all agents where chance adds to it."""
    if model.activation is None or not model.activation.is_random:
        return moments_of_sums(model, weights, times)
    wide = weights.shape[1] > model.n
    at = model.layout.with_hidden if wide else model.layout
    _check_size(model.n, LARGEST_COVARIANCE * model.n // at.memory.start, _TABLE)
    asked, values = {int(time): slot for slot, time in enumerate(times)}, np.empty((2, times.size, len(weights)))

    def watch(t: int, mean: Array, P: Array) -> None:
        if t in asked:
            values[:, asked[t]] = weights @ mean, np.einsum("ki,ij,kj->k", weights, P, weights, optimize=True)

    last = forward_moments(model, times, hidden=wide, watch=watch)
    return Sums(values[0], values[1], weights @ last.covariance @ weights.T)


def _continuous(sde: SDE, steps: int, of: Functionals | None, times: ArrayLike | None, what: What) -> Moments:
    end = sde.time(steps)
    if times is not None:
        chosen = real_times(times, most=end)
    else:
        chosen = np.array([sde.time(k) for k in range(steps + 1)]) if of is None else np.array([end])
    if of is None:
        names, weights = _labels(sde, what), np.eye(2 * sde.n if what == "joint" else sde.n)
    else:
        names, weights = stacked(sde, of, agents=2 * sde.n if what == "joint" else sde.n)
    if of is None and what == "public":
        result = moments_at(sde, chosen)
    else:
        weights = np.concatenate([np.zeros_like(weights), weights], axis=1) if what == "hidden" else weights
        result = moments_of(sde, weights, chosen)
    return Moments(chosen, names, result.mean, result.variance, result.covariance)


def _labels(system: System, what: What) -> tuple[Hashable, ...]:
    labels: tuple[Hashable, ...] = tuple(system.network.labels)
    if what != "joint":
        return labels
    return (*(("public", label) for label in labels), *(("hidden", label) for label in labels))


def _chosen(times: ArrayLike | None, steps: int, *, default: Times) -> Times:
    if times is None:
        return default
    chosen = np.unique(whole_times(times, least=0, most=steps))
    if chosen.size == 0:
        rule = "there must be at least one time"
        raise InvalidInputError(message(rule, got="none", remedy="leave times out for the default"))
    return chosen


def _check_size(n: int, limit: int, remedy: str) -> None:
    if n > limit:
        rule = f"moments of every agent are computed for up to {limit:,} agents here"
        raise InvalidInputError(message(rule, got=f"{n:,}", remedy=remedy))
