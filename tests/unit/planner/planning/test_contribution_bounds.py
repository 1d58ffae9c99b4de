"""What the policy says that one person adds: which releases it bounds, and what EXPLAIN says where it bounds none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import ContributionBound, Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy
from tests.support.planning import demo_policy
from tests.support.tpch_schema import tpch_schema
from tests.unit.planner.reuse.test_time_keys import clinic

Said = Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]

AT_MOST = {"rows": 400.0, "l_quantity": 3000.0}
CLIP = {"rows": 40.0, "l_quantity": 900.0}
BOTH: Said = {"lineitem": (CLIP, AT_MOST)}
PROMISED: Said = {"lineitem": ({}, AT_MOST)}

LINES = "lineitem l JOIN orders o ON l.l_orderkey = o.o_orderkey JOIN customer c ON o.o_custkey = c.c_custkey"
NATIONS = f"{LINES} JOIN nation n ON c.c_nationkey = n.n_nationkey"


def with_bounds(said: Said, policy: Policy | None = None) -> Policy:
    """The demonstration's policy, with `clip` and `at_most` of tables."""
    policy = policy or demo_policy()
    tables = {name: replace(policy.tables[name], clip=clip, at_most=most) for name, (clip, most) in said.items()}
    return replace(policy, tables={**policy.tables, **tables})


def plan_of(sql: str, said: Said = BOTH, **settings: object) -> Plan:
    schema, policy = tpch_schema(), with_bounds(said)
    wanted: dict[str, object] = {"epsilon": 1.0, "delta": None, "mechanism": None, **settings}
    return make_plan(bind(parse(sql), schema, policy), schema, policy, **wanted)  # type: ignore[arg-type]


def bounds(plan: Plan) -> list[tuple[float | None, float | None, bool] | None]:
    each = (release.bound for release in plan.releases)
    return [None if one is None else (one.clip, one.at_most, one.counted) for one in each]


@pytest.mark.parametrize(
    ("aggregate", "clip", "at_most"),
    [
        ("count(*)", 40, 400),
        ("count(*) FILTER (WHERE l_quantity > 3)", 40, 400),
        ("sum(l_quantity)", 900, 3000),
        ("sum(CASE WHEN l_returnflag = 'R' THEN l_quantity END)", 900, 3000),
        ("sum(l_quantity) FILTER (WHERE l_returnflag = 'R')", 900, 3000),
        ("sum(CASE WHEN l_returnflag = 'R' THEN l_quantity ELSE 0 END)", 900, 3000),
        ("sum(l_quantity * 2)", 40 * 100, 400 * 100),
        ("sum(CASE WHEN l_returnflag = 'R' THEN l_quantity ELSE 1 END)", 40 * 50, 400 * 50),
    ],
)
def test_a_release_has_the_bound_of_what_it_adds_up(aggregate: str, clip: float, at_most: float) -> None:
    """Of a column its own, or what the rows can have of it; of anything else the rows times the most of one."""
    for source in ("lineitem", LINES, "lineitem LEFT JOIN part ON l_partkey = p_partkey"):
        plan = plan_of(f"SELECT {aggregate} FROM {source}")
        assert plan.mechanism == "l1_clip"
        assert bounds(plan) == [(clip, at_most, True)], source
        assert len(plan.thresholds(plan.releases[0])) == 1


def test_the_smaller_of_two_promises_holds() -> None:
    assert bounds(
        plan_of("SELECT sum(l_quantity) FROM lineitem", {"lineitem": ({}, {"rows": 4, "l_quantity": 3000})})
    ) == [(None, 200, False)]
    plan = plan_of("SELECT sum(l_quantity) FROM lineitem", {"lineitem": ({"l_quantity": 900}, {"rows": 4})})
    assert bounds(plan) == [(None, 200, False)], "nobody exceeds the promise, so nobody exceeds the clip"


def test_a_promise_alone_is_the_threshold_and_nothing_is_counted() -> None:
    plan = plan_of("SELECT count(*) FROM lineitem", PROMISED)
    assert bounds(plan) == [(None, 400, False)]
    assert plan.named_threshold(plan.releases[0]) == 400
    assert (
        plan_of("SELECT count(*) FROM lineitem").named_threshold(plan_of("SELECT count(*) FROM lineitem").releases[0])
        == 40
    )


def test_groups_are_bounded_together() -> None:
    plan = plan_of(f"SELECT n.n_name, count(*), sum(l.l_quantity) FROM {NATIONS} GROUP BY n.n_name")
    assert (plan.mechanism, plan.delta) == ("l1_clip", 0.0)
    assert bounds(plan) == [(40, 400, True), (900, 3000, True)]
    assert "contribution to all groups: no threshold is selected" in plan.reason


CLIPPED: Said = {"lineitem": (CLIP, {})}


@pytest.mark.parametrize(
    ("sql", "chosen"),
    [
        (f"SELECT count(*) FROM {LINES}", False),
        ("SELECT sum(l_quantity) FROM lineitem", False),
        ("SELECT count(*) FROM lineitem LEFT JOIN part ON l_partkey = p_partkey", False),
        ("SELECT count(*) FROM lineitem WHERE l_quantity > 3", True),
        (f"SELECT count(*) FROM {LINES} WHERE c.c_mktsegment = 'BUILDING'", True),
        ("SELECT count(*) FILTER (WHERE l_quantity > 3) FROM lineitem", True),
        ("SELECT sum(CASE WHEN l_returnflag = 'R' THEN l_quantity END) FROM lineitem", True),
        ("SELECT count(*) FROM lineitem WHERE EXISTS (SELECT 1 FROM part WHERE p_partkey = l_partkey)", True),
        (f"SELECT n.n_name, count(*) FROM {NATIONS} GROUP BY n.n_name", True),
    ],
)
def test_a_clip_alone_is_the_threshold_of_the_whole_table_only(sql: str, chosen: bool) -> None:
    plan = plan_of(sql, CLIPPED)
    (release,) = plan.releases
    assert plan.mechanism == "l1_clip"
    assert release.bound is not None
    assert (release.bound.chosen, release.bound.counted) == (chosen, not chosen)
    thresholds = plan.thresholds(release)
    assert float(thresholds.taus[-1]) * release.weight_bound == pytest.approx(release.bound.clip)
    assert (len(thresholds) > 1) == chosen
    assert plan.is_capped(release) == chosen


def test_gaussian_noise_serves_many_groups_up_to_the_clip() -> None:
    """No L2 norm exceeds the L1 norm, so the clip bounds both."""
    schema, policy = tpch_schema(), replace(with_bounds(CLIPPED), delta=1e-6)
    years = "o.o_orderdate >= DATE '1995-01-01' AND o.o_orderdate < DATE '1997-01-01'"
    sql = f"SELECT extract(year FROM o.o_orderdate), count(*) FROM {LINES} WHERE {years} GROUP BY 1"
    bound = bind(parse(sql), schema, policy)
    plan = make_plan(bound, schema, policy, epsilon=0.5, delta=None, mechanism=None)
    assert plan.mechanism == "l2_clip"
    assert float(plan.thresholds(plan.releases[0]).taus[-1]) == 40


def test_what_has_no_bound_chooses_beside_what_has_one() -> None:
    plan = plan_of("SELECT count(*), sum(l_quantity) FROM lineitem", {"lineitem": ({}, {"l_quantity": 3000})})
    assert bounds(plan) == [None, (None, 3000, False)]
    assert len(plan.thresholds(plan.releases[0])) > 1


def test_of_an_average_the_count_is_bounded_and_what_it_leaves_no_larger() -> None:
    plan = plan_of("SELECT avg(l_quantity) FROM lineitem")
    assert plan.mechanism == "joint_scale"
    assert [one for one in bounds(plan) if one is not None] == [(40, 400, False)], "nobody is counted"
    before = plan_of("SELECT avg(l_quantity) FROM lineitem", {})
    for now, then in zip(plan.releases, before.releases, strict=True):
        assert now.epsilon == then.epsilon
        if now.around is not None:
            assert plan.thresholds(now).high == 6 < before.thresholds(then).high, (
                "64 rows are the first power of 2 above 40"
            )


def test_people_and_ranks_are_untouched() -> None:
    for sql in ("SELECT count(DISTINCT o_custkey) FROM orders", "SELECT median(l_quantity) FROM lineitem"):
        said = plan_of(sql, {"orders": ({"rows": 4}, {"rows": 40}), **BOTH})
        plain = plan_of(sql, {})
        assert (said.mechanism, said.releases) == (plain.mechanism, plain.releases)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey", "in several joined rows"),
        ("SELECT count(*) FROM orders LEFT JOIN lineitem ON l_orderkey = o_orderkey", "in several joined rows"),
        (
            f"SELECT count(*) FROM {LINES} JOIN supplier s ON l.l_suppkey = s.s_suppkey",
            "rows of this question have several owners",
        ),
    ],
)
def test_where_they_mean_nothing_explain_says_so(sql: str, why: str) -> None:
    plan = plan_of(sql)
    assert bounds(plan) == [None]
    assert "The policy's clip and at_most of lineitem do not apply: " in plan.reason
    assert why in plan.reason
    without = plan_of(sql, {})
    assert (plan.mechanism, plan.releases, plan.epsilon) == (without.mechanism, without.releases, without.epsilon)


def test_samples_and_other_mechanisms_choose_for_themselves() -> None:
    sampled = plan_of("SELECT count(*) FROM lineitem", sampling_rate=0.5)
    assert bounds(sampled) == [None]
    assert "this answer comes from a sample" in sampled.reason
    asked = plan_of("SELECT count(*) FROM lineitem", mechanism="gem")
    assert bounds(asked) == [None]
    assert "gem chooses its clipping threshold itself" in asked.reason
    assert bounds(plan_of("SELECT count(*) FROM lineitem", mechanism="l1_clip")) == [(40, 400, True)]


def test_what_the_request_says_wins() -> None:
    plan = plan_of("SELECT count(*) FROM lineitem", at_most=60.0)
    assert plan.mechanism == "gem"
    assert plan.named_threshold(plan.releases[0]) == 60
    assert bounds(plan) == [None]


def test_declared_fan_outs_that_say_less_are_believed() -> None:
    """A customer has one row: nobody exceeds a clip of 4."""
    plan = plan_of("SELECT count(*) FROM customer", {"customer": ({"rows": 4}, {})})
    assert plan.releases[0].bound == ContributionBound(None, 1.0)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("admitted_at >= '2024-01-31' AND admitted_at < '2024-03-01'", 12),
        ("admitted_at BETWEEN '2024-01-31' AND '2024-02-01'", 4),
        ("admitted_at >= '2024-01-01' AND admitted_at < '2025-01-01'", 50),
        ("admitted_at >= '2024-01-01'", 50),
        ("ward = 'A'", 50),
        ("(admitted_at < '2024-01-31' OR admitted_at > '2024-03-01')", 50),
    ],
)
def test_rows_of_a_month_are_counted_where_conditions_bound_the_time(condition: str, rows: int) -> None:
    """Six in a month: 12 in January and February; two in a day: four in two days; 50 in all."""
    schema, policy = clinic("date")
    said = replace(policy.tables["visit"], at_most={"rows": 50.0, "rows_per_month": 6.0, "rows_per_day": 2.0})
    policy = replace(policy, tables={**policy.tables, "visit": said})
    bound = bind(parse(f"SELECT count(*) FROM visit WHERE {condition}"), schema, policy)
    plan = make_plan(bound, schema, policy, epsilon=1.0, delta=None, mechanism=None)
    assert bounds(plan) == [(None, rows, False)]


def test_a_bound_beyond_every_threshold_is_none() -> None:
    assert bounds(plan_of("SELECT count(*) FROM lineitem", {"lineitem": ({}, {"rows": 1e12})})) == [None]


def test_the_price_is_what_it_was() -> None:
    for sql in (
        "SELECT count(*) FROM lineitem",
        "SELECT count(*), sum(l_quantity), avg(l_quantity) FROM lineitem",
        f"SELECT n.n_name, count(*) FROM {NATIONS} GROUP BY n.n_name",
    ):
        said, plain = plan_of(sql), plan_of(sql, {})
        assert (said.epsilon, said.delta) == (1.0, 0.0)
        assert [one.epsilon for one in said.releases] == [one.epsilon for one in plain.releases]
