"""How certain a sum is: by what choosing the thresholds of all its parts cost, and not by the least certain part."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from privacy.noisy_answer import NoisyAnswer
from server.answers.sums import COST_IN_SCALES, Term, added_up, choice_costs
from tests.support.released_plan import noisy_answer


def _release(values: list[float], signals: list[float], scales: list[float]) -> NoisyAnswer:
    return replace(noisy_answer(values, reach=1.0, signal=signals), noise_scale=np.array(scales))


def _signal(values: list[float], signals: list[float], scales: list[float]) -> float:
    """Of the sum of one group of each of several releases."""
    parts = [
        _release([value], [signal], [scale]) for value, signal, scale in zip(values, signals, scales, strict=True)
    ]
    place = np.zeros(1, np.int64)
    return float(added_up([Term(one, place) for one in parts], 1).signal[0])


def test_a_small_part_leaves_a_sum_as_certain_as_the_others() -> None:
    """Of 145,000 rows 440 are of open days: the latter may be any part of the truth, the sum may not."""
    assert _signal([144_890.0, 438.0], [14.2, 0.34], [326.8, 41.2]) == pytest.approx(12.65, rel=0.01)


def test_what_a_value_of_nothing_cost_is_taken_from_its_noise() -> None:
    found = _signal([1000.0, -5.0], [10.0, 0.0], [10.0, 20.0])
    assert found == pytest.approx(995.0 / (100.0 + COST_IN_SCALES * 20.0))
    assert _signal([1000.0, -5.0], [10.0, math.inf], [10.0, 20.0]) == found


def test_a_large_uncertain_part_makes_the_sum_uncertain() -> None:
    assert _signal([1000.0, 1000.0], [20.0, 1.0], [20.0, 300.0]) < 3.0


def test_without_a_choice_there_is_no_doubt() -> None:
    assert _signal([1000.0, 10.0], [math.inf, math.inf], [10.0, 20.0]) == math.inf


def test_a_value_of_nothing_costs_what_others_of_its_release_do() -> None:
    """A choice costs as many scales of noise in every group of a release."""
    costs = choice_costs(_release([100.0, -3.0, 0.0], [5.0, 0.0, 0.0], [2.0, 2.0, 4.0]))
    assert costs.tolist() == pytest.approx([20.0, 20.0, 40.0])
    unsure = choice_costs(_release([-3.0], [0.0], [2.0]))
    assert unsure.tolist() == [2.0 * COST_IN_SCALES]


def test_what_a_total_over_many_groups_costs_is_not_cut_short() -> None:
    """`l1_clip` charges the noise of all groups together: one group that has everything costs all of it."""
    alone = np.zeros(300)
    alone[7] = 500.0
    release = _release(list(alone), [1.5] * 300, [1.0] * 300)
    whole = added_up([Term(release, np.zeros(300, np.int64))], 1)
    assert float(whole.signal[0]) < 3.0, "as in the answer that it follows from"
    each = added_up([Term(release, np.arange(300))], 300)
    assert float(each.signal[7]) == pytest.approx(1.5, rel=0.01)


@pytest.mark.parametrize("signal", [0.01, 0.5, 40.0])
def test_an_answer_by_itself_may_lack_as_much_as_when_it_was_new(signal: float) -> None:
    """However much that is: rows of several people may lack hundreds of scales of noise."""
    (one,) = [_release([1000.0], [signal], [0.5])]
    again = added_up([Term(one, np.zeros(1, np.int64))], 1)
    assert again.missing.tolist() == pytest.approx(one.missing.tolist())
