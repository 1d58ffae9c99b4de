"""DISTINCT inside FROM is left out where it changes nothing, and nowhere else."""

from __future__ import annotations

import pytest

from planner.errors import UnsupportedSQL
from planner.rewriting.rewrite import rewrite
from tests.golden.tpch.queries import policy
from tests.support.planning import planned

BUYERS = "SELECT DISTINCT o_custkey FROM orders"
DAYS = "SELECT DISTINCT o_custkey, o_orderdate FROM orders"
GROUPED = "SELECT o_custkey AS k, o_orderdate FROM orders GROUP BY 1, o_orderdate"


def test_it_is_the_question_without_it() -> None:
    for sql, same in [
        (f"SELECT count(*) FROM ({BUYERS}) AS b", "SELECT count(DISTINCT (o_custkey)) FROM orders"),
        (f"SELECT count(1) FROM ({DAYS}) AS b", "SELECT count(DISTINCT (o_custkey, o_orderdate)) FROM orders"),
        (f"WITH b AS ({BUYERS}) SELECT count(*) FROM b", "SELECT count(DISTINCT o_custkey) FROM orders"),
        (f"SELECT count(*) FROM ({DAYS}) AS b WHERE o_orderdate < '1995-01-01'",
         "SELECT count(DISTINCT (o_custkey, o_orderdate)) FROM orders WHERE o_orderdate < '1995-01-01'"),
        ("SELECT s, count(*) FROM (SELECT DISTINCT o_orderstatus AS s, o_custkey FROM orders) AS b GROUP BY s",
         "SELECT o_orderstatus AS s, count(DISTINCT (o_orderstatus, o_custkey)) FROM orders GROUP BY 1"),
        (f"SELECT count(DISTINCT o_custkey) FROM ({DAYS}) AS b JOIN customer ON c_custkey = o_custkey",
         "SELECT count(DISTINCT o_custkey) FROM orders JOIN customer ON c_custkey = o_custkey"),
        (f"SELECT count(DISTINCT c_custkey) FROM customer JOIN ({GROUPED}) AS b ON c_custkey = k",
         "SELECT count(DISTINCT c_custkey) FROM customer JOIN orders ON c_custkey = o_custkey"),
        (f"SELECT count(DISTINCT k) FROM ({BUYERS}) AS a JOIN ({GROUPED}) AS b ON o_custkey = k",
         "SELECT count(DISTINCT b.o_custkey) FROM orders a JOIN orders b ON a.o_custkey = b.o_custkey"),
        (f"WITH a AS ({DAYS}), b AS (SELECT DISTINCT o_custkey AS k FROM a) "
         "SELECT count(DISTINCT b.k) FROM b JOIN a ON a.o_custkey = b.k",
         "SELECT count(DISTINCT b.o_custkey) FROM orders b JOIN orders a ON a.o_custkey = b.o_custkey"),
    ]:  # fmt: skip
        one, other = (rewrite(planned(text, policy=policy())) for text in (sql, same))
        assert (one.join, one.distinct) == (other.join, other.distinct)
        assert (one.domains, one.values) == (other.domains, other.values)


def test_where_it_matters_it_is_refused() -> None:
    joined = "SELECT count(DISTINCT k) FROM customer JOIN ({}) AS b ON c_custkey = k"
    for sql in [
        f"SELECT count(*) FROM ({BUYERS} LIMIT 3) AS b",
        "SELECT count(*) FROM (SELECT DISTINCT o_custkey + 1 FROM orders) AS b",
        "SELECT count(*) FROM (SELECT DISTINCT ON (o_clerk) o_custkey, o_orderdate FROM orders) AS b",
        "SELECT count(DISTINCT o_custkey) FROM (SELECT DISTINCT ON (o_orderdate) o_custkey FROM orders) AS b",
        joined.format("SELECT o_custkey AS k, o_clerk FROM orders GROUP BY 1"),
        joined.format("SELECT o_custkey AS k FROM orders GROUP BY ROLLUP (1)"),
    ]:  # fmt: skip
        with pytest.raises(UnsupportedSQL):
            planned(sql, policy=policy())


def test_elsewhere_it_stays_where_each_row_is_one_persons() -> None:
    for sql in [
        f"SELECT count(o_custkey) FROM ({BUYERS}) AS b",
        f"SELECT count(*) FROM ({BUYERS}) AS b JOIN customer ON c_custkey = o_custkey",
        f"SELECT count(DISTINCT o_custkey), count(*) FROM ({BUYERS}) AS b JOIN customer ON c_custkey = o_custkey",
        (f"SELECT count(DISTINCT o_custkey) FROM ({BUYERS}) AS b JOIN customer ON c_custkey = o_custkey "
         "HAVING sum(abs(c_acctbal)) > 0"),
        f"WITH b(k) AS ({BUYERS}) SELECT count(*) FROM b", f"SELECT count(*) FROM ({BUYERS}) AS b(k)",
    ]:  # fmt: skip
        join = rewrite(planned(sql, policy=policy())).join
        assert join is not None
        assert join.count("GROUP BY 1") == 2, "of the subquery, and of the person"
