"""Into which group of a question each group of a kept answer goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.plan import Plan
from planner.reuse.fact import Plain, Unknown
from planner.reuse.matching import AskedQuestion, Lacking, Match, NewGroup, Undecided, key_value
from server.backends.columns import Domain

_MOST_COMBINATIONS = 50_000
"""Of values of kept keys that a question reads: each is evaluated once, in some tens of microseconds."""

NOWHERE = -1


@dataclass(frozen=True)
class OwnGroups:
    """The groups of a question, found by their values.

    Attributes:
      places: by the values of the keys, the place of the group.
      values: per key, which it has.
    """

    places: dict[NewGroup, int]
    values: tuple[frozenset[Plain], ...]


@dataclass(frozen=True)
class Regrouped:
    """Where the groups of a kept answer go.

    Attributes:
      place: (G_kept,) the group of the question, or NOWHERE: none of its rows counts.
      sizes: (G,) how many kept groups make up each of the question's.
      lacking: which rows the kept answer has left out.
    """

    place: NDArray[np.int64]
    sizes: NDArray[np.int64]
    lacking: Lacking


def own_groups(plan: Plan, domain: Domain, asked: AskedQuestion) -> OwnGroups | None:
    """The groups of a question by values that compare exactly; None where two are one, or a value is not understood.

    Args:
      plan: of the question.
      domain: its groups.
      asked: the same question, for its keys.
    """
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


def combinations(kept: Domain, read: Sequence[int]) -> tuple[list[list[object]], NDArray[np.int64]] | None:
    """The different values of some keys of a kept answer, and (G_kept,) which of them each group has; None for more
    than are evaluated.
    """
    places = [kept.places(key) for key in read]
    code = np.zeros(len(kept), np.int64)
    for entries, key in zip(places, read, strict=True):
        code = code * max(1, len(kept.keys[key])) + entries
    different, first, index = np.unique(code, return_index=True, return_inverse=True)
    if len(different) > _MOST_COMBINATIONS:
        return None
    values = [
        [kept.keys[key][int(entries[group])] for key, entries in zip(read, places, strict=True)]
        for group in first.tolist()
    ]
    return values, index.astype(np.int64)


def regroup(match: Match, kept: Domain, own: OwnGroups) -> Regrouped | None:
    """Where each kept group goes; None where a group's rows may go to several, or it is not understood.

    Args:
      match: the question and the outline of the kept answer.
      kept: the groups of the kept answer.
      own: those of the question.
    """
    combined = combinations(kept, match.relevant)
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
    return Regrouped(place, counts, match.lacking(kept.keys, own.values))
