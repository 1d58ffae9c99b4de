"""Rule: add up each unit's rows first, and join tables that only describe the unit afterwards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner.expressions.predicates import conjuncts
from planner.rewriting.compact_tuples import total_sql
from planner.rewriting.join_tables import joined
from planner.schema import Column, Schema, Table
from planner.sensitivity.column_equalities import compare_exactly
from planner.sql.sql_types import sql_type
from planner.sql.trees import (
    ROWS,
    ColumnRef,
    aliases_of,
    bound_column,
    column_ref,
    columns_of,
    copied,
    named_sql,
    own_name,
)


def attach_late(
    source: exp.Select, owner: exp.Expr, keys: Sequence[exp.Expr], weights: Sequence[exp.Expr], schema: Schema
) -> exp.Select | None:
    """As `compact` for tuples with one owner, but with tables joined after the rows are grouped by owner.

    A table can be joined late if conditions use only its unique key. They must compare the key with the owner's
    columns, or with tables joined late before it. Then each owner finds at most one row of the table. So all rows of
    an owner pass the join or none does, and they share the group keys from such tables. The result is the same, and
    the database groups by one key instead of by texts.

    Two things are not relied on: declared keys without a constraint, and equations of columns of two types. Several
    values of a key may equal one value of another type. A thousand bigints near 2^62 are one double, and char 'a'
    equals varchar 'a' and 'a '. An owner would then have several rows, each up to the threshold.
    Args:
      source: the join, FROM and WHERE without a select list.
      owner: the key of the only owner position.
      weights: of one tuple, each a bigint in units.
    Returns: columns o0, k0.., w0.., one row per owner; None if no table can be joined late, or if one owner may have
      several values of a group key.

    >>> from sqlglot import parse_one
    >>> from planner.rewriting.guard_weight import whole_weight
    >>> columns = Column("id", "bigint", False), Column("ward", "text", False)
    >>> patient = Table("patient", "s", columns, (("id",),), ())
    >>> visit = Table("visit", "s", (Column("of", "bigint", False),), (), ())
    >>> source = parse_one('SELECT FROM s.visit AS "v" JOIN s.patient AS "p" ON "p"."id" = "v"."of"')
    >>> owner, key, catalog = bound_column("v", "of"), bound_column("p", "ward"), {"patient": patient, "visit": visit}
    >>> print(attach_late(source, owner, [key], [whole_weight()], Schema(catalog)).sql("postgres"))
    SELECT "v"."of" AS "o0", "p"."ward" AS "k0", "v"."w0" AS "w0" FROM (SELECT "v"."of" AS "of", \
CAST(LEAST(COUNT(*), 4294967296) * 1073741824 AS BIGINT) AS "w0" FROM s.visit AS "v" GROUP BY 1) AS "v" \
INNER JOIN s.patient AS "p" ON "p"."id" = "v"."of"
    """
    join = _Join.of(source)
    owned = list(dict.fromkeys(column_ref(column) for column in columns_of(owner)))
    if join is None or len({alias for alias, _ in owned}) != 1:
        return None
    (alias, _), *_ = owned
    read_before = {alias}.union(*map(aliases_of, weights))
    late = _attached_late(join, set(owned), read_before, schema)
    of_owner = all(ref[0] in late or ref in owned for key in keys for ref in _refs(key))
    table = join.table(alias, schema)
    named = any(_TOTAL.fullmatch(name) for _, name in owned)  # named like a total
    if not late or not of_owner or table is None or named:
        return None
    asked = [condition for condition in join.conditions if not aliases_of(condition).isdisjoint(late)]
    own = [column for column in table.columns if (alias, column.name) in owned]
    totals = [Column(f"w{place}", "bigint", nullable=True) for place in range(len(weights))]
    added_up = exp.Subquery(
        this=_added_up(join, late, asked, [(alias, column.name) for column in own], weights),
        alias=exp.TableAlias(this=own_name(alias)),
    )
    added_up.meta[ROWS] = Table(table.name, table.namespace, (*own, *totals), (), ())
    select = joined(
        [(added_up, None), *((copied(join.tables[other]), None) for other in late)], list(map(copied, asked))
    )
    columns = [named_sql(copied(owner), "o0")]
    columns += [named_sql(copied(key), f"k{place}") for place, key in enumerate(keys)]
    columns += [named_sql(bound_column(alias, total.name), total.name) for total in totals]
    select.set("expressions", columns)
    return select


@dataclass(frozen=True)
class _Join:
    """The inner joins' tables by alias, the outer joins after them, and all conditions."""

    tables: dict[str, exp.Expr]
    outer: list[exp.Join]
    conditions: list[exp.Expr]

    @classmethod
    def of(cls, source: exp.Select) -> _Join | None:
        """Split a join; None for other forms."""
        first = source.args["from_"].this
        tables: dict[str, exp.Expr] = {first.alias: first}
        outer: list[exp.Join] = []
        conditions: list[exp.Expr] = []
        for join in source.args.get("joins") or []:
            if join.side:
                outer.append(join)
            elif outer or join.args.get("using"):
                return None
            else:
                tables[join.this.alias] = join.this
                on = join.args.get("on")
                conditions += [] if on is None else conjuncts(on)
        where = source.args.get("where")
        conditions += [] if where is None else conjuncts(where.this)
        others = set(source.args) - {"from_", "joins", "where"}
        return None if any(source.args[name] for name in others) else cls(tables, outer, conditions)

    def table(self, alias: str, schema: Schema) -> Table | None:
        """The catalog's table, if the entry reads all rows of one table."""
        entry = self.tables.get(alias)
        if not isinstance(entry, exp.Table) or any(entry.args[name] for name in set(entry.args) - _NAMES):
            return None
        return schema.at(entry.text("db"), entry.name)


_NAMES = {"this", "db", "alias"}
_TOTAL = re.compile(r"w\d+")


def _attached_late(join: _Join, owned: set[ColumnRef], read_before: set[str], schema: Schema) -> list[str]:
    """The tables to join late, each after those whose columns find it."""
    read_before = read_before | set().union(*map(aliases_of, join.outer))
    left = {alias for alias in join.tables if alias not in read_before and join.table(alias, schema) is not None}
    while True:
        left = {alias for alias in left if all(_finds(one, left, owned) for one in _touching(join, {alias}))}
        found = _in_order(join, left, owned, schema)
        if set(found) == left and all(_finds(one, left, owned) for one in _touching(join, left)):
            return found
        left = set(found)


def _touching(join: _Join, aliases: set[str]) -> list[exp.Expr]:
    return [condition for condition in join.conditions if aliases_of(condition) & aliases]


def _finds(condition: exp.Expr, late: set[str], owned: set[ColumnRef]) -> bool:
    """Is it an equation of two plain columns, each of a late table or the owner's own?"""
    if not isinstance(condition, exp.EQ):
        return False
    sides = condition.this, condition.expression
    plain = [side for side in sides if isinstance(side, exp.Column)]
    return len(plain) == 2 and all(ref[0] in late or ref in owned for ref in map(column_ref, plain))


def _in_order(join: _Join, late: set[str], owned: set[ColumnRef], schema: Schema) -> list[str]:
    """Those tables with a unique key that the owner's columns, or tables before them, determine."""
    found: list[str] = []
    while True:
        following = next((alias for alias in join.tables if alias in late and alias not in found
                          and _is_found(join, alias, found, owned, schema)), None)  # fmt: skip
        if following is None:
            return found
        found.append(following)


def _is_found(join: _Join, alias: str, before: list[str], owned: set[ColumnRef], schema: Schema) -> bool:
    table, by = join.table(alias, schema), set()
    for condition in _touching(join, {alias}):
        one, other = _refs(condition)
        for own, known in ((one, other), (other, one)):
            if own[0] == alias and (known[0] in before or known in owned) and _exactly(join, own, known, schema):
                by.add(own[1])
    return table is not None and any(set(key) <= by for key in table.unique_keys)


def _exactly(join: _Join, own: ColumnRef, known: ColumnRef, schema: Schema) -> bool:
    """Does `=` match a known value with at most one value of the key?"""
    kinds = []
    for alias, name in (own, known):
        table = join.table(alias, schema)
        column = None if table is None else table.column(name)
        if column is None:
            return False
        kinds.append(sql_type(column.type))
    return compare_exactly(*kinds)


def _added_up(
    join: _Join, late: list[str], asked: list[exp.Expr], owned: list[ColumnRef], weights: Sequence[exp.Expr]
) -> exp.Select:
    """The sums of each owner, before other tables are joined."""
    before = [(copied(entry), None) for alias, entry in join.tables.items() if alias not in late]
    outer = [(copied(one.this), [copied(one.args["on"])]) for one in join.outer]
    conditions = [copied(condition) for condition in join.conditions if condition not in asked]
    select = joined([*before, *outer], conditions)
    columns = [named_sql(bound_column(*ref), ref[1]) for ref in owned]
    columns += [named_sql(total_sql(copied(weight)), f"w{place}") for place, weight in enumerate(weights)]
    select.set("expressions", columns)
    select.set("group", exp.Group(expressions=[exp.Literal.number(place + 1) for place in range(len(owned))]))
    return select


def _refs(tree: exp.Expr) -> list[ColumnRef]:
    return [column_ref(column) for column in columns_of(tree)]
