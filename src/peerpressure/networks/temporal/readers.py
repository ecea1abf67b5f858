"""Networks that change from files; nothing in a file can run code or raise an unfamiliar error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, complain
from peerpressure.networks.labels import Label, unknown
from peerpressure.networks.readers import suffix_of
from peerpressure.networks.refusal import refusal
from peerpressure.networks.temporal.network import TemporalNetwork
from peerpressure.networks.temporal.text import Lines, lines_of
from peerpressure.tables import naming, read_table

# How the fields of a line are kept apart when it is written; a reader looks for itself.
SEPARATORS: Mapping[str, str] = MappingProxyType({".csv": ",", ".tsv": "\t", ".txt": " ", ".dat": " "})
ARCHIVE = ".npz"
FORMATS: Mapping[str, None] = MappingProxyType(dict.fromkeys([*SEPARATORS, ARCHIVE]))


def read_events(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    period: int | None = None,
) -> TemporalNetwork:
    """Read a network from the list of its changes: step, source, target and, if any, weight, where 0 ends an edge.

    Text is told by its suffix, to which ``.gz`` may be added.  Columns are taken by the names in the heading; without
    one they stand in the order above, and a file that might have another order is refused.  ``columns`` says what they
    hold in any case, such as ("source", "target", "", "time").  The lines must stand in the order of their steps.
    ``labels`` lists all agents where some may have no line.  An ``.npz`` file is what ``write_events`` writes.
    """
    file = Path(path)
    suffix = suffix_of(file, FORMATS, packed=True)
    with naming(file, "a network file"):
        if suffix == ARCHIVE:
            _refuse_options(columns=columns, labels=labels, period=period)
            return TemporalNetwork.from_arrays(_arrays(file))
        lines = read_lines(file, columns)
        _refuse_steps(lines)
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        remedy = "use weights above 0, and 0 to end an edge"
        lines.refuse(~(weights >= 0) | np.isinf(weights), "a weight must be finite and not negative", weights, remedy)
        rows = (lines.times.astype(np.int64), lines.sources, lines.targets, weights)
        return TemporalNetwork.from_events(rows, labels=_known(lines, labels), period=period)


def read_contacts(
    path: str | PathLike[str],
    resolution: float = 1.0,
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    origin: float | None = None,
    duration: float | None = None,
    weighted: bool = True,
    skip_quiet: int | None = None,
    period: int | None = None,
    repeat: bool = False,
) -> TemporalNetwork:
    """Read a network from a list of contacts: time stamp, source, target and, if any, weight, in any order.

    See ``read_events`` for the files and ``TemporalNetwork.from_contacts`` for what becomes of the time stamps.
    """
    file = Path(path)
    suffix_of(file, SEPARATORS, packed=True)
    with naming(file, "a network file"):
        lines = read_lines(file, columns)
        lines.refuse(~np.isfinite(lines.times), "a time stamp must be finite", lines.times, "remove the line")
        if lines.weights is not None:
            bad = ~(lines.weights > 0) | np.isinf(lines.weights)
            lines.refuse(bad, "a contact's weight must be finite and positive", lines.weights, "remove the line")
        return TemporalNetwork.from_contacts(
            (lines.times, lines.sources, lines.targets, *([] if lines.weights is None else [lines.weights])),
            resolution,
            origin=origin,
            duration=duration,
            weighted=weighted,
            skip_quiet=skip_quiet,
            labels=_known(lines, labels),
            period=period,
            repeat=repeat,
        )


def read_lines(file: Path, columns: Sequence[str] | None) -> Lines:
    """Return the lines of a text file, in which no agent may meet itself."""
    lines = lines_of(read_table(file, "an event"), columns)
    loops = np.array([source == target for source, target in zip(lines.sources, lines.targets, strict=True)])
    lines.refuse(loops, "an agent must not be its own neighbour", lines.sources, "remove the line")
    return lines


def described_events(path: str | PathLike[str], columns: Sequence[str] | None = None) -> str | None:
    """Say how a file of events or contacts is read; None where the format leaves nothing to find out."""
    file = Path(path)
    return None if suffix_of(file, FORMATS, packed=True) == ARCHIVE else read_lines(file, columns).found


def _refuse_steps(lines: Lines) -> None:
    times = lines.times
    remedy = "count steps from 1; for real time stamps use read_contacts"
    # Beyond 2⁵³ a double no longer tells one whole number from the next.
    whole = (np.abs(times) < 2**53) & (times == np.floor(times))
    lines.refuse(~whole, "a step must be a whole number", times, remedy)
    lines.refuse(times < 1, "a step must be 1 or more", times, remedy)
    back = np.flatnonzero(times[1:] < times[:-1]) + 1
    if back.size:
        k = int(back[0])
        rule = f"line {lines.numbers[k]}: events must come in the order of their steps"
        got = f"step {times[k]:g} after {times[k - 1]:g}"
        raise NetworkError(complain(rule, got=got, remedy="sort the lines by time"))


def _known(lines: Lines, labels: Iterable[Label] | None) -> list[Label] | None:
    """Return the labels that the caller listed, all lines being of agents among them."""
    if labels is None:
        return None
    names = list(labels)
    here = set(names)
    for number, *ends in zip(lines.numbers, lines.sources, lines.targets, strict=True):
        strange = [end for end in ends if end not in here]
        if strange:
            raise NetworkError(f"line {number}: {unknown(strange, names)}")
    return names


def _refuse_options(**options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        rule = f"an {ARCHIVE} file tells its own columns, labels and period"
        raise refusal(rule, got=", ".join(given), remedy="leave them out")


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    import psutil

    with ZipFile(file) as archive:
        swollen = sum(member.file_size for member in archive.infolist())
    if swollen > psutil.virtual_memory().available:
        remedy = "use a larger machine"
        raise FileFormatError(complain("a network must fit into memory", got=f"{swollen} bytes", remedy=remedy))
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
