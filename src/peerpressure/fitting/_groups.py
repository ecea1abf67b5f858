"""Panels of groups: what people said in a few rounds, and what each of them had seen before each round.

Groups are independent: nobody sees a member of another group. A stratum holds the people who could have sat in each
other's place, such as all who answered one question. A cluster holds people whose errors may depend on one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array

First: TypeAlias = Literal["before", "after"]
Codes: TypeAlias = NDArray[np.intp]

# Rows up to which each person's whole history has free coefficients; longer records are compared by `compare`.
MOST_ROWS: Final = 10
LEAST_PEOPLE: Final = 8  # with an answer in some round after the first


class PeerExposure(Protocol):
    """What people saw before each round, (T, n); NaN in the first row and for those who saw nothing."""

    @property
    def values(self) -> Array:
        """What each person saw."""
        ...

    def shuffled(self, seats: Codes) -> Array:
        """Return what person i would have seen on seat ``seats[i, r]``, (T, n, R)."""
        ...


@final
@dataclass(frozen=True, eq=False)
class Shown:
    """Values that were shown to people, as given in the data."""

    values: Array

    def shuffled(self, seats: Codes) -> Array:
        """Return the values that belong to the seats."""
        return np.asarray(self.values[:, seats])


@final
@dataclass(frozen=True, eq=False)
class Neighbours:
    """The weighted mean of the previous answers of those whom a person sees, by networks.

    Parameters
    ----------
    answers : array, (T, n)
        Public opinions.
    networks : sequence of sparse arrays, (n, n)
        Whom each person sees before rounds 2 … T; row i has the weights of person i.
    """

    answers: Array
    networks: Sequence[sparse.csr_array]

    @cached_property
    def values(self) -> Array:
        """What each person saw."""
        return self._seen(self.answers)

    def shuffled(self, seats: Codes) -> Array:
        """Return what people would have seen on other seats, had they and all others said the same there."""
        steps, (n, draws) = len(self.answers), seats.shape
        # Person seats⁻¹[s] sits on seat s.
        sitting = np.empty_like(seats)
        np.put_along_axis(sitting, seats, np.broadcast_to(np.arange(n)[:, None], seats.shape), axis=0)
        seen = self._seen(self.answers[:, sitting])
        return np.take_along_axis(seen, np.broadcast_to(seats, (steps, n, draws)), axis=1)

    def _seen(self, answers: Array) -> Array:
        out = np.full(answers.shape, np.nan)
        for t, network in enumerate(self.networks, 1):
            there = np.isfinite(answers[t - 1])
            weights = network @ there.astype(np.float64)
            total = network @ np.where(there, answers[t - 1], 0.0)
            np.divide(total, weights, out=out[t], where=weights > 0)
        return out


@final
@dataclass(frozen=True, eq=False)
class GroupPanel:
    """Answers of people in independent groups over a few rounds.

    Attributes
    ----------
    answers : array, (T, n)
        Public opinions by row, NaN where one is missing. Answers after a gap are not used.
    exposure : PeerExposure
        What people saw before each round.
    first : {"before", "after"}
        Whether the first row was answered before anybody had seen anything, or by people who knew each other.
    stratum, cluster, group : array of int, (n,)
        Codes 0, 1, … of people who could have sat in each other's place, of those whose errors may be related, and of
        those who could see one another.
    labels : sequence
        Names of the people.
    """

    answers: Array
    exposure: PeerExposure
    first: First
    stratum: Codes
    cluster: Codes
    group: Codes
    labels: Sequence[Any]

    def __post_init__(self) -> None:
        if len(self.answers) > MOST_ROWS:
            rule = f"the weight of what people saw is estimated from up to {MOST_ROWS} rows"
            raise InvalidInputError(
                message(rule, got=f"{len(self.answers)}", remedy="leave first out, and longer records are compared")
            )
        if not np.isfinite(self.answers[:, self.people]).any() or self.people.size < LEAST_PEOPLE:
            rule = f"{LEAST_PEOPLE} people or more must have answered in the first two rows"
            raise InvalidInputError(message(rule, got=f"{self.people.size}", remedy="add people, rounds or groups"))
        moved = np.nanmax(self.answers[:, self.people], axis=0) > np.nanmin(self.answers[:, self.people], axis=0)
        if not moved.any():
            rule = "answers must change over time, or there is nothing to explain"
            remedy = "check the column of answers, and that rows differ in their time"
            raise InvalidInputError(message(rule, got="the same answer of each person in all rounds", remedy=remedy))

    @property
    def rows(self) -> int:
        """The number of rows, T."""
        return int(self.answers.shape[0])

    @property
    def n(self) -> int:
        """The number of people."""
        return int(self.answers.shape[1])

    @cached_property
    def answered(self) -> NDArray[np.bool_]:
        """Who has answered in a row and in all rows before it, (T, n)."""
        return np.asarray(np.logical_and.accumulate(np.isfinite(self.answers), axis=0))

    @cached_property
    def people(self) -> Codes:
        """People with an answer that is explained: in the first two rows."""
        return np.flatnonzero(self.answered[1])

    @cached_property
    def is_one_network(self) -> bool:
        """Whether all people are in one network, in which seats are seldom assigned by chance."""
        return isinstance(self.exposure, Neighbours) and np.unique(self.group).size == 1

    @cached_property
    def degree(self) -> float:
        """The mean weight of ties of those who see somebody; 1 where values were shown."""
        if not isinstance(self.exposure, Neighbours):
            return 1.0
        degrees = np.array([network.sum(axis=1) for network in self.exposure.networks])
        return float(degrees[degrees > 0].mean())

    @cached_property
    def seen(self) -> Array:
        """What people saw before each row, (T, n)."""
        return self.exposure.values

    @cached_property
    def has_clusters(self) -> bool:
        """Whether there are clusters enough for errors by cluster; otherwise errors are by person."""
        return bool(np.unique(self.cluster[self.people]).size >= MIN_CLUSTERS)

    @cached_property
    def unmoved(self) -> Array:
        """The share of people who repeated their last answer exactly, by row after the first, (T − 1,)."""
        same = np.where(self.answered[1:], np.diff(self.answers, axis=0) == 0, False)
        return np.asarray(same.sum(axis=1) / np.maximum(self.answered[1:].sum(axis=1), 1))

    @cached_property
    def saw_the_same(self) -> bool:
        """Whether within every stratum all people saw the same before each row, or all but their own answer."""
        return not any(self._differences(t, code) for t in range(1, self.rows) for code in np.unique(self.stratum))

    def _differences(self, t: int, code: int) -> bool:
        """Return whether what people of a stratum saw differs by more than their own answer's part of the mean."""
        there = (self.stratum == code) & self.answered[t] & np.isfinite(self.seen[t])
        if there.sum() < 3:
            return False
        columns = np.column_stack([np.ones(there.sum()), self.answers[t - 1, there]])
        seen = self.seen[t, there]
        left = seen - columns @ np.linalg.lstsq(columns, seen, rcond=None)[0]
        return bool(np.abs(left).max() > 1e-9 * (1 + np.abs(seen).max()))


MIN_CLUSTERS: Final = 8
