"""Averages, variances, correlations and regressions: quotients of sums that are measured together.

    avg(x)          c + S(x) / n
    var_pop(x)      S(x x) / n - (S(x) / n)^2, at least 0
    covar_pop(y, x) (S(x y) - S(x) S(y) / n) / n
    corr(y, x)      S_xy / sqrt(S_xx S_yy), from -1 to 1, with S_xy = S(x y) - S(x) S(y) / n

where n counts the rows in which everything is known, and S(x) adds up x - c for a public constant c. Variances and
correlations are the same for every c. Far from 0, sums around 0 are large numbers that cancel: of temperatures from
35 to 42 the noise of the squares would drown a variance of 0.3. So c is the middle of the range there (`centre`).
Noise can make a variance negative, where it is 0, and a correlation larger than 1, where it is 1: post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from planner.expressions.intervals import Bounds
from planner.released_expression import Apply, Given, ReleasedExpression, ReleasedValue
from planner.sql.trees import copied

SPREADS = (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
"""Of one argument."""

PAIRED = (
    exp.CovarPop, exp.CovarSamp, exp.Corr, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount,
    exp.RegrAvgx, exp.RegrAvgy,
)  # fmt: skip
"""Of two, the dependent one first, as PostgreSQL has them."""

_SAMPLED = (exp.Stddev, exp.StddevSamp, exp.Variance, exp.CovarSamp)
_ROOTED = (exp.Stddev, exp.StddevSamp, exp.StddevPop)

_FAR = 4.0
"""A range that is not wider than so many times its distance from 0 is far from it."""


def centre(bounds: Bounds | None) -> float:
    """The public constant c: the middle of a range that is far from 0, else 0.

    Where the range begins near 0, most values are far below its end as a rule (costs, durations, counts), and sums
    around 0 are cut at what people really add.

    >>> centre(Bounds(35.0, 42.0, 0.1, False)), centre(Bounds(0.0, 120.0, 1.0, True)), centre(None)
    (38.5, 0.0, 0.0)
    """
    if bounds is None or bounds.lo == bounds.hi:
        return 0.0
    low, high = (bounds.lo, bounds.hi) if bounds.lo > 0 else (-bounds.hi, -bounds.lo)
    return (bounds.lo + bounds.hi) / 2 if low > 0 and low * _FAR >= high - low else 0.0


@dataclass(frozen=True)
class Centred:
    """An argument, and the constant that is taken off it.

    Attributes:
      value: SQL with its columns bound, NULL where any argument of the aggregate is.
      constant: c.
      bounds: the declared range that values lie in; None where none is known.
    """

    value: exp.Expr
    constant: float
    bounds: Bounds | None = None

    @property
    def tree(self) -> exp.Expr:
        """The argument around its centre, x - c, as SQL; the argument itself where c is 0."""
        if not self.constant:
            return copied(self.value)
        taken: exp.Expr = exp.Literal.number(repr(abs(self.constant)))
        kind = exp.Sub if self.constant > 0 else exp.Add
        return exp.Paren(this=kind(this=exp.Paren(this=copied(self.value)), expression=taken))


Count = Callable[[], ReleasedValue]


class Total(Protocol):
    """The released sum of an expression over the rows."""

    def __call__(self, tree: exp.Expr, over: ReleasedValue | None = None) -> ReleasedValue:
        """The sum; `over`: the count of rows, where the sum only serves an average."""
        ...


Product = Callable[[exp.Expr, tuple[ReleasedValue, ReleasedValue, ReleasedValue]], ReleasedValue]
"""The released sum of a product, given S(x), S(y) and n, around whose quotients it may be measured."""


@dataclass(frozen=True)
class Moments:
    """The released sums of one aggregate's arguments.

    Attributes:
      count: n.
      total: S.
      product: S of a product.
    """

    count: Count
    total: Total
    product: Product

    def average(self, x: Centred) -> ReleasedExpression:
        """c + S(x) / n, which lies in the range of x: what noise moved out of it is moved back."""
        count = self.count()
        mean: ReleasedExpression = Apply("mean", (self.total(x.tree, count), count))
        mean = Apply("+", (Given(x.constant), mean)) if x.constant else mean
        return mean if x.bounds is None else Apply("within", (mean, Given(x.bounds.lo), Given(x.bounds.hi)))

    def spread(self, call: exp.Expr, x: Centred) -> ReleasedExpression:
        """A variance or standard deviation."""
        squares = _at_least_zero(self._around(x, x))
        found = _enough(self._divisor(call), squares)
        return Apply("sqrt", (found,)) if isinstance(call, _ROOTED) else found

    def paired(self, call: exp.Expr, y: Centred, x: Centred) -> ReleasedExpression:
        """A covariance, correlation or part of a regression line."""
        if isinstance(call, exp.RegrCount):
            return self.count()
        if isinstance(call, (exp.RegrAvgx, exp.RegrAvgy)):
            return self.average(x if isinstance(call, exp.RegrAvgx) else y)
        if isinstance(call, (exp.CovarPop, exp.CovarSamp)):
            return _enough(self._divisor(call), self._around(x, y))
        within = _at_least_zero(self._around(x, x))
        if isinstance(call, (exp.RegrSlope, exp.RegrIntercept)):
            slope: ReleasedExpression = Apply("/", (self._around(x, y), within))
            if isinstance(call, exp.RegrSlope):
                return slope
            return Apply("-", (self.average(y), Apply("*", (slope, self.average(x)))))
        roots = Apply("*", (Apply("sqrt", (within,)), Apply("sqrt", (_at_least_zero(self._around(y, y)),))))
        least: ReleasedExpression = Apply("greatest", (Given(-1.0), Apply("/", (self._around(x, y), roots))))
        # GREATEST and LEAST pass over NULL, which says that there is no correlation.
        within_one: ReleasedExpression = Apply("least", (Given(1.0), least))
        corr = Apply("case", (Apply("is null", (Apply("/", (Given(1.0), roots)),)), Given(None), within_one))
        return Apply("*", (corr, corr)) if isinstance(call, exp.RegrR2) else corr

    def _around(self, x: Centred, y: Centred) -> ReleasedExpression:
        """S_xy = S(x y) - S(x) S(y) / n, the sum of products around the means."""
        beside = self.total(x.tree), self.total(y.tree), self.count()
        return Apply("around", (self.product(exp.Mul(this=x.tree, expression=y.tree), beside), *beside))

    def _divisor(self, call: exp.Expr) -> ReleasedExpression:
        """n, or n - 1 of a sample."""
        return Apply("-", (self.count(), Given(1))) if isinstance(call, _SAMPLED) else self.count()


def _at_least_zero(value: ReleasedExpression) -> ReleasedExpression:
    """GREATEST passes over NULL, which has to stay: of no rows there is no variance."""
    return Apply("case", (Apply("is null", (value,)), Given(None), Apply("greatest", (Given(0.0), value))))


def _enough(divisor: ReleasedExpression, value: ReleasedExpression) -> ReleasedExpression:
    """The quotient where there are rows enough, by the noisy count; else NULL."""
    return Apply("case", (Apply(">", (divisor, Given(0))), Apply("/", (value, divisor)), Given(None)))
