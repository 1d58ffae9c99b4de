"""What a workload measures, what each answer follows from, how well it will be known: before any charge."""

from __future__ import annotations

import math
from collections.abc import Mapping

from server.backends.columns import Domain
from server.found import Kept, ToMeasure
from server.question import Question
from server.workload.allocate import alone_scale
from server.workload.asking import Asking
from server.workload.grid_answers import half_width
from server.workload.plan_workload import PlannedGrid, PlannedItem, PlannedWorkload
from server.workload.workload import MeasuredPart, QueryPlanned, WorkloadSummary

_TAIL = math.log(20)


def summary_of(asking: Asking, planned: PlannedWorkload, charged: Mapping[str, float]) -> WorkloadSummary:
    """Say how a workload is answered.

    Args:
      asking: knows the groups.
      planned: the workload.
      charged: by answer key, the epsilon that is charged for a part now.
    """
    measured = _measured(planned, charged)
    queries: dict[int, QueryPlanned] = {}
    for place, item in planned.items.items():
        queries[place] = _by_itself(asking, planned, item)
    for grid in planned.grids:
        queries.update(_together(planned, grid))
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


def keys_of(question: Question) -> tuple[str, ...]:
    """SQL of the group keys of a question."""
    return tuple(key.key.sql() for key in question.plan.group_keys)


def _measured(planned: PlannedWorkload, charged: Mapping[str, float]) -> tuple[MeasuredPart, ...]:
    """Every part once, with the questions that follow from it."""
    users: dict[str, set[int]] = {}
    parts: dict[str, Question] = {}
    pairs = [(one, [place]) for place, item in planned.items.items() for one in item.measured]
    for grid in planned.grids:
        places = [member.place for member in grid.counted.members]
        pairs += [(one, places) for one in grid.tables.values()]
    for one, places in pairs:
        key = one.question.answer_key
        parts.setdefault(key, one.question)
        users.setdefault(key, set()).update(places)
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


def _by_itself(asking: Asking, planned: PlannedWorkload, item: PlannedItem) -> QueryPlanned:
    epsilon = math.fsum(one.question.plan.epsilon for one in item.measured)
    if not item.charged:
        return QueryPlanned("free", 0.0)
    half = None
    if isinstance(item.found, Kept | ToMeasure):
        half = _announced(asking, item.found.question, planned.request.analyst)
    alone = None if half is None or not planned.epsilon else half * epsilon * planned.n_charged / planned.epsilon
    return QueryPlanned("alone", epsilon, half, alone, item.why)


def _announced(asking: Asking, question: Question, analyst: str) -> float | None:
    """Half of its first column's interval, where there is one threshold and the groups are public."""
    plan = question.plan
    if not plan.releases or plan.selection is not None:
        return None
    domain = asking.groups(question.query, analyst) if plan.group_keys else Domain(())
    widths = question.measuring.of_groups(domain).releases[0].expected_noise(max(1, len(domain)))
    return widths[0][1] * plan.releases[0].weight_bound if len(widths) == 1 else None


def _together(planned: PlannedWorkload, grid: PlannedGrid) -> dict[int, QueryPlanned]:
    counted = grid.counted
    scales = {mask: counted.measurable[mask].scale / one.question.plan.epsilon for mask, one in grid.tables.items()}
    found = {}
    for member in counted.members:
        mask = counted.mask(member.marginal.axes)
        weight_bound = member.question.plan.releases[0].weight_bound
        once = alone_scale(member) * _TAIL * weight_bound
        half = half_width(counted, scales, mask) * weight_bound
        alone = once * planned.n_charged / planned.epsilon if planned.epsilon else None
        found[member.place] = QueryPlanned("together", once / half, half, alone)
    return found


def _strategy(planned: PlannedWorkload, measured: tuple[MeasuredPart, ...]) -> str:
    together = sum(len(grid.counted.members) for grid in planned.grids)
    paid = sum(
        item.charged and all(isinstance(one, Kept) for one in item.measured) for item in planned.items.values()
    )
    alone = sum(item.charged for item in planned.items.values()) - paid
    free = len(planned.items) - alone - paid
    parts = sum(len(grid.tables) for grid in planned.grids)
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
    gain = f"; errors are {mean:.2g} of what they would be if each were asked alone" if together else ""
    return f"{'; '.join(said)}{gain}." if measured or said else "Nothing is asked."
