"""Runs a little program in a fresh interpreter, with bytecode and kernels cached in a folder of our choice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def fresh(program: str, cache: Path | None = None) -> dict[str, Any]:
    """Return the JSON object that ``program`` prints last."""
    environment = dict(os.environ)
    if cache is not None:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment |= {"NUMBA_CACHE_DIR": str(cache / "kernels"), "PYTHONPYCACHEPREFIX": str(cache / "bytecode")}
    # Errors are for whoever has started the benchmarks.
    done = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
