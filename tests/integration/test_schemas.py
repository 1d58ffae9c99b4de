"""Tables of several schemas: what a name means is what PostgreSQL says, and no search path decides what is read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from sqlglot import exp

from planner.binding.scope import table_reference
from planner.errors import AmbiguousColumn, InvalidSyntax, PlannerError, UnknownTable
from planner.parsing.parse import read
from planner.policy.draft import draft, extent
from planner.policy.policy import Policy, TablePolicy, parse_policy
from planner.policy.table_lookup import find_table
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Schema, sql_identifier
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_namespaces, read_schema
from server.backends.postgres_custody import PostgresCustody
from server.pgwire.settings import spelled
from server.pgwire.shadow import ShadowDatabase
from server.pgwire.shadow_setup import create_shadow
from server.policy.check_data import check_policy
from tests.golden.untruncated import assert_same, postgres, untruncated
from tests.support.clinic_of_schemas import POLICY as TEXT
from tests.support.clinic_of_schemas import hospital_policy, load_hospital
from tests.support.planning import planned
from tests.support.public import public
from tests.support.seeds import examples

POLICY = hospital_policy()


@pytest.fixture(scope="module")
def hospital(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    """The hospital's database, as its owner, with the policy's search path."""
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS hospital_of_tests WITH (FORCE)")
        connection.execute("CREATE DATABASE hospital_of_tests")
        url = embedded_postgres.url(database="hospital_of_tests")
        load_hospital(url)
        yield make_conninfo(url, options="-c search_path=clinic,ref")
        connection.execute("DROP DATABASE hospital_of_tests WITH (FORCE)")


@pytest.fixture(scope="module")
def schema(hospital: str) -> Schema:
    with psycopg.connect(hospital, options="-c search_path=pg_catalog") as connection:
        found = read_schema(connection, POLICY.namespaces)
    validate(POLICY, found)
    return found


def test_tables_of_one_name_are_as_many_tables(schema: Schema) -> None:
    assert {"visit", "clinic.visit", "ref.visit", '"Lab.1"."Result.2"', '"a.b"'} <= schema.tables.keys()
    assert schema.tables["visit"].foreign_keys[0].references == "clinic.visit"
    assert schema.tables["clinic.visit"].foreign_keys[1].references == "ref.ward"
    assert "clinic.code" in schema.views and "clinic.event_2023" in schema.hidden


def test_what_a_policy_does_not_name_is_no_part_of_the_fingerprint(hospital: str, schema: Schema) -> None:
    public_only = replace(POLICY, schemas=("public",), tables={}, privacy_units={}, foreign_keys=())
    with psycopg.connect(hospital, options="-c search_path=pg_catalog") as connection:
        before = read_schema(connection, public_only.namespaces).fingerprint
        connection.execute("ALTER TABLE ref.code ADD more int")
        assert read_schema(connection, public_only.namespaces).fingerprint == before
        assert read_schema(connection, POLICY.namespaces).fingerprint != schema.fingerprint
        connection.rollback()


NAMES = ("visit", "ward", "Ward", "code", "a.b", 'q"r', "wide", "x")
PLACES = ("public", "clinic", "ref", "Lab.1", "none")


def test_a_name_means_what_to_regclass_says(scratch_url: str) -> None:
    """Random tables and views in random schemas, random search paths, random spellings."""
    rng = random.Random(20)
    with psycopg.connect(scratch_url, autocommit=True) as connection:
        for place in PLACES[1:-1]:
            connection.execute(f"CREATE SCHEMA {sql_identifier(place)}".encode())
        for place in PLACES[:-1]:
            for name in NAMES:
                where = f"{sql_identifier(place)}.{sql_identifier(name)}"
                kind = rng.choice(("TABLE {} (id int)", "TABLE {} (id int)", "VIEW {} AS SELECT 1 AS id", ""))
                if kind:
                    connection.execute(("CREATE " + kind.format(where)).encode())
        schema = read_schema(connection, PLACES)
        everything = replace(POLICY, tables={name: TablePolicy() for name in schema.tables})
        meant = 0
        for _ in range(examples(300, 600)):
            path = rng.sample(PLACES, rng.randint(0, 4))
            written = _spelled(rng, connection.info.dbname)
            connection.execute("SELECT set_config('search_path', %s, false)", (spelled(path),))
            row = connection.execute(
                "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE c.oid = to_regclass(%s) AND c.relkind = 'r'",
                (written,),
            ).fetchone()
            found = _meant(written, schema, everything, path)
            assert found == row, (path, written)
            meant += row is not None
        assert examples(100, 200) < meant < examples(250, 500)


def _spelled(rng: random.Random, database: str) -> str:
    """A name with none, one or two names before it, each with quotes or, where that may change it, without."""

    def part(name: str) -> str:
        if not name.isalpha() or rng.random() < 0.4:
            return '"' + name.replace('"', '""') + '"'
        return rng.choice((name, name.upper(), name.title()))

    parts = [rng.choice(NAMES)]
    if rng.random() < 0.5:
        parts.insert(0, rng.choice(PLACES))
        if rng.random() < 0.3:
            return ".".join([f'"{database}"', *map(part, parts)])
    return ".".join(map(part, parts))


def _meant(written: str, schema: Schema, policy: Policy, path: list[str]) -> tuple[str, str] | None:
    node = read(f"SELECT count(*) FROM {written}").tree.find(exp.Table)
    assert node is not None
    table = find_table(table_reference(node), schema, policy, path)
    return None if table is None else (table.namespace, table.relation)


PRIVATE = [
    "SELECT count(*), sum(cost) FROM visit",
    "SELECT count(*) FROM clinic.visit WHERE clinic.visit.cost > 2",
    "SELECT sum(visit.note) FROM public.visit",
    "SELECT sum(public.visit.note) FROM public.visit JOIN clinic.visit ON public.visit.of = clinic.visit.id",
    "SELECT count(*) FROM clinic.visit, ref.visit WHERE clinic.visit.ward = ref.visit.id",
    "SELECT ward.name, count(*) FROM visit JOIN ward ON visit.ward = ward.id GROUP BY ward.name",
    "SELECT ref.ward.name, count(*) FROM visit v JOIN ref.ward ON v.ward = ref.ward.id GROUP BY 1",
    "SELECT count(*) FROM public.ward JOIN clinic.visit ON ward.patient = visit.patient",
    "SELECT count(*) FROM visit a JOIN visit b ON a.patient = b.patient WHERE a.id < b.id",
    "SELECT count(*) FROM hospital.clinic.visit",
    'SELECT count(*) FROM "hospital"."public"."visit" WHERE hospital.public.visit.note > 1',
    "SELECT count(*) FROM hospital_of_tests.clinic.visit",
    "SELECT count(*) FROM CLINIC.Visit",
    'SELECT sum("Value") FROM "Lab.1"."Result.2" r JOIN patient p ON r.patient = p.id',
    "WITH visit AS (SELECT * FROM public.visit) SELECT count(*) FROM visit",
    "SELECT count(*) FROM (SELECT clinic.visit.* FROM clinic.visit) v WHERE v.cost = 1",
    "SELECT count(DISTINCT clinic.visit.ward) FROM clinic.visit",
]


def test_private_questions_are_what_the_database_says(hospital: str, schema: Schema) -> None:
    """Executed without truncation and noise, under another search path than the one they were planned with."""
    elsewhere = make_conninfo(hospital, options="-c search_path=public")
    for sql in PRIVATE:
        plan = planned(sql, schema, POLICY)
        plain = sql.replace('"hospital".', "").replace("hospital_of_tests.", "").replace("hospital.", "")
        assert_same(untruncated(plan, postgres(elsewhere), rewrite(plan)), plan, postgres(hospital)(plain))


PUBLIC = [
    "SELECT * FROM ward ORDER BY 1",
    "SELECT ref.visit.* FROM ref.visit ORDER BY ref.visit.name DESC",
    "SELECT visit.name, ward.name FROM ref.visit JOIN ward ON visit.id = ward.id ORDER BY 1",
    "SELECT count(*) FROM ref.code WHERE EXISTS (SELECT 1 FROM ref.visit WHERE ref.visit.id = ref.code.id)",
    "SELECT name FROM ref.visit UNION SELECT name FROM ward ORDER BY 1",
]


def test_public_questions_are_what_the_database_says(hospital: str, schema: Schema) -> None:
    backend = PostgresBackend(hospital, namespaces=POLICY.namespaces)
    for sql in PUBLIC:
        statement = write_public(public(sql, schema, POLICY), dialect="postgres")
        assert [tuple(row) for row in backend.public(statement)] == postgres(hospital)(sql), sql


REFUSED: list[tuple[type[PlannerError], str, str]] = [
    (UnknownTable, "no table 'code'", "SELECT count(*) FROM §code"),  # clinic's view hides the table of ref
    (UnknownTable, "no table 'Visit'", 'SELECT count(*) FROM §"Visit"'),
    (UnknownTable, "no table 'a.b'", "SELECT count(*) FROM §a.b"),
    (UnknownTable, "database 'other' does not exist", "SELECT count(*) FROM §other.clinic.visit"),
    (InvalidSyntax, "occurs twice", "SELECT count(*) FROM visit, §clinic.visit"),
    (AmbiguousColumn, "several tables", "SELECT count(*) FROM clinic.visit, ref.visit WHERE §visit.id = 1"),
    (UnknownTable, "no table 'visit'", "SELECT count(*) FROM clinic.visit v WHERE §clinic.visit.id = 1"),
]


def test_names_that_mean_nothing(schema: Schema, subtests: pytest.Subtests) -> None:
    for kind, words, marked in REFUSED:
        with subtests.test(marked):
            with pytest.raises(kind, match=words) as caught:
                planned(marked.replace("§", ""), schema, POLICY)
            assert caught.value.position == marked.index("§") + 1


def test_hints_name_the_schema(schema: Schema) -> None:
    for table, hint in (
        ("code", "did you mean ref.code?"),
        ("closed.visit", "did you mean clinic.visit or ref.visit or public.visit?"),
        ("clinic.vist", "did you mean clinic.visit?"),
        ("result", 'did you mean "Lab.1"."Result.2"?'),
    ):
        with pytest.raises(UnknownTable) as caught:
            planned(f"SELECT count(*) FROM {table}", schema, POLICY)
        assert caught.value.hint == hint


def test_the_check_counts_in_every_schema(hospital: str, schema: Schema) -> None:
    tight = parse_policy(TEXT.replace("note = { range = [0, 4] }", "note = { range = [0, 3] }"))
    with psycopg.connect(hospital) as connection:
        findings = check_policy(PostgresCustody(connection), tight, schema)
    assert [(finding.subject, finding.rows) for finding in findings if finding.rows] == [("visit.note", 18)]


def test_left_out_with_the_reason(hospital: str) -> None:
    role = "reads_some_of_the_hospital"
    with psycopg.connect(hospital) as connection:
        connection.execute(f"CREATE ROLE {role}".encode())
        for place in ("clinic", "ref"):
            connection.execute(f"GRANT USAGE ON SCHEMA {place} TO {role}".encode())
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO {role}".encode())
        connection.execute(f"REVOKE SELECT ON clinic.secret FROM {role}".encode())
        connection.execute(f"SET LOCAL ROLE {role}".encode())
        namespaces = read_namespaces(connection)
        assert namespaces == ("public", "Lab.1", "clinic", "closed", "ref")
        custody = PostgresCustody(connection)
        left_out = dict(custody.left_out(namespaces))
        grants, clinics = custody.grants(namespaces), custody.grants(("clinic",))
        named = custody.grants(namespaces, ("closed.person", "clinic.visit"))
        tables = read_schema(connection, namespaces).tables
        for statement in ("RESET ROLE", grants, f"SET LOCAL ROLE {role}"):  # word for word
            connection.execute(statement.encode())
        assert custody.grants(namespaces) == ""
        connection.rollback()
    assert {name: words.split(":")[0].split(";")[0] for name, words in left_out.items() if "." in name} == {
        '"Lab.1".*': "the role has no USAGE of the schema",
        "closed.*": "the role has no USAGE of the schema",
        "clinic.secret": "the role has no SELECT privilege",
        "clinic.event_2023": "a partition and 1 more",
        '"a.b"': "the role has no SELECT privilege",
    }
    assert left_out["closed.*"].partition(": ")[2] == (
        f"GRANT USAGE ON SCHEMA closed TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA closed TO {role};"
    )
    assert named == f"GRANT USAGE ON SCHEMA closed TO {role}; GRANT SELECT ON closed.person TO {role};"
    assert clinics == f"GRANT SELECT ON clinic.secret TO {role};"
    assert f'GRANT USAGE ON SCHEMA "Lab.1" TO {role}; GRANT USAGE ON SCHEMA closed TO {role};' in grants
    assert f'GRANT SELECT ON ALL TABLES IN SCHEMA "Lab.1" TO {role};' in grants and "SCHEMA ref" not in grants
    assert left_out['"a.b"'].endswith(f'GRANT SELECT ON "a.b" TO {role};')
    assert "closed.person" not in tables and "clinic.event" in tables and "clinic.secret" not in tables


def test_what_the_role_may_not_read_of_a_view_is_said_by_column(scratch_url: str) -> None:
    """One column that is kept from the role keeps every view from being asked that reads it, through others too."""
    role = "reads_columns_of_the_hospital"
    with psycopg.connect(scratch_url) as connection:
        for statement in (
            "CREATE TABLE patient (id int PRIMARY KEY, born date, contact text)",
            "CREATE TABLE secret (id int PRIMARY KEY)",
            "CREATE VIEW adult AS SELECT id, contact FROM patient WHERE born < '2000-01-01'",
            "CREATE VIEW old AS SELECT id FROM adult",
            "CREATE VIEW born AS SELECT id, born FROM patient",
            "CREATE VIEW secrets AS SELECT p.id FROM patient p JOIN secret s ON s.id = p.id",
            f"CREATE ROLE {role}",
            f"GRANT SELECT ON adult, old, secrets TO {role}",
            f"GRANT SELECT (id, born) ON patient TO {role}",
            f"GRANT SELECT (id) ON born TO {role}",
            f"SET LOCAL ROLE {role}",
        ):
            connection.execute(statement.encode())
        left_out = dict(PostgresCustody(connection).left_out(("public",)))
        schema = read_schema(connection)
        connection.rollback()
    assert left_out == {
        "adult": "it reads patient.contact, which the role may not SELECT, so it cannot be queried",
        "born": "the role may not SELECT born, and a view needs SELECT on all of it: GRANT SELECT ON born "
        "TO reads_columns_of_the_hospital;",
        "old": "it reads patient.contact, which the role may not SELECT, so it cannot be queried",
        "patient": "shown without contact, which the role may not SELECT",
        "secret": "the role has no SELECT privilege; to allow questions: GRANT SELECT ON secret "
        "TO reads_columns_of_the_hospital;",
        "secrets": "it reads secret, which the role may not SELECT, so it cannot be queried",
    }
    text = draft(schema, "hospital", left_out=left_out.items())
    assert "Views need no section" not in text and text.endswith(f"#   secrets: {left_out['secrets']}\n")
    assert extent(text) == (1, len(left_out))


COUNTED = (
    "SELECT nspname, relname, pg_table_is_visible(c.oid) FROM pg_class c JOIN pg_namespace n ON relnamespace = n.oid"
)


def test_the_catalog_of_clients_shows_schemas(embedded_postgres: EmbeddedPostgres, schema: Schema) -> None:
    policy = replace(POLICY, name="hospital_shadow")
    with closing(ShadowDatabase(partial(create_shadow, embedded_postgres.url()), schema, policy)) as shadow:
        ask = partial(shadow.ask, values=(), formats=(), oids=(), result_format=0)
        rows = ask(COUNTED + " WHERE relkind = 'r' AND nspname !~ '^(pg_|info)' ORDER BY 1, 2").cells
        shown = {f"{place.decode()}.{name.decode()}": seen == b"t" for place, name, seen in rows if place and name}
        assert shown["clinic.visit"] and shown["ref.ward"] and "closed.person" not in shown
        assert not shown["public.visit"] and not shown["ref.visit"] and not shown["Lab.1.Result.2"]
        assert ask("SELECT current_schema(), current_schemas(false)").cells == ((b"clinic", b"{clinic,ref}"),)
        other = ("ref", "nobody's", "public")
        assert ask("SELECT 'visit'::regclass, current_schemas(false)", search_path=other).cells == (
            (b"visit", b"{ref,public}"),
        )
        assert ask("SELECT nspname FROM pg_namespace WHERE oid = (SELECT relnamespace FROM pg_class"
                   " WHERE oid = 'visit'::regclass)", search_path=other).cells == ((b"ref",),)  # fmt: skip
        assert ask("SHOW search_path").cells == ((b"clinic, ref",),), "the next session has the policy's again"
        keys = ask("SELECT conrelid::regclass, confrelid::regclass FROM pg_constraint WHERE contype = 'f'").cells
        assert (b"public.visit", b"visit") in keys and (b"visit", b"ward") in keys
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE hospital_shadow WITH (FORCE)")
