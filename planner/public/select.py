"""Binds a SELECT over public tables: FROM, rows or groups, and sort keys.

FROM takes tables, subqueries, CTEs and every kind of join, under generated aliases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planner.binding.derived_columns import SCHEMAS, named, within_view
from planner.binding.from_clause import CommonTable, is_comma
from planner.binding.group_keys import constant_place, meant_key
from planner.binding.limit_offset import row_count
from planner.binding.output_names import output_name
from planner.binding.scope import Meaning, Source
from planner.errors import AmbiguousColumn, InvalidSyntax, StatementTooComplex, UnsupportedSQL
from planner.expressions.scalar import Scalar, wrap
from planner.expressions.strings import as_text
from planner.limits import MAX_OUTPUTS
from planner.public.expressions import GroupBinder, PublicBinder, Subquery, as_double
from planner.public.relation import PublicScope, PublicTables, Relation, RelationColumn, SortColumn, aliased
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import (
    aggregates,
    bound_column,
    cast_sql,
    conjunction,
    copied,
    fold,
    holds,
    named_as,
    named_sql,
    position_of,
    table_sql,
)

Item = tuple[exp.Expr, list[Source]]
"""SQL of an item of FROM, and the names that it brings."""

BindQuery = Callable[[exp.Expr, PublicScope | None, Mapping[str, CommonTable]], Relation]
"""Binds a subquery of FROM, which sees the names around the SELECT but not its neighbours."""


class FromItems:
    """Binds the items of one FROM.

    `outer`: the scope around the SELECT, or None. `visible`: the CTEs that FROM may name. `query`, `subquery`: bind a
    derived table, and a subquery within a condition.
    """

    def __init__(
        self,
        tables: PublicTables,
        outer: PublicScope | None,
        visible: Mapping[str, CommonTable],
        query: BindQuery,
        subquery: Subquery,
    ) -> None:
        self.scope = PublicScope(tables, outer)
        self._tables = tables
        self._outer = outer
        self._visible = visible
        self._query = query
        self._subquery = subquery

    def bind(self, select: exp.Select, into: exp.Select) -> None:
        """Bind the FROM of `select`, if any, into `into`. Raises: UnsupportedSQL and name errors."""
        clause = select.args.get("from_")
        if clause is None:
            return
        first, tree = self._item(clause.this)
        into.set("from_", exp.From(this=first))
        into.set("joins", self._joins(select.args.get("joins") or [], tree))

    def _joins(self, joins: Sequence[exp.Join], tree: list[Source]) -> list[exp.Join]:
        """Bind joins; USING, NATURAL and ON do not see across a comma."""
        bound = []
        for join in joins:
            right, sources = self._item(join.this)
            if is_comma(join):
                bound.append(exp.Join(this=right))
                tree = sources
            else:
                bound.append(self._join(join, right, tree, sources))
                tree = [*tree, *sources]
        return bound

    def _join(self, join: exp.Join, right: exp.Expr, tree: list[Source], sources: list[Source]) -> exp.Join:
        condition = join.args.get("on")
        natural = join.method == "NATURAL"
        if (natural or join.args.get("using")) and join.side in ("RIGHT", "FULL"):
            hint = "write ON, and COALESCE of the two columns"
            raise UnsupportedSQL(f"{join.side} JOIN with USING is not supported", hint=hint, at=join)
        equal = self.scope.merged(join, tree, sources)
        if join.kind == "CROSS" or (natural and not equal):
            if join.side:
                raise UnsupportedSQL("this outer join needs a condition", hint="write ON TRUE", at=join)
            return exp.Join(this=right, kind="CROSS")
        if condition is None and not equal:
            raise InvalidSyntax(
                "this JOIN needs ON or USING", hint="write ON with the columns that are equal", at=join
            )
        binder = PublicBinder(self.scope, self._subquery, [*tree, *sources])
        found = [binder.predicate(one) for one in equal]
        if condition is not None:
            found.append(binder.predicate(condition))
        return exp.Join(this=right, side=join.side or None, on=conjunction(found))

    def _item(self, node: exp.Expr) -> Item:
        position = position_of(node)
        name, columns = named_as(node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._joined_inside(node, self._table(node))
        if isinstance(node, (exp.Subquery, exp.Paren)):
            body = node.this
            if isinstance(body, (exp.Table, exp.Subquery, exp.Paren)) and not node.args.get("alias"):
                inner, sources = self._item(body)
                joined = exp.Subquery(this=inner) if inner.args.get("joins") else inner
                return self._joined_inside(node, (joined, sources))
            with within_view(node):
                relation = self._query(body, self._outer, self._visible)
            schemas = node.meta.get(SCHEMAS, ())
            return self._joined_inside(node, self._derived(name, relation, columns, position, schemas))
        raise UnsupportedSQL("FROM takes tables and subqueries only", hint="name the tables", position=position)

    def _joined_inside(self, node: exp.Expr, item: Item) -> Item:
        sql, sources = item
        before = len(self.scope.sources)
        joins = self._joins(node.args.get("joins") or [], sources)
        if joins:
            sql.set("joins", joins)
        return sql, [*sources, *self.scope.sources[before:]]

    def _table(self, node: exp.Table) -> Item:
        position = position_of(node)
        alias, columns = named_as(node)
        written = alias or fold(node.this)
        common = self._visible.get(fold(node.this)) if node.args.get("db") is None else None
        if common is not None:
            names = (*columns, *common.columns[len(columns) :])
            return self._derived(written, self._query(common.body, None, common.visible), names, position)
        table = self._tables.lookup(node)
        entry = self._tables.add(written, table, position)
        meant: list[tuple[str, Meaning | None]] = [
            (column.name, (entry.alias, column.name)) for column in table.columns
        ]
        schemas = table.schemas if node.args.get("alias") is None else ()
        return table_sql(table, entry.alias), [
            self._enter(written, schemas, named(meant, columns, position), position)
        ]

    def _derived(
        self,
        name: str | None,
        relation: Relation,
        columns: Sequence[str],
        position: int | None,
        schemas: tuple[str, ...] = (),
    ) -> Item:
        alias = relation.enter(self._tables)
        meant: list[tuple[str, Meaning | None]] = [
            (column.name, (alias, f"c{place}")) for place, column in enumerate(relation.columns)
        ]
        first = len(self._tables.entries) - 1
        statement = relation.statement(self._tables)
        source = self._enter(name, schemas, named(meant, columns, position), position, first)
        return aliased(statement, alias), [source]

    def _enter(
        self,
        name: str | None,
        schemas: tuple[str, ...],
        columns: Mapping[str, Meaning | None],
        position: int | None,
        index: int | None = None,
    ) -> Source:
        place = len(self._tables.entries) - 1 if index is None else index
        return self.scope.add(Source(name, schemas, columns, place, place + 1), position)

    def star(self, node: exp.Expr) -> list[tuple[str, exp.Column]]:
        """List the bound columns of `*` or `table.*`. Raises: name errors."""
        found = []
        for name, meaning in self.scope.star(node):
            if not isinstance(meaning, tuple):
                hint = "give its columns different aliases"
                message = f"several columns are named {name!r}"
                raise AmbiguousColumn(message, hint=hint, at=node)
            column = bound_column(*meaning)
            column.meta["bound"] = True
            found.append((name, column))
        return found


_TEXT = SqlType(Family.TEXT)


@dataclass(frozen=True)
class _Output:
    name: str
    sql: exp.Expr
    type: SqlType


def bind_select(select: exp.Select, items: FromItems, subquery: Subquery) -> Relation:
    """Bind one SELECT, whose CTEs `items` knows.

    Raises: UnsupportedSQL, InvalidSyntax, StatementTooComplex and name errors.
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
        """Bind the whole SELECT."""
        self._conditions()
        outputs = [output for item in self._select.expressions for output in self._outputs(item)]
        if not outputs or len(outputs) > MAX_OUTPUTS:
            message = f"more than {MAX_OUTPUTS} columns" if outputs else "no columns"
            raise StatementTooComplex(message, at=self._select)
        distinct = self._select.args.get("distinct") is not None
        if distinct:
            self._body.set("distinct", exp.Distinct())
        shown = [output.sql for output in outputs]
        hidden: list[SqlType] = []
        order = list(self._order(outputs, shown, hidden, distinct))
        keys = [copied(key.plain) for key in self._keys if key.plain is not None]  # binding may have added keys
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
        return bool(self._keys) or having or any(True for clause in clauses for _ in aggregates(clause))

    def _conditions(self) -> None:
        where, having = self._select.args.get("where"), self._select.args.get("having")
        if where is not None:
            self._body.set("where", exp.Where(this=self._rows.predicate(where.this)))
        if having is not None:
            self._body.set("having", exp.Having(this=self._binder.predicate(having.this)))

    def _key(self, item: exp.Expr) -> Scalar:
        """Bind an item of GROUP BY: an expression, a position, or an alias that is no column."""
        key = self._rows.value(meant_key(item, self._select, self._items.scope.resolve))
        if key.plain is None or not holds(key.plain, exp.Column):
            raise UnsupportedSQL("a constant group key is not supported", hint="leave it out", at=item)
        return key

    def _outputs(self, item: exp.Expr) -> Iterator[_Output]:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            if not self._items.scope.sources:
                raise UnsupportedSQL("* needs a FROM", hint="name a table in FROM", at=self._select)
            for name, column in self._items.star(item):
                yield _output(name, self._binder.value(column))
            return
        yield _output(output_name(item), self._binder.value(item.unalias()))

    def _order(
        self, outputs: list[_Output], shown: list[exp.Expr], hidden: list[SqlType], distinct: bool
    ) -> Iterator[SortColumn]:
        """Yield a sort key per item of ORDER BY; keys that are not shown are appended to the columns."""
        for item in _clause(self._select, "order"):
            place = named_place(item, [output.name for output in outputs])
            if place is None:
                key = _output("", self._binder.value(item.this))
                sql = key.sql
                if not holds(sql, exp.Column, exp.AggFunc):
                    continue  # a constant
                columns = list(zip(shown, (*(output.type for output in outputs), *hidden), strict=True))
                if (sql, key.type) not in columns and distinct:
                    hint = "select the sort key too"
                    message = "SELECT DISTINCT can be sorted by selected columns only"
                    raise UnsupportedSQL(message, hint=hint, at=item)
                if (sql, key.type) not in columns:
                    columns.append((sql, key.type))
                    shown.append(sql)
                    hidden.append(key.type)
                place = columns.index((sql, key.type))
            yield sort_column(item, place)


def named_place(item: exp.Expr, names: list[str]) -> int | None:
    """Return the column that ORDER BY names by position or name; None for any other expression.

    Raises: UnsupportedSQL for a repeated name, InvalidSyntax for a position that does not exist.
    """
    node = item.this.unnest()
    place = constant_place(len(names), node, "ORDER BY")
    if place is not None:
        return place
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    places = [place for place, name in enumerate(names) if name == fold(node.this)]
    if len(places) > 1:
        raise UnsupportedSQL(
            f"ORDER BY {node.name} is ambiguous: several columns have this name",
            hint="sort by the position of the column, as in ORDER BY 1",
            at=node,
        )
    return places[0] if places else None


def sort_column(item: exp.Expr, place: int) -> SortColumn:
    """Return the sort key of a column."""
    return SortColumn(f"c{place}", bool(item.args.get("desc")), bool(item.args.get("nulls_first")))


def _output(name: str, value: Scalar) -> _Output:
    """Show reals as doubles, char(n) as text, and NULL as a text. Raises: UnsupportedSQL for intervals."""
    if value.is_interval:
        hint = "write extract(epoch FROM a - b), its seconds"
        raise UnsupportedSQL("an interval of public rows is not supported as a column", hint=hint, at=value.node)
    if value.type is None:
        return _Output(name, cast_sql(exp.Null(), "TEXT"), _TEXT)
    if value.type.family is Family.FLOAT:
        return _Output(name, as_double(value), value.type)
    if value.type.family is Family.ENUM:
        return _Output(name, value.sql, value.type)
    value = as_text(value)
    assert value.type is not None, "typed"
    if value.zoned:  # its value is at UTC
        zoned = exp.AtTimeZone(this=wrap(value.sql), zone=exp.Literal.string("UTC"))
        return _Output(name, zoned, SqlType(Family.TIMESTAMPTZ))
    return _Output(name, value.sql, value.type)


def _clause(select: exp.Select, part: str) -> list[exp.Expr]:
    clause = select.args.get(part)
    return list(clause.expressions) if clause is not None else []
