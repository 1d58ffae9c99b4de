"""What tests have workers do: few imports, as every worker that takes the place of another has them all."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path
from typing import Any

from planner.errors import SchemaChanged


def sleep_from(begun: Path) -> None:
    """Sleep for ten minutes, once the file says so."""
    begun.touch()
    time.sleep(600)


def add(left: int, right: int) -> int:
    return left + right


def process_id() -> int:
    return os.getpid()


def template() -> int:
    return os.getppid()


def noise() -> list[int]:
    """Draws of each source that workers use."""
    from privacy.entropy import OpendpEntropy
    from privacy.sampling.draws import SystemDraws

    return [*OpendpEntropy().laplace(1e6, 8).tolist(), *SystemDraws().uniform(1 << 20, 8).tolist()]


def shared_noise() -> list[float]:
    """Draws of numpy's own generator, which is seeded when numpy is imported."""
    import numpy as np

    return [float(draw) for draw in np.random.random(8)]


def die() -> None:
    os._exit(3)


def raise_with_a_secret() -> None:
    raise ValueError("the secret is zebra")


def raise_chained() -> None:
    try:
        raise_with_a_secret()
    except ValueError as error:
        raise SchemaChanged("the tables have changed", hint="ask again") from error


def allocate() -> int:
    return len(bytearray(16 << 30))


_KEPT: list[mmap.mmap] = []


def keep(size: int) -> int:
    """Address space, which is what is limited, and no memory."""
    _KEPT.append(mmap.mmap(-1, size))
    return os.getpid()


class Poison:
    """Ends the process that takes it in."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (3,)


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def threads() -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")
