"""Exposure: what an observer of all agents, or of some, learns about each of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.privacy._definition import (
    WIDTH,
    Observed,
    as_observation,
    has_grid,
    observed_agents,
)
from peerpressure.privacy._shifts import require_public_start
from peerpressure.recovery import METHODS, Estimate, Observation, Prior
from peerpressure.recovery.least_squares import SymmetricOperator
from peerpressure.recovery.observation import blank_outputs
from peerpressure.support.progress import ShouldStop, cancellable
from peerpressure.support.resources import few_threads
from peerpressure.support.results import read_only
from peerpressure.support.text import html_columns
from peerpressure.theory.propagation import step_count

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Columns solved for at a time where a covariance is an operator: more share a product, but need n numbers each.
_COLUMNS = 256
_SHOWN = 8  # agents listed by name


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Exposure:
    """How much each agent is exposed to one observer.

    If the noise is not Gaussian, posterior variances are those of the best linear estimate: ``posterior_variance`` and
    ``ratio`` are upper bounds, ``nats`` and ``bits`` lower bounds on what is learned, and ``cramer_rao`` has the
    information of the law, 0 where that is infinite.

    Attributes
    ----------
    model : Model
        The model, also of an ``SDE``.
    steps : int
        The number of steps.
    table : pandas.DataFrame
        One row for each agent, by label: whether it is ``seen``, and with it all who are ever its neighbours
        (``neighbourhood_seen``); ``prior_variance``, ``posterior_variance`` and their ``ratio``, 1 for nothing learned
        and 0 for all; ``cramer_rao``, which no unbiased estimate's variance is below, inf if the data leave the agent
        open; the mutual information ½ log(prior/posterior) in ``nats`` and ``bits``; and the ``rank``, 1 at most risk.
    note : str, default ""
        Where numbers are bounds, or a finer observer of an ``SDE`` learns more.

    See Also
    --------
    exposure : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import path
    >>> from peerpressure.privacy import exposure
    >>> model = Model(path(3), hidden=[0.0, 0.5, 1.0], start=0.5, noise=Gaussian(1.0))
    >>> exposure(model, 10, observed=[0]).table[["seen", "ratio"]].round(3)
            seen  ratio
    agent
    0       True  0.667
    1      False  0.781
    2      False  0.809
    """

    model: Model
    steps: int
    table: pd.DataFrame
    note: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether variances and bits are exact, and not bounds of what is learned."""
        return _is_exact(self.model)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bits that the observer learns about each agent; agents who are known exactly have none.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from peerpressure.plotting.results import by_agent

        bits = self.table["bits"].to_numpy(dtype=np.float64)
        observed = self.table["seen"].to_numpy(dtype=bool)
        groups = {"observed": observed, "not observed": ~observed}
        series = {name: (np.where(group, bits, np.nan), None, None) for name, group in groups.items() if group.any()}
        names = [str(name) for name in self.table.index]
        return by_agent(ax, names, series, "information, bits", from_zero=True)

    def edges(self) -> pd.DataFrame:
        """Return the network's edges as positions in the table: source, target.

        Returns
        -------
        pandas.DataFrame
            Columns ``source`` and ``target``, and whether the edge goes ``one_way`` and is ``negative``; one row for
            each pair of agents.
        """
        import pandas as pd

        source, target, one_way, negative = self.model.network.pairs()
        return pd.DataFrame({"source": source, "target": target, "one_way": one_way, "negative": negative})

    def __str__(self) -> str:
        return exposure_text(self)

    def _repr_html_(self) -> str:
        head, mean, columns, rows, rest = _described(self)
        texts = "".join(f"<div>{escape(text)}</div>" for text in (mean, *rest))
        return f"<div><strong>{escape(head)}</strong>{html_columns(columns, rows)}{texts}</div>"


def exposure(
    model: System,
    steps: int,
    observed: Observed = None,
    prior: Prior | None = None,
    *,
    public_start: bool = False,
    should_stop: ShouldStop | None = None,
) -> Exposure:
    """Return what an observer of some agents at steps 1, …, ``steps`` learns about each agent, knowing the model.

    Parameters
    ----------
    model : Model or SDE
        The model of the run; steps of an SDE are those of its grid.
    steps : int
        The number of steps, at least 1.
    observed : sequence of labels or Observation, optional
        The observed agents, or an Observation for certain steps or the start, too; by default everyone.
    prior : Prior, optional
        The observer's prior x₀ ~ N(m, P); by default all opinions are drawn alike, with the variance that they have.
    public_start : bool, default False
        Declare that a start which differs between agents is public, and was not computed from hidden opinions.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Exposure
        Variances before and after, Cramér–Rao bounds and mutual information of every agent.

    Raises
    ------
    InvalidInputError
        If the start is not declared to be public, or is an affine function of the hidden opinions, or if these are all
        equal and no prior is given.

    See Also
    --------
    budget : What an observer of everyone learns, as a privacy guarantee.
    recovery.information : The Fisher information itself.

    Notes
    -----
    Variances are exact for Gaussian noise, and for other laws those of the best linear estimate: posterior =
    (P⁻¹ + J)⁻¹, with J the Fisher information about x₀ in all that is observed if noise of the same covariance were
    Gaussian. Under a law with Fisher information I at unit variance (`Noise.fisher_information`), the information lies
    between J and I·J [1]_, and is I·J for white noise if all agents are observed. So an estimate that knows the law may
    be better than the linear one, and the Cramér–Rao bound is J⁻¹/I, which is 0 for uniform noise and random signs.

    References
    ----------
    .. [1] Zamir (1998), A proof of the Fisher information inequality via a data processing argument. IEEE Trans. Inf.
       Theory 44.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, Prior
    >>> from peerpressure.networks import star
    >>> from peerpressure.privacy import exposure
    >>> model = Model(star(4), hidden=[0, 1, 2, 3], noise=Gaussian(1.0), start=[0.0] * 4)
    >>> exposure(model, 9, prior=Prior(0.0, 1.0)).table["ratio"].round(12).tolist()
    [0.1, 0.1, 0.1, 0.1]
    """
    with cancellable(should_stop), few_threads(checked_system(model).n):
        require_public_start(model, declared=public_start)
        return _exposure(model, steps, observed, prior)


def _exposure(model: System, steps: int, observed: Observed, prior: Prior | None) -> Exposure:
    import pandas as pd

    T, base = step_count(steps), model.model
    given = _default_prior(base) if prior is None else prior.in_order(base.network.labels)
    before, look = given.variances(base.n), as_observation(observed)
    seen = observed_agents(base, look)
    if look is not None and seen.all():
        # Naming all agents is the same as the default, for which the faster method is available.
        look = replace(look, agents=None)
    after, bound = before, np.full(base.n, np.inf)
    if seen.any():
        # With the prior for the posterior variance, and without one for the Cramér–Rao bound.
        after, bound = _variances(model, T, look, (given, None))
    # Rounding must not report that an observation increased a variance.
    ratio = np.minimum(after / before, 1.0)
    columns = {
        "seen": seen,
        # An agent whose neighbours are all observed is read off its own update, as if everyone were observed.
        "neighbourhood_seen": seen & ~(abs(base.network.adjacency) @ (~seen).astype(float) > 0),
        "prior_variance": before,
        "posterior_variance": after,
        "ratio": ratio,
        "cramer_rao": bound if _is_exact(base) else _under_law(bound, base.noise.fisher_information()),
        **_mutual_information(ratio),
    }
    table = pd.DataFrame(columns, index=pd.Index(list(base.network.labels), name="agent", tupleize_cols=False))
    # Rounding gives agents that are equal by symmetry the same rank.
    table["rank"] = table["ratio"].round(12).rank(method="min").astype(int)
    return Exposure(base, T, table, _note(model))


def _under_law(bound: Array, unit: float) -> Array:
    """Return the bound for a law of this information at unit variance; what the data leave open stays so."""
    # ∞/∞ where the law has infinite information: what the outputs do not determine stays undetermined.
    open_ = np.isinf(bound)
    return np.where(open_, np.inf, np.where(open_, 0.0, bound) / unit)


def _is_exact(model: Model) -> bool:
    return isinstance(model.noise, Gaussian) or model.noise.is_zero


def _note(system: System) -> str:
    """Return in what way the numbers are bounds and what they assume; nothing where they are exact."""
    model, said = system.model, []
    if not _is_exact(model):
        said.append(
            "As the noise is not Gaussian, this is what the best linear estimate learns: others may learn more."
        )
        if np.isinf(model.noise.fisher_information()):
            said.append("No positive variance bounds the error of an estimate under this law of noise.")
    elif has_grid(system):
        said.append("A finer observer in continuous time learns more.")
    return " ".join(said)


def _mutual_information(ratio: Array) -> dict[str, Array]:
    with np.errstate(divide="ignore"):
        # Plus 0 turns −0 into 0, as it is printed.
        nats = -0.5 * np.log(ratio) + 0.0
    return {"nats": nats, "bits": nats / np.log(2)}


def _default_prior(model: Model) -> Prior:
    spread = float(model.x0.var())
    if spread == 0:
        rule = "the default prior has the variance of the hidden opinions, which must differ"
        remedy = "say what the observer believes, as a prior with a mean and a variance"
        raise InvalidInputError(message(rule, got=f"all of them {model.x0[0]:g}", remedy=remedy), argument="prior")
    return Prior(float(model.x0.mean()), spread)


def _variances(system: System, steps: int, look: Observation | None, priors: Iterable[Prior | None]) -> list[Array]:
    """Return the error variance of the best linear estimate of each agent, under each of the priors.

    It is the same for every run and every noise distribution, so opinions of 0 are enough.
    """
    seen = (look or Observation()).resolve(system.model, np.arange(steps + 1))
    if not seen.free.size:
        return [np.zeros(system.n) for _ in priors]
    blank, data = blank_outputs(system, seen)
    # The methods themselves rather than recover: rounding errors of one run are no protection.
    method = METHODS["innovations" if look == Observation() else "kalman"].estimate
    return [_exact_variance(method(blank, data, prior)) for prior in priors]


def _exact_variance(estimate: Estimate) -> Array:
    """Return the variances, solving for them agent by agent where the covariance does not fit."""
    if not isinstance(estimate.covariance, SymmetricOperator):
        return estimate.variance
    labels = list(estimate.model.network.labels)
    blocks = [labels[i : i + _COLUMNS] for i in range(0, len(labels), _COLUMNS)]
    return np.concatenate([estimate.variance_of(block) for block in blocks])


class _Described(NamedTuple):
    """An exposure in words: a heading, the means, a table of the agents at most risk, and what stands below it."""

    head: str
    mean: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    rest: list[str]


def _described(result: Exposure) -> _Described:
    table, steps = result.table, f"{result.steps:,} step{'s' * (result.steps != 1)}"
    seen = int(table["seen"].sum())
    head = f"Exposure after {steps} to an observer of {seen:,} of {len(table):,} agents"
    groups = [("seen", table[table["seen"]]), ("unseen", table[~table["seen"]])]
    upper, lower = ("", "") if result.is_exact else (" ≤", " ≥")
    means = [f"{name}:{upper} {group['ratio'].mean():.3g}" for name, group in groups if len(group)]
    columns = ("agent", "seen", f"posterior/prior{upper}", "Cramér–Rao", f"bits{lower}")
    rows: list[tuple[str, ...]] = [
        (str(row.Index), "yes" if row.seen else "no", f"{row.ratio:.3g}", f"{row.cramer_rao:.3g}", f"{row.bits:.3g}")
        for row in table.sort_values("rank", kind="stable").head(_SHOWN).itertuples()
    ]
    more = [f"and {len(table) - _SHOWN:,} more"] * (len(table) > _SHOWN)
    notes = [result.note] * bool(result.note)
    return _Described(head, f"mean posterior/prior variance, {', '.join(means)}", columns, rows, more + notes)


def exposure_text(result: Exposure) -> str:
    """Return the agents at most risk, and the means of observed and unobserved ones."""
    head, mean, columns, rows, rest = _described(result)
    widths = [max(map(len, cells)) + 2 for cells in zip(columns, *rows, strict=True)]
    lines = [
        "  " + "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [columns, *rows]
    ]
    more = [f"  {text}" for text in rest[: len(rest) - bool(result.note)]]
    return "\n".join([head, mean, *(line.rstrip() for line in lines), *more, *textwrap.wrap(result.note, WIDTH)])
