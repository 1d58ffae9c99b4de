"""Constant expressions where SQL wants a constant: a cast of a constant is one, and so are texts joined by `||`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from planner.sql.sql_types import sql_type

_WHOLE = re.compile(r"\s*(?P<sign>[+-]?)0*(?P<digits>[0-9]+)\s*", re.ASCII)
_DECIMAL = re.compile(r"\s*(?P<sign>[+-]?)(?P<digits>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*", re.ASCII)


def constant(node: exp.Expr) -> exp.Expr:
    """The literal or NULL that a constant expression is, as drivers write it: `$1::VARCHAR` with its value.

    A negative number is a Neg of its literal. Of a placeholder without a value it is the placeholder, and of anything
    else the expression itself, without its parentheses. Here the planner reads formats, patterns, units, zones and
    numbers of rows, which PostgreSQL computes before it asks what they say.

    Cost: linear.

    >>> from sqlglot import parse_one
    >>> texts = ("('month'::varchar)", "'7'::int", "7 || ' days'::text", "'abc'::varchar(2)", "$1::int", "a::int")
    >>> [constant(parse_one(text, dialect="postgres")).sql("postgres") for text in texts]
    ["'month'", '7', "'7 days'", "'ab'", '$1', 'CAST(a AS INT)']
    """
    node = node.unnest()
    if isinstance(node, exp.Cast):
        inner = constant(node.this)
        if isinstance(inner, (exp.Null, exp.Parameter)):
            return inner
        return _without_casts(inner, node.to) or node
    if isinstance(node, exp.DPipe):
        return _joined((node.left, node.right)) or node
    if isinstance(node, exp.Concat):
        return _joined(node.expressions) or node
    return node


def constant_text(node: exp.Expr) -> str | None:
    """The text of a constant that is a text or a number; None for anything else."""
    found = constant(node)
    sign = "-" if isinstance(found, exp.Neg) else ""
    literal = found.this.unnest() if sign else found
    return f"{sign}{literal.name}" if isinstance(literal, exp.Literal) and not (sign and literal.is_string) else None


def _joined(parts: Sequence[exp.Expr]) -> exp.Expr | None:
    texts = [constant_text(part) for part in parts]
    known = [text for text in texts if text is not None]
    return _noted(exp.Literal.string("".join(known)), parts[0]) if len(known) == len(texts) else None


def _without_casts(inner: exp.Expr, target: exp.DataType) -> exp.Expr | None:
    """A constant as another type; None where it is no such value, or of a type that is not read here."""
    text = constant_text(inner)
    kind = sql_type(target.sql("postgres").lower())
    if text is None or kind.labels:
        return None
    if target.this in (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR):
        return _noted(exp.Literal.string(text[: kind.precision]), inner)
    if not kind.is_number or target.expressions:
        return None
    found = (_WHOLE if target.this in exp.DataType.INTEGER_TYPES else _DECIMAL).fullmatch(text)
    if found is None:
        return None
    number = _noted(exp.Literal.number(found["digits"]), inner)
    return exp.Neg(this=number) if found["sign"] == "-" else number


def _noted(literal: exp.Expr, written: exp.Expr) -> exp.Expr:
    """With the place of what was written."""
    literal.meta.update(written.meta)
    return literal
