"""Which steps of a run are shown, where all would be more than a picture can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class Shown:
    """Steps 0 to ``dense`` one by one, from there on every ``every``-th, and the last."""

    steps: int
    dense: int
    every: int

    @property
    def times(self) -> NDArray[np.int64]:
        """The steps that are shown."""
        early = np.arange(self.dense + 1)
        late = np.arange(self.dense - self.dense % self.every + self.every, self.steps, self.every)
        return np.unique(np.concatenate([early, late, [self.steps]]))


def shown(steps: int, most: int) -> Shown:
    """Return a choice of at most ``most`` steps, all of them where that is enough.

    The first ones are kept one by one, for on a log axis they take most of the room. The stride of the others is odd:
    a network that swings between its two sides would seem to stand still at every second step.

    >>> shown(1_000_000, 400).every % 2, shown(1_000_000, 400).times.size <= 400
    (1, True)
    """
    most = max(most, 8)
    if steps + 1 <= most:
        return Shown(steps, steps, 1)
    dense = most // 2 - 2
    every = -(-(steps - dense) // (most - dense - 3))
    return Shown(steps, dense, every + (every + 1) % 2)
