"""The way of a workload: planned, reserved at once, measured, and answered; or explained before any of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace

from privacy.noisy_answer import NoisyAnswer
from server.answers.released import Released
from server.answers.served import Served
from server.errors import NothingFollows, ServerError
from server.explain.cannot_pay import cannot_pay
from server.found import Kept, ToCompute, ToMeasure
from server.postprocessing.computed_response import after_charges
from server.proposals.expectation import NOBODY
from server.query import QueryResponse
from server.question import Question
from server.results.response import response
from server.workload.asking import Asking
from server.workload.by_accuracy import epsilon_for
from server.workload.grid_answers import GridReleases
from server.workload.plan_workload import PlannedGrid, PlannedItem, PlannedWorkload, numbered, plan_workload
from server.workload.summary import keys_of, summary_of
from server.workload.workload import WorkloadExplanation, WorkloadRequest, WorkloadResponse

_FROM = (
    "Estimated by weighted least squares from {count} noisy answer{s} of the workload, by {what}: all of them count "
    "the same rows. Answers of one workload agree with one another but for rounding; intervals are for the sum of "
    "all noises in a value."
)


def answer_workload(
    asking: Asking, request: WorkloadRequest, cancelled: threading.Event | None = None
) -> WorkloadResponse:
    """Answer many questions under one reservation.

    Everything that would be charged is reserved before the first private row is read; where not all of it fits the
    budget, nothing is. If a part fails once rows could have been read, what was measured until then is charged and
    kept, as is the part itself, and what was not begun is given back.

    Args:
      asking: the pipeline.
      request: the questions.
      cancelled: set by whoever does not want the answers any more.
    Raises: PlannerError, BudgetExhausted and what questions raise, none of them charged; QueryFailed and
      CancelledByClient, charged; NothingFollows, not charged, where nothing may be and something would be.
    """
    planned = _planned(asking, request, cancelled)
    if request.reuse == "only" and planned.wanted:
        raise _not_free(planned)
    answers: dict[int, QueryResponse] = {}
    with after_charges() as charged:
        served = asking.released_together(planned.wanted, charged, cancelled)
        for place, item in planned.items.items():
            with numbered(place):
                answers[place] = _answer(asking, request, item, served, cancelled)
        for grid in planned.grids:
            answers.update(_grid_answers(asking, request, grid, served))
    budget = asking.ledger.budget(request.analyst)
    shares = _charges(planned, served)
    charges = [shares.get(place, (0.0, 0.0)) for place in range(len(request.items))]
    epsilon = sum(one.epsilon for one in served.values())
    delta = sum(one.delta for one in served.values())
    return WorkloadResponse(
        tuple(
            replace(answers[place], epsilon=charge[0], delta=charge[1], budget=budget, request_id=request.request_id)
            for place, charge in enumerate(charges)
        ),
        summary_of(asking, planned, {key: one.epsilon for key, one in served.items()}),
        epsilon,
        delta,
        budget,
        request.request_id,
    )


def _not_free(planned: PlannedWorkload) -> NothingFollows:
    """The refusal of a workload that is to be free, and is not; it names the price."""
    wanted = {one.question.answer_key: one.charge.epsilon for one in planned.wanted}
    return NothingFollows(
        f"these answers are not all paid for: {len(wanted)} would be measured, for epsilon {sum(wanted.values()):g}",
        hint="the data or the policy may be new since they were; with reuse = auto they are measured and charged",
    )


def explain_workload(asking: Asking, request: WorkloadRequest) -> WorkloadExplanation:
    """What a workload would measure, how well its answers would be known, and what it would cost. Charges nothing."""
    planned = _planned(asking, request, None)
    wanted = {one.question.answer_key: one.charge.epsilon for one in planned.wanted}
    delta = sum(one.charge.delta for one in planned.wanted)

    def refused(one: PlannedWorkload) -> ServerError | None:
        return asking.ledger.foreseen([part.charge for part in one.wanted])

    def without_delta() -> ServerError | None:
        return refused(_planned(asking, replace(request, delta=0.0), None))

    return WorkloadExplanation(
        summary_of(asking, planned, wanted),
        sum(wanted.values()),
        delta,
        asking.ledger.budget(request.analyst),
        cannot_pay(refused(planned), delta, without_delta),
    )


def _planned(asking: Asking, request: WorkloadRequest, cancelled: threading.Event | None) -> PlannedWorkload:
    request.check()
    if request.max_relative_error is not None:
        return epsilon_for(asking, request, cancelled)
    epsilon = asking.policy.epsilon if request.epsilon is None else request.epsilon
    return plan_workload(asking, request, epsilon, cancelled)


def _answer(
    asking: Asking,
    request: WorkloadRequest,
    item: PlannedItem,
    served: Mapping[str, Served],
    cancelled: threading.Event | None,
) -> QueryResponse:
    """The answer to a question by itself."""
    match item.found:
        case Kept(question, paid):
            return asking.kept.again(paid).response(question, request.request_id)
        case ToMeasure(question):
            return served[question.answer_key].response(question, request.request_id)
        case ToCompute(composition) if item.charged:
            return asking.compute_from(composition, item.parts, served, item.request, cancelled)
        case found:
            return asking.finish(found, item.request, cancelled)


def _grid_answers(
    asking: Asking, request: WorkloadRequest, grid: PlannedGrid, served: Mapping[str, Served]
) -> Iterator[tuple[int, QueryResponse]]:
    """The answers to questions that count the same, by their places."""
    releases = GridReleases(grid, {mask: _released(asking, one, served) for mask, one in grid.tables.items()})
    by = [keys_of(one.question) for _, one in sorted(grid.tables.items())]
    what = "; ".join(", ".join(keys) or "nothing" for keys in by)
    note = _FROM.format(count=len(by), s="" if len(by) == 1 else "s", what=what)
    cached = all(isinstance(one, Kept) for one in grid.tables.values())
    known: dict[str, tuple[NoisyAnswer, ...]] = {}
    for member in grid.counted.members:
        question: Question = member.question
        noisy = known.get(question.answer_key) or releases.noisy(member)
        known[question.answer_key] = noisy
        shown = response(question.plan, member.domain, noisy, NOBODY, request.request_id)
        yield member.place, replace(shown, notes=(note, *shown.notes), cached=cached)


def _released(asking: Asking, one: Kept | ToMeasure, served: Mapping[str, Served]) -> Released:
    return asking.kept.again(one.paid).released if isinstance(one, Kept) else served[one.question.answer_key].released


def _charges(planned: PlannedWorkload, served: Mapping[str, Served]) -> dict[int, tuple[float, float]]:
    """The charge of each question: equal parts of what was measured for several."""
    users: dict[str, list[int]] = {}
    for place, item in planned.items.items():
        for one in item.measured:
            users.setdefault(one.question.answer_key, []).append(place)
    for grid in planned.grids:
        for one in grid.tables.values():
            users.setdefault(one.question.answer_key, []).extend(member.place for member in grid.counted.members)
    charges: dict[int, tuple[float, float]] = {}
    for key, paid in served.items():
        places = sorted(set(users[key]))
        for place in places:
            epsilon, delta = charges.get(place, (0.0, 0.0))
            charges[place] = epsilon + paid.epsilon / len(places), delta + paid.delta / len(places)
    return charges
