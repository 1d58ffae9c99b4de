"""Processes of servers that run elsewhere on this machine, stopped and limited as a busy or broken machine would."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from server.backends.embedded import EmbeddedPostgres


def processes_of(server: EmbeddedPostgres) -> list[int]:
    """The server's first process, and whatever it has started."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    found = [first]
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):  # of one that has ended meanwhile
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == first:
                found.append(int(folder.name))
    return found


@contextmanager
def paused(processes: Sequence[int]) -> Iterator[None]:
    """They stand still, as on a machine that has stopped, and go on afterwards; who has ended is passed over."""
    try:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@contextmanager
def limited(processes: Sequence[int], limit: int, most: int) -> Iterator[None]:
    """They have no more of something than that: `resource.RLIMIT_FSIZE` is a disk without room.

    Args:
      limit: one of `resource.RLIMIT_...`.
      most: its soft limit meanwhile.
    """
    before = {process: resource.prlimit(process, limit) for process in processes}
    for process, (_, hard) in before.items():
        resource.prlimit(process, limit, (most, hard))
    try:
        yield
    finally:
        for process, own in before.items():
            with suppress(ProcessLookupError):
                resource.prlimit(process, limit, own)
