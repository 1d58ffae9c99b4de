from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.exact import exact
from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn
from privacy.mechanisms.by_key.fpa import coefficient_scale, reconstructed
from privacy.mechanisms.by_key.incidence import Incidence
from privacy.mechanisms.by_key.key_counts import KeyCounts, _reach_of_sum, frequencies
from privacy.mechanisms.by_key.noisy_counts import NoisyCounts
from privacy.mechanisms.by_key.smoothing_bias import SmoothingBias, quantile
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", shapes(2))
def test_an_interval_covers_the_count_of_each_key(name: str, shape: str) -> None:
    """600 releases of 24 keys: each key's is missed in 5% at most, four standard deviations beside."""
    counts = np.array(shapes(24)[shape])
    keys = np.repeat(np.arange(24), counts)
    made, entropy, draws = KeyCounts(name, 1.0, 6, 3), SimulatedEntropy(20), SeededDraws(21)
    missed = np.zeros(24)
    for _ in range(600):
        found = made.release(np.arange(len(keys)), keys, 24, draws, entropy)
        missed += (counts < found.low) | (counts > found.high)
        assert (found.low <= found.values).all()
    assert missed.max() / 600 <= 0.05 + 4 * (0.05 * 0.95 / 600) ** 0.5


@pytest.mark.parametrize("name", NAMES)
def test_what_is_spent_is_what_is_charged(name: str) -> None:
    """Each draw of noise by what it hides: of the counts, of a sample of two keys, of scores, of the bias."""
    made, recorded = KeyCounts(name, 1.0, 4, 2), RecordedEntropy(SimulatedEntropy(3))
    keys = np.repeat(np.arange(9), 5)
    made.release(np.arange(45), keys, 9, DRAWS, recorded)
    part = Fraction(7, 8)
    spent = {
        "lpa": [4 / exact(1.0)],
        "gs_r": [4 / part, 2 * Fraction(8) * 1024],
        "gs_s": [2 / (part / 2), 4 / (part / 2), 2 * Fraction(8) * 1024],
        "gs": [2 / (part / 128), 2052 / (part * 3 / 128), 4 / (part * 31 / 32)],
    }
    told = [scale for _, scale, _ in recorded.draws]
    if name == "fpa":
        assert len(told) == 2
        assert told[1] == pytest.approx(float(made._bias.scale(9, 4, 2)))
        return
    assert told[: len(spent[name])] == pytest.approx([float(scale) for scale in spent[name]])
    assert len(told) <= len(spent[name]) + (name == "gs")
    assert (made.event, made.delta, made.epsilon_if_bound_fails(9)) == (PureDP(1.0), 0.0, 1.0)
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_rule_counts_twice_and_what_follows_from_a_unit_once() -> None:
    units, keys = np.repeat(np.arange(10), 8), np.tile(np.arange(8), 10)

    def counted(made: KeyCounts, n_keys: int = 8) -> tuple[float, float]:
        found = made.release(units, keys, n_keys, DRAWS, NOISELESS)
        return float(found.values.sum()), float(found.noise_scale[0])

    assert counted(KeyCounts("lpa", 1.0, 6, 3)) == (30.0, 6.0)
    assert counted(KeyCounts("lpa", 1.0, 8, 4)) == (80.0, 8.0)  # twice the rule is all keys: nothing is left out
    assert counted(KeyCounts("lpa", 1.0, 1)) == (10.0, 1.0)
    assert counted(KeyCounts("lpa", 1.0)) == (80.0, 8.0)
    assert counted(KeyCounts("lpa", 1.0, 20, 10)) == (80.0, 8.0)


def test_a_unit_with_many_rows_at_a_key_counts_once_there_and_nobody_s_rows_do_not() -> None:
    keys = np.array([0, 0, 0, 1, 1, -1, 1])
    people = np.array([7, 7, 7, 7, 8, 8, 9])
    missing = np.array([False] * 6 + [True])
    owner = OwnerColumn("person", people, missing)
    values = DistinctTuples((owner,), keys, 3, np.array([1, 1, -1, 1, 2, 2, 3]))
    assert KeyCounts("lpa", 1.0).of_values(values, DRAWS, NOISELESS).values.tolist() == [1, 2, 0]
    weights = np.array([[ONE, ONE, ONE, 0, ONE, ONE, ONE]])
    coded = encode(JoinTuples((owner,), keys, 3, weights))
    assert KeyCounts("lpa", 1.0).of_sums(coded, 0, DRAWS, NOISELESS).values.tolist() == [1, 1, 0]


def test_a_value_that_is_null_does_not_count() -> None:
    owner = OwnerColumn("person", np.arange(4), np.zeros(4, bool))
    values = DistinctTuples((owner,), np.zeros(4, np.int64), 2, np.array([-1, 0, -1, 5]))
    assert KeyCounts("lpa", 1.0).of_values(values, DRAWS, NOISELESS).values.tolist() == [2, 0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_keys", [1, 2, 3, 50])
def test_nobody_at_few_keys_is_answered_like_anybody(name: str, n_keys: int) -> None:
    found = KeyCounts(name, 1.0).release(NOBODY, NOBODY, n_keys, DRAWS, SimulatedEntropy(5))
    assert len(found.values) == n_keys
    assert np.isfinite([found.values, found.low, found.high, found.noise_scale]).all()
    assert (found.covers, found.mechanism) == ("truncated_full" if name == "lpa" else "smoothed", name)


@pytest.mark.parametrize("name", NAMES)
def test_the_noise_that_is_told_beforehand_is_that_of_an_interval(name: str) -> None:
    """Where nothing is smoothed in vain; of `gs` that of its counts, which few keys are released as."""
    made = KeyCounts(name, 1.0, 2)
    ((tau, half),) = made.expected_noise(60)
    found = made.release(NOBODY, NOBODY, 60, DRAWS, NOISELESS)
    assert tau == 1.0
    if name == "gs":
        half -= made._bias.added(60, 2, 0, 0.025)
    assert (found.high - found.low)[0] / 2 == pytest.approx(half, abs=0.02)


def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_read() -> None:
    for name in NAMES:
        made = KeyCounts(name, 1e-12)
        with pytest.raises(InvalidParameter):
            made.check_noise(1_000_000)
        with pytest.raises(InvalidParameter):
            made.release(NOBODY, NOBODY, 1_000_000, DRAWS, SimulatedEntropy(1))
        KeyCounts(name, 1.0).check_noise(1_000_000)


def test_how_many_frequencies_is_public_and_leaves_half_of_the_noise() -> None:
    for n_keys, moved in ((1, 1), (2, 1), (40, 40), (256, 2), (10_000, 4), (1_000_000, 20)):
        table = Incidence(NOBODY, NOBODY, n_keys, moved, settled=True)
        rho = frequencies(table)
        assert 1 <= rho <= 32
        assert 2 * rho - 1 <= n_keys
        assert rho == 1 or (2 * rho - 1) * (moved / n_keys) ** 0.5 <= moved / 2 + 1e-9


@pytest.mark.parametrize(("n_keys", "rho"), [(8, 3), (9, 5), (8, 5), (64, 4)])
def test_a_sum_of_noisy_coefficients_stays_within_its_reach_in_every_key(n_keys: int, rho: int) -> None:
    """4,000 sums: the bound holds in each key; Chernoff makes it less than twice as wide as it need be."""
    table, entropy = Incidence(NOBODY, NOBODY, n_keys, 2), SimulatedEntropy(30)
    off = np.array([np.abs(reconstructed(table, rho, Fraction(1), entropy)[0]) for _ in range(4_000)])
    reach = _reach_of_sum(table, rho, coefficient_scale(table, rho, Fraction(1)), 0.025)
    assert (off > reach).mean(axis=0).max() <= 0.05 + 4 * (0.05 * 0.95 / 4_000) ** 0.5
    assert reach < 2 * np.quantile(off, 0.95, axis=0).max()


def test_the_quantile_is_the_least() -> None:
    for scale in (0.3, 1.0, 17.5):
        steps = np.arange(-4000, 4001)
        weight = np.exp(-np.abs(steps) / scale)
        weight /= weight.sum()
        for tail in (0.2, 0.025, 1e-4):
            reach = quantile(scale, tail)
            assert weight[steps > reach].sum() <= tail * (1 + 1e-9)
            assert reach == 0 or weight[steps > reach - 1].sum() > tail


def test_the_bias_of_groups_is_exact_and_rounded_up() -> None:
    keys = np.repeat(np.arange(5), [3, 0, 5, 1, 1])
    table = Incidence(np.arange(10), keys, 5, 1)
    group = np.array([0, 0, 1, 1, 1])
    smooth = NoisyCounts(np.zeros(5), np.ones(5), group, 2, "gs_r", 1.0)
    reach = quantile(2 * 1024 / 0.5, 0.1)
    assert SmoothingBias(Fraction(1, 2)).at_most(table, smooth, 0.1, NOISELESS) == (2731 + reach) / 1024  # 5 - 7/3
    alone = NoisyCounts(np.zeros(5), np.ones(5), np.arange(5), 1, "gs", 1.0)
    assert SmoothingBias(Fraction(1, 2)).at_most(table, alone, 0.1, NOISELESS) == 0.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: KeyCounts("gem", 1.0),
        lambda: KeyCounts("lpa", 0.0),
        lambda: KeyCounts("gs", 2000.0),
        lambda: KeyCounts("fpa", 1.0, 0),
        lambda: KeyCounts("fpa", 1.0, 2, 0),
        lambda: KeyCounts("fpa", 1.0, confidence=1.0),
    ],
)
def test_refuses_parameters_out_of_range(make) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter):
        make()
