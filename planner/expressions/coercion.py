"""Give literals and placeholders the type of the other side, and check that each pair compares exactly.

In SQL, a real is the double with the same value. Converting another number to real rounds it; all else with reals is
exact or double precision, as in PostgreSQL.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from planner.errors import InvalidSyntax, UndefinedOperator, UnsupportedSQL
from planner.expressions import intervals
from planner.expressions.column_ranges import clamp_column
from planner.expressions.intervals import Bounds
from planner.expressions.scalar import Binder, Measured, Scalar, repeated, wrap
from planner.sql import literals
from planner.sql.literals import BOUND_ARRAY, check_type, constant, number_sql
from planner.sql.sql_types import REAL, Family, SqlType
from planner.sql.trees import cast_sql, copied, position_of
from planner.sql.zones import UTC, instant

_LARGEST = 3.4028234663852886e38
_HALF_OF_SMALLEST = 2.0**-150
"""Smaller numbers become 0; PostgreSQL fails for them."""

_MOST_WHOLE, _MOST_SCALE = 38, 44
"""Decimals with at most these digits before and after the point lie between the two."""


def nearest_real(value: Decimal) -> float | None:
    """The real nearest to a number, ties to even; None beyond the range of reals.

    >>> nearest_real(Decimal("0.3")), nearest_real(Decimal("16777217")), nearest_real(Decimal("1e39"))
    (0.30000001192092896, 16777216.0, None)
    """
    try:
        (near,) = struct.unpack("!f", struct.pack("!f", float(value)))
    except OverflowError:
        return None
    if not near:
        return None if value else 0.0
    (bits,) = struct.unpack("!i", struct.pack("!f", near))  # the double may be rounded onto a midpoint
    around = [struct.unpack("!f", struct.pack("!i", bits + step))[0] for step in (-1, 0, 1)]
    exact = Fraction(value)
    ranked = [(abs(Fraction(one) - exact), place) for place, one in enumerate(around) if abs(one) <= _LARGEST]
    distance = min(ranked)[0]
    nearest = [place for far, place in ranked if far == distance]
    even = [place for place in nearest if (bits + place) % 2]  # of bits + place - 1
    return float(around[(even or nearest)[0]])


def as_real(node: exp.Expr, part: Scalar) -> Scalar:
    """A number as real. Raises: UnsupportedSQL for a literal beyond the range of reals."""
    assert part.type is not None, "typed"
    if part.type == REAL:
        return part
    if part.value is not None:
        return _constant(node, part.value)
    clamped = part.through(lambda sql: rounded(sql, node), real_bounds)
    return Scalar(node, REAL, _plain(node, part), clamped, unranged=part.unranged)


def all_real(node: exp.Expr, values: Sequence[Scalar]) -> list[Scalar]:
    """The values of a choice. PostgreSQL converts numbers beside a real to real, unless there is a double."""
    floats = [part for part in values if part.type is not None and part.type.family is Family.FLOAT]
    if not floats or any(part.type != REAL for part in floats):
        return list(values)
    return [as_real(node, part) if part.is_number and not part.is_null else part for part in values]


def of_reals(left: Scalar, right: Scalar, result: Scalar) -> Scalar:
    """The result of an operator: real if both operands are, as the double result rounded once more.

    Source: Figueroa, When is double rounding innocuous?, 1995: 53 digits are enough for operands of 24.
    """
    if left.type != REAL or right.type != REAL:
        return result

    def clamped() -> Measured:
        sql, known = result.measured()
        return (sql, None) if known is None else (rounded(sql, result.node), real_bounds(known))

    return replace(result, type=REAL, clamped=clamped)


def decimal_digits(node: exp.Expr, part: Scalar) -> Scalar:
    """A real as numeric, which has six digits: 0.3 for 0.3::real. Its digits cannot be counted, so it is a double."""
    assert part.type == REAL, "a real"

    def clamped() -> Measured:
        sql, known = part.measured()
        if known is None:
            return sql, None
        value = _six_digits(sql if part.plain is None else part.sql, node)
        within, bounds = clamp_column(repeated(wrap(value), node), SqlType(Family.FLOAT), known.lo, known.hi)
        return within, intervals.fractional(bounds)

    plain = None if part.plain is None else _six_digits(part.sql, node)
    return Scalar(node, SqlType(Family.FLOAT), plain, clamped, unranged=part.unranged)


def rounded(sql: exp.Expr, node: exp.Expr) -> exp.Expr:
    """A double rounded to the nearest real, as a double.

    PostgreSQL fails for numbers that are too small or too large; here they become 0 and NULL.
    """
    size = exp.Abs(this=repeated(sql, node))
    case = exp.Case().when(exp.LTE(this=size, expression=_double(_HALF_OF_SMALLEST)), _double(0.0), copy=False)
    return case.when(exp.LTE(this=copied(size), expression=_double(_LARGEST)), _cast(copied(sql)), copy=False)


def real_bounds(known: Bounds) -> Bounds:
    """The bounds of a number that is rounded to real, which is monotone."""
    low, high = max(known.lo, -_LARGEST), min(known.hi, _LARGEST)
    least = nearest_real(Decimal(known.least)) or 2.0**-149
    lo, hi = (nearest_real(Decimal(end)) or 0.0 for end in (low, high))
    nonzero = known.nonzero and known.least > _HALF_OF_SMALLEST
    return Bounds(lo, hi, least, integral=False, nonzero=nonzero, digits=0 if known.whole else None)


def _cast(sql: exp.Expr) -> exp.Expr:
    return cast_sql(exp.Cast(this=sql, to=exp.DataType.build("REAL")), "DOUBLE PRECISION")


def _double(value: float) -> exp.Expr:
    return cast_sql(number_sql(Decimal(repr(value)).normalize()), "DOUBLE PRECISION")


def _constant(node: exp.Expr, value: Decimal) -> Scalar:
    near = nearest_real(value)
    if near is None:
        raise UnsupportedSQL(
            "the number is outside the range of real", hint="write a number between 1e-45 and 3.4e38", at=node
        )
    exact = Decimal(repr(near))
    sql = cast_sql(number_sql(exact), "DOUBLE PRECISION")
    return Scalar(node, REAL, sql, lambda: (copied(sql), intervals.constant(near, False)), value=exact)


def _plain(node: exp.Expr, part: Scalar) -> exp.Expr | None:
    if part.plain is None or part.type is None:
        return None
    if part.digits is None:
        return rounded(part.sql, node) if part.type.family is Family.FLOAT else None
    if part.digits.whole > _MOST_WHOLE or part.digits.scale > _MOST_SCALE:
        return None
    whole = part.type.family is Family.INTEGER
    return _cast(part.sql if whole else cast_sql(part.sql, "DOUBLE PRECISION"))


def _six_digits(sql: exp.Expr, node: exp.Expr) -> exp.Expr:
    real = exp.Cast(this=repeated(sql, node), to=exp.DataType.build("REAL"))
    finite = exp.Between(this=wrap(copied(sql)), low=_double(-_LARGEST), high=_double(_LARGEST))
    digits = cast_sql(cast_sql(real, "DECIMAL"), "DOUBLE PRECISION")
    return exp.Case().when(finite, digits, copy=False).else_(cast_sql(copied(sql), "DOUBLE PRECISION"), copy=False)


_TEXT = SqlType(Family.TEXT)

_NUMBER = SqlType(Family.NUMERIC)

_FLOAT_DIGITS = 300

_ONLY_COUNTED = "count them or test IS NULL; for more, ask the administrator for a column of another type"


def settle(part: Scalar, kind: SqlType, binder: Binder) -> Scalar:
    """Give a quoted literal or placeholder this type; leave anything else as it is."""
    if part.type is not None or part.is_null:
        return part
    written = part.plain
    if written is not None:
        check_type(written, kind)
    if isinstance(written, exp.Parameter):
        return settle(binder.scalar(sample(written, kind)), kind, binder)
    assert isinstance(written, exp.Literal), "only literals and placeholders lack a type"
    if kind.family is Family.INTERVAL:
        return binder.scalar(cast_sql(written, "INTERVAL"))
    sql = literals.typed(written, kind, binder.zone)
    if kind.is_number:
        read = binder.scalar(sql)
        return as_real(part.node, read) if kind == REAL else read
    zoned = kind.family is Family.TIMESTAMPTZ and binder.zone != UTC
    if kind.family is Family.TIMESTAMPTZ:  # the value at UTC
        kind = SqlType(Family.TIMESTAMP)
    length = len(written.name) if kind.is_string else None
    settled = SqlType(kind.family, length) if length is not None else kind
    return Scalar(part.node, settled, sql, zoned=zoned)


def number(part: Scalar, binder: Binder) -> Scalar:
    """A number or the literal NULL. Raises: UnsupportedSQL for anything else."""
    part = settle(part, _NUMBER, binder)
    if not part.is_number:
        raise wrong_type(part, "a number")
    return part


def text(part: Scalar, binder: Binder) -> Scalar:
    """A text or the literal NULL. Raises: UnsupportedSQL for anything else."""
    part = settle(part, _TEXT, binder)
    if not part.is_null and (part.type is None or not part.type.is_string):
        raise wrong_type(part, "text")
    return part


def wrong_type(part: Scalar, wanted: str) -> UnsupportedSQL:
    """The error for an argument of the wrong type."""
    enum = wanted == "text" and part.type is not None and part.type.family is Family.ENUM
    hint = "write extract(epoch FROM x), the seconds of an interval" if part.is_interval else None
    return UnsupportedSQL(
        f"{wanted} is needed here, not {part.kind}",
        hint="cast the label: status::text" if enum else hint,
        at=part.node,
    )


def align(node: exp.Expr, parts: Sequence[Scalar], binder: Binder) -> list[Scalar]:
    """Give untyped parts the type of the first typed part, and check that every pair can be compared.

    Beside a double a numeric is a double, as in PostgreSQL. Beside an enum a constant that is cast to text is a
    label: clients that see the column as text write 'open'::varchar. Raises: UndefinedOperator.
    """
    if any(part.type is not None and part.type.family is Family.ENUM for part in parts):
        parts = [_as_label(part) for part in parts]
    if any(part.type == SqlType(Family.FLOAT) for part in parts):
        parts = [double(node, part) if part.type == _NUMBER else part for part in parts]
    typed = next((part for part in parts if part.type is not None), None)
    known = _TEXT if typed is None or typed.type is None else typed.type
    read_as = SqlType(Family.TIMESTAMPTZ) if any(part.zoned for part in parts) else known
    aligned = []
    for part in parts:
        if part.type is not None and not _comparable(known, part.type):
            names = f"{known.shown} and {part.type.shown}"
            number, string = known.is_number or part.type.is_number, known.is_string or part.type.is_string
            hint = "a text goes in quotes: '5'" if number and string else "compare values of one type"
            if known.is_number and part.type.is_number:
                hint = "cast the numeric: x::float8"
            uncompared = next((kind for kind in (known, part.type) if kind.family is Family.OTHER), None)
            if uncompared is not None:
                names, hint = f"values of type {uncompared.shown}", _ONLY_COUNTED
            if Family.ENUM in (known.family, part.type.family):
                hint = "compare an enum with its labels, or as text: status::text"
            raise UndefinedOperator(f"{names} cannot be compared", hint=hint, at=node)
        aligned.append(settle(part, read_as, binder))
    return aligned if binder.zone == UTC else in_one_zone(node, aligned, binder.zone)


_WHOLE_TEXTS = (exp.DType.TEXT, exp.DType.VARCHAR)
"""The types that keep a text as it is: a plain char has one character."""


def _as_label(part: Scalar) -> Scalar:
    """A constant text without its cast; other parts as they are."""
    cast = part.node.unnest()
    if not isinstance(cast, exp.Cast) or cast.to.this not in _WHOLE_TEXTS or cast.to.expressions:
        return part
    written = cast.this.unnest()
    text_literal = isinstance(written, exp.Literal) and written.is_string
    return Scalar(part.node, None, copied(written)) if text_literal else part


def in_one_zone(node: exp.Expr, parts: Sequence[Scalar], zone: str) -> list[Scalar]:
    """For sessions outside of UTC: convert constants to timestamptz where they meet one.

    Raises: UnsupportedSQL for a column without time zone beside one with it; only the zone's rules could convert it.
    """
    if not any(part.has_zone for part in parts):
        return list(parts)
    dated = [part.type is not None and part.type.is_moment and not part.has_zone for part in parts]
    return [_as_moment(node, part, zone) if one else part for part, one in zip(parts, dated, strict=True)]


def _as_moment(node: exp.Expr, part: Scalar, zone: str) -> Scalar:
    """A constant date or timestamp as a timestamptz in the session's zone."""
    place = position_of(node)
    written = part.plain
    if not (isinstance(written, exp.Cast) and isinstance(written.this, exp.Literal)):
        hint = f"write x AT TIME ZONE '{zone}' for the one without, or SET TimeZone = 'UTC'"
        message = f"a time without time zone beside one with it is not supported in the time zone {zone}"
        raise UnsupportedSQL(message, hint=hint, position=place)
    value = literals.moment(written)
    assert value is not None, "a literal is one"
    moment = literals.in_calendar(instant, literals.midnight(value), zone, place)
    day = moment.date()
    sql = literals.moment_sql(moment)
    return replace(part, type=SqlType(Family.TIMESTAMP), plain=sql, span=(day, day), zoned=True, calendar=None)


def _comparable(left: SqlType, right: SqlType) -> bool:
    if left.is_number and right.is_number:
        mixed = (left.family is Family.FLOAT) != (right.family is Family.FLOAT)
        return not mixed or all(fits_float(side) for side in (left, right))
    if left.is_moment and right.is_moment:
        return True
    if left.is_string and right.is_string:
        return True
    return left.family is right.family and left.family is not Family.OTHER and left.labels == right.labels


def check_ordered(node: exp.Expr, parts: Sequence[Scalar]) -> None:
    """Refuse LEAST and GREATEST of enum labels. Raises: UnsupportedSQL."""
    if any(part.type is not None and part.type.family is Family.ENUM for part in parts):
        hint = "write CASE WHEN status < 'done' THEN ...; or cast it, with the order of texts: status::text"
        raise UnsupportedSQL("LEAST and GREATEST of enum labels are not supported", hint=hint, at=node)


def double(node: exp.Expr, part: Scalar) -> Scalar:
    """A number as double precision; a numeric with too many digits as `any_double`."""
    assert part.type is not None, "typed"
    plain = part.plain
    if plain is not None:
        fits = fits_float(part.type)
        plain = cast_sql(copied(plain), "DOUBLE PRECISION") if fits else any_double(repeated(plain, node))
    clamped = part.through(lambda sql: sql, intervals.fractional)
    return Scalar(node, SqlType(Family.FLOAT), plain, clamped, unranged=part.unranged)


_MOST, _LEAST = (number_sql(Decimal(text)) for text in ("1e300", "1e-300"))


def any_double(value: exp.Expr) -> exp.Expr:
    """A numeric of any size as a double. PostgreSQL fails beyond 1e-300 and 1e300; here they become 0 and 1e300."""
    within = exp.Greatest(this=copied(value), expressions=[exp.Neg(this=copied(_MOST))])
    bounded = exp.Least(this=within, expressions=[copied(_MOST)])
    seen = exp.GTE(this=exp.Abs(this=copied(value)), expression=copied(_LEAST))
    zero = exp.Not(this=exp.Is(this=exp.Paren(this=copied(value)), expression=exp.Null()))
    case = exp.Case().when(seen, bounded, copy=False).when(zero, exp.Literal.number(0), copy=False)
    return cast_sql(case, "DOUBLE PRECISION")


def fits_float(kind: SqlType) -> bool:
    """Can every value become a double? The conversion fails for numerics with too many digits."""
    if kind.family is not Family.NUMERIC:
        return True
    return kind.precision is not None and kind.precision <= _FLOAT_DIGITS and 0 <= (kind.scale or 0) <= _FLOAT_DIGITS


def whole_literal(node: exp.Expr, lowest: int, highest: int) -> int:
    """The value of a whole literal. Raises: UnsupportedSQL for anything else, or outside of these bounds."""
    sign, inner = 1, constant(node)
    while isinstance(inner, exp.Neg):
        sign, inner = -sign, constant(inner.this)
    if isinstance(inner, exp.Parameter):
        inner = sample(inner, SqlType(Family.INTEGER))
    if isinstance(inner, exp.Literal) and len(inner.name) < 10 and inner.name.isdecimal() and inner.name.isascii():
        value = sign * int(inner.name)
        if lowest <= value <= highest:
            return value
    hint = f"write a whole number from {lowest} to {highest}"
    raise UnsupportedSQL("this must be a whole number, written as a literal", hint=hint, at=node)


def text_literal(node: exp.Expr, what: str, example: str = "a") -> str:
    """The value of a text literal; `what` names it in the refusal. Raises: UnsupportedSQL for anything else.

    Args:
      example: a text that is valid here, for a placeholder without a value.
    """
    node = constant(node)
    if isinstance(node, exp.Parameter):
        sample(node, _TEXT)
        return example
    if isinstance(node, exp.DPipe):  # '%' || $1 || '%', before its value is known
        return text_literal(node.left, what) + text_literal(node.right, what)
    if not (isinstance(node, exp.Literal) and node.is_string):
        hint = "write the text itself, in single quotes"
        raise UnsupportedSQL(f"{what} that is not a literal is not supported", hint=hint, at=node)
    if "\0" in node.name:
        raise InvalidSyntax("this character cannot be part of a text", at=node)
    return node.name


_SAMPLES = {
    Family.DATE: "2000-01-01",
    Family.TIMESTAMP: "2000-01-01 00:00:00",
    Family.TIMESTAMPTZ: "2000-01-01 00:00:00",
    Family.UUID: "00000000-0000-0000-0000-000000000000",
    Family.TIME: "00:00:00",
    Family.INET: "10.0.0.1",
    Family.INTERVAL: "1 day",
    Family.TEXT: "a",
    Family.CHAR: "a",
}

SLOT = "slot"
"""Metadata key of a node: its slot."""


class Slot:
    """The types that a placeholder's places require; copies of a tree share it.

    Attributes:
      types: of the value, or of an array's elements.
      arrays: whether each place takes an array.
      stated: the types of casts around the places, in PostgreSQL's words; the client's own first, if `given`.
    """

    def __init__(self) -> None:
        self.types: list[SqlType] = []
        self.arrays: set[bool] = set()
        self.stated: list[str] = []
        self.given = False

    def __deepcopy__(self, memo: object) -> Slot:
        return self


def sample(node: exp.Parameter, kind: SqlType) -> exp.Expr:
    """A literal of the type that a placeholder's place requires; the slot records the type.

    Raises: UnsupportedSQL if the statement is to be answered, since its values should be bound by then.
    """
    slot = node.meta.get(SLOT)
    if not isinstance(slot, Slot):
        raise UnsupportedSQL("a placeholder has no value", hint="send the values with the statement", at=node)
    slot.types.append(kind)
    slot.arrays.add(BOUND_ARRAY in node.meta)
    if kind.is_number:
        return exp.Literal.number(1)
    if kind.family is Family.BOOL:
        return exp.true()
    return exp.Literal.string(kind.labels[0] if kind.labels else _SAMPLES.get(kind.family, "a"))
