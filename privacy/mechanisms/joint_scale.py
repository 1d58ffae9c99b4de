"""`joint_scale`: averages, variances, correlations. One factor scales all that a unit adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy
from privacy.errors import InvalidParameter
from privacy.exact import exact_epsilon
from privacy.join_tuples import CodedJoinTuples
from privacy.mechanisms.bound_first import BoundTest
from privacy.mechanisms.clip import Clip
from privacy.mechanisms.release import check_levels
from privacy.mechanisms.sums import Around, Centre, Deviation, Products, Row
from privacy.mechanisms.unit_vectors import UnitVectors, contributions_of
from privacy.noisy_answer import CLIPPED_SHARE, NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncate import positive_in_groups
from privacy.units import MAX_UNITS, ONE, Floats, Int32s, Ints, saturating_sums

JOINT_CHARGE = 3.0
"""How many times the score charges for noise. Clipping keeps proportions, so a threshold that is too small harms a
quotient less than noise does. Chosen by hand from 1, 3 and 8, over averages by ward of a skewed hospital; `make
benchmark NAME=grouped` measures it on other populations."""

ENOUGH_JOINTLY = 20.0
"""How many times the noise at its public bound a sum has to be to be released there. It is less than for a single
sum, since one sum's threshold clips what its units add to all, and a few hundred people cannot choose one.
Chosen by hand from 15, 20 and 40, over the deviation of generated patients' numbers of visits; `make benchmark
NAME=statistics` measures it."""

_LOW = 2.0**-6
"""Deviations below this part of the range are rarer than a choice among too few people that ends far too low. Chosen
by hand; `make benchmark NAME=unmarked` measures what is marked."""

OPPOSED = 0.25
"""The part assumed missing of what overlooked people have around a mean: what some have above it others have below.
By `make benchmark NAME=trust`."""

FINER = 16
"""Sums of products around means count in units that are 2^-16 of others'. Their bound is that of the range, far above
most products, and small contributions would be rounded to nothing."""


@dataclass(frozen=True)
class ScaledSum:
    """One of the sums released at one scale: sum_u s_u x_ui plus Laplace noise, in every group.

    x_ui is what unit u adds to sum i, and s_u = min(1, min_i tau_i / sum_f x_uif) is one factor for all sums and
    groups. A sum that no quotient reads (`alone`) has a factor of its own, and is as exact as if asked by itself.
    An average is a quotient of two sums, a variance of three. Truncated separately they lose different parts,
    and the quotient is wrong. With one factor the quotient is that of weighted rows.

    Sensitivity: tau_i for each sum, in all groups together. What unit u adds, scaled, depends on its own rows and on
      public numbers, and has norm tau_i at most. `UnitVectors` clips what floats may have rounded above it. Nothing
      else changes when u comes or goes.

    Sums of products come last, around the released means. A variance around 0 is a difference of large numbers;
    around the mean it is what is left. What a unit adds to S((x - a) (y - b)) follows from what it adds to S(x y),
    S(x), S(y) and n, and from the public a and b. It is clipped at tau as well.

    Averages are measured around a centre a: the sum of all groups over their number of rows, released with a small
    share. What a unit adds to S(x) - a n has either sign and is mostly small. a + (S(x) - a n) / n is the average for
    any a. The centre is one number, so the noise of many groups does not add up in it.

    With one group and a known public bound, a sum that is large beside it is released at the bound (`BoundTest`).
    Else `Clip` chooses a threshold on what every unit adds before it is scaled.
    Source: docs/mathematics.md, section 4.4.

    Attributes:
      chosen: the choice of tau_i and the release, with the sum's share of epsilon.
      around: what the sum is centred on; None: 0.
      direct: the release at a known public bound, with the same budget as `chosen`; None without one.
      test: whether the sum is large enough for `direct`; None without it.
      spends: what the test and the release may spend together; None without `direct`.
      alone: released with a factor of its own.
    """

    chosen: Clip
    around: Around | None = None
    direct: Clip | None = None
    test: BoundTest | None = None
    spends: float | None = None
    alone: bool = False
    name = "joint_scale"

    def __post_init__(self) -> None:
        if len({self.direct is None, self.test is None, self.spends is None}) > 1:
            raise InvalidParameter("a release at a public bound needs a test, and each must have an epsilon above 0")
        if self.test is not None and self.spends is not None:
            parts = [one.epsilon for one in (self.chosen, self.direct) if one is not None]
            if max(map(exact_epsilon, parts)) + self.test.epsilon > exact_epsilon(self.spends):
                raise InvalidParameter("the shares of the test and of the release must add up to at most the epsilon")

    @property
    def epsilon(self) -> float:
        """The epsilon that the release of this sum spends, its test included, for all groups together."""
        return self.chosen.epsilon if self.spends is None else self.spends

    @property
    def delta(self) -> float:
        """0 under pure privacy; else the delta at which rho is stated."""
        return self.chosen.delta

    @property
    def event(self) -> PrivacyEvent:
        """epsilon-DP, over all groups."""
        return self.chosen.event if self.test is None else PureDP(self.epsilon)

    @property
    def thresholds(self) -> Thresholds:
        """The candidate thresholds of this sum."""
        return self.chosen.thresholds

    def release(self, tuples: CodedJoinTuples, row: int, entropy: Entropy) -> NoisyAnswer:
        """Release one sum by itself, with a factor of its own. Raises: as `release_at_one_scale`."""
        if not 0 <= row < len(tuples.weights):
            raise InvalidParameter("no release has this index")
        less = self.chosen.less
        rows = [row] if less is None else [row, less]
        own = self if less is None else replace(self, chosen=replace(self.chosen, less=1))
        return release_at_one_scale([own], replace(tuples, weights=tuples.weights[rows]), entropy)[0]

    def expected_noise(self, n_groups: int) -> list[tuple[float, float]]:
        """(tau, half-width of a group's interval) of each candidate threshold, in normalised weight."""
        if isinstance(self.around, Centre):  # whatever it is, it is what it is: what it leaves is measured
            return [(tau, 0.0) for tau, _ in self.chosen.expected_noise(1)]
        once = 2.0**-FINER if isinstance(self.around, Products) else 1.0
        at_bound = [] if self.direct is None else self.direct.expected_noise(n_groups)
        chosen = self.chosen.expected_noise(n_groups)
        return [(once * tau, once * reach) for tau, reach in (*chosen, *at_bound)]

    def check_noise(self, n_groups: int = 1) -> None:
        """Refuse noise or scores out of range for up to `n_groups` groups. Public. Raises: InvalidParameter."""
        self.chosen.check_noise(n_groups)
        if self.direct is not None and self.test is not None:
            self.direct.check_noise(n_groups)
            check_levels((self.test.level,))

    def epsilon_if_bound_fails(self, n_groups: int) -> float:
        """`epsilon`, since no bound on a unit's tuples is used."""
        return self.epsilon


def release_at_one_scale(
    sums: Sequence[ScaledSum], tuples: CodedJoinTuples, entropy: Entropy
) -> tuple[NoisyAnswer, ...]:
    """Choose every sum's threshold, scale each unit by one factor, release.

    Args:
      sums: k of them; sum i has row i of the weights.
      tuples: m join tuples with one owner position, in G groups.
    Returns: one noisy answer per sum; each interval covers the sum of what was scaled.
    Raises: InvalidParameter for several owner positions or too few weights, before noise is drawn; EntropyFailed.
    Cost: linear in k m.
    """
    if len(tuples.members) != 1:
        raise InvalidParameter("a common scale for all sums of a unit needs one owner per tuple")
    if len(tuples.weights) < len(sums):
        raise InvalidParameter("each sum must have its weights")
    contributions = [contributions_of(tuples, row, one.chosen.less) for row, one in enumerate(sums)]
    group = np.repeat(np.arange(tuples.n_groups), np.diff(tuples.member_start))
    answers: dict[int, NoisyAnswer] = {}

    def chosen(row: int, own: Ints) -> _Threshold:
        one = sums[row]
        if one.direct is not None and one.test is not None and tuples.n_groups == 1:
            bound = _Threshold(one.direct, 0)
            units = positive_in_groups(own, tuples.member_start) if one.around is None else None
            total = saturating_sums(group, np.clip(own, 0, bound.units), 1)
            if one.test.passes(total, entropy, units).all():
                return bound
        return _Threshold(one.chosen, one.chosen.choose(UnitVectors(tuples, own), entropy))

    def release(row: int, at: _Threshold, own: Ints) -> None:
        one = sums[row]
        noisy = at.clip.release_at(at.level, UnitVectors(tuples, own), entropy)
        answers[row] = _coarse(replace(noisy, mechanism=one.name, epsilon=one.epsilon), one)

    for row, one in enumerate(sums):
        if one.alone:
            release(row, chosen(row, contributions[row]), contributions[row])
    plain = [row for row, one in enumerate(sums) if one.around is None and not one.alone]
    at = {row: chosen(row, contributions[row]) for row in plain}
    contributions = _scaled(contributions, {row: one.units for row, one in at.items()}, tuples.units)
    people = sum(one.clip.doubt(tuples.n_groups) for one in at.values())  # whom one choice overlooks all sums lack
    for row in plain:
        release(row, at[row], contributions[row])
        total = np.full(tuples.n_groups, answers[row].values.sum())
        answers[row] = _lacking(answers[row], people, total)
    for row, one in enumerate(sums):
        if isinstance(one.around, Centre):
            answers[row] = _centre(one, UnitVectors(tuples, contributions[row]).in_one_group(), answers, entropy)
    for row, one in enumerate(sums):
        if isinstance(one.around, Deviation):
            own = _deviations(
                contributions[row], contributions[one.around.count], float(answers[one.around.centre].values[0])
            )
        elif isinstance(one.around, Products):
            own = _products(row, contributions, one.around, answers, group)
        else:
            continue
        found = chosen(row, own)
        release(row, found, own)
        if isinstance(one.around, Products):
            answers[row] = _around_other_means(answers[row], one.around, answers)
        overlooked = people + found.clip.doubt(tuples.n_groups)
        count, opposed = answers[one.around.count], OPPOSED
        tau = found.clip.thresholds.taus[found.level]
        low = _LOW**2 * 2.0**FINER if isinstance(one.around, Products) else _LOW
        if tau < low and count.values.sum() <= found.clip.doubt_by_distance(tuples.n_groups):
            overlooked = np.inf
        if isinstance(one.around, Deviation) and one.chosen.less is None:
            # No row lacks more than the mean of its column, so a longer threshold clips on one side alone.
            mean = float(answers[one.around.centre].values[0])
            opposed = 1.0 if tau >= mean * count.tau.max() else OPPOSED
        answers[row] = _lacking_around(answers[row], overlooked, count, opposed)
    return tuple(answers[row] for row in range(len(sums)))


def _lacking(answer: NoisyAnswer, people: float, total: Floats) -> NoisyAnswer:
    """The answer with a `signal` for so many overlooked people: a group lacks its part of the total.

    Args:
      people: their number over `CLIPPED_SHARE` (`SelectionSettings.doubt`).
      total: (G,) of all groups together, by each group's part of the rows.
    """
    signal = np.abs(total) / (people * answer.tau) if people else np.full_like(total, np.inf)
    return replace(answer, signal=signal)


def _lacking_around(answer: NoisyAnswer, people: float, count: NoisyAnswer, opposed: float) -> NoisyAnswer:
    """The same for a sum around a mean, which may be 0: a group lacks its part of all rows.

    If as many may be overlooked as there are people by the count, each row may be anything. A sum of n rows then
    lacks at most n times their bound.
    """
    rows = np.maximum(count.values, 0.0)
    overlooked = CLIPPED_SHARE * people
    everybody = overlooked >= rows.sum() / count.tau.max()
    most = np.full_like(rows, 2.0) if everybody else opposed * overlooked * answer.tau / max(1.0, rows.sum())
    lacks = np.minimum(most, 2.0) * rows
    signal = np.divide(CLIPPED_SHARE * np.abs(answer.values), lacks, out=np.zeros_like(rows), where=lacks > 0)
    return replace(answer, signal=signal if people else np.full_like(rows, np.inf))


def _around_other_means(answer: NoisyAnswer, around: Products, answers: Mapping[int, NoisyAnswer]) -> NoisyAnswer:
    """The answer with an interval that holds the sum of products around the means, not only around those released.

    S((x - a) (y - b)) is larger than around the means x' and y' by n (x' - a) (y' - b). Each factor is as small as
    the intervals of its sum and of the count say. For a variance both are one factor, so the truth is not above.
    """
    count = answers[around.count]
    rows = np.maximum(count.values, 1.0)

    def reach(one: NoisyAnswer) -> Floats:
        return np.maximum(one.high - one.values, one.values - one.low)

    def off(one: Row) -> Floats:
        place, worth = one
        mean = np.minimum(np.abs(answers[place].values) / rows, 1.0)
        return np.minimum(worth * (reach(answers[place]) + mean * reach(count)) / rows, 2.0 * worth)

    most = rows * off(around.x) * off(around.y) / around.worth
    above = 0.0 if around.x == around.y else most
    return replace(answer, low=answer.low - most, high=answer.high + above)


@dataclass(frozen=True)
class _Threshold:
    """The threshold at which a sum is released, with the budget of that release."""

    clip: Clip
    level: int

    @property
    def units(self) -> int:
        return int(self.clip.thresholds.units[self.level])


def _centre(
    one: ScaledSum, vectors: UnitVectors, answers: Mapping[int, NoisyAnswer], entropy: Entropy
) -> NoisyAnswer:
    """The sum of all groups over the released number of rows, from -1 to 1 in normalised weight; the same in each
    group. It is a whole number of units, so that no unit's distance from it is rounded (`_deviations`).
    """
    assert isinstance(one.around, Centre), "a centre"
    noisy = one.chosen.release_at(one.chosen.choose(vectors, entropy), vectors, entropy)
    count = answers[one.around.count].values
    mean = min(1.0, max(-1.0, float(noisy.values[0]) / max(1.0, float(count.sum()))))
    value = np.full(len(count), round(mean * ONE) / ONE)
    return replace(
        noisy,
        values=value,
        low=value,
        high=value,
        tau=np.full(len(count), noisy.tau[0]),
        noise_scale=np.full(len(count), noisy.noise_scale[0]),
        signal=np.full(len(count), np.inf),
        mechanism=one.name,
        epsilon=one.epsilon,
    )


def _deviations(total: Ints, count: Ints, centre: float) -> Ints:
    """(n,) units: what each member adds to S(x) - a n, of either sign, rounded towards 0.

    It depends on the member's own contributions and on what is released. Nothing is rounded where a is a whole number
    of units and n one of rows: if all rows are alike, rounding would have one sign, and no interval holds it.
    """
    return _units(total / ONE - centre * (count / ONE))


def _products(
    row: int,
    contributions: Sequence[Ints],
    around: Products,
    answers: Mapping[int, NoisyAnswer],
    group: NDArray[np.intp],
) -> Ints:
    """(n,) finer units: what each member adds to S((x - a) (y - b)), a and b the means, of either sign.

    That is S(x y) - a S(y) - b S(x) + a b n of one unit in one group. It depends on its own contributions and on what
    is released. The means are those released for the group, no larger than one row can have.
    """

    def of(one: Row) -> Floats:
        return one[1] * (contributions[one[0]] / ONE)  # first divided: no overflow

    def mean(one: Row) -> Floats:
        place, worth = one
        found = worth * answers[place].values / np.maximum(answers[around.count].values, 1.0)
        return np.clip(found, -worth, worth)[group]

    a, b = mean(around.x), mean(around.y)
    x, y, n = of(around.x), of(around.y), of((around.count, 1.0))
    if around.one_row:
        rows_of = np.where(n > 0.0, n, 1.0)
        left = n * (x / rows_of - a) * (y / rows_of - b)
    else:
        left = of((row, around.worth)) - a * y - b * x + a * b * n
    return _units(np.nan_to_num(left / around.worth, nan=0.0) * 2.0**FINER)


def _units(weights: Floats) -> Ints:
    """Normalised weights of either sign as units, rounded towards 0."""
    most = float(MAX_UNITS // ONE)
    units: Ints = np.trunc(np.clip(weights, -most, most) * ONE).astype(np.int64)
    return units


def finer(thresholds: Thresholds) -> Thresholds:
    """The same thresholds where one normalised weight is 2^FINER, as far as they go."""
    return replace(thresholds, high=min(Thresholds().high, thresholds.high + FINER), whole=False)


def _coarse(answer: NoisyAnswer, of: ScaledSum) -> NoisyAnswer:
    """An answer in normalised weights again, exact by powers of 2."""
    if not isinstance(of.around, Products):
        return answer
    once = 2.0**-FINER
    return replace(
        answer,
        values=answer.values * once,
        tau=answer.tau * once,
        noise_scale=answer.noise_scale * once,
        low=answer.low * once,
        high=answer.high * once,
    )


def _scaled(contributions: Sequence[Ints], taus: Mapping[int, int], units: Int32s) -> list[Ints]:
    """What members add to all sums, by the largest factor that leaves no sum of their unit above its tau.

    Doubles may round to slightly above it, so the release clips at tau again.

    Args:
      contributions: (n,) per sum, in units.
      taus: of the sums that have one.
      units: (n,) whose members they are: a unit has one factor, by its sums over all groups.
    """
    factor = np.ones(int(units.max(initial=-1)) + 1)
    for row, tau in taus.items():
        everywhere = saturating_sums(units, np.abs(contributions[row]), len(factor))
        over = everywhere > tau
        factor[over] = np.minimum(factor[over], tau / everywhere[over].astype(np.float64))
    own = factor[units]
    over = own < 1.0
    scaled = []
    for contribution in contributions:
        less = contribution.copy()
        less[over] = np.trunc(contribution[over] * own[over]).astype(np.int64)
        scaled.append(less)
    return scaled
