"""Ranks keep their claim where one unit's rows move from one side of all values to the other; mutants do not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.ladder import Ladder
from privacy.mechanisms.ranks.exponential_rank import TAU, Ranks
from privacy.mechanisms.ranks.rank_release import Rank, RankBatch
from tests.audit.auditing import FAILURE_PROBABILITY
from tests.support.simulated_entropy import SimulatedEntropy

ONE_RUNG = Ladder(0, 0)
RUNS = 30_000
CROWD = 3
MIDDLE, TOP = 16, 18
N_CODES = TOP + 3


class WithoutTheFactorTwo(RankBatch):
    """Takes a distance's move for the whole loss: the sum of all weights moves, too."""

    def _gamma(self, n_groups: int) -> float:
        return 2 * super()._gamma(n_groups)


class WithEveryRow(RankBatch):
    """A unit with many rows weighs as much as all of them."""

    def _by_group(
        self, group: NDArray[np.int64], value: NDArray[np.int64], weight: NDArray[np.int64], n_groups: int
    ) -> Iterator[Ranks]:
        return super()._by_group(group, value, np.full_like(weight, TAU), n_groups)


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
BELOW, ABOVE = {0: 1_000_000, TOP: 1}, {TOP: 1}
"""A unit of whose many rows those below go: it weighs one threshold, before below all others, then above."""


@pytest.mark.parametrize("epsilon", [2.0, 3.0])
def test_rows_of_a_unit_that_move_the_median_keep_the_claim(epsilon: float) -> None:
    found = _found(RankBatch(epsilon, MEDIAN, N_CODES, ONE_RUNG), _runs(BELOW), _runs(ABOVE))
    assert 0.4 * epsilon < found <= epsilon


def test_a_unit_that_leaves_keeps_it() -> None:
    assert _found(RankBatch(1.0, MEDIAN, N_CODES, ONE_RUNG), _runs(BELOW), _runs({})) <= 1.0


def test_people_beyond_an_extreme_keep_it() -> None:
    highest = RankBatch(2.0, (Rank(beyond=CROWD + 1),), N_CODES)
    assert 0.8 < _found(highest, _runs({0: 1}), _runs({TOP: 5})) <= 2.0


def test_catches_the_missing_factor_two() -> None:
    assert _found(WithoutTheFactorTwo(2.0, MEDIAN, N_CODES, ONE_RUNG), _runs(BELOW), _runs(ABOVE)) > 2.0


def test_catches_a_unit_that_weighs_as_much_as_its_rows() -> None:
    below, above = (_runs({place + far: 1 for far in range(3)}, middle=3) for place in (0, TOP))
    assert _found(RankBatch(1.0, MEDIAN, N_CODES, ONE_RUNG), below, above) <= 1.0
    assert _found(WithEveryRow(1.0, MEDIAN, N_CODES, ONE_RUNG), below, above) > 1.0


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
