"""Cells of answers and their columns as PostgreSQL's protocol has them, in text and in binary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from planner.sql.result_names import ResultType
from server.pgwire.codec.wire_types import WIRE_TYPES
from server.query import Cell
from server.results.array_parameters import ARRAY_OIDS
from server.results.result_types import RESULT_TYPES

_OIDS: Mapping[str, int] = MappingProxyType(
    {
        "int2": 21,
        "int4": 23,
        "float4": 700,
        "bpchar": 1042,
        "varchar": 1043,
        "interval": 1186,
        "uuid": 2950,
        "time": 1083,
        "inet": 869,
        **{kind: forms.oid for kind, forms in RESULT_TYPES.items()},
    }
)

_NAMES: Mapping[int, str] = MappingProxyType({oid: kind for kind, oid in _OIDS.items()})


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


def field_of(name: str, kind: ResultType, told: Field | None = None) -> Field:
    """The description of a column of an answer.

    Args:
      told: what PostgreSQL says of the column; None: nothing. It counts if the column's cells can be sent so.

    >>> field_of("size", "int8", Field("", 23, 4)), field_of("ratio", "float8", Field("", 20, 8))
    (Field(name='size', oid=23, length=4, modifier=-1), Field(name='ratio', oid=701, length=8, modifier=-1))
    """
    if told is not None and can_be_sent(kind, told):
        return replace(told, name=name)
    found = RESULT_TYPES[kind]
    return Field(name, found.oid, found.length)


def can_be_sent(kind: ResultType, field: Field) -> bool:
    """Can the cells of a column be sent as another column's, none of them changed?"""
    return field.oid in WIRE_TYPES and kind in WIRE_TYPES[field.oid].kinds


def oid_of(kind: str) -> int:
    """The OID of a type of columns or parameters: a ResultType, one that only parameters have, or the array of one.

    >>> oid_of("int8"), oid_of("int8[]"), oid_of("uuid")
    (20, 1016, 2950)
    """
    return ARRAY_OIDS[_OIDS[kind[:-2]]] if kind.endswith("[]") else _OIDS[kind]


def type_of(oid: int) -> str | None:
    """The type that a client gives a parameter, as `oid_of` has it; None where it leaves the type open.

    >>> type_of(1186), type_of(0)
    ('interval', None)
    """
    return _NAMES.get(oid)


def encode_cell(cell: Cell, field: Field, format_: int) -> bytes | None:
    """A cell of an answer.

    Args:
      cell: as in QueryResponse.rows; None is NULL.
      field: its column.
      format_: 0 text, 1 binary.

    >>> count = field_of("count", "int8")
    >>> encode_cell(3, count, 0), encode_cell(0.1, field_of("x", "float8"), 0), encode_cell(None, count, 1)
    (b'3', b'0.1', None)
    """
    if cell is None:
        return None
    wire = WIRE_TYPES[field.oid]
    return wire.binary(cell, field.modifier) if format_ else wire.text(cell, field.modifier).encode()


def spell(cell: Cell, field: Field) -> str | None:
    """A cell in PostgreSQL's text form; None is NULL."""
    return None if cell is None else WIRE_TYPES[field.oid].text(cell, field.modifier)
