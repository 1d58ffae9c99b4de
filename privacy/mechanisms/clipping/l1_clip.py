"""`l1_clip`: what every unit adds to all groups together is levelled to tau, and Laplace noise hides one unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy, check_scale
from privacy.exact import check_confidence, check_groups, groups_reached
from privacy.join_tuples import CodedJoinTuples
from privacy.ladder import Ladder
from privacy.mechanisms.answer_with_interval import answer_with_interval, half_widths
from privacy.mechanisms.budget import PureBudget
from privacy.mechanisms.clipping.levelled_vectors import Level, LevelledVectors, LevelNoise
from privacy.mechanisms.groups.kinds import GroupsOfKinds
from privacy.mechanisms.groups.shared_threshold import NESTED_SHARED_SELECTION
from privacy.mechanisms.noise.release import check_rungs
from privacy.mechanisms.selection.scores import Scores
from privacy.mechanisms.selection.settings import MOST_NOISE, SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.control import QUIET, Control


@dataclass(frozen=True)
class L1Clip:
    """One tau for all groups, chosen by gem on sum_u min(tau, sum_f x_uf); then sum_u C(x_u) and noise in each group.

    epsilon-DP: the choice spends eps_s, its scores being those of one sum over tuples of one owner, whose sensitivity
    is tau (`Scores.nested`); the release what is left, for whole numbers of steps that move by D in all groups
    together (`LevelledVectors`, with the proof; D is below 2 tau, and tau in up to two groups). Pointwise in tau.

    It pays where one unit reaches several groups and has less in most of them than in all together: `group_lp` needs
    noise for L0 tau where a unit may have tau in any one group, and chooses tau on a sum in which a unit that is cut
    in one group counts 1 / L0; here it counts whole. Where units have the same in every group, `group_lp` keeps up to
    twice as much of them.

    The tuples must not have gone through `keep_groups`: a group that enters is not a partial removal, and there
    is no need for it. A ladder of one threshold leaves nothing to choose: the release then gets everything.
    Source: privacy.md section 5, for the choice and the premise of one owner; the clip is this project's.

    Attributes:
      budget: epsilon for all groups together.
      ladder: the thresholds.
      selection: how tau is chosen; its split is a share of epsilon.
      confidence: of each group's interval, over the release noise, in (0, 1).
      groups_per_unit: L0, as it follows from enforced keys and the public list of groups; None where only their
        number bounds it. No rule that chooses among the groups of a unit.
      exchanges: may a unit have more in some group where it loses rows? Totals move by tau at most all the same.
      charge: >= 0, how many times a threshold's noise counts in its score.
    """

    budget: PureBudget
    ladder: Ladder = field(default_factory=Ladder)
    selection: SelectionSettings = NESTED_SHARED_SELECTION
    confidence: float = 0.95
    groups_per_unit: int | None = None
    exchanges: bool = False
    charge: float = 1.0

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_groups(self.groups_per_unit)

    @property
    def name(self) -> str:
        """`l1_clip`: what each unit adds to all groups together is cut to one total."""
        return "l1_clip"

    @property
    def epsilon(self) -> float:
        """What one release spends, for all groups together."""
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """0: its privacy is pure."""
        return self.budget.delta

    @property
    def event(self) -> PrivacyEvent:
        """epsilon-DP, over all groups."""
        return self.budget.event

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy, control: Control = QUIET) -> NoisyAnswer:
        """Choose tau, level, release one noisy value per group.

        Args:
          tuples: m join tuples of one owner position in G groups.
          row: which row of tuples.weights.
          entropy: where the noise comes from.
          control: watches and stops between the passes.
        Returns: the noisy values; each interval covers the group's sum of levelled entries.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; Cancelled.
        Cost: linear in m, L passes over the units, some twenty draws and one per group.
        """
        vectors = LevelledVectors.of_sum(tuples, row)
        control.check("clip")
        index = self.choose(vectors, entropy)
        control.check("clip")
        return self.release_at(index, vectors, entropy)

    def choose(self, vectors: LevelledVectors, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; nothing is drawn where there is one. Raises: EntropyFailed."""
        if len(self.ladder) == 1:
            return 0
        scores = self._scores(vectors.n_groups)
        return int(self.budget.choose(vectors.totals(self.ladder), scores, self._selecting, entropy).index[0])

    def release_at(self, index: int, vectors: LevelledVectors, entropy: Entropy) -> NoisyAnswer:
        """Level at a threshold, and release with what is left of the budget.

        Args:
          index: of the threshold, as `choose` found it.
          vectors: what units have in each group.
          entropy: where the noise comes from.
        Raises: EntropyFailed.
        """
        n_groups = vectors.n_groups
        steps = self._rungs(n_groups)
        noise = steps[index]
        values = (vectors.sums(noise.level) + noise.draw(n_groups, entropy)).astype(np.float64) * noise.step_weight
        signal = np.full(n_groups, self._signal(values, noise.tau))
        return answer_with_interval(values, np.full(n_groups, index, np.intp), steps, signal, self)

    def of_kinds(self, kinds: GroupsOfKinds) -> L1Clip:
        """The same, told how many groups the units of the one relation reach, which is L0 where that is less.

        Raises: InvalidParameter for none, or fewer than one group.
        """
        most = max((reached for _, reached in kinds), default=0)
        known = most if self.groups_per_unit is None else min(most, self.groups_per_unit)
        return replace(self, groups_per_unit=known)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        if len(self.ladder) > 1:
            self._scores(n_groups)
            check_scale(self.budget.choice_scale(self._selecting, len(self.ladder)))
        check_rungs(self._rungs(n_groups))

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return half_widths(self._rungs(n_groups), self.confidence)

    def _signal(self, values: NDArray[np.float64], tau: float) -> float:
        """As in NoisyAnswer, of all groups together."""
        if len(self.ladder) == 1:
            return math.inf
        return max(0.0, float(values.sum())) / (self._doubt(len(values)) * tau)

    @property
    def _split(self) -> float:
        """The share of the budget that the choice gets."""
        return 0.0 if len(self.ladder) == 1 else self.selection.split

    @property
    def _selecting(self) -> Fraction:
        """eps_s of the one selection."""
        return self.budget.selecting(self._split)

    def _rungs(self, n_groups: int) -> Sequence[LevelNoise]:
        reached, epsilon = self._reached(n_groups), self.budget.releasing(self._split)
        return [LevelNoise(Level(int(units), reached, self.exchanges), epsilon) for units in self.ladder.units]

    def _noise_price(self, n_groups: int) -> float:
        """What noise is charged at: the sum of all groups' mean noise in multiples of tau, as of the largest."""
        largest = self._rungs(n_groups)[-1]
        each = self.budget.mean_noise * largest.noise_scale / largest.tau
        return min(self.charge * max(1, n_groups) * each, MOST_NOISE)

    def _reached(self, n_groups: int) -> int:
        """L0, or the number of groups where that is less."""
        return groups_reached(self.groups_per_unit, max(1, n_groups))

    def _doubt(self, n_groups: int) -> float:
        """What a value is measured in for its `signal`, in multiples of tau: as `Gem.doubts`."""
        return self._noise_price(n_groups) + self.selection.doubt(self.ladder, float(self._selecting))

    def _scores(self, n_groups: int) -> Scores:
        noise = (self._noise_price(n_groups),) * len(self.ladder)
        scores = self.selection.scores(self.ladder, 0.0, noise, float(self._selecting))
        return replace(scores, monotone=True, nested=True)
