from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.event import ApproxDP, PureDP
from privacy.errors import InvalidParameter
from tests.support.papers.sampled_mean import (
    STEPS,
    SampledMean,
    SampledMedian,
    SimpleRandomSample,
    median_sensitivity,
    smoothness,
)
from tests.support.replay_entropy import ConstantEntropy
from tests.support.seeded_draws import ScriptedDraws, SeededDraws
from tests.unit.privacy.refusals import refuses_calls, refuses_each

WHOLE = SimpleRandomSample(5, 5)
ALL = [np.array(one) for one in itertools.combinations_with_replacement(range(7), 5)]


def test_the_sensitivity_is_smooth_and_bounds_every_change() -> None:
    """All sorted fives of whole numbers from 0 to 6, and all changes of one of them."""
    beta = 0.3
    found = {tuple(one): median_sensitivity(one, 0, 6, beta) for one in ALL}
    for one, place, to in itertools.product(ALL, range(5), range(7)):
        other = np.sort(np.concatenate([np.delete(one, place), [to]]))
        assert abs(one[2] - other[2]) <= found[tuple(one)]
        assert found[tuple(other)] <= math.exp(beta) * found[tuple(one)] * (1 + 1e-9)


def test_no_median_is_refused_for_what_its_values_are_and_the_sensitivity_is_that_of_the_formula() -> None:
    """What data could need a scale that cannot be drawn is refused with all data."""
    for epsilon in [2.0**-19 * (1 - 1e-5), 2.0**22]:
        with pytest.raises(InvalidParameter, match="noise scale"):
            SampledMedian(epsilon, 1e-6, 0.0, 1.0, SimpleRandomSample(1001, 1001))
    values = np.array([1, 4, 9, 11, 19])
    padded = [0, 0, 0, 0, *values, 20, 20, 20, 20]
    expected = max(
        math.exp(-0.5 * k) * max(padded[6 + t] - padded[6 + t - k - 1] for t in range(min(k + 2, 7)))
        for k in range(3)
    )
    assert median_sensitivity(values, 0, 20, 0.5) == pytest.approx(expected)


def test_a_sample_may_spend_more() -> None:
    sample = SimpleRandomSample(1000, 10)
    inner = float(sample.inner(0.5))
    assert math.log1p(0.01 * math.expm1(inner)) == pytest.approx(0.5)
    assert sample.inner_delta(1e-5) == pytest.approx(1e-3)
    assert SimpleRandomSample(7, 7).inner(0.5) == Fraction(1, 2)


def test_without_noise_it_is_the_mean_or_the_median_of_what_is_drawn() -> None:
    values = np.array([1.0, 2.0, 30.0, 4.0, -5.0])
    noiseless, sample = ConstantEntropy(), SimpleRandomSample(5, 3)
    drawn = ScriptedDraws([0, 2, 4])
    assert SampledMean(1.0, 0, 10, sample).release(values, drawn, noiseless) == pytest.approx(11 / 3)
    assert SampledMedian(1.0, 0, 0, 10, sample).release(values, drawn, noiseless) == pytest.approx(1.0)
    assert SampledMedian(1.0, 1e-6, 0, 10, WHOLE).release(values, drawn, noiseless) == pytest.approx(2.0)
    assert SampledMean(1.0, 0, 10, sample).event == PureDP(1.0)
    assert SampledMedian(1.0, 0.0, 0, 10, sample).event == PureDP(1.0)
    assert SampledMedian(1.0, 1e-6, 0, 10, sample).event == ApproxDP(1.0, 1e-6)


def test_what_is_no_number_is_at_the_least_and_fails_nothing() -> None:
    values = np.array([np.nan, np.inf, -np.inf, 2.0, 4.0])
    assert SampledMean(1.0, 2, 12, WHOLE).release(values, SeededDraws(1), ConstantEntropy()) == pytest.approx(4.4)
    # global noise is for the whole range
    assert SampledMedian(0.5, 0, 0, 1, WHOLE).scale(np.zeros(5, np.int64)) == STEPS / 0.5
    smooth = SampledMedian(0.5, 1e-6, 0, 1, WHOLE).scale(np.full(5, 3))
    beta = smoothness(Fraction(1, 2), 1e-6)
    assert smooth == pytest.approx(2 * (median_sensitivity(np.full(5, 3), 0, STEPS, beta) + 1) / 0.5)


def test_refuses_what_it_cannot_protect() -> None:
    refuses_calls(SimpleRandomSample, (3, 4), (3, 0))
    refuses_each(SimpleRandomSample(3, 2).inner, [601.0])
    refuses_calls(SampledMean, (0.0, 0, 1, WHOLE), (1.0, 1, 1, WHOLE))
    refuses_calls(SampledMedian, (1.0, 0.6, 0, 1, WHOLE), (1.0, 0.0, 0, 1, SimpleRandomSample(5, 4)))
    refuses_calls(SampledMean(1.0, 0, 1, WHOLE).release, (np.zeros(4), SeededDraws(1), ConstantEntropy()))
