"""Matrix Market files, read in Python: SciPy's compiled reader can crash the process on a damaged file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from peerpressure.errors import FileFormatError, complain

BANNER = "%%matrixmarket"


class Header(NamedTuple):
    """What the first lines of a file promise."""

    dense: bool
    pattern: bool
    symmetric: bool
    sizes: tuple[int, ...]


def read_matrix(file: Path) -> coo_array | NDArray[np.float64]:
    """Return the real matrix in a file: sparse with repeats kept, or dense."""
    lines = _text(file).splitlines()
    start = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
    header = _header(lines[0] if lines else "", lines[start] if start < len(lines) else "")
    body = [line for line in lines[start + 1 :] if line.strip()]
    return _dense(header, body) if header.dense else _sparse(header, body)


def _text(file: Path) -> str:
    import psutil

    if file.suffix.lower() != ".gz":
        return file.read_bytes().decode("ascii", errors="replace")
    # A few kilobytes of gzip may hold gigabytes of text.
    most = psutil.virtual_memory().available // 8
    with gzip.open(file) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise _unfit("a network must fit into memory", f"more than {most} bytes", "use a larger machine")
    return content.decode("ascii", errors="replace")


def _header(banner: str, sizes: str) -> Header:
    words = banner.casefold().split()
    kinds = ({"coordinate", "array"}, {"real", "double", "integer", "pattern"}, {"general", "symmetric"})
    known = len(words) == 5 and all(word in kind for word, kind in zip(words[2:], kinds, strict=True))
    if words[:2] != [BANNER, "matrix"] or not known:
        remedy = "begin with %%MatrixMarket matrix, coordinate or array, real, general or symmetric"
        raise _unfit("a Matrix Market file must describe a real matrix", repr(banner[:80]), remedy)
    dense = words[2] == "array"
    numbers = sizes.split()
    if len(numbers) != (2 if dense else 3) or not all(n.isdecimal() and len(n) < 19 for n in numbers):
        remedy = "give rows, columns and, unless dense, entries"
        raise _unfit("the line after the comments must hold the sizes", repr(sizes[:80]), remedy)
    return Header(dense, words[3] == "pattern", words[4] == "symmetric", tuple(map(int, numbers)))


def _sparse(header: Header, body: list[str]) -> coo_array:
    rows, columns, entries = header.sizes
    table = _numbers(body, entries, width=2 if header.pattern else 3)
    weights = np.ones(entries) if header.pattern else table[:, 2]
    places = table[:, :2]
    legal = (places == np.floor(places)) & (places >= 1) & (places <= (rows, columns))
    if not legal.all():
        line = body[int(np.flatnonzero(~legal.all(axis=1))[0])]
        raise _unfit("rows and columns must lie within the sizes", repr(line[:80]), "count from 1")
    i, j = places.astype(np.int64).T - 1
    if header.symmetric:
        off = i != j
        i, j, weights = np.append(i, j[off]), np.append(j, i[off]), np.append(weights, weights[off])
    return coo_array((weights, (i, j)), shape=(rows, columns))


def _dense(header: Header, body: list[str]) -> NDArray[np.float64]:
    rows, columns = header.sizes
    if not header.symmetric:
        return _numbers(body, rows * columns, width=1).reshape((rows, columns), order="F")
    values = _numbers(body, rows * (rows + 1) // 2, width=1).ravel()
    matrix = np.zeros((rows, rows))
    # The lower triangle column by column is the upper triangle row by row.
    matrix[np.triu_indices(rows)] = values
    return matrix + np.triu(matrix, 1).T


def _numbers(body: list[str], count: int, width: int) -> NDArray[np.float64]:
    if len(body) != count:
        got = f"{count} entries promised and {len(body)} found"
        raise _unfit("a matrix file must hold what its header says", got, "write it again")
    if not body:
        return np.empty((0, width))
    table = np.loadtxt(body, dtype=np.float64, comments="%", ndmin=2)
    if table.shape != (count, width):
        raise _unfit(f"every entry must have {width} numbers", f"shape {table.shape}", "write it again")
    return table


def _unfit(rule: str, got: str, remedy: str) -> FileFormatError:
    return FileFormatError(complain(rule, got=got, remedy=remedy))
