"""Attacks tried and held, ten thousand histories with faults, and a hundred thousand questions to two neighbours.

CASES="attacks;pairs" runs those alone; PAIRS=20000 asks so many questions, HISTORIES=1000 lives so many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from tests.benchmarks.rows import Row
from tests.benchmarks.security.attacks import attacks
from tests.benchmarks.security.histories import histories
from tests.benchmarks.security.pairs import pairs

PARTS: Mapping[str, Callable[[bool], list[Row]]] = {"attacks": attacks, "histories": histories, "pairs": pairs}


def run(quick: bool) -> list[Row]:
    """The parts, one after the other."""
    wanted = [name for name in os.environ.get("CASES", ";".join(PARTS)).split(";") if name]
    return [row for name in wanted for row in PARTS[name](quick)]
