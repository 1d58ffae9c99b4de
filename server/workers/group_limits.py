"""What there may be too many groups for, cells of the answer and the range of noise: refused before any charge."""

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
    "ask with a larger epsilon, for fewer columns at a time, or for fewer or coarser groups; or ask the custodian to "
    "declare [groups_per_unit]"
)


def check_groups(
    plan: Plan, query: BackendQuery, measuring: Measuring, read: Callable[[BackendQuery], Domain]
) -> None:
    """Refuse a question whose groups are too many for its columns, or for its epsilon.

    How many groups there are is read, from public tables, only where the largest number would be refused; where
      keys
    are found among private rows it is private, and the largest number decides.
    Raises: StatementTooComplex; InvalidSetting; and whatever reading public tables raises.
    """
    n_groups = _most(plan, query)
    if any(query.domains) and (
        most_groups(plan.columns) < MAX_GROUPS or not is_in_range(plan, query, measuring, n_groups)
    ):
        n_groups = len(read(query))  # it refuses more cells than an answer may have
    check_explained(plan, query, measuring, n_groups)


def check_explained(plan: Plan, query: BackendQuery, measuring: Measuring, n_groups: int) -> None:
    """The same where the number of public groups is known already. Raises: InvalidSetting."""
    if is_in_range(plan, query, measuring, n_groups):
        return
    n_groups = _reached(plan, query, n_groups)
    groups = f"{n_groups:,} group{'s' if n_groups != 1 else ''}"
    columns = f"{len(plan.releases):,} noisy column{'s' if len(plan.releases) != 1 else ''}"
    message = f"epsilon {plan.epsilon:g} is too small for {groups} of {columns}: no such noise can be drawn"
    raise InvalidSetting(message, hint=_WAY_OUT)


def is_in_range(plan: Plan, query: BackendQuery, measuring: Measuring, n_groups: int) -> bool:
    """Can the noise be drawn for so many public groups? Public."""
    try:
        measuring.check_noise(_reached(plan, query, n_groups))
    except InvalidParameter:
        return False
    return True


def _reached(plan: Plan, query: BackendQuery, n_groups: int) -> int:
    """The number of public groups; where some are found among private rows, the most that may be shown."""
    return _most(plan, query) if query.discovered else n_groups


def _most(plan: Plan, query: BackendQuery) -> int:
    """The largest number of groups that may be released, before anything is read."""
    if not plan.group_keys:
        return 1
    declared = [values for values in query.values if values is not None]
    every = len(declared) == len(query.values)
    return math.prod(map(len, declared)) if every else most_groups(plan.columns)
