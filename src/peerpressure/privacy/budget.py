"""What an observer of everything is told about one agent, as a privacy budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from peerpressure.diffusion import Diffusion
from peerpressure.model import Model, Vector
from peerpressure.privacy.gaussian import checked_delta, positive
from peerpressure.privacy.laws import promise_of, unit_information
from peerpressure.privacy.opening import opening_note
from peerpressure.privacy.release import over, release, safe_release, told_release
from peerpressure.recovery.continuous import discrete
from peerpressure.recovery.information import information
from peerpressure.theory.times import step_count

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False)
class Budget:
    """Privacy of every agent against an observer of all agents at steps 1 to ``steps``.

    ``table`` has one row for each agent, by label: ``information`` is the exact Fisher information about its opinion
    when all others are known, ``own_information`` the part told by its own noise sequence alone, and ``epsilon`` the
    ε that holds at ``delta`` for opinions up to ``sensitivity`` apart. Gaussian noise adds ``mu`` and ``zcdp``,
    Laplace noise ``epsilon_basic``, ``epsilon_advanced`` and the lower bound ``epsilon_low``. The properties give the
    most exposed agent's numbers. ``promise`` says what the law of noise guarantees, ``opening`` what is assumed of y₀.
    """

    model: Model
    steps: int
    sensitivity: float
    delta: float
    table: pd.DataFrame
    promise: str
    opening: str

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

    def _worst(self, column: str) -> float:
        return float(self.table[column].max(skipna=False)) if column in self.table else float("nan")

    def __repr__(self) -> str:
        from peerpressure.privacy.render import budget_text

        return budget_text(self)


def budget(model: Model | Diffusion, steps: int, sensitivity: float = 1.0, delta: float = 1e-5) -> Budget:
    """Return what is told about each agent to an observer who sees y_1, …, y_T of everyone and knows the model.

    For opinions Δ apart and Gaussian noise of covariance K over time, μ = Δ√I and zCDP ρ = Δ²I/2 with

        I = 1ᵀK⁻¹1  (Σ 1/σ_t² if white)   where the start is public, or nobody listens at step 1,
        I_i = k₁₁ Σ_{j≠i} (ρ₁A_ji/s_j)²/σ_j² + 1ᵀK⁻¹1/σ_i²,  k₁₁ = (K⁻¹)₁₁,   where y₀ = x₀ is heard but not seen.

    A mask that is held (persistent noise) is undone in the second case: comparing the neighbours' first words with
    their later ones leaves ρ₁S⁻¹Ax₀ without any noise, so that I = ∞. Where hidden opinions give way, 1 becomes
    π = (1, 1 − η₁, (1 − η₁)(1 − η₂), …): what is told about x₀ stays below Σ π²/σ² for ever if that sum is finite. But
    a held mask is then undone in both cases, for it stays while x₀ fades. In continuous time, for a Diffusion seen at
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
    noise, base = model.noise, discrete(model)
    unit, promise = unit_information(noise), promise_of(noise)
    if isinstance(model, Diffusion):
        safe = told_release(information(model, T).diagonal)
        columns = {"information": safe.squares}
    else:
        moved, safe = release(model, T), safe_release(model, T)
        columns = {
            "information": _scaled(unit, moved.squares),
            "own_information": _scaled(unit, moved.own_squares),
        }
    columns |= promise.account(safe, reach, delta, noise)
    table = pd.DataFrame(columns, index=pd.Index(list(base.network.labels), name="agent", tupleize_cols=False))
    return Budget(base, T, reach, float(delta), table, promise.text, opening_note(model))


def _scaled(unit: float, squares: Vector) -> Vector:
    return over(squares, 1 / unit)
