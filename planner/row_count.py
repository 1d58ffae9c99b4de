"""LIMIT, OFFSET and FETCH: how many rows, as written."""

from __future__ import annotations

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.positions import position_of

_MAX_ROWS = 1 << 62


def row_count(query: exp.Query, part: str) -> int | None:
    """What `limit` or `offset` of a query says; NULL and ALL mean no limit. Raises: UnsupportedSQL."""
    clause = query.args.get(part)
    fetch = query.args.get("limit") if part == "limit" else None
    if clause is None:
        return None
    node = fetch.args.get("count") if isinstance(fetch, exp.Fetch) else clause.expression
    if node is None and isinstance(fetch, exp.Fetch):
        return 1  # FETCH FIRST ROW ONLY
    if isinstance(node, exp.Null) or (isinstance(node, exp.Var) and node.name.upper() == "ALL"):
        return None
    if not (isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()):
        message = f"{part.upper()} takes a whole number"
        raise UnsupportedSQL(message, hint="write the number", position=position_of(clause))
    return min(int(node.name[:20]), _MAX_ROWS)
