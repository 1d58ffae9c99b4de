"""What is said of answers about closed periods that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.group_domains.day_conditions import Run
from planner.periods.period_scope import PeriodScope
from server.periods.noted_periods import NotedPeriods

SOME_KEPT = (
    "{kept} of {groups} groups are kept from earlier loads of the data ({which}): rows of {table} that are closed by "
    "{column} have not changed since, as the custodian has checked. {rest}"
)
ALL_KEPT = (
    "This answer is kept from an earlier load of the data ({which}): rows of {table} that are closed by {column} "
    "have not changed since, as the custodian has checked. It is free."
)
REST = "The others were measured over the data of version {version}, and the charge is for them alone."
PARTLY_KEPT = (
    "Parts of {kept} of {groups} groups are kept from earlier loads of the data ({which}): rows of {table} that are "
    "closed by {column} have not changed since, as the custodian has checked. The other days were measured over the "
    "data of version {version}, and the charge is for them alone."
)
CUT_TOGETHER = (
    "What people add to the kept groups was cut together with rows of groups that were open then: the values are "
    "answers about the same rows, cut as they were at that load."
)
_REOPENED = "The custodian has called changed, or would not vouch for: {which}. They were measured anew."
_SHOWN = 12


def reopened_notes(noted: NotedPeriods, scope: PeriodScope, days: Sequence[Run]) -> Iterator[str]:
    """Which of the days that were measured the custodian has reopened; nothing where none was."""
    reopened = noted.reopened_within(scope, days) if days else ()
    if reopened:
        yield _REOPENED.format(which=", ".join(f"{period} (at version {at})" for period, at in reopened[-_SHOWN:]))
