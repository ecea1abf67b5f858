"""Names in data matched with the labels of agents.

A name is that of the agent whose label equals it, or else of the only one whose label has the same text: 1 and "1" are
one agent unless both are labels, and "001" and 1 are two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from peerpressure.errors import InvalidInputError, did_you_mean, first_few, message


def texts_of(labels: Iterable[Any]) -> dict[str, int]:
    """Return the position of each label by its text, as it occurs in a table."""
    names = [str(label) for label in labels]
    found = {name: k for k, name in enumerate(names)}
    if len(found) < len(names):
        twice = next(name for k, name in enumerate(names) if found[name] != k)
        remedy = "give one of them another label"
        raise InvalidInputError(message("labels must differ as text to be found in a table", got=twice, remedy=remedy))
    return found


def find_labels(names: Sequence[Any], labels: Sequence[Any]) -> list[int | None]:
    """Return the position of the agent of each name; None if there is no such agent.

    >>> find_labels(["1", 1, 2.0, "002"], [1, 2])
    [0, 0, 1, None]
    """
    place: dict[Any, int] = {label: k for k, label in enumerate(labels)}
    found = [place.get(name) for name in names]
    if None in found:
        counts = Counter(map(str, labels))
        by_text = {str(label): k for k, label in enumerate(labels) if counts[str(label)] == 1}
        found = [by_text.get(str(name)) if k is None else k for name, k in zip(names, found, strict=True)]
    return found


def is_labelled(values: Any) -> bool:
    """Return whether values come with the names of agents: a mapping, or a series as those of pandas."""
    series = hasattr(values, "index") and hasattr(values, "to_numpy") and getattr(values, "ndim", 0) == 1
    return series or isinstance(values, Mapping)


def values_in_order(values: Any, labels: Sequence[Any]) -> list[Any]:
    """Return the values of a mapping or series in the order of the labels.

    Names of others are ignored if agents have labels, because an edge list does not contain isolated agents.

    >>> values_in_order({"bob": 2.0, "ann": 1.0}, ["ann", "bob"])
    [1.0, 2.0]
    """
    plain = isinstance(values, Mapping)
    names, numbers = ([*values], [*values.values()]) if plain else (values.index.tolist(), values.to_numpy().tolist())
    rows: dict[int, int] = {}
    for row, place in enumerate(find_labels(names, labels)):
        if place is not None and rows.setdefault(place, row) != row:
            got = f"{labels[place]!r} twice"
            raise InvalidInputError(message("each agent must have one value", got=got, remedy="keep one of them"))
    missing = [label for k, label in enumerate(labels) if k not in rows]
    others = len(names) - len(rows)
    if missing or (others and isinstance(labels, range)):
        got = f"none for {_listed(missing)}" if missing else f"{others} for others"
        hint = did_you_mean(missing[0], names) if missing else ""
        remedy = f"name values by the labels of the agents{hint}, or pass a plain list in the order of network.labels"
        raise InvalidInputError(message("each agent must have a value by its label", got=got, remedy=remedy))
    return [numbers[rows[k]] for k in range(len(labels))]


def refuse_labels(values: Any, name: str, error: type[InvalidInputError]) -> None:
    """Raise for values with names, where these cannot be matched because no network is known yet."""
    if is_labelled(values):
        rule = f"{name} must be one number, or a plain list in the order of the agents"
        remedy = "reorder it first, for instance with series.loc[list(network.labels)].to_numpy()"
        raise error(message(rule, got=type(values).__name__, remedy=remedy))


def _listed(labels: Sequence[Any]) -> str:
    return first_few(map(repr, labels), len(labels))
