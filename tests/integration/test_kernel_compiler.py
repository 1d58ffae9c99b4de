from __future__ import annotations

import time

from privacy.truncation.flow.dinic import augment
from privacy.warm_up import warm_up
from server.workers.kernel_compiler import KernelCompiler


def test_compiles_and_ends() -> None:
    compiler = KernelCompiler(8 << 30)
    assert compiler.wait(600.0)
    compiler.stop()


def test_stops_at_once() -> None:
    compiler = KernelCompiler(8 << 30)
    started = time.monotonic()
    compiler.stop()
    assert compiler.wait(0.0)
    assert time.monotonic() - started < 10


def test_what_warms_up_solves_programs_that_need_a_flow() -> None:
    warm_up()
    assert augment.signatures  # type: ignore[attr-defined]
