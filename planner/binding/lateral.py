"""Writes LATERAL subqueries that limit or aggregate rows as subqueries of FROM, joined by equality.

    FROM customer c, LATERAL (SELECT o.x FROM orders o WHERE o.customer = c.id AND o.paid ORDER BY o.day LIMIT 2) l
      --> FROM customer c JOIN (SELECT o.x, o.customer AS k, row_number() OVER (PARTITION BY o.customer
            ORDER BY o.day) AS n FROM orders o WHERE o.paid) l ON k = c.id AND n <= 2
    FROM customer c, LATERAL (SELECT count(*) AS n FROM orders o WHERE o.customer = c.id) l
      --> FROM customer c LEFT JOIN (SELECT count(*) AS n, o.customer AS k FROM orders o GROUP BY o.customer) l
            ON k = c.id

The rows that the subquery finds beside a row are those whose columns equal the row's. So they are one partition, or
one group, of all its rows. A count over no row is zero, which a LEFT JOIN leaves NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from planner.binding.bound_query import PersonTable
from planner.binding.limit_offset import row_count
from planner.binding.scope import Source
from planner.binding.windowed_rows import first_rows, meant
from planner.errors import UnsupportedSQL
from planner.expressions.predicates import conjuncts
from planner.sql.trees import aggregates, bound_column, columns_of, conjunction, copied, rebuilt, select_within

_HINT = "compare its rows with those before it by =, or write a window function in a subquery of FROM"


@dataclass(frozen=True)
class Decorrelated:
    """A LATERAL subquery as a subquery of FROM.

    Attributes:
      select: the subquery.
      conditions: those of the join, over columns of the subquery that nobody can name and over the names around it.
      one_row: does it aggregate without groups, so that there is always one row?
    """

    select: exp.Select
    conditions: tuple[exp.Expr, ...]
    one_row: bool


def lateral_select(node: exp.Lateral) -> exp.Select:
    """Return the SELECT of a LATERAL subquery. Raises: UnsupportedSQL for anything else."""
    select = select_within(node.this)
    if select is None:
        raise UnsupportedSQL("LATERAL takes a subquery", hint="write LATERAL (SELECT ...)", at=node)
    return select


def only_joins(select: exp.Select) -> bool:
    """Does it select, project and join only?"""
    parts = ("group", "having", "distinct", "limit", "offset", "fetch")
    return not any(map(select.args.get, parts)) and not any(
        True for item in select.expressions for _ in aggregates(item)
    )


def decorrelated(select: exp.Select, name: str | None, is_own: Callable[[exp.Column], bool]) -> Decorrelated:
    """Write a LATERAL subquery that limits or aggregates rows as a subquery of FROM.

    Args:
      name: its alias.
      is_own: does a column belong to the tables of the subquery?
    Raises: UnsupportedSQL if it reads the rows before it other than by =.
    """
    outside = next(
        (one for item in select.expressions for one in columns_of(item) if not _is_inside(one, is_own)), None
    )
    if outside is not None or first_rows(select) is not None:
        message = "this select list of a LATERAL subquery is not supported"
        raise UnsupportedSQL(
            message, hint="select columns of its own tables, without DISTINCT ON", at=outside or select
        )
    own, pairs = _conditions(select, is_own)
    made = copied(select)
    for part in ("order", "limit", "offset", "fetch", "where"):
        made.set(part, None)
    clause = conjunction(own)
    if clause is not None:
        made.set("where", exp.Where(this=clause))

    def hidden(value: exp.Expr, number: int) -> exp.Column:
        """Select a value under a name that nobody can write."""
        column = f"\0lateral {number}"
        made.append("expressions", exp.alias_(copied(value), column, quoted=True))
        return exp.column(column, table=name, quoted=True)

    keys = [inside for inside, _ in pairs]
    joined: list[exp.Expr] = [
        exp.EQ(this=hidden(inside, number), expression=copied(around))
        for number, (inside, around) in enumerate(pairs)
    ]
    total = any(True for item in select.expressions for _ in aggregates(item))
    group = made.args.get("group")
    if any(map(select.args.get, ("limit", "offset", "fetch"))):
        if total or group is not None or select.args.get("distinct") is not None:
            hint = "leave LIMIT out, and filter the groups by HAVING"
            raise UnsupportedSQL("LIMIT on groups in a LATERAL subquery is not supported", hint=hint, at=select)
        place = hidden(_place(select, keys), len(pairs))
        limit, offset = row_count(select, "limit"), row_count(select, "offset") or 0
        joined += [exp.GT(this=place, expression=exp.Literal.number(offset))] if offset else []
        joined += [exp.LTE(this=place, expression=exp.Literal.number(offset + limit))] if limit is not None else []
    elif total or group is not None:
        by = [] if group is None else group.expressions
        made.set("group", exp.Group(expressions=[*by, *map(copied, keys)]))
    return Decorrelated(made, tuple(joined), one_row=total and group is None)


def _is_inside(column: exp.Column, is_own: Callable[[exp.Column], bool]) -> bool:
    return isinstance(column.this, exp.Star) or is_own(column)


def _conditions(
    select: exp.Select, is_own: Callable[[exp.Column], bool]
) -> tuple[list[exp.Expr], list[tuple[exp.Expr, exp.Expr]]]:
    """The conditions of WHERE on the subquery's own rows, and the equalities with those around it."""
    where = select.args.get("where")
    own, pairs = [], []
    for part in [] if where is None else conjuncts(where.this):
        pair = _pair(part, is_own)
        if all(map(is_own, columns_of(part))):
            own.append(copied(part))
        elif pair is not None:
            pairs.append(pair)
        else:
            raise UnsupportedSQL("this condition of a LATERAL subquery is not supported", hint=_HINT, at=part)
    return own, pairs


def _place(select: exp.Select, keys: Sequence[exp.Expr]) -> exp.Window:
    """The place of a row among those that the subquery finds."""
    place = exp.Window(this=exp.RowNumber(), partition_by=list(map(copied, keys)), over="OVER")
    order = select.args.get("order")
    if order is not None:
        items = [rebuilt(one, copied) for one in order.expressions]
        for item in items:
            item.set("this", meant(item.this, select))
        place.set("order", exp.Order(expressions=items))
    return place


def _pair(part: exp.Expr, is_own: Callable[[exp.Column], bool]) -> tuple[exp.Expr, exp.Expr] | None:
    """The side of an equality that reads the subquery's rows, and the side that reads those around it."""
    if not isinstance(part, exp.EQ):
        return None
    for inside, around in ((part.this, part.expression), (part.expression, part.this)):
        read = columns_of(inside)
        if read and all(map(is_own, read)) and not any(map(is_own, columns_of(around))):
            return inside, around
    return None


def counted_from_zero(source: Source, person: PersonTable) -> Source:
    """Return a LATERAL subquery without groups, whose counts are zero where a LEFT JOIN finds none of its rows."""
    counts = {one.column.name for one in person.columns if isinstance(one.value, exp.Count)}

    def counted(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            zero = [exp.Literal.number(0)]
            return exp.Coalesce(this=node, expressions=zero) if node.name in counts else node
        return rebuilt(node, counted)

    columns = {
        name: counted(bound_column(*meaning) if isinstance(meaning, tuple) else meaning)
        for name, meaning in source.columns.items()
        if meaning is not None
    }
    return replace(source, columns=columns)
