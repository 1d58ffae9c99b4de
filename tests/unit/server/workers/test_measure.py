"""What is measured of which tuples, on rows by hand and with next to no noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from planner.limits import MAX_CELLS
from planner.plan import BackendQuery, KindReach
from planner.policy.policy import SOLVERS, ColumnPolicy
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.rewriting.rewrite import rewrite
from planner.schema import Dialect
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.join_tuples import CodedJoinTuples, DistinctTuples, JoinTuples, OwnerColumn
from privacy.mechanisms import group_lp
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.measurement import ServedGroupMeasurement
from privacy.mechanisms.partition_selection import GroupThreshold
from privacy.mechanisms.shared_threshold import SharedThreshold
from privacy.mechanisms.sums import Sum
from privacy.noisy_answer import NoisyAnswer
from privacy.registry import MECHANISMS, AllGroups, JointMechanism, group_measurements
from privacy.thresholds import Thresholds
from privacy.truncation import truncate
from privacy.units import ONE
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples
from server.workers import measure as measuring
from server.workers.measure import Measuring, measure, plan_measurements
from tests.support.planning import demo_policy, planned

PEOPLE, KEYS = 200, 10
MUCH = 1e3
"""An epsilon that leaves next to no noise."""

PUBLIC = BackendQuery("join", (None,), ("person",), (None,), (tuple(range(KEYS)),), 2, "f")
FOUND = BackendQuery("join", (None,), ("person",), (None,), (None,), 2, "f")
SUM = Sum(MUCH, 0.0, Thresholds(0, 10))


@dataclass(frozen=True)
class ByHand:
    """Everybody is in every group, twice in the first; the second weight counts tuples."""

    dialect: ClassVar[Dialect] = "postgres"

    def domain(self, query: BackendQuery) -> Domain:
        raise AssertionError("measuring reads everything at once")

    def check_schema(self, fingerprint: str) -> None:
        raise AssertionError("nobody asks whether it is there")

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        raise AssertionError("nothing surrounds these answers")

    def public(self, statement: PublicStatement) -> Rows:
        raise AssertionError("no public query is asked here")

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        people, keys = (part.ravel() for part in np.meshgrid(np.arange(PEOPLE), np.arange(KEYS)))
        owners = (OwnerColumn("person", people, np.zeros(len(people), bool)),)
        weight = np.where(keys == 0, 2 * ONE, ONE)
        join = JoinTuples(owners, keys, KEYS, np.stack([weight, weight] if query.n_releases == 2 else [weight]))
        distinct = DistinctTuples(owners, keys, KEYS, people)
        values = (None if statement is None else distinct for statement in query.distinct)
        return Domain((tuple(range(KEYS)),)), QueryTuples(join, tuple(values))


def _counts(query: BackendQuery, measuring: Measuring) -> dict[object, int]:
    domain, (noisy, *_) = measure(ByHand(), query, measuring)
    assert len(noisy.values) == len(noisy.low) == len(noisy.signal) == len(domain)
    return {key: round(value) for (key,), value in zip(domain.groups, noisy.values.tolist(), strict=True)}


def test_the_rule_binds_mechanisms_that_rely_on_it_and_no_others() -> None:
    ruled = group_measurements("group_lp", AllGroups([SUM], 0.0, groups_per_unit=2))
    assert _counts(PUBLIC, Measuring(ruled, group_rule=1)) == {0: 2 * PEOPLE, **dict.fromkeys(range(1, KEYS), 0)}
    clipped = group_measurements("l2_clip", AllGroups([SUM], 0.5, groups_per_unit=2))
    everywhere = _counts(PUBLIC, Measuring(clipped, group_rule=1))
    assert min(everywhere.values()) > 0.8 * PEOPLE
    scalar = Measuring((Gem(PureBudget(MUCH), 2, thresholds=Thresholds(0, 1)),), group_rule=1)
    assert sum(_counts(PUBLIC, scalar).values()) == 2 * PEOPLE


def test_a_rule_that_counts_all_groups_leaves_nobody_out() -> None:
    for rule, left_out in [(4, True), (KEYS + 1, False)]:
        made = group_measurements("group_lp", AllGroups([SUM], 0.0, groups_per_unit=rule))
        total = sum(_counts(PUBLIC, Measuring(made, group_rule=rule)).values())
        assert (total < (KEYS + 1) * PEOPLE) is left_out, rule


def test_keys_are_found_by_the_tuples_that_the_rule_keeps() -> None:
    """Then what is left of the groups that are shown is measured, by the rule once more where it binds."""
    made = group_measurements("group_lp", AllGroups([SUM], 0.0, groups_per_unit=2))
    threshold = GroupThreshold(MUCH, 1e-9, groups_per_unit=2)
    assert _counts(FOUND, Measuring(made, threshold, group_rule=1)) == {0: 2 * PEOPLE}
    assert len(_counts(FOUND, Measuring(made, threshold))) == KEYS


def test_no_more_found_groups_are_shown_than_an_answer_may_have() -> None:
    """The first of them; the answer says that it is full (`test_response.py`)."""
    made = group_measurements("group_lp", AllGroups([SUM], 0.0, groups_per_unit=KEYS))
    threshold = GroupThreshold(MUCH, 1e-9, groups_per_unit=KEYS)
    wide = replace(FOUND, columns=MAX_CELLS // 4)
    assert list(_counts(wide, Measuring(made, threshold))) == [0, 1, 2, 3]


def test_nobody_shown_is_nothing_measured() -> None:
    made = group_measurements("group_lp", AllGroups([SUM], 0.0, groups_per_unit=1))
    threshold = GroupThreshold(MUCH, groups_per_unit=1, minimum=PEOPLE + 100)
    domain, (noisy,) = measure(ByHand(), PUBLIC, Measuring(made, threshold))
    assert (len(domain), domain.withheld, len(noisy.values)) == (0, KEYS, 0)


def test_of_found_groups_none_are_said_to_be_withheld() -> None:
    made = group_measurements("group_lp", AllGroups([SUM], 0.0, groups_per_unit=1))
    threshold = GroupThreshold(MUCH, 1e-9, groups_per_unit=1, minimum=PEOPLE + 100)
    domain, _ = measure(ByHand(), FOUND, Measuring(made, threshold))
    assert (len(domain), domain.withheld) == (0, 0)


def test_the_policy_s_solver_truncates_whatever_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scalar, the joint and the distinct release, and the selection of groups: all four ask it."""
    asked: list[str] = []
    for entry in (measuring, truncate):
        for name in ("truncate", "truncate_distinct"):
            solve = getattr(entry, name, None)

            def spied(*args: object, solve: object = solve, name: str = name, **named: object) -> object:
                asked.append(f"{name} {named.get('solver', args[-1])}")
                return solve(*args, **named)  # type: ignore[operator]

            if solve is not None:
                monkeypatch.setattr(entry, name, spied)
    query = BackendQuery("join", (None, "values"), ("person",), (None,), (tuple(range(KEYS)),), 2, "f")
    (joint,) = group_measurements("group_lp", AllGroups([SUM], 0.0, groups_per_unit=1, solver="reference"))
    counted, threshold = (
        Gem(PureBudget(MUCH), thresholds=Thresholds(0, 10)),
        GroupThreshold(MUCH, 1e-9, groups_per_unit=2),
    )
    measure(ByHand(), query, Measuring((joint, counted), threshold, solver="reference"))
    assert asked == ["truncate reference", "truncate reference", "truncate_distinct reference"]
    asked.clear()
    measure(ByHand(), PUBLIC, Measuring((counted,), solver="reference"))
    assert asked == ["truncate reference"]


def test_a_plan_is_measured_with_the_policy_s_solver() -> None:
    for solver in SOLVERS:
        policy = replace(demo_policy(), solver=solver)
        sql = "SELECT l_linenumber, count(*) FROM lineitem JOIN supplier ON l_suppkey = s_suppkey GROUP BY 1"
        columns = {"l_linenumber": ColumnPolicy(domain=(1, 2))}
        tables = {**policy.tables, "lineitem": replace(policy.tables["lineitem"], columns=columns)}
        policy = replace(policy, tables=tables)
        made = plan_measurements(planned(sql, policy=policy), policy)
        (joint,) = made.releases
        assert isinstance(joint, group_lp.GroupLp), solver
        assert (made.solver, joint.solver) == (solver, solver), solver


def test_sums_and_distinct_values_keep_their_places() -> None:
    query = BackendQuery("join", ("values", None), ("person",), (None,), (tuple(range(KEYS)),), 1, "f")
    (sums,) = group_measurements("l2_clip", AllGroups([SUM], 0.5))
    distinct = Gem(
        PureBudget(MUCH), thresholds=Thresholds(0, 0)
    )  # a larger one, at times chosen, moves a count by one
    _, (people, tuples) = measure(ByHand(), query, Measuring((distinct, sums)))
    assert (people.mechanism, tuples.mechanism) == ("gem", "l2_clip")
    assert np.rint(people.values).tolist() == [PEOPLE] * KEYS
    assert tuples.values[0] > 1.5 * PEOPLE


def test_a_mechanism_of_several_sums_is_given_them_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that releases all sums by one draw is an entry of the registry; counts of distinct values stay apart."""
    entry = MECHANISMS["l2_clip"]
    assert isinstance(entry, JointMechanism)

    def by_one_draw(
        made: Sequence[ServedGroupMeasurement], tuples: CodedJoinTuples, entropy: Entropy
    ) -> tuple[NoisyAnswer, ...]:
        only = made[-1].release(tuples, len(made) - 1, entropy)
        return tuple(replace(only, values=only.values + place) for place in range(len(made)))

    query = BackendQuery("join", (None, "values", None), ("person",), (None,), (tuple(range(KEYS)),), 2, "f")
    first, last = group_measurements("l2_clip", AllGroups([SUM, SUM], 0.5))
    monkeypatch.setitem(MECHANISMS, "l2_clip", replace(entry, release=by_one_draw))
    distinct = Gem(PureBudget(MUCH), thresholds=Thresholds(0, 0))
    _, noisy = measure(ByHand(), query, Measuring((first, distinct, last)))
    assert [one.mechanism for one in noisy] == ["l2_clip", "gem", "l2_clip"]
    assert np.array_equal(noisy[2].values, noisy[0].values + 1), "two draws of continuous noise never agree"


def test_only_sums_of_one_owner_claim_that_a_unit_adds_as_much_as_it_has() -> None:
    """What several people own, and what they share, moves thresholds further apart."""
    for sql, nested in [
        ("SELECT count(*) FROM orders", True),
        ("SELECT count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey", True),
        ("SELECT count(DISTINCT o_orderdate) FROM orders", False),
        ("SELECT count(*) FROM knows", False),
        (
            "SELECT count(*) FROM orders WHERE NOT EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey)",
            True,
        ),
    ]:
        (release,) = plan_measurements(planned(sql), demo_policy()).releases
        assert isinstance(release, Gem) and release.nested is nested, sql


def test_people_in_several_groups_are_bounded_in_all_of_them_together() -> None:
    """Noise is for what they have together, not for a share of epsilon in every group."""
    sql = "SELECT o_totalprice > 1000, count(DISTINCT o_custkey) FROM orders GROUP BY 1"
    plan = planned(sql)
    assert plan.mechanism == "l1_clip" and plan.adds_up(plan.releases[0])
    assert rewrite(plan).values_by_norm, "what people of each total have says it all"
    (made,) = plan_measurements(plan, demo_policy()).releases
    assert made.name == "l1_clip"
    by_key = planned("SELECT c_acctbal > 0, count(DISTINCT c_custkey) FROM customer GROUP BY 1")
    assert not by_key.adds_up(by_key.releases[0]), "who is in one group is counted there"


def test_a_value_counts_once_for_each_unit_and_group_whatever_else_there_is() -> None:
    """Of rows twice, without a value, of nobody, outside the groups; and of a value that keys promise to be one's."""
    keys = np.array([1, 1, 1, 2, 2, 3, 3, 4])
    missing = np.array([0, 0, 0, 0, 0, 0, 0, 1], bool)
    group, value = np.array([0, 0, 1, 0, 1, -1, 0, 0]), np.array([7, 7, 7, 7, -1, 9, 9, 5])

    def units(here: list[int]) -> list[tuple[int, int]]:
        owner = OwnerColumn("person", keys[here], missing[here])
        coded = measuring._values_of_units(DistinctTuples((owner,), group[here], 2, value[here]))
        assert (coded.weights == ONE).all()
        groups = np.repeat(np.arange(coded.n_groups), np.diff(coded.member_start))
        return sorted(zip(groups.tolist(), coded.units.tolist(), strict=True))

    assert units([*range(8)]) == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert len(units([0, 1, 2, 5, 6, 7])) == 3, "without the second unit its one value is gone, and no other comes"


def test_noise_that_was_checked_can_be_drawn_whatever_the_groups_of_a_kind() -> None:
    """Before the groups are read, for all that they can be: fewer of a unit have less noise and dearer scores."""
    for epsilon, delta in [
        (1e-7, 0.0),
        (1e-5, 0.0),
        (1.0, 0.0),
        (1e-7, 1e-4),
        (1e-5, 1e-4),
        (1e-7, 0.3),
        (1e-2, 1e-15),
        (1.0, 1e-6),
    ]:
        made = group_measurements("group_lp", AllGroups([Sum(epsilon, 0.0, Thresholds())] * 2, delta))
        checked = Measuring(made, kinds=(KindReach("a", ((0,),)), KindReach("b", ((),))))
        for n_groups in (1, 10, 1_000, 100_000, 1_000_000):
            if not _may_be_drawn(checked, n_groups):
                continue
            for most in (1, 2, 15, 16, 30, 100, n_groups):
                told = checked.of_kinds((("a", 1), ("b", min(most, n_groups))))
                for fewer in (1, n_groups):
                    for one in told.releases:
                        one.check_noise(fewer)


def _may_be_drawn(checked: Measuring, n_groups: int) -> bool:
    try:
        checked.check_noise(n_groups)
    except InvalidParameter:
        return False
    return True


def test_kinds_are_counted_in_the_groups_that_are_read() -> None:
    made = group_measurements("group_lp", AllGroups([SUM], 0.0))
    told = Measuring(made, kinds=(KindReach("person", ((0,),)),)).of_groups(Domain((tuple(range(KEYS)),)))
    (one,) = told.releases
    assert one.expected_noise(KEYS) == group_measurements("group_lp", AllGroups([SUM], 0.0, 1))[0].expected_noise(
        KEYS
    )
    assert Measuring(made).of_groups(Domain((tuple(range(KEYS)),))).releases == made
    ranked = Measuring((Gem(PureBudget(MUCH)),), kinds=(KindReach("person", ((0,),)),))
    assert ranked.of_groups(Domain((tuple(range(KEYS)),))).releases == ranked.releases


def test_sums_that_share_one_budget_have_one_kind_of_noise() -> None:
    policy = replace(demo_policy(), delta=1e-6)
    columns = {**policy.tables["lineitem"].columns, "l_linenumber": ColumnPolicy(domain=tuple(range(40)))}
    policy = replace(
        policy, tables={**policy.tables, "lineitem": replace(policy.tables["lineitem"], columns=columns)}
    )
    sql = "SELECT l_linenumber, count(*), sum(l_quantity) FROM lineitem GROUP BY 1"
    plan = planned(sql, policy=policy, epsilon=1.0, delta=1e-6, mechanism="group_lp")
    made = plan_measurements(plan, policy)
    seen = set()
    for groups in range(1, 40):
        kinds = [one.scalar.chosen(groups).budget.noise for one in made.releases]  # type: ignore[union-attr]
        assert len(set(kinds)) == 1, groups
        seen.update(kinds)
    assert seen == {"laplace", "gaussian"}


def test_noise_of_two_kinds_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: the choice is by each sum's own noise, which one that has a single threshold has less of."""
    monkeypatch.setattr(SharedThreshold, "noise_beside_a_choice", lambda self, n_groups: self.noise_per_tau(n_groups))
    sums = [Sum(1.0, 0.0, thresholds) for thresholds in (Thresholds(4, 4), Thresholds(0, 10), Thresholds(0, 10))]
    mixed = Measuring(group_measurements("group_lp", AllGroups(sums, 1e-6, None, None, "certified")))
    with pytest.raises(AssertionError, match="two kinds"):
        for groups in range(1, KEYS + 1):
            measure(FewKeys(groups), PUBLIC, mixed)


@dataclass(frozen=True)
class FewKeys(ByHand):
    """As many groups."""

    groups: int = 1

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        people, keys = (part.ravel() for part in np.meshgrid(np.arange(PEOPLE), np.arange(self.groups)))
        owners = (OwnerColumn("person", people, np.zeros(len(people), bool)),)
        join = JoinTuples(owners, keys, self.groups, np.full((3, len(people)), ONE))
        return Domain((tuple(range(self.groups)),)), QueryTuples(join, (None, None, None))
