"""The final table: one row, or several, for each unit, in the order of the plan."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerpressure.errors import FileFormatError, complain
from peerpressure.files import replacing

from .errors import OtherSweepError, UnfinishedSweepError, damaged
from .ledger import open_ledger
from .plan import REPLICATION, Fingerprint
from .results import read_result

if TYPE_CHECKING:
    import pandas as pd


def collect(folder: str | os.PathLike[str], *, partial: bool = False) -> pd.DataFrame:
    """Return the table of a finished sweep: a column for each axis, the replication, and what the task gave.

    With ``partial``, the units that are done by now. How the units were computed leaves no trace in the table.
    """
    where = Path(folder)
    with open_ledger(where) as ledger:
        fingerprint, states = ledger.fingerprint(), ledger.states()
        axes, keys = ledger.table_order()
    if fingerprint is None:
        raise damaged("no plan")
    done = [key for key in keys if states.get(key) == "done"]
    if len(done) < len(keys) and not partial:
        failed = sum(state == "failed" for state in states.values())
        got = f"{len(done)} of {len(keys)} done, {failed} failed"
        remedy = "run it again (with failed units retried), or ask for the partial table"
        raise UnfinishedSweepError(complain("a sweep must be finished to be collected", got=got, remedy=remedy))
    return _frame(axes, list(_records(where, axes, done, fingerprint)))


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table as .csv or .parquet, whole or not at all; floats read back to the last bit."""
    target = Path(path)
    if target.suffix == ".csv":
        with replacing(target) as file:
            file.write(table.to_csv(index=False, lineterminator="\n").encode())
    elif target.suffix == ".parquet":
        _require_pyarrow(target)
        with replacing(target) as file:
            table.to_parquet(file, index=False, engine="pyarrow")
    else:
        rule = "a table is written as .csv or .parquet"
        raise FileFormatError(complain(rule, got=target.name, remedy="end the name in one of them"))


def _require_pyarrow(target: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        remedy = "pip install pyarrow (peerpressure[cluster] brings it), or write .csv"
        raise FileFormatError(
            complain("Parquet files need pyarrow, which is not installed", got=target.name, remedy=remedy)
        ) from error


def _records(folder: Path, axes: Sequence[str], keys: Sequence[str], held: Fingerprint) -> Iterator[dict[str, Any]]:
    digest = held.digest
    for key in keys:
        result = read_result(folder, key, held)
        if result.fingerprint != digest:
            rule = f"all results in {folder} must be of one task, version and seed"
            raise OtherSweepError(complain(rule, got=f"another at unit {key}", remedy="run the sweep fresh"))
        point = {name: _scalar(result.parameters[name]) for name in axes} | {REPLICATION: result.replication}
        yield from (point | row for row in result.rows)


def _scalar(value: object) -> object:
    """Return a parameter as one cell; a list or table as its JSON text."""
    return json.dumps(value, sort_keys=True) if isinstance(value, (list, dict)) else value


def _frame(axes: Sequence[str], records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    names = dict.fromkeys([*axes, REPLICATION, *(name for record in records for name in record)])
    return pd.DataFrame({name: _column([record.get(name) for record in records]) for name in names})


def _column(values: Sequence[Any]) -> pd.Series:
    import pandas as pd

    present = [value for value in values if value is not None]
    # Whole numbers with gaps stay whole numbers; as floats they would lose digits beyond 2⁵³.
    if len(present) == len(values) or not present or not all(type(value) is int for value in present):
        return pd.Series(values)
    return pd.Series(values, dtype="Int64" if max(map(abs, present)) < 2**63 else object)
