"""Numbers for DuckDB: doubles as they are, decimals within its 38 digits."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.duckdb_and_spark import (
    Handlers,
    Typed,
    Write,
    as_decimal,
    as_double,
    as_exact,
    bucket_sides,
    count,
    exact_sum,
    exact_type,
    greatest,
    numeric,
    places_of,
    rounded_type,
)
from planner.rewriting.dialects.duckdb_casts import SHARED
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
    kind = exact_sum(left, right, node)
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
        raise UnsupportedSQL("DuckDB does not divide decimals exactly", hint=hint)
    return _double(exp.Div(this=as_double(left), expression=as_double(right), typed=True))


def _whole_quotient(node: exp.Expr, write: Write) -> Typed:
    """PostgreSQL's div() and DuckDB's // both drop the fraction; the latter takes integers only."""
    left, right = write(node.this), write(node.args["expression"])
    kind = exact_type(left.whole, 0)
    sides = [cast_sql(as_exact(side), "HUGEINT") for side in (left, right)]
    return Typed(as_decimal(exp.Paren(this=exp.IntDiv(this=sides[0], expression=sides[1])), kind), kind)


def _remainder(node: exp.Expr, write: Write) -> Typed:
    """Of decimals of one type: of those that have no common one DuckDB takes the remainder as doubles."""
    left, right = write(node.this), write(node.args["expression"])
    kind = exact_type(max(left.whole, right.whole), max(left.scale, right.scale))
    return Typed(exp.Mod(this=as_decimal(left.sql, kind), expression=as_decimal(right.sql, kind)), kind)


def _absolute(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    kind = numeric(inner.whole, inner.scale) if inner.type.family is Family.INTEGER else inner.type
    return Typed(exp.Abs(this=SHARED.computable(inner)), kind)


def _sign(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    if inner.type.family is Family.FLOAT:
        return _double(cast_sql(exp.Sign(this=inner.sql), "DOUBLE"))
    return Typed(exp.Sign(this=as_exact(inner)), SqlType(Family.INTEGER, 1))


def _rounded(node: exp.Expr, write: Write) -> Typed:
    """FLOOR, CEIL, TRUNC of a double; of a decimal these and ROUND, halves away from zero in both databases."""
    buckets = bucket_sides(node, write)
    if buckets is not None:
        (left, right), kind = buckets
        return Typed(as_decimal(type(node)(this=exp.Div(this=left, expression=right, typed=True)), kind), kind)
    inner = write(node.this)
    if inner.type.family is Family.FLOAT:
        assert not isinstance(node, exp.Round), "halves of a double are rounded by FLOOR"
        return _double(type(node)(this=inner.sql))
    places = places_of(node)
    if isinstance(node, exp.Trunc) and places:
        return SHARED.cut(inner, places)
    kind, given = rounded_type(inner, places), node.args.get("decimals")
    arguments = {"decimals": given.copy()} if isinstance(node, exp.Round) and given is not None else {}
    return Typed(as_decimal(type(node)(this=as_exact(inner), **arguments), kind), kind)


def _of_double(node: exp.Expr, write: Write) -> Typed:
    """SQRT, LN, EXP: the C library's in both databases."""
    return _double(type(node)(this=as_double(write(node.this))))


def _power(node: exp.Expr, write: Write) -> Typed:
    base, exponent = (as_double(write(part)) for part in (node.this, node.args["expression"]))
    return _double(exp.Pow(this=base, expression=exponent))


def _sum(node: exp.Expr, write: Write) -> Typed:
    inner = write(node.this)
    assert inner.type.family is Family.INTEGER, "weights are whole numbers"
    return Typed(exp.Sum(this=inner.sql), numeric(38, 0))


NUMBERS: Handlers = {
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _quotient,
    exp.IntDiv: _whole_quotient,
    exp.Mod: _remainder,
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
    exp.Count: count,
    exp.Sum: _sum,
    exp.Max: greatest,
}
