"""Mechanisms that protect opinions while agents agree on their mean, each linear and Gaussian, with exact moments.

A design is data and one method, ``trades(definition, horizons)``: bias and variance of the consensus mode
m = Σ d y/Σ d at each horizon, and the Fisher information that the observer of the definition has about one agent by
then, all for noise of unit deviation. The bias does not depend on the deviation, the variance grows and the information
falls with its square, so these numbers give the error at every budget.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import discrete_model
from peerpressure.model.step import Array
from peerpressure.noise import AR1, Gaussian, Noise
from peerpressure.privacy._budget import definition_lines, shifts_of
from peerpressure.privacy._definition import Definition, Observed, Unit, refuse_seen_start
from peerpressure.privacy._shifts import delay_pressure, leaks_at_first_step
from peerpressure.recovery import limits
from peerpressure.schedules import Power
from peerpressure.support.progress import check_cancelled
from peerpressure.support.results import read_only
from peerpressure.theory.propagation import Times, consensus_mode, moments, whole_times

if TYPE_CHECKING:
    import pandas as pd

_LEGIBLE = 1e10  # largest ratio of variances in a filter that leaves six digits of a result


@final
@dataclass(frozen=True)
class Trade:
    """What one design does at one horizon with noise of unit deviation.

    Attributes
    ----------
    bias, variance : float
        Mean distance of the consensus mode to v, and its variance.
    information : float
        Fisher information about the most exposed agent.
    cost : float
        The product √(variance·information): the deviation of the mode where every agent's information is 1.

    See Also
    --------
    Design.trades : Computes it.

    Examples
    --------
    >>> from peerpressure.privacy import Trade
    >>> Trade(bias=0.0, variance=0.5, information=2.0, cost=1.0).cost
    1.0
    """

    bias: float
    variance: float
    information: float
    cost: float


@dataclass(frozen=True)
class Design(ABC):
    """A way to hide opinions, with a name for a person to read.

    Parameters
    ----------
    name : str
        Name in tables and figures.

    See Also
    --------
    Noisy, OneShot, ZeroSum : Members of the family.
    frontier : Compares designs.

    Examples
    --------
    >>> from peerpressure.privacy import DESIGNS, Design
    >>> all(isinstance(one, Design) for one in DESIGNS), DESIGNS[0].name
    (True, 'white')
    """

    name: str

    @abstractmethod
    def trades(self, definition: Definition, horizons: Sequence[int]) -> list[Trade]:
        """Return what it does at each of the increasing horizons.

        Parameters
        ----------
        definition : Definition
            Model and observer.
        horizons : sequence of int
            Increasing numbers of steps.

        Returns
        -------
        list of Trade
            One for each horizon.
        """


@final
@dataclass(frozen=True)
class Noisy(Design):
    """The model itself under Gaussian noise of some kind.

    Where y₀ = x₀ would leak at step 1, peer pressure is delayed by one step.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    noise : Noise
        Gaussian noise, of which the deviation is scaled to each budget.

    See Also
    --------
    privacy.growing : Noise that grows as a power of t.
    OneShot : Noise at the start only.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import Definition, Noisy
    >>> white, model = Noisy("white", Gaussian()), Model(k2(), hidden=[0.0, 1.0], start=0.0)
    >>> [round(trade.information, 6) for trade in white.trades(Definition(model, 100), [10, 100])]
    [10.0, 100.0]
    """

    noise: Noise

    def trades(self, definition: Definition, horizons: Sequence[int]) -> list[Trade]:
        """Return exact moments of the mode and the information about the most exposed agent."""
        model = definition.model
        own = replace(model, noise=self.noise)
        if leaks_at_first_step(own):
            # Otherwise frozen noise would have infinite information, and designs could not be compared.
            own = delay_pressure(own, horizons[-1])
        exact = moments(own, horizons[-1], of=consensus_mode(own), times=list(horizons))
        bias = exact.mean[:, 0] - model.consensus_value
        # The most exposed agent, since a guarantee must hold for all.
        seen = [replace(definition, system=own, steps=T) for T in horizons]
        informed = [float(shifts_of(one).squares[one.is_protected].max()) for one in seen]
        return [
            Trade(float(b), float(v), i, math.sqrt(float(v) * i))
            for b, v, i in zip(bias, exact.variance[:, 0], informed, strict=True)
        ]


@final
@dataclass(frozen=True)
class OneShot(Design):
    """Perturb once and average: x(0) = x₀ + η, x(t) = P x(t−1), with no noise after the start.

    This is the best case of [1]_, here with normal η. P = I − ½S⁻¹L′, where L′ is the Laplacian of Metropolis weights
    A_ij·min(s_i/d_i, s_j/d_j), keeps Σ s x and so leads to v. All public opinions follow from x₀ + η, so the
    information about everyone who is observed stays 1.

    Parameters
    ----------
    name : str, default "one shot"
        Name in tables and figures.

    See Also
    --------
    ZeroSum : Noise that decays and cancels.

    References
    ----------
    .. [1] E. Nozari, P. Tallapragada and J. Cortés (2017), "Differentially private average consensus: obstructions,
       trade-offs, and optimal algorithm design", Automatica 81, 221–231.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import Definition, OneShot
    >>> OneShot().trades(Definition(Model(k2(), hidden=[0.0, 1.0], start=0.0), 100), [100])[0].information
    1.0
    """

    name: str = "one shot"

    def trades(self, definition: Definition, horizons: Sequence[int]) -> list[Trade]:
        """Run the adjoint c ← Pᵀc: the mode has mean cᵀx₀ and variance |c|²."""
        model, information = definition.model, _one_message(definition)
        P, c = averaging_matrix(model), consensus_mode(model).weights
        trades, done = [], 0
        for T in horizons:
            for _ in range(T - done):
                # One adjoint run serves all horizons, which are increasing.
                c = P.T @ c
            done = T
            bias, variance = float(c @ model.x0) - model.consensus_value, float(c @ c)
            trades.append(Trade(bias, variance, information, math.sqrt(variance * information)))
        return trades


@final
@dataclass(frozen=True)
class ZeroSum(Design):
    """Add decaying noise that sums to zero: agents send x⁺(k) = x(k) + w(k) and take x(k+1) = P x⁺(k).

    As in [1]_, w(0) = v₀ and w(k) = φ^k v_k − φ^(k−1) v_{k−1} with independent normal v_k, which makes consensus on
    v exact in the limit. An observer of every message knows x⁺(0) + w(1) + … + w(k) = x₀ + φ^k v_k for each k, and
    the information Σ φ^(−2k) diverges: the design protects only against observers that miss a neighbour. An observer of
    some agents is accounted for exactly as far as double precision goes, for up to 1,000 agents, and beyond as one of
    all, which is safe.

    Parameters
    ----------
    name : str, default "zero sum"
        Name in tables and figures.
    decay : float, default 0.9
        The factor φ, strictly between 0 and 1.

    Raises
    ------
    InvalidInputError
        If ``decay`` is not strictly between 0 and 1.

    See Also
    --------
    OneShot : One perturbation at the start.

    References
    ----------
    .. [1] Y. Mo and R. M. Murray (2017), "Privacy preserving average consensus", IEEE Transactions on Automatic Control
       62, 753–765.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import Definition, ZeroSum
    >>> model = Model(k2(), hidden=[0.0, 1.0], start=0.0)
    >>> [f"{trade.variance:.2g}" for trade in ZeroSum().trades(Definition(model, 100), [10, 100])]
    ['0.075', '4.4e-10']
    """

    name: str = "zero sum"
    decay: float = 0.9

    def __post_init__(self) -> None:
        if not 0 < self.decay < 1:
            rule = "noise that sums to zero must decay by a factor strictly between 0 and 1"
            raise InvalidInputError(message(rule, got=self.decay, remedy="for instance 0.9"))

    def trades(self, definition: Definition, horizons: Sequence[int]) -> list[Trade]:
        """Weigh v_k in the mode of x(T) by φ^k (P^(T−k) − P^(T−k−1))ᵀc, and the last one by φ^(T−1) Pᵀc."""
        model = definition.model
        P, c = averaging_matrix(model), consensus_mode(model).weights
        phi, trades, wanted, shares = self.decay, [], set(horizons), _shares(P, definition, self.decay)
        weights = P.T @ c
        # Costs are kept in units of the last noise, where neither noise nor information leaves the range of numbers.
        variance = cost = float(weights @ weights)
        information, change, scaled = 1.0, weights - c, weights - c
        with np.errstate(all="ignore"):
            for T in range(1, horizons[-1] + 1):
                share = information * next(shares)
                if T in wanted:
                    bias, size = float(weights @ model.x0) - model.consensus_value, np.float64(phi) ** (2 - 2 * T)
                    # 0 · ∞ where nothing is observed: no noise is needed then.
                    spread = math.sqrt(cost * share) if share else 0.0
                    trades.append(Trade(bias, variance, float(share * size) if share else 0.0, spread))
                # Without the projection, dividing by φ in every step would amplify the rounding error in the invariant
                # direction.
                change, scaled = _forgetting(model, P.T @ change), _forgetting(model, P.T @ scaled / phi)
                weights = weights + change
                variance = phi**2 * variance + float(change @ change)
                # If mixing is slower than the decay of the noise, the cost diverges; overflow is then the right answer.
                cost = min(cost + float(np.nan_to_num(scaled @ scaled, nan=math.inf)), math.inf)
                information += phi ** (2 * T)
        return trades


def _one_message(definition: Definition) -> float:
    """Return the information in the messages x_i + η_i of a person, over all runs; 0 if none of another is seen."""
    # Observed agents that are no insiders have sent such a message; who knows everyone's knows all that follows.
    sent = (definition.is_observed & ~definition.is_insider).any()
    # Each topic of a person has noise of its own.
    return definition.runs * definition.rows_per_unit * float(sent)


def _shares(P: sparse.csr_array, definition: Definition, decay: float) -> Iterator[float]:
    """Yield what the observer learns about the most exposed agent after 1, 2, … messages under zero-sum noise.

    As a share of what one run tells an observer of everyone. A Kalman filter on the state (x(k), φ^(k−1) v_(k−1)), in
    units of the noise φ^k, gathers the information of the innovations; B has the derivatives of its mean.
    """
    n, all_seen = P.shape[0], bool(definition.is_observed.all()) or P.shape[0] > limits.PARTIAL_LIMIT
    noise, seen = np.diag(1.0 - definition.is_insider), np.flatnonzero(definition.is_observed & ~definition.is_insider)
    B, C, gathered, everything = np.eye(2 * n, n), np.zeros((2 * n, 2 * n)), np.zeros(n), 0.0
    while seen.size and not all_seen:
        check_cancelled()
        # The message x − φ^(k−1) v_(k−1) + φ^k v_k, and with it the last part, which the next state remembers.
        H = np.concatenate([np.eye(n), -np.eye(n)], axis=1)
        slope, spread = H @ B, H @ C @ H.T + noise
        cross = np.concatenate([spread, noise])[:, seen]
        solved = np.linalg.solve(spread[np.ix_(seen, seen)], np.concatenate([slope[seen], cross.T], axis=1))
        gathered = decay**2 * gathered + np.sum(slope[seen] * solved[:, :n], axis=0)
        everything = decay**2 * everything + 1
        share = min(float(gathered[~definition.is_insider].max()) / everything, 1.0)
        # A change on q topics has at most q² times the information of one, and q times if everyone is observed.
        yield definition.runs * min(definition.rows_per_unit**2 * share, definition.rows_per_unit)
        C = np.block([[spread, noise], [noise, noise]]) - cross @ solved[:, n:]
        B = np.concatenate([slope, np.zeros((n, n))]) - cross @ solved[:, :n]
        # In exact arithmetic these are 0 already: an observed message is known.
        C[seen], C[:, seen], B[seen] = 0.0, 0.0, 0.0
        step = sparse.block_diag([P, sparse.eye_array(n)], format="csr")
        B, C = step @ B, step @ (step @ C).T / decay**2
        # The unknown part of other agents is this much larger than the noise: differences lose their digits from here.
        all_seen = C.diagonal().max() > _LEGIBLE
    yield from itertools.repeat(_one_message(definition))


def _forgetting(model: Model, weights: Array) -> Array:
    """Return the weights without what rounding left in the one direction that averaging never forgets."""
    return np.asarray(weights - model.s * (weights.sum() / model.s.sum()))


def averaging_matrix(model: Model) -> sparse.csr_array:
    """Return P = I − ½S⁻¹L′, whose rows are weights, and which keeps Σ s x."""
    if model.temporal_network is not None:
        rule = "averaging without the model's own dynamics needs one network for all times"
        remedy = "choose among the Noisy designs, or give the model its network.aggregate"
        raise InvalidInputError(message(rule, got=repr(model.temporal_network), remedy=remedy))
    if not model.network.is_simple:
        rule = "averaging without the model's own dynamics needs a connected, undirected, unsigned network"
        raise InvalidInputError(message(rule, got=repr(model.network), remedy="choose among the Noisy designs"))
    d, s = model.network.degrees, model.s
    i, j, weight = model.network.edges()
    # The minimum makes the weights symmetric, so Σ s x is conserved, and keeps the diagonal of P at ½ or more.
    metropolis = weight * np.minimum((s / d)[i], (s / d)[j])
    half = sparse.coo_array((metropolis, (i, j)), shape=(model.n, model.n))
    links = sparse.csr_array(half + half.T)
    stay = 1 - 0.5 * np.asarray(links.sum(axis=1)).ravel() / s
    return sparse.csr_array(sparse.diags_array(stay) + sparse.diags_array(0.5 / s) @ links)


def growing(exponent: float) -> Design:
    """Return a design for `frontier`: white noise whose standard deviation grows as t^exponent.

    Parameters
    ----------
    exponent : float
        The exponent; from ½ on the information stays bounded.

    Returns
    -------
    Design
        A design for `frontier`.

    See Also
    --------
    frontier : Compare designs.

    Examples
    --------
    >>> from peerpressure.privacy import growing
    >>> growing(0.75).name
    'growing as t^0.75'
    """
    return Noisy(f"growing as t^{exponent:g}", Gaussian(time_scale=Power(exponent)))


def limit(model: Model) -> float:
    """Return √(Σ s²)/Σ s, a lower bound on the cost of unbiased designs with independent noise.

    By the bound of Cramér and Rao, an unbiased estimate of v = Σ s x/Σ s from all that is observed has a variance of at
    least cᵀJ⁻¹c with c = s/Σ s. This is Σ c²/J_ii where J is diagonal: where every agent adds noise of its own and no
    message depends on the hidden opinion of another. In general only cᵀJ⁻¹c ≥ max c²/J_ii holds.
    """
    # Ratios only, because squares of extreme stubbornness overflow.
    weights = model.s / model.s.max()
    return float(np.linalg.norm(weights) / weights.sum())


DESIGNS: tuple[Design, ...] = (
    Noisy("white", Gaussian()),
    growing(0.25),
    growing(0.75),
    Noisy("AR(1), φ = 0.9", Gaussian(temporal=AR1(0.9))),
    Noisy("frozen noise", Gaussian(temporal="frozen")),
    OneShot(),
    ZeroSum(),
)


# Accuracy against privacy: how far from v a network ends under each design when every agent is promised a budget.


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The error of each design at each budget and horizon, for noise that is just enough.

    Attributes
    ----------
    table : pandas.DataFrame
        One row for each design, horizon and budget μ: the deviation ``std`` of the noise that meets the budget, and
        ``bias``, ``deviation`` and ``rms_error`` of the consensus mode then.
    units : pandas.DataFrame
        One row for each design and horizon under noise of deviation 1, whatever the budget: ``information`` and
        ``rms_error``, which no design keeps both bounded and going to 0, and ``cost``.
    limit : float
        The number Δ√(q R Σs²)/Σs for R runs and persons with q topics. If agents add noise independently and no
        message depends on the hidden opinion of another, as in all designs here, an unbiased mode has an error of at
        least limit/μ at every horizon, since an observer of everything can compute it; nan where not everything is
        observed.
    definition : Definition
        What the budgets assume.

    See Also
    --------
    frontier : Computes it.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import OneShot, frontier
    >>> trade_off = frontier(Model(k2(), hidden=[0.0, 1.0], start=0.0), 10, [1.0], [OneShot()])
    >>> round(trade_off.limit, 6), trade_off.table["rms_error"].round(6).tolist()
    (0.707107, [0.707107])
    """

    table: pd.DataFrame
    units: pd.DataFrame
    limit: float
    definition: Definition

    def best(self, horizon: int) -> pd.DataFrame:
        """Return, for each budget, the design of the smallest error at this horizon; the first of equals.

        Parameters
        ----------
        horizon : int
            One of the horizons in ``table``.

        Returns
        -------
        pandas.DataFrame
            One row of ``table`` for each budget.

        Raises
        ------
        InvalidInputError
            If the table does not have the horizon.
        """
        at = self.table[self.table["horizon"] == horizon]
        if at.empty:
            known = ", ".join(map(str, self.table["horizon"].unique()))
            remedy = "or put it among the steps"
            raise InvalidInputError(message(f"the horizon must be one of {known}", got=repr(horizon), remedy=remedy))
        rows = [group.index[np.argmin(_comparable(group["rms_error"]))] for _, group in at.groupby("mu")]
        return at.loc[rows].reset_index(drop=True)

    def __str__(self) -> str:
        lines = []
        for horizon in self.table["horizon"].unique():
            best = self.best(int(horizon))
            words = ", ".join(f"{row.design} at μ = {row.mu:g} ({row.rms_error:.3g})" for row in best.itertuples())
            lines.append(f"  after {horizon:,} steps: {words}")
        return "\n".join(
            ["Least error of the consensus mode for a budget μ:", *lines, *definition_lines(self.definition)]
        )


def frontier(
    model: Model,
    steps: int | Sequence[int],
    budgets: ArrayLike,
    designs: Sequence[Design] = DESIGNS,
    *,
    sensitivity: float = 1.0,
    sees_start: bool = False,
    runs: int = 1,
    observed: Observed = None,
    insiders: Sequence[Hashable] = (),
    unit: Unit = "person",
    public_start: bool = False,
) -> Frontier:
    """Return the exact error of each design for budgets μ at one horizon or several.

    Parameters
    ----------
    model : Model
        Network, opinions, stubbornness and pressure; its noise is replaced.
    steps : int or sequence of int
        The horizons, each at least 1.
    budgets : float or sequence of float
        The budgets μ > 0 of Gaussian differential privacy.
    designs : sequence of Design, default DESIGNS
        The designs to compare, with different names.
    sensitivity : float, default 1.0
        Largest distance Δ between two hidden opinions that are to be indistinguishable.
    sees_start, runs, observed, insiders, unit, public_start : optional
        Who observes, and who is protected: as for `Definition`. Designs other than Noisy ones are accounted for as if
        every step were observed.

    Returns
    -------
    Frontier
        Errors of every design, horizon and budget, with the definition of the budgets.

    Raises
    ------
    InvalidInputError
        If the model is an SDE, if its start depends on the hidden opinions or y₀ = x₀ is observed, or if a horizon,
        budget or design is invalid.
    TooLargeError
        If only some of more than 1,000 agents are observed.

    See Also
    --------
    calibrate : The noise that one budget asks for.
    budget : The account of a given model.

    Notes
    -----
    Noise of deviation Δ√I/μ meets μ, where I is the information under unit noise, and leaves the mode of one run with
    rms error² = bias² + (Δ·cost/μ)². A hidden start is never heard (see `delay_pressure`). Opinions that adapt do so in
    the Noisy designs, which follow the model; the others average over a constant network and know nothing of it.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import DESIGNS, frontier
    >>> trade_off = frontier(Model(k2(), hidden=[0.0, 1.0]), 100, [1.0], DESIGNS[:1])
    >>> trade_off.best(100)[["design", "rms_error"]].round(3).values.tolist()
    [['white', 0.707]]
    """
    import pandas as pd

    discrete_model(model, "accuracy against privacy")
    horizons, mus = _horizons(steps), _budgets(budgets)
    last = int(horizons[-1])
    definition = Definition(model, last, sensitivity, sees_start, runs, observed, insiders, unit, public_start)
    refuse_seen_start(definition)
    trades = [
        (design.name, T, trade)
        for design in _named(designs)
        for T, trade in zip(horizons.tolist(), design.trades(definition, horizons.tolist()), strict=True)
    ]
    table = pd.DataFrame([_row(*trade, mu, definition.sensitivity) for trade in trades for mu in mus])
    units = pd.DataFrame([_unit_row(*trade) for trade in trades])
    # Independent rows: q topics of a person share one budget, and each has a q-th of its information.
    scale = definition.sensitivity * math.sqrt(definition.runs * definition.rows_per_unit)
    bound = scale * limit(model) if definition.is_complete else math.nan
    return Frontier(table, units, bound, definition)


def _row(design: str, T: int, trade: Trade, mu: float, sensitivity: float) -> dict[str, object]:
    deviation = sensitivity * trade.cost / mu
    return {
        "design": design,
        "horizon": T,
        "mu": mu,
        "std": sensitivity * np.sqrt(trade.information) / mu,
        "bias": trade.bias,
        "deviation": deviation,
        "rms_error": float(np.hypot(trade.bias, deviation)),
    }


def _unit_row(design: str, T: int, trade: Trade) -> dict[str, object]:
    error = float(np.hypot(trade.bias, np.sqrt(trade.variance)))
    return {"design": design, "horizon": T, "information": trade.information, "rms_error": error, "cost": trade.cost}


def _comparable(errors: pd.Series) -> Array:
    """Return errors to 12 digits, to keep rounding from deciding between equals."""
    return np.array([float(f"{error:.12g}") for error in errors])


def _horizons(steps: int | Sequence[int]) -> Times:
    chosen = np.unique(whole_times(np.atleast_1d(np.asarray(steps)), least=1))
    if not chosen.size:
        raise InvalidInputError(message("there must be a horizon", got="none", remedy="pass a number of steps"))
    return chosen


def _budgets(budgets: ArrayLike) -> Array:
    try:
        mus = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    except (TypeError, ValueError):
        mus = np.zeros(0)
    if mus.ndim != 1 or not mus.size or not np.all((mus > 0) & (mus < np.inf)):
        rule = "budgets must be finite numbers μ > 0"
        raise InvalidInputError(message(rule, got=repr(budgets)[:80], remedy="for instance [0.1, 1.0, 10.0]"))
    return np.unique(mus)


def _named(designs: Sequence[Design]) -> Sequence[Design]:
    names = [design.name for design in designs]
    if not names or len(set(names)) < len(names):
        rule = "there must be one design or more, with different names"
        raise InvalidInputError(message(rule, got=", ".join(names) or "none", remedy="name each once"))
    return designs
