"""The SQL of an owner's key, in a form that is the same for every column that can hold it."""

from __future__ import annotations

from sqlglot import exp

from planner.bound_query import bound_column
from planner.equalities import ColumnRef, Equalities
from planner.errors import UnsupportedSQL
from planner.plan import Owner
from planner.provenance import OwnerPosition
from planner.sql_nodes import cast_sql
from planner.sql_types import canonical_cast, sql_type
from planner.trees import copied


def owner_sql(owner: OwnerPosition, equalities: Equalities) -> Owner:
    """The key that a position holds: NULL where it holds nobody's.

    A key of one column is a bigint or text; of several, one text in which each part stands behind its length.
    """
    parts = [_part(owner.relation, column, equalities) for column in owner.columns]
    key: exp.Expr = parts[0] if len(parts) == 1 else _together(parts)
    if owner.orphan_of:
        absent = [
            exp.or_(*(exp.Is(this=bound_column(*column), expression=exp.Null()) for column in columns))
            for columns in owner.orphan_of
        ]
        key = exp.Case().when(exp.and_(*absent), key)
    return Owner(owner.relation, key)


def _part(relation: str, column: ColumnRef, equalities: Equalities) -> exp.Cast:
    alias, name = column
    declared = equalities.tables[alias].column(name)
    assert declared is not None, "owner columns exist"
    target = canonical_cast(sql_type(declared.type))
    if target is None:
        raise UnsupportedSQL(f"the privacy unit {relation!r} has a key of a type that is not supported")
    return cast_sql(bound_column(alias, name), target)


def _together(parts: list[exp.Cast]) -> exp.Expr:
    """`5:Paris2:42`: equal exactly when every part is, and NULL when one part is."""
    joined: exp.Expr | None = None
    for part in parts:
        text = cast_sql(part, "TEXT")
        length = cast_sql(exp.Length(this=copied(text)), "TEXT")
        for piece in (length, exp.Literal.string(":"), text):
            joined = piece if joined is None else exp.DPipe(this=joined, expression=piece, safe=True)
    assert joined is not None, "a key has columns"
    return joined
