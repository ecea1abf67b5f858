"""Runs on disk: arrays and one JSON text in an .npz archive, and netCDF files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from peerpressure.errors import FileFormatError, PeerPressureError, message
from peerpressure.files import replacing

# Raised when a new version could misread an old file; other versions then raise an error instead.
FORMAT = 1


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


def write_netcdf(
    file: IO[bytes],
    variables: Mapping[str, tuple[tuple[str, ...], Any]],
    coordinates: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> None:
    """Write variables with their dimensions as netCDF-4, which stores variables of any size, to an open file.

    The classic format ends at 2 GiB for a variable, and at 2³¹ for whole numbers such as labels.
    """
    # Without xarray, which loads Dask where that is installed and takes longer for it than for the data.
    import h5netcdf
    import h5py

    sink = _Sink(file)
    arrays = {name: (dimensions, np.asarray(values)) for name, (dimensions, values) in variables.items()}
    arrays |= {name: ((name,), np.asarray(values)) for name, values in coordinates.items()}
    with h5netcdf.File(sink, "w") as stored:
        stored.dimensions = {name: arrays[name][1].size for name in coordinates}
        for name, (dimensions, values) in arrays.items():
            # Text has no fixed length in netCDF.
            kind = h5py.string_dtype() if values.dtype.kind == "U" else values.dtype
            # Missing numbers are NaN, as xarray declares it too.
            missing = np.nan if name in variables and values.dtype.kind == "f" else None
            variable = stored.create_variable(name, dimensions, kind, fillvalue=missing)
            variable[...] = values.astype(object) if values.dtype.kind == "U" else values
        stored.attrs.update(facts)
    # Raised only after HDF5 has closed its handles.
    if sink.error is not None:
        raise sink.error


class _Sink(io.RawIOBase):
    """A file that keeps its first error for later, because HDF5 ends the process when a write fails."""

    def __init__(self, file: IO[bytes]) -> None:
        self.error: OSError | None = None
        self._file = file

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
        # HDF5 reads back what it wrote; after an error there is nothing consistent to read.
        data = b"" if self.error else self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        # Flushed at once, so that a full disk is noticed here and not in a destructor.
        self._try(lambda: (self._file.write(data), self._file.flush()))
        # A success is reported even after an error, so that HDF5 continues to its regular end.
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        self._try(lambda: self._file.truncate(size))
        return self.tell() if size is None else size

    def _try(self, action: Callable[[], object]) -> None:
        if self.error is None:
            try:
                action()
            except OSError as error:
                self.error = error
