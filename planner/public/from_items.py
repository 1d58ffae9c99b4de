"""FROM of a public query: tables, subqueries, CTEs and every kind of join, under generated aliases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from planner.binding.derived_columns import NAMESPACE, named, within_view
from planner.binding.from_clause import CommonTable, is_comma
from planner.binding.scope import Meaning, Source
from planner.errors import AmbiguousColumn, InvalidSyntax, UnsupportedSQL
from planner.public.relation import Relation, aliased
from planner.public.scalar import PublicBinder, Subquery
from planner.public.tables import PublicScope, PublicTables
from planner.sql.columns import bound_column
from planner.sql.sql_nodes import conjunction, table_sql
from planner.sql.trees import fold, position_of

Item = tuple[exp.Expr, list[Source]]
"""SQL of an item of FROM, and what it brings into scope."""

BindQuery = Callable[[exp.Expr, PublicScope | None, Mapping[str, CommonTable]], Relation]
"""Binds a subquery of FROM, which sees what is around the SELECT but not its neighbours."""


class FromItems:
    """Binds the items of one FROM.

    Args:
      tables: the public tables of the catalog.
      outer: the scope around the SELECT, whose names a subquery may use; or None.
      visible: the common tables that FROM may name.
      query, subquery: bind a derived table, and a subquery within a condition.
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
        """Give `into` the FROM of `select`, if it has one. Raises: what names raise; and UnsupportedSQL."""
        clause = select.args.get("from_")
        if clause is None:
            return
        first, tree = self._item(clause.this)
        into.set("from_", exp.From(this=first))
        into.set("joins", self._joins(select.args.get("joins") or [], tree))

    def _joins(self, joins: Sequence[exp.Join], tree: list[Source]) -> list[exp.Join]:
        """USING, NATURAL and ON do not look across a comma."""
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
        natural = join.args.get("method") == "NATURAL"
        using = [(fold(name), position_of(name)) for name in join.args.get("using") or []]
        if natural:
            shared = set(self.scope.visible(tree))
            using = [
                (name, position_of(join)) for name in dict.fromkeys(self.scope.visible(sources)) if name in shared
            ]
        if (natural or using) and join.side in ("RIGHT", "FULL"):
            hint = "write ON, and COALESCE of the two columns"
            raise UnsupportedSQL(f"{join.side} JOIN with USING is not supported", hint=hint,
                                 position=position_of(join))  # fmt: skip
        if join.kind == "CROSS" or (natural and not using):
            if join.side:
                hint = "write ON TRUE"
                raise UnsupportedSQL("an outer join without a condition", hint=hint, position=position_of(join))
            return exp.Join(this=right, kind="CROSS")
        if condition is None and not using:
            raise InvalidSyntax("JOIN lacks its ON or USING", position=position_of(join))
        binder = PublicBinder(self.scope, self._subquery, [*tree, *sources])
        found = [self._equal(name, tree, sources, binder, position) for name, position in using]
        if condition is not None:
            found.append(binder.predicate(condition))
        return exp.Join(this=right, side=join.side or None, on=conjunction(found))

    def _equal(
        self, name: str, tree: list[Source], sources: list[Source], binder: PublicBinder, position: int | None
    ) -> exp.Expr:
        left = self.scope.unqualified(name, tree, position)
        right = self.scope.unqualified(name, sources, position)
        for source in sources:
            self.scope.hide(source, name)
        return binder.predicate(exp.EQ(this=left, expression=right))

    def _item(self, node: exp.Expr) -> Item:
        position = position_of(node)
        alias = node.args.get("alias")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._joined_inside(node, self._table(node))
        if isinstance(node, (exp.Subquery, exp.Paren)):
            body = node.this
            if isinstance(body, (exp.Table, exp.Subquery, exp.Paren)) and not alias:
                inner, sources = self._item(body)
                joined = exp.Subquery(this=inner) if inner.args.get("joins") else inner
                return self._joined_inside(node, (joined, sources))
            name = fold(alias.this) if alias is not None and alias.this is not None else None
            with within_view(node):
                relation = self._query(body, self._outer, self._visible)
            namespace = node.meta.get(NAMESPACE)
            return self._joined_inside(node, self._derived(name, relation, _aliases(alias), position, namespace))
        raise UnsupportedSQL("FROM takes tables and subqueries only", hint="name the tables", position=position)

    def _joined_inside(self, node: exp.Expr, item: Item) -> Item:
        """The joins that stand inside the parentheses of an item."""
        sql, sources = item
        before = len(self.scope.sources)
        joins = self._joins(node.args.get("joins") or [], sources)
        if joins:
            sql.set("joins", joins)
        return sql, [*sources, *self.scope.sources[before:]]

    def _table(self, node: exp.Table) -> Item:
        alias = node.args.get("alias")
        position = position_of(node)
        written = fold(alias.this) if alias is not None and alias.this is not None else fold(node.this)
        common = self._visible.get(fold(node.this)) if node.args.get("db") is None else None
        if common is not None:
            columns = _aliases(alias)
            names = (*columns, *common.columns[len(columns) :])
            return self._derived(written, self._query(common.body, None, common.visible), names, position)
        table = self._tables.lookup(node)
        entry = self._tables.add(written, table, position)
        meant: list[tuple[str, Meaning | None]] = [
            (column.name, (entry.alias, column.name)) for column in table.columns
        ]
        namespace = table.namespace if alias is None else None
        return table_sql(table, entry.alias), [
            self._enter(written, namespace, named(meant, _aliases(alias), position), position)
        ]

    def _derived(
        self,
        name: str | None,
        relation: Relation,
        columns: Sequence[str],
        position: int | None,
        namespace: str | None = None,
    ) -> Item:
        alias = relation.enter(self._tables)
        meant: list[tuple[str, Meaning | None]] = [
            (column.name, (alias, f"c{place}")) for place, column in enumerate(relation.columns)
        ]
        first = len(self._tables.entries) - 1
        statement = relation.statement(self._tables)
        source = self._enter(name, namespace, named(meant, columns, position), position, first)
        return aliased(statement, alias), [source]

    def _enter(
        self,
        name: str | None,
        namespace: str | None,
        columns: Mapping[str, Meaning | None],
        position: int | None,
        index: int | None = None,
    ) -> Source:
        place = len(self._tables.entries) - 1 if index is None else index
        return self.scope.add(Source(name, namespace, columns, place, place + 1), position)

    def star(self, node: exp.Expr) -> list[tuple[str, exp.Column]]:
        """The columns that `*` or `table.*` stands for, bound. Raises: as names do."""
        found = []
        for name, meaning in self.scope.star(node):
            if not isinstance(meaning, tuple):
                hint = "give its columns different aliases"
                message = f"several columns are named {name!r}"
                raise AmbiguousColumn(message, hint=hint, position=position_of(node))
            column = bound_column(*meaning)
            column.meta["bound"] = True
            found.append((name, column))
        return found


def _aliases(alias: exp.Expr | None) -> tuple[str, ...]:
    return tuple(fold(column) for column in (alias.args.get("columns") if alias is not None else None) or [])
