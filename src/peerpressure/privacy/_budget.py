"""The privacy budget: what an observer of every agent learns about one, as (ε, δ), μ or zCDP."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, final

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.privacy._accounting import checked_delta, positive, promise_of
from peerpressure.privacy._release import (
    conservative_release,
    release,
    release_of_information,
    require_independent_start,
    start_assumption,
)
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.recovery._information import information
from peerpressure.recovery._least_squares import divide
from peerpressure.statespace import System, model_of
from peerpressure.theory._moments import step_count

if TYPE_CHECKING:
    import pandas as pd

_WIDTH = 88
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
}


class Observed(TypedDict):
    """How much of the mechanism is observed, beyond steps 1 to T of one run."""

    sees_start: bool
    runs: int


@final
@dataclass(frozen=True, eq=False, repr=False)
class Budget:
    """Privacy of every agent against an observer of all agents, under stated ``assumptions``.

    ``table`` has one row for each agent, by label: ``information`` is the exact Fisher information about its opinion
    when all others are known, ``own_information`` the part in its own series, and ``epsilon`` the
    ε that holds at ``delta`` for opinions up to ``sensitivity`` apart. Gaussian noise adds ``mu`` and ``zcdp``,
    Laplace noise ``epsilon_basic``, ``epsilon_advanced`` and the lower bound ``epsilon_low``. The properties give the
    most exposed agent's numbers. ``promise`` is what the law of noise guarantees. The observer observes steps 1 to
    ``steps`` of ``runs`` independent runs, and y₀ too if ``sees_start``.
    """

    model: Model
    steps: int
    sensitivity: float
    delta: float
    table: pd.DataFrame
    promise: str
    sees_start: bool
    runs: int
    start: str

    @property
    def information(self) -> float:
        """The largest Fisher information about any agent."""
        return self._worst("information")

    @property
    def epsilon(self) -> float:
        """The ε that holds for every agent."""
        return self._worst("epsilon")

    @property
    def mu(self) -> float:
        """The μ that holds for every agent; nan if noise is not Gaussian."""
        return self._worst("mu")

    @property
    def zcdp(self) -> float:
        """The ρ of zero-concentrated privacy that holds for every agent; nan if noise is not Gaussian."""
        return self._worst("zcdp")

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What every number here assumes, one sentence or two for each: the inputs, the observer, the start."""
        reach, extent = f"{self.sensitivity:g}", float(np.ptp(self.model.x0))
        inputs = f"One agent's hidden opinion moves by at most Δ = {reach}; all others are fixed and known."
        # A guarantee for small changes is easily mistaken for one about the whole range.
        if self.sensitivity < extent:
            inputs += f" The hidden opinions range over {extent:.4g}, and a move across that range is not covered."
        runs = "one run" if self.runs == 1 else f"{self.runs:,} runs with the same hidden opinions"
        first = 0 if self.sees_start else 1
        observer = f"The observer knows the model and sees all agents at steps {first} to {self.steps:,} of {runs}."
        return inputs, observer, self.start

    def _worst(self, column: str) -> float:
        # NaN means that nothing is known of some agent; skipping it would report a guarantee that does not hold for
        # all.
        return float(self.table[column].max(skipna=False)) if column in self.table else float("nan")

    def __repr__(self) -> str:
        return budget_text(self)


def budget(
    model: System,
    steps: int,
    sensitivity: float = 1.0,
    delta: float = 1e-5,
    *,
    sees_start: bool = False,
    runs: int = 1,
    should_stop: ShouldStop | None = None,
) -> Budget:
    """Return what an observer of every agent at steps 1, …, T learns about each of them, knowing the model.

    Parameters
    ----------
    model : Model or SDE
        The mechanism; an SDE is observed at the steps of its grid.
    steps : int
        The number T of observed steps.
    sensitivity : float, default 1.0
        Largest distance Δ between two hidden opinions that are to be indistinguishable.
    delta : float, default 1e-5
        The δ at which ε holds.
    sees_start : bool, default False
        Whether y₀ is observed, too, which reveals everything where y₀ = x₀.
    runs : int, default 1
        Runs with independent noise that are released; information adds up over them.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Budget
        The account of every agent, with the assumptions under which it holds.

    Raises
    ------
    InvalidInputError
        If a given start is an affine function of the hidden opinions, for it is not public then.

    See Also
    --------
    exposure : What an observer of some agents learns, as variances.
    calibrate : The noise that a budget asks for.

    Notes
    -----
    For opinions Δ apart and Gaussian noise of covariance K over time, μ = Δ√I and zCDP ρ = Δ²I/2 with

        I = 1ᵀK⁻¹1  (Σ 1/σ_t² if white)   where the start is public, or no agent has neighbours at step 1,
        I_i = k₁₁ Σ_{j≠i} (ρ₁A_ji/s_j)²/σ_j² + 1ᵀK⁻¹1/σ_i²,  k₁₁ = (K⁻¹)₁₁,   where y₀ = x₀ leaks at step 1.

    Frozen noise cancels in the second case: comparing the neighbours' first outputs with later ones leaves ρ₁S⁻¹Ax₀
    without any noise, so that I = ∞. Where hidden opinions adapt, 1 becomes π = (1, 1 − η₁, (1 − η₁)(1 − η₂), …): what
    is revealed about x₀ stays below Σ π²/σ² for ever if that sum is finite. But frozen noise then cancels in both
    cases, for it stays while x₀ fades. In continuous time, I is the diagonal of the Fisher information, and there is no
    part of an agent's own.

    References
    ----------
    .. [1] Dong, Roth & Su (2022), Gaussian differential privacy. J. R. Stat. Soc. B 84.
    .. [2] Bun & Steinke (2016), Concentrated differential privacy. TCC 2016-B.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(10.0), start=[0.0, 0.0])
    >>> account = budget(model, 100)
    >>> round(account.mu, 6), round(account.epsilon, 4)
    (1.0, 4.3772)
    """
    with cancellable(should_stop):
        return _budget(model, steps, sensitivity, delta, sees_start=sees_start, runs=runs)


def _budget(model: System, steps: int, sensitivity: float, delta: float, *, sees_start: bool, runs: int) -> Budget:
    import pandas as pd

    T, distance = step_count(steps), positive(sensitivity, "sensitivity")
    checked_delta(delta)
    require_independent_start(model)
    seen: Observed = {"sees_start": bool(sees_start), "runs": step_count(runs, "runs")}
    noise, base = model.noise, model_of(model)
    # Information about location of the law at unit std: 1 for Gaussian noise, more for all others.
    unit, promise = noise.fisher_information(), promise_of(noise)
    if isinstance(model, Model):
        # The information is exact, while guarantees use shifts that are nowhere too small.
        exact, safe = release(model, T, **seen), conservative_release(model, T, **seen)
        columns = {
            "information": divide(exact.squares, 1 / unit),
            "own_information": divide(exact.own_squares, 1 / unit),
        }
    else:
        # Noise of one step is correlated between agents, so that no part of the information is an agent's own.
        safe = release_of_information(_fisher_information(model, T, **seen))
        columns = {"information": safe.squares}
    columns |= promise.account(safe, distance, delta, noise)
    table = pd.DataFrame(columns, index=pd.Index(list(base.network.labels), name="agent", tupleize_cols=False))
    start = start_assumption(model, sees_start=seen["sees_start"])
    return Budget(base, T, distance, float(delta), table, promise.text, start=start, **seen)


def _fisher_information(system: System, steps: int, *, sees_start: bool, runs: int) -> Vector:
    if sees_start and isinstance(model_of(system).start, str):
        return np.full(system.n, np.inf)
    # The diagonal of J is the information about one agent if all others are known, the worst case that privacy assumes.
    return np.asarray(runs * information(system, steps).diagonal)


def budget_text(account: Budget) -> str:
    """Return the most exposed agent's numbers, what they promise and what they assume."""
    steps = f"{account.steps:,} step{'s' * (account.steps != 1)}"
    seen = f"{steps} seen in full" if account.runs == 1 else f"{steps} of {account.runs:,} runs seen in full"
    head = f"Privacy after {seen}, opinions up to {account.sensitivity:g} apart, δ = {account.delta:g}"
    # Information breaks ties, for instance where every ε is infinite.
    worst = account.table.sort_values(["epsilon", "information"], ascending=False, kind="stable").iloc[0]
    lines = [f"  {_NAMES[name]:<20}{worst[name]:.6g}" for name in account.table.columns]
    lead = f"for agent {worst.name}, the most exposed of {len(account.table):,}:"
    assumed = textwrap.wrap(" ".join(["Assumed:", *account.assumptions]), _WIDTH)
    return "\n".join([head, lead, *lines, *textwrap.wrap(account.promise, _WIDTH), *assumed])
