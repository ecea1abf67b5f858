"""The one reader of tables: whatever is in a file, only the package's own errors come out of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import peerpressure as pp
from peerpressure.errors import PeerPressureError
from peerpressure.networks import path, read_contacts, read_events
from peerpressure.scenario.agents import FromColumn
from peerpressure.support.table_files import parse_table
from tests.builders import examples

MODEL = pp.Model(path(3).relabelled(["a", "001", "ρ"]), hidden=[0.0, 0.5, 1.0])
READERS: dict[str, Callable[[Path], Any]] = {
    "edges": pp.read_network,
    "contacts": read_contacts,
    "events": read_events,
    "outputs": lambda file: pp.Trajectory.from_csv(file, MODEL),
    "agents": lambda file: FromColumn.model_construct(file=str(file), column="x").matched(MODEL.network),
}
NUMBERS = ["001", "1", "2", "1.5", "1,5", "1e999", "nan", "-", "1_0", "٣", "1,000"]
VALUES = [*NUMBERS, "a", "ρ", "", '"', '"a;b"', "#", "\0"]
NAMES = ["time", "source", "target", "weight", "agent", "public", "x", "end", "from", "to", "type", "Directed"]
FIELDS = st.sampled_from([*VALUES, *NAMES])
TEXTS = st.tuples(st.sampled_from([",", ";", "\t", " "]), st.lists(st.lists(FIELDS, max_size=6), max_size=6)).map(
    lambda drawn: "\n".join(drawn[0].join(row) for row in drawn[1]).encode()
)


@pytest.mark.filterwarnings("ignore:.*was read as Windows-1252")
@pytest.mark.parametrize("name", READERS)
@examples(2)
@given(content=TEXTS | st.binary(max_size=80))
def test_only_our_errors_come_out_of_a_table(name: str, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        file.write_bytes(content)
        try:
            made = READERS[name](file)
        except PeerPressureError as error:
            made = str(error)
        assert made is not None


def test_numbers_are_what_people_write_as_numbers() -> None:
    table = parse_table("x;y\n1,5;1_0\n-,5;2\n")
    np.testing.assert_array_equal(table.headed().numbers(0, "x"), [1.5, -0.5])
    with pytest.raises(pp.errors.FileFormatError, match=r"line 2 must be a row, got y '1_0'; the y must be a number"):
        table.headed().numbers(1, "y")


TEXTS_READ = {
    # As numpy.savetxt(..., fmt="%d", delimiter=", ") writes whole numbers.
    "commas and spaces": ("0, 1, 2\n3, 4, 5\n", [["0", "1", "2"], ["3", "4", "5"]]),
    "commas and spaces, fractions": ("0.5, 1, 2\n3, 4, 5\n", [["0.5", "1", "2"], ["3", "4", "5"]]),
    "decimal commas": ("1,5 2 3\n2 ,5 4\n", [["1,5", "2", "3"], ["2", ",5", "4"]]),
    "comments above, with half a quote": ('# 5" wide\n\n% b\na,b\n"#b",c\n', [["a", "b"], ["#b", "c"]]),
    "lines in quotes": ('a b\n"#c" "d\n# e"\n', [["a", "b"], ["#c", "d\n# e"]]),
    "comments without a space": ("#a b\n#a,b,c\na,b\n", [["a", "b"]]),
    "a later field": ("a,b\nb,#c\n", [["a", "b"], ["b", "#c"]]),
}
TEXTS_REFUSED = {
    "an incomplete row": ("source,target\n#climate\ntax,war\n", "line 2 must not begin with '#'.*quote its first"),
    "a comment below quotes": ('source,target\n"a",b\n# not an edge, really\nb,c', "line 3 .*'# not an edge, really'"),
    "a comment below spaces": ("1 2\n  % x\n2 3\n", "line 2 must not begin with '%'"),
    "commas behind spaces": ("0 ,1 ,2\n1 ,2 ,3\n", "separator of fields must be clear.*a space before ',' on line 1"),
    "commas and tabs": ("0,\t1\n1,\t2\n", "separator of fields must be clear.*a tab behind each ',' or ';' on line 1"),
}


def test_complete_rows_under_a_heading_are_data_whatever_they_begin_with() -> None:
    table = parse_table("source,target\n#climate,tax\n%vote,tax\ntax,war\n")
    assert table.headed().column(0) == ["#climate", "%vote", "tax"]
    with pytest.raises(pp.errors.FileFormatError, match="line 2 must not begin with '#'"):
        table.unheaded()
    above = parse_table("#made,today\na,b\n")
    assert above.headed().heading == ("a", "b")
    assert not len(above.headed())
    with pytest.raises(pp.errors.FileFormatError, match="line 1 is a comment, got '#made,today'"):
        above.unheaded()


@pytest.mark.parametrize("name", TEXTS_READ)
def test_separators_and_comments(name: str) -> None:
    text, rows = TEXTS_READ[name]
    table = parse_table(text).whole()
    assert [table.row(k).fields for k in range(len(table))] == rows


@pytest.mark.parametrize("name", TEXTS_REFUSED)
def test_texts_that_may_be_read_in_two_ways_are_refused(name: str) -> None:
    text, says = TEXTS_REFUSED[name]
    with pytest.raises(pp.errors.FileFormatError, match=says):
        parse_table(text)
