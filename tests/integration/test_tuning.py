"""What `noisegate tune` counts is what people have, on both engines; its charge stands before a row is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest

from planner.errors import InvalidSetting, PlannerError, SchemaChanged, UnsupportedSQL
from planner.policy.policy import Policy, parse_policy
from planner.policy.validate import validate
from planner.schema import Schema
from privacy.mechanisms.contributions import LEAST, MOST
from server.backends.backend import Backend
from server.backends.duckdb import DuckdbBackend
from server.backends.postgres import PostgresBackend, connected
from server.backends.postgres_catalog import read_schema
from server.errors import BackendConnectionLost, BackendUnavailable, QueryFailed
from server.ledger.account import Grant
from server.ledger.analyst import Act, key_hash
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.ledger.tuning import TuningRecord
from server.tuning import TableMeasures, histograms, measures, tune
from tests.support.replay_entropy import ConstantEntropy

ACT = Act("grace", "a test")

TABLES = """
    CREATE TABLE ward (id bigint PRIMARY KEY, beds integer);
    CREATE TABLE patient (id bigint PRIMARY KEY, age integer NOT NULL);
    CREATE TABLE nurse (id bigint PRIMARY KEY);
    CREATE TABLE visit (id bigint PRIMARY KEY, patient bigint REFERENCES patient, cost double precision,
        note varchar(9), days integer NOT NULL);
    CREATE TABLE drug (id bigint PRIMARY KEY, visit bigint NOT NULL REFERENCES visit, dose numeric(8, 2));
    CREATE TABLE care (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient,
        nurse bigint NOT NULL REFERENCES nurse, hours integer);
"""
POLICY = """
    name = "clinic"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 0.5
    [privacy_units]
    patient = "id"
    nurse = "id"
    [tables.nurse]
    [tables.ward]
    public = true
    [tables.patient.columns]
    age = { range = [0, 120] }
    [tables.visit.columns]
    cost = { range = [-50, 200] }
    note = { domain = ["a"] }
    [tables.drug.columns]
    dose = { range = [0, 16] }
    [tables.care.columns]
    hours = { range = [0, 9] }
"""
PEOPLE = 40

Visit = tuple[int, int | None, float | None, str, int]


def rows(without: int | None = None) -> tuple[list[int], list[Visit], list[tuple[int, int, float]]]:
    """People, visits, and drugs, of which a few have many; without one of the people and all that the person owns."""
    rng = np.random.default_rng(5)
    visits: list[Visit] = []
    drugs: list[tuple[int, int, float]] = []
    for person in range(PEOPLE):
        for _ in range(int(rng.zipf(1.5)) % 50 if person % 4 else 0):
            cost = None if rng.random() < 0.1 else round(float(rng.normal(20, 150)), 2)
            visits.append((len(visits), person, cost, "a", int(rng.integers(9))))
            for _ in range(int(rng.integers(3))):
                drugs.append((len(drugs), visits[-1][0], float(rng.integers(20))))
    visits.append((len(visits), None, 10.0, "a", 1))
    kept = [visit for visit in visits if without is None or visit[1] != without]
    there = {visit[0] for visit in kept}
    return [one for one in range(PEOPLE) if one != without], kept, [drug for drug in drugs if drug[1] in there]


def statements(without: int | None = None) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    people, visits, drugs = rows(without)
    yield "patient", [(person, person % 90) for person in people]
    yield "visit", list(visits)
    yield "drug", list(drugs)
    yield "nurse", [(1,)]
    yield "care", [(person, person, 1, 2) for person in people]


@dataclass(frozen=True)
class Clinic:
    backend: Backend
    schema: Schema
    policy: Policy

    def chosen(self, table: str | None = None, measure: str | None = None) -> tuple[TableMeasures, ...]:
        return measures(self.policy, self.schema, self.backend.dialect, table, measure)

    def tuned(self, ledger: Ledger, epsilon: float = 1.0, table: str | None = None) -> TuningRecord:
        chosen = self.chosen(table)
        return tune(chosen, self.policy, self.schema, self.backend, ledger, epsilon, ACT, ConstantEntropy())


def on_duckdb(path: Path, policy: str = POLICY, without: int | None = None) -> Clinic:
    with duckdb.connect(path) as connection:
        connection.execute(TABLES)
        for table, values in statements(without):
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
    backend, contract = DuckdbBackend(path), parse_policy(policy)
    validate(contract, schema := backend.schema())
    return Clinic(backend, schema, contract)


@pytest.fixture(params=["duckdb", "postgres"])
def clinic(request: pytest.FixtureRequest, tmp_path: Path) -> Clinic:
    if request.param == "duckdb":
        return on_duckdb(tmp_path / "clinic.duckdb")
    url = request.getfixturevalue("scratch_url")
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(TABLES.encode())
        for table, values in statements():
            cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(values[0]))})".encode(), values)
    with connected(url, 0) as opened:
        schema = read_schema(opened)
    contract = parse_policy(POLICY)
    validate(contract, schema)
    return Clinic(PostgresBackend(url), schema, contract)


@contextmanager
def new_ledger(folder: Path) -> Iterator[Ledger]:
    with closing(create_ledger(folder / "ledger.sqlite", folder / "marker.json")) as made:
        made.add_analyst("ada", key_hash("ng_ada"), 10.0, 0.0)
        yield made


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path) as made:
        yield made


def bucketed(loads: Counter[int], unit: float, first: int) -> list[int]:
    """People by bucket, worked out from the rows."""
    ends = [unit * 2.0**exponent for exponent in range(first, MOST + 1)]
    counts = [0] * (len(ends) + 1)
    for load in loads.values():
        if load > 0:
            counts[sum(load > end for end in ends)] += 1
    return counts


def test_people_are_counted_by_what_they_have(clinic: Clinic, book: Ledger) -> None:
    record = clinic.tuned(book)
    _, visits, drugs = rows()
    owner = {visit[0]: visit[1] for visit in visits}
    expected: dict[tuple[str, str], Counter[int]] = {
        ("visit", "rows"): Counter(),
        ("visit", "cost"): Counter(),
        ("drug", "rows"): Counter(),
        ("drug", "dose"): Counter(),
    }
    for _, person, cost, *_ in visits:
        if person is not None:
            expected["visit", "rows"][person] += 1
            expected["visit", "cost"][person] += abs(min(200, max(-50, cost or 0)))  # type: ignore[assignment]
    for _, visit, dose in drugs:
        person = owner[visit]
        assert person is not None
        expected["drug", "rows"][person] += 1
        expected["drug", "dose"][person] += min(16, dose)  # type: ignore[assignment]
    assert set(record.measures) == set(expected), "care has two owners; a patient's age is one person's one row"
    passed: list[str] = []
    measures(clinic.policy, clinic.schema, clinic.backend.dialect, passed_over=passed.append)
    assert len(passed) == 1 and passed[0].startswith("rows of care have several owners (nurse and patient)")
    for found in histograms(record):
        first = 0 if found.measure == "rows" else LEAST
        counted = bucketed(expected[found.table, found.measure], found.histogram.unit, first)
        assert list(found.histogram.people) == counted, found.label
        assert found.histogram.epsilon == 0.25, "four histograms share it"


def test_a_least_number_of_people_per_group_changes_nothing(tmp_path: Path) -> None:
    found = []
    for name, policy in (
        ("all", POLICY),
        ("withheld", POLICY.replace("[privacy]", "[privacy]\nminimum_frequency = 5")),
    ):
        folder = tmp_path / name
        folder.mkdir()
        with new_ledger(folder) as book:
            found.append(on_duckdb(folder / "clinic.duckdb", policy).tuned(book).histograms)
    assert "minimum_frequency" in policy
    assert found[0] == found[1]


def test_one_person_moves_one_number_by_one(tmp_path: Path) -> None:
    """Whoever leaves with all that the person owns: the sensitivity that the noise is for."""

    def numbers(without: int | None) -> list[list[int]]:
        folder = tmp_path / str(without)
        folder.mkdir()
        with new_ledger(folder) as ledger:
            record = on_duckdb(folder / "clinic.duckdb", without=without).tuned(ledger)
        found = [one.histogram for one in histograms(record)]
        return [list(one.people) for one in found]

    whole = numbers(None)
    moved = {person: changes(whole, numbers(person)) for person in (0, 1, 5, 6, 11)}
    assert all(change <= 1 for every in moved.values() for change in every)
    assert moved[0] == [0] * len(whole), "without visits"
    assert moved[5] == [1, 1, 0, 0], "visits without drugs"


def changes(one: list[list[int]], other: list[list[int]]) -> list[int]:
    """By how much all numbers of each histogram differ."""
    return [sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in zip(one, other, strict=True)]


def test_the_owner_of_lost_rows_moves_one_number_by_one(tmp_path: Path) -> None:
    """As a person does: the rows' key names nobody, as it may where no foreign key is enforced."""

    def numbers(orphaned: bool) -> list[list[int]]:
        path = tmp_path / f"{orphaned}.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(TABLES.replace("patient bigint REFERENCES patient, cost", "patient bigint, cost"))
            for table, values in statements():
                added = (
                    [(9_000 + one, 9_999, 20.0, "a", 1) for one in range(8)] if table == "visit" and orphaned else []
                )
                connection.executemany(
                    f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", [*values, *added]
                )
        declared = """
    [[foreign_keys]]
    table = "visit"
    columns = ["patient"]
    references = "patient"
    key = ["id"]
"""
        backend, contract = DuckdbBackend(path), parse_policy(POLICY + declared)
        validate(contract, schema := backend.schema())
        folder = tmp_path / f"ledger {orphaned}"
        folder.mkdir()
        with new_ledger(folder) as ledger:
            record = Clinic(backend, schema, contract).tuned(ledger, table="visit")
        return [list(one.histogram.people) for one in histograms(record)]

    assert changes(numbers(False), numbers(True)) == [1, 1]


def test_rows_that_are_people_of_their_own_are_counted(tmp_path: Path, book: Ledger) -> None:
    own = "rows_are_units = true\n    [tables.ward.columns]\n    beds = { range = [0, 9] }"
    policy = POLICY.replace("[tables.ward]\n    public = true", f"[tables.ward]\n    {own}")
    found = histograms(on_duckdb(tmp_path / "own.duckdb", policy).tuned(book, table="ward"))
    assert [one.measure for one in found] == ["rows", "beds"]
    of_two = POLICY.replace(
        "[tables.visit.columns]", "[tables.visit]\n    rows_are_units = true\n    [tables.visit.columns]"
    )
    with pytest.raises(UnsupportedSQL, match=r"several owners \(patient and visit\)"):
        on_duckdb(tmp_path / "two.duckdb", of_two).chosen("visit")


REFUSED = [
    ("care", None, "have several owners (nurse and patient)"),
    ("ward", None, "ward is public"),
    ("patient", None, "each row is one person"),
    ("visits", None, "no table visits"),
    ("visit", "costs", "no column costs"),
    ("visit", "days", "no declared range"),
    ("visit", "note", "no declared range"),
    (None, "hours", "nothing to tune"),
]


@pytest.mark.parametrize(("table", "measure", "words"), REFUSED)
def test_what_cannot_be_tuned_is_refused_with_what_can(
    tmp_path: Path, table: str | None, measure: str | None, words: str
) -> None:
    with pytest.raises(PlannerError) as refused:
        on_duckdb(tmp_path / "clinic.duckdb").chosen(table, measure)
    assert words in refused.value.message
    assert refused.value.hint


def test_a_table_and_a_measure_alone_get_the_whole_epsilon(tmp_path: Path, book: Ledger) -> None:
    clinic = on_duckdb(tmp_path / "clinic.duckdb")
    (table,) = clinic.chosen("visit", "rows")
    assert [(one.table, one.name) for one in table.measures] == [("visit", "rows")]
    entropy = ConstantEntropy()
    record = tune((table,), clinic.policy, clinic.schema, clinic.backend, book, 0.7, ACT, entropy)
    assert histograms(record)[0].histogram.epsilon == 0.7
    with pytest.raises(InvalidSetting, match="less than epsilon"):
        tune((table,), clinic.policy, clinic.schema, clinic.backend, book, 1e-4, ACT, entropy)
    assert len(book.tunings()) == 1


@dataclass(frozen=True)
class Watched:
    """A backend that does something before it reads."""

    inner: Backend
    before: Callable[[], None]

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def read(self, query: object) -> object:
        self.before()
        return self.inner.read(query)  # type: ignore[arg-type]


def failing(*faults: Exception | None) -> Callable[[], None]:
    left = list(faults)

    def raised() -> None:
        fault = left.pop(0)
        if fault is not None:
            raise fault

    return raised


def test_the_charge_stands_before_a_row_is_read(clinic: Clinic, book: Ledger) -> None:
    seen: list[str] = []
    watched = Watched(clinic.backend, lambda: seen.append(book.tunings()[0].state))
    assert replace(clinic, backend=watched).tuned(book).state == "committed"  # type: ignore[arg-type]
    assert seen == ["reserved", "reserved"]


@pytest.mark.parametrize("fault", [BackendUnavailable("away"), SchemaChanged("other")])
def test_where_nothing_was_read_the_epsilon_is_given_back(tmp_path: Path, book: Ledger, fault: Exception) -> None:
    book.grant("dataset", Grant(2.0), ACT)
    clinic = on_duckdb(tmp_path / "clinic.duckdb")
    with pytest.raises(type(fault)):
        replace(clinic, backend=Watched(clinic.backend, failing(fault))).tuned(book)  # type: ignore[arg-type]
    assert [one.state for one in book.tunings()] == ["released"]
    assert [one.tuning_epsilon for one in book.accounts()] == [0.0, 0.0]
    assert [one.epsilon_left for one in book.accounts()] == [10.0, 2.0]
    assert book.verify().fault is None


@pytest.mark.parametrize(
    "faults", [(BackendConnectionLost("cut off"),), (None, BackendUnavailable("away")), (RuntimeError("17 rows"),)]
)
def test_after_a_row_could_have_been_read_it_stands(
    tmp_path: Path, book: Ledger, faults: tuple[Exception | None, ...]
) -> None:
    clinic = on_duckdb(tmp_path / "clinic.duckdb")
    with pytest.raises(QueryFailed) as failed:
        replace(clinic, backend=Watched(clinic.backend, failing(*faults))).tuned(book)  # type: ignore[arg-type]
    assert "17 rows" not in failed.value.message
    assert [one.state for one in book.tunings()] == ["reserved"]
    assert book.accounts()[0].tuning_epsilon == 1.0


def test_a_crash_between_reserving_and_keeping_costs_all_of_it(tmp_path: Path, book: Ledger) -> None:
    class Killed(BaseException):
        """As a process that ends: nothing handles it."""

    def die() -> None:
        raise Killed

    clinic = on_duckdb(tmp_path / "clinic.duckdb")
    with pytest.raises(Killed):
        replace(clinic, backend=Watched(clinic.backend, die)).tuned(book)  # type: ignore[arg-type]
    (record,) = book.tunings()
    assert (record.state, histograms(record)) == ("reserved", ())
    assert book.accounts()[0].tuning_epsilon == 1.0
    assert clinic.tuned(book).number == 2
    assert book.accounts()[0].tuning_epsilon == 2.0
    assert book.verify().fault is None
