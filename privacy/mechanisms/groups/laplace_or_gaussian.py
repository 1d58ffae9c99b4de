"""Laplace or Gaussian noise for the same (epsilon, delta): whichever is less for as many groups as there are."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass, replace

from privacy.accounting.event import ApproxDP, PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget, PureBudget
from privacy.mechanisms.groups.shared_threshold import SharedThreshold
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer


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
    Source: privacy.md section 5.

    Attributes:
      pure: spends epsilon.
      concentrated: spends rho.
      typical: a pure budget as the releases that share one have it on average, by which Laplace noise is compared
        with Gaussian noise, of which they have equal shares; None: the pure one's own.
    """

    pure: SharedThreshold
    concentrated: SharedThreshold
    typical: PureBudget | None = None

    def __post_init__(self) -> None:
        if not (
            isinstance(self.pure.budget, PureBudget) and isinstance(self.concentrated.budget, ConcentratedBudget)
        ):
            raise InvalidParameter("one of the two is pure, the other concentrated")
        alike = (self.pure.ladder, self.pure.gap) == (self.concentrated.ladder, self.concentrated.gap)
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
    def name(self) -> str:
        """`gem`: both alternatives select a threshold, and release once."""
        return "gem"

    @property
    def gap(self) -> float:
        """eta, the solver's constant relative gap; both alternatives have the same."""
        return self.pure.gap

    @property
    def ladder(self) -> Ladder:
        """The thresholds, of both."""
        return self.pure.ladder

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
