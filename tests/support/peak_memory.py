"""How much memory a piece of work takes at its peak, in a process of its own. Linux only."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

Prepared = TypeVar("Prepared")

_FORGET_PEAK = "5"  # proc(5), clear_refs: the high-water mark becomes what is held now


@dataclass(frozen=True)
class Work:
    """Seconds of the work, and bytes above what the process held when it began."""

    seconds: float
    peak_bytes: int


def measured(
    prepare: Callable[[], Prepared], warm_up: Callable[[], object], work: Callable[[Prepared], object]
) -> Work:
    """Warm up, prepare, then work, in a fresh process; all three are module-level functions or partials of such."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measure, prepare, warm_up, work).result()


def _measure(
    prepare: Callable[[], Prepared], warm_up: Callable[[], object], work: Callable[[Prepared], object]
) -> Work:
    warm_up()
    prepared = prepare()
    forget_peak()
    before, started = _kilobytes("self", "VmRSS"), time.perf_counter()
    work(prepared)
    return Work(time.perf_counter() - started, peak_bytes() - 1024 * before)


def forget_peak(process: int | str = "self") -> None:
    """From now on, the peak is of what a process holds from now on."""
    Path(f"/proc/{process}/clear_refs").write_text(_FORGET_PEAK)


def peak_bytes(process: int | str = "self") -> int:
    """The most that a process has held in memory since its peak was forgotten."""
    return 1024 * _kilobytes(process, "VmHWM")


def _kilobytes(process: int | str, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1])
