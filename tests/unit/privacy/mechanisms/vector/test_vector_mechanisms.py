from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.approximate import approximate
from privacy.errors import InvalidParameter
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.ladder import Ladder
from privacy.mechanisms.vector.pmsja import Pmsja
from privacy.mechanisms.vector.s4s_vector import S4SVector
from privacy.mechanisms.vector.truncated_vector import TruncatedVector
from privacy.published.pmsja_published import PmsjaAsPublished
from privacy.published.s4s_vector_published import S4SVectorAsPublished
from privacy.sampling.design import SampleDesign
from privacy.truncation.encode import encode
from privacy.truncation.vector.certificate.shares import SHARE_BITS, WHOLE
from privacy.truncation.vector.instance import DEFAULT_GAP
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.simulated_entropy import SimulatedEntropy

LADDER = Ladder(0, 10)
D = 3
Mechanism = S4SVector | Pmsja | S4SVectorAsPublished | PmsjaAsPublished
ALL: list[Callable[[float, float, int], Mechanism]] = [S4SVector, Pmsja, S4SVectorAsPublished, PmsjaAsPublished]
SOUND: list[Callable[[float, float, int], S4SVector | Pmsja]] = [S4SVector, Pmsja]


def tuples(people: int = 40) -> JoinTuples:
    """Everybody has two tuples in one group."""
    person = np.repeat(np.arange(people), 2)
    owners = (OwnerColumn("p", person, np.zeros(2 * people, bool)),)
    return JoinTuples(owners, person % D, D, np.full((1, 2 * people), ONE, np.int64))


@pytest.mark.parametrize("made", ALL, ids=lambda made: made.__name__)
def test_without_noise_nobody_is_cut_who_need_not_be(made: Callable[[float, float, int], Mechanism]) -> None:
    mechanism = made(4.0, 1e-7, D)
    answer = mechanism.release(encode(tuples(100)), 0, ConstantEntropy())
    assert answer.tau.tolist() == [2.0] * D  # at 1 half of everybody would go
    assert answer.values.tolist() == [68.0, 66.0, 66.0]
    assert (answer.mechanism, answer.epsilon, answer.delta, answer.noise) == (mechanism.name, 4.0, 1e-7, "gaussian")
    assert dict(mechanism.expected_noise(D))[2.0] > 0


@pytest.mark.parametrize("made", SOUND, ids=lambda made: made.__name__)
@pytest.mark.parametrize("dimension", [1, 25, 4096])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-7), (4.0, 1e-7), (20.0, 1e-3)])
def test_what_is_spent_is_what_is_said(
    made: Callable[[float, float, int], S4SVector | Pmsja], dimension: int, epsilon: float, delta: float
) -> None:
    charged = approximate(made(epsilon, delta, dimension).event, delta)
    assert 0.99 * epsilon < charged.epsilon <= epsilon


def test_a_sample_without_most_people_costs_less() -> None:
    sample = SampleDesign(1 / 32, 1, 4.0)
    whole, thin = S4SVector(4.0, 1e-7, D), S4SVector(4.0, 1e-7, D, sample)
    assert thin.noise.sigma(5.0) < 0.85 * whole.noise.sigma(5.0)
    assert approximate(thin.event, 1e-7).epsilon <= 4.0 < thin.epsilon_if_bound_fails(D)
    assert whole.epsilon_if_bound_fails(D) == 4.0
    assert S4SVector(4.0, 1e-7, D, SampleDesign(0.5, None, 4.0)).noise == whole.noise


def test_the_amplified_divergence_is_that_of_the_mixture() -> None:
    """At every order: ln(1 - q' + q' e^((a - 1) D)) / (a - 1), q' the chance that any of three tuples is seen."""
    sample = SampleDesign(0.25, 3, 4.0)
    mechanism, seen = S4SVector(4.0, 1e-7, D, sample), 1 - 0.75**3
    order = mechanism.noise.alpha
    alone = mechanism._unsampled(order)
    mixture = math.log(1 - seen + seen * math.exp((order - 1) * alone)) / (order - 1)
    assert mechanism.divergence(order) == pytest.approx(mixture)
    assert mechanism.divergence(order + 1) == math.inf


@pytest.mark.parametrize("made", SOUND, ids=lambda made: made.__name__)
def test_intervals_cover_the_truncated_answer(made: Callable[[float, float, int], S4SVector | Pmsja]) -> None:
    mechanism, entropy = made(1.0, 1e-6, D), SimulatedEntropy(3)
    found = TruncatedVector(20, WHOLE // 2, (7 * ONE << SHARE_BITS,) * D)
    answers = [mechanism.noised(found, entropy) for _ in range(700)]
    covered = [np.mean((answer.low <= 7.0) & (answer.high >= 7.0)) for answer in answers]
    assert np.mean(covered) >= 0.94


@pytest.mark.parametrize("made", ALL, ids=lambda made: made.__name__)
def test_where_no_threshold_is_taken_nothing_is_said(made: Callable[[float, float, int], Mechanism]) -> None:
    refused = made(4.0, 1e-7, D).release(encode(tuples()), 0, _NothingPasses())
    assert refused.values.tolist() == [0.0] * D
    assert np.isinf(refused.high).all()
    assert np.all(refused.may_be_cut)


class _NothingPasses(ConstantEntropy):
    """The threshold very low, all rungs very high."""

    def laplace(self, scale: float, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.full(size, -WHOLE * 1000 if size == 1 else WHOLE * 1000, np.int64)


def test_the_noisy_bound_is_seldom_below_the_bound() -> None:
    mechanism, entropy = Pmsja(1.0, 0.02, D), SimulatedEntropy(7)
    short = sum(mechanism.noisy_bound(3 * WHOLE, entropy) < 4.0 for _ in range(20_000))
    assert 100 < short < 300  # half of delta: 200 expected
    assert mechanism.noisy_bound(0, ConstantEntropy(laplace=-(2**50))) >= 1.0


@pytest.mark.parametrize("removed", [1, (1 << 54) + 1, (1 << 61) - 1])
def test_no_step_is_lost_before_noise_is_added(removed: int) -> None:
    """Not even where a float has no room for the steps of all people who are removed."""
    mechanism = Pmsja(1.0, 0.02, D)
    (before, after) = (mechanism.noisy_bound(removed + more, ConstantEntropy(laplace=-removed)) for more in (0, 1))
    assert after - before == 1 / WHOLE


@pytest.mark.parametrize("removed", [1, (1 << 54) + 1, (1 << 61) - 1])
def test_the_bounds_of_neighbours_are_as_near_as_the_noise_relies_on(removed: int) -> None:
    mechanism = S4SVector(1.0, 1e-6, D)
    low, high = (Fraction(mechanism._bound(steps)) for steps in (removed, removed + WHOLE + DEFAULT_GAP))
    assert 0 < high - low <= Fraction(mechanism.noise.growth)


@pytest.mark.parametrize("made", ALL, ids=lambda made: made.__name__)
def test_another_number_of_groups_is_refused(made: Callable[[float, float, int], Mechanism]) -> None:
    with pytest.raises(InvalidParameter):
        made(4.0, 1e-7, D + 1).release(encode(tuples()), 0, ConstantEntropy())


@pytest.mark.parametrize("made", SOUND, ids=lambda made: made.__name__)
@pytest.mark.parametrize("wrong", [(0.0, 0.1, 1), (1.0, 0.0, 1), (1.0, 1.0, 1), (1.0, 0.1, 0)])
def test_parameters_out_of_range_are_refused(
    made: Callable[[float, float, int], S4SVector | Pmsja], wrong: tuple[float, float, int]
) -> None:
    with pytest.raises(InvalidParameter):
        made(*wrong)


def test_shares_that_leave_nothing_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        Pmsja(1.0, 1e-7, D, split=0.5, bounding=0.5)
    with pytest.raises(InvalidParameter):
        S4SVector(1.0, 1e-7, D, split=1.0)
    with pytest.raises(InvalidParameter):
        S4SVector(1.0, 1e-7, D, confidence=0.99)
