"""What DuckDB and Spark write alike: 38 exact digits and no more, values that meet, conditions.

DuckDB's decimals: 38 digits and no more, so what could need more is refused before anything runs.

Values that meet in a comparison or a choice: brought to types that DuckDB treats as PostgreSQL would.

Conditions that DuckDB and Spark write alike: AND, OR, NOT, TRUE and FALSE.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql

_MOST_DIGITS = 38
_FAST_DIGITS = 18
_INTEGER_DIGITS = 19
_EXACT_DIGITS = 15  # a decimal of as many digits becomes the nearest double in one division; longer ones round twice
_HINT = "narrow the column's type, or compare it without arithmetic"


@dataclass(frozen=True)
class Typed:
    """SQL and its type; a literal that DuckDB would read as it pleases still has no cast."""

    sql: exp.Expr
    type: SqlType

    @property
    def is_literal(self) -> bool:
        """Is it a number as written, or its negative?"""
        node = self.sql.this if isinstance(self.sql, exp.Neg) else self.sql
        return isinstance(node, exp.Literal) and not node.is_string

    @property
    def whole(self) -> int:
        """Digits before the point, at most."""
        kind = self.type
        return _INTEGER_DIGITS if kind.precision is None else max(kind.precision - (kind.scale or 0), 0)

    @property
    def scale(self) -> int:
        """Digits after the point, at most."""
        return self.type.scale or 0


Write = Callable[[exp.Expr], Typed]
"""Rewrites a part of an expression."""

Handler = Callable[[exp.Expr, Write], Typed]
"""Rewrites one construct, given how its parts are rewritten."""


def literal(node: exp.Expr) -> Typed:
    """A number as written, with its digits.

    >>> literal(exp.Literal.number("0.10")).type
    SqlType(family=<Family.NUMERIC: 'numeric'>, precision=2, scale=2, labels=())
    """
    whole, _, fraction = node.name.partition(".")
    return Typed(node.copy(), numeric(len(whole.lstrip("0")), len(fraction)))


def numeric(whole: int, scale: int) -> SqlType:
    """The type of numbers with so many digits before and after the point."""
    return SqlType(Family.NUMERIC, max(whole + scale, 1), scale)


def exact_type(whole: int, scale: int) -> SqlType:
    """As `numeric`, for values that DuckDB must hold. Raises: UnsupportedSQL when it cannot hold every one."""
    if whole + scale > _MOST_DIGITS:
        raise UnsupportedSQL(f"DuckDB has no decimals of more than {_MOST_DIGITS} digits", hint=_HINT)
    return numeric(whole, scale)


def common_exact_type(operands: Sequence[Typed]) -> SqlType:
    """The type that holds every operand. Raises: UnsupportedSQL."""
    return exact_type(max(operand.whole for operand in operands), max(operand.scale for operand in operands))


def as_exact(operand: Typed, result: SqlType | None = None) -> exp.Expr:
    """A literal or a whole number as a decimal of its own digits: DuckDB's integers overflow.

    Its decimals of up to 18 digits overflow in arithmetic, too, where the result has more: one operand must have
    more digits, whatever it holds.

    >>> n = Typed(exp.column("n"), numeric(13, 2))
    >>> [as_exact(n, numeric(17, 2)).sql("duckdb"), as_exact(n).sql("duckdb")]
    ['CAST(n AS DECIMAL(19, 2))', 'n']
    """
    wide = result is not None and (result.precision or 0) > _FAST_DIGITS
    kind = exact_type(operand.whole, operand.scale)
    precision = max(kind.precision or 1, _FAST_DIGITS + 1 if wide else 1)
    if operand.is_literal or operand.type.family is Family.INTEGER or precision != kind.precision:
        return cast_sql(operand.sql, f"DECIMAL({precision}, {kind.scale})")
    return operand.sql


def as_double(operand: Typed) -> exp.Expr:
    """The nearest double, which is what PostgreSQL makes of it.

    >>> column = Typed(exp.column("x"), SqlType(Family.NUMERIC, 30, 2))
    >>> as_double(column).sql("duckdb")
    'CAST(CAST(x AS TEXT) AS DOUBLE)'
    >>> as_double(Typed(exp.column("x"), SqlType(Family.NUMERIC, 15, 2))).sql("duckdb")
    'CAST(x AS DOUBLE)'
    >>> as_double(literal(exp.Literal.number("0.1"))).sql("duckdb")
    "CAST('0.1' AS DOUBLE)"
    """
    if operand.type.family is Family.FLOAT:
        return operand.sql
    if operand.is_literal:
        return cast_sql(exp.Literal.string(operand.sql.sql()), "DOUBLE")
    if operand.type.family is Family.NUMERIC and (operand.type.precision or _MOST_DIGITS) > _EXACT_DIGITS:
        return cast_sql(cast_sql(operand.sql, "TEXT"), "DOUBLE")
    return cast_sql(operand.sql, "DOUBLE")


def is_out_of_reach(operand: Typed) -> bool:
    """Is it a literal that no decimal of DuckDB comes near, so that a double in its place compares the same?"""
    if not operand.is_literal:
        return False
    value = Decimal(operand.sql.sql())
    return bool(value) and not Decimal(10) ** -_MOST_DIGITS <= abs(value) < Decimal(10) ** _MOST_DIGITS


_MOMENTS = (Family.TIMESTAMP, Family.TIMESTAMPTZ)
_BIGINT_DIGITS = 19
_LONG_LITERAL = 18
"""DuckDB reads a literal of more digits as a type of its own choice."""


def compared(operands: Sequence[Typed]) -> list[exp.Expr]:
    """The sides of a comparison. Raises: UnsupportedSQL where they have no common type that holds every value.

    >>> from planner.rewriting.dialects.duckdb_and_spark import literal
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


def truth(sql: exp.Expr) -> Typed:
    """A condition, with its type."""
    return Typed(sql, SqlType(Family.BOOL))


def _connected(node: exp.Expr, write: Write) -> Typed:
    return truth(type(node)(this=write(node.this).sql, expression=write(node.args["expression"]).sql))


def _denied(node: exp.Expr, write: Write) -> Typed:
    return truth(exp.Not(this=write(node.this).sql))


def _constant(node: exp.Expr, write: Write) -> Typed:
    return truth(node.copy())


CONNECTIVES: dict[type[exp.Expr], Handler] = {
    exp.And: _connected,
    exp.Or: _connected,
    exp.Not: _denied,
    exp.Boolean: _constant,
}
