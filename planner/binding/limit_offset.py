"""Reads LIMIT, OFFSET and FETCH."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.sql.literals import constant

_MAX_ROWS = 1 << 62


def row_count(query: exp.Query, part: str) -> int | None:
    """Return the row count of `limit` or `offset`; None for NULL and ALL. Raises: UnsupportedSQL."""
    clause = query.args.get(part)
    fetch = query.args.get("limit") if part == "limit" else None
    if clause is None:
        return None
    node = fetch.args.get("count") if isinstance(fetch, exp.Fetch) else clause.expression
    if node is None:
        return 1  # FETCH FIRST ROW ONLY
    node = constant(node)
    if isinstance(node, exp.Null) or (isinstance(node, exp.Var) and node.name.upper() == "ALL"):
        return None
    if not (isinstance(node, exp.Literal) and node.name.isascii() and node.name.isdigit()):
        raise UnsupportedSQL(f"{part.upper()} takes a whole number", hint="write the number", at=clause)
    return min(int(node.name[:20]), _MAX_ROWS)
