"""Small pieces of SQL trees that several rules build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from sqlglot import exp

from planner.schema import Schema, Table
from planner.sql.trees import over_leaves, quoted

ROWS = "rows"
"""Key of the meta of a subquery that is a table of its own: that table, for the types of its columns."""

DECLARED = "declared"
"""Key of the meta of a subquery of the public values that a policy declares: the table whose columns it has."""


def table_sql(table: Table, alias: str) -> exp.Table:
    """A base table in FROM as a tree, always with its schema: `"namespace"."table" AS "alias"`."""
    names = over_leaves(exp.TableAlias, this=quoted(alias))
    return over_leaves(exp.Table, this=quoted(table.relation), db=quoted(table.namespace), alias=names)


def tables_by_alias(tree: exp.Expr, schema: Schema) -> Iterator[tuple[str, Table]]:
    """By alias; of derived tables, those whose columns they have."""
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Subquery) and ROWS in node.meta):
        if isinstance(node, exp.Subquery):
            for known in (DECLARED, ROWS):
                if known in node.meta:
                    yield node.alias, node.meta[known]
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            table = schema.at(node.text("db"), node.name)
            assert table is not None, "rules write tables of the catalog only"
            yield node.alias_or_name, table


def cast_sql(expression: exp.Expr, kind: str) -> exp.Cast:
    """`CAST(expression AS kind)`; the expression itself when it is that already.

    It takes the tree as it is: `exp.cast` copies it, and parses `kind` every time.

    >>> cast_sql(cast_sql(exp.column("x"), "BIGINT"), "BIGINT").sql("postgres")
    'CAST(x AS BIGINT)'
    """
    data_type = _data_type(kind)
    if isinstance(expression, exp.Cast) and expression.to.this is data_type.this and expression.to == data_type:
        return expression
    return exp.Cast(this=expression, to=over_leaves(exp.DataType, **data_type.args))


def field_of(expression: exp.Expr | None) -> exp.Extract | None:
    """The EXTRACT under nothing but casts to numbers: a whole number, never NaN; None for anything else.

    >>> field_of(cast_sql(exp.Extract(this=exp.var("DAY"), expression=exp.column("d")), "DECIMAL")).sql("postgres")
    'EXTRACT(DAY FROM d)'
    """
    while isinstance(expression, exp.Cast) and expression.to.this in _NUMBERS:
        expression = expression.this
    return expression if isinstance(expression, exp.Extract) and not has_fraction(expression) else None


def has_fraction(field: exp.Extract) -> bool:
    """May the field be no whole number? Seconds are, unless of a moment that is cut to whole ones."""
    return field.this.name.upper() in ("EPOCH", "SECOND") and not isinstance(field.expression, exp.TimestampTrunc)


_NUMBERS = (exp.DataType.Type.DECIMAL, exp.DataType.Type.DOUBLE, exp.DataType.Type.BIGINT)


def named_sql(expression: exp.Expr, name: str) -> exp.Alias:
    """`expression AS "name"`; it takes the tree as it is."""
    named = exp.Alias(this=expression)
    named.args["alias"] = quoted(name)
    return named


def is_type(data_type: exp.DataType, *kinds: str) -> bool:
    """Is the type one of these? `DataType.is_type` parses each name every time, which was half of writing a question.

    >>> is_type(exp.DataType.build("DECIMAL(9, 2)"), "bigint", "decimal")
    True
    """
    return data_type.is_type(*map(_data_type, kinds))


@cache
def _data_type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind)


def conjunction(conditions: Iterable[exp.Expr]) -> exp.Expr | None:
    """The conditions joined by AND, each as it is but for an OR, which gets parentheses; None for no condition.

    >>> from sqlglot import parse_one
    >>> conjunction(map(parse_one, ["a", "b OR c", "d"])).sql()
    'a AND (b OR c) AND d'
    """
    joined: exp.Expr | None = None
    for condition in conditions:
        part = exp.Paren(this=condition) if isinstance(condition, exp.Or) else condition
        joined = part if joined is None else exp.And(this=joined, expression=part)
    return joined


def add_conditions(select: exp.Select, conditions: Iterable[exp.Expr]) -> None:
    """Append to WHERE, in place."""
    where = select.args.get("where")
    present = list(where.this.flatten(unnest=False)) if where and isinstance(where.this, exp.And) else []
    if where and not present:
        present = [where.this]
    joined = conjunction([*present, *conditions])
    if joined is not None:
        select.set("where", exp.Where(this=joined))
