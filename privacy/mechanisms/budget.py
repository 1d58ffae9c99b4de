"""A share of epsilon, or of rho at a delta, and the noise scale that it buys."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from privacy.accounting.event import ZCDP, PrivacyEvent, PureDP
from privacy.accounting.renyi import approximate
from privacy.accounting.zcdp import largest_rho
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, exact, exact_epsilon
from privacy.mechanisms.noise import ThresholdNoise, levels
from privacy.mechanisms.scores import ExceedanceScores, Scores, selection_scale
from privacy.mechanisms.selection import Choice, exponential_choice, noisy_choice, proposal_scale
from privacy.noisy_answer import NoiseKind
from privacy.thresholds import Thresholds
from privacy.truncation.truncated_answer import TruncatedAnswer

MEAN_GAUSSIAN = math.sqrt(2 / math.pi)
"""E|Z| of a standard Gaussian, which a score charges as noise."""


@dataclass(frozen=True)
class PureBudget:
    """An epsilon-DP budget: one-sided noise chooses the threshold, and Laplace noise hides a unit there.

    Attributes:
      epsilon: > 0.
      noise, mean_noise: the kind of noise, and E|noise| in multiples of its scale.
      allocation_power: shares proportional to this power of the releases' noise give the least squares.
    """

    epsilon: float
    delta: ClassVar = 0.0
    noise: ClassVar[NoiseKind] = "laplace"
    mean_noise: ClassVar = 1.0
    allocation_power: ClassVar = 2 / 3

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy at epsilon."""
        return PureDP(self.epsilon)

    def share(self, part: float) -> Self:
        """The budget of a part of this epsilon."""
        return replace(self, epsilon=self.epsilon * part)

    def selecting(self, split: float, groups: int = 1) -> Fraction:
        """eps_1 of the choice of a threshold in each group, if it gets the share `split` of epsilon. Exact."""
        return exact_epsilon(self.epsilon) * exact(split) / groups

    def releasing(self, split: float, groups: int = 1) -> Fraction:
        """The epsilon that the choice leaves for the release in each group. Exact."""
        return exact_epsilon(self.epsilon) / groups - self.selecting(split, groups)

    def scale(self, part: Fraction) -> float:
        """The noise scale that a part of epsilon buys at sensitivity 1."""
        return float(1 / part)

    def levels(
        self,
        thresholds: Thresholds,
        gap: float,
        part: Fraction | Sequence[Fraction],
        whole_steps: Callable[[int], int | None] = lambda _: None,
    ) -> tuple[ThresholdNoise, ...]:
        """A release at each threshold with a part of epsilon, one for all or one each; as `noise.levels`."""
        return levels(thresholds, gap, part, whole_steps)

    def level(self, grid: ThresholdNoise, part: Fraction) -> ThresholdNoise:
        """The release at a threshold with a part of epsilon."""
        return replace(grid, epsilon=part)

    def choice_scale(self, selecting: Fraction, length: int) -> float:
        """The noise scale of `choose` among `length` thresholds, in its own steps. Public."""
        del length
        return selection_scale(selecting)

    def choose(
        self, answer: TruncatedAnswer, scores: Scores | ExceedanceScores, selecting: Fraction, entropy: Entropy
    ) -> Choice:
        """A threshold in every group, each for eps_1. Raises: EntropyFailed; SolverFailed."""
        return noisy_choice(answer, scores, selecting, entropy)


@dataclass(frozen=True)
class ConcentratedBudget:
    """A rho-zCDP budget: the exponential mechanism chooses the threshold, and Gaussian noise hides a unit there.

    The shares of several releases add up in rho and are converted to (epsilon, delta) once. Their own epsilons add up
    to more.
    Source: Bun and Steinke, TCC 2016; McSherry and Talwar, FOCS 2007, for the choice.

    Attributes:
      rho: > 0.
      delta: in (0, 1), at which epsilon is stated.
      noise, mean_noise, allocation_power: as of `PureBudget`.
    """

    rho: float
    delta: float
    noise: ClassVar[NoiseKind] = "gaussian"
    mean_noise: ClassVar = MEAN_GAUSSIAN
    allocation_power: ClassVar = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.rho < math.inf:
            raise InvalidParameter("rho must be finite and positive")
        if not 0 < self.delta < 1:
            raise InvalidParameter("delta must be between 0 and 1")

    @classmethod
    def of(cls, epsilon: float, delta: float) -> ConcentratedBudget:
        """The largest rho that (epsilon, delta) buys. Raises: InvalidParameter if it buys none."""
        rho = largest_rho(epsilon, delta)
        if not rho:
            raise InvalidParameter("this epsilon and delta are too small for zcdp accounting")
        return cls(rho, delta)

    @cached_property
    def epsilon(self) -> float:
        """The epsilon of rho alone at `delta`, by the tight conversion, rounded up."""
        return approximate(ZCDP(self.rho), self.delta).epsilon

    @property
    def event(self) -> PrivacyEvent:
        """rho-zCDP, without a delta of its own."""
        return ZCDP(self.rho)

    def share(self, part: float) -> Self:
        """The budget of a part of this rho."""
        return replace(self, rho=self.rho * part)

    def selecting(self, split: float, groups: int = 1) -> Fraction:
        """eps_s = sqrt(8 rho_s) of the choice in each group, if it gets the share `split` of rho. Rounded down.

        Its log density ratio lies in an interval of length eps_s, which costs eps_s^2 / 8 of rho.
        """
        return Fraction(math.sqrt(8 * split * (self.rho / groups)) * DOWN)

    def releasing(self, split: float, groups: int = 1) -> Fraction:
        """The rho that the choice leaves for the release in each group; `levels` rounds it down."""
        return Fraction((1 - split) * (self.rho / groups))

    def scale(self, part: Fraction) -> float:
        """The sigma that a part of rho buys at sensitivity 1."""
        return math.sqrt(1 / (2 * part))

    def levels(
        self,
        thresholds: Thresholds,
        gap: float,
        part: Fraction | Sequence[Fraction],
        whole_steps: Callable[[int], int | None] = lambda _: None,
    ) -> tuple[ThresholdNoise, ...]:
        """A release at each threshold with a part of rho, less what floats may round."""
        grids = levels(thresholds, gap, Fraction(1), whole_steps)  # for their steps alone
        each = [part] * len(grids) if isinstance(part, Fraction) else part
        return tuple(self.level(grid, own) for grid, own in zip(grids, each, strict=True))

    def level(self, grid: ThresholdNoise, part: Fraction) -> ThresholdNoise:
        """The release at a threshold with a part of rho."""
        return replace(grid, rho=float(part) * DOWN)

    def choice_scale(self, selecting: Fraction, length: int) -> float:
        """As `PureBudget.choice_scale`, for `exponential_choice`."""
        return proposal_scale(selecting, length)

    def choose(
        self, answer: TruncatedAnswer, scores: Scores | ExceedanceScores, selecting: Fraction, entropy: Entropy
    ) -> Choice:
        """A threshold in every group, each for eps_s. Raises: InvalidParameter; EntropyFailed; SolverFailed."""
        return exponential_choice(answer, scores, selecting, entropy)


Budget = PureBudget | ConcentratedBudget
