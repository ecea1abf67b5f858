"""Files of temporal networks: lists of events, contacts and waves, and archives of arrays."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NetworkError, PeerPressureError
from peerpressure.networks._edge_lists import EVENT_ROLES, Lines, parse_lines
from peerpressure.networks._network import Network
from peerpressure.networks._readers import check_archive
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._writers import event_archive, event_list
from peerpressure.networks.formats import FORMATS, LISTS, read_network, suffix_of, write_whole
from peerpressure.networks.validation import Label, unknown_labels
from peerpressure.support.files import decode_text, expanded, naming, read_bytes
from peerpressure.support.parameters import composed
from peerpressure.support.table_files import PARQUET, parse_table, read_table
from peerpressure.support.tables import places_in

ARCHIVE = ".npz"
HEAD = 100_000  # characters of a file in which its heading is looked for


def read_events(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    period: int | None = None,
    directed: bool = False,
) -> TemporalNetwork:
    r"""Read a temporal network from a list of events: step, source, target and optionally weight.

    Parameters
    ----------
    path : str or path-like
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, each also with ``.gz``) or ``.parquet`` with lines in the order of
        their steps, where the weight 0 removes an edge; or an ``.npz`` file from `write_events`.
    columns : sequence of str, optional
        What the columns hold, such as ("source", "target", "", "time"), where "" is a column to ignore.  By default
        columns are identified by the names in the heading; a list without a heading needs this.
    labels : iterable of hashable, optional
        All agents, if some may have no line.
    period : int, optional
        Number of steps after which the sequence repeats.
    directed : bool, default False
        Whether an edge goes from its source, who listens, to its target only. An ``.npz`` file says so itself.

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
    file = expanded(path)
    suffix = suffix_of(file, (*LISTS, ARCHIVE))
    with naming(file, "a network file"):
        # An archive stores labels and period itself.
        if suffix == ARCHIVE:
            _check_options(columns=columns, labels=labels, period=period)
            return TemporalNetwork.from_arrays(_arrays(file))
        lines = read_lines(file, columns)
        _check_steps(lines)
        lines.check_edges()
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        sources, targets, names = _located(lines, labels)
        rows = (lines.times.astype(np.int64), sources, targets, weights)
        return TemporalNetwork.from_events(rows, labels=names, period=period, directed=directed)


def read_snapshots(
    path: str | PathLike[str], *, labels: Iterable[Label] | None = None, directed: bool = False
) -> TemporalNetwork:
    """Read a temporal network from a list of the edges of each wave, which hold until those of the next wave."""
    file = expanded(path)
    suffix_of(file, LISTS)
    with naming(file, "a network file"):
        lines = read_lines(file, None)
        _check_steps(lines, ordered=False)
        lines.check_edges(lasting=False)
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        sources, targets, names = _located(lines, labels)
        graphs, steps = [], np.unique(lines.times)
        for step in steps:
            now = lines.times == step
            graphs.append(Network.from_edges((sources[now], targets[now]), weights[now], names, directed=directed))
        return TemporalNetwork.from_snapshots(graphs, steps.astype(np.int64), directed=directed)


def read_waves(
    path: str | PathLike[str], *, labels: Iterable[Label] | None = None, directed: bool | None = None
) -> Network | TemporalNetwork:
    r"""Read a network, or that of each wave if the file is a list of edges with a column of times.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_waves
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "friends.csv")
    ...     _ = file.write_text("wave,source,target\n1,ann,bob\n2,bob,cat\n", encoding="utf-8")
    ...     read_waves(file, directed=True)
    TemporalNetwork(3 agents, 2 directed pairs, 2 changes over 1…2, on average 1 edges)
    """
    file = expanded(path)
    if _has_times(file):
        return read_snapshots(file, labels=labels, directed=bool(directed))
    return read_network(file, directed=directed, labels=labels)


def _has_times(file: Path) -> bool:
    """Return whether a table has columns of times, sources and targets by their names."""
    name = file.name.lower().removesuffix(".gz")
    if not name.endswith(LISTS) or not file.is_file():
        return False
    try:
        if name.endswith(PARQUET):
            table = read_table(file)
        else:
            # The first lines have the heading.
            head = decode_text(read_bytes(file))[0][:HEAD]
            table = parse_table(head if len(head) < HEAD else head.rpartition("\n")[0])
        first = table.heading or (table.first.fields if table.first else ())
        known = [
            {*EVENT_ROLES[:3]} <= places_in(names, EVENT_ROLES, letters=True).keys() for names in (first, table.note)
        ]
        return any(known)
    # Whoever reads the file says what is wrong with it.
    except (PeerPressureError, ValueError, OSError, EOFError, zlib.error):
        return False


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
    directed: bool = False,
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
        What the columns hold, as in `read_events`; by default the heading tells.
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
    directed : bool, default False
        Whether an edge goes from its source, who listens, to its target only.

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
    file = expanded(path)
    suffix_of(file, LISTS)
    with naming(file, "a network file"):
        lines = read_lines(file, columns)
        lines.check(~np.isfinite(lines.times), "a time stamp must be finite", lines.times, "remove the line")
        lines.check_edges(lasting=False)
        sources, targets, names = _located(lines, labels)
        return TemporalNetwork.from_contacts(
            (lines.times, sources, targets, *([] if lines.weights is None else [lines.weights])),
            resolution,
            origin=origin,
            duration=duration,
            weighted=weighted,
            skip_quiet=skip_quiet,
            labels=names,
            period=period,
            repeat=repeat,
            directed=directed,
        )


def read_lines(file: Path, columns: Sequence[str] | None) -> Lines:
    """Return the lines of a file."""
    return parse_lines(read_table(file, "an event"), columns)


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
    file = expanded(path)
    suffix = suffix_of(file, (*LISTS, ARCHIVE))
    with naming(file, "a network file"):
        return None if suffix == ARCHIVE else read_lines(file, columns).description


def _check_steps(lines: Lines, *, ordered: bool = True) -> None:
    times = lines.times
    remedy = "count steps from 1; a list with real time stamps is one of contacts"
    lines.check(np.full(times.size, lines.dated), "a step must be a whole number", ["a date"] * lines.dated, remedy)
    # Beyond 2⁵³ floats no longer represent every integer.
    whole = (np.abs(times) < 2**53) & (times == np.floor(times))
    lines.check(~whole, "a step must be a whole number", times, remedy)
    lines.check(times < 1, "a step must be 1 or more", times, remedy)
    back = np.flatnonzero(times[1:] < times[:-1]) + 1
    if ordered and back.size:
        k = int(back[0])
        rule = f"line {lines.numbers[k]}: events must come in the order of their steps"
        got = f"step {times[k]:g} after {times[k - 1]:g}"
        raise NetworkError(rule, got=got, remedy="sort the lines by time")


def _located(lines: Lines, labels: Iterable[Label] | None) -> tuple[NDArray[Any], NDArray[Any], Sequence[Label]]:
    """Return the positions of both ends, among the labels that the caller listed if there are any, and the labels."""
    if labels is None:
        return lines.sources, lines.targets, lines.labels
    names = [composed(label) for label in labels]
    place = {label: k for k, label in enumerate(names)}
    positions = np.array([place.get(label, -1) for label in lines.labels])
    sources, targets = positions[lines.sources], positions[lines.targets]
    unknown = (sources < 0) | (targets < 0)
    if unknown.any():
        k = int(np.argmax(unknown))
        ends = [lines.labels[side[k]] for side in (lines.sources, lines.targets)]
        others = [end for end in ends if end not in place]
        raise NetworkError(f"line {lines.numbers[k]}: {unknown_labels(others, names)}")
    return sources, targets, names


def _check_options(**options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        rule = f"an {ARCHIVE} file tells its own columns, labels and period"
        raise NetworkError(rule, got=", ".join(given), remedy="leave them out")


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    check_archive(file)
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def write_events(temporal: TemporalNetwork, path: str | PathLike[str]) -> None:
    """Write a temporal network to a file that `read_events` reads back.

    Parameters
    ----------
    temporal : TemporalNetwork
        The network.
    path : str or path-like
        The suffix selects the format: ``.npz``, or a list such as ``.csv``, ``.tsv`` and ``.txt``. Text does not keep
        the order of the agents; only ``.npz`` keeps labels of every kind, agents without any edge, and a period.

    Raises
    ------
    NetworkError
        If the format cannot hold the labels, isolated agents or period of this network.
    FileFormatError
        If the suffix is unknown or the file cannot be written.

    See Also
    --------
    read_events : Read a temporal network from a list of events.
    write_network : Write a static network.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure import TemporalNetwork
    >>> from peerpressure.networks import read_events, write_events
    >>> with TemporaryDirectory() as folder:
    ...     write_events(TemporalNetwork([1, 3], [0, 0], [1, 1], [1, 0]), Path(folder, "events.csv"))
    ...     read_events(Path(folder, "events.csv"))
    TemporalNetwork(2 agents, 1 pair, 1 change over 1…3, on average 0.6667 edges)
    """
    file = expanded(path)
    suffix = suffix_of(file, [*filter(separator_of, LISTS), ARCHIVE])
    write_whole(
        file, lambda: event_archive(temporal) if suffix == ARCHIVE else event_list(temporal, separator_of(suffix))
    )


def separator_of(suffix: str) -> str:
    """Return the separator with which lists of a format are written; "" if there is none."""
    return FORMATS[suffix].separator or ""
