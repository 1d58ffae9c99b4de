"""Ranks of rows with several owners keep their claim where one of them takes many rows away; mutants do not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.entropy import Entropy
from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.ladder import Ladder
from privacy.mechanisms.ranks.exponential_rank import uniform
from privacy.mechanisms.ranks.rank import Rank
from privacy.mechanisms.ranks.rank_release import RankBatch
from privacy.mechanisms.ranks.shared_rows import SharedRows, Sharing
from tests.audit.auditing import FAILURE_PROBABILITY
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = 15_000
MIDDLE, TOP = 16, 18
N_CODES = TOP + 3
ONE_RUNG = Ladder(0, 0)
MEDIAN = Rank(0.5)
HUB = 0
"""The unit that comes or goes; everybody else is a pair's member of one row."""

Row = tuple[int, int, int]
"""Both owners and the value."""

CROWD: list[Row] = [(1, 2, 0), (3, 4, 0), (5, 6, 0), (7, 8, MIDDLE), (9, 10, TOP), (11, 12, TOP), (13, 14, TOP)]
BELOW: list[Row] = [(HUB, 20 + other, 0) for other in range(6)]
ABOVE: list[Row] = [(30 + other, HUB, TOP) for other in range(6)]


class ForEachOwner(RankBatch):
    """Divides what a unit moves by the two owners of a row, and by the two sides of a value."""

    def _moves(self, rank: Rank, tau: int, n_groups: int) -> int:
        return super()._moves(rank, tau, n_groups) // 4


class Untruncated(RankBatch):
    """Adds up rows that one unit has many of, with the noise of one row."""

    tau = 8


def tuples(rows: Sequence[Row]) -> RankedTuples:
    columns = np.array(rows, np.int64).reshape(-1, 3)
    there = np.zeros(len(columns), np.bool_)
    owners = tuple(OwnerColumn("person", columns[:, place].copy(), there) for place in (0, 1))
    group = np.zeros(len(columns), np.int64)
    return RankedTuples(owners, group, 1, columns[:, 2].copy(), np.ones(len(columns), np.int64))


def _drawn(batch: RankBatch, rows: Sequence[Row], entropy: Entropy) -> Outputs:
    """What the batch's release draws, many times from one coding of the rows."""
    assert batch.sharing is not None
    tau = batch.tau if isinstance(batch, Untruncated) else 1
    (group,) = SharedRows(tuples(rows), N_CODES, batch.sharing).by_group(tau, exchanges=batch.exchanges)
    (rank,) = batch.ranks
    gamma = batch._each(1) / (2 * batch._moves(rank, 1, 1))
    points = itertools.chain.from_iterable(uniform(entropy, 1000) for _ in itertools.count())
    offsets = group.of(rank)
    places = np.array([offsets.draw(gamma, points) for _ in range(RUNS)])
    return Outputs(np.zeros(len(places)), places)


def _found(batch: RankBatch, first: Sequence[Row], second: Sequence[Row]) -> float:
    return epsilon_lower_bound(
        _drawn(batch, first, SimulatedEntropy(1)), _drawn(batch, second, SimulatedEntropy(2)), FAILURE_PROBABILITY
    )


def _batch(epsilon: float, rank: Rank = MEDIAN, **more: object) -> RankBatch:
    return replace(RankBatch(epsilon, (rank,), N_CODES, ONE_RUNG, sharing=Sharing(0.0)), **more)  # type: ignore[arg-type]


def _as(kind: type[RankBatch], epsilon: float) -> RankBatch:
    return kind(epsilon, (MEDIAN,), N_CODES, ONE_RUNG, sharing=Sharing(0.0))


@pytest.mark.parametrize(
    ("before", "after"), [(BELOW, []), (ABOVE, []), (BELOW + ABOVE, ABOVE), (BELOW + ABOVE, []), (BELOW, BELOW[:3])]
)
def test_a_hub_that_loses_rows_keeps_the_claim(before: list[Row], after: list[Row]) -> None:
    found = _found(_batch(3.0), CROWD + before, CROWD + after)
    assert found <= 3.0
    assert found > 0.6 or before[:3] == after[:3] or (before, after) == (BELOW + ABOVE, [])


def test_a_hub_whose_rows_are_exchanged_keeps_it() -> None:
    assert 0.9 < _found(_batch(3.0, exchanges=True), CROWD + BELOW, CROWD + ABOVE) <= 3.0


def test_people_beyond_an_extreme_keep_it() -> None:
    assert 0.6 < _found(_batch(3.0, Rank(beyond=3)), CROWD + ABOVE, CROWD) <= 3.0


def test_catches_a_quarter_of_the_noise() -> None:
    assert _found(_as(ForEachOwner, 1.0), CROWD + BELOW, CROWD) > 1.0


def test_catches_rows_that_are_not_truncated() -> None:
    assert _found(_as(Untruncated, 2.0), CROWD + BELOW, CROWD) > 2.0


def test_catches_rows_that_move_and_are_taken_for_rows_that_go() -> None:
    class Forgetful(RankBatch):
        """Does not know of exchanges."""

        def _moves(self, rank: Rank, tau: int, n_groups: int) -> int:
            return (
                replace(self, exchanges=False)._moves(rank, tau, n_groups)
                if self.exchanges
                else super()._moves(rank, tau, n_groups)
            )

    moving = Forgetful(3.0, (MEDIAN,), N_CODES, ONE_RUNG, exchanges=True, sharing=Sharing(0.0))
    assert _found(moving, CROWD + BELOW, CROWD + ABOVE) > 3.0
