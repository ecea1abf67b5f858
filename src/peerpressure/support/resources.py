"""Memory and cores that this process may use, and the refusal of what does not fit.

The machine, the control groups of a container or job (versions 1 and 2), and the limits of the process (``ulimit``)
each allow a part; the least of them counts.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from peerpressure.errors import TooLargeError, contrast

ROOT = Path("/")  # where the files of the Linux kernel are found
UNLIMITED = 2**60  # bytes; version 1 of control groups says "no limit" by a number beyond
# Limits of memory, and usage, by version of control groups.
_MEMORY_FILES = {
    1: (("memory.limit_in_bytes",), "memory.usage_in_bytes"),
    2: (("memory.max", "memory.high"), "memory.current"),
}
_OCTAL = re.compile(r"\\([0-7]{3})")  # a blank or backslash in a path of the table of mounts


class Memory(NamedTuple):
    """Bytes that can still be taken, what limits them where it is not the machine itself, and the place, in words."""

    free: int
    limit: str = ""
    place: str = "in memory"


# Memory


def free_memory() -> Memory:
    """Return the memory that this process can still take.

    >>> from peerpressure.support.resources import free_memory
    >>> free_memory().free > 0
    True
    """
    import psutil

    machine = Memory(int(psutil.virtual_memory().available))
    least = min([machine, *_group_memory(machine.free), *_process_memory()], key=lambda memory: memory.free)
    # Usage may exceed a limit that was lowered later.
    return least._replace(free=max(0, least.free))


def _group_memory(most: int) -> Iterator[Memory]:
    """Yield what those control groups above this process leave that leave less than ``most``."""
    for group, version in _groups(ROOT, "memory"):
        names, usage = _MEMORY_FILES[version]
        limit = min(_number(group / name) for name in names)
        # The statistics take the kernel longest, and are read only where they matter.
        if limit < UNLIMITED and (left := limit - _number(group / usage, missing=0)) < most:
            yield Memory(min(left + _reclaimable(group), limit), " within the limit of this container or job")


def _reclaimable(group: Path) -> int:
    """Return the bytes of cached files, which the kernel drops before it refuses memory."""
    fields = dict(line.split(maxsplit=1) for line in _lines(group / "memory.stat") if " " in line)
    # Version 1 counts the groups below under other names.
    names = [(f"total_{kind}_file", f"{kind}_file") for kind in ("inactive", "active")]
    return sum(int(fields.get(total, fields.get(own, 0))) for total, own in names)


def _process_memory() -> Iterator[Memory]:
    """Yield what the limits of this process leave: of its address space, and of its data."""
    try:
        import resource
    except ImportError:
        # There are no such limits on Windows.
        return
    import psutil

    for name, kind, option in (("RLIMIT_AS", "vms", "-v"), ("RLIMIT_DATA", "data", "-d")):
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY:
            used = getattr(psutil.Process().memory_info(), kind, 0)
            yield Memory(limit - used, f" within the limit of this process (ulimit {option})")


def require_memory(needed: float, *, what: str, remedy: str, memory: Memory | None = None) -> None:
    """Raise if this many bytes do not fit in the memory that is free.

    Allocation itself does not fail on systems that overcommit memory; the process would be killed later.

    >>> from peerpressure.support.resources import Memory, require_memory
    >>> require_memory(1000, what="a run", remedy="record less")
    >>> require_memory(2e9, what="a run", remedy="record less", memory=Memory(10**9))
    Traceback (most recent call last):
    peerpressure.errors.TooLargeError: a run must fit in memory, of which 1 GB is free, got 2 GB; record less
    """
    memory = free_memory() if memory is None else memory
    if needed > memory.free:
        raise too_large(memory, needed, what=what, remedy=remedy)


def too_large(memory: Memory, needed: float | str, *, what: str, remedy: str) -> TooLargeError:
    """Return the error for what does not fit.

    >>> from peerpressure.support.resources import Memory, too_large
    >>> str(too_large(Memory(10**6, place="on the disk"), 10**6 + 1, what="a table", remedy="free some"))
    'a table must fit on the disk, of which 1 MB is free, got 1.000001 MB; free some'
    """
    have, want = (
        (amount(memory.free), needed) if isinstance(needed, str) else contrast(memory.free, needed, show=amount)
    )
    rule = f"{what} must fit {memory.place}, of which {have} is free{memory.limit}"
    return TooLargeError(rule, got=want, remedy=remedy)


def amount(size: float, digits: int = 3) -> str:
    """Return a number of bytes with a unit.

    >>> from peerpressure.support.resources import amount
    >>> amount(2_722_720_000)
    '2.72 GB'
    >>> amount(999_999)
    '1 MB'
    """
    # Decimal units, as disks and file managers count.
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        # Compared after rounding, which may lead to the next unit.
        if float(f"{size:.{digits}g}") < 1000:
            return f"{size:.{digits}g} {unit}"
        size /= 1000
    return f"{size:,.{max(digits, 3)}g} PB"


# Cores


def available_cores() -> int:
    """Return the number of cores that this process may use.

    >>> from peerpressure.support.resources import available_cores
    >>> available_cores() >= 1
    True
    """
    # The affinity mask and not the number of processors: a batch system may grant a few cores of a large machine.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = [os.environ.get(name, "") for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")]
    return max(1, min([cores, *_quotas(), *(int(text) for text in asked if text.isdigit())]))


def _quotas() -> Iterator[int]:
    """Yield the cores that each control group above this process grants."""
    for group, version in _groups(ROOT, "cpu"):
        words = next(iter(_lines(group / "cpu.max")), "").split()
        quota, period = words if len(words) == 2 else ("", "")
        if version == 1:
            quota, period = (next(iter(_lines(group / f"cpu.cfs_{name}_us")), "") for name in ("quota", "period"))
        # "max" or −1 is no quota.
        if quota.isdigit() and period.isdigit() and int(period):
            yield math.ceil(int(quota) / int(period))


# Processes


# What MPICH and its relatives, Open MPI, and launchers with PMIx tell each process.
_LAUNCHERS = (
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "SLURM_NTASKS"),
)


def launched() -> tuple[int, int]:
    """Return which of how many processes this is, as mpiexec or srun say; MPI is not loaded for it.

    >>> from peerpressure.support.resources import launched
    >>> launched()
    (0, 1)
    """
    for names in _LAUNCHERS:
        rank, size = (os.environ.get(name, "") for name in names)
        if rank.isdigit() and size.isdigit():
            return int(rank), int(size)
    return 0, 1


# Control groups


@cache
def _groups(system: Path, controller: str) -> tuple[tuple[Path, int], ...]:
    """Return the folders of the control groups of this process from its own up, with their version."""
    # Found once: a process stays in its groups, only their limits and usage change.
    groups = []
    for mount, root, version in _mounts(system, controller):
        for line in _lines(system / "proc/self/cgroup"):
            number, controllers, path = [*line.split(":", 2), "", ""][:3]
            if controller in controllers.split(",") if version == 1 else number == "0":
                names = _below(path, root)
                groups += [(mount.joinpath(*names[:depth]), version) for depth in range(len(names), -1, -1)]
    return tuple(groups)


def _mounts(system: Path, controller: str) -> Iterator[tuple[Path, str, int]]:
    """Yield where the control groups of a controller are mounted, the group that the mount shows, and the version."""
    for line in _lines(system / "proc/self/mountinfo"):
        place, _, kind = line.partition(" - ")
        fields, how = place.split(), kind.split()
        if len(fields) < 5 or len(how) < 3:
            continue
        root, mount = (_OCTAL.sub(lambda match: chr(int(match[1], 8)), field) for field in fields[3:5])
        if how[0] == "cgroup2" or (how[0] == "cgroup" and controller in how[2].split(",")):
            yield system / mount.lstrip("/"), root, 2 if how[0] == "cgroup2" else 1


def _below(path: str, root: str) -> list[str]:
    """Return the names that lead from the group that is mounted to the one of this process, none if it is outside."""
    names, above = ([name for name in text.split("/") if name] for text in (path, root))
    # A container may see the path that the host knows, where only its own group is mounted.
    inside = names[: len(above)] == above and ".." not in names
    return names[len(above) :] if inside else []


def _lines(file: Path) -> list[str]:
    """Return the lines of a file, none if it cannot be read: other systems and other versions do not have it."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _number(file: Path, missing: int = UNLIMITED) -> int:
    """Return the number in a file, and another if there is no file, or the word "max" in it."""
    text = next(iter(_lines(file)), "").strip()
    return int(text) if text.isdigit() else missing


# Threads of linear algebra

LARGEST_ON_ONE_THREAD = 300  # agents up to which several threads cost more than they save


@contextmanager
def few_threads(agents: int) -> Iterator[None]:
    """Do linear algebra on one thread in this block, if there are so few agents that more would be slower.

    The number is that of the process. If several threads of Python are in such blocks, that of the first one holds.
    """
    with nullcontext() if agents > LARGEST_ON_ONE_THREAD else one_thread():
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Do linear algebra on one thread in this block."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    # A library of linear algebra must be loaded to be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
