"""`s4s_rdp`, DP-S4S under Renyi differential privacy: Gaussian noise in the race, (epsilon, delta) in the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent, RenyiCurve
from privacy.accounting.orders import ORDERS
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_gap, check_groups, exact_epsilon
from privacy.ladder import Ladder
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.noise.gaussian_threshold_noise import GaussianThresholdNoise
from privacy.mechanisms.noise.threshold_noise import rungs
from privacy.mechanisms.racing.penalised import penalised_race, penalty_widths
from privacy.mechanisms.racing.s4s_budgets import published_budgets, s4s_ladder
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.joint_renyi import joint_renyi
from privacy.sampling.renyi_calibrate import RenyiPlan, affordable_factor, least_noise
from privacy.sampling.renyi_order import least_epsilon
from privacy.sampling.square_loss import SquareLoss
from privacy.truncation.truncated_answer import TruncatedAnswer


@dataclass(frozen=True)
class S4SRenyi:
    """max_i v(tau_i) + N(0, sigma_i^2) - penalty_i over tau_i = 2^0 .. 2^(L - 1), from one Bernoulli sample.

    The order alpha is the one at which an even division has the least noise. At it the budget rho that is worth
    (epsilon, delta) is divided as in Algorithm 2, sigma_i = tau_i sqrt(alpha / (2 rho_i)), each amplified by Lemma
    3.5. In the mode `shared` the rho_i are then multiplied by the number with which the joint divergence of all L
    releases in all L0 groups is rho; `published` leaves them as they are, which is sound for one sample per
    threshold only.

    Source: Algorithm 3 and Corollary 3.6 of DP-S4S (SIGMOD 2026); privacy.md section 3.

    Attributes:
      epsilon, delta: for all groups together; epsilon > 0, delta in (0, 1).
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit.
      rate: q in (0, 1], the probability with which each tuple is in the sample.
      groups_per_unit: L0 >= 1.
      gap: eta; the solver's constant relative gap.
      published: budgets as they are printed.
      beta: in (0, 1); the output is above the sample's answer with probability beta / 6 at most.
    """

    epsilon: float
    delta: float
    tuples_per_unit: int
    rate: float = 1.0
    groups_per_unit: int = 1
    gap: float = 0.0
    published: bool = False
    beta: float = 0.1

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if not (0 < self.delta < 1 and 0 < self.rate <= 1):
            raise InvalidParameter("delta and a sampling rate are probabilities")
        if self.tuples_per_unit < 1:
            raise InvalidParameter("a unit has at least one tuple")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if not 0 < self.beta < 1:
            raise InvalidParameter("beta is between 0 and 1")

    @property
    def name(self) -> str:
        """`s4s_rdp`, with a sound budget, or `s4s_rdp_as_published`, with the paper's."""
        return "s4s_rdp_as_published" if self.published else "s4s_rdp"

    @cached_property
    def ladder(self) -> Ladder:
        """1 to the largest power of two that Delta reaches."""
        return s4s_ladder(self.tuples_per_unit)

    @property
    def confidence(self) -> float:
        """1 - beta / 6."""
        return 1 - self.beta / 6

    @cached_property
    def event(self) -> PrivacyEvent:
        """What all releases from the one sample cost together, at the accountants' orders."""
        orders = tuple(order for order in sorted({*ORDERS, self.plan.alpha}) if math.isfinite(order))
        return RenyiCurve(orders, tuple(self.divergence(order) for order in orders))

    @cached_property
    def event_apart(self) -> PrivacyEvent:
        """What the releases cost when each has a sample of its own."""
        orders = tuple(order for order in sorted({*ORDERS, self.plan.alpha}) if math.isfinite(order))
        return RenyiCurve(orders, tuple(self.divergence_apart(order) for order in orders))

    def divergence_apart(self, alpha: float) -> float:
        """The sum of the thresholds' Renyi divergences of order alpha, each amplified on its own."""
        losses = self._losses(self._steps)
        return math.fsum(joint_renyi([loss], self.tuples_per_unit, self.rate, alpha) for loss in losses)

    def divergence(self, alpha: float) -> float:
        """The joint Renyi divergence of order alpha."""
        return joint_renyi(self._losses(self._steps), self.tuples_per_unit, self.rate, alpha)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one value per group, below the sample's answer but for a chance of beta / 6 in each.

        Args:
          answer: values of G groups on `ladder`, with a gap of at most `gap`. A unit reaches L0 of them at most.
          entropy: where the noise comes from.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed from the answer.
        Cost: G L draws and operations, and the solves that the bounds leave open.
        """
        check_answer(answer, self.ladder, self.gap)
        noise = self.draw(answer.n_groups, entropy)
        return penalised_race(answer, self._steps, noise, self._tail, self)

    def draw(self, n_groups: int, entropy: Entropy) -> NDArray[np.int64]:
        """(G, L) noise in steps."""
        return np.stack([rung.draw(n_groups, entropy) for rung in self._steps], axis=1)

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """epsilon at delta of g(infinity): for a unit with more join tuples than Delta, in all groups."""
        most = math.fsum(loss.most for loss in self._losses(self._steps))
        return least_epsilon(lambda alpha: alpha * most, self.delta).value

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight: the penalty is bias and half-width."""
        return penalty_widths(self._steps, self._tail)

    @cached_property
    def plan(self) -> RenyiPlan:
        """The order and its budget."""
        even = self._losses(self._rungs([1.0] * len(self.ladder)))
        return least_noise(even, self.tuples_per_unit, self.rate, self.epsilon, self.delta)

    @cached_property
    def _steps(self) -> tuple[GaussianThresholdNoise, ...]:
        alpha, rho = self.plan.alpha, self.plan.rho
        budgets = published_budgets(rho, len(self.ladder), self._amplified)
        concentrated = [budget / (alpha * self.groups_per_unit) for budget in budgets]
        if self.published:
            return self._rungs(concentrated)
        losses = self._losses(self._rungs(concentrated))
        factor = affordable_factor(losses, self.tuples_per_unit, self.rate, alpha, rho)
        return self._rungs([factor * budget for budget in concentrated])

    def _amplified(self, i: int, budget: float) -> float:
        """Lemma 3.5: the divergence of threshold i on its own, when it has `budget` before sampling."""
        rhos = [budget / (self.plan.alpha * self.groups_per_unit)] * len(self.ladder)
        losses = self._losses(self._rungs(rhos)[i : i + 1])
        return joint_renyi(losses, self.tuples_per_unit, self.rate, self.plan.alpha)

    def _rungs(self, rhos: list[float]) -> tuple[GaussianThresholdNoise, ...]:
        grids = rungs(self.ladder, self.gap, exact_epsilon(1.0))  # only their steps and sensitivities are used
        return tuple(GaussianThresholdNoise(grid, rho) for grid, rho in zip(grids, rhos, strict=True))

    def _losses(self, steps: tuple[GaussianThresholdNoise, ...]) -> list[SquareLoss]:
        """Of each threshold, in all groups that one unit reaches."""
        return [rung.loss.times(self.groups_per_unit) for rung in steps]

    @property
    def _tail(self) -> float:
        """beta / (6 L): how often the noise of one threshold may exceed its penalty."""
        return self.beta / (6 * len(self.ladder))
