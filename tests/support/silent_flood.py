"""Processes that open sockets and say nothing, or no more than a first byte."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event


@contextmanager
def flood(
    ports: Sequence[int], sockets: int, first: Sequence[bytes], per_second: float, processes: int = 4
) -> Iterator[Event]:
    """Open sockets, and hold them until the end.

    Args:
      ports: on 127.0.0.1, each in turn.
      sockets: how many, of all processes together.
      first: what they say, each in turn; nothing where it is empty.
      per_second: how many are opened, of all processes together.
    Yields: an event that is set when all are open.
    """
    context = get_context("spawn")
    every, over = context.Event(), context.Event()
    counts = [context.Semaphore(0) for _ in range(processes)]
    share = sockets // processes
    workers = [
        context.Process(target=_hold, args=(list(ports), share, list(first), per_second / processes, count, over))
        for count in counts
    ]
    watcher = context.Process(target=_all, args=(counts, every))
    for worker in (*workers, watcher):
        worker.start()
    try:
        yield every
    finally:
        over.set()
        for worker in (*workers, watcher):
            worker.join(20)
            if worker.is_alive():
                worker.kill()


def _all(counts: list[object], every: Event) -> None:
    for count in counts:
        count.acquire()  # type: ignore[attr-defined]  # a semaphore
    every.set()


def _hold(ports: list[int], sockets: int, first: list[bytes], per_second: float, done: object, over: Event) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held, begun = [], time.monotonic()
    for n in range(sockets):
        time.sleep(max(0.0, begun + n / per_second - time.monotonic()))
        one = socket.create_connection(("127.0.0.1", ports[n % len(ports)]), timeout=20)
        held.append(one)
        one.sendall(first[n // len(ports) % len(first)])
    done.release()  # type: ignore[attr-defined]  # a semaphore
    over.wait()
    for one in held:
        one.close()
