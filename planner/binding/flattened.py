"""What FROM and WHERE of a SELECT come to: one list of tables and one of conditions.

Private tables that no condition connects are refused, since a forgotten condition multiplies every row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from planner.binding.bound_query import BoundQuery, BoundSemiJoin, OwnerJoin
from planner.binding.conditions import required
from planner.binding.scope import Scope, Tables
from planner.errors import UnsupportedSQL
from planner.released_expression import Display
from planner.sql.trees import column_ref, columns_of


@dataclass(frozen=True)
class Flattened:
    """The base tables and conditions of the whole statement, as they are found.

    Attributes:
      crossed: for each CROSS JOIN, one alias from either side.
      owner_joins: LEFT JOINs to owners of rows that may have no owner.
      beside_public: public LEFT JOIN private, entered as inner joins, by the aliases on the right.
        `planner.binding.outer_joins` checks the whole SELECT later.
      found_by: maps the alias of an owner that a LEFT JOIN finds to the alias of its rows.
    """

    tables: Tables
    predicates: list[exp.Expr] = field(default_factory=list)
    semi_joins: list[BoundSemiJoin] = field(default_factory=list)
    crossed: list[tuple[str, str]] = field(default_factory=list)
    owner_joins: list[OwnerJoin] = field(default_factory=list)
    beside_public: dict[frozenset[str], int | None] = field(default_factory=dict)
    found_by: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Inside:
    """A join whose tables are entered apart from those around it: its names, and what it comes to."""

    scope: Scope
    flat: Flattened

    @cached_property
    def query(self) -> BoundQuery:
        """The join as a question without keys and aggregates."""
        tables, predicates = required(self.scope.tables, self.flat.predicates)
        return BoundQuery(
            tables=tables,
            predicates=predicates,
            semi_joins=tuple(self.flat.semi_joins),
            keys=(),
            aggregates=(),
            display=Display(),
            owner_joins=tuple(self.flat.owner_joins),
        )


def check_connected(flat: Flattened) -> None:
    """Refuse private tables that no condition connects, unless CROSS JOIN says so. Cost: linear.

    A condition connects all tables that it reads, public ones included.

    Raises: UnsupportedSQL at the second of two such tables.
    """
    tables = flat.tables.entries
    private = [entry for entry in tables if not flat.tables.is_public(entry.table)]
    if len(private) < 2:
        return
    parts = {entry.alias: entry.alias for entry in tables}

    def part(alias: str) -> str:
        while parts[alias] != alias:
            alias = parts[alias]
        return alias

    outer = [(entry.alias, condition) for entry in tables for condition in entry.outer or ()]
    ties = [{column_ref(column)[0] for column in columns_of(condition)} for condition in flat.predicates]
    ties += [{alias, *(column_ref(column)[0] for column in columns_of(condition))} for alias, condition in outer]
    for tied in [*ties, *map(set, flat.crossed)]:
        roots = sorted(part(alias) for alias in tied)
        for root in roots[1:]:
            parts[part(root)] = part(roots[0])
    first = private[0]
    for other in private[1:]:
        if part(other.alias) != part(first.alias):
            names = f"{first.table.name} and {other.table.name}"
            hint = "add the condition that joins them, or write CROSS JOIN for all pairs if the policy allows it"
            raise UnsupportedSQL(
                f"no condition connects {names}", hint=hint, position=flat.tables.positions.get(other.alias)
            )
