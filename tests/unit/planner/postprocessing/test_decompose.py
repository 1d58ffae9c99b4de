"""A union of lists names the groups that there may be, as each list does."""

from __future__ import annotations

from planner.parsing.parse import read
from planner.postprocessing.decompose import decompose
from tests.golden.tpch.queries import policy
from tests.support.tpch_schema import tpch_schema


def _parts(sql: str) -> list[str] | None:
    split = decompose(read(sql).tree, tpch_schema(), policy())
    return None if split is None else [part.select.sql("postgres") for part in split.parts]


SEGMENTS = "SELECT c_mktsegment AS k1 FROM customer GROUP BY 1"
PRIORITIES = "SELECT o_orderpriority AS k1 FROM orders GROUP BY 1"


def _named(*parts: str) -> list[str]:
    return [part.replace(" AS k1", ' AS "k1"') for part in parts]


def test_a_union_of_lists_is_one_of_groups() -> None:
    for sql in [
        "SELECT c_mktsegment FROM customer UNION SELECT o_orderpriority FROM orders",
        "SELECT DISTINCT c_mktsegment FROM customer UNION SELECT o_orderpriority FROM orders ORDER BY 1 LIMIT 3",
        "SELECT DISTINCT c_mktsegment FROM customer UNION ALL SELECT DISTINCT o_orderpriority FROM orders",
        "(SELECT c_mktsegment FROM customer) UNION (SELECT o_orderpriority FROM orders)",
        "SELECT s FROM (SELECT c_mktsegment AS s FROM customer UNION SELECT o_orderpriority FROM orders) AS t",
    ]:  # fmt: skip
        assert _parts(sql) == _named(SEGMENTS, PRIORITIES)


def test_a_side_of_public_rows_stays_as_it_is() -> None:
    assert _parts("SELECT r_name FROM region UNION SELECT c_mktsegment FROM customer") == _named(SEGMENTS)


def test_rows_are_never_listed() -> None:
    """What is in both lists, or in one alone, hangs on rows, and not on the groups that there may be."""
    for sql in [
        "SELECT c_mktsegment FROM customer UNION ALL SELECT o_orderpriority FROM orders",
        "SELECT c_mktsegment FROM customer INTERSECT SELECT o_orderpriority FROM orders",
        "SELECT c_mktsegment FROM customer EXCEPT SELECT o_orderpriority FROM orders",
        "(SELECT c_mktsegment FROM customer LIMIT 3) UNION SELECT o_orderpriority FROM orders",
        "SELECT * FROM customer UNION SELECT * FROM customer",
        "SELECT 'x' FROM customer UNION SELECT o_orderpriority FROM orders",
    ]:  # fmt: skip
        assert _parts(sql) is None


def test_a_column_keeps_the_name_that_it_would_have_had() -> None:
    split = decompose(
        read("SELECT count(*)::text, count(*) + 1, count(*)::text AS n FROM customer").tree, tpch_schema(), policy()
    )
    assert split is not None
    assert [item.alias for item in split.outer.expressions] == ["count", "?column?", "n"]


def test_an_average_over_less_than_nobody_is_null_at_every_level() -> None:
    """Noise may say that there are -3 people with a sum of -400; 133 would be no average of them."""
    split = decompose(read("SELECT c_mktsegment, avg(c_acctbal) FROM customer GROUP BY ROLLUP (1)").tree,
                      tpch_schema(), policy())  # fmt: skip
    assert split is not None and "/ NULLIF(GREATEST(SUM(" in split.outer.sql("postgres")
