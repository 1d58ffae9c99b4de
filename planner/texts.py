"""Functions of text: total, and with a public bound on the length of what they return."""

from __future__ import annotations

from sqlglot import exp

from planner import numbers
from planner.alignment import text, text_literal, whole_literal
from planner.errors import UnsupportedSQL
from planner.moments import not_a_number
from planner.positions import position_of
from planner.scalar import Binder, Scalar, wrap
from planner.sql_nodes import cast_sql
from planner.sql_types import Family, SqlType

MAX_TEXT = 1 << 20
"""Characters of a text that a function which could outgrow memory sees; the rest of a longer one is cut."""

_LONGEST = 1 << 30
_MAX_CONCATENATED = 16 * MAX_TEXT
_GROWTH = 3
"""Upper and lower case of one character have at most this many characters."""


def length(node: exp.Expr, binder: Binder) -> Scalar:
    """length(text), in characters; trailing blanks of a char(n) do not count."""
    part = text(binder.scalar(node.this), binder)
    if part.is_null:
        return numbers.null(node)
    return numbers.whole_number(node, exp.Length(this=_as_text(part)), 0, _length(part) or _LONGEST)


def position(node: exp.Expr, binder: Binder) -> Scalar:
    """position('literal' IN text) and strpos(text, 'literal'): 1-based, 0 when it is not there."""
    part = text(binder.scalar(node.this), binder)
    needle = text_literal(node.args["substr"], "position() of something")
    if part.is_null:
        return numbers.null(node)
    sql = exp.StrPosition(this=_as_text(part), substr=exp.Literal.string(needle))
    return numbers.whole_number(node, sql, 0, (_length(part) or _LONGEST) + 1)


def cased(node: exp.Expr, binder: Binder) -> Scalar:
    """lower(text), upper(text)."""
    part = text(binder.scalar(node.this), binder)
    return part if part.is_null else _text(node, type(node)(this=shortened(part)), _GROWTH * _short_length(part))


def trimmed(node: exp.Expr, binder: Binder) -> Scalar:
    """trim, btrim, ltrim and rtrim, of blanks or of the characters of a literal."""
    part = text(binder.scalar(node.this), binder)
    if part.is_null:
        return part
    arguments: dict[str, object] = {"this": shortened(part), "position": node.args.get("position") or "BOTH"}
    if node.args.get("expression") is not None:
        arguments["expression"] = exp.Literal.string(text_literal(node.args["expression"], "trim() of characters"))
    return _text(node, exp.Trim(**arguments), _short_length(part))


def substring(node: exp.Expr, binder: Binder) -> Scalar:
    """substring(text FROM n FOR m), n and m literals, n > 0, m >= 0."""
    part = text(binder.scalar(node.this), binder)
    start, count = node.args.get("start"), node.args.get("length")
    if start is not None and isinstance(start.unnest(), exp.Literal) and start.unnest().is_string:
        hint = "write substring(x FROM 1 FOR 3)"
        raise UnsupportedSQL("substring by a regular expression", hint=hint, position=position_of(node))
    first = 1 if start is None else whole_literal(start, 1, _LONGEST)
    taken = None if count is None else whole_literal(count, 0, _LONGEST)
    if part.is_null:
        return part
    sql = exp.Substring(this=_as_text(part), start=exp.Literal.number(first))
    if taken is not None:
        sql.set("length", exp.Literal.number(taken))
    return _text(node, sql, _least(_length(part), taken))


def side(node: exp.Expr, binder: Binder) -> Scalar:
    """left(text, n), right(text, n), n >= 0 a literal."""
    part = text(binder.scalar(node.this), binder)
    taken = whole_literal(node.args["expression"], 0, _LONGEST)
    if part.is_null:
        return part
    sql = type(node)(this=_as_text(part), expression=exp.Literal.number(taken))
    return _text(node, sql, _least(_length(part), taken))


def joined(node: exp.Expr, binder: Binder) -> Scalar:
    """`text || text`: NULL when one is."""
    parts = [text(binder.scalar(side), binder) for side in (node.this, node.args["expression"])]
    if any(part.is_null for part in parts):
        return Scalar(node, None, exp.Null(), lambda: not_a_number(node, None))
    total = sum(_short_length(part) for part in parts)
    if total > _MAX_CONCATENATED:
        raise UnsupportedSQL("too much text joined by ||", hint="cut it by left(x, n)", position=position_of(node))
    left, right = (wrap(shortened(part)) for part in parts)
    return _text(node, exp.DPipe(this=left, expression=right, safe=True), total)


def starts_with(node: exp.Expr, binder: Binder) -> Scalar:
    """starts_with(text, 'literal'), as a comparison of the first characters."""
    part = text(binder.scalar(node.this), binder)
    prefix = text_literal(node.args["expression"], "starts_with() of something")
    sql = _as_text(part)
    if not part.is_null:
        start = exp.Left(this=sql, expression=exp.Literal.number(len(prefix)))
        sql = exp.EQ(this=start, expression=exp.Literal.string(prefix))
    return Scalar(node, SqlType(Family.BOOL), sql, lambda: not_a_number(node, SqlType(Family.BOOL)))


def as_text(part: Scalar) -> Scalar:
    """A char(n) as text, without its padding; an enum's label as text."""
    assert part.type is not None, "typed"
    if part.type.family is Family.ENUM:
        return _text(part.node, part.sql, None)
    return _text(part.node, _as_text(part), part.type.precision) if part.type.family is Family.CHAR else part


def _as_text(part: Scalar) -> exp.Expr:
    padded = part.type is not None and part.type.family is Family.CHAR
    return cast_sql(part.sql, "TEXT") if padded else part.sql


def _length(part: Scalar) -> int | None:
    return None if part.type is None else part.type.precision


def _short_length(part: Scalar) -> int:
    known = _length(part)
    return MAX_TEXT if known is None else min(known, MAX_TEXT)


def shortened(part: Scalar) -> exp.Expr:
    """The text, cut to MAX_TEXT characters where it may have more."""
    sql = _as_text(part)
    return exp.Left(this=sql, expression=exp.Literal.number(MAX_TEXT)) if is_long(part) else sql


def is_long(part: Scalar) -> bool:
    """May it have more than MAX_TEXT characters?"""
    known = _length(part)
    return known is None or known > MAX_TEXT


def _least(left: int | None, right: int | None) -> int | None:
    known = [size for size in (left, right) if size is not None]
    return min(known, default=None)


def _text(node: exp.Expr, sql: exp.Expr, size: int | None) -> Scalar:
    kind = SqlType(Family.TEXT, size)
    return Scalar(node, kind, sql, lambda: not_a_number(node, kind))
