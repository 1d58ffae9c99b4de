"""What kept answers of any load say of some days of a question: pieces, which are added up with one another.

A piece is the groups of one kept answer whose rows are those of some days, all of them: of each group of the
question it says what these days add. Pieces of days that do not meet are of different rows, so that their sum is one
over the rows of all their days, cut piece by piece as each was cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.group_domains.day_conditions import Run, without_runs
from planner.periods.period_scope import TimeValues
from planner.plan import Plan
from planner.reuse.day_match import DayMatch, GroupOfDays
from planner.reuse.matching import AskedRelease, Lacking, Undecided
from server.answers.released import Released
from server.reuse.kept_outlines import Owned
from server.reuse.regroup import NOWHERE, OwnGroups, combinations
from server.reuse.sums import added_up, weighted
from server.reuse.usable import holds, usable

Days = tuple[Run, ...]


@dataclass(frozen=True)
class KeptSource:
    """A kept answer beside a question.

    Attributes:
      owned: what the analyst has paid for.
      released: its releases.
      match: how its rows are the question's.
      releases: per release of the question, which of the kept one's it is.
      older: the oldest version of the data that a release which was combined with this one was measured over.
      combined: of how many answers it is the mean.
    """

    owned: Owned
    released: Released
    match: DayMatch
    releases: tuple[int, ...]
    older: int | None = None
    combined: int = 1

    @property
    def version(self) -> int:
        """Of the data that it was measured over; the oldest of those that were combined."""
        own = self.owned.outline.data_version
        return own if self.older is None else min(own, self.older)


@dataclass(frozen=True)
class Piece:
    """Some groups of one kept answer, which say of some days what they add to the question's groups.

    Attributes:
      source: the kept answer.
      days: whose rows it counts.
      rows: (P,) places of the kept groups.
      place: (P,) the question's group that each is a part of.
    """

    source: KeptSource
    days: Days
    rows: NDArray[np.int64]
    place: NDArray[np.int64]

    def half_widths(self, release: int, n_groups: int) -> NDArray[np.float64]:
        """(G,) half the width of an interval of each group's part, as if widths added up as their squares do."""
        noisy = self.source.released.noisy[self.source.releases[release]]
        half = (noisy.high - noisy.low)[self.rows] / 2
        added: NDArray[np.float64] = np.sqrt(np.bincount(self.place, weights=half**2, minlength=n_groups))
        return added

    def largest_tau(self, release: int) -> float:
        """The largest threshold at which it was cut."""
        noisy = self.source.released.noisy[self.source.releases[release]]
        return float(noisy.tau[self.rows].max(initial=0.0))


def kept_source(
    plan: Plan, asked: Sequence[AskedRelease | None], owned: Owned, match: DayMatch, released: Released
) -> KeptSource | None:
    """The kept answer with which of its releases are the question's; None where one is missing, or cannot be added.

    Args:
      plan, asked: the question's, and its releases.
      owned, match, released: the kept answer.
    """
    places = []
    for release, one in zip(plan.releases, asked, strict=True):
        found = [
            place
            for place, kept in enumerate(owned.outline.releases)
            if one is not None
            and kept.counts == one.counts
            and usable(released.noisy[place])
            and holds(plan, release, released.noisy[place])
        ]
        if not found:
            return None
        places.append(found[0])
    return KeptSource(owned, released, match, tuple(places))


def with_means(sources: Sequence[KeptSource]) -> list[KeptSource]:
    """The sources, and of several that estimate the same truncated numbers their mean by inverse variances.

    The same: of equal days, conditions and groups, cut alike at equal thresholds in every group.
    """
    alike: dict[object, list[KeptSource]] = defaultdict(list)
    for source in sources:
        outline, noisy = source.owned.outline, [source.released.noisy[place] for place in source.releases]
        cut = tuple(outline.releases[place].cut for place in source.releases)
        taus = tuple((one.tau.tobytes(), one.confidence) for one in noisy)
        keys = tuple(key.name for key in outline.keys)
        told = next((one for one in outline.days if one.column == source.match.column), None)
        alike[(told, keys, cut, taus, source.released.domain)].append(source)
    return [*sources, *(_mean(same) for same in alike.values() if len(same) > 1)]


def _mean(sources: Sequence[KeptSource]) -> KeptSource:
    first, n_groups = sources[0], len(sources[0].released.domain)
    place = np.arange(n_groups)
    noisy = tuple(
        added_up(weighted([one.released.noisy[one.releases[release]] for one in sources], place), n_groups)
        for release in range(len(first.releases))
    )
    released = replace(first.released, noisy=noisy)
    oldest = min(one.version for one in sources)
    return replace(first, released=released, releases=tuple(range(len(noisy))), older=oldest, combined=len(sources))


def pieces(
    source: KeptSource,
    own: OwnGroups,
    class_of: Sequence[TimeValues],
    classes: Mapping[TimeValues, Days],
    stands: Callable[[Days, int], bool],
) -> Iterator[Piece]:
    """The pieces of a kept answer that still stand.

    Args:
      source: the kept answer.
      own: the question's groups.
      class_of: (G,) the values of the time keys of each.
      classes: the days of each such value.
      stands: are the rows of some days what they were at a version of the data?
    """
    domain, match = source.released.domain, source.match
    lacking = match.match.lacking(domain.keys, own.values)
    if lacking != Lacking():
        return
    combined = combinations(domain, match.relevant)
    if combined is None:
        return
    different, index = combined
    by_days: dict[Days, list[tuple[int, GroupOfDays]]] = defaultdict(list)
    for number, values in enumerate(different):
        try:
            found = match.group(values)
        except Undecided:
            return
        if found.days:
            by_days[found.days].append((number, found))
    members: dict[TimeValues, set[int]] = defaultdict(set)
    for place, values_of_time in enumerate(class_of):
        members[values_of_time].add(place)
    for days, groups in by_days.items():
        if not all(one.decided for _, one in groups):
            continue
        gone = {number: own.places.get(one.group, NOWHERE) for number, one in groups if one.group is not None}
        reached = {place for place in gone.values() if place != NOWHERE}
        of_class = {class_of[place] for place in reached}
        if len(of_class) != 1:
            continue
        (values_of_time,) = of_class
        if reached != members[values_of_time] or without_runs(days, classes[values_of_time]):
            continue  # of other groups, or of other days, it would say too little or too much
        if not stands(days, source.version):
            continue
        of_number = np.full(len(different), NOWHERE, np.int64)
        for number, place in gone.items():
            of_number[number] = place
        group = of_number[index]
        rows = np.flatnonzero(group != NOWHERE)
        yield Piece(source, days, rows, group[rows])
