"""Loops over arrays, compiled: the one door to numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function of arrays and numbers, and keep the machine code for the next process.

    Integers wrap around silently inside, so a kernel names the bound that keeps it from happening. No fast
    math: sums have one order and one result. The GIL is released. NUMBA_BOUNDSCHECK=1 checks every index.
    Cost: some seconds the first time a machine runs it, milliseconds from then on (NUMBA_CACHE_DIR). Where no
      folder can be written to, every process compiles for itself.
    """
    try:
        return _compiled(function, keep=True)
    except RuntimeError:  # numba finds no place for its files
        return _compiled(function, keep=False)


def _compiled(function: Callable[P, R], keep: bool) -> Callable[P, R]:
    return cast(Callable[P, R], numba.njit(cache=keep, nogil=True, error_model="numpy")(function))
