"""NaN is missing, like NULL: each answer is that of SQL over rows in which NULL stands for NaN, on both engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner.parsing.parse import read
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.public.bind import bind_public
from planner.rewriting.rewrite import rewrite, write_public
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import Run, assert_same, postgres, untruncated
from tests.support.planning import planned
from tests.support.seeds import sampled

TABLES = (
    "CREATE TABLE patient (id bigint PRIMARY KEY, weight double precision NOT NULL)",
    """CREATE TABLE lab (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient,
       f double precision, g double precision NOT NULL, r real, n numeric(6,2), m numeric(4,0) NOT NULL,
       free double precision CHECK (free BETWEEN -1000 AND 1000))""",
    "CREATE TABLE rate (id bigint PRIMARY KEY, f double precision, r real)",
)
_NAN = "CAST('NaN' AS double precision)"
_PATIENTS = (
    f"INSERT INTO patient SELECT i, CASE WHEN i % 4 = 0 THEN {_NAN} ELSE i END FROM generate_series(1, 9) AS s(i)"
)
_LABS = f"""INSERT INTO lab SELECT i, 1 + i % 9,
    CASE i % 5 WHEN 0 THEN {_NAN} WHEN 1 THEN NULL ELSE (i % 17) - 6 END,
    CASE i % 7 WHEN 0 THEN {_NAN} ELSE (i % 13) * 1.5 END,
    CASE i % 3 WHEN 0 THEN {_NAN} ELSE (i % 11) * 0.25 END,
    {{}}, {{}}, i % 10 FROM generate_series(1, 120) AS s(i)"""
_RATES = "INSERT INTO rate VALUES (1, 1.5, 0.25), (2, 'NaN', 'NaN'), (3, NULL, NULL), (4, 3, 0.5), (5, 'NaN', 1)"
DECIMALS = (
    "CASE i % 4 WHEN 0 THEN 'NaN'::numeric WHEN 1 THEN NULL ELSE (i % 19) - 4.25 END",
    "CASE i % 6 WHEN 0 THEN 'NaN'::numeric ELSE i % 5 END",
)
"""Those of PostgreSQL; DuckDB's decimals have no NaN, so NULL stands where it would be."""

PLAIN = (
    "CREATE SCHEMA plain",
    "CREATE VIEW plain.patient AS SELECT id, nullif(weight, 'NaN') AS weight FROM patient",
    """CREATE VIEW plain.lab AS SELECT id, patient, nullif(f, 'NaN') AS f, nullif(g, 'NaN') AS g,
       nullif(r, 'NaN') AS r, nullif(n, 'NaN') AS n, nullif(m, 'NaN') AS m, free FROM lab""",
    "CREATE VIEW plain.rate AS SELECT id, nullif(f, 'NaN') AS f, nullif(r, 'NaN') AS r FROM rate",
)
POLICY = parse_policy("""
name = "labs"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1000.0
[privacy_units]
patient = "id"
[tables.patient]
columns.weight = { range = [0, 10] }
[tables.lab]
columns.f = { range = [-10, 20] }
columns.g = { range = [0, 20] }
columns.r = { range = [0, 3] }
columns.n = { range = [-5, 15] }
columns.m = { range = [0, 4], null_group = true }
columns.free = { range = [0, 10] }
[tables.rate]
public = true
""")

AGGREGATES = (
    "count(f), count(g), count(r), count(n), count(m), count(*)",
    "sum(f), sum(g), sum(r), sum(n), sum(m)",
    "avg(f), avg(g), avg(r), avg(n), avg(m)",
    "var_pop(f), stddev(g), covar_pop(f, n), corr(g, r)",
    "regr_count(f, g), regr_count(m, n), regr_slope(f, g), regr_avgx(f, g)",
    "count(DISTINCT n), count(DISTINCT m)",
    "count(*) FILTER (WHERE f > 3), sum(g) FILTER (WHERE f <= 3), avg(f) FILTER (WHERE NOT n < 2)",
    "count(f + g), sum(f * g), avg(f - n), sum(CASE WHEN f > 3 THEN 1 ELSE 0 END), avg(coalesce(f, g))",
    "sum(greatest(f, 3)), sum(least(g, 5)), sum(abs(f)), sum(sign(f)), sum(round(n)), sum(floor(g)), count(n::int)",
)
CONDITIONS = (
    "f > 3", "f >= 3", "f < 3", "f = 3", "f <> 3", "3 < f", "3 >= f", "NOT f > 3", "NOT f < 3", "NOT f = 3",
    "f BETWEEN 1 AND 5", "f NOT BETWEEN 1 AND 5", "f BETWEEN SYMMETRIC 5 AND 1", "f IN (1, 3)", "f NOT IN (1, 3)",
    "f IS NULL", "f IS NOT NULL", "g IS NULL", "m IS NOT NULL", "(f > 3) IS TRUE", "(f > 3) IS NOT TRUE",
    "(f > 3) IS UNKNOWN", "f > g", "f = g", "g >= f", "f <> n", "n > 3 OR m > 2", "NOT (n > 3 AND m > 2)",
    "n <> 3.75", "m = 2", "m >= 2", "m NOT IN (1, 2)", "f IS DISTINCT FROM 3", "f IS NOT DISTINCT FROM g",
    "sign(f) = 0", "abs(f) > 3", "coalesce(f, 100) > 50", "nullif(f, 3) > 1", "greatest(f, g) > 4",
    "CASE WHEN f > 3 THEN g > 3 END", "CASE WHEN f > 3 THEN 1 ELSE 2 END = 1", "n::int = 2", "round(n) > 3",
    "n * 2 > 5", "r > 0.5", "r = 0.5", "free > 5", "f BETWEEN 1 AND f",
)  # fmt: skip
STATEMENTS = (
    "SELECT m, count(*), avg(f) FROM lab GROUP BY m",
    "SELECT CASE WHEN f > 3 THEN 'high' WHEN f <= 3 THEN 'low' END AS c, count(*) FROM lab GROUP BY 1",
    "SELECT f > 3 AS high, count(*) FROM lab WHERE f IS NOT NULL GROUP BY 1",
    "SELECT avg(a), count(a), sum(c) FROM (SELECT patient, avg(f) AS a, count(f) AS c FROM lab GROUP BY patient) p",
    "SELECT avg(a), sum(b) FROM (SELECT patient, max(f) AS a, min(n) AS b FROM lab GROUP BY patient) p",
    "SELECT count(*) FROM (SELECT patient, max(g) AS a FROM lab GROUP BY patient HAVING max(g) > 15) p",
    "SELECT sum(a) FROM (SELECT patient, sum(m) AS a FROM lab GROUP BY patient) p WHERE a > 20",
    "SELECT count(*), avg(weight) FROM lab JOIN patient p ON lab.patient = p.id WHERE weight > 2",
    "SELECT count(*) FROM lab JOIN rate ON lab.f = rate.f",
    "SELECT count(*) FROM lab LEFT JOIN rate ON lab.f > rate.f WHERE rate.id IS NULL",
    "SELECT count(*) FROM lab WHERE EXISTS (SELECT 1 FROM rate WHERE rate.f < lab.g)",
    "SELECT count(*) FROM lab WHERE f IN (SELECT f FROM rate WHERE f IS NOT NULL)",
    "SELECT count(*) FROM lab WHERE f NOT IN (SELECT f FROM rate)",
)
PUBLIC = (
    "SELECT id, f, r FROM rate ORDER BY id",
    "SELECT count(f), avg(f), max(f), min(r), count(DISTINCT f), count(*) FROM rate",
    "SELECT f, count(*) FROM rate GROUP BY f ORDER BY f",
    "SELECT CASE WHEN f > 2 THEN f END, count(*) FROM rate GROUP BY f ORDER BY f",
    "SELECT id FROM rate WHERE f > 2 ORDER BY id",
    "SELECT id FROM rate WHERE NOT f < 2 OR r = 0.25 ORDER BY id",
)


@pytest.fixture(scope="module")
def labs_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    rows = (_PATIENTS, _LABS.format(*DECIMALS), _RATES)
    with on_server(embedded_postgres, "labs_of_nan", (*TABLES, *rows, *PLAIN)) as url:
        yield url


@pytest.fixture(scope="module")
def both(labs_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Engine]:
    decimals = [one.replace("'NaN'::numeric", "NULL") for one in DECIMALS]
    nullable = [table.replace("m numeric(4,0) NOT NULL", "m numeric(4,0)") for table in TABLES]
    rows = (_PATIENTS, _LABS.format(*decimals), _RATES)
    path = in_file(tmp_path_factory.mktemp("labs") / "tables.duckdb", (*nullable, *rows))
    found = engines(labs_url, path)
    validate(POLICY, found[0].schema)
    return found


@pytest.fixture(scope="module")
def plain(labs_url: str) -> Run:
    """PostgreSQL's own answer, over rows in which NULL stands for NaN."""
    return postgres(f"{labs_url}{'&' if '?' in labs_url else '?'}options=-csearch_path%3Dplain")


def _asked() -> Iterator[str]:
    yield from (f"SELECT {listed} FROM lab" for listed in AGGREGATES)
    for first in range(0, len(CONDITIONS), _AT_ONCE):
        some = CONDITIONS[first : first + _AT_ONCE]
        yield f"SELECT {', '.join(f'count(*) FILTER (WHERE {condition})' for condition in some)} FROM lab"
    yield from (f"SELECT count(*), count(f) FROM lab WHERE {condition}" for condition in CONDITIONS[:4])
    yield from STATEMENTS


_AT_ONCE = 12


@pytest.mark.parametrize("place", [0, 1], ids=["postgres", "duckdb"])
def test_nan_is_null_in_every_aggregate_condition_and_key(
    both: tuple[Engine, Engine], plain: Run, place: int
) -> None:
    schema, run, dialect = both[place]
    for sql in sampled(list(_asked()), 12):
        plan = planned(sql, schema, POLICY)
        answer = untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema))
        try:
            assert_same(answer, plan, plain(sql))
        except AssertionError as error:
            raise AssertionError(f"{sql}: {error}") from error


@pytest.mark.parametrize("place", [0, 1], ids=["postgres", "duckdb"])
def test_nan_is_null_in_public_tables(both: tuple[Engine, Engine], plain: Run, place: int) -> None:
    schema, run, dialect = both[place]
    for sql in PUBLIC:
        query = bind_public(read(sql).tree, schema, POLICY)
        assert run(write_public(query, dialect=dialect).sql) == plain(sql), sql


def test_an_answer_says_so_of_the_columns_that_may_hold_it(both: tuple[Engine, Engine]) -> None:
    notes = [
        [note for note in planned(sql, schema, POLICY).notes if "NaN" in note]
        for schema, _, _ in both
        for sql in ("SELECT avg(n) FROM lab WHERE free > 1", "SELECT count(*) FROM lab WHERE id > 3")
    ]
    of_n, of_free = "NaN in lab.n counts as missing, like NULL.", "NaN in lab.free counts as missing, like NULL."
    assert notes == [[of_n], [], [of_free], []]


def test_a_comparison_that_nan_does_not_pass_stays_as_it_is(both: tuple[Engine, Engine]) -> None:
    schema, _, _ = both[0]
    join = rewrite(planned("SELECT sum(f) FROM lab WHERE f < 5 AND n > 2", schema, POLICY), schema=schema).join
    assert join is not None and "NULLIF" not in join
    assert '"lab_0"."f" < 5' in join and """("lab_0"."n" > 2 AND "lab_0"."n" <> 'NaN')""" in join
