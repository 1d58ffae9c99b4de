"""Encode cells and decode parameters by OID, in text and binary, with arrays.

Answers have few types (`server/results/result_types.py`), PostgreSQL several sizes of each. Clients see the type that
PostgreSQL gives the column, as in the catalog.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType

import numpy as np
from psycopg.postgres import types

from planner.binding.placeholders import MAX_ELEMENTS, Element, Value
from planner.errors import InvalidSetting, UnreadableValue
from planner.sql.datetimes import zoned_text
from planner.sql.literals import array_elements
from planner.sql.sql_types import NUMBERS, ResultType
from server.pgwire.errors import ProtocolViolation
from server.query import Cell
from server.results.result_types import (
    PARAMETERS,
    RESULT_TYPES,
    MalformedNumeric,
    Parameter,
    binary_numeric,
    float_text,
    read_text,
    whole_within,
)

_NUMERIC, _NO_MODIFIER = 1700, -1


@dataclass(frozen=True)
class WireType:
    """How cells are sent as one of PostgreSQL's types. No function is called for NULL.

    Attributes:
      kinds: result types that this type can carry without change.
      text: encodes a cell as text; its second argument is the column's type modifier.
      binary: encodes a cell as binary.
    """

    kinds: frozenset[ResultType]
    text: Callable[[Cell, int], str]
    binary: Callable[[Cell, int], bytes]


def _of(kind: ResultType, *others: ResultType) -> WireType:
    forms = RESULT_TYPES[kind]
    return WireType(frozenset((kind, *others)), lambda cell, _: forms.text(cell), lambda cell, _: forms.binary(cell))


def _whole(form: str) -> WireType:
    """A small integer; a noisy value out of range becomes the nearest one in range."""
    bits = 8 * struct.calcsize(form)
    return WireType(
        frozenset({"int8"}),
        lambda cell, _: str(whole_within(bits, cell)),
        lambda cell, _: struct.pack(form, whole_within(bits, cell)),
    )


def _single(cell: Cell) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(float(cell or 0.0))


def _decimal(cell: Cell, modifier: int) -> Decimal:
    """A number with the digits of its column's scale, as PostgreSQL writes it.

    >>> _decimal(3, (10 << 16) + 2 + 4), _decimal(2.5, -1), _decimal(4.0, -1)
    (Decimal('3.00'), Decimal('2.5'), Decimal('4'))
    """
    value = Decimal(repr(cell).removesuffix(".0") if isinstance(cell, float) else str(cell))
    if modifier == _NO_MODIFIER or not value.is_finite():
        return value
    scale = ((modifier - 4) & 0x7FF ^ 0x400) - 0x400
    return Decimal(format(value, f".{max(scale, 0)}f"))


def _at_utc(cell: Cell) -> str:
    """A timestamp in UTC, with or without an offset in its cell."""
    text = str(cell)
    return RESULT_TYPES["timestamptz"].text(text if "+00" in text else zoned_text(text))


_TEXT = _of("text")

WIRE_TYPES: Mapping[int, WireType] = MappingProxyType(
    {
        16: _of("bool"),
        19: _TEXT,  # name
        20: _of("int8"),
        21: _whole("!h"),
        23: _whole("!i"),
        25: _TEXT,
        114: _TEXT,  # json
        700: WireType(
            frozenset({"float8"}),
            lambda cell, _: float_text(str(_single(cell))),
            lambda cell, _: struct.pack("!f", _single(cell)),
        ),
        701: _of("float8", *NUMBERS),
        1042: _TEXT,  # bpchar
        1043: _TEXT,  # varchar
        1082: _of("date"),
        1114: _of("timestamp"),
        1186: _of("interval"),
        # date_trunc of a date has a time zone in PostgreSQL: the session's, which is UTC.
        1184: WireType(
            frozenset({"timestamptz", "timestamp"}), lambda cell, _: _at_utc(cell), _of("timestamptz").binary
        ),
        1700: WireType(
            NUMBERS,
            lambda cell, modifier: RESULT_TYPES["numeric"].text(str(_decimal(cell, modifier))),
            lambda cell, modifier: binary_numeric(_decimal(cell, modifier)),
        ),
        2950: WireType(frozenset({"text"}), lambda cell, _: str(cell), lambda cell, _: uuid.UUID(str(cell)).bytes),
    }
)
"""By OID, as in every PostgreSQL."""


_OF_ARRAYS = (16, 19, 20, 21, 23, 25, 700, 701, 1042, 1043, 1082, 1114, 1184, 1700, 2950)

ARRAY_OIDS: Mapping[int, int] = MappingProxyType({oid: types[oid].array_oid for oid in _OF_ARRAYS})
"""The OID of each type's array, as in every PostgreSQL."""


def _from_text(element: Parameter[Element]) -> Callable[[bytes], tuple[Element, ...]]:
    def read(raw: bytes) -> tuple[Element, ...]:
        texts = array_elements(raw.decode(), MAX_ELEMENTS)
        if texts is None:
            raise ValueError
        return tuple(None if text is None else element.text(text.encode()) for text in texts)

    return read


def _from_binary(element: Parameter[Element], oid: int) -> Callable[[bytes], tuple[Element, ...]]:
    def read(raw: bytes) -> tuple[Element, ...]:
        dimensions, _, element_oid = struct.unpack_from("!iiI", raw)
        if element_oid != oid or not 0 <= dimensions <= 1:
            raise ValueError
        if dimensions == 0:
            return ()
        (count,) = struct.unpack_from("!i", raw, 12)
        if not 0 <= count <= MAX_ELEMENTS:
            raise ValueError
        elements: list[Element] = []
        place = 20
        for _ in range(count):
            (length,) = struct.unpack_from("!i", raw, place)
            place += 4
            if length > len(raw) - place:
                raise ValueError
            elements.append(None if length < 0 else element.binary(raw[place : place + length]))
            place += max(0, length)
        return tuple(elements)

    return read


ARRAY_PARAMETERS: Mapping[int, Parameter[tuple[Element, ...]]] = MappingProxyType(
    {
        array: Parameter(_from_text(PARAMETERS[oid]), _from_binary(PARAMETERS[oid], oid))
        for oid, array in ARRAY_OIDS.items()
    }
)
"""By the array's OID; one dimension. A text array is read up to MAX_ELEMENTS + 1 elements, and refused later."""


_ONLY_BOUND = ("int2", "int4", "float4", "bpchar", "varchar", "uuid", "time", "inet")

_OIDS: Mapping[str, int] = MappingProxyType(
    {**{kind: types[kind].oid for kind in _ONLY_BOUND}, **{kind: forms.oid for kind, forms in RESULT_TYPES.items()}}
)

_NAMES: Mapping[int, str] = MappingProxyType({oid: kind for kind, oid in _OIDS.items()})


@dataclass(frozen=True)
class Field:
    """A column as the protocol describes it.

    Attributes:
      oid: of its type, as in every PostgreSQL.
      length: bytes of a value; -1: variable.
      modifier: -1: none.
    """

    name: str
    oid: int
    length: int = -1
    modifier: int = -1


def field_of(name: str, kind: ResultType, described: Field | None = None) -> Field:
    """Describe a column of an answer.

    Args:
      described: PostgreSQL's description, which is used if it can carry the column's cells; None: none.

    >>> field_of("size", "int8", Field("", 23, 4)), field_of("ratio", "float8", Field("", 20, 8))
    (Field(name='size', oid=23, length=4, modifier=-1), Field(name='ratio', oid=701, length=8, modifier=-1))
    """
    if described is not None and can_be_sent(kind, described):
        return replace(described, name=name)
    found = RESULT_TYPES[kind]
    return Field(name, found.oid, found.length)


def can_be_sent(kind: ResultType, field: Field) -> bool:
    """Whether a field's type can carry a column's cells without change."""
    return field.oid in WIRE_TYPES and kind in WIRE_TYPES[field.oid].kinds


def oid_of(kind: str) -> int:
    """The OID of a result type, a parameter type, or an array of one.

    >>> oid_of("int8"), oid_of("int8[]"), oid_of("uuid")
    (20, 1016, 2950)
    """
    return ARRAY_OIDS[_OIDS[kind[:-2]]] if kind.endswith("[]") else _OIDS[kind]


def type_of(oid: int) -> str | None:
    """The type of a parameter's OID, as `oid_of` names it; None if the client leaves it open.

    >>> type_of(1186), type_of(0)
    ('interval', None)
    """
    return _NAMES.get(oid)


def encode_cell(cell: Cell, field: Field, format_: int) -> bytes | None:
    """Encode a cell of an answer.

    Args:
      cell: as in QueryResponse.rows; None is NULL.
      format_: 0 text, 1 binary.

    >>> count = field_of("count", "int8")
    >>> encode_cell(3, count, 0), encode_cell(0.1, field_of("x", "float8"), 0), encode_cell(None, count, 1)
    (b'3', b'0.1', None)
    """
    if cell is None:
        return None
    wire = WIRE_TYPES[field.oid]
    return wire.binary(cell, field.modifier) if format_ else wire.text(cell, field.modifier).encode()


def bound_values(values: Sequence[bytes | None], formats: Sequence[int], oids: Sequence[int]) -> tuple[Value, ...]:
    """Decode the values of a Bind message, which become literals of the statement.

    Args:
      values: as sent; None for NULL.
      formats: none (all text), one for all, or one each.
      oids: of the parameters.
    Raises: UnreadableValue for an invalid value; InvalidSetting for an unsupported type; ProtocolViolation for a
      malformed binary numeric.
    """
    every = tuple(formats) if len(formats) == len(values) else (tuple(formats) or (0,)) * len(values)
    return tuple(
        None if raw is None else _value(raw, format_, oid, index)
        for index, (raw, format_, oid) in enumerate(zip(values, every, oids, strict=True), start=1)
    )


def _value(raw: bytes, format_: int, oid: int, index: int) -> Value:
    parameter = PARAMETERS.get(oid) or ARRAY_PARAMETERS.get(oid)
    if parameter is None and format_:
        hint = "send it as text, or cast it: $1::date"
        raise InvalidSetting(f"the binary format of ${index}'s type (OID {oid}) is not supported", hint=hint)
    read = read_text if parameter is None else parameter.binary if format_ else parameter.text
    try:
        return read(raw)
    except MalformedNumeric as error:
        raise ProtocolViolation(str(error), code="22P03") from None
    except (ValueError, ArithmeticError, struct.error):
        raise UnreadableValue(f"the value of ${index} is not valid for its type") from None
