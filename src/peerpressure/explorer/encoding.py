"""The binary format of answers: a JSON header followed by arrays, which a browser reads as typed arrays in place.

The length of the header (uint32), the header in UTF-8, and each array start at a multiple of 8 bytes, padded with
zeros; everything is little-endian. The header's ``arrays`` holds dtype, shape and offset of each array.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MEDIA_TYPE = "application/x-peerpressure"
# The types that browsers have typed arrays for and that answers need; 64-bit integers become BigInt there.
DTYPES = ("float32", "float64", "uint32")
# Typed arrays must start at a multiple of their element size, 8 bytes at most.
_ALIGNMENT = 8


def pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    r"""Return facts and arrays in the binary format.

    >>> pack({"n": 2}, {"x": np.array([1.0])})
    b'A\x00\x00\x00{"n":2,"arrays":{"x":{"dtype":"float64","shape":[1],"offset":0}}}\x00...\x00\xf0?'
    """
    places, parts, offset = {}, [], 0
    for name, array in arrays.items():
        assert array.dtype.name in DTYPES, f"{name} is {array.dtype}"
        # On little-endian machines, which are nearly all, astype changes nothing and makes no copy.
        body = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()
        # Offsets count from the end of the header, whose length depends on them when they are written.
        places[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        parts.append(_padded(body))
        offset += len(parts[-1])
    header = json_bytes({**facts, "arrays": places})
    return b"".join([_padded(len(header).to_bytes(4, "little") + header), *parts])


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON that every browser reads: numbers that are not finite become null.

    >>> json_bytes({"gain": float("inf")})
    b'{"gain":null}'
    """
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    match value:
        case Mapping():
            return {str(key): plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case _:
            return value


def plain_labels(labels: Sequence[Hashable]) -> list[Any] | None:
    """Return the labels of agents as JSON can hold them; None where agents are only numbered."""
    if isinstance(labels, range):
        return None
    # int and str are JSON; other labels, such as tuples, only have to be readable.
    return [label if isinstance(label, int | str) else str(label) for label in labels]


def _padded(body: bytes) -> bytes:
    return body + bytes(-len(body) % _ALIGNMENT)
