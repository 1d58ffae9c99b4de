"""What Tab offers."""

from __future__ import annotations

from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from pydantic import TypeAdapter

from server.cli.shell_editor import SqlCompleter
from server.explain.catalog import Catalog
from tests.unit.server.cli.schemas import SCHEMA


def offered(before: str, after: str = "") -> list[str]:
    completer = SqlCompleter(TypeAdapter(Catalog).validate_python(SCHEMA))
    found = completer.get_completions(Document(before + after, len(before)), CompleteEvent())
    return [one.text for one in found]


def test_what_fits_is_offered() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("SELECT count(*) FROM o", ["orders"]),
        ("SELECT count(*) FROM orders JOIN ", ["customer", "orders"]),
        ("SELECT count(*) FROM orders x WHERE x.o_c", ["o_custkey"]),
        ("SELECT sum(customer.c_a", ["c_acctbal"]),
        ("SELECT 1 FROM orders WHERE nowhere.", []),
        ("sel", ["SELECT"]),
        ("\\ti", ["\\timing"]),
        ("\\d cu", ["customer"]),
        ("SELECT ", []),
        ("SELECT count(*) FROM /* which? */ o", ["orders"]),
        ("SELECT count(*) FROM orders WHERE o_c = 'from ", []),
        ("SELECT count(*) FROM orders -- FROM customer x\n x WHERE x.o_c", ["o_custkey"]),
    ]
    for before, words in cases:
        assert offered(before) == words, before


def test_tables_of_other_schemas_are_offered_and_known_with_theirs() -> None:
    visit = {**SCHEMA["tables"][1], "name": "clinic.visit", "namespace": "clinic", "sql": "clinic.visit"}
    completer = SqlCompleter(TypeAdapter(Catalog).validate_python({**SCHEMA, "tables": [*SCHEMA["tables"], visit]}))
    for before, words in (
        ("SELECT count(*) FROM cl", ["clinic.visit"]),
        ("SELECT count(*) FROM clinic.", ["visit"]),
        ("SELECT count(*) FROM clinic.visit WHERE clinic.visit.o_c", ["o_custkey"]),
        ("SELECT count(*) FROM clinic.visit WHERE visit.o_c", ["o_custkey"]),
        ("SELECT count(*) FROM clinic.visit AS v WHERE v.o_c", ["o_custkey"]),
        ("\\d clinic.v", ["clinic.visit"]),
    ):
        found = completer.get_completions(Document(before), CompleteEvent())
        assert [one.text for one in found] == words, before


def test_columns_of_the_statements_own_tables_come_first() -> None:
    assert offered("SELECT c", " FROM customer")[:2] == ["c_custkey", "c_acctbal"]
    assert offered("SELECT o", " FROM orders")[:2] == ["o_orderkey", "o_custkey"]
