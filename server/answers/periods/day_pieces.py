"""What kept answers of any load say of some days of a question: pieces, which stand side by side or are added up.

A piece is the groups of one kept answer whose rows are those of some days, all of them: of each group of the
question it says what these days add. Pieces of days that do not meet are of different rows, so that their sum is one
over the rows of all their days, cut piece by piece as each was cut.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planner.group_domains.day_conditions import Run, without_runs
from planner.plan import Plan
from planner.reuse.matching import AskedRelease, Lacking, Match, NewGroup, Undecided
from planner.reuse.period_scope import TimeValues
from privacy.noisy_answer import NoisyAnswer
from server.answers.cached_outlines import Owned
from server.answers.derived import holds, usable
from server.answers.released import Released
from server.answers.reusing import OwnGroups, combinations, estimand
from server.answers.sums import NOWHERE, added_up, noise_widths, weighted
from server.backends.columns import Domain

Days = tuple[Run, ...]


@dataclass(frozen=True)
class CachedSource:
    """A kept answer beside a question.

    Attributes:
      owned: what the analyst has paid for.
      domain: its groups.
      match: how its rows are the question's.
      noisy: per release of the question, the kept one that it is.
      estimates: what each of them estimates, of which rows: equal for sources that estimate the same.
      version: of the data that it was measured over; the oldest of those that were combined.
      combined: of how many answers it is the mean.
    """

    owned: Owned
    domain: Domain
    match: Match
    noisy: tuple[NoisyAnswer, ...]
    estimates: tuple[object, ...]
    version: int
    combined: int = 1


@dataclass(frozen=True)
class Piece:
    """Some groups of one kept answer, which say of some days what they add to the question's groups.

    Attributes:
      noisy: per release of the question, the kept one that it is.
      version: of the data that it was measured over.
      number: of its charge, or what else rises with its age.
      combined: of how many answers it is the mean.
      values: of the question's time keys: the class of groups that it says all of these days of.
      days: whose rows it counts.
      place: (G_kept,) the question's group that each kept group is a part of, or NOWHERE; a group of the class
        without any is withheld.
    """

    noisy: tuple[NoisyAnswer, ...]
    version: int
    number: int
    combined: int
    values: TimeValues
    days: Days
    place: NDArray[np.int64]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(P,) the kept groups that it is of."""
        return np.flatnonzero(self.place != NOWHERE)

    def half_widths(self, release: int, n_groups: int) -> NDArray[np.float64]:
        """(G,) half the width of an interval for the noise of each group's part, as if their squares added up."""
        half = noise_widths(self.noisy[release])[self.rows]
        added: NDArray[np.float64] = np.sqrt(np.bincount(self.place[self.rows], weights=half**2, minlength=n_groups))
        return added

    def largest_tau(self, release: int) -> float:
        """The largest threshold at which it was cut."""
        return float(self.noisy[release].tau[self.rows].max(initial=0.0))


def cached_source(
    plan: Plan, asked: Sequence[AskedRelease | None], owned: Owned, match: Match, released: Released
) -> CachedSource | None:
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
    noisy = tuple(released.noisy[place] for place in places)
    told = next((one for one in owned.outline.days if one.column == match.column), None)
    estimates = told, *(estimand(owned, released, place) for place in places)
    return CachedSource(owned, released.domain, match, noisy, estimates, owned.outline.data_version)


def with_means(sources: Sequence[CachedSource]) -> list[CachedSource]:
    """The sources, and of several that estimate the same truncated numbers their mean by inverse variances.

    The same: of equal days, conditions and groups, cut alike at equal thresholds in every group.
    """
    alike: dict[object, list[CachedSource]] = defaultdict(list)
    for source in sources:
        alike[source.estimates].append(source)
    return [*sources, *(_mean(same) for same in alike.values() if len(same) > 1)]


def _mean(sources: Sequence[CachedSource]) -> CachedSource:
    first = sources[0]
    place = np.arange(len(first.domain))
    every = zip(*(one.noisy for one in sources), strict=True)
    noisy = tuple(added_up(weighted(one, place), len(place)) for one in every)
    return replace(first, noisy=noisy, version=min(one.version for one in sources), combined=len(sources))


def pieces(
    source: CachedSource,
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
    domain, match = source.domain, source.match
    lacking = match.lacking(domain.keys, own.values)
    if lacking != Lacking():
        return
    combined = combinations(domain, match.relevant)
    if combined is None:
        return
    different, index = combined
    by_days: dict[Days, dict[int, NewGroup]] = defaultdict(dict)
    undecided: set[Days] = set()
    for number, values in enumerate(different):
        try:
            days = match.days(values)
        except Undecided:
            return
        try:
            gone_to = match.group(values) if days else None
        except Undecided:
            undecided.add(days)
            continue
        if gone_to is not None:
            by_days[days][number] = gone_to
    members: dict[TimeValues, set[int]] = defaultdict(set)
    for place, values_of_time in enumerate(class_of):
        members[values_of_time].add(place)
    for days, groups in by_days.items():
        gone = {number: own.places.get(group, NOWHERE) for number, group in groups.items()}
        reached = {place for place in gone.values() if place != NOWHERE}
        of_class = {class_of[place] for place in reached}
        if len(of_class) != 1 or days in undecided:
            continue
        (values_of_time,) = of_class
        if reached != members[values_of_time] or without_runs(days, classes[values_of_time]):
            continue  # of other groups, or of other days, it would say too little or too much
        if not stands(days, source.version):
            continue
        of_number = np.full(len(different), NOWHERE, np.int64)
        for number, place in gone.items():
            of_number[number] = place
        told = source.noisy, source.version, source.owned.number, source.combined
        yield Piece(*told, values_of_time, days, of_number[index])


def open_part_key(whole_key: str, analyst: str) -> str:
    """The answer key of what an analyst was given of a question's open part.

    What is open depends on what the analyst has by then, so an analyst's is nobody else's. The version of the data is
    in the whole question's key.
    """
    return hashlib.sha256(f"open part of {whole_key} for {analyst}".encode()).hexdigest()
