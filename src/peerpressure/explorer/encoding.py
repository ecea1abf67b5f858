"""Numbers for the page: a JSON header and the arrays behind it, each where a typed array can be laid over it.

uint32 length of the header, the header in UTF-8, zeros up to a multiple of 8, then the arrays, each from a multiple of
8 on; everything little-endian. The header's ``arrays`` tells dtype, shape and offset of each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MEDIA_TYPE = "application/x-peerpressure"
DTYPES = ("float32", "float64", "uint32")
_ALIGNED = 8


def pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    r"""Return facts and arrays as one block of bytes.

    >>> pack({"n": 2}, {"x": np.array([1.0])})
    b'A\x00\x00\x00{"n":2,"arrays":{"x":{"dtype":"float64","shape":[1],"offset":0}}}\x00...\x00\xf0?'
    """
    places, parts, offset = {}, [], 0
    for name, array in arrays.items():
        assert array.dtype.name in DTYPES, f"{name} is {array.dtype}"
        body = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()
        places[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        parts.append(_padded(body))
        offset += len(parts[-1])
    header = json_bytes({**facts, "arrays": places})
    return b"".join([_padded(len(header).to_bytes(4, "little") + header), *parts])


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON that every browser reads: what is not finite becomes null.

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


def _padded(body: bytes) -> bytes:
    return body + bytes(-len(body) % _ALIGNED)
