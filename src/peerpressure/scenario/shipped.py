"""The examples that ship with the package: files to run, with a title and a sentence in the comment at their top."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

FOLDER = Path(__file__).parent / "examples"
STUDY = "study.toml"  # the file to run of an example in a folder of its own
PAGE = FOLDER / "page.toml"  # which of them the explorer shows, in groups, and how


@final
@dataclass(frozen=True)
class Example:
    """A scenario, or a sweep of one, with the files that it names."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The file to run."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def sections(self) -> dict[str, Any]:
        """The file to run, as plain values."""
        return tomllib.loads(self.text)

    @property
    def comment(self) -> tuple[str, str]:
        """The title and the sentence at the top of the file."""
        lines = self.text.splitlines()
        end = next(k for k, line in enumerate(lines) if not line.startswith("#"))
        title, *sentence = (line.removeprefix("# ") for line in lines[:end])
        return title, " ".join(sentence)

    @property
    def scenario(self) -> str | None:
        """The scenario that a sweep names; None for a scenario."""
        named = self.sections.get("scenario")
        return named if isinstance(named, str) else None

    @property
    def files(self) -> dict[str, str]:
        """The text of the file to run, and of all others that it needs, by name."""
        others = self.path.parent.iterdir() if self.path.name == STUDY else map(self.path.parent.joinpath, self.named)
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(others) if path != self.path}
        return {self.path.name: self.text} | texts

    @property
    def named(self) -> set[str]:
        """The names of the files that it reads."""
        return {value for key, value in _pairs(self.sections) if key in ("file", "scenario")}


def _pairs(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _pairs(value)
        else:
            yield key, value


def examples() -> dict[str, Example]:
    """Return the examples by name."""
    places = [*FOLDER.glob("*.toml"), *FOLDER.glob(f"*/{STUDY}")]
    shown = [Example(path.parent.name if path.name == STUDY else path.stem, path) for path in places if path != PAGE]
    return {one.name: one for one in sorted(shown, key=lambda one: one.name)}
