"""Tables as other programs write them are read as meant, or raise an error with a remedy."""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import FileFormatError, NetworkError, TooLargeError
from peerpressure.networks import (
    Network,
    TemporalNetwork,
    describe_events_file,
    describe_network_file,
    read_contacts,
    read_events,
    read_network,
)
from tests.networks.strategies import edge_table, networks

GEPHI = "Source,Target,Type,Id,Label,Weight\nAnna,Bernd,{0},0,,1.5\nBernd,Carla,{0},1,,2.0\n"
TRIANGLE = {frozenset(("Anna", "Bernd")): 1.5, frozenset(("Bernd", "Carla")): 2.0}
SAME: dict[str, tuple[str, str]] = {
    "semicolons and decimal commas": (".csv", "Anna;Bernd;1,5\nBernd;Carla;2,0\n"),
    "only one of them a fraction": (".csv", "Anna;Bernd;1,5\nBernd;Carla;2\n"),
    "with a heading": (".csv", "Source;Target;Weight\r\nAnna;Bernd;1,5\r\nBernd;Carla;2,0\r\n"),
    "a byte order mark": (".csv", "\ufeffSource;Target;Weight\nAnna;Bernd;1,5\nBernd;Carla;2\n"),
    "a column of nothing": (".csv", "Source;Target;Weight;\nAnna;Bernd;1,5;\nBernd;Carla;2;\n;;;\n"),
    "tabs and decimal commas": (".csv", "Anna\tBernd\t1,5\nBernd\tCarla\t2,0\n"),
    "spaces and decimal commas": (".txt", "Anna Bernd 1,5\nBernd Carla 2,0\n"),
    "quoted decimal commas": (".csv", '"Anna","Bernd","1,5"\n"Bernd","Carla","2,0"\n'),
    "weight first": (".csv", "weight,source,target\n1.5,Anna,Bernd\n2,Bernd,Carla\n"),
    "the ends reversed": (".csv", "to,from,strength\nBernd,Anna,1.5\nCarla,Bernd,2\n"),
    "names of nodes": (".tsv", "Node 1\tNode 2\tnote\tWeight\nAnna\tBernd\t\t1.5\nBernd\tCarla\tx\t2\n"),
    "words above numbers": (".csv", "person,friend,weight\nAnna,Bernd,1.5\nBernd,Carla,2\n"),
    "a heading in a comment": (".txt", "# weight source target\n1.5 Anna Bernd\n2 Bernd Carla\n"),
    "Gephi": (".csv", GEPHI.format("Undirected")),
    "a note in two lines": (".csv", 'source,target,note,weight\nAnna,Bernd,"two\n# lines",1.5\nBernd,Carla,,2\n'),
    "letters, weight first": (".csv", "w,i,j\n1.5,Anna,Bernd\n2,Bernd,Carla\n"),
    "letters without a weight's name": (".csv", "u,v,weight\nAnna,Bernd,1.5\nBernd,Carla,2\n"),
    "words and a letter": (".csv", "w,from,to\n1.5,Anna,Bernd\n2,Bernd,Carla\n"),
    "quotes between spaces": (".txt", '"Anna" "Bernd" 1.5\n"Bernd"   "Carla" 2\n'),
}


def read(folder: Path, suffix: str, content: str | bytes) -> Network:
    file = folder / f"friends{suffix}"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_network(file)


@pytest.mark.parametrize("name", SAME)
def test_edge_lists_of_other_programs(name: str, tmp_path: Path) -> None:
    assert edge_table(read(tmp_path, *SAME[name])) == TRIANGLE


def test_encodings_and_compression(tmp_path: Path) -> None:
    text = SAME["with a heading"][1]
    assert edge_table(read(tmp_path, ".csv", text.encode("utf-16"))) == TRIANGLE
    assert edge_table(read(tmp_path, ".csv.gz", gzip.compress(text.encode()))) == TRIANGLE
    both = GEPHI.format("Directed") + "Bernd,Anna,Directed,2,,1.5\nCarla,Bernd,Directed,3,,2.0\n"
    assert edge_table(read(tmp_path, ".csv", both)) == TRIANGLE


def test_letters_that_are_agents_are_no_heading(tmp_path: Path) -> None:
    assert set(read(tmp_path, ".csv", "i,j\nj,k\nk,i\n").labels) == {"i", "j", "k"}


def test_windows_text_is_read_with_a_warning(tmp_path: Path) -> None:
    text = "source;target\nJürgen;Zoë\nZoë;Bo\n"
    with pytest.warns(UserWarning, match=r"friends\.csv is not UTF-8 and was read as Windows-1252.*'Jürgen'"):
        assert read(tmp_path, ".csv", text.encode("cp1252")).labels == ("Jürgen", "Zoë", "Bo")
    with pytest.warns(UserWarning, match="Windows-1252"):
        assert "encoded in Windows-1252" in str(describe_network_file(tmp_path / "friends.csv"))
    for damaged in (text.encode() + b"\xe9", text.encode("cp1252") + b"\x81", b"\xff\x01\x02"):
        with pytest.raises(FileFormatError, match="must be UTF-8 text"):
            read(tmp_path, ".csv", damaged)


def test_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "friends.parquet"
    pd.DataFrame({"Weight": [1.5, 2.0], "To": ["Bernd", "Carla"], "From": ["Anna", "Bernd"]}).to_parquet(file)
    assert edge_table(read_network(file)) == TRIANGLE
    assert describe_network_file(file) == "Parquet, weight from 'Weight', target from 'To', source from 'From'"
    day = pd.to_datetime(["2024-01-31 12:00", "2024-01-31 13:00"])
    pd.DataFrame({"from": ["001", "002"], "to": ["002", "003"], "date": day}).to_parquet(file)
    network = read_contacts(file, 1800)
    assert network.labels == ("001", "002", "003")
    assert [network.at(t).nnz // 2 for t in (1, 2, 3, 4)] == [1, 0, 1, 0]
    pd.DataFrame({"source": ["a", None], "target": ["b", "c"]}).to_parquet(file)
    with pytest.raises(FileFormatError, match="row 2 must be an edge"):
        read_network(file)
    # A billion equal rows are a few kilobytes.
    monkeypatch.setattr("peerpressure.tables.BYTES_PER_CELL", 10**15)
    with pytest.raises(TooLargeError, match="a table must fit in memory"):
        read_network(file)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileFormatError, match=r"need pyarrow.*pip install pyarrow"):
        read_network(file)


AMBIGUOUS: dict[str, tuple[str, list[str]]] = {
    "two separators": ("Lee, Ann;Bernd;1\nLee, Ann;Carla;2\n", ["line 1", "both ',' and ';'", "quote"]),
    "two decimal signs": ("Anna;Bernd;1,5\nBernd;Carla;2.5\n", ["'1,5' on line 1", "'2.5' on line 2", "one decimal"]),
    "thousands or decimals, by points": ("Anna;Bernd;1.500\nBernd;Carla;950\n", ["'1.500' on line 1", "thousands"]),
    "a heading in another language": (
        "Quelle,Ziel\nAnna,Bernd\nBernd,Carla\n",
        ["'Quelle' and 'Ziel'", "source and target"],
    ),
    "thousands or decimals": ("Anna\tBernd\t1,500\nBernd\tCarla\t2,000\n", ["'1,500'", "thousands"]),
    "a weight by another name": ("source,target,kg\nAnna,Bernd,1.5\n", ["'kg'", "weight"]),
    "two sources": ("from,source_id,target\nAnna,Bernd,Carla\n", ["'from', 'source_id'", "source"]),
    "more fields than names": ("source,target\nAnna,Bernd,1\n", ["line 2", "3 fields"]),
    "fewer fields than names": ("source,target,weight\nAnna,Bernd\n", ["line 2", "2 fields"]),
    "a missing weight": ("source,target,weight\nAnna,Bernd,\n", ["line 2", "weight ''"]),
    "a missing end": ("weight,source,target\n1,Anna,\n", ["line 2", "3 fields"]),
    "numbers under unknown names": ("edge,a,b\n0,1,2\n1,2,3\n", ["'edge', 'a', 'b'", "source"]),
    "a weight in the source's place": ("weight,a,b\n2,1,3\n1,2,3\n", ["'weight', 'a', 'b'", "source"]),
    "one-way edges": (GEPHI.format("Directed"), ["line 2", "'Anna' to 'Bernd'", "Undirected"]),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_ambiguous_edge_lists_raise(name: str, tmp_path: Path) -> None:
    text, fragments = AMBIGUOUS[name]
    with pytest.raises((FileFormatError, NetworkError)) as caught:
        read(tmp_path, ".csv", text)
    assert all(fragment in str(caught.value) for fragment in ["friends.csv", *fragments]), caught.value


def contacts(folder: Path, text: str) -> TemporalNetwork:
    file = folder / "contacts.txt"
    file.write_text(text, encoding="utf-8")
    return read_contacts(file, 10)


# Ann and Bob meet at the time 20, Bob and Cat at 40, Ann and Cat at 41.
MEETINGS: dict[str, str] = {
    "the documented order": "20 ann bob\n40 bob cat\n41 ann cat\n",
    "SNAP's order, by words": "ann bob 20\nbob cat 40\nann cat 41\n",
    "SNAP's order, by heading": "source,target,time\nann,bob,20\nbob,cat,40\nann,cat,41\n",
    "decimal commas": "start;from;to\n20,0;ann;bob\n40,5;bob;cat\n41,0;ann;cat\n",
    "a heading in a comment": "# source target time\nann bob 20\nbob cat 40\nann cat 41\n",
}


@pytest.mark.parametrize("name", MEETINGS)
def test_contact_lists_of_other_programs(name: str, tmp_path: Path) -> None:
    network = contacts(tmp_path, MEETINGS[name])
    assert set(network.labels) == {"ann", "bob", "cat"}
    assert [network.at(t).nnz // 2 for t in (1, 2, 3)] == [1, 0, 2]


NUMBERED = {
    "time first, told by the agents": ("1291597340 1 2\n1291597360 2 3\n1291597340 3 1\n", (1, 2, 3)),
    "time first, told by the order": ("1 1 2\n2 3 1\n4 2 3\n", (1, 2, 3)),
    "time first, told by a fraction": ("1.5 1 2\n1 2 3\n", (1, 2, 3)),
    "time last, told by the heading": ("src dst unixtime\n1 2 1082040961\n3 2 1082155839\n", (1, 2, 3)),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_contact_lists_with_numbered_agents(name: str, tmp_path: Path) -> None:
    text, labels = NUMBERED[name]
    assert contacts(tmp_path, text).labels == labels


DOUBTFUL = {
    "times that are agents": "4 2 3\n2 3 5\n3 1 2\n1 5 4\n",
    "numbers in a bipartite list": "1 7 1082040961\n2 8 1082155839\n3 9 1082414391\n",
    "sorted by source": "1 2 1 1082155839\n1 3 1 1082040961\n2 3 1 1082414391\n",
    "long numbers of agents": "1 2 5552155839\n2 1 5552040961\n3 2 5552414391\n",
    "too short to tell": "1 2 3\n2 3 4\n",
    "text and two numbers": "ann bob 3 1\nbob cat 4 2\n",
    "half a heading": "source target when\nann bob 20\n",
    "a weight for a target": "when who weight\n20 ann bob\n",
    "a time to end": "start,end,source,target\n20,40,ann,bob\n",
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_ambiguous_order_of_columns_raises(name: str, tmp_path: Path) -> None:
    with pytest.raises((FileFormatError, NetworkError)) as caught:
        contacts(tmp_path, DOUBTFUL[name])
    assert "contacts.txt" in str(caught.value)
    assert "column" in str(caught.value)
    if name != "a time to end":
        file = tmp_path / "contacts.txt"
        with pytest.raises((FileFormatError, NetworkError)):
            read_events(file)


def written(rows: Iterable[Sequence[object]]) -> str:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def _messages(times: Iterable[int], *weight: int) -> str:
    """Messages between 7 agents at these times, in the order of SNAP, or of KONECT where they have a weight."""
    return written((k * 3 % 7, (k * 3 + 1 + k % 5) % 7, *weight, time) for k, time in enumerate(times))


INFERRED = {
    "SNAP": _messages([1082040961, 1082155839, 1082414391, 1082439619]),
    "SNAP, unsorted": _messages([1082155839, 1082040961, 1082439619, 1082414391]),
    "SNAP, in milliseconds": _messages([1082040961000, 1082155839000, 1082414391000, 1082439619000]),
    "SNAP, from 0 on": _messages([0, *range(2797, 5000)]),
    "KONECT": "% sym unweighted\n" + _messages([1082040961, 1082155839, 1082414391, 1082439619], 1),
}


@pytest.mark.parametrize("name", INFERRED)
def test_orders_of_other_collections_are_detected_and_reported(name: str, tmp_path: Path) -> None:
    order = "source, target, weight, time" if "KONECT" in name else "source, target, time"
    with pytest.warns(UserWarning, match=rf"contacts\.txt was read as .*columns {order}; set columns"):
        network = contacts(tmp_path, INFERRED[name])
    file = tmp_path / "contacts.txt"
    assert str(describe_events_file(file)).endswith(f"columns {order}")
    # Naming the columns confirms the conclusion, and nothing is left to report.
    named = read_contacts(file, 10, columns=order.split(", "))
    assert set(network.labels) <= set(range(7))
    assert [column.tolist() for column in network.events] == [column.tolist() for column in named.events]


# Ann and Bob meet at noon, Bob and Cat at one, on January 31.
DATED = {
    "seconds": (".csv", "2024-01-31T12:00:00,ann,bob\n2024-01-31T13:00:00,bob,cat\n"),
    "a space, between spaces": (".txt", "2024-01-31 12:00 ann bob\n2024-01-31 13:00 bob cat\n"),
    "semicolons and decimal commas": (".csv", "2024-01-31 12:00:00,0;ann;bob\n2024-01-31 13:00:00,0;bob;cat\n"),
    "a heading": (".tsv", "from\tto\tdate\nann\tbob\t2024-01-31 12:00\nbob\tcat\t2024-01-31 13:00\n"),
    "time zones": (".dat", "2024-01-31T12:00Z ann bob\n2024-01-31T14:00+01:00 bob cat\n"),
    "SNAP's order": (".txt.gz", "ann bob 2024-01-31T12:00\nbob cat 2024-01-31T13:00\n"),
}


@pytest.mark.parametrize("name", DATED)
def test_dates_are_read_as_seconds(name: str, tmp_path: Path) -> None:
    suffix, text = DATED[name]
    file = tmp_path / f"contacts{suffix}"
    file.write_bytes(gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode())
    network = read_contacts(file, 1800, origin=1706702400.0)
    assert set(network.labels) == {"ann", "bob", "cat"}
    assert [network.at(t).nnz // 2 for t in (1, 2, 3, 4)] == [1, 0, 1, 0]
    assert "dates" in str(describe_events_file(file))
    with pytest.raises(NetworkError, match=r"line \d: a step must be a whole number, got 'a date'.*one of contacts"):
        read_events(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2024-01-31 ann bob\n5 bob cat\n", "line 2.*time '5'; all times must be dates if one is"),
        ("2024-01-31 ann bob\n2024-02-30 bob cat\n", "line 2.*time '2024-02-30'; a date must exist"),
        ("2024-01-31T12:00 ann bob\n2024-01-31T12:00Z bob cat\n", "line 2.*time zone, or none"),
        ("time source target\n31/01/2024 ann bob\n", "line 2.*a date such as 2024-01-31T12:00:00"),
    ],
)
def test_dates_that_are_none_raise(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=says):
        contacts(tmp_path, text)


def test_numbered_agents_and_dates_need_no_conclusion(tmp_path: Path) -> None:
    assert contacts(tmp_path, "1 2 2024-01-31\n3 2 2024-02-01\n").labels == (1, 2, 3)


def test_long_lists_take_linear_time(tmp_path: Path) -> None:
    # 25 s when every line asked for the width of all lines.
    assert contacts(tmp_path, written((t, t % 97, 100 + t % 89) for t in range(20_000))).n == 186


NAMES = st.text("ab ,;\"'Ä#%é&<>.0123", min_size=1, max_size=5).filter(
    lambda text: text == text.strip() and not text.startswith(("#", "%", '"'))
)


@settings(max_examples=60, deadline=None)
@given(
    network=networks(labels=NAMES, weights=st.integers(1, 10**6).map(lambda k: k / 1000)),
    separator=st.sampled_from(",;\t"),
    comma=st.booleans(),
    order=st.permutations(["From", "TO", "Weight", "Note"]),
)
def test_table_dialects_give_the_same_network(network: Network, separator: str, comma: bool, order: list[str]) -> None:
    i, j, weights = network.edges()
    text = io.StringIO()
    table = csv.DictWriter(text, order, delimiter=separator)
    table.writeheader()
    for a, b, w in zip(i.tolist(), j.tolist(), weights.tolist(), strict=True):
        # Six decimals, because three could be thousands.
        number = f"{w:.6f}".replace(".", "," if comma else ".")
        table.writerow({"From": network.labels[a], "TO": network.labels[b], "Weight": number, "Note": "x, y; z"})
    with TemporaryDirectory() as folder:
        found = read(Path(folder), ".csv", text.getvalue())
    written = {frozenset(map(str, ends)): weight for ends, weight in edge_table(network).items()}
    assert {frozenset(map(str, ends)): weight for ends, weight in edge_table(found).items()} == written
