"""Rule: enumerate the possible groups, so that an empty group is a row like any other.

The statement lists a private column's possible values in place of its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from planner.binding.bound_query import BoundTable, column_type
from planner.group_domains.column_values import BaseValues
from planner.limits import MAX_GROUPS
from planner.rewriting.join_tables import entry_sql, join_tables
from planner.schema import Column, Table
from planner.sql.literals import number_sql, value_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import (
    DECLARED,
    add_conditions,
    bound_column,
    cast_sql,
    conjunction,
    copied,
    named_sql,
)

MATCHED = "there"
"""A derived table and its column: 0 if a LEFT JOIN finds no row, 1 if it may find one."""

_TYPES = {
    Family.INTEGER: "BIGINT",
    Family.TEXT: "TEXT",
    Family.ENUM: "TEXT",
    Family.BOOL: "BOOLEAN",
    Family.DATE: "DATE",
    Family.TIMESTAMP: "TIMESTAMP",
    Family.TIMESTAMPTZ: "TIMESTAMP",
}


def list_values(alias: str, table: Table, columns: Sequence[tuple[str, BaseValues, bool]]) -> exp.Subquery:
    """Every combination of values of a private table's columns, under the table's alias, without reading its rows.

    `columns` are name, values, and whether NULL is one more value.

    >>> table = Table("visit", "s", (Column("status", "text", False),), (), ())
    >>> print(list_values("o", table, [("status", BaseValues(("F", "O")), False)]).sql("postgres"))
    (SELECT CAST("v0"."v" AS TEXT) AS "status" FROM (VALUES ('F'), ('O')) AS "v0"("v")) AS "o"
    """
    select = exp.Select()
    for index, (name, base, null) in enumerate(columns):
        source = _values(base, null, f"v{index}")
        value = _value(bound_column(f"v{index}", "v"), base, column_type(table, name))
        select.append("expressions", named_sql(value, name))
        if index:
            select.append("joins", exp.Join(this=source, kind="CROSS"))
        else:
            select.set("from_", exp.From(this=source))
    return _derived(select, alias, table)


def list_matched(values: tuple[int, ...]) -> exp.Subquery:
    """The values of the column `there`: does a LEFT JOIN find a row?"""
    select = exp.Select(expressions=[bound_column("v0", "v").as_(MATCHED, quoted=True)])
    select.set("from_", exp.From(this=_values(BaseValues(values), False, "v0")))
    return _derived(select, MATCHED, Table(MATCHED, "", (Column(MATCHED, "integer", False),), (), ()))


def _derived(select: exp.Select, alias: str, table: Table) -> exp.Subquery:
    """A derived table that notes its table, as dialects need the columns' types."""
    derived = exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    derived.meta[DECLARED] = table
    return derived


def _values(base: BaseValues, null: bool, alias: str) -> exp.Expr:
    """One column `v` with the values, or with the numbers of a series' steps."""
    if base.listed is not None and (base.listed or null):
        listed = [*map(value_sql, base.listed), *([exp.Null()] if null else [])]
        rows = [exp.Tuple(expressions=[value]) for value in listed]
        return exp.Values(expressions=rows, alias=_named(alias))
    count = 0 if base.listed is not None else base.count
    ends = [number_sql(Decimal(end)) for end in (0, count - 1)]
    series = exp.Table(this=exp.Anonymous(this="GENERATE_SERIES", expressions=ends), alias=_named("s"))
    select: exp.Query = exp.Select(expressions=[bound_column("s", "v")], from_=exp.From(this=series))
    if null:
        select = exp.Union(this=select, expression=exp.Select(expressions=[exp.Null()]), distinct=False)
    return exp.Subquery(this=select, alias=_named(alias))


def _named(alias: str) -> exp.TableAlias:
    column = exp.to_identifier("v", quoted=True)
    return exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=[column])


def _value(step: exp.Expr, base: BaseValues, kind: SqlType) -> exp.Expr:
    """The column's value, from a listed value or from the number of a step."""
    if base.unit == "number" and base.listed is None:
        assert isinstance(base.first, int), "a series of numbers starts with one"
        scaled = exp.Mul(this=cast_sql(step, "BIGINT"), expression=number_sql(Decimal(base.step)))
        whole = exp.Add(this=number_sql(Decimal(base.first)), expression=scaled)
        if kind.family is not Family.NUMERIC:
            return whole
        unit = number_sql(Decimal(1).scaleb(-base.scale))
        return cast_sql(
            exp.Mul(this=exp.Paren(this=whole), expression=unit), f"DECIMAL({kind.precision}, {base.scale})"
        )
    if base.listed is None:
        return _moment(step, base, kind)
    if kind.family is Family.NUMERIC:
        return cast_sql(step, f"DECIMAL({kind.precision}, {kind.scale or 0})")
    if kind.family is Family.CHAR:
        return cast_sql(step, "BPCHAR" if kind.precision is None else f"CHAR({kind.precision})")
    value = cast_sql(step, _TYPES[kind.family])
    return _at_utc(value) if kind.family is Family.TIMESTAMPTZ else value


def _moment(step: exp.Expr, base: BaseValues, kind: SqlType) -> exp.Expr:
    first = exp.Literal.string(str(base.first))
    if kind.family is Family.DATE:
        return exp.Add(this=cast_sql(first, "DATE"), expression=cast_sql(step, "INT"))
    unit = exp.Interval(this=exp.Literal.string("1"), unit=exp.var(base.unit.upper()))
    moment = exp.Add(this=cast_sql(first, "TIMESTAMP"), expression=exp.Mul(this=step, expression=unit))
    return _at_utc(exp.Paren(this=moment)) if kind.family is Family.TIMESTAMPTZ else moment


def _at_utc(moment: exp.Expr) -> exp.Expr:
    return exp.AtTimeZone(this=moment, zone=exp.Literal.string("UTC"))


@dataclass(frozen=True)
class PublicRows:
    """The rows of a public table in FROM, or of one that a foreign key references, under an alias of its own.

    Attributes:
      may_miss: may a tuple lack the row whatever the conditions say, because the foreign key is NULL?
      on: in a statement, the conditions of a LEFT JOIN; None if the row must exist.
    """

    entry: BoundTable
    may_miss: bool = False
    on: tuple[exp.Expr, ...] | None = None

    @property
    def alias(self) -> str:
        """The alias in a domain's statement."""
        return self.entry.alias


def enumerate_domain(
    keys: Sequence[exp.Expr],
    values: Sequence[exp.Subquery],
    rows: Sequence[PublicRows],
    conditions: Sequence[exp.Expr],
) -> exp.Select:
    """The distinct groups over public rows and declared values, in order, without reading anything private.

    Args:
      values: from `list_values`; all are cross joined.
      rows: public tables, those that must have a row first.
      conditions: over both.
    Returns: columns k0, k1, ...; at most one row more than an answer may have groups.

    >>> from sqlglot import parse_one
    >>> rows = [PublicRows(BoundTable("n", "n", Table("nation", "s", (), (), ())))]
    >>> enumerate_domain([parse_one("n.name")], [], rows, [parse_one("n.key = 3")]).sql("postgres")
    'SELECT DISTINCT n.name AS "k0" FROM "s"."nation" AS "n" WHERE n.key = 3 ORDER BY 1 LIMIT 100001'
    """
    present = [row.entry for row in rows if row.on is None]
    items: list[exp.Expr] = list(values)
    if any(row.may_miss for row in rows):
        items.append(list_matched((0, 1)))
    elif not present and not items:  # a LEFT JOIN needs a left side
        items.append(list_matched((1,)))
    if present:
        select = join_tables(present, conditions)
    else:
        select = exp.Select(from_=exp.From(this=items.pop(0)))
        add_conditions(select, [copied(condition) for condition in conditions])
    for item in items:
        select.append("joins", exp.Join(this=item, kind="CROSS"))
    for row in rows:
        if row.on is not None:
            matched = exp.EQ(this=bound_column(MATCHED, MATCHED), expression=exp.Literal.number(1))
            on = conjunction([*([matched] if row.may_miss else []), *map(copied, row.on)]) or exp.true()
            select.append("joins", exp.Join(this=entry_sql(row.entry), side="LEFT", on=on))
    select.set("expressions", [named_sql(key, f"k{index}") for index, key in enumerate(keys)])
    select.set("distinct", exp.Distinct())
    places = [exp.Ordered(this=exp.Literal.number(index + 1)) for index in range(len(keys))]
    select.set("order", exp.Order(expressions=places))
    select.set("limit", exp.Limit(expression=exp.Literal.number(MAX_GROUPS + 1)))
    return select
