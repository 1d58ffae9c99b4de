"""Names of tables: canonical ones, those of a policy, and those of a statement under a search path."""

from __future__ import annotations

import random

import pytest

from planner.errors import PolicyInvalid
from planner.policy.draft import draft
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.schema import Column, ForeignKey, Schema, Table, name_parts, sql_name, table_name
from tests.support.clinic_of_schemas import POLICY, hospital_policy

LETTERS = 'ab."A \n'


def test_no_two_tables_have_one_name() -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices(LETTERS, k=rng.randint(1, 4))) for _ in range(60)]
    places = [(place, word) for place in ("public", *words) for word in words]
    names = {table_name(*place): place for place in places}
    assert len(names) == len(set(places))
    assert all(name_parts(name) == place for name, place in names.items())


def test_what_is_no_name() -> None:
    for name in ("", ".", "a.", ".a", "a.b.c", '"a', '"a"b', 'a."b', '""'):
        with pytest.raises(ValueError, match="not a valid table name"):
            name_parts(name)


def test_names_in_sql() -> None:
    assert [sql_name(name) for name in ("visit", 'clinic."a.b"', 'Lab.x"y')] == [
        "visit",
        'clinic."a.b"',
        '"Lab"."x""y"',
    ]


def test_a_policy_reads_names_without_a_schema_as_the_first_ones() -> None:
    policy = hospital_policy()
    assert policy.schemas == ("clinic", "ref")
    assert policy.namespaces == ("clinic", "ref", "public", "Lab.1")
    assert policy.privacy_units == {"clinic.patient": ("id",)}
    assert {"clinic.visit", "visit", "ward", "ref.ward", '"Lab.1"."Result.2"'} < policy.tables.keys()


def test_a_policy_of_public_tables_is_the_same_with_and_without_its_search_path() -> None:
    plain = POLICY.replace('schemas = ["clinic", "ref"]\n', "").replace('"public.visit"', "note")
    assert parse_policy('schemas = ["public"]\n' + plain).hash == parse_policy(plain).hash
    assert parse_policy('schemas = ["public", "clinic"]\n' + plain).hash != parse_policy(plain).hash


def test_policies_that_name_tables_wrongly() -> None:
    for before, after, words in [
        ('["clinic", "ref"]', '["clinic", "clinic"]', "schemas: must name different schemas"),
        ('["clinic", "ref"]', '["pg_catalog"]', "schemas: schema pg_catalog is PostgreSQL's own"),
        ('["clinic", "ref"]', "[]", "schemas: must be a list of names"),
        ('[tables."ref.ward"]', "[tables.ref.ward]", r'tables.ref.ward: .* in quotes: \[tables."SCHEMA.ward"\]'),
        ("patient = ", "clinic.patient = ", "privacy_units.clinic: put the name of a table with its schema"),
        ('[tables."ref.ward"]', '[tables."a.b.c"]', "tables.a.b.c: is not a valid table name"),
        ('[tables."ref.ward"]', '[tables."clinic.visit"]', "visit: is the same table as another setting"),
        ('[tables."ref.ward"]', '[tables."information_schema.tables"]', "PostgreSQL's own"),
    ]:  # fmt: skip
        assert before in POLICY
        with pytest.raises(PolicyInvalid, match=words):
            parse_policy(POLICY.replace(before, after, 1))


def _table(place: str, name: str, *references: str) -> Table:
    keys = tuple(ForeignKey(("of",), other, ("id",)) for other in references)
    columns = (Column("id", "integer", False), Column("of", "integer", True))
    return Table(table_name(place, name), place, columns, (("id",),), keys, ("id",))


def test_a_draft_of_schemas_is_a_policy_that_means_the_same_tables() -> None:
    tables = (
        _table("clinic", "patient"), _table("public", "visit", "clinic.patient"), _table("Lab.1", "x\ny", "visit"),
    )  # fmt: skip
    schema = Schema({table.name: table for table in tables})
    text = draft(schema, "hospital", left_out=[("clinic.a\nb = 1", "a view")])
    policy = parse_policy(text)
    assert policy.tables.keys() == schema.tables.keys()
    assert policy.schemas == ("public", "Lab.1", "clinic")
    assert '#   "clinic.a\\nb = 1": a view' in text, "a name cannot end its comment"
    validate(policy, schema)


def test_a_hidden_name_ends_the_search() -> None:
    ward = _table("ref", "ward")
    schema = Schema({ward.name: ward}, hidden=frozenset({"clinic.ward"}))
    assert schema.on_path("ward", ("ref", "clinic")) is ward
    assert schema.on_path("ward", ("clinic", "ref")) is None
    assert schema.fingerprint == Schema({ward.name: ward}).fingerprint
