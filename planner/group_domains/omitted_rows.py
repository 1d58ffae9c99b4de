"""Which rows fall into no group: said of the policy and the catalog, not of the rows."""

from __future__ import annotations

from collections.abc import Set

from sqlglot import exp

from planner.binding.bound_query import BoundKey
from planner.group_domains.column_values import listed_literals
from planner.group_domains.key_sources import ColumnSources, ColumnValues, KeySources
from planner.group_domains.rows_in_groups import days_beyond, may_be_beyond
from planner.sql.columns import ColumnRef, column_ref, computed_from
from planner.sql.sql_types import Family
from planner.sql.trees import holds


def omitted_rows(key: BoundKey, meant: ColumnSources, sources: KeySources) -> str | None:
    """One sentence about the rows that a key's domain leaves out; None where every row has a group.

    Args:
      key: bound.
      meant: the sources of its columns; empty where its values follow from the expression or the policy.
      sources: of the query.
    """
    itself = isinstance(key.value, exp.Column)
    if itself and sources.rows(key.columns[0][0]) is None and sources.declared(key.columns[0]).other is not None:
        return None
    computed = frozenset() if itself else frozenset(map(column_ref, computed_from(key.written)))
    reasons = []
    for column in key.columns:
        if sources.rows(column[0]) is not None:
            continue
        ways = [*(["NULL"] if _drops_null(column, key, sources) else [])]
        if not itself and sources.is_per_person(column):  # whose values no policy declares: all that there are count
            ways = [] if holds(key.written, exp.Coalesce, exp.Case) else ways
        elif _drops_values(column, key, meant, computed, sources):
            ways.append("not among its declared values")
        elif not itself and (column in meant or column in computed):
            beyond = days_beyond(column, sources)
            ways += [] if beyond is None else [f"not from {beyond[0]} to {beyond[1]}"]
        if ways:
            reasons.append(f"{sources.name(column)} is {' or '.join(ways)}")
    if not reasons:
        return None
    return f"Rows whose {', or whose '.join(reasons)} {'are' if itself else 'may be'} left out."


def _drops_null(column: ColumnRef, key: BoundKey, sources: KeySources) -> bool:
    shown = key.values is not None and None in key.values
    return not shown and sources.may_be_null(column) and not sources.declared(column).null_group


def _drops_values(
    column: ColumnRef, key: BoundKey, meant: ColumnSources, computed: Set[ColumnRef], sources: KeySources
) -> bool:
    """Can the column hold a value that no group stands for? Of moments that are computed with, `days_beyond` tells.

    Args:
      column, key, meant, sources: as of `omitted_rows`.
      computed: the columns that the key is computed from, which must be in their range.
    """
    kind, declared = sources.type_of(column), sources.declared(column)
    if kind.family is Family.BOOL or (declared.domain is None and declared.range is None and declared.dates is None):
        return False
    if kind.is_moment and declared.domain is None and not isinstance(key.value, exp.Column):
        return False
    if column in computed and may_be_beyond(column, sources):
        return True
    if column not in meant:
        return column in computed and declared.domain is not None
    if not isinstance(meant[column][0], ColumnValues):
        return False
    asked = listed_literals(column, kind, sources.query.predicates)
    return asked is None or declared.domain is None or not set(asked) <= set(declared.domain)
