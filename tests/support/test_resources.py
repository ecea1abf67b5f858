"""Memory and cores: the least of machine, control groups, limits of the process and environment counts."""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path

import psutil
import pytest

from peerpressure.errors import TooLargeError, contrast
from peerpressure.support import resources
from peerpressure.support.resources import Memory, amount, available_cores, free_memory, require_memory, too_large
from tests.waiting import run

MACHINE = 64 * 10**9  # bytes
UNIFIED = "29 23 0:26 {root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
SPLIT = (
    "25 23 0:20 / /sys/fs rw - tmpfs tmpfs rw\n"
    "31 25 0:28 {root} /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
    "32 25 0:29 {root} /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
)


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine of 64 GB and 32 cores, whatever this one is, without control groups."""
    free = psutil.virtual_memory()._replace(available=MACHINE)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)), raising=False)
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(resources, "ROOT", tmp_path)
    monkeypatch.setattr(resources, "_process_memory", lambda: iter(()))


def tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def unified(root: Path, group: str, files: dict[str, str], mounted: str = "/") -> None:
    tree(root, {"proc/self/cgroup": f"0::{group}\n", "proc/self/mountinfo": UNIFIED.format(root=mounted)})
    tree(root, {f"sys/fs/cgroup/{name}": f"{text}\n" for name, text in files.items()})


def split(root: Path, group: str, files: dict[str, str], mounted: str = "/") -> None:
    lines = f"12:cpu,cpuacct:{group}\n7:memory:{group}\n1:name=systemd:/init.scope\n0::/init.scope\n"
    tree(root, {"proc/self/cgroup": lines, "proc/self/mountinfo": SPLIT.format(root=mounted)})
    tree(root, {f"sys/fs/cgroup/{name}": f"{text}\n" for name, text in files.items()})


def test_without_limits_the_machine_counts() -> None:
    assert free_memory() == Memory(MACHINE)
    assert available_cores() == 32


GROUPS: dict[str, tuple[str, dict[str, str], str, int]] = {
    # Where the process is, what the files say, what is mounted as the root, and the free memory.
    "the limit of a container": ("/", {"memory.max": "2000", "memory.high": "max", "memory.current": "500"}, "/", 1500),
    "where it is slowed": ("/", {"memory.max": "max", "memory.high": "2000", "memory.current": "500"}, "/", 1500),
    "cached files are free": (
        "/",
        {
            "memory.max": "2000",
            "memory.current": "700",
            "memory.stat": "anon 400\nfile 300\ninactive_file 200\nactive_file 50",
        },
        "/",
        1550,
    ),
    "the process's own group": ("/a.slice/job", {"a.slice/job/memory.max": "30", "a.slice/memory.max": "90"}, "/", 30),
    "a group above": ("/a.slice/job", {"a.slice/job/memory.max": "max", "a.slice/memory.max": "20"}, "/", 20),
    "groups beside it": ("/a", {"b/memory.max": "1000", "a/c/memory.max": "1000"}, "/", MACHINE),
    # The group of the container is mounted as the root; its path is that of the host.
    "a part of the tree": ("/docker/ab/in", {"memory.max": "500", "in/memory.max": "400"}, "/docker/ab", 400),
    "the mounted group": ("/docker/ab", {"memory.max": "500"}, "/docker/ab", 500),
    "outside of the mount": ("/../other", {"memory.max": "500"}, "/", 500),
    "usage beyond the limit": ("/", {"memory.max": "1000", "memory.current": "5000"}, "/", 0),
}


@pytest.mark.parametrize("name", GROUPS)
def test_free_memory_within_groups(tmp_path: Path, name: str) -> None:
    group, files, mounted, free = GROUPS[name]
    unified(tmp_path, group, files, mounted)
    limit = "" if free == MACHINE else " within the limit of this container or job"
    assert free_memory() == Memory(free, limit)
    with pytest.raises(TooLargeError, match=rf"is free{limit}, got"):
        require_memory(free + 1, what="a run", remedy="wait")


def test_version_1(tmp_path: Path) -> None:
    files = {
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/memory.usage_in_bytes": "60000000000",
        "memory/job/memory.limit_in_bytes": "4000000000",
        "memory/job/memory.usage_in_bytes": "1500000000",
        "memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 300000000\ntotal_active_file 200000000",
        "cpu,cpuacct/job/cpu.cfs_quota_us": "350000",
        "cpu,cpuacct/job/cpu.cfs_period_us": "100000",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
    }
    split(tmp_path, "/job", files)
    assert free_memory() == Memory(3_000_000_000, " within the limit of this container or job")
    assert available_cores() == 4


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 32), ("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("100 0", 32), ("", 32)],
)
def test_quotas_of_version_2(tmp_path: Path, quota: str, cores: int) -> None:
    unified(tmp_path, "/job", {"job/cpu.max": quota, "cpu.max": "9900000 100000"})
    assert available_cores() == cores


def test_affinity_and_environment_lower_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unified(tmp_path, "/", {"cpu.max": "800000 100000"})
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    assert available_cores() == 3
    monkeypatch.setenv("NUMBA_NUM_THREADS", "9")
    assert available_cores() == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert available_cores() == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5})
    assert available_cores() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert available_cores() == 5


@pytest.mark.parametrize(
    "files",
    [
        {"proc/self/cgroup": "", "proc/self/mountinfo": ""},
        {"proc/self/cgroup": "nonsense\n0::/\n::::", "proc/self/mountinfo": "x\n1 2 - \n" + UNIFIED.format(root="/")},
        {"proc/self/mountinfo": UNIFIED.format(root="/"), "sys/fs/cgroup/memory.max": "12"},
        {"proc/self/cgroup": "0::/", "proc/self/mountinfo": UNIFIED.format(root="/"), "sys/fs/cgroup/memory.max": "x"},
    ],
)
def test_unreadable_files_are_no_limit(tmp_path: Path, files: dict[str, str]) -> None:
    tree(tmp_path, files)
    assert (free_memory().free, available_cores()) == (MACHINE, 32)


def test_a_mount_with_a_blank_in_its_path(tmp_path: Path) -> None:
    mount = UNIFIED.format(root="/").replace("/sys/fs/cgroup", r"/control\040groups")
    tree(tmp_path, {"proc/self/cgroup": "0::/", "proc/self/mountinfo": mount, "control groups/memory.max": "77"})
    assert free_memory().free == 77


LIMITED = """
import resource, sys
from peerpressure.support.resources import free_memory
import psutil
import peerpressure as pp
model, size = pp.Model(pp.networks.cycle(1000), hidden=list(range(1000))), 10**9
for name, use in (("RLIMIT_AS", "vms"), ("RLIMIT_DATA", "data")):
    kind, held = getattr(resource, name), None
    used = getattr(psutil.Process().memory_info(), use)
    resource.setrlimit(kind, (used + size, resource.RLIM_INFINITY))
    memory = free_memory()
    print(memory.limit)
    assert 0.9 * size < memory.free <= size, memory
    held = bytearray(500_000_000)
    assert memory.free - free_memory().free > 4.9e8
    try:
        pp.simulate(model, 10**5, record="all")
    except pp.errors.TooLargeError as error:
        print(error)
    resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces these limits")
def test_limits_of_the_process_count() -> None:
    done = run([sys.executable, "-c", LIMITED])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    for option, first, second in zip(("-v", "-d"), lines[::2], lines[1::2], strict=True):
        assert first == f" within the limit of this process (ulimit {option})"
        assert f"MB is free within the limit of this process (ulimit {option}), got " in second


def test_two_sizes_in_a_message_always_differ() -> None:
    sizes = [0, 1, 999, 999_500, 999_999, 10**6, 10**9, 10**9 + 1, 10**12, 10**16, 10**18 + 1, 2**62]
    for free, needed in product(sizes, sizes):
        if free < needed:
            told = str(too_large(Memory(free), needed, what="a run", remedy="wait"))
            have, want = told.partition("of which ")[2].split("; ")[0].split(" is free, got ")
            assert have != want, told


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (999_499, "999 kB"), (999_500, "1 MB"), (2e16, "20 PB")],
)
def test_sizes_in_words(size: float, text: str) -> None:
    assert amount(size) == text


@pytest.mark.parametrize(
    ("bound", "value", "texts"),
    [
        (1e8, 1.3e8, ("1e+08", "1.3e+08")),
        (1e8, 100_000_001, ("100000000", "100000001")),
        (1.0, 1.0 + 2**-52, ("1", "1.0000000000000002")),
        (2**60, 2**60 + 1, (str(2**60), str(2**60 + 1))),
    ],
)
def test_a_bound_and_a_value_beyond_it_read_differently(bound: float, value: float, texts: tuple[str, str]) -> None:
    assert contrast(bound, value) == texts
