"""Several schemas from the draft to psql: commands, a real proxy, its catalogs and search paths."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from planner.policy.policy import parse_policy
from server.backends.embedded import EmbeddedPostgres
from server.cli.main import main
from server.demo.database import ROLE
from server.demo.demonstration import client
from server.demo.workplace import Demonstration, add_analyst
from tests.support.clinic_of_schemas import POLICY, load_hospital
from tests.support.wire_proxy import WireProxy, wire_proxy

PSQL = shutil.which("psql")
DATABASE = "hospital_of_clients"
pytestmark = pytest.mark.slow  # a proxy of its own; tests/integration/test_schemas.py has the rules


@pytest.fixture(scope="module")
def hospital(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demonstration]:
    """The hospital before the proxy's own role, which may read all of it but one table and one schema."""
    assert ROLE in tpch_url, "which makes the role"
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        owner_url = embedded_postgres.url(database=DATABASE)
        load_hospital(owner_url)
        with psycopg.connect(owner_url) as owner:
            for place in ("public", "clinic", "ref", '"Lab.1"'):
                owner.execute(f"GRANT USAGE ON SCHEMA {place} TO {ROLE}".encode())
                owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO {ROLE}".encode())
            owner.execute(f"REVOKE ALL ON clinic.secret FROM {ROLE}".encode())
        folder = tmp_path_factory.mktemp("hospital")
        made = Demonstration(folder, embedded_postgres, owner_url, embedded_postgres.url(ROLE, DATABASE))
        at_once = POLICY.replace("[privacy]", "[privacy]\nanswer_quantum = 0")
        made.policy.write_text(at_once)
        yield made
        connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())


@pytest.fixture(scope="module")
def wired(hospital: Demonstration) -> Iterator[WireProxy]:
    add_analyst(hospital, epsilon=1.0)
    with wire_proxy(hospital, hospital.server) as running:
        yield running


def test_the_draft_has_every_schema_and_says_what_it_leaves_out(
    hospital: Demonstration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISEGATE_DATABASE_URL", hospital.proxy_url)
    output = tmp_path / "policy.toml"
    with pytest.raises(SystemExit) as left:
        main(("policy", "init", "--name", "hospital", "--output", str(output)))
    assert left.value.code == 0
    text = output.read_text()
    drafted = parse_policy(text)
    assert drafted.schemas == ("public", "Lab.1", "clinic", "ref")
    assert {"visit", "clinic.visit", "ref.visit", '"Lab.1"."Result.2"', '"a.b"'} <= drafted.tables.keys()
    assert 'references = "clinic.patient"' in text
    left_out = text.split("# In the database and left out:\n")[1]
    assert [line.split(";")[0] for line in left_out.splitlines()] == [
        '#   "clinic.event_2023": a partition and 1 more: read through clinic.event',
        '#   "clinic.log": no key and no foreign key, so its rows can have no owner',
        '#   "clinic.secret": the role has no SELECT privilege',
        '#   "closed.*": the role has no USAGE of the schema',
    ]


def test_the_check_of_a_policy_of_several_schemas(hospital: Demonstration, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEGATE_DATABASE_URL", hospital.proxy_url)
    with pytest.raises(SystemExit) as left:
        main(("policy", "check", str(hospital.policy)))
    assert left.value.code == 0


def _psql(wired: WireProxy, *commands: str) -> str:
    assert PSQL is not None, "psql is not installed (postgresql-client)"
    arguments = [argument for command in commands for argument in ("-c", command)]
    conninfo = wired.conninfo(*wired.analyst(20.0))
    done = subprocess.run(
        [PSQL, conninfo, "-X", "-A", "-t", "-v", "VERBOSITY=verbose", *arguments],
        capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "PAGER": ""},
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.clients
def test_psql_sees_schemas(wired: WireProxy) -> None:
    assert set(re.findall(r"^([\w.]+)\|", _psql(wired, r"\dn"), re.MULTILINE)) == {"Lab.1", "clinic", "public", "ref"}
    everything = _psql(wired, r"\dt *.*")
    for shown in ("clinic|visit|table", "public|visit|table", "ref|visit|table", "Lab.1|Result.2|table"):
        assert shown in everything
    visible = _psql(wired, r"\dt")
    assert "clinic|visit" in visible and "ref|ward" in visible and "public|" not in visible
    described = _psql(wired, r"\d clinic.visit")
    assert "cost|integer" in described and "note" not in described
    columns = "SELECT table_schema, column_name FROM information_schema.columns WHERE table_name = 'visit'"
    assert {"public|note", "clinic|cost", "ref|name"} <= set(_psql(wired, columns).splitlines())


@pytest.mark.clients
def test_the_sessions_search_path_decides_what_a_name_means(wired: WireProxy) -> None:
    said = _psql(
        wired,
        "SHOW search_path",
        "SELECT current_schema(), current_schemas(false)",
        "SELECT sum(cost) IS NOT NULL FROM visit",
        "SET search_path TO ref, public",
        "SELECT count(*) FROM visit",  # exact: ref's is public
        "SELECT current_schema(), current_schemas(false)",
        'SET search_path = "$user", public',
        "SELECT sum(note) IS NOT NULL FROM visit",
        "SELECT sum(cost) FROM visit",
        "SELECT count(*) FROM ref.visit",
        "SET search_path TO DEFAULT",
        "SHOW search_path",
        "SELECT count(*) FROM ward",
        "SELECT count(*) FROM hospital.ref.ward",
    )
    told = ("NOTICE", "LOCATION", "WARNING", "HINT", "LINE", "DETAIL", " ")
    assert [line for line in said.splitlines() if not line.startswith(told)] == [
        "clinic, ref",
        "clinic|{clinic,ref}",
        "t",
        "SET",
        "3",
        "ref|{ref,public}",
        "SET",
        "t",
        "3",
        "SET",
        "clinic, ref",
        "4",
        "4",
        "ERROR:  42703: no table of the query has a column 'cost'",
    ]


def test_http_names_each_table_as_a_question_would(wired: WireProxy) -> None:
    key = wired.analyst(5.0)[1]
    with client(wired.http, key, verify=ssl.create_default_context(cafile=wired.authority)) as http:
        body = http.get("/v1/schema").json()
        assert body["schemas"] == ["clinic", "ref"]
        named = {table["name"]: table["sql"] for table in body["tables"]}
        assert named["visit"] == "public.visit" and named["clinic.visit"] == "clinic.visit"
        assert named['"Lab.1"."Result.2"'] == '"Lab.1"."Result.2"'
        for sql in (*named.values(), *(f"{name} x" for name in named.values())):
            assert http.post("/v1/explain", json={"sql": f"SELECT count(*) FROM {sql}"}).status_code == 200, sql
        for example in body["examples"]:
            assert http.post("/v1/explain", json={"sql": example["sql"]}).status_code == 200, example
