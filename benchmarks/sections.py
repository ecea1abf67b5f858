"""What a measurement hands over: tables, the definitions to read them by, and targets beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

Cell: TypeAlias = str | float | int | None


@final
@dataclass(frozen=True)
class Table:
    """Rows of text and numbers under a caption; None is a cell with nothing to say."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@final
@dataclass(frozen=True)
class Target:
    """A figure that is aimed at, and what was measured, None if this run did not measure it."""

    what: str
    wanted: float
    measured: float | None
    unit: str = ""
    at_least: bool = True

    @property
    def rule(self) -> str:
        """The target in writing."""
        return f"{'≥' if self.at_least else '<'} {self.wanted:g}{self.unit}"

    @property
    def verdict(self) -> str:
        """Whether it was met."""
        if self.measured is None:
            return "not measured"
        met = self.measured >= self.wanted if self.at_least else self.measured < self.wanted
        return "yes" if met else "no"


@final
@dataclass(frozen=True)
class Section:
    """One measurement: its heading, definitions in Markdown, tables and targets."""

    title: str
    text: str
    tables: Sequence[Table]
    targets: Sequence[Target] = field(default=())

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Section:
        """Return the section that ``dataclasses.asdict`` has turned into plain values."""
        tables, targets = [Table(**one) for one in plain["tables"]], [Target(**one) for one in plain["targets"]]
        return cls(plain["title"], plain["text"], tables, targets)


def shown(cell: Cell) -> str:
    """Return a cell as a reader wants it: three digits of a number, a dash for nothing."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int) or abs(cell) >= 1000:
        return f"{cell:,.0f}"
    return f"{cell:.3g}"


def share(values: Sequence[float]) -> str:
    """Return the mean of records' shares, or of whether something holds in each, with its standard error.

    >>> share([True, False, True, True]), share([1.0] * 100)
    ('0.750 ± 0.250', '1.000 ± 0.013')
    """
    size, mean = len(values), float(np.mean(values))
    error = float(np.std(values, ddof=1) / np.sqrt(size)) if size > 1 else 0.0
    # Where all agree, two successes and two failures more say how far the truth may be (Agresti and Coull 1998).
    near = (mean * size + 2) / (size + 4)
    return f"{mean:.3f} ± {error or float(np.sqrt(near * (1 - near) / (size + 4))):.3f}"


def count(number: int) -> str:
    """Return a power of ten as such: 10⁴.

    >>> count(10_000), count(32)
    ('10⁴', '32')
    """
    digits = str(number)
    if number < 100 or digits != "1" + "0" * (len(digits) - 1):
        return digits
    return "10" + str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
