"""Select list, HAVING, ORDER BY and LIMIT: everything over released values, and what it is charged."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from planner.binding.output_names import output_name
from planner.errors import PlannerError, SensitivityUnbounded, UnsupportedSQL
from planner.released_expression import Apply, Given, KeyValue, ReleasedExpression, ReleasedValue, SortKey
from planner.sql.sql_types import ResultType
from tests.support.planning import planned
from tests.support.refused import assert_refused

FIRST, SECOND, THIRD = ReleasedValue(0), ReleasedValue(1), ReleasedValue(2)
NATIONS = "FROM customer JOIN nation ON c_nationkey = n_nationkey"


def test_expressions_over_released_values() -> None:
    around_centre = Apply("+", (SECOND, Apply("/", (ReleasedValue(2), FIRST))))
    within = Apply("within", (around_centre, Given(0.0), Given(0.08)))
    cases: list[tuple[str, ReleasedExpression, ResultType]] = [
        ("count(*)", FIRST, "int8"),
        ("sum(l_tax)", FIRST, "float8"),
        ("sum(LEAST(GREATEST(l_linenumber, 0), 7))", FIRST, "int8"),
        ("sum(LEAST(GREATEST(l_linenumber, 0), 7)) / count(*)", Apply("/", (FIRST, SECOND)), "float8"),
        ("sum(l_tax) / count(*)", Apply("/", (FIRST, SECOND)), "float8"),
        ("avg(l_tax)", within, "float8"),
        ("avg(l_tax) + sum(l_tax)", Apply("+", (within, ReleasedValue(3))), "float8"),
        (
            "100 * sum(CASE WHEN l_tax > 0.01 THEN l_quantity END) / sum(l_quantity)",
            Apply("/", (Apply("*", (Given(100), FIRST)), SECOND)),
            "float8",
        ),
        ("count(*) / 7", Apply("/", (FIRST, Given(7))), "float8"),  # with its fraction
        ("count(*) + 2", Apply("+", (FIRST, Given(2))), "int8"),
        ("-count(*)", Apply("negate", (FIRST,)), "int8"),
        ("coalesce(sum(l_tax), 0.5)", Apply("coalesce", (FIRST, Given(0.5))), "float8"),
        ("nullif(count(*), 0)", Apply("nullif", (FIRST, Given(0))), "int8"),
        ("round(sum(l_tax), 2)", Apply("round", (FIRST, Given(2))), "float8"),
        ("round(sum(l_tax))", Apply("round", (FIRST, Given(0))), "float8"),
        ("greatest(count(*), 0)", Apply("greatest", (FIRST, Given(0))), "int8"),
        ("sum(l_tax)::numeric(10, 2)", Apply("round", (FIRST, Given(2))), "float8"),
        ("count(*)::float8", FIRST, "float8"),
        ("cast(sum(l_tax) AS bigint)", Apply("round", (FIRST, Given(0))), "int8"),
        (
            "CASE WHEN count(*) > 10 THEN sum(l_tax) ELSE NULL END",
            Apply("case", (Apply(">", (FIRST, Given(10))), SECOND, Given(None))),
            "float8",
        ),
        (
            "count(*) BETWEEN 1 AND 2",
            Apply("and", (Apply(">=", (FIRST, Given(1))), Apply("<=", (FIRST, Given(2))))),
            "bool",
        ),
        ("count(*) FILTER (WHERE l_tax > 0.01) / count(*)", Apply("/", (FIRST, SECOND)), "float8"),
        ("count(*) IS NOT NULL", Apply("not", (Apply("is null", (FIRST,)),)), "bool"),
        (
            "count(*) IS NOT DISTINCT FROM 3",
            Apply(
                "coalesce",
                (
                    Apply("=", (FIRST, Given(3))),
                    Apply("and", (Apply("is null", (FIRST,)), Apply("is null", (Given(3),)))),
                ),
            ),
            "bool",
        ),
    ]
    for item, expression, kind in cases:
        plan = planned(f"SELECT {item} AS x FROM lineitem")
        assert [(output.name, output.type, output.expression) for output in plan.display.outputs] == [
            ("x", kind, expression)
        ]


def test_equal_releases_are_shared_and_the_budget_is_split() -> None:
    plan = planned(
        "SELECT avg(l_tax), sum(l_tax), count(*), count(l_tax), count(*) FILTER (WHERE l_tax > 0), "
        "sum(l_tax) FILTER (WHERE l_tax > 0) FROM lineitem HAVING count(*) > 5 ORDER BY sum(l_tax) DESC",
        epsilon=1.0,
    )
    assert [release.label for release in plan.releases] == [
        "avg(l_tax), how many",
        "avg(l_tax), centre",
        "avg(l_tax)",
        "sum(l_tax)",
        "count(*)",
        "count(*) filter (where l_tax > 0)",
        "sum(l_tax) filter (where l_tax > 0)",
    ]
    assert [release.epsilon for release in plan.releases] == pytest.approx(
        [need / 20 for need in (1, 0.3, 2.7, 4, 4, 4, 4)]
    ), "as much for each number as for the average"


def test_aggregates_of_having_and_order_by_are_releases_too() -> None:
    order = "ORDER BY count(*) FILTER (WHERE c_acctbal > 0) DESC, 1"
    plan = planned(f"SELECT n_name {NATIONS} GROUP BY 1 HAVING count(*) > 100 {order}")
    assert len(plan.releases) == 2
    assert plan.display.having == Apply(">", (FIRST, Given(100)))
    assert plan.display.order == (SortKey(SECOND, True, True), SortKey(KeyValue(0)))


def test_order_by_takes_positions_aliases_and_expressions() -> None:
    """An alias stands alone, as in PostgreSQL; inside an expression a name is a column."""
    for clause, expected in [
        ("2 DESC", SortKey(FIRST, True, True)), ("n", SortKey(FIRST)),
        ("n_name NULLS FIRST", SortKey(KeyValue(0), False, True)), ("-n DESC NULLS LAST", None),
        ("count(*) * 2 DESC NULLS LAST", SortKey(Apply("*", (FIRST, Given(2))), True, False)),
    ]:  # fmt: skip
        sql = f"SELECT n_name, count(*) AS n {NATIONS} GROUP BY n_name ORDER BY {clause}"
        if expected is None:
            with pytest.raises(PlannerError, match="'n'"):
                planned(sql)
        else:
            assert planned(sql).display.order == (expected,)


def test_limit_and_offset_reach_the_plan() -> None:
    for clause, limit, offset in [
        ("LIMIT 3", 3, 0), ("LIMIT 3 OFFSET 2", 3, 2), ("OFFSET 2", None, 2), ("LIMIT ALL", None, 0),
        ("LIMIT NULL OFFSET 1", None, 1), ("FETCH FIRST 4 ROWS ONLY", 4, 0),
        ("OFFSET 2 ROWS FETCH NEXT ROW ONLY", 1, 2), ("LIMIT 0", 0, 0),
    ]:  # fmt: skip
        plan = planned(f"SELECT n_name, count(*) {NATIONS} GROUP BY 1 {clause}")
        assert (plan.display.limit, plan.display.offset) == (limit, offset)


def test_distinct_that_changes_nothing() -> None:
    assert planned(f"SELECT DISTINCT count(*), n_name {NATIONS} GROUP BY n_name")
    assert planned("SELECT DISTINCT count(*) FROM orders")
    with pytest.raises(UnsupportedSQL, match="DISTINCT"):
        planned(f"SELECT DISTINCT count(*) {NATIONS} GROUP BY n_name")


def test_default_names_are_postgresqls() -> None:
    items = "count(*), sum(l_tax), avg(l_tax), sum(l_tax) + 1, round(avg(l_tax), 1), count(*)::float8, "
    items += "CASE WHEN true THEN count(*) END"
    names = [output.name for output in planned(f"SELECT {items} FROM lineitem").display.outputs]
    assert names == ["count", "sum", "avg", "?column?", "round", "count", "case"]
    windows = "rank() OVER (ORDER BY x), row_number() OVER (), sum(x) OVER w, lag(x) IGNORE NULLS OVER (ORDER BY x)"
    parsed = parse_one(f"SELECT {windows}", dialect="postgres")
    assert list(map(output_name, parsed.expressions)) == ["rank", "row_number", "sum", "lag"]


REFUSED = [
    ("sum(l_tax) + 'a'", UnsupportedSQL, "not a number"), ("l_tax + count(*)", UnsupportedSQL, "neither in GROUP BY"),
    ("1 / 2 * count(*)", UnsupportedSQL, "fraction"), ("round(count(*), l_tax)", UnsupportedSQL, "digits"),
    ("CASE WHEN count(*) THEN 1 END", UnsupportedSQL, "condition"),
    ("CASE WHEN count(*) > 1 THEN 'a' ELSE 2 END", UnsupportedSQL, "different types"),
    ("sqrt(count(*))", UnsupportedSQL, "SQRT"), ("count(*)::text", UnsupportedSQL, "cast"),
    ("sum(avg(l_tax))", UnsupportedSQL, "inside an aggregate"),
    ("variance(DISTINCT l_tax)", UnsupportedSQL, "VARIANCE(DISTINCT"),
    ("sum(l_orderkey)", SensitivityUnbounded, "lineitem.l_orderkey"),
    ("count(DISTINCT l_quantity + 1)", UnsupportedSQL, "numeric"),
]  # fmt: skip


def test_a_select_item_that_cannot_be_released_is_refused() -> None:
    for item, error, word in REFUSED:
        assert_refused(planned, f"SELECT {item} FROM lineitem", error, word)


def test_sums_of_distinct_values_are_never_counted_per_unit() -> None:
    """They would be numbers of values, or have the threshold of one."""
    clipped = "greatest(0, least(c_nationkey, 24))"
    plan = planned(f"SELECT sum(DISTINCT {clipped}), count(DISTINCT {clipped}) FROM customer")
    assert [(one.adds_values, one.determined) for one in plan.releases] == [(True, False), (False, True)]


def test_counts_of_distinct_values() -> None:
    plan = planned(
        "SELECT count(DISTINCT o_custkey), count(DISTINCT l_orderkey), count(DISTINCT l_suppkey) "
        "FROM lineitem JOIN orders ON l_orderkey = o_orderkey"
    )
    assert [release.determined for release in plan.releases] == [True, False, False]
    assert [release.weight_bound for release in plan.releases] == [1.0] * 3
    assert all(release.distinct is not None for release in plan.releases)
