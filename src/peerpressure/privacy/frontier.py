"""Accuracy against privacy: how far from v a network ends under each design when every agent is promised a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.privacy.designs import DESIGNS, Design, Trade, limit
from peerpressure.privacy.gaussian import positive
from peerpressure.privacy.opening import refuse_continuous, require_independent_start
from peerpressure.theory.times import Times, whole_times

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The error of each design at each budget and horizon, for noise that is just enough.

    ``table`` has one row for each design, horizon and budget μ: the deviation ``std`` of the noise that meets the
    budget, and ``bias``, ``deviation`` and ``rms_error`` of the consensus mode then. ``units`` has one row for each
    design and horizon under noise of deviation 1, whatever the budget: ``information`` and ``rms_error``, which no
    design keeps both bounded and going to 0. ``limit`` is Δ√(Σs²)/Σs: an unbiased mode has an error of at least
    limit/μ at every horizon, since who sees everything can compute it, so that consensus is exact only for μ → ∞.
    """

    table: pd.DataFrame
    units: pd.DataFrame
    limit: float
    sensitivity: float = 1.0

    def best(self, horizon: int) -> pd.DataFrame:
        """Return, for each budget, the design of the smallest error at this horizon; the first of equals."""
        at = self.table[self.table["horizon"] == horizon]
        if at.empty:
            known = ", ".join(map(str, self.table["horizon"].unique()))
            remedy = "or put it among the steps"
            raise InvalidInputError(complain(f"the horizon must be one of {known}", got=repr(horizon), remedy=remedy))
        rows = [group.index[np.argmin(_comparable(group["rms_error"]))] for _, group in at.groupby("mu")]
        return at.loc[rows].reset_index(drop=True)

    def __repr__(self) -> str:
        lines = []
        for horizon in self.table["horizon"].unique():
            best = self.best(int(horizon))
            words = ", ".join(f"{row.design} at μ = {row.mu:g} ({row.rms_error:.3g})" for row in best.itertuples())
            lines.append(f"  after {horizon:,} steps: {words}")
        assumed = f"one run, all messages but y₀ seen, opinions up to {self.sensitivity:g} apart"
        return "\n".join([f"Least error of the consensus mode for a budget μ ({assumed}):", *lines])


def frontier(
    model: Model,
    steps: int | Sequence[int],
    budgets: ArrayLike,
    designs: Sequence[Design] = DESIGNS,
    *,
    sensitivity: float = 1.0,
) -> Frontier:
    """Return the exact error of each design for budgets μ at one horizon or several.

    Noise of deviation Δ√I/μ meets μ, where I is the information under unit noise, and leaves the mode with
    rms error² = bias² + (Δ·cost/μ)². The model gives network, opinions, stubbornness and pressure; its noise is
    replaced, and a hidden start is never heard (see ``masked_start``). Opinions that adapt do so in the Noisy
    designs, which follow the model; the others average over a constant network and know nothing of it.

    >>> from peerpressure.networks import k2
    >>> print(frontier(Model(k2(), hidden=[0.0, 1.0]), 100, [1.0], DESIGNS[:1]))
    Least error of the consensus mode for a budget μ (one run, all messages but y₀ seen, opinions up to 1 apart):
      after 100 steps: white at μ = 1 (0.707)
    """
    import pandas as pd

    refuse_continuous(model, "accuracy against privacy")
    require_independent_start(model)
    horizons, mus = _horizons(steps), _budgets(budgets)
    reach = positive(sensitivity, "sensitivity")
    found = [(design, T, trade) for design in _named(designs) for T, trade in _trades(design, model, horizons)]
    table = pd.DataFrame([_row(design.name, T, trade, mu, reach) for design, T, trade in found for mu in mus])
    units = pd.DataFrame([_unit_row(design.name, T, trade) for design, T, trade in found])
    return Frontier(table, units, reach * limit(model), reach)


def _trades(design: Design, model: Model, horizons: Times) -> list[tuple[int, Trade]]:
    chosen = [int(T) for T in horizons]
    return list(zip(chosen, design.trades(model, chosen), strict=True))


def _row(design: str, T: int, trade: Trade, mu: float, reach: float) -> dict[str, object]:
    deviation = reach * trade.cost / mu
    return {
        "design": design,
        "horizon": T,
        "mu": mu,
        "std": reach * np.sqrt(trade.information) / mu,
        "bias": trade.bias,
        "deviation": deviation,
        "rms_error": float(np.hypot(trade.bias, deviation)),
    }


def _unit_row(design: str, T: int, trade: Trade) -> dict[str, object]:
    error = float(np.hypot(trade.bias, np.sqrt(trade.variance)))
    return {"design": design, "horizon": T, "information": trade.information, "rms_error": error, "cost": trade.cost}


def _comparable(errors: pd.Series) -> Vector:
    """Return errors to 12 digits, so that rounding does not decide between equals."""
    return np.array([float(f"{error:.12g}") for error in errors])


def _horizons(steps: int | Sequence[int]) -> Times:
    chosen = np.unique(whole_times(np.atleast_1d(np.asarray(steps)), least=1))
    if not chosen.size:
        raise InvalidInputError(complain("there must be a horizon", got="none", remedy="pass a number of steps"))
    return chosen


def _budgets(budgets: ArrayLike) -> Vector:
    try:
        mus = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    except (TypeError, ValueError):
        mus = np.zeros(0)
    if mus.ndim != 1 or not mus.size or not np.all((mus > 0) & (mus < np.inf)):
        rule = "budgets must be finite numbers μ > 0"
        raise InvalidInputError(complain(rule, got=repr(budgets)[:80], remedy="for instance [0.1, 1.0, 10.0]"))
    return np.unique(mus)


def _named(designs: Sequence[Design]) -> Sequence[Design]:
    names = [design.name for design in designs]
    if not names or len(set(names)) < len(names):
        rule = "there must be one design or more, with different names"
        raise InvalidInputError(complain(rule, got=", ".join(names) or "none", remedy="name each once"))
    return designs
