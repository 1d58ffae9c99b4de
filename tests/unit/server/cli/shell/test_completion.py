"""What Tab offers."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from server.cli.shell.completion import SqlCompleter
from server.http.schema_body import SchemaBody
from tests.unit.server.cli.shell.schemas import SCHEMA


def offered(before: str, after: str = "") -> list[str]:
    completer = SqlCompleter(SchemaBody.model_validate(SCHEMA))
    found = completer.get_completions(Document(before + after, len(before)), CompleteEvent())
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("SELECT count(*) FROM o", ["orders"]),
        ("SELECT count(*) FROM orders JOIN ", ["customer", "orders"]),
        ("SELECT count(*) FROM orders x WHERE x.o_c", ["o_custkey"]),
        ("SELECT sum(customer.c_a", ["c_acctbal"]),
        ("SELECT 1 FROM orders WHERE nowhere.", []),
        ("sel", ["SELECT"]),
        ("\\ti", ["\\timing"]),
        ("\\d cu", ["customer"]),
        ("SELECT ", []),
    ],
)
def test_what_fits_is_offered(before: str, words: list[str]) -> None:
    assert offered(before) == words


def test_columns_of_the_statements_own_tables_come_first() -> None:
    assert offered("SELECT c", " FROM customer")[:2] == ["c_custkey", "c_acctbal"]
    assert offered("SELECT o", " FROM orders")[:2] == ["o_orderkey", "o_custkey"]
