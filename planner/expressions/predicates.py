"""Conditions over one join tuple that cannot fail for any row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, time
from decimal import Decimal

from sqlglot import exp

from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.expressions.coercion import align, all_real, text, text_literal
from planner.expressions.scalar import Binder, Scalar, repeated, wrap
from planner.expressions.strings import is_long, shortened
from planner.sql import literals
from planner.sql.literals import label_place, ordered_labels
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import MIRRORED, cast_sql, copied

_BOOL = SqlType(Family.BOOL)
_MAX_PERCENTS = 16
_ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions of a top-level AND, also within parentheses."""
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


def entailed(condition: exp.Expr) -> list[exp.Expr]:
    """Copies of the conditions that every side of an OR contains, and that are true where the OR is.

    They join tables: `(a.k = b.k AND a.x) OR (a.k = b.k AND b.y)`. Cost: linear.

    >>> from sqlglot import parse_one
    >>> [part.sql() for part in entailed(parse_one("(a.k = 1 AND x) OR (y AND (a.k = 1 AND x)) OR a.k = 1"))]
    ['a.k = 1']
    """
    if not isinstance(condition, exp.Or):
        return []
    first, *others = (dict.fromkeys(conjuncts(side)) for side in condition.flatten())
    return [copied(part) for part in first if all(part in other for other in others)]


def connected(node: exp.Expr, binder: Binder) -> Scalar:
    """`AND` and `OR`; each condition is bound on its own."""
    assert isinstance(node, exp.Connector), "AND or OR"
    return truth(node, joined([binder.predicate(part) for part in node.flatten()], both=isinstance(node, exp.And)))


def joined(parts: list[exp.Expr], *, both: bool) -> exp.Expr:
    """AND or OR of bound conditions, in three-valued logic, without constants that decide nothing.

    >>> from sqlglot import parse_one
    >>> [joined([parse_one("a = 1"), one], both=False).sql() for one in (exp.true(), exp.false(), unknown())]
    ['TRUE', 'a = 1', '(a = 1) OR CAST(NULL AS BOOLEAN)']
    """
    if any(_is_constant(part, not both) for part in parts):
        return exp.Boolean(this=not both)
    left = [part for part in parts if not _is_constant(part, both)]
    nulls = [part for part in left if is_unknown(part)]
    left = [part for part in left if not is_unknown(part)] + nulls[:1]
    if not left:
        return exp.Boolean(this=both)
    join = exp.and_ if both else exp.or_
    return join(*map(wrap, left), copy=False) if len(left) > 1 else left[0]


def denied(node: exp.Expr, binder: Binder) -> Scalar:
    """`NOT` of a condition; NULL stays NULL."""
    inner = binder.predicate(node.this)
    if is_unknown(inner):
        return truth(node, inner)
    constant = next((value for value in (True, False) if _is_constant(inner, value)), None)
    return truth(node, exp.Not(this=wrap(inner)) if constant is None else exp.Boolean(this=not constant))


def unknown() -> exp.Expr:
    """The condition that is NULL for every row, such as a comparison with NULL."""
    return cast_sql(exp.Null(), "BOOLEAN")


def is_unknown(condition: exp.Expr) -> bool:
    """Is a bound condition NULL for every row?"""
    inner = condition.unnest()
    return isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Null)


def _is_constant(condition: exp.Expr, value: bool) -> bool:
    inner = condition.unnest()
    return isinstance(inner, exp.Boolean) and bool(inner.this) is value


def compared(node: exp.Expr, binder: Binder) -> Scalar:
    """`=`, `<>`, `<`, `<=`, `>` or `>=` of values that compare exactly."""
    parts = [binder.scalar(part) for part in (node.this, node.args["expression"])]
    if isinstance(node, _ORDERED) and any(_is_enum(part) for part in parts):
        return truth(node, _of_labels(node, parts, binder))
    sides = _aligned(node, parts, binder)
    if sides is None:
        return truth(node, unknown())
    left, right = sides
    decided = _decided(node, left, right)
    return truth(node, type(node)(this=left, expression=right) if decided is None else exp.Boolean(this=decided))


def _is_enum(part: Scalar) -> bool:
    return part.type is not None and part.type.family is Family.ENUM


def _of_labels(node: exp.Expr, parts: list[Scalar], binder: Binder) -> exp.Expr:
    """Order comparison of enum labels, in the order of their declaration."""
    if any(part.is_null for part in parts):
        return unknown()
    left, right = align(node, parts, binder)
    kind, operator = left.type, type(node)
    assert kind is not None, "aligned"
    for label, literal, read in ((left, right, operator), (right, left, MIRRORED[operator])):
        if isinstance(literal.plain, exp.Literal) and not isinstance(label.plain, exp.Literal):
            return ordered_labels(read, wrap(label.sql), literal.plain.name, kind)
    places = [label_place(wrap(part.sql), kind, node) for part in (left, right)]
    return operator(this=places[0], expression=places[1])


def _decided(node: exp.Expr, left: exp.Expr, right: exp.Expr) -> bool | None:
    """The result of an equality of two literals, or of its negation; None for anything else."""
    literal = isinstance(left, exp.Literal) and isinstance(right, exp.Literal) and left.is_string == right.is_string
    if not literal or not isinstance(node, (exp.EQ, exp.NEQ)):
        return None
    same = left == right if left.is_string else Decimal(left.name) == Decimal(right.name)
    return same is isinstance(node, exp.EQ)


def between(node: exp.Expr, binder: Binder) -> Scalar:
    """`x BETWEEN low AND high`; SYMMETRIC takes the ends in either order.

    As in PostgreSQL these are two comparisons, so each end has its own type beside x. If x is a literal, both ends
    determine its type.
    """
    middle, start, end = (node.args[part] for part in ("this", "low", "high"))
    x, a, b = (binder.scalar(part) for part in (middle, start, end))
    if any(map(_is_enum, (x, a, b))):
        return _between_labels(node, middle, start, end, binder)
    if isinstance(middle.unnest(), (exp.Literal, exp.Parameter)):
        known = _aligned(node, [x, a, b], binder)
        if known is None:
            return truth(node, unknown())
        value, low, high = known
    else:
        below, above = _aligned(node, [x, b], binder), _aligned(node, [x, a], binder)
        if below is None or above is None:
            return _half_known(node, below, above)
        (value, low), high = above, below[1]
    inside: exp.Expr = exp.Between(this=value, low=low, high=high)
    if node.args.get("symmetric"):
        repeated(inside, node)
        turned = exp.Between(this=copied(value), low=copied(high), high=copied(low))
        inside = exp.or_(exp.Paren(this=inside), exp.Paren(this=turned), copy=False)
    return truth(node, inside)


def _between_labels(node: exp.Expr, middle: exp.Expr, start: exp.Expr, end: exp.Expr, binder: Binder) -> Scalar:
    def inside(low: exp.Expr, high: exp.Expr) -> exp.Expr:
        ends = (exp.GTE(this=copied(middle), expression=low), exp.LTE(this=copied(middle), expression=high))
        return joined([binder.predicate(one) for one in ends], both=True)

    found = inside(copied(start), copied(end))
    if node.args.get("symmetric"):
        found = joined([found, inside(copied(end), copied(start))], both=False)
    return truth(node, found)


def _half_known(node: exp.Expr, below: list[exp.Expr] | None, above: list[exp.Expr] | None) -> Scalar:
    """`x BETWEEN low AND high` with a NULL end: false beyond the other end, else NULL."""
    if node.args.get("symmetric"):
        return truth(node, unknown())
    sides: list[exp.Expr] = [] if below is None else [exp.LTE(this=below[0], expression=below[1])]
    sides += [] if above is None else [exp.GTE(this=above[0], expression=above[1])]
    return truth(node, joined([*sides, unknown()], both=True))


def listed(node: exp.Expr, binder: Binder) -> Scalar:
    """`x IN (literal, ...)`, with distinct literals in a fixed order, so that equal lists are one question.

    Raises: UnsupportedSQL.
    """
    for part in node.expressions:
        if part.find(exp.Column) is not None:
            hint = "write one comparison per column, joined by OR"
            raise UnsupportedSQL("a column in an IN list is not supported", hint=hint, at=part)
    value = binder.scalar(node.this)
    written = [part for part in map(binder.scalar, node.expressions) if not part.is_null]
    together = len(node.expressions) > 1  # PostgreSQL finds one type for a list, and compares one value as by =
    aligned = _aligned(node, [value, *written], binder, of_one_type=together) if written else None
    if aligned is None:
        return truth(node, unknown())
    first, *rest = aligned
    values = {_written(item): item for item in rest}
    found: exp.Expr = exp.In(this=wrap(first), expressions=[values[text] for text in sorted(values)])
    nulls = len(written) < len(node.expressions)
    return truth(node, joined([found, unknown()], both=False) if nulls else found)


def _written(item: exp.Expr) -> str:
    """The SQL of a value in a list; a number's is its text, which spares the long way through the writer."""
    plain = isinstance(item, exp.Literal) and not item.is_string
    return item.name if plain else item.sql("postgres")


def tested(node: exp.Expr, binder: Binder) -> Scalar:
    """`IS [NOT] NULL`, `TRUE`, `FALSE` and `UNKNOWN`. Raises: UnsupportedSQL."""
    test, inner = node.args["expression"], None
    negated = bool(node.args.get("negate"))
    if isinstance(test, exp.Null):
        value = binder.scalar(node.this)
        inner = value.sql
        if value.is_null or isinstance(inner, exp.Literal):
            return truth(node, exp.Boolean(this=value.is_null is not negated))
    elif isinstance(test, exp.Boolean):
        inner = binder.predicate(node.this)
        if is_unknown(inner) or isinstance(inner.unnest(), exp.Boolean):
            same = not is_unknown(inner) and _is_constant(inner, bool(test.this))
            return truth(node, exp.Boolean(this=same is not negated))
    if inner is None:
        raise UnsupportedSQL(
            "this form of IS is not supported", hint="write IS NULL, IS TRUE, IS FALSE or IS UNKNOWN", at=node
        )
    return truth(node, exp.Is(this=wrap(inner), expression=copied(test), negate=node.args.get("negate")))


def distinguished(node: exp.Expr, binder: Binder) -> Scalar:
    """`IS [NOT] DISTINCT FROM`, where NULL equals NULL."""
    sides = [node.this, node.args["expression"]]
    for side, other in (sides, sides[::-1]):
        if isinstance(side.unnest(), exp.Null):
            equal = isinstance(node, exp.NullSafeEQ)
            return tested(exp.Is(this=copied(other), expression=exp.Null(), negate=not equal), binder)
    scalars = [binder.scalar(side) for side in sides]
    aligned = _aligned(node, scalars, binder)
    if aligned is None:  # NULL in another spelling, such as NULL::text
        null = next(place for place, scalar in enumerate(scalars) if scalar.is_null)
        plain = [*sides]
        plain[null] = exp.Null()
        return distinguished(type(node)(this=copied(plain[0]), expression=copied(plain[1])), binder)
    left, right = aligned
    return truth(node, type(node)(this=wrap(left), expression=wrap(right)))


def like(node: exp.Expr, binder: Binder) -> Scalar:
    """LIKE and ILIKE with a literal pattern, whose escape character becomes a backslash.

    ILIKE copies the text in lower case, so it reads the first MAX_TEXT characters. Raises: InvalidSyntax,
    UnsupportedSQL.
    """
    escape = "\\"
    if isinstance(node, exp.Escape):
        escape = text_literal(node.args["expression"], "ESCAPE with a character")
        node = node.this
    value = text(binder.scalar(node.this), binder)
    if len(escape) > 1:
        raise InvalidSyntax("ESCAPE takes exactly one character", hint="write for example ESCAPE '!'", at=node)
    if value.is_null or binder.scalar(node.args["expression"]).is_null:
        return truth(node, unknown())
    pattern = _pattern(text_literal(node.args["expression"], "LIKE with a pattern"), escape, node.args["expression"])
    seen = shortened(value) if isinstance(node, exp.ILike) and is_long(value) else value.sql
    sql = type(node)(this=wrap(seen), expression=exp.Literal.string(pattern), negate=node.args.get("negate"))
    return truth(node, sql)


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
        raise InvalidSyntax(f"the pattern ends in {what}", at=node)
    if len(re.findall("%+", written)) > _MAX_PERCENTS:
        raise UnsupportedSQL("the pattern has too many %", hint=f"use at most {_MAX_PERCENTS} of them", at=node)
    return "".join(pattern)


def constant(node: exp.Expr, binder: Binder) -> Scalar:
    """The conditions `TRUE` and `FALSE`."""
    return truth(node, exp.Boolean(this=node.this))


def _aligned(
    node: exp.Expr, scalars: Sequence[Scalar], binder: Binder, *, of_one_type: bool = False
) -> list[exp.Expr] | None:
    """Operands in types that compare exactly; None if one is NULL, since the comparison is NULL then."""
    if any(part.is_null for part in scalars):
        return None
    aligned = align(node, scalars, binder)
    aligned = all_real(node, aligned) if of_one_type else aligned
    sides = [_canonical(part, aligned) for part in aligned]
    return [exp.Paren(this=sql) if isinstance(sql, (exp.Predicate, exp.Not, exp.Connector)) else sql for sql in sides]


def _canonical(part: Scalar, beside: list[Scalar]) -> exp.Expr:
    """SQL of a compared value; a literal is written in one way, since only its value matters.

    A literal datetime takes the type of the other side if it is the same instant.
    """
    if part.value is not None and part.type != REAL:
        return literals.canonical_sql(part.value)
    if part.span is None and not (part.type is not None and part.type.is_moment):
        return part.sql
    sql = part.sql
    if not (isinstance(sql, exp.Cast) and isinstance(sql.this, exp.Literal)):
        return sql
    value = literals.moment(sql)
    assert value is not None, "a literal is one"
    others = {other.type.family for other in beside if other.type is not None and other is not part}
    if others == {Family.DATE} and isinstance(value, datetime) and value.time() == time():
        return literals.moment_sql(value.date())
    if others and others <= {Family.TIMESTAMP, Family.TIMESTAMPTZ} and not isinstance(value, datetime):
        return literals.moment_sql(datetime(value.year, value.month, value.day))
    return sql


def truth(node: exp.Expr, sql: exp.Expr) -> Scalar:
    """A condition as a value."""
    return Scalar(node, _BOOL, sql)
