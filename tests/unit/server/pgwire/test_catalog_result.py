"""Columns of a catalog's answer in text and in binary, side by side, as pgx, asyncpg and pgjdbc ask for them."""

from __future__ import annotations

import pytest

from planner.errors import UnsupportedSQL
from server.pgwire.errors import CatalogRefused
from server.pgwire.result_rows import CatalogResult
from server.pgwire.wire_values import Field

FIELDS = (Field("oid", 26, 4), Field("relname", 19, 64))
TEXT = CatalogResult(FIELDS, (0, 0), ((b"7", b"orders"), (b"8", None)))
BINARY = CatalogResult(FIELDS, (1, 1), ((b"\0\0\0\7", b"orders"), (b"\0\0\0\x08", None)))


def test_each_column_is_in_the_format_that_was_asked_for() -> None:
    mixed = CatalogResult.mixed(TEXT, BINARY, (1, 0))
    assert list(mixed.rows(range(2), (1, 0))) == [[b"\0\0\0\7", b"orders"], [b"\0\0\0\x08", None]]
    assert mixed.fields == FIELDS
    assert len(list(mixed.rows(range(len(mixed)), (1, 0)))) == len(mixed)
    with pytest.raises(UnsupportedSQL):
        mixed.rows(range(len(mixed)), (0, 0))


def test_two_answers_of_different_length_are_refused() -> None:
    with pytest.raises(CatalogRefused, match="changed during the query"):
        CatalogResult.mixed(TEXT, CatalogResult(FIELDS, (1, 1), BINARY.cells[:1]), (0, 1))
