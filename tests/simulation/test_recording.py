"""A run that does not fit is refused with what to ask for instead; which steps are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import psutil
import pytest

import peerpressure as pp
from peerpressure.simulation.recording import (
    SMALLER_RUN,
    SMALLER_SCENARIO,
    Record,
    RunSize,
    as_record,
    recorded_steps,
    require_run_memory,
)


@pytest.mark.parametrize("remedy", [SMALLER_RUN, SMALLER_SCENARIO])
def test_a_run_that_does_not_fit_names_what_takes_less(monkeypatch: pytest.MonkeyPatch, remedy: str) -> None:
    free = psutil.virtual_memory()._replace(available=10**8)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    model = pp.Model(pp.networks.cycle(1000), np.zeros(1000), noise=pp.Gaussian(1.0))
    size = RunSize(model, 10**6, np.arange(2), as_record("all"))
    with pytest.raises(pp.errors.TooLargeError) as caught:
        require_run_memory(size, remedy)
    assert str(caught.value).endswith(f"GB; {remedy}")
    smaller = RunSize(model, 10**4, np.arange(2), Record(every=10, agents=[1, 2]), dtype=np.dtype(np.float32))
    require_run_memory(smaller, remedy)


@pytest.mark.parametrize(
    ("first", "steps", "record", "times"),
    [
        (0, 0, Record(), [0]),
        (0, 1, Record(), [0, 1]),
        (0, 5, Record(every=2), [0, 2, 4, 5]),
        (3, 4, Record(every=2), [3, 4, 6, 7]),
        (3, 4, Record(every=100), [3, 7]),
        (3, 4, as_record("final"), [3, 7]),
        (5, 0, as_record("final"), [5]),
        (4, 2, Record(every=2), [4, 6]),
    ],
)
def test_recorded_steps(first: int, steps: int, record: Any, times: list[int]) -> None:
    found = recorded_steps(first, first + steps, record)
    assert found.tolist() == times
    assert found.dtype == np.int64
