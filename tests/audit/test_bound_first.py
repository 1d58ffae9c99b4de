"""The test of a sum against its public bound, and the release after it, keep their claim; mutants do not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from privacy.audit.auditor import epsilon_lower_bound
from privacy.audit.outputs import Outputs
from privacy.entropy import Entropy
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.groups.bound_first import MEAN_OF_BOUND, BoundFirst, BoundTest, bound_ladder, left_by_test
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, RUNS
from tests.audit.mutants import WeakerNoise
from tests.support.simulated_entropy import SimulatedEntropy

BOUND = 4
SHORT = Ladder(0, 2)


def _runs(loads: list[int]) -> CodedJoinTuples:
    """One group per run, in each of which every unit has one tuple of its load."""
    n = len(loads)
    return CodedJoinTuples(
        np.arange(n * RUNS, dtype=np.int32)[None],
        np.arange(RUNS + 1) * n,
        np.arange(RUNS + 1) * n,
        np.tile(np.array(loads, np.int64) * ONE, RUNS)[None],
        (1, 1),
        np.tile(np.arange(n, dtype=np.int32), RUNS),
    )


def _at_the_edge(first: BoundFirst) -> list[int]:
    """Units with the bound each, whose sum passes the test half of the time."""
    test = first.test()
    return [BOUND] * round(test.least * test.rung.step_weight / BOUND)


def _found(first: BoundFirst, with_unit: list[int], without: list[int], entropy: Entropy | None = None) -> float:
    source = SimulatedEntropy(seed=20261125) if entropy is None else entropy

    def of(loads: list[int]) -> Outputs:
        answer = first.release(_runs(loads), 0, source)
        chosen = np.log2(answer.tau).astype(np.int64)
        return Outputs(answer.values, np.where(np.isinf(answer.signal), -1, chosen))

    return epsilon_lower_bound(of(with_unit), of(without), FAILURE_PROBABILITY)


def _bound_first(epsilon: float) -> BoundFirst:
    return BoundFirst(epsilon, BOUND, 1, ladder=SHORT, monotone=True)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_a_unit_at_the_edge_of_the_test(epsilon: float) -> None:
    first = _bound_first(epsilon)
    crowd = _at_the_edge(first)
    assert 0.3 * epsilon < _found(first, [*crowd, BOUND], crowd) <= epsilon


def test_a_unit_with_more_than_the_bound_is_cut_to_it() -> None:
    first = _bound_first(2.0)
    crowd = _at_the_edge(first)
    assert _found(first, [*crowd, 50 * BOUND], crowd) <= 2.0


def test_nobody_against_one_unit() -> None:
    assert _found(_bound_first(2.0), [BOUND], [0]) <= 2.0


def test_catches_a_release_that_spends_what_the_test_spent() -> None:
    @dataclass(frozen=True)
    class Unsplit(BoundFirst):
        @property
        def direct(self) -> Fixed:
            return Fixed(1.3 * self.epsilon, 1, 0.0, bound_ladder(self.bound))

    first = Unsplit(1.0, BOUND, 1, ladder=SHORT, monotone=True)
    crowd = [BOUND] * (3 * len(_at_the_edge(_bound_first(1.0))))
    assert _found(first, [*crowd, BOUND], crowd) > 1.0


def test_catches_less_noise() -> None:
    first = _bound_first(1.0)
    crowd = [BOUND] * (3 * len(_at_the_edge(first)))
    assert _found(first, [*crowd, BOUND], crowd, WeakerNoise(SimulatedEntropy(6), laplace=0.5)) > 1.0


def _bits(test: BoundTest, value: int, units: int | None, entropy: Entropy | None = None) -> Outputs:
    source = SimulatedEntropy(seed=20261126) if entropy is None else entropy
    values, counts = np.full(RUNS, value), None if units is None else np.full(RUNS, units)
    passed: NDArray[np.bool_] = test.passes(values, source, counts)
    return Outputs(np.zeros(RUNS), passed.astype(np.int64))


def _edge(test: BoundTest) -> int:
    return test.least * test.rung.step


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("load", [0, 1, BOUND])
def test_the_bit_spends_no_more_than_the_test_has(epsilon: float, load: int) -> None:
    """At the edge, where the number of units decides as much as the sum."""
    test = BoundTest(Fraction(epsilon), Fraction(1), bound_ladder(BOUND))
    units = _edge(test) * MEAN_OF_BOUND // (BOUND * ONE)
    pair = _bits(test, _edge(test) + load * ONE, units + 1), _bits(test, _edge(test), units)
    found = epsilon_lower_bound(*pair, FAILURE_PROBABILITY)
    assert found <= epsilon
    assert load < BOUND or found > 0.5 * epsilon


def test_catches_a_test_with_half_the_noise() -> None:
    test = BoundTest(Fraction(1), Fraction(1), bound_ladder(BOUND))
    weaker = WeakerNoise(SimulatedEntropy(7), laplace=0.5)
    with_unit, without = (_bits(test, _edge(test) + load, None, weaker) for load in (BOUND * ONE, 0))
    assert epsilon_lower_bound(with_unit, without, FAILURE_PROBABILITY) > 1.0


def test_catches_units_that_count_three_times_the_bound() -> None:
    """One unit with next to nothing then moves what the sum is compared with by three times what the noise hides."""

    class Thrice(BoundTest):
        def passes(
            self, values: NDArray[np.int64], entropy: Entropy, units: NDArray[np.int64] | None = None
        ) -> NDArray[np.bool_]:
            return super().passes(values, entropy, None if units is None else 3 * MEAN_OF_BOUND * units)

    test = Thrice(Fraction(1), Fraction(1), bound_ladder(BOUND))
    units = 5 * _edge(test) // (BOUND * ONE)
    value = 3 * units * BOUND * ONE
    with_unit, without = _bits(test, value + 1, units + 1), _bits(test, value, units)
    assert epsilon_lower_bound(with_unit, without, FAILURE_PROBABILITY) > 1.0


def test_the_parts_add_up_to_no_more_than_the_whole() -> None:
    for epsilon in (0.1, 0.3, 1.0, 7.7):
        first = _bound_first(epsilon)
        spent = first.test().epsilon + Fraction(repr(left_by_test(epsilon)))
        assert Fraction(repr(epsilon)) * Fraction(999_999, 1_000_000) < spent <= Fraction(repr(epsilon))
