"""Per-person tables in the demonstration's catalog: what they are, what bounds them, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from planner.errors import PlannerError, SensitivityUnbounded, UnsupportedSQL
from planner.examine_views import ShownView, examined_views
from planner.parsing.parse import read
from planner.policy.policy import ColumnPolicy, DeclaredForeignKey, Policy
from planner.postprocessing.decompose import decompose
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, Table, View
from tests.support.planning import demo_policy, planned
from tests.support.tpch_schema import tpch_schema

PER_CUSTOMER = "(SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey) AS p"
PER_ORDER = "(SELECT l_orderkey, count(*) AS n FROM lineitem GROUP BY l_orderkey) AS p"


def fanned_out(fanout: int) -> Policy:
    """The demonstration's policy, with so many orders of a customer at most."""
    key = DeclaredForeignKey("orders", ("o_custkey",), "customer", ("c_custkey",), fanout=fanout)
    policy = demo_policy()
    return replace(policy, foreign_keys=(*policy.foreign_keys, key))


def test_each_person_has_one_row() -> None:
    plan = planned(f"SELECT avg(n) FROM {PER_CUSTOMER}")
    assert [owner.relation for owner in plan.owners] == ["customer"]
    assert (plan.bounds.tuples, plan.bounds.groups) == (1, 1)
    assert plan.fingerprint == tpch_schema().fingerprint
    assert plan.policy_hash == demo_policy().hash


def test_a_row_of_a_persons_leads_to_that_person() -> None:
    plan = planned(f"SELECT avg(n) FROM {PER_ORDER}")
    assert [owner.relation for owner in plan.owners] == ["customer"]
    assert plan.bounds.tuples is None
    join = rewrite(plan).join
    assert join is not None and 'LEFT JOIN "public"."orders"' in join


def test_a_person_is_in_one_group_of_a_histogram() -> None:
    plan = planned(f"SELECT least(n, 20) AS n, count(*) FROM {PER_CUSTOMER} GROUP BY 1")
    assert plan.bounds.groups == 1
    by_nation = f"SELECT n_name, avg(n) FROM {PER_CUSTOMER} JOIN customer ON c_custkey = o_custkey"
    by_nation += " JOIN nation ON n_nationkey = c_nationkey GROUP BY n_name"
    assert planned(by_nation).bounds.groups == 1


def test_a_declared_fanout_bounds_a_count() -> None:
    sql = f"SELECT n, count(*) FROM {PER_CUSTOMER} GROUP BY n"
    with pytest.raises(
        SensitivityUnbounded, match=r"count\(\*\) of subquery p are not public.* needs a delta"
    ) as refused:
        planned(sql)
    assert "LEAST(n, 20)" in (refused.value.hint or "")
    assert refused.value.position == sql.index("GROUP BY n") + len("GROUP BY n")
    (domain,) = planned(sql, policy=fanned_out(40)).domains
    assert domain.values == tuple(range(1, 41))


def test_what_others_could_change_is_refused_with_its_place() -> None:
    for sql, words, near in [
        ("SELECT avg(n) FROM (SELECT ps_suppkey, count(*) AS n FROM partsupp JOIN orders ON o_orderkey = ps_availqty"
         " GROUP BY ps_suppkey) p", "belong to customer and supplier", "SELECT ps_suppkey"),
        ("SELECT avg(n) FROM (SELECT o_clerk, count(*) AS n FROM orders GROUP BY o_clerk) p",
         "GROUP BY inside FROM is not supported", "GROUP BY"),
        ("SELECT avg(n) FROM (SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey LIMIT 5) p",
         "LIMIT inside FROM", "LIMIT"),
        ("SELECT avg(n) FROM (SELECT o_custkey, o_clerk AS n FROM orders GROUP BY o_custkey) p",
         "'o_clerk' is neither in GROUP BY nor inside an aggregate", "o_clerk"),
        ("SELECT avg(n) FROM (SELECT o_custkey, sum(o_shippriority) AS n FROM orders GROUP BY o_custkey) p",
         "no range is declared for orders.o_shippriority", "o_shippriority"),
        ("SELECT avg(n) FROM (SELECT o_custkey, min(o_clerk) AS n FROM orders GROUP BY o_custkey) p",
         "MIN of char is not supported", "min"),
        ("SELECT avg(n) FROM (SELECT o_custkey, count(*) AS n FROM orders TABLESAMPLE BERNOULLI (5) GROUP BY 1) p",
         "TABLESAMPLE inside a subquery of one person's rows", "orders"),
        ("SELECT count(*) FROM customer WHERE c_nationkey IN (SELECT c_nationkey FROM customer GROUP BY 1"
         " HAVING count(*) > 3)", "HAVING inside IN is not supported", "HAVING"),
        (f"SELECT count(*) FROM customer LEFT JOIN {PER_CUSTOMER} ON n = c_nationkey",
         "one person's row would replace another row", "LEFT"),
    ]:  # fmt: skip
        with pytest.raises(PlannerError, match=re.escape(words)) as refused:
            planned(sql)
        assert refused.value.position == sql.index(near) + 1


TRIANGLES = (
    "(SELECT a.src, count(*) AS n FROM knows a JOIN knows b ON a.dst = b.src "
    "JOIN knows c ON a.src = c.src AND b.dst = c.dst GROUP BY a.src) t"
)


def test_triangles_per_person_are_refused_as_others_change_them() -> None:
    """Refused, and rightly: in a wheel the hub is in every triangle. Without it nobody has one, so that every row of
    the table changes, and each of its quantiles from 1 to nothing, however many people there are."""
    for asked in ("percentile_cont(0.9) WITHIN GROUP (ORDER BY n)", "avg(n)", "max(n)"):
        with pytest.raises(PlannerError, match="belong to customer twice, so one unit could change another's row"):
            planned(f"SELECT {asked} FROM {TRIANGLES}")


def test_aggregates_outside_of_it_keep_their_rules() -> None:
    for sql in (f"SELECT variance(DISTINCT n) FROM {PER_CUSTOMER}", "SELECT variance(DISTINCT l_tax) FROM lineitem"):
        with pytest.raises(UnsupportedSQL, match="DISTINCT"):
            planned(sql)


def test_sums_are_exact() -> None:
    """Whole numbers are added, whose sum is the same in every order."""
    join = rewrite(planned("SELECT avg(s) FROM (SELECT l_orderkey, sum(l_tax) AS s FROM lineitem GROUP BY 1) p")).join
    assert join is not None
    assert "SUM(CAST(FLOOR(" in join


def test_lists_of_the_same_values_are_one_question() -> None:
    one, other = (
        rewrite(planned(f"SELECT count(*) FROM orders WHERE o_orderstatus IN ({listed})")).join
        for listed in ("'F', 'O', 'F'", "'O', 'F'")
    )
    assert one == other


def test_a_view_of_persons_is_asked_like_a_table() -> None:
    shown = Table("per_customer", "public", (Column("c", "bigint", nullable=True),), (), ())
    text = "SELECT orders.o_custkey AS c FROM public.orders GROUP BY orders.o_custkey HAVING count(*) > 1"
    schema = replace(tpch_schema(), views={"per_customer": View(shown, "view", text, ("orders",))})
    (view,) = examined_views(schema, demo_policy())
    assert isinstance(view, ShownView)
    assert not view.answers


def test_groups_of_persons_are_named_without_a_number() -> None:
    plan = planned(f"SELECT DISTINCT n FROM {PER_CUSTOMER} WHERE n < 4")
    assert not plan.releases
    assert plan.policy_hash == demo_policy().hash


def test_the_key_of_a_row_may_be_grouped_by_again() -> None:
    inner = "SELECT l_orderkey, l_suppkey, count(*) AS n FROM lineitem GROUP BY 1, 2"
    plan = planned(
        f"SELECT avg(most) FROM (SELECT l_orderkey, max(n) AS most FROM ({inner}) q GROUP BY l_orderkey) p"
    )
    assert [owner.relation for owner in plan.owners] == ["customer"]


def test_a_star_beside_group_by_is_refused() -> None:
    with pytest.raises(UnsupportedSQL, match=r"\* beside GROUP BY"):
        planned("SELECT count(*) FROM (SELECT *, count(*) AS n FROM orders GROUP BY o_custkey) p")


def test_what_is_asked_of_persons_may_be_wrapped_again() -> None:
    histogram = f"SELECT n, count(*) AS c FROM {PER_CUSTOMER} WHERE n < 4 GROUP BY n"
    unwrapped = planned(histogram)
    for sql in (f"SELECT * FROM ({histogram}) h", f"WITH h AS ({histogram}) SELECT n, c FROM h WHERE c > 3"):
        wrapped = planned(sql)
        assert (wrapped.releases, wrapped.bounds.groups) == (unwrapped.releases, 1)
    few = f"SELECT q.o_custkey, q.n FROM (SELECT * FROM {PER_CUSTOMER}) AS q WHERE q.n > 1"
    assert planned(f"SELECT count(*) FROM ({few}) r").bounds.groups == 1


def test_whole_numbers_that_fit_no_bigint_are_not_cast_to_one() -> None:
    """A cast that fails for one person's row would tell of it."""
    policy = demo_policy()
    wide = {"o_custkey": ColumnPolicy(range=(0, 1e18)), "o_shippriority": ColumnPolicy(range=(0, 2e9))}
    policy = replace(policy, tables={**policy.tables, "orders": replace(policy.tables["orders"], columns=wide)})
    for value, cast in (("o_shippriority", True), ("o_custkey * o_custkey", False)):
        sql = f"SELECT avg(s) FROM (SELECT o_custkey, sum({value}) AS s FROM orders GROUP BY o_custkey) p"
        join = rewrite(planned(sql, policy=policy)).join
        assert join is not None
        assert ("SUM(CAST(FLOOR(" not in join) is cast


def test_long_conditions_are_read_beside_names_of_with() -> None:
    chain = " OR ".join(f"o_orderkey = {number}" for number in range(900))
    text = f"WITH t AS (SELECT * FROM orders WHERE {chain}) SELECT count(*), rank() OVER () FROM t"
    split = decompose(read(text).tree, tpch_schema(), demo_policy())
    assert split is not None
    assert len(split.parts) == 1
