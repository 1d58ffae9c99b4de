"""Binds a statement over public tables: looks every name up and checks every function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlglot import exp

from planner.binding.from_clause import CommonTable, common_tables
from planner.binding.limit_offset import row_count
from planner.binding.placeholders import replace_clock
from planner.errors import UnsupportedSQL
from planner.limits import MAX_PUBLIC_ROWS
from planner.policy.policy import Policy
from planner.public.relation import PublicQuery, PublicScope, PublicTables, Relation, RelationColumn
from planner.public.select import FromItems, bind_select, named_place, sort_column
from planner.schema import Schema
from planner.sql.result_types import shown_as
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import bound_column, cast_sql, tables_of
from planner.sql.zones import UTC


def bind_public(
    tree: exp.Query,
    schema: Schema,
    policy: Policy,
    now: datetime | None = None,
    search_path: Sequence[str] | None = None,
    zone: str = UTC,
) -> PublicQuery:
    """Resolve every name of a statement and type every column of its answer.

    Args:
      tree: from `planner.parsing.parse.read`, within `planner.public.route`; it is not changed.
      schema, policy, now, search_path, zone: as for `planner.binding.bind.bind`.
    Returns: a statement of generated aliases, checked names and known functions only.
    Raises: UnknownTable, UnknownColumn, AmbiguousColumn, UnsupportedSQL, InvalidSyntax, StatementTooComplex.
    """
    tables = PublicTables(schema, policy, search_path, zone)
    relation = _Queries(tables).query(replace_clock(tree, now, policy.time_grain, zone), None, {})
    alias = relation.enter(tables)
    shown = [shown_as(bound_column(alias, f"c{place}"), column.type) for place, column in enumerate(relation.columns)]
    statement = relation.selected(
        tables, [sql for _, sql in shown], sort=True, alias=alias, at_most=MAX_PUBLIC_ROWS + 1
    )
    return PublicQuery(
        statement=statement,
        columns=tuple((column.name, kind) for column, (kind, _) in zip(relation.columns, shown, strict=True)),
        reads=tuple(dict.fromkeys(_read(table, schema) for table in tables_of(statement))),
        fingerprint=schema.fingerprint,
        tables={entry.alias: entry.table for entry in tables.entries},
    )


def _read(node: exp.Table, schema: Schema) -> str:
    table = schema.at(node.db, node.name)
    assert table is not None, "a statement has tables of the catalog only"
    return table.name


class _Queries:
    def __init__(self, tables: PublicTables) -> None:
        self._tables = tables

    def query(self, node: exp.Expr, outer: PublicScope | None, visible: Mapping[str, CommonTable]) -> Relation:
        """Bind a SELECT or a set operation, also in parentheses."""
        while isinstance(node, (exp.Subquery, exp.Paren)) and not node.args.get("joins"):
            node = node.this
        if not isinstance(node, (exp.Select, exp.SetOperation)):
            raise UnsupportedSQL("this kind of subquery is not supported", hint="write a SELECT", at=node)
        known = common_tables(node, visible)

        def subquery(inner: exp.Expr, scope: PublicScope) -> tuple[exp.Query, tuple[SqlType, ...]]:
            relation = self.query(inner, scope, known)
            return relation.statement(self._tables), relation.types

        if isinstance(node, exp.Select):
            return bind_select(node, FromItems(self._tables, outer, known, self.query, subquery), subquery)
        sides = [self.query(side, outer, known) for side in (node.this, node.expression)]
        return self._combined(node, sides)

    def _combined(self, node: exp.SetOperation, sides: Sequence[Relation]) -> Relation:
        """Bind UNION, INTERSECT or EXCEPT: columns by position, each with the common type of both sides."""
        left, right = sides
        if len(left.columns) != len(right.columns):
            word = type(node).__name__.upper()
            raise UnsupportedSQL(f"the sides of {word} have different numbers of columns", at=node)
        kinds = [_common(one, other, node) for one, other in zip(left.types, right.types, strict=True)]
        columns = tuple(RelationColumn(c.name, kind) for c, kind in zip(left.columns, kinds, strict=True))
        bodies = [exp.Subquery(this=self._cast(side, kinds)) for side in sides]
        body = type(node)(this=bodies[0], expression=bodies[1], distinct=node.args.get("distinct"))
        names = [column.name for column in columns]
        clause = node.args.get("order")
        order = []
        for item in clause.expressions if clause is not None else []:
            place = named_place(item, names)
            if place is None:
                hint = "sort by a column's name or position"
                raise UnsupportedSQL(
                    "ORDER BY an expression after a set operation is not supported", hint=hint, at=item
                )
            order.append(sort_column(item, place))
        return Relation(body, columns, (), tuple(order), row_count(node, "limit"), row_count(node, "offset") or 0)

    def _cast(self, side: Relation, kinds: Sequence[SqlType]) -> exp.Query:
        alias = side.enter(self._tables)
        shown: list[exp.Expr | None] = []
        for place, (kind, wanted) in enumerate(zip(side.types, kinds, strict=True)):
            target = "DOUBLE PRECISION" if wanted.family is Family.FLOAT else "TIMESTAMP"
            same = kind.family is wanted.family or wanted.family is Family.NUMERIC
            shown.append(None if same else cast_sql(bound_column(alias, f"c{place}"), target))
        limited = side.limit is not None or bool(side.offset)
        return side.selected(self._tables, shown, sort=limited, alias=alias)


def _common(left: SqlType, right: SqlType, node: exp.Expr) -> SqlType:
    """Return the common type of a column of both sides. Raises: UnsupportedSQL."""
    families = {left.family, right.family}
    double = SqlType(Family.FLOAT)
    if left.is_number and right.is_number and (REAL not in (left, right) or double in (left, right)):
        return double if Family.FLOAT in families else _wider(left, right)
    if left.is_string and right.is_string:
        return SqlType(Family.TEXT)
    if families == {Family.DATE, Family.TIMESTAMP}:
        return SqlType(Family.TIMESTAMP)
    if left.family is right.family and left.labels == right.labels:
        return left
    names = f"{left.shown} and {right.shown}"
    raise UnsupportedSQL(f"{names} have no common type", hint="cast one of them", at=node)


def _wider(left: SqlType, right: SqlType) -> SqlType:
    if left.family is right.family is Family.INTEGER:
        return SqlType(Family.INTEGER, max(left.precision or 19, right.precision or 19))
    sizes = [(kind.precision, kind.scale or 0) for kind in (left, right)]
    if any(precision is None for precision, _ in sizes):
        return SqlType(Family.NUMERIC)
    scale = max(scale for _, scale in sizes)
    whole = max((precision or 0) - scale for precision, scale in sizes)
    return SqlType(Family.NUMERIC, whole + scale, scale)
