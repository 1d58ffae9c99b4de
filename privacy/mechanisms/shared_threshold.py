"""One threshold for all groups, chosen on their sum, with whichever noise is less.

Every group is released at the threshold that is chosen on the groups' truncated answers, added up. For one (epsilon,
delta) noise is Laplace's or Gaussian, whichever is less for as many groups as there are.
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
from privacy.noisy_answer import NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import CountedAnswer, TruncatedAnswer
from privacy.units import Floats, Ints, saturating_sums


class SummedAnswer(Private):
    """floor(sum_f v(f, tau) / L0): a TruncatedAnswer of one group.

    Sensitivity: at most (1 + gap) tau rounded up to a unit, as that of one group: at most L0 groups move by
    (1 + gap) tau each, saturation at MAX_UNITS is 1-Lipschitz, and a whole number that moves by at most L0 k moves,
    divided and rounded down, by at most k.

    Differences: a unit that comes adds to every group's answer at every threshold, or nothing, so the sums at two
    thresholds do not part by more than the larger one (and the gap of both): `Scores.monotone` asks no more.

    Private: no repr.
    """

    def __init__(self, answer: TruncatedAnswer, groups_per_unit: int) -> None:
        """Add up.

        Args:
          answer: of G groups; sharpened and solved as this one is.
          groups_per_unit: L0 >= 1, at most G.
        """
        self._answer, self._reached = answer, groups_per_unit

    @property
    def n_groups(self) -> int:
        """The number of groups: 1, the sum of all."""
        return 1

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the answer whose groups are summed."""
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
        """(1, L) of all groups together; a unit counts in each of the L0 that it reaches."""
        counted = self._answer.exceedances if isinstance(self._answer, CountedAnswer) else None
        return None if counted is None else self._added(counted)

    def sharpen(self, group: int, index: int) -> None:
        """Sharpen the fewest groups that hold half of what is unknown of the sum at the threshold.

        Most groups know their values nearly, and whoever chooses seldom needs the sum itself.
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
"""The defaults: one choice is made, and every group released."""

_SPREAD, _NESTED_SPREAD = 0.75, 1.0
"""Noise of G groups is charged as G^0.75 of it. Where all groups lose alike to truncation, their squared errors are
least with G; where one group has everything, with sqrt(G). Scored by how many units have more with G: nothing else
asks more of thresholds where there are more groups."""


@dataclass(frozen=True)
class SharedThreshold(OneChoice):
    """gem on sum_f v(f, tau) / L0, whose sensitivity is that of one group; then v(f, tau) plus noise in every group.

    A threshold for each group has to be chosen with a share of the budget for each group that a unit reaches. One
    for all is chosen once, on a sum in which the L0 groups of a unit weigh as little as L0 / G. The price is that
    groups of very different people share it.

    A ladder of one threshold leaves nothing to choose: the release then gets everything.

    Under pure privacy the selection spends eps_s and each release eps_f / L0, with eps_s + eps_f = epsilon; under
    zCDP the selection eps_s^2 / 8 and each release (1 + gap)^2 tau^2 / (2 sigma^2) = rho_f / L0. Pointwise in the
    threshold.
    Source: docs/mathematics.md, section 5.2.

    Attributes:
      groups_per_unit, gap, confidence: as of `Gem`.
      ladder: the thresholds.
      budget: for all groups together.
      selection: how the threshold is chosen; its split is a share of epsilon, or of rho.
      nested: does a unit add min(tau, load) to each group, as where every tuple has one owner? Thresholds are then
        scored by how many units exceed them (`ExceedanceScores`), in all groups together.
      name: as `NoisyAnswer.mechanism` carries it.
    """

    budget: Budget
    groups_per_unit: int | None = None
    gap: float = 0.0
    thresholds: Thresholds = field(default_factory=Thresholds)
    selection: SelectionSettings = SHARED_SELECTION
    confidence: float = 0.95
    nested: bool = False
    name: str = "gem"

    def __post_init__(self) -> None:
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        check_confidence(self.confidence)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one noisy value per group.

        Returns: the noisy values; each interval covers the truncated answer at the one tau.
        Cost: a few dozen draws and one per group, and every group's value at the thresholds that may be chosen.
        """
        check_answer(answer, self.thresholds, self.gap)
        level = self.choose(answer, entropy)
        return self.release_at(level, settled_values(answer, level), entropy)

    def choose(self, answer: TruncatedAnswer, entropy: Entropy) -> int:
        """The index of the threshold, for eps_s; nothing is drawn where there is one. Raises: as `release`."""
        summed = SummedAnswer(answer, self._reached(answer.n_groups))
        return 0 if len(self.thresholds) == 1 else self._chosen(summed, answer.n_groups, entropy)

    def release_at(self, level: int, exact: Ints, entropy: Entropy) -> NoisyAnswer:
        """Noise for what is left of the budget, on values that move by (1 + gap) tau in the L0 groups of a unit.

        Args:
          rung: the index of the threshold tau, as `choose` found it.
          exact: (G,) int64 units.
        Raises: EntropyFailed.
        """
        n_groups = len(exact)
        index = np.full(n_groups, level, np.intp)
        steps = self._levels(n_groups)
        values = released(exact, release_noise(index, steps, entropy), index, steps)
        return answer_with_interval(values, index, steps, self._signal(values, steps[level].tau), self)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to so many groups. Public. Raises: InvalidParameter."""
        self._check_choice(n_groups)
        check_levels(self._levels(n_groups))

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) for each threshold that may be chosen, in normalised weight."""
        return half_widths(self._levels(n_groups), self.confidence)

    def noise_per_tau(self, n_groups: int) -> float:
        """The noise scale of each group in multiples of (1 + gap) tau, by the budget alone. Public."""
        return self.budget.scale(self._releasing(n_groups))

    def noise_beside_a_choice(self, n_groups: int) -> float:
        """`noise_per_tau` as it is with a threshold to choose, also where this ladder has only one. Public.

        What is decided by it is the same for any ladder.
        """
        return self.budget.scale(self.budget.releasing(self.selection.split) / self._reached(n_groups))

    def _signal(self, values: Floats, tau: float) -> Floats:
        """The price of tau is for the sum over the groups in units of L0: the released sum is measured by it."""
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
        """Of epsilon, or of rho, for the release of one group."""
        return self.budget.releasing(self._split) / self._reached(n_groups)

    def _reached(self, n_groups: int) -> int:
        """L0, or the number of groups where that is less."""
        return groups_reached(self.groups_per_unit, n_groups)

    def _noise_price(self, n_groups: int) -> float:
        """What the noise of all groups is charged at in the summed answer, in multiples of (1 + gap) tau."""
        spread = float(max(1, n_groups) ** (_NESTED_SPREAD if self.nested else _SPREAD))
        price = spread / self._reached(n_groups) * self.budget.mean_noise * self.noise_per_tau(n_groups)
        return min(price, MOST_NOISE) if self.nested else price

    def _doubt(self, n_groups: int) -> float:
        """What a value is measured in for its `signal`, in multiples of tau: as `Gem.doubts`."""
        return self.selection.doubt(self._noise_price(n_groups), float(self._selecting))

    def _scores(self, n_groups: int) -> Scores | ExceedanceScores:
        price, selecting = self._noise_price(n_groups), float(self._selecting)
        if self.nested:
            return self.selection.exceedance_scores(self.thresholds, price, selecting, self._reached(n_groups))
        scores = self.selection.scores(self.thresholds, self.gap, (price,) * len(self.thresholds), selecting)
        return replace(scores, monotone=True)  # of summed answers: see there


ONE_ROW = Thresholds(0, 0)
"""The one threshold of a unit that weighs 1 at most."""


def fixed_threshold(
    epsilon: float,
    groups_per_unit: int | None = None,
    gap: float = 0.0,
    thresholds: Thresholds = ONE_ROW,
    *,
    counts: bool = False,
) -> SharedThreshold:
    """`fixed`: v(tau) + Lap((1 + gap) tau / eps) at one public threshold, for the whole of epsilon.

    Where a public bound says that no unit has more than tau, v is the plain sum, if the bound is true; if it is not,
    a unit with more is cut to tau, and loses nothing of its privacy. For COUNT(DISTINCT x) where every owner of a
    tuple determines x, one unit reaches one value, so tau = 1 cuts nothing and v is the plain count. The noise is
    that of the truncated count all the same: a unit that reaches more values after all would be cut to one.
    Source: docs/mathematics.md, section 3.6.

    Args:
      groups_per_unit, gap: as of `Gem`.
      ladder: its one threshold tau, chosen without looking at data.
      counts: are values whole numbers, as counts of people are? They then get noise for whole numbers.
    """
    if len(thresholds) != 1:
        raise InvalidParameter("a fixed threshold is one threshold")
    whole = replace(thresholds, whole=True) if counts else thresholds
    return SharedThreshold(PureBudget(epsilon), groups_per_unit, gap, whole, nested=counts, name="fixed")


@dataclass(frozen=True)
class LaplaceOrGaussian:
    """The pure or the concentrated one of two `SharedThreshold`, by their expected noise in a group. Public.

    Laplace noise grows with the number L0 of groups that a unit reaches, Gaussian noise with its root but from a
    worse start: at epsilon 4 and delta 1e-7 they meet at 15 groups. The number of groups is public and known when
    they are released. Either is (epsilon, delta)-DP, so which one it will be need not be known when it is charged.

    Several such releases that share one budget have to choose alike: then all are pure with epsilons that add up, or
    all concentrated with rhos that do. They have the same groups; what each has of either budget may differ (the
    epsilons of a quotient's moments do, and its rhos do not), so that one budget of each kind decides for all, and
    nothing else does, also not their ladders (`chosen`).
    Source: docs/mathematics.md, section 5.2.

    Attributes:
      pure: spends epsilon.
      concentrated: spends rho.
      typical: a pure budget as the releases that share one have it on average, by which Laplace noise is compared
        with Gaussian noise, of which they have equal shares; None: the pure one's own.
    """

    pure: SharedThreshold
    concentrated: SharedThreshold
    typical: PureBudget | None = None
    name = "gem"

    def __post_init__(self) -> None:
        if not (
            isinstance(self.pure.budget, PureBudget) and isinstance(self.concentrated.budget, ConcentratedBudget)
        ):
            raise InvalidParameter("one of the two is pure, the other concentrated")
        alike = (self.pure.thresholds, self.pure.gap) == (self.concentrated.thresholds, self.concentrated.gap)
        if not alike or self.pure.groups_per_unit != self.concentrated.groups_per_unit:
            raise InvalidParameter("both are of the same query")

    @property
    def epsilon(self) -> float:
        """What either spends at most, at `delta`, for all groups together."""
        return max(self.pure.epsilon, self.concentrated.epsilon)

    @property
    def delta(self) -> float:
        """The delta at which the concentrated one is stated."""
        return self.concentrated.delta

    @property
    def gap(self) -> float:
        """eta, the solver's constant relative gap; both alternatives have the same."""
        return self.pure.gap

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds, of both."""
        return self.pure.thresholds

    @property
    def event(self) -> PrivacyEvent:
        """(epsilon, delta), whichever is chosen."""
        return ApproxDP(self.epsilon, self.delta)

    def chosen(self, n_groups: int) -> SharedThreshold:
        """The one with the smaller expected noise in each of so many groups; the pure one of equals.

        By the budgets and the number of groups alone: a ladder of one threshold leaves all of its budget to the
        release, which favours Laplace noise, and of several sums that share one budget some may have such a ladder
        (values of which a unit has one) and others not.
        """
        typical = self.pure if self.typical is None else replace(self.pure, budget=self.typical)
        laplace, gaussian = (
            one.budget.mean_noise * one.noise_beside_a_choice(n_groups) for one in (typical, self.concentrated)
        )
        return self.pure if laplace <= gaussian else self.concentrated

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """As the chosen one."""
        return self.chosen(answer.n_groups).release(answer, entropy)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """As the chosen one's."""
        return self.chosen(n_groups).expected_noise(n_groups)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Gaussian noise that is chosen for some number of groups is chosen for more, too; up to there Laplace noise is,
        which grows with them.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        most_laplace = bisect(range(1, n_groups + 1), False, key=lambda count: self.chosen(count) is not self.pure)
        self.pure.check_noise(max(1, most_laplace))
        self.chosen(n_groups).check_noise(n_groups)

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon
