"""DP-S4S for scalars: races over a sample, with sound budgets and as published, pure, Renyi and zCDP.

`s4s` is the race of R2T over a Bernoulli sample of join tuples, `s4s_rdp` and `s4s_zcdp` have Gaussian noise in it.
What Algorithm 2 adds up is right for samples of their own, one per threshold: so `s4s_fresh` and `s4s_rdp_fresh`
draw them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from privacy.accounting.event import ORDERS, PrivacyEvent, PureDP, RenyiCurve
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, check_gap, check_groups, exact_epsilon, float_at_least, group_epsilon
from privacy.join_tuples import JoinTuples, Private
from privacy.ladder import Ladder
from privacy.mechanisms.budget import ConcentratedBudget
from privacy.mechanisms.noise import ThresholdNoise, rungs
from privacy.mechanisms.release import check_answer, check_rungs
from privacy.noisy_answer import NoisyAnswer
from privacy.papers.r2t import even_noise, penalised_race, penalty_widths
from privacy.papers.renyi_sampling import RenyiPlan, affordable_factor, joint_renyi, least_epsilon, least_noise
from privacy.papers.unit_samples import check_single
from privacy.sampling.design import SampleDesign, largest_factor
from privacy.sampling.draws import Draws
from privacy.sampling.loss import Loss, SquareLoss
from privacy.sampling.scale_up import scale_up
from privacy.truncation.encode import encode
from privacy.truncation.truncate import truncate
from privacy.truncation.truncated_answer import TruncatedAnswer
from privacy.units import ONE, Ints


def published_budgets(total: float, thresholds: int, amplified: Callable[[int, float], float]) -> tuple[float, ...]:
    """Lines 4 to 10 of Algorithm 2: from the largest threshold down, an even share of what is left.

    Args:
      total: epsilon, or rho at one order.
      amplified: what threshold i costs on its own after sampling, when it spends so much.
    Returns: (L,) budgets, thresholds ascending. What they cost one by one adds up to `total`; that is what they cost
      together only if each has a sample of its own.
    """
    left, budgets = total, []
    for i in range(thresholds, 0, -1):
        budgets.append(left / i)
        left -= amplified(i - 1, budgets[-1])
    return tuple(reversed(budgets))


@lru_cache(maxsize=64)
def pure_budgets(
    design: SampleDesign, cell: Fraction, ladder: Ladder, gap: float, published: bool
) -> tuple[Fraction, ...]:
    """epsilon of each threshold's release from a Bernoulli sample.

    Args:
      design: the sample; its number of tuples per unit is known.
      cell: the part of its epsilon for this group of this release.
      published: as Algorithm 2 adds up, which is sound for one sample per threshold. Otherwise those budgets, all
        multiplied by the one number with which their joint loss is the cell's.
    """

    def losses(budgets: Sequence[float]) -> list[Loss]:
        parts = zip(ladder.units, budgets, strict=True)
        return [ThresholdNoise(int(units), gap, Fraction(budget)).loss for units, budget in parts]

    def amplified(i: int, budget: float) -> float:
        return design.joint([ThresholdNoise(int(ladder.units[i]), gap, Fraction(budget)).loss])

    budgets = published_budgets(float(cell), len(ladder), amplified)
    if not published:
        factor = largest_factor(design, cell, lambda x: losses([x * budget for budget in budgets]), 1.0)
        budgets = tuple(factor * budget for budget in budgets)
    return tuple(map(Fraction, budgets))


@dataclass(frozen=True, eq=False, repr=False)
class SeparateAnswers(Private):
    """A TruncatedAnswer whose thresholds know nothing of each other: values need not grow along the ladder.

    Attributes:
      answers: one per threshold, each on a ladder of that threshold alone, with the same groups and gap.
      ladder: the L thresholds.
    """

    answers: tuple[TruncatedAnswer, ...]
    ladder: Ladder

    def __post_init__(self) -> None:
        base = self.ladder.base
        rungs = [Ladder(exponent, exponent, base) for exponent in range(self.ladder.low, self.ladder.high + 1)]
        if [answer.ladder for answer in self.answers] != rungs:
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


class SampleRace:
    """A race over tau_i = 2^0 .. 2^(L - 1) on values of one sample: what is the same whatever its noise."""

    epsilon: float
    tuples_per_unit: int
    groups_per_unit: int | None
    gap: float
    beta: float

    def _check(self) -> None:
        """Refuse parameters out of range. Raises: InvalidParameter."""
        exact_epsilon(self.epsilon)
        if self.tuples_per_unit < 1:
            raise InvalidParameter("a unit has at least one tuple")
        check_groups(self.groups_per_unit)
        check_gap(self.gap)
        if not 0 < self.beta < 1:
            raise InvalidParameter("beta is between 0 and 1")

    @cached_property
    def ladder(self) -> Ladder:
        """2^0 to 2^(L - 1), L = floor(log2 Delta) + 1 (Algorithm 2, lines 3 and 5), at most 2^32."""
        return Ladder(0, min(32, self.tuples_per_unit.bit_length() - 1))

    @property
    def name(self) -> str:
        """As in the registry."""
        raise NotImplementedError

    @property
    def confidence(self) -> float:
        """1 - beta / 6."""
        return 1 - self.beta / 6

    def release(self, answer: TruncatedAnswer, entropy: Entropy) -> NoisyAnswer:
        """Release one value per group, below the sample's answer but for a chance of beta / 6 in each.

        Args, raises: as `Measurement.release`; where L0 is given a unit reaches so many groups at most.
        Cost: G L draws and operations, and the solves that the bounds leave open.
        """
        check_answer(answer, self.ladder, self.gap)
        noise = self.draw(answer.n_groups, entropy)
        return penalised_race(answer, self._rungs(answer.n_groups), noise, self._tail, self)

    def draw(self, n_groups: int, entropy: Entropy) -> Ints:
        """(G, L) noise in steps, threshold by threshold."""
        return np.stack([rung.draw(n_groups, entropy) for rung in self._rungs(n_groups)], axis=1)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight: the penalty is bias and half-width."""
        return penalty_widths(self._rungs(n_groups), self._tail)

    def _rungs(self, n_groups: int) -> Sequence[ThresholdNoise]:
        """The release at each threshold."""
        raise NotImplementedError

    @property
    def _tail(self) -> float:
        """beta / (6 L), that is exp(-ln(3 L / beta)) / 2: how often a threshold's noise may exceed its penalty."""
        return self.beta / (6 * len(self.ladder))


@dataclass(frozen=True)
class S4S(SampleRace):
    """max_i v(tau_i) + Lap(tau_i / eps_i) - (tau_i / eps_i) ln(3 L / beta), tau_i = 1, 2, 4 .. 2^(L - 1).

    Two modes. `shared`, the default, is epsilon-DP: the budgets of Algorithm 2 are multiplied by the number with
    which the joint loss of all L releases from the one sample is epsilon (docs/mathematics.md, section 7.1).
    `published` leaves them as they are printed; their amplified costs are added up as if each release had a sample of
    its own. Then `event` says what one release really costs, which at large epsilon is more than `epsilon`: no server
    may run it.

    The penalty is the exact quantile of the discrete Laplace in place of (tau / eps) ln(3 L / beta), which it
    exceeds by less than a step. The values are those of the sample: `scale_up` divides by the rate.
    Source: Algorithm 2 of DP-S4S (SIGMOD 2026).

    Attributes:
      epsilon, groups_per_unit, gap: as of `Fixed`.
      tuples_per_unit: Delta >= 1, a public bound on the join tuples of one unit; it decides which thresholds race.
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
        self._check()
        if self.published and (self.groups_per_unit != 1 or self.sample is None):
            raise InvalidParameter("what was published has one group and a sample")

    @property
    def name(self) -> str:
        """`s4s`, DP-S4S with a sound budget, or `s4s_as_published`, with the paper's."""
        return "s4s_as_published" if self.published else "s4s"

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

    def draw(self, n_groups: int, entropy: Entropy) -> Ints:
        """(G, L) noise in steps."""
        return even_noise(n_groups, self._rungs(n_groups), entropy)

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to so many groups. Public. Raises: InvalidParameter."""
        check_rungs(self._rungs(n_groups))

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """g(infinity): what a unit with more join tuples than Delta may lose, in all groups."""
        cell = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        return float_at_least(
            exact_epsilon(self.epsilon) / cell * sum(rung.epsilon for rung in self._rungs(n_groups))
        )

    def _rungs(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        cell: Fraction = group_epsilon(self.epsilon, self.groups_per_unit, n_groups)
        if self.sample is None or self.sample.tuples_per_unit is None:
            return rungs(self.ladder, self.gap, cell / len(self.ladder))
        return rungs(self.ladder, self.gap, pure_budgets(self.sample, cell, self.ladder, self.gap, self.published))


@dataclass(frozen=True)
class S4SRenyi(SampleRace):
    """max_i v(tau_i) + N(0, sigma_i^2) - penalty_i over tau_i = 2^0 .. 2^(L - 1), from one Bernoulli sample.

    The order alpha is the one at which an even division has the least noise. At it the budget rho that is worth
    (epsilon, delta) is divided as in Algorithm 2, sigma_i = tau_i sqrt(alpha / (2 rho_i)), each amplified by Lemma
    3.5. In the mode `shared` the rho_i are then multiplied by the number with which the joint divergence of all L
    releases in all L0 groups is rho; `published` leaves them as they are, which is sound for one sample per
    threshold only.

    Source: Algorithm 3 and Corollary 3.6 of DP-S4S (SIGMOD 2026); docs/mathematics.md, section 7.3.

    Attributes:
      epsilon, delta: for all groups together; epsilon > 0, delta in (0, 1).
      rate: q in (0, 1], the probability with which each tuple is in the sample.
      tuples_per_unit, groups_per_unit, gap, published, beta: as of `S4S`; L0 >= 1.
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
        self._check()
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
        even = self._losses(gaussian_rungs(self.ladder, self.gap, [1.0] * len(self.ladder)))
        return least_noise(even, self.tuples_per_unit, self.rate, self.epsilon, self.delta)

    def _rungs(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        return self._steps

    @cached_property
    def _steps(self) -> tuple[ThresholdNoise, ...]:
        alpha, rho = self.plan.alpha, self.plan.rho
        budgets = published_budgets(rho, len(self.ladder), self._amplified)
        concentrated = [budget / (alpha * self.groups_per_unit) for budget in budgets]
        if self.published:
            return gaussian_rungs(self.ladder, self.gap, concentrated)
        losses = self._losses(gaussian_rungs(self.ladder, self.gap, concentrated))
        factor = affordable_factor(losses, self.tuples_per_unit, self.rate, alpha, rho)
        return gaussian_rungs(self.ladder, self.gap, [factor * budget for budget in concentrated])

    def _amplified(self, i: int, budget: float) -> float:
        """Lemma 3.5: the divergence of threshold i on its own, when it has `budget` before sampling."""
        rhos = [budget / (self.plan.alpha * self.groups_per_unit)] * len(self.ladder)
        losses = self._losses(gaussian_rungs(self.ladder, self.gap, rhos)[i : i + 1])
        return joint_renyi(losses, self.tuples_per_unit, self.rate, self.plan.alpha)

    def _losses(self, steps: tuple[ThresholdNoise, ...]) -> list[SquareLoss]:
        """Of each threshold, in all groups that one unit reaches."""
        return [rung.square_loss.times(self.groups_per_unit) for rung in steps]


def gaussian_rungs(ladder: Ladder, gap: float, rhos: Sequence[float]) -> tuple[ThresholdNoise, ...]:
    """A release at each threshold that spends its rho."""
    grids = rungs(ladder, gap, Fraction(1))  # only their steps and sensitivities are used
    return tuple(replace(grid, rho=rho) for grid, rho in zip(grids, rhos, strict=True))


@dataclass(frozen=True)
class S4SConcentrated(SampleRace):
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
      tuples_per_unit, groups_per_unit, gap, beta: as of `S4S`; L0 >= 1.
    """

    epsilon: float
    delta: float
    tuples_per_unit: int
    groups_per_unit: int = 1
    gap: float = 0.0
    beta: float = 0.1
    name = "s4s_zcdp"

    def __post_init__(self) -> None:
        self._check()
        if not 0 < self.delta < 1:
            raise InvalidParameter("delta is between 0 and 1")

    @cached_property
    def budget(self) -> ConcentratedBudget:
        """rho, worth (epsilon, delta), for all groups and thresholds."""
        return ConcentratedBudget.of(self.epsilon, self.delta)

    @property
    def event(self) -> PrivacyEvent:
        """zCDP at rho, whatever was sampled."""
        return self.budget.event

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: nothing is amplified."""
        return self.epsilon

    def _rungs(self, n_groups: int) -> tuple[ThresholdNoise, ...]:
        return gaussian_rungs(self.ladder, self.gap, [self._each] * len(self.ladder))

    @property
    def _each(self) -> float:
        """rho of each threshold's release in each group."""
        return self.budget.rho / (len(self.ladder) * self.groups_per_unit) * DOWN


@dataclass(frozen=True)
class FreshS4S:
    """DP-S4S whose thresholds each see a Bernoulli sample of their own, at L times the sampling.

    Independent samples compose: the privacy loss of each release is that of its own sample, and Algorithm 2 charges
    the sum of these. So the budgets are used just as they are published, and the charge is `epsilon`.
    Source: Algorithms 2 and 3 of DP-S4S (SIGMOD 2026); docs/mathematics.md, section 11.3.

    Attributes:
      race: the mechanism with its published budgets, for one group.
    """

    race: S4S | S4SRenyi

    def __post_init__(self) -> None:
        if not self.race.published or self.race.groups_per_unit != 1:
            raise InvalidParameter("fresh samples use the published budgets, for one group")

    @property
    def name(self) -> str:
        """`s4s_fresh`, with Laplace noise, or `s4s_rdp_fresh`, with Gaussian noise."""
        return "s4s_fresh" if isinstance(self.race, S4S) else "s4s_rdp_fresh"

    @property
    def epsilon(self) -> float:
        """What one release spends."""
        return self.race.epsilon

    @property
    def delta(self) -> float:
        """0 for pure differential privacy."""
        return 0.0 if isinstance(self.race, S4S) else self.race.delta

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
        ladder = self.race.ladder
        rungs = [Ladder(exponent, exponent) for exponent in range(ladder.low, ladder.high + 1)]
        answers = tuple(self._answer(tuples, rung, draws) for rung in rungs)
        noisy = self.race.release(SeparateAnswers(answers, ladder), entropy)
        return replace(scale_up(noisy, self.rate, len(ladder)), mechanism=self.name)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, penalty) per threshold, in normalised weight, divided by q as the answer is."""
        return [(tau / self.rate, reach / self.rate) for tau, reach in self.race.expected_noise(n_groups)]

    def _answer(self, tuples: JoinTuples, rung: Ladder, draws: Draws) -> TruncatedAnswer:
        """The truncated answer of one sample at its one threshold."""
        kept = draws.binomial(np.ones(len(tuples.group), np.int64), self.rate).astype(bool)
        owners = tuple(replace(owner, keys=owner.keys[kept], missing=owner.missing[kept]) for owner in tuples.owners)
        sample = replace(tuples, owners=owners, group=tuples.group[kept], weights=tuples.weights[:, kept])
        return truncate(encode(sample), 0, rung, self.race.gap)
