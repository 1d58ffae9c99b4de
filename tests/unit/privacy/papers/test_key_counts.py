"""Counts of units at each key, and the rule that is enforced before."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.exact import exact
from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.noise import laplace_quantile
from privacy.papers.grouping_smoothing import Incidence, NoisyCounts, coefficient_scale, enforced, reconstructed
from privacy.papers.key_counts import KeyCounts, SmoothingBias, _reach_of_sum, frequencies
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.seeded_draws import SeededDraws
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.refusals import refuses, refuses_calls

UNITS = np.array([3, 3, 3, 3, 1, 1, 0, 3])
KEYS = np.array([0, 1, 2, 1, 2, 2, 2, 4])


def test_a_pair_counts_once_and_a_unit_at_few_keys() -> None:
    whole = enforced(UNITS, KEYS, 6, 6, SeededDraws(1))
    assert whole.counts.tolist() == [1, 1, 3, 0, 1, 0]
    assert whole.moved == 6
    few = enforced(UNITS, KEYS, 6, 2, SeededDraws(1))
    assert np.bincount(few.units).tolist() == [1, 1, 0, 2]
    assert few.moved == 2
    assert (few.counts <= whole.counts).all()


def test_which_keys_stay_and_which_is_first_is_uniform() -> None:
    """20,000 units at five keys, two kept: every key 8,000 times and first 4,000, within 5.5 standard deviations."""
    units, keys = np.divmod(np.arange(100_000), 5)
    kept = enforced(units, keys, 5, 2, SeededDraws(2))
    assert np.abs(kept.counts - 8000).max() < 5.5 * np.sqrt(20_000 * 0.4 * 0.6)
    assert np.abs(np.bincount(kept.first, minlength=5) - 4000).max() < 5.5 * np.sqrt(20_000 * 0.2 * 0.8)
    assert len(kept.first) == 20_000


def test_nobody_is_there_and_nothing_is_shown() -> None:
    nobody = enforced(np.zeros(0, np.int64), np.zeros(0, np.int64), 3, 2, SeededDraws(3))
    assert nobody.counts.tolist() == [0, 0, 0]
    assert len(nobody.first) == 0
    assert repr(nobody) == "Incidence(<private>)"
    # a key that is not public is dropped and nobody is told
    found = enforced(np.array([0, 0, 1, 2]), np.array([-1, 1, 7, 0]), 2, 2, SeededDraws(4))
    assert found.counts.tolist() == [1, 1]
    # refuses what is no table
    zero, draws = np.zeros(1, np.int64), SeededDraws(1)
    refuses_calls(enforced, (zero, zero, 0, 1, draws), (zero, zero, 1, 0, draws), (zero - 1, zero, 1, 1, draws))
    refuses_calls(enforced, (np.array([0, 1]), zero, 1, 1, draws), (np.array([1 << 31]), zero, 1, 1, draws))


NAMES = ("lpa", "fpa", "gs_r", "gs_s", "gs")
NOISELESS, DRAWS = ConstantEntropy(), SeededDraws(1)
NOBODY = np.zeros(0, np.int64)


def shapes(n_keys: int) -> dict[str, list[int]]:
    """Counts that are smoothed well, badly, and not at all."""
    return {
        "flat": [9] * n_keys,
        "one stands out": [0] * (n_keys - 1) + [500],
        "steps": [100 * (key % 4) for key in range(n_keys)],
        "nobody": [0] * n_keys,
    }


@pytest.mark.slow
def test_an_interval_covers_the_count_of_each_key() -> None:
    """Releases of 24 keys: each key's is missed in 5% at most, four standard deviations beside."""
    runs = examples(100, 600)
    for name, (shape, counts) in itertools.product(NAMES, shapes(24).items()):
        keys = np.repeat(np.arange(24), counts)
        made, entropy, draws = KeyCounts(name, 1.0, 6, 3), SimulatedEntropy(20), SeededDraws(21)
        missed = np.zeros(24)
        for _ in range(runs):
            found = made.release(np.arange(len(keys)), keys, 24, draws, entropy)
            missed += (np.array(counts) < found.low) | (np.array(counts) > found.high)
            assert (found.low <= found.values).all(), (name, shape)
        assert missed.max() / runs <= 0.05 + 4 * (0.05 * 0.95 / runs) ** 0.5, (name, shape)


def test_what_is_spent_is_what_is_charged() -> None:
    """Each draw of noise by what it hides: of the counts, of a sample, of scores, of the bias."""
    keys, part = np.repeat(np.arange(9), 5), Fraction(7, 8)
    fpa = KeyCounts("fpa", 1.0, 2, 2)._bias.scale(9, 2, 1)
    spent: dict[str, list[Any]] = {
        "lpa": [2 / exact(1.0)],
        "fpa": [None, fpa],
        "gs_r": [2 / part, Fraction(8) * 1024],
        "gs_s": [1 / (part / 2), 2 / (part / 2), Fraction(8) * 1024],
        "gs": [1 / (part / 128), 2052 / (part * 3 / 128), 2 / (part * 31 / 32)],
    }
    for name, scales in spent.items():
        made, recorded = KeyCounts(name, 1.0, 2, 2), RecordedEntropy(SimulatedEntropy(3))
        made.release(np.arange(45), keys, 9, DRAWS, recorded)
        told = [scale for _, scale, _ in recorded.draws]
        assert len(scales) <= len(told) <= len(scales) + (name == "gs"), name
        for one, scale in zip(told, scales, strict=False):
            assert scale is None or one == pytest.approx(float(scale)), name
        assert (made.event, made.delta, made.epsilon_if_bound_fails(9)) == (PureDP(1.0), 0.0, 1.0)
        assert pickle.loads(pickle.dumps(made)) == made


def test_a_rule_and_what_follows_from_a_unit_count_once() -> None:
    units, keys = np.repeat(np.arange(10), 8), np.tile(np.arange(8), 10)

    def counted(made: KeyCounts, n_keys: int = 8) -> tuple[float, float]:
        found = made.release(units, keys, n_keys, DRAWS, NOISELESS)
        return float(found.values.sum()), float(found.noise_scale[0])

    assert counted(KeyCounts("lpa", 1.0, 3, 3)) == (30.0, 3.0)
    assert counted(KeyCounts("lpa", 1.0, 8, 8)) == (80.0, 8.0)  # the rule is all keys: nothing is left out
    assert counted(KeyCounts("lpa", 1.0, 1)) == (10.0, 1.0)
    assert counted(KeyCounts("lpa", 1.0)) == (80.0, 8.0)
    assert counted(KeyCounts("lpa", 1.0, 10, 10)) == (80.0, 8.0)


def test_a_unit_with_many_rows_at_a_key_counts_once_there_and_nobody_s_rows_do_not() -> None:
    keys = np.array([0, 0, 0, 1, 1, -1, 1])
    people = np.array([7, 7, 7, 7, 8, 8, 9])
    missing = np.array([False] * 6 + [True])
    owner = OwnerColumn("person", people, missing)
    values = DistinctTuples((owner,), keys, 3, np.array([1, 1, -1, 1, 2, 2, 3]))  # null is -1
    assert KeyCounts("lpa", 1.0).of_values(values, DRAWS, NOISELESS).values.tolist() == [1, 2, 0]
    weights = np.array([[ONE, ONE, ONE, 0, ONE, ONE, ONE]])
    coded = encode(JoinTuples((owner,), keys, 3, weights))
    assert KeyCounts("lpa", 1.0).of_sums(coded, 0, DRAWS, NOISELESS).values.tolist() == [1, 1, 0]


def test_nobody_at_few_keys_is_answered_like_anybody() -> None:
    for name in NAMES:
        for n_keys in [1, 2, 3, 50]:
            found = KeyCounts(name, 1.0).release(NOBODY, NOBODY, n_keys, DRAWS, SimulatedEntropy(5))
            assert len(found.values) == n_keys, (name, n_keys)
            assert np.isfinite([found.values, found.low, found.high, found.noise_scale]).all(), (name, n_keys)
            assert (found.covers, found.mechanism) == ("truncated_full" if name == "lpa" else "smoothed", name)


def test_the_noise_that_is_told_beforehand_is_that_of_an_interval() -> None:
    """Where nothing is smoothed in vain; of `gs` that of its counts, which few keys are released as."""
    for name in NAMES:
        made = KeyCounts(name, 1.0, 2)
        ((tau, half),) = made.expected_noise(60)
        found = made.release(NOBODY, NOBODY, 60, DRAWS, NOISELESS)
        assert tau == 1.0, name
        if name == "gs":
            half -= made._bias.added(60, 2, 0, 0.025)
        assert (found.high - found.low)[0] / 2 == pytest.approx(half, abs=0.02), name


def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_read() -> None:
    for name in NAMES:
        made = KeyCounts(name, 1e-12)
        with pytest.raises(InvalidParameter):
            made.check_noise(1_000_000)
        with pytest.raises(InvalidParameter):
            made.release(NOBODY, NOBODY, 1_000_000, DRAWS, SimulatedEntropy(1))
        KeyCounts(name, 1.0).check_noise(1_000_000)
    # how many frequencies is public and leaves half of the noise
    for n_keys, moved in ((1, 1), (2, 1), (40, 40), (256, 2), (10_000, 4), (1_000_000, 20)):
        table = Incidence(NOBODY, NOBODY, n_keys, moved)
        rho = frequencies(table)
        assert 1 <= rho <= 32
        assert 2 * rho - 1 <= n_keys
        assert rho == 1 or (2 * rho - 1) * (moved / n_keys) ** 0.5 <= moved / 2 + 1e-9


def test_a_sum_of_noisy_coefficients_stays_within_its_reach_in_every_key() -> None:
    """The bound holds in each key; Chernoff makes it less than twice as wide as it need be."""
    runs = examples(1_000, 4_000)
    for n_keys, rho in [(8, 3), (9, 5), (8, 5), (64, 4)]:
        table, entropy = Incidence(NOBODY, NOBODY, n_keys, 2), SimulatedEntropy(30)
        off = np.array([np.abs(reconstructed(table, rho, Fraction(1), entropy)[0]) for _ in range(runs)])
        reach = _reach_of_sum(table, rho, coefficient_scale(table, rho, Fraction(1)), 0.025)
        assert (off > reach).mean(axis=0).max() <= 0.05 + 4 * (0.05 * 0.95 / runs) ** 0.5, (n_keys, rho)
        assert reach < 2 * np.quantile(off, 0.95, axis=0).max(), (n_keys, rho)


def test_the_quantile_is_the_least() -> None:
    for scale in (0.3, 1.0, 17.5):
        steps = np.arange(-4000, 4001)
        weight = np.exp(-np.abs(steps) / scale)
        weight /= weight.sum()
        for tail in (0.2, 0.025, 1e-4):
            reach = laplace_quantile(tail, scale)
            assert weight[steps > reach].sum() <= tail * (1 + 1e-9)
            assert reach == 0 or weight[steps > reach - 1].sum() > tail


def test_the_bias_of_groups_is_exact_and_rounded_up() -> None:
    keys = np.repeat(np.arange(5), [3, 0, 5, 1, 1])
    table = Incidence(np.arange(10), keys, 5, 1)
    group = np.array([0, 0, 1, 1, 1])
    smooth = NoisyCounts(np.zeros(5), np.ones(5), group, 2, "gs_r", 1.0)
    reach = laplace_quantile(0.1, 1024 / 0.5)
    assert SmoothingBias(Fraction(1, 2)).at_most(table, smooth, 0.1, NOISELESS) == (2731 + reach) / 1024  # 5 - 7/3
    alone = NoisyCounts(np.zeros(5), np.ones(5), np.arange(5), 1, "gs", 1.0)
    assert SmoothingBias(Fraction(1, 2)).at_most(table, alone, 0.1, NOISELESS) == 0.0


def test_refuses_parameters_out_of_range() -> None:
    refuses_calls(KeyCounts, ("gem", 1.0), ("lpa", 0.0), ("gs", 2000.0), ("fpa", 1.0, 0), ("fpa", 1.0, 2, 0))
    refuses(KeyCounts, {"name": "fpa", "epsilon": 1.0}, confidence=[1.0])
