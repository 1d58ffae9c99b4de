"""How often errors that are told beforehand hold: everyday questions, asked with little epsilon and then with more.

Each question is measured at both; what the first answer lets expect of the second is compared with what it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import cast

from server.answers.proposals.expectation import expected
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.query import QueryResponse
from server.results.response import response
from tests.benchmarks.everyday.asking import Asking
from tests.benchmarks.everyday.tables import TABLES
from tests.benchmarks.rows import Row

_FOLDER = Path(".noisegate") / "benchmarks"
_FIRST, _THEN = (0.05, 0.1), (0.5, 1.0, 4.0)


def run(quick: bool) -> list[Row]:
    """Every table, or the first one."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    rows, everywhere = [], list[tuple[bool, bool, float]]()
    for table in TABLES[:1] if quick else TABLES:
        asking = Asking(table, _FOLDER)
        keys = "", table.groups[5], table.groups[50], "date_trunc('month', happened_at)"
        aggregates = "count(*)", f"sum({table.value})", f"avg({table.value})", "count(DISTINCT owner)"
        found = [one for aggregate in aggregates for key in keys for one in _of(asking, aggregate, key)]
        rows += _rows(table.name, found)
        everywhere += found
    return [*_rows("all tables", everywhere, least=0.9), *rows]


def _of(asking: Asking, aggregate: str, key: str) -> Iterator[tuple[bool, bool, float]]:
    """Per pair of epsilons: does the upper end hold, would the lower, and how many times too large is the upper?"""
    for first in _FIRST:
        told = asking.answered(aggregate, key, first)
        for epsilon in _THEN:
            question, released = asking.answered(aggregate, key, epsilon)
            answer = response(question.plan, released.domain, released.noisy, asking.budget, "benchmark")
            own = _typical(answer)
            ledger = cast("Ledger", asking.telling(*told))
            (error,) = expected(ledger, question, "ada", LruCache(1)).relative_errors
            most = math.inf if error.most is None else error.most
            least = math.inf if error.typical is None else error.typical
            yield own <= most, own <= least, most / own if own else math.inf


def _typical(answer: QueryResponse) -> float:
    """The half-width of the last column's interval, of the median row, in multiples of its value."""
    parts = []
    for cells, around in answer.as_released():
        value, interval = cells[-1], around[-1]
        if interval is not None:
            known = (
                interval.low is not None and interval.high is not None and isinstance(value, int | float) and value
            )
            width = cast(float, interval.high) - cast(float, interval.low) if known else math.inf
            parts.append(width / 2 / abs(cast(float, value)) if known else math.inf)
    return median(parts)


def _rows(case: str, found: list[tuple[bool, bool, float]], least: float | None = None) -> list[Row]:
    count = len(found)
    return [
        Row(case, "forecasts", count, "1"),
        Row(case, "of which the upper end holds", sum(one for one, _, _ in found) / count, "1", least=least),
        Row(case, "of which the noise at the same thresholds holds", sum(one for _, one, _ in found) / count, "1"),
        Row(case, "the upper end in multiples of what came, median", median(one for _, _, one in found), "1"),
    ]
