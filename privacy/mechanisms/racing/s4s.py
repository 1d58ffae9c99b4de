"""`s4s`, DP-S4S under pure differential privacy: the race of R2T over a Bernoulli sample of join tuples."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import check_gap, check_groups, exact_epsilon, float_at_least, group_epsilon
from privacy.ladder import Ladder
from privacy.mechanisms.checks import check_answer
from privacy.mechanisms.noise.release import check_rungs, release_noise
from privacy.mechanisms.noise.threshold_noise import ThresholdNoise, rungs
from privacy.mechanisms.racing.penalised import penalised_race, penalty_widths
from privacy.mechanisms.racing.s4s_budgets import pure_budgets, s4s_ladder
from privacy.noisy_answer import NoisyAnswer
from privacy.sampling.design import SampleDesign
from privacy.truncation.truncated_answer import TruncatedAnswer


@dataclass(frozen=True)
class S4S:
    """max_i v(tau_i) + Lap(tau_i / eps_i) - (tau_i / eps_i) ln(3 L / beta), tau_i = 1, 2, 4 .. 2^(L - 1).

    Two modes. `shared`, the default, is epsilon-DP: the budgets of Algorithm 2 are multiplied by the number with
    which the joint loss of all L releases from the one sample is epsilon (privacy.md section 3). `published` leaves
    them as they are printed; their amplified costs are added up as if each release had a sample of its own. Then
    `event` says what one release really costs, which at large epsilon is more than `epsilon`: no server may run it.

    The penalty is the exact quantile of the discrete Laplace in place of (tau / eps) ln(3 L / beta), which it
    exceeds by less than a step. The values are those of the sample: `scale_up` divides by the rate.
    Source: Algorithm 2 of DP-S4S (SIGMOD 2026).

    Attributes:
      epsilon: for all groups together, > 0.
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit; it decides which thresholds race.
      groups_per_unit: L0, or None when only the number of groups bounds it.
      gap: eta; the solver's constant relative gap.
      sample: how the tuples were sampled, if amplification is claimed.
      published: budgets as Algorithm 2 prints them.
      beta: in (0, 1); the output is above the sample's answer with probability beta / 6 at most.
    """

    epsilon: float
    tuples_per_unit: int
    groups_per_unit: int | None = None
    gap: float = 0.0
    sample: SampleDesign | None = None
    published: bool = False
    beta: float = 0.1

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if self.tuples_per_unit < 1:
            raise InvalidParameter("a unit has at least one tuple")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if not 0 < self.beta < 1:
            raise InvalidParameter("beta is between 0 and 1")
        if self.published and (self.groups_per_unit != 1 or self.sample is None):
            raise InvalidParameter("what was published has one group and a sample")

    @property
    def name(self) -> str:
        """`s4s`, DP-S4S with a sound budget, or `s4s_as_published`, with the paper's."""
        return "s4s_as_published" if self.published else "s4s"

    @cached_property
    def ladder(self) -> Ladder:
        """1 to the largest power of two that Delta reaches."""
        return s4s_ladder(self.tuples_per_unit)

    @property
    def confidence(self) -> float:
        """1 - beta / 6."""
        return 1 - self.beta / 6

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy at epsilon, over all groups; as published, at what the releases cost together."""
        if not self.published or self.sample is None:
            return PureDP(self.epsilon)
        return PureDP(self.sample.joint([rung.loss for rung in self._rungs(1)]))

    @property
    def event_apart(self) -> PrivacyEvent:
        """What the releases cost when each has a sample of its own: Algorithm 2 adds up to epsilon at most."""
        return PureDP(self.epsilon)

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one value per group, below the sample's answer but for a chance of beta / 6 in each.

        Args:
          answer: values of G groups on `ladder`, with a gap of at most `gap`.
          entropy: where the noise comes from.
        Raises: InvalidParameter before noise is drawn; EntropyFailed; SolverFailed from the answer.
        Cost: G L draws and operations, and the solves that the bounds leave open.
        """
        check_answer(answer, self.ladder, self.gap)
        steps = self._rungs(answer.n_groups)
        noise = self.draw(answer.n_groups, entropy)
        return penalised_race(answer, steps, noise, self._tail, self)

    def draw(self, n_groups: int, entropy: Entropy) -> NDArray[np.int64]:
        """(G, L) noise in steps."""
        steps = self._rungs(n_groups)
        return release_noise(np.broadcast_to(np.arange(len(steps)), (n_groups, len(steps))), steps, entropy)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores that leave their range for any number of groups up to this one. Public.

        Raises: InvalidParameter, whenever `release` would for that reason.
        """
        check_rungs(self._rungs(n_groups))

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """g(infinity): what a unit with more join tuples than Delta may lose, in all groups."""
        cell = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return float_at_least(
            exact_epsilon(self.epsilon) / cell * sum(rung.epsilon for rung in self._rungs(n_groups))
        )

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight: the penalty is bias and half-width."""
        return penalty_widths(self._rungs(n_groups), self._tail)

    def _rungs(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        cell: Fraction = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        if self.sample is None or self.sample.tuples_per_unit is None:
            return rungs(self.ladder, self.gap, cell / len(self.ladder))
        return rungs(self.ladder, self.gap, pure_budgets(self.sample, cell, self.ladder, self.gap, self.published))

    @property
    def _tail(self) -> float:
        """beta / (6 L), that is exp(-ln(3 L / beta)) / 2: how often a threshold's noise may exceed its penalty."""
        return self.beta / (6 * len(self.ladder))
