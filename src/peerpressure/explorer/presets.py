"""The examples that a click on the page opens: files that ship with the package, and what is shown of each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, final

from peerpressure.explorer.models import page_state
from peerpressure.explorer.protocol import Limits
from peerpressure.scenario import load_scenario
from peerpressure.scenario.shipped import PAGE, Example, examples


@final
@dataclass(frozen=True)
class Preset:
    """An example as a state of the page; ``view`` holds the page's settings."""

    example: Example
    group: str
    view: Mapping[str, Any]

    @cached_property
    def state(self) -> dict[str, Any]:
        """The state of the page."""
        # A page cannot read files, so their numbers become part of the scenario.
        read = load_scenario(self.example.path) if self.example.named else None
        scenario = self.example.sections if read is None else page_state(read, Limits())["scenario"]
        return {"scenario": scenario, "view": dict(self.view)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        title, sentence = self.example.comment
        return {"id": self.example.name, "title": title, "group": self.group, "blurb": sentence, "state": self.state}


@cache
def presets() -> tuple[Preset, ...]:
    """Return the examples of the page in their order."""
    known, groups = examples(), tomllib.loads(PAGE.read_text(encoding="utf-8"))
    return tuple(Preset(known[name], group, view) for group, of in groups.items() for name, view in of.items())


def default() -> dict[str, Any]:
    """Return the state in which the page opens: its first example."""
    return presets()[0].state
