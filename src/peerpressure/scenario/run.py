"""[run] and [output]: how long, how often, from which seed, what is kept, and where it goes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, Tag

from peerpressure.scenario.section import Count, Label, OutputFolder, Section, Seed, alternatives, tag
from peerpressure.simulation import Record, as_record


class RecordTable(Section):
    """What a run keeps: states and summaries at every ``every``-th step, of all agents or of some."""

    states: bool = True
    summaries: bool = True
    every: Count = 1
    agents: Annotated[list[Label], Field(min_length=1)] | None = None


def _choose(value: Any) -> str | None:
    return tag("word") if isinstance(value, str) else tag("table") if isinstance(value, dict | RecordTable) else None


RecordSection: TypeAlias = Annotated[
    Annotated[Literal["all", "summaries", "final"], Tag("<word>")] | Annotated[RecordTable, Tag("<table>")],
    alternatives(
        _choose, "record must be 'all', 'summaries', 'final' or { every = 10 }", "leave it out to keep everything"
    ),
]


class Run(Section):
    """One run: its length, its replicates and its seed, from which everything random is drawn."""

    steps: Annotated[int, Field(ge=1, le=2**32 - 1)]
    replicates: Annotated[int, Field(ge=1, le=2**24)] = 1
    seed: Seed = 0
    record: RecordSection = "all"

    def what_to_keep(self) -> Record:
        """Return the record that the file asks for."""
        if isinstance(self.record, str):
            return as_record(self.record)
        return Record(**self.record.model_dump())


class Output(Section):
    """Where results go, and which; ``states`` adds a table of all that agents showed, which can be long."""

    folder: Annotated[OutputFolder | None, Field(description="leave it out for a folder beside the scenario file")] = (
        None
    )
    figures: bool = True
    report: bool = True
    states: bool = False
