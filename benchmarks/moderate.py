"""Records of 6 to 10 rows, which both `compare` and `fitting.response` take: what each says, and whether they agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from peerpressure import compare
from peerpressure.fitting import response

from .influence import ALL, NULLS, record
from .processes import spread
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

PEOPLE, ROWS = 60, (6, 8, 10)
RECORDS, PERMUTATIONS = 100, 199

TEXT = f"""\
Records of {PEOPLE} people, made as those of the section on influence. *Response* and *compare* are the shares in which
`fitting.response` (with first = "after") and `compare` say that people respond, *agree* those in which both have the
same verdict, and *contrary* those in which one says that people respond and the other that they do not.
"""


class Said(NamedTuple):
    """What the two ways say of one record."""

    response: str
    compare: str


def said(rows: int, kind: str, seed: int) -> Said:
    """Return what is said of a record."""
    network, states = record(PEOPLE, rows, kind, 500 + seed)
    few = response(states, network, first="after", permutations=PERMUTATIONS, seed=seed)
    return Said(few.verdict, compare(states, network).verdict)


def measure(settings: Settings) -> Section:
    """Return verdicts of both ways, by number of rows and kind of record."""
    lengths, records = (ROWS[:1], 1) if settings.quick else (ROWS, settings.records_or(RECORDS))
    cells = [(rows, kind) for rows in lengths for kind in ALL]
    found = spread(said, [(*cell, seed) for cell in cells for seed in range(records)], settings)
    own = {cell: found[k * records : (k + 1) * records] for k, cell in enumerate(cells)}
    columns = ("rows", "record", "records", "response", "compare", "agree", "contrary")
    rows = {cell: [*cell, records, *_shares(each)] for cell, each in own.items()}
    tables = [
        Table(caption, columns, [row for (_, kind), row in rows.items() if (kind in NULLS) is null])
        for caption, null in (("Nobody responds", True), ("People respond", False))
    ]
    false = [
        sum(one[way] == "responds" for one in each) / records
        for (_, kind), each in own.items()
        if kind in NULLS
        for way in (0, 1)
    ]
    most = None if settings.quick else max(false)
    return Section(
        "6 to 10 rows", TEXT, tables, [Target("false claims, highest of a kind", 0.07, most, at_least=False)]
    )


def _shares(each: Sequence[Said]) -> list[Cell]:
    contrary = [{one.response, one.compare} == {"responds", "no response"} for one in each]
    return [
        share([one.response == "responds" for one in each]),
        share([one.compare == "responds" for one in each]),
        share([one.response == one.compare for one in each]),
        share(contrary),
    ]
