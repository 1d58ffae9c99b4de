"""How far an answer is expected to be from the truth in parts of itself, from what the analyst was told before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median

from privacy.registry import MECHANISMS
from server.ledger.ledger import Ledger
from server.proposals.expectation import expected_answer
from server.proposals.propose import known_answer
from server.query import Interval, RelativeError
from server.question import Question

_MOST_CELLS = 100_000


@dataclass(frozen=True)
class Expected:
    """What the analyst's own earlier answer lets expect.

    Attributes:
      relative_errors: per column, half-widths of intervals at 95% in multiples of their values.
      cut: the share of rows that would be marked cut, in [0, 1]; None where nothing tells.
    """

    relative_errors: tuple[RelativeError, ...] = ()
    cut: float | None = None


def expected(ledger: Ledger, question: Question, analyst: str) -> Expected:
    """Relative errors per column, of the median row and of the worst, and how many rows would be marked cut.

    Args:
      ledger: knows the analyst's own answers to the same query; nobody else's are looked at.
      question: at the epsilon that is tried.
      analyst: who asks.
    Returns: nothing where the analyst has no answer to it, or where widths are not public before it is measured.
    Cost: a read of the ledger, and one answer shown anew; reads no row.
    """
    plan = question.plan
    public = (
        bool(plan.releases)
        and all(release.ranked is None for release in plan.releases)
        and MECHANISMS[plan.mechanism].two_sided
    )
    known = known_answer(ledger, analyst, question.plan_hash) if public and plan.sampling is None else None
    if known is None:
        return Expected()
    answer = expected_answer(question, known.released)
    if not 0 < answer.n_cells <= _MOST_CELLS:
        return Expected()
    rows = list(answer.as_released())
    found = []
    for place, column in enumerate(answer.columns):
        parts = [_part(cells[place], around[place]) for cells, around in rows if around[place] is not None]
        if parts:
            found.append(RelativeError(column.name, _finite(median(parts)), _finite(max(parts))))
    return Expected(tuple(found), fmean(answer.cut) if answer.cut else None)


def _part(value: object, interval: Interval | None) -> float:
    """Infinite for a value of nothing, and for an interval with an open end."""
    if interval is None or interval.low is None or interval.high is None or not isinstance(value, int | float):
        return math.inf
    return (interval.high - interval.low) / 2 / abs(value) if value else math.inf


def _finite(part: float) -> float | None:
    return part if math.isfinite(part) else None
