"""The limit law of each agent: what its public opinion does in the long run, with its mean and deviation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model.step import Array
from peerpressure.support.results import read_only
from peerpressure.support.text import plain


class LimitKind(Enum):
    """What the public opinion of one agent does as t → ∞: converges, oscillates, fluctuates, walks or drifts.

    Attributes
    ----------
    CONVERGES : LimitKind
        It converges to one number, the same in every run.
    PERIODIC : LimitKind
        It repeats a cycle of different values.
    RANDOM_LIMIT : LimitKind
        In each run it converges, to a number that differs between runs.
    FLUCTUATES : LimitKind
        It keeps moving at random about a mean.
    WALKS : LimitKind
        It keeps moving at random, and its variance grows without bound.
    DRIFTS : LimitKind
        It moves ever further in a direction that noise drew once.
    UNKNOWN : LimitKind
        That is not known.

    See Also
    --------
    LimitLaw : Has the kind of each agent.

    Examples
    --------
    >>> from peerpressure.theory import LimitKind
    >>> LimitKind.RANDOM_LIMIT.value
    'random limit'
    """

    CONVERGES = "converges"
    PERIODIC = "periodic"
    RANDOM_LIMIT = "random limit"
    FLUCTUATES = "fluctuates"
    WALKS = "walks"
    DRIFTS = "drifts"
    UNKNOWN = "unknown"


@final
@read_only
@dataclass(frozen=True, eq=False)
class LimitLaw:
    """Law of each agent's public opinion as t → ∞.

    Attributes
    ----------
    kind : array of LimitKind, shape (agents,)
        What each opinion does.
    mean : array of shape (phases, agents)
        Its mean at late steps t, in row t mod phases; nan where it is not computed.
    std : array of shape (agents,)
        Its standard deviation over runs, as a root mean square over the phases; ∞ where it grows without bound, and nan
        where it is not computed.
    group : array of int, shape (agents,)
        Agents of the same number come together: their opinions, multiplied by ``camp``, differ by less and less. It is
        −1 for agents who come together with nobody.
    camp : array of int, shape (agents,)
        1, or −1 for agents who come to the opposite of their group's value.

    See Also
    --------
    Verdict : Has it as ``law``.

    Examples
    --------
    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import k2
    >>> law = diagnose(Model(k2(), hidden=[0.0, 1.0])).law
    >>> law.kind[0], law.mean
    (<LimitKind.CONVERGES: 'converges'>, array([[0.5, 0.5]]))
    """

    kind: NDArray[np.object_]
    mean: Array
    std: Array
    group: NDArray[np.int64]
    camp: NDArray[np.int64]

    @classmethod
    def unknown(cls, agents: int) -> Self:
        """Return the law of agents of whom nothing is known.

        Parameters
        ----------
        agents : int
            Number of agents.

        Returns
        -------
        LimitLaw
            Law of the kind ``UNKNOWN``.
        """
        nothing = np.full((1, agents), np.nan)
        return cls(
            _kinds(agents, LimitKind.UNKNOWN), nothing, nothing[0], np.full(agents, -1), np.ones(agents, np.int64)
        )

    @cached_property
    def kinds(self) -> frozenset[LimitKind]:
        """The kinds that occur."""
        kinds, left = set(), self.kind
        # Few kinds, each in one pass over an array: a set of a million members would take longer than a diagnosis.
        while left.size:
            kinds.add(left[0])
            left = left[left != left[0]]
        return frozenset(kinds)

    def at(self, t: int) -> Array:
        """Return the mean of each agent at a late step t.

        Parameters
        ----------
        t : int
            A step so late that the limit is reached.

        Returns
        -------
        array of shape (agents,)
            Means of the public opinions.
        """
        return np.asarray(self.mean[t % len(self.mean)])

    @property
    def turns(self) -> tuple[float, float] | None:
        """The two values that two sides exchange, that of side 0 at even times first; None where there are more."""
        values = self.camp * self.mean
        alike = len(values) == 2 and np.ptp(np.sort(values, axis=0), axis=1).max() <= 1e-6 * np.ptp(values)
        return (float(values[0, 0]), float(values[1, 0])) if alike else None

    @property
    def average(self) -> Array:
        """The mean of each agent over the phases, shape (agents,)."""
        return np.asarray(self.mean.mean(axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON: numbers of agents by kind, and the range of means and deviations.

        Returns
        -------
        dict
            Keys ``kinds`` (agents by kind), ``phases``, ``groups``, ``low`` and ``high`` of the means, and
            ``least_std`` and ``greatest_std``; None for what is infinite or not computed.
        """
        counts = Counter(self.kind.tolist())
        ends = {"low": self.mean.min(), "high": self.mean.max()}
        ends |= {"least_std": self.std.min(), "greatest_std": self.std.max()}
        return {
            "kinds": {kind.value: counts[kind] for kind in LimitKind if kind in counts},
            "phases": len(self.mean),
            "groups": int(np.unique(self.group).size),
            **{name: plain(value) for name, value in ends.items()},
        }


@final
@read_only
@dataclass(frozen=True, eq=False)
class Fluctuation:
    """Stationary standard deviations: of the consensus mode and, up to 600 agents, of each agent."""

    mode: float
    agents: Array | None


def common_law(agents: int, kind: LimitKind, mean: float, std: float, camp: NDArray[Any] | None = None) -> LimitLaw:
    """Return the law of agents who all come to one value, or to its opposite in camp −1."""
    signs = np.ones(agents, np.int64) if camp is None else np.asarray(camp, np.int64)
    return LimitLaw(
        _kinds(agents, kind),
        (signs * mean)[None].astype(float),
        np.full(agents, std),
        np.zeros(agents, np.int64),
        signs,
    )


def separate_law(kind: LimitKind, agents: int) -> LimitLaw:
    """Return the law of agents none of whom comes together with another."""
    nothing = np.full((1, agents), np.nan)
    known = {LimitKind.CONVERGES: 0.0, LimitKind.WALKS: np.inf, LimitKind.DRIFTS: np.inf}
    std = np.full(agents, known.get(kind, np.nan))
    return LimitLaw(_kinds(agents, kind), nothing, std, np.full(agents, -1), np.ones(agents, np.int64))


def _kinds(agents: int, kind: LimitKind) -> NDArray[np.object_]:
    kinds = np.empty(agents, dtype=np.object_)
    kinds[:] = kind
    return kinds
