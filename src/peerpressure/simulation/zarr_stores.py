"""Runs that do not fit in memory: Zarr stores, written block by block and read in slices.

A store has the variables and coordinates of ``Trajectory.to_xarray``, the final state and, as bytes, the model: xarray
opens it lazily, and ``Trajectory.load`` as a run. While it is written, ``resume.npz`` has the state after the last
block, from which a run that was killed goes on. A finished store has no such file.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, message
from peerpressure.simulation.files import CONVENTIONS, FORMAT, described, reading_archive, write_archive
from peerpressure.support.files import check_output, expanded
from peerpressure.support.resources import require_memory

Array: TypeAlias = NDArray[Any]
RESUME = "resume.npz"
# Bytes of a chunk, and of all chunks that are in memory while a block of steps is written.
CHUNK_BYTES, BLOCK_BYTES = 2**24, 2**26
_KEY = "peerpressure_run"  # the attribute with the facts of a run
_INSTALL = "pip install zarr"
_DIMENSIONS = {
    "public": ("replicate", "time", "agent"),
    "hidden": ("replicate", "time", "agent"),
    **dict.fromkeys(("minimum", "maximum", "mean"), ("replicate", "time")),
    **dict.fromkeys(("final_public", "final_hidden", "final_memory"), ("replicate", "member")),
    "model": ("byte",),
}


def is_store(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a Zarr store, by the file that makes a folder one."""
    return (Path(path) / ".zgroup").is_file()


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise InvalidInputError(message("a run on disk needs zarr", got="no such package", remedy=_INSTALL)) from error
    return zarr


def is_stored(values: object) -> TypeGuard[StoredArray]:
    """Return whether an array is on disk. Elsewhere it counts as an array of NumPy, like which it is read."""
    return isinstance(values, StoredArray)


@final
class StoredArray:
    """An array on disk: slices of it are read when they are asked for, and nothing else is in memory.

    Indexing works as for NumPy, and gives arrays of NumPy. ``numpy.asarray`` reads all of it, and raises an error if
    that does not fit in memory. The chunks of the last step that was asked for are kept.
    """

    def __init__(self, source: Any, first: int = 0, last: int | None = None) -> None:
        self._source, self._first = source, first
        self._last = source.shape[1] if last is None else last
        self._read: tuple[int, Array] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes: replicates, times and agents."""
        replicates, _, agents = self._source.shape
        return replicates, self._last - self._first, agents

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        kind: np.dtype[Any] = np.dtype(self._source.dtype)
        return kind

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return 3

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """The bytes that all of them would take in memory."""
        return self.size * self.dtype.itemsize

    def times(self, first: int, last: int) -> StoredArray:
        """Return the part of some recorded times, which is not read either."""
        return StoredArray(self._source, self._first + first, self._first + last)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the recorded times in order, as many at a time as fit in a block, with their numbers."""
        length = max(1, BLOCK_BYTES // max(self.nbytes // max(self.shape[1], 1), 1))
        for begin in range(0, self.shape[1], length):
            where = slice(begin, min(begin + length, self.shape[1]))
            yield where, self[:, where]

    def __len__(self) -> int:
        return self.shape[0]

    def _step(self, row: int) -> Array:
        """Return one recorded time, from all that are in the same chunks: the next one is usually asked for next."""
        length = int(self._source.chunks[1])
        begin = (row + self._first) // length * length
        if self._read is None or self._read[0] != begin:
            self._read = begin, np.asarray(self._source[:, begin : begin + length])
        return np.array(self._read[1][:, row + self._first - begin])

    def __getitem__(self, key: Any) -> Array:
        if isinstance(key, tuple) and len(key) == 2 and key[0] == slice(None) and isinstance(key[1], (int, np.integer)):
            return self._step(_positions(key[1], self.shape[1])[0].start)
        keys = key if isinstance(key, tuple) else (key,)
        if Ellipsis in [k for k in keys if not isinstance(k, np.ndarray)]:
            place = keys.index(Ellipsis)
            keys = (*keys[:place], *[slice(None)] * (4 - len(keys)), *keys[place + 1 :])
        keys = (*keys, *[slice(None)] * (3 - len(keys)))
        # Each axis by itself, as little as the keys need; NumPy then does what it does with such keys.
        axes = [_positions(k, length) for k, length in zip(keys, self.shape, strict=True)]
        shifted = [part for part, _ in axes]
        if isinstance(shifted[1], slice):
            shifted[1] = slice(shifted[1].start + self._first, shifted[1].stop + self._first)
        else:
            shifted[1] = shifted[1] + self._first
        part: Array = np.asarray(self._source.oindex[tuple(shifted)])[tuple(rest for _, rest in axes)]
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        remedy = "read a part of it: states[:, times] or states[..., agents]"
        require_memory(self.nbytes, what="all states of a run on disk", remedy=remedy)
        values = self[...]
        return values if dtype is None else values.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"StoredArray({self.shape}, {self.dtype})"


def _positions(key: Any, length: int) -> tuple[Any, Any]:
    """Return what to read along an axis, as a slice or positions, and the key that selects from that."""
    if isinstance(key, slice):
        start, stop, step = key.indices(length)
        if step > 0:
            return slice(start, max(start, stop)), slice(None, None, step)
        chosen = np.arange(start, stop, step)
        return chosen[::-1], slice(None, None, -1)
    if isinstance(key, (int, np.integer)):
        if not -length <= key < length:
            raise IndexError(f"index {key} is out of bounds for an axis of length {length}")
        place = int(key) % length
        return slice(place, place + 1), 0
    chosen = np.arange(length)[np.asarray(key)]
    unique, inverse = np.unique(chosen, return_inverse=True)
    return unique, inverse.reshape(chosen.shape)


@final
@dataclass(frozen=True, eq=False)
class StorePlan:
    """What a store is to hold: facts and model, coordinates, and which variables in which precision."""

    path: Path
    facts: Mapping[str, Any]
    attributes: Mapping[str, Any]
    model: bytes
    coordinates: Mapping[str, Array]
    variables: tuple[str, ...]
    dtype: np.dtype[Any]
    members: int

    @property
    def records(self) -> int:
        """The number of recorded times."""
        return int(self.coordinates["time"].size)

    @property
    def block(self) -> int:
        """How many recorded times are written together: the length of a chunk in time."""
        return self._chunks[1]

    @property
    def _chunks(self) -> tuple[int, int, int]:
        """Replicates, times and agents of a chunk: whole steps, of many agents and replicates if these are small."""
        replicates, agents = self.coordinates["replicate"].size, max(self.coordinates["agent"].size, 1)
        item = self.dtype.itemsize
        width = min(agents, CHUNK_BYTES // item)
        copies = sum(name in ("public", "hidden") for name in self.variables)
        # Without states a record is three numbers.
        step = replicates * (agents * item * copies or 24)
        times = int(min(max(1, BLOCK_BYTES // step), max(1, CHUNK_BYTES // (width * item)), self.records))
        return int(min(replicates, max(1, CHUNK_BYTES // (times * width * item)))), times, width

    @property
    def fingerprint(self) -> str:
        """A hash of all that determines the numbers of the run."""
        text = json.dumps(dict(self.facts), sort_keys=True)
        total = hashlib.blake2b(text.encode(), digest_size=16)
        total.update(self.model)
        for name, values in sorted(self.coordinates.items()):
            total.update(f"{name}{values.dtype}{values.shape}".encode())
            total.update(values.tobytes() if values.dtype.kind != "U" else json.dumps(values.tolist()).encode())
        return total.hexdigest()

    def create(self) -> None:
        """Make the store without any step, under its name as a whole or not at all."""
        zarr = _zarr()
        check_output(self.path)
        try:
            place = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".part"))
        except OSError as error:
            rule, remedy = "a store must have a place to go", "write to a folder that exists and may be written to"
            raise FileFormatError(message(rule, got=f"{self.path} ({error.strerror})", remedy=remedy)) from error
        try:
            group = zarr.open_group(str(place), mode="w", zarr_format=2)
            for name, values in self._constants().items():
                self._array(group, name, values.shape, str if values.dtype.kind == "U" else values.dtype)[...] = values
            for name in self.variables:
                self._array(group, name, self._shape(name), self.dtype if name in ("public", "hidden") else np.float64)
            group.attrs.update({**self.attributes, "Conventions": CONVENTIONS, _KEY: self._facts(complete=False)})
            zarr.consolidate_metadata(str(place), zarr_format=2)
            write_archive(place / RESUME, {"records": 0, "fingerprint": self.fingerprint}, {})
            os.chmod(place, 0o755)
            os.rename(place, self.path)
        except BaseException as error:
            shutil.rmtree(place, ignore_errors=True)
            if isinstance(error, OSError) and not isinstance(error, FileFormatError):
                rule, remedy = f"{self.path} must be writable", "check that its disk has room"
                raise FileFormatError(message(rule, got=error.strerror or error, remedy=remedy)) from error
            raise

    def _constants(self) -> dict[str, Array]:
        return {**self.coordinates, "model": np.frombuffer(self.model, np.uint8)}

    def _facts(self, *, complete: bool) -> dict[str, Any]:
        return {"format": FORMAT, **self.facts, "fingerprint": self.fingerprint, "complete": complete}

    def _shape(self, name: str) -> tuple[int, ...]:
        sizes = {axis: values.size for axis, values in self.coordinates.items()} | {"member": self.members}
        return tuple(sizes[axis] for axis in _DIMENSIONS[name])

    def _array(self, group: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        axes = _DIMENSIONS.get(name, (name,))
        chunks = tuple(max(1, length) for length in shape)
        if name in self.variables:
            chunks = self._chunks[: len(shape)]
        missing = np.nan if np.dtype(dtype).kind == "f" else None
        array = group.create_array(
            name, shape=shape, dtype=dtype, chunks=chunks, fill_value=missing, attributes={"_ARRAY_DIMENSIONS": axes}
        )
        with contextlib.suppress(KeyError):
            array.attrs.update(described(name))
        return array


@final
class StoreWriter:
    """Writes the blocks of a run to its store, from the last one that is complete."""

    def __init__(self, plan: StorePlan) -> None:
        self.plan = plan
        if not plan.path.exists():
            plan.create()
        self._check()
        self._group = _zarr().open_group(str(plan.path), mode="r+", zarr_format=2, use_consolidated=False)
        with reading_archive(plan.path / RESUME) as (facts, arrays):
            self.records = int(facts["records"])
            self.state: dict[str, Array] = arrays

    def _check(self) -> None:
        """Raise an error if the store is of another run, or complete."""
        path = self.plan.path
        rule, remedy = "a store must be new, or that of the same run which was interrupted", "choose another name"
        if not is_store(path):
            raise InvalidInputError(message(rule, got=f"{path}, which is no store", remedy=remedy))
        facts = facts_of(path)
        if facts["fingerprint"] != self.plan.fingerprint:
            raise InvalidInputError(message(rule, got=f"{path} of another run", remedy=remedy))
        if facts["complete"]:
            finished = f"{remedy}, or read it: Trajectory.load"
            raise InvalidInputError(message(rule, got=f"{path}, which is complete", remedy=finished))

    def write(self, parts: Mapping[str, Array], state: Mapping[str, Array | None]) -> None:
        """Write the next records of each variable, (replicates, records, …), and then the state after them."""
        count = next(iter(parts.values())).shape[1]
        where = slice(self.records, self.records + count)
        with self._writing():
            for name, values in parts.items():
                self._group[name][:, where] = values
            arrays = {name: values for name, values in state.items() if values is not None}
            facts = {"records": where.stop, "fingerprint": self.plan.fingerprint}
            # Only now do the records count: a run that is killed before writes them again.
            write_archive(self.plan.path / RESUME, facts, arrays)
        self.records = where.stop

    def finish(self, state: Mapping[str, Array | None]) -> None:
        """Write the final state, and say that the store is complete."""
        plan = self.plan
        with self._writing():
            for name, values in state.items():
                if values is not None:
                    chunks = replace(plan, variables=())
                    if f"final_{name}" in self._group:
                        del self._group[f"final_{name}"]
                    chunks._array(self._group, f"final_{name}", values.shape, values.dtype)[...] = values
            self._group.attrs[_KEY] = plan._facts(complete=True)
            (plan.path / RESUME).unlink()
            _zarr().consolidate_metadata(str(plan.path), zarr_format=2)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            words = error.strerror or str(error)
            rule = f"{self.plan.path} must be writable"
            remedy = f"make room and repeat the call: {self.records:,} of {self.plan.records:,} records are kept"
            raise FileFormatError(message(rule, got=words, remedy=remedy)) from error


def facts_of(path: Path) -> dict[str, Any]:
    """Return the facts of a run in a store; raise an error if it has none."""
    try:
        attributes = json.loads((path / ".zattrs").read_text(encoding="utf-8"))
        facts: dict[str, Any] = dict(attributes[_KEY])
    except (OSError, ValueError, KeyError) as error:
        remedy = "take one that simulate(..., out=...) has written"
        raise FileFormatError(
            message("a store must be one of a run", got=f"{path} ({error})", remedy=remedy)
        ) from error
    return facts


def read_store(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts and arrays of a complete run, states as ``StoredArray``; raise an error otherwise."""
    place = expanded(path)
    facts = facts_of(place)
    if facts["format"] != FORMAT:
        got, remedy = f"{place} of format {facts['format']}", "read it with the version that wrote it"
        raise FileFormatError(message(f"a stored run must be of format {FORMAT}", got=got, remedy=remedy))
    if not facts["complete"]:
        got, remedy = f"{place}, which was interrupted", "repeat the call of simulate that writes it; it goes on"
        raise FileFormatError(message("a stored run must be complete", got=got, remedy=remedy))
    try:
        group = _zarr().open_group(str(place), mode="r", zarr_format=2, use_consolidated=False)
        arrays = {name: np.asarray(group[name]) for name in _names(place) if name not in ("public", "hidden")}
        with np.load(io.BytesIO(arrays.pop("model").tobytes()), allow_pickle=False) as archive:
            arrays |= {f"model_{name}": archive[name] for name in archive.files}
        lazy = {name: StoredArray(group[name]) for name in ("public", "hidden") if name in _names(place)}
    except (OSError, ValueError, KeyError) as error:
        remedy = "take one that simulate(..., out=...) has written"
        raise FileFormatError(
            message("a stored run must be readable", got=f"{place} ({error})", remedy=remedy)
        ) from error
    return facts, arrays | lazy


def _names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if (entry / ".zarray").is_file())
