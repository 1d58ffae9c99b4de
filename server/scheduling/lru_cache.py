"""What was used lately: a map that forgets."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from server.scheduling.memory_size import kept_bytes

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """The last `size` values by key; any thread may use it. Values must never be changed.

    Args:
      size: how many at most.
      most_bytes: what all of them together may take, as they are when they are put; None: anything. One that takes
        more by itself is not kept.
      weigh: the bytes of a value; None: those of key and value as they lie in memory.
    """

    def __init__(self, size: int, most_bytes: int | None = None, weigh: Callable[[V], int] | None = None) -> None:
        self._size = size
        self._most_bytes = most_bytes
        self._weigh = weigh
        self._n_bytes = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, which is now the last one used; None where there is none."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V) -> V:
        """Keep a value, and forget those that were not used for longest where they are too many or take too much."""
        n_bytes = self._bytes_of(key, value)
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._n_bytes -= before
            if self._most_bytes is None or n_bytes <= self._most_bytes:
                self._values[key] = value, n_bytes
                self._n_bytes += n_bytes
            while len(self._values) > self._size or self._n_bytes > (self._most_bytes or 0):
                _, (_, gone) = self._values.popitem(last=False)
                self._n_bytes -= gone
        return value

    def __len__(self) -> int:
        """How many there are."""
        with self._lock:
            return len(self._values)

    def _bytes_of(self, key: K, value: V) -> int:
        if self._most_bytes is None:
            return 0
        return kept_bytes((key, value)) if self._weigh is None else self._weigh(value)
