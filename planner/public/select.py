"""SELECT over public tables: its rows or its groups, and how they are sorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.group_keys import constant_place
from planner.binding.limit_offset import default_name, row_count
from planner.errors import StatementTooComplex, UnknownColumn, UnsupportedSQL
from planner.expressions.scalar import Scalar, wrap
from planner.expressions.strings import as_text
from planner.limits import MAX_OUTPUTS
from planner.public.exact import as_double
from planner.public.from_items import FromItems
from planner.public.relation import Relation, RelationColumn, SortColumn
from planner.public.scalar import GroupBinder, PublicBinder, Subquery
from planner.sql.sql_nodes import cast_sql, named_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied, fold, holds, position_of

_TEXT = SqlType(Family.TEXT)


@dataclass(frozen=True)
class _Output:
    """A column of the select list: its name, SQL and type."""

    name: str
    sql: exp.Expr
    type: SqlType


def bind_select(select: exp.Select, items: FromItems, subquery: Subquery) -> Relation:
    """Bind one SELECT.

    Args:
      select: as parsed; its WITH is known to `items`.
      items: binds its FROM.
      subquery: binds the subqueries of its expressions.
    Raises: UnsupportedSQL, InvalidSyntax, StatementTooComplex, and what names raise.
    """
    return _Select(select, items, subquery).relation()


class _Select:
    def __init__(self, select: exp.Select, items: FromItems, subquery: Subquery) -> None:
        self._select = select
        self._items = items
        self._body = exp.Select()
        items.bind(select, self._body)
        self._rows = PublicBinder(items.scope, subquery)
        self._keys = [self._key(item) for item in _clause(select, "group")]
        self._binder: PublicBinder = self._rows
        if self._is_grouped():
            self._binder = GroupBinder(items.scope, subquery, self._keys)

    def relation(self) -> Relation:
        """The whole SELECT."""
        self._conditions()
        outputs = [output for item in self._select.expressions for output in self._outputs(item)]
        if not outputs or len(outputs) > MAX_OUTPUTS:
            message = f"more than {MAX_OUTPUTS} columns" if outputs else "no columns"
            raise StatementTooComplex(message, position=position_of(self._select))
        distinct = self._select.args.get("distinct") is not None
        if distinct:
            self._body.set("distinct", exp.Distinct())
        shown = [output.sql for output in outputs]
        hidden: list[SqlType] = []
        order = list(self._order(outputs, shown, hidden, distinct))
        keys = [copied(key.plain) for key in self._keys if key.plain is not None]  # all are known only now
        if keys:
            self._body.set("group", exp.Group(expressions=keys))
        self._body.set("expressions", [named_sql(sql, f"c{place}") for place, sql in enumerate(shown)])
        return Relation(
            self._body,
            tuple(RelationColumn(output.name, output.type) for output in outputs),
            tuple(hidden),
            tuple(order),
            row_count(self._select, "limit"),
            row_count(self._select, "offset") or 0,
        )

    def _is_grouped(self) -> bool:
        clauses = [*self._select.expressions, *_clause(self._select, "order")]
        having = self._select.args.get("having") is not None
        return bool(self._keys) or having or any(_aggregates(clause) for clause in clauses)

    def _conditions(self) -> None:
        where, having = self._select.args.get("where"), self._select.args.get("having")
        if where is not None:
            self._body.set("where", exp.Where(this=self._rows.predicate(where.this)))
        if having is not None:
            self._body.set("having", exp.Having(this=self._binder.predicate(having.this)))

    def _key(self, item: exp.Expr) -> Scalar:
        """GROUP BY an expression, a position or, when no column has that name, an alias."""
        key = self._rows.value(self._meant(item))
        if key.plain is None or not holds(key.plain, exp.Column):
            hint = "leave it out"
            raise UnsupportedSQL("a group key that is the same for all rows", hint=hint, position=position_of(item))
        return key

    def _meant(self, item: exp.Expr) -> exp.Expr:
        items = self._select.expressions
        place = constant_place(len(items), item.unnest(), "GROUP BY")
        if place is not None:
            found: exp.Expr = items[place].unalias()
            return found
        if isinstance(item, exp.Column) and item.args.get("table") is None:
            try:
                self._items.scope.resolve(item)
            except UnknownColumn:
                for output in self._select.expressions:
                    if isinstance(output, exp.Alias) and fold(output.args["alias"]) == fold(item.this):
                        meant: exp.Expr = output.this
                        return meant
                raise
        return item

    def _outputs(self, item: exp.Expr) -> Iterator[_Output]:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            if not self._items.scope.sources:
                raise UnsupportedSQL("* without FROM", hint="name a table", position=position_of(self._select))
            for name, column in self._items.star(item):
                yield _output(name, self._binder.value(column))
            return
        node = item.unalias()
        name = fold(item.args["alias"]) if isinstance(item, exp.Alias) else _name(node)
        yield _output(name, self._binder.value(node))

    def _order(
        self, outputs: list[_Output], shown: list[exp.Expr], hidden: list[SqlType], distinct: bool
    ) -> Iterator[SortColumn]:
        """Each key as a column; one that is not shown is appended to the columns."""
        for item in _clause(self._select, "order"):
            place = named_place(item, [output.name for output in outputs])
            if place is None:
                key = _output("", self._binder.value(item.this))
                sql = key.sql
                if not holds(sql, exp.Column, exp.AggFunc):
                    continue  # the same for all rows
                columns = list(zip(shown, (*(output.type for output in outputs), *hidden), strict=True))
                if (sql, key.type) not in columns and distinct:
                    hint = "select it, too"
                    message = "SELECT DISTINCT sorted by something that is not selected"
                    raise UnsupportedSQL(message, hint=hint, position=position_of(item))
                if (sql, key.type) not in columns:
                    columns.append((sql, key.type))
                    shown.append(sql)
                    hidden.append(key.type)
                place = columns.index((sql, key.type))
            yield sort_column(item, place)


def named_place(item: exp.Expr, names: list[str]) -> int | None:
    """The column that ORDER BY names by its position or its name; None for any other expression.

    Raises: UnsupportedSQL for a name that several columns have, InvalidSyntax for a position that is not there.
    """
    node = item.this.unnest()
    place = constant_place(len(names), node, "ORDER BY")
    if place is not None:
        return place
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    places = [place for place, name in enumerate(names) if name == fold(node.this)]
    if len(places) > 1:
        hint = "sort by its position"
        raise UnsupportedSQL("ORDER BY a name that several columns have", hint=hint, position=position_of(node))
    return places[0] if places else None


def sort_column(item: exp.Expr, place: int) -> SortColumn:
    """A key of ORDER BY that stands in a column."""
    return SortColumn(f"c{place}", bool(item.args.get("desc")), bool(item.args.get("nulls_first")))


def _output(name: str, value: Scalar) -> _Output:
    """Reals as doubles, char(n) as text, NULL as a text."""
    if value.type is None:
        return _Output(name, cast_sql(exp.Null(), "TEXT"), _TEXT)
    if value.type.family is Family.FLOAT:
        return _Output(name, as_double(value), value.type)
    if value.type.family is Family.ENUM:
        return _Output(name, value.sql, value.type)
    value = as_text(value)
    assert value.type is not None, "typed"
    if value.zoned:  # computed at UTC
        zoned = exp.AtTimeZone(this=wrap(value.sql), zone=exp.Literal.string("UTC"))
        return _Output(name, zoned, SqlType(Family.TIMESTAMPTZ))
    return _Output(name, value.sql, value.type)


def _name(node: exp.Expr) -> str:
    """As PostgreSQL names it: a subquery as its own column."""
    inner = node
    while isinstance(inner, (exp.Subquery, exp.Paren)):
        inner = inner.this
    if isinstance(inner, exp.SetOperation):
        return _name(inner.this)
    if isinstance(inner, exp.Select) and inner.expressions:
        item: exp.Expr = inner.expressions[0]
        return fold(item.args["alias"]) if isinstance(item, exp.Alias) else _name(item)
    return default_name(inner)


def _clause(select: exp.Select, part: str) -> list[exp.Expr]:
    clause = select.args.get(part)
    return list(clause.expressions) if clause is not None else []


def _aggregates(node: exp.Expr) -> bool:
    """Is there an aggregate, those of subqueries left out?"""
    if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery):
        return False
    return isinstance(node, exp.AggFunc) or any(_aggregates(part) for part in node.iter_expressions())
