"""The same bits as ever: final states of every law, kind of noise, schedule and kernel against stored ones.

Noise, kernels and arithmetic schedules are fixed sequences of IEEE operations, and are held to the bit by hashes. What
passes through SciPy or NumPy's elementary functions differs between processors in the last digit, and is held to a
relative 1e-9. ``python -m tests.simulation.engine.test_golden`` rewrites the file, which only a change of the contract
may ask for: published seeds must go on to mean the same runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from tests.builders import NOISES, SCHEDULES, extended_model, random_model

FILE = Path(__file__).with_name("golden.json")
STEPS, SEED = 14, 2**40 + 7
KERNELS: dict[str, dict[str, Any]] = {
    "wide": {"replicates": range(3, 36)},
    "narrow": {"replicates": [5]},
    "wide float32": {"replicates": range(3, 36), "dtype": "float32"},
    "narrow float32": {"replicates": [5], "dtype": "float32"},
    "adapting": {"replicates": 17},
    "changing": {"replicates": 17},
    "adapting and changing": {"replicates": [5]},
    "euler": {"replicates": 17},
}
EXTENSIONS = {"adapting": "adapting", "changing": "temporal", "adapting and changing": "both"}
# Laws and schedules that take logarithms, powers or quantiles from libraries.
INEXACT = {"custom", "centred", "frozen custom", "ar1 custom", "scaled over time", "power", "logarithmic", "stretched"}


def final_state(kernel: str, **parts: Any) -> Any:
    """Return where a small model ends in one kernel."""
    system: Any = extended_model(EXTENSIONS[kernel], **parts) if kernel in EXTENSIONS else random_model(**parts)
    if kernel == "euler":
        system = pp.SDE(system, step=0.25, method="euler")
    return pp.simulate(system, STEPS, seed=SEED, record="final", **KERNELS[kernel]).final.public


def cases() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every case: its kernel, the name of its noise or schedule, and the parts of its model."""
    for kernel in KERNELS:
        # In continuous time noise is white and normal.
        for name, noise in NOISES.items():
            if kernel != "euler" or name in ("none", "gaussian"):
                yield kernel, name, {"noise": noise}
        for name, schedule in SCHEDULES.items():
            yield kernel, name, {"pressure": schedule, "noise": pp.Gaussian(0.7)}


def told(name: str, state: Any) -> str | float:
    """Return what is stored of a final state: a hash of its bits, or a weighted sum."""
    if name in INEXACT:
        weights = np.cos(np.arange(state.size)).reshape(state.shape)
        return float((weights * state.astype(np.float64)).sum())
    return hashlib.blake2b(np.ascontiguousarray(state).tobytes(), digest_size=8).hexdigest()


@pytest.mark.parametrize(
    ("kernel", "name", "parts"), [pytest.param(*case, id=f"{case[0]}, {case[1]}") for case in cases()]
)
def test_final_states_are_what_they_always_were(kernel: str, name: str, parts: dict[str, Any]) -> None:
    expected = json.loads(FILE.read_text(encoding="utf-8"))[kernel][name]
    found = told(name, final_state(kernel, **parts))
    if isinstance(expected, float):
        digits = 1e-5 if "float32" in kernel else 1e-9
        assert found == pytest.approx(expected, rel=digits, abs=digits)
    else:
        assert found == expected


if __name__ == "__main__":
    stored: dict[str, dict[str, str | float]] = {kernel: {} for kernel in KERNELS}
    for kernel, name, parts in cases():
        stored[kernel][name] = told(name, final_state(kernel, **parts))
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
