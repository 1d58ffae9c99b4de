"""What one unit's rows move: the sum that a shared threshold is chosen by, and the groups that a rule keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacy.join_tuples import JoinTuples
from privacy.mechanisms.partition_selection import keep_groups
from privacy.mechanisms.shared_threshold import SummedAnswer
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from tests.property.truncation_strategies import THRESHOLDS, Tuple, graphs, single_owners
from tests.unit.privacy.truncation.instances import from_sets

GROUPS = 5
NEW_UNIT = 999


def grouped(table: list[Tuple], group: list[int]) -> JoinTuples:
    return from_sets(table, group, GROUPS)


def values(answer: TruncatedAnswer) -> list[list[int]]:
    """Every value, solved."""
    return [[answer.solve(group, i) for i in range(len(THRESHOLDS))] for group in range(answer.n_groups)]


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[JoinTuples, JoinTuples, int]:
    """A table, the same with more rows of one unit, and the number of groups that those rows reach."""
    table, more = draw(graphs(min_size=1)), draw(graphs(max_size=8))
    unit = draw(st.sampled_from([0, 1, NEW_UNIT]))
    reach = draw(st.sets(st.integers(0, GROUPS - 1), min_size=1))
    added = [(frozenset({unit, min(owners)}), weight) for owners, weight in more]
    where = draw(st.lists(st.integers(0, GROUPS - 1), min_size=len(table), max_size=len(table)))
    there = draw(st.lists(st.sampled_from(sorted(reach)), min_size=len(added), max_size=len(added)))
    return grouped(table, where), grouped(table + added, where + there), len(reach)


@given(neighbours())
def test_the_summed_answer_moves_by_at_most_tau(pair: tuple[JoinTuples, JoinTuples, int]) -> None:
    first, second, reached = pair
    sums = [SummedAnswer(truncate(encode(table), 0, THRESHOLDS, 0.0), reached) for table in (first, second)]
    small, large = (values(one)[0] for one in sums)
    for j, tau in enumerate(THRESHOLDS.units.tolist()):
        assert 0 <= large[j] - small[j] <= tau
        assert all(abs(large[j] - small[j] - large[i] + small[i]) <= tau for i in range(j))


@given(single_owners(), single_owners(), st.data())
def test_a_rule_moves_as_many_groups_as_it_keeps(table: list[Tuple], more: list[Tuple], data: st.DataObject) -> None:
    most = data.draw(st.integers(1, 2))
    groups = st.integers(0, GROUPS - 1)
    where = data.draw(st.lists(groups, min_size=len(table), max_size=len(table)))
    there = data.draw(st.lists(groups, min_size=len(more), max_size=len(more)))
    added = [(frozenset({NEW_UNIT}), weight) for _, weight in more]
    kept = [keep_groups(encode(one), most) for one in (grouped(table, where), grouped(table + added, where + there))]
    small, large = (np.array(values(truncate(one, 0, THRESHOLDS, 0.0))) for one in kept)
    move = np.abs(large - small)
    assert (move <= THRESHOLDS.units).all()
    assert (move > 0).any(axis=1).sum() <= most
    sums = [values(SummedAnswer(truncate(one, 0, THRESHOLDS, 0.0), most))[0] for one in kept]
    moved = np.array(sums[1]) - np.array(sums[0])
    larger = np.maximum(THRESHOLDS.units[:, None], THRESHOLDS.units[None, :])
    assert (np.abs(moved[:, None] - moved[None, :]) <= larger).all()
    for one in kept:
        group = np.repeat(np.arange(GROUPS), np.diff(one.row_start))
        touched = set(zip(one.units[one.members[0]].tolist(), group.tolist(), strict=True))
        assert all(sum(unit == other for other, _ in touched) <= most for unit, _ in touched)
