"""Quantiles and extremes: percentile_cont, percentile_disc, median, MAX and MIN, of values on a public grid."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

from sqlglot import exp

from planner.binding.scope import Scope
from planner.errors import SensitivityUnbounded, UnsupportedSQL
from planner.expressions.bind_scalar import bind_measure, bind_scalar
from planner.expressions.coercion import sample
from planner.expressions.scalar import Scalar
from planner.sql.constants import constant, constant_text
from planner.sql.literals import number_sql
from planner.sql.rank_grid import AskedRank, Grid
from planner.sql.result_names import ResultType
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import columns_of, copied, position_of

RANKED = (exp.WithinGroup, exp.PercentileCont, exp.PercentileDisc, exp.Median, exp.Max, exp.Min)

_EPOCH = date(1970, 1, 1).toordinal()
_FINEST_S = 60.0
"""Timestamps are told to the minute."""

_MOST_BEYOND = 1_000_000_000

_QUANTILE = re.compile(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*", re.ASCII)


def asked_rank(call: exp.Expr) -> tuple[AskedRank, exp.Expr]:
    """Which rank a call asks for, and of what.

    Args:
      call: one of RANKED.
    Raises: UnsupportedSQL.
    """
    if isinstance(call, exp.Median):
        return AskedRank(0.5), _plain(call, call.this)
    if isinstance(call, (exp.Max, exp.Min)):
        return AskedRank(beyond=_beyond(call), highest=isinstance(call, exp.Max)), _plain(call, call.this)
    function = call.this if isinstance(call, exp.WithinGroup) else call
    name = function.sql_name().lower() if isinstance(function, exp.Func) else "this function"
    if not isinstance(call, exp.WithinGroup) or not isinstance(function, (exp.PercentileCont, exp.PercentileDisc)):
        hint = f"write {name}(0.5) WITHIN GROUP (ORDER BY x)"
        raise UnsupportedSQL(f"this form of {name} is not supported", hint=hint, position=position_of(call))
    ordered = call.expression.expressions
    if len(ordered) != 1:
        raise UnsupportedSQL(f"{name} of several columns is not supported", position=position_of(call))
    q = _quantile(function, name)
    return AskedRank(1 - q if ordered[0].args.get("desc") else q), _plain(call, ordered[0].this)


def _plain(call: exp.Expr, argument: exp.Expr) -> exp.Expr:
    if isinstance(argument, exp.Star):
        hint = "name the column whose values are ranked: median(x)"
        raise UnsupportedSQL("a rank of * is not supported", hint=hint, position=position_of(call))
    if isinstance(argument, exp.Distinct):
        hint = "leave DISTINCT out; GROUP BY x counts how common each value is"
        raise UnsupportedSQL("a rank among distinct values is not supported", hint=hint, position=position_of(call))
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
    hint = "write a number from 0 to 1, as in percentile_cont(0.5)"
    raise UnsupportedSQL(f"this quantile of {name} is not supported", hint=hint, position=position_of(function))


def _beyond(call: exp.Expr) -> int | None:
    """k of `max(x, k)`: the value that about k privacy units lie beyond; None where it is left out."""
    more = call.expressions
    if not more:
        return None
    written = more[0]
    if len(more) == 1 and isinstance(written, exp.Literal) and written.name.isdigit():
        k = int(written.name)
        if k <= _MOST_BEYOND:
            return k
    name = type(call).__name__.lower()
    hint = f"{name}(x, 20) is the value that about 20 people lie beyond; of two columns write greatest(x, y)"
    raise UnsupportedSQL(f"this form of {name.upper()} is not supported", hint=hint, position=position_of(call))


def on_grid(call: exp.Expr, argument: exp.Expr, scope: Scope) -> tuple[exp.Expr, Grid]:
    """The place of each value on its public grid: SQL of a bigint in [0, n_codes), NULL for NULL; and the grid.

    A number is rounded to the nearest place; of whole numbers and of numeric(p, s) the grid has every value unless
    that is more than MOST_STEPS. Days are told to the day, timestamps to the minute, or to the hour of ranges longer
    than eight years.

    Raises: UnsupportedSQL for what has no order here; SensitivityUnbounded for a column without a declared range.
    """
    scalar = bind_scalar(argument, scope)
    family = None if scalar.type is None else scalar.type.family
    if family in (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMPTZ):
        return _moment_on_grid(argument, scalar, scope)
    if not scalar.is_number or scalar.is_null:
        ranked = call.this if isinstance(call, exp.WithinGroup) else call
        name = ranked.sql_name().lower() if isinstance(ranked, exp.Func) else "a rank"
        hint = "ranks are of numbers, dates and timestamps with a declared range"
        raise UnsupportedSQL(f"{name} of {scalar.kind} is not supported", hint=hint, position=position_of(argument))
    sql, bounds = bind_measure(argument, scope)
    shown: ResultType = "int8" if bounds.integral and isinstance(call, _OF_A_ROW) else "float8"
    if isinstance(call, exp.WithinGroup) and isinstance(call.this, exp.PercentileDisc) and bounds.integral:
        shown = "int8"
    step = 1.0 if bounds.whole else _decimal_step(scalar)
    grid = Grid.over(bounds.lo, bounds.hi, step, shown)
    declared = any(scope.declared(column)[1].range is not None for column in columns_of(sql))
    if step is not None and grid.step > step and not declared:  # a text's length, say: all would be at one place
        hint = "say how far it goes, as in LEAST(x, 1000)"
        raise SensitivityUnbounded(
            "nothing says how large the ranked values are", hint=hint, position=position_of(argument)
        )
    return _place(sql, grid), grid


_OF_A_ROW = (exp.Max, exp.Min)
"""What PostgreSQL gives in the type of the column."""


def _decimal_step(scalar: Scalar) -> float | None:
    """Of numeric(p, s) the last decimal place; None for doubles."""
    digits = scalar.digits
    return None if digits is None else float(10.0**-digits.scale)


def _moment_on_grid(argument: exp.Expr, scalar: Scalar, scope: Scope) -> tuple[exp.Expr, Grid]:
    span = scalar.span or scalar.declared
    if span is None:
        hint = "ask the custodian to declare `range = [first day, last day]` for it in the policy"
        raise UnsupportedSQL("a rank of dates needs their declared range", hint=hint, position=position_of(argument))
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
    """floor((x - low) / step + 1/2): the clamped x makes it a place of the grid."""
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


def _double(value: float) -> exp.Expr:
    return cast_sql(number_sql(Decimal(repr(value))), "DOUBLE")
