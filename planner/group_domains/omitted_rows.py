"""Which rows fall into no group: said of the policy and the catalog, not of the rows."""

from __future__ import annotations

from sqlglot import exp

from planner.binding.bound_query import BoundKey
from planner.expressions.datetimes import ALWAYS
from planner.expressions.scalar import Span
from planner.group_domains.column_values import listed_literals
from planner.group_domains.day_conditions import days_left
from planner.group_domains.key_sources import ColumnSources, ColumnValues, KeySources
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
    reasons = []
    for column in key.columns:
        if sources.rows(column[0]) is not None:
            continue
        ways = [*(["NULL"] if _drops_null(column, key, sources) else [])]
        if not itself and sources.is_per_person(column):  # whose values no policy declares: all that there are count
            ways = [] if holds(key.written, exp.Coalesce, exp.Case) else ways
        elif _drops_values(column, key, meant, sources):
            ways.append("not among its declared values")
        elif not itself and (beyond := _beyond(column, sources)) is not None:
            ways.append(f"not from {beyond[0]} to {beyond[1]}")
        if ways:
            reasons.append(f"{sources.name(column)} is {' or '.join(ways)}")
    if not reasons:
        return None
    return f"Rows whose {', or whose '.join(reasons)} {'are' if itself else 'may be'} left out."


def _drops_null(column: ColumnRef, key: BoundKey, sources: KeySources) -> bool:
    shown = key.values is not None and None in key.values
    return not shown and sources.may_be_null(column) and not sources.declared(column).null_group


def _drops_values(column: ColumnRef, key: BoundKey, meant: ColumnSources, sources: KeySources) -> bool:
    """Can the column hold a value that no group stands for? Of moments that are computed with, `_beyond` tells."""
    kind, declared = sources.type_of(column), sources.declared(column)
    if kind.family is Family.BOOL or (declared.domain is None and declared.range is None and declared.dates is None):
        return False
    if column not in meant:
        computed_with = map(column_ref, computed_from(key.written))
        return key.type.family is not Family.BOOL and column in computed_with
    computed = kind.is_moment and declared.domain is None and not isinstance(key.value, exp.Column)
    if computed or not isinstance(meant[column][0], ColumnValues):
        return False
    asked = listed_literals(column, kind, sources.query.predicates)
    return asked is None or declared.domain is None or not set(asked) <= set(declared.domain)


def _beyond(column: ColumnRef, sources: KeySources) -> Span | None:
    """The declared range of a moment, where conditions leave values outside of it: they are in no group."""
    declared = sources.declared(column)
    if not sources.type_of(column).is_moment or declared.dates is None or declared.domain is not None:
        return None
    first, last = days_left(sources.query.predicates, column, ALWAYS)
    return None if declared.dates[0] <= first and last <= declared.dates[1] else declared.dates
