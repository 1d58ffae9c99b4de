"""Functions of text: total, and with a public bound on the length of what they return."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic
from planner.expressions.coercion import text, text_literal, whole_literal
from planner.expressions.datetimes import moored, not_a_number
from planner.expressions.scalar import Binder, Scalar, wrap
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import position_of
from planner.sql.zones import UTC

MAX_TEXT = 1 << 20
"""Characters of a text that a function which could outgrow memory sees; the rest of a longer one is cut."""

_LONGEST = 1 << 30
MAX_JOINED = 16 * MAX_TEXT
"""Characters of a text that is put together, at most."""

_MAX_WORD = 40
"""No number, uuid, date or time is written with more characters."""

_GROWTH = 3
"""Upper and lower case of one character have at most this many characters."""


def length(node: exp.Expr, binder: Binder) -> Scalar:
    """length(text), in characters; trailing blanks of a char(n) do not count."""
    part = text(binder.scalar(node.this), binder)
    if part.is_null:
        return arithmetic.null(node)
    return arithmetic.whole_number(node, exp.Length(this=_as_text(part)), 0, _length(part) or _LONGEST)


def position(node: exp.Expr, binder: Binder) -> Scalar:
    """position('literal' IN text) and strpos(text, 'literal'): 1-based, 0 when it is not there."""
    part = text(binder.scalar(node.this), binder)
    needle = text_literal(node.args["substr"], "position() of something")
    if part.is_null:
        return arithmetic.null(node)
    sql = exp.StrPosition(this=_as_text(part), substr=exp.Literal.string(needle))
    return arithmetic.whole_number(node, sql, 0, (_length(part) or _LONGEST) + 1)


def cased(node: exp.Expr, binder: Binder) -> Scalar:
    """`lower(text)` and `upper(text)`, of a text cut so that the result is bounded in length."""
    part = text(binder.scalar(node.this), binder)
    return part if part.is_null else text_of(node, type(node)(this=shortened(part)), _GROWTH * short_length(part))


def trimmed(node: exp.Expr, binder: Binder) -> Scalar:
    """trim, btrim, ltrim and rtrim, of blanks or of the characters of a literal."""
    part = text(binder.scalar(node.this), binder)
    if part.is_null:
        return part
    arguments: dict[str, object] = {"this": shortened(part), "position": node.args.get("position") or "BOTH"}
    if node.args.get("expression") is not None:
        arguments["expression"] = exp.Literal.string(text_literal(node.args["expression"], "trim() of characters"))
    return text_of(node, exp.Trim(**arguments), short_length(part))


def substring(node: exp.Expr, binder: Binder) -> Scalar:
    """substring(text FROM n FOR m), n and m literals, n > 0, m >= 0. Raises: UnsupportedSQL."""
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
    return text_of(node, sql, _least(_length(part), taken))


def side(node: exp.Expr, binder: Binder) -> Scalar:
    """left(text, n), right(text, n), n >= 0 a literal."""
    part = text(binder.scalar(node.this), binder)
    taken = whole_literal(node.args["expression"], 0, _LONGEST)
    if part.is_null:
        return part
    sql = type(node)(this=_as_text(part), expression=exp.Literal.number(taken))
    return text_of(node, sql, _least(_length(part), taken))


def joined(node: exp.Expr, binder: Binder) -> Scalar:
    """`text || text`: NULL when one is. Raises: UnsupportedSQL."""
    parts = [text(binder.scalar(side), binder) for side in (node.this, node.args["expression"])]
    if any(part.is_null for part in parts):
        return Scalar(node, None, exp.Null(), lambda: not_a_number(node, None))
    total = sum(short_length(part) for part in parts)
    if total > MAX_JOINED:
        raise UnsupportedSQL("too much text joined by ||", hint="cut it by left(x, n)", position=position_of(node))
    left, right = (wrap(shortened(part)) for part in parts)
    return text_of(node, exp.DPipe(this=left, expression=right, safe=True), total)


def starts_with(node: exp.Expr, binder: Binder) -> Scalar:
    """starts_with(text, 'literal'), as a comparison of the first characters."""
    part = text(binder.scalar(node.this), binder)
    prefix = text_literal(node.args["expression"], "starts_with() of something")
    sql = _as_text(part)
    if not part.is_null:
        start = exp.Left(this=sql, expression=exp.Literal.number(len(prefix)))
        sql = exp.EQ(this=start, expression=exp.Literal.string(prefix))
    return Scalar(node, SqlType(Family.BOOL), sql, lambda: not_a_number(node, SqlType(Family.BOOL)))


def to_text(node: exp.Expr, part: Scalar, zone: str) -> Scalar | None:
    """A value as text, as PostgreSQL's cast writes it; None where the same value may be written in two ways.

    Dates and times outside the years 1 to 9999 are NULL, as in other functions.

    Args:
      node: the construct as written.
      part: bound, with a type.
      zone: the session's.
    Raises: UnsupportedSQL for a moment with time zone in another zone than UTC.
    """
    assert part.type is not None, "typed"
    family = part.type.family
    if part.type.is_string:
        return as_text(part)
    if family in (Family.INTEGER, Family.BOOL, Family.UUID, Family.ENUM):
        return text_of(node, cast_sql(part.sql, "TEXT"), None if family is Family.ENUM else _MAX_WORD)
    if family is Family.NUMERIC and part.type.scale is not None and isinstance(part.plain, exp.Column):  # all digits
        precision, scale = part.type.precision or 0, part.type.scale or 0
        digits = max(precision, scale, precision - scale)  # numeric(2, 5) is 0.00012, numeric(2, -3) is 99000
        return text_of(node, cast_sql(part.sql, "TEXT"), digits + 3)
    if part.type.is_moment:
        if part.has_zone and zone != UTC:
            hint = "write to_char(x, 'YYYY-MM-DD HH24:MI:SS')"
            message = f"the text of a timestamp with time zone is not supported in the time zone {zone}"
            raise UnsupportedSQL(message, hint=hint, position=position_of(node))
        sql, _ = moored(part)
        written = cast_sql(sql, "TEXT")
        if part.has_zone:
            return text_of(node, exp.DPipe(this=written, expression=exp.Literal.string("+00"), safe=True), _MAX_WORD)
        return text_of(node, written, _MAX_WORD)
    return None


def as_text(part: Scalar) -> Scalar:
    """A char(n) as text, without its padding; an enum's label as text."""
    assert part.type is not None, "typed"
    if part.type.family is Family.ENUM:
        return text_of(part.node, part.sql, None)
    return text_of(part.node, _as_text(part), part.type.precision) if part.type.family is Family.CHAR else part


def _as_text(part: Scalar) -> exp.Expr:
    padded = part.type is not None and part.type.family is Family.CHAR
    return cast_sql(part.sql, "TEXT") if padded else part.sql


def _length(part: Scalar) -> int | None:
    return None if part.type is None else part.type.precision


def short_length(part: Scalar) -> int:
    """The most characters of what `shortened` leaves."""
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


def text_of(node: exp.Expr, sql: exp.Expr, size: int | None) -> Scalar:
    """A text of at most so many characters; None: as many as the database can hold."""
    kind = SqlType(Family.TEXT, size)
    return Scalar(node, kind, sql, lambda: not_a_number(node, kind))
