"""A seed of its own for each experiment, so that no two of them share their noise."""

from __future__ import annotations

import hashlib

from peerpressure.errors import InvalidInputError, message


def stream(seed: int, name: str) -> int:
    """Return the 64-bit seed that belongs to this name under this root seed.

    >>> stream(14, "residuals") == stream(14, "residuals") != stream(14, "observers")
    True
    """
    return int.from_bytes(hashlib.blake2b(f"{seed}\n{name}".encode(), digest_size=8, person=b"experiment").digest())


# How many replicates an experiment needs to say how sure it is.


def enough(replications: int, experiment: str) -> int:
    """Return the number of replications, refusing fewer than two.

    >>> enough(20, "residuals")
    20
    """
    if isinstance(replications, bool) or not isinstance(replications, int) or replications < 2:
        rule = f"the experiment on {experiment} needs a whole number of replications, 2 or more"
        raise InvalidInputError(message(rule, got=repr(replications), remedy="one run shows no variance"))
    return replications
