"""Every statement of a question, read in one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.plan import BackendQuery
from privacy.join_tuples import DistinctTuples, JoinTuples
from server.backends.columns import Column, Domain, distinct_tuples, join_tuples

ReadColumns = Callable[[str, int], Sequence[Column]]
"""Runs a statement and returns its columns; told how many there are, for a result without rows."""


@dataclass(frozen=True, eq=False, repr=False)
class QueryTuples:
    """What one snapshot holds of a question. Private.

    Attributes:
      join: the join tuples with one weight per release that is a sum; None when every release counts distinct values.
      distinct: per release, the tuples whose distinct values it counts; None for a sum.
    """

    join: JoinTuples | None
    distinct: tuple[DistinctTuples | None, ...]

    def __repr__(self) -> str:
        return f"QueryTuples(releases={len(self.distinct)}, <private>)"


def query_tuples(query: BackendQuery, domain: Domain, read: ReadColumns) -> QueryTuples:
    """Read and code every statement of a question.

    Args:
      query: the statements.
      domain: the public groups of the same snapshot.
      read: bound to the snapshot.
    Raises: what `read` raises; BackendFailed for a column of a type that cannot be compared outside the database.
    """
    shared = len(query.relations) + len(domain.keys)
    join = None
    if query.join is not None:
        join = join_tuples(read(query.join, shared + query.n_releases), query, domain)
    distinct = [
        None if statement is None else distinct_tuples(read(statement, shared + 2), query, domain)
        for statement in query.distinct
    ]
    return QueryTuples(join, tuple(distinct))
