"""What an analyst says that nobody adds more than: the one threshold, or a refusal that says what to ask instead."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from planner.binding.bind import bind
from planner.errors import InvalidSetting
from planner.parsing.parse import parse
from planner.plan import Plan, UnitBounds
from planner.planning.make_plan import make_plan
from planner.rewriting.rewrite import rewrite
from privacy.thresholds import one_threshold
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema

ONE = 1 << 30


def plan_of(sql: str, most: float, mechanism: str | None = None, sampling_rate: float | None = None) -> Plan:
    schema, policy = tpch_schema(), demo_policy()
    return make_plan(
        bind(parse(sql), schema, policy),
        schema,
        policy,
        epsilon=1.0,
        delta=None,
        mechanism=mechanism,
        sampling_rate=sampling_rate,
        at_most=most,
    )


def test_a_count_is_released_at_what_was_said() -> None:
    plan = plan_of("SELECT count(*) FROM orders", 30)
    assert (plan.mechanism, plan.bounds.assumed) == ("gem", 30)
    assert plan.adds_at_most(plan.releases[0]) == 30
    assert "requested at_most" in plan.reason
    assert 30 * ONE in rewrite(plan).thresholds


def test_a_sum_is_bounded_in_its_own_unit() -> None:
    plan = plan_of("SELECT sum(l_quantity) FROM lineitem", 120.1)
    (release,) = plan.releases
    assert plan.adds_at_most(release) == Fraction(1201, 10) / Fraction(release.weight_bound)


def test_what_one_row_adds_is_bounded_in_sql() -> None:
    """A bound that was said of another question is refused; of this one it is said where it stands."""
    for bounded in ("sum(least(l_quantity, 20))", "sum(l_quantity) FILTER (WHERE l_quantity <= 20)"):
        with pytest.raises(InvalidSetting, match="one row alone may add up to 50") as refused:
            plan_of("SELECT sum(l_quantity) FROM lineitem", 20)
        assert "sum(least(x, 100))" in (refused.value.hint or "")
        (release,) = plan_of(f"SELECT {bounded} FROM lineitem", 20).releases
        assert release.most == 20


def test_declared_keys_bound_what_is_said_to_be_more() -> None:
    plan = plan_of("SELECT count(*) FROM customer", 30)
    assert plan.bounds.tuples == 1
    assert plan.adds_at_most(plan.releases[0]) == 1


def test_groups_have_one_threshold_each() -> None:
    for mechanism in (None, "gem", "group_lp"):
        join = "orders o JOIN customer c ON o.o_custkey = c.c_custkey JOIN nation n ON c.c_nationkey = n.n_nationkey"
        plan = plan_of(f"SELECT n.n_name, count(*) FROM {join} GROUP BY n.n_name", 12, mechanism)
        assert plan.mechanism == mechanism or plan.mechanism == "group_lp"
        assert plan.adds_at_most(plan.releases[0]) == 12


def test_what_it_cannot_be_said_of_is_refused() -> None:
    for sql, most, settings, told in [
        ("SELECT count(*) FROM orders", 0.0, {}, "above 0"),
        ("SELECT count(*) FROM orders", math.inf, {}, "above 0"),
        ("SELECT count(*) FROM orders", math.nan, {}, "above 0"),
        ("SELECT count(*) FROM orders", 1e10, {}, "at most 4.29497e"),
        ("SELECT avg(l_quantity) FROM lineitem", 5.0, {}, "quotient"),
        ("SELECT median(l_quantity) FROM lineitem", 5.0, {}, "quantile"),
        ("SELECT max(l_quantity) FROM lineitem", 5.0, {}, "quantile"),
        ("SELECT count(*) FROM orders", 0.5, {}, "one row alone may add up to 1"),
        ("SELECT count(*), sum(l_quantity) FROM lineitem", 60.0, {}, "a count and a sum"),
        ("SELECT count(*) FROM orders", 5.0, {"sampling_rate": 0.5}, "sample"),
        ("SELECT count(*) FROM orders", 5.0, {"mechanism": "r2t"}, "chooses its clipping threshold itself"),
    ]:  # fmt: skip
        with pytest.raises(InvalidSetting, match=told):
            plan_of(sql, most, **settings)  # type: ignore[arg-type]


def test_the_most_that_may_be_said_is_the_largest_threshold() -> None:
    """As written it may be a little more than the product of the two doubles."""
    for bound in (0.3, 105_000.0, 0.1, 12_345.678):
        plan = plan_of("SELECT count(*) FROM orders", 30)
        release = replace(plan.releases[0], weight_bound=bound)
        one = replace(plan, bounds=UnitBounds(assumed=bound * 2.0**32), releases=(release,))
        most = one.adds_at_most(release)
        assert most is not None and 2**32 - 1 < most <= 2**32
        assert int(one_threshold(most).units[0]) <= 2**62
