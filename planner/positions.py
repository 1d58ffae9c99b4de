"""Where in the statement a piece of SQL stands."""

from __future__ import annotations

from sqlglot import exp


def position_of(node: exp.Expr) -> int | None:
    """The 1-based offset of the first token of `node` that sqlglot remembers, or None. Cost: linear in the node."""
    starts = [child.meta["start"] for child in node.walk() if child.meta and "start" in child.meta]
    return min(starts) + 1 if starts else None
