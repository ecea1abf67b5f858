"""A seed of its own for each experiment, so that no two of them share their noise."""

from __future__ import annotations

import hashlib


def stream(seed: int, name: str) -> int:
    """Return the 64-bit seed that belongs to this name under this root seed.

    >>> stream(14, "residuals") == stream(14, "residuals") != stream(14, "observers")
    True
    """
    return int.from_bytes(hashlib.blake2b(f"{seed}\n{name}".encode(), digest_size=8, person=b"experiment").digest())
