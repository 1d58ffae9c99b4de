"""FROM and WHERE of a SELECT, its subqueries and CTEs, flattened into one list of tables and one of conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from planner.bind_scalar import bind_predicate
from planner.errors import InvalidSyntax, UnknownColumn, UnsupportedSQL
from planner.positions import position_of
from planner.predicates import conjuncts
from planner.projection import named, project, select_project_join
from planner.scope import Meaning, Scope, Source, Tables, fold
from planner.trees import nodes


@dataclass(frozen=True)
class CommonTable:
    """One entry of WITH: its query, its column aliases, and the entries that it may name itself."""

    body: exp.Expr
    columns: tuple[str, ...]
    visible: Mapping[str, CommonTable]


@dataclass(frozen=True)
class Flattened:
    """The base tables and conditions of the whole statement, as they are found.

    `crossed` has the aliases of one table of either side of each CROSS JOIN.
    """

    tables: Tables
    predicates: list[exp.Expr] = field(default_factory=list)
    crossed: list[tuple[str, str]] = field(default_factory=list)


def bind_from(select: exp.Select, flat: Flattened, visible: Mapping[str, CommonTable]) -> Scope:
    """Enter the tables and conditions of FROM, its joins and WHERE.

    Args:
      select: a SELECT; it is not changed.
      flat: what is found is appended to it; each reference to a CTE or subquery is a copy of its own.
      visible: the CTEs of the statements around this one.
    Returns: the names that the rest of the SELECT sees.
    Raises: UnknownTable, UnknownColumn, AmbiguousColumn, UnsupportedSQL, InvalidSyntax, StatementTooComplex.
    """
    clause = select.args.get("from_")
    if clause is None:
        raise UnsupportedSQL("a SELECT without FROM is not supported", position=position_of(select))
    binder = _FromClause(Scope(flat.tables), flat, common_tables(select, visible))
    binder.items(clause.this, select.args.get("joins") or [])
    where = select.args.get("where")
    if where is not None:
        binder.conditions(where.this, binder.scope.sources)
    return binder.scope


def common_tables(select: exp.Query, visible: Mapping[str, CommonTable]) -> Mapping[str, CommonTable]:
    """The CTEs that a SELECT sees: its own, each of which sees those before it, and those around it."""
    clause = select.args.get("with_")
    known = dict(visible)
    for entry in clause.expressions if clause is not None else []:
        alias = entry.args["alias"]
        columns = tuple(fold(column) for column in alias.args.get("columns") or [])
        known[fold(alias.this)] = CommonTable(entry.this, columns, dict(known))
    return known


class _FromClause:
    """Binds the items of one FROM."""

    def __init__(self, scope: Scope, flat: Flattened, visible: Mapping[str, CommonTable]) -> None:
        self.scope = scope
        self._flat = flat
        self._visible = visible

    def items(self, first: exp.Expr, joins: Sequence[exp.Join]) -> None:
        """Enter the items of FROM; USING, NATURAL and ON do not look across a comma."""
        tree = self._item(first)
        for join in joins:
            tree = self._item(join.this) if is_comma(join) else [*tree, *self._join(join, tree)]

    def conditions(self, node: exp.Expr, among: Sequence[Source]) -> None:
        """Enter the conditions that AND joins."""
        self._flat.predicates.extend(self._bound(conjuncts(node), among))

    def _bound(self, parts: Sequence[exp.Expr], among: Sequence[Source]) -> list[exp.Expr]:
        for part in parts:
            aggregate = next((node for node in nodes(part) if isinstance(node, exp.AggFunc)), None)
            if aggregate is not None:
                message = "an aggregate in a condition over rows is not supported"
                raise UnsupportedSQL(message, hint="write it in HAVING", position=position_of(aggregate))
        return [bind_predicate(self.scope.bind(part, among), self.scope) for part in parts]

    def _item(self, node: exp.Expr) -> list[Source]:
        """The sources of a table, a subquery, or joins in parentheses."""
        position = position_of(node)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            entered = [self.scope.add(self._table(node, position), position)]
            return self._joined_inside(node, entered)
        if isinstance(node, (exp.Subquery, exp.Paren)):
            body = node.this
            if isinstance(body, (exp.Table, exp.Subquery, exp.Paren)) and not node.args.get("alias"):
                return self._joined_inside(node, self._item(body))
            entered = [self.scope.add(self._subquery(node), position)]
            return self._joined_inside(node, entered)
        raise UnsupportedSQL("FROM takes tables and subqueries only", hint="name the tables", position=position)

    def _joined_inside(self, node: exp.Expr, tree: list[Source]) -> list[Source]:
        """The joins that stand inside the parentheses of an item."""
        for join in node.args.get("joins") or []:
            tree = [*tree, *self._join(join, tree)]
        return tree

    def _table(self, node: exp.Table, position: int | None) -> Source:
        alias = node.args.get("alias")
        written = fold(alias.this) if alias is not None and alias.this is not None else fold(node.this)
        columns = tuple(fold(column) for column in (alias.args.get("columns") if alias is not None else None) or [])
        common = self._visible.get(fold(node.this)) if node.args.get("db") is None else None
        sample = node.args.get("sample")
        if common is not None:
            if sample is not None:
                hint = "sample one of the tables inside it"
                raise UnsupportedSQL("TABLESAMPLE on a CTE is not supported", hint=hint, position=position)
            names = (*columns, *common.columns[len(columns) :])
            return self._derived(written, common.body, common.visible, names, position)
        table = self._flat.tables.lookup(node)
        entry = self._flat.tables.add(written, table, position)
        index = len(self.scope.tables) - 1
        if sample is not None:
            entry = replace(entry, sample=_sample_rate(sample))
            self._flat.tables.replace(index, entry)
        meant: list[tuple[str, Meaning | None]] = [
            (column.name, (entry.alias, column.name)) for column in table.columns
        ]
        namespace = table.namespace if alias is None else None
        return Source(written, namespace, named(meant, columns, position), index, index + 1)

    def _subquery(self, node: exp.Expr) -> Source:
        alias = node.args.get("alias")
        name = fold(alias.this) if alias is not None and alias.this is not None else None
        columns = tuple(fold(column) for column in (alias.args.get("columns") if alias is not None else None) or [])
        return self._derived(name, node.this, self._visible, columns, position_of(node))

    def _derived(
        self,
        name: str | None,
        body: exp.Expr,
        visible: Mapping[str, CommonTable],
        columns: tuple[str, ...],
        position: int | None,
    ) -> Source:
        select = select_project_join(body, position)
        first = len(self.scope.tables)
        inner = bind_from(select, self._flat, visible)
        return Source(name, None, named(project(select, inner), columns, position), first, len(self.scope.tables))

    def _join(self, join: exp.Join, tree: list[Source]) -> list[Source]:
        before = len(self._flat.predicates)
        right = self._item(join.this)
        using = [(fold(name), position_of(name)) for name in join.args.get("using") or []]
        natural = join.args.get("method") == "NATURAL"
        condition = join.args.get("on")
        if natural:
            shared = set(self.scope.visible(tree))
            common = [name for name in dict.fromkeys(self.scope.visible(right)) if name in shared]
            using = [(name, position_of(join)) for name in common]
        elif condition is None and not using and join.kind in ("", "INNER", "OUTER"):
            raise InvalidSyntax("JOIN lacks its ON or USING", position=position_of(join))
        found = [self._using(name, tree, right, position) for name, position in using]
        if condition is not None:
            found += self._bound(conjuncts(condition), [*tree, *right])
        if join.kind == "CROSS":
            left_alias, right_alias = (self.scope.tables[side[0].first].alias for side in (tree, right))
            self._flat.crossed.append((left_alias, right_alias))
        if join.side == "LEFT":
            inside = self._flat.predicates[before:]
            del self._flat.predicates[before:]
            self._make_outer(tree, right, [*inside, *found], join)
        else:
            self._flat.predicates.extend(found)
        return right

    def _using(self, name: str, tree: list[Source], right: list[Source], position: int | None) -> exp.Expr:
        for side, sources in ("left", tree), ("right", right):
            if name not in self.scope.visible(sources):
                reason = f"the {side} side of JOIN ... USING has no column {name!r}"
                hint = "write ON with the two columns that are equal"
                raise UnknownColumn(reason, hint=hint, position=position)
        left_value = self.scope.unqualified(name, tree, position)
        right_value = self.scope.unqualified(name, right, position)
        for source in right:
            self.scope.hide(source, name)
        return bind_predicate(exp.EQ(this=left_value, expression=right_value), self.scope)

    def _private_on_the_right(self, tree: list[Source]) -> str | None:
        """What to write instead of public LEFT JOIN private, whose point is to see the keys without a partner."""
        entries = [entry for source in tree for entry in self.scope.tables[source.first : source.last]]
        if not all(self._flat.tables.is_public(entry.table) for entry in entries):
            return None
        return "use an inner JOIN and group by the public table's key: groups without rows appear anyway, near zero"

    def _make_outer(
        self, tree: list[Source], right: list[Source], conditions: list[exp.Expr], join: exp.Join
    ) -> None:
        """Mark the one public table on the right; every row on the left stays, whatever the private rows are."""
        source, tables = right[0], self.scope.tables
        hint = "use an inner JOIN; only a public table can be LEFT JOINed, one at a time"
        position = position_of(join)
        entries = [entry for other in right for entry in tables[other.first : other.last]]
        if any(not self._flat.tables.is_public(entry.table) for entry in entries):
            reason = "LEFT JOIN to a private table is not supported: one person's row would replace another row"
            raise UnsupportedSQL(reason, hint=self._private_on_the_right(tree) or hint, position=position)
        if len(entries) != 1 or entries[0].outer is not None:
            raise UnsupportedSQL("LEFT JOIN to several tables is not supported", hint=hint, position=position)
        if any(
            isinstance(value, exp.Expr) and not isinstance(value, exp.Column) for value in source.columns.values()
        ):
            reason = "LEFT JOIN to a subquery with computed columns is not supported"
            raise UnsupportedSQL(reason, hint="compute the column in the select list", position=position)
        self._flat.tables.replace(source.first, replace(entries[0], outer=tuple(conditions)))


def _sample_rate(node: exp.Expr) -> float:
    """The rate of TABLESAMPLE BERNOULLI (percent)."""
    percent = node.args.get("percent")
    position = position_of(percent) or position_of(node) if isinstance(percent, exp.Expr) else position_of(node)
    hint = "write TABLESAMPLE BERNOULLI (10)"
    if not isinstance(percent, exp.Literal) or percent.is_string:
        raise UnsupportedSQL("TABLESAMPLE takes a number", hint=hint, position=position)
    try:
        return float(percent.name) / 100
    except ValueError:  # `1e`, which the parser lets pass
        raise InvalidSyntax("TABLESAMPLE takes a number", hint=hint, position=position) from None


def is_comma(join: exp.Join) -> bool:
    """Is it an item after a comma?"""
    parts = ("on", "using", "kind", "side", "method")
    return not any(join.args.get(part) for part in parts)
