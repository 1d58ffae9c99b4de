"""Files as databases: what is read, which state of it, what is counted, and what stays out of reach."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.errors import FilesChanged, PolicyInvalid, SchemaChanged
from planner.policy.declared import with_declared_keys
from planner.policy.draft import draft, likely_people
from planner.policy.policy import parse_policy
from planner.policy.sections import DatabaseLimits
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from privacy.join_tuples import JoinTuples
from server.backends.custody import Custody
from server.backends.duckdb import DuckdbBackend
from server.backends.files import path_of
from server.backends.open_custody import open_custody
from server.error_table import problem
from server.errors import BackendFailed, BackendUnavailable, ConfigurationInvalid
from server.policy.check_data import check_policy
from server.policy.secrets import resolve
from tests.support.planning import planned

POLICY = """
name = "clinic"
[database]
url = "parquet:///lake"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 8.0
[privacy_units]
patient = "id"
[[foreign_keys]]
table = "visit"
columns = ["patient_id"]
references = "patient"
key = ["id"]
[tables.patient]
keys = ["id"]
[tables.patient.columns]
town = { domain = ["town 0", "town 1"] }
[tables.visit.columns]
cost = { range = [0, 100] }
day = { range = [2024-01-01, 2024-12-31], step = "day" }
"""
PATIENTS = "SELECT i AS \"ID\", 'town ' || i % 2 AS town FROM range(600) t(i)"
VISITS = (
    "SELECT CAST(i % 600 AS integer) AS patient_id, CAST(i % 90 + 0.5 AS double) AS cost, "
    "DATE '2024-01-01' + CAST(i % 300 AS int) AS day FROM range({}, {}) t(i)"
)


def _written(file: Path, rows: str) -> None:
    duckdb.execute(f"COPY ({rows}) TO '{file}'")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    (folder / "visit").mkdir(parents=True)
    _written(folder / "Patient.parquet", PATIENTS)
    for part in range(3):
        _written(folder / "visit" / f"{part}.parquet", VISITS.format(part * 1000, part * 1000 + 1000))
    (folder / "README.txt").write_text("not a table")
    (folder / "empty").mkdir()
    return folder


@pytest.fixture
def custody(lake: Path) -> Iterator[Custody]:
    with open_custody(f"parquet:///{lake}", (), 0) as opened:
        yield opened


def _read(custody: Custody, sql: str) -> tuple[float, int]:
    """The truth of a count or sum behind the rewriting, and how many owners it has."""
    policy = parse_policy(POLICY)
    schema = with_declared_keys(custody.schema(()), policy)
    plan = planned(sql, schema, policy)
    _, found = custody.backend.read(rewrite(plan, dialect="duckdb", schema=schema, contributions=False))
    assert isinstance(found.join, JoinTuples)
    truth = float(found.join.weights.sum()) / 2**30 * plan.releases[0].weight_bound
    return truth, len(set(found.join.owners[0].keys.tolist()))


@pytest.mark.slow
def test_a_file_or_a_folder_of_files_is_a_table(custody: Custody) -> None:
    schema = custody.schema(())
    assert sorted(schema.tables) == ["patient", "visit"]
    assert [(column.name, column.type) for column in schema.tables["visit"].columns] == [
        ("patient_id", "integer"),
        ("cost", "double precision"),
        ("day", "date"),
    ]
    assert schema.tables["patient"].unique_keys == ()
    assert custody.name == "lake"


@pytest.mark.slow
def test_questions_are_answered_from_all_files_of_a_table(custody: Custody) -> None:
    assert _read(custody, "SELECT count(*) FROM visit") == (3000.0, 600)
    assert _read(
        custody, "SELECT count(*) FROM visit v JOIN patient p ON p.id = v.patient_id WHERE p.town = 'town 1'"
    ) == (
        1500.0,
        300,
    )


def test_another_state_of_the_files_is_refused(custody: Custody, lake: Path) -> None:
    assert _read(custody, "SELECT count(*) FROM visit")[0] == 3000.0
    _written(lake / "visit" / "3.parquet", VISITS.format(0, 5))
    with pytest.raises(
        FilesChanged, match=r"have changed since they were checked \(the newest are those of visit\)"
    ) as told:
        _read(custody, "SELECT count(*) FROM visit")
    shown = problem(told.value)
    assert "visit" in shown.message and "data bump" in str(shown.hint) and "SIGHUP" in str(shown.hint)
    with open_custody(f"parquet:///{lake}", (), 0) as now:
        assert now.schema(()).fingerprint != custody.schema(()).fingerprint
        assert _read(now, "SELECT count(*) FROM visit")[0] == 3005.0


@pytest.mark.slow
def test_every_change_is_another_state(custody: Custody, lake: Path) -> None:
    file, states = lake / "visit" / "1.parquet", set()
    changes: tuple[Callable[[], object], ...] = (
        lambda: None,
        lambda: _written(file, VISITS.format(0, 999)),
        partial(os.utime, file, ns=(1, 1)),
        file.unlink,
        lambda: _written(lake / "ward.parquet", "SELECT 1 AS id"),
    )
    for change in changes:
        change()
        states.add(custody.backend.at_this_version().version)  # type: ignore[attr-defined]
        assert (custody.backend.at_this_version() == custody.backend) == (len(states) == 1)  # type: ignore[attr-defined]
    assert len(states) == 5


@pytest.mark.slow
def test_files_that_change_while_they_are_read_give_no_answer(custody: Custody, lake: Path) -> None:
    backend = custody.backend
    with (
        pytest.raises(BackendFailed, match="while they were read"),
        backend._snapshot(  # type: ignore[attr-defined]
            custody.schema(()).fingerprint
        ),
    ):
        os.utime(lake / "Patient.parquet", ns=(1, 1))


@pytest.mark.slow
def test_a_file_that_is_gone_while_it_is_read_is_charged(custody: Custody, lake: Path) -> None:
    """`BackendUnavailable` is what was never read, and free."""
    backend = custody.backend
    with (
        pytest.raises(BackendFailed, match="while they were read"),
        backend._snapshot(  # type: ignore[attr-defined]
            custody.schema(()).fingerprint
        ),
    ):
        shutil.rmtree(lake)


@pytest.mark.slow
def test_a_sound_policy_has_no_finding(custody: Custody) -> None:
    policy, schema = parse_policy(POLICY), custody.schema(())
    validate(policy, schema)
    assert check_policy(custody, policy, schema) == ()


@pytest.mark.slow
def test_what_is_declared_and_false_is_found(lake: Path) -> None:
    (lake / "Patient.parquet").unlink()
    for rows, words in (
        ("SELECT i % 599 AS id, 'town 0' AS town FROM range(600) t(i)", "share a key that the policy declares"),
        (
            "SELECT nullif(i, 7) AS id, 'town 0' AS town FROM range(600) t(i)",
            "NULL in a key that the policy declares",
        ),
        ("SELECT i AS id, 'town ' || i % 3 AS town FROM range(600) t(i)", "outside the declared domain"),
        ("SELECT i AS id, 'town 0' AS town FROM range(500) t(i)", "have no row in patient"),
    ):
        _written(lake / "patient.parquet", rows)
        with open_custody(f"parquet:///{lake}", (), 0) as custody:
            found = check_policy(custody, parse_policy(POLICY), custody.schema(()))
        assert any(words in finding.message or words in str(finding) for finding in found), (words, found)


@pytest.mark.slow
def test_ranges_of_numbers_and_days_are_counted(lake: Path) -> None:
    policy = parse_policy(POLICY.replace("[0, 100]", "[0, 50]").replace("2024-12-31", "2024-06-30"))
    with open_custody(f"parquet:///{lake}", (), 0) as custody:
        found = {one.subject: one.rows for one in check_policy(custody, policy, custody.schema(()))}
    assert found == {"visit.cost": 1320, "visit.day": 1180}


@pytest.mark.slow
def test_nothing_else_of_the_machine_is_in_reach(custody: Custody, tmp_path: Path) -> None:
    _written(tmp_path / "secret.parquet", "SELECT 1 AS id")
    with custody.backend.opened(custody.backend.limits) as connection:  # type: ignore[attr-defined]
        for reach in (
            f"SELECT * FROM read_parquet('{tmp_path}/secret.parquet')",
            f"SELECT * FROM read_parquet('{tmp_path}/lake/../secret.parquet')",
            f"SELECT * FROM read_text('{tmp_path}/lake/../secret.parquet')",
            f"ATTACH '{tmp_path}/other.duckdb'",
            f"COPY (SELECT 1) TO '{tmp_path}/written.parquet'",
            f"COPY (SELECT 1) TO '{tmp_path}/lake/written.parquet'",
            f"ATTACH '{tmp_path}/lake/other.duckdb'",
            "SET enable_external_access = true",
            "INSTALL httpfs",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(reach)
    assert not (tmp_path / "written.parquet").exists() and not (tmp_path / "lake" / "written.parquet").exists()


@pytest.mark.slow
def test_a_draft_declares_the_keys_that_names_suggest(custody: Custody) -> None:
    schema = custody.schema(())
    assert likely_people(schema) == {"patient": ("id",)}
    text = draft(schema, "clinic", units={"patient": ("id",)})
    policy = parse_policy(text.replace('"env:NOISEGATE_DATABASE_URL"', '"parquet:///lake"'))
    validate(policy, schema)
    assert policy.tables["patient"].keys == (("id",),)
    assert [(key.table, key.references) for key in policy.foreign_keys] == [("visit", "patient")]


@pytest.mark.slow
def test_without_the_declaration_a_unit_has_no_key(custody: Custody) -> None:
    with pytest.raises(PolicyInvalid, match="not an enforced primary or unique key"):
        validate(parse_policy(POLICY.replace('keys = ["id"]', "")), custody.schema(()))


@pytest.mark.slow
def test_a_duckdb_file_has_its_own_keys(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE person (id bigint PRIMARY KEY); INSERT INTO person VALUES (1), (2)")
    with open_custody(resolve("duckdb:///shop.duckdb", tmp_path), (), 0) as custody:
        schema = custody.schema(())
        assert schema.tables["person"].primary_key == ("id",)
        assert custody.count(b"SELECT count(*) FROM main.person") == 2
    with duckdb.connect(file) as connection:
        connection.execute("INSERT INTO person VALUES (3)")
    with pytest.raises(SchemaChanged):
        custody.backend.check_schema(schema.fingerprint)


@pytest.mark.slow
def test_one_name_for_two_tables_is_refused(lake: Path) -> None:
    _written(lake / "visit.parquet", "SELECT 1 AS id")
    refused = pytest.raises(BackendUnavailable, match="two tables of the folder have the name visit")
    with refused, open_custody(f"parquet:///{lake}", (), 0):
        pass


@pytest.mark.slow
def test_a_path_where_nothing_is_is_refused(tmp_path: Path, lake: Path, subtests: pytest.Subtests) -> None:
    for url in ("duckdb:///missing.duckdb", "parquet:///missing", "duckdb:///lake", "parquet:///lake/README.txt"):
        with (
            subtests.test(url),
            pytest.raises(ConfigurationInvalid, match=r"there is no|is a folder, not|is a file, not"),
        ):
            path_of(resolve(url, tmp_path))


@pytest.mark.slow
def test_the_version_is_part_of_what_a_plan_is_for() -> None:
    assert Schema({}).fingerprint == Schema({}, version="").fingerprint != Schema({}, version="1").fingerprint


@pytest.mark.slow
def test_what_a_writer_left_beside_a_file_is_another_state(tmp_path: Path) -> None:
    """A crashed writer leaves rows in a log, which whoever opens the file reads; the file itself is unchanged."""
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE person (id bigint, name varchar); INSERT INTO person VALUES (1, 'a')")
    with open_custody(f"duckdb:///{file}", (), 0) as custody:
        backend = custody.backend
    (tmp_path / "shop.duckdb.wal").write_bytes(b"")
    with pytest.raises(SchemaChanged):
        backend.check_schema(backend.schema().fingerprint)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_name_that_is_a_pattern_is_refused(lake: Path, subtests: pytest.Subtests) -> None:
    plain = lake / "visit" / "0.parquet"
    for name in ("[ab].parquet", "a*.parquet", "a?.parquet"):
        named = plain.rename(lake / "visit" / name)
        refused = pytest.raises(BackendUnavailable, match="would be read as a pattern")
        with subtests.test(name), refused, open_custody(f"parquet:///{lake}", (), 0):
            pass
        named.rename(plain)


@pytest.mark.slow
def test_files_of_a_table_have_the_same_columns(lake: Path, subtests: pytest.Subtests) -> None:
    for rows in (
        VISITS.replace("AS double", "AS text"),
        VISITS.replace("AS cost", "AS price"),
        "SELECT 1 AS patient_id",
    ):
        _written(lake / "visit" / "9.parquet", rows.format(0, 3))
        refused = pytest.raises(ConfigurationInvalid, match=r"9\.parquet of visit has other columns than 0\.parquet")
        with subtests.test(rows), refused, open_custody(f"parquet:///{lake}", (), 0):
            pass


@pytest.mark.slow
def test_files_that_change_while_they_are_counted_are_not_counted(custody: Custody, lake: Path) -> None:
    assert custody.count(b"SELECT count(*) FROM visit") == 3000
    os.utime(lake / "Patient.parquet", ns=(1, 1))
    with pytest.raises(BackendFailed, match="during the count"):
        custody.count(b"SELECT count(*) FROM visit")


def _no_text() -> pa.Array:
    """Three texts, of which the last is no UTF-8."""
    ends = np.array([0, 2, 3, 4], np.int32)
    return pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"okA\xff")])


def test_values_that_cannot_be_read_are_found_before_a_question_fails_by_one(lake: Path) -> None:
    url = f"parquet:///{lake}"
    with open_custody(url, (), 0) as custody:
        custody.check_readable(custody.schema(("public",)))
    for values in (_no_text(), pa.array([1, 2, 2**62], pa.int64()).cast(pa.timestamp("ms"))):
        pq.write_table(pa.table({"id": [1, 2, 3], "said": values}), lake / "call.parquet", version="2.6")
        refused = pytest.raises(ConfigurationInvalid, match="call holds values that cannot be read")
        with open_custody(url, (), 0) as custody, refused:
            custody.check_readable(custody.schema(("public",)))


@pytest.mark.slow
def test_a_file_of_another_kind_is_said_to_be_one(tmp_path: Path, subtests: pytest.Subtests) -> None:
    file = tmp_path / "shop.duckdb"
    for content, words, way_out in (
        (
            b"id,town\n1,A\n" * 100,
            "shop.duckdb is not a DuckDB file: its format is unknown",
            "a file created by DuckDB",
        ),
        (b"", "its format is unknown", "a file created by DuckDB"),
        (b"SQLite format 3\0" + bytes(4096), "it is a SQLite file", "ATTACH"),
        (b"PAR1" + bytes(100) + b"PAR1", "it is a Parquet file", "parquet:///"),
        (b"PGDMP" + bytes(100), "it is a dump of PostgreSQL", "restore"),
        (
            bytes(8) + b"DUCK" + bytes(8192),
            "is a DuckDB file that cannot be opened",
            "write it with this DuckDB version",
        ),
    ):
        file.write_bytes(content)
        with subtests.test(words):
            with pytest.raises(BackendUnavailable) as refused, open_custody(f"duckdb:///{file}", (), 0) as custody:
                custody.schema(())
            assert words in refused.value.message and way_out in str(refused.value.hint)


@pytest.mark.slow
def test_a_file_of_a_folder_that_is_not_whole_is_named(lake: Path) -> None:
    whole = (lake / "visit" / "1.parquet").read_bytes()
    (lake / "visit" / "1.parquet").write_bytes(whole[:-10])
    with (
        pytest.raises(BackendUnavailable, match=r"1\.parquet of visit is not a complete Parquet file"),
        open_custody(f"parquet:///{lake}", (), 0),
    ):
        pass


@pytest.mark.slow
def test_too_little_memory_is_refused_before_anything_is_asked(lake: Path) -> None:
    with (
        pytest.raises(ConfigurationInvalid, match="memory_mb = 1 is too little for DuckDB") as refused,
        open_custody(f"parquet:///{lake}", (), 0, DatabaseLimits(memory_mb=1)),
    ):
        pass
    assert "memory_mb to at least 64" in str(refused.value.hint)


@pytest.mark.slow
def test_the_least_memory_is_enough_for_a_join_that_spills(tmp_path: Path) -> None:
    """As many rows as 32 MB have no room for, however much may be spilled."""
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE big AS SELECT i % 500000 AS k, i AS v FROM range(3000000) t(i)")
    limits = DatabaseLimits(memory_mb=64)
    with open_custody(f"duckdb:///{tmp_path}/shop.duckdb", (), 0, limits) as custody:
        backend = custody.backend
        assert isinstance(backend, DuckdbBackend)
        with backend.opened(backend.limits) as connection:
            joined = "SELECT a.k, sum(a.v) FROM big a JOIN (SELECT DISTINCT k FROM big) b USING (k) GROUP BY a.k"
            assert connection.execute(f"SELECT count(*) FROM ({joined})").fetchall() == [(500_000,)]
