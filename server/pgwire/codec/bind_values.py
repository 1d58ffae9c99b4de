"""Values of `$1`, `$2`, ... from the bytes that a client binds."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from planner.binding.placeholders import Value
from planner.errors import InvalidSetting, UnreadableValue
from server.pgwire.errors import ProtocolViolation
from server.results.array_parameters import ARRAY_PARAMETERS
from server.results.numeric import MalformedNumeric
from server.results.result_types import PARAMETERS, read_text


def bound_values(values: Sequence[bytes | None], formats: Sequence[int], oids: Sequence[int]) -> tuple[Value, ...]:
    """The values of a Bind message, which become literals of the statement's tree.

    Args:
      values: as sent; None for NULL.
      formats: none (all text), one for all, or one each.
      oids: of the parameters, as the client gave or was told them.
    Raises: UnreadableValue for what is no value of its type; InvalidSetting for a type that is not read;
      ProtocolViolation for a binary numeric that is malformed.
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
        raise InvalidSetting(f"the binary form of ${index}'s type (OID {oid}) is not read", hint=hint)
    read = read_text if parameter is None else parameter.binary if format_ else parameter.text
    try:
        return read(raw)
    except MalformedNumeric as error:
        raise ProtocolViolation(str(error), code="22P03") from None
    except (ValueError, ArithmeticError, struct.error):
        raise UnreadableValue(f"the value of ${index} is not one of its type") from None
