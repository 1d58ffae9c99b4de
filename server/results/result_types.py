"""Result types: the one table of their forms for JSON, PostgreSQL's protocol, CSV and Arrow, and as parameters.

A cell of an answer is JSON (`server.query.Cell`): a number, a truth value or a text. Dates and times are ISO 8601
texts with a blank between date and time, and `+00` after a time with a zone. Numbers that are not finite are null in
JSON. Each type's entry has all other forms, and makes cells from values of databases and groups. The planner's
knowledge of a type is in `planner/sql/result_types.py`; a new type needs an entry in both.

Source of the binary form of numeric, with digits to base 10,000: PostgreSQL, src/backend/utils/adt/numeric.c,
numeric_send.
"""

from __future__ import annotations

import ipaddress
import math
import re
import struct
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from planner.binding.placeholders import Element, IntervalText
from planner.expressions.coercion import nearest_real
from planner.sql.datetimes import read_moment, zoned_text
from planner.sql.literals import written_moment
from planner.sql.sql_types import Family, ResultType
from server.query import Cell

if TYPE_CHECKING:
    from psycopg.abc import Dumper

Read = TypeVar("Read", covariant=True)

_BASE_DIGITS = 4
_NEGATIVE, _NAN, _INFINITY, _MINUS_INFINITY = 0x4000, 0xC000, 0xD000, 0xF000


class MalformedNumeric(ValueError):
    """The bytes are no binary numeric."""


def binary_numeric(value: Decimal) -> bytes:
    """The binary form of a numeric.

    >>> binary_numeric(Decimal("-1.5")).hex()
    '000200004000000100011388'
    """
    return bytes(_numeric_dumper().dump(value) or b"")


@cache
def _numeric_dumper() -> Dumper:
    from psycopg.types.numeric import DecimalBinaryDumper  # who writes CSV does not wait for it

    return DecimalBinaryDumper(Decimal)


def decimal_of(raw: bytes) -> Decimal:
    """Parse a binary numeric. Raises: MalformedNumeric."""
    if len(raw) < 8:
        raise MalformedNumeric("a binary numeric has at least eight bytes")
    count, weight, sign, scale = struct.unpack_from("!hhHH", raw)
    if sign in (_NAN, _INFINITY, _MINUS_INFINITY):
        return Decimal({_NAN: "nan", _INFINITY: "inf", _MINUS_INFINITY: "-inf"}[sign])
    if count < 0 or len(raw) != 8 + 2 * count or sign not in (0, _NEGATIVE) or scale > 0x3FFF:
        raise MalformedNumeric("a binary numeric is malformed")
    digits = struct.unpack_from(f"!{count}h", raw, 8)
    if any(not 0 <= digit < 10_000 for digit in digits):
        raise MalformedNumeric("a binary numeric is malformed")
    spelled = "".join(f"{digit:04d}" for digit in digits) or "0"
    exponent = _BASE_DIGITS * (weight + 1 - count) if count else 0
    return Decimal(("-" if sign else "") + spelled + f"E{exponent}")


_MOMENT = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{4,7})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[ T](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?)?"
    r"(?:[+-]00(?::?00)?|Z)?(?P<before_christ> \(?BC\)?)?",
    re.ASCII,
)
_ENDLESS = {"infinity": 1, "-infinity": -1}
_YEARS, _DAYS = 400, 146_097
"""The calendar repeats after this many years, which have this many days."""

_DAY_US = 86_400_000_000


def endless(text: str) -> int:
    """1 for `infinity`, -1 for `-infinity`, else 0.

    >>> [endless(text) for text in ("infinity", "-infinity", "2024-05-17")]
    [1, -1, 0]
    """
    return _ENDLESS.get(text, 0)


def days_after(text: str, start: date) -> int:
    """The days from a date to the date of a text, in the proleptic Gregorian calendar, as in PostgreSQL.

    Args:
      text: a finite date or moment in UTC as a database writes it: `2024-05-17`, `12024-05-17`, `0044-03-15 BC`.
      start: day 0.
    Raises: ValueError for other texts.

    >>> days_after("2000-01-02", date(2000, 1, 1)), days_after("0001-12-31 BC", date(1, 1, 1))
    (1, -1)
    >>> days_after("10000-01-01", date(9999, 12, 31))
    1
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError
    year = int(found["year"])
    if found["before_christ"]:
        year = 1 - year  # the year 1 BC is the year 0 of astronomers and of ISO 8601
    elif found["sign"] == "-":
        year = -year
    turns, rest = divmod(year - 1, _YEARS)
    day = date(rest + 1, int(found["month"]), int(found["day"]))
    return turns * _DAYS + day.toordinal() - start.toordinal()


def microseconds_after(text: str, start: date) -> int:
    """The microseconds from the midnight of a date to the moment of a text.

    Raises: ValueError for other texts.

    >>> microseconds_after("2000-01-01 00:00:01.5+00", date(2000, 1, 1))
    1500000
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError
    seconds = 3_600 * int(found["hour"] or 0) + 60 * int(found["minute"] or 0) + int(found["second"] or 0)
    return days_after(text, start) * _DAY_US + seconds * 1_000_000 + int((found["fraction"] or "0").ljust(6, "0"))


_EPOCH = datetime(2000, 1, 1)
"""Day 0 of PostgreSQL's binary dates and times."""

_ARROW_EPOCH = date(1970, 1, 1)

_INT4_MIN, _INT4_MAX = -(1 << 31), (1 << 31) - 1
_INT8_MIN, _INT8_MAX = -(1 << 63), (1 << 63) - 1
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,40}\s*", re.ASCII)
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "on", "1"}), frozenset({"f", "false", "n", "no", "off", "0"})
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_it_is(value: Cell) -> Cell:
    """The cell of a value that needs no conversion, as for most types."""
    return value


@dataclass(frozen=True)
class Parameter(Generic[Read]):
    """Parses a bound parameter. Both functions raise ValueError, ArithmeticError or struct.error."""

    text: Callable[[bytes], Read]
    binary: Callable[[bytes], Read]


def _csv(cell: Cell) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


@dataclass(frozen=True)
class TypeForms:
    """The forms of one type. No function is called for NULL.

    Attributes:
      oid: of the type in PostgreSQL.
      length: bytes of a binary value; -1: varies.
      arrow_type: the Arrow type, from the module pyarrow, which is loaded on demand.
      arrow: a cell for pyarrow.
      cell: a cell from a value of a database or a group key.
    """

    oid: int
    length: int
    text: Callable[[Cell], str]
    binary: Callable[[Cell], bytes]
    arrow_type: Callable[[Any], Any]
    arrow: Callable[[Any], object]
    parameter: Parameter[Element]
    csv: Callable[[Cell], str] = _csv
    cell: Callable[[Cell], Cell] = as_it_is


def cells_of(kind: ResultType, values: Iterable[Cell]) -> list[Cell]:
    """The cells of a column from values of a database or group keys; NULL is None.

    >>> cells_of("timestamptz", ["2024-05-17 12:30:00", None])
    ['2024-05-17 12:30:00+00', None]
    """
    made = RESULT_TYPES[kind].cell
    return list(values) if made is as_it_is else [None if value is None else made(value) for value in values]


def harmless(text: str) -> str:
    """The text, with an apostrophe before what spreadsheets would execute as a formula.

    Group keys may be texts that anybody wrote into the data. JSON and Arrow have them unchanged.

    >>> harmless("=1+1"), harmless("FRANCE")
    ("'=1+1", 'FRANCE')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_text(raw: bytes) -> str:
    """A text, also for parameters of unknown type. Raises: ValueError for bytes that are not UTF-8."""
    return raw.decode()


def whole_within(bits: int, cell: Any) -> int:
    """A whole number of `bits` bits. Larger numbers become the end of the range, since no error may depend on noise.

    >>> whole_within(16, 40_000), whole_within(16, -3)
    (32767, -3)
    """
    most = 1 << (bits - 1)
    return max(-most, min(most - 1, int(cell)))


def _whole(cell: Any) -> int:
    return whole_within(64, cell)


def float_text(cell: Cell) -> str:
    """A float in PostgreSQL's text form."""
    value = float(cell or 0.0)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value).removesuffix(".0")


def _numeric_text(cell: Cell) -> str:
    value = Decimal(str(cell))
    return format(value, "f") if value.is_finite() else float_text(float(value))


def _day_binary(cell: Cell) -> bytes:
    """A date in binary; the largest and smallest numbers are the infinities."""
    end = endless(str(cell))
    number = days_after(str(cell), _EPOCH.date()) if not end else _INT4_MAX if end > 0 else _INT4_MIN
    return struct.pack("!i", number)


def _moment_binary(cell: Cell) -> bytes:
    end = endless(str(cell))
    number = microseconds_after(str(cell), _EPOCH.date()) if not end else _INT8_MAX if end > 0 else _INT8_MIN
    return struct.pack("!q", number)


def _arrow_day(cell: Any) -> int | None:
    """Days since 1970. Arrow has no infinity, so it becomes NULL, as does what does not fit."""
    return None if endless(str(cell)) else days_after(str(cell), _ARROW_EPOCH)


def _arrow_moment(cell: Any) -> int | None:
    number = None if endless(str(cell)) else microseconds_after(str(cell), _ARROW_EPOCH)
    return number if number is not None and _INT8_MIN <= number <= _INT8_MAX else None


def _read_whole(raw: bytes) -> int:
    written = raw.decode()
    if not _WHOLE.fullmatch(written):
        raise ValueError
    return int(written)


def _read_decimal(raw: bytes) -> Decimal:
    return _finite(Decimal(raw.decode().strip()))


def _read_real(raw: bytes) -> float:
    near = nearest_real(_read_decimal(raw))
    if near is None:
        raise ValueError
    return near


def _finite(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise ValueError
    return value


def truth(text: str) -> bool:
    """Parse a truth value as PostgreSQL does. Raises: ValueError."""
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError
    return word in _TRUE


def _packed_whole(form: str) -> Callable[[bytes], int]:
    return lambda raw: int(struct.unpack(form, raw)[0])


def _packed_float(form: str) -> Callable[[bytes], float]:
    def read(raw: bytes) -> float:
        value = float(struct.unpack(form, raw)[0])
        if not math.isfinite(value):
            raise ValueError
        return value

    return read


def _written(family: Family) -> Callable[[bytes], date]:
    """The parser of a text for a type."""
    return lambda raw: written_moment(raw.decode(), family)


def _zoned(raw: bytes) -> datetime | str:
    """A moment with a zone; without an offset it stays a text, to be read in the session's zone."""
    text = raw.decode()
    moment, read = written_moment(text, Family.TIMESTAMPTZ), read_moment(text)
    assert isinstance(moment, datetime) and read is not None, "else it raises"
    return moment.replace(tzinfo=UTC) if read.zoned else text


def _packed_interval(raw: bytes) -> IntervalText:
    """An interval of months, days and microseconds as text."""
    micros, days, months = struct.unpack("!qii", raw)
    return IntervalText(f"{months} months {days} days {micros} microseconds")


def interval_text(seconds: float) -> str:
    """The text of a length of time, of days of 24 hours, as PostgreSQL writes it.

    >>> interval_text(93784.5), interval_text(-86400.0), interval_text(0.000001)
    ('1 day 02:03:04.5', '-1 days', '00:00:00.000001')
    """
    micros = round(seconds * 1_000_000)
    days, rest = divmod(abs(micros), _DAY_US)
    whole, fraction = divmod(rest, 1_000_000)
    sign = "-" if micros < 0 else ""
    clock = f"{sign}{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
    clock += f".{fraction:06}".rstrip("0") if fraction else ""
    counted = f"{sign}{days} day{'' if days == 1 and not sign else 's'}"
    return counted if days and not rest else f"{counted} {clock}" if days else clock


def _seconds_of(text: str) -> timedelta:
    """The length of time of a text of `interval_text`."""
    found = _LENGTH.fullmatch(text)
    assert found is not None, "a text of interval_text"
    parts = {name: float(part or 0) for name, part in found.groupdict().items() if name != "sign"}
    sign = -1 if found["sign"] else 1
    return timedelta(days=parts.pop("days")) + sign * timedelta(**parts)


_LENGTH = re.compile(
    r"(?:(?P<days>-?\d+) days?)? ?(?:(?P<sign>-)?(?P<hours>\d\d):(?P<minutes>\d\d):(?P<seconds>\d\d(?:\.\d+)?))?"
)


def _packed_time(raw: bytes) -> str:
    """A time of day, a number of microseconds, as text."""
    seconds, micros = divmod(struct.unpack("!q", raw)[0], 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"


def _packed_network(raw: bytes) -> str:
    """An address as text: family, network bits, two bytes, then its own bytes."""
    return f"{ipaddress.ip_address(raw[4:])}/{raw[1]}"


def _packed_moment(raw: bytes) -> datetime:
    return _EPOCH + timedelta(microseconds=struct.unpack("!q", raw)[0])


RESULT_TYPES: Mapping[ResultType, TypeForms] = MappingProxyType(
    {
        "bool": TypeForms(
            oid=16,
            length=1,
            text=lambda cell: "t" if cell else "f",
            binary=lambda cell: b"\1" if cell else b"\0",
            arrow_type=lambda pa: pa.bool_(),
            arrow=bool,
            parameter=Parameter(lambda raw: truth(raw.decode()), lambda raw: bool(struct.unpack("!?", raw)[0])),
        ),
        "int8": TypeForms(
            oid=20,
            length=8,
            text=lambda cell: str(_whole(cell)),
            binary=lambda cell: struct.pack("!q", _whole(cell)),
            arrow_type=lambda pa: pa.int64(),
            arrow=_whole,
            parameter=Parameter(_read_whole, _packed_whole("!q")),
        ),
        "text": TypeForms(
            oid=25,
            length=-1,
            text=str,
            binary=lambda cell: str(cell).encode(),
            arrow_type=lambda pa: pa.string(),
            arrow=str,
            parameter=Parameter(read_text, read_text),
            csv=lambda cell: harmless(str(cell)),
        ),
        "float4": TypeForms(
            oid=700,
            length=4,
            text=float_text,
            binary=lambda cell: struct.pack("!f", float(cell or 0.0)),
            arrow_type=lambda pa: pa.float32(),
            arrow=float,
            parameter=Parameter(_read_real, _packed_float("!f")),
            csv=float_text,
        ),
        "float8": TypeForms(
            oid=701,
            length=8,
            text=float_text,
            binary=lambda cell: struct.pack("!d", float(cell or 0.0)),
            arrow_type=lambda pa: pa.float64(),
            arrow=float,
            parameter=Parameter(_read_decimal, _packed_float("!d")),
            csv=float_text,
        ),
        "date": TypeForms(
            oid=1082,
            length=4,
            text=str,
            binary=_day_binary,
            arrow_type=lambda pa: pa.date32(),
            arrow=_arrow_day,
            parameter=Parameter(
                _written(Family.DATE), lambda raw: _EPOCH.date() + timedelta(days=struct.unpack("!i", raw)[0])
            ),
        ),
        "timestamp": TypeForms(
            oid=1114,
            length=8,
            text=lambda cell: str(cell).replace("T", " "),
            binary=_moment_binary,
            arrow_type=lambda pa: pa.timestamp("us"),
            arrow=_arrow_moment,
            parameter=Parameter(_written(Family.TIMESTAMP), _packed_moment),
        ),
        "timestamptz": TypeForms(  # all at UTC, as every session is set
            oid=1184,
            length=8,
            text=lambda cell: str(cell).replace("T", " "),
            binary=_moment_binary,
            arrow_type=lambda pa: pa.timestamp("us", tz="UTC"),
            arrow=_arrow_moment,
            parameter=Parameter(_zoned, lambda raw: _packed_moment(raw).replace(tzinfo=UTC)),
            cell=lambda value: zoned_text(str(value)),
        ),
        "interval": TypeForms(
            oid=1186,
            length=16,
            text=str,
            binary=lambda cell: struct.pack("!qii", _seconds_of(str(cell)) // timedelta(microseconds=1), 0, 0),
            arrow_type=lambda pa: pa.duration("us"),
            arrow=lambda cell: _seconds_of(cell),
            parameter=Parameter(lambda raw: IntervalText(read_text(raw)), _packed_interval),
            cell=lambda value: interval_text(float(value or 0)),
        ),
        "numeric": TypeForms(
            oid=1700,
            length=-1,
            text=_numeric_text,
            binary=lambda cell: binary_numeric(Decimal(str(cell))),
            arrow_type=lambda pa: pa.float64(),
            arrow=lambda cell: float(Decimal(str(cell))),
            parameter=Parameter(_read_decimal, lambda raw: _finite(decimal_of(raw))),
        ),
    }
)

PARAMETERS: Mapping[int, Parameter[Element]] = MappingProxyType(
    {
        **{forms.oid: forms.parameter for forms in RESULT_TYPES.values()},
        # Open, name, unknown, bpchar, varchar.
        **dict.fromkeys((0, 19, 705, 1042, 1043), RESULT_TYPES["text"].parameter),
        21: Parameter(_read_whole, _packed_whole("!h")),  # int2
        23: Parameter(_read_whole, _packed_whole("!i")),  # int4
        869: Parameter(read_text, _packed_network),  # inet
        1083: Parameter(read_text, _packed_time),  # time
        2950: Parameter(read_text, lambda raw: str(uuid.UUID(bytes=raw))),  # uuid
    }
)
"""Parsers of parameters by OID: of the result types, and of types that only parameters have."""
