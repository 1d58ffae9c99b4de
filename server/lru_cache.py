"""A least-recently-used cache, and the memory that a value takes."""

from __future__ import annotations

import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any, Generic, TypeVar

_SHARED = (type, FunctionType, ModuleType, Enum)
_PLAIN = (str, bytes, int, float, type(None))


def cached_bytes(value: object) -> int:
    """The bytes of a value with everything that it refers to, each object counted once.

    A text takes one, two or four bytes per character, by its widest. Shared objects count in full; classes, functions
    and members of enumerations do not count. Cost: linear in the number of objects.
    """
    size, seen = 0, set[int]()
    left: list[Any] = [value]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        kind: Any = type(one)
        shared, plain, listed, mapped, own, slots = _shape(kind)
        if shared:
            continue
        seen.add(id(one))
        size += sys.getsizeof(one)
        if plain:
            continue
        if listed:
            left += one
        elif mapped:
            left += one.keys()
            left += one.values()
        elif own:
            left.append(one.__dict__)
        for name in slots:
            if hasattr(one, name):
                left.append(getattr(one, name))
    return size


@lru_cache(maxsize=4096)
def _shape(kind: type[Any]) -> tuple[bool, bool, bool, bool, bool, tuple[str, ...]]:
    """What values of a type consist of: shared, plain, elements, a map, own attributes; and its slots."""
    return (
        issubclass(kind, _SHARED),
        issubclass(kind, _PLAIN),
        issubclass(kind, (tuple, list, set, frozenset)),
        issubclass(kind, Mapping),
        bool(kind.__dictoffset__),
        tuple(getattr(kind, "__slots__", ())),
    )


_caches: weakref.WeakSet[LruCache[Any, Any]] = weakref.WeakSet()
_caches_lock = threading.Lock()


def forget_unused() -> None:
    """Drop what no cache of bytes has put or given since the call before."""
    with _caches_lock:
        caches = list(_caches)
    for cache in caches:
        cache.forget_unused()


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """The last `size` values by key. Any thread may use it; values must never be changed.

    Args:
      size: the most values.
      most_bytes: of all values together, as measured when they are put; None: unlimited. A value that exceeds it
        alone is not cached.
      weigh: the bytes of a value; None: those of key and value in memory.
    """

    def __init__(self, size: int, most_bytes: int | None = None, weigh: Callable[[V], int] | None = None) -> None:
        self._size = size
        self._most_bytes = most_bytes
        self._weigh = weigh
        self._n_bytes = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._used: set[K] = set()
        if most_bytes is not None:
            with _caches_lock:
                _caches.add(self)

    def get(self, key: K) -> V | None:
        """The value, which becomes the most recently used one; None if there is none."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            self._used.add(key)
            return found[0]

    def put(self, key: K, value: V) -> V:
        """Cache a value, and drop the least recently used ones beyond the limits."""
        n_bytes = self._bytes_of(key, value)
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._n_bytes -= before
            self._used.discard(key)
            if self._most_bytes is None or n_bytes <= self._most_bytes:
                self._values[key] = value, n_bytes
                self._n_bytes += n_bytes
                self._used.add(key)
            while len(self._values) > self._size or self._n_bytes > (self._most_bytes or 0):
                oldest, (_, gone) = self._values.popitem(last=False)
                self._n_bytes -= gone
                self._used.discard(oldest)
        return value

    def forget_unused(self) -> None:
        """Drop the values that were neither put nor got since the call before."""
        with self._lock:
            for key in self._values.keys() - self._used:
                _, gone = self._values.pop(key)
                self._n_bytes -= gone
            self._used.clear()

    def __len__(self) -> int:
        """The number of cached values."""
        with self._lock:
            return len(self._values)

    def _bytes_of(self, key: K, value: V) -> int:
        if self._most_bytes is None:
            return 0
        return cached_bytes((key, value)) if self._weigh is None else self._weigh(value)
