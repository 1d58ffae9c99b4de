"""Buckets of decimals in files: floor(x / n) is what exact division gives, as PostgreSQL computes it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from planner.errors import UnsupportedSQL
from planner.rewriting.rewrite import rewrite
from server.backends.duckdb import DuckdbBackend
from tests.support.planning import people_policy, planned

POLICY = people_policy("""
    [tables.person.columns]
    paid = { range = [-20, 20] }
""")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decimals") / "people.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE person (id bigint PRIMARY KEY, paid decimal(10, 2) NOT NULL)")
        connection.execute("INSERT INTO person SELECT i, (i - 2000) / 100 FROM range(4001) t(i)")
    return path


@pytest.mark.parametrize("divisor", ["0.03", "0.1", "0.7", "2.5", "3", "-0.3", "7.00"])
@pytest.mark.parametrize(("name", "rounding"), [("floor", ROUND_FLOOR), ("ceil", ROUND_CEILING)])
def test_buckets_are_those_of_exact_division(file: Path, divisor: str, name: str, rounding: str) -> None:
    """Of every hundredth from -20 to 20; division of doubles puts 0.3 / 0.1 below 3."""
    schema = DuckdbBackend(file, "main").schema()
    plan = planned(f"SELECT {name}(paid / {divisor}) AS b, count(*) FROM person GROUP BY 1", schema, POLICY)
    query = rewrite(plan, dialect="duckdb", schema=schema)
    assert query.join is not None
    with duckdb.connect(file, read_only=True) as connection:
        found = {owner: Decimal(key) for owner, key, *_ in connection.execute(query.join).fetchall()}
    exact = {
        number: (Decimal(number - 2000) / 100 / Decimal(divisor)).to_integral_value(rounding)
        for number in range(4001)
    }
    assert found == exact


@pytest.mark.parametrize("divisor", ["0.03", "0.7", "3", "7.00"])
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("{} > 1", lambda x: x > 1),
        ("{} <= -0.1", lambda x: x <= Decimal("-0.1")),
        ("{} BETWEEN 0 AND 1.5", lambda x: 0 <= x <= Decimal("1.5")),
        ("{} = 2", lambda x: x == 2),
    ],
)
def test_quotients_are_compared_exactly(
    file: Path, divisor: str, condition: str, holds: Callable[[Fraction], bool]
) -> None:
    """Of every hundredth from -20 to 20: a quotient beside a number is what it is beside their product."""
    schema = DuckdbBackend(file, "main").schema()
    plan = planned(f"SELECT count(*) FROM person WHERE {condition.format(f'(paid / {divisor})')}", schema, POLICY)
    query = rewrite(plan, dialect="duckdb", schema=schema)
    assert query.join is not None
    with duckdb.connect(file, read_only=True) as connection:
        found = {owner for owner, *_ in connection.execute(query.join).fetchall()}
    exact = {number: Fraction(number - 2000, 100) / Fraction(divisor) for number in range(4001)}
    assert found == {number for number, value in exact.items() if holds(value)}
    assert 0 < len(found) < 4001


def test_other_divisions_of_decimals_are_refused_with_a_way_out(file: Path) -> None:
    schema = DuckdbBackend(file, "main").schema()
    for expression in ("paid / 0.3", "round(paid / 0.3)"):
        plan = planned(f"SELECT {expression} AS b, count(*) FROM person GROUP BY 1", schema, POLICY)
        with pytest.raises(UnsupportedSQL, match="does not divide decimals exactly"):
            rewrite(plan, dialect="duckdb", schema=schema)
