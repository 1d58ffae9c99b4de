"""How far an answer is expected to be from the truth in parts of itself, from what the analyst was told before.

A range. Its lower end is the noise of the new epsilon at the thresholds that were chosen before; with more epsilon
larger ones are mostly chosen, as more is cut than noise hides. Its upper end is what the earlier answer had: more
epsilon is not spent on a wider interval. How often it holds is measured by `make benchmark NAME=forecasts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median

from privacy.registry import MECHANISMS
from server.ledger.ledger import Ledger
from server.proposals.expectation import NOBODY, expected_answer
from server.proposals.propose import known_answer
from server.query import Interval, QueryResponse, RelativeError
from server.question import Question
from server.results.response import response

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
    before = response(plan, known.released.domain, known.released.noisy, NOBODY, "")
    found = []
    for place, column in enumerate(answer.columns):
        now, own = _parts(answer, place), _parts(before, place)
        if now and own:
            most = max(median(now), median(own))
            found.append(RelativeError(column.name, _finite(median(now)), _finite(max(now)), _finite(most)))
    return Expected(tuple(found), fmean(answer.cut) if answer.cut else None)


def _parts(answer: QueryResponse, place: int) -> list[float]:
    """The half-widths of a column's intervals in multiples of their values."""
    rows = answer.as_released()
    return [_part(cells[place], around[place]) for cells, around in rows if around[place] is not None]


def _part(value: object, interval: Interval | None) -> float:
    """Infinite for a value of nothing, and for an interval with an open end."""
    if interval is None or interval.low is None or interval.high is None or not isinstance(value, int | float):
        return math.inf
    return (interval.high - interval.low) / 2 / abs(value) if value else math.inf


def _finite(part: float) -> float | None:
    return part if math.isfinite(part) else None
