"""Found groups of which one unit may have any number: votes keep epsilon and delta, and usual mistakes are caught."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacy.audit.auditor import delta_lower_bound
from privacy.audit.outputs import Outputs
from privacy.entropy import Entropy
from privacy.mechanisms.groups.vote_threshold import VoteThreshold
from tests.audit.auditing import FAILURE_PROBABILITY, RUNS
from tests.audit.mutants import WeakerNoise
from tests.support.simulated_entropy import SimulatedEntropy

EPSILON, DELTA = 2.0, 0.02
FINDING = VoteThreshold(EPSILON, DELTA, most_voted=16)
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
        return replace(FINDING, most_voted=1)._least_steps


class WithEmptyGroups(VoteThreshold):
    """Takes every key that occurs for a group, though its unit votes elsewhere."""

    def shown(self, votes: NDArray[np.int64], entropy: Entropy) -> NDArray[np.intp]:
        return super().shown(np.maximum(votes, 1), entropy)


def _alone(made: VoteThreshold, k: int) -> float:
    """A unit that is alone in k groups, against nobody."""
    own = np.full(k, made._vote[k])
    counts = _shown(made, own, SimulatedEntropy(seed=20260401)), Outputs(np.zeros(RUNS), _no(RUNS))
    return delta_lower_bound(*counts, FAILURE_PROBABILITY, EPSILON)


def _moving(made: VoteThreshold, k: int, entropy: Entropy) -> float:
    """A unit that votes in k groups, and in k others once its rows there are gone, all of them at the threshold.

    The votes are sqrt(2) apart, which is what the noise is for.
    """
    others, own = np.full(2 * k, made._least_steps), np.repeat([1, 0], k) * made._vote[k]
    here, there = (_shown(made, others + one, entropy, signs=np.repeat([1, -1], k)) for one in (own, own[::-1]))
    return delta_lower_bound(here, there, FAILURE_PROBABILITY, EPSILON)


def _shown(
    made: VoteThreshold, votes: NDArray[np.int64], entropy: Entropy, signs: NDArray[np.int64] | None = None
) -> Outputs:
    """Per run, how many of the groups are shown, those of the sign -1 taken away."""
    shown = np.zeros(len(votes) * RUNS, np.int64)
    shown[made.shown(np.tile(votes, RUNS), entropy)] = 1
    score = shown.reshape(RUNS, -1) @ (np.ones(len(votes), np.int64) if signs is None else signs)
    return Outputs(score.astype(np.float64), _no(RUNS))


def _no(runs: int) -> NDArray[np.int64]:
    return np.zeros(runs, np.int64)


def test_keys_of_one_unit_are_shown_as_rarely_as_promised() -> None:
    assert _alone(FINDING, 16) <= DELTA / 4  # of the keys of one neighbour; the other's, and the noise, have the rest
    often = replace(FINDING, delta=0.4)
    assert 0.1 * 0.7 < _alone(often, 16) <= 0.1
    assert _alone(often, 1) <= 0.1


def test_catches_a_threshold_for_one_group() -> None:
    assert _alone(AsOfOneGroup(EPSILON, DELTA, most_voted=64), 64) > DELTA


def test_catches_groups_that_only_their_keys_bring_into_being() -> None:
    """A unit has keys without end, and votes for a few of them."""
    nobody = np.zeros(6_400, np.int64)
    assert not len(FINDING.shown(nobody, SimulatedEntropy(seed=0)))
    made = WithEmptyGroups(EPSILON, DELTA, most_voted=16)
    assert sum(len(made.shown(nobody, SimulatedEntropy(seed=run))) > 0 for run in range(200)) / 200 > 5 * DELTA


def test_what_moves_by_one_unit_keeps_epsilon() -> None:
    for k in (1, 4, 16):
        assert _moving(FINDING, k, SimulatedEntropy(seed=20260402)) <= DELTA / 2


def test_catches_half_the_noise() -> None:
    assert _moving(FINDING, 16, WeakerNoise(SimulatedEntropy(seed=20260403), gaussian=0.5)) > DELTA


def test_catches_whole_votes() -> None:
    assert _moving(WithWholeVotes(EPSILON, DELTA, most_voted=16), 16, SimulatedEntropy(seed=20260404)) > DELTA


def test_catches_noise_for_votes_that_only_come_or_only_go() -> None:
    """At sqrt(2) less noise: right where whole units go, not where some of their rows do. By the closed form.

    Gaussian noise of scale s has the privacy profile P(E) - e^eps P'(E) = cdf(d / 2s - eps s / d)
    - e^eps cdf(-d / 2s - eps s / d) at a sensitivity of d (Balle and Wang, ICML 2018).
    """
    right = FINDING.noise_scale()
    assert _profile(math.sqrt(2), right) <= DELTA / 2
    assert _profile(math.sqrt(2), right / math.sqrt(2)) > DELTA


def _profile(moved: float, scale: float) -> float:
    lower, upper = (sign * moved / (2 * scale) - EPSILON * scale / moved for sign in (-1, 1))
    return _cdf(upper) - math.exp(EPSILON) * _cdf(lower)


def _cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
