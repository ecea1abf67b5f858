"""Networks as plain arrays, so that they can be stored without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.errors import NetworkError
from peerpressure.networks.labels import Label
from peerpressure.networks.refusal import few, refusal


def matrix_of_arrays(arrays: Mapping[str, Any]) -> tuple[csr_array, list[Label] | None]:
    """Return the adjacency and the labels that ``Network.arrays`` took apart."""
    try:
        weights, indices, indptr = (np.array(arrays[part]) for part in ("weights", "indices", "indptr"))
        matrix = csr_array((weights, indices, indptr), shape=(len(indptr) - 1,) * 2)
        matrix.check_format(full_check=True)
        return matrix, decode(np.asarray(arrays["labels"]))
    except NetworkError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        rule = "a stored network must hold fitting indptr, indices, weights and labels"
        raise refusal(rule, got=repr(error), remedy="store what network.arrays() returns") from None


def encode(labels: Sequence[Label]) -> NDArray[np.str_]:
    """Return the labels as one JSON text each, so that they can be stored without pickle.

    The default labels 0..n-1 become an empty array.

    >>> encode(["ann", 3, (0, 1)]).tolist()
    ['"ann"', '3', '[0, 1]']
    """
    if isinstance(labels, range):
        return np.array([], dtype=np.str_)
    return np.array([_json(label) for label in labels], dtype=np.str_)


def _json(label: Label) -> str:
    try:
        return json.dumps(label)
    except (TypeError, ValueError):
        rule = "labels that are stored must be numbers, text or tuples of them"
        remedy = "rename the agents with network.relabelled(...)"
        raise refusal(rule, got=repr(label), remedy=remedy) from None


def decode(texts: NDArray[np.str_]) -> list[Label] | None:
    """Undo ``encode``; None stands for the default labels."""
    try:
        return [_tupled(json.loads(str(text))) for text in np.ravel(texts)] or None
    except (ValueError, RecursionError):
        got = few(map(repr, np.ravel(texts).tolist()), np.size(texts))
        raise refusal("stored labels must be JSON", got=got, remedy="store network.arrays()") from None


def _tupled(value: object) -> Label:
    # JSON knows lists only, and a list can be no label: every list was a tuple.
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
