"""An administrator with a database as they are: she follows what is printed to the letter, and looks up nothing else.

Tables of two schemas that her role may not read, partitioned people and visits, dates and times in texts, keys and
references that nobody declared, rows twice, orphans, and views. What she decides by herself is in DECISIONS.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from server.backends.embedded import EmbeddedPostgres
from tests.e2e.test_administrators_walk import acknowledged

ROLE = "reads_the_dirty_database"

TABLES = f"""
CREATE ROLE {ROLE} LOGIN;
CREATE SCHEMA care; CREATE SCHEMA ref;
CREATE TABLE ref.ward (code text PRIMARY KEY, name text NOT NULL);
INSERT INTO ref.ward SELECT 'W' || i, 'Ward ' || i FROM generate_series(1, 5) i;
CREATE TABLE care.patient (patient_id bigint PRIMARY KEY, born text) PARTITION BY RANGE (patient_id);
CREATE TABLE care.patient_1 PARTITION OF care.patient FOR VALUES FROM (0) TO (500);
CREATE TABLE care.patient_2 PARTITION OF care.patient DEFAULT;
INSERT INTO care.patient SELECT i, CASE WHEN i % 50 = 0 THEN 'unknown' WHEN i % 49 = 0 THEN '31.02.1990'
  ELSE to_char(date '1940-01-01' + i * 20, 'DD.MM.YYYY') END FROM generate_series(1, 900) i;
CREATE TABLE care.visit (visit_id bigint, patient_id bigint, ward_code text, arrived text, cost numeric(10, 2))
  PARTITION BY HASH (visit_id);
CREATE TABLE care.visit_0 PARTITION OF care.visit FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE care.visit_1 PARTITION OF care.visit FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO care.visit SELECT i, 1 + (i * 7) % 920, 'W' || (1 + i % 6),
  to_char(timestamp '2024-01-01' + i * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS'), i % 300
  FROM generate_series(1, 2000) i;
INSERT INTO care.visit SELECT * FROM care.visit WHERE visit_id = 17;
CREATE TABLE care.lab (lab_id serial PRIMARY KEY, pat bigint, visit_id bigint, value float8);
INSERT INTO care.lab (pat, visit_id, value) SELECT 1, i, i % 50 FROM generate_series(1, 1500) i;
CREATE VIEW care.dear AS SELECT visit_id, patient_id, cost FROM care.visit WHERE cost > 10;
CREATE MATERIALIZED VIEW care.by_ward AS SELECT ward_code, count(*) FROM care.visit GROUP BY 1;
CREATE TABLE public.schema_migrations (version text);
"""

DECISIONS = (
    (r'(?m)^# (\[\[foreign_keys\]\])\n# (.*"care.lab")\n# (.*"visit_id".*)\n# (.*)\n# (.*)$', r"\1\n\2\n\3\n\4\n\5"),
    (r'(?m)^# (keys = \["visit_id"\])', r"\1"),
    (r'(?m)^# (\[tables."care.lab"\])', r"\1"),
    (r'(?m)^# (\[tables."ref.ward"\])', r"\1\npublic = true"),
    (r'(?m)^# (\[tables."care.(patient|visit)".columns\])', r"\1"),
    (r"(?m)^# born = .*range = (\[.*?\]).*", r'born = { format = "DD.MM.YYYY", range = \1 }'),
    (
        r"(?m)^# cost = .*",
        "cost = { range = [0, 300] }\n"
        """arrived = { format = 'YYYY-MM-DD"T"HH24:MI:SS', range = [2024-01-01, 2024-03-31] }""",
    ),
)
"""What the draft's comments ask, answered: which keys hold, who is no person, and what the values mean."""


@pytest.fixture
def owner_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        for statement in ("DROP DATABASE IF EXISTS dirty WITH (FORCE)", f"DROP ROLE IF EXISTS {ROLE}"):
            connection.execute(statement.encode())
        connection.execute("CREATE DATABASE dirty")
        url = embedded_postgres.url(database="dirty")
        with psycopg.connect(url) as owner:
            owner.execute(TABLES.encode())
        yield url
        connection.execute("DROP DATABASE dirty WITH (FORCE)")
        connection.execute(f"DROP ROLE {ROLE}".encode())


class Administrator:
    """A folder, the program, and the database as its owner."""

    def __init__(self, folder: Path, owner_url: str, url: str) -> None:
        self.folder, self.owner_url, self.policy = folder, owner_url, folder / "policy.toml"
        self.environment = {**os.environ, "NOISEGATE_DATABASE_URL": url, "PYTHONPATH": str(Path.cwd().resolve())}

    def start(self, words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "server.cli.main", *words.split()]
        return subprocess.Popen(
            command, cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, words: str, code: int = 0) -> tuple[str, str]:
        process = self.start(words)
        out, told = process.communicate(timeout=300)
        assert process.returncode == code, (words, out, told)
        return out, told

    def as_owner(self, statement: str) -> None:
        with psycopg.connect(self.owner_url, autocommit=True) as owner:
            owner.execute(statement.encode())

    def psql(self, line: str, key: str, sql: str) -> str:
        done = subprocess.run(
            f"{line} -X -A -t -c '{sql}'", shell=True, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "PGPASSWORD": key},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.mark.clients
def test_what_is_printed_leads_from_no_rights_to_answers_by_psql(
    owner_url: str, embedded_postgres: EmbeddedPostgres, tmp_path: Path
) -> None:
    she = Administrator(tmp_path, owner_url, embedded_postgres.url(ROLE, "dirty"))
    init = "init --url env:NOISEGATE_DATABASE_URL --people patient --analyst ada --epsilon 10 --stop --port 0"
    _, told = she.run(f"{init} --wire-port 0", code=2)
    granted = re.search(r"as the database's owner: (.*)$", told, re.MULTILINE)
    assert granted is not None, told
    she.as_owner(granted[1])
    key = she.run(f"{init} --wire-port 0")[0].strip().splitlines()[-1]
    policy = she.policy.read_text()
    for asked, decided in DECISIONS:
        policy, count = re.subn(asked, decided, policy)
        assert count, asked
    she.policy.write_text(policy)
    night = "data bump --check --policy policy.toml --reason night"
    _, told = she.run(night, code=1)
    assert "this stops answers, or the next start of a proxy: care.visit.visit_id" in told
    listing = re.search(r"next, for care.visit.visit_id: .*(SELECT .* > 1) lists them", told)
    assert listing is not None, told
    with psycopg.connect(owner_url, autocommit=True) as owner:
        assert owner.execute(listing[1].encode()).fetchall() == [(17, 2)]
    she.as_owner("DELETE FROM care.visit a USING care.visit b WHERE a.visit_id = b.visit_id AND a.ctid < b.ctid "
                 "AND a.tableoid = b.tableoid")  # fmt: skip
    _, told = she.run(night)
    assert "errors 1, warnings" in told and "Nothing of that stops answers" in told, "orphans are counted"
    she.policy.write_text(acknowledged(she.policy.read_text(), told))
    _, told = she.run("serve policy.toml --port 0 --wire-port 0", code=2)
    accept = re.search(r"noisegate (policy accept policy.toml --reason WHY)", told)
    assert accept is not None, told
    she.run(f"{accept[1]} --yes")
    she.as_owner(f"REVOKE SELECT ON care.lab FROM {ROLE}")
    _, told = she.run("policy check policy.toml", code=1)
    granted = re.search(r"next, for tables.care.lab: as the database's owner: (.*)$", told, re.MULTILINE)
    assert granted is not None, told
    she.as_owner(granted[1])
    _, told = she.run("policy check policy.toml")
    assert "errors 0" in told
    _ask(she, key)


def _ask(she: Administrator, key: str) -> None:
    serving = she.start("serve policy.toml --port 0 --wire-port 0")
    try:
        assert serving.stderr is not None
        line = next(found[1] for line in serving.stderr if (found := re.search(r'drivers: (psql "[^"]*")', line)))
        line = line.replace("ANALYST", "ada")
        assert re.match(r"-?\d+\n$", she.psql(line, key, "SELECT count(*) FROM lab JOIN visit USING (visit_id)"))
        hours = she.psql(line, key, "SELECT extract(hour FROM arrived) AS h, count(*) FROM visit GROUP BY 1")
        assert len(hours.splitlines()) == 24
        wards = she.psql(line, key, "SELECT name, sum(cost) FROM visit JOIN ward ON code = ward_code GROUP BY name")
        assert len(wards.splitlines()) == 5
        assert she.psql(line, key, "SELECT count(*) FROM dear")
        assert she.psql(line, key, "SELECT max(born) FROM patient").startswith(("19", "20"))
    finally:
        serving.terminate()
        serving.communicate(timeout=120)
