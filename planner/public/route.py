"""Decides whether a statement reads public tables only, and which grammar such statements have."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planner.binding.scope import table_reference
from planner.parsing.grammar import ALLOWED, Refusal, check_grammar, unknown_construct, unknown_part
from planner.parsing.parse import Statement
from planner.parsing.syntax import check_syntax
from planner.policy.policy import Policy
from planner.policy.table_lookup import find_table
from planner.schema import Schema
from planner.sql.trees import fold, tables_of

_SET = frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"})

PUBLIC: dict[type[exp.Expr], frozenset[str]] = {
    **{kind: parts for kind, parts in ALLOWED.items() if kind is not exp.TableSample},
    exp.Table: frozenset({"this", "db", "catalog", "alias", "joins"}),
    **dict.fromkeys((exp.Min, exp.Max), frozenset({"this"})),
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), _SET),
}


def check_public(statement: Statement) -> None:
    """Refuse constructs outside the public grammar and PostgreSQL's. Raises: UnsupportedSQL, InvalidSyntax."""
    check_public_grammar(statement)
    check_syntax(statement.sql)


def check_public_grammar(statement: Statement) -> None:
    """Refuse the first construct outside the public grammar. Raises: UnsupportedSQL."""
    check_grammar(statement.tree, statement.tokens, _refusal)


def _refusal(node: exp.Expr, root: exp.Expr) -> Refusal | None:
    if type(node) not in PUBLIC:
        return unknown_construct(node)
    return (refused_join(node) if isinstance(node, exp.Join) else None) or unknown_part(node, PUBLIC)


def refused_join(node: exp.Join) -> Refusal | None:
    """Return the refusal of a join that PostgreSQL does not have, such as SEMI or ASOF."""
    if node.kind not in ("", "INNER", "CROSS", "OUTER") or node.side not in ("", "LEFT", "RIGHT", "FULL"):
        return f"{node.kind or node.side} JOIN", "use another kind of JOIN", node
    return None if node.method in ("", "NATURAL") else (f"{node.method} JOIN", "write ON", node)


def names_private_table(
    tree: exp.Query, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None
) -> bool:
    """Whether a statement names a private table.

    This only selects the parser and its error messages. The public parser checks every table again, so a wrong result
    exposes nothing.

    Cost: the number of table references times the depth of nesting.
    """
    return any(_is_private(table, schema, policy, search_path) for table in tables_of(tree))


def _is_private(table: exp.Table, schema: Schema, policy: Policy, search_path: Sequence[str] | None) -> bool:
    if not isinstance(table.this, exp.Identifier):
        return False
    reference = table_reference(table)
    found = find_table(reference, schema, policy, search_path)
    if found is None or policy.is_public(found.name):
        return False
    return not means_cte(table)


def means_cte(table: exp.Table) -> bool:
    """Whether a table reference means a CTE that is visible at its place."""
    if table.args.get("db") is not None:
        return False
    name = fold(table.this)
    child: exp.Expr = table
    node = table.parent
    while node is not None:
        if isinstance(node, exp.With):
            before = next(place for place, entry in enumerate(node.expressions) if entry is child)
            if any(_cte_name(entry) == name for entry in node.expressions[:before]):
                return True
            assert node.parent is not None, "WITH belongs to a query"
            child, node = node.parent, node.parent.parent  # skip the query that owns this WITH
            continue
        clause = node.args.get("with_")
        if clause is not None and any(_cte_name(entry) == name for entry in clause.expressions):
            return True
        child, node = node, node.parent
    return False


def _cte_name(entry: exp.Expr) -> str:
    return fold(entry.args["alias"].this)
