"""Every statement of a question, read in one snapshot."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.plan import BackendQuery
from privacy.join_tuples import DistinctTuples, JoinTuples, RankedTuples
from privacy.truncation.loads.length_histogram import LengthHistogram
from privacy.truncation.loads.load_histogram import LoadHistogram
from server.backends.columns import (
    Domain,
    distinct_tuples,
    has_no_group,
    join_tuples,
    length_histogram,
    load_histogram,
    ranked_tuples,
)
from server.backends.found_domain import found_domain
from server.backends.room import Room
from server.backends.sampled_join import ReadColumns, sampled_columns
from server.errors import NoGroups

Histogram = LoadHistogram | LengthHistogram
"""What a database counts in place of the tuples of one owner."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryTuples:
    """What one snapshot holds of a question. Private.

    Attributes:
      join: the join tuples with one weight per release that is a sum, or how many units have how much of it, or what
        units of each length have, where the database counts them; None when every release counts distinct values.
      distinct: per release, the tuples whose distinct values it counts, or how many units have how many of them, or
        what units of each length have, where the database counts them, or the tuples whose values it ranks; None for
        a sum. Releases of one statement have the same object.
    """

    join: JoinTuples | Histogram | None
    distinct: tuple[DistinctTuples | RankedTuples | Histogram | None, ...]

    def regrouped(self, place: NDArray[np.int64], n_groups: int) -> QueryTuples:
        """The tuples of some groups alone.

        Args:
          place: (G + 1,) the new index of each group, -1 for none; the last entry is that of tuples of no group.
          n_groups: how many groups there are then.
        """
        join = self.join and _moved(self.join, place, n_groups)
        made = {id(one): one and replace(one, group=place[one.group], n_groups=n_groups) for one in self.distinct}
        return QueryTuples(join, tuple(made[id(one)] for one in self.distinct))

    def __repr__(self) -> str:
        return f"QueryTuples(releases={len(self.distinct)}, <private>)"


def _moved(join: JoinTuples | Histogram, place: NDArray[np.int64], n_groups: int) -> JoinTuples | Histogram:
    return replace(join, group=place[join.group], n_groups=n_groups)


def query_tuples(query: BackendQuery, domain: Domain, read: ReadColumns, room: Room) -> tuple[Domain, QueryTuples]:
    """Read and code every statement of a question.

    Args:
      query: the statements.
      domain: the public groups of the same snapshot.
      read: bound to the snapshot and to the room.
      room: for what is taken in, also of tuples that the proxy draws where nobody makes the join.
    Returns: the groups, and the tuples coded by them. Where keys are found among the rows, the groups are private.
    Raises: NoGroups before anything is read, where a public list of keys is empty; what `read` raises; QueryCancelled
      for more than there is room for; BackendFailed for a column of a type that cannot be compared outside the
      database.
    """
    if has_no_group(query, domain):
        hint = "ask again: the answer then has no row, and is free"
        raise NoGroups("the public list of the groups became empty while this was asked", hint=hint)
    shared = len(query.relations) + len(domain.keys)
    join: JoinTuples | Histogram | None = None
    if query.loads is not None:
        columns = read(query.loads, len(domain.keys) + 4 + query.by_length)
        if query.discovered:
            domain = found_domain(columns, query, domain)
        coded_loads = length_histogram if query.by_length else load_histogram
        join = coded_loads(columns, query, domain, n_sums=query.n_releases)
    elif query.join is not None or query.tree is not None:
        columns = (
            sampled_columns(query, read, room) if query.tree else read(query.join or "", shared + query.n_releases)
        )
        if query.discovered:
            domain = found_domain(columns[len(query.relations) :], query, domain)
        join = join_tuples(columns, query, domain)
    once: dict[str, DistinctTuples | RankedTuples | Histogram] = {}
    for place, statement in enumerate(query.distinct):
        if statement is None or statement in once:
            continue
        loads = query.distinct_loads[place] if query.distinct_loads else None
        if loads is not None:
            coded_loads = length_histogram if query.values_by_length else load_histogram
            columns = read(loads, len(domain.keys) + 4 + query.values_by_length)
            once[statement] = coded_loads(columns, query, domain, n_sums=1)
        else:
            coded = ranked_tuples if place in query.ranked else distinct_tuples
            once[statement] = coded(read(statement, shared + 2), query, domain)
    return domain, QueryTuples(join, tuple(None if one is None else once[one] for one in query.distinct))
