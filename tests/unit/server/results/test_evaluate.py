"""Expressions over released values: what they are, and what their intervals must contain."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.released_expression import Apply, Given, KeyValue, Operator, ReleasedExpression, ReleasedValue
from server.backends.columns import Domain
from server.results.arithmetic import Column
from server.results.evaluate import OPERATORS, Evaluator, releases_used
from tests.support.released_plan import answer_plan, noisy_answer
from tests.support.seeds import examples

X, Y, Z = ReleasedValue(0), ReleasedValue(1), ReleasedValue(2)
NULL = Given(None)
N_GROUPS = 200

Ends = list[list[float]]


def apply(operator: Operator, *arguments: ReleasedExpression) -> Apply:
    return Apply(operator, arguments)


def evaluated(
    expression: ReleasedExpression, values: Ends, low: Ends | None = None, high: Ends | None = None
) -> Column:
    """The expression over releases of these values, exact unless ends are given."""
    domain = Domain((tuple(range(len(values[0]))),))
    noisy = [
        noisy_answer(value, low=below, high=above)
        for value, below, above in zip(values, low or values, high or values, strict=True)
    ]
    return Evaluator(answer_plan(expression, n_releases=len(values)), domain, noisy)(expression)


def value_of(expression: ReleasedExpression, *values: float) -> float | None:
    column = evaluated(expression, [[value] for value in values])
    return None if column.null[0] else float(column.value[0])


def interval_of(expression: ReleasedExpression, *ends: tuple[float, float, float]) -> tuple[float, float] | None:
    """Its interval; ends are (low, value, high) per release. None where it is always NULL."""
    low, values, high = ([[one[place]] for one in ends] for place in range(3))
    column = evaluated(expression, values, low, high)
    return (float(column.low[0]), float(column.high[0])) if column.low[0] <= column.high[0] else None


def test_values_are_those_of_sql() -> None:
    cases: list[tuple[ReleasedExpression, tuple[float, ...], float | None]] = [
        (apply("+", X, Y), (3, 4), 7),
        (apply("-", X, Y), (3, 4), -1),
        (apply("*", X, Y), (3, 4), 12),
        (apply("/", X, Y), (3, 4), 0.75),
        (apply("sqrt", X), (9,), 3),
        (apply("sqrt", X), (-9,), None),
        (apply("around", X, Y, Y, Given(4)), (10, 6), 1),
        (apply("around", X, Y, Y, Given(0)), (10, 6), None),
        (apply("within", X, Given(0), Given(7)), (10, 6), 7),
        (apply("within", X, Given(0), Given(17)), (10, 6), 10),
        (apply("within", apply("/", X, Given(0)), Given(0), Given(17)), (10, 6), None),
        (apply("/", X, Y), (3, 0), None),
        (apply("+", X, NULL), (3,), None),
        (apply("negate", X), (3,), -3),
        (apply("abs", X), (-3,), 3),
        (apply("round", X, Given(1)), (2.26,), 2.3),
        (apply("round", X, Given(-1)), (26,), 30),
        (apply("round", X, Given(99)), (1e300,), 1e300),
        (apply("coalesce", apply("/", X, Y), Given(-1)), (3, 0), -1),
        (apply("coalesce", NULL, NULL), (), None),
        (apply("nullif", X, Y), (3, 3), None),
        (apply("nullif", X, Y), (3, 4), 3),
        (apply("nullif", X, NULL), (3,), 3),
        (apply("greatest", X, NULL, Y), (3, 4), 4),
        (apply("least", X, NULL, Y), (3, 4), 3),
        (apply("greatest", NULL, NULL), (), None),
        (apply("=", X, Y), (3, 3), True),
        (apply("<>", X, Y), (3, 3), False),
        (apply("<", X, Y), (3, 4), True),
        (apply("<=", X, Y), (3, 3), True),
        (apply(">", X, Y), (3, 4), False),
        (apply(">=", X, Y), (3, 3), True),
        (apply("<", X, NULL), (3,), None),
        (apply("and", NULL, Given(False)), (), False),
        (apply("and", NULL, Given(True)), (), None),
        (apply("and", Given(True), Given(True), Given(True)), (), True),
        (apply("or", NULL, Given(True)), (), True),
        (apply("or", NULL, Given(False)), (), None),
        (apply("not", Given(False)), (), True),
        (apply("not", NULL), (), None),
        (apply("is null", NULL), (), True),
        (apply("is null", X), (3,), False),
        (apply("surely", X), (3,), True),
        (apply("surely", X), (0,), False),
        (apply("surely", NULL), (), False),
        (apply("case", apply("<", X, Given(2)), Given(1), apply("<", X, Given(5)), Given(2), Given(3)), (4,), 2),
        (apply("case", NULL, Given(1), Given(2)), (), 2),
        (apply("*", X, Y), (1e300, 1e300), math.nextafter(math.inf, 0)),
    ]
    for expression, values, expected in cases:
        assert value_of(expression, *(values or (0.0,))) == expected, expression


def test_the_interval_of_an_expression_follows_from_those_of_its_parts() -> None:
    cases: list[tuple[ReleasedExpression, list[tuple[float, float, float]], tuple[float, float] | None]] = [
        (apply("-", X, Y), [(1, 2, 3), (10, 11, 12)], (-11, -7)),
        (apply("*", X, Y), [(-1, 0, 3), (-2, 5, 5)], (-6, 15)),
        (apply("/", X, Y), [(1, 2, 3), (2, 3, 4)], (0.25, 1.5)),
        (apply("/", X, Y), [(1, 2, 3), (-1, 3, 4)], (-math.inf, math.inf)),
        (apply("/", X, Given(0)), [(1, 2, 3)], None),
        (apply("+", X, Y), [(1, 2, math.inf), (1, 2, 3)], (2, math.inf)),
        (apply("-", X, Y), [(1, 2, math.inf), (1, 2, math.inf)], (-math.inf, math.inf)),
        (apply("*", X, Given(0)), [(1, 2, math.inf)], (0, 0)),
        (apply("/", Given(1), X), [(1, 2, math.inf)], (0, 1)),
        (apply("/", X, Y), [(1, 2, math.inf), (1, 2, math.inf)], (0, math.inf)),
        (apply("abs", X), [(-3, 1, 2)], (0, 3)),
        (apply("greatest", X, Given(2)), [(1, 2, 3)], (2, 3)),
        (apply("least", X, Given(2)), [(1, 2, 3)], (1, 2)),
        (apply("case", apply(">", X, Given(2)), Given(10), Given(20)), [(1, 3, 4)], (10, 20)),
        (apply("case", apply(">", X, Given(2)), Given(10), Given(20)), [(3, 3, 4)], (10, 10)),
        (apply("case", apply("surely", X), Given(10), Given(20)), [(-1, 2, 4)], (10, 20)),
        (apply("case", apply("surely", X), Given(10), Given(20)), [(1, 2, 4)], (10, 10)),
        (apply("case", apply("surely", X), Given(10), Given(20)), [(-3, -2, 0)], (20, 20)),
        (apply("coalesce", X, Given(99)), [(1, 2, 3)], (1, 3)),
        (apply("coalesce", apply("/", X, Y), Given(-9)), [(1, 2, 3), (1, 2, 3)], (1 / 3, 3)),
        (apply("coalesce", apply("nullif", X, Given(2)), Given(-9)), [(1, 1, 3)], (-9, 3)),
        (apply("nullif", X, Given(0)), [(1, 2, 3)], (1, 3)),
        (apply("+", X, NULL), [(1, 2, 3)], None),
    ]
    for expression, ends, expected in cases:
        assert interval_of(expression, *ends) == expected, expression


def test_keys_are_repeated_over_the_product_of_domains() -> None:
    domain = Domain((("b", "a"), (10, 20, 30)))
    noisy = [noisy_answer([0.0] * 6)]
    equal = apply("=", KeyValue(0), Given("a"))
    evaluate = Evaluator(answer_plan(equal), domain, noisy)
    assert evaluate(equal).value.tolist() == [0, 0, 0, 1, 1, 1]
    assert evaluate(KeyValue(1)).value.tolist() == [10, 20, 30, 10, 20, 30]
    assert [evaluate.texts[int(place)] for place in evaluate(KeyValue(0)).value] == ["b", "b", "b", "a", "a", "a"]


def test_texts_compare_as_texts_also_those_that_only_the_statement_names() -> None:
    domain = Domain((("apple", "cherry"),))
    below = apply("<", KeyValue(0), Given("banana"))
    assert Evaluator(answer_plan(below), domain, [noisy_answer([0.0, 0.0])])(below).value.tolist() == [1, 0]


def test_no_group_is_no_failure() -> None:
    ratio = apply("case", apply("=", KeyValue(0), Given("a")), apply("/", X, Y), apply("greatest", X, Y))
    noisy = [noisy_answer([]), noisy_answer([])]
    assert len(Evaluator(answer_plan(ratio, n_releases=2), Domain(((), (1, 2))), noisy)(ratio)) == 0


def test_an_expression_names_each_of_its_releases_once() -> None:
    assert releases_used(apply("/", apply("-", X, Z), apply("+", Z, KeyValue(0)))) == {0, 2}


def test_what_is_shown_decides() -> None:
    noisy = [noisy_answer([1.4])]
    above = apply(">", X, Given(1))
    evaluate = Evaluator(answer_plan(X), Domain(()), noisy)
    shown = evaluated(Given(1), [[1.4]])
    assert evaluate(above).value.tolist() == [1.0]
    assert evaluate.showing({X: shown})(above).value.tolist() == [0.0]


_LITERALS = st.sampled_from([Given(value) for value in (None, -2, -1, 0, 1, 2, 0.5, 1e308)])
_LEAVES = st.one_of(st.sampled_from([X, Y, Z]), _LITERALS)
_NUMERIC = ("+", "-", "*", "/", "greatest", "least", "coalesce", "nullif")
_COMPARING = ("=", "<>", "<", "<=", ">", ">=")


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Numbers from numbers, with every operator."""
    compared = st.builds(lambda name, *two: Apply(name, two), st.sampled_from(_COMPARING), inner, inner)
    tested = st.builds(lambda one: Apply("is null", (one,)), inner)
    simple = st.one_of(compared, tested)
    condition = st.one_of(
        simple,
        st.builds(lambda one: Apply("not", (one,)), simple),
        st.builds(lambda name, *parts: Apply(name, parts), st.sampled_from(("and", "or")), simple, simple, simple),
    )
    return st.one_of(
        st.builds(lambda name, *two: Apply(name, two), st.sampled_from(_NUMERIC), inner, inner),
        st.builds(lambda name, one: Apply(name, (one,)), st.sampled_from(("negate", "abs")), inner),
        st.builds(lambda one, digits: Apply("round", (one, Given(digits))), inner, st.integers(-2, 3)),
        st.builds(lambda one, a, b: Apply("case", (one, a, b)), condition, inner, inner),
        st.builds(lambda one, a, two, b, c: Apply("case", (one, a, two, b, c)),
                  condition, inner, condition, inner, inner),
    )  # fmt: skip


EXPRESSIONS = st.recursive(_LEAVES, _larger, max_leaves=8)


def boxes(seed: int) -> tuple[Ends, Ends, Ends, Ends]:
    """(low, high, released, other): two points within each of many boxes, often at its corners."""
    random = np.random.default_rng(seed)
    shape = (3, N_GROUPS)
    some = np.where(random.random(shape) < 0.1, random.choice([8e307, 1e-300, 123.456], shape), 1.0)
    first, second = (some * random.integers(-2, 3, shape) for _ in range(2))
    low, high = np.minimum(first, second), np.maximum(first, second)
    points = []
    for _ in range(2):
        part = random.choice([0.0, 0.25, 0.5, 1.0], shape)
        points.append(np.clip((1 - part) * low + part * high, low, high).tolist())
    high[random.random(shape) < 0.1] = np.inf
    return low.tolist(), high.tolist(), points[0], points[1]


@given(EXPRESSIONS, st.integers(0, 2**32))
@settings(max_examples=examples(40, 300))
def test_an_interval_contains_the_expression_at_every_point_of_its_inputs_intervals(
    expression: ReleasedExpression, seed: int
) -> None:
    low, high, released, other = boxes(seed)
    column, there = evaluated(expression, released, low, high), evaluated(expression, other)
    for point in (column, there):
        assert np.all(point.null | ((column.low <= point.value) & (point.value <= column.high)))
        assert np.all(column.may_be_null | ~point.null)
        assert np.all(np.isfinite(point.value))


def test_every_operator_is_evaluated() -> None:
    assert {"round", *OPERATORS} == set(get_args(Operator))
