"""`rank`: quantiles and extremes, several of a column together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from privacy.accounting.event import Composed, PrivacyEvent, PureDP
from privacy.entropy import Entropy, check_scale, checked
from privacy.errors import InvalidParameter
from privacy.exact import DOWN, exact_epsilon, float_at_least
from privacy.join_tuples import CodedJoinTuples, RankedTuples
from privacy.mechanisms import rank_rows
from privacy.mechanisms.measurement import Pure
from privacy.mechanisms.rank import (
    CHOICE,
    INTERVAL,
    PARTS,
    SLACK,
    STEP,
    Rank,
    Ranks,
    WidthSearch,
    check_codes,
    uniform,
)
from privacy.mechanisms.rank_rows import TAU, OwnRows, SharedRanks, SharedRows, Sharing
from privacy.mechanisms.scores import ExceedanceScores, Scores
from privacy.mechanisms.selection import SelectionSettings, noisy_choice
from privacy.noisy_answer import CONFIDENCE, NoisyAnswer
from privacy.thresholds import Thresholds
from privacy.truncation.truncate import truncate
from privacy.units import ONE, Ints

LOSS = 0.25
"""What a row that counts less costs in the choice of tau, in rows of noise. The rank is wrong only as far as units
with many rows have other values than the rest."""

_SPREAD = 0.75
"""The noise of G groups is charged as G^0.75 of one group's (`SharedThreshold`)."""

NESTED_LOSS = 0.03
"""The same for rows with one owner, where tau is chosen by how many units have more rows. Chosen by hand, from shares
of 0.05 to 0.3 and losses of 0.03 to 0.25, over generated telemetry, payments, grades and Zipf users."""

_SELECTION = SelectionSettings(split=CHOICE)
_NESTED_SELECTION = SelectionSettings(split=CHOICE, beta=3e-3, rarity=8.0, growth=0.2)

_MORE_POINTS = 16
"""Numbers drawn at once if a draw may take more of them."""


_Offsets = Ranks | SharedRanks
"""One group's values, by how far they are from one rank."""


@dataclass(frozen=True)
class RankBatch(Pure):
    """Ranks of the values of one column in every group.

    Quantiles weigh rows, extremes people. How far one unit moves the offsets of a rank (`Rank`), all groups together,
    depends on the rows:

    * Rows with one owner, all of a unit's in one group: `OwnRows.clipped`. For a median that is half a threshold.
    * Other rows with one owner: `OwnRows.scaled`, a threshold in one group, and max(q, 1 - q) thresholds in any
      number of groups. No bound on the groups of a unit is needed. Extremes likewise, in people.
    * Rows with several owners: `GroupRows`, as the first, in each of the groups that a unit may be in.

    The exponential mechanism's loss is 2 gamma times that.

    epsilon-DP for all ranks and groups together: the choice of tau (`Scores`, whose values move by tau), the ranks
    (equal shares), the intervals (`WidthSearch`).
    Source: docs/mathematics.md, section 6.8; Smith (STOC 2011) for the mechanism; Fang, Dong and Yi (CCS 2022) for
      ranks of people in place of extremes. Their shifted inverse reads one sequence of truncated values from above;
      here rows below a value are truncated too, so that a quantile has two sides.

    Attributes:
      epsilon: for all ranks and groups together, > 0.
      ranks: at least one; answers of several quantiles rise.
      n_codes: D, the number of values of the grid.
      thresholds: the candidate thresholds of quantiles.
      one_group: a unit can be in one group at most, whichever of its rows it has.
      confidence: of the intervals, in (0, 1).
      sharing: of rows with several owners; None if each row has one.
    """

    epsilon: float
    ranks: tuple[Rank, ...]
    n_codes: int
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(low=0))
    one_group: bool = True
    confidence: float = CONFIDENCE
    sharing: Sharing | None = None

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_codes(self.n_codes)
        if not self.ranks or len({rank.quantile is None for rank in self.ranks}) != 1:
            raise InvalidParameter("quantiles and extremes cannot be measured together")
        if self.is_extreme and len({rank.highest for rank in self.ranks}) != 1:
            raise InvalidParameter("largest and smallest values cannot be measured together")
        if self.thresholds.low < 0 or not self.thresholds.doubling:
            raise InvalidParameter("a clipping threshold must be a number of rows of one person, a power of two")

    @property
    def is_extreme(self) -> bool:
        """Whether the ranks count people (extremes) rather than rows (quantiles)."""
        return self.ranks[0].quantile is None

    def rows_off(self, tau: float, n_groups: int) -> float:
        """The most rows (for extremes, people) by which a drawn rank is wrong, at the confidence. Public."""
        off = math.log(self.n_codes / (1 - self.confidence)) * self._rows_of_noise(n_groups)
        return off * (1.0 if self.is_extreme else tau)

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise or scores that are out of range. Public. Raises: InvalidParameter."""
        check_scale(self._width(self.ranks[0], n_groups).scale)
        if not self._each(n_groups) > 2.0**-35:
            raise InvalidParameter("epsilon is too small to release a rank")
        if self.chooses:
            self._scores(n_groups)

    def release(self, tuples: RankedTuples, entropy: Entropy) -> tuple[NoisyAnswer, ...]:
        """Choose tau, draw every rank in every group, and an interval for each.

        Args:
          tuples: m rows with one owner position, or with `sharing`.
        Returns: per rank, codes of the grid as values. An interval covers the value with the rank among the weighed
          rows. Without rows every value is equally likely, and the interval is wide.
        Raises: InvalidParameter for several owner positions without `sharing`; EntropyFailed; SolverFailed.
        Cost: a sort of the rows, and some milliseconds per 100 groups and rank; with `sharing` some 40 programs of
          each group's rows per rank.
        """
        n_groups = tuples.n_groups
        tau, weighed = self._weighed(tuples, entropy)
        size = n_groups * len(self.ranks)
        points = _points(entropy, size)
        searches = [self._width(rank, n_groups) for rank in self.ranks]
        each = searches[0].comparisons
        noise = iter(checked(entropy.laplace(searches[0].scale, size * each), size * each).reshape(size, each))
        moves = [self._moves(rank, tau, n_groups) for rank in self.ranks]
        shape = len(self.ranks), n_groups
        codes, low, high = (np.empty(shape, np.int64) for _ in range(3))
        for group, ranks in enumerate(weighed):
            for place, (offsets, search, most) in enumerate(zip(ranks, searches, moves, strict=True)):
                code = offsets.draw(self._each(n_groups) / (2 * most) * DOWN, points)

                def steps(at: int, offsets: _Offsets = offsets, most: int = most) -> int:
                    return offsets.offset(at) * STEP // most

                width = search.width(steps, code, next(noise))
                codes[place, group] = code
                low[place, group] = max(0, code - width) if search.below else 0
                high[place, group] = min(self.n_codes - 1, code + width) if search.above else self.n_codes - 1
        return tuple(self._answers(codes, low, high, tau, n_groups))

    def _answers(self, codes: Ints, low: Ints, high: Ints, tau: int, n_groups: int) -> Iterator[NoisyAnswer]:
        order = np.argsort([rank.height for rank in self.ranks], kind="stable")
        codes[order] = np.sort(codes[order], axis=0)  # quantiles rise; sorting noisy ones is post-processing
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

    def _weighed(self, tuples: RankedTuples, entropy: Entropy) -> tuple[int, Iterator[list[_Offsets]]]:
        """tau in rows, and each group's offsets from every rank."""
        if self.sharing is not None:
            shared = SharedRows(tuples, self.n_codes, self.sharing)
            tau = 1 if self.is_extreme else self._chosen(shared.together(), tuples.n_groups, entropy)
            groups = shared.by_group(tau)
            return tau, ([group.of(rank) for rank in self.ranks] for group in groups)
        own = OwnRows.of(tuples, self.n_codes)
        if self.is_extreme:
            return 1, map(list, own.outermost(self.ranks))
        tau = self._chosen(_contributions(own.contributions()), tuples.n_groups, entropy)
        weighed = own.clipped if self._clips(tuples.n_groups) else own.scaled
        return tau, map(list, weighed(self.ranks, tau))

    def _chosen(self, coded: CodedJoinTuples, n_groups: int, entropy: Entropy) -> int:
        """tau: chosen by the rows that it lets count, of all groups together."""
        if not self.chooses:
            return int(self.thresholds.taus[0])
        sharing = Sharing(0.0) if self.sharing is None else self.sharing
        answer = truncate(coded, 0, self.thresholds, sharing.gap, solver=sharing.solver)
        choice = noisy_choice(answer, self._scores(n_groups), self.part(CHOICE), entropy)
        return int(self.thresholds.taus[int(choice.index[0])])

    @property
    def chooses(self) -> bool:
        """Is tau chosen, rather than known? Public."""
        return not self.is_extreme and len(self.thresholds) > 1

    def _scores(self, n_groups: int) -> Scores | ExceedanceScores:
        """Scores of the thresholds, which charge what a rank is off by."""
        price = max(1, n_groups) ** _SPREAD * self._rows_of_noise(n_groups)
        selecting = float(self.part(CHOICE))
        if self.sharing is None:
            return _NESTED_SELECTION.exceedance_scores(self.thresholds, price / NESTED_LOSS, selecting)
        return _SELECTION.scores(self.thresholds, self.sharing.gap, (price / LOSS,) * len(self.thresholds), selecting)

    def part(self, share: float | Fraction) -> Fraction:
        """A share of epsilon. Public."""
        return exact_epsilon(self.epsilon) * Fraction(share)

    def _clips(self, n_groups: int) -> bool:
        """For quantiles of rows with one owner: are a unit's all in one group?"""
        return self.one_group or n_groups == 1

    def _moves(self, rank: Rank, tau: int, n_groups: int) -> int:
        """What a unit moves the offsets from a rank by at most, over all groups, in their units."""
        if self.sharing is not None:
            under, over = rank.caps(tau)
            most = ONE * rank.moves(tau)
            gap = math.ceil(Fraction(self.sharing.gap) * ONE * (rank.below * under + rank.above * over))
            return (most + gap) * self.sharing.reached(n_groups)
        if not self.is_extreme and self._clips(n_groups):
            return rank.moves(tau)
        if self.one_group or n_groups == 1:
            return TAU + 1
        farthest = 1.0 if rank.quantile is None else max(rank.below, rank.above) / PARTS
        return math.ceil(farthest * TAU) + n_groups + 1

    def _rows_of_noise(self, n_groups: int) -> float:
        """1 / gamma of the rank that moves most, in rows at a threshold of one."""
        noise = [2 * self._moves(rank, 1, n_groups) / self._row(n_groups) for rank in self.ranks]
        return max(noise) / self._each(n_groups)

    def _row(self, n_groups: int) -> int:
        """By how much a row (for extremes, a person) that changes sides moves an offset."""
        if self.sharing is not None:
            return ONE if self.is_extreme else ONE * PARTS
        return PARTS if not self.is_extreme and self._clips(n_groups) else TAU

    def _each(self, n_groups: int) -> float:
        """What each rank may spend on its draws, over all groups."""
        rest = float(self.part(1.0)) * (1 - INTERVAL - (CHOICE if self.chooses else 0.0)) * DOWN
        slack = SLACK if self.sharing is None else rank_rows.SLACK
        return rest / len(self.ranks) - slack * max(1, n_groups)

    def _width(self, rank: Rank, n_groups: int) -> WidthSearch:
        share = self.part(INTERVAL) / len(self.ranks)
        top, bottom = (self.is_extreme and rank.highest is side for side in (True, False))
        # Beyond an extreme there are too few people to find an end by: the interval goes on to the end of the grid.
        return WidthSearch(
            share, STEP + max(1, n_groups), self.n_codes, 1 - self.confidence, above=not top, below=not bottom
        )


@dataclass(frozen=True)
class RankRelease:
    """One rank of a batch, as a measurement beside others.

    Attributes:
      batch: with the other ranks of the same column.
      place: of this one in the batch.
    """

    batch: RankBatch
    place: int
    name = "rank"

    @property
    def epsilon(self) -> float:
        """The epsilon of this rank: an equal share of the batch's."""
        return self.batch.epsilon / len(self.batch.ranks)

    @property
    def event(self) -> PrivacyEvent:
        """What this rank costs; the first of a batch also pays for the choice of tau, which all of them share.

        The choice is one stage of CHOICE epsilon, however many ranks there are. In shares of 1 / n it would seem to
        cost n (CHOICE epsilon / n)^2 / 2 in zCDP, which falls with n. Each rank's draws and interval are its own.
        """
        batch, n_ranks = self.batch, len(self.batch.ranks)
        if n_ranks == 1 or not batch.chooses:
            return PureDP(self.epsilon)
        own = _pure(batch.part(1 - Fraction(CHOICE)) / n_ranks)
        return Composed((_pure(batch.part(CHOICE)), own)) if self.place == 0 else own

    def check_noise(self, n_groups: int) -> None:
        """Refuse noise that is out of range for `n_groups` groups. Public. Raises: InvalidParameter."""
        self.batch.check_noise(n_groups)

    def expected_noise(self, n_groups: int = 1) -> list[tuple[float, float]]:
        """(tau, infinity): the width of an interval depends on how dense the values are."""
        return [(tau, math.inf) for tau in self.batch.thresholds.taus.tolist()]

    def epsilon_if_bound_fails(self, n_groups: int = 1) -> float:
        """`epsilon`, since no bound on a unit's rows is used."""
        return self.epsilon


def _pure(epsilon: Fraction) -> PureDP:
    """Of an epsilon whose decimals, by which accountants count, are no smaller."""
    return PureDP(math.nextafter(float_at_least(epsilon), math.inf))


def _points(entropy: Entropy, size: int) -> Iterator[int]:
    """Numbers that decide draws: as many as are surely needed, then more on demand."""
    yield from uniform(entropy, size)
    while True:
        yield from uniform(entropy, _MORE_POINTS)


def _contributions(contribution: Ints) -> CodedJoinTuples:
    """What each unit has, as one tuple of its own."""
    present = np.flatnonzero(contribution > 0)
    members = np.arange(len(present), dtype=np.int32)
    start = np.array([0, len(present)])
    weights = (np.minimum(contribution[present], 1 << 32) * ONE)[None]
    return CodedJoinTuples(members[None], start, start, weights, (1, 1), members)
