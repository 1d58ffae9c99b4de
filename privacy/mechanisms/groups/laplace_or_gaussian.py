"""Laplace or Gaussian noise for the same (epsilon, delta): whichever is less for as many groups as there are."""

from __future__ import annotations

from dataclasses import dataclass

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

    Of several such releases that share one budget all choose alike if it is divided in equal shares, as they have the
    same groups and nothing else decides, also not their ladders (`chosen`): then all are pure with epsilons that add
    up, or all concentrated with rhos that do. Unequal shares are for one kind of noise alone.
    Source: privacy.md section 5.

    Attributes:
      pure: spends epsilon.
      concentrated: spends rho.
    """

    pure: SharedThreshold
    concentrated: SharedThreshold

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

        By the budget and the number of groups alone: a ladder of one threshold leaves all of its budget to the
        release, which favours Laplace noise, and of several sums that share one budget some may have such a ladder (a
        threshold that is remembered, values of which a unit has one) and others not.
        """
        laplace, gaussian = (
            one.budget.mean_noise * one.noise_beside_a_choice(n_groups) for one in (self.pure, self.concentrated)
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

        Gaussian noise that is chosen for some number of groups is chosen for more, too. Laplace noise that is chosen
        for fewer is less than the Gaussian one would be for them, so for these; its own selection knows no groups.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        self.pure.check_noise()
        self.chosen(n_groups).check_noise(n_groups)

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's tuples is relied on."""
        return self.epsilon
