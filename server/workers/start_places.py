"""How many workers of this process may start at once: as many as there are processors.

A start is seconds of computing, in which libraries are imported. Where more of them start at once than the machine
has processors, each takes as many times longer, and none may be ready when the first is waited for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOOK_UP_S = 0.1  # how soon it is noticed that nobody wants the worker any more


def processors() -> int:
    """How many processors this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    return max(1, len(allowed(0)) if allowed is not None else os.cpu_count() or 1)


_PLACES = threading.BoundedSemaphore(processors())


@contextmanager
def start_place(given_up: threading.Event) -> Iterator[bool]:
    """A place among the workers that start, from before the process is there until it is ready.

    Args:
      given_up: set when the worker is wanted no more.
    Returns: False where that was so before there was a place; then nothing is to be started.
    """
    while not _PLACES.acquire(timeout=_LOOK_UP_S):
        if given_up.is_set():
            yield False
            return
    try:
        yield not given_up.is_set()
    finally:
        _PLACES.release()
