"""Lengths of millions of thresholds: the tolerances of a linear program are worth nothing there, the answer is."""

from __future__ import annotations

import itertools
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from privacy.join_tuples import CompactJoinTuples
from privacy.papers.vector_program.certificate import GRID, all_but, in_steps, raised
from privacy.papers.vector_program.cutting_planes import Master, interior_point
from privacy.papers.vector_program.search import DEFAULT_GAP, VectorInstance
from privacy.units import MAX_UNITS, ONE
from tests.support.seeds import examples
from tests.unit.privacy.papers.vector_program.vectors import Grouped, compacted, feasible

SEVEN: list[Grouped] = [
    (frozenset({8, 4, 16}), 520734075, 2),
    (frozenset({5, 0, 15}), 1055872286, 3),
    (frozenset({7, 5, 14}), 51164467, 2),
    (frozenset({7, 5, 17}), 130246521, 3),
    (frozenset({0, 1, 14}), 628094584, 2),
    (frozenset({7, 0, 17}), 923523242, 0),
    (frozenset({1, 4, 11}), 204824607, 0),
]
"""Positions of relations b, a and b: keys of a are told from keys of b by 10."""


def three_owners(seed: int) -> list[Grouped]:
    rng = np.random.default_rng(seed)
    people, rows, groups = int(rng.choice([4, 9, 20])), int(rng.choice([7, 20, 40])), int(rng.choice([1, 4]))
    return [
        (frozenset(rng.integers(people, size=3).tolist()), int(rng.integers(1, ONE)), int(rng.integers(groups)))
        for _ in range(rows)
    ]


def five_owners(seed: int) -> list[Grouped]:
    """Weights of one unit to 2^61, with few or many people behind few or many tuples."""
    rng = np.random.default_rng(seed)
    people, rows = int(rng.choice([4, 9, 20, 60])), int(rng.choice([7, 20, 40, 200]))
    groups, style = int(rng.choice([1, 4])), int(rng.integers(3))

    def weight() -> int:
        if style == 0:
            return int(rng.integers(1, ONE))
        if style == 1:
            return int(rng.choice([1 << 61, int(rng.integers(1 << 61)), 1 << int(rng.integers(61))]))
        return int(2.0 ** rng.uniform(0, 40))

    def owners() -> frozenset[int]:
        rng.random()  # the seeds that are named elsewhere were found with this draw
        drawn = rng.integers(people, size=5)
        return frozenset((10 * drawn + np.arange(5) if apart else drawn).tolist())

    apart = seed % 2 == 1
    return [(owners(), weight(), int(rng.integers(groups))) for _ in range(rows)]


def closes(tuples: CompactJoinTuples, tau: int, gap: int = DEFAULT_GAP) -> bool:
    """Is what is removed feasible, and proved to be no more than needed but for the gap?"""
    removal = VectorInstance(tuples, gap=gap).removal(tau)
    return feasible(tuples, removal, tau) and 0 <= removal.removed - removal.lower <= gap


def test_lengths_of_a_million_thresholds_close_their_gap() -> None:
    assert closes(compacted(SEVEN, 4), 1 << 10)
    # three owners close their gap at every threshold
    for seed, tau in itertools.product(range(examples(3, 12)), (1, 1 << 10, 1 << 12, 1 << 15)):
        assert closes(compacted(three_owners(seed), 4), tau), (seed, tau)
    for tau in (1, 1 << 10, ONE):
        assert closes(compacted(three_owners(3), 4), tau, gap=1 << 10), tau


def test_weights_that_differ_by_more_than_a_linear_program_can_tell() -> None:
    """Of a tuple of 2^40 thresholds a linear program leaves 10^-9, which hides all the others."""
    for seed in range(examples(2, 6)):
        rng = np.random.default_rng(seed)
        people, rows = int(rng.choice([9, 20, 60])), int(rng.choice([20, 200]))
        table = [
            (
                frozenset((10 * rng.integers(people, size=3) + np.arange(3)).tolist()),
                int(rng.choice([1 << 61, int(rng.integers(1 << 61)), 1 << int(rng.integers(61))])),
                int(rng.integers(4)),
            )
            for _ in range(rows)
        ]
        for tau_bits in (0, 11, 15, 19):
            assert closes(compacted(table, 4), 1 << tau_bits), (seed, tau_bits)


def test_rounding_every_share_up_does_not_use_the_gap_up() -> None:
    n = 3000
    tuples = compacted([(frozenset({u}), 3, 0) for u in range(n)])
    removal = VectorInstance(tuples, gap=1 << 10).removal(1)
    assert 0 <= removal.removed - 2 * n * (1 << 31) // 3 <= 2
    # in steps rounds the sum of millions of shares once
    shares = np.full(1 << 22, (GRID - 1) / GRID)
    assert in_steps(shares) == -(-(GRID - 1) * (1 << 22) >> 19)


def test_what_is_kept_is_never_rounded_up() -> None:
    """Next to a share of 1, where 1 - kept has no bits left for what is kept."""
    kept = np.concatenate((2.0 ** -np.arange(1.0, 70.0), 3.0 ** -np.arange(1.0, 40.0), 0.7 ** np.arange(1.0, 90.0)))
    for given, share in zip(kept.tolist(), all_but(kept).tolist(), strict=True):
        assert 0 <= Fraction(given) - (1 - Fraction(share)) < Fraction(1, GRID)
    assert all_but(np.array([np.nan, -np.inf, np.inf, 2.0])).tolist() == [1.0, 1.0, 0.0, 0.0]
    # raised shares keep at most one part of the length
    for length in [1.0 + 2.0**-52, 1.5, 3.0, 1e6, 2.0**62]:
        shares = np.floor(np.random.default_rng(0).random(200) * GRID) / GRID
        for before, after in zip(shares.tolist(), raised(shares, np.full(200, length)).tolist(), strict=True):
            assert (1 - Fraction(after)) * Fraction(length) <= 1 - Fraction(before)
    # weights at saturation add up exactly
    rows: list[Grouped] = [(frozenset({u}), MAX_UNITS - u, 0) for u in range(50)]
    instance = VectorInstance(compacted(rows))
    assert instance.sums(MAX_UNITS) == (sum(w for _, w, _ in rows) * GRID, 0, 0)


def cuts(seed: int) -> tuple[csr_array, np.ndarray]:
    """Rows like those of cuts: a coefficient 1, others from 1e-9 to 1, bounds next to 1."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 40)), int(rng.integers(1, 80))
    rows = np.where(rng.random((k, n)) < 0.2, 10.0 ** -rng.uniform(0, 9, (k, n)), 0.0)
    rows[np.arange(k), rng.integers(n, size=k)] = 1.0
    return csr_array(rows), 1.0 - 10.0 ** -rng.uniform(0, 12, k)


def test_both_values_are_the_optimum() -> None:
    for seed in range(examples(10, 40)):
        rows, bound = cuts(seed)
        x, y = interior_point(rows, bound)
        optimum = linprog(np.ones(rows.shape[1]), -rows.toarray(), -bound, bounds=(0, 1)).fun
        assert np.all((x >= 0) & (x <= 1)) and np.all(y >= 0), seed
        assert np.all(rows @ x >= bound - 1e-11), seed
        proved = y @ bound - np.maximum(rows.T @ y - 1.0, 0.0).sum()
        assert x.sum() == pytest.approx(optimum, abs=1e-6), seed
        assert proved == pytest.approx(x.sum(), abs=1e-6), seed


def test_rows_that_repeat_one_another_have_a_point_too() -> None:
    rows, bound = cuts(3)
    twice = csr_array(np.vstack([rows.toarray()] * 3))
    once, again = interior_point(rows, bound)[0], interior_point(twice, np.tile(bound, 3))[0]
    assert again.sum() == pytest.approx(once.sum(), abs=1e-9)


def test_the_gap_closes_without_simplex_and_when_it_is_wrong() -> None:
    """Shares too small and duals too small, said to be optimal: the core proves too little and is done again."""
    warm = Master._warm

    def wrong(self: Master) -> tuple[np.ndarray, np.ndarray] | None:
        found = warm(self)
        return None if found is None else (found[0] * 0.9, found[1] * 0.5)

    for seed in range(examples(2, 6)):
        tuples = compacted(three_owners(seed), 4)
        for tau in (1, 1 << 12):
            with patch.object(Master, "_warm", return_value=None):
                assert closes(tuples, tau), (seed, tau)
        with patch.object(Master, "_warm", wrong):
            assert closes(tuples, 1 << 10), seed


def test_where_a_warm_simplex_ends_without_a_factor() -> None:
    for seed, tau_bits in ((339, 12), (921, 15), (1044, 0), (3851, 5)):
        assert closes(compacted(five_owners(seed), 4), 1 << tau_bits), seed


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 20))
def test_five_owners_always_close_their_gap(first: int) -> None:
    for seed in range(first, first + 20):
        tuples = compacted(five_owners(seed), 4)
        for tau_bits in (0, 5, 10, 12, 15, 19):
            removal = VectorInstance(tuples).removal(1 << tau_bits)
            assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP
