"""A row whose number or day is beyond its declared range is in no group, whatever a key computes from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner.errors import SensitivityUnbounded
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import assert_same, untruncated
from tests.support.planning import planned

TABLES = (
    "CREATE TABLE patient (id bigint PRIMARY KEY)",
    "CREATE TABLE lab (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, "
    "f double precision, r real NOT NULL, n numeric(6, 2) NOT NULL, free double precision NOT NULL, "
    "i integer, j integer NOT NULL, ts timestamp, d date NOT NULL)",
    "INSERT INTO patient SELECT i FROM generate_series(1, 9) AS s(i)",
    # from -20 to 24.75 in quarters: beyond -2.5 to 10.25 on either side, by less than a group, too
    "INSERT INTO lab SELECT i, 1 + i % 9, CASE WHEN i % 10 = 0 THEN NULL ELSE i * 0.25 - 20 END, "
    "i * 0.25 - 20, i * 0.25 - 20, i * 0.25 - 20, "
    "CASE WHEN i % 10 = 0 THEN NULL ELSE CAST(i - 90 AS integer) END, CAST(i - 90 AS integer), "
    "CASE WHEN i % 10 = 0 THEN NULL ELSE TIMESTAMP '2024-01-01 12:00' + i * INTERVAL '3 days' END, "
    "DATE '2024-01-01' + CAST(i * 3 AS integer) FROM generate_series(0, 179) AS s(i)",
)
POLICY = parse_policy("""
name = "labs"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1.0
[privacy_units]
patient = "id"
[tables.lab]
columns.f = { range = [-2.5, 10.25] }
columns.r = { range = [-2.5, 10.25] }
columns.n = { range = [-2.5, 10.25] }
columns.i = { range = [-3, 17], null_group = true }
columns.j = { range = [-3, 17] }
columns.ts = { range = [2024-02-05, 2024-05-05], null_group = true }
columns.d = { range = [2024-02-05, 2024-05-05] }
""")


@pytest.fixture(scope="module")
def both(embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Engine]]:
    path = in_file(tmp_path_factory.mktemp("beyond") / "labs.duckdb", TABLES)
    with on_server(embedded_postgres, "beyond", TABLES) as url:
        yield list(engines(url, path))


KEYS = (
    "floor({x})", "ceil({x})", "trunc({x})", "round({x})", "floor({x}::float8 / 5) * 5", "round({x}, -1)",
    "floor(-{x})", "floor({x} * 2 + 1)", "floor(abs({x}))", "floor(least({x}, 4))",
    "floor(coalesce({x}, 7))", "{x}::int",
    "CASE WHEN id > 100 THEN floor({x}) ELSE ceil({x}) END", "width_bucket({x}, -10, 20, 5)",
    "width_bucket({x}, 0, 8, 4) + 1",
)  # fmt: skip


def test_rows_beyond_are_in_no_group_and_the_answer_says_so(both: list[Engine]) -> None:
    for key in KEYS:
        for column in ("f", "r", "n"):
            if key == "round({x}, -1)" and column != "n":
                continue  # PostgreSQL rounds numerics alone to a place
            written = key.format(x=column)
            plain = f"SELECT {written}, count(*) FROM lab"
            kept = (
                f"{plain} WHERE {column} BETWEEN -2.5 AND 10.25{' OR f IS NULL' if column == 'f' else ''} GROUP BY 1"
            )
            expected = [row for row in both[0].run(kept) if row[0] is not None]
            for schema, run, dialect in both:
                plan = planned(f"{plain} GROUP BY 1", schema, POLICY)
                answer = untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema))
                assert_same(answer, plan, expected)
                note = plan.group_keys[0].omitted
                assert note is not None and f"lab.{column} is " in note and "not in its range" in note


WITHIN = {
    "i": "i BETWEEN -3 AND 17 OR i IS NULL",
    "j": "j BETWEEN -3 AND 17",
    "ts": "ts::date BETWEEN '2024-02-05' AND '2024-05-05' OR ts IS NULL",
    "d": "d BETWEEN '2024-02-05' AND '2024-05-05'",
}
COMPUTED = {
    "i": ("{x} / 10", "{x} % 3", "abs({x})", "width_bucket({x}, -10, 10, 5)", "greatest({x}, 2)", "coalesce({x}, 5)"),
    "ts": ("date_trunc('month', {x})::date", "extract(dow FROM {x})", "coalesce({x}::date, DATE '2024-03-01')"),
}


def test_what_folds_values_and_the_group_of_null_hold_no_row_beyond(both: list[Engine]) -> None:
    """`x % 3` is the same for a row beyond the range and one within it; NULL is no value beyond it."""
    for column, keys in (("i", COMPUTED["i"]), ("j", COMPUTED["i"]), ("ts", COMPUTED["ts"]), ("d", COMPUTED["ts"])):
        for key in keys:
            plain = f"SELECT {key.format(x=column)}, count(*) FROM lab"
            expected = both[0].run(f"{plain} WHERE {WITHIN[column]} GROUP BY 1")
            for schema, run, dialect in both:
                plan = planned(f"{plain} GROUP BY 1", schema, POLICY)
                assert_same(untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema)), plan, expected)
                note = plan.group_keys[0].omitted
                assert note is not None and f"Rows whose lab.{column} is not " in note


def test_what_is_only_compared_leaves_no_row_out(both: list[Engine]) -> None:
    for key in ("CASE WHEN f > 3 THEN 1 ELSE 0 END", "CASE WHEN f > 3 THEN floor(n) ELSE 0 END", "f > 3"):
        within = "n BETWEEN -2.5 AND 10.25" if "floor" in key else "true"
        plain = f"SELECT {key}, count(*) FROM lab"
        expected = [row for row in both[0].run(f"{plain} WHERE {within} GROUP BY 1") if row[0] is not None]
        for schema, run, dialect in both:
            plan = planned(f"{plain} GROUP BY 1", schema, POLICY)
            assert_same(untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema)), plan, expected)


def test_a_condition_says_a_range_where_the_policy_says_none(both: list[Engine]) -> None:
    for sql in (
        "SELECT sum(free), avg(free) FROM lab WHERE free BETWEEN -3 AND 7.5",
        "SELECT stddev(free), sum(free * 2) FROM lab WHERE free > -3 AND free <= 7",
        "SELECT sum(CASE WHEN free BETWEEN 0 AND 5 THEN free ELSE 0 END) FROM lab",
        "SELECT sum(free) FILTER (WHERE free BETWEEN -4 AND 5) FROM lab",
    ):
        expected = both[0].run(sql)
        for schema, run, dialect in both:
            plan = planned(sql, schema, POLICY)
            assert_same(untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema)), plan, expected)
    with pytest.raises(SensitivityUnbounded, match=r"lab\.free"):
        planned("SELECT sum(free) FROM lab WHERE free > -3", both[0].schema, POLICY)
