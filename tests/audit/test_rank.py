"""Ranks keep their claim where one unit's rows move from one side of all values to the other; mutants do not."""

from __future__ import annotations

import numpy as np
import pytest

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.ladder import Ladder
from privacy.mechanisms.ranks.rank import Rank
from privacy.mechanisms.ranks.rank_release import RankBatch
from tests.audit.auditing import FAILURE_PROBABILITY
from tests.support.simulated_entropy import SimulatedEntropy

ONE_RUNG = Ladder(0, 0)
RUNS = 30_000
CROWD = 3
MIDDLE, TOP = 16, 18
N_CODES = TOP + 3


class WithoutTheFactorTwo(RankBatch):
    """Takes a distance's move for the whole loss: the sum of all weights moves, too."""

    def _each(self, n_groups: int) -> float:
        return 2 * super()._each(n_groups)


class WithEveryRow(RankBatch):
    """A unit with many rows weighs as much as all of them."""

    def _moves(self, rank: Rank, tau: int, n_groups: int) -> int:
        return super()._moves(rank, 1, n_groups)

    def _chosen(self, *_: object) -> int:
        return 4


class ByOneSide(RankBatch):
    """Takes rows that pass from one side to the other for rows that come or go."""

    def _moves(self, rank: Rank, tau: int, n_groups: int) -> int:
        return rank.moves(tau, exchanges=False)

    def _clips(self, n_groups: int) -> bool:
        return True


def _runs(unit: dict[int, int], runs: int = RUNS, middle: int = 1) -> RankedTuples:
    """A crowd on either side, somebody in the middle, and the unit with its rows: once per run, which is a group.

    Below the middle lie fifteen values that are nobody's, above it one: where the unit moves, that one gets nearer to
    the median, and all of the others further away, so that the sum of all weights moves, too.
    """
    crowd = [0] * CROWD + [MIDDLE] * middle + [TOP] * CROWD
    people = np.arange(len(crowd) + 1)
    own = np.array(list(unit), np.int64)
    value = np.concatenate([crowd, own])
    owner = np.concatenate([people[:-1], np.full(len(own), people[-1])])
    rows = np.concatenate([np.ones(len(crowd), np.int64), list(unit.values())]).astype(np.int64)
    run = np.repeat(np.arange(runs), len(value))
    keys = run * len(people) + np.tile(owner, runs)
    owners = (OwnerColumn("person", keys, np.zeros(len(keys), np.bool_)),)
    return RankedTuples(owners, run, runs, np.tile(value, runs), np.tile(rows, runs))


def _found(batch: RankBatch, first: RankedTuples, second: RankedTuples, together: int = 1) -> float:
    def of(data: RankedTuples) -> Outputs:
        values = batch.release(data, SimulatedEntropy(20261123))[0].values.reshape(-1, together)
        places = values.astype(np.int64) @ (N_CODES ** np.arange(together))
        return Outputs(np.zeros(len(places)), places)

    return epsilon_lower_bound(of(first), of(second), FAILURE_PROBABILITY)


MEDIAN = (Rank(0.5),)
MANY, BOTH, ONE = {0: 1_000_000}, {0: 1_000_000, TOP: 1}, {TOP: 1}
"""Units: many rows below all others; a row above them, too; that one alone. Each side weighs a threshold at most."""


@pytest.mark.parametrize("epsilon", [2.0, 3.0])
@pytest.mark.parametrize(("before", "after"), [(MANY, {}), (BOTH, ONE), (ONE, {})])
def test_rows_of_a_unit_that_go_keep_the_claim(epsilon: float, before: dict[int, int], after: dict[int, int]) -> None:
    found = _found(RankBatch(epsilon, MEDIAN, N_CODES, ONE_RUNG), _runs(before), _runs(after))
    assert 0.3 * epsilon < found <= epsilon


@pytest.mark.parametrize("epsilon", [2.0, 3.0])
def test_rows_of_a_unit_that_move_the_median_keep_it(epsilon: float) -> None:
    moving = RankBatch(epsilon, MEDIAN, N_CODES, ONE_RUNG, exchanges=True)
    assert 0.4 * epsilon < _found(moving, _runs(MANY), _runs(ONE)) <= epsilon


def test_rows_on_the_side_that_weighs_less_keep_it() -> None:
    ninetieth = RankBatch(2.0, (Rank(0.9),), N_CODES, ONE_RUNG)
    for before in (MANY, BOTH, ONE):
        assert _found(ninetieth, _runs(before), _runs({})) <= 2.0


def test_people_beyond_an_extreme_keep_it() -> None:
    highest = RankBatch(2.0, (Rank(beyond=CROWD + 1),), N_CODES)
    assert 0.8 < _found(highest, _runs({0: 1}), _runs({TOP: 5})) <= 2.0


def test_catches_the_missing_factor_two() -> None:
    assert _found(WithoutTheFactorTwo(2.0, MEDIAN, N_CODES, ONE_RUNG), _runs(MANY), _runs({})) > 2.0


def test_catches_a_unit_that_weighs_as_much_as_its_rows() -> None:
    assert _found(WithEveryRow(1.0, MEDIAN, N_CODES), _runs(MANY, middle=3), _runs({}, middle=3)) > 1.0


def test_catches_rows_that_move_and_are_taken_for_rows_that_go() -> None:
    moving = ByOneSide(2.0, MEDIAN, N_CODES, ONE_RUNG, exchanges=True)
    assert _found(moving, _runs(MANY), _runs(ONE)) > 2.0


def _two_groups(place: int) -> RankedTuples:
    """Each run is two groups; the unit of a run is in one or the other of them, below all other values."""
    runs = RUNS
    groups = _runs({}, 2 * runs)
    run = np.arange(runs)
    keys = np.concatenate([groups.owners[0].keys, 10**9 + run])
    owners = (OwnerColumn("person", keys, np.zeros(len(keys), np.bool_)),)
    added = np.zeros(runs, np.int64)
    return RankedTuples(
        owners,
        np.concatenate([groups.group, 2 * run + place]),
        2 * runs,
        np.concatenate([groups.value, added]),
        np.concatenate([groups.rows, added + 1]),
    )


def test_a_unit_that_changes_its_group_keeps_it() -> None:
    last = RankBatch(2.0, (Rank(1.0),), N_CODES, ONE_RUNG, one_group=False)
    assert _found(last, _two_groups(0), _two_groups(1), together=2) <= 2.0
