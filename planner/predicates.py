"""Conditions over one join tuple, which can fail for no row."""

from __future__ import annotations

import re

from sqlglot import exp

from planner.alignment import align, check_ordered, text, text_literal
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.moments import not_a_number
from planner.positions import position_of
from planner.scalar import Binder, Scalar, repeated, wrap
from planner.sql_types import Family, SqlType
from planner.texts import is_long, shortened
from planner.trees import copied

_BOOL = SqlType(Family.BOOL)
_MAX_PERCENTS = 16
_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins at the top, through parentheses."""
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        if isinstance(current, exp.Paren):
            stack.append(current.this)
        elif isinstance(current, exp.And):
            stack += [current.expression, current.this]
        else:
            found.append(current)
    return found


def connected(node: exp.Expr, binder: Binder) -> Scalar:
    """AND, OR."""
    assert isinstance(node, exp.Connector), "AND or OR"
    parts = [wrap(binder.predicate(part)) for part in node.flatten()]
    join = exp.and_ if isinstance(node, exp.And) else exp.or_
    return _truth(node, join(*parts, copy=False))


def denied(node: exp.Expr, binder: Binder) -> Scalar:
    """NOT."""
    return _truth(node, exp.Not(this=wrap(binder.predicate(node.this))))


def compared(node: exp.Expr, binder: Binder) -> Scalar:
    """`=`, `<>`, `<`, `<=`, `>`, `>=`."""
    left, right = _aligned(node, [node.this, node.args["expression"]], binder)
    return _truth(node, type(node)(this=left, expression=right))


def between(node: exp.Expr, binder: Binder) -> Scalar:
    """x BETWEEN low AND high; SYMMETRIC takes the ends in either order."""
    value, low, high = _aligned(node, [node.args[part] for part in ("this", "low", "high")], binder)
    inside: exp.Expr = exp.Between(this=value, low=low, high=high)
    if node.args.get("symmetric"):
        repeated(inside, node)
        turned = exp.Between(this=copied(value), low=copied(high), high=copied(low))
        inside = exp.or_(exp.Paren(this=inside), exp.Paren(this=turned), copy=False)
    return _truth(node, inside)


def listed(node: exp.Expr, binder: Binder) -> Scalar:
    """x IN (literal, ...)."""
    for written in node.expressions:
        if written.find(exp.Column) is not None:
            hint = "write one comparison per column, joined by OR"
            raise UnsupportedSQL("a column in an IN list", hint=hint, position=position_of(written))
    first, *rest = _aligned(node, [node.this, *node.expressions], binder)
    return _truth(node, exp.In(this=wrap(first), expressions=rest))


def tested(node: exp.Expr, binder: Binder) -> Scalar:
    """IS [NOT] NULL, TRUE, FALSE and UNKNOWN."""
    test, inner = node.args["expression"], None
    if isinstance(test, exp.Null):
        inner = binder.scalar(node.this).sql
    elif isinstance(test, exp.Boolean):
        inner = binder.predicate(node.this)
    if inner is None or isinstance(inner, exp.Null):
        raise UnsupportedSQL("this form of IS is not supported", hint="use IS NULL", position=position_of(node))
    return _truth(node, exp.Is(this=wrap(inner), expression=copied(test), negate=node.args.get("negate")))


def distinguished(node: exp.Expr, binder: Binder) -> Scalar:
    """IS [NOT] DISTINCT FROM, where NULL equals NULL."""
    sides = [node.this, node.args["expression"]]
    for side, other in (sides, sides[::-1]):
        if isinstance(side.unnest(), exp.Null):
            equal = isinstance(node, exp.NullSafeEQ)
            return tested(exp.Is(this=copied(other), expression=exp.Null(), negate=not equal), binder)
    left, right = _aligned(node, sides, binder)
    return _truth(node, type(node)(this=wrap(left), expression=wrap(right)))


def like(node: exp.Expr, binder: Binder) -> Scalar:
    """LIKE and ILIKE with a literal pattern, whose escape character becomes a backslash.

    ILIKE, which copies the text in lower case, sees its first MAX_TEXT characters.
    """
    escape = "\\"
    if isinstance(node, exp.Escape):
        escape = text_literal(node.args["expression"], "ESCAPE with a character")
        node = node.this
    value = text(binder.scalar(node.this), binder)
    if len(escape) > 1:
        raise InvalidSyntax("ESCAPE takes one character", position=position_of(node))
    if value.is_null:
        raise UnsupportedSQL("a comparison with NULL is never true", hint="write IS NULL", position=position_of(node))
    pattern = _pattern(text_literal(node.args["expression"], "LIKE with a pattern"), escape, node.args["expression"])
    seen = shortened(value) if isinstance(node, exp.ILike) and is_long(value) else value.sql
    sql = type(node)(this=wrap(seen), expression=exp.Literal.string(pattern), negate=node.args.get("negate"))
    return _truth(node, sql)


def _pattern(written: str, escape: str, node: exp.Expr) -> str:
    pattern, escaped = [], False
    for character in written:
        if escaped or character != escape:
            pattern.append("\\" + character if escaped or (character == "\\" != escape) else character)
            escaped = False
        else:
            escaped = True
    if escaped:
        what = "a backslash" if escape == "\\" else "its escape character"
        raise InvalidSyntax(f"a pattern that ends in {what}", position=position_of(node))
    if len(re.findall("%+", written)) > _MAX_PERCENTS:
        hint = f"use at most {_MAX_PERCENTS} of them"
        raise UnsupportedSQL("a pattern with so many %", hint=hint, position=position_of(node))
    return "".join(pattern)


def constant(node: exp.Expr, binder: Binder) -> Scalar:
    """TRUE, FALSE."""
    return _truth(node, exp.Boolean(this=node.this))


def _aligned(node: exp.Expr, parts: list[exp.Expr], binder: Binder) -> list[exp.Expr]:
    scalars = [binder.scalar(part) for part in parts]
    if any(part.is_null for part in scalars):
        hint = "write IS NULL"
        raise UnsupportedSQL("a comparison with NULL is never true", hint=hint, position=position_of(node))
    if isinstance(node, _ORDERED):
        check_ordered(node, scalars)
    sides = [part.sql for part in align(node, scalars, binder)]
    return [exp.Paren(this=sql) if isinstance(sql, (exp.Predicate, exp.Not, exp.Connector)) else sql for sql in sides]


def _truth(node: exp.Expr, sql: exp.Expr) -> Scalar:
    return Scalar(node, _BOOL, sql, lambda: not_a_number(node, _BOOL))
