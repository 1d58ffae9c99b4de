"""Numbers for DuckDB: doubles as they are, decimals within its 38 digits."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb_and_spark import (
    Handler,
    Typed,
    Write,
    as_double,
    as_exact,
    exact_type,
    literal,
    numeric,
)
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql

_DOUBLE = SqlType(Family.FLOAT)


def _double(sql: exp.Expr) -> Typed:
    return Typed(sql, _DOUBLE)


def _arithmetic(node: exp.Expr, write: Write) -> Typed:
    if isinstance(node.args["expression"], exp.Interval):
        return Typed(type(node)(this=write(node.this).sql, expression=node.args["expression"].copy()), _MOMENT)
    left, right = write(node.this), write(node.args["expression"])
    families = (left.type.family, right.type.family)
    if Family.DATE in families:
        return _days(node, left, right)
    if Family.FLOAT in families:
        return _double(type(node)(this=as_double(left), expression=as_double(right)))
    if isinstance(node, exp.Mul):
        kind = exact_type(left.whole + right.whole, left.scale + right.scale)
    else:
        kind = exact_type(max(left.whole, right.whole) + 1, max(left.scale, right.scale))
    return Typed(type(node)(this=as_exact(left, kind), expression=as_exact(right, kind)), kind)


_MOMENT = SqlType(Family.TIMESTAMP)


def _days(node: exp.Expr, left: Typed, right: Typed) -> Typed:
    """date - date is a number of days; date + days is a date, of which DuckDB wants an INTEGER."""
    if left.type.family is right.type.family:
        return Typed(exp.Sub(this=left.sql, expression=right.sql), SqlType(Family.INTEGER, 8))
    sides = [side.sql if side.type.family is Family.DATE else cast_sql(side.sql, "INT") for side in (left, right)]
    return Typed(type(node)(this=sides[0], expression=sides[1]), SqlType(Family.DATE))


def _quotient(node: exp.Expr, write: Write) -> Typed:
    left, right = write(node.this), write(node.args["expression"])
    if Family.FLOAT not in (left.type.family, right.type.family):
        hint = "divide by a double precision, x / 1000::double precision; of a comparison multiply the other side"
        message = "DuckDB does not divide decimals exactly"
        raise UnsupportedSQL(message, hint=hint)
    return _double(exp.Div(this=as_double(left), expression=as_double(right), typed=True))


def _whole_quotient(node: exp.Expr, write: Write) -> Typed:
    """PostgreSQL's div() and DuckDB's // both drop the fraction; the latter takes integers only."""
    left, right = write(node.this), write(node.args["expression"])
    kind = exact_type(left.whole, 0)
    sides = [cast_sql(as_exact(side), "HUGEINT") for side in (left, right)]
    return Typed(_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1])), kind), kind)


def _remainder(node: exp.Expr, write: Write) -> Typed:
    """Of decimals of one type: of those that have no common one DuckDB takes the remainder as doubles."""
    left, right = write(node.this), write(node.args["expression"])
    kind = exact_type(max(left.whole, right.whole), max(left.scale, right.scale))
    return Typed(exp.Mod(this=_decimal(left.sql, kind), expression=_decimal(right.sql, kind)), kind)


def _negated(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Neg(this=inner.sql if inner.is_literal else _computable(inner)), inner.type)


def _absolute(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Abs(this=_computable(inner)), _computed(inner))


def _sign(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    if inner.type.family is Family.FLOAT:
        return _double(cast_sql(exp.Sign(this=inner.sql), "DOUBLE"))
    return Typed(exp.Sign(this=as_exact(inner)), SqlType(Family.INTEGER, 1))


def _rounded(node: exp.Expr, write: Write) -> Typed:
    """FLOOR, CEIL, TRUNC of a double; of a decimal these and ROUND, halves away from zero in both databases."""
    places = node.args.get("decimals")
    buckets = _buckets(node, write) if places is None else None
    if buckets is not None:
        return buckets
    inner = write(node.this)
    if inner.type.family is Family.FLOAT:
        assert not isinstance(node, exp.Round), "halves of a double are rounded by FLOOR"
        return _double(type(node)(this=inner.sql))
    count = 0 if places is None else -int(places.this.name) if isinstance(places, exp.Neg) else int(places.name)
    if isinstance(node, exp.Trunc) and count:
        return _cut(inner, count)
    kind = exact_type(max(inner.whole, -count) + 1, min(max(count, 0), inner.scale))
    arguments = {"decimals": places.copy()} if isinstance(node, exp.Round) and places is not None else {}
    return Typed(_decimal(type(node)(this=as_exact(inner), **arguments), kind), kind)


def _buckets(node: exp.Expr, write: Write) -> Typed | None:
    """FLOOR(x / n) and its kin of whole numbers; None for anything else.

    A quotient of whole doubles below 2^53 is no nearer to the next whole number than 1 / n, so its rounding does not
    reach it, and neither does that of PostgreSQL's numerics.
    """
    quotient = node.this.unnest()
    if isinstance(node, exp.Round) or not isinstance(quotient, exp.Div):
        return None
    left, right = write(quotient.this), write(quotient.args["expression"])
    exact = all(side.type.family in (Family.INTEGER, Family.NUMERIC) and not side.scale for side in (left, right))
    if not exact or max(left.whole, right.whole) > _DOUBLE_DIGITS:
        return None
    kind = exact_type(left.whole + 1, 0)
    sides = [cast_sql(side.sql, "DOUBLE") for side in (left, right)]
    divided = exp.Div(this=sides[0], expression=sides[1], typed=True)
    return Typed(_decimal(type(node)(this=divided), kind), kind)


_DOUBLE_DIGITS = 15
"""Whole numbers of as many digits are doubles."""


def _cut(value: Typed, count: int) -> Typed:
    """trunc(x, n) is x less its remainder by 10^-n."""
    unit = literal(exp.Literal.number(format(Decimal(10) ** -count, "f")))
    kind = exact_type(max(value.whole, unit.whole), max(value.scale, unit.scale))
    remainder = exp.Paren(this=exp.Mod(this=_decimal(value.sql.copy(), kind), expression=_decimal(unit.sql, kind)))
    return Typed(exp.Paren(this=exp.Sub(this=as_exact(value, kind), expression=remainder)), kind)


def _of_double(node: exp.Expr, write: Write) -> Typed:
    """SQRT, LN, EXP: the C library's in both databases."""
    return _double(type(node)(this=as_double(write(node.this))))


def _power(node: exp.Expr, write: Write) -> Typed:
    base, exponent = (as_double(write(part)) for part in (node.this, node.args["expression"]))
    return _double(exp.Pow(this=base, expression=exponent))


def _count(node: exp.Expr, write: Write) -> Typed:
    """COUNT(*), and the rows that a condition holds for: COUNT(CASE WHEN condition THEN 1 END)."""
    if isinstance(node.this, exp.Star):
        return Typed(node.copy(), SqlType(Family.INTEGER))
    return Typed(exp.Count(this=write(node.this).sql), SqlType(Family.INTEGER))


def _sum(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    assert inner.type.family is Family.INTEGER, "weights are whole numbers"
    return Typed(exp.Sum(this=inner.sql), numeric(38, 0))


def _extreme(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    return Typed(exp.Max(this=inner.sql), inner.type)


def _computable(value: Typed) -> exp.Expr:
    """As a type whose negative exists for every value: the least bigint has none."""
    return as_exact(value) if value.type.family in (Family.INTEGER, Family.NUMERIC) else value.sql


def _computed(value: Typed) -> SqlType:
    return numeric(value.whole, value.scale) if value.type.family is Family.INTEGER else value.type


def _decimal(sql: exp.Expr, kind: SqlType) -> exp.Expr:
    return cast_sql(sql, f"DECIMAL({kind.precision}, {kind.scale})")


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _quotient,
    exp.IntDiv: _whole_quotient,
    exp.Mod: _remainder,
    exp.Neg: _negated,
    exp.Abs: _absolute,
    exp.Sign: _sign,
    exp.Floor: _rounded,
    exp.Ceil: _rounded,
    exp.Trunc: _rounded,
    exp.Round: _rounded,
    exp.Sqrt: _of_double,
    exp.Ln: _of_double,
    exp.Exp: _of_double,
    exp.Pow: _power,
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Max: _extreme,
}
