"""Which way a statement takes: the private one, or that of public tables only."""

from __future__ import annotations

from sqlglot import exp

from planner.policy import Policy
from planner.scope import fold


def names_private_table(tree: exp.Query, policy: Policy) -> bool:
    """Does some table reference of the statement mean a table that the policy names and does not call public?

    It decides only which way refuses what neither can answer: on the public way every reference is looked up
    again, and one that is not public is refused there.

    Args:
      tree: from `planner.parse.read`.
    Cost: references times nesting.
    """
    return any(_is_private(table, policy) for table in tree.find_all(exp.Table))


def _is_private(table: exp.Table, policy: Policy) -> bool:
    if not isinstance(table.this, exp.Identifier):
        return False
    name = fold(table.this)
    if name not in policy.tables or policy.is_public(name):
        return False
    return table.args.get("db") is not None or not _means_cte(table, name)


def _means_cte(table: exp.Table, name: str) -> bool:
    """Is there a CTE of that name around it, before it where it stands in a CTE itself?"""
    child: exp.Expr = table
    node = table.parent
    while node is not None:
        if isinstance(node, exp.With):
            before = next(place for place, entry in enumerate(node.expressions) if entry is child)
            if any(_cte_name(entry) == name for entry in node.expressions[:before]):
                return True
            assert node.parent is not None, "WITH belongs to a query"
            child, node = node.parent, node.parent.parent  # a query's own WITH does not see itself twice
            continue
        clause = node.args.get("with_")
        if clause is not None and any(_cte_name(entry) == name for entry in clause.expressions):
            return True
        child, node = node, node.parent
    return False


def _cte_name(entry: exp.Expr) -> str:
    return fold(entry.args["alias"].this)
