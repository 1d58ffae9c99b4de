"""Are the private tables of a join tied together? A forgotten condition multiplies every row by every other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from planner.bound_query import BoundTable, column_ref
from planner.errors import UnsupportedSQL
from planner.policy import Policy
from planner.trees import columns_of


def check_connected(
    tables: Sequence[BoundTable],
    conditions: Iterable[exp.Expr],
    crossed: Iterable[tuple[str, str]],
    policy: Policy,
    positions: dict[str, int | None],
) -> None:
    """Refuse a join in which private tables meet by no condition at all, unless CROSS JOIN says so.

    Any condition over columns of several tables ties them, and so does one on a public table between them.

    Args:
      tables: the entries of FROM.
      conditions: bound; those of WHERE, ON and USING.
      crossed: pairs of aliases, one of either side of each CROSS JOIN.
      positions: where each alias's table stands in the statement.
    Raises: UnsupportedSQL at the second of two such tables.
    Cost: linear in the conditions.
    """
    private = [entry for entry in tables if not policy.is_public(entry.table.name)]
    if len(private) < 2:
        return
    parts = {entry.alias: entry.alias for entry in tables}

    def part(alias: str) -> str:
        while parts[alias] != alias:
            alias = parts[alias]
        return alias

    outer = [(entry.alias, condition) for entry in tables for condition in entry.outer or ()]
    ties = [{column_ref(column)[0] for column in columns_of(condition)} for condition in conditions]
    ties += [{alias, *(column_ref(column)[0] for column in columns_of(condition))} for alias, condition in outer]
    for tied in [*ties, *map(set, crossed)]:
        roots = sorted(part(alias) for alias in tied)
        for root in roots[1:]:
            parts[part(root)] = part(roots[0])
    first = private[0]
    for other in private[1:]:
        if part(other.alias) != part(first.alias):
            names = f"{first.table.name} and {other.table.name}"
            hint = "add the condition that ties them to WHERE or ON; CROSS JOIN says that every pair of rows is meant"
            message = f"no condition connects {names}"
            raise UnsupportedSQL(message, hint=hint, position=positions.get(other.alias))
