"""Which found groups may be shown where one unit may be in any number of them: each spreads one vote over its own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.accounting.largest_rho import largest_rho
from privacy.entropy import Entropy, check_scale
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, check_groups, exact, exact_epsilon
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.groups.keep_groups import keep_groups
from privacy.mechanisms.noise.gaussian_threshold_noise import GaussianThresholdNoise
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise
from privacy.truncation.ladder.level_index_kernels import add_loads
from privacy.units import ONE

MOST_VOTED = 1000
"""L0 of the votes: the most groups in which one unit votes. Public, and no setting: it enters the threshold by the
root of its logarithm, so one that is far too large costs a few percent (0.05 of the threshold from 100 to 1000)."""


@dataclass(frozen=True)
class VoteThreshold:
    """Group g is shown when v_g + Z reaches a public threshold; v_g is the sum of its units' votes.

    A unit in k groups votes 1 / sqrt(k) in each of them, in at most L0 of them (`keep_groups`: those in which it
    weighs most). Votes decide what is shown and nothing else: no row is left out of the values of groups that are.

    For discovery alone, of tuples of one owner each. With two, the groups that a unit votes in would hang on the rows
    that it shares with another one: all who share rows with one unit would vote otherwise without it, and no number
    bounds them.

    Proof of (epsilon, delta). Let I' be I without unit u. Whoever else votes, votes the same in both, since the
    votes of a unit are a function of its own rows. The votes of u have a Euclidean length of at most 1. Divide the
    keys into those that have votes in both, and those with votes in I alone. The noise of both parts is independent,
    so what they tell adds up.

    * In both: Gaussian noise of scale 1 / sqrt(2 rho) is rho-zCDP, and rho is the largest that costs (epsilon, delta
      / 2) by the tight conversion. Who is above the threshold is post-processing.
    * In I alone: only u votes for these keys, so there are at most k of them, each with its vote 1 / sqrt(k), k <= L0
      the number of groups that u votes in. The threshold T has P(Z >= T - 1 / sqrt(k)) <= delta / (2 k) for each k
      from 1 to L0: that any of them is shown has a probability of at most delta / 2. In I' none of them is.

    Together (epsilon, delta). Then whatever is released of the groups that are shown, a public set by now, composes
    with it: their values may use that there are so many, but no L0.

    Where rho is 0, as no Gaussian noise is worth a small epsilon, the noise is Laplace's and votes are 1 / k: they
    add up to at most 1, and scale 1 / epsilon makes the keys in both epsilon-DP. All of delta is for the others.

    Votes are whole numbers of 2^-20, rounded down, and noise is drawn on that grid: rounding is part of the votes,
    and the bounds above hold for them to the last bit.

    Source: privacy.md section 7; Gopi et al., Differentially Private Set Union, ICML 2020 (weighted Gaussian);
      Korolova et al., WWW 2009.

    Attributes:
      epsilon: for all groups together, > 0.
      delta: likewise, in (0, 1).
      minimum: k >= 1, or None: fewer votes than k are not enough, whatever delta says. Votes are fewer than units, so
        more units than k may have to share a group.
      most_voted: L0 >= 1, of the votes: the most groups in which one unit votes.
    """

    epsilon: float
    delta: float
    minimum: int | None = None
    most_voted: int = MOST_VOTED

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 < self.delta < 1:
            raise InvalidParameter("keys are found at a delta between 0 and 1")
        if self.minimum is not None and self.minimum < 1:
            raise InvalidParameter("a minimum frequency is at least 1")
        check_groups(self.most_voted)

    @property
    def name(self) -> str:
        """`vote_threshold`: a name for records and EXPLAIN; no question asks for it."""
        return "vote_threshold"

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta) over all groups."""
        return ApproxDP(self.epsilon, self.delta)

    @property
    def is_gaussian(self) -> bool:
        """Is the noise Gaussian, and a vote in each of k groups 1 / sqrt(k)? Otherwise it is Laplace's and 1 / k."""
        return self._rho > 0

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NDArray[np.intp]:
        """Decide which groups are shown.

        Args:
          tuples: m join tuples with one owner position, in the groups that the data holds, which are in an order that
            no row decides.
          row: which row of tuples.weights says which tuples count: those of more than 0.
          entropy: where the noise comes from.
        Returns: the places of the groups that are shown, rising. The number of groups and the places are private, and
          only the keys of what is shown may be told.
        Raises: InvalidParameter before noise is drawn, for several owner positions too; EntropyFailed.
        Cost: linear in m, a sort of the groups of each unit that has too many, one draw per group.
        """
        return self.shown(self.votes(tuples, row), entropy)

    def shown(self, votes: NDArray[np.int64], entropy: Entropy) -> NDArray[np.intp]:
        """The groups whose noisy votes reach the threshold, of those that have votes at all.

        Args:
          votes: (G,) of each group, from `votes`.
          entropy: where the noise comes from.
        Raises: InvalidParameter before noise is drawn; EntropyFailed.
        """
        groups = np.flatnonzero(votes)
        noise = self._rung.draw(len(groups), entropy)
        return groups[votes[groups] + noise >= self._least_steps]

    def votes(self, tuples: CodedJoinTuples, row: int) -> NDArray[np.int64]:
        """(G,) how many votes each group has, in steps of 2^-20. Private.

        Args:
          tuples, row: as `release` takes them.
        Raises: InvalidParameter for another row, or several owner positions.
        """
        if not 0 <= row < len(tuples.weights):
            raise InvalidParameter("there is no such release")
        kept = keep_groups(tuples, self.most_voted)
        loads = add_loads(kept.members, np.ascontiguousarray(kept.weights[row]), len(kept.units))
        voting = loads > 0
        groups_of_unit = np.bincount(kept.units[voting], minlength=int(kept.units.max(initial=-1)) + 1)
        by_member = np.where(voting, self._vote[groups_of_unit[kept.units]], 0)
        before = np.concatenate([[0], np.cumsum(by_member)])
        counted: NDArray[np.int64] = before[kept.member_start[1:]] - before[kept.member_start[:-1]]
        return counted

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range. Public, and the same for any number of groups.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        del n_groups
        check_scale(self._rung.scale)

    def threshold(self, n_groups: int = 1) -> float:
        """The least noisy number of votes that is shown. Public, and the same for any number of groups."""
        del n_groups
        return self._least_steps * self._rung.step_weight

    def noise_scale(self, n_groups: int = 1) -> float:
        """Of the number of votes in each group. Public, and the same for any number of groups."""
        del n_groups
        return self._rung.noise_scale

    @cached_property
    def _rho(self) -> float:
        """What the Gaussian noise may tell; 0 where none is worth this epsilon."""
        return largest_rho(self.epsilon, self.delta / 2) * DOWN

    @cached_property
    def _rung(self) -> ThresholdNoise | GaussianThresholdNoise:
        """The grid and its noise: that of a sensitivity of 1."""
        grid = ThresholdNoise(ONE, 0.0, exact_epsilon(self.epsilon))
        return GaussianThresholdNoise(grid, self._rho) if self.is_gaussian else grid

    @cached_property
    def _vote(self) -> NDArray[np.int64]:
        """(L0 + 1,) what a unit in k groups votes in each, in steps and rounded down; nothing for k = 0."""
        one = ONE // self._rung.step
        each = (math.isqrt(one * one // k) if self.is_gaussian else one // k for k in range(1, self.most_voted + 1))
        return np.array([0, *each], np.int64)

    @cached_property
    def _least_steps(self) -> int:
        """The least v + Z, in steps, that is shown: enough for keys of one unit alone in any number of groups.

        Numbers of groups from one power of two to the next are one case: the largest vote among them, and the
        smallest tail.
        """
        delta = exact(self.delta) / (2 if self.is_gaussian else 1)
        least = (self.minimum or 0) * (ONE // self._rung.step)
        for bits in range(self.most_voted.bit_length()):
            fewest, most = 1 << bits, min((2 << bits) - 1, self.most_voted)
            tail = float(delta / most * Fraction(2**50 - 1, 2**50))  # rounding to a float may not raise it
            least = max(least, int(self._vote[fewest]) + self._rung.upper_quantile(tail) + 1)
        return least
