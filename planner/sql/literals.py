"""Constants of a statement, including arrays and enum labels, read here so that no database has to refuse one.

Where SQL needs a constant, a cast of a constant is one, and so are texts joined by `||`. Enum labels have the order
of their declaration.
"""

from __future__ import annotations

import calendar
import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from planner.errors import (
    InvalidSyntax,
    UndefinedOperator,
    UnreadableMoment,
    UnreadableValue,
    UnsupportedSQL,
    did_you_mean,
)
from planner.schema import table_name
from planner.sql import zones
from planner.sql.datetimes import OF_A_DAY, begun, moment_text, read_moment
from planner.sql.sql_types import Family, SqlType, sql_type
from planner.sql.trees import cast_sql, fold, position_of

BOUND_ARRAY = "bound_array"
"""Metadata key of a placeholder whose value is an array; the IN list around it takes the elements."""

_ELEMENT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"\s*|((?:[^"\\{},]|\\.)+))(,|\Z)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def array_elements(text: str, most: int) -> tuple[str | None, ...] | None:
    r"""The elements of a one-dimensional array, with None for NULL; None for any other text.

    A client's array may be long: after `most` elements, only one more is read.

    >>> array_elements('{CA, "a \\"b\\", c",NULL,"NULL"}', 9), array_elements("{}", 9), array_elements("{{1},{2}}", 9)
    (('CA', 'a "b", c', None, 'NULL'), (), None)
    >>> array_elements("{1,2,3,4}", 2)
    ('1', '2', '3')
    """
    stripped = text.strip()
    if not (len(stripped) >= 2 and stripped[0] == "{" and stripped[-1] == "}"):
        return None
    inside, place = stripped[1:-1], 0
    elements: list[str | None] = []
    if not inside.strip():
        return ()
    while True:
        found = _ELEMENT.match(inside, place)
        if found is None:
            return None
        quoted, plain, separator = found.groups()
        if quoted is not None:
            elements.append(_ESCAPED.sub(r"\1", quoted))
        else:
            word = plain.strip()
            if not word:
                return None
            elements.append(None if word.upper() == "NULL" else _ESCAPED.sub(r"\1", word))
        if not separator or len(elements) > most:
            return tuple(elements)
        place = found.end()


_WHOLE = re.compile(r"\s*(?P<sign>[+-]?)0*(?P<digits>[0-9]+)\s*", re.ASCII)
_DECIMAL = re.compile(r"\s*(?P<sign>[+-]?)(?P<digits>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*", re.ASCII)


def constant(node: exp.Expr) -> exp.Expr:
    """The literal that a constant expression stands for, as drivers write it, such as `$1::VARCHAR` with its value.

    Formats, patterns, units, zones and row counts are read this way.
    Returns: a Literal, a Null, the Neg of a Literal, or a placeholder without a value. Any other expression is
      returned without its parentheses.

    >>> from sqlglot import parse_one
    >>> texts = ("('month'::varchar)", "'7'::int", "7 || ' days'::text", "'abc'::varchar(2)", "$1::int", "a::int")
    >>> [constant(parse_one(text, dialect="postgres")).sql("postgres") for text in (*texts, "upper('%a%')")]
    ["'month'", '7', "'7 days'", "'ab'", '$1', 'CAST(a AS INT)', "'%A%'"]
    """
    node = node.unnest()
    if isinstance(node, exp.Cast):
        inner = constant(node.this)
        if isinstance(inner, (exp.Null, exp.Parameter)):
            return inner
        return _without_casts(inner, node.to) or node
    if isinstance(node, exp.DPipe):
        return _joined((node.left, node.right)) or node
    if isinstance(node, exp.Concat):
        return _joined(node.expressions) or node
    if isinstance(node, (exp.Upper, exp.Lower)):
        text = constant(node.this)
        if isinstance(text, exp.Literal) and text.is_string and text.name.isascii():  # other letters need a locale
            return _noted(
                exp.Literal.string(text.name.upper() if isinstance(node, exp.Upper) else text.name.lower()), text
            )
    return node


def constant_text(node: exp.Expr) -> str | None:
    """The text of a constant text or number; None for anything else."""
    found = constant(node)
    sign = "-" if isinstance(found, exp.Neg) else ""
    literal = found.this.unnest() if sign else found
    return f"{sign}{literal.name}" if isinstance(literal, exp.Literal) and not (sign and literal.is_string) else None


def _joined(parts: Sequence[exp.Expr]) -> exp.Expr | None:
    texts = [constant_text(part) for part in parts]
    known = [text for text in texts if text is not None]
    return _noted(exp.Literal.string("".join(known)), parts[0]) if len(known) == len(texts) else None


def _without_casts(inner: exp.Expr, target: exp.DataType) -> exp.Expr | None:
    """A constant cast to another type; None if the value or the type is not supported here."""
    text = constant_text(inner)
    kind = sql_type(target.sql("postgres").lower())
    if text is None or kind.labels:
        return None
    if target.this in (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR):
        return _noted(exp.Literal.string(text[: kind.precision]), inner)
    if not kind.is_number or target.expressions:
        return None
    found = (_WHOLE if target.this in exp.DataType.INTEGER_TYPES else _DECIMAL).fullmatch(text)
    if found is None:
        return None
    number = _noted(exp.Literal.number(found["digits"]), inner)
    return exp.Neg(this=number) if found["sign"] == "-" else number


def _noted(literal: exp.Expr, written: exp.Expr) -> exp.Expr:
    """A literal that stands for a longer expression, marked with the position of that expression."""
    literal.meta.update(written.meta)
    return literal


OF_TYPE = "of_type"
"""Metadata key of a literal or placeholder that is cast to an enum: the type's name as written."""

_MOST = 200
"""The most labels of an enum that can be ordered."""


def label_place(label: exp.Expr, kind: SqlType, node: exp.Expr) -> exp.Expr:
    """The position of a label within its enum, as a whole number; NULL for NULL.

    Raises: UnsupportedSQL if the enum has too many labels.

    >>> label_place(exp.column("m"), SqlType(Family.ENUM, labels=("sad", "ok")), exp.column("m")).sql()
    "CASE WHEN m = 'sad' THEN 0 WHEN m = 'ok' THEN 1 END"
    """
    if len(kind.labels) > _MOST:
        hint = "sort or compare its labels as text: status::text"
        raise UnsupportedSQL(f"ordering an enum of more than {_MOST} labels is not supported", hint=hint, at=node)
    case = exp.Case()
    for place, known in enumerate(kind.labels):
        same = exp.EQ(this=label.copy(), expression=exp.Literal.string(known))
        case = case.when(same, exp.Literal.number(place), copy=False)
    return case


def ordered_labels(operator: type[exp.Expr], label: exp.Expr, literal: str, kind: SqlType) -> exp.Expr:
    """Write `label < literal` and the like as a list of the labels that match.

    >>> mood = SqlType(Family.ENUM, labels=("sad", "ok", "happy"))
    >>> [ordered_labels(one, exp.column("m"), "ok", mood).sql() for one in (exp.GTE, exp.LT)]
    ["m IN ('happy', 'ok')", "m IN ('sad')"]
    >>> ordered_labels(exp.LT, exp.column("m"), "sad", mood).sql()
    'm <> m'
    """
    place = kind.labels.index(literal)
    end = place + (operator in (exp.LTE, exp.GT))
    meant = kind.labels[:end] if operator in (exp.LT, exp.LTE) else kind.labels[end:]
    listed = [exp.Literal.string(one) for one in sorted(meant)]
    if not listed:  # false, or NULL for NULL
        return exp.NEQ(this=label, expression=label.copy())
    return exp.In(this=label, expressions=listed)


def type_written(target: exp.DataType) -> str | None:
    """The name of a type that PostgreSQL itself lacks; None for its own types."""
    name = target.args.get("kind") if target.this is exp.DType.USERDEFINED else None
    if isinstance(name, exp.Identifier):
        return fold(name)
    if isinstance(name, exp.Dot) and all(isinstance(part, exp.Identifier) for part in (name.this, name.expression)):
        return table_name(fold(name.this), fold(name.expression))
    return None


def is_named(kind: SqlType, name: str) -> bool:
    """Whether `name` may refer to this enum. Enums from files are unnamed, so every name is accepted."""
    return kind.family is Family.ENUM and (not kind.enum or name in (kind.enum, kind.enum.rpartition(".")[2]))


def check_type(written: exp.Expr, kind: SqlType) -> None:
    """Refuse a literal that states another type than this one. Raises: UnsupportedSQL, UndefinedOperator."""
    name = written.meta.get(OF_TYPE)
    if name is None:
        return
    if kind.family is not Family.ENUM:
        hint = "compare it with a column of that type"
        raise UnsupportedSQL(f"the type {name} is not supported here", hint=hint, at=written)
    if not is_named(kind, name):
        hint = "compare an enum with labels of its own type"
        raise UndefinedOperator(f"{kind.enum} and {name} cannot be compared", hint=hint, at=written)


_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_TRUTHS = (("true", True), ("yes", True), ("on", True), ("1", True),
           ("false", False), ("no", False), ("off", False), ("0", False))  # fmt: skip
_MOMENTS = {
    exp.DataType.Type.DATE: Family.DATE,
    exp.DataType.Type.TIMESTAMP: Family.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ: Family.TIMESTAMPTZ,
}
_TIME = re.compile(
    r"\s*(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]{0,6}))?)?\s*",
    re.ASCII,
)
_BLANKS = " \t\n\r\f\v"
_LARGEST, _SMALLEST = Decimal("1e100"), Decimal("1e-100")
_MAX_DIGITS = 200
_SHOWN_LABELS = 10
_SECONDS = {
    "MICROSECOND": 1e-6, "MILLISECOND": 1e-3, "SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800,
}  # fmt: skip
_MONTHS = {"MONTH": 1, "YEAR": 12}
_MOST_STEPS = dict.fromkeys((*_SECONDS, *_MONTHS), 999_999)


def number(node: exp.Expr) -> Decimal:
    """The value of a numeric literal, 0 or between 1e-100 and 1e100 in size, which every database can hold.

    Raises: InvalidSyntax, UnsupportedSQL.
    """
    text = node.name
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        raise InvalidSyntax("the number cannot be read", at=node)
    value = Decimal(text)
    if value and not _SMALLEST <= value <= _LARGEST:
        raise UnsupportedSQL("a number above 1e100 or below 1e-100 is not supported", at=node)
    return value


def number_sql(value: Decimal) -> exp.Expr:
    """Write a numeric literal without an exponent."""
    return exp.Literal.number(format(value, "f")) if value >= 0 else exp.Neg(this=number_sql(value.copy_abs()))


def value_sql(value: str | bool | int | float) -> exp.Expr:
    """Write a text, boolean or number as a literal."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    return exp.Literal.string(value) if isinstance(value, str) else number_sql(Decimal(repr(value)))


def canonical_sql(value: Decimal) -> exp.Expr:
    """Write a number in one way for 100, 100.0 and 1e2, where its type does not matter.

    >>> canonical_sql(Decimal("100.00")).sql(), canonical_sql(Decimal("-0.50")).sql()
    ('100', '-0.5')
    """
    text = format(value.copy_abs(), "f")
    digits = text.rstrip("0").rstrip(".") if "." in text else text  # Decimal's own arithmetic rounds
    literal = exp.Literal.number(digits)
    return exp.Neg(this=literal) if value < 0 else literal


def typed(node: exp.Literal, kind: SqlType, zone: str = zones.UTC) -> exp.Expr:
    """A quoted literal as a value of the type that it is compared with.

    Args:
      zone: the time zone of a timestamptz without an offset.
    Returns: SQL that cannot fail.
    Raises: InvalidSyntax if the text is no such value; UnsupportedSQL if the type takes no literal.
    """
    text = node.name
    if kind.is_string:
        return exp.Literal.string(text)
    if kind.is_moment:
        return moment_sql(written_moment(text, kind.family, position_of(node), zone))
    if kind.family is Family.ENUM:
        return _label(node, kind)
    if kind.family in _READERS:
        return _READERS[kind.family](node)
    text = text.strip(_BLANKS)
    digits = text[1:] if text[:1] in ("-", "+") else text
    if kind.is_number and _NUMBER.fullmatch(digits):
        value = number(exp.Literal(this=digits, is_string=False))
        return number_sql(value.copy_negate() if value and text.startswith("-") else value)
    wanted = "write a number" if kind.is_number else "write a value of its type"
    raise UnreadableValue(f"the text is not a value of type {kind.shown}", hint=wanted, at=node)


def moment(node: exp.Expr) -> date | datetime | None:
    """The value of `DATE '...'` or `TIMESTAMP '...'`, truncated, plus or minus INTERVALs; None for anything else."""
    found = moment_in(node, zones.UTC)
    return None if found is None else found[0]


def moment_sql(value: date | datetime) -> exp.Expr:
    """Write `CAST('1994-01-01' AS DATE)` or `CAST('1994-01-01 00:00:00' AS TIMESTAMP)`."""
    return cast_sql(exp.Literal.string(moment_text(value)), "TIMESTAMP" if isinstance(value, datetime) else "DATE")


def written_moment(text: str, family: Family, position: int | None = None, zone: str = zones.UTC) -> date | datetime:
    """Read a text as a date or a timestamp; a timestamptz becomes its time at UTC.

    Args:
      zone: the time zone of a timestamptz without an offset.
    Raises: UnreadableMoment.
    """
    read = read_moment(text)
    value: date | datetime | None = None
    if read is not None:
        value = {Family.DATE: read.day, Family.TIMESTAMP: read.local}.get(family, read.utc)
        if isinstance(value, datetime) and family is Family.TIMESTAMPTZ and not read.zoned and zone != zones.UTC:
            value = in_calendar(zones.instant, value, zone, position)
    if value is None:
        hint = "write '1994-01-31' or '1994-01-31 12:00:00'"
        raise UnreadableMoment("the date cannot be read", hint=hint, position=position)
    return value


def moment_in(node: exp.Expr, zone: str) -> tuple[date | datetime, bool] | None:
    """Read a moment in a session's time zone, as `moment` does.

    Returns: the value, and whether it has a time zone; then the value is the time at UTC. None for anything else.
    """
    node = node.unnest()
    if isinstance(node, exp.Cast):
        inner: exp.Expr = node
        while isinstance(inner, exp.Cast):
            inner = inner.this.unnest()
        return _cast_in(node, zone) if isinstance(inner, exp.Literal) else None
    if isinstance(node, (exp.Add, exp.Sub)) and isinstance(interval := node.expression.unnest(), exp.Interval):
        found = moment_in(node.this, zone)
        if found is None:
            return None
        start, zoned = found
        sign = -1 if isinstance(node, exp.Sub) else 1
        if not zoned or _SECONDS.get(interval.text("unit").upper().removesuffix("S"), 86_400) < 86_400:
            return _shift(start, interval, sign), zoned
        place = position_of(node)
        moved = _shift(in_calendar(zones.local_time, midnight(start), zone, place), interval, sign)
        return in_calendar(zones.instant, moved, zone, place), True
    if isinstance(node, exp.TimestampTrunc) and node.args.get("zone") is None:
        found = moment_in(node.this, zone)
        return None if found is None else _begun(node, *found, zone)
    return None


def _begun(node: exp.TimestampTrunc, value: date | datetime, zoned: bool, zone: str) -> tuple[datetime, bool] | None:
    """The start of a moment's unit of time, by the clocks of the zone; None for other units."""
    place = position_of(node)
    local = in_calendar(zones.local_time, midnight(value), zone, place) if zoned else midnight(value)
    unit = node.args["unit"].name.lower()
    start = begun(local, unit)
    if start is None or not zoned:
        return None if start is None else (start, False)
    if unit in OF_A_DAY:  # an hour that comes twice keeps its offset
        return midnight(value) - (local - start), True
    return in_calendar(zones.instant, start, zone, place), True


def _cast_in(node: exp.Cast, zone: str) -> tuple[date | datetime, bool]:
    inner, family, place = node.this.unnest(), _MOMENTS.get(node.to.this), position_of(node)
    if not isinstance(inner, exp.Cast) or family is None:
        if not (isinstance(inner, exp.Literal) and inner.is_string):
            raise UnsupportedSQL("this cast is not supported", hint="a cast can fail for some row", position=place)
        if family is None:
            message = f"a literal of type {node.to.sql('postgres')} is not supported"
            raise UnsupportedSQL(message, hint="write DATE '...' or TIMESTAMP '...'", position=place)
        return written_moment(inner.name, family, position_of(inner), zone), family is Family.TIMESTAMPTZ
    value, zoned = _cast_in(inner, zone)
    if zoned and family is not Family.TIMESTAMPTZ:
        value = in_calendar(zones.local_time, midnight(value), zone, place)
    if family is Family.TIMESTAMPTZ and not zoned:
        value = in_calendar(zones.instant, midnight(value), zone, place)
    return _converted(value, family), family is Family.TIMESTAMPTZ


def midnight(value: date | datetime) -> datetime:
    """Turn a date into its first moment; a timestamp is returned unchanged."""
    return value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)


def in_calendar(
    convert: Callable[[datetime, str], datetime], value: datetime, zone: str, position: int | None
) -> datetime:
    """Convert a moment by `zones.instant` or `zones.local_time`. Raises: InvalidSyntax beyond the calendar."""
    try:
        return convert(value, zone)
    except (OverflowError, ValueError):
        raise InvalidSyntax("the date is outside the years 1 to 9999", position=position) from None


def _converted(value: date | datetime, family: Family) -> date | datetime:
    """Convert a moment at UTC to another type of moment."""
    if family is Family.DATE:
        return value.date() if isinstance(value, datetime) else value
    return midnight(value)


def _truth(node: exp.Expr) -> exp.Expr:
    """Read a boolean as PostgreSQL does: any prefix of a word that starts no other word."""
    text = node.name.strip(_BLANKS).lower()
    meant = {truth for word, truth in _TRUTHS if text and word.startswith(text)}
    if len(meant) != 1:
        raise UnreadableValue("the text is not a value of type boolean", hint="write TRUE", at=node)
    return exp.Boolean(this=meant.pop())


def _uuid(node: exp.Expr) -> exp.Expr:
    try:
        return cast_sql(exp.Literal.string(str(uuid.UUID(node.name))), "UUID")
    except ValueError:
        raise UnreadableValue("the UUID cannot be read", at=node) from None


def _time(node: exp.Expr) -> exp.Expr:
    """Read a time of day, to the microsecond."""
    found = _TIME.fullmatch(node.name)
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second")) if found else (24, 0, 0)
    if hour > 23 or minute > 59 or second > 59:
        raise UnreadableValue("the time cannot be read", hint="write '12:30' or '12:30:00.5'", at=node)
    fraction = ((found and found["fraction"]) or "").rstrip("0")
    text = f"{hour:02}:{minute:02}:{second:02}{'.' if fraction else ''}{fraction}"
    return cast_sql(exp.Literal.string(text), "TIME")


def _network(node: exp.Expr) -> exp.Expr:
    """Read an address with or without the bits of its network: '10.0.0.1', '10.0.0.0/8', '::1'."""
    written, slash, bits = node.name.strip(_BLANKS).partition("/")
    try:
        if "%" in written or (slash and not (bits.isascii() and bits.isdecimal())):
            raise ValueError
        found = ipaddress.ip_interface(f"{written}{slash}{bits}")
    except ValueError:
        hint = "write '10.0.0.1' or '10.0.0.0/8'"
        raise UnreadableValue("the address cannot be read", hint=hint, at=node) from None
    return cast_sql(exp.Literal.string(found.with_prefixlen), "INET")


_READERS = {Family.BOOL: _truth, Family.UUID: _uuid, Family.TIME: _time, Family.INET: _network}


def _label(node: exp.Expr, kind: SqlType) -> exp.Expr:
    if node.name not in kind.labels:
        some = ", ".join(f"'{label}'" for label in kind.labels[:_SHOWN_LABELS])
        hint = did_you_mean(node.name, kind.labels) or f"write one of its labels: {some}"
        raise UnreadableValue("the text is not a label of the enum", hint=hint, at=node)
    return exp.Literal.string(node.name)


def interval_of(node: exp.Interval, most: Mapping[str, int] = _MOST_STEPS) -> tuple[int, str]:
    """The number and the unit of an interval. Raises: UnsupportedSQL beyond `most` of a unit."""
    amount, unit = node.this, node.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    text = amount.name if isinstance(amount, exp.Literal) else ""
    if not re.fullmatch(r"-?[0-9]{1,9}", text) or abs(int(text)) > most.get(name, -1):
        hint = "write INTERVAL '3' MONTH; one whole number and one unit"
        raise UnsupportedSQL("this interval is not supported", hint=hint, at=node)
    return int(text), name


def _shift(start: date | datetime, interval: exp.Interval, sign: int) -> datetime:
    """Add an interval as PostgreSQL does. A day that the month lacks becomes the month's last day."""
    amount, name = interval_of(interval)
    steps = sign * amount
    instant = midnight(start)
    try:
        if name in _SECONDS:
            return instant + timedelta(seconds=steps * _SECONDS[name])
        months = instant.year * 12 + instant.month - 1 + steps * _MONTHS[name]
        year, month = divmod(months, 12)
        return instant.replace(
            year=year, month=month + 1, day=min(instant.day, calendar.monthrange(year, month + 1)[1])
        )
    except (ValueError, OverflowError):
        raise InvalidSyntax("the date is outside the years 1 to 9999", at=interval) from None
