"""to_char: a date or time by a format whose every pattern is known, so that both databases write the same text."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions.coercion import text_literal
from planner.expressions.datetimes import local, moment_argument
from planner.expressions.scalar import Binder, Scalar
from planner.expressions.strings import text_of
from planner.sql.datetime_formats import patterns
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family
from planner.sql.trees import position_of


def to_char(node: exp.Expr, binder: Binder) -> Scalar:
    """to_char(datetime, 'YYYY-MM'); NULL outside the years 1 to 9999.

    Raises: UnsupportedSQL for a number, and for a pattern that `planner.sql.datetime_formats` does not know.
    """
    written = text_literal(node.args["format"], "to_char() by a format", "YYYY")
    argument = binder.scalar(node.this)
    if argument.is_number and not argument.is_null:
        hint = "show the number itself, or round(x, 2)"
        raise UnsupportedSQL("to_char() of a number is not supported", hint=hint, position=position_of(node.this))
    part = moment_argument(node.this, binder)
    found = patterns(written)
    if isinstance(found, str):
        hint = 'use YYYY, MM, DD, Mon, Month, Q, IYYY, IW, DDD, Dy, Day, HH24, MI, SS; other letters in "quotes"'
        message = f"the pattern {found!r} of to_char() is not supported"
        raise UnsupportedSQL(message, hint=hint, position=position_of(node.args["format"]))
    if part.is_null:
        return part
    sql, _ = local(part, binder.zone)
    assert part.type is not None, "typed"
    stamp = sql if part.type.family is not Family.DATE else cast_sql(sql, "TIMESTAMP")
    text = exp.ToChar(this=stamp, format=exp.Literal.string("".join(pattern.written for pattern in found)))
    return text_of(node, text, sum(pattern.width for pattern in found))
