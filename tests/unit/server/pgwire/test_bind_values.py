"""Bound values, as psycopg sends them in both formats."""

from __future__ import annotations

from datetime import date, datetime, time
from ipaddress import ip_address, ip_interface
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer

from planner.errors import InvalidSetting, PlannerError, UnreadableValue
from server.pgwire.wire_values import bound_values


def sent(value: Any, format_: PyFormat) -> tuple[bytes, int, int]:
    """A value as psycopg binds it: bytes, format, OID."""
    dumper = Transformer().get_dumper(value, format_)
    dumped = dumper.dump(value)
    assert dumped is not None
    return bytes(dumped), int(dumper.format), dumper.oid


@given(
    value=st.one_of(
        st.integers(-(2**62), 2**62),
        st.booleans(),
        st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    )
)
def test_what_psycopg_sends_is_what_it_meant(value: Any) -> None:
    cases: list[PyFormat] = [PyFormat.TEXT, PyFormat.BINARY]
    for format_ in cases:
        raw, code, oid = sent(value, format_)
        assert bound_values([raw], [code], [oid]) == (value,), format_


def test_moments_times_addresses_and_uuids_become_texts() -> None:
    format_s: list[PyFormat] = [PyFormat.TEXT, PyFormat.BINARY]
    values: list[tuple[Any, str]] = [
        (date(1995, 3, 15), "1995-03-15"),
        (datetime(1995, 3, 15, 12, 30), "1995-03-15 12:30:00"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (time(9, 5, 7, 250_000), "09:05:07.250000"),
        (ip_address("10.0.0.1"), "10.0.0.1"),
        (ip_interface("fe80::1/64"), "fe80::1/64"),
    ]
    for format_ in format_s:
        for value, written in values:
            raw, code, oid = sent(value, format_)
            read = bound_values([raw], [code], [oid])[0]
            assert str(read).replace("-", "").removesuffix("/32") == written.replace("-", ""), (format_, value)


def test_floats_in_binary_are_exact() -> None:
    raw, code, oid = sent(0.1, PyFormat.BINARY)
    assert bound_values([raw], [code], [oid]) == (0.1,)


def test_one_format_stands_for_all_and_null_has_none() -> None:
    assert bound_values([b"1", None, b"2"], [0], [20, 20, 23]) == (1, None, 2)
    assert bound_values([b"1", b"x"], [], [20, 25]) == (1, "x")


def test_what_is_no_value_is_refused() -> None:
    for raw, code, oid in [
        (b"1; DROP TABLE t", 0, 20),
        (b"1e5", 0, 20),
        (b"NaN", 0, 701),
        (b"Infinity", 0, 1700),
        (b"maybe", 0, 16),
        (b"\xff", 0, 25),
        (b"\x00\x01", 1, 20),
        (b"\x7f\xf0\x00\x00\x00\x00\x00\x00", 1, 701),
        (b"\x00\x01\x00\x00\x00\x00\x00\x00", 1, 1700),
        (b"\x7f\xff\xff\xff", 1, 1082),
    ]:
        with pytest.raises((UnreadableValue, InvalidSetting, Exception)) as caught:
            bound_values([raw], [code], [oid])
        assert isinstance(caught.value, PlannerError) or type(caught.value).__name__ == "ProtocolViolation", raw


def test_an_unknown_binary_type_is_refused_by_name() -> None:
    with pytest.raises(InvalidSetting, match="OID 600"):
        bound_values([b"\0" * 16], [1], [600])


def test_a_value_is_data_whatever_it_holds() -> None:
    assert bound_values([b"'; DROP TABLE t; --"], [0], [25]) == ("'; DROP TABLE t; --",)
