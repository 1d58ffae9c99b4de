"""Evaluate expressions for all rows of a group at once, from what is known of the group's keys.

The language is small on purpose: comparisons, CASE, truncated moments and their fields, whole numbers. Everything
else is `UNKNOWN`, and then no answer is derived. No database is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast, get_args

from sqlglot import exp

from planner.reuse.fact import (
    NULL,
    UNKNOWN,
    Fact,
    Known,
    Plain,
    TimeUnit,
    Unknown,
    Within,
    after,
    equal,
    floored,
    less,
    truth,
)
from planner.reuse.normal_form import TreeHashes
from planner.sql.datetimes import patterns, read_moment

Answer = bool | None | Unknown

_Type = exp.DataType.Type
_NUMBERS = frozenset({_Type.BIGINT, _Type.INT, _Type.SMALLINT, _Type.DECIMAL, _Type.DOUBLE})
_MOMENTS = frozenset({_Type.TIMESTAMP, _Type.TIMESTAMPTZ})
_EXACT = 2**53

FIELDS: Mapping[str, tuple[TimeUnit, Callable[[Any], int]]] = {
    "YEAR": ("year", lambda moment: moment.year),
    "DECADE": ("year", lambda moment: moment.year // 10),
    "CENTURY": ("year", lambda moment: (moment.year + 99) // 100),
    "ISOYEAR": ("week", lambda moment: moment.isocalendar().year),
    "QUARTER": ("quarter", lambda moment: (moment.month + 2) // 3),
    "MONTH": ("month", lambda moment: moment.month),
    "WEEK": ("week", lambda moment: moment.isocalendar().week),
    "DAY": ("day", lambda moment: moment.day),
    "DOW": ("day", lambda moment: moment.isoweekday() % 7),
    "ISODOW": ("day", lambda moment: moment.isoweekday()),
    "DOY": ("day", lambda moment: moment.timetuple().tm_yday),
    "HOUR": ("hour", lambda moment: moment.hour),
    "MINUTE": ("minute", lambda moment: moment.minute),
}
"""Fields of a moment as PostgreSQL numbers them. Each has a unit of time in which it does not change."""

_WRITTEN = {"YYYY": "YEAR", "MM": "MONTH", "DD": "DAY", "Q": "QUARTER"}
"""Patterns of to_char that write a field with leading zeros."""


class Evaluator:
    """Evaluate planned expressions for one group.

    Args:
      facts: by the hash of an expression, its value in every row of the group.
      hashes: of the expressions' nodes.
    """

    def __init__(self, facts: Mapping[str, Fact], hashes: TreeHashes) -> None:
        self._facts = facts
        self._hashes = hashes

    def value(self, node: exp.Expr) -> Fact:
        """Return what an expression is in every row of the group."""
        if not isinstance(node, (exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Connector)):
            found = self._facts.get(self._hashes.of(node))
            if found is not None:
                return found
        if isinstance(node, exp.Paren):
            return self.value(node.this)
        if isinstance(node, exp.Cast):
            return self._cast(node)
        if isinstance(node, exp.AtTimeZone):
            zone = node.args["zone"]
            utc = isinstance(zone, exp.Literal) and zone.name == "UTC"
            return self.value(node.this) if utc else UNKNOWN
        if isinstance(node, exp.TimestampTrunc):
            return self._truncated(node)
        if isinstance(node, exp.Extract):
            return self._field(node)
        if isinstance(node, exp.ToChar):
            return self._formatted(node)
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, exp.Coalesce):
            return self._coalesce(node)
        if isinstance(node, (exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Floor, exp.IntDiv)):
            return self._number(node)
        if isinstance(node, exp.Literal):
            return _literal(node)
        if isinstance(node, exp.Null):
            return NULL
        if isinstance(node, exp.Boolean):
            return truth(bool(node.this))
        if isinstance(node, exp.Condition):
            found_true = self._condition(node)
            return UNKNOWN if isinstance(found_true, Unknown) else truth(found_true)
        return UNKNOWN

    def truth(self, node: exp.Expr) -> Answer:
        """Return a condition's value in every row: True, False, None for NULL; or Unknown."""
        found = self.value(node)
        if isinstance(found, Known) and (found.value is None or isinstance(found.value, bool)):
            return found.value
        return UNKNOWN

    def _condition(self, node: exp.Expr) -> Answer:
        if isinstance(node, (exp.And, exp.Or)):
            return _joined([self.truth(part) for part in node.flatten()], isinstance(node, exp.And))
        if isinstance(node, exp.Not):
            return _not(self.truth(node.this))
        if isinstance(node, exp.Is):
            return self._is(node)
        if isinstance(node, exp.Between):
            value, low, high = (self.value(node.args[name]) for name in ("this", "low", "high"))
            return _joined([_not(less(value, low)), _not(less(high, value))], both=True)
        if isinstance(node, exp.In) and node.expressions and node.args.get("query") is None:
            value = self.value(node.this)
            return _joined([equal(value, self.value(one)) for one in node.expressions], both=False)
        if isinstance(node, exp.Like):
            return self._like(node)
        if not isinstance(node, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)):
            return UNKNOWN
        left, right = self.value(node.this), self.value(node.expression)
        if isinstance(node, (exp.EQ, exp.NEQ)):
            same = equal(left, right)
            return same if isinstance(node, exp.EQ) else _not(same)
        if isinstance(node, (exp.LT, exp.GTE)):
            return less(left, right) if isinstance(node, exp.LT) else _not(less(left, right))
        return less(right, left) if isinstance(node, exp.GT) else _not(less(right, left))

    def _is(self, node: exp.Is) -> Answer:
        value = self.value(node.this)
        if isinstance(value, Unknown):
            return UNKNOWN
        asked = node.expression
        if isinstance(asked, exp.Null):
            found = value == NULL
        elif isinstance(asked, exp.Boolean) and isinstance(value, Known):
            found = value.value is bool(asked.this)
        else:
            return UNKNOWN
        return found is not bool(node.args.get("negate"))

    def _like(self, node: exp.Like) -> Answer:
        value, pattern = self.value(node.this), node.expression
        if value == NULL:
            return None
        if not isinstance(value, Known) or not isinstance(value.value, str):
            return UNKNOWN
        if not (isinstance(pattern, exp.Literal) and pattern.is_string and pattern.name.endswith("%")):
            return UNKNOWN  # the text may be filled up with blanks, which the key is without
        if any(sign in pattern.name for sign in "\\_ "):
            return UNKNOWN
        written = ".*".join(map(re.escape, pattern.name.split("%")))
        return re.fullmatch(written, value.value, re.DOTALL) is not None

    def _case(self, node: exp.Case) -> Fact:
        if node.args.get("this") is not None:
            return UNKNOWN
        for branch in node.args["ifs"]:
            passes = self.truth(branch.this)
            if isinstance(passes, Unknown):
                return UNKNOWN
            if passes:
                return self.value(branch.args["true"])
        default = node.args.get("default")
        return NULL if default is None else self.value(default)

    def _coalesce(self, node: exp.Coalesce) -> Fact:
        for part in (node.this, *node.expressions):
            value = self.value(part)
            if value != NULL:
                return value
        return NULL

    def _cast(self, node: exp.Cast) -> Fact:
        target, inner = node.to.this, node.this.unnest()
        if isinstance(inner, exp.Literal) and inner.is_string:
            return _moment_literal(inner.name, target)
        value = self.value(inner)
        if value == NULL:
            return NULL
        if target is _Type.DATE:
            return _begun(value, "day")
        if target in _MOMENTS:
            return value if isinstance(value, Within) or _is_moment(value) else UNKNOWN
        if not isinstance(value, Known):
            return UNKNOWN
        if target in _NUMBERS:
            return _whole(value.value)
        if target is _Type.TEXT and not node.to.expressions:
            if isinstance(value.value, str):
                return value
            if isinstance(value.value, int) and not isinstance(value.value, bool):
                return Known(str(value.value))
        return UNKNOWN

    def _truncated(self, node: exp.TimestampTrunc) -> Fact:
        unit = node.args["unit"].name.lower()
        if unit not in get_args(TimeUnit) or node.args.get("zone") is not None:
            return UNKNOWN
        return _begun(self.value(node.this), cast(TimeUnit, unit))

    def _field(self, node: exp.Extract) -> Fact:
        known = FIELDS.get(node.this.name.upper())
        return UNKNOWN if known is None else self._field_of(self.value(node.expression), *known)

    def _formatted(self, node: exp.ToChar) -> Fact:
        """Evaluate to_char with a format of years, months and days."""
        value, found = self.value(node.this), patterns(node.args["format"].name)
        if value == NULL or isinstance(found, str):
            return value if value == NULL else UNKNOWN
        texts = []
        for pattern in found:
            field = _WRITTEN.get(pattern.written)
            if field is None and (pattern.finest is not None or "\\" in pattern.written):
                return UNKNOWN
            number = Known(pattern.written.strip('"')) if field is None else self._field_of(value, *FIELDS[field])
            if not isinstance(number, Known):
                return UNKNOWN
            texts.append(str(number.value).zfill(pattern.width if field else 0))
        return Known("".join(texts))

    @staticmethod
    def _field_of(value: Fact, unit: TimeUnit, field: Callable[[datetime], int]) -> Fact:
        if value == NULL:
            return NULL
        beginning = _begun(value, unit)
        if isinstance(value, Known) and isinstance(value.value, datetime):
            return Known(field(value.value))
        one = isinstance(beginning, Known) and isinstance(beginning.value, datetime)
        return Known(field(cast(datetime, beginning.value))) if one and isinstance(beginning, Known) else UNKNOWN

    def _number(self, node: exp.Expr) -> Fact:
        """Evaluate whole numbers, and FLOOR of a quotient whose operands a double holds exactly."""
        if isinstance(node, exp.Floor):
            if node.args.get("decimals") is not None:
                return UNKNOWN
            inner = node.this.unnest()
            if not isinstance(inner, exp.Div):
                return self._integer(inner)
            if not _is_double(inner.left):
                return UNKNOWN  # of whole numbers the quotient is cut before
            above, below = self._integer(inner.left), self._integer(inner.right)
            if NULL in (above, below):
                return NULL
            if not (isinstance(above, Known) and isinstance(below, Known)) or not below.value:
                return UNKNOWN
            return Known(Fraction(cast(int, above.value), cast(int, below.value)).__floor__())
        parts = [self._integer(part) for part in _operands(node)]
        if NULL in parts:
            return NULL
        numbers = [cast(int, part.value) for part in parts if isinstance(part, Known)]
        if len(numbers) < len(parts):
            return UNKNOWN
        if isinstance(node, exp.Neg):
            return _whole(-numbers[0])
        left, right = numbers
        if isinstance(node, exp.IntDiv):  # towards 0
            return (
                UNKNOWN if right == 0 else _whole(abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1))
            )
        if isinstance(node, exp.Add):
            return _whole(left + right)
        return _whole(left - right if isinstance(node, exp.Sub) else left * right)

    def _integer(self, node: exp.Expr) -> Fact:
        value = self.value(node)
        return _whole(value.value) if isinstance(value, Known) else UNKNOWN


def _operands(node: exp.Expr) -> list[exp.Expr]:
    return [node.this] if isinstance(node, exp.Neg) else [node.this, node.expression]


def _is_double(node: exp.Expr) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Cast) and node.to.this is _Type.DOUBLE


def _is_moment(value: Fact) -> bool:
    return isinstance(value, Known) and isinstance(value.value, datetime)


def _whole(value: Plain) -> Fact:
    """Return a whole number that every number type holds, else UNKNOWN."""
    if value is None:
        return NULL
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _EXACT
    return Known(value) if whole else UNKNOWN


def _literal(node: exp.Literal) -> Fact:
    if node.is_string:
        return Known(node.name)
    number = Decimal(node.name)
    return Known(int(number) if number == number.to_integral_value() else number)


def _moment_literal(text: str, target: object) -> Fact:
    found = read_moment(text)
    if found is None:
        return UNKNOWN
    if target is _Type.DATE:
        return Known(datetime(found.day.year, found.day.month, found.day.day))
    if target not in _MOMENTS:
        return UNKNOWN
    moment = found.local if target is _Type.TIMESTAMP else found.utc
    return UNKNOWN if moment is None else Known(moment)


def _begun(value: Fact, unit: TimeUnit) -> Fact:
    """Truncate a moment; where rows differ, return the span that holds all their beginnings."""
    if value == NULL:
        return NULL
    if isinstance(value, Known):
        return Known(floored(value.value, unit)) if isinstance(value.value, datetime) else UNKNOWN
    if not isinstance(value, Within):
        return UNKNOWN
    first = None if value.first is None else floored(value.first, unit)
    last = None if value.last is None else floored(value.last, unit)
    if first is not None and first == last:
        return Known(first)
    whole_days = unit not in ("hour", "minute", "second")
    return Within(first, None if last is None else after(last, unit), whole_days=whole_days)


def _joined(parts: list[Answer], both: bool) -> Answer:
    """Combine conditions by AND or OR in three-valued logic, with Unknown for what is not decided."""
    decides = not both
    if any(part is decides for part in parts):
        return decides
    if any(isinstance(part, Unknown) for part in parts):
        return UNKNOWN
    return None if any(part is None for part in parts) else both


def _not(part: Answer) -> Answer:
    return part if part is None or isinstance(part, Unknown) else not part
