"""Votes of neighbours: what removing one unit changes, over any rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.mechanisms.partition_selection import VoteThreshold
from privacy.truncation.encode import encode
from privacy.units import ONE

GROUPS = 12
STEPS = 1 << 20
UNIT = 3
"""Whose rows are removed; others are numbered below and above."""

GAUSSIAN = VoteThreshold(1.0, 1e-6, most_voted=4)
LAPLACE = VoteThreshold(1e-4, 1e-15, most_voted=4)

Row = tuple[int, int]

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, GROUPS - 1)), max_size=60)
"""A person and a group."""


def votes(made: VoteThreshold, rows: list[Row]) -> NDArray[np.int64]:
    """In every group; no row is one of nobody, and none has two owners: a visit owns itself where no person does."""
    if not rows:
        return np.zeros(GROUPS, np.int64)
    people, groups = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    owners = (OwnerColumn("person", people, people >= UNIT), OwnerColumn("visit", people, people < UNIT))
    return made.votes(encode(JoinTuples(owners, groups, GROUPS, np.full((1, len(rows)), ONE, np.int64))), 0)


def neighbour(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row[0] != UNIT]


@given(st.sampled_from([GAUSSIAN, LAPLACE]), ROWS)
def test_removing_a_unit_moves_the_votes_as_little_as_the_noise_is_for(made: VoteThreshold, rows: list[Row]) -> None:
    change = votes(made, rows) - votes(made, neighbour(rows))
    assert (change >= 0).all()
    if made.is_gaussian:
        assert (change**2).sum() <= STEPS**2
    else:
        assert np.abs(change).sum() <= STEPS


@given(st.sampled_from([GAUSSIAN, LAPLACE]), ROWS)
def test_groups_of_one_neighbour_alone_have_one_units_votes_and_are_few(made: VoteThreshold, rows: list[Row]) -> None:
    here, there = votes(made, rows), votes(made, neighbour(rows))
    for mine, other in ((here, there), (there, here)):
        alone = mine[(mine > 0) & (other == 0)]
        assert len(alone) <= made.most_voted
        if len(alone):
            assert (alone == alone[0]).all()
            norm = (alone**2).sum() / STEPS if made.is_gaussian else alone.sum()
            assert norm <= STEPS  # so each has no more than its share of one vote


@given(rows=ROWS)
def test_who_else_votes_votes_the_same(rows: list[Row]) -> None:
    others = [row for row in rows if row[0] != UNIT]
    own = [row for row in rows if row[0] == UNIT]
    assert (votes(GAUSSIAN, others) + votes(GAUSSIAN, own) == votes(GAUSSIAN, rows)).all()


def test_the_bound_is_reached() -> None:
    for made in (GAUSSIAN, LAPLACE):
        rows = [(UNIT, group) for group in range(GROUPS)]
        change = (votes(made, rows) - votes(made, neighbour(rows))) / STEPS
        assert (change**2 if made.is_gaussian else change).sum() == pytest.approx(1, rel=1e-3)
