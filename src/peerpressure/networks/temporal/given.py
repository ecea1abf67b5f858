"""Events as users hold them (rows, columns or tables) turned into columns of steps, positions and weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks.edges import matrix_of_edges
from peerpressure.networks.labels import Label
from peerpressure.networks.refusal import refusal

ROWS = "give (time, source, target) or (time, source, target, weight)"


class Table(NamedTuple):
    """Rows of users, column by column: times as they came, agents by position, and weights if there were any."""

    times: NDArray[Any]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[Any] | None
    labels: Sequence[Label]


def table_of(rows: Any, labels: Iterable[Label] | None, n: int | None) -> Table:
    """Return the columns of an array, a data frame, a tuple of columns or rows one by one.

    Agents in arrays of numbers are positions, and elsewhere labels, as in ``Network.from_edges``.
    """
    times, sources, targets, *weights = _columns(rows)
    if len(times) != len(sources) or len(times) != len(targets):
        got = f"{len(times)} times, {len(sources)} sources and {len(targets)} targets"
        raise refusal("every row must have a time and two ends", got=got, remedy="give columns of one length")
    if not len(times):
        raise refusal("a network that changes must have events", got="none", remedy="give at least one")
    matrix, names = matrix_of_edges((sources, targets), None, labels, n)
    # Both directions of every edge stand there in the order of the rows; the first half is as they were given.
    i, j = (side[: len(times)].astype(np.int64) for side in matrix.coords)
    return Table(np.asarray(times), i, j, np.asarray(weights[0]) if weights else None, names)


def _columns(rows: Any) -> list[Any]:
    if isinstance(rows, np.ndarray):
        return _of_array(rows)
    if isinstance(rows, tuple) and rows and all(isinstance(column, np.ndarray | list) for column in rows):
        columns = list(rows)
    elif hasattr(rows, "columns"):  # a data frame, whichever library it is from
        columns = [rows[name].to_numpy() for name in rows.columns]
        columns[1:3] = [ends.tolist() for ends in columns[1:3]]  # labels, where arrays would be positions
    else:
        columns = _unzipped(rows)
    if len(columns) not in (3, 4):
        raise refusal("events must come in three or four columns", got=len(columns), remedy=ROWS)
    return columns


def _of_array(rows: NDArray[Any]) -> list[Any]:
    if rows.ndim != 2 or rows.shape[1] not in (3, 4):
        raise refusal("events must come in three or four columns", got=f"shape {rows.shape}", remedy=ROWS)
    ends = rows[:, 1:3]
    if rows.dtype.kind == "f" and np.array_equal(ends, np.floor(ends)):
        # One array has one type: positions beside real times or weights come as floats.
        ends = ends.astype(np.int64)
    return [rows[:, 0], *ends.T, *([rows[:, 3]] if rows.shape[1] == 4 else [])]


def _unzipped(rows: Iterable[Any]) -> list[list[Any]]:
    listed = list(rows)
    for k, row in enumerate(listed, start=1):
        if not isinstance(row, tuple | list | np.ndarray) or len(row) not in (3, 4):
            raise refusal("an event must have three or four fields", got=f"{row!r} in row {k}", remedy=ROWS)
    times, sources, targets = ([row[c] for row in listed] for c in range(3))
    return [times, sources, targets, [row[3] if len(row) == 4 else 1 for row in listed]]
