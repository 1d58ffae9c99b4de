"""Arrays as bound parameters, in PostgreSQL's text and binary forms: `x = ANY($1)`."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from planner.binding.placeholders import MAX_ELEMENTS, Element
from planner.sql.array_texts import array_elements
from server.results.result_types import PARAMETERS, Parameter

ARRAY_OIDS: Mapping[int, int] = MappingProxyType(
    {
        16: 1000,  # bool
        19: 1003,  # name
        20: 1016,  # int8
        21: 1005,  # int2
        23: 1007,  # int4
        25: 1009,  # text
        700: 1021,  # float4
        701: 1022,  # float8
        1042: 1014,  # bpchar
        1043: 1015,  # varchar
        1082: 1182,  # date
        1114: 1115,  # timestamp
        1184: 1185,  # timestamptz
        1700: 1231,  # numeric
        2950: 2951,  # uuid
    }
)
"""The OID of each type's array, as in every PostgreSQL."""


@dataclass(frozen=True)
class ArrayParameter:
    """How the value of a bound array is read. Both raise ValueError, ArithmeticError or struct.error.

    Attributes:
      text: from PostgreSQL's text form.
      binary: from its binary form.
    """

    text: Callable[[bytes], tuple[Element, ...]]
    binary: Callable[[bytes], tuple[Element, ...]]


def _from_text(element: Parameter) -> Callable[[bytes], tuple[Element, ...]]:
    def read(raw: bytes) -> tuple[Element, ...]:
        texts = array_elements(raw.decode(), MAX_ELEMENTS)
        if texts is None:
            raise ValueError
        return tuple(None if text is None else element.text(text.encode()) for text in texts)

    return read


def _from_binary(element: Parameter, oid: int) -> Callable[[bytes], tuple[Element, ...]]:
    def read(raw: bytes) -> tuple[Element, ...]:
        dimensions, _, told = struct.unpack_from("!iiI", raw)
        if told != oid or not 0 <= dimensions <= 1:
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


ARRAY_PARAMETERS: Mapping[int, ArrayParameter] = MappingProxyType(
    {
        array: ArrayParameter(_from_text(PARAMETERS[oid]), _from_binary(PARAMETERS[oid], oid))
        for oid, array in ARRAY_OIDS.items()
    }
)
"""By the array's OID; one dimension. Of a text with more than MAX_ELEMENTS one more is read, and refused later on."""
