from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from privacy.join_tuples import OwnerColumn, RankedTuples
from privacy.mechanisms.rank import PARTS, Rank, uniform
from privacy.mechanisms.rank_rows import GroupRows, OwnRows, SharedRows, Sharing
from privacy.units import ONE
from tests.support.seeds import ALL
from tests.support.simulated_entropy import SimulatedEntropy

N_CODES = 40


def tuples(seed: int, rows: int, owners: int, people: int = 12, groups: int = 1) -> RankedTuples:
    generator = np.random.default_rng(seed)
    columns = tuple(
        OwnerColumn("person", generator.integers(0, people, rows), generator.random(rows) < 0.1)
        for _ in range(owners)
    )
    value = np.where(generator.random(rows) < 0.1, -1, generator.integers(0, N_CODES + 2, rows))
    group = generator.integers(-1, groups, rows)
    return RankedTuples(columns, group, groups, value, generator.integers(0, 4, rows))


def points(seed: int) -> Iterator[int]:
    entropy = SimulatedEntropy(seed)
    return itertools.chain.from_iterable(uniform(entropy, 500) for _ in itertools.count())


def first(of: RankedTuples, tau: int, gap: float = 0.0) -> GroupRows:
    return next(SharedRows(of, N_CODES, Sharing(gap)).by_group(tau))


def test_of_one_owner_each_they_are_the_clipped_ones() -> None:
    for rank in [Rank(0.5), Rank(0.9), Rank(0.1), Rank(0.0), Rank(1.0)]:
        for tau in [1, 4]:
            one = tuples(3, 60, 1)
            (own,) = next(iter(OwnRows.of(one, N_CODES).clipped([rank], tau)))
            shared = first(one, tau).of(rank)
            assert [shared.offset(code) for code in range(-1, N_CODES)] == [
                own.offset(code) * ONE for code in range(-1, N_CODES)
            ], (rank, tau)


def test_the_law_of_a_draw_is_that_of_all_its_distances() -> None:
    ranks = [Rank(0.5), Rank(0.8), Rank(beyond=3), Rank(beyond=2, highest=False)]
    cases = [*itertools.product([(2, 0.0), (3, 0.01)], ranks, [0.2, 3.0, 400.0])]
    runs = 4_000
    for (owners, gap), rank, strength in cases if ALL else cases[4::15]:
        offsets = first(tuples(5, 50, owners), 2, gap).of(rank)
        gamma = strength / ONE / (1 if rank.quantile is None else PARTS)
        at = np.array([float(offsets.offset(code)) for code in range(-1, N_CODES)])
        log = -np.minimum(60.0, gamma * np.maximum(0.0, np.maximum(at[:-1], -at[1:])))
        law = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
        drawing = points(11)
        drawn = np.bincount([offsets.draw(gamma, drawing) for _ in range(runs)], minlength=N_CODES) / runs
        assert drawn == pytest.approx(law, abs=5 * np.sqrt(0.25 / runs)), (owners, rank, strength)
        assert 0.5 * np.abs(drawn - law).sum() < 0.07, (owners, rank, strength)


def test_nobodys_rows_count_nowhere() -> None:
    missing = np.full(9, True)
    keys = np.arange(9)
    nobody = RankedTuples(
        (OwnerColumn("a", keys, missing), OwnerColumn("b", keys, missing)),
        np.zeros(9, np.int64),
        1,
        np.arange(9),
        np.ones(9, np.int64),
    )
    offsets = first(nobody, 1).of(Rank(0.5))
    assert {offsets.offset(code) for code in range(-1, N_CODES)} == {0}
    drawing = points(2)
    assert len({offsets.draw(1.0, drawing) for _ in range(400)}) == N_CODES


def test_each_group_has_its_own_rows() -> None:
    several = tuples(9, 200, 2, groups=3)
    for turn, rows in enumerate(SharedRows(several, N_CODES, Sharing(0.0)).by_group(2)):
        here = several.group == turn
        columns = tuple(OwnerColumn("person", one.keys[here], one.missing[here]) for one in several.owners)
        alone = RankedTuples(columns, several.group[here] * 0, 1, several.value[here], several.rows[here])
        for rank in (Rank(0.5), Rank(beyond=2)):
            assert [rows.of(rank).offset(code) for code in range(N_CODES)] == [
                first(alone, 2).of(rank).offset(code) for code in range(N_CODES)
            ]


def test_few_places_are_solved() -> None:
    many = tuples(4, 4000, 2, people=300)
    wide = RankedTuples(many.owners, many.group * 0, 1, np.arange(4000) * 37, many.rows)
    rows = next(SharedRows(wide, 4000 * 37, Sharing(0.0)).by_group(4))
    rows.of(Rank(0.5)).draw(0.1 / ONE / PARTS, points(1))
    assert len(rows._known) < 120
