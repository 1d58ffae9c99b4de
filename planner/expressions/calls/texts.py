"""Functions of several texts: total, and with a public bound on the length of what they return."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions.coercion import settle, text, text_literal, whole_literal, wrong_type
from planner.expressions.scalar import Binder, Scalar, wrap
from planner.expressions.strings import MAX_JOINED, MAX_TEXT, short_length, shortened, text_of, to_text
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied, position_of

_CAPITALS = 3
"""One character's capital has at most as many characters."""


def concatenated(node: exp.Expr, binder: Binder) -> Scalar:
    """concat(x, ...): the texts of all values, of which NULL has none. Raises: UnsupportedSQL."""
    parts = [piece for part in node.expressions if (piece := _piece(part, binder)) is not None]
    return _joined(node, [_or_nothing(sql) for sql, _ in parts], sum(size for _, size in parts))


def joined_by(node: exp.Expr, binder: Binder) -> Scalar:
    """concat_ws('separator', x, ...): the texts of the values that are not NULL, with the separator between them.

    Before each there is a separator, which is NULL with it; the first one is cut. Raises: UnsupportedSQL.
    """
    separator, *written = node.expressions
    sign = text_literal(separator, "concat_ws() by a separator")
    parts = [piece for part in written if (piece := _piece(part, binder)) is not None]
    before = exp.Literal.string(sign)
    pieces = [_or_nothing(exp.DPipe(this=copied(before), expression=sql, safe=True)) for sql, _ in parts]
    every = _joined(node, pieces, sum(size + len(sign) for _, size in parts))
    cut = exp.Substring(this=every.sql, start=exp.Literal.number(len(sign) + 1))
    return text_of(node, cut, every.type.precision if every.type is not None else None)


def _piece(node: exp.Expr, binder: Binder) -> tuple[exp.Expr, int] | None:
    """SQL of a value's text as PostgreSQL's output has it, and its longest length; None for the literal NULL."""
    part = settle(binder.scalar(node), SqlType(Family.TEXT), binder)
    if part.is_null:
        return None
    assert part.type is not None, "settled"
    if part.type.family is Family.BOOL:
        truth = exp.Case().when(part.sql, exp.Literal.string("t"), copy=False)
        return truth.when(exp.Not(this=wrap(part.sql)), exp.Literal.string("f"), copy=False), 1
    if part.type.family is Family.CHAR and part.type.precision is not None:  # with the blanks at its end
        padding = {"expression": _number(part.type.precision), "fill_pattern": exp.Literal.string(" ")}
        return exp.Pad(this=cast_sql(part.sql, "TEXT"), **padding, is_left=False), part.type.precision
    written = to_text(part.node, part, binder.zone)
    if written is None:
        raise wrong_type(part, "text, a whole number or a date")
    return wrap(shortened(written)), short_length(written)


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _or_nothing(sql: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=sql, expressions=[exp.Literal.string("")])


def _joined(node: exp.Expr, pieces: list[exp.Expr], size: int) -> Scalar:
    if size > MAX_JOINED:
        hint = "cut them by left(x, n)"
        raise UnsupportedSQL("too much text put together", hint=hint, position=position_of(node))
    if not pieces:
        return text_of(node, exp.Literal.string(""), 0)
    return text_of(node, reduce(lambda a, b: exp.DPipe(this=a, expression=b, safe=True), pieces), size)


def replaced(node: exp.Expr, binder: Binder) -> Scalar:
    """replace(text, 'literal', 'literal'), of a text cut so that the result is bounded. Raises: UnsupportedSQL."""
    part = text(binder.scalar(node.this), binder)
    sought = text_literal(node.args["expression"], "replace() of something")
    instead = text_literal(node.args.get("replacement") or exp.Null(), "replace() by something")
    if part.is_null or not sought:
        return part
    longest = short_length(part)
    size = max(longest, longest // len(sought) * len(instead) + longest % len(sought))
    if size > MAX_JOINED:
        hint = "cut the text by left(x, n)"
        raise UnsupportedSQL("replace() that could make too much text", hint=hint, position=position_of(node))
    literals = {"expression": exp.Literal.string(sought), "replacement": exp.Literal.string(instead)}
    return text_of(node, exp.Replace(this=shortened(part), **literals), size)


def split(node: exp.Expr, binder: Binder) -> Scalar:
    """split_part(text, 'literal', n), n > 0 a literal: its n-th part, or an empty text. Raises: UnsupportedSQL."""
    part = text(binder.scalar(node.this), binder)
    separator = text_literal(node.args["delimiter"], "split_part() by a separator")
    count = whole_literal(node.args["part_index"], 1, 1 << 20)
    if not separator:
        hint = "write the sign between the parts: split_part(x, '-', 1)"
        raise UnsupportedSQL("split_part() by an empty separator", hint=hint, position=position_of(node))
    if part.is_null:
        return part
    arguments = {"delimiter": exp.Literal.string(separator), "part_index": exp.Literal.number(count)}
    return text_of(node, exp.SplitPart(this=shortened(part), **arguments), short_length(part))


def capitalised(node: exp.Expr, binder: Binder) -> Scalar:
    """initcap(text), of a text cut so that the result is bounded in length."""
    part = text(binder.scalar(node.this), binder)
    return part if part.is_null else text_of(node, exp.Initcap(this=shortened(part)), _CAPITALS * short_length(part))


def padded(node: exp.Expr, binder: Binder) -> Scalar:
    """lpad(text, n, 'literal') and rpad, n >= 0 a literal. Raises: UnsupportedSQL."""
    part = text(binder.scalar(node.this), binder)
    count = whole_literal(node.args["expression"], 0, MAX_TEXT)
    filling = node.args.get("fill_pattern")
    sign = " " if filling is None else text_literal(filling, "lpad() by something")
    if not sign:
        raise UnsupportedSQL("lpad() by an empty text", hint="write left(x, n)", position=position_of(node))
    if part.is_null:
        return part
    arguments = {"expression": exp.Literal.number(count), "fill_pattern": exp.Literal.string(sign)}
    sql = exp.Pad(this=shortened(part), **arguments, is_left=bool(node.args.get("is_left")))
    return text_of(node, sql, count)
