"""A row whose number is beyond its declared range is in no group, however a key rounds it, on both engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import assert_same, untruncated
from tests.support.planning import planned

TABLES = (
    "CREATE TABLE patient (id bigint PRIMARY KEY)",
    "CREATE TABLE lab (id bigint PRIMARY KEY, patient bigint NOT NULL REFERENCES patient, "
    "f double precision, r real NOT NULL, n numeric(6, 2) NOT NULL, free double precision NOT NULL)",
    "INSERT INTO patient SELECT i FROM generate_series(1, 9) AS s(i)",
    # from -20 to 24.75 in quarters: beyond -2.5 to 10.25 on either side, by less than a group, too
    "INSERT INTO lab SELECT i, 1 + i % 9, CASE WHEN i % 10 = 0 THEN NULL ELSE i * 0.25 - 20 END, "
    "i * 0.25 - 20, i * 0.25 - 20, i * 0.25 - 20 FROM generate_series(0, 179) AS s(i)",
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
    "CASE WHEN id > 100 THEN floor({x}) ELSE ceil({x}) END",
)  # fmt: skip


def test_rows_beyond_are_in_no_group_and_the_answer_says_so(both: list[Engine]) -> None:
    for key in KEYS:
        for column in ("f", "r", "n"):
            if key in ("round({x}, -1)", "{x}::int") and column != "n":
                continue  # PostgreSQL rounds numerics alone to a place, and a cast of a double is refused
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
                assert note is not None and f"lab.{column} is " in note and "not among its declared values" in note


def test_what_is_only_compared_leaves_no_row_out(both: list[Engine]) -> None:
    for key in ("CASE WHEN f > 3 THEN 1 ELSE 0 END", "CASE WHEN f > 3 THEN floor(n) ELSE 0 END", "f > 3"):
        within = "n BETWEEN -2.5 AND 10.25" if "floor" in key else "true"
        plain = f"SELECT {key}, count(*) FROM lab"
        expected = [row for row in both[0].run(f"{plain} WHERE {within} GROUP BY 1") if row[0] is not None]
        for schema, run, dialect in both:
            plan = planned(f"{plain} GROUP BY 1", schema, POLICY)
            assert_same(untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema)), plan, expected)
