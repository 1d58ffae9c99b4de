"""Compile the numerical kernels once per machine, before the first question needs them."""

from __future__ import annotations

import hashlib
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib.metadata import version
from pathlib import Path

import structlog

import privacy
from privacy.kernel import cache_folder
from privacy.warm_up import PARTS, run_part
from server.backends import columns
from server.workers.pool import processors

_log = structlog.get_logger("noisegate.compiler")


_ALL: tuple[Callable[[], None], ...] = (*(partial(run_part, part) for part in range(len(PARTS))), columns.warm_up)


def compile_kernels(announce: Callable[[str], None], parts: Sequence[Callable[[], None]] = _ALL) -> None:
    """Compile the kernels of usual questions on all processors, unless this machine has compiled this version of the
    code.

    A failure is logged only; questions then compile what they need, slowly.
    Cost: half a minute the first time on two processors; milliseconds later.
    """
    folder = cache_folder()
    if folder is None:
        _log.warning("compiled kernels cannot be stored: set NUMBA_CACHE_DIR to a writable folder")
        return
    done = folder / f"complete-{_source_hash()}"
    if done.exists():
        return
    announce("compiling numerical kernels for this machine, once (about half a minute)")
    spawn = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(max(1, min(processors(), len(parts))), mp_context=spawn) as pool:
            compiled = [pool.submit(part) for part in parts]
            for count, one in enumerate(as_completed(compiled), 1):
                one.result()
                announce(f"compiled {count} of {len(parts)}")
        done.touch()
    except (BrokenProcessPool, OSError) as error:
        _log.warning("kernels were not compiled ahead", kind=type(error).__name__)


def _source_hash() -> str:
    files = sorted(Path(privacy.__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(f"{sys.version} {version('numba')}".encode())
    for path in (*files, Path(columns.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


if __name__ == "__main__":
    compile_kernels(print)
