"""Plan, reserve, measure and answer a workload; or explain it before any charge."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

from server.answers.counted_grid import alone_scale
from server.answers.decide import Deciding
from server.answers.explained import cannot_pay
from server.answers.grid_answers import half_width, keys_of
from server.answers.run import Running
from server.answers.work import Cached, Estimated, Measure, key_of, leaves
from server.answers.workload.by_accuracy import epsilon_for
from server.answers.workload.plan_workload import PlannedItem, PlannedWorkload, numbered, plan_workload
from server.answers.workload.workload import (
    MeasuredPart,
    QueryPlanned,
    WorkloadExplanation,
    WorkloadRequest,
    WorkloadResponse,
    WorkloadSummary,
)
from server.errors import NotDerivable, ServerError
from server.planning import Planning
from server.postprocessing.computed_response import after_charges
from server.query import QueryResponse
from server.question import Question

_TAIL = math.log(20)


def summary_of(planning: Planning, planned: PlannedWorkload, charged: Mapping[str, float]) -> WorkloadSummary:
    """Summarise how a workload is answered.

    Args:
      charged: by answer key, the epsilon that a part is charged now.
    """
    measured = _measured(planned, charged)
    queries: dict[int, QueryPlanned] = {}
    for place, item in planned.items.items():
        if isinstance(item.work, Estimated):
            queries[place] = _together(planned, item.work)
        else:
            queries[place] = _by_itself(planning, planned, item)
    return WorkloadSummary(
        math.fsum(one.epsilon for one in measured),
        math.fsum(one.delta for one in measured),
        measured,
        tuple(queries[place] for place in sorted(queries)),
        _known(planned.allocation.mean),
        _known(planned.allocation.worst),
        _strategy(planned, measured),
    )


def _known(ratio: float) -> float | None:
    return ratio if math.isfinite(ratio) else None


def _measured(planned: PlannedWorkload, charged: Mapping[str, float]) -> tuple[MeasuredPart, ...]:
    """Return every part once, with the questions answered from it."""
    users: dict[str, set[int]] = {}
    parts: dict[str, Question] = {}
    for place, item in planned.items.items():
        for one in item.measured:
            parts.setdefault(key_of(one), one.question)
            users.setdefault(key_of(one), set()).add(place)
    return tuple(
        MeasuredPart(
            keys_of(question),
            question.plan.epsilon,
            question.plan.delta,
            charged.get(key, 0.0),
            tuple(place + 1 for place in sorted(users[key])),
        )
        for key, question in parts.items()
    )


def _by_itself(planning: Planning, planned: PlannedWorkload, item: PlannedItem) -> QueryPlanned:
    epsilon = math.fsum(one.question.plan.epsilon for one in item.measured)
    if not item.measured:
        return QueryPlanned("free", 0.0)
    half = None
    if isinstance(item.work, Cached | Measure):
        half = _announced(planning, item.work.question, planned.request.analyst)
    alone = None if half is None or not planned.epsilon else half * epsilon * planned.n_charged / planned.epsilon
    return QueryPlanned("alone", epsilon, half, alone, item.why)


def _announced(planning: Planning, question: Question, analyst: str) -> float | None:
    """Return half the interval of the first column, where there is one threshold and the groups are public."""
    plan = question.plan
    if not plan.releases or plan.selection is not None:
        return None
    domain = planning.groups_of(question, analyst)
    widths = question.measuring.of_groups(domain).releases[0].expected_noise(max(1, len(domain)))
    return widths[0][1] * plan.releases[0].weight_bound if len(widths) == 1 else None


def _together(planned: PlannedWorkload, work: Estimated) -> QueryPlanned:
    counted, member = work.counted, work.member
    scales = {mask: counted.measurable[mask].scale / one.question.plan.epsilon for mask, one in work.tables.items()}
    weight_bound = member.question.plan.releases[0].weight_bound
    once = alone_scale(member) * _TAIL * weight_bound
    half = half_width(counted, scales, counted.mask(member.marginal.axes)) * weight_bound
    alone = once * planned.n_charged / planned.epsilon if planned.epsilon else None
    return QueryPlanned("together", once / half, half, alone)


def _strategy(planned: PlannedWorkload, measured: tuple[MeasuredPart, ...]) -> str:
    works = [item.work for item in planned.items.values() if isinstance(item.work, Estimated)]
    together, parts = len(works), len({key_of(one) for work in works for one in leaves(work)})
    apart = [item for item in planned.items.values() if not isinstance(item.work, Estimated)]
    paid = sum(bool(item.measured) and all(isinstance(one, Cached) for one in item.measured) for item in apart)
    alone = sum(bool(item.measured) for item in apart) - paid
    free = len(apart) - alone - paid
    said = []
    if together:
        said.append(
            f"{together} questions count the same rows by other keys and are estimated together from {parts} "
            f"measured grouping{'' if parts == 1 else 's'}"
        )
    if alone:
        said.append(f"{alone} {'is' if alone == 1 else 'are'} asked alone")
    if paid:
        said.append(f"{paid} {'is' if paid == 1 else 'are'} paid for")
    if free:
        said.append(f"{free} {'is' if free == 1 else 'are'} free")
    mean = planned.allocation.mean
    gain = f"; errors are {mean:.2g} times those of separate questions" if together else ""
    return f"{'; '.join(said)}{gain}." if measured or said else "Nothing is asked."


def answer_workload(
    running: Running, request: WorkloadRequest, cancelled: threading.Event | None = None
) -> WorkloadResponse:
    """Answer many questions under one reservation.

    Every charge is reserved before the first private row is read. Without budget for all of them, nothing is charged.
    If a part fails after private rows could have been read, earlier parts and this one stay charged, and later
    reservations are given back.

    Raises: without a charge: PlannerError, BudgetExhausted, NotDerivable, and what single questions raise. After a
      charge: QueryFailed and CancelledByClient.
    """
    planning = running.deciding.planning
    planned = _planned(running.deciding, request, cancelled)
    if request.reuse == "only" and planned.wanted:
        raise _not_free(planned)
    answers: dict[int, QueryResponse] = {}
    with after_charges() as charged:
        served = running.served(planned.wanted, charged, cancelled)
        for place, item in planned.items.items():
            with numbered(place):
                answers[place] = running.show(item.work, served, item.request, cancelled)
    budget = planning.ledger.budget(request.analyst)
    summary = summary_of(planning, planned, {key: one.epsilon for key, one in served.items()})
    epsilon = sum(one.epsilon for one in served.values())
    delta = sum(one.delta for one in served.values())
    return WorkloadResponse(
        tuple(
            replace(answers[place], epsilon=charge[0], delta=charge[1], budget=budget, request_id=request.request_id)
            for place, charge in enumerate(_charges(summary.measured, len(request.items)))
        ),
        summary,
        epsilon,
        delta,
        budget,
        request.request_id,
    )


def _not_free(planned: PlannedWorkload) -> NotDerivable:
    """Return the refusal, with the price, of a workload that must be free and is not."""
    wanted = planned.wanted.values()
    epsilon = sum(one.charge.epsilon for one in wanted)
    return NotDerivable(
        f"{len(wanted)} of these answers would have to be measured, for epsilon {epsilon:g}",
        hint="with reuse = auto they are measured and charged; data or policy may have changed since you paid",
    )


def explain_workload(deciding: Deciding, request: WorkloadRequest) -> WorkloadExplanation:
    """Explain what a workload measures, how precise its answers are, and its price. Charges nothing."""
    planned, ledger = _planned(deciding, request, None), deciding.planning.ledger
    wanted = {key: one.charge.epsilon for key, one in planned.wanted.items()}
    delta = sum(one.charge.delta for one in planned.wanted.values())

    def refused(one: PlannedWorkload) -> ServerError | None:
        return ledger.budget_check([part.charge for part in one.wanted.values()])

    def without_delta() -> ServerError | None:
        return refused(_planned(deciding, replace(request, delta=0.0), None))

    return WorkloadExplanation(
        summary_of(deciding.planning, planned, wanted),
        sum(wanted.values()),
        delta,
        ledger.budget(request.analyst),
        cannot_pay(refused(planned), delta, without_delta),
    )


def _planned(deciding: Deciding, request: WorkloadRequest, cancelled: threading.Event | None) -> PlannedWorkload:
    request.check()
    if request.max_relative_error is not None:
        return epsilon_for(deciding, request, cancelled)
    epsilon = deciding.planning.policy.epsilon if request.epsilon is None else request.epsilon
    return plan_workload(deciding, request, epsilon, cancelled)


def _charges(measured: Sequence[MeasuredPart], count: int) -> list[tuple[float, float]]:
    """Return the epsilon and delta of each question: equal shares of each part."""
    charges = [(0.0, 0.0)] * count
    for part in measured:
        for number in part.queries if part.charged else ():
            (epsilon, delta), n_shares = charges[number - 1], len(part.queries)
            charges[number - 1] = epsilon + part.charged / n_shares, delta + part.delta / n_shares
    return charges
