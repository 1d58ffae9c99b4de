"""Computes intervals of windows, sums over rows and quotients of noisy values (docs/mathematics.md, section 9.3).

Noises of one answer's counts and sums are independent, so the half-width of a linear expression is the root of the
sum of squared half-widths. A quotient has the ends of Fieller (1954). What truncation may have removed has one cause
in all groups, on one side, so it adds up. The ends are SQL, computed by the same database.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from planner.sql.trees import copied, holds

_NUMBERS = frozenset({"SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE"})


@dataclass(frozen=True)
class Reach:
    """SQL of how far the truth may be from a noisy value.

    Attributes:
      noise: the half-width, by noise that is independent of other columns.
      below, above: the distance beyond the noise on that side; None for none.
    """

    noise: exp.Expr
    below: exp.Expr | None = None
    above: exp.Expr | None = None


ReachOf = Callable[[exp.Column], Reach | Literal["exact"] | None]
"""The reach of a column; `exact`; None for noise that is not independent."""

_Change = Callable[[exp.Expr], exp.Expr]


@dataclass(frozen=True)
class _Linear:
    """An expression that is linear in noisy values.

    Attributes:
      square: SQL of the squared half-width; None for an exact value.
      below, above: SQL of the distance beyond the noise on that side; None for none.
      columns: the noisy columns that it depends on.
      factor: the coefficient, if it depends on one column of its own row, or on the sum of one column over rows that
        include its own; None otherwise.
      own: does it depend on its own row only?
    """

    square: exp.Expr | None = None
    below: exp.Expr | None = None
    above: exp.Expr | None = None
    columns: frozenset[str] = field(default_factory=frozenset)
    factor: float | None = None
    own: bool = False

    def each(self, square: _Change, beyond: _Change) -> _Linear:
        """Carry it over to other rows: change the square and what is beyond the noise."""
        assert self.square is not None, "noisy"
        below, above = (None if one is None else beyond(one) for one in (self.below, self.above))
        return _Linear(square(self.square), below, above, self.columns)

    def turned(self) -> _Linear:
        """Swap the sides, for the negative of the expression."""
        return replace(self, below=self.above, above=self.below)

    def widened(self) -> _Linear:
        """Reach as far on either side as on the farther one."""
        sides = [one for one in (self.below, self.above) if one is not None]
        farther = exp.Greatest(this=sides[0], expressions=sides[1:]) if sides else None
        return replace(self, below=farther, above=farther)

    @property
    def is_even(self) -> bool:
        """Is there nothing beyond the noise?"""
        return self.below is None and self.above is None


def joint_ends(tree: exp.Expr, reach: ReachOf, *, grouped: bool) -> tuple[exp.Expr, exp.Expr] | None:
    """Return SQL of the ends of an expression's interval; None if they are not known.

    Args:
      tree: an expression over one answer, none of whose rows is repeated.
      reach: the reach of each column.
      grouped: may it have aggregates that are no windows?
    """
    if isinstance(tree, exp.Div):
        return _quotient(tree, reach, grouped)
    found = _linear(tree, reach, grouped)
    if found is None or found.square is None:
        return None
    low, high = _corners(exp.Paren(this=copied(tree)), found)
    root = _root(found.square)
    return exp.Sub(this=low, expression=root), exp.Add(this=high, expression=copied(root))


def _linear(tree: exp.Expr, reach: ReachOf, grouped: bool) -> _Linear | None:
    if isinstance(tree, exp.Column):
        found = reach(tree)
        if found is None or found == "exact":
            return None if found is None else _Linear()
        assert isinstance(found, Reach), "SQL"
        if grouped:
            return None
        return _Linear(_squared(found.noise), found.below, found.above, frozenset({tree.sql()}), 1.0, own=True)
    if written_number(tree) is not None:
        return _Linear()
    if isinstance(tree, exp.Paren) or (isinstance(tree, exp.Cast) and tree.to.this.name in _NUMBERS):
        return _linear(tree.this, reach, grouped)
    if isinstance(tree, exp.Neg):
        return _scaled(_linear(tree.this, reach, grouped), -1.0)
    if isinstance(tree, (exp.Mul, exp.Div)):
        by = written_number(tree.right)
        if by is not None and (by or isinstance(tree, exp.Mul)):
            return _scaled(
                _linear(tree.left, reach, grouped), by if isinstance(tree, exp.Mul) else 1 / by if by else 0.0
            )
        by = written_number(tree.left) if isinstance(tree, exp.Mul) else None
        return None if by is None else _scaled(_linear(tree.right, reach, grouped), by)
    if isinstance(tree, (exp.Add, exp.Sub)):
        right = _linear(tree.right, reach, grouped)
        if right is not None and isinstance(tree, exp.Sub):
            right = right.turned()
        return _added(_linear(tree.left, reach, grouped), right)
    if isinstance(tree, exp.Coalesce) and all(written_number(one) is not None for one in tree.expressions):
        inner = _linear(tree.this, reach, grouped)
        if inner is None or inner.square is None:
            return inner

        def there(one: exp.Expr) -> exp.Expr:
            return exp.Coalesce(this=one, expressions=[exp.Literal.number(0)])

        return inner.each(there, there)
    if isinstance(tree, exp.Window):
        return _over_rows(tree.this, reach, lambda aggregate: _window(tree, aggregate), _is_of_all(tree))
    return _over_rows(tree, reach, lambda aggregate: aggregate, False) if grouped else None


def _over_rows(
    aggregate: exp.Expr, reach: ReachOf, around: Callable[[exp.Expr], exp.Expr], of_all: bool
) -> _Linear | None:
    """Handle a sum or mean over rows, or the value of another row."""
    if not isinstance(aggregate, (exp.Sum, exp.Avg, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)):
        return None
    if holds(aggregate.this, exp.Window, exp.Distinct, exp.AggFunc):
        return None
    inner = _linear(aggregate.this, reach, grouped=False)
    if inner is None or inner.square is None:
        return inner
    if isinstance(aggregate, (exp.Sum, exp.Avg)):
        kind, count = type(aggregate), _squared(around(exp.Count(this=copied(aggregate.this))))

        def squares(one: exp.Expr) -> exp.Expr:
            added = around(exp.Sum(this=one))
            return added if kind is exp.Sum else divided(added, copied(count))

        found = inner.each(squares, lambda one: around(kind(this=one)))
        of_one = of_all and inner.own and kind is exp.Sum
        return replace(found, factor=inner.factor) if of_one else found
    given = aggregate.args.get("default")
    if given is not None and written_number(given) is None:
        return None

    def other(one: exp.Expr) -> exp.Expr:
        found = copied(aggregate)
        found.set("this", one)
        if given is not None:
            found.set("default", exp.Literal.number(0))
        return around(found)

    apart = isinstance(aggregate, (exp.Lag, exp.Lead)) and _steps(aggregate) != 0
    columns = frozenset(f"{name} of another row" for name in inner.columns) if apart else inner.columns
    return replace(inner.each(other, other), columns=columns)


def _steps(aggregate: exp.Expr) -> float:
    """Return how many rows LAG or LEAD look away; 0 if it is not a literal."""
    offset = aggregate.args.get("offset")
    return 1.0 if offset is None else written_number(offset) or 0.0


def _window(window: exp.Window, aggregate: exp.Expr) -> exp.Window:
    found = copied(window)
    found.set("this", aggregate)
    return found


def _is_of_all(window: exp.Window) -> bool:
    """Is it over all rows of a partition, the current one included?"""
    return not any(window.args.get(name) for name in ("order", "spec", "alias"))


def _scaled(inner: _Linear | None, by: float) -> _Linear | None:
    if inner is None or inner.square is None:
        return inner

    def times(factor: float) -> _Change:
        return lambda one: exp.Mul(this=one, expression=exp.Literal.number(repr(factor)))

    found = inner.each(times(by * by), times(abs(by)))
    found = replace(found, factor=None if inner.factor is None else inner.factor * by, own=inner.own)
    return found if by >= 0 else found.turned()


def _added(left: _Linear | None, right: _Linear | None) -> _Linear | None:
    """Add two expressions. If they share noise, their half-widths add; otherwise the squares do."""
    if left is None or right is None:
        return None
    if left.square is None or right.square is None:
        known = right if left.square is None else left
        return replace(known, factor=None, own=False)
    sides = _both(left.below, right.below), _both(left.above, right.above)
    columns = left.columns | right.columns
    if not left.columns & right.columns:
        return _Linear(_plus(left.square, right.square), *sides, columns)
    both = exp.Add(this=_root(left.square), expression=_root(right.square))
    return _Linear(_squared(exp.Paren(this=both)), *sides, columns)


def _both(left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
    return _plus(left, right) if left is not None and right is not None else left or right


def _corners(tree: exp.Expr, of: _Linear) -> tuple[exp.Expr, exp.Expr]:
    """Return the smallest and largest value that the truth may have, apart from noise."""
    low = tree if of.below is None else _minus(tree, of.below)
    return low, tree if of.above is None else _plus(tree, of.above)


def _quotient(tree: exp.Div, reach: ReachOf, grouped: bool) -> tuple[exp.Expr, exp.Expr] | None:
    """Return the ends of a quotient by Fieller's method; NULL where the denominator may be 0."""
    below = tree.right.this if isinstance(tree.right, exp.Nullif) else tree.right
    if isinstance(below, exp.Greatest) and below.expressions == [exp.Literal.number(0)]:
        below = below.this
    top, bottom = _linear(tree.left, reach, grouped), _linear(below, reach, grouped)
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
    reached = _root(inside)

    def end(sign: type[exp.Binary]) -> exp.Expr:
        value = divided(exp.Paren(this=sign(this=middle, expression=reached)), leading)
        positive = exp.GT(this=copied(leading), expression=copied(nothing))
        return copied(exp.Case(ifs=[exp.If(this=positive, true=value)]))

    ends = end(exp.Sub), end(exp.Add)
    return ends if top.is_even and bottom.is_even else _beyond_noise(ends, n, d, top, bottom)


def _beyond_noise(
    ends: tuple[exp.Expr, exp.Expr], n: exp.Expr, d: exp.Expr, top: _Linear, bottom: _Linear
) -> tuple[exp.Expr, exp.Expr]:
    """Return the ends of (N + x) / (D + y) from those of N / D; x and y may be missing on either side.

    It is N / D times D / (D + y), plus x / (D + y). Both are extreme at the least |D|, which is |d| minus its noise.
    An end has the sign of the numerator with its noise. A denominator that is only missing upward is not negative;
    one that is missing downward may have either sign, so both sides reach equally far.
    """
    assert bottom.square is not None, "noisy"
    nothing, size = exp.Literal.number(0), _minus(exp.Abs(this=d), _root(bottom.square))
    if bottom.below is not None:
        top, bottom = top.widened(), bottom.widened()
    least, most = _corners(size, bottom)
    signed = exp.Mul(this=exp.Sign(this=d), expression=n)
    root = _root(top.square or nothing)

    def moved(value: exp.Expr, edge: exp.Expr, above: exp.Expr, below: exp.Expr) -> exp.Expr:
        """Divide an end by one denominator where `edge` is positive, and by the other elsewhere."""
        over = exp.Case(ifs=[exp.If(this=exp.GT(this=edge, expression=nothing), true=above)], default=below)
        return divided(exp.Mul(this=value, expression=size), exp.Paren(this=over))

    low = moved(ends[0], _minus(signed, root), most, least)
    high = moved(ends[1], _plus(signed, root), least, most)
    if top.below is not None:
        low = exp.Sub(this=low, expression=divided(top.below, least))
    if top.above is not None:
        high = exp.Add(this=high, expression=divided(top.above, least))
    known = exp.GT(this=least, expression=nothing)
    return copied(exp.Case(ifs=[exp.If(this=known, true=low)])), copied(exp.Case(ifs=[exp.If(this=known, true=high)]))


def divided(above: exp.Expr, below: exp.Expr) -> exp.Div:
    """Return a quotient of numerics; without `typed` the parser library would cast it to doubles."""
    return exp.Div(this=above, expression=below, typed=True)


def _root(square: exp.Expr) -> exp.Expr:
    """Return the root; 0 for a negative rounding error, NULL for NULL."""
    nothing = exp.Literal.number(0)
    positive = exp.If(this=exp.GT(this=copied(square), expression=nothing), true=exp.Sqrt(this=copied(square)))
    other = exp.If(this=exp.LTE(this=copied(square), expression=copied(nothing)), true=copied(nothing))
    return exp.Case(ifs=[positive, other])


def _squared(tree: exp.Expr) -> exp.Expr:
    inner = exp.Paren(this=copied(tree))
    return exp.Paren(this=exp.Mul(this=inner, expression=copied(inner)))


def _plus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Add(this=copied(left), expression=copied(right)))


def _minus(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Sub(this=copied(left), expression=exp.Paren(this=copied(right))))


def written_number(node: exp.Expr) -> float | None:
    """Return the value of a number literal with its sign; None for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = written_number(node.this)
        return None if inner is None else -inner
    return float(node.name) if isinstance(node, exp.Literal) and not node.is_string else None
