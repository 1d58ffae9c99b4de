from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.papers.grouping_smoothing import (
    FPA,
    GSR,
    GSS,
    LPA,
    Incidence,
    coefficients,
    column,
    enforced,
    equal_groups,
    reconstructed,
    smoothed,
)
from privacy.papers.smoothing_choice import GS, _candidates
from tests.support.papers.grouping_variants import CutGS, GSSOfRows, PublishedGS, noisy_rows, row_rate
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls, refuses_each

DRAWS = SeededDraws(1)
NOISELESS = ConstantEntropy()


def units_per_key(counts: list[int], most: int | None = None) -> Incidence:
    """So many units at each key, each at one key alone."""
    keys = np.repeat(np.arange(len(counts)), counts)
    return enforced(np.arange(len(keys)), keys, len(counts), most or 1, DRAWS)


COUNTS = [50, 3, 47, 4, 52, 2, 5]
Mechanism = LPA | FPA | GSR | GSS | GS | PublishedGS


def test_without_noise_nothing_changes_where_nothing_is_smoothed() -> None:
    unsmoothed: list[Mechanism] = [LPA(1.0), FPA(1.0, 4), PublishedGS(1.0)]
    for mechanism in unsmoothed:
        released = mechanism.release(units_per_key(COUNTS), DRAWS, NOISELESS)
        if released.group_size == 1:
            assert released.values == pytest.approx(COUNTS, abs=1e-3), mechanism
        assert (released.mechanism, released.epsilon) == (mechanism.name, 1.0)
        assert mechanism.event == PureDP(1.0)
    # groups are of one size and the last has the rest
    assert equal_groups(np.array([3, 1, 0, 2, 4]), 2).tolist() == [1, 0, 1, 0, 1]
    assert equal_groups(np.arange(5), 5).tolist() == [0] * 5
    with pytest.raises(InvalidParameter):
        equal_groups(np.arange(5), 6)


def test_keys_of_a_group_have_its_mean() -> None:
    smoothing: list[Mechanism] = [GSR(1.0), GSS(1.0), GSSOfRows(1.0), GS(1.0), PublishedGS(1.0)]
    for mechanism in smoothing:
        released = mechanism.release(units_per_key(COUNTS), DRAWS, NOISELESS)
        for group in range(released.group.max() + 1):
            own = released.group == group
            assert released.values[own] == pytest.approx(np.full(own.sum(), np.array(COUNTS)[own].mean())), mechanism
            assert own.sum() >= released.group_size, mechanism
        assert (released.mechanism, released.epsilon) == (mechanism.name, 1.0)
        assert mechanism.event == PureDP(1.0)


def test_keys_alike_in_the_sample_are_grouped() -> None:
    """One key per unit: the sample is the counts, and groups of Delta_1 = 2 are the neighbours in rank."""
    released = GSS(1.0).release(units_per_key(COUNTS, most=2), DRAWS, NOISELESS)
    assert sorted(map(sorted, (np.flatnonzero(released.group == g).tolist() for g in range(3)))) == [
        [0, 2, 4],
        [1, 5],
        [3, 6],
    ]


def test_what_each_stage_spends() -> None:
    stages: list[tuple[Mechanism, list[float]]] = [
        (LPA(0.5), [2 / 0.5]),
        (GSR(0.5), [2 / 0.5]),
        (GSS(0.5), [1 / 0.25, 2 / 0.25]),
        (GSSOfRows(0.5), [1 / 0.25, 2 / 0.25]),
        (PublishedGS(0.5), [1 / 0.25, 2 / 0.25]),
        (GS(0.5), [256, 2 * 1026 * 128 / 1.5, 2 / (0.5 * 31 / 32)]),
    ]
    for mechanism, scales in stages:
        recorded = RecordedEntropy(NOISELESS)
        mechanism.release(units_per_key(COUNTS * 3, most=2), DRAWS, recorded)
        assert [scale for _, scale, _ in recorded.draws] == pytest.approx(scales), (mechanism, scales)


def test_one_group_of_all_keys_needs_noise_for_the_keys_of_one_unit_only() -> None:
    recorded = RecordedEntropy(NOISELESS)
    GS(0.1).release(units_per_key([1] * 9000, most=2), DRAWS, recorded)
    _, scale, draws = recorded.draws[-1]
    assert len(draws) == 1
    assert scale == pytest.approx(2 / (0.1 * 31 / 32))


def test_the_size_suits_the_counts() -> None:
    """Flat and small counts are smoothed together, large ones that differ are not, few keys are left alone."""
    entropy = SimulatedEntropy(4)
    assert GS(0.1).release(units_per_key([2] * 9000, most=4), DRAWS, entropy).group_size == 9000
    assert GS(1.0).release(units_per_key([100 * i for i in range(40)]), DRAWS, entropy).group_size == 1
    assert GS(0.1).release(units_per_key([2] * 40, most=4), DRAWS, entropy).group_size == 1


def test_two_levels_are_grouped_apart() -> None:
    """Half of 4000 keys have 2000 units, in any order: means of groups tell them from the others."""
    counts = np.random.default_rng(8).permutation([0, 2000] * 2000)
    keys = np.repeat(np.arange(4000), counts)
    table, entropy = Incidence(np.arange(len(keys)), keys, 4000, 64), SimulatedEntropy(5)
    released, alone = GS(1.0, share=0.25).release(table, DRAWS, entropy), LPA(1.0).release(table, DRAWS, entropy)
    assert 2 < released.group_size <= 2000
    assert np.abs(released.values - counts).mean() < 0.5 * np.abs(alone.values - counts).mean()


def test_a_slow_wave_is_released_by_its_frequencies() -> None:
    wave = np.rint(900 + 800 * np.cos(2 * np.pi * np.arange(6000) / 6000)).astype(int)
    keys = np.repeat(np.arange(6000), wave)
    table = Incidence(np.arange(len(keys)), keys, 6000, 32)
    released = GS(0.1, share=0.25).release(table, DRAWS, SimulatedEntropy(5))
    assert (released.group_size, len(np.unique(released.group))) == (1, 6000)
    assert np.abs(released.values - wave).mean() < 64 / 0.1 / 10


def test_frequencies_whose_noise_cannot_be_drawn_are_not_chosen_from() -> None:
    table, order = units_per_key([1] * 100_000, most=30_000), np.arange(100_000)
    many, few = (_candidates(table, order, Fraction(1, per)) for per in (1, 40_000))
    assert {one.released.frequencies for one in many} == {0, 2, 4, 8, 16}
    assert {one.released.frequencies for one in few} == {0}


def test_where_floats_would_err_by_more_than_is_allowed_for_there_is_no_choice() -> None:
    table, order = units_per_key([1] * 1000, most=4), np.arange(1000)
    assert _candidates(table, order, Fraction(1000, 1 << 32))
    assert not _candidates(table, order, Fraction(999, 1 << 32))
    # nothing below zero is released
    nobody = units_per_key([0] * 50, most=4)
    assert (CutGS(0.1).release(nobody, DRAWS, SimulatedEntropy(9)).values >= 0).all()
    assert (PublishedGS(0.1).release(nobody, DRAWS, SimulatedEntropy(9)).values < 0).any()


def test_each_score_is_the_error_that_follows() -> None:
    """The mean error of 3000 releases of each candidate, of 24 keys, is the score that it was given, within 6%."""
    counts = [0, 1, 30, 2, 5, 40, 33, 28] * 3
    table, order, entropy = units_per_key(counts, most=4), np.argsort(counts), SimulatedEntropy(10)
    alone = 2 * 2 * (1 - np.exp(-np.array(counts) / 4) / 2).sum()
    for one in _candidates(table, order, Fraction(1))[:-1]:
        off = []
        for _ in range(3000):
            if one.released.frequencies:
                values, _ = reconstructed(table, one.released.frequencies, Fraction(1), entropy)
            else:
                values, _ = smoothed(table, equal_groups(order, one.released.size), Fraction(1), entropy)
            off.append(np.abs(values - counts).sum())
        assert np.mean(off) == pytest.approx(one.excess + alone, rel=0.06)


def test_the_published_choice_finds_smaller_groups_than_are_good() -> None:
    flat = units_per_key([2] * 500, most=4)
    assert PublishedGS(0.1).release(flat, DRAWS, SimulatedEntropy(4)).group_size < 100


def test_rows_are_drawn_with_what_amplification_allows() -> None:
    assert row_rate(1, Fraction(1)) == pytest.approx(1.0)
    assert row_rate(2, Fraction(1)) == pytest.approx(1 / (np.e + 1))
    assert row_rate(2, Fraction(1)) < 1 / (np.e + 1)
    assert row_rate(100, Fraction(1)) == row_rate(10_000, Fraction(1)) == 0.0
    crowd = units_per_key([100_000, 0], most=2)
    drawn = noisy_rows(crowd, Fraction(1), SeededDraws(5), NOISELESS)
    assert drawn[0] == pytest.approx(100_000 / (np.e + 1), rel=0.03)
    assert noisy_rows(units_per_key([7] * 90, most=90), Fraction(9), DRAWS, NOISELESS).tolist() == [0] * 90


def test_the_basis_is_orthogonal_and_all_coefficients_are_the_counts() -> None:
    for d in [1, 2, 5, 8]:
        basis = np.stack([column(number, np.arange(d), d) for number in range(d)]) / 2.0**20
        assert basis @ basis.T == pytest.approx(d * np.eye(d), abs=1e-4)
        counts = [3, 1, 4, 1, 5, 9, 2, 6][:d]
        assert coefficients(np.array(counts), d) / 2.0**20 == pytest.approx(basis @ counts, abs=1e-4)
        assert FPA(1.0, d).release(units_per_key(counts), DRAWS, NOISELESS).values == pytest.approx(counts, abs=1e-3)


def test_few_frequencies_keep_what_is_slow() -> None:
    counts = np.rint(1000 + 500 * np.cos(2 * np.pi * np.arange(64) / 64)).astype(int).tolist()
    released = FPA(1.0, 2).release(units_per_key(counts), DRAWS, SimulatedEntropy(6))
    assert released.values == pytest.approx(counts, abs=10)
    mean = FPA(1.0, 1).release(units_per_key(counts), DRAWS, NOISELESS)
    assert mean.values == pytest.approx(np.full(64, np.mean(counts)), abs=1e-3)


def test_the_noise_is_as_large_as_is_said() -> None:
    """600 releases of each: the mean of squares within 15% of twice the square of the scale."""
    nothing = enforced(np.zeros(0, np.int64), np.zeros(0, np.int64), 12, 3, DRAWS)
    entropy = SimulatedEntropy(7)
    for mechanism in (LPA(0.5), GSR(0.5), GSS(0.5), FPA(0.5, 3), FPA(0.5, 7)):
        released = [mechanism.release(nothing, DRAWS, entropy) for _ in range(600)]
        squares = np.mean([one.values**2 for one in released])
        assert squares == pytest.approx(2 * np.mean([one.noise_scale**2 for one in released]), rel=0.15)


@pytest.mark.slow
def test_a_million_keys_are_released_by_every_mechanism() -> None:
    """A pair for two keys in three."""
    keys = np.arange(0, 1_000_000, 3)
    table = enforced(np.tile(keys // 6, 2), np.concatenate([keys, keys + 1]), 1_000_002, 8, DRAWS)
    for mechanism in (LPA(1.0), GSR(1.0), GSS(1.0), GS(1.0), FPA(1.0, 8)):
        assert len(mechanism.release(table, DRAWS, SimulatedEntropy(8)).values) == 1_000_002


def test_refuses_parameters_out_of_range() -> None:
    refuses_each(LPA, [0.0])
    refuses_each(GSR, [-1.0])
    refuses_each(GSS, [float("inf")])
    refuses_each(GS, [1025.0])
    refuses_calls(FPA, (1.0, 0), (0.0, 1))
    refuses(GS, {"epsilon": 1.0}, share=[0.0, 1.0])
