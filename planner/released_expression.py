"""Arithmetic over released values. It is post-processing, so it costs no privacy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from planner.sql.sql_types import NUMBERS, ResultType, SqlType

Constant = str | int | float | bool | None

Operator = Literal[
    "+", "-", "*", "/", "negate", "abs", "round", "coalesce", "nullif", "greatest", "least", "sqrt",
    "around", "mean", "within",
    "=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "is null", "surely", "case",
]  # fmt: skip
"""The operations on released values. `/` by zero is NULL, and NULL propagates as in SQL.

`sqrt` of a negative number is NULL. `around` takes S(x y), S(x), S(y) and n. It returns S(x y) - S(x) S(y) / n, the
sum of products around the means, or its first argument if that is measured around the means already (`as_measured`).
`mean` takes S(x) and n and returns S(x) / n, unless S(x) is measured around a centre. `within` takes a value and the
ends of the range that it cannot leave.

`surely` is true if the whole interval of its argument lies above 0, and false otherwise.

`case` takes condition, value, condition, value, ..., default. `round` takes a value and a number of digits.
"""


@dataclass(frozen=True)
class ReleasedValue:
    """The noisy value of Plan.releases[release], in the answer's unit (weight times weight_bound)."""

    release: int


@dataclass(frozen=True)
class KeyValue:
    """The group's value of Plan.group_keys[key]."""

    key: int


@dataclass(frozen=True)
class Given:
    """A literal of the statement."""

    value: Constant


@dataclass(frozen=True)
class RowCount:
    """The number of rows that HAVING and LIMIT leave: COUNT(*) over an answer, which then has one row."""


@dataclass(frozen=True)
class Apply:
    """An operator over its arguments."""

    operator: Operator
    arguments: tuple[ReleasedExpression, ...]


ReleasedExpression = ReleasedValue | KeyValue | Given | RowCount | Apply


@dataclass(frozen=True)
class SortKey:
    """One key of ORDER BY over released rows. NULLs come last, as in PostgreSQL, unless `nulls_first`."""

    expression: ReleasedExpression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Output:
    """One column of the answer. A column of type int8 that is no group key is rounded.

    Attributes:
      expression: COUNT is one ReleasedValue; a SUM that crosses zero is positive part - negative part; AVG is sum /
        count.
      enum: the type of a group key that shows labels.
    """

    name: str
    type: ResultType
    expression: ReleasedExpression
    enum: SqlType | None = None


@dataclass(frozen=True)
class Display:
    """What an answer shows of the released groups. It is post-processing, in PostgreSQL's order.

    Attributes:
      outputs: the columns of the select list.
      having: a released row is shown if this is true; None shows all.
      order: the sort keys; empty keeps the order of the groups.
      limit, offset: how many of the sorted rows are shown; None shows all.
    """

    outputs: tuple[Output, ...] = ()
    having: ReleasedExpression | None = None
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def expressions(self) -> list[ReleasedExpression]:
        """The expressions of the select list, of HAVING and of ORDER BY, in this order."""
        having = [] if self.having is None else [self.having]
        return [*(output.expression for output in self.outputs), *having, *(key.expression for key in self.order)]

    @property
    def rows(self) -> slice:
        """The sorted rows that OFFSET and LIMIT leave."""
        return slice(self.offset, None if self.limit is None else self.offset + self.limit)

    @property
    def is_limited(self) -> bool:
        """Whether there is a LIMIT or an OFFSET."""
        return self.limit is not None or self.offset > 0

    def rewritten(self, change: Callable[[ReleasedExpression], ReleasedExpression]) -> Display:
        """Return the display with every expression changed."""
        return replace(
            self,
            outputs=tuple(replace(one, expression=change(one.expression)) for one in self.outputs),
            having=None if self.having is None else change(self.having),
            order=tuple(replace(one, expression=change(one.expression)) for one in self.order),
        )


def is_noisy(output: Output, types: Container[ResultType] = NUMBERS) -> bool:
    """Whether a column of these types depends on released values, and so has an interval."""
    return output.type in types and not isinstance(output.expression, (Given, KeyValue, RowCount))


def is_never_true(condition: ReleasedExpression) -> bool:
    """Whether a condition is false or unknown by its constants alone: `1 = 0`, FALSE, NULL.

    >>> is_never_true(Apply("and", (ReleasedValue(0), Apply("=", (Given(1), Given(0))))))
    True
    """
    if isinstance(condition, Given):
        return not condition.value
    if not isinstance(condition, Apply):
        return False
    if condition.operator == "and":
        return any(map(is_never_true, condition.arguments))
    if condition.operator != "=":
        return False
    left, right = condition.arguments
    if not (isinstance(left, Given) and isinstance(right, Given)):
        return False
    return type(left.value) is type(right.value) and left.value != right.value


def equals_noisy(condition: ReleasedExpression) -> bool:
    """Whether a condition, or a part of it, is `=` between a noisy number and a literal."""
    if not isinstance(condition, Apply):
        return False
    if condition.operator == "=" and any(isinstance(one, Given) for one in condition.arguments):
        return any(map(_is_released, condition.arguments))
    return any(map(equals_noisy, condition.arguments))


def _is_released(expression: ReleasedExpression) -> bool:
    if isinstance(expression, Apply):
        return expression.operator != "case" and any(map(_is_released, expression.arguments))
    return isinstance(expression, ReleasedValue)


def own_sums(expressions: Sequence[ReleasedExpression]) -> tuple[bool, ...]:
    """For each expression: is it one released value, or a difference of two, that no other such expression uses?

    >>> own_sums([KeyValue(0), ReleasedValue(0), Apply("-", (ReleasedValue(1), ReleasedValue(2))), ReleasedValue(2)])
    (False, True, False, False)
    """
    parts = [_added(one) for one in expressions]
    used = Counter(release for own in parts for release in own)
    return tuple(bool(own) and all(used[release] == 1 for release in own) for own in parts)


def _added(expression: ReleasedExpression) -> tuple[int, ...]:
    if isinstance(expression, ReleasedValue):
        return (expression.release,)
    if not isinstance(expression, Apply) or expression.operator != "-":
        return ()
    values = [one.release for one in expression.arguments if isinstance(one, ReleasedValue)]
    return tuple(values) if len(values) == len(expression.arguments) else ()


def range_of_mean(value: ReleasedExpression) -> tuple[float, float] | None:
    """The declared range that a mean is moved into, rounded or not; None for other values."""
    while isinstance(value, Apply) and value.operator == "round":
        value = value.arguments[0]
    if not (isinstance(value, Apply) and value.operator == "within"):
        return None
    least, most = (end.value for end in value.arguments[1:] if isinstance(end, Given))
    assert isinstance(least, int | float) and isinstance(most, int | float), "a range of numbers"
    return least, most


def within_no_range(expression: ReleasedExpression) -> ReleasedExpression:
    """Strip a range: return the value of `within`, or any other expression as it is."""
    if isinstance(expression, Apply) and expression.operator == "within":
        return expression.arguments[0]
    return expression


def as_measured(expression: ReleasedExpression, centres: Mapping[int, int] | None) -> ReleasedExpression:
    """Rewrite averages and sums of products for the way their sums are measured.

    Args:
      centres: None if all sums are measured around 0. Otherwise sums of products are measured around the means and
        need no correction; it maps each sum with a centre to the release of the centre.

    >>> product = Apply("around", (ReleasedValue(2), ReleasedValue(0), ReleasedValue(0), ReleasedValue(1)))
    >>> as_measured(product, {}), as_measured(product, None) == product
    (ReleasedValue(release=2), True)
    >>> as_measured(Apply("mean", (ReleasedValue(0), ReleasedValue(1))), None)
    Apply(operator='/', arguments=(ReleasedValue(release=0), ReleasedValue(release=1)))
    >>> as_measured(Apply("mean", (ReleasedValue(0), ReleasedValue(1))), {0: 2}).operator
    '+'
    """
    if not isinstance(expression, Apply):
        return expression
    if expression.operator == "around" and centres is not None:
        return expression.arguments[0]
    if expression.operator != "mean":
        return Apply(expression.operator, tuple(as_measured(part, centres) for part in expression.arguments))
    total, _ = expression.arguments
    quotient = Apply("/", expression.arguments)
    centre = None if centres is None or not isinstance(total, ReleasedValue) else centres.get(total.release)
    return quotient if centre is None else Apply("+", (ReleasedValue(centre), quotient))


def substitute(expression: ReleasedExpression, values: Sequence[ReleasedExpression]) -> ReleasedExpression:
    """Replace each ReleasedValue(i) by values[i].

    >>> substitute(Apply("negate", (ReleasedValue(1),)), [ReleasedValue(0), Given(2)])
    Apply(operator='negate', arguments=(Given(value=2),))
    """
    if isinstance(expression, ReleasedValue):
        return values[expression.release]
    if isinstance(expression, Apply):
        return Apply(expression.operator, tuple(substitute(part, values) for part in expression.arguments))
    return expression
