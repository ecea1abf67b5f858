"""The names that users give to agents: checking them, and finding them again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import index as whole

import numpy as np

from peerpressure.errors import NetworkError
from peerpressure.networks.refusal import few, nearest, refusal

Label = Hashable


def checked_labels(labels: Iterable[Label] | None, n: int) -> Sequence[Label]:
    """Return one distinct label per agent: a tuple, or ``range(n)`` where the labels are just that."""
    if labels is None or (isinstance(labels, range) and labels == range(n)):
        return range(n)
    names = _plain(labels)
    if len(names) != n:
        got = f"{len(names)} labels for {n} agents"
        raise refusal("there must be one label per agent", got=got, remedy="give a label for every agent")
    repeated = [label for label, count in _counts(names).items() if count > 1]
    if repeated:
        got = f"repeated {few(map(repr, repeated), len(repeated))}"
        raise refusal("labels must differ", got=got, remedy="give every agent a label of its own")
    if all(type(label) is int and label == i for i, label in enumerate(names)):
        return range(n)
    return names


def _plain(labels: Iterable[Label]) -> tuple[Label, ...]:
    try:
        names = tuple(labels)
    except TypeError:
        raise refusal("labels must be a sequence", got=repr(labels), remedy="give a list of them") from None
    return tuple(name.item() if isinstance(name, np.generic) else name for name in names)


def _counts(names: tuple[Label, ...]) -> Mapping[Label, int]:
    try:
        return Counter(names)
    except TypeError as error:
        remedy = "use numbers, text or tuples of them"
        raise refusal("labels must be hashable", got=error, remedy=remedy) from None


def position_in_range(label: Label, n: int) -> int | None:
    """Return the position of a label among 0..n-1 without a table of a million entries."""
    try:
        i = whole(label)  # type: ignore[arg-type]
    except TypeError:
        return None
    return int(i) if 0 <= i < n else None


def unknown(missing: Sequence[Label], known: Sequence[Label]) -> NetworkError:
    """Return the error for labels that nobody bears, with a near match for the first."""
    if isinstance(known, range):
        remedy = f"the labels are the whole numbers 0 to {len(known) - 1}"
    else:
        remedy = f"the labels are {few(map(repr, known), len(known))}{nearest(missing[0], known)}"
    got = f"unknown {few(map(repr, missing), len(missing))}"
    return refusal("a label must name an agent of the network", got=got, remedy=remedy)
