"""Values of `$1`, `$2`, ... from the bytes that a client binds."""

from __future__ import annotations

import math
import re
import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from types import MappingProxyType

from planner.errors import InvalidSetting, UnreadableValue
from planner.placeholders import Value
from server.pgwire.numeric import decimal_of

UNKNOWN = 0
"""The OID of a parameter whose type the client leaves to the server."""

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,40}\s*", re.ASCII)
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "on", "1"}), frozenset({"f", "false", "n", "no", "off", "0"})
_DAY_ZERO = date(2000, 1, 1)
_MOMENT_ZERO = datetime(2000, 1, 1)


def bound_values(values: Sequence[bytes | None], formats: Sequence[int], oids: Sequence[int]) -> tuple[Value, ...]:
    """The values of a Bind message, which become literals of the statement's tree.

    Args:
      values: as sent; None for NULL.
      formats: none (all text), one for all, or one each.
      oids: of the parameters, as the client gave or was told them.
    Raises: UnreadableValue for what is no value of its type; InvalidSetting for a type that is not read.
    """
    every = tuple(formats) if len(formats) == len(values) else (tuple(formats) or (0,)) * len(values)
    return tuple(
        None if raw is None else _value(raw, format_, oid, index)
        for index, (raw, format_, oid) in enumerate(zip(values, every, oids, strict=True), start=1)
    )


def _value(raw: bytes, format_: int, oid: int, index: int) -> Value:
    readers = _BINARY if format_ else _TEXTUAL
    read = readers.get(oid)
    if read is None:
        if format_:
            hint = "send it as text, or cast it: $1::date"
            raise InvalidSetting(f"the binary form of ${index}'s type (OID {oid}) is not read", hint=hint)
        read = _string
    try:
        return read(raw)
    except (ValueError, InvalidOperation, struct.error, OverflowError):
        raise UnreadableValue(f"the value of ${index} is not one of its type") from None


def _string(raw: bytes) -> str:
    return raw.decode()


def _whole_text(raw: bytes) -> int:
    spelled = raw.decode()
    if not _WHOLE.fullmatch(spelled):
        raise ValueError
    return int(spelled)


def _decimal_text(raw: bytes) -> Decimal:
    return _finite(Decimal(raw.decode().strip()))


def _finite(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise ValueError
    return value


def _finite_float(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError
    return value


def _bool_text(raw: bytes) -> bool:
    word = raw.decode().strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError


def _unpacked(form: str) -> Callable[[bytes], int]:
    def read(raw: bytes) -> int:
        return int(struct.unpack(form, raw)[0])

    return read


def _bool_byte(raw: bytes) -> bool:
    return bool(struct.unpack("!?", raw)[0])


def _day(raw: bytes) -> str:
    return (_DAY_ZERO + timedelta(days=struct.unpack("!i", raw)[0])).isoformat()


def _moment(raw: bytes) -> str:
    return (_MOMENT_ZERO + timedelta(microseconds=struct.unpack("!q", raw)[0])).isoformat(sep=" ")


def _moment_of_zone(raw: bytes) -> str:
    return _moment(raw) + "+00"


_BOOL, _INT8, _INT2, _INT4, _FLOAT4, _FLOAT8, _NUMERIC = 16, 20, 21, 23, 700, 701, 1700
_TEXTS = (25, 1043, 1042, 19, 705, UNKNOWN)
_DATE, _TIMESTAMP, _TIMESTAMPTZ, _UUID = 1082, 1114, 1184, 2950

_Readers = Mapping[int, Callable[[bytes], Value]]

_TEXTUAL: _Readers = MappingProxyType(
    {
        **dict.fromkeys((_INT8, _INT2, _INT4), _whole_text),
        **dict.fromkeys((_FLOAT4, _FLOAT8, _NUMERIC), _decimal_text),
        _BOOL: _bool_text,
    }
)
_BINARY: _Readers = MappingProxyType(
    {
        **dict.fromkeys(_TEXTS, _string),
        _INT2: _unpacked("!h"),
        _INT4: _unpacked("!i"),
        _INT8: _unpacked("!q"),
        _FLOAT4: lambda raw: _finite_float(struct.unpack("!f", raw)[0]),
        _FLOAT8: lambda raw: _finite_float(struct.unpack("!d", raw)[0]),
        _NUMERIC: lambda raw: _finite(decimal_of(raw)),
        _BOOL: _bool_byte,
        _DATE: _day,
        _TIMESTAMP: _moment,
        _TIMESTAMPTZ: _moment_of_zone,
        _UUID: lambda raw: str(uuid.UUID(bytes=raw)),
    }
)
