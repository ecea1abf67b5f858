"""How often a comparison of answers with errors says that people respond, where nobody does and where they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from peerpressure import Observation, compare

from .influence import ALL, NULLS, Array, record
from .processes import spread
from .sections import Section, Table, Target, share
from .settings import Settings

PEOPLE, ROWS, RECORDS = 20, 20, 60

TEXT = f"""\
Records of {PEOPLE} people and {ROWS} rows, made as those of the section on influence, whose answers are then given with
an error of 0.1, rounded to multiples of 0.2, or on a scale of five points from −0.5 to 1.5; and the comparison is told
so. *Exact* is the same comparison of the answers before that.
"""


class Kind(NamedTuple):
    """How answers are given, and what a comparison is told of it."""

    given: Callable[[Array, np.random.Generator], Array]
    told: Mapping[str, Any]


KINDS: Mapping[str, Kind] = {
    "exact": Kind(lambda y, rng: y, {}),
    "errors": Kind(lambda y, rng: y + 0.1 * rng.normal(size=y.shape), {"measurement_noise": True}),
    "rounded": Kind(lambda y, rng: 0.2 * np.rint(y / 0.2), {"observation": Observation(rounding=0.2)}),
    "five points": Kind(
        lambda y, rng: np.clip(0.5 * np.rint(2 * y), -0.5, 1.5),
        {"observation": Observation(scale=(-0.5, 1.5), rounding=0.5)},
    ),
}


def verdict(how: str, kind: str, seed: int) -> str:
    """Return what is said of a record."""
    network, states = record(PEOPLE, ROWS, kind, 900 + seed)
    given, told = KINDS[how]
    return compare(given(states, np.random.default_rng(seed)), network, **told).verdict


def measure(settings: Settings) -> Section:
    """Return how often people are said to respond, by how answers are given."""
    kinds, records = (list(ALL)[:1], 1) if settings.quick else (list(ALL), settings.records_or(RECORDS))
    cells = [(how, kind) for how in KINDS for kind in kinds]
    found = spread(verdict, [(*cell, seed) for cell in cells for seed in range(records)], settings)
    own = {cell: [one == "responds" for one in found[k * records : (k + 1) * records]] for k, cell in enumerate(cells)}
    tables = [
        Table(
            f"{caption}: share that is said to respond, of {records} records",
            ("record", *KINDS),
            [[kind, *(share(own[how, kind]) for how in KINDS)] for kind in kinds if (kind in NULLS) is null],
        )
        for caption, null in (("Nobody responds", True), ("People respond", False))
    ]
    false = [float(np.mean(each)) for (how, kind), each in own.items() if kind in NULLS and how != "exact"]
    return Section(
        "Answers with errors",
        TEXT,
        tables,
        [Target("false claims, mean", 0.05, None if settings.quick else float(np.mean(false)), at_least=False)],
    )
