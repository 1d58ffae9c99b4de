"""Cells of answers and their columns as PostgreSQL's protocol has them, in text and in binary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from planner.sql.result_names import ResultType
from server.query import Cell
from server.results.array_parameters import ARRAY_OIDS
from server.results.result_types import RESULT_TYPES

_OIDS: Mapping[str, int] = MappingProxyType(
    {"uuid": 2950, "interval": 1186, **{kind: forms.oid for kind, forms in RESULT_TYPES.items()}}
)


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


def field_of(name: str, kind: ResultType) -> Field:
    """The description of a column of an answer."""
    found = RESULT_TYPES[kind]
    return Field(name, found.oid, found.length)


def oid_of(kind: str) -> int:
    """The OID of a type of columns or parameters: a ResultType, `uuid`, `interval`, or the array of one.

    >>> oid_of("int8"), oid_of("int8[]"), oid_of("uuid")
    (20, 1016, 2950)
    """
    return ARRAY_OIDS[_OIDS[kind[:-2]]] if kind.endswith("[]") else _OIDS[kind]


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
    found = RESULT_TYPES[kind]
    return found.binary(cell) if format_ else found.text(cell).encode()


def spell(cell: Cell, kind: ResultType) -> str | None:
    """A cell in PostgreSQL's text form; None is NULL."""
    return None if cell is None else RESULT_TYPES[kind].text(cell)
