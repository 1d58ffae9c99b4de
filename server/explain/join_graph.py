"""The join of a query as EXPLAIN shows it: what was asked for, and what was added to find the owners."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from planner.binding.bound_query import BoundQuery
from planner.rewriting.join_tables import semi_join_condition
from planner.rewriting.rewrite import to_sql
from planner.sensitivity.provenance import Completion, OwnerPosition, Provenance
from server.query import JoinCondition, JoinedTable


def joined_tables(bound: BoundQuery, found: Provenance) -> tuple[JoinedTable, ...]:
    """The tables in the order of FROM, those that completion adds last."""
    asked = [
        JoinedTable(entry.alias, entry.table.name, "inner" if entry.outer is None else "left", added=False)
        for entry in bound.tables
    ]
    added = [JoinedTable(one.alias, one.table.name, "left", added=True) for one in found.completions]
    return (*asked, *added)


def join_conditions(bound: BoundQuery, found: Provenance) -> tuple[JoinCondition, ...]:
    """Conditions of ON, USING and WHERE, then those of completion."""
    asked = [*bound.predicates, *(condition for entry in bound.tables for condition in entry.outer or ())]
    asked += [semi_join_condition(semi_join) for semi_join in bound.semi_joins]
    added = [condition for completion in found.completions for condition in _completing(completion)]
    return (
        *(JoinCondition(to_sql(condition), added=False) for condition in asked),
        *(JoinCondition(condition, added=True) for condition in added),
    )


def ownership_paths(found: Provenance) -> tuple[str, ...]:
    """Per owner, the foreign keys that lead from a row of the query to the unit's key."""
    completions = {completion.alias: completion for completion in found.completions}
    return tuple(_path(owner, found, completions) for owner in found.owners)


def _completing(completion: Completion) -> Iterator[str]:
    """How the parent is found, and that a row whose parent is gone is left out."""
    pairs = zip(completion.key.columns, completion.key.key, strict=True)
    yield " AND ".join(f"{_name(completion.child, name)} = {_name(completion.alias, above)}" for name, above in pairs)
    exists = f"{_name(completion.alias, completion.key.key[0])} IS NOT NULL"
    absent = [f"{_name(completion.child, name)} IS NULL" for name in completion.nullable]
    yield " OR ".join([*absent, exists])


def _path(owner: OwnerPosition, found: Provenance, completions: dict[str, Completion]) -> str:
    alias = owner.columns[0][0]
    columns = ", ".join(name for _, name in owner.columns)
    own = found.equalities.tables[alias].name == owner.relation
    steps = [f"{columns} is its key" if own else f"{columns} references {owner.relation}"]
    while alias in completions:
        completion = completions[alias]
        steps.append(f"{', '.join(completion.key.columns)} references {alias}")
        alias = completion.child
    path = f"{alias}: {', '.join(reversed(steps))}"
    return f"{path}, where the row belongs to nobody above it" if owner.orphan_of else path


def _name(alias: str, column: str) -> str:
    return to_sql(exp.column(column, table=alias, quoted=True))
