"""Which groups may be shown: found keys, minimum frequencies, and the groups that a unit counts in.

`keep_groups` is the custodian's rule: no unit counts in more than so many groups. `GroupThreshold` shows the groups
whose noisy number of units exceeds a public threshold, and `VoteThreshold` does where a unit may be in any number of
them. Only the keys of what is shown may be told.
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
    """Leave out the tuples of every unit but those in the `most` groups where it weighs most.

    The rule looks at a unit's own tuples alone, so nobody's tuples decide about anybody else's. A unit weighs in a
    group what its tuples weigh in all releases together, so that all of them keep the same groups; of equals those
    that come first.

    Sensitivity: a unit that comes or goes does so in `most` groups at most: that is L0 for `group_lp`. From a sample,
    with K of its tuples there, it adds at most min(tau, K) in each of them: the loss is that of docs/mathematics.md,
    section 7.1.

    Args:
      tuples: m join tuples with one owner position.
      most: >= 1, a public number.
    Returns: at most m tuples; groups and members are numbered as before, some own nothing now.
    Raises: InvalidParameter for several owner positions: what one of them keeps another might not.
    Cost: linear, and a sort of the groups of each unit that has too many.
    Source: docs/mathematics.md, section 5.3.
    """
    if most < 1:
        raise InvalidParameter("a unit counts in at least one group")
    if len(tuples.members) != 1:
        raise InvalidParameter("a rule for groups needs one owner per tuple")
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
    """Group g is shown when v_g + Lap((1 + gap) / eps_g) reaches a public threshold; v_g is a count truncated at 1.

    With one owner per tuple v_g is the number of privacy units in the group. With several it is the most tuples that
    can be chosen in which nobody stands twice, fractions allowed: never more than the number of units, and moved by
    one unit by at most 1, where the number of units itself would lose all whom only that unit's tuples connect.

    Two uses, which may come together:

    * a minimum frequency k, over groups that are public: epsilon-DP, as `fixed_threshold`;
    * discovery, delta > 0: the groups are those that the data holds, v_g > 0. A key is none that only tuples have
      which the rule for groups per unit left out, or one unit could bring any number of keys. Between neighbours L0
      groups differ at most. In a group that both have, the noise is epsilon / L0-DP. A group that only one of them
      has belongs to the one unit in which they differ, so v_g <= 1, and it is shown with probability at most
      delta / L0, which makes it (0, delta / L0)-DP: hence (epsilon, delta) for all of them by basic composition, and
      for whatever is then released of the groups that are shown. Where nothing bounds L0: `VoteThreshold`.

    Source: docs/mathematics.md, section 5.4; Korolova et al., WWW 2009; tau-thresholding of Wilson et al., PoPETS
      2020.

    Attributes:
      epsilon: for all groups together, > 0.
      delta: likewise, in [0, 1); 0 where the groups are public.
      groups_per_unit: L0, or None when only the number of public groups bounds it; discovery needs it.
      gap: eta; the solver's constant relative gap.
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
            raise InvalidParameter("delta is a probability")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if self.delta > 0 and self.groups_per_unit is None:
            raise InvalidParameter("discovery needs a bound on the groups of one unit")
        if self.delta == 0 and self.minimum is None:
            raise InvalidParameter("a threshold has a minimum, or a delta")
        if self.minimum is not None and self.minimum < 1:
            raise InvalidParameter("a minimum frequency is at least 1")

    @cached_property
    def thresholds(self) -> Thresholds:
        """The threshold of truncation, 1: each unit counts once."""
        return Thresholds(0, 0)

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta) over all groups; pure where the groups are public."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NDArray[np.intp]:
        """Decide which groups are shown.

        Args:
          answer: counts of tuples, each of the weight 1, of G groups on `thresholds`.
        Returns: the places of the groups that are shown, rising. Under discovery G and the places are private, and
          only the keys of what is shown may be told.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed from the answer.
        Cost: G draws, and the solves that the bounds leave open.
        """
        check_answer(answer, self.thresholds, self.gap)
        level = self._level(answer.n_groups)
        values = settled_values(answer, 0)
        groups = np.flatnonzero(self._is_there(values))
        noise = release_noise(np.zeros(len(groups), np.intp), (level,), entropy)
        return groups[values[groups] // level.step + noise >= self._least_steps(level)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range for any number of public groups up to this one. Public.

        Under discovery the number is private and does not matter: L0 alone divides epsilon.
        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        check_levels((self._level(n_groups),))

    def threshold(self, n_groups: int = 1) -> float:
        """The least noisy number of units that is shown. Public."""
        level = self._level(n_groups)
        return self._least_steps(level) * level.step_weight

    def noise_scale(self, n_groups: int = 1) -> float:
        """Of the number of units in each group. Public."""
        return self._level(n_groups).noise_scale

    def _is_there(self, values: Ints) -> Bools:
        """(G,) which groups may be shown: all public ones; of found ones those that somebody is in."""
        return values > 0 if self.delta else np.ones(len(values), bool)

    def _least_steps(self, level: ThresholdNoise) -> int:
        """The least v // step + Z that is shown."""
        asked = 0 if self.minimum is None else self.minimum * (ONE // level.step)
        if self.delta == 0:
            return asked
        assert self.groups_per_unit is not None, "checked when it was made"
        each = exact(self.delta) / self.groups_per_unit
        tail = float(each * Fraction(2**50 - 1, 2**50))  # rounding to a float may not raise it
        return max(asked, ONE // level.step + level.upper_quantile(tail) + 1)

    def _level(self, n_groups: int) -> ThresholdNoise:
        public = self.delta == 0  # under discovery the number of groups is private, and only L0 may divide
        share = group_epsilon(self.epsilon, self.groups_per_unit, n_groups if public else self.groups_per_unit or 1)
        return ThresholdNoise(int(self.thresholds.units[0]), self.gap, share)


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

    Source: docs/mathematics.md, section 5.5; Gopi et al., Differentially Private Set Union, ICML 2020 (weighted
      Gaussian); Korolova et al., WWW 2009.

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
    name = "vote_threshold"

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not 0 < self.delta < 1:
            raise InvalidParameter("keys are found at a delta between 0 and 1")
        if self.minimum is not None and self.minimum < 1:
            raise InvalidParameter("a minimum frequency is at least 1")
        check_groups(self.most_voted)

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
        Returns: the places of the groups that are shown, rising. The number of groups and the places are private, and
          only the keys of what is shown may be told.
        Raises: InvalidParameter before noise is drawn, for several owner positions too; EntropyFailed.
        Cost: linear in m, a sort of the groups of each unit that has too many, one draw per group.
        """
        return self.shown(self.votes(tuples, row), entropy)

    def shown(self, votes: Ints, entropy: Entropy) -> NDArray[np.intp]:
        """The groups whose noisy votes reach the threshold, of those that have votes at all.

        Args:
          votes: (G,) of each group, from `votes`.
        Raises: InvalidParameter before noise is drawn; EntropyFailed.
        """
        groups = np.flatnonzero(votes)
        noise = self._level.draw(len(groups), entropy)
        return groups[votes[groups] + noise >= self._least_steps]

    def votes(self, tuples: CodedJoinTuples, row: int) -> Ints:
        """(G,) how many votes each group has, in steps of 2^-20. Private.

        Args:
          tuples, row: as `release` takes them.
        Raises: InvalidParameter for another row, or several owner positions.
        """
        if not 0 <= row < len(tuples.weights):
            raise InvalidParameter("there is no such release")
        kept = keep_groups(tuples, self.most_voted)
        contributions = add_contributions(kept.members, np.ascontiguousarray(kept.weights[row]), len(kept.units))
        voting = contributions > 0
        groups_of_unit = np.bincount(kept.units[voting], minlength=int(kept.units.max(initial=-1)) + 1)
        by_member = np.where(voting, self._vote[groups_of_unit[kept.units]], 0)
        before = np.concatenate([[0], np.cumsum(by_member)])
        counted: Ints = before[kept.member_start[1:]] - before[kept.member_start[:-1]]
        return counted

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise that leaves its range. Public, and the same for any number of groups.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        del n_groups
        check_scale(self._level.scale)

    def threshold(self, n_groups: int = 1) -> float:
        """The least noisy number of votes that is shown. Public, and the same for any number of groups."""
        del n_groups
        return self._least_steps * self._level.step_weight

    def noise_scale(self, n_groups: int = 1) -> float:
        """Of the number of votes in each group. Public, and the same for any number of groups."""
        del n_groups
        return self._level.noise_scale

    @cached_property
    def _rho(self) -> float:
        """What the Gaussian noise may tell; 0 where none is worth this epsilon."""
        return largest_rho(self.epsilon, self.delta / 2) * DOWN

    @cached_property
    def _level(self) -> ThresholdNoise:
        """The grid and its noise: that of a sensitivity of 1."""
        grid = ThresholdNoise(ONE, 0.0, exact_epsilon(self.epsilon))
        return replace(grid, rho=self._rho) if self.is_gaussian else grid

    @cached_property
    def _vote(self) -> Ints:
        """(L0 + 1,) what a unit in k groups votes in each, in steps and rounded down; nothing for k = 0."""
        one = ONE // self._level.step
        each = (math.isqrt(one * one // k) if self.is_gaussian else one // k for k in range(1, self.most_voted + 1))
        return np.array([0, *each], np.int64)

    @cached_property
    def _least_steps(self) -> int:
        """The least v + Z, in steps, that is shown: enough for keys of one unit alone in any number of groups.

        Numbers of groups from one power of two to the next are one case: the largest vote among them, and the
        smallest tail.
        """
        delta = exact(self.delta) / (2 if self.is_gaussian else 1)
        least = (self.minimum or 0) * (ONE // self._level.step)
        for bits in range(self.most_voted.bit_length()):
            fewest, most = 1 << bits, min((2 << bits) - 1, self.most_voted)
            tail = float(delta / most * Fraction(2**50 - 1, 2**50))  # rounding to a float may not raise it
            least = max(least, int(self._vote[fewest]) + self._level.upper_quantile(tail) + 1)
        return least
