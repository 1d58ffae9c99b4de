"""width_bucket: in which of so many equal parts of an interval a number lies."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from planner.errors import UnsupportedSQL
from planner.expressions import arithmetic
from planner.expressions.coercion import number, sample, whole_literal
from planner.expressions.scalar import Binder, Scalar, repeated, wrap
from planner.sql.constants import constant
from planner.sql.literals import canonical_sql, number_sql
from planner.sql.sql_nodes import cast_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import copied, position_of

_MOST = 90_000


def width_bucket(node: exp.Expr, binder: Binder) -> Scalar:
    """width_bucket(x, low, high, n): literals, low < high; 0 below low, n + 1 from high on.

    Exact where x has counted digits: `1 + div((x - low) * n, high - low)`, of whole numbers. Elsewhere from the
    clamped double, in the order in which PostgreSQL computes with doubles.

    Raises: UnsupportedSQL; SensitivityUnbounded for a double without a declared range.
    """
    ends = [node.args.get(name) for name in ("min_value", "max_value", "num_buckets")]
    if any(end is None for end in ends):
        hint = "write width_bucket(x, lowest, highest, how many)"
        raise UnsupportedSQL("width_bucket() of a list", hint=hint, position=position_of(node))
    low = _bound(node.args["min_value"], binder, Decimal(0))
    high = _bound(node.args["max_value"], binder, low + 1)
    count = whole_literal(node.args["num_buckets"], 1, _MOST)
    if low >= high:
        hint = "write the lower bound first"
        raise UnsupportedSQL("width_bucket() without a width", hint=hint, position=position_of(node))
    part = number(binder.scalar(node.this), binder)
    if part.is_null:
        return arithmetic.null(node)
    exact = arithmetic.exact_form(part)
    if exact is None:
        value, _ = part.measured()
        inside = _of_double(wrap(repeated(value, node)), float(low), float(high), count)
    else:
        value = arithmetic.as_numeric(exact[0])
        inside = _exactly(wrap(repeated(value, node)), low, high, count, exact[1].scale)
    case = exp.Case()
    for end, result in ((low, _literal(0)), (high, inside)):
        below = exp.LT(this=wrap(copied(value)), expression=canonical_sql(end))
        case = case.when(below, result, copy=False)
    beyond = exp.GTE(this=wrap(copied(value)), expression=canonical_sql(high))
    return arithmetic.whole_number(node, case.when(beyond, _literal(count + 1), copy=False), 0, count + 1)


def _bound(node: exp.Expr, binder: Binder, example: Decimal) -> Decimal:
    """The number, also as the database's own text of a view has it: `('-0.3'::numeric)::double precision`.

    Of a placeholder without a value it is the example.
    """
    inner = constant(node)
    if isinstance(inner, exp.Parameter):
        sample(inner, SqlType(Family.NUMERIC))
        return example
    value = number(binder.scalar(inner), binder).value
    if value is None:
        hint = "write both bounds as numbers"
        raise UnsupportedSQL("a bound of width_bucket() that is no literal", hint=hint, position=position_of(node))
    return value


def _literal(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _exactly(value: exp.Expr, low: Decimal, high: Decimal, count: int, scale: int) -> exp.Expr:
    """1 + div((x - low) * n, high - low), both made whole by a power of ten."""
    places = max(scale, *(max(0, -int(end.normalize().as_tuple().exponent)) for end in (low, high)))
    ten = Decimal(10) ** places
    from_low = exp.Paren(this=exp.Sub(this=value, expression=wrap(canonical_sql(low))))
    scaled = exp.Mul(this=from_low, expression=number_sql(count * ten))
    width = number_sql(((high - low) * ten).to_integral_value())
    return exp.Add(this=_literal(1), expression=exp.IntDiv(this=scaled, expression=width))


def _of_double(value: exp.Expr, low: float, high: float, count: int) -> exp.Expr:
    """1 + floor(n * ((x - low) / (high - low))), at most n."""
    lowest, width = (wrap(number_sql(Decimal(repr(number)))) for number in (low, high - low))
    share = exp.Div(this=exp.Paren(this=exp.Sub(this=value, expression=lowest)), expression=width, typed=True)
    part = exp.Floor(this=exp.Mul(this=_literal(count), expression=exp.Paren(this=share)))
    last = cast_sql(_literal(count - 1), "DOUBLE PRECISION")
    return exp.Add(this=_literal(1), expression=exp.Least(this=part, expressions=[last], ignore_nulls=True))
