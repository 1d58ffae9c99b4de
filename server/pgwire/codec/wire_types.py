"""PostgreSQL's types of columns of answers, by OID: how a cell is sent as one, in text and in binary.

An answer's cells have few types (`server/results/result_types.py`); PostgreSQL has several sizes of each. A client is
told the one that PostgreSQL gives the column, which is also what the catalog says of the tables.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

import numpy as np

from planner.sql.datetime_texts import zoned_text
from planner.sql.result_names import NUMBERS, ResultType
from server.query import Cell
from server.results.numeric import binary_numeric
from server.results.result_types import RESULT_TYPES, float_text, whole_within

_NUMERIC, _NO_MODIFIER = 1700, -1


@dataclass(frozen=True)
class WireType:
    """How cells are sent as one of PostgreSQL's types. No function here is called for NULL.

    Attributes:
      kinds: of the columns whose cells can be sent so, none of them changed.
      text: a cell in the text form; the second argument is the column's type modifier.
      binary: a cell in the binary form.
    """

    kinds: frozenset[ResultType]
    text: Callable[[Cell, int], str]
    binary: Callable[[Cell, int], bytes]


def _of(kind: ResultType, *others: ResultType) -> WireType:
    forms = RESULT_TYPES[kind]
    return WireType(frozenset((kind, *others)), lambda cell, _: forms.text(cell), lambda cell, _: forms.binary(cell))


def _whole(form: str) -> WireType:
    """A small whole number; of a noisy one that does not fit the nearest that does."""
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
    """A number with as many digits after its point as its column has, as PostgreSQL writes it.

    >>> _decimal(3, (10 << 16) + 2 + 4), _decimal(2.5, -1), _decimal(4.0, -1)
    (Decimal('3.00'), Decimal('2.5'), Decimal('4'))
    """
    value = Decimal(repr(cell).removesuffix(".0") if isinstance(cell, float) else str(cell))
    if modifier == _NO_MODIFIER or not value.is_finite():
        return value
    scale = ((modifier - 4) & 0x7FF ^ 0x400) - 0x400
    return Decimal(format(value, f".{max(scale, 0)}f"))


def _at_utc(cell: Cell) -> str:
    """A moment at UTC, whether its cell says so or not."""
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
        # A date that is cut to its month has a time zone in PostgreSQL: the session's, which is UTC.
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
