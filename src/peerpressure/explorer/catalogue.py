"""Everything that can be chosen on the page, as it is sent there; the page knows no titles or ranges of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from peerpressure.explorer.choices import (
    GENERATORS,
    HIDDEN_LAWS,
    METHODS,
    NOISES,
    PAPERS,
    PRIVACY,
    RUN,
    SCHEDULES,
    STUBBORNNESS,
    TEMPORALS,
    Choice,
)
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.presets import DEFAULT, PRESETS
from peerpressure.networks import NAMED, named
from peerpressure.version import __version__


def catalogue(limits: Limits, default: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return all tables as plain values; the page begins with the ``default`` state."""
    return {
        "version": __version__,
        "limits": limits.to_dict(),
        "generators": [_bounded(choice, limits).to_dict() for choice in GENERATORS],
        "named": [dict(row) for row in _real_networks()],
        "schedules": _plain(SCHEDULES),
        "noises": _plain(NOISES),
        "temporals": _plain(TEMPORALS),
        "hidden_laws": _plain(HIDDEN_LAWS),
        "stubbornness": _plain(STUBBORNNESS),
        "run": [parameter.to_dict() for parameter in RUN],
        "privacy": [parameter.to_dict() for parameter in PRIVACY],
        "methods": [choice.to_dict() | {"paper": choice.id == PAPERS} for choice in METHODS],
        "presets": [preset.to_dict() for preset in PRESETS],
        "default": dict(default) if default else DEFAULT,
    }


def _plain(choices: Sequence[Choice]) -> list[dict[str, Any]]:
    return [choice.to_dict() for choice in choices]


def _bounded(choice: Choice, limits: Limits) -> Choice:
    """Return a generator that offers no more agents than are allowed."""
    parameters = (replace(p, max=min(p.max, limits.agents)) if p.name == "n" else p for p in choice.parameters)
    return replace(choice, parameters=tuple(parameters))


@cache
def _real_networks() -> tuple[tuple[tuple[str, Any], ...], ...]:
    rows = []
    for name, real in NAMED.items():
        title = name.replace("_", " ").capitalize()
        rows.append((("id", name), ("title", title), ("blurb", real.about), ("n", named(name).n)))
    return tuple(rows)
