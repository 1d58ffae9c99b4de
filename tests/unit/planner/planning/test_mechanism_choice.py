"""Which mechanism the plan picks, from public quantities, and which it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import InvalidSetting
from planner.limits import MIN_DELTA
from planner.plan import Release, UnitBounds
from planner.planning.mechanism_choice import MOST_BOUND, Circumstances, choose_mechanism, granted_delta
from planner.rewriting.guard_weight import whole_weight
from privacy.registry import MECHANISMS, OFFERED, KeyMechanism
from tests.support.planning import bound, demo_policy, planned


def counts(number: int) -> tuple[Release, ...]:
    """So many counts, which share an epsilon of 4."""
    return tuple(Release(f"count {i}", whole_weight(), 1.0, 4.0 / number, whole=True) for i in range(number))


GROUPED = bound("SELECT count(*) FROM lineitem GROUP BY l_returnflag")
MANY = Circumstances(
    question=GROUPED,
    releases=counts(1),
    owners=1,
    bounds=UnitBounds(),
    sampled=False,
    delta=1e-7,
)

ALL = replace(MANY, question=replace(GROUPED, keys=()))
"""One count of everybody."""


def test_the_default_mechanism_follows_from_public_quantities() -> None:
    for known, mechanism, approximate in [
        (MANY, "l2_clip", True), (replace(MANY, owners=2), "group_lp", True),
        (replace(MANY, n_groups=6), "l1_clip", False), (replace(MANY, n_groups=60), "l2_clip", True),
        (replace(MANY, owners=2, n_groups=6), "group_lp", False),
        (replace(MANY, bounds=UnitBounds(50), n_groups=6), "l1_clip", False),
        (replace(MANY, sampled=True), "group_lp", True), (replace(MANY, delta=0.0), "l1_clip", False),
        (replace(MANY, delta=0.0, sampled=True), "group_lp", False),
        (replace(MANY, owners=3, delta=0.0), "group_lp", False),
        (replace(MANY, bounds=UnitBounds(1)), "group_lp", False),
        (replace(MANY, bounds=UnitBounds(2)), "l1_clip", False),
        (replace(MANY, bounds=UnitBounds(2), releases=counts(20)), "l2_clip", True),
        (replace(MANY, bounds=UnitBounds(10), owners=2), "group_lp", False),
        (replace(MANY, bounds=UnitBounds(50), owners=2), "group_lp", True),
        (replace(MANY, bounds=UnitBounds(10), owners=2, delta=1e-3), "group_lp", True), (ALL, "gem", False),
        (replace(ALL, bounds=UnitBounds(tuples=200)), "bound_first", False),
        (replace(ALL, bounds=UnitBounds(tuples=200), owners=2), "bound_first", False),
        (replace(ALL, bounds=UnitBounds(tuples=200), sampled=True), "gem", False),
        (replace(ALL, bounds=UnitBounds(tuples=1)), "gem", False),
        (replace(ALL, bounds=UnitBounds(tuples=MOST_BOUND + 1)), "gem", False),
        (replace(MANY, bounds=UnitBounds(tuples=200)), "l2_clip", True), (replace(MANY, releases=()), "gem", False),
    ]:  # fmt: skip
        choice = choose_mechanism(None, demo_policy(), known)
        assert (choice.mechanism, choice.approximate) == (mechanism, approximate)
        assert choice.why.startswith("the default")


def test_over_time_a_total_is_bounded_as_elsewhere() -> None:
    years = "o_orderdate >= DATE '1995-01-01' AND o_orderdate < DATE '1997-01-01'"
    for key in ("extract(year from o_orderdate)", "to_char(o_orderdate, 'YYYY-MM')"):
        sql = f"SELECT {key}, count(*) FROM orders WHERE {years} GROUP BY 1"
        assert planned(sql, policy=replace(demo_policy(), delta=0.0)).mechanism == "l1_clip"
        assert planned(sql, policy=replace(demo_policy(), delta=1e-6)).mechanism == "l2_clip"


def test_every_offered_mechanism_is_chosen_by_its_name() -> None:
    policy = replace(demo_policy(), global_sensitivity=8.0)
    known = replace(MANY, bounds=UnitBounds(tuples=10))
    one_row = replace(known, bounds=UnitBounds(tuples=1))
    by_key = {name for name in OFFERED if isinstance(MECHANISMS[name], KeyMechanism)}
    chosen = [choose_mechanism(name, policy, one_row if name in by_key else known) for name in OFFERED]
    assert [choice.mechanism for choice in chosen] == list(OFFERED)
    assert {choice.mechanism for choice in chosen if choice.approximate} == {
        "group_lp",
        "l2_clip",
        "pmsja",
        "s4s_vector",
    }
    assert {choice.why for choice in chosen} == {"as asked"}


def test_group_lp_is_pure_where_that_is_enough() -> None:
    assert not choose_mechanism("group_lp", demo_policy(), replace(MANY, delta=0.0)).approximate
    assert not choose_mechanism("group_lp", demo_policy(), replace(MANY, bounds=UnitBounds(1))).approximate
    assert not choose_mechanism("group_lp", demo_policy(), replace(MANY, bounds=UnitBounds(10))).approximate
    assert choose_mechanism("group_lp", demo_policy(), replace(MANY, bounds=UnitBounds(50))).approximate


def test_counts_of_distinct_values_spend_no_delta() -> None:
    (count,) = counts(1)
    distinct = (replace(count, distinct=whole_weight()),)
    assert choose_mechanism("pmsja", demo_policy(), MANY).approximate
    assert not choose_mechanism("pmsja", demo_policy(), replace(MANY, releases=distinct)).approximate


def test_a_mechanism_whose_need_is_not_met_is_refused() -> None:
    for name, known, message in [
        ("l2_clip", replace(MANY, delta=0.0), "needs a delta"), ("pmsja", replace(MANY, delta=0.0), "needs a delta"),
        ("s4s_vector", replace(MANY, delta=0.0), "needs a delta"), ("l1_clip", replace(MANY, owners=2), "one owner"),
        ("l2_clip", replace(MANY, owners=2), "one owner"), ("r2t", MANY, "global_sensitivity"),
        ("s4s", MANY, "joined rows of one unit"), ("pmsja_as_published", MANY, "must be one of"),
        ("s4s_vector_as_published", MANY, "must be one of"), ("laplace", MANY, "must be one of"),
        ("lpa", MANY, "once per group"), ("gs", replace(MANY, bounds=UnitBounds(tuples=2)), "once per group"),
        ("fpa", replace(MANY, bounds=UnitBounds(tuples=1), owners=2), "one owner"),
        ("gs_r", replace(MANY, bounds=UnitBounds(tuples=1), sampled=True), "sample of rows"),
        ("gs_s", replace(ALL, bounds=UnitBounds(tuples=1)), "no GROUP BY"),
    ]:  # fmt: skip
        with pytest.raises(InvalidSetting, match=message):
            choose_mechanism(name, replace(demo_policy(), global_sensitivity=None), known)


def test_a_delta_is_the_policys_to_grant() -> None:
    policy = replace(demo_policy(), delta=1e-6)
    assert granted_delta(None, policy) == 1e-6
    assert granted_delta(1e-7, policy) == 1e-7
    assert granted_delta(0.0, policy) == granted_delta(None, demo_policy()) == 0.0
    for asked, granting in ((1e-5, policy), (-1e-9, policy), (float("nan"), policy), (1e-7, demo_policy())):
        with pytest.raises(InvalidSetting, match="delta"):
            granted_delta(asked, granting)
    with pytest.raises(InvalidSetting, match="at least"):
        granted_delta(MIN_DELTA / 2, policy)
