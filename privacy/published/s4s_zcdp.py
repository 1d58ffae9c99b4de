"""`s4s_zcdp`, DP-S4S under zero-concentrated privacy: what appendix G leaves open, written out. No sample pays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, check_gap, check_groups, exact_epsilon
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.noise.gaussian_threshold_noise import GaussianThresholdNoise
from privacy.mechanisms.noise.threshold_noise import rungs
from privacy.mechanisms.racing.penalised import penalised_race, penalty_widths
from privacy.mechanisms.racing.s4s_budgets import s4s_ladder
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.truncated_answer import TruncatedAnswer


@dataclass(frozen=True)
class S4SConcentrated:
    """max_i v(tau_i) + N(0, sigma_i^2) - penalty_i over tau_i = 2^0 .. 2^(L - 1), from one sample; rho-zCDP.

    Appendix G turns the Renyi divergence rho'(a) of lemma 3.5 into zCDP with the supremum of rho'(a) / a over a > 1,
    and has no closed form for it. There is one. With s = a (a - 1) and g the joint loss of all releases,

        rho'(a) / a = (1 / s) ln E[exp(s g(K))],  K ~ Binomial(Delta, q),

    which rises with s (Lyapunov's inequality) to the largest value of g(K), that is g(Delta): the loss of all rows.
    The bound is no worse than the truth: with probability q^Delta all of a unit's tuples are drawn, so that the
    divergence of order a is at least a g(Delta) - a / (a - 1) ln q^-Delta, and that over a tends to g(Delta).
    So no Bernoulli sample amplifies zCDP: every noise is that of all rows, rho_i = rho / (L L0), and a sample saves
    time only. Where it is to pay, orders have to be bounded: `s4s_rdp`.

    Source: Appendix G of DP-S4S (SIGMOD 2026), re-derived; Bun and Steinke (TCC 2016) for the conversion.

    Attributes:
      epsilon, delta: what rho is converted to, for all groups together; epsilon > 0, delta in (0, 1).
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit, up to which thresholds go. If it is
        false the answer is biased, not less private.
      groups_per_unit: L0 >= 1.
      gap: eta; the solver's constant relative gap.
      beta: in (0, 1); the output is above the sample's answer with probability beta / 6 at most.
    """

    epsilon: float
    delta: float
    tuples_per_unit: int
    groups_per_unit: int = 1
    gap: float = 0.0
    beta: float = 0.1

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if self.tuples_per_unit < 1:
            raise InvalidParameter("a unit has at least one tuple")
        if not (0 < self.beta < 1 and 0 < self.delta < 1):
            raise InvalidParameter("beta and delta are between 0 and 1")

    @property
    def name(self) -> str:
        """`s4s_zcdp`: a race under zero-concentrated privacy."""
        return "s4s_zcdp"

    @cached_property
    def ladder(self) -> Ladder:
        """1 to the largest power of two that Delta reaches."""
        return s4s_ladder(self.tuples_per_unit)

    @cached_property
    def budget(self) -> ConcentratedBudget:
        """rho, worth (epsilon, delta), for all groups and thresholds."""
        return ConcentratedBudget.of(self.epsilon, self.delta)

    @property
    def confidence(self) -> float:
        """1 - beta / 6."""
        return 1 - self.beta / 6

    @property
    def event(self) -> PrivacyEvent:
        """zCDP at rho, whatever was sampled."""
        return self.budget.event

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
        """`epsilon`: nothing is amplified."""
        return self.epsilon

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight: the penalty is bias and half-width."""
        return penalty_widths(self._steps, self._tail)

    @cached_property
    def _steps(self) -> tuple[GaussianThresholdNoise, ...]:
        grids = rungs(self.ladder, self.gap, exact_epsilon(1.0))  # only their steps and sensitivities are used
        return tuple(GaussianThresholdNoise(grid, self._each) for grid in grids)

    @property
    def _each(self) -> float:
        """rho of each threshold's release in each group."""
        return self.budget.rho / (len(self.ladder) * self.groups_per_unit) * DOWN

    @property
    def _tail(self) -> float:
        """beta / (6 L): how often the noise of one threshold may exceed its penalty."""
        return self.beta / (6 * len(self.ladder))
