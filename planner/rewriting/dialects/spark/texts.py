"""Functions of texts for Spark; both databases count characters, not bytes.

LOWER, UPPER, INITCAP and to_char are refused: which letter is another one's capital, and how a name is written, is
Java's to say here and the C library's there. So is what the two read differently: places before the first character,
and lengths below zero.
"""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.rewriting.dialects.exact_digits import Handler, Typed, Write
from planner.rewriting.dialects.spark.calls import call
from planner.sql.sql_types import Family, SqlType

_TEXT = SqlType(Family.TEXT)
_COUNT = SqlType(Family.INTEGER, 10)


def _text(node: exp.Expr, write: Write) -> exp.Expr:
    value = write(node)
    if value.type.family is not Family.TEXT:
        raise UnsupportedSQL("a function of texts of another type is not supported on Spark", hint="write a cast")
    return value.sql


def _place(node: exp.Expr | None, least: int) -> exp.Expr:
    """A whole number as written, of at least so much."""
    if not (isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and int(node.name) >= least):
        raise UnsupportedSQL(f"this function of texts with a number that is not written, or below {least}, "
                             "is not supported on Spark")  # fmt: skip
    return node.copy()


def _length(node: exp.Expr, write: Write) -> Typed:
    return Typed(call("CHAR_LENGTH", _text(node.this, write)), _COUNT)


def _hash(node: exp.Expr, write: Write) -> Typed:
    return Typed(call("HASH", *(_text(text, write) for text in node.expressions)), _COUNT)


def _position(node: exp.Expr, write: Write) -> Typed:
    if any(value for name, value in node.args.items() if name not in ("this", "substr")):
        raise UnsupportedSQL("this search in a text is not supported on Spark")
    return Typed(call("LOCATE", _text(node.args["substr"], write), _text(node.this, write)), _COUNT)


def _trimmed(node: exp.Expr, write: Write) -> Typed:
    side = str(node.args.get("position") or "BOTH").upper()
    if side not in ("BOTH", "LEADING", "TRAILING"):
        raise UnsupportedSQL("this TRIM is not supported on Spark")
    given = node.args.get("expression")
    letters = exp.Literal.string(" ") if given is None else _text(given, write)
    value = _text(node.this, write)
    if side == "BOTH":
        return Typed(call("BTRIM", value, letters), _TEXT)
    return Typed(call("LTRIM" if side == "LEADING" else "RTRIM", letters, value), _TEXT)


def _substring(node: exp.Expr, write: Write) -> Typed:
    parts = [_text(node.this, write), _place(node.args.get("start"), 1)]
    if node.args.get("length") is not None:
        parts.append(_place(node.args["length"], 0))
    return Typed(call("SUBSTRING", *parts), _TEXT)


def _end(node: exp.Expr, write: Write) -> Typed:
    name = "LEFT" if isinstance(node, exp.Left) else "RIGHT"
    return Typed(call(name, _text(node.this, write), _place(node.args["expression"], 0)), _TEXT)


def _joined(node: exp.Expr, write: Write) -> Typed:
    left, right = (_text(part, write) for part in (node.this, node.args["expression"]))
    return Typed(exp.DPipe(this=left, expression=right, safe=True), _TEXT)


def _replaced(node: exp.Expr, write: Write) -> Typed:
    parts = (node.this, node.args["expression"], node.args["replacement"])
    return Typed(call("REPLACE", *(_text(part, write) for part in parts)), _TEXT)


def _split(node: exp.Expr, write: Write) -> Typed:
    delimiter = node.args["delimiter"]
    if not (isinstance(delimiter, exp.Literal) and delimiter.name):
        raise UnsupportedSQL("split_part by a text that is empty or not written is not supported on Spark")
    place = _place(node.args["part_index"], 1)
    return Typed(call("SPLIT_PART", _text(node.this, write), _text(delimiter, write), place), _TEXT)


def _padded(node: exp.Expr, write: Write) -> Typed:
    name = "LPAD" if node.args.get("is_left") else "RPAD"
    fill = node.args.get("fill_pattern")
    letters = exp.Literal.string(" ") if fill is None else _text(fill, write)
    return Typed(call(name, _text(node.this, write), _place(node.args["expression"], 0), letters), _TEXT)


TEXTS: dict[type[exp.Expr], Handler] = {
    exp.FarmFingerprint: _hash,
    exp.Length: _length,
    exp.StrPosition: _position,
    exp.Trim: _trimmed,
    exp.Substring: _substring,
    exp.Left: _end,
    exp.Right: _end,
    exp.DPipe: _joined,
    exp.Replace: _replaced,
    exp.SplitPart: _split,
    exp.Pad: _padded,
}
