"""Shows sections on a terminal and writes them as Markdown; the documentation shows a part of the report.

``python -m benchmarks.report`` writes that part from ``benchmarks/RESULTS.md``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from .machine import facts
from .sections import Section, Table, Target, shown
from .workload import DESCRIPTION

RESULTS = Path(__file__).with_name("RESULTS.md")
PAGE = Path(__file__).parents[1] / "docs" / "development" / "benchmarks.md"
_OPENING = f"""# Benchmarks

Written by `python -m benchmarks --write benchmarks/RESULTS.md`. All contenders of a table run interleaved:
each runs once, then each runs again. Numbers are medians over these repetitions, and a ratio is the median of the
ratios within a repetition. The cost of a step is that of a call with many steps minus that of a call with one,
divided by the number of agent-steps (agents × replicates × steps), so building a graph or its agents is not included;
garbage collection is off. Cases are named by agents × replicates.

The model everywhere: {DESCRIPTION}
"""


def targets_table(targets: Sequence[Target]) -> Table:
    rows = [
        [t.what, t.rule, None if t.measured is None else f"{shown(t.measured)}{t.unit}", t.verdict] for t in targets
    ]
    return Table("Targets", ("target", "wanted", "measured", "met"), rows)


def show(section: Section, console: Console) -> None:
    console.rule(escape(section.title))
    tables = [*section.tables, *([targets_table(section.targets)] if section.targets else [])]
    for table in tables:
        console.print(_rich(table))


def _rich(table: Table) -> RichTable:
    drawn = RichTable(title=escape(table.caption), title_justify="left")
    longest = max((len(shown(row[0])) for row in table.rows), default=0)
    for position, column in enumerate(table.columns):
        justify: Literal["left", "right"] = "right" if position else "left"
        drawn.add_column(
            escape(column), justify=justify, overflow="fold", min_width=0 if position else min(longest, 22)
        )
    for row in table.rows:
        drawn.add_row(*(escape(shown(cell)) for cell in row))
    return drawn


def markdown(sections: Sequence[Section], *, quick: bool) -> str:
    """Return the whole report."""
    everything = [target for section in sections for target in section.targets]
    machine = Table("", ("machine", ""), [[name, value] for name, value in facts().items()])
    note = (
        "\n**A quick look: small sizes and few rounds; run without `--quick` for figures to quote.**\n" if quick else ""
    )
    date = f"Measured on {datetime.date.today().isoformat()}."
    parts = [_OPENING + note, date, _markdown(machine), "## Targets", _markdown(targets_table(everything))]
    for section in sections:
        parts += [f"## {section.title}", section.text.strip(), *(_captioned(table) for table in section.tables)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _captioned(table: Table) -> str:
    return f"**{table.caption}**\n\n{_markdown(table)}"


def _markdown(table: Table) -> str:
    head = "| " + " | ".join(table.columns) + " |"
    rule = "|---|" + "---:|" * (len(table.columns) - 1)
    return "\n".join([head, rule, *("| " + " | ".join(map(shown, row)) + " |" for row in table.rows)])


def page(report: str) -> str:
    """Return what the documentation shows of a report: how and where it was measured, and speed against others."""
    opening, *sections = re.split(r"(?m)^(?=## )", report)
    (speed,) = (text for text in sections if text.startswith("## Speed"))
    rest = (
        "`benchmarks/RESULTS.md` has targets and times, and "
        "[`benchmarks/MACHINES.md`](../../benchmarks/MACHINES.md) what was measured on other machines.\n"
    )
    return "".join([opening, speed.partition("**Nanoseconds")[0], "## More\n\n", rest])


if __name__ == "__main__":
    PAGE.write_text(page(RESULTS.read_text(encoding="utf-8")), encoding="utf-8")
