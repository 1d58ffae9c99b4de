"""Small pieces of SQL trees that several rules build."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from planner.schema import Table


def table_sql(table: Table, alias: str) -> exp.Table:
    """`"namespace"."table" AS "alias"`."""
    return exp.Table(
        this=exp.to_identifier(table.name, quoted=True),
        db=exp.to_identifier(table.namespace, quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)),
    )


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
