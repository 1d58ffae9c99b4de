from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privacy.accounting.event import PureDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clipping.l1_clip import L1Clip
from privacy.mechanisms.clipping.levelled_vectors import Level, LevelledVectors, LevelNoise
from privacy.mechanisms.groups.group_lp import GroupLp, group_lps
from privacy.mechanisms.groups.sums import Sum
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.truncation.control import Control
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.instances import join_tuples, owner

BUDGET = PureBudget(1.0)
PAIR = encode(join_tuples([owner("u", [1, 1, 2, 2, 2])], [3 * ONE, 4 * ONE, 1, 1, ONE], [0, 1, 0, 0, 2], 4))
"""One unit with (3, 4), and one with (2^-29, 0, 1)."""

CROWD = np.random.default_rng(1)
WARDS = 6
LOADS = np.minimum(200, CROWD.zipf(1.7, 1_500))
PEOPLE = encode(
    join_tuples(
        [owner("u", np.repeat(np.arange(1_500), LOADS).tolist())],
        [ONE] * int(LOADS.sum()),
        np.where(
            CROWD.random(int(LOADS.sum())) < 0.9,
            np.repeat(CROWD.integers(0, WARDS, 1_500), LOADS),
            CROWD.integers(0, WARDS, int(LOADS.sum())),
        ).tolist(),
        WARDS,
    )
)
"""1,500 people with up to 200 rows each, few of whom have most of them: nine of ten of each in one of 6 groups."""


def levelled(tau: int) -> list[float]:
    level = Level(tau, 4)
    return [float(value) for value in LevelledVectors.of_sum(PAIR, 0).sums(level) * level.step / ONE]


def test_the_largest_parts_of_a_unit_are_cut_to_one_level() -> None:
    assert levelled(8 * ONE) == pytest.approx([3.0, 4.0, 1.0, 0.0], abs=1e-6)
    assert levelled(6 * ONE) == pytest.approx([3.0, 3.0, 1.0, 0.0], abs=1e-6)
    assert levelled(4 * ONE) == pytest.approx([2.0, 2.0, 1.0, 0.0], abs=1e-6)
    assert LevelledVectors.of_sum(PAIR, 0).totals(Ladder(0, 3)).values.tolist() == [
        [2 * ONE, 3 * ONE + 2, 5 * ONE + 2, 8 * ONE + 2]
    ]


def test_noise_is_for_tau_in_two_groups_and_for_less_than_twice_that_in_any() -> None:
    for reached, times in ((1, 1.0), (2, 1.0), (4, 1.5), (1_000, 1.998)):
        noise = LevelNoise(Level(8 * ONE, reached), Fraction(1, 2))
        assert noise.scale * noise.step_weight == pytest.approx(8 * times / 0.5, rel=1e-6)


def test_keys_that_show_fewer_groups_of_a_unit_buy_less_noise() -> None:
    """One threshold leaves nothing to choose, and the whole budget for the release."""
    clip = L1Clip(BUDGET, Ladder(3, 3))
    assert clip.release(PEOPLE, 0, SimulatedEntropy(1)).noise_scale == pytest.approx(
        np.full(WARDS, 8 * 10 / 6), rel=1e-6
    )
    told = clip.of_kinds((("person", 2),))
    assert told.release(PEOPLE, 0, SimulatedEntropy(1)).noise_scale == pytest.approx(np.full(WARDS, 8.0), rel=1e-6)
    assert told.of_kinds((("person", 5),)) == told
    with pytest.raises(InvalidParameter, match="at least one group"):
        clip.of_kinds(())


def test_what_is_released_says_what_it_cost() -> None:
    clip = L1Clip(BUDGET, Ladder(0, 9))
    released = clip.release(PEOPLE, 0, SimulatedEntropy(1))
    assert (released.mechanism, released.noise, released.delta) == ("l1_clip", "laplace", 0.0)
    assert clip.event == PureDP(1.0)
    assert clip.epsilon_if_bound_fails(WARDS) == released.epsilon == 1.0
    ((tau, half),) = [one for one in clip.expected_noise(WARDS) if one[0] == released.tau[0]]
    assert half == pytest.approx((released.high - released.low)[0] / 2)
    assert tau in clip.ladder.taus


def test_the_choice_is_made_once_with_its_share() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(2))
    L1Clip(BUDGET, Ladder(0, 9), selection=SelectionSettings(0.25)).release(PEOPLE, 0, recorded)
    assert [kind for kind, _, _ in recorded.draws] == ["geometric", "laplace"]
    assert recorded.draws[0][1] == pytest.approx(2 * 1025 / 0.25, rel=1e-9)


def test_is_far_better_than_a_share_for_every_group_where_few_people_have_most() -> None:
    """The median errors of 61 releases each."""
    truth = np.diff(PEOPLE.row_start)  # each weighs one
    (shared,) = group_lps([Sum(1.0, 0.0, Ladder(0, 32), nested=True)], 0.0, None, None)

    def error(measurement: L1Clip | GroupLp) -> float:
        runs = (measurement.release(PEOPLE, 0, SimulatedEntropy(seed)).values - truth for seed in range(61))
        return float(np.median([np.abs(run).sum() for run in runs]) / truth.sum())

    assert error(L1Clip(BUDGET, Ladder(0, 32))) < 0.6 * error(shared)


def test_the_interval_covers_the_levelled_sum_as_often_as_it_says() -> None:
    """6 groups, 1,000 runs: 5.4 standard deviations either way."""
    clip, level = L1Clip(BUDGET, Ladder(3, 3), confidence=0.9), Level(8 * ONE, WARDS)
    truth = LevelledVectors.of_sum(PEOPLE, 0).sums(level) * level.step / ONE
    runs = [clip.release(PEOPLE, 0, SimulatedEntropy(seed)) for seed in range(1_000)]
    covered = np.mean([(one.low <= truth) & (truth <= one.high) for one in runs])
    assert abs(covered - 0.9) < 5.4 * np.sqrt(0.09 / 6_000)


def test_little_epsilon_and_many_groups_are_no_reason_to_refuse() -> None:
    """No value is worth a doubling then, which is what a choice may say."""
    L1Clip(PureBudget(5e-5), Ladder(0, 32)).check_noise(100_000)


def test_refuses_several_owners_other_rows_and_parameters_out_of_range() -> None:
    noise = ConstantEntropy()
    several = encode(join_tuples([owner("u", [1]), owner("u", [2])], [1]))
    with pytest.raises(InvalidParameter, match="one owner"):
        L1Clip(BUDGET).release(several, 0, noise)
    with pytest.raises(InvalidParameter, match="no such release"):
        L1Clip(BUDGET).release(PAIR, 1, noise)
    for wrong in ({"confidence": 1.0}, {"groups_per_unit": 0}):
        with pytest.raises(InvalidParameter):
            L1Clip(BUDGET, **wrong)
    for level in ((0, 1), (1, 0)):
        with pytest.raises(InvalidParameter):
            Level(*level)
    with pytest.raises(InvalidParameter):
        LevelNoise(Level(1, 1), Fraction(0))


def test_can_be_watched_and_keeps_its_data_to_itself() -> None:
    stages: list[str] = []
    L1Clip(BUDGET).release(PAIR, 0, SimulatedEntropy(1), Control(progress=lambda stage, _: stages.append(stage)))
    assert set(stages) == {"clip"}
    assert repr(LevelledVectors.of_sum(PAIR, 0)) == "LevelledVectors(<private>)"
