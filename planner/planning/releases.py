"""Aggregates to releases: weights, their bounds, and how the outputs add them up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from planner.binding.bound_query import BoundAggregate, BoundQuery
from planner.plan import Release
from planner.released_expression import Apply, ReleasedExpression, ReleasedValue
from planner.rules.guard_weight import guard_weight, whole_weight, whole_weight_where
from planner.sql.columns import column_ref
from planner.sql.trees import columns_of


@dataclass(frozen=True)
class _Weight:
    """One non-negative quantity to release."""

    label: str
    sql: exp.Cast
    bound: float
    whole: bool = False
    distinct: exp.Expr | None = None

    def same(self, other: _Weight) -> bool:
        """Would the other be the same number?"""
        return (self.sql, self.bound, self.distinct) == (other.sql, other.bound, other.distinct)


@dataclass(frozen=True)
class Releases:
    """What is released, and how each aggregate follows.

    Attributes:
      releases: each once.
      values: per aggregate of the BoundQuery, over `releases`.
      share: of epsilon, each one's.
    """

    releases: tuple[Release, ...]
    values: tuple[ReleasedExpression, ...]
    share: float


Determined = Callable[[Sequence[tuple[str, str]]], bool]


def releases(query: BoundQuery, epsilon: float, distinct: Determined, *, beside: int = 0) -> Releases:
    """Weights of every aggregate, the budget shared equally; equal ones are released once.

    Args:
      distinct: does every owner of a tuple determine these columns, and to one value?
      beside: how many shares of the budget are kept for other releases.
    """
    weights: list[_Weight] = []
    values = []
    for aggregate in query.aggregates:
        terms = []
        for weight, sign in _weights(aggregate):
            known = [index for index, other in enumerate(weights) if other.same(weight)]
            if not known:
                weights.append(weight)
            terms.append((known[0] if known else len(weights) - 1, sign))
        values.append(_signed_sum(terms))
    share = equal_share(epsilon, len(weights) + beside)
    return Releases(tuple(_release(weight, share, distinct) for weight in weights), tuple(values), share)


def _release(weight: _Weight, share: float, distinct: Determined) -> Release:
    value = weight.distinct
    columns = [] if value is None else list(map(column_ref, columns_of(value)))
    determined = value is not None and distinct(columns)
    return Release(weight.label, weight.sql, weight.bound, share, weight.whole, value, determined)


def _signed_sum(terms: list[tuple[int, int]]) -> ReleasedExpression:
    """A release; its negative; or the positive part less the negative one."""
    (first, sign), *rest = terms
    value: ReleasedExpression = ReleasedValue(first)
    if sign < 0:
        value = Apply("negate", (value,))
    for release, _ in rest:
        value = Apply("-", (value, ReleasedValue(release)))
    return value


def equal_share(epsilon: float, count: int) -> float:
    """epsilon / count, rounded so that the decimals of `count` shares never add up to more than epsilon's.

    >>> [equal_share(1.0, 1), equal_share(1.0, 4), equal_share(5.0, 3)]
    [1.0, 0.25, 1.6666666666666665]
    """
    share = epsilon / count
    while Fraction(repr(share)) * count > Fraction(repr(epsilon)):
        share = math.nextafter(share, 0.0)
    return share


def _weights(aggregate: BoundAggregate) -> list[tuple[_Weight, int]]:
    """The parts of an aggregate, each with its sign."""
    label, condition = aggregate.label, aggregate.condition
    if aggregate.function != "sum":
        weight = whole_weight() if condition is None else whole_weight_where(condition)
        # A value that several people share needs less than 1 of each, so only plain counts are whole.
        distinct = aggregate.argument
        return [(_Weight(label, weight, 1.0, whole=distinct is None, distinct=distinct), 1)]
    sql, bounds = aggregate.argument, aggregate.bounds
    assert sql is not None and bounds is not None, "SUM has an argument"
    if bounds.lo >= 0:
        return [(_Weight(label, guard_weight(sql, bounds.hi or 1.0), bounds.hi or 1.0), 1)]
    minus = exp.Neg(this=sql if isinstance(sql, (exp.Cast, exp.Case)) else exp.Paren(this=sql))
    negative = _Weight(f"{label}, negative part", guard_weight(minus, -bounds.lo), -bounds.lo)
    if bounds.hi <= 0:
        return [(negative, -1)]
    positive = _Weight(f"{label}, positive part", guard_weight(sql, bounds.hi), bounds.hi)
    return [(positive, 1), (negative, -1)]
