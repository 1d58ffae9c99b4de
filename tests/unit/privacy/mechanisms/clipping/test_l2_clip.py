from __future__ import annotations

import math

import numpy as np
import pytest

from privacy.accounting.event import ZCDP
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.clipping.clipped_vectors import STEPS, ClippedVectors, sum_sensitivity
from privacy.mechanisms.clipping.l2_clip import L2Clip
from privacy.mechanisms.concentrated_gem import ConcentratedGem
from privacy.mechanisms.groups.group_lp import GroupLp
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.truncation.control import Control
from privacy.truncation.encode import encode
from privacy.units import ONE
from tests.support.replay_entropy import ConstantEntropy, RecordedEntropy
from tests.support.simulated_entropy import SimulatedEntropy
from tests.unit.privacy.truncation.instances import join_tuples, owner

BUDGET = ConcentratedBudget.of(4.0, 1e-7)
PAIR = encode(join_tuples([owner("u", [1, 1, 2, 2, 2])], [3 * ONE, 4 * ONE, 1, 1, ONE], [0, 1, 0, 0, 2], 4))
"""One unit with (3, 4), and one with (2^-29, 0, 1)."""

CROWD = np.random.default_rng(1)
PEOPLE = encode(
    join_tuples(
        [owner("u", CROWD.integers(0, 3000, 60_000).tolist())],
        [ONE] * 60_000,
        CROWD.integers(0, 30, 60_000).tolist(),
        30,
    )
)
"""3000 people of 20 rows in 30 groups."""


def test_vectors_are_cut_in_every_group_and_then_in_length() -> None:
    vectors = ClippedVectors(PAIR, 0)
    assert (vectors.sums(8 * ONE) / STEPS * 8).tolist() == [3.0, 4.0, 1.0, 0.0]
    # At tau = 4 the vector (3, 4) has length 5 / 4 of tau, below 2: scaled to tau.
    assert vectors.sums(4 * ONE) / STEPS * 4 == pytest.approx([2.4, 3.2, 1.0, 0.0], abs=1e-6)
    # At tau = 1 both entries are cut to 1, and (1, 1) is scaled to length 1.
    assert vectors.sums(ONE) / STEPS == pytest.approx([math.sqrt(0.5)] * 2 + [1.0, 0.0], abs=1e-6)


def test_beyond_twice_tau_a_longer_vector_counts_less() -> None:
    nine = encode(join_tuples([owner("u", [1] * 9)], [ONE] * 9, range(9), 9))
    assert ClippedVectors(nine, 0).sums(ONE) / STEPS == pytest.approx([2 / 9] * 9, abs=1e-6)
    assert ClippedVectors(nine, 0).lengths(Ladder(0, 0)).values.tolist() == [[ONE * 2 // 3]]


def test_rounding_costs_next_to_nothing() -> None:
    assert sum_sensitivity(1) <= STEPS + 2
    assert sum_sensitivity(100_000) < STEPS * (1 + 1e-4)


def test_noise_is_for_tau_whatever_a_unit_reaches() -> None:
    """One threshold leaves nothing to choose, and the whole budget for the release."""
    clip = L2Clip(BUDGET, Ladder(3, 3), selection=SelectionSettings(0.2))
    released = clip.release(PEOPLE, 0, SimulatedEntropy(1))
    assert released.noise_scale == pytest.approx(np.full(30, 8 / math.sqrt(2 * BUDGET.rho)), rel=1e-6)
    assert clip.event == ZCDP(BUDGET.rho)
    assert (released.mechanism, released.noise, released.delta) == ("l2_clip", "gaussian", 1e-7)
    assert clip.epsilon_if_bound_fails(30) == released.epsilon == BUDGET.epsilon
    assert clip.expected_noise(30)[0][1] == pytest.approx((released.high - released.low)[0] / 2)


def test_the_choice_is_made_once_with_its_share() -> None:
    recorded = RecordedEntropy(SimulatedEntropy(2))
    L2Clip(BUDGET, Ladder(0, 9), selection=SelectionSettings(0.25)).release(PEOPLE, 0, recorded)
    assert recorded.draws[0][1] == pytest.approx(10 * 2 * 1025 / math.sqrt(2 * BUDGET.rho), rel=1e-9)
    assert [kind for kind, _, _ in recorded.draws].count("gaussian") == 1


def test_is_far_better_than_a_share_for_every_group() -> None:
    truth = np.diff(PEOPLE.row_start)

    def error(measurement: L2Clip | GroupLp) -> float:
        runs = (measurement.release(PEOPLE, 0, SimulatedEntropy(seed)).values - truth for seed in range(10))
        return float(np.mean([np.linalg.norm(run) for run in runs]) / np.linalg.norm(truth))

    assert error(L2Clip(BUDGET)) < 0.03
    assert 3 * error(L2Clip(BUDGET)) < error(GroupLp(ConcentratedGem(BUDGET)))


def test_the_interval_covers_the_clipped_sum_as_often_as_it_says() -> None:
    """30 groups, 200 runs: 5.4 standard deviations either way."""
    clip = L2Clip(BUDGET, Ladder(3, 3), confidence=0.9)
    truth = ClippedVectors(PEOPLE, 0).sums(8 * ONE) / STEPS * 8
    runs = [clip.release(PEOPLE, 0, SimulatedEntropy(seed)) for seed in range(200)]
    covered = np.mean([(one.low <= truth) & (truth <= one.high) for one in runs])
    assert abs(covered - 0.9) < 5.4 * math.sqrt(0.09 / 6000)


def test_refuses_several_owners_other_rows_and_parameters_out_of_range() -> None:
    noise = ConstantEntropy()
    several = encode(join_tuples([owner("u", [1]), owner("u", [2])], [1]))
    with pytest.raises(InvalidParameter, match="one owner"):
        L2Clip(BUDGET).release(several, 0, noise)
    with pytest.raises(InvalidParameter, match="no such release"):
        L2Clip(BUDGET).release(PAIR, 1, noise)
    with pytest.raises(InvalidParameter):
        L2Clip(BUDGET, confidence=1.0)


def test_can_be_watched_and_keeps_its_data_to_itself() -> None:
    stages: list[str] = []
    L2Clip(BUDGET).release(PAIR, 0, SimulatedEntropy(1), Control(progress=lambda stage, _: stages.append(stage)))
    assert set(stages) == {"clip"}
    assert repr(ClippedVectors(PAIR, 0)) == "ClippedVectors(<private>)"
