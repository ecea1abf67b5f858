"""What commands estimate from data: the files of their results folders, and one page for all of them, the answer first.

The page is made from the files alone, so it can be rebuilt from a folder.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, final

from peerpressure.errors import FileFormatError, message
from peerpressure.report.html import Column, Form, HtmlTable, Image, table, templates
from peerpressure.report.store import from_csv, to_csv
from peerpressure.support.files import replacing
from peerpressure.support.provenance import json_text
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd

ESTIMATES: Final = "estimates.json"
REPORT: Final = "report.html"
LISTED: Final = 60  # rows of a table on the page; the file beside it has all of them
# Headings and digits of columns that are not those of the file.
COLUMNS: Final[Mapping[str, Column]] = {
    "log_likelihood": Column("log_likelihood", "log likelihood", 1, Form.FIXED),
    "k": Column("k", "parameters"),
    "bic_difference": Column("bic_difference", "BIC − min", 1, Form.FIXED),
    "weight": Column("weight", "weight", 3, Form.FIXED),
    "low": Column("low", "from"),
    "high": Column("high", "to"),
    "value": Column("value", "estimate"),
    "std": Column("std", "standard error"),
    "neighbour": Column("neighbour", "listens to"),
    "last_answer": Column("last_answer", "last answer"),
}
TEXTS: Final = ("agent", "neighbour", "topic")  # labels may be numbers, which the page would round and align as such


@final
@dataclass(frozen=True)
class Picture:
    """A figure on the page with its name, its caption and its picture."""

    name: str
    caption: str
    image: Image


@final
@dataclass(frozen=True)
class Estimates:
    """What a command has estimated.

    Parameters
    ----------
    title : str
        Title of the page.
    sentences : sequence of str
        The answer in words, the most important sentence first.
    facts : mapping of str to object
        Everything, machine-readable.
    tables : mapping of str to pandas.DataFrame
        Tables by their names; the first one is written if no more than a table is asked for.
    pictures : sequence of Picture
        Figures.
    notes : sequence of str
        What a reader must know.
    printed : sequence of str, optional
        Tables that the terminal shows, by default all.
    """

    title: str
    sentences: Sequence[str]
    facts: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    pictures: Sequence[Picture] = ()
    notes: Sequence[str] = ()
    printed: Sequence[str] | None = None

    @property
    def shown(self) -> list[str]:
        """The names of the tables that the terminal shows."""
        return list(self.tables if self.printed is None else self.printed)

    @property
    def answer(self) -> dict[str, Any]:
        """The answer in words and numbers, machine-readable."""
        return {"sentences": list(self.sentences), **self.facts, "notes": list(self.notes)}

    def files(self, made_by: str = "") -> dict[str, bytes]:
        """Return the files by name, the page among them; ``made_by`` is the command line that makes them."""
        figures = {_figure_name(k, one.image): one for k, one in enumerate(self.pictures, 1)}
        about = {
            "title": self.title,
            **self.answer,
            "tables": [f"{name}.csv" for name in self.tables],
            "figures": [
                {"file": file, "name": one.name, "caption": one.caption, "size": [one.image.width, one.image.height]}
                for file, one in figures.items()
            ],
        }
        made = {
            **{f"{name}.csv": to_csv(rows) for name, rows in self.tables.items()},
            **{file: _bytes(one.image) for file, one in figures.items()},
            ESTIMATES: json_text(about).encode(),
        }
        return {**made, REPORT: page(made.__getitem__, made_by)}

    def write_page(self, path: str | Path) -> Path:
        """Write the page alone to a file, which is replaced if it exists."""
        with replacing(path) as file:
            file.write(self.files()[REPORT])
        return Path(path)


def together(of_topics: Mapping[str, Estimates], notes: Sequence[str] = ()) -> Estimates:
    """Return the estimates of all topics as one; those of a table without topics are under the empty name."""
    import pandas as pd

    first = next(iter(of_topics.values()))
    if list(of_topics) == [""]:
        return replace(first, notes=[*first.notes, *notes])
    tables = {
        name: pd.concat([one.tables[name].assign(topic=topic) for topic, one in of_topics.items()], ignore_index=True)
        for name in first.tables
    }
    sentences = [f"{topic}: {line}" for topic, one in of_topics.items() for line in one.sentences]
    own = [f"{topic}: {line}" for topic, one in of_topics.items() for line in one.notes]
    facts = {"topics": {topic: {**one.facts, "notes": list(one.notes)} for topic, one in of_topics.items()}}
    return replace(first, sentences=sentences, facts=facts, tables=tables, notes=[*own, *notes])


def page(read: Callable[[str], bytes], made_by: str = "") -> bytes:
    """Return the page of estimates from their files, which ``read`` returns by name."""
    about = json.loads(read(ESTIMATES))
    tables = {PurePosixPath(name).stem: _table(from_csv(read(name))) for name in about["tables"]}
    pictures = [
        Picture(one["name"], one["caption"], Image(_address(one["file"], read(one["file"])), *one["size"]))
        for one in about["figures"]
    ]
    lead, *sentences = about["sentences"]
    known = {"title": about["title"], "lead": lead, "sentences": sentences, "notes": about["notes"]}
    template = templates().get_template("estimates.html")
    return template.render(**known, tables=tables, pictures=pictures, made_by=made_by, version=__version__).encode()


def page_again(folder: Path, made_by: str) -> bytes:
    """Return the page of estimates in a results folder."""
    try:
        return page(lambda name: (folder / name).read_bytes(), made_by)
    except (OSError, ValueError, KeyError, TypeError) as error:
        rule, remedy = f"the estimates in {folder} must be as they were written", "peerpressure info says what changed"
        raise FileFormatError(message(rule, got=repr(error), remedy=remedy)) from error


def _table(rows: pd.DataFrame) -> HtmlTable:
    texts = rows.assign(**{name: rows[name].map(str) for name in TEXTS if name in rows})
    return table(texts, [column_of(name) for name in rows], most=LISTED)


def column_of(name: str) -> Column:
    """Return how a column is headed and rounded.

    >>> column_of("std").heading, column_of("noise_std").heading
    ('standard error', 'noise std')
    """
    return COLUMNS.get(name, Column(name, name.replace("_", " ")))


def _figure_name(number: int, image: Image) -> str:
    return f"figure{number}.{'svg' if 'svg' in image.address.partition(';')[0] else 'png'}"


def _bytes(image: Image) -> bytes:
    return b64decode(image.address.partition(",")[2])


def _address(file: str, data: bytes) -> str:
    kind = "svg+xml" if file.endswith(".svg") else "png"
    return f"data:image/{kind};base64,{b64encode(data).decode()}"
