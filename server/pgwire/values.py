"""Cells of answers as PostgreSQL spells them, in text and in binary."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType

from planner.plan import ResultType
from server.pgwire.numeric import binary_numeric
from server.query import Cell

_EPOCH = datetime(2000, 1, 1)
_INT8_MAX = (1 << 63) - 1


@dataclass(frozen=True)
class Field:
    """A column as the protocol describes it.

    Attributes:
      name: the column's name.
      oid: of its type, as in every PostgreSQL.
      length: bytes of a value; -1 varies.
      modifier: -1: none.
    """

    name: str
    oid: int
    length: int = -1
    modifier: int = -1


@dataclass(frozen=True)
class _WireType:
    oid: int
    length: int
    text: Callable[[Cell], str]
    binary: Callable[[Cell], bytes]


def field_of(name: str, kind: ResultType) -> Field:
    """The description of a column of an answer."""
    found = _TYPES[kind]
    return Field(name, found.oid, found.length)


def oid_of(kind: ResultType) -> int:
    """The OID of a type."""
    return _TYPES[kind].oid


def encode_cell(cell: Cell, kind: ResultType, format_: int) -> bytes | None:
    """A cell of an answer.

    Args:
      cell: as in QueryResponse.rows; None is NULL.
      kind: the type of its column.
      format_: 0 text, 1 binary.

    >>> encode_cell(3, "int8", 0), encode_cell(0.1, "float8", 0), encode_cell(True, "bool", 1)
    (b'3', b'0.1', b'\\x01')
    """
    if cell is None:
        return None
    found = _TYPES[kind]
    return found.binary(cell) if format_ else found.text(cell).encode()


def spell(cell: Cell, kind: ResultType) -> str | None:
    """A cell in PostgreSQL's text form; None is NULL."""
    return None if cell is None else _TYPES[kind].text(cell)


def _whole(cell: Cell) -> int:
    """An int8; what does not fit is cut to the ends, as no error may depend on a noisy value."""
    return max(-_INT8_MAX - 1, min(_INT8_MAX, int(cell or 0)))


def _float_text(cell: Cell) -> str:
    value = float(cell or 0.0)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    spelled = repr(value)
    return spelled.removesuffix(".0")


def _numeric_text(cell: Cell) -> str:
    value = Decimal(str(cell))
    if not value.is_finite():
        return _float_text(float(value))
    return format(value, "f")


def _bool_text(cell: Cell) -> str:
    return "t" if cell else "f"


def _text(cell: Cell) -> str:
    return str(cell)


def _day(cell: Cell) -> bytes:
    return struct.pack("!i", (date.fromisoformat(str(cell)) - _EPOCH.date()).days)


def _moment(cell: Cell) -> bytes:
    passed = datetime.fromisoformat(str(cell)).replace(tzinfo=None) - _EPOCH
    return struct.pack("!q", (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds)


_TYPES: Mapping[ResultType, _WireType] = MappingProxyType(
    {
        "bool": _WireType(16, 1, _bool_text, lambda cell: b"\1" if cell else b"\0"),
        "int8": _WireType(20, 8, lambda cell: str(_whole(cell)), lambda cell: struct.pack("!q", _whole(cell))),
        "text": _WireType(25, -1, _text, lambda cell: str(cell).encode()),
        "float8": _WireType(701, 8, _float_text, lambda cell: struct.pack("!d", float(cell or 0.0))),
        "date": _WireType(1082, 4, _text, _day),
        "timestamp": _WireType(1114, 8, lambda cell: str(cell).replace("T", " "), _moment),
        "numeric": _WireType(1700, -1, _numeric_text, lambda cell: binary_numeric(Decimal(str(cell)))),
    }
)
