"""Parts of a benchmark at the same time, each in a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

_WORKERS = 8
"""More than there are processors: parts are of very different lengths."""

_T = TypeVar("_T")


def side_by_side(work: Callable[..., _T], arguments: Sequence[tuple[object, ...]]) -> list[_T]:
    """What the work makes of each tuple of arguments, in their order. Times taken are those of its own processor."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(_WORKERS, context) as pool:
        return [one.result() for one in [pool.submit(work, *each) for each in arguments]]
