"""Spark as a backend: limits, one state of the files, and rows that would make a careless statement fail."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planner.errors import SchemaChanged
from planner.plan import BackendQuery
from planner.policy.declared import with_declared_keys
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from privacy.join_tuples import JoinTuples
from privacy.truncation.histograms import ContributionHistogram
from server.backends import spark_session
from server.backends.backend import Limits
from server.backends.columns import Integers
from server.backends.files import ParquetFiles
from server.backends.spark import SparkBackend, arrow_columns
from server.backends.spark_session import SETTINGS, opened_session
from server.errors import BackendFailed, BackendUnavailable, ConfigurationInvalid, QueryCancelled
from tests.integration.test_data_files import POLICY
from tests.support.planning import planned
from tests.support.spark import address, folder_of, needs_spark, rows_of

pytestmark = needs_spark

COSTS = [math.nan, math.inf, -math.inf, 1e308, -1.0, 5e-324, 50.0, 99.999999, 100.0, 1e30, None]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (tmp_path / "visit").mkdir()
    patients = {"id": pa.array(range(600), pa.int64()), "town": [f"town {i % 2}" for i in range(600)]}
    pq.write_table(pa.table(patients), tmp_path / "patient.parquet")
    for part in range(2):
        visits: dict[str, Any] = {
            "patient_id": pa.array([i % 600 for i in range(part * 1500, part * 1500 + 1500)], pa.int32()),
            "cost": pa.array([COSTS[i % len(COSTS)] for i in range(1500)], pa.float64()),
            "day": pa.array([20_000 + i % 300 for i in range(1500)], pa.int32()).cast(pa.date32()),
        }
        pq.write_table(pa.table(visits), tmp_path / "visit" / f"{part}.parquet")
    return tmp_path


@pytest.fixture
def backend(lake: Path) -> Iterator[SparkBackend]:
    yield SparkBackend.of_folder(address(), folder_of(lake))


def _query(backend: SparkBackend, sql: str, *, contributions: bool = True) -> BackendQuery:
    policy = parse_policy(POLICY)
    schema = with_declared_keys(backend.schema(), policy)
    query = rewrite(planned(sql, schema, policy), dialect="spark", schema=schema, contributions=contributions)
    return replace(query, fingerprint=backend.schema().fingerprint)


def test_hostile_costs_weigh_what_a_clamped_double_weighs(backend: SparkBackend) -> None:
    """NaN counts as NULL, infinity as the bound; and no row makes the statement fail."""
    _, read = backend.read(_query(backend, "SELECT sum(cost) FROM visit", contributions=False))
    assert isinstance(read.join, JoinTuples)
    clamped = [0.0 if cost is None or math.isnan(cost) else min(max(cost, 0.0), 100.0) for cost in COSTS]
    expected = 2 * sum(math.floor(clamped[i % len(COSTS)] / 100 * 2**30) for i in range(1500))
    assert int(read.join.weights[0].sum()) == expected


def test_one_owner_questions_bring_no_person_out_of_spark(backend: SparkBackend) -> None:
    """What arrives is how many people have how much: a row per group and power of two, whoever they are."""
    query = _query(backend, "SELECT town, count(*) FROM visit JOIN patient ON patient_id = patient.id GROUP BY town")
    assert query.contributions is not None
    _, read = backend.read(query)
    assert isinstance(read.join, ContributionHistogram)
    assert int(read.join.units.sum()) == 600
    assert len(read.join.units) <= 2 * (len(query.thresholds) + 1) < 600
    with opened_session(address(), None) as session:
        session.with_files(backend.tables)
        tables = list(session.tables(query.contributions))
        assert set(tables[0].column_names) == {"k0", "i", "b", "n", "s"}


def test_totals_saturate_instead_of_failing(tmp_path: Path) -> None:
    with opened_session(address(), None) as session:
        most = 4611686018427387904
        for values, total in (([2**62, 2**62, 2**62], most), ([5, 6], 11), ([2**63 - 1, 2**63 - 1, 1], most)):
            rows = ", ".join(f"({value}L)" for value in values)
            sql = f"SELECT LEAST(COALESCE(TRY_SUM(w), {most}), {most}) AS w0 FROM VALUES {rows} AS t(w)"
            assert rows_of(session, sql) == [(total,)]


def test_more_rows_than_the_limit_are_not_taken_in(backend: SparkBackend) -> None:
    few = replace(backend, limits=Limits(rows=100))
    with pytest.raises(QueryCancelled, match="more join rows than the proxy accepts"):
        few.read(_query(backend, "SELECT sum(cost) FROM visit", contributions=False))


def test_a_statement_over_its_time_is_ended(backend: SparkBackend) -> None:
    slow = "SELECT count(*) AS n FROM range(1000000) a JOIN range(1000000) b ON a.id * 7 % 11 = b.id % 3"
    started = time.monotonic()
    with (
        opened_session(address(), 3_000) as session,
        pytest.raises(QueryCancelled, match="took longer than its limit"),
    ):
        list(session.tables(slow))
    assert time.monotonic() - started < 120
    with opened_session(address(), None) as session:  # and what it ran on is free again
        assert rows_of(session, "SELECT 1L AS one") == [(1,)]


def test_files_that_change_are_not_answered_from(backend: SparkBackend, lake: Path) -> None:
    query = _query(backend, "SELECT count(*) FROM visit")
    backend.check_schema(query.fingerprint)
    pq.write_table(pq.read_table(lake / "visit" / "0.parquet").slice(0, 10), lake / "visit" / "0.parquet")
    with pytest.raises(SchemaChanged, match="have changed"):
        backend.read(query)


def test_files_that_change_while_they_are_read_give_no_answer(
    backend: SparkBackend, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = _query(backend, "SELECT count(*) FROM visit")
    rows = SparkBackend._columns

    def changing(self: SparkBackend, *arguments: Any) -> Any:
        found = rows(self, *arguments)
        pq.write_table(pa.table({"id": pa.array([1], pa.int64()), "town": ["x"]}), lake / "patient.parquet")
        return found

    monkeypatch.setattr(SparkBackend, "_columns", changing)
    with pytest.raises(BackendFailed, match="changed while they were read"):
        backend.read(query)


def test_errors_have_no_word_of_spark_or_of_a_row(lake: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with opened_session(address(), None) as session:
        session.with_files(SparkBackend.of_folder(address(), folder_of(lake)).tables)
        with pytest.raises(BackendFailed) as failure:
            list(session.tables("SELECT CAST(town AS BIGINT) AS n FROM patient"))
    assert "town" not in str(failure.value) and failure.value.__cause__ is None
    said = capfd.readouterr()
    assert "town" not in said.out + said.err


def test_a_server_that_is_not_there_is_unavailable_soon() -> None:
    started = time.monotonic()
    with (
        pytest.raises(BackendUnavailable, match="Spark does not answer"),
        opened_session("sc://localhost:1/;token=x", None),
    ):
        pass
    assert time.monotonic() - started < 60


def test_another_token_is_not_let_in() -> None:
    url = address()
    assert url not in repr(SparkBackend(url, ParquetFiles(Path()), (), "")), "a secret"
    with (
        pytest.raises(BackendUnavailable),
        opened_session(url.partition("token=")[0] + "token=guess", None),
    ):
        pass


def test_the_session_has_the_settings_that_statements_are_written_for() -> None:
    with opened_session(address(), None) as session:
        assert dict(session.client.client.get_config_dict(*SETTINGS)) == dict(SETTINGS)


def test_a_session_is_kept_for_the_next_question_while_it_is_sound(
    backend: SparkBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after a failure, a changed setting, or where the server has it no more."""
    opened: list[Any] = []
    connected = spark_session._connected

    def counted(url: str) -> Any:
        opened.append(connected(url))
        return opened[-1]

    monkeypatch.setattr(spark_session, "_connected", counted)
    query = _query(backend, "SELECT count(*) FROM visit")
    for _ in range(3):
        _, read = backend.read(query)
    assert len(opened) == 1 and read.join is not None
    few = replace(backend, limits=Limits(rows=100))
    with pytest.raises(QueryCancelled):
        few.read(_query(backend, "SELECT sum(cost) FROM visit", contributions=False))
    backend.read(query)
    assert len(opened) == 2
    opened[-1].conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    backend.read(query)
    assert len(opened) == 3
    opened[-1].client.release_session()
    backend.read(query)
    assert len(opened) == 4


def test_files_of_one_table_have_the_same_columns(lake: Path) -> None:
    pq.write_table(pa.table({"patient_id": pa.array([1], pa.int64())}), lake / "visit" / "9.parquet")
    with pytest.raises(ConfigurationInvalid, match=r"9\.parquet of visit has other columns"):
        SparkBackend.of_folder(address(), folder_of(lake))


def test_a_column_that_spark_cannot_read_is_refused_by_its_table(lake: Path) -> None:
    pq.write_table(pa.table({"t": pa.array([1], pa.time64("ns"))}), lake / "clock.parquet")
    with pytest.raises(ConfigurationInvalid, match="clock has a column of a type that Spark does not read"):
        SparkBackend.of_folder(address(), folder_of(lake))


def test_a_text_that_ends_too_early_shows_nothing_of_the_next_row(lake: Path) -> None:
    """Spark's functions read on behind it, where the next row's text lies: here it has no such end any more."""
    cut_off, others = [b"A\xe2", b"B\xf0\x9f"], [b"SECRET", b"OTHER"]
    found = []
    for neighbour in others:
        notes = pa.array([cut_off[0], neighbour, cut_off[1], neighbour], pa.binary()).view(pa.string())
        table = pa.table({"id": pa.array(range(4), pa.int64()), "words": notes})
        pq.write_table(table, lake / "note.parquet", use_dictionary=False)
        with opened_session(address(), None) as session:
            session.with_files(SparkBackend.of_folder(address(), folder_of(lake)).tables)
            ends = "SUBSTRING(words, 1, 5) AS a, LEFT(words, 5) AS b, RIGHT(words, 5) AS c"
            found.append(rows_of(session, f"SELECT {ends} FROM note ORDER BY id")[::2])
    assert found[0] == found[1] == [("A\ufffd",) * 3, ("B\ufffd",) * 3]


def test_a_moment_beyond_microseconds_fails_no_question(lake: Path) -> None:
    moments = {"at": pa.array([0, 2**62], pa.timestamp("ms")), "since": pa.array([0, 2**50], pa.timestamp("s"))}
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), **moments}), lake / "stay.parquet")
    backend = SparkBackend.of_folder(address(), folder_of(lake))
    kinds = {column.name: column.type for column in backend.schema().tables["stay"].columns}
    assert kinds == {"id": "bigint", **dict.fromkeys(moments, "spark timestamp of milliseconds")}
    with opened_session(address(), None) as session:
        session.with_files(backend.tables)
        assert rows_of(session, "SELECT id FROM stay ORDER BY id") == [(1,), (2,)]
    pq.write_table(pa.table(moments), lake / "stay.parquet")
    with pytest.raises(ConfigurationInvalid, match="no columns but timestamps of milliseconds"):
        SparkBackend.of_folder(address(), folder_of(lake))


def test_a_decimal_of_more_digits_than_its_type_fails_no_question(lake: Path) -> None:
    """A file may hold it as a whole number, or as bytes, in which there is room for more."""

    def cost(digits: int, places: int, *steps: int) -> pa.Array:
        raw = b"".join(step.to_bytes(16, "little", signed=True) for step in steps)
        return pa.Array.from_buffers(pa.decimal128(digits, places), len(steps), [None, pa.py_buffer(raw)])

    short, long = cost(3, 1, 5, 2**31 - 1, -999), cost(20, 2, 5, 2 * 10**21, 10**20 - 1)
    table = pa.table({"id": pa.array(range(3), pa.int64()), "short": short, "long": long})
    pq.write_table(table, lake / "bill.parquet", store_decimal_as_integer=True)
    with opened_session(address(), None) as session:
        session.with_files(SparkBackend.of_folder(address(), folder_of(lake)).tables)
        sql = "SELECT CAST(short * 2 AS DOUBLE) AS a, CAST(long + 1 AS DOUBLE) AS b, FLOOR(short) AS c FROM bill"
        found = rows_of(session, f"{sql} ORDER BY id")
    assert found == [(1.0, 1.05, 0), (None, None, None), (-199.8, 1e18, -100)]


def test_columns_of_folders_are_refused(lake: Path) -> None:
    (lake / "year=2024").mkdir()
    pq.write_table(pa.table({"n": [1]}), lake / "year=2024" / "0.parquet")
    with pytest.raises(ConfigurationInvalid, match="columns in the names of folders"):
        SparkBackend.of_folder(address(), folder_of(lake, [("sale", "year=*/*.parquet")]))


def test_whole_numbers_come_as_arrays_and_texts_as_they_are() -> None:
    texts = pa.array([b"a", b"\xff", None, b"a", b"\xff\xfe"], pa.binary()).view(pa.string())
    table = pa.table({"n": pa.array([1, None, -(2**63), 4, 5], pa.int64()), "t": texts})
    numbers, words = arrow_columns([table.slice(0, 2), table.slice(2)], 2)
    assert isinstance(numbers, Integers)
    assert list(numbers) == [1, None, -(2**63), 4, 5] and numbers.values.dtype == np.int64
    assert words == ("a", "\udcff", None, "a", "\udcff\udcfe")
    assert arrow_columns([], 2) == [(), ()]


def test_moments_of_nanoseconds_and_of_96_bits_are_refused_by_their_table(lake: Path) -> None:
    """Beyond 292 thousand years they would fail a question, or be another moment."""
    table = pa.table({"patient_id": pa.array([1], pa.int32()), "at": pa.array([1], pa.timestamp("ns"))})
    for old in (False, True):
        pq.write_table(table, lake / "call.parquet", version="2.6", use_deprecated_int96_timestamps=old)
        with pytest.raises(ConfigurationInvalid, match="nanoseconds"):
            SparkBackend.of_folder(address(), folder_of(lake))
