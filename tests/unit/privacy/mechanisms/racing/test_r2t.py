from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.racing.r2t import R2T
from privacy.truncation.tabulated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy
from tests.support.revealing_answer import RevealingAnswer
from tests.support.simulated_entropy import SimulatedEntropy

LOADS = np.random.default_rng(0).poisson(15, 10_000)


def answer(ladder: Ladder, groups: int = 1, gap: float = 0.0, people: int = 10_000) -> TabulatedAnswer:
    table = np.minimum(LOADS[:people, None] * ONE, ladder.units).sum(axis=0)
    return TabulatedAnswer(np.broadcast_to(table, (groups, len(ladder))), ladder, gap)


@pytest.mark.parametrize(("bound", "high"), [(0.3, 1), (2.0, 1), (2.1, 2), (1024.0, 10), (1025.0, 11), (2.0**32, 32)])
def test_thresholds_race_up_to_the_global_sensitivity(bound: float, high: int) -> None:
    assert R2T(1.0, bound).ladder == Ladder(1, high)


@pytest.mark.parametrize(
    ("bound", "base", "high"),
    [(256.0, 4, 4), (257.0, 4, 5), (3.0, 4, 1), (1000.0, Fraction(11, 2), 5), (2.0**32, Fraction(4, 1), 16)],
)
def test_powers_of_another_base_race_likewise(bound: float, base: Fraction | int, high: int) -> None:
    r2t = R2T(1.0, bound, base=base)
    assert r2t.ladder == Ladder(1, high, base)
    assert r2t.expected_noise()[0][1] == pytest.approx(high * math.log(high / 0.1) * float(base), rel=1e-5)


def test_fewer_thresholds_have_less_noise_each() -> None:
    """Median errors of 4,000 runs: at these loads 16 and 32 are good thresholds, and base 4 has one of them."""
    errors = []
    for base in (2, 4):
        r2t = R2T(1.0, 4096.0, 1, base=base)
        values = r2t.release(answer(r2t.ladder, groups=4000), SimulatedEntropy(6)).values
        errors.append(float(np.median(np.abs(values - LOADS.sum()))))
    assert errors[1] < 0.9 * errors[0]


def test_without_noise_it_is_the_largest_value_minus_its_penalty() -> None:
    r2t = R2T(1.0, 256.0)
    released = r2t.release(answer(r2t.ladder), ConstantEntropy())
    penalised = [LOADS.clip(max=tau).sum() - penalty for tau, penalty in r2t.expected_noise()]
    assert released.values[0] == pytest.approx(max(penalised), rel=1e-6)
    assert released.tau[0] == r2t.ladder.taus[int(np.argmax(penalised))]
    assert (released.mechanism, released.covers, released.epsilon) == ("r2t", "truth_lower", 1.0)


def test_the_penalty_is_the_papers() -> None:
    r2t = R2T(0.8, 256.0, gap=0.01)
    for tau, penalty in r2t.expected_noise():
        assert penalty == pytest.approx(8 / 0.8 * math.log(8 / 0.1) * 1.01 * tau, rel=1e-5)


def test_nothing_beats_zero_on_no_data() -> None:
    r2t = R2T(1.0, 256.0)
    released = r2t.release(answer(r2t.ladder, people=0), ConstantEntropy())
    assert (released.values[0], released.tau[0], released.noise_scale[0], released.low[0]) == (0, 0, 0, 0)
    assert released.high[0] == math.inf


def test_what_cannot_beat_zero_is_not_solved() -> None:
    r2t = R2T(1.0, 8.0)
    nothing = np.zeros((1, 3), np.int64)
    promising = RevealingAnswer(nothing, r2t.ladder, nothing, np.array([[ONE, 2 * ONE, 10_000 * ONE]]))
    assert r2t.release(promising, ConstantEntropy()).values.tolist() == [0.0]
    assert promising.solved == [(0, 2)]


def test_the_truth_is_above_as_often_as_it_says() -> None:
    """The worst case has one value everywhere. 20,000 runs with a seed; the union bound has little slack."""
    r2t = R2T(1.0, 4.0, groups_per_unit=1, confidence=0.9)
    flat = TabulatedAnswer(np.full((20_000, 2), 10_000 * ONE), r2t.ladder)
    released = r2t.release(flat, SimulatedEntropy(2))
    above = (released.low <= 10_000).mean()
    assert 0.9 - 5.4 * math.sqrt(0.09 / 20_000) < above < 0.92


@pytest.mark.parametrize(("groups_per_unit", "share"), [(1, 1), (3, 3), (None, 8)])
def test_groups_and_thresholds_share_the_budget(groups_per_unit: int | None, share: int) -> None:
    r2t = R2T(1.0, 8.0, groups_per_unit)
    released = r2t.release(answer(r2t.ladder, groups=8), SimulatedEntropy(3))
    assert released.noise_scale == pytest.approx(3 * share * released.tau, rel=1e-6)
    assert r2t.event == PureDP(1.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": -1.0},
        {"epsilon": math.inf},
        {"global_sensitivity": 0.0},
        {"global_sensitivity": math.nan},
        {"global_sensitivity": 2.0**33},
        {"groups_per_unit": 0},
        {"gap": -0.1},
        {"gap": 1.5},
        {"confidence": 0.4},
        {"confidence": 1.0},
        {"base": 1},
        {"base": Fraction(11, 10)},
        {"base": 2.0},
        {"base": 1 << 33},
        {"base": 3, "global_sensitivity": 2.0**32},
    ],
)
def test_refuses_parameters_out_of_range(parameters: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        R2T(**({"epsilon": 1.0, "global_sensitivity": 16.0} | parameters))  # type: ignore[arg-type]
