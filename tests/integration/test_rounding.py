"""Wide bounds make no sum wrong: whole numbers and cents add up exactly, and other numbers are rounded evenly."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import Engine, engines, in_file, on_server
from tests.golden.untruncated import untruncated
from tests.support.planning import planned

PEOPLE, NOTES = 50, 3_000
TABLES = (
    "CREATE TABLE person (id bigint PRIMARY KEY)",
    "CREATE TABLE note (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES person, body text,"
    " amount numeric(12, 2), x double precision, same double precision, score integer)",
    "CREATE TABLE letter (person bigint NOT NULL REFERENCES person, code text, page uuid, x double precision,"
    " PRIMARY KEY (code, page))",
    f"INSERT INTO person SELECT i FROM generate_series(1, {PEOPLE}) AS t(i)",
    f"INSERT INTO note SELECT i, 1 + i % {PEOPLE}, repeat('a', CAST(i % 17 AS integer)),"
    " CAST(i % 977 AS numeric(12, 2)) / 100, (i % 89) * 0.37, 25.3, i % 101"
    f" FROM generate_series(1, {NOTES}) AS t(i)",
    "INSERT INTO letter SELECT person, 'letter ' || id, CAST(md5(CAST(id AS text)) AS uuid), x FROM note",
)
POLICY = parse_policy("""
    name = "notes"
    [database]
    url = "env:UNUSED"
    [ledger]
    path = "ledger.sqlite"
    [privacy]
    epsilon = 1.0
    max_epsilon = 10.0
    delta = 0.0
    [privacy_units]
    person = "id"
    [tables.person]
    [tables.note.columns]
    amount = { range = [0, 1000000] }
    x = { range = [0, 1000000] }
    same = { range = [-2000000000, 1e12] }
    score = { range = [0, 1000000] }
    [tables.letter.columns]
    x = { range = [0, 1e12] }
""")
EXACT = "sum(length(body) + 1)", "sum(amount)", "sum(-amount)", "sum(score)", "sum(score + amount)", "sum(score - 50)"
ROUNDED = "sum(amount * x)", "sum(same)", "sum(x * x)", "sum(score * score)", "sum(same - 26)", "sum(sqrt(x))"


@pytest.fixture(scope="module")
def both(
    embedded_postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, Engine]]:
    path = in_file(tmp_path_factory.mktemp("notes") / "tables.duckdb", TABLES)
    with on_server(embedded_postgres, "notes", TABLES) as url:
        found = engines(url, path)
        validate(POLICY, found[0].schema)
        yield found


def _sums(both: tuple[Engine, Engine], sql: str) -> tuple[list[Fraction], Fraction, float]:
    """The sum before noise in each database, the true one, and what one unit is worth."""
    (true,) = both[0].run(sql)[0]
    found = []
    unit = 0.0
    for schema, run, dialect in both:
        plan = planned(sql, schema, POLICY)
        ((value,),) = untruncated(plan, run, rewrite(plan, dialect=dialect, schema=schema)).rows.values()
        assert isinstance(value, Fraction)
        found.append(value)
        unit = max(release.weight_bound for release in plan.releases) / 2**30
    return found, Fraction(true), unit


def test_whole_numbers_and_cents_add_up_exactly(both: tuple[Engine, Engine]) -> None:
    for what in EXACT:
        found, true, _ = _sums(both, f"SELECT {what} FROM note")
        # One more than the longest text has more whole numbers than a weight has units: one in 2^30 is missing.
        assert found == pytest.approx([true, true], rel=1e-12 if "length" not in what else 2.0**-29), what


def test_other_numbers_are_rounded_up_as_often_as_down(both: tuple[Engine, Engine]) -> None:
    """A unit is up to a thousand here, where a row adds 25: rounded down, or to the nearest, all of it is lost."""
    for what in ROUNDED:
        found, true, unit = _sums(both, f"SELECT {what} FROM note")
        assert found[0] == found[1], what
        assert abs(float(found[0] - true)) <= 2 * np.sqrt(float(abs(true)) * unit), (what, unit)
    found, true, unit = _sums(both, "SELECT sum(x) FROM letter")
    assert all(abs(float(one - true)) <= 4 * np.sqrt(float(true) * unit) for one in found)
