"""PostgreSQL's binary form of numeric: digits to the base of ten thousand.

Source: PostgreSQL, src/backend/utils/adt/numeric.c, numeric_send.
"""

from __future__ import annotations

import struct
from decimal import Decimal

_BASE_DIGITS = 4
_NEGATIVE, _NAN, _INFINITY, _MINUS_INFINITY = 0x4000, 0xC000, 0xD000, 0xF000


class MalformedNumeric(ValueError):
    """Bytes that are no binary numeric."""


def binary_numeric(value: Decimal) -> bytes:
    """The binary form.

    >>> binary_numeric(Decimal("-1.5")).hex()
    '000200004000000100011388'
    """
    if not value.is_finite():
        sign = _NAN if value.is_nan() else _INFINITY if value > 0 else _MINUS_INFINITY
        return struct.pack("!hhHH", 0, 0, sign, 0)
    scale = max(0, -int(value.as_tuple().exponent))
    whole, _, fraction = format(value.copy_abs(), "f").partition(".")
    whole = whole.lstrip("0")
    whole = whole.zfill(-(-len(whole) // _BASE_DIGITS) * _BASE_DIGITS)
    fraction = fraction.ljust(-(-len(fraction) // _BASE_DIGITS) * _BASE_DIGITS, "0")
    digits = [int((whole + fraction)[at : at + _BASE_DIGITS]) for at in range(0, len(whole + fraction), _BASE_DIGITS)]
    weight = len(whole) // _BASE_DIGITS - 1
    while digits and digits[0] == 0:
        digits.pop(0)
        weight -= 1
    while digits and digits[-1] == 0:
        digits.pop()
    sign = _NEGATIVE if value < 0 else 0
    weight = weight if digits else 0
    return struct.pack(f"!hhHH{len(digits)}h", len(digits), weight, sign, scale, *digits)


def decimal_of(raw: bytes) -> Decimal:
    """The value of a binary form. Raises: MalformedNumeric for bytes that are none."""
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
