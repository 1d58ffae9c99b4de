"""What is the same in every row of a group, by what is known of it."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from sqlglot import parse_one

from planner.reuse.evaluate import Evaluator
from planner.reuse.fact import NULL, UNKNOWN, Fact, Known, Other, Unknown, Within
from planner.reuse.normal_form import TreeHashes, tree_hash

MARCH = Within(datetime(2024, 3, 1), datetime(2024, 4, 1))
MARCH_DAYS = Within(datetime(2024, 3, 1), datetime(2024, 4, 1), whole_days=True)
LAST = Within(datetime(2024, 12, 1), None)

FACTS: dict[str, Fact] = {
    "t.ward": Known("A"), "t.n": Known(7), "t.flag": Known(False), "t.none": NULL, "t.at": MARCH,
    "t.day": MARCH_DAYS, "t.late": LAST, "t.other": Other(frozenset({"A", "B"})),
}  # fmt: skip


@cache
def known() -> dict[str, Fact]:
    return {tree_hash(parse_one(name, dialect="postgres")): fact for name, fact in FACTS.items()}


def evaluated(sql: str) -> Fact:
    return Evaluator(known(), TreeHashes()).value(parse_one(sql, dialect="postgres"))


def test_what_every_row_has() -> None:
    cases: list[tuple[str, object]] = [
        ("t.ward = 'A'", True),
        ("t.ward <> 'A'", False),
        ("t.ward IN ('B', 'C')", False),
        ("t.ward LIKE 'A%'", True),
        ("t.ward LIKE 'B%'", False),
        ("t.none = 'A'", None),
        ("t.none IS NULL", True),
        ("t.at IS NULL", False),
        ("t.other IS NOT NULL", True),
        ("t.other = 'A'", False),
        ("t.other IN ('A', 'B')", False),
        ("NOT t.flag", True),
        ("t.flag IS FALSE", True),
        ("t.none IS TRUE", False),
        ("t.n BETWEEN 3 AND 7", True),
        ("t.n > 7", False),
        ("t.n * 2 - 1 >= 13", True),
        ("-t.n < 0", True),
        ("t.n < 7.5", True),
        ("FLOOR(CAST(t.n AS DOUBLE PRECISION) / 5)", 1),
        ("CASE WHEN t.n < 5 THEN 'few' WHEN t.n < 9 THEN 'some' END", "some"),
        ("CASE WHEN t.n < 5 THEN 'few' END", None),
        ("COALESCE(t.none, t.ward)", "A"),
        ("CAST(t.n AS TEXT)", "7"),
        ("t.nobody = 1 AND t.flag", False),
        ("t.nobody = 1 OR t.n = 7", True),
        # of a month
        ("t.at >= CAST('2024-03-01' AS TIMESTAMP)", True),
        ("t.at >= CAST('2024-02-29 12:00' AS TIMESTAMP)", True),
        ("t.at < CAST('2024-04-01' AS DATE)", True),
        ("t.at <= CAST('2024-04-01' AS DATE)", True),
        ("t.at < CAST('2024-03-01' AS DATE)", False),
        ("t.at > CAST('2024-04-01' AS DATE)", False),
        ("t.at = CAST('2024-04-01' AS DATE)", False),
        ("t.at BETWEEN CAST('2024-01-01' AS DATE) AND CAST('2024-06-30' AS DATE)", True),
        ("t.day <= CAST('2024-03-31' AS DATE)", True),
        ("t.day > CAST('2024-03-31' AS DATE)", False),
        ("t.day BETWEEN CAST('2024-03-01' AS DATE) AND CAST('2024-03-31' AS DATE)", True),
        ("t.late >= CAST('2024-12-01' AS DATE)", True),
        ("DATE_TRUNC('QUARTER', t.at)", datetime(2024, 1, 1)),
        ("DATE_TRUNC('YEAR', t.at)", datetime(2024, 1, 1)),
        ("DATE_TRUNC('MONTH', CAST(t.at AS DATE))", datetime(2024, 3, 1)),
        ("EXTRACT(YEAR FROM t.at)", 2024),
        ("EXTRACT(MONTH FROM t.at)", 3),
        ("EXTRACT(QUARTER FROM t.at)", 1),
        ("EXTRACT(DECADE FROM t.at)", 202),
        ("CAST(CAST(EXTRACT(YEAR FROM t.at) AS DECIMAL) AS BIGINT)", 2024),
    ]
    for sql, value in cases:
        assert evaluated(sql) == Known(value), sql  # type: ignore[arg-type]


def test_what_rows_may_differ_in_is_unknown() -> None:
    cases = [
        "t.nobody = 1",
        "t.nobody = 1 OR t.n = 8",
        "t.ward < 'B'",  # the order of texts is the database's
        "t.ward = 'A '",  # blanks at the end
        "t.ward LIKE 'A'",
        "t.ward LIKE '_%'",
        "t.ward LIKE 'A %'",
        "t.ward = 1",
        "t.other = 'C'",
        "t.other <> 'C'",
        "t.n / 2 = 3",
        "FLOOR(t.n / 2)",
        "LOWER(t.ward)",
        "CAST(t.n AS CHAR(1))",
        "t.at >= CAST('2024-03-01 00:00:01' AS TIMESTAMP)",
        "t.at <= CAST('2024-03-31' AS DATE)",
        "t.at < CAST('2024-03-31 23:59:59.999999' AS TIMESTAMP)",
        "t.at = CAST('2024-03-01' AS DATE)",
        "t.day < CAST('2024-03-31' AS DATE)",
        "t.late < CAST('2030-01-01' AS DATE)",
        "DATE_TRUNC('WEEK', t.at)",
        "DATE_TRUNC('YEAR', t.late)",
        "EXTRACT(YEAR FROM t.late)",
        "EXTRACT(DAY FROM t.at)",
        "EXTRACT(WEEK FROM t.at)",
        "EXTRACT(EPOCH FROM t.at)",
        "CASE WHEN t.nobody = 1 THEN 'a' ELSE 'a' END",
    ]
    for sql in cases:
        found = evaluated(sql)
        assert found == UNKNOWN or isinstance(found, (Unknown, Within)), sql
