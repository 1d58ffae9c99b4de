"""Rule: write a flat list of tables and conditions as inner joins, each condition where it can first be tested."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.binding.bound_query import BoundTable
from planner.sql.columns import column_ref
from planner.sql.sql_nodes import ROWS, add_conditions, conjunction, table_sql
from planner.sql.trees import columns_of, copied, quoted


def join_tables(tables: Sequence[BoundTable], predicates: Sequence[exp.Expr]) -> exp.Select:
    """FROM and WHERE of a join, without a select list.

    Conditions over several tables become ON of the last of them: PostgreSQL plans explicit joins in the
    written order when they are many, and a cross product early in that order would be ruinous.

    >>> from sqlglot import parse_one
    >>> from planner.schema import Table
    >>> a, b = (BoundTable(name, name, Table(name, "public", (), (), ())) for name in "ab")
    >>> on, where = parse_one("a.x = b.y"), parse_one("a.z = 1")
    >>> join_tables([a, b], [on, where]).sql("postgres")
    'SELECT FROM "public"."a" AS "a" INNER JOIN "public"."b" AS "b" ON a.x = b.y WHERE a.z = 1'
    """
    first, *others = tables
    select = exp.Select(from_=exp.From(this=_entry_sql(first)))
    used = [({column_ref(column)[0] for column in columns_of(predicate)}, predicate) for predicate in predicates]
    seen, waiting = {first.alias}, [pair for pair in used if len(pair[0]) > 1]
    for entry in others:
        seen.add(entry.alias)
        if entry.outer is not None:  # its rows pass or are NULL; what WHERE asks of them is asked after the joins
            matches = conjunction(entry.outer) or exp.true()
            select.append("joins", exp.Join(this=_entry_sql(entry), side="LEFT", on=matches))
            continue
        ready = [predicate for aliases, predicate in waiting if aliases <= seen]
        waiting = [(aliases, predicate) for aliases, predicate in waiting if not aliases <= seen]
        condition = conjunction(ready)
        kind = "INNER" if ready else "CROSS"
        select.append("joins", exp.Join(this=_entry_sql(entry), kind=kind, on=condition))
    late = [predicate for _, predicate in waiting]
    add_conditions(select, late + [predicate for aliases, predicate in used if len(aliases) < 2])
    return select


def _entry_sql(entry: BoundTable) -> exp.Table | exp.Subquery:
    """A base table, or the rows of a per-person table."""
    if entry.rows is None:
        return table_sql(entry.table, entry.alias)
    subquery = exp.Subquery(this=copied(entry.rows), alias=exp.TableAlias(this=quoted(entry.alias)))
    subquery.meta[ROWS] = entry.table
    return subquery
