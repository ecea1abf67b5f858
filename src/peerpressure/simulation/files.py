"""Runs on disk: .npz archives and netCDF files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, PeerPressureError, message
from peerpressure.support.files import replacing

# Raised when a new version could misread an old file; other versions then raise an error instead.
FORMAT = 1
SAVED = (".npz",)
NETCDF = (".nc", ".nc4", ".netcdf")
STORES = (".zarr",)
RUN = "run.nc"  # what `peerpressure run` calls the run in its folder of results


def is_run(path: Path) -> bool:
    """Return whether a file, or the folder of a store, is a stored run, by its suffix."""
    return path.suffix.lower() in (*SAVED, *NETCDF, *STORES)


def run_in(path: Path) -> Path:
    """Return the stored run in a results folder; a file or a store is returned as it is."""
    return path / RUN if path.is_dir() and path.suffix.lower() not in STORES else path


def write_archive(path: str | Path, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write plain values and arrays to one .npz file, without pickle; a reader never sees half of it."""
    text = json.dumps({"format": FORMAT, **facts})
    with replacing(path) as file:
        # JSON as bytes and not as a text array, whose dtype would pad and depend on the length.
        np.savez(file, facts=np.frombuffer(text.encode(), np.uint8), **arrays)


@contextmanager
def reading_archive(path: str | Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Give the plain values and arrays of a file; whatever fails in the block is one error about the file."""
    try:
        # Opened here and not by NumPy, which would leave a damaged archive open.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json.loads(arrays.pop("facts").tobytes())
        if facts["format"] != FORMAT:
            got = f"{path} of format {facts['format']}"
            remedy = "read it with the version that wrote it"
            raise FileFormatError(message(f"a saved run must be of format {FORMAT}", got=got, remedy=remedy))
        yield facts, arrays
    except FileNotFoundError:
        raise FileFormatError(message("a saved run must exist", got=path, remedy="check the path")) from None
    # An OSError as well; it must not be wrapped a second time below.
    except FileFormatError:
        raise
    # Everything that NumPy, zipfile, JSON and the constructors raise for damaged content; a MemoryError or an interrupt
    # is no property of the file and propagates.
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
        PeerPressureError,
    ) as error:
        got, remedy = f"{path} ({error})", "load a file that Trajectory.save wrote"
        raise FileFormatError(message("a saved run must be readable", got=got, remedy=remedy)) from error


# Dimensions, values and attributes, as xarray takes them.
Variable: TypeAlias = "tuple[tuple[str, ...], Any, Mapping[str, str]]"
CONVENTIONS = "CF-1.11"
# What each variable of a run is: long_name and description. All of them are numbers or labels without a unit, which the
# CF conventions write as "1"; a time counts steps, and is no date.
DESCRIPTIONS: Mapping[str, tuple[str, str]] = {
    "replicate": ("replicate", "number of the independent run, which selects its noise"),
    "time": ("time", "number of steps, or the time of the stochastic differential equation"),
    "agent": ("agent", "label of the agent in the network"),
    "topic": ("topic", "what the opinion is about"),
    "member": ("agent", "label of the agent in the network, of all agents whether they are recorded or not"),
    "minimum": ("lowest public opinion", "minimum over all agents of the public opinion y_t"),
    "maximum": ("highest public opinion", "maximum over all agents of the public opinion y_t"),
    "mean": ("mean public opinion", "mean over all agents of the public opinion y_t"),
    "spread": ("spread of public opinions", "maximum minus minimum over all agents of the public opinion y_t"),
    "max_distance": (
        "largest distance from the consensus value",
        "maximum over all agents of |y_t - v|, where v is the consensus value or the agent's own limit",
    ),
    "public": ("public opinion", "public opinion y_t that the agent expresses at this time"),
    "hidden": ("hidden opinion", "hidden opinion of the agent; over time where hidden opinions adapt"),
    "initial_hidden": ("initial hidden opinion", "hidden opinion x_0 of the agent before the first step"),
    "final_public": ("final public opinion", "public opinion of the agent after the last step"),
    "final_hidden": ("final hidden opinion", "hidden opinion of the agent after the last step, where it adapts"),
}


def described(name: str) -> dict[str, str]:
    """Return the attributes of a variable: what it is, in short and in a sentence, and its unit.

    >>> described("spread")["long_name"]
    'spread of public opinions'
    """
    long_name, description = DESCRIPTIONS[name]
    return {"long_name": long_name, "units": "1", "description": description}


def write_netcdf(
    file: IO[bytes],
    variables: Mapping[str, Variable],
    coordinates: Mapping[str, Variable],
    facts: Mapping[str, Any],
) -> None:
    """Write variables with their dimensions and attributes as netCDF-4 to an open file.

    netCDF-4 stores variables of any size; the classic format ends at 2 GiB for a variable, and at 2³¹ for whole numbers
    such as labels.
    """
    # Without xarray, which loads Dask if it is installed; that takes longer than reading the data.
    import h5netcdf
    import h5py

    sink = _Sink(file)
    with h5netcdf.File(sink, "w") as stored:
        # Written even after an error, whose file is removed, so HDF5 comes to its regular end.
        stored.dimensions = {name: len(values) for name, (_, values, _) in coordinates.items()}
        for name, (dimensions, given, attributes) in {**variables, **coordinates}.items():
            values = np.asarray(given)
            # Text has no fixed length in netCDF.
            kind = h5py.string_dtype() if values.dtype.kind == "U" else values.dtype
            # Missing numbers are NaN, as xarray declares it too.
            missing = np.nan if name in variables and values.dtype.kind == "f" else None
            variable = stored.create_variable(name, dimensions, kind, fillvalue=missing)
            variable[...] = values.astype(object) if values.dtype.kind == "U" else values
            variable.attrs.update(attributes)
        stored.attrs.update(facts)
    # Raised only after HDF5 has closed its handles.
    if sink.error is not None:
        raise sink.error


def read_netcdf(path: str | Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the variables and attributes of a file that ``write_netcdf`` wrote."""
    import h5netcdf

    try:
        # Opened here, because HDF5 has no clear message for a missing file.
        with open(path, "rb") as file, h5netcdf.File(file, "r") as stored:
            return {name: variable[...] for name, variable in stored.variables.items()}, dict(stored.attrs)
    except FileNotFoundError:
        raise FileFormatError(message("a run must exist", got=path, remedy="check the path")) from None
    # h5py raises any of them for content that is not HDF5, or is cut short.
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        got, remedy = f"{path} ({error})", "take a run.nc that peerpressure has written"
        raise FileFormatError(message("a run must be readable as netCDF-4", got=got, remedy=remedy)) from error


_LARGEST_KEPT = 2**20  # bytes of a block that is kept after an error: metadata, and not data


class _Sink(io.RawIOBase):
    """A file that keeps its first error for later, because HDF5 ends the process when a write fails.

    From then on, small blocks are kept in memory: HDF5 reads back the metadata that it has written, while it closes the
    file and once more in a destructor, and crashes if they are not there.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.error: OSError | None = None
        # Unbuffered, so a full disk is noticed here, and not by whatever is done with the file next.
        self._file = getattr(file, "raw", file)
        self._kept: list[tuple[int, bytes]] = []

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        first = self.tell()
        data = self._file.read(len(buffer))
        if self.error is None:
            buffer[: len(data)] = data
            return len(data)
        buffer[:] = data.ljust(len(buffer), b"\0")
        for place, block in self._kept:
            begin, end = max(place, first), min(place + len(block), first + len(buffer))
            if begin < end:
                buffer[begin - first : end - first] = block[begin - place : end - place]
        return len(buffer)

    def write(self, data: Any) -> int:
        first = self.tell()
        self._try(lambda: self._write_all(memoryview(data)))
        if self.error is not None:
            if len(data) <= _LARGEST_KEPT:
                self._kept.append((first, bytes(data)))
            self.seek(first + len(data))
        # A success is reported even after an error, so HDF5 continues to its regular end.
        return len(data)

    def _write_all(self, data: memoryview) -> None:
        # A disk that fills up may take a part.
        while data:
            data = data[self._file.write(data) :]

    def truncate(self, size: int | None = None) -> int:
        self._try(lambda: self._file.truncate(size))
        return self.tell() if size is None else size

    def _try(self, action: Callable[[], object]) -> None:
        if self.error is None:
            try:
                action()
            except OSError as error:
                self.error = error
