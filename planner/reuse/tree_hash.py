"""Names of expressions: hashes that are equal where the planner wrote the same."""

from __future__ import annotations

import hashlib

from sqlglot import exp

_BYTES = 16


def tree_hash(tree: exp.Expr) -> str:
    """Name a planned expression: its tables by generated aliases, its literals as they are written for databases.

    Returns: 128 bits of SHA-256 in hex. Who may read it can test a guess, and learns no more.
    """
    return text_hash(tree.sql("postgres"))


def text_hash(text: str) -> str:
    """As `tree_hash`, of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[: 2 * _BYTES]


class TreeHashes:
    """The hashes of the nodes of some trees, each worked out once. The trees live as long as this does, unchanged."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[exp.Expr, str]] = {}

    def of(self, node: exp.Expr) -> str:
        """The hash of a node."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = node, tree_hash(node)  # with the node, whose id is then no other's
        return found[1]
