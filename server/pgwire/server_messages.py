"""Encode server messages. Source: PostgreSQL documentation, "Message Formats"."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Literal

from server.error_table import Problem
from server.pgwire.wire_values import Field

TransactionStatus = Literal["I", "T", "E"]
"""Idle, in a transaction, in a failed transaction."""


def message(kind: bytes, *parts: bytes) -> bytes:
    """One message: its type, its length, its fields."""
    body = b"".join(parts)
    return kind + struct.pack("!i", len(body) + 4) + body


def text(value: str) -> bytes:
    """A text with its final zero byte; zero bytes inside are dropped."""
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


NO_DATA = message(b"n")  # this statement has no rows
EMPTY_QUERY = message(b"I")
PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = message(b"1"), message(b"2"), message(b"3")
PORTAL_SUSPENDED = message(b"s")  # more rows follow
COPY_DONE = message(b"c")


def authentication(step: Literal[0, 10, 11, 12], data: bytes = b"") -> bytes:
    """Authentication: 10 lists the mechanisms, 11 and 12 are the server's SCRAM messages, 0 is success."""
    return message(b"R", struct.pack("!i", step), data)


def negotiate_protocol(minor: int, unknown: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: the newest supported minor version, and the unknown options."""
    return message(b"v", struct.pack("!ii", minor, len(unknown)), *(text(name) for name in unknown))


def parameter_status(name: str, value: str) -> bytes:
    """ParameterStatus: the value of a setting."""
    return message(b"S", text(name), text(value))


def backend_key(process: int, secret: bytes) -> bytes:
    """BackendKeyData: what a CancelRequest must show."""
    return message(b"K", struct.pack("!i", process), secret)


def ready_for_query(status: TransactionStatus) -> bytes:
    """ReadyForQuery, with the transaction status."""
    return message(b"Z", status.encode())


def row_description(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """RowDescription; no column belongs to a table, because all values are computed."""
    columns = (
        text(field.name) + struct.pack("!ihihih", 0, 0, field.oid, field.length, field.modifier, format_)
        for field, format_ in zip(fields, formats, strict=True)
    )
    return message(b"T", struct.pack("!h", len(fields)), *columns)


def parameter_description(oids: Sequence[int]) -> bytes:
    """ParameterDescription: the OID of each parameter."""
    return message(b"t", struct.pack(f"!h{len(oids)}i", len(oids), *oids))


def binary_row(cells: Sequence[bytes | None]) -> bytes:
    """The body of DataRow, also a row of binary COPY; None is NULL.

    >>> binary_row([b"a", None])
    b'\\x00\\x02\\x00\\x00\\x00\\x01a\\xff\\xff\\xff\\xff'
    """
    lengths = (b"\xff\xff\xff\xff" if cell is None else struct.pack("!i", len(cell)) + cell for cell in cells)
    return b"".join((struct.pack("!h", len(cells)), *lengths))


def data_row(cells: Sequence[bytes | None]) -> bytes:
    """DataRow; None is NULL."""
    return message(b"D", binary_row(cells))


def command_complete(tag: str) -> bytes:
    """CommandComplete: `SELECT 3`, `BEGIN`, ..."""
    return message(b"C", text(tag))


def copy_out(columns: int, *, binary: bool = False) -> bytes:
    """CopyOutResponse: rows of COPY follow, all columns in one format."""
    return message(b"H", struct.pack(f"!bh{columns}h", binary, columns, *([int(binary)] * columns)))


def copy_data(data: bytes) -> bytes:
    """CopyData: bytes of one or more rows."""
    return message(b"d", data)


def error(problem: Problem, request_id: str = "", severity: Literal["ERROR", "FATAL"] = "ERROR") -> bytes:
    """ErrorResponse; its detail holds the request id, by which administrators find the log entry."""
    detail = f"Request id: {request_id}" if request_id else None
    return message(b"E", *_report(severity, problem.code, problem.message, detail, problem.hint, problem.position))


def notice(words: str, *, code: str = "00000", severity: Literal["NOTICE", "WARNING"] = "NOTICE") -> bytes:
    """NoticeResponse: a message beside the answer, with an SQLSTATE; 00000 means success."""
    return message(b"N", *_report(severity, code, words, None, None, None))


def _report(
    severity: str, code: str, words: str, detail: str | None, hint: str | None, position: int | None
) -> Iterable[bytes]:
    fields = (
        (b"S", severity),
        (b"V", severity),
        (b"C", code),
        (b"M", words),
        (b"D", detail),
        (b"H", hint),
        (b"P", None if position is None else str(position)),
    )
    return [*(tag + text(value) for tag, value in fields if value is not None), b"\0"]
