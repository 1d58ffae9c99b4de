"""Where in the statement a piece of SQL stands."""

from __future__ import annotations

from sqlglot import exp

from planner.trees import nodes


def position_of(node: exp.Expr) -> int | None:
    """The 1-based offset of the first token of `node` that sqlglot remembers, or None. Cost: linear in the node."""
    starts = [part._meta["start"] for part in nodes(node) if part._meta and "start" in part._meta]
    return min(starts) + 1 if starts else None
