"""When an answer may leave, and how long one row may take: decided from the question's public size.

If one person's rows can multiply each other in a join, its duration tells about that person. So its answer or failure
leaves at one of m moments, and a question without an answer fails at the last one. That makes N = 2 m outcomes beside
the noisy values. An answer of pure epsilon tells at most epsilon nats about the data, and N outcomes tell at most ln
N. So epsilon pays for the moments:

    m = floor(e^epsilon / 2), at least ln 2 for one.

Public rows that no key finds multiply one person's rows by public numbers. Such a join leaves at any moment up to
LONGEST_S, and costs min_epsilon 4^k, at most ln N, with k the number of those rows.

With few moments the last one comes eight quanta after the question began, with more of them later, up to LONGEST_S. A
join with declared numbers of rows leaves when that many rows are surely joined. It costs min_epsilon, as a linear
join does. Nothing costs more than max_epsilon, the administrator's limit on what one question may tell.

Row work: a search of long texts for long texts takes seconds. An analyst who writes both can make the condition of
one row slow, so that the duration tells any fact about that row's person. Texts in the data add the same work to all
statements and are not counted beyond a usual length. A statement that makes one row slower is refused: to hold it, or
to charge more, would still tell one fact about one person for a small epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.errors import StatementTooComplex
from planner.plan import AnswerTimes, JoinSize
from planner.policy.policy import SideChannels
from planner.sql.trees import columns_of, nodes

TUPLES_PER_S = 1e6
"""How many tuples a slow database joins, and a slow solver clips, in a second."""

_PLANNED = 8
"""The most quanta for which a question is held to its planned duration; looser bounds are ignored."""

_FEW = 4
"""With this many moments or fewer, the last is that of the most that is planned: 1, 2, 4 and 8 quanta, or 8 alone."""

_PER_STEP = 4.0
_DIGITS = 3


def answer_times(size: JoinSize, settings: SideChannels, epsilon: float) -> AnswerTimes:
    """The moments of a question with this epsilon, which is `least_epsilon` or more."""
    quantum = settings.answer_quantum_s
    if not quantum or (size.kind == "linear" and not settings.hold_all_answers):
        return AnswerTimes()
    planned = _planned_quanta(size, settings)
    if planned is not None:
        return AnswerTimes(quantum * planned)
    if not _explodes(size):
        return AnswerTimes(quantum)
    moments = max(1, math.floor(math.exp(min(epsilon, 700.0)) / 2 * (1 + 1e-12)))
    if 2 * moments >= AnswerTimes(quantum).outcomes:
        return AnswerTimes(quantum)
    first = quantum * 2.0 ** max(0, _FEW - moments)
    return AnswerTimes(first, first * 2.0 ** (moments - 1))


def moment_s(first_s: float, elapsed_s: float) -> float:
    """The first moment at or after `elapsed_s`, in seconds; 0 if answers are not held.

    >>> [moment_s(0.5, elapsed) for elapsed in (0.1, 0.5, 0.6, 3.0)], moment_s(0.0, 3.0)
    ([0.5, 0.5, 1.0, 4.0], 0.0)
    """
    if not first_s:
        return 0.0
    moment = first_s
    while moment < elapsed_s:
        moment *= 2
    return moment


def least_epsilon(size: JoinSize, settings: SideChannels, max_epsilon: float) -> float:
    """The least epsilon of a question: that of one moment if nothing bounds its duration."""
    least = settings.min_epsilon
    bounded = size.kind != "unbounded" and _planned_quanta(size, settings) is not None
    if _explodes(size) and not bounded:
        least = max(least, math.log(2.0) if settings.answer_quantum_s else math.inf)
    elif size.kind != "linear" and not bounded:
        told = math.log(AnswerTimes(settings.answer_quantum_s).outcomes)
        least = max(least, min(told, least * _PER_STEP**size.free_steps))
    return min(rounded_up(min(least, max_epsilon)), max_epsilon)


def rounded_up(epsilon: float, digits: int = _DIGITS) -> float:
    """Round up to this many significant digits.

    >>> rounded_up(0.123456), rounded_up(0.5), rounded_up(2.0001)
    (0.124, 0.5, 2.01)
    """
    place = digits - 1 - math.floor(math.log10(epsilon))
    rounded = math.ceil(epsilon * 10**place - 1e-9) / 10**place
    return float(f"{rounded:.{digits}g}")


def _explodes(size: JoinSize) -> bool:
    return size.kind == "unbounded" or (size.kind == "equi_joined" and size.explodes)


def _planned_quanta(size: JoinSize, settings: SideChannels) -> int | None:
    """The longest duration by declared sizes, a power of two in quanta; None if it is unknown."""
    if size.most_tuples is None or not settings.answer_quantum_s:
        return None
    quanta = size.most_tuples / TUPLES_PER_S / settings.answer_quantum_s
    if quanta > _PLANNED:
        return None
    return 1 << max(0, math.ceil(math.log2(max(quanta, 1))))


MOST_STEPS = 1_000_000
"""Comparisons and copies of characters per row: up to this many take milliseconds, hard to notice over a network."""

_USUAL_CHARACTERS = 64
"""Assumed length of a column's text."""

_WORKING = (exp.Like, exp.ILike, exp.StrPosition, exp.Replace, exp.DPipe)


def check_row_work(query: BoundQuery) -> None:
    """Refuse a question in which one row may take long. Raises: StatementTooComplex."""
    steps = row_work(query)
    if steps > MOST_STEPS:
        raise StatementTooComplex(
            f"one row may take {steps:,} steps of text search, more than {MOST_STEPS:,}, so the answer's duration"
            " would tell about its person",
            hint="search for shorter texts",
        )


def row_work(query: BoundQuery) -> int:
    """The steps that one row may take: text length times pattern length for a search, result length for `||`.

    Linear. The query is in normal form, so a CTE's expression stands wherever it is read.
    """
    return sum(_steps(node) for tree in _trees(query) for node in nodes(tree) if isinstance(node, _WORKING))


def _trees(query: BoundQuery) -> Iterator[exp.Expr]:
    yield from query.predicates
    for entry in query.all_tables:
        yield from entry.outer or ()
        for part in entry.person.selects if entry.person is not None else ():  # computed from a person's own rows
            yield from (column.value for column in part.columns if not column.is_key)
            yield from _trees(part.query)
    for semi_join in query.semi_joins:
        yield from semi_join.predicates
    for key in query.keys:
        yield key.value
    for aggregate in query.aggregates:
        yield from (tree for tree in (aggregate.argument, aggregate.condition) if tree is not None)


def _steps(node: exp.Expr) -> int:
    """The first argument of a search is the text; the others are what it is searched for."""
    if isinstance(node, exp.DPipe):
        return _characters(node)
    text, *others = (value for value in node.args.values() if isinstance(value, exp.Expr))
    return _characters(text) * sum(map(_characters, others))


def _characters(tree: exp.Expr) -> int:
    written = sum(len(node.this) for node in nodes(tree) if isinstance(node, exp.Literal) and node.is_string)
    return written + _USUAL_CHARACTERS * len(columns_of(tree))
