"""Are two join tuples never alike in their owners and group keys? Then there is nothing to merge."""

from __future__ import annotations

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.sensitivity.join_steps import JoinSteps
from planner.sensitivity.provenance import Provenance
from planner.sql.columns import ColumnRef, column_ref


def are_lone(query: BoundQuery, found: Provenance, join_steps: JoinSteps) -> bool:
    """Do the owners and the group keys of a tuple determine its every row, by unique keys without NULL?

    Only speed rests on it: tuples of the same owners may stand side by side or summed up (privacy.md section 2,
    fact 2). A key that is computed from columns, and an owner that is one only where another is absent, do not say
    what the columns hold, so they prove nothing here.

    Cost: linear in the steps of the join, times its rows.
    """
    shown: list[ColumnRef] = [column for owner in found.owners if not owner.orphan_of for column in owner.columns]
    shown += [column_ref(key.value) for key in query.keys if isinstance(key.value, exp.Column)]
    return join_steps.determined_by_values(shown) == join_steps.all_rows()
