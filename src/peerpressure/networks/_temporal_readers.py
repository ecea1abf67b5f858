"""Reading temporal networks from files of events or contacts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NetworkError, message
from peerpressure.files import naming
from peerpressure.networks._event_lists import Lines, parse_lines
from peerpressure.networks._readers import check_archive, file_suffix
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._validation import Label, network_error, unknown_labels
from peerpressure.tables import PARQUET, read_table

# Separators with which text is written; reading detects them.
SEPARATORS: Mapping[str, str] = MappingProxyType({".csv": ",", ".tsv": "\t", ".txt": " ", ".dat": " "})
ARCHIVE = ".npz"
FORMATS: Mapping[str, None] = MappingProxyType(dict.fromkeys([*SEPARATORS, ARCHIVE]))  # that can be written
LISTS: Mapping[str, None] = MappingProxyType(dict.fromkeys([*SEPARATORS, PARQUET]))  # that hold events or contacts


def read_events(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    period: int | None = None,
) -> TemporalNetwork:
    r"""Read a temporal network from a list of events: step, source, target and optionally weight.

    Parameters
    ----------
    path : str or path-like
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, each also with ``.gz``) or ``.parquet`` with lines in the order of
        their steps, where the weight 0 removes an edge; or an ``.npz`` file from `write_events`.
    columns : sequence of str, optional
        What the columns hold, such as ("source", "target", "", "time"), where "" is a column to ignore.  By default
        columns are identified by the names in the heading.  Without one, the order above and those of SNAP (source,
        target, time) and KONECT (source, target, weight, time) are told apart by the contents.  `describe_events_file`
        returns what was found; a conclusion from numbers alone is a warning, and an ambiguous file an error.
    labels : iterable of hashable, optional
        All agents, if some may have no line.
    period : int, optional
        Number of steps after which the sequence repeats.

    Returns
    -------
    TemporalNetwork
        Labels that are all integers become numbers.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, ambiguous or of an unknown format.
    NetworkError
        If the events are not valid; the message names the line.

    See Also
    --------
    read_contacts : Read contacts with real time stamps.
    write_events : Write a temporal network.
    TemporalNetwork.from_events : The same from data in memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_events
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "events.csv")
    ...     _ = file.write_text("time,source,target,weight\n1,ann,bob,1\n3,ann,bob,0\n", encoding="utf-8")
    ...     read_events(file)
    TemporalNetwork(2 agents, 1 pair, 1 change over 1…3, on average 0.6667 edges)
    """
    file = Path(path)
    suffix = file_suffix(file, {**LISTS, ARCHIVE: None}, compressed=True)
    with naming(file, "a network file"):
        # An archive stores labels and period itself.
        if suffix == ARCHIVE:
            _check_options(columns=columns, labels=labels, period=period)
            return TemporalNetwork.from_arrays(_arrays(file))
        lines = _confirmed(file, read_lines(file, columns))
        _check_steps(lines)
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        remedy = "use weights above 0, and 0 to end an edge"
        lines.check(~(weights >= 0) | np.isinf(weights), "a weight must be finite and not negative", weights, remedy)
        rows = (lines.times.astype(np.int64), lines.sources, lines.targets, weights)
        return TemporalNetwork.from_events(rows, labels=_listed_labels(lines, labels), period=period)


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
    r"""Read a temporal network from a list of contacts: time stamp, source, target and optionally weight.

    An agent without a contact in a step keeps its public opinion, unless a model says otherwise: ``isolated`` is
    "keep".

    Parameters
    ----------
    path : str or path-like
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, each also with ``.gz``) or ``.parquet`` with lines in any order.
        Time stamps are numbers, or ISO dates such as 2024-01-31T12:00:00, which become seconds since 1970; without a
        zone they are UTC.
    resolution : float, default 1.0
        Length of a step in the units of the time stamps, above 0.
    columns : sequence of str, optional
        What the columns hold, as in `read_events`; by default it is detected.
    labels : iterable of hashable, optional
        All agents, if some may have no line.
    origin : float, optional
        Time at which step 1 begins; by default the first time stamp.
    duration : float, optional
        Duration of every contact; by default contacts are instantaneous.
    weighted : bool, default True
        Whether contacts of a pair within one step add up to its weight; otherwise the weight is 1.
    skip_quiet : int, optional
        Remove gaps of more than this many steps without contacts, such as nights.
    period : int, optional
        Number of steps after which the sequence repeats.
    repeat : bool, default False
        Whether to repeat after the last contact if no period is given; otherwise all agents are isolated then.

    Returns
    -------
    TemporalNetwork
        Labels that are all integers become numbers.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, ambiguous or of an unknown format.
    NetworkError
        If the contacts are not valid; the message names the line.

    See Also
    --------
    read_events : Read changes at integer steps.
    recorded_contacts : Recorded contacts of real people.
    TemporalNetwork.from_contacts : The same from data in memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_contacts
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "contacts.csv")
    ...     _ = file.write_text("time,source,target\n0,ann,bob\n20,ann,bob\n70,bob,cat\n", encoding="utf-8")
    ...     read_contacts(file, resolution=60)
    TemporalNetwork(3 agents, 2 pairs, 3 changes over 1…3, on average 0.6667 edges)
    """
    file = Path(path)
    file_suffix(file, LISTS, compressed=True)
    with naming(file, "a network file"):
        lines = _confirmed(file, read_lines(file, columns))
        lines.check(~np.isfinite(lines.times), "a time stamp must be finite", lines.times, "remove the line")
        if lines.weights is not None:
            bad = ~(lines.weights > 0) | np.isinf(lines.weights)
            lines.check(bad, "a contact's weight must be finite and positive", lines.weights, "remove the line")
        return TemporalNetwork.from_contacts(
            (lines.times, lines.sources, lines.targets, *([] if lines.weights is None else [lines.weights])),
            resolution,
            origin=origin,
            duration=duration,
            weighted=weighted,
            skip_quiet=skip_quiet,
            labels=_listed_labels(lines, labels),
            period=period,
            repeat=repeat,
        )


def read_lines(file: Path, columns: Sequence[str] | None) -> Lines:
    """Return the lines of a text file; a line must not link an agent with itself."""
    lines = parse_lines(read_table(file, "an event"), columns)
    loops = np.array([source == target for source, target in zip(lines.sources, lines.targets, strict=True)])
    lines.check(loops, "an agent must not be its own neighbour", lines.sources, "remove the line")
    return lines


def _confirmed(file: Path, lines: Lines) -> Lines:
    """Return the lines, and warn if the order of columns was concluded from numbers."""
    if lines.inferred:
        # The line that called read_events or read_contacts.
        warnings.warn(f"{file} was read as {lines.description}; set columns to confirm it", stacklevel=3)
    return lines


def describe_events_file(path: str | PathLike[str], columns: Sequence[str] | None = None) -> str | None:
    r"""Describe how `read_events` and `read_contacts` read a file: separator, decimal sign and columns.

    Parameters
    ----------
    path : str or path-like
        The file.
    columns : sequence of str, optional
        As in `read_events`.

    Returns
    -------
    str or None
        None for formats in which nothing has to be detected.

    See Also
    --------
    read_events, read_contacts : Read such a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import describe_events_file
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "events.csv")
    ...     _ = file.write_text("time,source,target\n1,ann,bob\n", encoding="utf-8")
    ...     describe_events_file(file)
    "separated by commas, time from 'time', source from 'source', target from 'target'"
    """
    file = Path(path)
    suffix = file_suffix(file, {**LISTS, ARCHIVE: None}, compressed=True)
    return None if suffix == ARCHIVE else read_lines(file, columns).description


def _check_steps(lines: Lines) -> None:
    times = lines.times
    remedy = "count steps from 1; a list with real time stamps is one of contacts"
    lines.check(np.full(times.size, lines.dated), "a step must be a whole number", ["a date"] * lines.dated, remedy)
    # Beyond 2⁵³ floats no longer represent every integer.
    whole = (np.abs(times) < 2**53) & (times == np.floor(times))
    lines.check(~whole, "a step must be a whole number", times, remedy)
    lines.check(times < 1, "a step must be 1 or more", times, remedy)
    back = np.flatnonzero(times[1:] < times[:-1]) + 1
    if back.size:
        k = int(back[0])
        rule = f"line {lines.numbers[k]}: events must come in the order of their steps"
        got = f"step {times[k]:g} after {times[k - 1]:g}"
        raise NetworkError(message(rule, got=got, remedy="sort the lines by time"))


def _listed_labels(lines: Lines, labels: Iterable[Label] | None) -> list[Label] | None:
    """Return the labels that the caller listed; every line must be of agents among them."""
    if labels is None:
        return None
    names = list(labels)
    # Membership is asked twice per line.
    here = set(names)
    for number, *ends in zip(lines.numbers, lines.sources, lines.targets, strict=True):
        unknown = [end for end in ends if end not in here]
        if unknown:
            raise NetworkError(f"line {number}: {unknown_labels(unknown, names)}")
    return names


def _check_options(**options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        rule = f"an {ARCHIVE} file tells its own columns, labels and period"
        raise network_error(rule, got=", ".join(given), remedy="leave them out")


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    check_archive(file)
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
