from __future__ import annotations

import pytest

from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.build import measurement
from privacy.mechanisms.fixed import Fixed
from privacy.mechanisms.gem import Gem
from privacy.mechanisms.racing.r2t import R2T
from privacy.sampling.design import SampleDesign


def test_makes_mechanisms_by_name() -> None:
    assert measurement("fixed", 0.5, 2, 0.01) == Fixed(0.5, 2, 0.01)
    assert measurement("gem", 0.5, 2, 0.01) == Gem(0.5, 2, 0.01, monotone=True)
    assert measurement("r2t", 0.5, None, 0.01, 64.0) == R2T(0.5, 64.0, None, 0.01)


def test_a_threshold_above_a_unit_s_tuples_is_left_out() -> None:
    assert measurement("gem", 1.0, tuples_per_unit=1000).ladder == Ladder(-20, 10)
    assert measurement("gem", 1.0, whole=True, tuples_per_unit=1024).ladder == Ladder(0, 10)
    assert measurement("gem", 1.0, whole=True, tuples_per_unit=1).ladder == Ladder(0, 0)
    assert measurement("gem", 1.0, tuples_per_unit=1 << 40).ladder == Ladder()


def test_a_sample_buys_less_noise_and_says_what_it_rests_on() -> None:
    sample = SampleDesign(1 / 64, 1024, 2.0)
    plain = measurement("gem", 1.0, whole=True, tuples_per_unit=1024)
    sampled = measurement("gem", 1.0, whole=True, tuples_per_unit=1024, sample=sample)
    assert sampled.expected_noise()[-1][1] < plain.expected_noise()[-1][1] / 10
    assert plain.epsilon_if_bound_fails() == plain.epsilon == sampled.epsilon < sampled.epsilon_if_bound_fails()
    alone = sampled.epsilon_if_bound_fails()
    assert sampled.epsilon_if_bound_fails(7) == pytest.approx(alone, rel=1e-5), (
        "every group's share is the seventh part"
    )


@pytest.mark.parametrize("name", ["r2t", "GEM", ""])
def test_refuses_what_it_cannot_make(name: str) -> None:
    with pytest.raises(InvalidParameter):
        measurement(name, 1.0)
