"""Refuse, before any charge, questions with too many groups for an answer's cells or for the range of noise."""

from __future__ import annotations

import math
from collections.abc import Callable

from planner.errors import InvalidSetting
from planner.limits import MAX_GROUPS, most_groups
from planner.plan import BackendQuery, Plan
from privacy.errors import InvalidParameter
from server.backends.columns import Domain
from server.workers.measure import Measuring

_WAY_OUT = (
    "use a larger epsilon, fewer columns, or fewer or coarser groups; or ask the administrator to declare"
    " [groups_per_unit]"
)


def check_groups(
    plan: Plan, query: BackendQuery, measuring: Measuring, read: Callable[[BackendQuery], Domain]
) -> None:
    """Refuse a question with too many groups for its columns or its epsilon.

    The number of groups is read from public tables only if the largest possible number would be refused. For groups
    selected from private rows the number is private, and the largest possible number decides.
    Raises: StatementTooComplex; InvalidSetting; as `read`.
    """
    n_groups = _most(plan, query)
    if any(query.domains) and (
        most_groups(plan.columns) < MAX_GROUPS or not is_in_range(plan, query, measuring, n_groups)
    ):
        n_groups = len(read(query))  # refuses more cells than an answer may have
    check_explained(plan, query, measuring, n_groups)


def check_explained(plan: Plan, query: BackendQuery, measuring: Measuring, n_groups: int) -> None:
    """The same with a known number of public groups. Raises: InvalidSetting."""
    if is_in_range(plan, query, measuring, n_groups):
        return
    n_groups = _reached(plan, query, n_groups)
    groups = f"{n_groups:,} group{'s' if n_groups != 1 else ''}"
    columns = f"{len(plan.releases):,} noisy column{'s' if len(plan.releases) != 1 else ''}"
    message = f"epsilon {plan.epsilon:g} is too small for {groups} of {columns}: the noise would exceed its range"
    raise InvalidSetting(message, hint=_WAY_OUT)


def is_in_range(plan: Plan, query: BackendQuery, measuring: Measuring, n_groups: int) -> bool:
    """Whether noise can be drawn for so many public groups. Public."""
    try:
        measuring.check_noise(_reached(plan, query, n_groups))
    except InvalidParameter:
        return False
    return True


def _reached(plan: Plan, query: BackendQuery, n_groups: int) -> int:
    """The number of public groups; for selected groups, the most that may be shown."""
    return _most(plan, query) if query.discovered else n_groups


def _most(plan: Plan, query: BackendQuery) -> int:
    """The largest number of groups that a question may release, before any read."""
    if not plan.group_keys:
        return 1
    declared = [values for values in query.values if values is not None]
    every = len(declared) == len(query.values)
    return math.prod(map(len, declared)) if every else most_groups(plan.columns)
