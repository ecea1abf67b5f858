"""Networks that change to files; a file appears whole or not at all."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path

import numpy as np

from peerpressure.errors import NetworkError
from peerpressure.files import replacing
from peerpressure.networks.edge_lists import labels_of
from peerpressure.networks.labels import Label
from peerpressure.networks.readers import suffix_of
from peerpressure.networks.refusal import few, refusal
from peerpressure.networks.temporal.network import TemporalNetwork
from peerpressure.networks.temporal.readers import ARCHIVE, FORMATS, SEPARATORS
from peerpressure.networks.temporal.text import ROLES


def write_events(temporal: TemporalNetwork, path: str | PathLike[str]) -> None:
    """Write a network to a file that ``read_events`` reads back, told by the suffix.

    Text keeps the labels but not the order of the agents; only ``.npz`` keeps labels of every kind, agents who never
    meet anybody, and a period.  What a format cannot hold is refused, not dropped.
    """
    file = Path(path)
    suffix = suffix_of(file, FORMATS)
    try:
        content = _packed(temporal) if suffix == ARCHIVE else _listed(temporal, SEPARATORS[suffix])
    except NetworkError as error:
        raise NetworkError(f"{file}: {error}") from None
    with replacing(file) as stream:
        stream.write(content)


def _packed(temporal: TemporalNetwork) -> bytes:
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **temporal.arrays())
    return content.getvalue()


def _listed(temporal: TemporalNetwork, separator: str) -> bytes:
    _refuse_unlisted(temporal)
    _refuse_labels(temporal.labels, separator)
    text = StringIO()
    table = csv.writer(text, delimiter=separator, lineterminator="\n")
    table.writerow(ROLES if separator != " " else ["#", *ROLES])
    ends = ([temporal.labels[k] for k in side.tolist()] for side in (temporal.sources, temporal.targets))
    table.writerows(zip(temporal.event_times.tolist(), *ends, temporal.weights.tolist(), strict=True))
    return text.getvalue().encode()


def _refuse_unlisted(temporal: TemporalNetwork) -> None:
    if temporal.period is not None:
        got, remedy = f"period {temporal.period}", "write .npz instead"
        raise refusal("a list of events holds no period", got=got, remedy=remedy)
    alone = np.flatnonzero(temporal.aggregate.degrees == 0).tolist()
    if alone:
        got = few((repr(temporal.labels[k]) for k in alone), len(alone))
        raise refusal("a list of events holds only agents who meet somebody", got=got, remedy="write .npz instead")


def _refuse_labels(labels: Sequence[Label], separator: str) -> None:
    """Raise unless reading the labels as text gives them back: all whole numbers, or all plain text."""
    read = labels_of(str(label) for label in labels)
    kept = [type(label) is type(read[str(label)]) and label == read[str(label)] for label in labels]
    bad = [label for label, same in zip(labels, kept, strict=True) if not same or not _fits(str(label), separator)]
    if bad:
        got, remedy = few(map(repr, bad), len(bad)), "write .npz, which keeps every label"
        raise refusal("text holds labels that all are whole numbers or plain text", got=got, remedy=remedy)


def _fits(text: str, separator: str) -> bool:
    clean = bool(text) and text.isprintable() and text == text.strip()
    return clean and (separator != " " or not any(c in ',;"' or c.isspace() for c in text))
