"""What a look-up has found: the answer that is kept, or what there is to do for one.

It is made once per request (`Pipeline.find`), waits for nobody, and holds all that the rest of the way needs
(`Pipeline.finish`), so that nothing is parsed, planned or looked up again.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.public.relation import PublicQuery, PublicStatement
from server.answers.kept_answers import Paid
from server.ledger.charge import Charge
from server.postprocessing.composition import Composition
from server.proposals.by_accuracy import FirstPart
from server.query import QueryRequest, QueryResponse
from server.question import Question
from server.reuse.derived import Derived


@dataclass(frozen=True)
class Kept:
    """An answer that the analyst has paid for: it is only to be shown, from memory alone."""

    question: Question
    paid: Paid


@dataclass(frozen=True)
class ToMeasure:
    """A question to be charged for, and measured unless somebody else has bought its answer."""

    question: Question
    charge: Charge


@dataclass(frozen=True)
class Follows:
    """A question whose answer follows from others that the analyst has paid for: free, and made from memory alone."""

    question: Question
    derived: Derived


@dataclass(frozen=True)
class Joined:
    """A question whose answer was put together, for free, from what the analyst has of all of its days."""

    question: Question
    answer: QueryResponse


@dataclass(frozen=True)
class ToList:
    """A question that only names the groups that there may be; they are public, so it is free."""

    question: Question


@dataclass(frozen=True)
class ToShowNothing:
    """A question of whose answer no row is shown, so nothing is measured for it; free.

    Attributes:
      no_group: because a public list of its groups is empty, not because no row is asked for.
    """

    question: Question
    no_group: bool = False


@dataclass(frozen=True)
class ToRead:
    """A query over public tables, free: what it shows, and the statement that reads it."""

    query: PublicQuery
    statement: PublicStatement


@dataclass(frozen=True)
class ToExplain:
    """EXPLAIN, free: what would be done and charged, which nobody has worked out yet."""


@dataclass(frozen=True)
class ToCompute:
    """Something computed from answers: what each of them is, and the SELECT around them."""

    composition: Composition


@dataclass(frozen=True)
class ToFindOut:
    """A question by accuracy of which nothing is known: what a first release tells, decides about a second one."""

    part: FirstPart
    request: QueryRequest


Found = Kept | Follows | Joined | ToMeasure | ToList | ToShowNothing | ToRead | ToExplain | ToFindOut | ToCompute
