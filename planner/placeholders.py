"""`$1`, `$2`, ...: typed from context before their values are known, and literals of the tree once they are.

A value never becomes text of a statement: it becomes a node, which the binder reads like any written literal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from sqlglot import exp

from planner.bind import bind
from planner.errors import InvalidSetting, UnsupportedSQL
from planner.placeholder_slot import SLOT, Slot, sample
from planner.plan import ResultType
from planner.policy import Policy
from planner.positions import position_of
from planner.public.bind import bind_public
from planner.public.route import names_private_table
from planner.released import KeyValue
from planner.schema import Schema
from planner.sql_types import Family, SqlType, result_type
from planner.trees import copied

Query = TypeVar("Query", bound=exp.Query)
Value = str | int | float | Decimal | bool | None

MAX_PARAMETERS = 256
"""Values of one statement."""

MAX_VALUE_LENGTH = 8_192
"""Characters of one value."""

_NUMBERS = ("int8", "float8", "numeric")
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_SMALLEST, _LARGEST = Decimal("1e-100"), Decimal("1e100")
_RESULTS: dict[Family, ResultType] = {Family.FLOAT: "float8", Family.TIMESTAMPTZ: "timestamp", Family.UUID: "text"}


@dataclass(frozen=True)
class Description:
    """What is known of a statement before its values are.

    Attributes:
      parameters: the type of each `$n`, in order.
      columns: name and type of each column of the answer.
      noisy: per column, is it a number that follows from released values?
    """

    parameters: tuple[ResultType, ...]
    columns: tuple[tuple[str, ResultType], ...]
    noisy: tuple[bool, ...]


def describe(select: exp.Query, schema: Schema, policy: Policy) -> Description:
    """Type the placeholders and the answer of a statement. Free: it reads structure only.

    Args:
      select: from `planner.parse.parse`, or within `planner.public.grammar`; it is not changed.
    Raises: UnsupportedSQL for a placeholder whose place says no one type; otherwise what `bind` raises.
    """
    copy = copied(select)
    slots = [Slot() for _ in range(_count(copy))]
    for node in _placeholders(copy):
        node.meta[SLOT] = slots[_number(node) - 1]
    for node in _placeholders(copy):
        kind = _of_released(node)
        if kind is not None:
            node.replace(sample(node, kind))
    columns, noisy = _columns(copy, schema, policy)
    return Description(tuple(_type(slot, index) for index, slot in enumerate(slots, start=1)), columns, noisy)


def _columns(
    query: exp.Query, schema: Schema, policy: Policy
) -> tuple[tuple[tuple[str, ResultType], ...], tuple[bool, ...]]:
    """Name and type of each column of the answer, and which are noisy, on the way that the statement takes."""
    if not names_private_table(query, policy):
        columns = bind_public(query, schema, policy, _SOME_DAY).columns
        return columns, (False,) * len(columns)
    assert isinstance(query, exp.Select), "the private grammar has nothing else"
    outputs = bind(query, schema, policy, _SOME_DAY).outputs
    noisy = tuple(output.type in _NUMBERS and not isinstance(output.expression, KeyValue) for output in outputs)
    return tuple((output.name, output.type) for output in outputs), noisy


def substitute(select: Query, values: Sequence[Value]) -> Query:
    """The statement with every placeholder written as its value.

    Args:
      select: from `planner.parse.parse`; it is not changed.
      values: one per placeholder; text takes the type of its place, as a quoted literal does.
    Raises: InvalidSetting for too few, too many, or one that no literal can hold.

    >>> from sqlglot import parse_one
    >>> select = parse_one("SELECT WHERE a = $1 AND b > $2", dialect="postgres")
    >>> substitute(select, ["it's", -2]).sql("postgres")
    "SELECT WHERE a = 'it''s' AND b > (-2)"
    """
    count = _count(select)
    if count != len(values):
        asked = f"{count} placeholder{'' if count == 1 else 's'}"
        sent = f"{len(values)} value{' was' if len(values) == 1 else 's were'}"
        places = (_place(node) for node in _placeholders(select) if _number(node) > len(values))
        hint = "send them in parameters, in the order of their numbers"
        message = f"the statement has {asked}, but {sent} sent"
        raise InvalidSetting(message, hint=hint, position=next(places, None))
    if not count:
        return select
    literals = [_literal(value, index) for index, value in enumerate(values, start=1)]
    copy = copied(select)
    for node in _placeholders(copy):
        literal = literals[_number(node) - 1].copy()  # with notes of its own
        literal.meta.update(node.meta)
        node.replace(literal)
    return copy


def _placeholders(select: exp.Query) -> list[exp.Parameter]:
    return list(select.find_all(exp.Parameter))


def _place(node: exp.Parameter) -> int | None:
    """Where its `$` stands: the tree remembers the number after it."""
    position = position_of(node)
    return None if position is None else position - 1


def _number(node: exp.Parameter) -> int:
    """The n of `$n`."""
    text = node.this.name if isinstance(node.this, exp.Literal) else ""
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= MAX_PARAMETERS):
        hint = f"number them from $1 to ${MAX_PARAMETERS}"
        raise UnsupportedSQL("this placeholder is not supported", hint=hint, position=position_of(node))
    return int(text)


def _count(select: exp.Query) -> int:
    """The highest n."""
    return max((_number(node) for node in _placeholders(select)), default=0)


def _literal(value: Value, index: int) -> exp.Expr:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        if len(value) > MAX_VALUE_LENGTH or any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
            raise InvalidSetting(f"the value of ${index} is too long, or holds a character that no text can")
        return exp.Literal.string(value)
    number = Decimal(digits_of(value))
    if not number.is_finite() or (number and not _SMALLEST <= abs(number) <= _LARGEST):
        raise InvalidSetting(f"the value of ${index} is beyond 1e100 or below 1e-100, or no number")
    literal = exp.Literal.number(format(number.copy_abs(), "f"))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def digits_of(value: int | float | Decimal) -> str:
    """The digits that mean the value.

    >>> digits_of(0.1), digits_of(Decimal("1.50")), digits_of(7)
    ('0.1', '1.50', '7')
    """
    return repr(value) if isinstance(value, float) else str(value)


def _of_released(node: exp.Parameter) -> SqlType | None:
    """The type of one that meets released values, which are numbers, or counts rows of the answer."""
    if isinstance(node.parent, (exp.Limit, exp.Offset, exp.Fetch)):
        return SqlType(Family.INTEGER)
    above = node.parent
    while above is not None and not isinstance(above, (exp.AggFunc, exp.Filter, exp.Where, exp.Join, exp.Group)):
        if isinstance(above, exp.Condition) and above.find(exp.AggFunc) is not None:
            return SqlType(Family.FLOAT)
        above = above.parent
    return None


def _type(slot: Slot, index: int) -> ResultType:
    kinds = {_RESULTS.get(kind.family) or result_type(kind) or "text" for kind in slot.types}
    if kinds <= {"int8", "numeric", "float8"} and len(kinds) > 1:
        kinds = {"float8" if "float8" in kinds else "numeric"}
    if len(kinds) != 1:
        hint = f"write its type: ${index}::date"
        raise UnsupportedSQL(f"the type of ${index} is not clear from its place", hint=hint)
    return kinds.pop()
