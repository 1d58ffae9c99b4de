"""The work for a request as a small tree, and its price: the sum over all measurements.

It is decided from public facts and from the analyst's own answers. EXPLAIN shows it (`explained.py`) and `run.py`
executes it, so the price shown is the price charged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from planner.public.relation import PublicStatement
from server.answers.cached_answers import Paid
from server.answers.counted_grid import CountedGrid, Member
from server.answers.derived import DerivedAnswer
from server.answers.periods.day_sums import DaySum
from server.answers.proposals.by_accuracy import AtOnce, FirstPart
from server.backends.public_rows import Computed
from server.ledger.charge import Charge
from server.planning import Explain as Explain
from server.postprocessing.composition import ComposedPart, Composition, TableOfAnswers
from server.question import Question


@dataclass(frozen=True)
class Cached:
    """A cached answer that the analyst has paid for, which is free."""

    question: Question
    paid: Paid


@dataclass(frozen=True)
class Measure:
    """A question to charge and measure, unless another analyst has bought its answer.

    Attributes:
      passed_over: a free derived answer that is not served, because it is less precise or lacks rows.
      before: the answers from which the tables of released values that it reads are computed first.
    """

    question: Question
    charge: Charge
    passed_over: DerivedAnswer | None = field(default=None, compare=False)
    before: tuple[Before, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Before:
    """A table of released values, and the work for the answers that it is computed from."""

    table: TableOfAnswers
    answers: tuple[tuple[ComposedPart, Work], ...]


@dataclass(frozen=True)
class Derived:
    """A question whose answer is computed from answers that the analyst has paid for. It is free."""

    question: Question
    derived: DerivedAnswer


@dataclass(frozen=True)
class Summed:
    """A question whose answer combines cached days with measured days.

    Attributes:
      days: what is cached of which days.
      parts: the other days, in the order of `days.parts`.
      passed_over: as of `Measure`.
    """

    question: Question
    days: DaySum
    parts: tuple[Cached | Measure, ...]
    passed_over: DerivedAnswer | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False)
class Estimated:
    """A question of a workload, estimated from several measured marginals of one grid.

    Attributes:
      member: the question.
      counted: the grid.
      tables: by mask, the measured marginals; the same for all questions of the grid.
    """

    member: Member
    counted: CountedGrid
    tables: Mapping[int, Cached | Measure]


@dataclass(frozen=True)
class ListGroups:
    """A question that only lists public groups, which is free."""

    question: Question


@dataclass(frozen=True)
class ShowNothing:
    """A question whose answer shows no row, so that nothing is measured; free.

    Attributes:
      no_group: is its public list of groups empty? Else the statement asks for no row.
    """

    question: Question
    no_group: bool = False


@dataclass(frozen=True)
class Compose:
    """A SELECT around answers.

    Attributes:
      parts: the work for each part; empty before it is decided.
      columns: of the SELECT, tried over no rows.
    """

    composition: Composition
    parts: tuple[Work, ...] = ()
    columns: Computed | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Within:
    """A question with an accuracy target.

    Attributes:
      choice: the reason for its epsilon, and whether a second release may follow; None for a repeated request.
      work: the work for the first release.
    """

    choice: AtOnce | FirstPart | None
    work: Work


Work = (
    Cached
    | Derived
    | Measure
    | Summed
    | Estimated
    | ListGroups
    | ShowNothing
    | PublicStatement
    | Explain
    | Compose
    | Within
)


def leaves(work: Work) -> Iterator[Cached | Measure]:
    """Yield what is measured, or was measured and paid for."""
    match work:
        case Cached() | Measure():
            yield work
        case Summed(parts=parts):
            yield from parts
        case Estimated(tables=tables):
            yield from tables.values()
        case Compose(parts=several):
            for part in several:
                yield from leaves(part)
        case Within(work=inner):
            yield from leaves(inner)


def key_of(leaf: Cached | Measure) -> str:
    """Return the answer key under which an answer is cached."""
    return leaf.charge.answer_key if isinstance(leaf, Measure) else leaf.paid.cached.charge.answer_key


def measures(*works: Work) -> dict[str, Measure]:
    """Return what must be charged and measured, each question once, by answer key."""
    found = (one for work in works for one in leaves(work) if isinstance(one, Measure))
    return {one.charge.answer_key: one for one in found}


def price(*works: Work) -> tuple[float, float]:
    """Return the epsilon and delta of all measurements, without a second release for an accuracy target."""
    charges = [one.charge for one in measures(*works).values()]
    return sum(charge.epsilon for charge in charges), sum(charge.delta for charge in charges)
