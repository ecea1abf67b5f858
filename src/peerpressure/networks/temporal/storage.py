"""Networks that change as plain arrays, so that they can be stored without pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks.labels import Label
from peerpressure.networks.refusal import refusal
from peerpressure.networks.storage import decode, encode
from peerpressure.networks.temporal.events import Events

COLUMNS = ("event_times", "sources", "targets", "weights")


def arrays_of_events(events: Events, labels: Sequence[Label], period: int | None) -> dict[str, NDArray[Any]]:
    """Return the events and what belongs to them under the names that ``events_of_arrays`` knows."""
    columns: dict[str, NDArray[Any]] = dict(zip(COLUMNS, events.columns, strict=True))
    return columns | {"agents": np.array(len(labels)), "period": np.array(period or 0), "labels": encode(labels)}


def events_of_arrays(arrays: Mapping[str, Any]) -> tuple[Events, int, list[Label] | None, int | None]:
    """Return the events, the number of agents, their labels and the period, as they were stored."""
    try:
        events = Events(*(np.asarray(arrays[name]) for name in COLUMNS))
        n, period = (int(np.asarray(arrays[name])) for name in ("agents", "period"))
        texts = np.asarray(arrays["labels"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        rule = f"a stored network that changes must hold {', '.join(COLUMNS)}, agents, period and labels"
        raise refusal(rule, got=repr(error), remedy="store what temporal.arrays() returns") from None
    return events, n, decode(texts), period or None
