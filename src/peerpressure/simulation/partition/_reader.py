"""Parts of networks from files: folders of parts, the package's own archives, and lists of edges."""

from __future__ import annotations

import io
import itertools
import json
import os
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from peerpressure.errors import FileFormatError, NetworkError, message
from peerpressure.simulation.partition._rows import Numbers, even_cuts, merged_rows
from peerpressure.simulation.processes import Together
from peerpressure.support.files import expanded, naming, require_pyarrow
from peerpressure.support.provenance import SCHEMA_VERSION

if TYPE_CHECKING:
    import pandas

MANIFEST = "partition.json"
_ENDS = ("source", "target")
_READ = 2**24  # bytes of a file, or rows of a table, that are read at a time

Found = tuple[tuple[int, ...], csr_array]


def read_rows(
    together: Together, path: str | os.PathLike[str], n: int | None, *, directed: bool, signed: bool
) -> Found:
    """Return the cuts of all parts, and the rows of the own agents."""
    file = expanded(path)
    with together.checking(), naming(file, "a network file"):
        kind = "folder" if file.is_dir() else file.suffix.lower()
        if kind not in ("folder", ".npz", ".csv", ".parquet"):
            rule = "a network is read in parts from a folder of parts, .npz, .parquet or .csv"
            remedy = "convert it with peerpressure convert, or divide it with peerpressure partition"
            raise FileFormatError(message(rule, got=file.name, remedy=remedy))
        if kind in ("folder", ".npz"):
            return (_from_folder if kind == "folder" else _from_archive)(file, together.comm.rank, together.comm.size)
        reader = _parquet_edges if kind == ".parquet" else _csv_edges
        edges = reader(file, together.comm.rank, together.comm.size)
    largest = max(together.comm.allgather(max((int(end.max()) for end in edges[:2] if end.size), default=-1)))
    with together.checking():
        cuts = even_cuts(largest + 1 if n is None else n, together.comm.size)
    return cuts, merged_rows(together, cuts, edges, directed=directed, signed=signed)


# Folders of parts


def part_name(part: int) -> str:
    """Return the name of the file of a part."""
    return f"part-{part}.npz"


def _from_folder(folder: Path, rank: int, size: int) -> Found:
    """Read the parts of this process, which are consecutive where there are more parts than processes."""
    facts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if facts.get("schema_version") != SCHEMA_VERSION:
        rule = f"a folder of parts must have schema_version {SCHEMA_VERSION}"
        remedy = "write it again with peerpressure partition"
        raise FileFormatError(message(rule, got=facts.get("schema_version"), remedy=remedy))
    cuts = facts["cuts"]
    if len(cuts) - 1 < size:
        rule, got = "there must be at least one part for each process", f"{len(cuts) - 1} parts, {size} processes"
        raise FileFormatError(message(rule, got=got, remedy="divide the network into more parts"))
    bounds = [len(part) for part in np.array_split(np.arange(len(cuts) - 1), size)]
    ends = list(itertools.accumulate(bounds, initial=0))
    parts = [_part(folder / part_name(k), cuts[k], cuts[k + 1], cuts[-1]) for k in range(*ends[rank : rank + 2])]
    return tuple(cuts[end] for end in ends), csr_array(vstack(parts, format="csr"))


def _part(file: Path, first: int, last: int, n: int) -> csr_array:
    with np.load(file, allow_pickle=False) as archive:
        rows = csr_array(
            (archive["weights"], archive["indices"].astype(np.int64), archive["indptr"]), shape=(last - first, n)
        )
    rows.check_format()
    return rows


# The package's own archives


def _from_archive(file: Path, rank: int, size: int) -> Found:
    """Read the rows of this process from a network in the layout of ``scipy.sparse.save_npz``."""
    with ZipFile(file) as archive:
        n = int(_stretch(archive, "shape", 0, 2)[0])
        cuts = even_cuts(n, size)
        first, last = cuts[rank : rank + 2]
        starts = _stretch(archive, "indptr", first, last + 1).astype(np.int64)
        columns, weights = (_stretch(archive, name, int(starts[0]), int(starts[-1])) for name in ("indices", "data"))
    rows = csr_array(
        (weights.astype(np.float64), columns.astype(np.int64), starts - starts[0]), shape=(last - first, n)
    )
    rows.check_format()
    return cuts, rows


def _stretch(archive: ZipFile, name: str, begin: int, end: int) -> NDArray[Any]:
    """Read numbers ``begin``…``end``−1 of an array, whatever comes before them being passed over a piece at a time."""
    with archive.open(f"{name}.npy") as stream:
        version = npy.read_magic(stream)
        shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
        if dtype.hasobject or len(shape) != 1 or end > shape[0]:
            rule, got = "a network must be stored as arrays of numbers", f"{name} of shape {shape} and {dtype}"
            raise FileFormatError(message(rule, got=got, remedy="write it with write_network"))
        _pass_over(stream, begin * dtype.itemsize)
        return np.frombuffer(stream.read((end - begin) * dtype.itemsize), dtype)


def _pass_over(stream: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(stream.read(min(size, _READ))) or size


# Lists of edges, of which each process reads a share


def _parquet_edges(file: Path, rank: int, size: int) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    require_pyarrow(file)
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as table:
        _check_columns(table.schema_arrow.names)
        names = [name for name in (*_ENDS, "weight") if name in table.schema_arrow.names]
        if table.num_row_groups >= size:
            groups = list(range(rank, table.num_row_groups, size))
            taken = [batch.to_pandas() for batch in table.iter_batches(_READ, row_groups=groups, columns=names)]
        else:
            # All read everything, a piece at a time, and each keeps a share of the rows.
            pieces = (batch.to_pandas() for batch in table.iter_batches(_READ, columns=names))
            taken = [piece.iloc[rank::size].copy() for piece in pieces]
    return _numbers(taken, "weight" in names)


def _csv_edges(file: Path, rank: int, size: int) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    import pandas

    with open(file, "rb") as stream:
        heading = stream.readline()
        names = [name.strip().strip('"').casefold() for name in heading.decode("utf-8-sig").strip().split(",")]
        _check_columns(names)
        begin, length = stream.tell(), os.path.getsize(file)
        bounds = [begin + (length - begin) * k // size for k in range(size + 1)]
        # A line belongs to the process in whose share it begins.
        start, stop = (_next_line(stream, at, begin) for at in bounds[rank : rank + 2])
        stream.seek(start)
        data = stream.read(stop - start)
    frame = (
        pandas.read_csv(io.BytesIO(data), header=None, names=names)
        if data.strip()
        else pandas.DataFrame([], None, names)
    )
    return _numbers([frame], "weight" in names)


def _next_line(stream: IO[bytes], at: int, begin: int) -> int:
    """Return where the first line begins that begins at or after a place."""
    if at <= begin:
        return begin
    stream.seek(at - 1)
    stream.readline()
    return stream.tell()


def _check_columns(names: list[str]) -> None:
    if not set(_ENDS) <= set(names):
        rule = "a list of edges that is read in parts must have a heading with source and target, and weight if any"
        raise NetworkError(message(rule, got=", ".join(names)[:120], remedy="name the columns so"))


def _numbers(frames: list[pandas.DataFrame], weighted: bool) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    columns: list[NDArray[Any]] = []
    for name in _ENDS:
        found = [frame[name].to_numpy() for frame in frames if len(frame)]
        bad = next((one for one in found if one.dtype.kind not in "iu"), None)
        if bad is not None:
            rule, remedy = (
                f"agents of a network that is read in parts must be whole numbers: {name}",
                "number them from 0 on",
            )
            raise NetworkError(message(rule, got=repr(bad[0]), remedy=remedy))
        columns.append(np.concatenate([np.empty(0, np.int64), *(one.astype(np.int64) for one in found)]))
    if not weighted:
        return columns[0], columns[1], None
    weights = [frame["weight"].to_numpy(np.float64) for frame in frames if len(frame)]
    return columns[0], columns[1], np.concatenate([np.empty(0), *weights])
