"""What the figures were measured on, without saying whose it is."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from peerpressure import __version__
from peerpressure.support.resources import available_cores

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_PROCESSORS = Path("/proc/cpuinfo")
_PACKAGES = ("numpy", "scipy", "numba", "networkx", "ndlib", "mesa", "jax", "pyseldonlib")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return available_cores()


def processor() -> str:
    if _PROCESSORS.exists():
        for line in _PROCESSORS.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@lru_cache(maxsize=1)
def last_level_cache() -> int:
    """Return the bytes of the largest cache that this machine admits to, else 32 MiB."""
    scale = {"K": 2**10, "M": 2**20}
    texts = [path.read_text().strip() for path in _CACHES.glob("index*/size")]
    return max((int(text[:-1]) * scale[text[-1]] for text in texts if text[-1:] in scale), default=32 * 2**20)


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def facts() -> dict[str, str]:
    """Return what a reader needs to know about the machine, in order."""
    return {
        "Processor": processor(),
        "Cores used": str(cores()),
        "Last-level cache": f"{last_level_cache() / 2**20:.0f} MiB",
        "Memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "System": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "peerpressure": __version__,
        **{package: _installed(package) for package in _PACKAGES},
    }
