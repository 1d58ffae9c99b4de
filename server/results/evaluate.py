"""Evaluate a plan's expressions over its releases, one column of groups at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from decimal import Decimal
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from planner.plan import Deviation, Plan
from planner.released_expression import (
    Apply,
    Display,
    Given,
    KeyValue,
    Operator,
    ReleasedExpression,
    ReleasedValue,
    SortKey,
)
from planner.sql.rank_grid import Grid
from privacy.noisy_answer import NoisyAnswer
from privacy.units import ONE
from server.backends.columns import Domain
from server.results import arithmetic
from server.results.arithmetic import Column, column, exactly


def sorted_groups(display: Display, evaluate: Evaluator, n_groups: int) -> NDArray[np.int64]:
    """The groups that pass HAVING, sorted, before OFFSET and LIMIT; ties keep the order of the domain."""
    groups = np.arange(n_groups)
    if display.having is not None:
        having = evaluate(display.having)
        groups = groups[~having.null & (having.value != 0.0)]
    if display.order:
        parts = [part[groups] for key in display.order for part in _sorted_by(key, evaluate)]
        groups = groups[np.lexsort(parts[::-1])]
    return groups


def _sorted_by(key: SortKey, evaluate: Evaluator) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Two ascending sort keys; the first places the NULLs."""
    values = evaluate(key.expression)
    return ~values.null if key.nulls_first else values.null, -values.value if key.descending else values.value


OPERATORS: dict[Operator, Callable[..., Column]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "negate": arithmetic.negate,
    "abs": arithmetic.absolute,
    "greatest": arithmetic.greatest,
    "least": arithmetic.least,
    "sqrt": arithmetic.square_root,
    "around": arithmetic.around,
    "mean": arithmetic.divide,
    "within": arithmetic.within,
    "=": arithmetic.equal,
    "<>": lambda left, right: arithmetic.negated(arithmetic.equal(left, right)),
    "<": arithmetic.less,
    "<=": lambda left, right: arithmetic.negated(arithmetic.less(right, left)),
    ">": lambda left, right: arithmetic.less(right, left),
    ">=": lambda left, right: arithmetic.negated(arithmetic.less(left, right)),
    "and": arithmetic.both,
    "or": arithmetic.either,
    "not": arithmetic.negated,
    "is null": arithmetic.is_null,
    "surely": arithmetic.surely,
    "case": arithmetic.case,
    "coalesce": arithmetic.coalesce,
    "nullif": arithmetic.nullif,
}
"""Every operator but `round`, whose second argument is a number of digits."""


class Evaluator:
    """Evaluates expressions over one answer, each once."""

    def __init__(self, plan: Plan, domain: Domain, noisy: Sequence[NoisyAnswer]) -> None:
        self._plan = plan
        self._domain = domain
        self._noisy = noisy
        self._n_groups = len(domain)
        self.texts = sorted(set(chain(*map(_texts, domain.keys), *map(_literals, plan.display.expressions))))
        self._places = {text: float(place) for place, text in enumerate(self.texts)}
        self._known: dict[ReleasedExpression, Column] = {}

    def __call__(self, expression: ReleasedExpression) -> Column:
        """The values of an expression. Cost: linear in groups and operators."""
        known = self._known.get(expression)
        if known is None:
            known = self._known[expression] = self._evaluate(expression)
        return known

    def showing(self, shown: Mapping[ReleasedExpression, Column]) -> Evaluator:
        """Return a copy with these expressions at the values that the client sees.

        HAVING and ORDER BY then use the same values as the answer shows.
        """
        other = copy(self)
        other._known = dict(shown)
        return other

    def _evaluate(self, expression: ReleasedExpression) -> Column:
        if isinstance(expression, ReleasedValue):
            return self._released(expression.release)
        if isinstance(expression, KeyValue):
            return self._key(expression.key)
        if isinstance(expression, Given):
            return self._placed([expression.value], np.zeros(self._n_groups, np.int64))
        assert isinstance(expression, Apply), "a count of rows is no column over groups"
        if expression.operator == "round":
            digits = expression.arguments[1]
            assert isinstance(digits, Given) and isinstance(digits.value, int), "the binder takes literals only"
            return arithmetic.rounded(self(expression.arguments[0]), digits.value)
        return OPERATORS[expression.operator](*map(self, expression.arguments))

    def _released(self, release: int) -> Column:
        release_plan, answer = self._plan.releases[release], self._noisy[release]
        never = np.zeros(self._n_groups, np.bool_)
        rounding = self._rounding(release) if release_plan.rounded else 0.0
        missing = answer.missing
        if not self._plan.nested(release_plan) and release_plan.ranked is None:
            missing = np.where(answer.may_be_clipped, np.inf, missing)  # too few people to choose a threshold by
        elif not release_plan.whole and release_plan.is_sum and release_plan.around is None:
            # As many people may be overlooked as the value has at tau each: tau may be a millionth of what they add.
            missing = np.where((missing > 0) & (missing >= np.abs(answer.values)), np.inf, missing)
        below = 0.0 if release_plan.less is None and release_plan.around is None else missing
        parts = answer.values, answer.low - rounding - below, answer.high + rounding + missing
        if release_plan.ranked is not None:
            value, low, high = _on_grid(parts, release_plan.ranked.grid)
        else:
            value, low, high = (release_plan.weight_bound * part for part in parts)
        return column(value, never, low, high, never)

    def _rounding(self, release: int) -> NDArray[np.float64]:
        """How far rounding may move a sum of this size, in normalised weight, with 95% confidence.

        A row that weighs x units, rounded up with probability x - floor(x), has a variance below x and below 1/4. So
        the variance of a sum is below the sum in units. Deviations from a centre are sums of rows that weigh more.
        """
        around = self._plan.releases[release].around
        if isinstance(around, Deviation):
            rows: NDArray[np.float64] = np.sqrt(np.maximum(self._noisy[around.count].high, 0.0)) / ONE
            return rows
        spread: NDArray[np.float64] = 2.0 * np.sqrt(np.maximum(self._noisy[release].high, 0.0) / ONE)
        return spread

    def _key(self, key: int) -> Column:
        return self._placed(self._domain.keys[key], self._domain.places(key))

    def _placed(self, values: Sequence[object], place: NDArray[np.int64]) -> Column:
        """values[place], without noise."""
        null = np.array([value is None for value in values], np.bool_)
        numbers = np.array([self._number(value) for value in values], np.float64)
        return exactly(numbers[place], null[place])

    def _number(self, value: object) -> float:
        if value is None:
            return 0.0
        if isinstance(value, str):
            return self._places[value]
        assert isinstance(value, int | float | Decimal), "group keys are texts, numbers and booleans"
        return float(value)


def _on_grid(parts: Sequence[NDArray[np.float64]], grid: Grid) -> Sequence[NDArray[np.float64]]:
    """The grid's values at some places and at the ends of their intervals, rounded as decimals.

    A place of a grid by size is that of all values up to half a place away, and so is its interval.
    """
    if grid.zero is not None:
        return [
            np.array([grid.at(place + half) for place in part.tolist()], np.float64)
            for part, half in zip(parts, (0.0, -0.5, 0.5), strict=True)
        ]
    values = [grid.low + grid.step * part for part in parts]
    return values if grid.digits is None else [np.round(one, grid.digits) for one in values]


def _literals(expression: ReleasedExpression) -> set[str]:
    if isinstance(expression, Given):
        return _texts((expression.value,))
    return set(chain(*map(_literals, expression.arguments))) if isinstance(expression, Apply) else set()


def _texts(values: Sequence[object]) -> set[str]:
    return {value for value in values if isinstance(value, str)}


def releases_used(expression: ReleasedExpression) -> frozenset[int]:
    """The releases that an expression reads."""
    if isinstance(expression, ReleasedValue):
        return frozenset({expression.release})
    if isinstance(expression, Apply):
        return frozenset(chain.from_iterable(map(releases_used, expression.arguments)))
    return frozenset()
