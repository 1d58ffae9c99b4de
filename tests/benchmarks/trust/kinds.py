"""A capacity per kind of unit beside one for all: errors of the default for groups, where kinds differ or do not.

TPC-H's vector queries, in which customers reach fewer groups than parts of a supplier in some and as many in others,
and MathOverflow, where everybody is of one kind: there the same numbers must come out.
"""

from __future__ import annotations

import numpy as np

from privacy.truncation.encode import encode
from tests.benchmarks.rows import Row
from tests.support.scalar_study.spread import trimmed_mean
from tests.support.simulated_entropy import SimulatedEntropy
from tests.support.vector_study.case import VectorCase, cases
from tests.support.vector_study.contenders import by_default
from tests.support.vector_study.study import DELTA, EPSILON

_CASES = ["TPC-H Q5", "TPC-H Q7a", "TPC-H Q7b", "TPC-H Q7c", "MathOverflow c2a, 1-paths", "MathOverflow a2q, 1-paths"]
_RUNS, _QUICK_RUNS = 80, 40
_WHERE_KINDS_DIFFER = 0.5
"""The most of the error with one capacity; where kinds are alike it is the same to the bit."""


def kinds(quick: bool) -> list[Row]:
    """Rows of every case, of pure noise and of whichever is less at a delta."""
    return [row for case in cases(_CASES, 0.1 if quick else 1.0) for row in _compared(case, quick)]


def _compared(case: VectorCase, quick: bool) -> list[Row]:
    differ = len({reached for _, reached in case.kinds}) > 1
    scale = f", scale {0.1 if quick else 1:g}" if case.name.startswith("TPC-H") else ""
    rows = []
    for delta, noise in ((DELTA, "a delta"), (0.0, "no delta")):
        apart, alike = (_error(case, delta, told, quick) for told in (True, False))
        named = f"{case.name}{scale}, {noise}"
        bars = (None, _WHERE_KINDS_DIFFER) if differ else (1.0, 1.0)
        rows += [
            Row(named, "one capacity: L2 error, middle 60%", 100 * alike, "%"),
            Row(named, "a capacity per kind: L2 error, middle 60%", 100 * apart, "%"),
            Row(named, "a capacity per kind / one capacity", apart / alike, "1", *bars),
        ]
    return rows


def _error(case: VectorCase, delta: float, told: bool, quick: bool) -> float:
    """As in the vector study, whose seed is another."""
    release = by_default(EPSILON, delta, case, encode(case.tuples), case.kinds if told else ())
    entropy, size = SimulatedEntropy(2), float(np.linalg.norm(case.truth))
    runs = range(_QUICK_RUNS if quick else _RUNS)
    return trimmed_mean(np.array([float(np.linalg.norm(release(entropy) - case.truth)) / size for _ in runs]))
