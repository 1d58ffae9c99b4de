"""Derive a question's answer from answers that the same analyst has paid for."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.plan import Centre, Plan, Release
from planner.planning.measurements import AnyRelease
from planner.reuse.fact import Plain, Unknown
from planner.reuse.matching import AskedQuestion, Lacking, Match, NewGroup, Undecided, key_value
from planner.reuse.outline import condition_name
from privacy.noisy_answer import NoisyAnswer
from server.answers.cached_answers import CachedAnswers
from server.answers.cached_outlines import CachedOutlines, Owned
from server.answers.derived import DerivedAnswer, Width, half_width, holds, one_factor, usable
from server.answers.released import Released, alone_if_large
from server.answers.sums import NOWHERE, Term, added_up, put_together, same_everywhere, variance, weighted
from server.backends.columns import Domain
from server.errors import NotDerivable
from server.lru_cache import LruCache
from server.question import Question

_MOST_COMBINATIONS = 50_000
"""Limit of combinations of cached key values. Each takes tens of microseconds."""


@dataclass(frozen=True)
class OwnGroups:
    """The groups of a question, found by their values.

    Attributes:
      places: the place of a group, by the values of its keys.
      values: per key, its values.
    """

    places: dict[NewGroup, int]
    values: tuple[frozenset[Plain], ...]


@dataclass(frozen=True)
class Regrouped:
    """The question's group for each group of a cached answer.

    Attributes:
      place: (G_cached,) the question's group, or NOWHERE where none of the rows counts.
      sizes: (G,) how many cached groups make up each of the question's.
      lacking: the rows that the cached answer left out.
    """

    place: NDArray[np.int64]
    sizes: NDArray[np.int64]
    lacking: Lacking


def own_groups(plan: Plan, domain: Domain, asked: AskedQuestion) -> OwnGroups | None:
    """Index a question's groups by exact values; None where two are equal, or a value is not understood."""
    columns = []
    for place, key in enumerate(asked.keys):
        values = [key_value(key.outline, value) for value in domain.keys[place]]
        known = [value for value in values if not isinstance(value, Unknown)]
        if len(known) < len(values):
            return None
        columns.append([known[entry] for entry in domain.places(place).tolist()])
    groups = list(zip(*columns, strict=True)) if columns else [()] * len(domain)
    places: dict[NewGroup, int] = {group: place for place, group in enumerate(groups)}
    if len(places) < len(groups):
        return None
    return OwnGroups(places, tuple(frozenset(column) for column in columns))


def combinations(cached: Domain, read: Sequence[int]) -> tuple[list[list[object]], NDArray[np.int64]] | None:
    """Return the combinations of some keys' values, and (G_cached,) that of each group; None above the limit."""
    places = [cached.places(key) for key in read]
    code = np.zeros(len(cached), np.int64)
    for entries, key in zip(places, read, strict=True):
        code = code * max(1, len(cached.keys[key])) + entries
    different, first, index = np.unique(code, return_index=True, return_inverse=True)
    if len(different) > _MOST_COMBINATIONS:
        return None
    values = [
        [cached.keys[key][int(entries[group])] for key, entries in zip(read, places, strict=True)]
        for group in first.tolist()
    ]
    return values, index.astype(np.int64)


def regroup(match: Match, cached: Domain, own: OwnGroups) -> Regrouped | None:
    """Find the question's group for each cached group; None if rows may belong to several or are not understood."""
    combined = combinations(cached, match.relevant)
    if combined is None:
        return None
    different, index = combined
    gone = np.full(len(different), NOWHERE, np.int64)
    try:
        for number, values in enumerate(different):
            found = match.group(values)
            if found is not None:
                gone[number] = own.places.get(found, NOWHERE)
    except Undecided:
        return None
    place = gone[index] if len(different) else np.zeros(0, np.int64)
    counts = np.bincount(place[place >= 0], minlength=len(own.places)).astype(np.int64)
    return Regrouped(place, counts, match.lacking(cached.keys, own.values))


_MOST_MATCHES = 16
"""How many cached answers are tried for one question, the newest first."""

_MOST_GROUPS = 20_000
_ASKED, _ASKED_BYTES = 256, 16 << 20


@dataclass(frozen=True)
class _Source:
    """A cached answer whose groups are parts of the question's."""

    owned: Owned
    released: Released
    regrouped: Regrouped

    def is_single(self, *, all_there: bool) -> bool:
        """Whether each of the question's groups has at most one cached group, or exactly one with `all_there`."""
        sizes = self.regrouped.sizes
        return bool(np.all(sizes <= 1) and (not all_there or np.all(sizes == 1)))

    def spread(self, place: int) -> float:
        """Return the variance of the widest sum, by noise scales alone."""
        added = np.bincount(
            self.regrouped.place[self.regrouped.place >= 0],
            weights=variance(self.released.noisy[place])[self.regrouped.place >= 0],
            minlength=1,
        )
        return float(added.max(initial=0.0))


@dataclass(frozen=True)
class _Part:
    """One release of a question, from one cached answer or several."""

    noisy: NoisyAnswer
    sources: tuple[_Source, ...]
    paid: float

    @property
    def most_groups(self) -> int:
        """The most cached groups in one sum."""
        return max(1, *(int(source.regrouped.sizes.max(initial=0)) for source in self.sources))


class Reusing:
    """Derive answers from those that an analyst has paid for.

    This is post-processing and costs no privacy. An answer that only another analyst has paid for is never read.
    """

    def __init__(self, outlines: CachedOutlines, cached: CachedAnswers) -> None:
        self._outlines = outlines
        self._kept = cached
        self._asked: LruCache[int, AskedQuestion] = LruCache(_ASKED, _ASKED_BYTES, lambda _: 1 << 14)

    def find(self, question: Question, analyst: str, groups: Callable[[], Domain]) -> DerivedAnswer | None:
        """Derive an answer; None where that is impossible.

        Args:
          groups: returns the question's public groups. Called only where a cached answer counts the same rows.
        Raises: LedgerInvalid; what `groups` raises.
        Cost: two reads of the ledger, and one for each new charge. Then microseconds for each cached group, and
          milliseconds for each set of noise scales.
        """
        plan = question.plan
        discovered = any(domain.selects_partitions for domain in plan.domains)
        if not plan.releases or plan.selection is not None or plan.sampling is not None or discovered:
            return None
        owned = self._outlines.of(analyst, question.data_version)
        if not owned:
            return None
        asked = self._asked.get(question.serial) or self._asked.put(question.serial, AskedQuestion(plan))
        if not all(asked.releases):
            return None
        matches = _matches(asked, owned)
        if not any(matches):
            return None
        domain = groups()
        own = own_groups(plan, domain, asked) if len(domain) <= _MOST_GROUPS else None
        if own is None:
            return None
        known: dict[object, _Source | None] = {}
        options_by_release = []
        for found in matches:
            options = []
            for one, match, place in found:
                name = one.released, tuple(sorted(map(condition_name, match.extra)))
                if name not in known:
                    known[name] = self._source(one, match, own, analyst)
                if (source := known[name]) is not None:
                    options.append((source, place))
            options_by_release.append(options)
        for options_of_each in _alternatives(plan, options_by_release):
            pairs = zip(plan.releases, options_of_each, strict=True)
            parts = [_part(plan, release, options, len(domain)) for release, options in pairs]
            if all(part is not None for part in parts):
                return _derived(question, domain, [part for part in parts if part is not None])
        return None

    def _source(self, owned: Owned, match: Match, own: OwnGroups, analyst: str) -> _Source | None:
        released = self._kept.released_to(owned.answer_key, analyst)
        if released is None:
            return None
        with alone_if_large(released.n_values):
            regrouped = regroup(match, released.domain, own)
        return None if regrouped is None else _Source(owned, released, regrouped)


_Found = tuple[Owned, Match, int]
"""A cached answer, its match with a release, and the place of the matching cached release."""


_Options = Sequence[tuple[_Source, int]]
"""Cached releases that a release may be derived from."""


def _alternatives(plan: Plan, options: Sequence[_Options]) -> Iterable[Sequence[_Options]]:
    """Yield the options of all releases. An average around a centre takes all releases from one cached answer."""
    if not any(isinstance(release.around, Centre) for release in plan.releases):
        return [options]
    answers = dict.fromkeys(source.owned.answer_key for found in options for source, _ in found)
    return ([[one for one in found if one[0].owned.answer_key == key] for found in options] for key in answers)


def _matches(asked: AskedQuestion, owned: Sequence[Owned]) -> list[list[_Found]]:
    """Return, for each release of the question, the newest cached releases that it may be derived from."""
    found: list[list[_Found]] = []
    for release in asked.releases:
        assert release is not None, "it was looked at"
        pairs = ((one, place, cached) for one in owned for place, cached in enumerate(one.outline.releases))
        matches = (
            (one, match, place)
            for one, place, cached in pairs
            if (match := asked.match(one.outline, release, cached)) is not None
        )
        found.append(list(itertools.islice(matches, _MOST_MATCHES)))
    return found


def _part(plan: Plan, release: Release, found: Sequence[tuple[_Source, int]], n_groups: int) -> _Part | None:
    """Derive a release with the least noise, by public numbers; None where that is impossible."""
    options = []
    for source, place in found:
        one, cached = source.released.noisy[place], source.owned.outline.releases[place]
        computed = usable(one)
        whole = (cached.adds_up and computed) or source.is_single(all_there=not computed)
        whole |= isinstance(release.around, Centre) and len(set(one.values.tolist())) == 1
        if whole and holds(plan, release, one):
            options.append((source, place))
    if not options:
        return None
    # Missing rows are worse than any noise.
    best, place = min(options, key=lambda one: (one[0].regrouped.lacking != Lacking(), one[0].spread(one[1])))
    wanted = best.owned.outline.conditions, estimand(best.owned, best.released, place)
    alike = [(best, place)]
    for source, other in options:
        same = (source.owned.outline.conditions, estimand(source.owned, source.released, other)) == wanted
        both = usable(best.released.noisy[place]) and usable(source.released.noisy[other])
        if source is not best and same and both:
            alike.append((source, other))
    noisy = [source.released.noisy[own] for source, own in alike]
    if isinstance(release.around, Centre):
        summed = same_everywhere(noisy[0], n_groups)
    elif not usable(noisy[0]):
        summed = put_together([Term(noisy[0], best.regrouped.place)], n_groups)
    else:
        summed = added_up(weighted(noisy, best.regrouped.place), n_groups)
    paid = max(source.owned.epsilon for source, _ in options if source.regrouped.lacking == best.regrouped.lacking)
    return _Part(summed, tuple(source for source, _ in alike), paid)


def estimand(owned: Owned, released: Released, place: int) -> tuple[object, ...]:
    """Return what a cached release estimates, as a value to compare: keys, release, groups and thresholds.

    Two releases with equal estimands and conditions may be averaged.
    """
    outline, noisy = owned.outline, released.noisy[place]
    cut_by = released.noisy if one_factor([noisy]) else (noisy,)  # one factor depends on all thresholds
    taus = [one.tau.tobytes() for one in cut_by]
    return outline.keys, outline.releases[place], released.domain, noisy.confidence, *taus


def _derived(question: Question, domain: Domain, parts: Sequence[_Part]) -> DerivedAnswer:
    plan = question.plan
    sources = [source for part in parts for source in part.sources]
    lacking = Lacking()
    for source in sources:
        lacking |= source.regrouped.lacking
    measuring = question.measuring.of_groups(domain)
    widths = tuple(
        Width(
            release.label,
            release.weight_bound * half_width(part.noisy),
            release.weight_bound * fresh_half_width(measured, part.noisy.tau, len(domain)),
            release.weight_bound * fresh_half_width(measured, part.noisy.tau * part.most_groups, len(domain)),
            1.0 if release.whole else 0.0,
        )
        for release, part, measured in zip(plan.releases, parts, measuring.releases, strict=True)
    )
    return DerivedAnswer(
        domain=domain,
        noisy=tuple(part.noisy for part in parts),
        charges=tuple(sorted({source.owned.number for source in sources})),
        widths=widths,
        most_groups=max(part.most_groups for part in parts),
        combined=max(len(part.sources) for part in parts),
        lacking=lacking,
        paid=min(part.paid for part in parts),
    )


def fresh_half_width(measured: AnyRelease, tau: NDArray[np.float64], n_groups: int) -> float:
    """Return half an interval of a new measurement, at the largest of these thresholds or the next candidate.

    A new measurement would hardly choose a smaller one: a person contributes no less to a sum of groups than to one
    group.
    """
    table = np.array(measured.expected_noise(n_groups), np.float64)
    place = min(int(np.searchsorted(np.sort(table[:, 0]), tau.max(initial=0.0))), len(table) - 1)
    return float(table[np.argsort(table[:, 0], kind="stable")][place, 1])


def not_derivable(question: Question) -> NotDerivable:
    """Return the refusal of a question that must be free and is not."""
    hint = (
        f"with reuse = auto it is measured for epsilon {question.plan.epsilon:g}; an earlier answer helps if it has"
        " the same tables and sums, finer groups, and no condition that this question lacks"
    )
    if len(question.plan.releases) > 1:
        hint += "; an average of x needs sum(x) and count(x), or count(*) where x is never NULL"
    return NotDerivable("the answer cannot be derived from answers that you have paid for", hint=hint)
