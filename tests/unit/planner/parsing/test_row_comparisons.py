"""Comparisons of rows mean what PostgreSQL says, NULL included; other rows are refused."""

from __future__ import annotations

import itertools

import duckdb
import pytest

from planner.errors import UnsupportedSQL
from planner.parsing.parse import parse, read

ROWS = ", ".join(f"({a}, {b})" for a, b in itertools.product(("1", "2", "3", "NULL"), repeat=2))


def test_rows_are_compared_part_by_part() -> None:
    """As by hand: the first part that differs decides, and NULL decides nothing."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {ROWS}) AS v(a, b)")
        for operator, right in itertools.product(("=", "<>", "<", "<=", ">", ">="), ("2, 2", "NULL, 2", "2, NULL")):
            written = read(f"SELECT a, b, (a, b) {operator} ({right}) FROM t").tree.sql("duckdb")
            found = connection.execute(written).fetchall()
            other = [None if part == "NULL" else int(part) for part in right.split(", ")]
            assert len(found) == 16
            for a, b, result in found:
                assert result is _by_hand(operator, (a, b), other), (a, b, operator, right)


def _by_hand(operator: str, left: tuple[int | None, ...], right: list[int | None]) -> bool | None:
    pairs = list(zip(left, right, strict=True))
    if operator in ("=", "<>"):
        differ = any(None not in pair and pair[0] != pair[1] for pair in pairs)
        unknown = any(None in pair for pair in pairs)
        return operator == "<>" if differ else None if unknown else operator == "="
    for a, b in pairs:
        if a is None or b is None:
            return None
        if a != b:
            return (a < b) is operator.startswith("<")
    return operator.endswith("=")


def test_other_rows_are_refused() -> None:
    for condition in [
        "(a, b) IN ((1, 2, 3))", "(a, b) IN (1, 2)", "(a, b) = 1", "(a, b) < (1, 2, 3)", "(a, b) IS NULL",
        "((a, b) = (1, 2), b) = (c, d)",
    ]:  # fmt: skip
        with pytest.raises(UnsupportedSQL, match=r"a row of several values|rows of unequal length"):
            parse(f"SELECT count(*) FROM t WHERE {condition}")


def test_a_long_list_makes_no_deep_tree() -> None:
    rows = ", ".join(f"({number}, {number})" for number in range(1000))
    assert parse(f"SELECT count(*) FROM t WHERE (a, b) IN ({rows})").args["where"] is not None
    with pytest.raises(UnsupportedSQL, match=r"a row of several values|rows of unequal length"):
        parse(f"SELECT count(*) FROM t WHERE ({' + '.join(60 * 'a')}, b) IN ({rows})")
