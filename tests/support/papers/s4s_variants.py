"""Forms of DP-S4S for scalars that no server runs: with the published budgets, Renyi, zCDP, and fresh samples.

`s4s_rdp` and `s4s_zcdp` have Gaussian noise in the race. What Algorithm 2 adds up is right for samples of their own,
one per threshold: so `s4s_fresh` and `s4s_rdp_fresh` draw them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from privacy.accounting.event import ORDERS, PrivacyEvent, PureDP, RenyiCurve
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, group_epsilon
from privacy.join_tuples import JoinTuples, Private
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.noise import ThresholdNoise, levels
from privacy.noisy_answer import NoisyAnswer
from privacy.papers.dp_s4s import S4S, budgets_apart, published_budgets
from privacy.sampling.draws import Draws
from privacy.sampling.scale_up import scale_up
from privacy.thresholds import Thresholds
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE, Ints
from tests.support.papers.renyi_sampling import (
    RenyiPlan,
    SquareLoss,
    affordable_factor,
    joint_renyi,
    least_epsilon,
    least_noise,
)
from tests.support.papers.unit_samples import check_single


@dataclass(frozen=True)
class PublishedS4S(S4S):
    """The budgets of Algorithm 2 as they are printed, for one group and a sample.

    Their amplified costs are added up as if each release had a sample of its own. `event` says what one release
    really costs, which at large epsilon is more than `epsilon`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups_per_unit != 1 or self.sample is None:
            raise InvalidParameter("what was published has one group and a sample")

    @property
    def name(self) -> str:
        """With the paper's budgets."""
        return "s4s_as_published"

    @property
    def event(self) -> PrivacyEvent:
        """What the releases cost together."""
        assert self.sample is not None, "checked above"
        return PureDP(self.sample.joint([level.loss for level in self._levels(1)]))

    @property
    def event_apart(self) -> PrivacyEvent:
        """What the releases cost when each has a sample of its own: Algorithm 2 adds up to epsilon at most."""
        return PureDP(self.epsilon)

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        assert self.sample is not None, "checked above"
        cell: Fraction = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        budgets = budgets_apart(self.sample, cell, self.thresholds, self.gap)
        return levels(self.thresholds, self.gap, tuple(map(Fraction, budgets)))


@dataclass(frozen=True, eq=False, repr=False)
class SeparateAnswers(Private):
    """A TruncatedAnswer whose thresholds know nothing of each other: values need not grow along the ladder.

    Attributes:
      answers: one per threshold, each on a ladder of that threshold alone, with the same groups and gap.
      ladder: the L thresholds.
    """

    answers: tuple[TruncatedAnswer, ...]
    thresholds: Thresholds

    def __post_init__(self) -> None:
        base = self.thresholds.base
        levels = [
            Thresholds(exponent, exponent, base) for exponent in range(self.thresholds.low, self.thresholds.high + 1)
        ]
        if [answer.thresholds for answer in self.answers] != levels:
            raise InvalidParameter("there is one answer per threshold")
        if len({(answer.n_groups, answer.gap) for answer in self.answers}) != 1:
            raise InvalidParameter("the answers of all thresholds have the same groups and gap")

    @property
    def n_groups(self) -> int:
        """Number of public groups."""
        return self.answers[0].n_groups

    @property
    def gap(self) -> float:
        """eta of all answers."""
        return self.answers[0].gap

    def bounds(self) -> tuple[Ints, Ints]:
        """(G, L) bounds, as tight as known so far."""
        lower, upper = zip(*(answer.bounds() for answer in self.answers), strict=True)
        return np.concatenate(lower, axis=1), np.concatenate(upper, axis=1)

    def sharpen(self, group: int, index: int) -> None:
        """Tighten the bounds of one cell: those of the sample that belongs to the threshold."""
        self.answers[index].sharpen(group, 0)

    def solve(self, group: int, index: int) -> int:
        """The value of one cell."""
        return self.answers[index].solve(group, 0)


@dataclass(frozen=True)
class S4SRenyi(S4S):
    """max_i v(tau_i) + N(0, sigma_i^2) - penalty_i over tau_i = 2^0 .. 2^(L - 1), from one Bernoulli sample.

    The order alpha is the one at which an even division has the least noise. At it the budget rho that is worth
    (epsilon, delta) is divided as in Algorithm 2, sigma_i = tau_i sqrt(alpha / (2 rho_i)), each amplified by Lemma
    3.5. In the mode `shared` the rho_i are then multiplied by the number with which the joint divergence of all L
    releases in all L0 groups is rho; `published` leaves them as they are, which is sound for one sample per
    threshold only.

    Source: Algorithm 3 and Corollary 3.6 of DP-S4S (SIGMOD 2026); docs/mathematics.md, section 7.3.

    Attributes:
      delta: for all groups together, in (0, 1).
      rate: q in (0, 1], the probability with which each tuple is in the sample.
      published: as said above.
    """

    groups_per_unit: int = 1
    delta: float = 0.0
    rate: float = 1.0
    published: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.delta < 1 and 0 < self.rate <= 1):
            raise InvalidParameter("delta and a sampling rate are probabilities")

    @property
    def name(self) -> str:
        """`s4s_rdp`, with a sound budget, or `s4s_rdp_as_published`, with the paper's."""
        return "s4s_rdp_as_published" if self.published else "s4s_rdp"

    @cached_property
    def event(self) -> PrivacyEvent:
        """What all releases from the one sample cost together, at the accountants' orders."""
        return self._curve(self.divergence)

    @cached_property
    def event_apart(self) -> PrivacyEvent:
        """What the releases cost when each has a sample of its own."""
        return self._curve(self.divergence_apart)

    def _curve(self, divergence: Callable[[float], float]) -> RenyiCurve:
        orders = tuple(order for order in sorted({*ORDERS, self.plan.alpha}) if math.isfinite(order))
        return RenyiCurve(orders, tuple(map(divergence, orders)))

    def draw(self, n_groups: int, entropy: Entropy) -> Ints:
        """(G, L) noise in steps, threshold by threshold."""
        return one_by_one(self._levels(n_groups), n_groups, entropy)

    def divergence_apart(self, alpha: float) -> float:
        """The sum of the thresholds' Renyi divergences of order alpha, each amplified on its own."""
        losses = self._losses(self._steps)
        return math.fsum(joint_renyi([loss], self.tuples_per_unit, self.rate, alpha) for loss in losses)

    def divergence(self, alpha: float) -> float:
        """The joint Renyi divergence of order alpha."""
        return joint_renyi(self._losses(self._steps), self.tuples_per_unit, self.rate, alpha)

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """epsilon at delta of g(infinity): for a unit with more join tuples than Delta, in all groups."""
        most = math.fsum(loss.most for loss in self._losses(self._steps))
        return least_epsilon(lambda alpha: alpha * most, self.delta).value

    @cached_property
    def plan(self) -> RenyiPlan:
        """The order and its budget."""
        even = self._losses(gaussian_levels(self.thresholds, self.gap, [1.0] * len(self.thresholds)))
        return least_noise(even, self.tuples_per_unit, self.rate, self.epsilon, self.delta)

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        return self._steps

    @cached_property
    def _steps(self) -> tuple[ThresholdNoise, ...]:
        alpha, rho = self.plan.alpha, self.plan.rho
        budgets = published_budgets(rho, len(self.thresholds), self._amplified)
        concentrated = [budget / (alpha * self.groups_per_unit) for budget in budgets]
        if self.published:
            return gaussian_levels(self.thresholds, self.gap, concentrated)
        losses = self._losses(gaussian_levels(self.thresholds, self.gap, concentrated))
        factor = affordable_factor(losses, self.tuples_per_unit, self.rate, alpha, rho)
        return gaussian_levels(self.thresholds, self.gap, [factor * budget for budget in concentrated])

    def _amplified(self, i: int, budget: float) -> float:
        """Lemma 3.5: the divergence of threshold i on its own, when it has `budget` before sampling."""
        rhos = [budget / (self.plan.alpha * self.groups_per_unit)] * len(self.thresholds)
        losses = self._losses(gaussian_levels(self.thresholds, self.gap, rhos)[i : i + 1])
        return joint_renyi(losses, self.tuples_per_unit, self.rate, self.plan.alpha)

    def _losses(self, steps: tuple[ThresholdNoise, ...]) -> list[SquareLoss]:
        """Of each threshold, in all groups that one unit reaches."""
        return [square_loss(level).times(self.groups_per_unit) for level in steps]


def square_loss(level: ThresholdNoise) -> SquareLoss:
    """What Gaussian noise tells when a sample of tuples of weight at most 1 gains k tuples of one unit."""
    laplace = level.loss
    return SquareLoss(0.0, laplace.step, laplace.slope, laplace.cap)


def one_by_one(steps: Sequence[ThresholdNoise], n_groups: int, entropy: Entropy) -> Ints:
    """(G, L) noise in steps, drawn threshold by threshold."""
    return np.stack([level.draw(n_groups, entropy) for level in steps], axis=1)


def gaussian_levels(thresholds: Thresholds, gap: float, rhos: Sequence[float]) -> tuple[ThresholdNoise, ...]:
    """A release at each threshold that spends its rho."""
    grids = levels(thresholds, gap, Fraction(1))  # only their steps and sensitivities are used
    return tuple(replace(grid, rho=rho) for grid, rho in zip(grids, rhos, strict=True))


@dataclass(frozen=True)
class S4SConcentrated(S4S):
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
    """

    groups_per_unit: int = 1
    delta: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.delta < 1:
            raise InvalidParameter("delta is between 0 and 1")

    @property
    def name(self) -> str:
        """As the paper's appendix has it."""
        return "s4s_zcdp"

    def draw(self, n_groups: int, entropy: Entropy) -> Ints:
        """(G, L) noise in steps, threshold by threshold."""
        return one_by_one(self._levels(n_groups), n_groups, entropy)

    @cached_property
    def concentrated(self) -> ConcentratedBudget:
        """rho, worth (epsilon, delta), for all groups and thresholds."""
        return ConcentratedBudget.of(self.epsilon, self.delta)

    @property
    def event(self) -> PrivacyEvent:
        """zCDP at rho, whatever was sampled."""
        return self.concentrated.event

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: nothing is amplified."""
        return self.epsilon

    def _levels(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        return gaussian_levels(self.thresholds, self.gap, [self._each] * len(self.thresholds))

    @property
    def _each(self) -> float:
        """rho of each threshold's release in each group."""
        return self.concentrated.rho / (len(self.thresholds) * self.groups_per_unit) * DOWN


@dataclass(frozen=True)
class FreshS4S:
    """DP-S4S whose thresholds each see a Bernoulli sample of their own, at L times the sampling.

    Independent samples compose: the privacy loss of each release is that of its own sample, and Algorithm 2 charges
    the sum of these. So the budgets are used just as they are published, and the charge is `epsilon`.
    Source: Algorithms 2 and 3 of DP-S4S (SIGMOD 2026); docs/mathematics.md, section 11.3.

    Attributes:
      race: the mechanism with its published budgets, for one group.
    """

    race: PublishedS4S | S4SRenyi

    def __post_init__(self) -> None:
        published = isinstance(self.race, PublishedS4S) or self.race.published
        if not published or self.race.groups_per_unit != 1:
            raise InvalidParameter("fresh samples use the published budgets, for one group")

    @property
    def name(self) -> str:
        """`s4s_fresh`, with Laplace noise, or `s4s_rdp_fresh`, with Gaussian noise."""
        return "s4s_fresh" if isinstance(self.race, PublishedS4S) else "s4s_rdp_fresh"

    @property
    def epsilon(self) -> float:
        """What one release spends."""
        return self.race.epsilon

    @property
    def delta(self) -> float:
        """0 for pure differential privacy."""
        return 0.0 if isinstance(self.race, PublishedS4S) else self.race.delta

    @property
    def event(self) -> PrivacyEvent:
        """The sum of what the releases cost, each amplified by its own sample."""
        return self.race.event_apart

    @property
    def rate(self) -> float:
        """q of each sample."""
        if isinstance(self.race, S4SRenyi):
            return self.race.rate
        assert self.race.sample is not None, "published budgets are for a sample"
        return self.race.sample.rate

    def release(self, tuples: JoinTuples, draws: Draws, entropy: Entropy) -> NoisyAnswer:
        """Draw L samples and release the largest of their noisy underestimates, divided by q.

        Args:
          tuples: one row per join tuple, one group, one release, weights in [0, ONE].
        Returns: `released_sample`; confidence counts the sampling as well.
        Raises: InvalidParameter before anything is drawn; EntropyFailed; SolverFailed.
        Cost: L passes over the tuples, and the solves that the bounds leave open.
        """
        check_single(tuples)
        if tuples.weights.max(initial=0) > ONE:
            raise InvalidParameter("a join tuple weighs at most 1")
        thresholds = self.race.thresholds
        levels = [Thresholds(exponent, exponent) for exponent in range(thresholds.low, thresholds.high + 1)]
        answers = tuple(self._answer(tuples, level, draws) for level in levels)
        noisy = self.race.release(SeparateAnswers(answers, thresholds), entropy)
        return replace(scale_up(noisy, self.rate, len(thresholds)), mechanism=self.name)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight, divided by q as the answer is."""
        return [(tau / self.rate, reach / self.rate) for tau, reach in self.race.expected_noise(n_groups)]

    def _answer(self, tuples: JoinTuples, level: Thresholds, draws: Draws) -> TruncatedAnswer:
        """The truncated answer of one sample at its one threshold."""
        kept = draws.binomial(np.ones(len(tuples.group), np.int64), self.rate).astype(bool)
        owners = tuple(replace(owner, keys=owner.keys[kept], missing=owner.missing[kept]) for owner in tuples.owners)
        sample = replace(tuples, owners=owners, group=tuples.group[kept], weights=tuples.weights[:, kept])
        return truncate(encode(sample), 0, level, self.race.gap)
