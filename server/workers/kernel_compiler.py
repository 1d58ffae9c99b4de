"""The kernels of the mathematics, compiled once per machine before the first question waits for them."""

from __future__ import annotations

import hashlib
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numba
import structlog

import privacy
from privacy.kernel import cache_folder
from privacy.warm_up import PARTS, run_part
from server.workers.pool import processors

_log = structlog.get_logger("noisegate.compiler")


def compile_kernels(announce: Callable[[str], None], parts: Sequence[int] = range(len(PARTS))) -> None:
    """Compile what usual questions need, on all processors, unless this machine has done so for this very code.

    Failing to compile ahead is no reason to stop: a question then compiles what it needs, and is slow, not wrong.
    Cost: half a minute the first time on a machine with two processors; some milliseconds from then on.
    """
    folder = cache_folder()
    if folder is None:
        _log.warning("compiled kernels cannot be kept: name a folder that can be written to in NUMBA_CACHE_DIR")
        return
    done = folder / f"complete-{_source_hash()}"
    if done.exists():
        return
    announce("compiling the mathematics for this machine, once: about half a minute")
    spawn = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(max(1, min(processors(), len(parts))), mp_context=spawn) as pool:
            compiled = [pool.submit(run_part, part) for part in parts]
            for count, one in enumerate(as_completed(compiled), 1):
                one.result()
                announce(f"compiled {count} of {len(parts)}")
        done.touch()
    except (BrokenProcessPool, OSError) as error:
        _log.warning("kernels were not compiled ahead", kind=type(error).__name__)


def _source_hash() -> str:
    """Of all the code that kernels are made of, with the versions of what compiles them."""
    root = Path(privacy.__file__).parent
    digest = hashlib.sha256(f"{sys.version} {numba.__version__}".encode())
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


if __name__ == "__main__":
    compile_kernels(print)
