"""Which answers that an analyst has paid for are still answers about closed periods, and for which groups.

A question's answers at earlier versions of the data are found by the names that they have in the ledger: a whole one
by the answer key of the question at that version; one about what was open by `open_part_key`. Both name the policy,
so an answer under another one is never found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from planner.group_domains.day_conditions import Run
from planner.periods.period_scope import PeriodScope, TimeValues
from planner.sql.result_types import KeyCell
from server.answers.released import Released
from server.backends.columns import Domain
from server.periods.noted_periods import NotedPeriods
from server.question import Question, answer_key

Group = tuple[object, ...]

_MOST_LOADS = 366
"""How many versions back an answer is looked for."""


@dataclass(frozen=True)
class KeptPart:
    """An answer of an earlier version.

    Attributes:
      version: of the data that it was measured over.
      released: all of its groups, also those that are not used.
      values: the values of the time keys whose groups are taken from it.
    """

    version: int
    released: Released
    values: frozenset[TimeValues]


@dataclass(frozen=True)
class Split:
    """How a question is answered from what is kept and what is not.

    Attributes:
      parts: the newest first.
      fresh: the values of the time keys whose groups are to be measured; none of them: nothing is.
      runs: by value, the stretches of days that its rows lie in.
    """

    parts: tuple[KeptPart, ...]
    fresh: tuple[TimeValues, ...]
    runs: Mapping[TimeValues, tuple[Run, ...]]


def open_part_key(whole_key: str, analyst: str) -> str:
    """The answer key of what an analyst was given of a question's open part.

    What is open depends on what the analyst has by then, so an analyst's is nobody else's. The version of the data is
    in the whole question's key.
    """
    return hashlib.sha256(f"open part of {whole_key} for {analyst}".encode()).hexdigest()


def split(
    question: Question,
    scope: PeriodScope,
    noted: NotedPeriods,
    domain: Domain,
    time_grain: str,
    analyst: str,
    paid_among: Callable[[Sequence[str]], frozenset[str]],
    paid: Callable[[str], Released | None],
) -> Split | None:
    """Find what is kept, the newest answers first.

    Args:
      question: at the version of the data as it is.
      scope: of the question.
      noted: of that version.
      domain: the question's public groups.
      time_grain: the policy's.
      analyst: who asks, whose answers alone count.
      paid_among: the keys of answers that the analyst has paid for, of some.
      paid: the answer under a key.
    Returns: None where nothing is kept.
    Cost: a hash of the question per earlier version, one read of the ledger, and one per answer that is used.
    """
    runs = scope.classes()
    wanted = _wanted(domain, scope.places)
    since = {values: noted.since(scope, runs[values]) for values in wanted if values in runs}
    closed = {values: version for values, version in since.items() if version is not None}
    if not closed or not wanted.keys() <= runs.keys():
        return None  # a group of rows without a date, say, is of no period
    keys = _keys(question, noted, min(closed.values()), time_grain, analyst)
    there = paid_among([key for _, key, _ in keys])
    parts: list[KeptPart] = []
    shown_all = question.plan.selection is None
    for version, key, whole in keys:
        missing = {values for values, oldest in closed.items() if oldest <= version}
        released = paid(key) if missing and key in there else None
        if released is None:
            continue
        has = _wanted(released.domain, scope.places)
        if shown_all:
            found = {values for values in missing if values in has and set(wanted[values]) <= set(has[values])}
        elif whole and released.domain.asked == len(domain):
            found = missing  # that a group is withheld is an answer about it, as its value is
        else:  # what a part does not show, it may not have been asked
            found = missing & has.keys()
        if found:
            parts.append(KeptPart(version, released, frozenset(found)))
            closed = {values: oldest for values, oldest in closed.items() if values not in found}
    if not parts:
        return None
    kept = {values for part in parts for values in part.values}
    return Split(tuple(parts), tuple(values for values in wanted if values not in kept), runs)


def _keys(
    question: Question, noted: NotedPeriods, oldest: int, time_grain: str, analyst: str
) -> list[tuple[int, str, bool]]:
    """Under which earlier answers may be kept: version, key, is it of the whole question; the newest first."""
    found = []
    versions = sorted((one for one in noted.loads if oldest <= one < noted.version), reverse=True)
    for version in versions[:_MOST_LOADS]:
        query = replace(question.query, fingerprint=noted.loads[version])
        key = answer_key(question.plan, query, time_grain, version)
        found += [(version, key, True), (version, open_part_key(key, analyst), False)]
    return found


def _wanted(domain: Domain, places: Sequence[int]) -> dict[TimeValues, list[Group]]:
    """The groups by their values of the time keys, in the order of the domain."""
    found: dict[TimeValues, list[Group]] = {}
    for group in domain.groups:
        found.setdefault(values_at(group, places), []).append(group)
    return found


def values_at(group: Group, places: Sequence[int]) -> TimeValues:
    """The values of some of a group's keys, which say when: texts, whole numbers, NULL."""
    return cast(tuple[KeyCell, ...], tuple(group[place] for place in places))
