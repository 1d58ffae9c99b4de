from __future__ import annotations

import time

from privacy.truncation.flow.dinic import augment
from privacy.warm_up import warm_up
from server.compiler import Compiler


def test_compiles_and_ends() -> None:
    compiler = Compiler(8 << 30)
    assert compiler.wait(600.0)
    compiler.stop()


def test_stops_at_once() -> None:
    compiler = Compiler(8 << 30)
    started = time.monotonic()
    compiler.stop()
    assert compiler.wait(0.0)
    assert time.monotonic() - started < 10


def test_what_warms_up_solves_programs_that_need_a_flow() -> None:
    warm_up()
    assert augment.signatures  # type: ignore[attr-defined]
