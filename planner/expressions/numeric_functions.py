"""Division, functions of one number, and width_bucket. None can fail for the proved bounds of its arguments."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from planner.errors import SensitivityUnbounded, UnsupportedSQL
from planner.expressions import arithmetic, intervals
from planner.expressions.coercion import number, of_reals, sample, whole_literal
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Binder, Digits, Measured, Scalar, repeated, wrap
from planner.sql.literals import canonical_sql, constant, number_sql
from planner.sql.sql_types import Family, SqlType
from planner.sql.trees import cast_sql, columns_of, copied, position_of

_MAX_SCALE = 1000
"""The most decimal digits of a quotient."""


def quotient(node: exp.Expr, binder: Binder) -> Scalar:
    """`x / y`, which is NULL where y is zero. PostgreSQL would fail, which would reveal a row.

    As in PostgreSQL, a quotient of whole numbers drops its fraction. Raises: UnsupportedSQL if y is the literal zero.
    """
    assert isinstance(node, exp.Binary)
    left, right = number(binder.scalar(node.left), binder), number(binder.scalar(node.right), binder)
    if left.is_null or right.is_null:
        return arithmetic.null(node)
    plain = None
    exact = arithmetic.exact_form(left)
    if right.value is not None and exact is not None and right.digits is not None and right.value:
        plain = _exact_quotient(exact, right.value, right.digits)
    if right.value == 0:
        raise UnsupportedSQL("the divisor is zero", hint="divide by another number", at=node.right)
    if right.value is None:
        _check_precise(node, left, right)
    if _may_be_zero(right):
        right = number(binder.scalar(exp.Nullif(this=node.right, expression=exp.Literal.number(0))), binder)

    def clamped() -> Measured:
        (a, x), (b, y) = left.measured(), right.measured()
        divisor = b if right.value is None else wrap(canonical_sql(right.value))
        sql: exp.Expr = exp.Div(this=wrap(a), expression=wrap(divisor), typed=True)
        if x is None or y is None:
            return sql, None
        bounds = intervals.quotient(x, y)
        if x.integral and y.integral:
            return exp.Trunc(this=sql), intervals.truncated(bounds)
        return sql, bounds

    result = arithmetic.computed(node, (left, right), plain, clamped)
    result = of_reals(left, right, result)
    if plain is None and not result.unranged:
        result.measured()
    return result


_LARGEST_RATIO = 1e7
"""Of a divisor's largest and smallest size: weights have 30 bits, so a typical quotient then keeps two digits."""


def _check_precise(node: exp.Expr, dividend: Scalar, divisor: Scalar) -> None:
    """Refuse a sum of quotients that a tiny divisor could make so large that the others are rounded to nothing.

    Comparisons have no weight. LEAST bounds it, with GREATEST where the quotient may be negative.
    """
    above, bounds = dividend.measured()[1], divisor.measured()[1]
    if bounds is None or bounds.size <= bounds.least * _LARGEST_RATIO or node.find_ancestor(exp.Predicate):
        return
    signed = above is None or min(above.lo, bounds.lo) < 0
    bounded = [node.find_ancestor(kind) for kind in ((exp.Least, exp.Greatest) if signed else (exp.Least,))]
    if not all(bounded):
        within = "GREATEST(LEAST(x / y, 100), -100)" if signed else "LEAST(x / y, 100)"
        hint = f"write {within}, with the largest quotient that counts, or divide sum(x) by sum(y)"
        raise SensitivityUnbounded("the divisor may be so small that nothing bounds the quotient", hint=hint, at=node)


def _may_be_zero(divisor: Scalar) -> bool:
    if divisor.value is not None:
        return False
    bounds = divisor.measured()[1]
    return bounds is not None and not bounds.divides


def _exact_quotient(left: arithmetic.Exact, value: Decimal, divisor: Digits) -> arithmetic.Exact:
    sql, digits = left
    denominator = number_sql(value)
    whole = digits.whole + max(0, -value.adjusted())
    if digits.integral and divisor.integral:
        return exp.IntDiv(this=sql, expression=denominator), Digits(whole, 0, True)
    quotient_sql = exp.Div(this=wrap(arithmetic.as_numeric(sql)), expression=wrap(denominator), typed=True)
    return quotient_sql, Digits(whole, _quotient_scale(digits, value, divisor), False)


def _quotient_scale(left: Digits, value: Decimal, divisor: Digits) -> int:
    """The most decimal digits that PostgreSQL gives `x / value`: at least 16 significant ones.

    Source: select_div_scale in numeric.c, for the smallest nonzero x; digits come in groups of four.
    """
    first = value.adjusted() // 4 - -left.scale // 4 + 1
    return min(max(16 + 4 * first, left.scale, divisor.scale, 0), _MAX_SCALE)


def remainder(node: exp.Expr, binder: Binder) -> Scalar:
    """`mod(x, m)` and `x % m`, m a nonzero literal; the result has the sign of x. Raises: UnsupportedSQL."""
    assert isinstance(node, exp.Binary)
    left, right = number(binder.scalar(node.left), binder), number(binder.scalar(node.right), binder)
    exact = arithmetic.exact_form(left)
    if not right.value or right.digits is None:
        hint = "write a number other than 0"
        raise UnsupportedSQL("the divisor of a remainder must be a literal other than 0", hint=hint, at=node)
    if exact is None:
        hint = "use a column of a whole or numeric type"
        raise UnsupportedSQL("a remainder of a floating point number is not supported", hint=hint, at=node)
    sql, digits = arithmetic.as_numeric(exact[0]), exact[1]
    scale = max(digits.scale, right.digits.scale)
    integral = digits.integral and right.digits.integral
    result = exp.Mod(this=wrap(sql), expression=wrap(right.sql)), Digits(right.digits.whole, scale, integral)
    most = abs(float(right.value)) - (1.0 if scale == 0 else 0.0)
    if left.unranged:  # the divisor bounds the remainder of any number
        known = Bounds(-most, most, 10.0**-scale, integral)
        left = replace(left, clamped=lambda: (sql, known), unranged=())
    return arithmetic.from_exact(node, left, result, lambda inner: intervals.remainder(inner, most))


_MOST_DIGITS = 12
_MOST_POWER = 16
_LEAST_EXPONENT = -600.0


def absolute(node: exp.Expr, binder: Binder) -> Scalar:
    """`abs(x)`."""
    inner = number(binder.scalar(node.this), binder)
    return arithmetic.monotone(
        node, inner, lambda sql: exp.Abs(this=sql), inner.digits, intervals.absolute, total=True
    )


def sign(node: exp.Expr, binder: Binder) -> Scalar:
    """`sign(x)`: -1, 0 or 1."""
    inner = number(binder.scalar(node.this), binder)
    digits = inner.digits and Digits(1, 0, False)
    return arithmetic.monotone(node, inner, lambda sql: exp.Sign(this=sql), digits, intervals.sign, total=True)


def ceiling(node: exp.Expr, binder: Binder) -> Scalar:
    """`floor(x)` and `ceil(x)`, with one more digit before the point."""
    inner = number(binder.scalar(node.this), binder)
    digits = inner.digits and Digits(inner.digits.whole + 1, 0, False)
    return arithmetic.monotone(node, inner, lambda sql: type(node)(this=sql), digits, intervals.rounded)


def rounded(node: exp.Expr, binder: Binder) -> Scalar:
    """`round(x)`, `round(x, n)`, `trunc(x)` and `trunc(x, n)`, n a literal.

    As in PostgreSQL, halves are rounded away from zero, except by round(double), which rounds them to even.
    """
    inner = number(binder.scalar(node.this), binder)
    places = node.args.get("decimals")
    return near(node, inner, 0 if places is None else whole_literal(places, -_MOST_DIGITS, _MOST_DIGITS))


def near(node: exp.Expr, inner: Scalar, count: int = 0) -> Scalar:
    """A number rounded to so many digits, as `rounded` says."""
    known = inner.digits
    digits = known and Digits(max(known.whole, -count) + 1, min(known.scale, max(count, 0)), False)

    def sql(argument: exp.Expr) -> exp.Expr:
        if digits is None:
            double = inner.type is not None and inner.type.family is Family.FLOAT
            to_even = double and not count and not isinstance(node, exp.Trunc)
            return _half_even(node, argument) if to_even else _scaled(node, argument, count)
        literal = exp.Literal.number(abs(count))
        return type(node)(this=argument, decimals=literal if count >= 0 else exp.Neg(this=literal))

    limits = intervals.rounded_double if digits is None else intervals.rounded
    return arithmetic.monotone(node, inner, sql, digits, lambda bounds: limits(bounds, count))


def _half_even(node: exp.Expr, argument: exp.Expr) -> exp.Expr:
    """FLOOR(x / 2 + 0.25) + CEIL(x / 2 - 0.25), which every engine computes alike."""
    half = exp.Div(this=wrap(repeated(argument, node)), expression=exp.Literal.number(2), typed=True)
    quarter = exp.cast(exp.Literal.number("0.25"), "DOUBLE PRECISION")
    floor = exp.Floor(this=exp.Add(this=half, expression=quarter))
    return exp.Add(this=floor, expression=exp.Ceil(this=exp.Sub(this=copied(half), expression=copied(quarter))))


def _scaled(node: exp.Expr, argument: exp.Expr, count: int) -> exp.Expr:
    """Round by multiples of 10^-n. Engines differ on halves of a double, and lack ROUND of a double to n digits."""
    scale = number_sql(Decimal(10) ** abs(count))
    scaled: exp.Expr = wrap(argument)
    if count > 0:
        scaled = exp.Paren(this=exp.Mul(this=scaled, expression=copied(scale)))
    elif count < 0:
        scaled = exp.Paren(this=exp.Div(this=scaled, expression=copied(scale), typed=True))
    if isinstance(node, exp.Trunc):
        whole: exp.Expr = exp.Trunc(this=scaled)
    else:
        repeated(scaled, node)
        half = exp.Add(this=exp.Abs(this=scaled), expression=cast_sql(exp.Literal.number("0.5"), "DOUBLE PRECISION"))
        whole = exp.Mul(this=exp.Sign(this=copied(scaled)), expression=exp.Floor(this=half))
    if count > 0:
        return exp.Div(this=wrap(whole), expression=scale, typed=True)
    return exp.Mul(this=wrap(whole), expression=scale) if count < 0 else whole


def power(node: exp.Expr, binder: Binder) -> Scalar:
    """`power(x, n)` and `x ^ n`, n a literal from 0 to 16."""
    inner = number(binder.scalar(node.this), binder)
    count = whole_literal(node.args["expression"], 0, _MOST_POWER)
    two = cast_sql(exp.Literal.number(count), "DOUBLE PRECISION")

    def bounds(known: Bounds) -> Bounds:
        return intervals.power(known, count) if count else intervals.constant(1.0, known.integral)

    return arithmetic.on_double(node, inner, lambda sql: exp.Pow(this=sql, expression=two), bounds)


def square_root(node: exp.Expr, binder: Binder) -> Scalar:
    """`sqrt(x)`, with x proved not to be negative."""
    inner = number(binder.scalar(node.this), binder)

    def bounds(known: Bounds) -> Bounds:
        if known.lo < 0:
            hint = "write sqrt(abs(x)) or sqrt(greatest(x, 0)), or ask the administrator for a range above zero"
            raise SensitivityUnbounded(
                "sqrt() of a value that could be negative is not supported", hint=hint, at=node
            )
        return intervals.square_root(known)

    return arithmetic.on_double(node, inner, lambda sql: exp.Sqrt(this=sql), bounds)


def logarithm(node: exp.Expr, binder: Binder) -> Scalar:
    """`ln(x)`, `log(x)` and `log10(x)` to base 10, and `log(b, x)` to a whole base, with x proved to be positive."""
    argument, base = logarithm_parts(node)
    inner = number(binder.scalar(argument), binder)

    def bounds(known: Bounds) -> Bounds:
        if known.lo < 0 or not known.divides:
            hint = "write ln(greatest(x, 1)), or ask the administrator for a range above zero"
            raise SensitivityUnbounded(
                "a logarithm of a value that could be 0 or negative is not supported", hint=hint, at=node
            )
        return intervals.logarithm(known, math.e if base is None else base)

    def sql(double: exp.Expr) -> exp.Expr:
        if base is None:
            return exp.Ln(this=double)
        divisor = cast_sql(exp.Literal.number(repr(math.log(base))), "DOUBLE PRECISION")
        return exp.Div(this=exp.Ln(this=double), expression=divisor, typed=True)

    return arithmetic.on_double(node, inner, sql, bounds)


def logarithm_parts(node: exp.Expr) -> tuple[exp.Expr, int | None]:
    """Return the argument and the whole base of a logarithm; None for the natural one. Raises: UnsupportedSQL."""
    argument = node.args.get("expression")
    if argument is None:
        return node.this, None if isinstance(node, exp.Ln) else 10
    return argument, whole_literal(node.this, 2, LARGEST_BASE)


LARGEST_BASE = 2**20
"""Of `log(b, x)`: the logarithms of neighbouring doubles then differ by more than `intervals.logarithm` assumes."""


def exponential(node: exp.Expr, binder: Binder) -> Scalar:
    """`exp(x)`, with x proved small enough. Below -600 it is e^-600, since PostgreSQL fails on underflow."""
    inner = number(binder.scalar(node.this), binder)
    if inner.is_null:
        return arithmetic.null(node)

    def raised() -> Measured:
        sql, known = inner.measured()
        if known is None or known.lo >= _LEAST_EXPONENT:
            return sql, known
        least = number_sql(Decimal(_LEAST_EXPONENT))
        above = exp.GT(this=wrap(repeated(sql, node)), expression=least)
        below = exp.LTE(this=wrap(copied(sql)), expression=copied(least))
        case = exp.Case().when(above, copied(sql), copy=False).when(below, copied(least), copy=False)
        return case, intervals.raised(known, _LEAST_EXPONENT)

    return arithmetic.on_double(
        node, replace(inner, clamped=raised), lambda sql: exp.Exp(this=sql), intervals.exponential
    )


_MOST = 90_000


def width_bucket(node: exp.Expr, binder: Binder) -> Scalar:
    """`width_bucket(x, low, high, n)` with literals low < high: 0 below low, n + 1 from high on.

    With counted digits it is exact, `1 + div((x - low) * n, high - low)` of whole numbers. Otherwise it is computed
    from the clamped double, in PostgreSQL's order of operations.
    Raises: UnsupportedSQL; SensitivityUnbounded for a double without a declared range.
    """
    ends = [node.args.get(name) for name in ("min_value", "max_value", "num_buckets")]
    if any(end is None for end in ends):
        hint = "write width_bucket(x, lowest, highest, how many)"
        raise UnsupportedSQL("width_bucket() of a list is not supported", hint=hint, at=node)
    low = _bound(node.args["min_value"], binder, Decimal(0))
    high = _bound(node.args["max_value"], binder, low + 1)
    count = whole_literal(node.args["num_buckets"], 1, _MOST)
    if low >= high:
        raise UnsupportedSQL(
            "the lower bound of width_bucket() must be below the upper one",
            hint="write the lower bound first",
            at=node,
        )
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
    for end, result in ((low, exp.Literal.number(0)), (high, inside)):
        below = exp.LT(this=wrap(copied(value)), expression=canonical_sql(end))
        case = case.when(below, result, copy=False)
    beyond = exp.GTE(this=wrap(copied(value)), expression=canonical_sql(high))
    return arithmetic.whole_number(node, case.when(beyond, exp.Literal.number(count + 1), copy=False), 0, count + 1)


def _bound(node: exp.Expr, binder: Binder, example: Decimal) -> Decimal:
    """The value of a bound, or the example for a placeholder without a value.

    Views write bounds as `('-0.3'::numeric)::double precision`.
    """
    inner = constant(node)
    if isinstance(inner, exp.Parameter):
        sample(inner, SqlType(Family.NUMERIC))
        return example
    part = number(binder.scalar(inner), binder)
    value = part.value
    if value is None and part.digits is not None and part.digits.integral and not columns_of(inner):
        ends = part.bounds
        one = ends is not None and ends.lo == ends.hi and abs(ends.lo) < 1 << 53
        value = Decimal(ends.lo) if ends is not None and one else None
    if value is None:
        hint, near = "write both bounds as numbers", node if position_of(node) is not None else node.parent
        raise UnsupportedSQL("the bounds of width_bucket() must be literals", hint=hint, at=near)
    return value


def _exactly(value: exp.Expr, low: Decimal, high: Decimal, count: int, scale: int) -> exp.Expr:
    """1 + div((x - low) * n, high - low), scaled to whole numbers."""
    places = max(scale, *(max(0, -int(end.normalize().as_tuple().exponent)) for end in (low, high)))
    ten = Decimal(10) ** places
    from_low = exp.Paren(this=exp.Sub(this=value, expression=wrap(canonical_sql(low))))
    scaled = exp.Mul(this=from_low, expression=number_sql(count * ten))
    width = number_sql(((high - low) * ten).to_integral_value())
    return exp.Add(this=exp.Literal.number(1), expression=exp.IntDiv(this=scaled, expression=width))


def _of_double(value: exp.Expr, low: float, high: float, count: int) -> exp.Expr:
    """1 + floor(n * ((x - low) / (high - low))), at most n."""
    lowest, width = (wrap(number_sql(Decimal(repr(number)))) for number in (low, high - low))
    share = exp.Div(this=exp.Paren(this=exp.Sub(this=value, expression=lowest)), expression=width, typed=True)
    part = exp.Floor(this=exp.Mul(this=exp.Literal.number(count), expression=exp.Paren(this=share)))
    last = cast_sql(exp.Literal.number(count - 1), "DOUBLE PRECISION")
    return exp.Add(this=exp.Literal.number(1), expression=exp.Least(this=part, expressions=[last], ignore_nulls=True))
