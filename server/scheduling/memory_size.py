"""How much memory a value takes, with all that it consists of."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import Enum
from types import FunctionType, ModuleType

_SHARED = (type, FunctionType, ModuleType, Enum)


def kept_bytes(kept: object) -> int:
    """The bytes of containers, of objects with their attributes, of texts, numbers and arrays; each counted once.

    A text takes one, two or four bytes a character, by its widest one. What is shared with others counts in full;
    classes, functions and members of enumerations, which are there anyway, do not. Cost: linear in the parts.
    """
    size, seen, left = 0, set[int](), [kept]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, _SHARED):
            continue
        seen.add(id(one))
        size += sys.getsizeof(one)
        if isinstance(one, (str, bytes, int, float)):
            continue
        if isinstance(one, Mapping):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, (tuple, list, set, frozenset)):
            left += one
        elif hasattr(one, "__dict__"):
            left.append(vars(one))
        left += [getattr(one, name) for name in getattr(type(one), "__slots__", ()) if hasattr(one, name)]
    return size
