"""What an observer sees: which agents, at which steps, how sharply."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model

Positions: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True)
class Observation:
    """Who is seen and when; as it stands, everybody at every recorded step from 1 on.

    ``agents`` are labels and ``times`` steps (None for all that were recorded); steps before ``first_step`` are not
    seen. ``rounding`` is the spacing of the values that outputs are rounded to: the loss is treated as independent
    noise of variance rounding²/12 on each output, which is good while the noise is wider than the spacing.

    ``sees_start`` adds y₀. A model that starts from its hidden opinions shows them there without noise, so that
    whoever sees y₀ of an agent knows its x₀, and nothing is left to estimate; hence the default. In a model with a
    ``start`` of its own, y₀ is part of the model: the observer knows it, seen or not, and it says nothing of x₀.

    >>> Observation(agents=["ann"], times=[1, 2, 5])
    Observation(agents=('ann',), times=(1, 2, 5), first_step=0, sees_start=False, rounding=0.0)
    """

    agents: Sequence[Hashable] | None = None
    times: Sequence[int] | None = None
    first_step: int = 0
    sees_start: bool = False
    rounding: float = 0.0

    def __post_init__(self) -> None:
        if self.agents is not None:
            _refuse_text(self.agents)
            object.__setattr__(self, "agents", tuple(self.agents))
        if self.times is not None:
            object.__setattr__(self, "times", tuple(_whole(t, "an observed step") for t in self.times))
        object.__setattr__(self, "first_step", _whole(self.first_step, "first_step"))
        if not (isinstance(self.rounding, (int, float, np.number)) and 0 <= float(self.rounding) < np.inf):
            remedy = "use 0 for outputs that are seen as they are"
            rule = "rounding must be a finite spacing, not negative"
            raise InvalidInputError(complain(rule, got=repr(self.rounding), remedy=remedy))
        if self.times is not None and 0 in self.times and not self.sees_start:
            remedy = "set sees_start=True, or leave 0 out of times"
            raise InvalidInputError(
                complain("step 0 is seen only by who sees the start", got="0 among the times", remedy=remedy)
            )

    def resolve(self, model: Model, times: ArrayLike) -> ResolvedObservation:
        """Return this observation as positions and steps, of a run whose recorded steps are ``times``."""
        recorded = np.unique(np.asarray(times, dtype=np.int64))
        agents = self._positions(model)
        steps = self._steps(recorded)
        from_hidden = isinstance(model.start, str)
        start_seen = bool(steps.size) and steps[0] == 0
        reveals = start_seen and from_hidden and self.rounding == 0
        free = np.setdiff1d(np.arange(model.n), agents) if reveals else np.arange(model.n)
        # y₀ seen sharply is knowledge, and y₀ given by the model says nothing; only a rounded y₀ = x₀ is data.
        rows = steps if start_seen and from_hidden and self.rounding > 0 else steps[steps > 0]
        if not rows.size and not reveals:
            got = f"{'only step 0' if steps.size else 'no step'} of the recorded {_span(recorded)}"
            remedy = "look at step 1 or a later one"
            raise InvalidInputError(complain("an observer must see something of x₀", got=got, remedy=remedy))
        return ResolvedObservation(model.n, agents, rows, free, bool(start_seen), float(self.rounding))

    def _positions(self, model: Model) -> Positions:
        if self.agents is None:
            return np.arange(model.n)
        found = model.network.indices(self.agents)
        if not found.size:
            remedy = "name at least one, or leave agents out to see all"
            raise InvalidInputError(complain("an observer must see an agent", got="none", remedy=remedy))
        return _distinct(found, [model.network.labels[i] for i in found], "agents")

    def _steps(self, recorded: Positions) -> Positions:
        earliest = max(self.first_step, 0 if self.sees_start else 1)
        if self.times is None:
            return recorded[recorded >= earliest]
        wanted = _distinct(np.array(self.times, dtype=np.int64), self.times, "times")
        missing = np.setdiff1d(wanted, recorded)
        if missing.size:
            rule = f"observed steps must be among the {recorded.size} recorded ones, {_span(recorded)}"
            raise InvalidInputError(
                complain(rule, got=", ".join(map(str, missing[:5])), remedy="record them, or leave them out of times")
            )
        return wanted[wanted >= earliest]


@final
@dataclass(frozen=True, eq=False)
class ResolvedObservation:
    """An observation of a given model and run, as sorted integer arrays.

    ``agents`` (k,) are the positions of those seen and ``times`` (T,) the steps at which what they show tells of x₀:
    1 or later, and 0 only where a hidden start is seen rounded. ``free`` (f,) are the positions of the agents whose
    x₀ is still to be found; the others showed theirs at step 0.
    """

    n: int
    agents: Positions
    times: Positions
    free: Positions
    sees_start: bool
    rounding: float

    @property
    def last(self) -> int:
        """The last step that is seen; 0 if only the start is."""
        return int(self.times[-1]) if self.times.size else 0

    @property
    def everyone(self) -> bool:
        """Whether all agents are seen."""
        return self.agents.size == self.n

    @property
    def uninterrupted(self) -> bool:
        """Whether every step from 1 to the last is seen."""
        return self.times.size > 0 and self.times[0] <= 1 and self.times.size == self.last - int(self.times[0]) + 1

    @property
    def blur(self) -> float:
        """The variance that rounding adds to every output."""
        return self.rounding**2 / 12


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        rule = f"{name} must be a whole number, 0 or more"
        raise InvalidInputError(complain(rule, got=repr(value), remedy="count steps from 0, the start"))
    return int(value)


def _refuse_text(agents: object) -> None:
    if isinstance(agents, (str, bytes)) or not hasattr(agents, "__iter__"):
        rule = "agents must be a sequence of labels"
        raise InvalidInputError(complain(rule, got=repr(agents), remedy=f"for one agent use [{agents!r}]"))


def _distinct(values: Positions, names: Sequence[object], what: str) -> Positions:
    """Return the values sorted, refusing any that comes twice."""
    unique, first, count = np.unique(values, return_index=True, return_counts=True)
    if unique.size < values.size:
        twice = ", ".join(repr(names[i]) for i in first[count > 1][:5])
        raise InvalidInputError(complain(f"observed {what} must differ", got=f"{twice} twice", remedy="list each once"))
    return np.asarray(unique, dtype=np.int64)


def _span(recorded: Positions) -> str:
    return f"{recorded[0]}–{recorded[-1]}" if recorded.size else "none"
