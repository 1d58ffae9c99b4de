"""Conditions for Spark: texts are equal by their bytes, and ordered by them, as under PostgreSQL's collation C.

LIKE reads its pattern's backslashes as PostgreSQL does, but fails for one before an ordinary letter: it is left out.
ILIKE is refused: which letters are one is Java's to say here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.alignment import aligned
from planner.rewriting.dialects.connectives import CONNECTIVES, truth
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write, as_double, is_out_of_reach
from planner.rewriting.dialects.spark.calls import double
from planner.rewriting.dialects.spark.moments import as_moment
from planner.sql.sql_types import Family, SqlType

_MOMENTS = (Family.TIMESTAMP, Family.TIMESTAMPTZ)
_COMPARABLE = frozenset(Family) - {Family.UUID, Family.ENUM, Family.CHAR, Family.TIME, Family.INET}
_SPECIAL = frozenset("%_\\")


def compared(operands: Sequence[Typed]) -> list[exp.Expr]:
    """The sides of a comparison. Raises: UnsupportedSQL where they have no common type that holds every value.

    >>> day = Typed(exp.column("d"), SqlType(Family.DATE))
    >>> moment = Typed(exp.column("t"), SqlType(Family.TIMESTAMPTZ))
    >>> compared([day, moment])
    Traceback (most recent call last):
    ...
    planner.errors.UnsupportedSQL: a timestamp with time zone beside another type is not supported on Spark
    """
    families = {operand.type.family for operand in operands} - {Family.OTHER}
    if not families <= _COMPARABLE:
        raise UnsupportedSQL("a comparison of this type is not supported on Spark")
    if Family.TIMESTAMPTZ in families and len(families) > 1:
        raise UnsupportedSQL("a timestamp with time zone beside another type is not supported on Spark")
    if families & {Family.TEXT} and families - {Family.TEXT}:
        raise UnsupportedSQL("a text beside another type is not supported on Spark", hint="write a cast")
    if Family.FLOAT not in families:
        operands = [
            Typed(as_double(operand), SqlType(Family.OTHER)) if is_out_of_reach(operand) else operand
            for operand in operands
        ]
    if any(operand.type.family in _MOMENTS for operand in operands):
        return [as_moment(operand) for operand in operands]
    return aligned(operands)


def _compared(node: exp.Expr, write: Write) -> Typed:
    value, other = write(node.this), node.args["expression"]
    if isinstance(other, exp.Literal) and other.is_string and value.type.is_number:
        return _no_nan(node, value)
    left, right = compared([value, write(other)])
    return truth(type(node)(this=left, expression=right))


def _no_nan(node: exp.Expr, value: Typed) -> Typed:
    """`x <> 'NaN'`, the only quoted number that rules write; a decimal is never NaN, so it is only not NULL."""
    if not isinstance(node, exp.NEQ) or node.expression.name != "NaN":
        raise UnsupportedSQL("a number beside a text is not supported on Spark")
    if value.type.family is Family.FLOAT:
        return truth(exp.NEQ(this=value.sql, expression=double("NaN")))
    return truth(exp.Is(this=value.sql, expression=exp.Null(), negate=True))


def _between(node: exp.Expr, write: Write) -> Typed:
    value, low, high = compared([write(node.args[part]) for part in ("this", "low", "high")])
    return truth(exp.Between(this=value, low=low, high=high))


def _listed(node: exp.Expr, write: Write) -> Typed:
    if node.args.get("query") is not None:
        raise UnsupportedSQL("IN with a query is not supported on Spark", hint="write EXISTS, or a join")
    value, *items = compared([write(node.this), *map(write, node.args["expressions"])])
    return truth(exp.In(this=value, expressions=items))


def _tested(node: exp.Expr, write: Write) -> Typed:
    test = node.args["expression"].copy()
    return truth(exp.Is(this=write(node.this).sql, expression=test, negate=node.args.get("negate")))


def _like(node: exp.Expr, write: Write) -> Typed:
    value, pattern = write(node.this), node.args["expression"]
    if value.type.family is not Family.TEXT or not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise UnsupportedSQL("LIKE of anything but a text and a pattern is not supported on Spark")
    like = exp.Like(this=value.sql, expression=exp.Literal.string(spark_pattern(pattern.name)))
    return truth(exp.Not(this=exp.Paren(this=like)) if node.args.get("negate") else like)


def spark_pattern(pattern: str) -> str:
    r"""A pattern of PostgreSQL's LIKE as Spark reads it. Raises: UnsupportedSQL for one that ends in its escape.

    >>> spark_pattern(r"100\% \a\\_"), spark_pattern("a%")
    ('100\\% a\\\\_', 'a%')
    """
    written, letters = "", iter(pattern)
    for letter in letters:
        if letter == "\\":
            escaped = next(letters, None)
            if escaped is None:
                raise UnsupportedSQL("a pattern of LIKE that ends in its escape character")
            written += f"\\{escaped}" if escaped in _SPECIAL else escaped
        else:
            written += letter
    return written


def _found(node: exp.Expr, write: Write) -> Typed:
    return truth(exp.Exists(this=write(node.this).sql))


CONDITIONS: dict[type[exp.Expr], Handler] = {
    **CONNECTIVES,
    exp.EQ: _compared,
    exp.NEQ: _compared,
    exp.LT: _compared,
    exp.LTE: _compared,
    exp.GT: _compared,
    exp.GTE: _compared,
    exp.NullSafeEQ: _compared,
    exp.NullSafeNEQ: _compared,
    exp.Between: _between,
    exp.In: _listed,
    exp.Is: _tested,
    exp.Like: _like,
    exp.Exists: _found,
}
