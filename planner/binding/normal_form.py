"""One form for the conditions that differ in spelling only, so that one question has one plan."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import itemgetter

from sqlglot import exp

from planner.sql.columns import column_ref
from planner.sql.trees import children

_MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}

_Key = tuple[bool, tuple[str, ...]]


def normal_form(conditions: Iterable[exp.Expr]) -> tuple[exp.Expr, ...]:
    """The conditions of a conjunction without repetition and TRUE, in an order of their own; columns before literals.

    A condition raises for no row, so neither their order nor that of their sides means anything.

    >>> from sqlglot import parse_one
    >>> [condition.sql() for condition in normal_form(map(parse_one, ["b.y > a.x", "3 < a.x", "a.x > 3"]))]
    ['a.x > 3', 'a.x < b.y']
    """
    keyed = [_oriented(condition) for condition in conditions if condition != exp.true()]
    keyed.sort(key=itemgetter(0))
    repeated = [False, *(one == other for one, other in pairwise(keyed))]  # trees are compared where keys are equal
    return tuple(condition for (_, condition), again in zip(keyed, repeated, strict=False) if not again)


def _oriented(condition: exp.Expr) -> tuple[_Key, exp.Expr]:
    """The condition with the smaller side on the left, and its key."""
    mirrored = _MIRRORED.get(type(condition))
    if mirrored is None:
        return _key(condition), condition
    left, right = _key(condition.this), _key(condition.expression)
    if right < left:
        left, right = right, left
        condition = mirrored(this=condition.expression, expression=condition.this)
    return (left[0] and right[0], (type(condition).__name__, *left[1], *right[1])), condition


def _key(node: exp.Expr) -> _Key:
    """What is written, in the order of the tree; without a column last. Good for an order, too weak for equality."""
    if isinstance(node, exp.Column):
        return False, column_ref(node)
    words: list[str] = []
    constant = True
    stack: list[exp.Expr] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, exp.Column):
            constant = False
            words += column_ref(current)
            continue
        words.append(type(current).__name__)
        words += [str(value) for value in current.args.values() if value is not None and not _is_tree(value)]
        stack += reversed(children(current))
    return constant, tuple(words)


def _is_tree(value: object) -> bool:
    return isinstance(value, (exp.Expr, list))
