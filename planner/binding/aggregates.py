"""Binds aggregate calls, from COUNT to regressions, quantiles and extremes, to counts and sums over the join tuples.

Averages, variances, correlations and regressions are quotients of sums that are measured together:

    avg(x)          c + S(x) / n
    var_pop(x)      S(x x) / n - (S(x) / n)^2, at least 0
    covar_pop(y, x) (S(x y) - S(x) S(y) / n) / n
    corr(y, x)      S_xy / sqrt(S_xx S_yy), from -1 to 1, with S_xy = S(x y) - S(x) S(y) / n

Here n counts the rows in which every argument is known, and S(x) adds up x - c for a public centre c. Variances and
correlations do not depend on c, but their noise does: squares of temperatures from 35 to 42 would drown a variance of
0.3 (docs/mathematics.md, section 4.4). Quantiles and extremes select a value on a public grid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal

from sqlglot import exp

from planner.binding.bound_query import BoundAggregate
from planner.binding.conditions import is_null
from planner.binding.output_names import construct_name
from planner.binding.scope import Scope
from planner.errors import AmbiguousFunction, InvalidSyntax, SensitivityUnbounded, UnsupportedSQL
from planner.expressions.bind_scalar import bind_measure, bind_predicate, bind_scalar
from planner.expressions.canonical_value import distinct_value, joint_value
from planner.expressions.coercion import sample
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Scalar, repeated
from planner.parsing.aggregate_spellings import SUM_BY_KEY
from planner.parsing.postgres_parser import LABEL
from planner.released_expression import Apply, Given, ReleasedExpression, ReleasedValue
from planner.sql.literals import constant, constant_text, number_sql
from planner.sql.rank_grid import RATIO, AskedRank, Grid
from planner.sql.sql_types import Family, ResultType, SqlType
from planner.sql.trees import cast_sql, columns_of, conjunction, copied, holds, nodes, position_of, summed_column

SPREADS = (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)
"""Aggregates of one argument."""

PAIRED = (
    exp.CovarPop, exp.CovarSamp, exp.Corr, exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount,
    exp.RegrAvgx, exp.RegrAvgy,
)  # fmt: skip
"""Aggregates of two arguments, the dependent one first, as in PostgreSQL."""

_SAMPLED = (exp.Stddev, exp.StddevSamp, exp.Variance, exp.CovarSamp)
_ROOTED = (exp.Stddev, exp.StddevSamp, exp.StddevPop)

_FAR = 4.0
"""A range is far from 0 if it is at most so many times as wide as its distance from 0."""


def centre(bounds: Bounds | None) -> float:
    """Return the public constant c: the middle of a range that is far from 0, else 0.

    In a range that begins near 0 most values are far below its end (costs, durations, counts).
    Clipping keeps their sums near what people really add.

    >>> centre(Bounds(35.0, 42.0, 0.1, False)), centre(Bounds(0.0, 120.0, 1.0, True)), centre(None)
    (38.5, 0.0, 0.0)
    """
    if bounds is None or bounds.lo == bounds.hi:
        return 0.0
    low, high = (bounds.lo, bounds.hi) if bounds.lo > 0 else (-bounds.hi, -bounds.lo)
    return (bounds.lo + bounds.hi) / 2 if low > 0 and low * _FAR >= high - low else 0.0


@dataclass(frozen=True)
class Centred:
    """SQL of an argument, its constant c and its range. It is NULL where any argument of the call is."""

    value: exp.Expr
    constant: float
    bounds: Bounds | None = None

    @property
    def tree(self) -> exp.Expr:
        """The argument minus c, as SQL."""
        if not self.constant:
            return copied(self.value)
        taken: exp.Expr = exp.Literal.number(repr(abs(self.constant)))
        kind = exp.Sub if self.constant > 0 else exp.Add
        return exp.Paren(this=kind(this=exp.Paren(this=copied(self.value)), expression=taken))


@dataclass(frozen=True)
class Moments:
    """The released sums of one aggregate's arguments.

    Attributes:
      count: releases n.
      total: releases S of an expression, given n where the sum only serves an average.
      product: releases S of a product, given S(x), S(y) and n. It may be measured around their quotients.
    """

    count: Callable[[], ReleasedValue]
    total: Callable[[exp.Expr, ReleasedValue | None], ReleasedValue]
    product: Callable[[exp.Expr, tuple[ReleasedValue, ReleasedValue, ReleasedValue]], ReleasedValue]

    def average(self, x: Centred) -> ReleasedExpression:
        """Return c + S(x) / n, moved into the range of x."""
        count = self.count()
        mean: ReleasedExpression = Apply("mean", (self.total(x.tree, count), count))
        mean = Apply("+", (Given(x.constant), mean)) if x.constant else mean
        return mean if x.bounds is None else Apply("within", (mean, Given(x.bounds.lo), Given(x.bounds.hi)))

    def spread(self, call: exp.Expr, x: Centred) -> ReleasedExpression:
        """Return a variance or standard deviation."""
        squares = _at_least_zero(self._around(x, x))
        found = _enough(self._divisor(call), squares)
        return Apply("sqrt", (found,)) if isinstance(call, _ROOTED) else found

    def paired(self, call: exp.Expr, y: Centred, x: Centred) -> ReleasedExpression:
        """Return a covariance, a correlation or a value of a regression line."""
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
        # GREATEST and LEAST skip NULL, which means that there is no correlation.
        within_one: ReleasedExpression = Apply("least", (Given(1.0), least))
        corr = Apply("case", (Apply("is null", (Apply("/", (Given(1.0), roots)),)), Given(None), within_one))
        return Apply("*", (corr, corr)) if isinstance(call, exp.RegrR2) else corr

    def _around(self, x: Centred, y: Centred) -> ReleasedExpression:
        """Return S_xy = S(x y) - S(x) S(y) / n, the sum of products around the means."""
        beside = self.total(x.tree, None), self.total(y.tree, None), self.count()
        return Apply("around", (self.product(exp.Mul(this=x.tree, expression=y.tree), beside), *beside))

    def _divisor(self, call: exp.Expr) -> ReleasedExpression:
        """Return n, or n - 1 for a sample."""
        return Apply("-", (self.count(), Given(1))) if isinstance(call, _SAMPLED) else self.count()


def _at_least_zero(value: ReleasedExpression) -> ReleasedExpression:
    """Raise a negative value to 0 and keep NULL, which GREATEST would skip."""
    return Apply("case", (Apply("is null", (value,)), Given(None), Apply("greatest", (Given(0.0), value))))


def _enough(divisor: ReleasedExpression, value: ReleasedExpression) -> ReleasedExpression:
    """Return value / divisor, or NULL where the noisy divisor is not positive."""
    return Apply("case", (Apply(">", (divisor, Given(0))), Apply("/", (value, divisor)), Given(None)))


RANKED = (exp.WithinGroup, exp.PercentileCont, exp.PercentileDisc, exp.Median, exp.Max, exp.Min)

_EPOCH = date(1970, 1, 1).toordinal()
_FINEST_S = 60.0
"""The step of timestamps on a grid, in seconds."""

_MOST_BEYOND = 1_000_000_000

_QUANTILE = re.compile(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*", re.ASCII)


def asked_rank(call: exp.Expr) -> tuple[AskedRank, exp.Expr]:
    """Return which rank a call (one of RANKED) asks for, and its argument. Raises: UnsupportedSQL."""
    if isinstance(call, exp.Median):
        return AskedRank(0.5), _plain(call, call.this)
    if isinstance(call, (exp.Max, exp.Min)):
        return AskedRank(beyond=_beyond(call), highest=isinstance(call, exp.Max)), _plain(call, call.this)
    function = call.this if isinstance(call, exp.WithinGroup) else call
    name = function.sql_name().lower() if isinstance(function, exp.Func) else "this function"
    if not isinstance(call, exp.WithinGroup) or not isinstance(function, (exp.PercentileCont, exp.PercentileDisc)):
        hint = f"write {name}(0.5) WITHIN GROUP (ORDER BY x)"
        raise UnsupportedSQL(f"this form of {name} is not supported", hint=hint, at=call)
    ordered = call.expression.expressions
    if len(ordered) != 1:
        hint = "name one column after ORDER BY"
        raise UnsupportedSQL(f"{name} of several columns is not supported", hint=hint, at=call)
    q = _quantile(function, name)
    return AskedRank(1 - q if ordered[0].args.get("desc") else q), _plain(call, ordered[0].this)


def _plain(call: exp.Expr, argument: exp.Expr) -> exp.Expr:
    if isinstance(argument, exp.Star):
        hint = "name the column whose values are ranked: median(x)"
        raise UnsupportedSQL("a quantile or extreme of * is not supported", hint=hint, at=call)
    if isinstance(argument, exp.Distinct) and isinstance(call, (exp.Max, exp.Min)):
        value: exp.Expr = argument.expressions[0]  # of all values and of the distinct ones they are the same
        return value
    if isinstance(argument, exp.Distinct):
        hint = "leave DISTINCT out; GROUP BY x counts how common each value is"
        raise UnsupportedSQL("a quantile or extreme of DISTINCT values is not supported", hint=hint, at=call)
    return argument


def _quantile(function: exp.Expr, name: str) -> float:
    written = constant(function.this)
    if isinstance(written, exp.Parameter):
        written = sample(written, SqlType(Family.FLOAT))
    text = constant_text(written)
    if text is not None and _QUANTILE.fullmatch(text):
        value = float(text)
        if 0 <= value <= 1:
            return value
    hint = f"write a number from 0 to 1, as in {name}(0.5)"
    raise UnsupportedSQL(f"{name} of this argument is not supported", hint=hint, at=function)


def _beyond(call: exp.Expr) -> int | None:
    """Return k of `max(x, k)`, the value that about k privacy units lie beyond; None without k."""
    more = call.expressions
    if not more:
        return None
    written = more[0]
    if len(more) == 1 and isinstance(written, exp.Literal) and written.name.isdigit():
        k = int(written.name)
        if k <= _MOST_BEYOND:
            return k
    name, other = ("max", "greatest") if isinstance(call, exp.Max) else ("min", "least")
    hint = f"{name}(x, 20) returns the value that about 20 people lie beyond; for two columns write {other}(x, y)"
    raise UnsupportedSQL(f"this form of {name.upper()} is not supported", hint=hint, at=call)


def on_grid(call: exp.Expr, argument: exp.Expr, scope: Scope) -> tuple[exp.Expr, Grid]:
    """Place an argument's values on a public grid.

    Numbers are rounded to the nearest step. The grid of whole numbers and of numeric(p, s) has every value, up to
    MOST_STEPS. Dates have a step of a day, timestamps of a minute, or of an hour if the range exceeds eight years.

    Returns: SQL of the step as a bigint in [0, n_codes), NULL for NULL; and the grid.
    Raises: UnsupportedSQL for a type without an order; SensitivityUnbounded for a column without a declared range.
    """
    scalar = bind_scalar(argument, scope)
    family = None if scalar.type is None else scalar.type.family
    if family in (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMPTZ):
        return _moment_on_grid(argument, scalar, scope)
    if not (scalar.is_number or scalar.is_interval) or scalar.is_null:
        ranked = call.this if isinstance(call, exp.WithinGroup) else call
        name = ranked.sql_name().lower() if isinstance(ranked, exp.Func) else "a rank"
        hint = "rank a number, date or timestamp with a declared range"
        raise UnsupportedSQL(f"{name} of {scalar.kind} is not supported", hint=hint, at=argument)
    sql, bounds = bind_measure(argument, scope, adds=False)
    shown: ResultType = (
        "interval" if scalar.is_interval else "int8" if bounds.integral and isinstance(call, _OF_A_ROW) else "float8"
    )
    if isinstance(call, exp.WithinGroup) and isinstance(call.this, exp.PercentileDisc) and bounds.integral:
        shown = "int8"
    step = 1.0 if bounds.whole else None if scalar.digits is None else float(10.0**-scalar.digits.scale)
    grid = Grid.over(bounds.lo, bounds.hi, step, shown)
    declared = any(one.range or one.dates for _, one in map(scope.declared, columns_of(sql)))
    coarse = step is not None and grid.step > step and not declared
    if isinstance(call, _OF_A_ROW) and not declared and (coarse or bounds.hi - bounds.lo >= _NO_RANGE):
        # One that noise takes too far would be off by orders of magnitude.
        hint = "limit them, for example LEAST(x, 1000)"
        raise SensitivityUnbounded(
            "an extreme of values with no known range is not supported", hint=hint, at=argument
        )
    if coarse and step is not None:
        grid = Grid.by_size(bounds.lo, bounds.hi, step, shown)
        return _by_size(repeated(sql, argument), grid), grid
    return _place(sql, grid), grid


_NO_RANGE = 1e15
"""As wide as the range of a released number that has no narrower one."""

_OF_A_ROW = (exp.Max, exp.Min)
"""Aggregates whose result has the column's type, as in PostgreSQL."""


def _moment_on_grid(argument: exp.Expr, scalar: Scalar, scope: Scope) -> tuple[exp.Expr, Grid]:
    span = scalar.span or scalar.declared
    if span is None:
        hint = "ask the administrator to declare `range = [first day, last day]` in the policy"
        raise UnsupportedSQL("a quantile or extreme of dates needs a declared range", hint=hint, at=argument)
    first, last = (day.toordinal() - _EPOCH for day in span)
    assert scalar.type is not None, "asked before"
    if scalar.type.family is Family.DATE:
        day = cast_sql(exp.Literal.string(span[0].isoformat()), "DATE")
        number = exp.Sub(this=exp.Paren(this=copied(argument)), expression=day)
        sql, _ = bind_measure(number, scope)
        grid = Grid.over(float(first), float(last), 1.0, "date")
        return _place(sql, Grid.over(0.0, float(last - first), 1.0, "date")), grid
    seconds = exp.Extract(this=exp.Var(this="EPOCH"), expression=exp.Paren(this=copied(argument)))
    sql, _ = bind_measure(seconds, scope)
    start = datetime(span[0].year, span[0].month, span[0].day, tzinfo=UTC).timestamp()
    width = (last - first + 1) * 86400.0
    step = _FINEST_S if width / _FINEST_S < 1 << 22 else 3600.0
    grid = Grid(start, step, int(width / step) + 1, "timestamptz" if scalar.zoned else "timestamp")
    return _place(sql, grid), grid


def _place(sql: exp.Expr, grid: Grid) -> exp.Expr:
    """Return SQL of floor((x - low) / step + 1/2), where x is clamped to the grid."""
    number: exp.Expr = sql if isinstance(sql, (exp.Cast, exp.Column)) else exp.Paren(this=sql)
    if grid.low:
        number = exp.Paren(this=exp.Sub(this=number, expression=_double(grid.low)))
    if grid.step != 1.0:
        once = 1 / grid.step
        if abs(once - round(once)) < 1e-6 * once and once > 1:
            number = exp.Mul(this=number, expression=_double(float(round(once))))
        else:
            number = exp.Div(this=number, expression=_double(grid.step), typed=True)
    half = exp.Add(this=number, expression=_double(0.5))
    return cast_sql(exp.Floor(this=half), "BIGINT")


def _by_size(sql: exp.Expr, grid: Grid) -> exp.Expr:
    """Return SQL of the place on a grid by size: of x = s steps, zero + sign(s) floor(ln |s| / ln r + 3/2).

    The logarithm is of 1 / r at least, so a number of less than 1 / sqrt(r) steps has the place of 0.
    """
    assert grid.zero is not None, "by size"
    steps = exp.Div(this=exp.Abs(this=copied(sql)), expression=_double(grid.step), typed=True)
    size = exp.Ln(this=exp.Greatest(this=steps, expressions=[_double(1 / RATIO)]))
    once = exp.Div(this=size, expression=_double(math.log(RATIO)), typed=True)
    place = exp.Floor(this=exp.Add(this=once, expression=_double(1.5)))
    signed = exp.Mul(this=cast_sql(exp.Sign(this=copied(sql)), "DOUBLE"), expression=place)
    return cast_sql(exp.Add(this=signed, expression=_double(float(grid.zero))), "BIGINT")


def _double(value: float) -> exp.Expr:
    return cast_sql(number_sql(Decimal(repr(value))), "DOUBLE")


def check_typed(call: exp.Expr, argument: exp.Expr) -> None:
    """Refuse SUM and AVG of NULL or of a quoted literal, which have no type. Raises: AmbiguousFunction."""
    written = argument.unnest()
    if isinstance(written, exp.Null) or (isinstance(written, exp.Literal) and written.is_string):
        message = f"function {call.key}(unknown) is not unique"
        raise AmbiguousFunction(message, hint="write the type: NULL::numeric", at=written)


_MOST_JOINTLY = 16
"""The most columns in COUNT(DISTINCT (a, b, ...))."""

TRUTHS = (exp.LogicalOr, exp.LogicalAnd)
"""bool_or and bool_and, which `every` is, too."""

_ADDED = (exp.Sum, exp.Avg)
"""Aggregates that also take intervals."""

_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, *SPREADS, *PAIRED, *RANKED, *TRUTHS)


def nested_aggregate(node: exp.Expr) -> UnsupportedSQL:
    """Return the refusal of `avg(count(*))`, whose hint shows the per-person subquery."""
    table = "(SELECT id, count(*) AS n FROM t GROUP BY id) p"
    hint = f"aggregate per person first, by their key: SELECT avg(n) FROM {table}"
    return UnsupportedSQL("an aggregate inside an aggregate is not supported", hint=hint, at=node)


Argument = tuple[type[exp.Expr], exp.Expr, exp.Expr | None]
"""A call, one of its bound arguments, and the bound condition of its FILTER."""


class Aggregates:
    """The distinct aggregates of one statement (`found`), and the bound `arguments` of their calls."""

    def __init__(self, scope: Scope, given: Sequence[exp.Expr] = (), *, exactly: bool = False) -> None:
        """Start without aggregates.

        Args:
          given: bound conditions that every tuple passes, which narrow the range of sums.
          exactly: compute the aggregates without noise, so that sums need no centre.
        """
        self._exactly = exactly
        self._scope = scope
        self._given = given
        self.found: list[BoundAggregate] = []
        self._places: dict[BoundAggregate, int] = {}
        self.arguments: list[Argument] = []

    def bind(self, node: exp.Expr) -> ReleasedExpression | None:
        """Bind an aggregate call over bound columns; None for anything else. Raises: UnsupportedSQL."""
        where = node.expression.this if isinstance(node, exp.Filter) else None
        call = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(call, _AGGREGATES):
            return None
        within = nodes(call.expression if isinstance(call, exp.WithinGroup) else call)
        nested = next((part for part in within if part is not call and isinstance(part, exp.AggFunc)), None)
        if nested is not None:
            raise nested_aggregate(nested)
        for argument in (call.this, call.expression) if isinstance(call, PAIRED) else (call.this,):
            if argument is not None:
                self.arguments.append((type(call), argument, where))
        label = str(node.meta.get(LABEL, "") or call.meta.get(LABEL, ""))
        condition = None if where is None else bind_predicate(where, self._scope)
        if isinstance(call, exp.Count):
            return self._count(call, condition, label)
        if isinstance(call, RANKED):
            return self._rank(call, condition, label)
        if isinstance(call, TRUTHS):
            return self._truth(call, condition, label)
        if isinstance(call.this, exp.Distinct):
            return self._of_distinct(call, call.this, where, condition, label)
        check_typed(call, call.this)
        if self._of_intervals(call):
            if self._exactly or not isinstance(call, _ADDED):
                hint = f"write {call.sql_name().lower()}(extract(epoch FROM a - b)), of its seconds"
                message = f"{construct_name(call)} of an interval is not supported here"
                raise UnsupportedSQL(message, hint=hint, at=call)
            call = type(call)(this=exp.Extract(this=exp.var("EPOCH"), expression=copied(call.this)))
        if isinstance(call, exp.Sum):
            return self._sum(call.this, where, label)
        return self._quotient(call, where, condition, label)

    def _of_intervals(self, call: exp.Expr) -> bool:
        """Is an argument of the call a length of time?"""
        written = [part for part in (call.this, call.args.get("expression")) if part is not None]
        written = [part for part in written if not isinstance(part, exp.Distinct)]  # no interval is counted once
        differences = [part for part in written if holds(part, exp.Sub, exp.Interval)]
        return any(bind_scalar(part, self._scope, self._given).is_interval for part in differences)

    def _quotient(
        self, call: exp.Expr, where: exp.Expr | None, condition: exp.Expr | None, label: str
    ) -> ReleasedExpression:
        """Bind an aggregate that is a quotient of counts and sums (see the module)."""
        arguments = [call.this, call.expression] if isinstance(call, PAIRED) else [call.this]
        for argument in arguments:
            check_typed(call, argument)
        for argument in arguments:
            condition = self._where_known(argument, condition)

        def total(tree: exp.Expr, over: ReleasedValue | None) -> ReleasedValue:
            written = label if isinstance(call, exp.Avg) else f"{label}, sum"
            return self._sum(tree, where, written, moment=1, over=None if over is None else over.release)

        def product(tree: exp.Expr, beside: Sequence[ReleasedValue]) -> ReleasedValue:
            x, y, n = (one.release for one in beside)
            what = "squares" if x == y else "products"
            return self._sum(tree, where, f"{label}, sum of {what}", moment=2, around=(x, y, n))

        def count() -> ReleasedValue:
            return self._add(BoundAggregate("count", None, condition, f"{label}, how many", moment=0))

        moments = Moments(count, total, product)
        if isinstance(call, PAIRED):
            y, x = (self._centred(one, other) for one, other in (arguments, arguments[::-1]))
            return moments.paired(call, y, x)
        if isinstance(call, exp.Avg):
            return moments.average(self._centred(call.this))
        return moments.spread(call, self._centred(call.this))

    def _truth(self, call: exp.Expr, condition: exp.Expr | None, label: str) -> ReleasedExpression:
        """Bind bool_or: is it sure that some row meets the condition? bool_and: is it not, of the opposite?

        A group without such rows is rarely taken for one with some, and one with few of them for one with none.
        """
        either = isinstance(call, exp.LogicalOr)
        asked = bind_predicate(call.this if either else exp.Not(this=exp.Paren(this=copied(call.this))), self._scope)
        met = asked if condition is None else conjunction([condition, asked])
        some = Apply("surely", (self._add(BoundAggregate("count", None, met, label)),))
        return some if either else Apply("not", (some,))

    def _rank(self, call: exp.Expr, condition: exp.Expr | None, label: str) -> ReleasedValue:
        """Bind a quantile or an extreme, which skips NULL."""
        if isinstance(call, exp.WithinGroup):
            label = str(call.this.meta.get(LABEL, "")) or label
        rank, argument = asked_rank(call)
        self.arguments[-1:] = [(exp.Median, argument, self.arguments[-1][2])]
        place, grid = on_grid(call, argument, self._scope)
        known = self._where_known(argument, condition)
        return self._add(BoundAggregate("rank", place, known, label, grid=grid, rank=rank))

    def type_of(self, call: exp.Expr, value: ReleasedExpression) -> ResultType:
        """Return the type of an aggregate in an answer: int8 for counts and for sums of whole numbers."""
        if isinstance(call, TRUTHS):
            return "bool"
        if isinstance(call, _ADDED) and self._of_intervals(call):
            return "interval"
        if not isinstance(value, ReleasedValue):
            return "float8"
        found = self.found[value.release]
        if found.grid is not None:
            return found.grid.type
        return "int8" if found.bounds is None or found.bounds.integral else "float8"

    def _centred(self, argument: exp.Expr, beside: exp.Expr | None = None) -> Centred:
        """Centre an argument, NULL where `beside` is NULL."""
        _, bounds = (None, None) if self._exactly else bind_measure(argument, self._scope, self._given)
        unknown = None if beside is None else is_null(beside, self._scope)
        if unknown is not None:
            argument = exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Paren(this=unknown)), true=copied(argument))])
        return Centred(argument, centre(bounds), bounds)

    def _sum(
        self,
        argument: exp.Expr,
        where: exp.Expr | None,
        label: str,
        moment: int | None = None,
        around: tuple[int, int, int] | None = None,
        over: int | None = None,
    ) -> ReleasedValue:
        if where is not None:
            argument = exp.Case(ifs=[exp.If(this=copied(where), true=argument)])
        sql, bounds = bind_measure(argument, self._scope, self._given)
        column = summed_column(argument)
        return self._add(BoundAggregate("sum", sql, None, label, bounds, moment, around, over, column=column))

    def _count(self, call: exp.Count, condition: exp.Expr | None, label: str) -> ReleasedExpression:
        argument = call.this
        if argument is None:
            raise InvalidSyntax("COUNT() needs an argument", hint="write COUNT(*)", at=call)
        if isinstance(argument, exp.Star):
            return self._add(BoundAggregate("count", None, condition, label))
        if isinstance(argument, exp.Distinct):
            return self._distinct(argument, condition, label)
        if call.expressions:
            raise UnsupportedSQL("COUNT of several columns is not supported", at=call)
        return self._add(BoundAggregate("count", None, self._where_known(argument, condition), label))

    def _of_distinct(
        self, call: exp.Expr, distinct: exp.Distinct, where: exp.Expr | None, condition: exp.Expr | None, label: str
    ) -> ReleasedExpression:
        """Bind SUM or AVG of distinct values."""
        name, position = construct_name(call), position_of(distinct)
        argument, *keys = distinct.expressions
        if not isinstance(call, (exp.Sum, exp.Avg)) or (keys and SUM_BY_KEY not in call.meta):
            hint = f"write {name.lower()}(x), or list the values with GROUP BY x"
            raise UnsupportedSQL(f"{name}(DISTINCT ...) is not supported", hint=hint, at=distinct)
        check_typed(call, argument)
        known = self._where_known(argument, condition)
        each = [self._distinct_value(part, position, name) for part in distinct.expressions]
        value = joint_value(each) if keys else each[0]  # it determines the argument, so equal ones weigh alike
        kept = argument
        for unknown in filter(None, (is_null(key, self._scope) for key in keys)):
            kept = exp.Case(ifs=[exp.If(this=exp.Not(this=exp.Paren(this=unknown)), true=copied(kept))])
        kept = kept if where is None else exp.Case(ifs=[exp.If(this=copied(where), true=copied(kept))])
        added, bounds = bind_measure(kept, self._scope, self._given)
        total = self._add(BoundAggregate("distinct", value, known, label, bounds, added=added))
        if isinstance(call, exp.Sum):
            return total
        count = self._add(BoundAggregate("distinct", value, known, f"{label}, how many"))
        return Apply("within", (Apply("mean", (total, count)), Given(bounds.lo), Given(bounds.hi)))

    def _where_known(self, argument: exp.Expr, condition: exp.Expr | None) -> exp.Expr | None:
        null = is_null(argument, self._scope)
        if null is None:
            return condition
        known = exp.Not(this=exp.Paren(this=bind_predicate(null, self._scope)))
        return known if condition is None else conjunction([condition, known])

    def _distinct(self, distinct: exp.Distinct, condition: exp.Expr | None, label: str) -> ReleasedExpression:
        """Bind COUNT(DISTINCT). A row value (a, b) counts with NULLs in it."""
        position = position_of(distinct)
        written = distinct.expressions
        if len(written) > 1:
            hint = "write a row, count(DISTINCT (a, b)), in which NULL is a value"
            raise UnsupportedSQL("COUNT(DISTINCT ...) takes one value", hint=hint, position=position)
        row = written[0] if isinstance(written[0], exp.Tuple) else None
        arguments = written if row is None else row.expressions
        if len(arguments) > _MOST_JOINTLY or any(isinstance(part, (exp.Star, exp.Tuple)) for part in arguments):
            message = f"COUNT(DISTINCT ...) takes from 1 to {_MOST_JOINTLY} columns, which it must name"
            hint = "write COUNT(DISTINCT a) or COUNT(DISTINCT (a, b))"
            raise UnsupportedSQL(message, hint=hint, position=position)
        values = [self._distinct_value(part, position, "COUNT") for part in arguments]
        if row is None:
            condition = self._where_known(arguments[0], condition)
        alone = len(values) == 1 and (row is None or is_null(arguments[0], self._scope) is None)
        value = values[0] if alone else joint_value(values)
        return self._add(BoundAggregate("distinct", value, condition, label))

    def _distinct_value(self, argument: exp.Expr, position: int | None, name: str) -> exp.Expr:
        scalar = bind_scalar(argument, self._scope)
        value = None if scalar.type is None else distinct_value(scalar.sql, scalar.type)
        if value is None:
            message = f"{name}(DISTINCT ...) over {scalar.kind} is not supported"
            hint = "take whole numbers, numeric(p, s), texts, dates, timestamps or uuids"
            raise UnsupportedSQL(message, hint=hint, position=position)
        return value

    def _add(self, aggregate: BoundAggregate) -> ReleasedValue:
        place = self._places.setdefault(replace(aggregate, label=""), len(self.found))
        if place == len(self.found):
            self.found.append(aggregate)
        return ReleasedValue(place)
