"""`(a, b) IN ((1, 2), (3, 4))` and `(a, b) < (1, 2)`: the comparisons of their parts that they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from planner.sql.trees import copied, nodes

_ORDERED: dict[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.LT, exp.LTE: exp.LT, exp.GT: exp.GT, exp.GTE: exp.GT}
"""By how rows are compared: how a part must be for the rest not to matter."""

_MOST_NODES = 1 << 15
"""Copies of the row on the left of IN, in nodes of the tree."""

_AFTER_A_ROW = re.compile(r"\)\s*(?:[<>=!]|(?:NOT\s+)?IN\b)", re.IGNORECASE)


def may_compare_rows(sql: str) -> bool:
    """Is there a comparison behind a parenthesis? A walk through the tree is made only then."""
    return _AFTER_A_ROW.search(sql) is not None


def row_comparisons(tree: exp.Query) -> None:
    """Write comparisons of rows with rows of as many parts as PostgreSQL defines them, in place.

    Rows are equal where all parts are. One is less where its first part is less, or is equal and the rest is less;
    NULL decides as it does there: it makes the comparison unknown unless a part before it has decided. Everything
    else stays, and is refused by the grammar: rows inside rows, and long lists beside large expressions.

    Args:
      tree: a statement; it is changed.
    Cost: linear, and for IN the rows times the size of its left side.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("SELECT 1 FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND (a, b) <= (5, 6)", dialect="postgres")
    >>> row_comparisons(tree)
    >>> tree.sql("postgres")
    'SELECT 1 FROM t WHERE ((a = 1 AND b = 2) OR (a = 3 AND b = 4)) AND (a < 5 OR (a = 5 AND b <= 6))'
    """
    for node in nodes(tree):
        written: exp.Expr | None = None
        if isinstance(node, exp.In) and node.args.get("query") is None:
            rows = [_parts(row) for row in node.expressions]
            left = _parts(node.this)
            same = bool(left and rows) and all(row is not None and len(row) == len(left or ()) for row in rows)
            if left and same and len(rows) * len(nodes(node.this)) <= _MOST_NODES:
                written = _any([_equal(node, left, row) for row in rows if row is not None])
        elif isinstance(node, (exp.EQ, exp.NEQ, *_ORDERED)):
            left, right = _parts(node.this), _parts(node.expression)
            if left and right and len(left) == len(right):
                written = _compared(node, left, right)
        if written is not None:
            node.replace(exp.Paren(this=written.unnest()))


def _parts(node: exp.Expr) -> list[exp.Expr] | None:
    """The parts of a row of several; None for anything else."""
    row = node.unnest()
    return list(row.expressions) if isinstance(row, exp.Tuple) and len(row.expressions) > 1 else None


def _compared(node: exp.Expr, left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> exp.Expr:
    if isinstance(node, exp.EQ):
        return _equal(node, left, right)
    if isinstance(node, exp.NEQ):
        return _any([_pair(node, exp.NEQ, a, b) for a, b in zip(left, right, strict=True)])
    last = len(left) == 1
    first = _pair(node, type(node) if last else _ORDERED[type(node)], left[0], right[0])
    if last:
        return first
    rest = exp.And(this=_pair(node, exp.EQ, left[0], right[0]), expression=_compared(node, left[1:], right[1:]))
    return exp.Paren(this=exp.Or(this=first, expression=exp.Paren(this=rest)))


def _equal(node: exp.Expr, left: Sequence[exp.Expr], right: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Paren(this=_halved([_pair(node, exp.EQ, a, b) for a, b in zip(left, right, strict=True)], exp.And))


def _any(conditions: list[exp.Expr]) -> exp.Expr:
    return exp.Paren(this=_halved(conditions, exp.Or))


def _halved(conditions: list[exp.Expr], joined: Callable[..., exp.Expr]) -> exp.Expr:
    """Joined two by two, so that a long list makes no deep tree."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return joined(this=_halved(conditions[:middle], joined), expression=_halved(conditions[middle:], joined))


def _pair(node: exp.Expr, kind: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    pair = kind(this=copied(left), expression=copied(right))
    pair.meta.update(node.meta)
    return pair
