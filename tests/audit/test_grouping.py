"""LPA, FPA, GS-R, GS-S and GS keep their claims where a unit comes with its keys, and their mutants do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.papers.grouping_smoothing import (
    FPA,
    GSR,
    GSS,
    LPA,
    Incidence,
    NoisyCounts,
    coefficient_scale,
    coefficients,
    equal_groups,
    noisy,
    noisy_sample,
    reals,
    sensitivity,
    smoothed,
)
from privacy.papers.key_counts import KeyCounts, SmoothingBias
from privacy.papers.smoothing_choice import GS, Smoothing, choose
from privacy.sampling.draws import Draws
from tests.audit.auditing import loss_bound, plain, slow
from tests.audit.auditor import Outputs
from tests.audit.mutants import WeakerNoise
from tests.support.papers.grouping_variants import PublishedGS, noisy_rows, row_rate
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.seeded_draws import SeededDraws
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = 5_000
Release = Callable[[Incidence], NDArray[np.float64]]
"""(k,) of one release: numbers that are high on the first input and low on the second, or the other way round."""


def at(keys: list[int], n_keys: int, most: int, crowd: tuple[int, ...] = ()) -> Incidence:
    """One unit at the keys that were kept of its own, and others at one key each."""
    units = np.array([0] * len(keys) + [*range(1, len(crowd) + 1)], np.int64)
    return Incidence(units, np.array([*keys, *crowd], np.int64), n_keys, most)


COMES = at([0, 1], 4, 2), at([], 4, 2)
"""A unit at two of four keys, and nobody."""

ENTERS = at([0], 2, 1), at([], 2, 1)


def bound(pair: tuple[Incidence, Incidence], signs: list[int], release: Release, runs: int = RUNS) -> float:
    """Of epsilon, by the largest of the numbers, each with its sign: it is low only if all are."""

    def run(table: Incidence, size: int) -> Outputs:
        return plain(np.array([(release(table) * signs).max() for _ in range(size)]))

    return loss_bound(run, pair, runs)


def values(
    mechanism: LPA | FPA | GSR | GSS | GS | PublishedGS, entropy: Entropy | None = None, draws: Draws | None = None
) -> Release:
    source, drawn = entropy or SimulatedEntropy(20260110), draws or SeededDraws(20260111)
    return lambda table: mechanism.release(table, drawn, source).values


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [LPA(1.0), GS(1.0), GSR(1.0), GSS(1.0), PublishedGS(1.0), FPA(1.0, 3)])
def test_the_keys_of_a_unit_cost_no_more_than_epsilon(mechanism: LPA | FPA | GSR | GSS | GS | PublishedGS) -> None:
    assert bound(COMES, [1, 1, -1, -1], values(mechanism)) <= 1.0


@pytest.mark.slow
def test_laplace_noise_in_every_count_costs_all() -> None:
    assert bound(ENTERS, [1, -1], values(LPA(1.0)), 20_000) > 0.6


@pytest.mark.parametrize(("sampling", "least"), [("column", 0.3), slow("row", 0.0)])
def test_a_sample_of_a_unit_that_comes(sampling: str, least: float) -> None:
    source, draws = SimulatedEntropy(20260112), SeededDraws(20260113)

    def sample(table: Incidence) -> NDArray[np.float64]:
        if sampling == "row":
            return noisy_rows(table, Fraction(1), draws, source).astype(float)
        return noisy_sample(table, Fraction(1), source).astype(float)

    assert least <= bound(ENTERS, [1, -1], sample, 12_000) <= 1.0


def fourier_bound(scale: float, runs: int) -> float:
    """Of epsilon, where one unit comes to key 1 of three, from all three coefficients and noise of this scale."""
    source, telling = SimulatedEntropy(20260114), np.array([1, -1, 1])

    def run(counts: list[int], size: int) -> Outputs:
        measured = coefficients(np.array(counts), 3) + source.laplace(scale, 3 * size).reshape(size, 3)
        return plain((measured * telling).max(axis=1))

    return loss_bound(run, ([0, 0, 0], [0, 1, 0]), runs)


def test_fourier_coefficients_cost_nearly_all_and_the_papers_noise_for_complex_ones_is_caught() -> None:
    """sqrt(rho d s) in place of what three real numbers need."""
    assert 1.6 < fourier_bound(sensitivity(3, 2, 1, 1) / 2.0, 150_000) <= 2.0
    assert fourier_bound((2 * 3 * 1) ** 0.5 * 2.0**20 / 2.0, 300_000) > 2.0


SEVERAL = [
    (at([2, 3], 4, 2), at([], 4, 2), 2, 0.98),
    (at([0, 6], 7, 2), at([], 7, 2), 3, 0.94),
    (at([3, 4, 5], 6, 3), at([], 6, 3), 2, 0.93),
]
"""One unit at several keys, and without it; how many frequencies, and how much of the
sensitivity that moves. Of all changes of so many keys these move the coefficients most."""


def several_bound(case: int, noise: float = 1.0, runs: int = 150_000) -> float:
    """Of epsilon 2, by the ratio of likelihoods of the coefficients, of which the released counts are made.

    Args:
      noise: what its scale is multiplied with.
    """
    first, second, frequencies, _ = SEVERAL[case]
    m, source = reals(first.n_keys, frequencies), SimulatedEntropy(20260131)
    scale = coefficient_scale(first, frequencies, Fraction(2)) * noise
    there, gone = (coefficients(table.counts, m) for table in (first, second))

    def run(exactly: NDArray[np.int64], size: int) -> Outputs:
        found = exactly + source.laplace(scale, m * size).reshape(size, m)
        return plain((np.abs(found - gone) - np.abs(found - there)).sum(axis=1) / scale)

    return loss_bound(run, (there, gone), runs)


@pytest.mark.parametrize("case", [slow(0), slow(1), 2])
def test_several_keys_of_a_unit_cost_what_they_move_and_half_of_the_noise_is_caught(case: int) -> None:
    """A mistake of a factor of 2 in the sensitivity shows at every pair."""
    first, second, frequencies, part = SEVERAL[case]
    m = reals(first.n_keys, frequencies)
    moved = np.abs(coefficients(first.counts, m) - coefficients(second.counts, m)).sum()
    assert moved == pytest.approx(part * sensitivity(first.n_keys, frequencies, first.moved, first.most), rel=0.01)
    assert 1.4 < several_bound(case, runs=450_000) <= 2.0
    assert several_bound(case, noise=0.5) > 2.0


def test_the_noise_that_is_audited_is_that_of_the_release() -> None:
    """One draw for each coefficient, at this scale and no other."""
    for first, _, frequencies, _ in SEVERAL:
        recorded = RecordedEntropy(ConstantEntropy())
        FPA(2.0, frequencies).release(first, SeededDraws(1), recorded)
        ((kind, scale, drawn),) = recorded.draws
        assert (kind, len(drawn)) == ("laplace", reals(first.n_keys, frequencies))
        assert scale == coefficient_scale(first, frequencies, Fraction(2))


BOTH_KEYS = at([0, 1], 2, 2), at([], 2, 2)
"""A unit at all keys that there are, which comes: the worst of what `row_rate` is for."""


@pytest.mark.slow
def test_sampled_rows_keep_the_claim_and_two_wrong_rates_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 / Delta_1, the rule of thumb for small epsilon; and the rate for one key, which is all rows."""
    source, draws = SimulatedEntropy(20260135), SeededDraws(20260136)

    def sample(table: Incidence) -> NDArray[np.float64]:
        return np.array([noisy_rows(table, Fraction(1), draws, source).min()], float)

    assert 0.5 < bound(BOTH_KEYS, [1], sample, 12_000) <= 1.0
    for wrong in (0.5, row_rate(1, Fraction(1))):
        monkeypatch.setattr("tests.support.papers.grouping_variants.row_rate", lambda *_, wrong=wrong: wrong)
        assert bound(BOTH_KEYS, [1], sample, 20_000) > 1.0, wrong


STANDS_OUT = at([0], 8, 7, (0,) * 9), at([], 8, 7, (0,) * 9)
"""A unit comes to the one of eight keys at which the others are already: its bias rises by 7/8."""


def bias_bound(entropy: Entropy, runs: int) -> float:
    """Of epsilon 1, by what is released of the largest bias of one group."""
    smooth = NoisyCounts(np.zeros(8), np.ones(8), np.zeros(8, np.int64), 8, "gs_s", 1.0)

    def released(table: Incidence) -> NDArray[np.float64]:
        return np.array([SmoothingBias(Fraction(1)).at_most(table, smooth, 0.1, entropy)])

    return bound(STANDS_OUT, [1], released, runs)


@pytest.mark.slow
def test_the_measured_bias_costs_nearly_all_and_half_of_the_noise_is_caught() -> None:
    assert 0.5 < bias_bound(SimulatedEntropy(20260137), 12_000) <= 1.0
    assert bias_bound(WeakerNoise(SimulatedEntropy(20260138), laplace=0.5), 12_000) > 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lpa", "fpa", "gs_r", "gs_s", "gs"])
def test_values_and_intervals_together_cost_no_more_than_epsilon(name: str) -> None:
    """As a server releases them, by the sum of the values' likelihoods and the width of the interval."""
    made, draws, entropy = KeyCounts(name, 1.0, 4, 2), SeededDraws(20260139), SimulatedEntropy(20260140)

    def released(table: Incidence) -> NDArray[np.float64]:
        found = made.release(table.units, table.keys, table.n_keys, draws, entropy)
        return np.array([found.values @ [1, 1, -1, -1, 0] + (found.high - found.low)[0]])

    pair = at([0, 1], 5, 2, (0, 0, 0)), at([2, 3], 5, 2, (0, 0, 0))
    assert bound(pair, [1], released, 2_000) <= 1.0


class BareBias(KeyCounts):
    """Tells by how much smoothing moves a count at most as if that were public."""

    @property
    def _bias(self) -> SmoothingBias:
        return SmoothingBias(Fraction(1 << 20))


@pytest.mark.slow
def test_catches_a_width_that_is_told_without_noise() -> None:
    draws, entropy = SeededDraws(20260141), SimulatedEntropy(20260142)

    def widths(made: KeyCounts) -> Release:
        def released(table: Incidence) -> NDArray[np.float64]:
            found = made.release(table.units, table.keys, table.n_keys, draws, entropy)
            return np.array([(found.high - found.low)[0]])

        return released

    assert bound(STANDS_OUT, [-1], widths(BareBias("gs_r", 1.0)), 2_000) > 1.0
    assert bound(STANDS_OUT, [-1], widths(KeyCounts("gs_r", 1.0)), 2_000) <= 1.0


def test_catches_noise_for_one_of_the_keys_of_a_unit() -> None:
    class ForOneKey(LPA):
        def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
            return super().release(incidence, draws, WeakerNoise(entropy, laplace=1 / incidence.moved))

    release = values(ForOneKey(1.0))
    assert bound(COMES, [1], lambda table: release(table)[:2].min(keepdims=True), 8_000) > 1.0


class NoiseOfMeans(GSR):
    """1 / epsilon, which is for means of groups, in their sums."""

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        return super().release(incidence, draws, WeakerNoise(entropy, laplace=1 / incidence.moved))


@pytest.mark.slow
def test_catches_noise_for_the_means_of_random_groups_in_their_sums() -> None:
    """The values of the four keys of a unit together: groups of two of twenty keys, which are mostly not theirs."""
    pair = at([0, 1, 2, 3], 20, 4), at([], 20, 4)

    def together(mechanism: GSR) -> Release:
        release = values(mechanism)
        return lambda table: np.array([release(table)[:4].sum()])

    assert bound(pair, [1], together(NoiseOfMeans(1.0)), 25_000) > 1.0
    assert bound(pair, [1], together(GSR(1.0)), 25_000) <= 1.0


@pytest.mark.slow
def test_one_sampled_key_moves_by_one_and_catches_all_rows_with_the_noise_of_a_sample() -> None:
    source = SimulatedEntropy(20260115)

    def one_key(table: Incidence) -> NDArray[np.float64]:
        return noisy(np.bincount(table.first, minlength=2), 1, Fraction(1), source).astype(float)

    def all_rows(table: Incidence) -> NDArray[np.float64]:
        return (table.counts + source.laplace(1.0, table.n_keys)).astype(float)

    assert 0.5 < bound(ENTERS, [1, -1], one_key, 10_000) <= 1.0
    assert bound(COMES, [1], lambda table: all_rows(table)[:2].min(keepdims=True), 8_000) > 1.0


@dataclass(frozen=True)
class GroupedByTruth(GSS):
    """Groups by the counts themselves, of which the paper's section 3.2 warns."""

    def release(self, incidence: Incidence, draws: Draws, entropy: Entropy) -> NoisyCounts:
        group = equal_groups(np.argsort(incidence.counts, kind="stable"), 2)
        noisy_values = smoothed(incidence, group, Fraction(self.epsilon), entropy)
        return NoisyCounts(*noisy_values, group, 2, self.name, self.epsilon)


@pytest.mark.slow
def test_catches_groups_by_the_counts_themselves() -> None:
    """The paper's example: 11, 13, 13, 14 without one unit at the third key. Which keys are grouped is seen."""
    crowd = (0,) * 11 + (1,) * 13 + (2,) * 12 + (3,) * 14
    pair = at([2], 4, 2, crowd), at([], 4, 2, crowd)

    def together(mechanism: GSS) -> Release:
        entropy, draws = SimulatedEntropy(20260117), SeededDraws(20260118)

        def release(table: Incidence) -> NDArray[np.float64]:
            group = mechanism.release(table, draws, entropy).group
            return np.array([float(group[0] == group[1])])

        return release

    assert bound(pair, [1], together(GroupedByTruth(1.0))) > 1.0
    assert bound(pair, [1], together(GSS(1.0))) <= 1.0


CROWD = 1_000
"""Keys, so many that the choice sees something."""

MOST = 40


def stairs(pairs: int) -> Incidence:
    """So many pairs of a unit and a key, one each: the more, the more every other key stands out."""
    keys = 2 * (np.arange(pairs) % (CROWD // 2))
    return Incidence(np.arange(pairs), keys, CROWD, MOST)


def chosen_by_truth(
    incidence: Incidence, order: NDArray[np.intp], epsilon: Fraction, rest: Fraction, entropy: Entropy
) -> Smoothing:
    """The best size by the counts themselves, as if it told nothing."""
    return choose(incidence, np.arange(CROWD), epsilon, rest, ConstantEntropy())


def sizes(mechanism: GS, runs: int, tables: tuple[Incidence, Incidence]) -> float:
    """Of epsilon, by the size of groups alone."""

    entropy, draws = SimulatedEntropy(20260120), SeededDraws(20260120)

    def run(table: Incidence, size: int) -> Outputs:
        return plain(np.array([mechanism.release(table, draws, entropy).group_size for _ in range(size)]))

    return loss_bound(run, tables, runs)


@pytest.mark.slow
def test_catches_a_size_that_is_chosen_by_the_counts_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the choice without noise turns over, one unit turns it: found by halving, at half of epsilon."""
    monkeypatch.setattr("privacy.papers.smoothing_choice.choose", chosen_by_truth)
    mechanism = GS(1.0, share=0.5)

    def size(pairs: int) -> int:
        return mechanism.release(stairs(pairs), SeededDraws(1), ConstantEntropy()).group_size

    low, high = 0, 200 * CROWD
    assert (size(low), size(high)) == (CROWD, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) == CROWD else (low, middle)
    pair = stairs(low), stairs(high)
    assert sizes(mechanism, 300, pair) > 1.0
    monkeypatch.undo()
    assert sizes(mechanism, 300, pair) <= 1.0
