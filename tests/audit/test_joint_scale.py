"""Sums at one scale, and a sum that is tested against its public bound first, keep their claims; mutants do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms import joint_scale
from privacy.mechanisms.bound_first import (
    MEAN_OF_BOUND,
    BoundFirst,
    BoundTest,
    bound_test,
    bound_thresholds,
    left_by_test,
)
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.joint_scale import FINER, JOINT_CHARGE, ScaledSum, finer, release_at_one_scale
from privacy.mechanisms.shared_threshold import SharedThreshold, fixed_threshold
from privacy.mechanisms.sums import Centre, Deviation, Products
from privacy.mechanisms.unit_vectors import UnitVectors, step_of
from privacy.thresholds import Thresholds
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, plain, slow
from tests.audit.auditor import Outputs, epsilon_lower_bound
from tests.audit.clipped import BIG, Vector, side_by_side
from tests.audit.mutants import WeakerNoise
from tests.support.seeds import examples
from tests.support.simulated_entropy import SimulatedEntropy

RUNS = examples(100_000, 150_000)
BOUND_RUNS = examples(50_000, 150_000)
BOUND = 4
SHORT = Thresholds(0, 2)


def _groups(contributions: list[int]) -> CodedJoinTuples:
    """One group per run, in each of which every unit has one tuple of its load."""
    n = len(contributions)
    return CodedJoinTuples(
        np.arange(n * BOUND_RUNS, dtype=np.int32)[None],
        np.arange(BOUND_RUNS + 1) * n,
        np.arange(BOUND_RUNS + 1) * n,
        np.tile(np.array(contributions, np.int64) * ONE, BOUND_RUNS)[None],
        (1, 1),
        np.tile(np.arange(n, dtype=np.int32), BOUND_RUNS),
    )


def _at_the_edge(first: BoundFirst) -> list[int]:
    """Units with the bound each, whose sum passes the test half of the time."""
    test = first.test()
    return [BOUND] * round(test.least * test.level.step_weight / BOUND)


def _found_first(
    first: BoundFirst, with_unit: list[int], without: list[int], entropy: Entropy | None = None
) -> float:
    source = SimulatedEntropy(seed=20261125) if entropy is None else entropy

    def of(contributions: list[int]) -> Outputs:
        answer = first.release(_groups(contributions), 0, source)
        chosen = np.log2(answer.tau).astype(np.int64)
        return Outputs(answer.values, np.where(np.isinf(answer.signal), -1, chosen))

    return epsilon_lower_bound(of(with_unit), of(without), FAILURE_PROBABILITY)


def _bound_first(epsilon: float) -> BoundFirst:
    return BoundFirst(epsilon, BOUND, 1, thresholds=SHORT, monotone=True)


@pytest.mark.parametrize("epsilon", [1.0, slow(8.0)])
def test_a_unit_at_the_edge_of_the_test(epsilon: float) -> None:
    first = _bound_first(epsilon)
    crowd = _at_the_edge(first)
    assert 0.3 * epsilon < _found_first(first, [*crowd, BOUND], crowd) <= epsilon


@pytest.mark.slow
def test_a_unit_with_more_than_the_bound_is_cut_to_it_and_one_is_hidden_from_nobody() -> None:
    first = _bound_first(2.0)
    crowd = _at_the_edge(first)
    assert _found_first(first, [*crowd, 50 * BOUND], crowd) <= 2.0
    assert _found_first(first, [BOUND], [0]) <= 2.0


@pytest.mark.slow
def test_catches_a_release_that_spends_what_the_test_spent() -> None:
    @dataclass(frozen=True)
    class Unsplit(BoundFirst):
        @property
        def direct(self) -> SharedThreshold:
            return fixed_threshold(1.3 * self.epsilon, 1, 0.0, bound_thresholds(self.bound))

    first = Unsplit(1.0, BOUND, 1, thresholds=SHORT, monotone=True)
    crowd = [BOUND] * (3 * len(_at_the_edge(_bound_first(1.0))))
    assert _found_first(first, [*crowd, BOUND], crowd) > 1.0


@pytest.mark.slow
def test_catches_less_noise_around_the_test() -> None:
    first = _bound_first(1.0)
    crowd = [BOUND] * (3 * len(_at_the_edge(first)))
    assert _found_first(first, [*crowd, BOUND], crowd, WeakerNoise(SimulatedEntropy(6), laplace=0.5)) > 1.0


def _bits(test: BoundTest, value: int, units: int | None, entropy: Entropy | None = None) -> Outputs:
    source = SimulatedEntropy(seed=20261126) if entropy is None else entropy
    values, counts = np.full(BOUND_RUNS, value), None if units is None else np.full(BOUND_RUNS, units)
    passed: NDArray[np.bool_] = test.passes(values, source, counts)
    return plain(passed)


def _edge(test: BoundTest) -> int:
    return test.least * test.level.step


@pytest.mark.parametrize("epsilon", [slow(0.5), 2.0])
@pytest.mark.parametrize("contribution", [0, 1, BOUND])
def test_the_bit_spends_no_more_than_the_test_has(epsilon: float, contribution: int) -> None:
    """At the edge, where the number of units decides as much as the sum."""
    test = BoundTest(Fraction(epsilon), Fraction(1), bound_thresholds(BOUND))
    units = _edge(test) * MEAN_OF_BOUND // (BOUND * ONE)
    pair = _bits(test, _edge(test) + contribution * ONE, units + 1), _bits(test, _edge(test), units)
    found = epsilon_lower_bound(*pair, FAILURE_PROBABILITY)
    assert found <= epsilon
    assert contribution < BOUND or found > 0.5 * epsilon


def test_catches_a_test_with_half_the_noise() -> None:
    test = BoundTest(Fraction(1), Fraction(1), bound_thresholds(BOUND))
    weaker = WeakerNoise(SimulatedEntropy(7), laplace=0.5)
    with_unit, without = (_bits(test, _edge(test) + contribution, None, weaker) for contribution in (BOUND * ONE, 0))
    assert epsilon_lower_bound(with_unit, without, FAILURE_PROBABILITY) > 1.0


def test_catches_units_that_count_three_times_the_bound() -> None:
    """One unit with next to nothing then moves what the sum is compared with by three times what the noise hides."""

    class Thrice(BoundTest):
        def passes(
            self, values: NDArray[np.int64], entropy: Entropy, units: NDArray[np.int64] | None = None
        ) -> NDArray[np.bool_]:
            return super().passes(values, entropy, None if units is None else 3 * MEAN_OF_BOUND * units)

    test = Thrice(Fraction(1), Fraction(1), bound_thresholds(BOUND))
    units = 5 * _edge(test) // (BOUND * ONE)
    value = 3 * units * BOUND * ONE
    with_unit, without = _bits(test, value + 1, units + 1), _bits(test, value, units)
    assert epsilon_lower_bound(with_unit, without, FAILURE_PROBABILITY) > 1.0


def test_the_parts_add_up_to_no_more_than_the_whole() -> None:
    for epsilon in (0.1, 0.3, 1.0, 7.7):
        first = _bound_first(epsilon)
        spent = first.test().epsilon + Fraction(repr(left_by_test(epsilon)))
        assert Fraction(repr(epsilon)) * Fraction(999_999, 1_000_000) < spent <= Fraction(repr(epsilon))


SINGLE_THRESHOLD = Thresholds(0, 0)


def _sums(epsilons: Sequence[float]) -> list[ScaledSum]:
    return [ScaledSum(Clip(PureBudget(epsilon), SINGLE_THRESHOLD)) for epsilon in epsilons]


def _runs(contributions: Sequence[Sequence[int]], units: Sequence[int] | None = None) -> CodedJoinTuples:
    """Tuples of one group per run, each by its weights in all sums; of one unit, or of those given."""
    m = len(contributions)
    of = np.zeros(m, np.int64) if units is None else np.array(units)
    n = int(of.max()) + 1 if m else 1
    members = (np.tile(of, RUNS) + np.repeat(np.arange(RUNS), m) * n).astype(np.int32)
    weights = np.array(contributions, np.int64).reshape(m, -1).T if m else np.zeros((2, 0), np.int64)
    return CodedJoinTuples(
        members[None],
        np.arange(RUNS + 1) * m,
        np.arange(RUNS + 1) * n,
        np.tile(weights, RUNS),
        (1, 1),
        np.arange(n * RUNS, dtype=np.int32),
    )


def _found(
    sums: Sequence[ScaledSum],
    pair: tuple[CodedJoinTuples, CodedJoinTuples],
    signs: Sequence[int],
    entropy: Entropy | None = None,
) -> float:
    """The sums of the values, each with its sign, of either neighbour."""
    source = SimulatedEntropy(seed=20261124) if entropy is None else entropy

    def of(data: CodedJoinTuples) -> Outputs:
        values = np.array([one.values for one in release_at_one_scale(sums, data, source)])
        label = (values > 0.5).T.astype(np.int64) @ (2 ** np.arange(len(values)))
        return Outputs(np.array(signs, np.float64) @ values, label)

    return epsilon_lower_bound(of(pair[0]), of(pair[1]), FAILURE_PROBABILITY)


FULL = [ONE, ONE]
MUCH = [4 * ONE, ONE // 4]
"""Of a unit with many rows of little weight: one factor scales both."""


@pytest.mark.parametrize("epsilon", [slow(0.5), 1.0, slow(3.0)])
def test_a_unit_at_both_thresholds(epsilon: float) -> None:
    pair = _runs([FULL]), _runs([])
    assert 0.6 * epsilon < _found(_sums([epsilon / 2, epsilon / 2]), pair, (1, 1)) <= epsilon


@pytest.mark.slow
def test_unequal_shares_add_up_where_rows_go_and_leave_others_with_a_larger_factor() -> None:
    """Before, sum 0 is at its threshold and sum 1 at a 16th; afterwards the other way round."""
    pair = _runs([MUCH, [0, ONE]]), _runs([[0, ONE]])
    assert _found(_sums([0.5, 0.5]), pair, (1, -1)) <= 1.0
    assert 0.6 < _found(_sums([0.25, 0.75]), (_runs([FULL]), _runs([])), (1, 3)) <= 1.0


def _beside_an_average(epsilon: float) -> list[ScaledSum]:
    one, other = _sums([epsilon / 2, epsilon / 2])
    return [replace(one, alone=True), other]


@pytest.mark.parametrize("unit", [FULL, MUCH, [4 * ONE, 4 * ONE]])
def test_a_sum_by_itself_and_one_at_a_common_factor_add_up(unit: list[int]) -> None:
    assert 0.4 < _found(_beside_an_average(1.0), (_runs([unit]), _runs([])), (1, 1)) <= 1.0


def test_catches_a_sum_by_itself_that_is_not_clipped(monkeypatch: pytest.MonkeyPatch) -> None:
    true_sums = UnitVectors.sums
    wider = step_of(4 * ONE) // step_of(ONE)
    monkeypatch.setattr(UnitVectors, "sums", lambda vectors, tau: true_sums(vectors, 4 * tau) * wider)
    assert _found(_beside_an_average(1.0), (_runs([[4 * ONE, 0]]), _runs([])), (1, 0)) > 1.0


def test_products_around_the_means() -> None:
    """The unit's product, and the mean that it is measured around, both move."""
    first, second, third = 0.2, 0.2, 0.6
    sums = [*_sums([first, second])]
    products = Clip(PureBudget(third), Thresholds(FINER, FINER))
    sums.append(ScaledSum(products, Products((1, 1.0), (1, 1.0), 0, 1.0)))
    with_unit = [[ONE, 0, 0], [ONE, ONE, ONE]]
    pair = _runs(with_unit, [0, 1]), _runs(with_unit[:1], [0])
    assert 0.3 < _found(sums, pair, (1, 1, 3)) <= 1.0


def _average(epsilons: Sequence[float], less: int | None = None) -> list[ScaledSum]:
    """A count, a centre, and what it leaves: those two of rows 1 and 2, less the row named."""
    centre, left = (Clip(PureBudget(epsilon), SINGLE_THRESHOLD, less=less) for epsilon in epsilons[1:])
    return [*_sums(epsilons[:1]), ScaledSum(centre, Centre(0)), ScaledSum(left, Deviation(1, 0))]


def _of_questions(sums: Sequence[ScaledSum], contributions: Sequence[Sequence[int]], entropy: Entropy) -> Outputs:
    """What is left of an average, over the release's own centre: each run is a question of its own.

    A unit that pulls the centre up leaves more than the centre of the others would, which the sum of both shows.
    """
    n = len(contributions)
    members, ends = np.arange(n, dtype=np.int32), np.array([0, n])
    tuples = CodedJoinTuples(members[None], ends, ends, np.array(contributions, np.int64).T, (1, 1), members)
    answers = [release_at_one_scale(sums, tuples, entropy) for _ in range(QUESTIONS)]
    return plain(np.array([sum(float(one.values[0]) for one in answer) for answer in answers]))


QUESTIONS = examples(6_000, 30_000)
UNSIGNED, NEGATIVE = [ONE, ONE, ONE, 0], [ONE, 0, 0, ONE]


@pytest.mark.parametrize(("unit", "least"), [(UNSIGNED, 0.1), slow([4 * ONE, 4 * ONE, 4 * ONE, 0], 0.1)])
def test_an_average_around_its_centre(unit: list[int], least: float) -> None:
    """The unit moves the count, the centre, and through it what is left of everybody."""
    others = [[ONE, 0, 0, 0]] * 3
    source = SimulatedEntropy(seed=20261129)
    with_unit, without = (
        _of_questions(_average([0.5, 0.5, 1.0], 3), one, source) for one in ([*others, unit], others)
    )
    assert least < epsilon_lower_bound(with_unit, without, FAILURE_PROBABILITY) <= 2.0


def test_catches_an_average_whose_units_are_cut_on_one_side_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that takes away sixteen times the threshold then shows by itself."""
    true_sums = UnitVectors.sums

    def above_zero(vectors: UnitVectors, tau: int) -> NDArray[np.int64]:
        below = np.bincount(vectors._group, np.minimum(vectors._contributions, 0), vectors.n_groups) // step_of(tau)
        return true_sums(vectors, tau) + below.astype(np.int64)

    unit, others = [ONE, 0, 0, 16 * ONE], [[ONE, 0, 0, 0]] * 3
    source, sums = SimulatedEntropy(seed=20261129), _average([0.5, 0.5, 1.0], 3)
    with_unit, without = (_of_questions(sums, one, source) for one in ([*others, unit], others))
    assert epsilon_lower_bound(with_unit, without, FAILURE_PROBABILITY) <= 2.0
    monkeypatch.setattr(UnitVectors, "sums", above_zero)
    with_unit, without = (_of_questions(sums, one, source) for one in ([*others, unit], others))
    assert epsilon_lower_bound(with_unit, without, FAILURE_PROBABILITY) > 2.0


@pytest.mark.slow
def test_a_test_of_the_bound_is_part_of_the_claim() -> None:
    """One group, whose sum passes half of the time: the audit's runs are questions, one after the other."""
    chosen = Clip(PureBudget(left_by_test(4.0)), Thresholds(0, 2), charge=JOINT_CHARGE)
    one = ScaledSum(chosen, None, replace(chosen, thresholds=bound_thresholds(5)), bound_test(4.0, 5), 4.0)
    assert one.test is not None
    crowd = [5] * round(one.test.least * one.test.level.step_weight / 5)

    def of(contributions: list[int], source: SimulatedEntropy) -> Outputs:
        members = np.arange(len(contributions), dtype=np.int32)
        ends, weights = np.array([0, len(contributions)]), np.array([contributions], np.int64) * ONE
        tuples = CodedJoinTuples(members[None], ends, ends, weights, (1, 1), members)
        answers = [release_at_one_scale([one], tuples, source)[0] for _ in range(6_000)]
        values, taus = np.array([(answer.values[0], answer.tau[0]) for answer in answers]).T
        return Outputs(values, taus.astype(np.int64))

    source = SimulatedEntropy(seed=20261127)
    found = epsilon_lower_bound(of([*crowd, 5], source), of(crowd, source), FAILURE_PROBABILITY)
    assert 0.5 < found <= 4.0


def _beside(sums: Sequence[ScaledSum], pair: tuple[Vector, Vector], direction: Vector) -> float:
    """Units with as much in two sums, each in groups of its own: all groups of both sums moved together."""
    source, signs = SimulatedEntropy(seed=20261128), np.sign(np.array(direction))

    def of(vector: Vector) -> Outputs:
        tuples = side_by_side(vector, RUNS)
        twice = replace(tuples, weights=np.tile(tuples.weights, (2, 1)))
        values = np.array([one.values.reshape(RUNS, -1) for one in release_at_one_scale(sums, twice, source)])
        return plain((values * signs).min(axis=(0, 2)))

    return epsilon_lower_bound(of(pair[0]), of(pair[1]), FAILURE_PROBABILITY)


TOTALS = _sums([1.0, 1.0])
UNITS: list[Vector] = [(1, 0), (BIG, BIG), (BIG, BIG, BIG)]


@pytest.mark.parametrize("unit", [UNITS[0], *(slow(unit) for unit in UNITS[1:])])
def test_a_unit_at_one_factor_for_all_groups(unit: Vector) -> None:
    assert _beside(TOTALS, (unit, [0.0] * len(unit)), unit) <= 2.0


def test_catches_a_unit_that_has_a_factor_in_every_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """In three groups it then adds three times what noise is for."""

    def each_cut(vectors: UnitVectors, tau: int) -> NDArray[np.int64]:
        cut = np.minimum(vectors._contributions, tau) // step_of(tau)
        return np.bincount(vectors._group, cut, vectors.n_groups).astype(np.int64)

    monkeypatch.setattr(joint_scale, "_scaled", lambda contributions, taus, units: list(contributions))
    monkeypatch.setattr(UnitVectors, "sums", each_cut)
    assert _beside(TOTALS, (UNITS[2], [0.0] * 3), UNITS[2]) > 2.0


def test_a_finer_ladder_has_the_same_thresholds() -> None:
    assert finer(Thresholds(-3, 2)) == Thresholds(-3, 2 + FINER)
    assert finer(Thresholds(-3, 30)).high == 32


def test_catches_sums_that_spend_everything_each_and_less_noise_and_rows_that_are_scaled_one_by_one() -> None:
    """The last as if each row were another unit's: together they move the sums by more than their thresholds."""
    pair, weaker = (_runs([FULL]), _runs([])), WeakerNoise(SimulatedEntropy(4), laplace=0.5)
    assert _found(_sums([1.0, 1.0]), pair, (1, 1)) > 1.0
    assert _found(_sums([0.5, 0.5]), pair, (1, 1), weaker) > 1.0
    assert _found(_sums([0.5, 0.5]), (_runs([FULL, FULL, FULL], [0, 1, 2]), pair[1]), (1, 1)) > 1.0


@pytest.mark.slow
def test_quotients_of_scaled_rows_stay() -> None:
    """A unit with a thousand rows of the same mean as everybody's leaves the mean where it is."""
    everybody: list[list[int]] = [[ONE, ONE // 2]] * 40
    heavy = [[1000 * ONE, 500 * ONE]]
    sums = [ScaledSum(Clip(PureBudget(50.0), SINGLE_THRESHOLD)) for _ in range(2)]
    units = list(range(41))
    count, total = release_at_one_scale(sums, _runs(everybody + heavy, units), SimulatedEntropy(1))
    means: NDArray[np.float64] = total.values / count.values
    assert float(np.median(means)) == pytest.approx(0.5, abs=0.01)
