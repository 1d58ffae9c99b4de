"""Values that meet in a comparison or a choice: brought to types that DuckDB treats as PostgreSQL would."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.rewriting.dialects.exact_digits import (
    Typed,
    as_double,
    as_exact,
    common_exact_type,
    is_out_of_reach,
)
from planner.sql.sql_types import Family, SqlType

_MOMENTS = (Family.TIMESTAMP, Family.TIMESTAMPTZ)
_BIGINT_DIGITS = 19
_LONG_LITERAL = 18
"""DuckDB reads a literal of more digits as a type of its own choice."""


def compared(operands: Sequence[Typed]) -> list[exp.Expr]:
    """The sides of a comparison. Raises: UnsupportedSQL where they have no common type that holds every value.

    >>> from planner.rewriting.dialects.exact_digits import literal
    >>> day = Typed(exp.column("d"), SqlType(Family.DATE))
    >>> moment = Typed(exp.column("t"), SqlType(Family.TIMESTAMP))
    >>> [side.sql("duckdb") for side in compared([day, moment])]
    ['TRY_CAST(d AS TIMESTAMP)', 't']
    >>> huge = literal(exp.Literal.number("1" + "0" * 50))
    >>> [side.sql("duckdb")[:16] for side in compared([Typed(exp.column("n"), SqlType(Family.INTEGER)), huge])]
    ['n', "CAST('1000000000"]
    """
    if all(not operand.type.is_number or operand.type.family is not Family.FLOAT for operand in operands):
        operands = [
            Typed(as_double(operand), SqlType(Family.OTHER)) if is_out_of_reach(operand) else operand
            for operand in operands
        ]
    if any(operand.type.family in _MOMENTS for operand in operands):
        return [_moment(operand) for operand in operands]
    return aligned(operands)


def aligned(operands: Sequence[Typed]) -> list[exp.Expr]:
    """Values of which one is chosen, or that are compared, as numbers of one kind. Raises: UnsupportedSQL."""
    numbers = [operand for operand in operands if operand.type.is_number]
    if any(operand.type.family is Family.FLOAT for operand in numbers):
        return [as_double(operand) if operand.type.is_number else operand.sql for operand in operands]
    if numbers and (common_exact_type(numbers).precision or 0) > _LONG_LITERAL:
        return [as_exact(operand) if operand.is_literal else operand.sql for operand in operands]
    return [operand.sql for operand in operands]


def common_type(operands: Sequence[Typed]) -> SqlType:
    """The type of a choice between values."""
    numbers = [operand for operand in operands if operand.type.is_number]
    if any(operand.type.family is Family.FLOAT for operand in numbers):
        return SqlType(Family.FLOAT)
    if numbers and any(operand.type.family is Family.NUMERIC for operand in numbers):
        return common_exact_type(numbers)
    if numbers:
        return max((operand.type for operand in numbers), key=lambda kind: kind.precision or _BIGINT_DIGITS)
    known = [operand.type for operand in operands if operand.type.family is not Family.OTHER]
    return known[0] if known else SqlType(Family.OTHER)


def _moment(operand: Typed) -> exp.Expr:
    """A date as a timestamp; one beyond the years of timestamps is unknown, where a plain cast would fail."""
    if operand.type.family is not Family.DATE:
        return operand.sql
    return exp.TryCast(this=operand.sql, to=exp.DataType.build("TIMESTAMP"))
