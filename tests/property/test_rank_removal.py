"""Offsets of quantiles and extremes move by no more than is claimed where one unit leaves."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.mechanisms.rank import Rank
from privacy.mechanisms.rank_release import RankBatch
from privacy.mechanisms.rank_rows import OwnRows, SharedRows, Sharing
from tests.support.seeds import sampled

N_CODES = 12
RANKS = [Rank(q) for q in (0.0, 0.1, 0.37, 0.5, 0.75, 0.9, 1.0)]
EXTREMES = [Rank(beyond=2), Rank(beyond=1, highest=False)]


def instance(seed: int, owners: int, groups: int = 1) -> RankedTuples:
    generator = np.random.default_rng(seed)
    rows, people = int(generator.integers(1, 30)), int(generator.integers(1, 6))
    columns = tuple(
        OwnerColumn(
            "person" if place < 2 else "shop", generator.integers(0, people, rows), generator.random(rows) < 0.15
        )
        for place in range(owners)
    )
    group = generator.integers(0, groups, rows)
    return RankedTuples(columns, group, groups, generator.integers(0, N_CODES, rows), generator.integers(1, 9, rows))


def kept(of: RankedTuples, rows: NDArray[np.bool_]) -> RankedTuples:
    owners = tuple(OwnerColumn(one.relation, one.keys[rows], one.missing[rows]) for one in of.owners)
    return RankedTuples(owners, of.group[rows], of.n_groups, of.value[rows], of.rows[rows])


def without_one(of: RankedTuples, seed: int) -> RankedTuples:
    """Somebody goes, with every row that the person has a part in."""
    generator = np.random.default_rng(seed)
    relation, key = "person", int(generator.integers(0, 6))
    if len(of.owners) > 2 and generator.random() < 0.3:
        relation = "shop"
    owned = np.zeros(len(of.group), bool)
    for one in of.owners:
        if one.relation == relation:
            owned |= ~one.missing & (one.keys == key)
    return kept(of, ~owned)


def shared_offsets(of: RankedTuples, rank: Rank, tau: int, gap: float) -> NDArray[np.object_]:
    groups = SharedRows(of, N_CODES, Sharing(gap)).by_group(tau)
    return np.array([[rows.of(rank).offset(code) for code in range(-1, N_CODES)] for rows in groups], object)


def test_of_one_owner_each_clipped() -> None:
    furthest = 0
    for seed in sampled(range(150), 25):
        before = instance(seed, 1)
        after, tau = without_one(before, seed), 2 ** (seed % 4)
        for rank in RANKS:
            one, other = (next(iter(OwnRows.of(of, N_CODES).clipped([rank], tau)))[0] for of in (before, after))
            moved = max(abs(one.offset(code) - other.offset(code)) for code in range(-1, N_CODES))
            assert moved <= rank.moves(tau), (seed, rank)
            assert np.all(np.diff(one.offsets) >= 0), (seed, rank)
            furthest = max(furthest, moved)
    assert furthest > 0


def test_of_one_owner_each_scaled_over_all_groups() -> None:
    furthest = 0
    for seed in sampled(range(100), 25):
        before = instance(seed, 1, groups=3)
        after, tau = without_one(before, seed), 2 ** (seed % 4)
        for rank in RANKS:
            batch = RankBatch(1.0, (rank,), N_CODES, one_group=False)
            scaled = (OwnRows.of(of, N_CODES).scaled([rank], tau) for of in (before, after))
            pairs = [(one[0], other[0]) for one, other in zip(*scaled, strict=True)]
            moved = sum(max(abs(a.offset(v) - b.offset(v)) for v in range(-1, N_CODES)) for a, b in pairs)
            assert moved <= batch._moves(rank, tau, 3), (seed, rank)
            furthest = max(furthest, moved)
    assert furthest > 0


def test_of_several_owners() -> None:
    furthest = 0
    for seed, (owners, gap) in sampled([*product(range(120), ((2, 0.0), (3, 0.01)))], 12):
        before = instance(seed, owners, groups=1 + seed % 2)
        after, tau = without_one(before, seed), 2 ** (seed % 3)
        for rank in (*RANKS[seed % 3 :: 3], EXTREMES[seed % 2]):
            one = 1 if rank.quantile is None else tau
            batch = RankBatch(1.0, (rank,), N_CODES, sharing=Sharing(gap, 1))
            first, second = (shared_offsets(of, rank, one, gap) for of in (before, after))
            moved = int(np.max(np.abs(first - second)))
            assert moved <= batch._moves(rank, one, before.n_groups), (seed, owners, rank)
            under, over = rank.caps(one)
            slack = Fraction(gap) * (1 << 30) * (rank.below * under + rank.above * over)
            assert int(np.min(np.diff(first, axis=1))) >= -slack - 1, (seed, owners, rank)
            furthest = max(furthest, moved)
    assert furthest > 0
