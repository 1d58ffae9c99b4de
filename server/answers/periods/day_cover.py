"""Choose the cached pieces of an answer and the days to measure, by public numbers alone.

Pieces with the least noise for their days come first, and no two of them share a day. The other days are measured.
Pieces that would make an answer wider than `WIDER` times a new one are not used.

In the whole question, noise in each group covers all groups that a person may reach. The open part has fewer groups,
so it needs less epsilon for the same noise, and no more is spent. Mechanisms that bound a person's norm over all
groups add the same noise at the same threshold. But fewer groups have a lower threshold: by the root of their share
for L2 norms, by their share for L1 norms, if people are spread evenly. Privacy does not depend on this choice.
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
"""How much wider than a new answer one with cached parts may be."""

ALL_CACHED_WIDER = 1.1
"""The same where nothing is measured. A wider answer is measured again."""

NARROW = 0.35
"""The widest that days measured beside cached ones may be, as a share of a new answer's width. What their threshold
choice may overlook is about ten times as much, and must not mark a sum that is certain without it. No released value
decides this, so high and low values are treated alike."""

_EVENLY = 0.75
"""A threshold grows with this power of the number of days: 1 where contributions come evenly, 0 where all come at
once."""

_ROOM = 0.75
"""The largest share of the allowed variance for cached parts where another part is measured."""

_STEPS = 20  # of bisection
_TOLERANCE = 1 + 1e-6
_NEAR = 1.001
"""Relative precision of the search for an epsilon."""

Fresh = Callable[[int, float], float]
"""The expected half width of a new interval of a release, at a threshold or the next."""


@dataclass(frozen=True)
class Horizon:
    """The days between which days are counted."""

    first: date
    last: date

    def length(self, days: Days) -> int:
        """Return the number of days within the horizon, at least one."""
        inside = common_runs(days, [(self.first, self.last)])
        ends = ((first, last) for first, last in inside if first is not None and last is not None)
        return max(1, sum((last - first).days + 1 for first, last in ends))


@dataclass(frozen=True)
class Cover:
    """The cached parts of an answer, and the days that are left to measure.

    Attributes:
      pieces: cached parts.
      fresh: by the values of the time keys, the days to measure, where there are any.
    """

    pieces: tuple[Piece, ...]
    fresh: Mapping[TimeValues, Days]

    @property
    def days(self) -> Days:
        """All days to measure."""
        return joined_runs([run for days in self.fresh.values() for run in days])

    @property
    def is_partial(self) -> bool:
        """Whether a group has both cached days and days to measure."""
        return any(piece.values in self.fresh for piece in self.pieces)

    def without_gaps(self, classes: Mapping[TimeValues, Days]) -> Cover | None:
        """Measure all days from the first to the last one; None where that caches or changes nothing.

        Conditions with OR on a moment do not tell which groups a question has.
        """
        if self.is_partial:
            return None
        hull = ((self.days[0][0], self.days[-1][1]),)
        inside = {piece.values for piece in self.pieces if not without_runs(classes[piece.values], hull)}
        cached = tuple(piece for piece in self.pieces if piece.values not in inside)
        return Cover(cached, {**self.fresh, **{one: classes[one] for one in inside}}) if cached and inside else None


@dataclass(frozen=True)
class Covering:
    """Chooses the cached parts of an answer and the days to measure.

    Attributes:
      classes: the days, by the values of the time keys.
      class_of: (G,) the values of each group.
      fresh: the expected width of a new answer.
      adds_up: per release, is it a sum over rows?
      horizon: counts days.
    """

    classes: Mapping[TimeValues, Days]
    class_of: Sequence[TimeValues]
    fresh: Fresh
    adds_up: Sequence[bool]
    horizon: Horizon

    def cover(self, pieces: Sequence[Piece], wider: float) -> Cover:
        """Return the best cached pieces, and the days that they leave to measure.

        Args:
          pieces: those that are still valid.
          wider: how much wider than a new answer one may be; infinite where nothing is measured.
        """
        by_class: dict[TimeValues, list[Piece]] = defaultdict(list)
        for piece in pieces:
            by_class[piece.values].append(piece)
        wanted = dict.fromkeys(self.class_of)
        chosen = {values: self._chosen(by_class[values], self.classes[values], wider) for values in wanted}
        if any(not used for used, _ in chosen.values()):  # beside whole groups, parts cost too much noise
            chosen = {values: (used, left) if not left else ([], self.classes[values])
                      for values, (used, left) in chosen.items()}  # fmt: skip
        used = tuple(piece for some, _ in chosen.values() for piece in some)
        return Cover(used, {values: left for values, (_, left) in chosen.items() if left})

    def _chosen(self, pieces: Sequence[Piece], days: Days, wider: float) -> tuple[list[Piece], Days]:
        """Choose pieces for one value of the time keys, and return the days that they leave."""
        used: list[Piece] = []
        taken: Days = ()
        for piece in sorted(pieces, key=self._noise_per_day):
            if not common_runs(piece.days, taken) and self._may_be_added(piece, days):
                used.append(piece)
                taken = joined_runs([*taken, *piece.days])
        left = without_runs(days, taken)
        alone = min(ALL_CACHED_WIDER, wider) if wider <= WIDER else wider
        most = wider**2 * _ROOM if left else alone**2
        if used and any(width > most for width in self.shares(used)):
            return [], days
        return used, left

    def _noise_per_day(self, piece: Piece) -> tuple[float, int]:
        return max(self.shares([piece])) / self.horizon.length(piece.days), -piece.number

    def _may_be_added(self, piece: Piece, days: Days) -> bool:
        """May it be part of a sum? Numbers that are no sums must cover all days, with one cached group each."""
        alone = not without_runs(days, piece.days) and int(np.bincount(piece.place).max()) == 1
        return alone or all(self.adds_up)

    def shares(self, pieces: Sequence[Piece]) -> list[float]:
        """For each release: the squared half-width of the sum of pieces, divided by that of a new answer."""
        n_groups = len(self.class_of)
        found = []
        for release in range(len(self.adds_up)):
            widths = sum(piece.half_widths(release, n_groups) ** 2 for piece in pieces)
            fresh = self.fresh(release, max(piece.largest_tau(release) for piece in pieces))
            found.append(float(np.max(widths, initial=0.0)) / fresh**2 if fresh > 0 else math.inf)
        return found


def predicted_tau(sources: Sequence[CachedSource], release: int, days: Days, horizon: Horizon) -> float | None:
    """Predict the threshold of a sum over some days, from the analyst's earlier answers.

    The newest answer about the most similar number of days decides. Fewer days mean smaller contributions, though not
    in proportion (`_EVENLY`).

    Args:
      sources: earlier answers, the newest first.
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
    """Whether the question about some days measures each of them as the question about all days does.

    Only then can its cached answer be a part of the whole one.
    """

    def told(plan: Plan) -> tuple[object, ...]:
        releases = tuple(replace(release, epsilon=1.0) for release in plan.releases)
        kinds = tuple((one.relation, one.determines) for one in plan.bounds.kinds)
        # neither question has a group for rows without a date or beyond the declared range
        keys = tuple(replace(key, omitted=None, within=()) for key in plan.group_keys)
        return releases, plan.owners, keys, plan.mechanism, plan.selection is None, kinds

    return told(whole) == told(part) and part.sampling is None


def lower_thresholds(whole: Plan, domain: Domain, part: Plan, groups: Domain) -> float:
    """Return the factor by which a threshold for some groups is lower than one for all groups.

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
    """Return how many times wider a part's intervals are than the whole's, at thresholds `lower` times apart."""
    if any(one.keys() != other.keys() for one, other in zip(part, whole, strict=True)):
        return math.inf
    pairs = [(one[tau], other[tau] * lower) for one, other in zip(part, whole, strict=True) for tau in one]
    noisy = [(own, most) for own, most in pairs if own > 0]  # a centre has no noise
    return max((own / most if most > 0 else math.inf for own, most in noisy), default=math.inf)


def least_that_does(
    at: Callable[[float], Question], least: float, most: float, n_groups: int, excess: Callable[[Question], float]
) -> float | None:
    """Return the least epsilon at which a question is precise enough, by public numbers alone.

    Args:
      at: returns the question at an epsilon. Raises PlannerError where it cannot be asked.
      least, most: the range of the search.
      excess: how many times too wide it is; about in proportion to 1 / epsilon.
    Returns: rounded up; None where even `most` is not enough.
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
        if not low < guess < high:  # not in proportion, or beyond the range
            guess = math.sqrt(low * high)
    nearly = float(f"{high:.3g}")  # 1 rather than 1.01 after 1.0000001
    return min(most, nearly if nearly < high and too_wide(nearly) <= _TOLERANCE else rounded_up(high))


def expected_noise(question: Question, domain: Domain) -> list[dict[float, float]]:
    """Return, per release, the half width of an interval at each threshold. It is public."""
    measuring = question.measuring.of_kinds(groups_of_kinds(question.plan.bounds.kinds, domain))
    return [dict(one.expected_noise(len(domain))) for one in measuring.releases]
