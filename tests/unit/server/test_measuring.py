"""What is measured of which tuples, on rows by hand and with next to no noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from planner.plan import BackendQuery
from planner.public.query import PublicStatement
from planner.rewrite import Dialect
from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.groups.build import Sum, group_measurements
from privacy.mechanisms.groups.group_threshold import GroupThreshold
from privacy.units import ONE
from server.backends.columns import Domain
from server.backends.public_rows import Rows
from server.backends.query_tuples import QueryTuples
from server.measuring import Measuring, measure

PEOPLE, KEYS = 200, 10
MUCH = 1e3
"""An epsilon that leaves next to no noise."""

PUBLIC = BackendQuery("join", (None,), ("person",), (None,), (tuple(range(KEYS)),), 2, "f")
FOUND = BackendQuery("join", (None,), ("person",), (None,), (None,), 2, "f")
SUM = Sum(MUCH, 0.0, Ladder(0, 10))


@dataclass(frozen=True)
class ByHand:
    """Everybody is in every group, twice in the first; the second weight counts tuples."""

    dialect: ClassVar[Dialect] = "postgres"

    def domain(self, query: BackendQuery) -> Domain:
        raise AssertionError("measuring reads everything at once")

    def check_reachable(self) -> None:
        raise AssertionError("nobody asks whether it is there")

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
    ruled = group_measurements("group_lp", [SUM], 0.0, groups_per_unit=2)
    assert _counts(PUBLIC, Measuring(ruled, group_rule=1)) == {0: 2 * PEOPLE, **dict.fromkeys(range(1, KEYS), 0)}
    clipped = group_measurements("l2_clip", [SUM], 0.5, groups_per_unit=2)
    everywhere = _counts(PUBLIC, Measuring(clipped, group_rule=1))
    assert min(everywhere.values()) > 0.8 * PEOPLE
    scalar = Measuring((Gem(MUCH, 2, ladder=Ladder(0, 10)),), group_rule=1)
    assert sum(_counts(PUBLIC, scalar).values()) == 2 * PEOPLE


@pytest.mark.parametrize(("rule", "left_out"), [(4, True), (5, False)])
def test_a_rule_that_counts_all_groups_leaves_nobody_out(rule: int, left_out: bool) -> None:
    """Twice five are all ten: the noise is the same without the rule."""
    made = group_measurements("group_lp", [SUM], 0.0, groups_per_unit=2 * rule)
    total = sum(_counts(PUBLIC, Measuring(made, group_rule=rule)).values())
    assert (total < (KEYS + 1) * PEOPLE) is left_out


def test_keys_are_found_by_the_tuples_that_the_rule_keeps() -> None:
    """Then what is left of the groups that are shown is measured, by the rule once more where it binds."""
    made = group_measurements("group_lp", [SUM], 0.0, groups_per_unit=2)
    threshold = GroupThreshold(MUCH, 1e-9, groups_per_unit=2)
    assert _counts(FOUND, Measuring(made, threshold, group_rule=1)) == {0: 2 * PEOPLE}
    assert len(_counts(FOUND, Measuring(made, threshold))) == KEYS


def test_nobody_shown_is_nothing_measured() -> None:
    made = group_measurements("group_lp", [SUM], 0.0, groups_per_unit=1)
    threshold = GroupThreshold(MUCH, groups_per_unit=1, minimum=PEOPLE + 100)
    domain, (noisy,) = measure(ByHand(), PUBLIC, Measuring(made, threshold))
    assert (len(domain), domain.withheld, len(noisy.values)) == (0, KEYS, 0)


def test_of_found_groups_none_are_said_to_be_withheld() -> None:
    made = group_measurements("group_lp", [SUM], 0.0, groups_per_unit=1)
    threshold = GroupThreshold(MUCH, 1e-9, groups_per_unit=1, minimum=PEOPLE + 100)
    domain, _ = measure(ByHand(), FOUND, Measuring(made, threshold))
    assert (len(domain), domain.withheld) == (0, 0)


def test_sums_and_distinct_values_keep_their_places() -> None:
    query = BackendQuery("join", ("values", None), ("person",), (None,), (tuple(range(KEYS)),), 1, "f")
    (sums,) = group_measurements("l2_clip", [SUM], 0.5)
    distinct = Gem(MUCH, ladder=Ladder(0, 10))
    _, (people, tuples) = measure(ByHand(), query, Measuring((distinct, sums)))
    assert (people.mechanism, tuples.mechanism) == ("gem", "l2_clip")
    assert np.rint(people.values).tolist() == [PEOPLE] * KEYS
    assert tuples.values[0] > 1.5 * PEOPLE
