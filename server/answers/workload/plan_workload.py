"""Plan a workload: what is measured, with which share of epsilon, and from what each answer is computed.

All inputs are public or were released to this analyst. No private row is read, and nothing is charged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from planner.errors import InvalidSetting, PlannerError, StatementTooComplex
from planner.limits import check_cells
from planner.policy.policy import Policy
from planner.public.relation import PublicStatement
from server.answers.cached_answers import Paid
from server.answers.counted_grid import (
    Allocation,
    CountedGrid,
    GridStrategy,
    Member,
    allocate,
    floored,
    grids_of,
    member_of,
    strategy_of,
    why_not_in_a_grid,
)
from server.answers.decide import Deciding
from server.answers.proposals.expectation import known_answers
from server.answers.work import (
    Cached,
    Compose,
    Estimated,
    Explain,
    ListGroups,
    Measure,
    Work,
    leaves,
    measures,
)
from server.answers.workload.workload import MOST_PARTS, WorkloadRequest
from server.errors import ServerError
from server.ledger.charge import Charge
from server.query import QueryRequest
from server.question import Question

ALONE = "no other question of the workload counts the same rows by other keys"
NO_GAIN = "answering it together with others would not make it a fifth more precise"
_COMPOSED = "the question is computed from several answers"


@dataclass(frozen=True, eq=False)
class PlannedItem:
    """A question and the work for it.

    Attributes:
      request: with its share of epsilon.
      work: what is done for it.
      why: it is not answered together with others; None where it is free.
    """

    request: QueryRequest
    work: Work
    why: str | None = None

    @cached_property
    def measured(self) -> list[Cached | Measure]:
        """The measurements that the question is answered from; none if it is free for everybody."""
        return list(leaves(self.work))


@dataclass(frozen=True, eq=False)
class PlannedWorkload:
    """A workload before any charge.

    Attributes:
      request: as it was asked.
      items: by place; questions answered alone come first.
      allocation: the shares.
      epsilon: of the whole.
    """

    request: WorkloadRequest
    items: Mapping[int, PlannedItem]
    allocation: Allocation
    epsilon: float

    @property
    def n_charged(self) -> int:
        """The number of different questions in the workload that cost epsilon."""
        return self.allocation.count

    @property
    def wanted(self) -> dict[str, Measure]:
        """What must be measured, each question once, by answer key."""
        return measures(*(item.work for item in self.items.values()))


def plan_workload(
    deciding: Deciding, request: WorkloadRequest, epsilon: float, cancelled: threading.Event | None = None
) -> PlannedWorkload:
    """Look every question up, find those that count the same rows, and divide the epsilon.

    The shares depend on the statements and public numbers alone. So the same workload has the same parts, and is free
    when asked again. An answer with more epsilon in the analyst's cache is used, and its share is not spent.

    Raises: PlannerError and what `find` raises, with the number of the question.
    """
    looked = look_up(deciding, request, floored(epsilon / len(request.items)), cancelled)
    strategies = [strategy_of(counted) for counted in looked.grids]
    used = [one for one in strategies if one is not None]
    weights = looked.alone([one.counted for one in used])
    return shared_out(deciding, looked, used, allocate(weights, used), epsilon)


@dataclass(frozen=True, eq=False)
class LookedUp:
    """The questions of a workload before epsilon is divided.

    Attributes:
      request: the workload.
      found: the work for each question, at an equal share.
      why: each question is not answered together with others, as far as known; None where it is free.
      grids: questions that count the same rows.
      delta: of each question.
    """

    request: WorkloadRequest
    found: tuple[Work, ...]
    why: Mapping[int, str | None]
    grids: tuple[CountedGrid, ...]
    delta: float | None

    def alone(self, together: Sequence[CountedGrid]) -> dict[int, float]:
        """Return the weights of charged questions outside of some grids; of equal questions the largest."""
        places = {member.place for one in together for member in one.members}
        weights: dict[int, float] = {}
        for place, one in enumerate(self.found):
            if self.why[place] is not None and place not in places:
                first = next((other for other in weights if _same(self.found[other], one)), place)
                weights[first] = max(weights.get(first, 0.0), self.request.items[place].weight)
        return weights


def look_up(
    deciding: Deciding, request: WorkloadRequest, epsilon: float, cancelled: threading.Event | None
) -> LookedUp:
    """Look every question up, and find those that count the same rows.

    Args:
      epsilon: for each question. The result does not depend on it.
    Raises: as `plan_workload`.
    """
    delta = _delta_share(deciding, request)
    found = []
    for place in range(len(request.items)):
        with numbered(place):
            found.append(_first_look(deciding, request.of(place, epsilon, delta), cancelled))
    _check_size(deciding, request, found, cancelled)
    why = {place: None if _is_free(one) else ALONE for place, one in enumerate(found)}
    members = list(_members(deciding, request, found, why, epsilon, delta, cancelled))
    return LookedUp(request, tuple(found), why, tuple(grids_of(deciding.planning, members, cancelled)), delta)


def shared_out(
    deciding: Deciding, looked: LookedUp, used: Sequence[GridStrategy], shares: Allocation, epsilon: float
) -> PlannedWorkload:
    """Divide epsilon among questions and grids.

    Args:
      shares: of epsilon, of the other questions and of these grids.
    Raises: as `plan_workload`.
    """
    request = looked.request
    together = {member.place for one in used for member in one.counted.members}
    gridded = {member.place for one in looked.grids for member in one.members}
    items = {}
    for place, one in enumerate(looked.found):
        if place not in together:
            share = next((shares.alone[other] for other in shares.alone if _same(looked.found[other], one)), None)
            why = NO_GAIN if place in gridded else looked.why[place]
            items[place] = _item(deciding, looked, place, share, epsilon, why)
    first = len(request.items)
    for strategy, share in zip(used, shares.grids, strict=True):
        counted, tables = strategy.counted, _tables(deciding, request, strategy, share * epsilon, first)
        known = _all_known(deciding, looked, counted, tables, epsilon)
        items.update(estimates(counted, tables) if known is None else known)
        first += len(strategy.strategy.shares)
    planned = PlannedWorkload(request, items, shares, epsilon)
    if len(planned.wanted) > MOST_PARTS:
        message = (
            f"the workload would measure {len(planned.wanted)} questions at once; at most {MOST_PARTS} are allowed"
        )
        raise StatementTooComplex(
            message, hint="ask it in several parts; answers that are measured are cached, and free"
        )
    return planned


def estimates(counted: CountedGrid, tables: Mapping[int, Cached | Measure]) -> dict[int, PlannedItem]:
    """Return the questions of a grid, by place, estimated from `tables`: its marginals by mask."""
    return {
        member.place: PlannedItem(member.request, Estimated(member, counted, tables)) for member in counted.members
    }


@contextmanager
def numbered(place: int) -> Iterator[None]:
    """Add the number of the question to an error."""
    try:
        yield
    except (PlannerError, ServerError) as error:
        error.message = f"question {place + 1}: {error.message}"
        error.args = (error.message,)
        if isinstance(error, InvalidSetting) and error.hint is None:
            error.hint = "ask with a larger epsilon, or for fewer questions at once"
        raise


def _delta_share(deciding: Deciding, request: WorkloadRequest) -> float | None:
    whole = deciding.planning.policy.delta if request.delta is None else request.delta
    return whole / len(request.items) if whole else request.delta


def _first_look(deciding: Deciding, asked: QueryRequest, cancelled: threading.Event | None) -> Work:
    found = deciding.listed(deciding.find(asked), asked, cancelled)
    if isinstance(found, Explain):
        raise InvalidSetting("a workload cannot contain EXPLAIN", hint="explain the whole workload, or ask it alone")
    if isinstance(found, PublicStatement) or (isinstance(found, Compose) and not found.composition.parts):
        raise InvalidSetting("this question reads only public tables", hint="ask it by itself: it is exact and free")
    return found


def _check_size(
    deciding: Deciding, request: WorkloadRequest, found: Sequence[Work], cancelled: threading.Event | None
) -> None:
    """Refuse answers that together have too many cells. Selected groups are not known yet.

    Raises: StatementTooComplex.
    """
    cells = 0
    for one in found:
        if isinstance(one, Cached | Measure | ListGroups):
            question = one.question
            selected = any(domain.selects_partitions for domain in question.plan.domains)
            groups = 1 if selected else len(deciding.planning.groups_of(question, request.analyst, cancelled))
            cells += groups * question.plan.columns
    check_cells(cells, 1)


def _is_free(found: Work) -> bool:
    """Is nothing private read for it, whoever asks?"""
    return not isinstance(found, Cached | Measure) and not (isinstance(found, Compose) and found.composition.parts)


def _members(
    deciding: Deciding,
    request: WorkloadRequest,
    found: Sequence[Work],
    why: dict[int, str | None],
    epsilon: float,
    delta: float | None,
    cancelled: threading.Event | None,
) -> Iterator[Member]:
    """Yield the questions that add up. `why` receives the reason for the others."""
    for place, one in enumerate(found):
        if isinstance(one, Compose) and why[place]:
            why[place] = _COMPOSED
        if not isinstance(one, Cached | Measure):
            continue
        asked = request.of(place, epsilon, delta)
        bound = one.question.whole_bound
        reason = why_not_in_a_grid(one.question, bound)
        if reason is not None:
            why[place] = reason
            continue
        weight = request.items[place].weight
        with numbered(place):
            yield member_of(deciding.planning, place, weight, asked, bound, one.question, cancelled)


def _same(one: Work, other: Work) -> bool:
    if isinstance(one, Cached | Measure) and isinstance(other, Cached | Measure):
        return one.question.answer_key == other.question.answer_key
    return one is other


def _item(
    deciding: Deciding, looked: LookedUp, place: int, share: float | None, epsilon: float, why: str | None
) -> PlannedItem:
    """Plan one question with its share. Free questions stay as they are."""
    request, found = looked.request, looked.found[place]
    if share is None:
        return PlannedItem(request.of(place), found)
    spent = min(floored(share * epsilon), deciding.planning.policy.max_epsilon)
    asked = request.keyed(request.of(place, spent, looked.delta), place + 1)
    with numbered(place):
        if isinstance(found, Cached | Measure):
            better = _known_better(deciding, asked, found.question, spent)
            if better is not None:
                return PlannedItem(asked, better, why)
        work = deciding.decide(deciding.find(asked), asked, together=True)
    return PlannedItem(asked, work, why if any(leaves(work)) else None)


def _all_known(
    deciding: Deciding,
    looked: LookedUp,
    counted: CountedGrid,
    tables: Mapping[int, Cached | Measure],
    epsilon: float,
) -> dict[int, PlannedItem] | None:
    """Return a grid's questions by themselves if the analyst knows each as well as an equal share would buy; else
    None.

    A grid that is paid for keeps its tables, so that the same workload keeps its answers.
    """
    if not any(isinstance(one, Measure) for one in tables.values()):
        return None
    share = floored(epsilon / len(looked.request.items))
    items: dict[int, PlannedItem] = {}
    for member in counted.members:
        asked = looked.request.of(member.place, share, looked.delta)
        work: Work | None = _known_better(deciding, asked, member.question, share)
        if work is None:
            work = deciding.decide(deciding.find(asked), asked)
        if measures(work):
            return None
        items[member.place] = PlannedItem(asked, work, ALONE)
    return items


def _tables(
    deciding: Deciding, request: WorkloadRequest, of: GridStrategy, epsilon: float, first: int
) -> dict[int, Cached | Measure]:
    """Plan the marginals of a grid as questions; `first` counts the parts before them."""
    tables: dict[int, Cached | Measure] = {}
    for number, (mask, share) in enumerate(sorted(of.strategy.shares.items()), first + 1):
        one = of.counted.measurable[mask]
        spent = min(floored(share * epsilon), deciding.planning.policy.max_epsilon)
        asked = request.keyed(replace(one.request, epsilon=spent), number)
        question = deciding.planning.of_bound(one.bound, asked, policy=one.policy)
        better = _known_better(deciding, asked, question, spent, one.policy)
        if better is not None:
            tables[mask] = better
            continue
        charge: Charge = question.charge(asked)
        paid: Paid | None = deciding.cached.find(charge)
        tables[mask] = Measure(question, charge) if paid is None else Cached(question, paid)
    return tables


def _known_better(
    deciding: Deciding,
    asked: QueryRequest,
    question: Question,
    epsilon: float,
    policy: Policy | None = None,
) -> Cached | None:
    """Return the analyst's answer to a question with the most epsilon above this one; None without one.

    Its delta is no less than the share here. Its name says that it has the same data version and plan.
    """
    all_known = known_answers(deciding.planning.ledger, asked.analyst, question.plan_hash)
    most = deciding.planning.policy.max_epsilon
    better = [one for one in all_known if epsilon < one.epsilon <= most and one.delta >= question.plan.delta]
    found = (deciding.as_before(one, question, asked, policy) for one in sorted(better, key=lambda one: -one.epsilon))
    return next((one for one in found if one is not None), None)
