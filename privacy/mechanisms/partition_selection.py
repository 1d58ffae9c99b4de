"""Partition selection: which groups may be shown, by found keys, minimum frequencies, and groups per unit.

`keep_groups` is the administrator's rule that no unit counts in more than so many groups. `GroupThreshold` shows the
groups whose noisy number of units exceeds a public threshold. `VoteThreshold` does so if a unit may be in any number
of groups. Only the keys of shown groups may be published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import ApproxDP, PrivacyEvent, PureDP
from privacy.accounting.zcdp import largest_rho
from privacy.entropy import Entropy, check_scale
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, check_gap, check_groups, exact, exact_epsilon, group_epsilon
from privacy.join_tuples import CodedJoinTuples
from privacy.kernel import kernel
from privacy.mechanisms.noise import ThresholdNoise
from privacy.mechanisms.release import check_answer, check_levels, release_noise
from privacy.mechanisms.selection import settled_values
from privacy.thresholds import Thresholds
from privacy.truncation.level_index import add_contributions, by_unit
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE, Bools, Int32s, Ints, saturating_add


def keep_groups(tuples: CodedJoinTuples, most: int) -> CodedJoinTuples:
    """Leave out the tuples of every unit outside of the `most` groups to which it contributes most.

    The rule reads a unit's own tuples alone. It adds up their weights in all releases, so that all releases keep the
    same groups. Of equal groups it keeps the first.

    Sensitivity: a unit comes or goes in at most `most` groups, which is the L0 of `group_lp`. From a sample with K of
      its tuples it adds at most min(tau, K) in each of them (docs/mathematics.md, section 7.1).

    Args:
      tuples: m join tuples with one owner position.
      most: >= 1, a public number.
    Returns: at most m tuples; groups and members keep their numbers, and some own nothing.
    Raises: InvalidParameter for several owner positions, as their owners might keep different groups.
    Cost: linear, and a sort of the groups of each unit that has too many.
    Source: docs/mathematics.md, section 5.3.
    """
    if most < 1:
        raise InvalidParameter("the groups in which a unit counts must be at least 1")
    if len(tuples.members) != 1:
        raise InvalidParameter("a limit on the groups of a unit needs one owner per tuple")
    weights = np.zeros(len(tuples.units), np.int64)
    for row in tuples.weights:
        weights = saturating_add(weights, add_contributions(tuples.members, np.ascontiguousarray(row), len(weights)))
    kept = np.ones(len(weights), bool)
    _leave_out(tuples.member_start, tuples.units, weights, most, kept)
    stays = kept[tuples.members[0]]
    before = np.concatenate([[0], np.cumsum(stays)])
    return CodedJoinTuples(
        members=np.ascontiguousarray(tuples.members[:, stays]),
        row_start=before[tuples.row_start].astype(np.int64),
        member_start=tuples.member_start,
        weights=np.ascontiguousarray(tuples.weights[:, stays]),
        owners=tuples.owners,
        units=tuples.units,
        relations=tuples.relations,
    )


@kernel
def _leave_out(member_start: Ints, units: Int32s, weights: Ints, most: int, kept: Bools) -> None:
    """Set `kept` to false for the members that a unit with more than `most` of them does not keep."""
    start, _, member = by_unit(member_start, units, np.arange(len(units)))
    for unit in range(len(start) - 1):
        own = member[start[unit] : start[unit + 1]]
        if len(own) <= most:
            continue
        order = np.argsort(-weights[own], kind="mergesort")  # stable: of equals the first group
        for place in range(most, len(own)):
            kept[own[order[place]]] = False


@dataclass(frozen=True)
class GroupThreshold:
    """Show group g if v_g + Lap((1 + gap) / eps_g) reaches a public threshold; v_g is a count truncated at 1.

    With one owner per tuple v_g is the number of privacy units in the group. With several it is the most tuples,
    fractions allowed, of which no unit owns more than one. A unit moves it by at most 1. The number of units could
    move by more, since other units may be connected only through that unit's tuples.

    The two uses may be combined:

    * a minimum frequency k, over public groups: epsilon-DP, as `fixed_threshold`;
    * partition selection, delta > 0: the groups are those that the data holds, v_g > 0. Keys of tuples that the rule
      for groups per unit left out do not count, or one unit could bring any number of keys. At most L0 groups differ
      between neighbours. A group of both is epsilon / L0-DP. A group of only one belongs to the unit in which they
      differ. So v_g <= 1, and it is shown with probability at most delta / L0, which is (0, delta / L0)-DP. Basic
      composition gives (epsilon, delta), also with later releases of the shown groups. Without a bound L0:
      `VoteThreshold`.

    Source: docs/mathematics.md, section 5.4; Korolova et al., WWW 2009; tau-thresholding of Wilson et al., PoPETS
      2020.

    Attributes:
      epsilon: for all groups together, > 0.
      delta: likewise, in [0, 1); 0 if the groups are public.
      groups_per_unit: L0; None if only the number of public groups bounds it. Partition selection needs it.
      gap: eta, the solver's constant relative gap.
      minimum: k >= 1, or None.
    """

    epsilon: float
    delta: float = 0.0
    groups_per_unit: int | None = None
    gap: float = 0.0
    minimum: int | None = None
    name = "group_threshold"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 <= self.delta < 1:
            raise InvalidParameter("delta must be between 0 and 1")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if self.delta > 0 and self.groups_per_unit is None:
            raise InvalidParameter("partition selection needs a bound on the groups of one unit")
        if self.delta == 0 and self.minimum is None:
            raise InvalidParameter("partition selection needs a minimum frequency or a delta")
        if self.minimum is not None and self.minimum < 1:
            raise InvalidParameter("a minimum frequency must be at least 1")

    @cached_property
    def thresholds(self) -> Thresholds:
        """The clipping threshold 1: each unit counts once."""
        return Thresholds(0, 0)

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta) over all groups; pure if the groups are public."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NDArray[np.intp]:
        """Decide which groups are shown.

        Args:
          answer: counts of tuples of weight 1, of G groups on `thresholds`.
        Returns: the places of the shown groups, rising. In partition selection G and the places are private; only the
          keys of shown groups may be published.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed.
        Cost: G draws, and the solves that the bounds leave open.
        """
        check_answer(answer, self.thresholds, self.gap)
        level = self._level(answer.n_groups)
        values = settled_values(answer, 0)
        groups = np.flatnonzero(self._is_there(values))
        noise = release_noise(np.zeros(len(groups), np.intp), (level,), entropy)
        return groups[values[groups] // level.step + noise >= self._least_steps(level)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that is out of range for any number of public groups up to this one. Public.

        In partition selection the number is private, and L0 alone divides epsilon.
        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        check_levels((self._level(n_groups),))

    def threshold(self, n_groups: int = 1) -> float:
        """The least noisy number of units at which a group is shown. Public."""
        level = self._level(n_groups)
        return self._least_steps(level) * level.step_weight

    def noise_scale(self, n_groups: int = 1) -> float:
        """The noise scale of the number of units in each group. Public."""
        return self._level(n_groups).noise_scale

    def _is_there(self, values: Ints) -> Bools:
        """(G,) groups that may be shown: all public ones, or those of the data that have a unit."""
        return values > 0 if self.delta else np.ones(len(values), bool)

    def _least_steps(self, level: ThresholdNoise) -> int:
        """The least v // step + Z that is shown."""
        asked = 0 if self.minimum is None else self.minimum * (ONE // level.step)
        if self.delta == 0:
            return asked
        assert self.groups_per_unit is not None, "checked at construction"
        each = exact(self.delta) / self.groups_per_unit
        tail = float(each * Fraction(2**50 - 1, 2**50))  # rounding to a float may not raise it
        return max(asked, ONE // level.step + level.upper_quantile(tail) + 1)

    def _level(self, n_groups: int) -> ThresholdNoise:
        public = self.delta == 0  # in partition selection the number of groups is private, and only L0 may divide
        share = group_epsilon(self.epsilon, self.groups_per_unit, n_groups if public else self.groups_per_unit or 1)
        return ThresholdNoise(int(self.thresholds.units[0]), self.gap, share)


MOST_VOTED = 1000
"""L0 of the votes: the most groups in which one unit votes. It enters the threshold by the root of its logarithm:
from 100 to 1000 the threshold grows by 5%."""


@dataclass(frozen=True)
class VoteThreshold:
    """Show group g if v_g + Z reaches a public threshold; v_g is the sum of its units' votes. For partition
    selection.

    A unit in k groups votes 1 / sqrt(k) in each, in at most L0 of them (`keep_groups`). Votes decide what is shown;
    no row is left out of the values of the shown groups. It needs one owner per tuple. With two, the groups of one
    unit would depend on rows that it shares with others, so one unit could change any number of votes.

    Proof of (epsilon, delta). Let I' be I without unit u. All other votes are the same in both, as a unit's votes
    depend on its own rows. The votes of u have an L2 norm of at most 1. Divide the keys into those with votes in
    both, and those with votes in I alone. The noises of both parts are independent, so their losses add up.

    * In both: Gaussian noise of scale 1 / sqrt(2 rho) is rho-zCDP. rho is the largest that costs (epsilon, delta / 2)
      by the tight conversion. Comparing with the threshold is post-processing.
    * In I alone: only u votes for these keys. There are at most k, each with its vote 1 / sqrt(k), k <= L0 the number
      of groups that u votes in. The threshold T has P(Z >= T - 1 / sqrt(k)) <= delta / (2 k) for each k from 1 to L0.
      So any of them is shown with probability at most delta / 2. In I' none is.

    Together (epsilon, delta). Later releases of the shown groups compose with it. Their values may use the number of
    groups, but no L0.

    If no Gaussian noise is worth a small epsilon, rho is 0. The noise is then Laplace's and the votes are 1 / k. They
    add up to at most 1, so scale 1 / epsilon makes the keys in both epsilon-DP, and all of delta is for the others.

    Votes are whole numbers of 2^-20, rounded down, and noise is drawn on that grid. So the bounds above hold exactly.

    Source: docs/mathematics.md, section 5.5; Gopi et al., Differentially Private Set Union, ICML 2020 (weighted
      Gaussian); Korolova et al., WWW 2009.

    Attributes:
      epsilon: for all groups together, > 0.
      delta: likewise, in (0, 1).
      minimum: k >= 1, or None: fewer votes than k are not enough. A group has fewer votes than units.
      most_voted: L0 >= 1, the most groups in which one unit votes.
    """

    epsilon: float
    delta: float
    minimum: int | None = None
    most_voted: int = MOST_VOTED
    name = "vote_threshold"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 < self.delta < 1:
            raise InvalidParameter("partition selection needs a delta above 0 and below 1")
        if self.minimum is not None and self.minimum < 1:
            raise InvalidParameter("a minimum frequency must be at least 1")
        check_groups(self.most_voted)

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta) over all groups."""
        return ApproxDP(self.epsilon, self.delta)

    @property
    def is_gaussian(self) -> bool:
        """Whether noise is Gaussian and a vote in each of k groups 1 / sqrt(k); else Laplace noise and 1 / k."""
        return self._rho > 0

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NDArray[np.intp]:
        """Decide which groups are shown.

        Args:
          tuples: m join tuples with one owner each, in the groups that the data holds, in an order that no row
            decides.
          row: the row of tuples.weights; tuples with a weight above 0 count.
        Returns: the places of the shown groups, rising. Their number and the places are private; only the keys of
          shown groups may be published.
        Raises: InvalidParameter before noise is drawn, for a tuple with several owners too; EntropyFailed.
        Cost: linear in m, a sort of the groups of each unit that has too many, one draw per group.
        """
        return self.shown(self.votes(tuples, row), entropy)

    def shown(self, votes: Ints, entropy: Entropy) -> NDArray[np.intp]:
        """The groups that have votes and whose noisy votes reach the threshold.

        Args:
          votes: (G,) of each group, from `votes`.
        Raises: InvalidParameter before noise is drawn; EntropyFailed.
        """
        groups = np.flatnonzero(votes)
        noise = self._level.draw(len(groups), entropy)
        return groups[votes[groups] + noise >= self._least_steps]

    def votes(self, tuples: CodedJoinTuples, row: int) -> Ints:
        """(G,) the votes of each group, in steps of 2^-20. Private.

        Args:
          tuples, row: as of `release`.
        Raises: InvalidParameter for another row, or a tuple with several owners.
        """
        if not 0 <= row < len(tuples.weights):
            raise InvalidParameter("no release has this index")
        alone = bool(np.all(tuples.members[1:] < 0))  # then owners of other positions only own other tuples
        kept = keep_groups(replace(tuples, members=tuples.members[:1]) if alone else tuples, self.most_voted)
        contributions = add_contributions(kept.members, np.ascontiguousarray(kept.weights[row]), len(kept.units))
        voting = contributions > 0
        groups_of_unit = np.bincount(kept.units[voting], minlength=int(kept.units.max(initial=-1)) + 1)
        by_member = np.where(voting, self._vote[groups_of_unit[kept.units]], 0)
        before = np.concatenate([[0], np.cumsum(by_member)])
        counted: Ints = before[kept.member_start[1:]] - before[kept.member_start[:-1]]
        return counted

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that is out of range. Public, and the same for any number of groups.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        del n_groups
        check_scale(self._level.scale)

    def threshold(self, n_groups: int = 1) -> float:
        """The least noisy sum of votes at which a group is shown. Public, and the same for any number of groups."""
        del n_groups
        return self._least_steps * self._level.step_weight

    def noise_scale(self, n_groups: int = 1) -> float:
        """The noise scale of the votes in each group. Public, and the same for any number of groups."""
        del n_groups
        return self._level.noise_scale

    @cached_property
    def _rho(self) -> float:
        """What the Gaussian noise may cost; 0 if none is worth this epsilon."""
        return largest_rho(self.epsilon, self.delta / 2) * DOWN

    @cached_property
    def _level(self) -> ThresholdNoise:
        """The grid and its noise, for a sensitivity of 1."""
        grid = ThresholdNoise(ONE, 0.0, exact_epsilon(self.epsilon))
        return replace(grid, rho=self._rho) if self.is_gaussian else grid

    @cached_property
    def _vote(self) -> Ints:
        """(L0 + 1,) the vote of a unit in k groups, in steps, rounded down; 0 for k = 0."""
        one = ONE // self._level.step
        each = (math.isqrt(one * one // k) if self.is_gaussian else one // k for k in range(1, self.most_voted + 1))
        return np.array([0, *each], np.int64)

    @cached_property
    def _least_steps(self) -> int:
        """The least v + Z, in steps, that is shown: enough for keys of one unit alone in any number of groups.

        Numbers of groups between two powers of two share the largest vote and the smallest tail among them.
        """
        delta = exact(self.delta) / (2 if self.is_gaussian else 1)
        least = (self.minimum or 0) * (ONE // self._level.step)
        for bits in range(self.most_voted.bit_length()):
            fewest, most = 1 << bits, min((2 << bits) - 1, self.most_voted)
            tail = float(delta / most * Fraction(2**50 - 1, 2**50))  # rounding to a float may not raise it
            least = max(least, int(self._vote[fewest]) + self._level.upper_quantile(tail) + 1)
        return least
