"""Lengths of millions of thresholds: the tolerances of a linear program are worth nothing there, the answer is."""

from fractions import Fraction

import numpy as np
import pytest

from privacy.truncation.vector.certificate.shares import GRID, all_but, in_steps, raised
from privacy.truncation.vector.instance import DEFAULT_GAP, VectorInstance
from privacy.units import MAX_UNITS, ONE
from tests.unit.privacy.truncation.vector.vectors import Grouped, compacted, feasible

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


def test_lengths_of_a_million_thresholds_close_their_gap() -> None:
    tuples = compacted(SEVEN, 4)
    removal = VectorInstance(tuples).removal(1 << 10)
    assert feasible(tuples, removal, 1 << 10)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tau", [1, 1 << 10, 1 << 12, 1 << 15])
def test_three_owners_close_their_gap_at_every_threshold(seed: int, tau: int) -> None:
    tuples = compacted(three_owners(seed), 4)
    removal = VectorInstance(tuples).removal(tau)
    assert feasible(tuples, removal, tau)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tau_bits", [0, 11, 15, 19])
def test_weights_that_differ_by_more_than_a_linear_program_can_tell(seed: int, tau_bits: int) -> None:
    """Of a tuple of 2^40 thresholds a linear program leaves 10^-9, which hides all the others."""
    rng = np.random.default_rng(seed)
    people, rows = int(rng.choice([9, 20, 60])), int(rng.choice([20, 200]))
    tuples = compacted(
        [
            (
                frozenset((10 * rng.integers(people, size=3) + np.arange(3)).tolist()),
                int(rng.choice([1 << 61, int(rng.integers(1 << 61)), 1 << int(rng.integers(61))])),
                int(rng.integers(4)),
            )
            for _ in range(rows)
        ],
        4,
    )
    removal = VectorInstance(tuples).removal(1 << tau_bits)
    assert feasible(tuples, removal, 1 << tau_bits)
    assert 0 <= removal.removed - removal.lower <= DEFAULT_GAP


@pytest.mark.parametrize("tau", [1, 1 << 10, ONE])
def test_the_smallest_gap_closes_too(tau: int) -> None:
    tuples = compacted(three_owners(3), 4)
    removal = VectorInstance(tuples, gap=1 << 10).removal(tau)
    assert feasible(tuples, removal, tau)
    assert 0 <= removal.removed - removal.lower <= 1 << 10


def test_rounding_every_share_up_does_not_use_the_gap_up() -> None:
    n = 3000
    tuples = compacted([(frozenset({u}), 3, 0) for u in range(n)])
    removal = VectorInstance(tuples, gap=1 << 10).removal(1)
    assert 0 <= removal.removed - 2 * n * (1 << 31) // 3 <= 2


def test_in_steps_rounds_the_sum_of_millions_of_shares_once() -> None:
    shares = np.full(1 << 22, (GRID - 1) / GRID)
    assert in_steps(shares) == -(-(GRID - 1) * (1 << 22) >> 19)


def test_what_is_kept_is_never_rounded_up() -> None:
    """Next to a share of 1, where 1 - kept has no bits left for what is kept."""
    kept = np.concatenate((2.0 ** -np.arange(1.0, 70.0), 3.0 ** -np.arange(1.0, 40.0), 0.7 ** np.arange(1.0, 90.0)))
    for given, share in zip(kept.tolist(), all_but(kept).tolist(), strict=True):
        assert 0 <= Fraction(given) - (1 - Fraction(share)) < Fraction(1, GRID)
    assert all_but(np.array([np.nan, -np.inf, np.inf, 2.0])).tolist() == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("length", [1.0 + 2.0**-52, 1.5, 3.0, 1e6, 2.0**62])
def test_raised_shares_keep_at_most_one_part_of_the_length(length: float) -> None:
    shares = np.floor(np.random.default_rng(0).random(200) * GRID) / GRID
    for before, after in zip(shares.tolist(), raised(shares, np.full(200, length)).tolist(), strict=True):
        assert (1 - Fraction(after)) * Fraction(length) <= 1 - Fraction(before)


def test_weights_at_saturation_add_up_exactly() -> None:
    rows: list[Grouped] = [(frozenset({u}), MAX_UNITS - u, 0) for u in range(50)]
    instance = VectorInstance(compacted(rows))
    assert instance.sums(MAX_UNITS) == (sum(w for _, w, _ in rows) * GRID, 0, 0)
