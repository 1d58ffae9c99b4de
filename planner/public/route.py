"""Decides whether a statement reads public tables only or shows people, and which grammar public ones have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from planner.binding.scope import table_reference
from planner.errors import UnsupportedSQL
from planner.parsing.grammar import ALLOWED, Refusal, check_grammar, unknown_construct, unknown_part
from planner.parsing.parse import Statement
from planner.parsing.syntax import check_syntax
from planner.policy.ownership import Ownership, ownership
from planner.policy.policy import Policy
from planner.policy.table_lookup import find_table
from planner.schema import Schema, Table
from planner.sql.trees import aggregates, fold, from_items, position_of, tables_of

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


def lists_people(
    tree: exp.Query, schema: Schema, policy: Policy, search_path: Sequence[str] | None = None
) -> UnsupportedSQL | None:
    """Return a refusal if the rows of the answer would be about single people, whatever else the statement contains.

    It only replaces the message of another refusal, so that nobody rewrites a window in a statement that cannot be
    answered. Cost: as `names_private_table`.
    """

    def private(table: exp.Table) -> Table | None:
        if not _is_private(table, schema, policy, search_path):
            return None
        found = find_table(table_reference(table), schema, policy, search_path)
        return None if found is None else schema.tables.get(found.name)

    item = _about_people(tree, private, ownership(schema, policy))
    if item is None:
        return None
    hint = "select count(*) or another aggregate, and group by columns that many people share"
    return UnsupportedSQL(
        "the answer would show rows of single people or of private tables", hint=hint, position=position_of(item)
    )


def _about_people(
    query: exp.Expr, private: Callable[[exp.Table], Table | None], owners: Ownership, *, distinct: bool = False
) -> exp.Expr | None:
    """The first column of a SELECT whose rows are private ones or people: by its FROM, or by a key in GROUP BY.

    DISTINCT rows, also those of a UNION, are groups by all their columns.
    """
    if isinstance(query, (exp.Subquery, exp.Lateral)):
        return _about_people(query.this, private, owners, distinct=distinct)
    clause = query.args.get("distinct")
    distinct = distinct or clause is True or (isinstance(clause, exp.Distinct) and not clause.args.get("on"))
    if isinstance(query, exp.SetOperation):
        sides = (_about_people(side, private, owners, distinct=distinct) for side in (query.this, query.expression))
        return next(filter(None, sides), None)
    if not isinstance(query, exp.Select) or not query.expressions:
        return None
    tables = {item: private(item) for item in from_items(query) if isinstance(item, exp.Table)}
    keys = query.args["group"].expressions if query.args.get("group") else query.expressions if distinct else []
    clauses = [*query.expressions, *filter(None, (query.args.get("having"), query.args.get("order")))]
    if keys or any(True for clause in clauses for _ in aggregates(clause)):
        written = (query.expressions[int(key.name) - 1] if _is_position(key, query) else key for key in keys)
        named = [column.unalias() for column in written if isinstance(column.unalias(), exp.Column)]
        owned = [(item.alias_or_name, table) for item, table in tables.items() if table is not None]
        is_person = any(_names_person(column, *entry, owners) for column in named for entry in owned)
        return query.expressions[0] if is_person else None
    bodies = (cte_of(item) if isinstance(item, exp.Table) else item for item in from_items(query))
    lists = any(tables.values()) or any(
        body is not None and _about_people(body, private, owners) is not None for body in bodies
    )
    return query.expressions[0] if lists else None


def _is_position(key: exp.Expr, query: exp.Select) -> bool:
    return isinstance(key, exp.Literal) and key.name.isdigit() and 0 < int(key.name) <= len(query.expressions)


def _names_person(column: exp.Column, alias: str, table: Table, owners: Ownership) -> bool:
    """Whether a column is the key of a private row, or of its owner, by itself."""
    name = fold(column.this)
    if column.table not in ("", alias) or table.column(name) is None:
        return False
    return (name,) in table.keys or any(key.columns == (name,) for key in owners.owning_keys(table.name))


def means_cte(table: exp.Table) -> bool:
    """Whether a table reference means a CTE that is visible at its place."""
    return cte_of(table) is not None


def cte_of(table: exp.Table) -> exp.Expr | None:
    """Return the query of the CTE that a table reference means; None if it means a table."""
    if table.args.get("db") is not None:
        return None
    name = fold(table.this)
    child: exp.Expr = table
    node = table.parent
    while node is not None:
        if isinstance(node, exp.With):
            before = next(place for place, entry in enumerate(node.expressions) if entry is child)
            named = _named(node.expressions[:before], name)
            if named is not None:
                return named
            assert node.parent is not None, "WITH belongs to a query"
            child, node = node.parent, node.parent.parent  # skip the query that owns this WITH
            continue
        clause = node.args.get("with_")
        named = None if clause is None else _named(clause.expressions, name)
        if named is not None:
            return named
        child, node = node, node.parent
    return None


def _named(entries: Sequence[exp.Expr], name: str) -> exp.Expr | None:
    return next((entry.this for entry in entries if fold(entry.args["alias"].this) == name), None)
