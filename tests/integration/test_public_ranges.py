"""Ranges of public columns: what is read on both engines, and that rows which change later cost accuracy alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import duckdb
import psycopg
import pytest
from sqlglot import exp

from planner.errors import SensitivityUnbounded
from planner.expressions.column_ranges import clamp_column
from planner.expressions.intervals import Bounds
from planner.policy.policy import Policy, parse_policy
from planner.public.relation import PublicStatement
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from planner.sql.sql_types import SqlType
from planner.sql.trees import cast_sql, copied
from privacy.units import ONE
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend
from server.backends.embedded import EmbeddedPostgres
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.backends.public_rows import Rows
from server.errors import QueryCancelled
from server.ledger.analyst import Act
from server.pipeline import Pipeline
from server.policy import public_ranges
from server.policy.open_ledger_of_policy import open_policy_ledger
from server.policy.public_ranges import with_public_ranges
from server.query import QueryRequest
from server.question import Question
from server.startup.open_services import open_services
from server.workers.pool import WorkerLimits
from tests.golden.databases import in_file, on_server
from tests.support.backends import FailingBackend
from tests.support.memory_ledger import MemoryLedger
from tests.support.planning import planned

_TABLES = (
    "CREATE TABLE item (id int PRIMARY KEY, price numeric(8, 2), weight double precision, size real, big bigint, "
    'launched date, seen timestamp, "order" int, nothing int, zero int, listed int, name text)',
    "CREATE TABLE empty (id int PRIMARY KEY, n int)",
    "CREATE TABLE person (id int PRIMARY KEY)",
    "CREATE TABLE sale (person int NOT NULL REFERENCES person, item int NOT NULL REFERENCES item, sold date)",
)
_ROWS = (
    "INSERT INTO item VALUES (1, 1.25, 'NaN', 0.5, 9007199254740993, '2020-05-01', '2020-05-01 12:00:00', 3, NULL, "
    "0, 7, 'a'), (2, NULL, 'Infinity', 1.5, -5, 'infinity', '-infinity', 4, NULL, 0, 8, 'b'), "
    "(3, 80.5, -2.5, NULL, 0, '2021-02-03', '2021-02-03 23:59:59', NULL, NULL, 0, 9, NULL)",
    "INSERT INTO person SELECT i FROM generate_series(1, 20) AS s(i)",
    "INSERT INTO sale SELECT i, 1 + i % 3, '2021-06-01' FROM generate_series(1, 20) AS s(i)",
)
_POLICY = """
name = "shop"
[database]
url = "duckdb:shop.duckdb"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
[privacy_units]
person = "id"
[tables.person]
[tables.sale.columns]
sold = { range = [2020-01-01, 2022-12-31] }
[tables.empty]
public = true
[tables.item]
public = true
[tables.item.columns]
listed = { range = [0, 8] }
"""
_READ = {
    "id": (1.0, 3.0),
    "price": (1.25, 80.5),
    "weight": (-2.5, -2.5),
    "size": (0.5, 1.5),
    "big": (-5.0, 2.0**53),
    "order": (3.0, 4.0),
    "zero": (0.0, 0.0),
    "listed": (0.0, 8.0),
}
_DAYS = {"launched": (date(2020, 1, 1), date(2022, 12, 31)), "seen": (date(2020, 1, 1), date(2022, 12, 31))}

_SUMS = (
    "SELECT sum(price) FROM sale JOIN item ON id = item",
    "SELECT sum(weight * zero + price) FROM sale JOIN item ON id = item",
    "SELECT sum(sold - launched) FROM sale JOIN item ON id = item",
    "SELECT sum(s) FROM (SELECT person, sum(price) AS s FROM sale JOIN item ON id = item GROUP BY person) t",
)


@dataclass(frozen=True)
class _TooLate(FailingBackend):
    def public(self, statement: PublicStatement) -> Rows:
        time.sleep(self.seconds)
        raise QueryCancelled("too long")


@pytest.fixture(params=["duckdb", "postgres"])
def database(
    request: pytest.FixtureRequest, tmp_path: Path, embedded_postgres: EmbeddedPostgres
) -> Iterator[tuple[Schema, Backend]]:
    if request.param == "duckdb":
        file = DuckdbBackend(in_file(tmp_path / "shop.duckdb", (*_TABLES, *_ROWS)), "public")
        yield file.schema(), file
        return
    with on_server(embedded_postgres, "public_ranges", (*_TABLES, *_ROWS)) as url:
        with psycopg.connect(url) as connection:
            schema = read_schema(connection)
        yield schema, PostgresBackend(url)


def _policy() -> Policy:
    return parse_policy(_POLICY)


def test_ranges_are_of_the_finite_values_that_the_policy_does_not_declare(database: tuple[Schema, Backend]) -> None:
    ranged = with_public_ranges(_policy(), *database)
    columns = ranged.tables["item"].columns
    assert {name: one.range for name, one in columns.items() if one.range is not None} == _READ
    assert {name: one.dates for name, one in columns.items() if one.dates is not None} == _DAYS
    assert not ranged.tables["empty"].columns
    assert ranged.tables["sale"] == _policy().tables["sale"]


def test_sums_are_answered_and_a_column_without_values_is_refused(database: tuple[Schema, Backend]) -> None:
    schema, backend = database
    ranged = with_public_ranges(_policy(), schema, backend)
    for sql in _SUMS:
        assert planned(sql, schema, ranged).releases
    with pytest.raises(SensitivityUnbounded, match=r"no range is declared for item\.nothing"):
        planned("SELECT sum(nothing) FROM sale JOIN item ON id = item", schema, ranged)


def test_the_ranges_are_part_of_every_key_and_not_of_the_policys_hash(tmp_path: Path) -> None:
    file = DuckdbBackend(in_file(tmp_path / "shop.duckdb", (*_TABLES, *_ROWS)), "public")
    ranged = with_public_ranges(_policy(), file.schema(), file)
    item = ranged.tables["item"]
    wider = replace(item, columns={**item.columns, "price": replace(item.columns["price"], range=(0.0, 99.0))})
    other = ranged.beside({"item": wider})
    assert other.hash == ranged.hash == _policy().hash
    assert len({_policy().facts_hash, ranged.facts_hash, other.facts_hash}) == 3
    first, second = (_pipeline(policy, file) for policy in (ranged, other))
    request = QueryRequest("ada", _SUMS[0])
    shared = replace(second, questions=first.questions)
    asked = [one.planning.planned(request) for one in (first, shared)]
    assert len({one.answer_key for one in asked if isinstance(one, Question)}) == 2


def _pipeline(policy: Policy, file: DuckdbBackend) -> Pipeline:
    return Pipeline(policy, file.schema(), file, MemoryLedger({"ada": 1e6}), None)  # type: ignore[arg-type]


def _counted(path: Path, sql: str) -> set[float]:
    """What counts of each person, unless it is 0, once the rows lie far beyond the ranges that were read."""
    file = DuckdbBackend(in_file(path, (*_TABLES, *_ROWS)), "public")
    schema = file.schema()
    plan = planned(sql, schema, with_public_ranges(_policy(), schema, file))
    query = rewrite(plan, dialect="duckdb", schema=schema)
    with duckdb.connect(path) as connection:
        connection.execute("USE public; UPDATE item SET price = price * 1000, weight = -1e9, zero = 5")
        connection.execute("UPDATE item SET launched = '1020-01-01'")
        assert query.join is not None
        read = connection.execute(query.join)
        places = [place for place, column in enumerate(read.description or ()) if column[0].startswith("w")]
        values = {row[place] for row in read.fetchall() for place in places} - {0}
        return {round(value * plan.releases[0].weight_bound / ONE, 3) for value in values}


@pytest.mark.parametrize("sql", _SUMS)
def test_rows_that_change_after_they_were_read_count_as_the_nearest_end(sql: str, tmp_path: Path) -> None:
    """A day beyond the range is NULL, and weighs nothing."""
    assert _counted(tmp_path / "shop.duckdb", sql) == (set() if "launched" in sql else {80.5})


def test_a_mutant_that_trusts_the_range_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(column: exp.Expr, kind: SqlType, low: float, high: float) -> tuple[exp.Expr, Bounds]:
        return cast_sql(copied(column), "DOUBLE PRECISION"), clamp_column(column, kind, low, high)[1]

    monkeypatch.setattr("planner.expressions.bind_scalar.clamp_column", trusting)
    assert _counted(tmp_path / "shop.duckdb", _SUMS[1]) != {80.5}


def test_a_table_that_cannot_be_read_in_time_has_no_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DuckdbBackend(in_file(tmp_path / "shop.duckdb", (*_TABLES, *_ROWS)), "public")
    late = _TooLate(tmp_path / "log")
    assert with_public_ranges(_policy(), file.schema(), late) == _policy()
    monkeypatch.setattr(public_ranges, "_LONGEST_S", 0.0)
    assert with_public_ranges(_policy(), file.schema(), file) == _policy()


@pytest.mark.slow
def test_a_reload_reads_them_again(tmp_path: Path) -> None:
    path, policy = tmp_path / "shop.duckdb", tmp_path / "policy.toml"
    with duckdb.connect(path) as connection:
        connection.execute("; ".join((*_TABLES, *_ROWS)))
    policy.write_text(_POLICY.replace("duckdb:shop.duckdb", f"duckdb:///{path}"))
    open_policy_ledger(parse_policy(policy.read_text()), policy, new=True).close()
    with open_services(policy, WorkerLimits(workers=1, public_workers=1)) as services:
        assert services.pipeline.current.policy.column("item", "price").range == (1.25, 80.5)
        with duckdb.connect(path) as connection:
            connection.execute("UPDATE item SET price = price * 2")
        assert not services.pipeline.reload(Act("cy", "more items")).changed
        assert services.pipeline.current.policy.column("item", "price").range == (2.5, 161.0)
