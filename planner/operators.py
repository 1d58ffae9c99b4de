"""`+`, `-` and `*`, which mean one thing for numbers and another for dates."""

from __future__ import annotations

from sqlglot import exp

from planner import moments, numbers
from planner.scalar import Binder, Scalar


def arithmetic(node: exp.Expr, binder: Binder) -> Scalar:
    """`+`, `-`, `*` of numbers; `+` and `-` of moments, too."""
    assert isinstance(node, exp.Binary), "an operator"
    if any(isinstance(part.unnest(), exp.Interval) for part in (node.left, node.right)):
        return moments.shifted(node, binder)
    left, right = binder.scalar(node.left), binder.scalar(node.right)
    if any(part.type is not None and part.type.is_moment for part in (left, right)):
        return moments.of_days(node, left, right, binder)
    return numbers.combined(node, left, right, binder)
