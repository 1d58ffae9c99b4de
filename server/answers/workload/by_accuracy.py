"""Find the least epsilon for a workload with an accuracy target, from answers that the analyst has."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from planner.planning.answer_times import rounded_up
from planner.released_expression import KeyValue, ReleasedValue
from privacy.marginals import best_shares
from server.answers.counted_grid import Allocation, CountedGrid, GridStrategy
from server.answers.decide import Deciding
from server.answers.grid_answers import estimated, half_width
from server.answers.proposals.accuracy import Accuracy
from server.answers.proposals.expectation import known_answer
from server.answers.proposals.propose import propose
from server.answers.released import Released
from server.answers.work import Cached
from server.answers.workload.plan_workload import (
    LookedUp,
    PlannedItem,
    PlannedWorkload,
    estimates,
    look_up,
    numbered,
    shared_out,
)
from server.answers.workload.workload import WorkloadRequest
from server.errors import NoProposal

_TAIL = math.log(20)
_ASK_FIRST = "ask the workload once with a small epsilon; its answers then show what it needs"


def epsilon_for(deciding: Deciding, request: WorkloadRequest, cancelled: threading.Event | None) -> PlannedWorkload:
    """Plan a workload whose intervals end within a share of their values.

    A relative error depends on values. They come from the analyst's own answers about this data version. Where these
    are precise enough, nothing is spent.

    Raises: NoProposal where a value is not known, or no permitted epsilon is enough; as `plan_workload`.
    """
    wished = request.max_relative_error
    assert wished is not None, "the request has one"
    looked = look_up(deciding, request, deciding.planning.policy.epsilon, cancelled)
    known = [_known(deciding, one) for one in looked.grids]
    spent: dict[int, float] = {}
    for place in looked.alone(looked.grids):
        with numbered(place):
            spent[place] = propose(deciding.planning, request.of(place), Accuracy(max_relative_error=wished)).epsilon
    used, of_grids = [], []
    done: dict[int, PlannedItem] = {}
    for counted, tables in zip(looked.grids, known, strict=True):
        limits = _limits(counted, tables, wished)
        reached = _scales(tables)
        if all(half_width(counted, reached, mask) <= limit for mask, limit in limits.items()):
            done |= estimates(counted, {mask: cached for mask, (cached, _) in tables.items()})
            continue
        strategy = best_shares(counted.grid, counted.scales, {mask: limit**2 for mask, limit in limits.items()}, None)
        scales = {mask: counted.measurable[mask].scale / share for mask, share in strategy.shares.items()}
        needs = max(half_width(counted, scales, mask) / limit for mask, limit in limits.items())
        used.append(GridStrategy(counted, strategy, strategy.worst))
        of_grids.append(rounded_up(needs))
        most = deciding.planning.policy.max_epsilon
        if max(strategy.shares.values()) * needs > most:
            message = f"some grouping would need more than {most:g}, the most that one query may ask for"
            raise NoProposal(message, hint="ask for less accuracy, or about fewer or larger groups")
    return _planned(deciding, looked, spent, used, of_grids, done)


def _planned(
    deciding: Deciding,
    looked: LookedUp,
    spent: Mapping[int, float],
    used: list[GridStrategy],
    of_grids: list[float],
    done: Mapping[int, PlannedItem],
) -> PlannedWorkload:
    """Plan with these epsilons. Grids that are known well enough are answered from the cache."""
    whole = math.fsum([*spent.values(), *of_grids])
    share = 1 / whole if whole else 0.0
    count = len(spent) + sum(one.counted.n_questions for one in used)
    apart = math.fsum(spent.values())
    for one, epsilon in zip(used, of_grids, strict=True):
        apart += _apart(one, epsilon)
    worst = whole / apart if apart else 1.0
    shares = Allocation(
        {place: epsilon * share for place, epsilon in spent.items()},
        tuple(epsilon * share for epsilon in of_grids),
        worst,
        worst,
        count,
    )
    planned = shared_out(deciding, looked, used, shares, whole)
    items = {place: item for place, item in planned.items.items() if place not in done}
    return replace(planned, items={**items, **done})


def _apart(one: GridStrategy, epsilon: float) -> float:
    """Return the epsilon that a grid's questions need alone, for the same precision."""
    counted = one.counted
    scales = {mask: counted.measurable[mask].scale / (share * epsilon) for mask, share in one.strategy.shares.items()}
    masks = {counted.mask(member.marginal.axes) for member in counted.members}
    return math.fsum(counted.measurable[mask].scale * _TAIL / half_width(counted, scales, mask) for mask in masks)


Known = Mapping[int, tuple[Cached, Released]]


def _known(deciding: Deciding, counted: CountedGrid) -> Known:
    """Return the analyst's newest answers to the marginals of a grid, by mask."""
    tables: dict[int, tuple[Cached, Released]] = {}
    for mask, one in counted.measurable.items():
        question = deciding.planning.of_bound(one.bound, one.request, policy=one.policy)
        known = known_answer(deciding.planning.ledger, one.request.analyst, question.plan_hash)
        cached = None if known is None else deciding.as_before(known, question, one.request, one.policy)
        if known is not None and cached is not None:
            tables[mask] = cached, known.released
    return tables


def _limits(counted: CountedGrid, tables: Known, wished: float) -> dict[int, float]:
    """Return how wide half an interval of each question may be, in normalised weight, by its smallest known value."""
    limits: dict[int, float] = {}
    if not tables:
        raise NoProposal("a relative error depends on values that have not been released to you", hint=_ASK_FIRST)
    released = {mask: one for mask, (_, one) in tables.items()}
    scales = _scales(tables)
    for member in counted.members:
        mask = counted.mask(member.marginal.axes)
        with numbered(member.place):
            if not all(
                isinstance(one.expression, KeyValue | ReleasedValue) for one in member.question.plan.display.outputs
            ):
                hint = "ask for those counts and sums, or give epsilon instead of the accuracy"
                message = "an accuracy can be asked only of counts and sums, not of what is computed from them"
                raise NoProposal(message, hint=hint)
            if not math.isfinite(half_width(counted, scales, mask)):
                raise NoProposal("the question cannot be derived from what was released to you", hint=_ASK_FIRST)
            least = min(float(np.abs(one.values).min(initial=np.inf)) for one in estimated(counted, released, member))
            if not least > 0 or math.isinf(least):
                hint = "ask for fewer or larger groups, or give epsilon"
                raise NoProposal("a released value is 0, so it has no relative error", hint=hint)
        limits[mask] = min(limits.get(mask, math.inf), wished * least)
    return limits


def _scales(tables: Known) -> dict[int, float]:
    return {mask: float(released.noisy[0].noise_scale[0]) for mask, (_, released) in tables.items()}
