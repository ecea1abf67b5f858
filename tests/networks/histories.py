"""Hypothesis strategies for temporal networks, and their dense oracle."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from peerpressure.networks import TemporalNetwork

Row = tuple[int, int, int, float]


class History(NamedTuple):
    """Events as a user would list them, with the number of agents and the period."""

    n: int
    rows: list[Row]
    period: int | None

    def network(self) -> TemporalNetwork:
        times, i, j, weights = (list(column) for column in zip(*self.rows, strict=True)) if self.rows else ([],) * 4
        return TemporalNetwork(times, i, j, weights, n=self.n, period=self.period)

    def dense(self, t: int) -> NDArray[np.float64]:
        """A_t by applying all events one by one."""
        step = t if self.period is None else (t - 1) % self.period + 1
        A = np.zeros((self.n, self.n))
        for time, i, j, weight in self.rows:
            if time <= step:
                A[i, j] = A[j, i] = weight
        return A

    @property
    def horizon(self) -> int:
        """A step by which everything has happened, and more."""
        return max([time for time, *_ in self.rows], default=1) + (self.period or 0) + 3


@st.composite
def histories(draw: st.DrawFn, agents: int = 6, steps: int = 7, events: int = 25) -> History:
    """Up to so many events in order of time, no two of one pair at one step, some of which change nothing."""
    n = draw(st.integers(2, agents))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda ends: ends[0] != ends[1])
    drawn = draw(
        st.lists(st.tuples(st.integers(1, steps), pair, st.sampled_from([0.0, 0.0, 1.0, 2.5])), max_size=events)
    )
    last = {(time, frozenset(ends)): (time, *ends, weight) for time, ends, weight in drawn}
    rows = sorted(last.values(), key=lambda row: row[0])
    longest = max([row[0] for row in rows], default=1)
    period = draw(st.none() | st.integers(longest, longest + 3))
    return History(n, rows, period)
