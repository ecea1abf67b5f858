"""What is worth keeping between two questions, within a bound on memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, final

Kept = TypeVar("Kept")


@final
class Cache(Generic[Kept]):
    """The things used last, by key, as long as their sizes sum to no more than ``most`` bytes."""

    def __init__(self, most: int, size_of: Callable[[Kept], int]) -> None:
        self.most = most
        self._size_of = size_of
        self._kept: OrderedDict[Hashable, tuple[Kept, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._held = 0

    @property
    def held(self) -> int:
        """The bytes that are kept now."""
        return self._held

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return what is kept under the key, made now if there is nothing."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        # Made outside the lock: two who want the same thing at once both make it, and nobody waits for a stranger.
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (made, self._size_of(made))
                self._held += self._kept[key][1]
            while self._held > self.most:
                _, (_, size) = self._kept.popitem(last=False)
                self._held -= size
        return made
