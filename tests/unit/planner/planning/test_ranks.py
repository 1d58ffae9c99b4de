"""Quantiles and extremes: what is planned, what is refused, and what is said."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from planner.errors import InvalidSetting, SensitivityUnbounded, UnsupportedSQL
from planner.plan import Ranked
from planner.policy.policy import ColumnPolicy
from planner.sql.rank_grid import AskedRank
from tests.support.planning import demo_policy, planned
from tests.support.tpch_schema import tpch_schema

PER_CUSTOMER = "(SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey) t"


def ranked(sql: str) -> list[Ranked]:
    return [release.ranked for release in planned(sql).releases if release.ranked is not None]


def test_a_median_is_a_quantile_and_descending_ones_count_from_above() -> None:
    (median,) = ranked("SELECT median(l_quantity) FROM lineitem")
    assert median.rank == AskedRank(0.5)
    (tenth,) = ranked("SELECT percentile_disc(0.1) WITHIN GROUP (ORDER BY l_quantity DESC) FROM lineitem")
    assert tenth.rank.quantile == pytest.approx(0.9)


def test_several_of_one_column_are_read_once() -> None:
    plan = planned("SELECT median(l_quantity), max(l_quantity), min(l_quantity) FROM lineitem")
    assert len({release.ranked.place for release in plan.releases if release.ranked is not None}) == 1
    assert plan.mechanism == "rank"


def test_an_extreme_says_how_many_people_lie_beyond() -> None:
    plan = planned("SELECT max(l_quantity), min(l_quantity, 20) FROM lineitem", epsilon=1.0)
    highest, lowest = (release.ranked for release in plan.releases)
    assert highest is not None and lowest is not None and highest.rank.beyond is not None
    assert lowest.rank.beyond == 20
    assert any(f"about {highest.rank.beyond} privacy units have values above" in note for note in plan.notes)
    assert any("about 20 privacy units have values below" in note for note in plan.notes)
    dearer = planned("SELECT max(l_quantity) FROM lineitem", epsilon=2.0).releases[0].ranked
    assert dearer is not None and dearer.rank.beyond is not None
    assert dearer.rank.beyond < highest.rank.beyond


def test_rows_of_several_owners_have_ranks_and_extremes_in_those_who_own_all() -> None:
    plan = planned(
        "SELECT median(l_quantity), max(l_quantity, 20) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey"
    )
    assert len(plan.owners) == 2 and plan.mechanism == "rank"
    assert any(
        "about 20 privacy units, or up to 2 times as many, own all rows above it" in note for note in plan.notes
    )


def test_an_extreme_of_several_groups_needs_more_people_beyond() -> None:
    def beyond(sql: str) -> int:
        (one,) = ranked(sql)
        assert one.rank.beyond is not None
        return one.rank.beyond

    alone = beyond("SELECT max(l_quantity) FROM lineitem")
    flags = "WHERE l_returnflag IN ('A', 'N', 'R') GROUP BY l_returnflag"
    assert beyond(f"SELECT max(l_quantity) FROM lineitem {flags}") == pytest.approx(2 * alone, abs=1)
    supplied = "FROM lineitem JOIN supplier ON l_suppkey = s_suppkey"
    assert beyond(f"SELECT max(l_quantity) {supplied}") == alone
    assert beyond(f"SELECT max(l_quantity) {supplied} {flags}") == pytest.approx(10 * alone, abs=10)


def test_they_stand_beside_sums() -> None:
    plan = planned("SELECT count(*), avg(l_quantity), median(l_quantity) FROM lineitem")
    assert plan.mechanism == "joint_scale"
    assert [release.is_sum for release in plan.releases] == [True, True, True, True, False]


def test_numbers_per_person_have_ranks() -> None:
    (one,) = ranked(f"SELECT median(n) FROM {PER_CUSTOMER}")
    assert (one.grid.low, one.grid.step, one.grid.type) == (1.0, 1.0, "float8")


def test_a_rank_that_has_no_proof_or_no_grid_is_refused() -> None:
    for sql, words in [
        ("SELECT median(l_quantity) FROM lineitem TABLESAMPLE BERNOULLI (10)", "of a sample"),
        ("SELECT median(l_shipdate) FROM lineitem", "declared range"),
        ("SELECT median(l_returnflag) FROM lineitem", "median of char"),
        ("SELECT percentile_cont(0.5) FROM lineitem", "this form of percentile_cont"),
        ("SELECT max(l_quantity, -1) FROM lineitem", "this form of MAX"),
        ("SELECT max(sum(l_quantity)) FROM lineitem", "an aggregate inside an aggregate"),
    ]:  # fmt: skip
        with pytest.raises(UnsupportedSQL, match=words):
            planned(sql)


def test_a_mechanism_for_sums_leaves_ranks_the_same_question() -> None:
    sql = "SELECT median(l_quantity) FROM lineitem"
    assert planned(sql, mechanism="gem") == planned(sql)
    with pytest.raises(InvalidSetting):
        planned(sql, mechanism="GEM")


def test_a_range_that_only_a_type_bounds_has_a_grid_by_size() -> None:
    """A text may have 2^30 letters. In even steps of 1,000 the median length of short names would be zero."""
    schema = tpch_schema()
    customer = schema.tables["customer"]
    columns = tuple(replace(one, type="text") if one.name == "c_name" else one for one in customer.columns)
    texts = replace(schema, tables={**schema.tables, "customer": replace(customer, columns=columns)})
    (release,) = planned("SELECT median(length(c_name)) FROM customer", texts).releases
    assert release.ranked is not None and release.ranked.grid.zero == 0
    with pytest.raises(SensitivityUnbounded, match="an extreme of values with no known range"):
        planned("SELECT max(length(c_name)) FROM customer", texts)
    policy = demo_policy()
    orders = replace(policy.tables["orders"], columns={"o_totalprice": ColumnPolicy(range=(9e15, 1e16))})
    wide = replace(policy, tables={**policy.tables, "orders": orders})
    (release,) = planned("SELECT max(o_totalprice) FROM orders", policy=wide).releases
    assert release.ranked is not None and release.ranked.grid.ends == (9e15, 1e16), "wide, and declared"
    (release,) = planned("SELECT median(least(length(c_name), 50)) FROM customer", texts).releases
    assert release.ranked is not None
    assert (release.ranked.grid.step, release.ranked.grid.n_codes, release.ranked.grid.zero) == (1.0, 51, None)


def test_declared_days_are_a_known_range() -> None:
    demo = demo_policy()
    line = demo.tables["lineitem"]
    span = {name: replace(line.columns.get(name, ColumnPolicy()), dates=(date(1992, 1, 1), date(1998, 12, 31)))
            for name in ("l_shipdate", "l_commitdate")}  # fmt: skip
    dated = demo.beside({"lineitem": replace(line, columns={**line.columns, **span})})
    sql = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY (l_commitdate - l_shipdate) / 7.25) FROM lineitem"
    (release,) = planned(sql, policy=dated).releases
    assert release.ranked is not None and release.ranked.grid.zero is None
    assert release.ranked.grid.step == pytest.approx(0.001)
    (release,) = planned(sql).releases
    assert release.ranked is not None and release.ranked.grid.zero is not None, "of years 1 to 9999"
