"""Which groups are shown: found keys keep their delta, counts their epsilon, and usual mistakes are caught.

Votes are for units that may be in any number of groups.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.entropy import Entropy
from privacy.join_tuples import JoinTuples, OwnerColumn
from privacy.mechanisms.noise import ThresholdNoise
from privacy.mechanisms.partition_selection import GroupThreshold, VoteThreshold, keep_groups
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TabulatedAnswer
from privacy.units import ONE
from tests.audit.auditing import FAILURE_PROBABILITY, RUNS, plain
from tests.audit.auditor import Outputs, delta_lower_bound, epsilon_lower_bound
from tests.audit.mutants import WeakerNoise
from tests.support.seeds import sampled
from tests.support.simulated_entropy import SimulatedEntropy

FINDING = GroupThreshold(1.0, 0.02, groups_per_unit=2)
COUNTING = GroupThreshold(1.0, groups_per_unit=2, minimum=10)


class WithoutTheUnitItself(GroupThreshold):
    """Shows what exceeds the noise's quantile, as if a group of one unit had the count 0."""

    def _least_steps(self, level: ThresholdNoise) -> int:
        return super()._least_steps(level) - ONE // level.step


class WithEmptyGroups(GroupThreshold):
    """Takes every key that occurs for a group, though the rule has left its tuples out."""

    def _is_there(self, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        return values >= 0


def _shown(made: GroupThreshold, counts: tuple[int, ...], entropy: Entropy, runs: int = RUNS) -> Outputs:
    """Per run, which of the groups are shown."""
    table = np.tile(np.array(counts, np.int64) * ONE, runs)
    shown = np.zeros(len(table), np.int64)
    shown[made.release(TabulatedAnswer(table[:, None], Thresholds(0, 0)), entropy)] = 1
    label = shown.reshape(runs, len(counts)) @ (1 << np.arange(len(counts)))
    return Outputs(np.zeros(runs), label)


def _delta(made: GroupThreshold, first: tuple[int, ...], second: tuple[int, ...]) -> float:
    entropy = SimulatedEntropy(seed=20260106)
    outputs = _shown(made, first, entropy), _shown(made, second, entropy)
    return delta_lower_bound(*outputs, FAILURE_PROBABILITY, 1.0)


def _epsilon(made: GroupThreshold, entropy: Entropy) -> float:
    """One unit in two of three groups, at the threshold; the other group is there in any case."""
    outputs = _shown(made, (10, 10), entropy), _shown(made, (9, 9), entropy)
    return epsilon_lower_bound(*outputs, FAILURE_PROBABILITY)


def test_groups_of_one_unit_are_shown_as_rarely_as_promised() -> None:
    assert 0.015 < _delta(FINDING, (1, 1), (0, 0)) <= 0.02
    assert _delta(FINDING, (1, 9), (0, 8)) <= 0.02


def test_catches_two_groups_where_one_is_claimed_and_a_threshold_without_the_unit_itself() -> None:
    assert _delta(replace(FINDING, groups_per_unit=1), (1, 1), (0, 0)) > 0.02
    assert _delta(WithoutTheUnitItself(1.0, 0.02, groups_per_unit=2), (1, 1), (0, 0)) > 0.02


def test_keys_that_the_rule_left_out_are_not_found() -> None:
    """One unit with ten keys, of which it counts in one."""
    tuples = JoinTuples(
        (OwnerColumn("person", np.zeros(10, np.int64), np.zeros(10, bool)),), np.arange(10), 10, np.full((1, 10), ONE)
    )
    answer = truncate(keep_groups(encode(tuples), 1), 0, FINDING.thresholds, 0.0)
    counts = tuple((answer.bounds()[0][:, 0] // ONE).tolist())
    assert sum(counts) == 1
    assert _delta(FINDING, counts, (0,) * 10) <= 0.02
    entropy = SimulatedEntropy(seed=20260110)
    mutant = WithEmptyGroups(1.0, 0.02, groups_per_unit=2)
    outputs = _shown(mutant, counts, entropy), _shown(FINDING, (0,) * 10, entropy)
    assert delta_lower_bound(*outputs, FAILURE_PROBABILITY, 1.0) > 0.02


def test_the_minimum_frequency_spends_what_it_may_and_half_the_noise_and_an_undivided_budget_are_caught() -> None:
    assert 0.6 < _epsilon(COUNTING, SimulatedEntropy(seed=20260107)) <= 1.0
    assert _epsilon(COUNTING, WeakerNoise(SimulatedEntropy(seed=20260108), laplace=0.5)) > 1.0
    assert _epsilon(replace(COUNTING, groups_per_unit=1), SimulatedEntropy(seed=20260109)) > 1.0


EPSILON, DELTA = 2.0, 0.02
VOTING = VoteThreshold(EPSILON, DELTA, most_voted=16)
STEPS = 1 << 20


class WithWholeVotes(VoteThreshold):
    """A unit counts as one in each of its groups."""

    @property
    def _vote(self) -> NDArray[np.int64]:
        return np.full(self.most_voted + 1, STEPS, np.int64)


class AsOfOneGroup(VoteThreshold):
    """A threshold for a unit that is in one group."""

    @property
    def _least_steps(self) -> int:
        return replace(VOTING, most_voted=1)._least_steps


class VotingWithEmptyGroups(VoteThreshold):
    """Takes every key that occurs for a group, though its unit votes elsewhere."""

    def shown(self, votes: NDArray[np.int64], entropy: Entropy) -> NDArray[np.intp]:
        return super().shown(np.maximum(votes, 1), entropy)


def _alone(made: VoteThreshold, k: int) -> float:
    """A unit that is alone in k groups, against nobody."""
    own = np.full(k, made._vote[k])
    counts = _voted(made, own, SimulatedEntropy(seed=20260401)), plain(np.zeros(RUNS))
    return delta_lower_bound(*counts, FAILURE_PROBABILITY, EPSILON)


def _moving(made: VoteThreshold, k: int, entropy: Entropy) -> float:
    """A unit that votes in k groups, all of them at the threshold, and is gone."""
    others = np.full(k, made._least_steps)
    here, there = (_voted(made, others + one, entropy) for one in (made._vote[k], 0))
    return delta_lower_bound(here, there, FAILURE_PROBABILITY, EPSILON)


def _voted(made: VoteThreshold, votes: NDArray[np.int64], entropy: Entropy) -> Outputs:
    """Per run, how many of the groups are shown."""
    shown = np.zeros(len(votes) * RUNS, np.int64)
    shown[made.shown(np.tile(votes, RUNS), entropy)] = 1
    return plain(shown.reshape(RUNS, -1).sum(axis=1))


def test_keys_of_one_unit_are_shown_as_rarely_as_promised() -> None:
    assert _alone(VOTING, 16) <= DELTA / 2  # the noise has the rest
    often = replace(VOTING, delta=0.4)
    assert 0.2 * 0.55 < _alone(often, 16) <= 0.2
    assert _alone(often, 1) <= 0.2


def test_catches_a_threshold_for_one_group_and_groups_that_only_their_keys_bring_into_being() -> None:
    """A unit has keys without end, and votes for a few of them."""
    assert _alone(AsOfOneGroup(EPSILON, DELTA, most_voted=64), 64) > DELTA

    nobody = np.zeros(6_400, np.int64)
    assert not len(VOTING.shown(nobody, SimulatedEntropy(seed=0)))
    made = VotingWithEmptyGroups(EPSILON, DELTA, most_voted=16)
    assert sum(len(made.shown(nobody, SimulatedEntropy(seed=run))) > 0 for run in range(200)) / 200 > 5 * DELTA


def test_what_moves_by_one_unit_keeps_epsilon() -> None:
    for k in sampled((1, 4, 16), 2):
        assert _moving(VOTING, k, SimulatedEntropy(seed=20260402)) <= DELTA / 2


def test_catches_half_the_noise_and_whole_votes() -> None:
    assert _moving(VOTING, 16, WeakerNoise(SimulatedEntropy(seed=20260403), gaussian=0.5)) > DELTA
    assert _moving(WithWholeVotes(EPSILON, DELTA, most_voted=16), 16, SimulatedEntropy(seed=20260404)) > DELTA
