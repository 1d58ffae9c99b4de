"""How many of the groups of an answer one unit of each relation reaches, once the groups are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planner.plan import KindReach
from privacy.mechanisms.groups.kinds import GroupsOfKinds
from server.backends.columns import Domain


def groups_of_kinds(kinds: Sequence[KindReach], domain: Domain) -> GroupsOfKinds:
    """L0 of the units of each relation: the most groups that share values of the keys that follow from a unit.

    Positions of a relation that are different functions add up; there are never more than all groups. A function of
    the list of groups alone, which is public: declared, read from public tables, or shown by a release.

    Returns: one number, at least 1, for each relation of `kinds`.
    Cost: a sort of the groups for each position.
    """
    every = max(1, len(domain))
    return tuple(
        (one.relation, max(1, min(every, sum(_most_alike(domain, places) for places in one.determines))))
        for one in kinds
    )


def _most_alike(domain: Domain, places: Sequence[int]) -> int:
    """The most groups that have the same values of some keys."""
    group = np.zeros(len(domain), np.int64)
    for place in places:
        value = _codes(domain.keys[place])[domain.places(place)]
        _, group = np.unique(group * (int(value.max(initial=0)) + 1) + value, return_inverse=True)
    return int(np.bincount(group).max(initial=0))


def _codes(values: Sequence[object]) -> NDArray[np.int64]:
    """A number for each value, the same for equal ones and for all that equal nothing, as NaN does."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(value if value == value else None, len(known)) for value in values], np.int64)
