"""Seeds of random numbers: a whole number, a generator of NumPy from which one is drawn, or None for 0."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Seed: TypeAlias = int | np.random.Generator | None


def drawn_seed(seed: Any) -> Any:
    """Return a seed that is drawn from a generator, 0 for None, and anything else as it is, to be checked.

    >>> drawn_seed(None), drawn_seed(5), drawn_seed(np.random.default_rng(1)) == drawn_seed(np.random.default_rng(1))
    (0, 5, True)
    """
    if seed is None:
        return 0
    return int(seed.integers(2**63)) if isinstance(seed, np.random.Generator) else seed
