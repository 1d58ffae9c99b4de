"""GROUP BY: columns, conditions and expressions, their positions and aliases."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.bind_scalar import bind_scalar
from planner.bound_query import BoundKey
from planner.errors import InvalidSyntax, UnknownColumn, UnsupportedSQL
from planner.expression_domain import buckets, expression_domain
from planner.positions import position_of
from planner.scope import Scope, fold
from planner.sql_types import Family, SqlType
from planner.trees import holds


def bind_keys(select: exp.Select, scope: Scope, given: Sequence[exp.Expr]) -> list[BoundKey]:
    """The distinct keys of GROUP BY, where the bound conditions `given` hold.

    Raises: UnsupportedSQL, InvalidSyntax, and what names raise.
    """
    group = select.args.get("group")
    keys: dict[exp.Expr, BoundKey] = {}
    for item in group.expressions if group is not None else []:
        written = scope.bind(_meant(item, select, scope)).unnest()
        keys.setdefault(written, _bind_key(written, scope, given, position_of(item)))
    return list(keys.values())


def position_in(count: int, item: exp.Literal, clause: str) -> int:
    """The index of the output, one of `count`, that a position names. Raises InvalidSyntax."""
    index = int(item.name) - 1 if item.name.isdigit() and len(item.name) < 4 else -1
    if not 0 <= index < count:
        raise InvalidSyntax(f"{clause} names a position that is not there", position=position_of(item))
    return index


def _meant(item: exp.Expr, select: exp.Select, scope: Scope) -> exp.Expr:
    """An expression; or, as in PostgreSQL, the position or (when no column has that name) the alias of an output."""
    if isinstance(item, exp.Literal) and not item.is_string:
        output: exp.Expr = select.expressions[position_in(len(select.expressions), item, "GROUP BY")].unalias()
        return output
    if isinstance(item, exp.Column) and item.args.get("table") is None:
        try:
            scope.resolve(item)
        except UnknownColumn:
            for output in select.expressions:
                if isinstance(output, exp.Alias) and fold(output.args["alias"]) == fold(item.this):
                    meant: exp.Expr = output.this
                    return meant
            raise
    return item


def _bind_key(node: exp.Expr, scope: Scope, given: Sequence[exp.Expr], position: int | None) -> BoundKey:
    if holds(node, exp.AggFunc):
        raise UnsupportedSQL("an aggregate in GROUP BY is not supported", position=position)
    if isinstance(node, exp.Column):
        return BoundKey(node, node, scope.type_of(node), position)
    scalar = bind_scalar(node, scope, given)
    whole = buckets(node, scalar)
    if whole is not None:
        return BoundKey(node, whole.sql, SqlType(Family.INTEGER), position, whole.values)
    kind = scalar.type or SqlType(Family.TEXT)
    return BoundKey(node, scalar.sql, kind, position, expression_domain(node, scalar))
