"""One clipping threshold for all groups, with Laplace or Gaussian noise, whichever is less.

The threshold is chosen on the sum of the groups' truncated answers. For one (epsilon, delta) the kind of noise
follows from the public number of groups.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_confidence, check_gap, check_groups, groups_reached
from privacy.join_tuples import Private
from privacy.mechanisms.budget import Budget, ConcentratedBudget, PureBudget
from privacy.mechanisms.measurement import OneChoice
from privacy.mechanisms.noise import ThresholdNoise, whole_number
from privacy.mechanisms.release import (
    answer_with_interval,
    check_answer,
    check_levels,
    half_widths,
    release_noise,
    released,
)
from privacy.mechanisms.scores import ExceedanceScores, Scores
from privacy.mechanisms.selection import MOST_NOISE, SelectionSettings, settled_values
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import CountedAnswer, TruncatedAnswer
from privacy.units import Floats, Ints, saturating_sums


class SummedAnswer(Private):
    """floor(sum_f v(f, tau) / L0): a TruncatedAnswer of one group.

    Sensitivity: at most (1 + gap) tau, rounded up to a unit. At most L0 groups move by (1 + gap) tau each, and
      saturation is 1-Lipschitz. A whole number that moves by at most L0 k moves by at most k when it is divided by L0
      and rounded down.

    Monotone: an added unit adds to every group's answer at every threshold, or nothing. So sums at two thresholds
      move apart by at most the larger threshold and both gaps, as `Scores.monotone` asks.
    """

    def __init__(self, answer: TruncatedAnswer, groups_per_unit: int) -> None:
        """Args:
        answer: of G groups; this one sharpens and solves its cells.
        groups_per_unit: L0, in [1, G].
        """
        self._answer, self._reached = answer, groups_per_unit

    @property
    def n_groups(self) -> int:
        """1: the sum of all groups."""
        return 1

    @property
    def thresholds(self) -> Thresholds:
        """The candidate thresholds of the summed answer."""
        return self._answer.thresholds

    @property
    def gap(self) -> float:
        """eta of the groups' answers."""
        return self._answer.gap

    def bounds(self) -> tuple[Ints, Ints]:
        """(1, L) lower and upper bounds of the sum. Cost: G L."""
        lower, upper = self._answer.bounds()
        return self._sum(lower), self._sum(upper)

    @property
    def exceedances(self) -> Ints | None:
        """(1, L) units above each threshold, over all groups; a unit counts in each of its L0 groups."""
        counted = self._answer.exceedances if isinstance(self._answer, CountedAnswer) else None
        return None if counted is None else self._added(counted)

    def sharpen(self, group: int, index: int) -> None:
        """Sharpen the fewest groups that hold half of the gap between the sum's bounds at the threshold.

        Most groups are nearly known, and a choice seldom needs the exact sum.
        """
        lower, upper = self._answer.bounds()
        unknown = (upper[:, index] - lower[:, index]).astype(np.float64)
        widest = np.argsort(-unknown, kind="stable")
        covered = np.cumsum(unknown[widest])
        for own in widest[: int(np.searchsorted(covered, covered[-1] / 2)) + 1]:
            self._answer.sharpen(int(own), index)

    def solve(self, group: int, index: int) -> int:
        """The sum at a threshold."""
        values = settled_values(self._answer, index)
        return int(self._sum(values[:, None])[0, 0])

    def _sum(self, values: Ints) -> Ints:
        """(1, L) sums over the groups of (G, L), saturating, divided by L0."""
        return self._added(values) // self._reached

    def _added(self, values: Ints) -> Ints:
        columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        return np.asarray(saturating_sums(columns.ravel(), values.ravel(), values.shape[1])[None])


SHARED_SELECTION = SelectionSettings(split=0.2)
"""The default settings of one choice for all groups."""

_SPREAD, _NESTED_SPREAD = 0.75, 1.0
"""The score charges noise of G groups as G^0.75 of one group's. If truncation costs all groups alike, G is best; if
one group holds everything, sqrt(G) is. Scores by exceedance charge G, as nothing else in them depends on the number
of groups."""


@dataclass(frozen=True)
class SharedThreshold(OneChoice):
    """`gem` on sum_f v(f, tau) / L0, which has the sensitivity of one group; then v(f, tau) plus noise in every
    group.

    A threshold per group would need a share of the budget for each of a unit's groups. One threshold is chosen once,
    but groups of very different people share it. With one candidate threshold there is no choice, and the release has
    the whole budget.

    Pure privacy: the choice spends eps_s and each release eps_f / L0, with eps_s + eps_f = epsilon. zCDP: the choice
    spends eps_s^2 / 8 and each release (1 + gap)^2 tau^2 / (2 sigma^2) = rho_f / L0. Both hold for every chosen
    threshold.
    Source: docs/mathematics.md, section 5.2.

    Attributes:
      groups_per_unit, gap, confidence, thresholds: as of `Gem`.
      budget: for all groups together.
      selection: how the threshold is chosen; its split is a share of epsilon, or of rho.
      nested: a unit adds min(tau, contribution) to each group; scores are then by exceedance, over all groups
        together.
      name: the value of `NoisyAnswer.mechanism`.
    """

    budget: Budget
    groups_per_unit: int | None = None
    gap: float = 0.0
    thresholds: Thresholds = field(default_factory=Thresholds)
    selection: SelectionSettings = SHARED_SELECTION
    confidence: float = CONFIDENCE
    nested: bool = False
    name: str = "gem"

    def __post_init__(self) -> None:
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group; each interval covers the truncated answer at the one tau.

        Cost: some dozens of draws and one per group, and every group's value at the thresholds that may be chosen.
        """
        check_answer(answer, self.thresholds, self.gap)
        level = self.choose(answer, entropy)
        return self.release_at(level, settled_values(answer, level), entropy)

    def choose(self, answer: TruncatedAnswer, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; free if there is one candidate. Raises: as `release`."""
        summed = SummedAnswer(answer, self._reached(answer.n_groups))
        return 0 if len(self.thresholds) == 1 else self._chosen(summed, answer.n_groups, entropy)

    def release_at(self, level: int, exact: Ints, entropy: Entropy) -> NoisyAnswer:
        """Add noise to values that move by (1 + gap) tau in each of a unit's L0 groups, with what is left of the
        budget.

        Args:
          level: the index of the threshold tau, from `choose`.
          exact: (G,) int64 units.
        Raises: EntropyFailed.
        """
        n_groups = len(exact)
        index = np.full(n_groups, level, np.intp)
        steps = self._levels(n_groups)
        values = released(exact, release_noise(index, steps, entropy), index, steps)
        return answer_with_interval(values, index, steps, self._signal(values, steps[level].tau), self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
        self._check_choice(n_groups)
        check_levels(self._levels(n_groups))

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) of each candidate threshold, in normalised weight."""
        return half_widths(self._levels(n_groups), self.confidence)

    def noise_per_tau(self, n_groups: int) -> float:
        """Each group's noise scale in multiples of (1 + gap) tau. Public."""
        return self.budget.scale(self._releasing(n_groups))

    def noise_beside_a_choice(self, n_groups: int) -> float:
        """`noise_per_tau` if there were a choice, even where there is one candidate. Public, and the same for all
        thresholds.
        """
        return self.budget.scale(self.budget.releasing(self.selection.split) / self._reached(n_groups))

    def _signal(self, values: Floats, tau: float) -> Floats:
        """Measure the released sum over all groups by its noise price, since tau is priced for that sum in units of
        L0.
        """
        n_groups = len(values)
        if len(self.thresholds) == 1:
            return np.full(n_groups, np.inf)
        seen = max(0.0, float(values.sum())) / self._reached(n_groups)
        return np.full(n_groups, seen / (self._doubt(n_groups) * tau))

    def _levels(self, n_groups: int) -> Sequence[ThresholdNoise]:
        counts = self.nested and self.thresholds.whole  # whole numbers
        return self.budget.levels(
            self.thresholds, self.gap, self._releasing(n_groups), *([whole_number] if counts else [])
        )

    def _releasing(self, n_groups: int) -> Fraction:
        """The part of epsilon or rho for one group's release."""
        return self.budget.releasing(self._split) / self._reached(n_groups)

    def _reached(self, n_groups: int) -> int:
        return groups_reached(self.groups_per_unit, n_groups)

    def _noise_price(self, n_groups: int) -> float:
        """What the score charges for the noise of all groups in the summed answer, in multiples of (1 + gap) tau."""
        spread = float(max(1, n_groups) ** (_NESTED_SPREAD if self.nested else _SPREAD))
        price = spread / self._reached(n_groups) * self.budget.mean_noise * self.noise_per_tau(n_groups)
        return min(price, MOST_NOISE) if self.nested else price

    def _doubt(self, n_groups: int) -> float:
        """The unit of `signal`, as `Gem.doubts`."""
        return self.selection.doubt(self._noise_price(n_groups), float(self._selecting))

    def _scores(self, n_groups: int) -> Scores | ExceedanceScores:
        price, selecting = self._noise_price(n_groups), float(self._selecting)
        if self.nested:
            return self.selection.exceedance_scores(self.thresholds, price, selecting, self._reached(n_groups))
        scores = self.selection.scores(self.thresholds, self.gap, (price,) * len(self.thresholds), selecting)
        return replace(scores, monotone=True)  # of summed answers: see there


ONE_ROW = Thresholds(0, 0)
"""The one threshold 1, for units that weigh at most 1."""


def fixed_threshold(
    epsilon: float,
    groups_per_unit: int | None = None,
    gap: float = 0.0,
    thresholds: Thresholds = ONE_ROW,
    *,
    counts: bool = False,
) -> SharedThreshold:
    """`fixed`: v(tau) + Lap((1 + gap) tau / eps) at one public threshold, for all of epsilon.

    If no unit contributes more than tau, v is the plain sum. A unit that does is clipped to tau and keeps its
    privacy. For COUNT(DISTINCT x) where every owner of a tuple determines x, a unit reaches one value, so v at tau =
    1 is the plain count. Its noise stays that of the truncated count.
    Source: docs/mathematics.md, section 3.6.

    Args:
      groups_per_unit, gap: as of `Gem`.
      thresholds: one public threshold.
      counts: values are whole numbers, such as counts of people, and get noise for whole numbers.
    Raises: InvalidParameter for several thresholds.
    """
    if len(thresholds) != 1:
        raise InvalidParameter("a fixed threshold must be one threshold")
    whole = replace(thresholds, whole=True) if counts else thresholds
    return SharedThreshold(PureBudget(epsilon), groups_per_unit, gap, whole, nested=counts, name="fixed")


@dataclass(frozen=True)
class LaplaceOrGaussian:
    """The pure or the concentrated of two `SharedThreshold`, whichever has less noise in a group. Public.

    Laplace noise grows with L0, Gaussian noise with sqrt(L0) from a worse start. They meet at 15 groups for epsilon 4
    and delta 1e-7. Either release is (epsilon, delta)-DP, so the charge need not know which it will be.

    Several releases that share a budget choose alike: all pure, or all concentrated. So the choice depends on the
    budgets and the number of groups alone, not on each release's thresholds.
    Source: docs/mathematics.md, section 5.2.

    Attributes:
      pure: spends epsilon.
      concentrated: spends rho.
      typical: the average pure budget of the releases that share one; None: that of `pure`.
    """

    pure: SharedThreshold
    concentrated: SharedThreshold
    typical: PureBudget | None = None
    name = "gem"

    def __post_init__(self) -> None:
        if not (
            isinstance(self.pure.budget, PureBudget) and isinstance(self.concentrated.budget, ConcentratedBudget)
        ):
            raise InvalidParameter("one mechanism must be pure DP and the other zCDP")
        alike = (self.pure.thresholds, self.pure.gap) == (self.concentrated.thresholds, self.concentrated.gap)
        if not alike or self.pure.groups_per_unit != self.concentrated.groups_per_unit:
            raise InvalidParameter("both mechanisms must belong to the same query")

    @property
    def epsilon(self) -> float:
        """The most epsilon that either mechanism spends at `delta`, for all groups together."""
        return max(self.pure.epsilon, self.concentrated.epsilon)

    @property
    def delta(self) -> float:
        """The delta at which rho is stated."""
        return self.concentrated.delta

    @property
    def gap(self) -> float:
        """eta, the same for both."""
        return self.pure.gap

    @property
    def thresholds(self) -> Thresholds:
        """The candidate thresholds, the same for both."""
        return self.pure.thresholds

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta), whichever is chosen."""
        return ApproxDP(self.epsilon, self.delta)

    def chosen(self, n_groups: int) -> SharedThreshold:
        """The mechanism with less expected noise in each group; if both are equal, the pure one.

        The budgets and the number of groups decide. One candidate threshold would favour Laplace noise, and of
        several sums with a shared budget only some may have one candidate.
        """
        typical = self.pure if self.typical is None else replace(self.pure, budget=self.typical)
        laplace, gaussian = (
            one.budget.mean_noise * one.noise_beside_a_choice(n_groups) for one in (typical, self.concentrated)
        )
        return self.pure if laplace <= gaussian else self.concentrated

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release by the chosen mechanism."""
        return self.chosen(answer.n_groups).release(answer, entropy)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """As `expected_noise` of the chosen mechanism."""
        return self.chosen(n_groups).expected_noise(n_groups)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for any number of groups up to this one. Public. Raises:
        InvalidParameter.

        Once Gaussian noise is chosen it stays chosen for more groups. Up to there Laplace noise grows with the
        groups.
        """
        most_laplace = bisect(range(1, n_groups + 1), False, key=lambda count: self.chosen(count) is not self.pure)
        self.pure.check_noise(max(1, most_laplace))
        self.chosen(n_groups).check_noise(n_groups)

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon
