"""Conditions over one join tuple: a whitelist of operators that cannot fail for any row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from planner import literals
from planner.errors import InvalidSyntax, UnsupportedSQL
from planner.exact_arithmetic import exact
from planner.positions import position_of
from planner.scope import Scope
from planner.sql_types import Family, SqlType

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg)
_TIMES = frozenset({Family.DATE, Family.TIMESTAMP, Family.TIMESTAMPTZ})
_FLOAT_DIGITS = 300


@dataclass(frozen=True)
class _Operand:
    """One side of a comparison; `type` is None for a quoted literal, which takes the other side's type."""

    sql: exp.Expr
    type: SqlType | None


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


def bind_predicate(node: exp.Expr, scope: Scope) -> exp.Expr:
    """Bind a condition: names resolved, types checked, literals typed.

    Returns: SQL of a boolean that raises for no row.
    Raises: UnsupportedSQL, InvalidSyntax, and what names raise; each with a position.
    """
    if isinstance(node, exp.Paren):
        return bind_predicate(node.this, scope)
    if isinstance(node, (exp.And, exp.Or)):
        parts = [_wrap(bind_predicate(part, scope)) for part in node.flatten()]
        join = exp.and_ if isinstance(node, exp.And) else exp.or_
        return join(*parts, copy=False)
    if isinstance(node, exp.Not):
        return exp.Not(this=_wrap(bind_predicate(node.this, scope)))
    if isinstance(node, _COMPARISONS):
        left, right = _aligned(node, [_operand(node.this, scope), _operand(node.expression, scope)])
        return type(node)(this=left, expression=right)
    if isinstance(node, exp.Between):
        operands = [_operand(node.args[part], scope) for part in ("this", "low", "high")]
        value, low, high = _aligned(node, operands)
        return exp.Between(this=value, low=low, high=high)
    if isinstance(node, exp.In):
        return _in_list(node, scope)
    if isinstance(node, exp.Is):
        return _is(node, scope)
    if isinstance(node, exp.Like):
        return _like(node, scope)
    return _truth_value(node, scope)


def _operand(node: exp.Expr, scope: Scope) -> _Operand:
    if isinstance(node, exp.Paren):
        return _operand(node.this, scope)
    if isinstance(node, exp.Column):
        column = scope.resolve(node)
        kind = scope.type_of(column)
        # A literal beside a `real` would be read as one, and may not fit; widening the column never fails.
        return _Operand(exp.cast(column, "DOUBLE PRECISION") if kind.family is Family.FLOAT else column, kind)
    if isinstance(node, exp.Literal) and node.is_string:
        return _Operand(node, None)
    if isinstance(node, exp.Boolean):
        return _Operand(node.copy(), SqlType(Family.BOOL))
    if isinstance(node, exp.Null):
        hint = "write IS NULL"
        raise UnsupportedSQL("a comparison with NULL is never true", hint=hint, position=position_of(node))
    value = literals.moment(node)
    if value is not None:
        family = Family.TIMESTAMP if isinstance(value, datetime) else Family.DATE
        return _Operand(literals.moment_sql(value), SqlType(family))
    if isinstance(node, (*_ARITHMETIC, exp.Literal)):
        number = exact(node, scope)
        return _Operand(number.sql, number.type)
    name = type(node).__name__.upper()
    raise UnsupportedSQL(f"{name} is not supported in a comparison", position=position_of(node))


def _aligned(node: exp.Expr, operands: list[_Operand]) -> list[exp.Expr]:
    """Type the quoted literals by the first typed side, and check that every pair compares without failing."""
    known = next((operand.type for operand in operands if operand.type is not None), SqlType(Family.TEXT))
    aligned = []
    for operand in operands:
        if operand.type is None:
            assert isinstance(operand.sql, exp.Literal)
            aligned.append(literals.typed(operand.sql, known))
            continue
        if not _comparable(known, operand.type):
            names = f"{known.family.value} and {operand.type.family.value}"
            hint = "compare values of one type"
            raise UnsupportedSQL(f"{names} are not compared here", hint=hint, position=position_of(node))
        aligned.append(operand.sql)
    return aligned


def _comparable(left: SqlType, right: SqlType) -> bool:
    if left.is_number and right.is_number:
        mixed = (left.family is Family.FLOAT) != (right.family is Family.FLOAT)
        return not mixed or all(_fits_float(side) for side in (left, right))
    if left.family in _TIMES and right.family in _TIMES:
        return True
    if left.is_string and right.is_string:
        return True
    return left.family is right.family and left.family is not Family.OTHER


def _fits_float(kind: SqlType) -> bool:
    """Converting to double precision raises for numerics of too many digits, before or after the point."""
    if kind.family is not Family.NUMERIC:
        return True
    return kind.precision is not None and kind.precision <= _FLOAT_DIGITS and 0 <= (kind.scale or 0) <= _FLOAT_DIGITS


def _in_list(node: exp.In, scope: Scope) -> exp.Expr:
    value = _operand(node.this, scope)
    items = [_operand(item, scope) for item in node.expressions]
    for item, written in zip(items, node.expressions, strict=True):
        if item.sql.find(exp.Column) is not None:
            hint = "write one comparison per column, joined by OR"
            raise UnsupportedSQL("a column in an IN list", hint=hint, position=position_of(written))
    first, *rest = _aligned(node, [value, *items])
    return exp.In(this=_wrap(first), expressions=rest)


def _is(node: exp.Is, scope: Scope) -> exp.Expr:
    inner = None
    if isinstance(node.expression, exp.Null):
        inner = _operand(node.this, scope).sql
    elif isinstance(node.expression, exp.Boolean):
        inner = bind_predicate(node.this, scope)
    if inner is not None:
        return exp.Is(this=_wrap(inner), expression=node.expression.copy(), negate=node.args.get("negate"))
    raise UnsupportedSQL("this form of IS is not supported", hint="use IS NULL", position=position_of(node))


def _like(node: exp.Like, scope: Scope) -> exp.Expr:
    value, pattern = _operand(node.this, scope), node.expression
    if value.type is None or not value.type.is_string:
        raise UnsupportedSQL("LIKE over something that is not text", position=position_of(node))
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise UnsupportedSQL("LIKE with a pattern that is not a literal", position=position_of(node))
    if not re.fullmatch(r"(?:[^\\]|\\.)*", pattern.name, re.DOTALL):
        raise InvalidSyntax("a pattern that ends in a backslash", position=position_of(pattern))
    return exp.Like(
        this=_wrap(value.sql), expression=exp.Literal.string(pattern.name), negate=node.args.get("negate")
    )


def _truth_value(node: exp.Expr, scope: Scope) -> exp.Expr:
    if isinstance(node, (exp.Column, exp.Boolean)):
        operand = _operand(node, scope)
        if operand.type is not None and operand.type.family is Family.BOOL:
            return operand.sql
    hint = "write a comparison"
    raise UnsupportedSQL("this is not a condition", hint=hint, position=position_of(node))


def _wrap(sql: exp.Expr) -> exp.Expr:
    atomic = isinstance(sql, (exp.Column, exp.Literal, exp.Boolean, exp.Paren, exp.Cast, exp.Null, exp.Func))
    return sql if atomic and not isinstance(sql, (exp.And, exp.Or)) else exp.Paren(this=sql)
