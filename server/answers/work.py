"""What is done for a request, as a small tree, and the price of it: the sum over what is to be measured.

It is decided from what is public and from what the analyst has paid for. EXPLAIN shows it (`explained.py`), and
`run.py` executes it. So what is told, what is charged and what is done are one thing.
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
from server.postprocessing.composition import Composition
from server.question import Question


@dataclass(frozen=True)
class Cached:
    """An answer that the analyst has paid for: it is only to be shown, from memory alone."""

    question: Question
    paid: Paid


@dataclass(frozen=True)
class Measure:
    """A question to be charged for, and measured unless somebody else has bought its answer.

    Attributes:
      passed_over: what would be free, and is not served, as it is less accurate or lacks rows.
    """

    question: Question
    charge: Charge
    passed_over: DerivedAnswer | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Derived:
    """A question whose answer follows from others that the analyst has paid for: free, and made from memory alone."""

    question: Question
    derived: DerivedAnswer


@dataclass(frozen=True)
class Summed:
    """A question whose answer is put together from what is kept of some days and what is measured of the others.

    Attributes:
      days: what is kept of which days.
      parts: the other days, in the order of `days.parts`.
      passed_over: as of `Measure`.
    """

    question: Question
    days: DaySum
    parts: tuple[Cached | Measure, ...]
    passed_over: DerivedAnswer | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False)
class Estimated:
    """A question of a workload that is estimated from several measured marginals of one grid.

    Attributes:
      member: the question.
      counted: the grid.
      tables: by mask: the marginals that are measured, or were; the same for all questions of the grid.
    """

    member: Member
    counted: CountedGrid
    tables: Mapping[int, Cached | Measure]


@dataclass(frozen=True)
class ListGroups:
    """A question that only names the groups that there may be; they are public, so it is free."""

    question: Question


@dataclass(frozen=True)
class ShowNothing:
    """A question of whose answer no row is shown, so nothing is measured for it; free.

    Attributes:
      no_group: because a public list of its groups is empty, not because no row is asked for.
    """

    question: Question
    no_group: bool = False


@dataclass(frozen=True)
class Compose:
    """Something computed from answers: what each of them is, and the SELECT around them.

    Attributes:
      parts: one per part of the composition; none before it is decided about them.
      columns: what surrounds them over no rows, where it was tried.
    """

    composition: Composition
    parts: tuple[Work, ...] = ()
    columns: Computed | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Within:
    """A question by accuracy.

    Attributes:
      choice: why the work is at its epsilon, and whether another release may follow; None of one that is sent again.
      work: what is done first, and unless that tells that it is too little, at all.
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
    """What of a tree is measured, or was and is paid for."""
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
    """Under which answer key its answer is kept, or will be."""
    return leaf.charge.answer_key if isinstance(leaf, Measure) else leaf.question.answer_key


def measures(*works: Work) -> dict[str, Measure]:
    """What is to be charged for and measured, each question once, by answer key."""
    found = (one for work in works for one in leaves(work) if isinstance(one, Measure))
    return {one.charge.answer_key: one for one in found}


def price(*works: Work) -> tuple[float, float]:
    """Epsilon and delta that are charged, but for a second release of a question by accuracy."""
    charges = [one.charge for one in measures(*works).values()]
    return sum(charge.epsilon for charge in charges), sum(charge.delta for charge in charges)
