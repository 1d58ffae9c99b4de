"""Three data sets in DuckDB files, which of their tables and columns are asked about, and the way to ask them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import cast

import duckdb
import numpy as np

from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from server.backends.duckdb import DuckdbBackend
from server.ledger.ledger import Ledger
from server.pipeline import Pipeline
from server.query import Cell, QueryRequest
from server.workers.pool import WorkerPool
from tests.benchmarks.quantile_references import Column
from tests.golden.stackexchange import load as stackexchange
from tests.golden.stackexchange.write_cases import CASES as STACKEXCHANGE_CASES
from tests.golden.tpch import queries as tpch_queries
from tests.support import skewed_hospital
from tests.support.asking import ask
from tests.support.memory_ledger import MemoryLedger
from tests.support.tpch_duckdb import load_tpch

NAMESPACE = "public"
_FOLDER = Path(".noisegate") / "benchmarks"
_DAY_S = 86_400.0

_TRAVEL_KEYS = "".join(
    f'\n[[foreign_keys]]\ntable = "{table}"\ncolumns = ["{column}"]\nreferences = "users"\nkey = ["id"]\n'
    for table, column in (("posts", "owneruserid"), ("comments", "userid"), ("votes", "userid"), ("badges", "userid"))
)
"""The file has no foreign keys, so the policy names those that lead to people."""


@dataclass(frozen=True)
class Measure:
    """An expression over rows, its range, and the step between its values; moments are in seconds since 1970."""

    sql: str
    low: float
    high: float
    step: float
    moment: bool = False

    @property
    def steps(self) -> int:
        return round((self.high - self.low) / self.step)

    @property
    def number(self) -> str:
        """As a number, in the database."""
        return f"epoch({self.sql})" if self.moment else f"CAST({self.sql} AS double)"

    def place(self, cell: Cell) -> float:
        """How many steps a released value lies above the lowest; what is missing lies nowhere."""
        if cell is None:
            return float("nan")
        number = _seconds(str(cell)) if self.moment else float(cell)
        return (number - self.low) / self.step


@dataclass(frozen=True)
class Tables:
    """Which tables of a data set hold people and their rows, and what is asked about them.

    Attributes:
      people: the privacy unit and its key.
      counted: a table whose rows are counted per person, its key, and the person's key in it.
      valued: the table of `value` and `moment`, and the person's key in it.
      most: of rows per person, for those who choose from a range.
      pair: a table and two of its columns, which are correlated.
      group: a column of people to group by; None where there is none.
      owned: which rows of `valued` and of the pair's table are someone's, as a condition; others are in no answer.
      shared: rows that belong to several people each, the key of one of them, and a measure; None: there are none.
    """

    people: tuple[str, str]
    counted: tuple[str, str, str]
    valued: tuple[str, str]
    most: int
    value: Measure
    moment: Measure
    pair: tuple[str, str, str]
    group: str | None = None
    owned: str = "TRUE"
    shared: tuple[str, str, Measure] | None = None

    @property
    def n(self) -> Measure:
        """Rows per person, in `per_person`."""
        return Measure("n", 0, self.most, 1)

    @property
    def per_person(self) -> str:
        """Everybody's number of rows."""
        (people, key), (table, row, owner) = self.people, self.counted
        return (
            f"(SELECT p.{key}, count(r.{row}) AS n FROM {people} p LEFT JOIN {table} r ON r.{owner} = p.{key} "
            f"GROUP BY p.{key}) t"
        )

    @property
    def one_each(self) -> str:
        """The least value of each person who has any, x."""
        table, owner = self.valued
        return f"(SELECT {owner}, min({self.value.sql}) AS x FROM {table} WHERE {self.owned} GROUP BY {owner}) t"

    @property
    def with_people(self) -> str:
        """The rows of `valued` beside whose they are."""
        (people, key), (table, owner) = self.people, self.valued
        return f"{table} r JOIN {people} p ON r.{owner} = p.{key}"


@dataclass(frozen=True)
class Data:
    """A data set in a file, and the way to ask it `runs` times."""

    name: str
    file: Path
    policy: Policy
    tables: Tables
    workers: WorkerPool
    runs: int
    ledger: MemoryLedger = field(default_factory=lambda: MemoryLedger({"ada": 1e6}))

    def __post_init__(self) -> None:
        validate(self.policy, DuckdbBackend(self.file, NAMESPACE).schema())

    @cached_property
    def _pipeline(self) -> Pipeline:
        backend = DuckdbBackend(self.file, NAMESPACE)
        schema = backend.schema()
        ledger = cast("Ledger", self.ledger)  # the part of it that is used here
        return Pipeline(self.policy, with_declared_keys(schema, self.policy), backend, ledger, self.workers)

    def released(self, sql: str, epsilon: float) -> list[Sequence[tuple[Cell, ...]]]:
        """The rows of each release: each of another version of the data, as an answer is kept for one."""
        found = []
        for _ in range(self.runs):
            self.ledger.version += 1
            request = QueryRequest("ada", sql, epsilon=epsilon, request_id="benchmark")
            found.append(ask(self._pipeline, request).rows)
        return found

    def exact(self, sql: str) -> list[tuple[float, ...]]:
        """What the database says."""
        with self._opened() as connection:
            return connection.execute(sql).fetchall()

    def columns(self, measure: Measure, source: str, owner: str, group: str | None = None) -> dict[Cell, Column]:
        """The values that are someone's, in steps of the measure: of each group, or of all under None."""
        with self._opened() as connection:
            found = connection.execute(
                f"SELECT {group or 'NULL'} AS g, {measure.number} AS x, {owner} AS o FROM {source} "
                f"WHERE {measure.sql} IS NOT NULL AND {owner} IS NOT NULL ORDER BY x"
            ).fetchnumpy()
        places = np.clip(np.round((found["x"] - measure.low) / measure.step), 0, measure.steps).astype(np.float64)
        keys, owners = found["g"], found["o"].astype(np.int64)
        if group is None:
            return {None: Column(places, owners, measure.steps)}
        return {key: Column(places[keys == key], owners[keys == key], measure.steps) for key in sorted(set(keys))}

    def export(self, folder: Path) -> None:
        """People and counted rows as CSV."""
        with self._opened() as connection:
            for table in (self.tables.people[0], self.tables.counted[0]):
                connection.execute(f"COPY {table} TO '{folder / table}.csv' (HEADER)")

    def _opened(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(self.file, read_only=True)
        connection.execute(f"USE {NAMESPACE}; SET TimeZone = 'UTC'")
        return connection


def hospital(workers: WorkerPool, runs: int, patients: int) -> Data:
    """Generated: patients are protected."""
    file = _FOLDER / f"hospital-{patients}.duckdb"
    if not file.exists():
        skewed_hospital.load_skewed_hospital(file, patients)
    days = _days(skewed_hospital.FIRST_DAY, skewed_hospital.LAST_DAY)
    tables = Tables(
        people=("patient", "patient_id"),
        counted=("visit", "visit_id", "patient_id"),
        valued=("visit", "patient_id"),
        most=skewed_hospital.MOST_VISITS,
        value=Measure("cost", 0, skewed_hospital.HIGHEST_COST, 0.01),
        moment=Measure("admitted_at", *days, 1.0, moment=True),
        pair=("visit", "cost", "days"),
        group="ward",
    )
    return Data("hospital", file, skewed_hospital.skewed_hospital_policy(), tables, workers, runs)


def travel(workers: WorkerPool, runs: int) -> Data:
    """A question-and-answer site: users are protected."""
    file = _FOLDER / "travel.duckdb"
    if not file.exists():
        stackexchange.load_file(file)
    tables = Tables(
        people=("users", "id"),
        counted=("badges", "id", "userid"),
        valued=("posts", "owneruserid"),
        most=2_000,
        value=Measure("score", -50, 500, 1),
        moment=Measure("creationdate", *_days("2011-01-01", "2017-12-31"), 1.0, moment=True),
        pair=("posts", "score", "viewcount"),
        owned="owneruserid IS NOT NULL",
    )
    policy = parse_policy((STACKEXCHANGE_CASES.parent / "policy.toml").read_text() + _TRAVEL_KEYS)
    return Data("travel", file, policy, tables, workers, runs)


def tpch(workers: WorkerPool, runs: int, scale: float) -> Data:
    """TPC-H: customers are protected, and suppliers, who own none of what is asked about."""
    file = _FOLDER / f"tpch-{scale:g}.duckdb"
    if not file.exists():
        load_tpch(file, scale)
    tables = Tables(
        people=("customer", "c_custkey"),
        counted=("orders", "o_orderkey", "o_custkey"),
        valued=("orders", "o_custkey"),
        most=100,
        value=Measure("o_totalprice", 0, 600_000, 0.01),
        moment=Measure("o_orderdate", *_days("1992-01-01", "1998-12-31"), _DAY_S, moment=True),
        pair=("lineitem", "l_quantity", "l_extendedprice"),
        group="c_mktsegment",
        shared=(
            "lineitem JOIN supplier ON l_suppkey = s_suppkey",
            "l_suppkey",
            Measure("l_extendedprice", 0, 200_000, 0.01),
        ),
    )
    return Data(f"tpch, scale {scale:g}", file, tpch_queries.policy(), tables, workers, runs)


def _days(first: str, last: str) -> tuple[float, float]:
    return _seconds(first), _seconds(last)


def _seconds(moment: str) -> float:
    """Since 1970, of a moment or a day of UTC."""
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
