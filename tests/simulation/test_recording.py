"""A run that does not fit is refused with remedies that fit, and that the user does not follow already."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import psutil
import pytest

import peerpressure as pp
from peerpressure.simulation.recording import (
    PYTHON_WORDS,
    SCENARIO_WORDS,
    Record,
    RunSize,
    as_record,
    recorded_steps,
    remedy,
    require_run_memory,
)

RECORDS: dict[str, Record] = {
    "all": as_record("all"),
    "summaries": as_record("summaries"),
    "final": as_record("final"),
    "states": Record(summaries=False),
    "every": Record(every=7),
    "rare summaries": Record(states=False, every=3),
    "agents": Record(agents=range(500)),
    "one agent": Record(agents=[3], summaries=False),
}
MODEL = pp.Model(pp.networks.cycle(1000), np.zeros(1000), noise=pp.Gaussian(1.0))


def _followed(size: RunSize, text: str) -> RunSize:
    """Return the run that a remedy asks for."""
    if match := re.search(r"up to ([\d,]+)$", text):
        return replace(size, replicates=size.replicates[: int(match[1].replace(",", ""))])
    if "float32" in text:
        return replace(size, dtype=np.dtype(np.float32))
    if match := re.search(r"of up to ([\d,]+) agents", text):
        return replace(size, keep=replace(size.keep, agents=range(int(match[1].replace(",", "")))))
    if match := re.search(r"record='(\w+)'", text):
        return replace(size, keep=as_record(match[1]))
    given = dict(re.findall(r"(\w+)=([^,)]*)", text))
    agents = size.keep.agents if "agents" in given else None
    keep = Record(given.get("states") != "False", given.get("summaries") != "False", int(given["every"]), agents)
    return replace(size, keep=keep)


@pytest.mark.parametrize("record", RECORDS)
def test_every_remedy_fits_and_is_news(record: str) -> None:
    for steps, dtype, replicates in product((1, 3_000, 4 * 10**9), ("float64", "float32"), (1, 50)):
        size = RunSize(MODEL, steps, np.arange(replicates), RECORDS[record], dtype=np.dtype(dtype))
        for share in (0.9, 0.3, 0.02, 1e-4):
            check_remedy(record, size, int(share * size.total()))


def check_remedy(record: str, size: RunSize, free: int) -> None:
    text = remedy(size, free, PYTHON_WORDS)
    if text.startswith(("combine", "run a smaller network")):
        assert ("dtype" in text) <= (size.dtype == "float64")
        assert ("record" in text) <= (record != "final")
        assert ("replicates" in text) <= (len(size.replicates) > 1)
        return
    options = [part for choice in text.split("; or ") for part in choice.removeprefix("record less: ").split(" or ")]
    for option in options:
        if option == "write it to disk, out='run.zarr'":
            assert size.on_disk() <= free, text
            continue
        followed = _followed(size, option)
        assert followed.total() <= free, (option, text)
        assert followed.total() < size.total(), (option, text)


def test_summaries_of_billions_of_steps_are_not_advised_to_those_who_record_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = psutil.virtual_memory()._replace(available=10**9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(pp.errors.TooLargeError) as caught:
        pp.simulate(MODEL, 4 * 10**9, record="summaries")
    assert "record='summaries'" not in str(caught.value)
    assert "record less: Record(states=False, every=200) or record='final'" in str(caught.value)


def test_remedies_of_a_scenario_are_its_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    free = psutil.virtual_memory()._replace(available=10**8)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    size = RunSize(MODEL, 10**6, np.arange(2), as_record("all"))
    with pytest.raises(pp.errors.TooLargeError) as caught:
        require_run_memory(size, SCENARIO_WORDS)
    assert str(caught.value).endswith(
        "record less: record = { every = 200 } or record = { agents = [...] } of up to 2 agents or "
        "record = 'summaries' or record = 'final'"
    )


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
