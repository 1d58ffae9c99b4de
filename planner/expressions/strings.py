"""Functions of text, and to_char: they cannot fail, and their results have a public bound on the length.

to_char takes only known patterns, so that all databases write the same text.
"""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic
from planner.expressions.coercion import settle, text, text_literal, whole_literal, wrong_type
from planner.expressions.datetimes import bounded_moment, local, moment_argument
from planner.expressions.scalar import Binder, Scalar, wrap
from planner.sql.datetimes import patterns
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql, copied, field_of, joined_texts
from planner.sql.zones import UTC

MAX_TEXT = 1 << 20
"""The most characters that a function reads if its result could outgrow memory."""

_LONGEST = 1 << 30
MAX_JOINED = 16 * MAX_TEXT
"""The most characters of a joined text."""

_MAX_WORD = 40
"""The most characters of a number, uuid, date or time."""

_GROWTH = 3
"""The most characters of one character in upper, lower or title case."""


def length(node: exp.Expr, binder: Binder) -> Scalar:
    """`length(text)` in characters, without trailing blanks of a char(n)."""
    part = text(binder.scalar(node.this), binder)
    if part.is_null:
        return arithmetic.null(node)
    return arithmetic.whole_number(node, exp.Length(this=_as_text(part)), 0, _length(part) or _LONGEST)


def position(node: exp.Expr, binder: Binder) -> Scalar:
    """`position('literal' IN text)` and `strpos(text, 'literal')`: 1-based, 0 if it is not found."""
    part = text(binder.scalar(node.this), binder)
    needle = text_literal(node.args["substr"], "position() of something")
    if part.is_null:
        return arithmetic.null(node)
    sql = exp.StrPosition(this=_as_text(part), substr=exp.Literal.string(needle))
    return arithmetic.whole_number(node, sql, 0, (_length(part) or _LONGEST) + 1)


def cased(node: exp.Expr, binder: Binder) -> Scalar:
    """`lower(text)`, `upper(text)` and `initcap(text)`, of the first MAX_TEXT characters."""
    part = text(binder.scalar(node.this), binder)
    return part if part.is_null else text_of(node, type(node)(this=shortened(part)), _GROWTH * short_length(part))


def trimmed(node: exp.Expr, binder: Binder) -> Scalar:
    """`trim`, `btrim`, `ltrim` and `rtrim`, of blanks or of literal characters."""
    part = text(binder.scalar(node.this), binder)
    if part.is_null:
        return part
    arguments: dict[str, object] = {"this": shortened(part), "position": node.args.get("position") or "BOTH"}
    if node.args.get("expression") is not None:
        arguments["expression"] = exp.Literal.string(text_literal(node.args["expression"], "trim() of characters"))
    return text_of(node, exp.Trim(**arguments), short_length(part))


def substring(node: exp.Expr, binder: Binder) -> Scalar:
    """`substring(text FROM n FOR m)`, n and m literals, n > 0, m >= 0. Raises: UnsupportedSQL."""
    part = text(binder.scalar(node.this), binder)
    start, count = node.args.get("start"), node.args.get("length")
    if start is not None and isinstance(start.unnest(), exp.Literal) and start.unnest().is_string:
        raise UnsupportedSQL(
            "substring by a regular expression is not supported", hint="write substring(x FROM 1 FOR 3)", at=node
        )
    first = 1 if start is None else whole_literal(start, 1, _LONGEST)
    taken = None if count is None else whole_literal(count, 0, _LONGEST)
    if part.is_null:
        return part
    sql = exp.Substring(this=_as_text(part), start=exp.Literal.number(first))
    if taken is not None:
        sql.set("length", exp.Literal.number(taken))
    return text_of(node, sql, _least(_length(part), taken))


def side(node: exp.Expr, binder: Binder) -> Scalar:
    """`left(text, n)` and `right(text, n)`, n >= 0 a literal."""
    part = text(binder.scalar(node.this), binder)
    taken = whole_literal(node.args["expression"], 0, _LONGEST)
    if part.is_null:
        return part
    sql = type(node)(this=_as_text(part), expression=exp.Literal.number(taken))
    return text_of(node, sql, _least(_length(part), taken))


def joined(node: exp.Expr, binder: Binder) -> Scalar:
    """`text || x`, NULL if one is; a whole number or a date as its text. Raises: UnsupportedSQL."""
    sides = [binder.scalar(side) for side in (node.this, node.args["expression"])]
    if any(side.type is None or side.type.is_string for side in sides):
        sides = [_shown(side, binder) or side for side in sides]
    parts = [text(side, binder) for side in sides]
    if any(part.is_null for part in parts):
        return Scalar(node, None, exp.Null())
    return _joined(node, [wrap(shortened(part)) for part in parts], sum(map(short_length, parts)))


def starts_with(node: exp.Expr, binder: Binder) -> Scalar:
    """`starts_with(text, 'literal')`, as a comparison of the first characters."""
    part = text(binder.scalar(node.this), binder)
    prefix = text_literal(node.args["expression"], "starts_with() of something")
    sql = _as_text(part)
    if not part.is_null:
        start = exp.Left(this=sql, expression=exp.Literal.number(len(prefix)))
        sql = exp.EQ(this=start, expression=exp.Literal.string(prefix))
    return Scalar(node, SqlType(Family.BOOL), sql)


def to_text(node: exp.Expr, part: Scalar, zone: str) -> Scalar | None:
    """A value as text, as PostgreSQL's cast writes it; None if equal values may have several texts.

    Dates and times outside the years 1 to 9999 become NULL. Raises: UnsupportedSQL for a timestamptz outside of UTC.
    """
    assert part.type is not None, "typed"
    family = part.type.family
    if part.type.is_string:
        return as_text(part)
    if family in (Family.INTEGER, Family.BOOL, Family.UUID, Family.ENUM):
        return text_of(node, cast_sql(part.sql, "TEXT"), None if family is Family.ENUM else _MAX_WORD)
    if (
        family is Family.NUMERIC and part.type.scale is not None and isinstance(part.plain, exp.Column)
    ):  # shows all digits
        precision, scale = part.type.precision or 0, part.type.scale or 0
        digits = max(precision, scale, precision - scale)  # numeric(2, 5) is 0.00012, numeric(2, -3) is 99000
        return text_of(node, cast_sql(part.sql, "TEXT"), digits + 3)
    if part.type.is_moment:
        if part.has_zone and zone != UTC:
            message = f"the text of a timestamp with time zone is not supported in the time zone {zone}"
            raise UnsupportedSQL(message, hint="write to_char(x, 'YYYY-MM-DD HH24:MI:SS')", at=node)
        sql, _ = bounded_moment(part)
        written = cast_sql(sql, "TEXT")
        if part.has_zone:
            return text_of(node, exp.DPipe(this=written, expression=exp.Literal.string("+00"), safe=True), _MAX_WORD)
        return text_of(node, written, _MAX_WORD)
    return None


def whole_field(part: Scalar) -> Scalar | None:
    """A field of EXTRACT as the whole number that it shows; None for anything else."""
    field = field_of(part.plain)
    if field is None:
        return None
    assert part.bounds is not None, "fields have bounds"
    return arithmetic.whole_number(part.node, copied(field), int(part.bounds.lo), int(part.bounds.hi))


def _shown(part: Scalar, binder: Binder) -> Scalar | None:
    """A value as the text that `||` and concat() take; None if it has none."""
    if part.type is None or part.type.is_string:
        return None if part.type is None else to_text(part.node, part, binder.zone)
    return to_text(part.node, whole_field(part) or part, binder.zone)


def as_text(part: Scalar) -> Scalar:
    """A char(n) without its padding, or an enum's label, as text."""
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
    """The most characters of `shortened`."""
    known = _length(part)
    return MAX_TEXT if known is None else min(known, MAX_TEXT)


def shortened(part: Scalar) -> exp.Expr:
    """The text's first MAX_TEXT characters."""
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
    """A text with at most `size` characters; None: no limit but the database's."""
    return Scalar(node, SqlType(Family.TEXT, size), sql)


def concatenated(node: exp.Expr, binder: Binder) -> Scalar:
    """`concat(x, ...)`: the texts of all values, without NULL. Raises: UnsupportedSQL."""
    parts = [piece for part in node.expressions if (piece := _piece(part, binder)) is not None]
    return _joined(node, [_or_nothing(sql) for sql, _ in parts], sum(size for _, size in parts))


def joined_by(node: exp.Expr, binder: Binder) -> Scalar:
    """`concat_ws('separator', x, ...)`: the texts of all values, without NULL, joined by the separator.

    Each value follows a separator, or is left out with it; the first separator is cut off. Raises: UnsupportedSQL.
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
    """SQL of a value's text as PostgreSQL outputs it, and its longest length; None for the literal NULL."""
    part = settle(binder.scalar(node), SqlType(Family.TEXT), binder)
    if part.is_null:
        return None
    assert part.type is not None, "settled"
    if part.type.family is Family.BOOL:
        truth = exp.Case().when(part.sql, exp.Literal.string("t"), copy=False)
        return truth.when(exp.Not(this=wrap(part.sql)), exp.Literal.string("f"), copy=False), 1
    if part.type.family is Family.CHAR and part.type.precision is not None:  # with trailing blanks
        padding = {"expression": exp.Literal.number(part.type.precision), "fill_pattern": exp.Literal.string(" ")}
        return exp.Pad(this=cast_sql(part.sql, "TEXT"), **padding, is_left=False), part.type.precision
    written = _shown(part, binder)
    if written is None:
        raise wrong_type(part, "text, a whole number or a date")
    return wrap(shortened(written)), short_length(written)


def _or_nothing(sql: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=sql, expressions=[exp.Literal.string("")])


def _joined(node: exp.Expr, pieces: list[exp.Expr], size: int) -> Scalar:
    if size > MAX_JOINED:
        raise UnsupportedSQL("the joined text could be too long", hint="shorten it: left(x, n)", at=node)
    if not pieces:
        return text_of(node, exp.Literal.string(""), 0)
    return text_of(node, joined_texts(pieces), size)


def replaced(node: exp.Expr, binder: Binder) -> Scalar:
    """`replace(text, 'literal', 'literal')`, of the first MAX_TEXT characters. Raises: UnsupportedSQL."""
    part = text(binder.scalar(node.this), binder)
    sought = text_literal(node.args["expression"], "replace() of something")
    instead = text_literal(node.args.get("replacement") or exp.Null(), "replace() by something")
    if part.is_null or not sought:
        return part
    longest = short_length(part)
    size = max(longest, longest // len(sought) * len(instead) + longest % len(sought))
    if size > MAX_JOINED:
        raise UnsupportedSQL(
            "the result of replace() could be too long", hint="shorten the text: left(x, n)", at=node
        )
    literals = {"expression": exp.Literal.string(sought), "replacement": exp.Literal.string(instead)}
    return text_of(node, exp.Replace(this=shortened(part), **literals), size)


def split(node: exp.Expr, binder: Binder) -> Scalar:
    """`split_part(text, 'literal', n)`, n > 0 a literal. Raises: UnsupportedSQL."""
    part = text(binder.scalar(node.this), binder)
    delimiter, place = node.args.get("delimiter"), node.args.get("part_index")
    hint = "write the sign between the parts: split_part(x, '-', 1)"
    if delimiter is None or place is None:
        raise UnsupportedSQL("split_part() needs three arguments", hint=hint, at=node)
    separator = text_literal(delimiter, "split_part() by a separator")
    count = whole_literal(place, 1, 1 << 20)
    if not separator:
        raise UnsupportedSQL("split_part() needs a separator that is not empty", hint=hint, at=node)
    if part.is_null:
        return part
    arguments = {"delimiter": exp.Literal.string(separator), "part_index": exp.Literal.number(count)}
    return text_of(node, exp.SplitPart(this=shortened(part), **arguments), short_length(part))


def padded(node: exp.Expr, binder: Binder) -> Scalar:
    """`lpad(text, n, 'literal')` and `rpad`, n >= 0 a literal. Raises: UnsupportedSQL."""
    part = text(binder.scalar(node.this), binder)
    count = whole_literal(node.args["expression"], 0, MAX_TEXT)
    filling = node.args.get("fill_pattern")
    sign = " " if filling is None else text_literal(filling, "lpad() by something")
    if not sign:
        raise UnsupportedSQL(
            "lpad() and rpad() cannot fill with an empty text", hint="to shorten a text, write left(x, n)", at=node
        )
    if part.is_null:
        return part
    arguments = {"expression": exp.Literal.number(count), "fill_pattern": exp.Literal.string(sign)}
    sql = exp.Pad(this=shortened(part), **arguments, is_left=bool(node.args.get("is_left")))
    return text_of(node, sql, count)


def to_char(node: exp.Expr, binder: Binder) -> Scalar:
    """`to_char(datetime, 'YYYY-MM')`; NULL outside the years 1 to 9999.

    Raises: UnsupportedSQL for a number, and for an unknown pattern (`planner.sql.datetimes`).
    """
    written = text_literal(node.args["format"], "to_char() by a format", "YYYY")
    argument = binder.scalar(node.this)
    if argument.is_number and not argument.is_null:
        hint = "show the number itself, or round(x, 2)"
        raise UnsupportedSQL("to_char() of a number is not supported", hint=hint, at=node.this)
    part = moment_argument(node.this, binder)
    found = patterns(written)
    if isinstance(found, str):
        hint = 'use YYYY, MM, DD, Mon, Month, Q, IYYY, IW, DDD, Dy, Day, HH24, MI, SS; other letters in "quotes"'
        message = f"the pattern {found!r} of to_char() is not supported"
        raise UnsupportedSQL(message, hint=hint, at=node.args["format"])
    if part.is_null:
        return part
    sql, _ = local(part, binder.zone)
    assert part.type is not None, "typed"
    stamp = sql if part.type.family is not Family.DATE else cast_sql(sql, "TIMESTAMP")
    text = exp.ToChar(this=stamp, format=exp.Literal.string("".join(pattern.written for pattern in found)))
    return text_of(node, text, sum(pattern.width for pattern in found))
