"""Which pieces an answer is put together from, and which days are measured: by public numbers alone.

The pieces with the least noise for their days come first, none of them of days that another one has. What they leave
is to be measured. Pieces that would make an answer wider than `WIDER` times a fresh one are not used.

In the whole question a person's rows are spread over all groups that the person may reach, and noise in each group is
for all of them. The open part has fewer groups. So the same noise takes less epsilon, and no more than that is asked:
whoever wants more accuracy asks the whole question with another epsilon, and nothing of it is kept. Mechanisms that
bound the length of a person's vector over all groups add the same noise at the same threshold, but a threshold for
fewer groups is lower: by the root of their share, if people are spread evenly. Those that bound what a person adds to
all groups together have one that is lower by their share. No privacy hangs on that, as on no choice of an epsilon by
what is public.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from planner.errors import PlannerError
from planner.group_domains.day_conditions import common_runs, joined_runs, without_runs
from planner.plan import Plan
from planner.planning.answer_times import rounded_up
from planner.planning.contribution_bounds import CLIPPING
from planner.reuse.period_scope import TimeValues
from privacy.exact import groups_reached
from privacy.registry import MECHANISMS
from server.answers.periods.day_pieces import CachedSource, Days, Piece
from server.backends.columns import Domain
from server.question import Question
from server.workers.group_limits import is_in_range
from server.workers.measure import groups_of_kinds

WIDER = 1.4
"""How much wider than a fresh answer one may be of which parts are kept: the price of measuring them once."""

ALL_KEPT_WIDER = 1.1
"""The same where nothing is to be measured: one that is asked for with more epsilon than that is measured anew."""

NARROW = 0.35
"""How wide what is measured beside kept days may be at most, as a part of a fresh answer: what choosing its threshold
may have overlooked is in proportion, some ten times as much, and should not mark a sum that is sure without it. No
value decides this, or sums of high values would be kept, and those of low ones measured anew."""

_EVENLY = 0.75
"""The power of a share of the days that a threshold goes with: 1 where all come evenly, 0 where all come at once."""

_ROOM = 0.75
"""The most that kept parts may take of the square of that, where another part is to be measured beside them."""

_STEPS = 20  # of bisection
_TOLERANCE = 1 + 1e-6
_NEAR = 1.001
"""As near as an epsilon is looked for."""

Fresh = Callable[[int, float], float]
"""Half the width that a fresh interval of a release is expected to have, at a threshold or the next."""


@dataclass(frozen=True)
class Horizon:
    """The days between which days are counted; what lies beyond is taken to be nothing."""

    first: date
    last: date

    def length(self, days: Days) -> int:
        """How many days there are, at least one."""
        inside = common_runs(days, [(self.first, self.last)])
        ends = ((first, last) for first, last in inside if first is not None and last is not None)
        return max(1, sum((last - first).days + 1 for first, last in ends))


@dataclass(frozen=True)
class Cover:
    """What an answer is put together from.

    Attributes:
      pieces: that are kept.
      fresh: by the values of the time keys, the days that are to be measured; those alone that have some.
    """

    pieces: tuple[Piece, ...]
    fresh: Mapping[TimeValues, Days]

    @property
    def days(self) -> Days:
        """All days that are to be measured."""
        return joined_runs([run for days in self.fresh.values() for run in days])

    @property
    def is_partial(self) -> bool:
        """Are days to be measured of groups of which other days are kept?"""
        return any(piece.values in self.fresh for piece in self.pieces)

    def without_gaps(self, classes: Mapping[TimeValues, Days]) -> Cover | None:
        """All from the first day that is to be measured to the last one; None where that keeps or changes nothing.

        Which groups a question has by conditions with OR on a moment is not known by these conditions.
        """
        if self.is_partial:
            return None
        hull = ((self.days[0][0], self.days[-1][1]),)
        inside = {piece.values for piece in self.pieces if not without_runs(classes[piece.values], hull)}
        kept = tuple(piece for piece in self.pieces if piece.values not in inside)
        return Cover(kept, {**self.fresh, **{one: classes[one] for one in inside}}) if kept and inside else None


@dataclass(frozen=True)
class Covering:
    """Chooses.

    Attributes:
      classes: by the values of the time keys, their days.
      class_of: (G,) the values of each group.
      fresh: what a fresh answer would have.
      adds_up: per release, is it a sum over rows?
      horizon: by which days are counted.
    """

    classes: Mapping[TimeValues, Days]
    class_of: Sequence[TimeValues]
    fresh: Fresh
    adds_up: Sequence[bool]
    horizon: Horizon

    def cover(self, pieces: Sequence[Piece], wider: float) -> Cover:
        """The best of the pieces.

        Args:
          pieces: that still stand.
          wider: how much wider than a fresh one an answer may be; infinite where nothing is to be measured.
        """
        by_class: dict[TimeValues, list[Piece]] = defaultdict(list)
        for piece in pieces:
            by_class[piece.values].append(piece)
        wanted = dict.fromkeys(self.class_of)
        chosen = {values: self._chosen(by_class[values], self.classes[values], wider) for values in wanted}
        if any(not used for used, _ in chosen.values()):  # beside whole groups, parts are not worth their noise
            chosen = {values: (used, left) if not left else ([], self.classes[values])
                      for values, (used, left) in chosen.items()}  # fmt: skip
        used = tuple(piece for some, _ in chosen.values() for piece in some)
        return Cover(used, {values: left for values, (_, left) in chosen.items() if left})

    def _chosen(self, pieces: Sequence[Piece], days: Days, wider: float) -> tuple[list[Piece], Days]:
        """Those of one value of the time keys, and the days that they leave."""
        used: list[Piece] = []
        taken: Days = ()
        for piece in sorted(pieces, key=self._noise_per_day):
            if not common_runs(piece.days, taken) and self._may_be_added(piece, days):
                used.append(piece)
                taken = joined_runs([*taken, *piece.days])
        left = without_runs(days, taken)
        alone = min(ALL_KEPT_WIDER, wider) if wider <= WIDER else wider
        most = wider**2 * _ROOM if left else alone**2
        if used and any(width > most for width in self.shares(used)):
            return [], days
        return used, left

    def _noise_per_day(self, piece: Piece) -> tuple[float, int]:
        return max(self.shares([piece])) / self.horizon.length(piece.days), -piece.number

    def _may_be_added(self, piece: Piece, days: Days) -> bool:
        """Numbers that are no sums stand alone: of all days, and of one kept group each."""
        alone = not without_runs(days, piece.days) and int(np.bincount(piece.place[piece.rows]).max()) == 1
        return alone or all(self.adds_up)

    def shares(self, pieces: Sequence[Piece]) -> list[float]:
        """Per release, the square of the sum's half width, as a part of a fresh answer's at their thresholds."""
        n_groups = len(self.class_of)
        found = []
        for release in range(len(self.adds_up)):
            widths = sum(piece.half_widths(release, n_groups) ** 2 for piece in pieces)
            fresh = self.fresh(release, max(piece.largest_tau(release) for piece in pieces))
            found.append(float(np.max(widths, initial=0.0)) / fresh**2 if fresh > 0 else math.inf)
        return found


def foreseen_tau(sources: Sequence[CachedSource], release: int, days: Days, horizon: Horizon) -> float | None:
    """The threshold that a sum over some days is foreseen to choose, by those of the analyst's earlier answers.

    The answer about the most similar number of days says it, the newest of several. Of fewer days a person adds less,
    though not quite in proportion (`_EVENLY`): most come evenly, some at once.

    Args:
      sources: the earlier answers, the newest first.
      release: of the question.
      days: of the sum.
      horizon: by which days are counted.
    Returns: None without earlier answers.
    """
    wanted = horizon.length(days)

    def told() -> Iterator[tuple[float, float]]:
        for source in sources:
            ratio = wanted / horizon.length(source.match.cached_days)
            tau = float(source.noisy[release].tau.max(initial=0.0))
            yield abs(math.log(ratio)), tau * (ratio**_EVENLY if ratio < 1 else ratio)

    return min(told(), key=lambda one: one[0], default=(0.0, None))[1]


def releases_alike(whole: Plan, part: Plan) -> bool:
    """Does the part release the same of its days as the whole of all?"""

    def told(plan: Plan) -> tuple[object, ...]:
        releases = tuple(replace(release, epsilon=1.0) for release in plan.releases)
        kinds = tuple((one.relation, one.determines) for one in plan.bounds.kinds)
        # rows without a date, or beyond the declared range, are in no group of either
        keys = tuple(replace(key, omitted=None, within=()) for key in plan.group_keys)
        return releases, plan.owners, keys, plan.mechanism, plan.selection is None, kinds

    return told(whole) == told(part) and part.sampling is None


def lower_thresholds(whole: Plan, domain: Domain, part: Plan, groups: Domain) -> float:
    """How much lower a threshold for some groups is than for all, where it bounds what a person adds to all of them.

    Args:
      whole, domain: the question of all groups, and these.
      part, groups: the same question of some.
    """
    mechanism = whole.mechanism
    if mechanism not in CLIPPING and not MECHANISMS[mechanism].bounds_vector:
        return 1.0
    reached = groups_reached(whole.bounds.groups, len(domain)) / groups_reached(part.bounds.groups, len(groups))
    return max(1.0, reached if mechanism in CLIPPING else math.sqrt(reached))


Noises = Sequence[Mapping[float, float]]
"""Per release, half the width of an interval at each threshold."""


def wider_than(part: Noises, whole: Noises, lower: float) -> float:
    """How many times wider a part's releases are, at any threshold, than the whole's at one so much larger."""
    if any(one.keys() != other.keys() for one, other in zip(part, whole, strict=True)):
        return math.inf
    pairs = [(one[tau], other[tau] * lower) for one, other in zip(part, whole, strict=True) for tau in one]
    noisy = [(own, most) for own, most in pairs if own > 0]  # a centre has no noise of its own
    return max((own / most if most > 0 else math.inf for own, most in noisy), default=math.inf)


def least_that_does(
    at: Callable[[float], Question], least: float, most: float, n_groups: int, excess: Callable[[Question], float]
) -> float | None:
    """The least epsilon at which a question is accurate enough; by public numbers alone.

    Args:
      at: the question at an epsilon. Raises: PlannerError for one that it cannot be asked at.
      least, most: between which it is looked for.
      n_groups: of the question.
      excess: how many times too wide it is; about in proportion to 1 / epsilon.
    Returns: rounded up; None where the most does not do.
    Cost: some five plans; some twenty where noise is not in proportion.
    """
    least = min(most, least)

    def too_wide(epsilon: float) -> float:
        try:
            asked = at(epsilon)
        except PlannerError:  # too small for the mechanism
            return math.inf
        return excess(asked) if is_in_range(asked.plan, asked.query, asked.measuring, n_groups) else math.inf

    wide = too_wide(most)
    if wide > _TOLERANCE:
        return None
    low, high, guess = least, most, max(least, most * wide)
    for _ in range(_STEPS):
        if high <= low * _NEAR:
            break
        wide = too_wide(guess)
        if wide <= _TOLERANCE:
            high = guess
            if wide > 1 / _NEAR or guess <= least:
                break
        else:
            low = guess
        guess *= wide * (1 if wide <= _TOLERANCE else _TOLERANCE)
        if not low < guess < high:  # it is not in proportion, or ends somewhere
            guess = math.sqrt(low * high)
    nearly = float(f"{high:.3g}")  # 1 rather than 1.01, where 1.0000001 was found to be enough
    return min(most, nearly if nearly < high and too_wide(nearly) <= _TOLERANCE else rounded_up(high))


def expected_noise(question: Question, domain: Domain) -> list[dict[float, float]]:
    """Per release, how wide half an interval is at each threshold: public."""
    measuring = question.measuring.of_kinds(groups_of_kinds(question.plan.bounds.kinds, domain))
    return [dict(one.expected_noise(len(domain))) for one in measuring.releases]
