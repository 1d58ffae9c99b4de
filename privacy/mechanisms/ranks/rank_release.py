"""`rank`: quantiles and extremes of one owner's rows, several of a column together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privacy.accounting.event import PrivacyEvent, PureDP
from privacy.entropy import Entropy, check_scale, checked
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, exact_epsilon
from privacy.join_tuples import CodedJoinTuples, RankedTuples
from privacy.ladder import Ladder
from privacy.mechanisms.ranks.default_beyond import CHOICE, INTERVAL
from privacy.mechanisms.ranks.exponential_rank import (
    SLACK,
    TAU,
    Ranks,
    WidthSearch,
    check_codes,
    draw_code,
    uniform,
)
from privacy.mechanisms.selection.lazy_choice import noisy_choice
from privacy.mechanisms.selection.scores import Scores
from privacy.mechanisms.selection.settings import SelectionSettings
from privacy.noisy_answer import NoisyAnswer
from privacy.truncation.codes.owner_codes import owner_codes
from privacy.truncation.truncate import truncate
from privacy.units import ONE

LOSS = 0.25
"""What a row that is weighed less counts for in the choice of tau, in rows of noise: the rank is wrong only as far
as the values of those with many rows differ from the others'."""

_SPREAD = 0.75
"""What the noise of G groups is charged at, as G^0.75 of one group's (`SharedThreshold`)."""

_SELECTION = SelectionSettings(split=CHOICE)


@dataclass(frozen=True)
class Rank:
    """A rank that is asked for.

    Attributes:
      quantile: q in [0, 1]; None for an extreme.
      beyond: k >= 0, of an extreme: how many privacy units should lie beyond it.
      highest: is it the largest values' side that k is counted from?
    """

    quantile: float | None = None
    beyond: int = 0
    highest: bool = True

    def __post_init__(self) -> None:
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            raise InvalidParameter("a quantile lies between 0 and 1")
        if self.beyond < 0:
            raise InvalidParameter("a number of people is not negative")

    def target(self, total: int) -> int:
        """The weight that should lie below, of a total weight."""
        if self.quantile is None:
            return total - self.beyond * TAU if self.highest else self.beyond * TAU
        q = Fraction(self.quantile)
        return total * q.numerator // q.denominator


@dataclass(frozen=True)
class RankBatch:
    """Ranks of the values of one column in every group.

    Quantiles weigh rows, extremes people. A unit's rows weigh together at most one threshold: of quantiles a row
    weighs min(1, tau / load), of extremes a unit's largest (or smallest) value of each group weighs 1 / (the number
    of its groups). So whichever of its rows a unit has, it moves the weights below any value by TAU at most in one
    group, and by 2 TAU in all of its groups together: what it takes away from some and adds to others. The distance
    of a value from the target q N moves by no more in one group, as A(v) - q N lies between -q TAU and (1 - q) TAU
    for the unit's part; over all groups by 2 max(q, 1 - q) TAU. The exponential mechanism's loss is the sum over the
    groups of 2 gamma times these, whatever their number: no bound on the groups of a unit is needed.

    epsilon-DP for all ranks and groups together: the choice of tau (`Scores`, whose values move by tau), the ranks
    (equal shares), the intervals (`WidthSearch`).
    Source: privacy.md sections 1 and 4; Smith (STOC 2011) for the mechanism, Fang, Dong and Yi (CCS 2022) for ranks
      of people in place of extremes.

    Attributes:
      epsilon: for all ranks and groups together, > 0.
      ranks: at least one; of several quantiles the answers rise.
      n_codes: D, the number of values of the grid.
      ladder: the thresholds of quantiles.
      one_group: can a unit be in one group at most, whichever of its rows it has?
      confidence: of the intervals, in (0, 1).
    """

    epsilon: float
    ranks: tuple[Rank, ...]
    n_codes: int
    ladder: Ladder = field(default_factory=lambda: Ladder(low=0))
    one_group: bool = True
    confidence: float = 0.95

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_codes(self.n_codes)
        if not self.ranks or len({rank.quantile is None for rank in self.ranks}) != 1:
            raise InvalidParameter("a batch has quantiles or extremes")
        if self.is_extreme and len({rank.highest for rank in self.ranks}) != 1:
            raise InvalidParameter("the largest values and the smallest are two batches")
        if self.ladder.low < 0:
            raise InvalidParameter("a threshold is a number of rows")

    @property
    def is_extreme(self) -> bool:
        """Are people counted, and not rows?"""
        return self.ranks[0].quantile is None

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy at epsilon, over all ranks and groups."""
        return PureDP(self.epsilon)

    def rows_off(self, tau: float, n_groups: int) -> float:
        """By how many rows (of extremes, people) a rank is off at most, at the confidence. Public."""
        return self._off(n_groups) / TAU * (1.0 if self.is_extreme else tau)

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise or scores that leave their range. Public. Raises: InvalidParameter."""
        check_scale(self._width(n_groups).scale)
        if not self._gamma(n_groups) > 2.0**-60:
            raise InvalidParameter("epsilon is too small for ranks")
        if self._chooses:
            self._scores(n_groups)

    def release(self, tuples: RankedTuples, entropy: Entropy) -> tuple[NoisyAnswer, ...]:
        """Choose tau, draw every rank in every group, and how far it may be off.

        Args:
          tuples: m rows of one owner position.
          entropy: where the noise comes from.
        Returns: per rank, codes of the grid as values; an interval covers the value whose rank it is among the
          weighed rows. Of nobody's rows every value is as likely, and the interval is wide.
        Raises: InvalidParameter for several owner positions; EntropyFailed.
        Cost: a sort of the rows, and some milliseconds per 100 groups and rank.
        """
        n_groups = tuples.n_groups
        tau, weighed = self._weighed(tuples, entropy)
        size = n_groups * len(self.ranks)
        points = iter(uniform(entropy, size))
        search = self._width(n_groups)
        noise = iter(checked(entropy.laplace(search.scale, size * search.comparisons), size * search.comparisons)
                     .reshape(size, search.comparisons))  # fmt: skip
        gamma, off = self._gamma(n_groups), self._off(n_groups)
        shape = len(self.ranks), n_groups
        codes, low, high = (np.empty(shape, np.int64) for _ in range(3))
        for group, ranks in enumerate(weighed):
            for place, rank in enumerate(self.ranks):
                code = draw_code(ranks, rank.target(ranks.total), gamma, next(points))
                width = search.width(ranks, code, off, next(noise))
                codes[place, group] = code
                low[place, group] = max(0, code - width) if search.below else 0
                high[place, group] = min(self.n_codes - 1, code + width) if search.above else self.n_codes - 1
        return tuple(self._answers(codes, low, high, tau, n_groups))

    def _answers(
        self, codes: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], tau: int, n_groups: int
    ) -> Iterator[NoisyAnswer]:
        order = np.argsort([self._height(rank) for rank in self.ranks], kind="stable")
        codes[order] = np.sort(codes[order], axis=0)  # quantiles rise; which noise fell on which is nobody's loss
        wide = high - low >= max(2, (self.n_codes - 1) * (0.99 if self.is_extreme else 0.5))
        share = self.epsilon / len(self.ranks)
        for place in range(len(self.ranks)):
            value = codes[place].astype(np.float64)
            yield NoisyAnswer(
                values=value,
                tau=np.full(n_groups, float(tau)),
                noise_scale=np.full(n_groups, self.rows_off(tau, n_groups)),
                low=np.minimum(low[place], value),
                high=np.maximum(high[place], value),
                confidence=self.confidence,
                covers="truncated_full",
                mechanism="rank",
                epsilon=share,
                signal=np.where(wide[place], 0.0, np.inf),
            )

    def _height(self, rank: Rank) -> float:
        if rank.quantile is not None:
            return rank.quantile
        return -rank.beyond if rank.highest else rank.beyond

    def _weighed(self, tuples: RankedTuples, entropy: Entropy) -> tuple[int, Iterator[Ranks]]:
        """tau in rows, and each group's ranks."""
        if len(tuples.owners) != 1:
            raise InvalidParameter("ranks need one owner per row")
        codes, n_units = owner_codes(tuples.owners, len(tuples.group))
        counts = (tuples.group >= 0) & (tuples.value >= 0) & (tuples.rows > 0) & (codes[0] >= 0)
        unit, group, value, rows = (part[counts] for part in (codes[0], tuples.group, tuples.value, tuples.rows))
        value = np.minimum(value, self.n_codes - 1)  # row by row: an error would tell of the one row that caused it
        if self.is_extreme:
            unit, group, value = _outermost(unit, group, value, highest=self.ranks[0].highest)
            weight = TAU // np.maximum(1, np.bincount(unit, minlength=n_units))[unit]
            return 1, self._by_group(group, value, weight, tuples.n_groups)
        load = np.zeros(n_units, np.int64)
        np.add.at(load, unit, rows)  # at most 2^32 rows of 2^32: no overflow
        tau = self._chosen(load, n_units, tuples.n_groups, entropy)
        weight = rows * TAU // np.maximum(load, tau)[unit]
        return tau, self._by_group(group, value, weight, tuples.n_groups)

    def _by_group(
        self, group: NDArray[np.int64], value: NDArray[np.int64], weight: NDArray[np.int64], n_groups: int
    ) -> Iterator[Ranks]:
        key = group * self.n_codes + value
        distinct, place = np.unique(key, return_inverse=True)
        total = np.zeros(len(distinct), np.int64)
        np.add.at(total, place, weight)
        starts = np.searchsorted(distinct, np.arange(n_groups + 1) * self.n_codes)
        for one in range(n_groups):
            here = slice(int(starts[one]), int(starts[one + 1]))
            levels = np.concatenate([np.zeros(1, np.int64), np.cumsum(total[here])])
            yield Ranks(distinct[here] - one * self.n_codes, levels, self.n_codes)

    def _chosen(self, load: NDArray[np.int64], n_units: int, n_groups: int, entropy: Entropy) -> int:
        """tau: chosen on sum_u min(tau, load_u), the rows that it lets count."""
        if not self._chooses:
            return int(self.ladder.taus[0])
        present = np.flatnonzero(load > 0)
        members = np.arange(len(present), dtype=np.int32)
        start = np.array([0, len(present)])
        weights = (np.minimum(load[present], 1 << 32) * ONE)[None]
        coded = CodedJoinTuples(members[None], start, start, weights, (1, 1), members)
        answer = truncate(coded, 0, self.ladder, 0.0)
        choice = noisy_choice(answer, self._scores(n_groups), self._part(CHOICE), entropy)
        return int(self.ladder.taus[int(choice.index[0])])

    @property
    def _chooses(self) -> bool:
        return not self.is_extreme and len(self.ladder) > 1

    def _scores(self, n_groups: int) -> Scores:
        """Of thresholds: what a rank is off by, a quarter of what is weighed less."""
        price = max(1, n_groups) ** _SPREAD / (self._gamma(n_groups) * TAU) / LOSS
        return _SELECTION.scores(self.ladder, 0.0, (price,) * len(self.ladder), float(self._part(CHOICE)))

    def _part(self, share: float) -> Fraction:
        return exact_epsilon(self.epsilon) * Fraction(share)

    def _moves(self, n_groups: int) -> int:
        """What a unit moves distances by at most, over all groups, rounding of the target included."""
        if self.one_group or n_groups == 1:
            return TAU + 1
        farthest = max(
            (1.0 if rank.quantile is None else max(rank.quantile, 1 - rank.quantile) for rank in self.ranks),
        )
        return math.ceil(2 * farthest * TAU) + n_groups + 1

    def _gamma(self, n_groups: int) -> float:
        """Per unit of weight, of each rank."""
        rest = float(self._part(1.0)) * (1 - INTERVAL - (CHOICE if self._chooses else 0.0)) * DOWN
        each = rest / len(self.ranks) - SLACK * max(1, n_groups)
        return each / (2 * self._moves(n_groups)) * DOWN

    def _off(self, n_groups: int) -> int:
        """By how much a rank's weight is off at most, with half of what the confidence leaves open."""
        gamma = self._gamma(n_groups)
        return math.ceil(math.log(self.n_codes / ((1 - self.confidence) / 2)) / gamma)

    def _width(self, n_groups: int) -> WidthSearch:
        share = self._part(INTERVAL) / len(self.ranks)
        both = TAU if self.one_group or n_groups == 1 else 2 * TAU
        top = self.is_extreme and self.ranks[0].highest
        bottom = self.is_extreme and not self.ranks[0].highest
        # Beyond an extreme there are too few people to find an end by: the interval goes on to the end of the grid.
        return WidthSearch(share, both, self.n_codes, (1 - self.confidence) / 2, above=not top, below=not bottom)


@dataclass(frozen=True)
class RankRelease:
    """One rank of a batch, as a measurement beside others.

    Attributes:
      batch: with the other ranks of the same column.
      place: of this one in it.
    """

    batch: RankBatch
    place: int

    @property
    def name(self) -> str:
        """`rank`: by the exponential mechanism."""
        return "rank"

    @property
    def epsilon(self) -> float:
        """An equal share of the batch's."""
        return self.batch.epsilon / len(self.batch.ranks)

    @property
    def event(self) -> PrivacyEvent:
        """Pure differential privacy at its share."""
        return PureDP(self.epsilon)

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that leaves its range for so many groups. Public. Raises: InvalidParameter."""
        self.batch.check_noise(n_groups)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, half-width): how wide an interval will be depends on how dense the values are, so it is unbounded."""
        return [(tau, math.inf) for tau in self.batch.ladder.taus.tolist()]

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`: no bound on a unit's rows is relied on."""
        return self.epsilon


def _outermost(
    unit: NDArray[np.int32], group: NDArray[np.int64], value: NDArray[np.int64], *, highest: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Each unit's largest or smallest value in each of its groups."""
    order = np.lexsort((-value if highest else value, group, unit))
    unit, group, value = unit[order], group[order], value[order]
    first = np.ones(len(unit), np.bool_)
    first[1:] = (unit[1:] != unit[:-1]) | (group[1:] != group[:-1])
    return unit[first], group[first], value[first]
