"""Long lists are split by pandas; whatever is unusual is split in Python, and both give the same columns."""

from __future__ import annotations

import gzip
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from peerpressure.errors import FileFormatError, NetworkError, PeerPressureError
from peerpressure.networks import Network, describe_events_file, describe_network_file, read_contacts, read_network
from peerpressure.networks.formats import read_labels
from peerpressure.support import table_files
from peerpressure.support.files import read_bytes

LABELS = {
    "whole": st.integers(0, 12).map(str),
    "sparse": st.sampled_from(["-3", "0", "7", "123456789012", "999999999999999999"]),
    "odd": st.sampled_from(["0", "-0", "007", "7", "+7", "1000000000000000000", "1.0", "2.5", "1"]),
    "text": st.sampled_from(
        ["ann", "bob", "cat", "x y", "Zoë", "source", "to", "agent1", "i", "dora", "NA", "nan", ""]
    ),
}
HEADINGS = ["source{s}target", "From{s}To", "i{s}j", "a{s}b", "person{s}friend", "agent1{s}agent2", "# source target"]
ODD = ["", "# note", "% 5", '"a","b"', "1,2,3,4", "source,target", "   ", "1 2 ", " 3,4", "1;2", "2024-01-01 10:00"]
WEIGHTS = st.sampled_from(["1", "0.5", "1e-05", "2.", ".5", "0.1234567890123456789", "-1", "nan", "1,5", "0", "x", ""])


@st.composite
def lists(draw: st.DrawFn) -> str:
    """Return the text of an edge list that may be odd in any way."""
    separator = draw(st.sampled_from([",", "\t", ";", " "]))
    label = LABELS[draw(st.sampled_from(sorted(LABELS)))]
    rows = draw(st.lists(st.tuples(label, label), min_size=1, max_size=12))
    usual = draw(st.booleans())
    weighted = draw(st.booleans())
    weight = st.sampled_from(["1", "0.5", "0.1"]) if usual else WEIGHTS
    lines = [separator.join([*row, *([draw(weight)] if weighted else [])]) for row in rows]
    heading = draw(st.sampled_from([None, *HEADINGS]))
    if heading is not None:
        more = separator + "weight" if weighted and not heading.startswith("#") else ""
        lines.insert(0, heading.format(s=separator) + more)
    if draw(st.integers(0, 4)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(ODD)))
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join([*lines, *([""] if draw(st.booleans()) else [])])


def outcome(file: Path, monkeypatch: pytest.MonkeyPatch, least: float, **options: Any) -> Any:
    """Return the network with its warnings and description, or the error; ``least`` decides who splits the lines."""
    monkeypatch.setattr(table_files, "LONG", least)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            network = read_network(file, **options)
            said = describe_network_file(file, directed=options.get("directed"))
        except PeerPressureError as error:
            return type(error), str(error)
    return bits(network), said, sorted({str(one.message) for one in caught})


def bits(network: Network) -> Any:
    A = network.adjacency
    parts = [A.indptr.tolist(), A.indices.tolist(), A.data.tobytes(), A.indices.dtype]
    return (
        parts,
        type(network.labels),
        list(network.labels),
        [type(label) for label in network.labels],
        network.directed,
    )


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=lists(), directed=st.booleans(), signed=st.booleans())
def test_both_ways_of_splitting_agree_on_every_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, directed: bool, signed: bool
) -> None:
    file = tmp_path / "edges.csv"
    file.write_bytes(text.encode())
    options = {"directed": directed, "signed": signed}
    assert outcome(file, monkeypatch, 0, **options) == outcome(file, monkeypatch, np.inf, **options)


PLAIN = {
    "numbers": "0,1\n1,2\n2,0\n",
    "numbers with gaps": "5,1\n1,2000000000\n2000000000,5\n",
    "a heading": "source,target,weight\n0,1,0.25\n1,2,3\n",
    "a quoted heading": '"from","to"\n0,1\n1,2\n',
    "spaces": "0 1 0.5\n1  2 1\n",
    "a comment as the heading": "# written by hand\n# source target weight\n0 1 0.5\n1 2 1\n",
    "tabs and carriage returns": "0\t1\r\n1\t2\r\n",
    "both directions": "0,1\n1,0\n1,2\n2,1\n",
    "repeats": "0,1\n0,1\n1,2\n",
    "leading zeros": "source,target\n007,7\n7,8\n",
    "names": "source,target\nann,bob\nbob,Zoë\n",
    "columns the other way": "weight,to,from\n2,b,a\n3,c,b\n",
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("packed", [False, True])
def test_usual_lists_are_read_by_columns(
    name: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ("edges.csv.gz" if packed else "edges.csv")
    data = PLAIN[name].encode()
    file.write_bytes(gzip.compress(data) if packed else data)
    assert table_files._long_table(read_bytes(file), "an edge") is not None
    assert outcome(file, monkeypatch, 0) == outcome(file, monkeypatch, np.inf)


FRAMES = {
    "numbers": {"source": [3, 1, 2], "target": [1, 2, 3]},
    "small types": {"from": np.array([0, 1], np.uint8), "to": np.array([1, 2], np.int16), "weight": [1, 2]},
    "single precision": {"source": [0, 1], "target": [1, 2], "weight": np.array([0.5, 0.25], np.float32)},
    "names": {"source": ["ann", "bob"], "target": ["bob", "cat"], "weight": [0.1, 2.5]},
}


ODD_FRAMES = {
    "huge numbers": {"source": np.array([2**63, 1], np.uint64), "target": [1, 2]},
    "missing ends": {"source": ["ann", None], "target": ["bob", "cat"]},
    "missing weights": {"source": [0, 1], "target": [1, 2], "weight": [1.0, None]},
    "an index": {"source": [0, 1], "target": [1, 2], "note": ["a", "b"], "more": ["c", "d"]},
    "spaces in names": {"source": [" ann", "bob"], "target": ["bob", "ann "]},
    "true and false": {"source": [0, 1], "target": [1, 2], "weight": [True, False]},
}


@pytest.mark.parametrize("name", [*FRAMES, *ODD_FRAMES])
def test_parquet_is_read_as_the_same_list_in_text(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame((FRAMES | ODD_FRAMES)[name])
    results = []
    for suffix, write in ((".parquet", frame.to_parquet), (".csv", partial(frame.to_csv, index=False))):
        file = tmp_path / f"edges{suffix}"
        write(file)
        # The words differ: how it was read, and whether lines or rows are counted.
        results.append(outcome(file, monkeypatch, np.inf)[0])
    assert results[0] == results[1]


def many(count: int, label: str = "{}") -> list[str]:
    """Return lines of some edges; 20,000 of them are more than ``LONG`` bytes."""
    return [f"{label.format(k)},{label.format(k + 1)}" for k in range(count)]


def test_errors_deep_in_a_long_list_name_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "LONG", 10_000)
    file = tmp_path / "edges.csv"
    for line in ("7,7", "7,", "source,target", "7,8,9"):
        file.write_text("\n".join(["source,target", *many(2_000), line, *many(10)]), encoding="utf-8")
        with pytest.raises((NetworkError, FileFormatError), match="line 2002"):
            read_network(file)
    # A field of the line above the list may occur far below, or nowhere.
    for last in ("ann,7", "7,8"):
        file.write_text("\n".join(["#vote,ann", *many(2_000), last]), encoding="utf-8")
        with pytest.raises(FileFormatError, match="line 1 is a comment"):
            read_network(file)
    # Under a heading a complete row is data, whatever it begins with.
    file.write_text("\n".join(["source,target", *many(2_000), "#vote,7"]), encoding="utf-8")
    assert "#vote" in read_network(file).labels
    # A late text turns all labels into texts.
    file.write_text("\n".join(["source,target", *many(2_000), "7,ann"]), encoding="utf-8")
    assert read_network(file).labels[:2] == ("0", "1")


@pytest.mark.parametrize("label", ["{}", "agent {}", '"agent, {}"'])
def test_a_long_list_is_not_read_line_by_line(label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("\n".join(["source,target", *many(20_000, label)]), encoding="utf-8")

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(table_files, "parse_table", refuse)
    assert read_network(file).n == 20_001
    assert describe_network_file(file) == "separated by commas, source from 'source', target from 'target'"


BROKEN = {
    "one field in a row": ("a,b\n1\n", ["time", "source", "target"]),
    "more columns than names": ("a;b\na;0;1\nb;1;0\n", ["source", "time", "target"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rows_of_other_lengths_than_the_heading_end_in_our_errors(name: str, tmp_path: Path) -> None:
    text, columns = BROKEN[name]
    file = tmp_path / "contacts.csv"
    file.write_text(text, encoding="utf-8")
    with suppress(PeerPressureError):
        read_contacts(file, columns=columns)
    with suppress(PeerPressureError):
        describe_events_file(file, columns)
    with suppress(PeerPressureError):
        read_labels(file)


def test_a_data_frame_of_one_column_is_no_list_of_edges() -> None:
    with pytest.raises(NetworkError, match="two columns or more, got 'friend'"):
        Network.from_edges(pd.DataFrame({"friend": ["ann", "bob"]}))
