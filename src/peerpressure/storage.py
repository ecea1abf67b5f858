"""A trajectory on disk: arrays and one JSON text in an .npz archive, read back without pickle."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from .adaptation import Adaptation
from .errors import FileFormatError, PeerPressureError, complain
from .files import replacing
from .model import Model
from .networks import Network, TemporalNetwork
from .noises import noise_from_dict
from .schedules import schedule_from_dict

if TYPE_CHECKING:
    from .trajectory import Trajectory

FORMAT = 1
_OPTIONAL = ("states", "minimum", "maximum", "mean", "hidden")


def save_trajectory(run: Trajectory, path: str | Path) -> None:
    """Write a trajectory with its model to one .npz file."""
    model = run.model
    facts = {
        "format": FORMAT,
        "version": run.version,
        "seed": run.seed,
        "step": run.final.step,
        "pressure": model.pressure.to_dict(),
        "noise": model.noise.to_dict(),
        "start": "hidden" if isinstance(model.start, str) else "given",
        "adaptation": None if model.adaptation is None else model.adaptation.to_dict(),
        "temporal": model.temporal_network is not None,
        "equation": run.equation,
    }
    network = model.network if model.temporal_network is None else model.temporal_network
    arrays: dict[str, Any] = {f"network_{name}": values for name, values in network.arrays().items()}
    arrays |= {"opinions": model.x0, "stubbornness": model.s, "start": model.start_state}
    arrays |= {
        "replicates": run.replicates,
        "times": run.times,
        "agents": run.agents,
        "final": run.final.public,
    }
    arrays |= {name: values for name in _OPTIONAL if (values := getattr(run, name)) is not None}
    carried = {"memory": run.final.memory, "final_hidden": run.final.hidden}
    arrays |= {name: values for name, values in carried.items() if values is not None}
    with replacing(path) as file:
        np.savez(file, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


def write_netcdf(run: Trajectory, file: IO[bytes]) -> None:
    """Write a trajectory as netCDF-4, which holds variables of any size, to an open file.

    The classic format ends at 2 GiB for a variable, and at 2³¹ for whole numbers such as labels.
    """
    sink = _Sink(file)
    run.to_xarray().to_netcdf(sink, engine="h5netcdf")
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
        data = b"" if self.error else self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        self._try(lambda: (self._file.write(data), self._file.flush()))
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


def load_trajectory(path: str | Path) -> Trajectory:
    """Read a trajectory that ``save_trajectory`` wrote; anything else is one clear error."""
    remedy = "load a file that Trajectory.save wrote"
    try:
        # Opened here and not by NumPy, which would leave a damaged archive open.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json.loads(arrays.pop("facts").tobytes())
        if facts["format"] != FORMAT:
            rule = f"a saved run must be of format {FORMAT}"
            raise FileFormatError(
                complain(
                    rule,
                    got=f"{path} of format {facts['format']}",
                    remedy="read it with the version that wrote it",
                )
            )
        return _rebuild(facts, arrays)
    except FileNotFoundError:
        raise FileFormatError(complain("a saved run must exist", got=path, remedy="check the path")) from None
    except FileFormatError:
        raise
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
        raise FileFormatError(
            complain("a saved run must be readable", got=f"{path} ({error})", remedy=remedy)
        ) from error


def _rebuild(facts: dict[str, Any], arrays: dict[str, Any]) -> Trajectory:
    from .trajectory import State, Trajectory

    parts = {name.removeprefix("network_"): arrays[name] for name in arrays if name.startswith("network_")}
    adaptation = facts["adaptation"]
    model = Model(
        (TemporalNetwork if facts["temporal"] else Network).from_arrays(parts),
        hidden=arrays["opinions"],
        stubbornness=arrays["stubbornness"],
        pressure=schedule_from_dict(facts["pressure"]),
        noise=noise_from_dict(facts["noise"]),
        start="hidden" if facts["start"] == "hidden" else arrays["start"],
        adaptation=None if adaptation is None else Adaptation.from_dict(adaptation),
    )
    return Trajectory(
        model=model,
        seed=facts["seed"],
        replicates=arrays["replicates"],
        times=arrays["times"],
        agents=arrays["agents"],
        final=State(
            facts["step"],
            arrays["final"],
            arrays.get("memory"),
            arrays.get("final_hidden"),
            # Outputs that were made elsewhere have no seed.
            seed=facts["seed"] if facts["seed"] >= 0 else None,
            replicates=arrays["replicates"],
        ),
        version=facts["version"],
        equation=facts["equation"],
        **{name: arrays.get(name) for name in _OPTIONAL},
    )
