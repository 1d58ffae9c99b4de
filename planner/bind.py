"""Names to catalog entries: a parsed SELECT becomes a BoundQuery in normal form."""

from __future__ import annotations

from sqlglot import exp

from planner.bound_query import BoundOutput, BoundQuery, BoundTable
from planner.errors import InvalidSyntax, StatementTooComplex, UnknownColumn, UnsupportedSQL
from planner.limits import MAX_OUTPUTS, MAX_TABLES
from planner.policy import Policy
from planner.positions import position_of
from planner.predicates import bind_predicate, conjuncts
from planner.schema import Schema
from planner.scope import Scope, fold


def bind(select: exp.Select, schema: Schema, policy: Policy) -> BoundQuery:
    """Resolve every name of a SELECT and flatten its joins.

    Args:
      select: from `planner.parse.parse`; it is not changed.
      schema: the catalog.
      policy: names the tables that can be queried.
    Returns: the query in normal form.
    Raises: UnknownTable, UnknownColumn, AmbiguousColumn, UnsupportedSQL, InvalidSyntax, StatementTooComplex.
    """
    scope = Scope(schema, policy)
    predicates = _bind_from(select, scope)
    where = select.args.get("where")
    predicates += [bind_predicate(part, scope) for part in conjuncts(where.this)] if where else []
    if len(select.expressions) > MAX_OUTPUTS:
        raise StatementTooComplex(f"more than {MAX_OUTPUTS} columns", position=position_of(select.expressions[-1]))
    keys = _bind_keys(select, scope)
    outputs = tuple(_bind_output(item, scope, keys) for item in select.expressions)
    if not any(output.aggregate for output in outputs):
        hint = "select COUNT(*) or SUM(expression)"
        position = position_of(select.expressions[0]) if select.expressions else None
        raise UnsupportedSQL("a query without an aggregate would show rows", hint=hint, position=position)
    return BoundQuery(tuple(scope.tables), tuple(predicates), tuple(keys), outputs)


def _bind_from(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    clause = select.args.get("from_")
    if clause is None:
        raise UnsupportedSQL("a SELECT without FROM is not supported", position=position_of(select))
    joins = select.args.get("joins") or []
    if len(joins) >= MAX_TABLES:
        raise StatementTooComplex(f"more than {MAX_TABLES} tables", position=position_of(joins[MAX_TABLES - 1]))
    tree = [scope.add(_table(clause.this))]
    predicates: list[exp.Expr] = []
    for join in joins:
        entry = scope.add(_table(join.this))
        condition, using = join.args.get("on"), join.args.get("using") or []
        if condition is None and not using and not join.kind:
            tree = []  # a comma: USING does not look across it
        elif condition is None and not using and join.kind == "INNER":
            raise InvalidSyntax("INNER JOIN lacks its ON or USING", position=position_of(join))
        predicates += [_bind_using(name, tree, entry, scope) for name in using]
        if condition is not None:
            predicates += [bind_predicate(part, scope) for part in conjuncts(condition)]
        tree.append(entry)
    return predicates


def _table(node: exp.Expr) -> exp.Table:
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        return node
    raise UnsupportedSQL("FROM takes tables only", hint="name the tables", position=position_of(node))


def _bind_using(name: exp.Expr, tree: list[BoundTable], entry: BoundTable, scope: Scope) -> exp.Expr:
    column, position = fold(name), position_of(name)
    left = scope.unqualified(column, tree, position)
    right = scope.unqualified(column, [entry], position)
    scope.merge(left, entry)
    return bind_predicate(exp.EQ(this=_written(left, scope), expression=_written(right, scope)), scope)


def _written(column: exp.Column, scope: Scope) -> exp.Column:
    """The bound column under the analyst's name of its table, as `bind_predicate` expects names."""
    entry = next(entry for entry in scope.tables if entry.alias == column.table)
    return exp.Column(this=column.this.copy(), table=exp.to_identifier(entry.name, quoted=True))


def _bind_keys(select: exp.Select, scope: Scope) -> list[exp.Column]:
    group = select.args.get("group")
    keys: list[exp.Column] = []
    for item in group.expressions if group is not None else []:
        column = _bind_key(item, select, scope)
        if column not in keys:
            keys.append(column)
    return keys


def _bind_key(item: exp.Expr, select: exp.Select, scope: Scope) -> exp.Column:
    """A column; or, as in PostgreSQL, the position or (when no column has that name) the alias of an output."""
    if isinstance(item, exp.Literal) and not item.is_string and item.name.isascii() and item.name.isdecimal():
        index = int(item.name) - 1 if len(item.name) < 4 else -1
        if not 0 <= index < len(select.expressions):
            raise InvalidSyntax("GROUP BY names a position that is not there", position=position_of(item))
        return _key_column(select.expressions[index].unalias(), scope, item)
    if isinstance(item, exp.Column) and item.args.get("table") is None:
        try:
            return scope.resolve(item)
        except UnknownColumn:
            for output in select.expressions:
                if isinstance(output, exp.Alias) and fold(output.args["alias"]) == fold(item.this):
                    return _key_column(output.this, scope, item)
            raise
    return _key_column(item, scope, item)


def _key_column(node: exp.Expr, scope: Scope, written: exp.Expr) -> exp.Column:
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Column):
        hint = "group by plain columns"
        raise UnsupportedSQL("GROUP BY an expression is not supported", hint=hint, position=position_of(written))
    return scope.resolve(node)


def _bind_output(item: exp.Expr, scope: Scope, keys: list[exp.Column]) -> BoundOutput:
    alias = fold(item.args["alias"]) if isinstance(item, exp.Alias) else None
    node, position = item.unalias(), position_of(item)
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        column = scope.resolve(node)
        if column not in keys:
            hint = "group by it, or aggregate it"
            raise UnsupportedSQL(f"column {column.name!r} is not a group key", hint=hint, position=position)
        return BoundOutput(alias or column.name, None, None, keys.index(column), column.name, position)
    label = node.sql("postgres", comments=False).lower()[:60]
    if isinstance(node, exp.Count):
        return BoundOutput(alias or "count", "count", _counted(node, scope), None, label, position)
    if isinstance(node, exp.Sum):
        return BoundOutput(alias or "sum", "sum", _bound(node.this, scope), None, label, position)
    hint = "select COUNT(*), COUNT(column), SUM(expression) and group keys"
    raise UnsupportedSQL("this is not supported in the select list", hint=hint, position=position)


def _counted(node: exp.Count, scope: Scope) -> exp.Expr | None:
    argument = node.this
    if argument is None or isinstance(argument, (exp.Star, exp.Literal)):
        return None
    if not isinstance(argument, exp.Column):
        hint = "count a column, or SUM(CASE WHEN ... THEN 1 ELSE 0 END)"
        raise UnsupportedSQL("COUNT of an expression is not supported", hint=hint, position=position_of(node))
    return scope.resolve(argument)


def _bound(node: exp.Expr, scope: Scope) -> exp.Expr:
    """Resolve the columns of an aggregate's argument; conditions inside CASE are bound as predicates."""
    if isinstance(node, exp.Column):
        column = scope.resolve(node)
        column.meta.update(node.this.meta)
        return column
    if isinstance(node, exp.If):
        return exp.If(this=bind_predicate(node.this, scope), true=_bound(node.args["true"], scope))
    arguments: dict[str, object] = {}
    for name, value in node.args.items():
        if isinstance(value, list):
            arguments[name] = [_bound(part, scope) for part in value]
        else:
            arguments[name] = _bound(value, scope) if isinstance(value, exp.Expr) else value
    bound = type(node)(**arguments)
    bound.meta.update(node.meta)
    return bound
