"""A mirror of a real PostgreSQL: when it answers, what it holds, and what is left when a copy ends half way."""

from __future__ import annotations

import math
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import duckdb
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from planner.errors import PolicyInvalid, SchemaChanged
from planner.policy.policy import Policy, parse_policy
from planner.policy.sections import MirrorPolicy
from planner.schema import Schema
from server.backends.backend import MirrorFirst
from server.backends.duckdb import DuckdbLimits
from server.backends.mirror import CurrentMirror, MirrorBackend, MirrorFile
from server.backends.open_custody import open_custody
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.cli.commands.policy import _mirror
from server.errors import BackendUnavailable, ConfigurationInvalid
from server.ledger.analyst import Act
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.startup.mirror import MirrorSchedule, open_mirror, refresh_mirror
from server.workers.pool import WorkerPool
from tests.support.asking import ask

ACT = Act("grace", "a test")
TABLES = """
CREATE TYPE state AS ENUM ('in', 'it''s, done');
CREATE TABLE patient (id bigint PRIMARY KEY, name text NOT NULL, code char(6));
CREATE TABLE visit (
  id integer PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, cost numeric(12,2), price numeric, ratio float8,
  small real, note text, day date, noted timestamp, seen timestamptz,
  state state, paid boolean, code uuid, raw bytea);
INSERT INTO patient SELECT i, 'patient ' || i, 'c' || i FROM generate_series(1, 600) i;
INSERT INTO visit (id, patient, cost, note) SELECT i, 1 + i % 600, i % 90, 'n' FROM generate_series(10, 3009) i;
INSERT INTO visit VALUES
  (1, 1, 'NaN', 1, 'NaN', 0.1, '', '0044-03-15 BC', '0044-03-15 12:00:00.5 BC', '0044-03-15 12:00:00+00 BC', 'in',
   true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'x'),
  (2, 2, 9999999999.99, 1, 'Infinity', 3.4e38, E'a "b", \\n\\r c\\\\.', 'infinity', '-infinity', 'infinity',
   'it''s, done', false, NULL, NULL),
  (3, 3, -0.01, 1, 5e-324, 1e-45, 'Grüße 東京', '5874897-12-31', '290000-01-01', '2024-02-29 23:59:59.999999+00',
   NULL, NULL, NULL, NULL),
  (4, 4, NULL, NULL, 0.1, 0.3, NULL, NULL, '294276-12-31', NULL, NULL, NULL, NULL, NULL);
"""
POLICY = """
name = "clinic"
[database]
url = "env:NOISEGATE_UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 8.0
[privacy_units]
patient = "id"
[tables.patient]
[tables.visit.columns]
cost = { range = [0, 100] }
[mirror]
path = "copy.duckdb"
max_mb = 100
"""
QUESTION = QueryRequest("ada", "SELECT count(*) FROM visit", epsilon=4.0, request_id="request-1")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    ledger = create_ledger(tmp_path / "ledger.sqlite", tmp_path / "policy.ledger.json")
    ledger.add_analyst("ada", "0" * 64, epsilon=200.0, delta=0.0)
    yield ledger
    ledger.close()


@pytest.fixture
def url(scratch_url: str) -> str:
    with psycopg.connect(scratch_url) as connection:
        connection.execute(TABLES)
    return scratch_url


def _schema(url: str) -> Schema:
    with psycopg.connect(url) as connection:
        return read_schema(connection)


def _opened(url: str, folder: Path, ledger: Ledger, policy: Policy | None = None) -> CurrentMirror:
    mirror = open_mirror(policy or parse_policy(POLICY), _schema(url), url, folder, ledger)
    assert mirror is not None
    return mirror


@pytest.fixture(name="mirror")
def opened(url: str, tmp_path: Path, ledger: Ledger) -> CurrentMirror:
    return _opened(url, tmp_path, ledger)


def _refreshed(mirror: CurrentMirror, url: str, ledger: Ledger, policy: Policy | None = None) -> int:
    return refresh_mirror(mirror, policy or parse_policy(POLICY), url, ledger, ACT)


def _pipeline(mirror: CurrentMirror, url: str, ledger: Ledger, workers: WorkerPool) -> Pipeline:
    policy = parse_policy(POLICY)
    return Pipeline(policy, mirror.schema, PostgresBackend(url), ledger, workers, mirror=mirror)


def _rows(mirror: CurrentMirror, sql: str) -> list[tuple[object, ...]]:
    stamp = mirror.file.stamp()
    assert stamp is not None
    with MirrorBackend(mirror.file.path, key=mirror.file.key, id=stamp.id).opened(DuckdbLimits()) as connection:
        return connection.execute(sql).fetchall()


def _run(url: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.execute(sql.encode()).fetchall()


def test_every_value_is_copied_as_it_is_or_is_null(mirror: CurrentMirror, url: str, ledger: Ledger) -> None:
    assert mirror.why_not() == "there is no copy yet"
    assert _refreshed(mirror, url, ledger) == 2 and mirror.why_not() is None
    stamp = mirror.file.stamp()
    assert stamp is not None and stamp.rows == {"patient": 600, "visit": 3004}
    assert set(stamp.columns["visit"]) == {
        "id", "patient", "cost", "ratio", "small", "note", "day", "noted", "seen", "state", "paid", "code"
    }  # fmt: skip
    columns = "id, cost, small::float8, note, state::text, paid, code::text"
    exact = f"SELECT {columns} FROM public.visit WHERE id > 1 ORDER BY id"
    assert _rows(mirror, exact) == _run(url, exact)
    ratios = "SELECT ratio FROM public.visit WHERE id <= 4 ORDER BY id"
    (nan,), *others = _rows(mirror, ratios)
    assert math.isnan(nan) and others == _run(url, ratios)[1:]  # type: ignore[arg-type]
    assert _rows(mirror, "SELECT cost FROM public.visit WHERE id = 1") == [(None,)], "no decimal is NaN"
    assert _rows(mirror, "SELECT isfinite(day), isfinite(noted), isfinite(seen) FROM public.visit WHERE id = 2") == [
        (False, False, False)
    ]
    seconds = "SELECT epoch(day), epoch(noted), epoch(seen) FROM public.visit WHERE id = {}"
    theirs = "SELECT {} FROM public.visit WHERE id = {}"
    of = ", ".join(f"extract(epoch FROM {name})::float8" for name in ("day", "noted", "seen"))
    for row in (1, 3):
        assert _rows(mirror, seconds.format(row)) == _run(url, theirs.format(of, row))
    assert _rows(mirror, "SELECT noted FROM public.visit WHERE id = 4") == [(None,)], "after the last year of DuckDB"
    assert _rows(mirror, "SELECT code FROM public.patient WHERE id = 7") == [("c7",)]


def test_a_question_runs_on_it_while_it_is_current(
    mirror: CurrentMirror, url: str, ledger: Ledger, workers: WorkerPool
) -> None:
    pipeline = _pipeline(mirror, url, ledger, workers)
    before = ask(pipeline, QUESTION)
    assert "mirror" not in pipeline.explain(QUESTION).reason
    _refreshed(mirror, url, ledger)
    assert "mirror" in pipeline.explain(QUESTION).reason
    with psycopg.connect(url) as connection:  # not a load that anybody speaks of: the mirror does not know it
        connection.execute("DELETE FROM visit WHERE id > 1000")
    after = ask(pipeline, QUESTION)
    assert not after.cached and after.epsilon == before.epsilon
    assert abs(after.rows[0][0] - 3004) < 300  # type: ignore[operator]
    assert ask(pipeline, QUESTION).cached
    cased = replace(QUESTION, sql="SELECT count(*) FROM visit WHERE lower(note) = 'n'")
    assert abs(ask(pipeline, cased).rows[0][0] - 991) < 300, "PostgreSQL's to say"  # type: ignore[operator]
    ledger.bump_data(ACT)
    assert mirror.why_not() == "the data version is newer than the copy"
    assert abs(ask(pipeline, QUESTION).rows[0][0] - 995) < 300  # type: ignore[operator]
    left = ledger.budget("ada").epsilon_left
    assert left == 200 - 4 * 4.0, "each measured once, wherever it ran"


@pytest.mark.slow
def test_a_kept_answer_is_the_same_wherever_the_question_runs(
    mirror: CurrentMirror, url: str, ledger: Ledger, workers: WorkerPool
) -> None:
    _refreshed(mirror, url, ledger)
    on_mirror = ask(_pipeline(mirror, url, ledger, workers), QUESTION)
    mirror.file.path.unlink()
    again = ask(_pipeline(_opened(url, mirror.file.path.parent, ledger), url, ledger, workers), QUESTION)
    assert again.cached and again.rows == on_mirror.rows


@pytest.mark.slow
def test_a_copy_that_is_replaced_before_it_is_read_is_left_for_the_database(
    mirror: CurrentMirror, url: str, ledger: Ledger, workers: WorkerPool
) -> None:
    _refreshed(mirror, url, ledger)
    question = _pipeline(mirror, url, ledger, workers).planning.question(QUESTION)
    assert question.mirrored is not None
    source = mirror.source(question.plan, question.mirrored, question.data_version, PostgresBackend(url))
    assert isinstance(source, MirrorFirst) and source.copy.read(source.query)
    _refreshed(mirror, url, ledger)
    with pytest.raises(SchemaChanged):
        source.copy.read(source.query)
    assert source.read(question.query)[0] is not None
    database = mirror.source(question.plan, question.mirrored, question.data_version, PostgresBackend(url))
    assert isinstance(database, PostgresBackend), "a question about the load before"


@pytest.mark.slow
def test_who_reads_the_old_file_goes_on_reading_it(mirror: CurrentMirror, url: str, ledger: Ledger) -> None:
    _refreshed(mirror, url, ledger)
    with duckdb.connect() as connection:
        for statement in mirror.file.attach(connection):
            connection.execute(statement)
        with psycopg.connect(url) as writing:
            writing.execute("DELETE FROM visit WHERE id > 10")
        _refreshed(mirror, url, ledger)
        assert connection.execute("SELECT count(*) FROM public.visit").fetchall() == [(3004,)]
    assert _rows(mirror, "SELECT count(*) FROM public.visit") == [(5,)]


STEPS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "while it copies": lambda patch: patch.setattr(MirrorFile, "create", _died),
    "before the load is written": lambda patch: patch.setattr(MirrorFile, "close_as_own", _died),
    "after the load is written": lambda patch: patch.setattr(MirrorFile, "take_over", _died),
}


class _DiedError(Exception):
    pass


def _died(*_: object) -> None:
    raise _DiedError


@pytest.mark.slow
def test_no_answer_of_one_load_is_taken_for_anothers(
    mirror: CurrentMirror, url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refreshed(mirror, url, ledger)
    for step, die in STEPS.items():
        old, before = mirror.file.path.read_bytes(), ledger.data_version()
        with monkeypatch.context() as patch:
            die(patch)
            with pytest.raises(_DiedError):
                _refreshed(mirror, url, ledger)
        written = step == "after the load is written"
        assert ledger.data_version() == before + written, step
        assert mirror.why_not() == ("the data version is newer than the copy" if written else None), step
        assert mirror.file.path.read_bytes() == old, step
        ledger.bump_data(ACT)
        assert mirror.why_not() is not None, step
        assert _refreshed(mirror, url, ledger) == ledger.data_version() and mirror.why_not() is None, step


@pytest.mark.slow
def test_a_load_in_between_drops_the_copy(mirror: CurrentMirror, url: str, ledger: Ledger) -> None:
    loads = iter([1])

    def load(table: str, rows: int) -> None:
        if next(loads, None):
            ledger.bump_data(ACT)

    with pytest.raises(BackendUnavailable, match="a new data version was recorded"):
        refresh_mirror(mirror, parse_policy(POLICY), url, ledger, ACT, load)
    assert not mirror.file.path.exists() and ledger.mirrored_load()[0] == 3


@pytest.mark.slow
def test_nobody_else_may_read_it_and_nothing_is_left_beside_it(
    mirror: CurrentMirror, url: str, ledger: Ledger
) -> None:
    modes = []

    def look(table: str, rows: int) -> None:
        folder = mirror.file.path.with_name(".copy.duckdb.new")
        modes.append(stat.S_IMODE(folder.stat().st_mode))
        with pytest.raises(ConfigurationInvalid, match="another process"):
            _refreshed(mirror, url, ledger)

    folder = mirror.file.path.with_name(".copy.duckdb.new")
    folder.mkdir()
    (folder / "of a process that died").touch()
    refresh_mirror(mirror, parse_policy(POLICY), url, ledger, ACT, look)
    assert set(modes) == {0o700} and not folder.exists()
    assert stat.S_IMODE(mirror.file.path.stat().st_mode) == 0o600


@pytest.mark.slow
def test_a_copy_that_is_too_large_leaves_the_old_one(mirror: CurrentMirror, url: str, ledger: Ledger) -> None:
    _refreshed(mirror, url, ledger)
    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO patient SELECT i, md5(i::text) || md5((-i)::text) FROM generate_series(1000, 60000) i"
        )
    policy = parse_policy(POLICY.replace("max_mb = 100", "max_mb = 1"))
    with pytest.raises(ConfigurationInvalid, match="larger than 1 MB"):
        _refreshed(mirror, url, ledger, policy)
    assert mirror.why_not() is None and ledger.data_version() == 2


@pytest.mark.slow
def test_more_columns_or_another_structure_make_it_not_current(
    mirror: CurrentMirror, url: str, ledger: Ledger, tmp_path: Path
) -> None:
    narrow = parse_policy(POLICY.replace("[tables.visit.columns]\ncost = { range = [0, 100] }\n", ""))
    fewer = _opened(url, tmp_path, ledger, narrow)
    _refreshed(fewer, url, ledger, narrow)
    assert fewer.why_not() is None
    assert mirror.why_not() == "it lacks columns of visit, which the policy names"
    _refreshed(mirror, url, ledger)
    assert fewer.why_not() is None, "it has more than enough"
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE visit ADD COLUMN later integer")
    with pytest.raises(BackendUnavailable, match="have changed"):
        _refreshed(mirror, url, ledger)
    assert _opened(url, tmp_path, ledger).why_not() == "the database's columns have changed since the copy was made"


@pytest.mark.slow
def test_declared_keys_are_counted_in_the_snapshot_that_is_copied(url: str, tmp_path: Path, ledger: Ledger) -> None:
    from planner.policy.declared import believed_keys, with_declared_keys

    policy = parse_policy(POLICY.replace("[tables.patient]", '[tables.patient]\nkeys = ["name"]'))
    schema = with_declared_keys(_schema(url), policy)
    mirror = open_mirror(policy, schema, url, tmp_path, ledger)
    assert mirror is not None
    _refreshed(mirror, url, ledger, policy)
    assert ledger.checked_keys(schema.fingerprint).issuperset(believed_keys(schema))
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE patient SET name = 'patient 1' WHERE id = 2")
    with pytest.raises(BackendUnavailable, match="share patient"):
        _refreshed(mirror, url, ledger, policy)
    assert ledger.data_version() == 2


@pytest.mark.slow
def test_an_encrypted_file_says_nothing_without_its_key(
    url: str, tmp_path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written with DuckDB's own cryptography, which it calls unsafe to write with; its extension is not here."""
    policy = parse_policy(POLICY + 'key = "env:NOISEGATE_TEST_MIRROR_KEY"\n')
    with pytest.raises(ConfigurationInvalid, match="not set"):
        _opened(url, tmp_path, ledger, policy)
    monkeypatch.setenv("NOISEGATE_TEST_MIRROR_KEY", "it's a secret")
    mirror = _opened(url, tmp_path, ledger, policy)
    assert "secret" not in repr(mirror)
    monkeypatch.setattr("server.backends.mirror._CRYPTOGRAPHY", "LOAD noisegate_has_no_such_extension")
    with pytest.raises(ConfigurationInvalid, match="cannot be written") as refused:
        _refreshed(mirror, url, ledger, policy)
    assert refused.value.hint is not None and "httpfs" in refused.value.hint and ledger.data_version() == 1
    monkeypatch.setattr("server.backends.mirror._CRYPTOGRAPHY", "SET force_mbedtls_unsafe = 'true'")
    _refreshed(mirror, url, ledger, policy)
    assert b"patient 17" not in mirror.file.path.read_bytes()
    assert _rows(mirror, "SELECT count(*) FROM public.visit") == [(3004,)] and mirror.why_not() is None
    for key in ("", "another"):
        with pytest.raises(BackendUnavailable):
            replace(mirror.file, key=key).stamp()


@pytest.mark.slow
def test_settings_are_read_and_change_no_hash() -> None:
    policy = parse_policy(POLICY.replace("max_mb = 100", 'refresh = "24h"\nkey = "file:key"'))
    assert policy.mirror == MirrorPolicy("copy.duckdb", 86_400, 20_000, "file:key")
    assert policy.hash == parse_policy(POLICY).hash == replace(policy, mirror=None).hash
    contributions = parse_policy(POLICY.replace("max_mb = 100", 'holds = "contributions"')).mirror
    assert contributions is not None and contributions.holds == "contributions"
    for wrong in (
        'holds = "columns"',
        "holds = true",
        'refresh = "often"',
        "refresh = 24",
        'key = "secret"',
        "rfresh = 1",
        "max_mb = 0",
    ):
        with pytest.raises(PolicyInvalid):
            parse_policy(POLICY.replace("max_mb = 100", wrong))
    with pytest.raises(
        PolicyInvalid, match=r'mirror.refresh: .* with its unit in quotes, .*; 24 has no unit: "24h" is hours'
    ):
        parse_policy(POLICY.replace("max_mb = 100", "refresh = 24"))


@pytest.mark.slow
def test_a_check_proposes_contributions_of_large_tables(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
    without = replace(parse_policy(POLICY), mirror=None)

    def proposed(policy: Policy) -> str | None:
        with open_custody(url, policy.namespaces, 0) as custody:
            return _mirror(policy, custody, custody.schema(policy.namespaces))

    assert proposed(without) is None, "no table is large"
    monkeypatch.setattr("server.cli.commands.policy._LARGE", 1_000)
    text = proposed(without)
    assert text is not None and "rows of visit can be" in text and 'holds = "contributions"' in text
    assert proposed(parse_policy(POLICY)) is None, "it has a mirror"


@pytest.mark.slow
def test_a_question_about_a_declared_view_is_left_to_the_database(
    url: str, tmp_path: Path, ledger: Ledger, workers: WorkerPool
) -> None:
    view = """
    [[foreign_keys]]
    table = "seen"
    columns = ["patient"]
    references = "patient"
    key = ["id"]
    [tables.seen]
    """
    with psycopg.connect(url) as connection:
        connection.execute("CREATE VIEW seen AS SELECT patient, cost FROM visit")
        connection.commit()
        policy = parse_policy(POLICY.replace("[mirror]", f"{view}[mirror]"))
        schema = read_schema(connection).declaring(policy.tables)
    mirror = open_mirror(policy, schema, url, tmp_path, ledger)
    assert mirror is not None
    _refreshed(mirror, url, ledger, policy)
    pipeline = Pipeline(policy, schema, PostgresBackend(url), ledger, workers, mirror=mirror)
    assert "mirror" in pipeline.explain(QUESTION).reason
    assert "mirror" not in pipeline.explain(replace(QUESTION, sql="SELECT count(*) FROM seen")).reason


@pytest.mark.slow
def test_files_need_no_mirror(tmp_path: Path, ledger: Ledger) -> None:
    duckdb.connect(tmp_path / "shop.duckdb").close()
    with pytest.raises(ConfigurationInvalid, match="only a PostgreSQL database"):
        open_mirror(parse_policy(POLICY), Schema({}), f"duckdb:///{tmp_path}/shop.duckdb", tmp_path, ledger)


class _Copied:
    """What a schedule sees of a mirror; `marked` is what its command leaves."""

    def __init__(self, marked: Path) -> None:
        self._marked = marked

    def why_not(self) -> str | None:
        return None if self._marked.exists() else "there is none"

    def copied_at(self) -> float | None:
        return self._marked.stat().st_mtime if self._marked.exists() else None


@pytest.mark.slow
def test_a_schedule_copies_at_the_start_and_when_the_copy_is_old(tmp_path: Path) -> None:
    policy = parse_policy(POLICY.replace("max_mb = 100", 'refresh = "1h"'))
    marked = tmp_path / "marked"
    command = [sys.executable, "-c", f"open({str(marked)!r}, 'w')"]
    schedule = MirrorSchedule(lambda: policy, cast(CurrentMirror, _Copied(marked)), command)
    assert schedule.due(time.time())
    schedule.start()
    deadline = time.monotonic() + 120
    while not marked.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    schedule.stop()
    assert not schedule.due(time.time()) and schedule.due(time.time() + 3_700)
    manual = MirrorSchedule(lambda: parse_policy(POLICY), cast(CurrentMirror, _Copied(tmp_path / "none")), command)
    assert not manual.due(time.time())


@pytest.mark.slow
def test_a_schedule_that_stops_ends_the_copying(tmp_path: Path) -> None:
    policy = parse_policy(POLICY.replace("max_mb = 100", 'refresh = "1h"'))
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    schedule = MirrorSchedule(lambda: policy, cast(CurrentMirror, _Copied(tmp_path / "none")), sleeping)
    schedule.start()
    time.sleep(0.2)
    schedule.stop()  # which waits for what it ends, and else for ten minutes
    assert not [thread for thread in threading.enumerate() if thread.name == "mirror"]


@pytest.mark.slow
def test_the_command_line_copies_and_says_so(url: str, tmp_path: Path, ledger: Ledger) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE mirror_reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute("GRANT SELECT ON patient, visit TO mirror_reader")
    ledger.close()
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.replace("NOISEGATE_UNUSED", "NOISEGATE_TEST_URL"))

    def noisegate(*arguments: str) -> subprocess.CompletedProcess[str]:
        reader = make_conninfo(url, user="mirror_reader")
        env = {**os.environ, "PYTHONPATH": str(Path.cwd().resolve()), "NOISEGATE_TEST_URL": reader}
        command = [sys.executable, "-m", "server.cli.main", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    added = noisegate("analyst", "add", "eve", "--policy", "policy.toml", "--epsilon", "1")
    assert added.returncode == 0, added.stderr
    before = noisegate("mirror", "status", "--policy", "policy.toml")
    assert before.returncode == 1 and "current: no" in before.stdout, before.stderr
    copied = noisegate("mirror", "refresh", "--policy", "policy.toml", "--reason", "a test")
    assert copied.returncode == 0 and copied.stdout == "2\n", copied.stderr
    after = noisegate("mirror", "status", "--policy", "policy.toml")
    assert after.returncode == 0 and "table visit: 3,004 rows, 12 columns" in after.stdout, after.stderr
    assert "contributions: of 1 tables, to 3 counts and sums" in after.stdout, after.stdout
    policy.write_text(policy.read_text().replace("[mirror]", '[mirror]\nholds = "contributions"'))
    assert noisegate("mirror", "status", "--policy", "policy.toml").returncode == 0, "it has more than enough"
    bumped = noisegate("data", "bump", "--policy", "policy.toml", "--reason", "a test")
    assert bumped.returncode == 0 and bumped.stdout == "3\n", bumped.stderr
    kept = noisegate("mirror", "status", "--policy", "policy.toml")
    assert kept.returncode == 0 and "table visit" not in kept.stdout, kept.stdout
    assert "contributions: of 1 tables" in kept.stdout
