"""The privacy budget: what an observer learns about one agent at worst, and the noise that a budget asks for."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, discrete_model
from peerpressure.model.statespace.systems import is_invertible, shows_start
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian, Noise
from peerpressure.privacy._accounting import (
    Columns,
    Promise,
    checked_delta,
    checked_epsilon,
    epsilon_of,
    mu_of,
    positive,
    promise_of,
)
from peerpressure.privacy._definition import WIDTH, Definition, Observed, Unit, as_lines, has_grid, refuse_seen_start
from peerpressure.privacy._shifts import (
    Shifts,
    box_maximum,
    delay_pressure,
    leaks_at_first_step,
    mixes_draws,
    model_shifts,
    safe_factor,
    shifts_of_information,
)
from peerpressure.recovery import Information, information
from peerpressure.recovery.least_squares import divide
from peerpressure.schedules import Constant, Table
from peerpressure.sde import SDE
from peerpressure.sde.equation import FIRST_TIME
from peerpressure.sde.moments import schedules_of
from peerpressure.support.progress import ShouldStop, cancellable
from peerpressure.support.results import read_only
from peerpressure.support.text import html_table
from peerpressure.theory import OptimalSchedule, consensus_error, optimal_schedule

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_NAMES = {
    "information": "Fisher information",
    "own_information": "  of its own series",
    "mu": "Gaussian privacy μ",
    "zcdp": "zCDP ρ",
    "epsilon_basic": "pure ε",
    "epsilon_advanced": "ε by composition",
    "epsilon_low": "ε at least",
    "epsilon": "ε",
    "delta_needed": "δ needed",
    "information_limit": "information, all times",
    "epsilon_limit": "ε, all times",
}


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Budget:
    """Privacy of everybody who is not an insider, against the observer of the ``definition``.

    The properties give the most exposed agent's numbers. The information is exact, but an upper bound for AR(1) noise
    that is not Gaussian, and for an observer of some agents where noise is not Gaussian.

    Attributes
    ----------
    definition : Definition
        Everything that these numbers assume: see `Definition.terms` and `Definition.warnings`.
    delta : float
        The δ at which ``epsilon`` holds.
    promise : str
        What the law of noise guarantees.
    numbers : structured array
        The columns of ``table``, read-only.

    See Also
    --------
    budget : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import budget
    >>> account = budget(Model(k2(), hidden=[0.0, 1.0], start=0.0, noise=Gaussian(1.0)), 100)
    >>> account.table[["information", "mu", "zcdp"]].round(6)
           information    mu  zcdp
    agent
    0            100.0  10.0  50.0
    1            100.0  10.0  50.0
    """

    definition: Definition
    delta: float
    promise: str
    numbers: NDArray[np.void] = field(repr=False)

    @property
    def table(self) -> pd.DataFrame:
        """One row for each agent, by label, built at each access.

        ``information`` is the Fisher information about its opinion when all others are known, ``own_information`` the
        part in its own series, and ``epsilon`` the ε that holds at ``delta``. With topics, information is the largest
        dᵀJd over changes |d| ≤ 1 on all topics of the agent, J being the matrix of its opinions; or there is a row for
        each topic, where the unit is one topic.
        Gaussian noise adds ``mu`` and ``zcdp``, Laplace noise ``epsilon_basic``, ``epsilon_advanced`` and the lower
        bound ``epsilon_low``, and continuous time ``information_limit`` and ``epsilon_limit`` for an observer of all
        agents at all times.
        """
        import pandas as pd

        labels = pd.Index(list(self.definition.unit_labels), name="agent", tupleize_cols=False)
        return pd.DataFrame(self.numbers, index=labels[self.definition.is_protected])

    @property
    def model(self) -> Model:
        """The model, also of an SDE."""
        return self.definition.model

    @property
    def information(self) -> float:
        """The largest Fisher information about any agent."""
        return self._worst("information")

    @property
    def epsilon(self) -> float:
        """The ε that holds for every agent."""
        return self._worst("epsilon")

    @property
    def epsilon_limit(self) -> float:
        """The ε that holds for every agent on any grid of times; nan in discrete time."""
        return self._worst("epsilon_limit")

    @property
    def mu(self) -> float:
        """The μ that holds for every agent; nan if noise is not Gaussian."""
        return self._worst("mu")

    @property
    def zcdp(self) -> float:
        """The ρ of zero-concentrated privacy that holds for every agent; nan if noise is not Gaussian."""
        return self._worst("zcdp")

    def _worst(self, column: str) -> float:
        # NaN means that nothing is known of some agent; skipping it would report a guarantee that does not hold for
        # all.
        known = self.numbers.size and column in self._columns
        return float(np.max(self.numbers[column])) if known else float("nan")

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.numbers.dtype.names or ()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the ε of each agent; agents of whom nothing is guaranteed have none.

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

        names, values = [str(name) for name in self.table.index], self.numbers["epsilon"]
        axes = by_agent(ax, names, {"ε": (values, None, None)}, r"$\varepsilon$", from_zero=True)
        spent = rf"largest $\varepsilon$ = {self.epsilon:.3g} at $\delta$ = {self.delta:g}"
        axes.set_title(spent if np.isfinite(self.epsilon) else r"no $\varepsilon$ holds for every agent", loc="left")
        return axes

    def __str__(self) -> str:
        return budget_text(self)

    def _repr_html_(self) -> str:
        rows = [(_NAMES[name], f"{self._worst(name):.6g}") for name in self._columns if name in _NAMES]
        rows += [("promise", self.promise), *self.definition.terms.items()]
        return f"<div>{html_table(rows, 'Privacy of the most exposed agent')}</div>"


def budget(
    model: System,
    steps: int,
    sensitivity: float = 1.0,
    delta: float = 1e-5,
    *,
    sees_start: bool = False,
    runs: int = 1,
    observed: Observed = None,
    insiders: Sequence[Hashable] = (),
    unit: Unit = "person",
    public_start: bool = False,
    should_stop: ShouldStop | None = None,
) -> Budget:
    """Return the most that an observer of steps 1, …, T who knows the model can learn about each agent.

    Parameters
    ----------
    model : Model or SDE
        The mechanism; an SDE is observed at the steps of its grid.
    steps : int
        The number T of observed steps, at least 1.
    sensitivity : float, default 1.0
        Largest distance Δ > 0 between two hidden opinions that are to be indistinguishable.
    delta : float, default 1e-5
        The δ at which ε holds, strictly between 0 and 1.
    sees_start, runs, observed, insiders, unit, public_start : optional
        Who observes, and who is protected: as for `Definition`.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Budget
        The account of every agent, with the definition under which it holds.

    Raises
    ------
    InvalidInputError
        If a given start is not declared to be public, or is an affine function of the hidden opinions; if all agents
        are insiders, or one is for some of its topics only; or if insiders are given for an SDE, or for an observation
        of certain steps.
    TooLargeError
        If only some agents or steps of more than 1,000 agents are observed and the noise is Gaussian.

    See Also
    --------
    exposure : What an observer of some agents learns, as variances.
    calibrate : The noise that a budget asks for.

    Notes
    -----
    What privacy means here is said by `DEFINITION`, and with the numbers of one account by `Budget.definition`.

    For opinions Δ apart and Gaussian noise of covariance K over time, μ = Δ√I and zCDP ρ = Δ²I/2. For an observer of
    everyone

        I = 1ᵀK⁻¹1  (Σ 1/σ_t² if white)   if the start is public, or no agent has neighbours at step 1,
        I_i = k₁₁ Σ_{j≠i} (ρ₁A_ji/s_j)²/σ_j² + 1ᵀK⁻¹1/σ_i²,  k₁₁ = (K⁻¹)₁₁,   if y₀ = x₀ leaks at step 1.

    Frozen noise cancels in the second case: comparing the neighbours' first outputs with later ones leaves ρ₁S⁻¹Ax₀
    without any noise, and I = ∞. If hidden opinions adapt, 1 becomes π = (1, 1 − η₁, (1 − η₁)(1 − η₂), …): what is
    revealed about x₀ never exceeds Σ π²/σ² if that sum is finite. But frozen noise then cancels in both cases,
    because it stays while x₀ fades.

    For an observer of some agents, and in continuous time, I is the diagonal of the Fisher information of the
    state-space model; noise that insiders know has variance 0. An SDE on a finer grid reveals more. The limit for an
    observer of all agents at all times is I = ∫ dt/(σ_i scale_t)² with σ_i the deviation of `SDE.deviations` (s²T/σ²
    for the printed equation), and ∞ if y₀ = x₀. If opinions adapt at a rate η, dt becomes e^(−2ηt) dt; correlated
    noise has I = (1 + θT/2)/σ_i². If it is not known, as for schedules with either, the limit is nan.

    References
    ----------
    .. [1] Dong, Roth & Su (2022), Gaussian differential privacy. J. R. Stat. Soc. B 84.
    .. [2] Bun & Steinke (2016), Concentrated differential privacy. TCC 2016-B.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import budget
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(10.0), start=[0.0, 0.0])
    >>> account = budget(model, 100)
    >>> round(account.mu, 6), round(account.epsilon, 4)
    (1.0, 4.3772)
    >>> round(float(budget(model, 100, observed=[0]).table["mu"][1]), 2)  # agent 1 itself is not observed
    0.7
    """
    checked_delta(delta)
    with cancellable(should_stop):
        definition = Definition(model, steps, sensitivity, sees_start, runs, observed, insiders, unit, public_start)
        return budget_of(definition, float(delta))


def budget_of(definition: Definition, delta: float) -> Budget:
    """Return the budget of a definition."""
    promise, noise = promise_of(definition.system.noise), definition.system.noise
    # The information is exact, while guarantees use shifts that are nowhere too small.
    safe = shifts_of(definition, safe_factor(noise))
    exact = shifts_of(definition) if mixes_draws(noise) else safe
    # Information about location of the law at unit std: 1 for Gaussian noise, more for all others.
    unit = noise.fisher_information()
    columns = {"information": divide(exact.squares, 1 / unit)}
    if not definition.system.is_continuous and definition.is_complete:
        columns["own_information"] = divide(exact.own_squares, 1 / unit)
    columns |= promise.account(safe, definition.sensitivity, delta, noise)
    _correct_lower_bound(columns, definition, promise, delta)
    if isinstance(definition.system, SDE) and has_grid(definition.system):
        columns |= _grid_limits(definition, definition.system, delta)
    numbers = np.empty(definition.is_protected.shape, [(name, np.float64) for name in columns])
    for name, values in columns.items():
        numbers[name] = values
    return Budget(definition, delta, promise.text, numbers[definition.is_protected])


def _correct_lower_bound(columns: Columns, definition: Definition, promise: Promise, delta: float) -> None:
    """Replace ``epsilon_low`` where shifts are counted as larger than they are; drop it if the observer sees less."""
    if "epsilon_low" not in columns:
        return
    noise = definition.system.noise
    mixed = definition.rows_per_unit > 1 and leaks_at_first_step(definition.model)
    # Several topics cannot shift each neighbour's draw by the sum of moduli at once, where signs differ. Of noise with
    # a memory sums of draws are seen where agents keep their opinions, which are harder to tell apart than draws.
    if not definition.is_complete or mixed or not is_invertible(definition.model):
        del columns["epsilon_low"]
    elif mixes_draws(noise):
        # Steps from 2 on are a part of what is observed, and their draws have the law itself.
        later = promise.account(shifts_of(definition, 0.0), definition.sensitivity, delta, noise)
        columns["epsilon_low"] = later["epsilon_low"]


def shifts_of(definition: Definition, first: float = 1.0) -> Shifts:
    """Return the shifts of each privacy unit that an observer sees; unless noise is normal, those that all see."""
    d, q = definition, definition.rows_per_unit
    if d.observation is None:
        return shifts_of_information(np.zeros(d.model.n // q))
    readable = d.is_complete and is_invertible(d.model)
    if not d.system.is_continuous and (readable or not isinstance(d.model.noise, Gaussian)):
        seen: dict[str, Any] = {"sees_start": d.sees_start, "runs": d.runs, "insiders": d.is_insider, "topics": q}
        return model_shifts(d.model, d.steps, first=first, **seen)
    known = np.where(d.is_insider, 0.0, d.model.noise.deviations(d.model.n))
    quiet = replace(d.model, noise=replace(d.model.noise, std=known)) if d.insiders else d.model
    info = information(d.system.with_model(quiet), d.steps, d.observation)
    return shifts_of_information(d.runs * _of_units(info, q))


def _of_units(info: Information, topics: int) -> Array:
    """Return the largest dᵀJd of each privacy unit over changes |d| ≤ 1 of its opinions, (units,)."""
    # A block of J is the information about these opinions if all others are known, the worst case that privacy assumes.
    if topics == 1:
        return np.asarray(info.diagonal)
    # Dense, sparse or an operator: all of them have columns.
    matrix = np.asarray(info.matrix @ np.eye(info.exact.size))
    # What is observed without noise has no finite information, and is left out of J.
    cuts = [slice(first, first + topics) for first in range(0, len(matrix), topics)]
    return np.array([np.inf if info.exact[cut].any() else box_maximum(matrix[cut, cut]) for cut in cuts])


def _grid_limits(definition: Definition, sde: SDE, delta: float) -> Columns:
    """Return the information and ε for an observer of all agents at all times up to the last step."""
    limit = np.full(sde.n, np.inf)
    # A start that is hidden is the limit of public opinions as t → 0, and without noise.
    if not isinstance(sde.model.start, str):
        end = sde.time(definition.steps)
        whole = _inverse_square(sde, end) if sde.is_plain else _extended_limit(sde, end)
        limit = definition.runs * divide(np.sqrt(whole), sde.deviations) ** 2
    # Topics have noise of their own.
    limit = limit.reshape(-1, definition.rows_per_unit).sum(axis=1)
    epsilon, known = np.full(limit.size, np.nan), ~np.isnan(limit)
    epsilon[known] = epsilon_of(definition.sensitivity * np.sqrt(limit[known]), delta)
    return {"information_limit": limit, "epsilon_limit": epsilon}


def _extended_limit(sde: SDE, end: float) -> float | NDArray[np.float64]:
    """Return the information at unit deviation if opinions adapt, the network changes or noise is correlated.

    An observer at all times knows the drift up to π x₀ + ε, with π the share of x₀ that adaptation has left. White
    noise gives ∫ π² dt, and an Ornstein–Uhlenbeck process 1 + θT/2, the information about its mean. Closed forms are
    for constant rates and scales; nan elsewhere.
    """
    at, (_, *others) = sde.layout, schedules_of(sde)
    if at.states == at.agents:
        return _inverse_square(sde, end)
    if not all(isinstance(schedule, Constant) for schedule in others) or (at.has_hidden and at.has_memory):
        return math.nan
    unit = divide(1.0, sde.noise_scale(1.0)) ** 2
    if at.has_memory:
        return float(unit * (1 + sde.reversion * end / 2))
    rate = 2 * end * sde.linear_drift(1.0).adaptation_rate
    kept = np.divide(-np.expm1(-rate), rate, out=np.ones(sde.n), where=rate > 0)
    return np.asarray(unit * end * kept)


def _inverse_square(sde: SDE, end: float) -> float:
    """Return ∫ scale_t⁻² dt up to a time: ∞ if it diverges, nan if it cannot be found."""
    from scipy import integrate

    scale = sde.noise.time_scale
    if isinstance(scale, Constant):
        return float(end * divide(1.0, sde.noise_scale(1.0)) ** 2)
    # A table is constant between whole times.
    cuts = np.unique(np.append(np.arange(end) if isinstance(scale, Table) else [0.0], end))
    if isinstance(scale, Table):
        values = divide(1.0, sde.noise_scale((cuts[1:] + cuts[:-1]) / 2)) ** 2
        return float(np.diff(cuts) @ values)
    early, later = sde.noise_scale(np.array([FIRST_TIME / 100, FIRST_TIME]))
    # 1/scale² ~ t^(−2γ) diverges at 0 from γ = ½ on.
    if later > 0 and np.log(later / early if early > 0 else np.inf) >= (0.5 - 1e-6) * np.log(100):
        return math.inf
    value, error, *problem = integrate.quad(
        lambda t: float(divide(1.0, sde.noise_scale(t)) ** 2), 0.0, end, full_output=1, limit=200
    )
    # From above, as the guarantee requires; a third entry beyond the details is a message of failure.
    return math.nan if len(problem) > 1 else float(value + error)


def budget_text(account: Budget) -> str:
    """Return the most exposed agent's numbers, what they promise and what they assume."""
    definition = account.definition
    steps = f"{definition.steps:,} step{'s' * (definition.steps != 1)}"
    head = f"Privacy after {steps}, opinions up to {definition.sensitivity:g} apart, δ = {account.delta:g}"
    # Information breaks ties, for instance where every ε is infinite.
    table = account.table
    worst = table.sort_values(["epsilon", "information"], ascending=False, kind="stable").iloc[0]
    lines = [f"  {_NAMES[name]:<24}{worst[name]:.6g}" for name in table.columns]
    who, rows, count = f"agent {worst.name}", "", len(account.model.network.topics)
    if count and definition.unit == "topic":
        # The name of a row is a pair, and a person has a row for each topic.
        who, rows = f"agent {worst.name[0]} on topic {worst.name[1]!r}", " opinions"
    elif count:
        who, rows = f"agent {worst.name} with {count:,} topic{'s' * (count != 1)}", " persons"
    lead = f"for {who}, the most exposed of {len(table):,}{rows}:"
    return "\n".join([head, lead, *lines, *textwrap.wrap(account.promise, WIDTH), *definition_lines(definition)])


def definition_lines(definition: Definition) -> list[str]:
    """Return the terms of a definition and its warnings as lines."""
    warnings = [line for sentence in definition.warnings for line in as_lines({"warning": sentence})]
    return [*as_lines(definition.terms), *warnings]


# Calibration: how much noise a budget asks for, and what accuracy it leaves

# Relative precision of the search for a law without a formula; the result is rounded up to more noise.
_SEARCH_RTOL = 1e-9
_LEAST = 1e-12


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """A model with just the noise that a budget asks for.

    Attributes
    ----------
    model : Model
        The calibrated model.
    std : float or array of shape (agents,)
        Standard deviation of its noise.
    budget : Budget
        The budget that it meets.
    rms_error : float
        Root-mean-square distance of the consensus mode to v after ``budget.definition.steps`` steps; exact.
    optimum : OptimalSchedule, optional
        The optimal schedule under that noise, with the RMS distances of the agents under it and under simple schedules,
        if it was asked for.

    See Also
    --------
    calibrate : Computes it.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import calibrate
    >>> calibrated = calibrate(Model(k2(), hidden=[0.0, 1.0], start=0.0), 100, mu=1.0)
    >>> round(calibrated.std, 6), round(calibrated.rms_error, 4)
    (10.0, 0.7001)
    """

    model: Model
    std: float | Array
    budget: Budget
    rms_error: float
    optimum: OptimalSchedule | None = None

    def __str__(self) -> str:
        std = np.asarray(self.std)
        size = f"{std:.6g}" if std.ndim == 0 else f"{std.min():.6g}–{std.max():.6g} by agent"
        best = "" if self.optimum is None else f"{self.optimum}\n"
        return (
            f"noise of standard deviation {size} leaves the consensus mode {self.rms_error:.4g} away from v (root mean "
            f"square)\n{best}{self.budget}"
        )


def calibrate(
    model: Model,
    steps: int,
    *,
    epsilon: float | None = None,
    delta: float = 1e-5,
    mu: float | None = None,
    information: float | None = None,
    sensitivity: float = 1.0,
    sees_start: bool = False,
    runs: int = 1,
    observed: Observed = None,
    insiders: Sequence[Hashable] = (),
    unit: Unit = "person",
    public_start: bool = False,
    optimal_pressure: bool = False,
) -> Calibration:
    """Return the model with the least noise of its kind that keeps every agent within one budget over ``steps`` steps.

    Law, course over time and the ratios of agents' standard deviations are kept and one factor is found, as information
    falls with the square of it; a model without noise gets white Gaussian noise.

    Parameters
    ----------
    model : Model
        The model to calibrate.
    steps : int
        The number of observed steps, at least 1.
    epsilon : float, optional
        Budget ε > 0 of (ε, δ)-privacy. Exactly one of ``epsilon``, ``mu`` and ``information`` is given.
    delta : float, default 1e-5
        The δ at which ε holds, strictly between 0 and 1.
    mu : float, optional
        Budget μ > 0 of Gaussian differential privacy.
    information : float, optional
        Budget of Fisher information, above 0.
    sensitivity : float, default 1.0
        Largest distance between two hidden opinions that are to be indistinguishable.
    sees_start, runs, observed, insiders, unit, public_start : optional
        Who observes, and who is protected: as for `Definition`.
    optimal_pressure : bool, default False
        Replace the pressure by the optimal schedule under the calibrated noise, for opinions of which only the
        sensitivity is known: the model's own would show in the schedule, which is public. If y₀ = x₀, it has
        ρ_1 = 0: no neighbour responds to a hidden opinion, and the noise does not depend on the schedule.

    Returns
    -------
    Calibration
        The model, its noise, its budget and the accuracy that is left.

    Raises
    ------
    InvalidInputError
        If no amount of this noise meets the budget, or if the budget is not known for its law.

    See Also
    --------
    budget : The account of a given model.
    frontier : Accuracy against privacy for several designs.
    peerpressure.theory.optimal_schedule : The optimal schedule under given noise.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import calibrate
    >>> frozen = Gaussian(temporal="frozen")
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=frozen, start=[0.0, 0.0])
    >>> calibrate(model, 100, mu=0.5).std
    2.0
    """
    discrete_model(model, "the noise that a budget asks for")
    target = _target(epsilon=epsilon, mu=mu, information=information)
    if optimal_pressure and isinstance(model.start, str):
        model = delay_pressure(model, steps)
    definition = Definition(model, steps, sensitivity, sees_start, runs, observed, insiders, unit, public_start)
    return calibration_of(definition, delta, *target, optimal_pressure=optimal_pressure)


def calibration_of(
    definition: Definition, delta: float, kind: str, target: float, *, optimal_pressure: bool = False
) -> Calibration:
    """Return the definition's model with the least noise of its kind that meets one target."""
    model = definition.model
    if model.noise.is_zero:
        # It has no law to scale.
        model = replace(model, noise=Gaussian(1.0))
    now = budget_of(replace(definition, system=model), checked_delta(delta))
    _check_attainable(now)
    if kind == "information":
        # Information is proportional to 1/std², and μ to 1/std: no search is needed.
        factor = math.sqrt(now.information / target)
    elif isinstance(model.noise, Gaussian):
        factor = now.mu / (target if kind == "mu" else mu_of(target, delta))
    elif kind == "mu":
        rule = "μ is a budget for Gaussian noise"
        raise InvalidInputError(message(rule, got=model.noise, remedy="ask for an epsilon"))
    elif math.isnan(now.epsilon):
        rule = "ε is known for Gaussian, Laplace and Student noise only"
        raise InvalidInputError(message(rule, got=model.noise, remedy="ask for an information instead"))
    else:
        factor = _searched(now, target)
    quiet, optimum = replace(model, noise=_louder(model.noise, factor)), None
    if optimal_pressure:
        public = _without_opinions(quiet, definition.sensitivity)
        optimum = optimal_schedule(public, definition.steps, delayed=isinstance(model.start, str))
        quiet = replace(quiet, pressure=optimum.schedule)
    # Accounted again from the scaled noise: the result states what was computed and not what was asked for.
    account = budget_of(replace(definition, system=quiet), delta)
    return Calibration(quiet, quiet.noise.std, account, consensus_error(quiet, definition.steps), optimum)


def _without_opinions(model: Model, sensitivity: float) -> Model:
    """Return the model with other hidden opinions, spread evenly over the sensitivity: pressure is public.

    A schedule that suited the model's own opinions would reveal something about them. A given start is as far from
    the others' v as opinions are from each other, since nobody may know how far it is from the true one.
    """
    other = replace(model, hidden=sensitivity * np.linspace(-0.5, 0.5, model.n))
    if isinstance(model.start, str):
        return other
    away = float(np.mean(model.start_state)) + sensitivity / math.sqrt(12) - other.consensus_value
    return replace(other, hidden=other.x0 + away)


def _target(**given: float | None) -> tuple[str, float]:
    chosen = {name: value for name, value in given.items() if value is not None}
    if len(chosen) != 1:
        rule = "give one budget: epsilon, mu or information"
        raise InvalidInputError(message(rule, got=", ".join(chosen) or "none", remedy="leave the others out"))
    ((kind, value),) = chosen.items()
    return kind, checked_epsilon(value) if kind == "epsilon" else positive(value, kind)


def _check_attainable(now: Budget) -> None:
    """Raise an error for noise that meets no budget however large it is."""
    if math.isfinite(now.information):
        return
    # The cases go from the law itself to its combination with the model; the first that applies is the actual reason.
    if math.isinf(now.model.noise.fisher_information()):
        rule = "no amount of this noise meets a budget, because it is bounded or has jumps"
        raise InvalidInputError(message(rule, got=now.model.noise, remedy="use Gaussian or Laplace noise"))
    if now.model.noise.is_frozen and now.model.layout.has_hidden:
        rule = "frozen noise hides nothing from an observer of all agents where hidden opinions adapt"
        remedy = "use white or AR(1) noise, or a model without adaptation"
        raise InvalidInputError(message(rule, got=str(now.model.adaptation), remedy=remedy))
    refuse_seen_start(now.definition)
    if shows_start(now.model).any():
        rule = "no noise hides an opinion that stays public: y₀ = x₀ of agents who do not update at step 1"
        raise InvalidInputError(message(rule, got="a hidden start", remedy="give the model a public start"))
    if leaks_at_first_step(now.model) and now.definition.insiders:
        rule = "no noise hides an opinion from insiders who hear y₀ = x₀ of their neighbours"
        remedy = "give the model a public start, or delay its peer pressure"
        raise InvalidInputError(message(rule, got="a hidden start", remedy=remedy))
    if leaks_at_first_step(now.model) and now.model.noise.is_frozen:
        rule = (
            "frozen noise hides nothing from an observer of all agents if neighbours hear hidden opinions at the start"
        )
        remedy = "give the model a public start, or delay its peer pressure"
        raise InvalidInputError(message(rule, got="a hidden start", remedy=remedy))
    rule = "every agent needs noise at every step, and frozen noise the same scale at all of them"
    raise InvalidInputError(message(rule, got=now.model.noise, remedy="give all a positive deviation"))


def _searched(now: Budget, target: float) -> float:
    """Return the factor for a law whose ε has no formula: the worst agent's, until no agent is beyond the target."""
    model, promise, definition = now.model, promise_of(now.model.noise), now.definition
    moved = shifts_of(definition, safe_factor(model.noise))
    protected = definition.is_protected

    def epsilons(some: Shifts, factor: float) -> Array:
        # So many times more noise is the same as opinions so many times closer.
        return promise.account(some, definition.sensitivity / factor, now.delta, model.noise)["epsilon"]

    factor = 1.0
    values = np.where(protected, epsilons(moved, factor), 0.0)
    # The worst agent can change with the factor, as ε is not linear in it; each pass fixes one agent, hence at most n.
    for _ in range(protected.size):
        # Searching for one agent and checking all costs far less than searching with all of them.
        worst = moved.of(int(np.argmax(values)))
        factor = _least_factor(partial(epsilons, worst), target, factor)
        values = np.where(protected, epsilons(moved, factor), 0.0)
        if values.max() <= target:
            break
    return factor


def _least_factor(epsilons: Callable[[float], Array], target: float, guess: float) -> float:
    """Return the least factor with all ε ≤ target, to a relative error of 1e-9, from above."""
    low = high = guess
    while epsilons(high).max() > target:
        low, high = high, 2 * high
    # The lower bound ends the search where even almost no noise meets the budget.
    while epsilons(low).max() <= target and low > _LEAST:
        low, high = low / 2, low
    while high > low * (1 + _SEARCH_RTOL):
        # Geometric bisection, as the precision is relative.
        middle = math.sqrt(low * high)
        low, high = (low, middle) if epsilons(middle).max() <= target else (middle, high)
    return high


def _louder(noise: Noise, factor: float) -> Noise:
    """Return the same noise with all deviations multiplied by a factor."""
    return replace(noise, std=np.asarray(noise.std) * factor)
