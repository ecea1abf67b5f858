"""Answers of people in rounds, from plain loops that know nothing of the package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]


def ring(n: int, reach: tuple[int, ...] = (1, 2)) -> Array:
    """Return who sees whom where everybody sees a few of those who come next."""
    sees = np.zeros((n, n))
    for k in reach:
        sees[np.arange(n), (np.arange(n) + k) % n] = 1
    return sees


def groups(
    w: Any, rounds: int = 3, people: int = 15, count: int = 12, seed: int = 1, noise: float = 0.4, memory: bool = False
) -> pd.DataFrame:
    """Return a table of groups in which people give a part w of each answer to the mean of those whom they see.

    ``w`` is one number, one for each round after the first, or one for each person. With ``memory`` they go on from
    their last answer, otherwise they return to their opinion.
    """
    rng, rows = np.random.default_rng(seed), []
    mean = ring(people) / 2
    for group in range(count):
        opinion = rng.normal(size=people)
        said, seen = opinion + noise * rng.normal(size=people), np.full(people, np.nan)
        for t in range(1, rounds + 1):
            rows += [(f"g{group}", "q", i, t, said[i], seen[i]) for i in range(people)]
            seen = mean @ said
            part = w[t - 1] if isinstance(w, tuple) and t < rounds else 0.0 if isinstance(w, tuple) else w
            alone = (said if memory else opinion) + noise * rng.normal(size=people)
            said = (1 - part) * alone + part * seen
    return pd.DataFrame(rows, columns=["group", "question", "agent", "time", "public", "seen"])


def matrix(table: pd.DataFrame, column: str = "public") -> Array:
    """Return a column of a table as (T, n), people in the order of their first appearance."""
    wide = table.assign(person=table["group"] + "/" + table["agent"].map(str)).pivot(
        index="time", columns="person", values=column
    )
    order = dict.fromkeys(table["group"] + "/" + table["agent"].map(str))
    return np.asarray(wide[list(order)], dtype=np.float64)
