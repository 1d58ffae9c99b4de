"""How much memory a value takes, with all that it consists of."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

_SHARED = (type, FunctionType, ModuleType, Enum)
_PLAIN = (str, bytes, int, float, type(None))


def kept_bytes(kept: object) -> int:
    """The bytes of containers, of objects with their attributes, of texts, numbers and arrays; each counted once.

    A text takes one, two or four bytes a character, by its widest one. What is shared with others counts in full;
    classes, functions and members of enumerations, which are there anyway, do not. Cost: linear in the parts.
    """
    size, seen = 0, set[int]()
    left: list[Any] = [kept]
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
    """What values of a type consist of: shared, plain, elements, a map, attributes of their own; and its slots."""
    return (
        issubclass(kind, _SHARED),
        issubclass(kind, _PLAIN),
        issubclass(kind, (tuple, list, set, frozenset)),
        issubclass(kind, Mapping),
        bool(kind.__dictoffset__),
        tuple(getattr(kind, "__slots__", ())),
    )
