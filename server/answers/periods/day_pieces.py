"""Cut cached answers of all data versions into pieces about some days of a question.

A piece is all groups of one cached answer about some days. It gives what these days contribute to each group of the
question. Pieces about different days have different rows, so their sum is a sum over all their rows. Each piece was
clipped by itself.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
    """A cached answer, matched with a question.

    Attributes:
      owned: what the analyst has paid for.
      domain: its groups.
      match: how its rows are the question's.
      noisy: per release of the question, the matching cached release.
      estimates: what the releases estimate; equal for sources that may be averaged.
      version: of the measured data; the oldest one of averaged answers.
      combined: how many answers were averaged.
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
    """Groups of one cached answer about some days.

    Attributes:
      noisy: per release of the question, the matching cached release.
      version: of the measured data.
      number: of its charge, or another number that rises with time.
      combined: how many answers were averaged.
      values: of the question's time keys.
      days: of its rows.
      rows: (P,) places of the cached groups.
      place: (P,) the question's group of each. A group of these time keys without any is withheld.
    """

    noisy: tuple[NoisyAnswer, ...]
    version: int
    number: int
    combined: int
    values: TimeValues
    days: Days
    rows: NDArray[np.int64]
    place: NDArray[np.int64]

    def half_widths(self, release: int, n_groups: int) -> NDArray[np.float64]:
        """Return (G,) the half-width of each group's interval. Widths of summed cells add up as squares."""
        half = noise_widths(self.noisy[release])[self.rows]
        added: NDArray[np.float64] = np.sqrt(np.bincount(self.place, weights=half**2, minlength=n_groups))
        return added

    def largest_tau(self, release: int) -> float:
        """Return the largest threshold at which the piece was clipped."""
        return float(self.noisy[release].tau[self.rows].max(initial=0.0))


def cached_source(
    plan: Plan, asked: Sequence[AskedRelease | None], owned: Owned, match: Match, released: Released
) -> CachedSource | None:
    """Match a cached answer's releases with the question's; None where one is missing or cannot be added."""
    places = []
    for release, one in zip(plan.releases, asked, strict=True):
        found = [
            place
            for place, cached in enumerate(owned.outline.releases)
            if one is not None
            and cached.counts == one.counts
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
    """Return the sources, and the mean of those that estimate the same numbers, weighted by inverse variances."""
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
    """Yield the pieces of a cached answer that are still valid.

    Args:
      class_of: (G,) the values of the time keys of each.
      classes: the days of each such value.
      stands: are the rows of some days unchanged since a data version?
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
            continue  # some groups are missing, or other days are included
        if not stands(days, source.version):
            continue
        of_number = np.full(len(different), NOWHERE, np.int64)
        for number, place in gone.items():
            of_number[number] = place
        told = source.noisy, source.version, source.owned.number, source.combined
        group = of_number[index]
        rows = np.flatnonzero(group != NOWHERE)
        yield Piece(*told, values_of_time, days, rows, group[rows])


def open_part_key(whole_key: str, analyst: str) -> str:
    """Return the answer key of an analyst's open part of a question.

    The open part depends on the analyst's answers, so the key is the analyst's own. The question's key holds the data
    version.
    """
    return hashlib.sha256(f"open part of {whole_key} for {analyst}".encode()).hexdigest()
