"""Intervals of what several noisy values have a part in: windows, sums over rows, and quotients of such.

Noises of the counts and sums of one answer are independent, in every group. So a value that is linear in them is off
by no more than the root of the sum of the squares of what each may be off by. Of normal noise that is its quantile;
of Laplace noise it is somewhat more, as a sum of several has lighter tails in multiples of its deviation. A quotient
of two such values lies where the numerator, less so many times the denominator, is within its own reach of 0
(Fieller, 1954). All of it is written as SQL beside the value, and computed by the same database.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from planner.sql.trees import copied, holds

_NUMBERS = frozenset({"SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE"})

Half = Callable[[exp.Column], exp.Expr | Literal["exact"] | None]
"""SQL of half the interval of a column with independent noise; `exact`; None for any other noise."""


@dataclass(frozen=True)
class _Linear:
    """An expression that is linear in noisy values.

    Attributes:
      square: SQL of the square of how far it may be off; None of what is exact.
      columns: the noisy columns that it follows from.
      factor: of one column of its own row, or of the sum of one column over rows that this one is among: what it is
        multiplied with; None of anything else.
      own: is it of its own row alone?
    """

    square: exp.Expr | None = None
    columns: frozenset[str] = field(default_factory=frozenset)
    factor: float | None = None
    own: bool = False


def joint_ends(tree: exp.Expr, half: Half, *, grouped: bool) -> tuple[exp.Expr, exp.Expr] | None:
    """SQL of the ends of an expression's interval; None where they are not known.

    Args:
      tree: over one answer, of whose rows none is there twice.
      half: what each column may be off by.
      grouped: may aggregates stand in it that are no windows?
    """
    if isinstance(tree, exp.Div):
        return _quotient(tree, half, grouped)
    found = _linear(tree, half, grouped)
    if found is None or found.square is None:
        return None
    return (
        exp.Sub(this=exp.Paren(this=copied(tree)), expression=_root(found.square)),
        exp.Add(this=exp.Paren(this=copied(tree)), expression=_root(found.square)),
    )


def _linear(tree: exp.Expr, half: Half, grouped: bool) -> _Linear | None:
    if isinstance(tree, exp.Column):
        found = half(tree)
        if found is None or found == "exact":
            return None if found is None else _Linear()
        assert isinstance(found, exp.Expr), "SQL"
        return None if grouped else _Linear(_squared(found), frozenset({tree.sql()}), 1.0, own=True)
    if written_number(tree) is not None:
        return _Linear()
    if isinstance(tree, exp.Paren) or (isinstance(tree, exp.Cast) and tree.to.this.name in _NUMBERS):
        return _linear(tree.this, half, grouped)
    if isinstance(tree, exp.Neg):
        return _scaled(_linear(tree.this, half, grouped), -1.0)
    if isinstance(tree, (exp.Mul, exp.Div)):
        by = written_number(tree.right)
        if by is not None and (by or isinstance(tree, exp.Mul)):
            return _scaled(
                _linear(tree.left, half, grouped), by if isinstance(tree, exp.Mul) else 1 / by if by else 0.0
            )
        by = written_number(tree.left) if isinstance(tree, exp.Mul) else None
        return None if by is None else _scaled(_linear(tree.right, half, grouped), by)
    if isinstance(tree, (exp.Add, exp.Sub)):
        return _added(_linear(tree.left, half, grouped), _linear(tree.right, half, grouped))
    if isinstance(tree, exp.Coalesce) and all(written_number(one) is not None for one in tree.expressions):
        inner = _linear(tree.this, half, grouped)
        if inner is None or inner.square is None:
            return inner
        nothing = exp.Coalesce(this=inner.square, expressions=[exp.Literal.number(0)])
        return _Linear(nothing, inner.columns)
    if isinstance(tree, exp.Window):
        return _over_rows(tree.this, half, lambda aggregate: _window(tree, aggregate), _is_of_all(tree))
    return _over_rows(tree, half, lambda aggregate: aggregate, False) if grouped else None


def _over_rows(
    aggregate: exp.Expr, half: Half, around: Callable[[exp.Expr], exp.Expr], of_all: bool
) -> _Linear | None:
    """A sum or a mean over rows, or the value of another row."""
    if not isinstance(aggregate, (exp.Sum, exp.Avg, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)):
        return None
    if holds(aggregate.this, exp.Window, exp.Distinct, exp.AggFunc):
        return None
    inner = _linear(aggregate.this, half, grouped=False)
    if inner is None or inner.square is None:
        return inner
    if isinstance(aggregate, (exp.Sum, exp.Avg)):
        added = around(exp.Sum(this=inner.square))
        factor = inner.factor if of_all and inner.own and isinstance(aggregate, exp.Sum) else None
        if isinstance(aggregate, exp.Sum):
            return _Linear(added, inner.columns, factor)
        count = around(exp.Count(this=copied(aggregate.this)))
        return _Linear(divided(added, _squared(count)), inner.columns)
    other = copied(aggregate)
    other.set("this", inner.square)
    if other.args.get("default") is not None:
        if written_number(other.args["default"]) is None:
            return None
        other.set("default", exp.Literal.number(0))
    apart = isinstance(aggregate, (exp.Lag, exp.Lead)) and _steps(aggregate) != 0
    columns = frozenset(f"{name} of another row" for name in inner.columns) if apart else inner.columns
    return _Linear(around(other), columns)


def _steps(aggregate: exp.Expr) -> float:
    """How many rows away the value is that LAG or LEAD shows; 0 where that is not plain to see."""
    offset = aggregate.args.get("offset")
    return 1.0 if offset is None else written_number(offset) or 0.0


def _window(window: exp.Window, aggregate: exp.Expr) -> exp.Window:
    found = copied(window)
    found.set("this", aggregate)
    return found


def _is_of_all(window: exp.Window) -> bool:
    """Is it over all rows of a partition, so that each row is among them?"""
    return not any(window.args.get(name) for name in ("order", "spec", "alias"))


def _scaled(inner: _Linear | None, by: float) -> _Linear | None:
    if inner is None or inner.square is None:
        return inner
    square = exp.Mul(this=inner.square, expression=exp.Literal.number(repr(by * by)))
    return replace(inner, square=square, factor=None if inner.factor is None else inner.factor * by)


def _added(left: _Linear | None, right: _Linear | None) -> _Linear | None:
    """A sum or a difference; of what may follow from the same noise what both are off by together."""
    if left is None or right is None:
        return None
    if left.square is None or right.square is None:
        known = right if left.square is None else left
        return replace(known, factor=None, own=False)
    columns = left.columns | right.columns
    if not left.columns & right.columns:
        both = exp.Add(this=copied(left.square), expression=copied(right.square))
        return _Linear(exp.Paren(this=both), columns)
    both = exp.Add(this=_root(left.square), expression=_root(right.square))
    return _Linear(_squared(exp.Paren(this=both)), columns)


def _quotient(tree: exp.Div, half: Half, grouped: bool) -> tuple[exp.Expr, exp.Expr] | None:
    """By Fieller: bounded where the denominator is told from 0, and without ends elsewhere."""
    below = tree.right.this if isinstance(tree.right, exp.Nullif) else tree.right
    top, bottom = _linear(tree.left, half, grouped), _linear(below, half, grouped)
    if top is None or bottom is None or bottom.square is None:
        return None
    nothing = exp.Literal.number(0)
    shared: exp.Expr = nothing
    if top.square is not None and top.columns & bottom.columns:
        if not (top.own and top.factor and bottom.factor):
            return None
        shared = exp.Mul(this=top.square, expression=exp.Literal.number(repr(bottom.factor / top.factor)))
    n, d = exp.Paren(this=copied(tree.left)), exp.Paren(this=copied(below))
    leading = _minus(_squared(d), bottom.square)
    middle = _minus(exp.Mul(this=n, expression=d), shared)
    last = _minus(_squared(n), top.square or nothing)
    inside = _minus(_squared(middle), exp.Mul(this=leading, expression=last))
    reach = _root(inside)

    def end(sign: type[exp.Binary]) -> exp.Expr:
        value = divided(exp.Paren(this=sign(this=middle, expression=reach)), leading)
        positive = exp.GT(this=copied(leading), expression=copied(nothing))
        return copied(exp.Case(ifs=[exp.If(this=positive, true=value)]))

    return end(exp.Sub), end(exp.Add)


def divided(above: exp.Expr, below: exp.Expr) -> exp.Div:
    """A quotient of numerics, which both databases read as it stands: without `typed` one is made of doubles."""
    return exp.Div(this=above, expression=below, typed=True)


def _root(square: exp.Expr) -> exp.Expr:
    """The root; 0 of what rounding has put below it, and NULL of NULL."""
    nothing = exp.Literal.number(0)
    positive = exp.If(this=exp.GT(this=copied(square), expression=nothing), true=exp.Sqrt(this=copied(square)))
    other = exp.If(this=exp.LTE(this=copied(square), expression=copied(nothing)), true=copied(nothing))
    return exp.Case(ifs=[positive, other])


def _squared(tree: exp.Expr) -> exp.Expr:
    inner = exp.Paren(this=copied(tree))
    return exp.Paren(this=exp.Mul(this=inner, expression=copied(inner)))


def _minus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=copied(left), expression=exp.Paren(this=copied(right))))


def written_number(node: exp.Expr) -> float | None:
    """A number that stands in the statement, with its sign."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = written_number(node.this)
        return None if inner is None else -inner
    return float(node.name) if isinstance(node, exp.Literal) and not node.is_string else None
