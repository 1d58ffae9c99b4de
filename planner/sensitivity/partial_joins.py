"""Joins on a part of a composite key: sound, but each row meets rows of several owners, which is hardly meant."""

from __future__ import annotations

from collections.abc import Iterator

from planner.binding.bound_query import BoundQuery, BoundTable
from planner.policy.policy import Policy
from planner.schema import ForeignKey
from planner.sensitivity.column_equalities import Equalities


def partial_joins(query: BoundQuery, equalities: Equalities, policy: Policy) -> tuple[str, ...]:
    """One sentence for each foreign key of several columns of which a query equates some and not all.

    A row that meets its whole parent elsewhere in FROM is left alone: the other join is meant.

    Args:
      query: bound.
      equalities: of `planner.sensitivity.provenance`, closed.
      policy: which tables have owners.
    """
    return tuple(dict.fromkeys(_found(query, equalities, policy)))


def _found(query: BoundQuery, equalities: Equalities, policy: Policy) -> Iterator[str]:
    for entry in query.tables:
        for key in entry.table.foreign_keys:
            parents = [other for other in query.tables if other.table.name == key.references and other != entry]
            if len(key.columns) < 2 or not parents:
                continue
            equal = [_equal(entry, key, parent, equalities) for parent in parents]
            if any(map(all, equal)):
                continue
            for parent, parts in zip(parents, equal, strict=True):
                if any(parts):
                    yield _sentence(entry, key, parent, parts, owned=not policy.is_public(parent.table.name))


def _equal(entry: BoundTable, key: ForeignKey, parent: BoundTable, equalities: Equalities) -> list[bool]:
    """Per column of the key, is it equal to the parent's?"""
    pairs = zip(key.columns, key.key, strict=True)
    return [equalities.same((entry.alias, name), (parent.alias, above)) for name, above in pairs]


def _sentence(entry: BoundTable, key: ForeignKey, parent: BoundTable, parts: list[bool], *, owned: bool) -> str:
    child, above = entry.name, parent.name
    whole = " AND ".join(f"{child}.{a} = {above}.{b}" for a, b in zip(key.columns, key.key, strict=True))
    missing = ", ".join(name for name, equal in zip(key.columns, parts, strict=True) if not equal)
    owners = ", and belongs to the privacy units of each" if owned else ""
    return (
        f"{child} joins {above} on a part of its key, without {missing}: "
        f"a row meets several rows of {above}{owners}. The whole key is {whole}."
    )
