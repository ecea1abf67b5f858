"""What an observer of everything is told about one agent, as a privacy budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, final

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.privacy.gaussian import checked_delta, positive
from peerpressure.privacy.laws import promise_of, unit_information
from peerpressure.privacy.opening import require_independent_start, start_assumption
from peerpressure.privacy.release import over, release, safe_release, told_release
from peerpressure.recovery.continuous import discrete
from peerpressure.recovery.information import information
from peerpressure.sde import SDE
from peerpressure.theory.times import step_count

if TYPE_CHECKING:
    import pandas as pd


class Seen(TypedDict):
    """How much of the mechanism is observed, beyond steps 1 to T of one run."""

    sees_start: bool
    runs: int


@final
@dataclass(frozen=True, eq=False, repr=False)
class Budget:
    """Privacy of every agent against an observer of all agents, under stated ``assumptions``.

    ``table`` has one row for each agent, by label: ``information`` is the exact Fisher information about its opinion
    when all others are known, ``own_information`` the part told by its own noise sequence alone, and ``epsilon`` the
    ε that holds at ``delta`` for opinions up to ``sensitivity`` apart. Gaussian noise adds ``mu`` and ``zcdp``,
    Laplace noise ``epsilon_basic``, ``epsilon_advanced`` and the lower bound ``epsilon_low``. The properties give the
    most exposed agent's numbers. ``promise`` says what the law of noise guarantees. The observer sees steps 1 to
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
        if self.sensitivity < extent:
            inputs += f" The hidden opinions range over {extent:.4g}, and a move across that range is not covered."
        runs = "one run" if self.runs == 1 else f"{self.runs:,} runs with the same hidden opinions"
        first = 0 if self.sees_start else 1
        observer = f"The observer knows the model and sees all agents at steps {first} to {self.steps:,} of {runs}."
        return inputs, observer, self.start

    def _worst(self, column: str) -> float:
        return float(self.table[column].max(skipna=False)) if column in self.table else float("nan")

    def __repr__(self) -> str:
        from peerpressure.privacy.render import budget_text

        return budget_text(self)


def budget(
    model: Model | SDE,
    steps: int,
    sensitivity: float = 1.0,
    delta: float = 1e-5,
    *,
    sees_start: bool = False,
    runs: int = 1,
) -> Budget:
    """Return what is told about each agent to an observer who sees y_1, …, y_T of everyone and knows the model.

    With ``sees_start`` the observer also sees y₀, which reveals everything where y₀ = x₀. ``runs`` is the number of
    runs with independent noise that are released; information adds up over them. A given start that is an affine
    function of the hidden opinions is refused, for it is not public.

    For opinions Δ apart and Gaussian noise of covariance K over time, μ = Δ√I and zCDP ρ = Δ²I/2 with

        I = 1ᵀK⁻¹1  (Σ 1/σ_t² if white)   where the start is public, or nobody listens at step 1,
        I_i = k₁₁ Σ_{j≠i} (ρ₁A_ji/s_j)²/σ_j² + 1ᵀK⁻¹1/σ_i²,  k₁₁ = (K⁻¹)₁₁,   where y₀ = x₀ is heard but not seen.

    A mask that is held (frozen noise) is undone in the second case: comparing the neighbours' first words with
    their later ones leaves ρ₁S⁻¹Ax₀ without any noise, so that I = ∞. Where hidden opinions adapt, 1 becomes
    π = (1, 1 − η₁, (1 − η₁)(1 − η₂), …): what is told about x₀ stays below Σ π²/σ² for ever if that sum is finite. But
    frozen noise is then undone in both cases, for it stays while x₀ fades. In continuous time, for an SDE seen at
    the steps of its grid, I is the diagonal of the Fisher information, of which no part is an agent's own.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(10.0), start=[0.0, 0.0])
    >>> told = budget(model, 100)
    >>> round(told.mu, 6), round(told.epsilon, 4)
    (1.0, 4.3772)
    """
    import pandas as pd

    T, reach = step_count(steps), positive(sensitivity, "sensitivity")
    checked_delta(delta)
    require_independent_start(model)
    seen: Seen = {"sees_start": bool(sees_start), "runs": step_count(runs, "runs")}
    noise, base = model.noise, discrete(model)
    unit, promise = unit_information(noise), promise_of(noise)
    if isinstance(model, SDE):
        safe = told_release(_seen_in_continuous_time(model, T, **seen))
        columns = {"information": safe.squares}
    else:
        moved, safe = release(model, T, **seen), safe_release(model, T, **seen)
        columns = {
            "information": _scaled(unit, moved.squares),
            "own_information": _scaled(unit, moved.own_squares),
        }
    columns |= promise.account(safe, reach, delta, noise)
    table = pd.DataFrame(columns, index=pd.Index(list(base.network.labels), name="agent", tupleize_cols=False))
    start = start_assumption(model, sees_start=seen["sees_start"])
    return Budget(base, T, reach, float(delta), table, promise.text, start=start, **seen)


def _seen_in_continuous_time(equation: SDE, steps: int, *, sees_start: bool, runs: int) -> Vector:
    if sees_start and isinstance(equation.model.start, str):
        return np.full(equation.n, np.inf)
    return np.asarray(runs * information(equation, steps).diagonal)


def _scaled(unit: float, squares: Vector) -> Vector:
    return over(squares, 1 / unit)
