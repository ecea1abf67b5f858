"""Processes that work together over MPI: what is needed of a communicator, and errors that end all of them.

MPI itself is never imported here: whoever has several processes brings a communicator of mpi4py.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerpressure import errors
from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.support.resources import available_cores, launched

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

_PAUSE = 0.05  # seconds between two looks at whether another process has come
_INTERRUPTED = 130  # the exit status of a program that Ctrl-C has ended


def checked_communicator(comm: object) -> Intracomm:
    """Return an intracommunicator as it is; raise an error for anything else."""
    try:
        from mpi4py import MPI
    except ImportError:
        rule, remedy = "several processes need mpi4py", "pip install mpi4py mpich"
        raise InvalidInputError(message(rule, got="a comm, and no such package", remedy=remedy)) from None
    if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        rule, remedy = "comm must be an intracommunicator of mpi4py", "for instance MPI.COMM_WORLD"
        raise InvalidInputError(message(rule, got=repr(comm), remedy=remedy))
    return comm


# Processes that a launcher has started


def launched_world() -> Intracomm | None:
    """Return the communicator of all processes that were launched together; None if there is one."""
    _, size = launched()
    if size == 1:
        return None
    try:
        from mpi4py import MPI
    except ImportError:
        rule, remedy = f"{size} processes on one run need mpi4py", "pip install mpi4py mpich, or start one process"
        raise InvalidInputError(message(rule, got="no such package", remedy=remedy)) from None
    world = MPI.COMM_WORLD
    if world.size != size:
        rule = "the launcher must be that of the MPI which mpi4py has found"
        got = f"{size} processes, of which each finds {world.size}"
        remedy = "start them with the mpiexec of that MPI; with srun, pass its --mpi=..."
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    return world


@contextlib.contextmanager
def first_goes_on(comm: Intracomm) -> Iterator[None]:
    """Let process 0 work on in the block, while the others wait at its end and leave their cores to it."""
    try:
        yield
    except KeyboardInterrupt:
        # The others may not have been interrupted, and would wait for a process that has left.
        comm.Abort(_INTERRUPTED)
    finally:
        arrival = comm.Ibarrier()
        arrived = False
        while not arrived:
            # Whether the work is interrupted is for process 0 to decide.
            with contextlib.suppress(KeyboardInterrupt):
                arrived = arrival.Test()
                time.sleep(0 if arrived else _PAUSE)


# Errors


class SharedFailure:
    """What has gone wrong in this process, which others learn when they next agree.

    They await messages until then, so a process that has failed goes on sending them.
    """

    def __init__(self, comm: Intracomm) -> None:
        self.comm = comm
        self.error: BaseException | None = None

    def attempt(self, task: Callable[..., object], *arguments: Any) -> None:
        """Do a part of the work that awaits no message, unless something has failed already."""
        if self.error is None:
            try:
                task(*arguments)
            except BaseException as error:
                self.error = error

    def agree(self) -> None:
        """Raise an error in all processes if one of them has failed: its own where it has one."""
        said = None if self.error is None else (type(self.error).__name__, str(self.error))
        failures = self.comm.allgather(said)
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        for rank, failure in enumerate(failures):
            if failure is not None:
                raise _elsewhere(rank, *failure)


def _elsewhere(rank: int, kind: str, text: str) -> BaseException:
    """Return the error of another process."""
    if kind == "KeyboardInterrupt":
        return KeyboardInterrupt()
    known = getattr(errors, kind, None)
    cause = text or kind if known is not None else f"{kind}: {text}"
    # Of the same class, which callers catch.
    return (known or PeerPressureError)(f"process {rank} has ended the run: {cause}")


class Together:
    """The processes of a communicator in one computation, with what this one may take of its machine.

    ``on_machine`` processes share the memory of this one's machine; ``cores`` are its own share of them.
    """

    def __init__(self, comm: object) -> None:
        self.comm = checked_communicator(comm)
        machines = self.comm.allgather((platform.node(), _affinity()))
        self.on_machine = [machine for machine, _ in machines].count(platform.node())
        # Bound to cores of its own, a process takes all of these; a number in the environment is that of a process.
        sharing = machines.count((platform.node(), _affinity())) if not _asked_threads() else 1
        self.cores = max(1, available_cores() // sharing)

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        """Let an error in the block of one process be raised in all of them; no messages may be awaited in it."""
        failure = SharedFailure(self.comm)
        try:
            yield
        except BaseException as error:
            failure.error = error
        failure.agree()

    def require_equal(self, values: Mapping[str, Any]) -> None:
        """Raise an error in all processes, with the name of the value, unless each is the same in all of them."""
        own = {name: digest_of(value) for name, value in values.items()}
        others = self.comm.allgather(own)
        for name in own:
            differing = [rank for rank, other in enumerate(others) if other[name] != others[0][name]]
            if differing:
                rule, got = f"all processes must have the same {name}", f"another in process {differing[0]} than in 0"
                remedy = "give all of them the same arguments, and the seed as a number"
                raise InvalidInputError(message(rule, got=got, remedy=remedy))


def _affinity() -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def _asked_threads() -> bool:
    return any(os.environ.get(name, "").isdigit() for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"))


@contextlib.contextmanager
def awaiting_interruption(failure: SharedFailure) -> Iterator[None]:
    """Let Ctrl-C count as a failure, which ends all processes when they next agree, instead of leaving some waiting."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def remember(number: int, frame: FrameType | None) -> None:
        failure.error = failure.error or KeyboardInterrupt()

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def digest_of(value: Any) -> str:
    """Return a text that differs for values, arrays or tuples of either that differ."""
    digest = hashlib.blake2b(digest_size=16)
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


def joined(comm: Intracomm, part: NDArray[Any]) -> NDArray[Any]:
    """Return the parts of all processes side by side, on the last axis."""
    if comm.size == 1:
        return part
    lengths = comm.allgather(part.shape[-1])
    rows, dtype = part.shape[:-1], part.dtype
    counts = np.array(lengths) * int(np.prod(rows))
    received = np.empty(int(counts.sum()), dtype)
    comm.Allgatherv(np.ascontiguousarray(part), [received, counts])
    pieces = np.split(received, counts.cumsum()[:-1])
    return np.concatenate([one.reshape(*rows, -1) if one.size else one.reshape(*rows, 0) for one in pieces], axis=-1)


def delivered(comm: Intracomm, values: NDArray[Any], owners: NDArray[np.integer[Any]]) -> NDArray[Any]:
    """Send each value, in the order of ``owners``, to its process, and return what has come from all of them."""
    send = np.bincount(owners, minlength=comm.size)
    receive = np.empty_like(send)
    comm.Alltoall(send, receive)
    got = np.empty(int(receive.sum()), values.dtype)
    comm.Alltoallv([values, send], [got, receive])
    return got
