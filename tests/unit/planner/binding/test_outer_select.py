"""A SELECT around an answer asks what is inside, and shows it otherwise."""

from __future__ import annotations

import pytest

from planner.errors import InvalidSyntax, PlannerError, UnknownColumn, UnsupportedSQL
from planner.released_expression import Given
from tests.support.planning import planned

NATIONS = "FROM customer JOIN nation ON c_nationkey = n_nationkey"
MEAN = "avg(CASE WHEN c_custkey > 5 THEN 1 ELSE 0 END)"
INSIDE = f"SELECT n_name AS nation, count(*) AS n, {MEAN} AS mean {NATIONS} GROUP BY n_name"

TWO = f"SELECT n_name AS nation, count(*) AS n {NATIONS} GROUP BY n_name"

# around the answer, and the same in one SELECT
SAME = [
    (f"SELECT * FROM ({INSIDE}) AS t LIMIT 1000", f"{INSIDE} LIMIT 1000"), (f"SELECT t.* FROM ({INSIDE}) t", INSIDE),
    (f'SELECT nation AS "the nation", n FROM (SELECT n_name AS nation, count(*) AS n {NATIONS} GROUP BY 1) x',
     f'SELECT n_name AS "the nation", count(*) AS n {NATIONS} GROUP BY 1'),
    (f"SELECT n, nation, mean FROM ({INSIDE}) AS virtual_table WHERE n > 10 AND nation <> 'PERU' ORDER BY n DESC",
     f"SELECT count(*) AS n, n_name AS nation, {MEAN} AS mean {NATIONS} GROUP BY n_name"
     " HAVING count(*) > 10 AND n_name <> 'PERU' ORDER BY 1 DESC"),
    (f"SELECT n / 2 AS half, mean, nation FROM ({INSIDE} HAVING count(*) > 3) AS t WHERE n < 9",
     f"SELECT count(*) / 2 AS half, {MEAN} AS mean, n_name AS nation {NATIONS} GROUP BY n_name"
     " HAVING count(*) > 3 AND count(*) < 9"),
    (f"SELECT * FROM (SELECT * FROM ({INSIDE}) a LIMIT 9) b LIMIT 7 OFFSET 1", f"{INSIDE} LIMIT 7 OFFSET 1"),
    (f"SELECT * FROM ({INSIDE} LIMIT 5 OFFSET 2) b LIMIT 9 OFFSET 1", f"{INSIDE} LIMIT 4 OFFSET 3"),
    (f"SELECT * FROM ({INSIDE} LIMIT 2) b OFFSET 5", f"{INSIDE} LIMIT 0 OFFSET 5"),
    (f"SELECT * FROM ({INSIDE} ORDER BY 2) t", f"{INSIDE} ORDER BY 2"),
    (f"SELECT * FROM ({INSIDE} ORDER BY 2) t ORDER BY nation", f"{INSIDE} ORDER BY nation"),
    (f"WITH t AS ({INSIDE}) SELECT * FROM t ORDER BY 2", f"{INSIDE} ORDER BY 2"),
    (f"WITH t AS ({INSIDE}) SELECT u.* FROM t AS u WHERE u.n > 1", f"{INSIDE} HAVING count(*) > 1"),
    ("SELECT count FROM (SELECT count(*) FROM orders) AS t", "SELECT count(*) FROM orders"),
    (f"SELECT nation, n FROM ({TWO}) AS t GROUP BY nation, n", TWO),
    (f"SELECT DISTINCT nation, n FROM ({TWO}) AS t", TWO),
    (f"SELECT nation, SUM(n) AS n FROM ({TWO}) AS t GROUP BY nation", TWO),
    (f'SELECT nation AS land, SUM(n) AS "SUM(n)" FROM ({TWO}) AS t GROUP BY land HAVING SUM(n) > 3 ORDER BY 2',
     f'SELECT n_name AS land, count(*) AS "SUM(n)" {NATIONS} GROUP BY n_name HAVING count(*) > 3 ORDER BY 2'),
    (f"SELECT COUNT(*) AS rows, AVG(n / 2) AS half, nation FROM ({TWO}) AS t WHERE n > 1 GROUP BY 3, n",
     f"SELECT 1 AS rows, count(*) / 2 AS half, n_name AS nation {NATIONS} GROUP BY n_name HAVING count(*) > 1"),
    ("SELECT SUM(n) AS n FROM (SELECT count(*) AS n FROM orders) AS t", "SELECT count(*) AS n FROM orders"),
]  # fmt: skip


def test_is_the_question_inside() -> None:
    for around, plain in SAME:
        assert planned(around) == planned(plain)


def test_what_is_not_shown_is_asked_still() -> None:
    """The inner question is charged as it stands: what is left out of view is no saving."""
    plan = planned(f"SELECT n FROM ({INSIDE}) AS t")
    assert [output.name for output in plan.display.outputs] == ["n"]
    assert len(plan.releases) == len(planned(INSIDE).releases)


REFUSED: list[tuple[str, type[PlannerError], str]] = [
    (f"SELECT nothing FROM ({INSIDE}) AS t", UnknownColumn, "no column 'nothing'"),
    (f"SELECT n_name FROM ({INSIDE}) AS t", UnknownColumn, "n_name"),
    (f"SELECT other.n FROM ({INSIDE}) AS t", UnknownColumn, "other"),
    (f"SELECT other.* FROM ({INSIDE}) AS t", UnknownColumn, "other"),
    (f"SELECT n AS a, mean AS a FROM ({INSIDE}) AS t ORDER BY a", UnsupportedSQL, "several columns"),
    (f"SELECT count FROM (SELECT count(*), count(*) FILTER (WHERE c_acctbal > 0) {NATIONS}) t", UnsupportedSQL,
     "several"),
    (f"SELECT n FROM ({INSIDE}) AS t WHERE nation", UnsupportedSQL, "WHERE takes a condition"),
    (f"SELECT n FROM ({INSIDE}) AS t WHERE nation > 1", UnsupportedSQL, "cannot be compared"),
    (f"SELECT n FROM ({INSIDE} LIMIT 3) AS t WHERE n > 1", UnsupportedSQL, "an inner LIMIT"),
    (f"SELECT nation FROM ({INSIDE} LIMIT 3) AS t GROUP BY nation HAVING sum(n) > 1", UnsupportedSQL,
     "an inner LIMIT"),
    (f"SELECT n FROM ({INSIDE} OFFSET 3) AS t ORDER BY n", UnsupportedSQL, "an inner LIMIT"),
    (f"SELECT n FROM ({INSIDE}) AS t ORDER BY 2", InvalidSyntax, "position"),
    (f"SELECT count(*) FROM ({INSIDE}) AS t GROUP BY n", UnsupportedSQL, "GROUP BY inside FROM"),
    (f"SELECT sum(n) FROM ({INSIDE}) AS t", UnsupportedSQL, "GROUP BY inside FROM"),
    (f"SELECT n, count(*) FROM ({INSIDE}) AS t GROUP BY n", UnsupportedSQL, "GROUP BY inside FROM"),
    (f"SELECT n FROM ({INSIDE}) AS t GROUP BY nation", UnsupportedSQL, "neither in GROUP BY"),
    (f"SELECT sum(nation) FROM ({INSIDE}) AS t GROUP BY nation", UnsupportedSQL, "need numbers"),
    (f"SELECT * FROM ({INSIDE}) AS t GROUP BY nation", UnsupportedSQL, "would show rows"),
    (f"SELECT nation FROM ({INSIDE}) AS t WHERE sum(n) > 1 GROUP BY nation", UnsupportedSQL, "around noisy answers"),
    ("SELECT count(n) FROM (SELECT count(*) AS n FROM orders) t", UnsupportedSQL, "aggregate inside FROM"),
    ("SELECT sum(n) FROM (SELECT count(*) AS n FROM orders) t WHERE n > 5", UnsupportedSQL, "aggregate inside FROM"),
    ("SELECT sum(n) FROM (SELECT count(*) AS n FROM orders LIMIT 0) t", UnsupportedSQL, "LIMIT inside FROM"),
    (f"SELECT DISTINCT n FROM ({INSIDE}) AS t", UnsupportedSQL, "GROUP BY inside FROM"),
    (f"SELECT n FROM ({INSIDE}) AS t, region", UnsupportedSQL, "GROUP BY inside FROM"),
    (f"SELECT n FROM ({INSIDE}) AS t HAVING n > 1", UnsupportedSQL, "GROUP BY inside FROM"),
    ("SELECT * FROM (SELECT c_name FROM customer) AS t", UnsupportedSQL, "without an aggregate"),
    (f"WITH t AS ({INSIDE}), u AS ({INSIDE}) SELECT * FROM t", UnsupportedSQL, "GROUP BY inside FROM"),
]  # fmt: skip


def test_refuses_what_is_more() -> None:
    for sql, error, words in REFUSED:
        with pytest.raises(error, match=words):
            planned(sql)


def test_count_of_an_answers_rows_releases_what_the_answer_does() -> None:
    counted, asked = (
        planned(f"SELECT count(*) FROM ({INSIDE}) AS t WHERE n > 3"),
        planned(f"{INSIDE} HAVING count(*) > 3"),
    )
    assert counted.releases == asked.releases
    assert counted.display.having == asked.display.having
    assert [(output.name, output.type) for output in counted.display.outputs] == [("count", "int8")]


ONE = "SELECT count(*) AS n FROM orders"
KNOWN = [
    (f"SELECT count(*) FROM ({ONE}) t", 1), (f"WITH root AS ({ONE}) SELECT COUNT(*) AS rows FROM root", 1),
    (f"SELECT count(1) FROM ({ONE} LIMIT 3) t", 1), (f"SELECT count(*) FROM ({ONE} OFFSET 1) t", 0),
    (f"SELECT count(*) FROM ({ONE}) t WHERE 1 = 0", 0), (f"SELECT count(*) FROM ({INSIDE} LIMIT 0) t", 0),
    (f"SELECT count(*) FROM ({INSIDE}) t WHERE false", 0),
]  # fmt: skip


def test_count_of_an_answers_rows_that_does_not_depend_on_them_releases_nothing() -> None:
    for sql, count in KNOWN:
        plan = planned(sql)
        assert (plan.releases, plan.epsilon, plan.delta) == ((), 0.0, 0.0)
        (output,) = plan.display.outputs
        assert (output.type, output.expression, plan.display.limit, plan.display.having) == (
            "int8",
            Given(count),
            None,
            None,
        )


def test_count_of_the_one_row_depends_on_what_it_is_filtered_by() -> None:
    for condition in ("WHERE n > 3", "WHERE n / 2 < 5 AND n <> 3"):
        counted = planned(f"SELECT count(*) FROM ({ONE}) AS t {condition}")
        assert counted.releases == planned(ONE).releases
        assert counted.display.having is not None


def test_a_count_of_an_answers_rows_that_is_not_shown_releases_nothing() -> None:
    for end in ("LIMIT 0", "OFFSET 1", "LIMIT 5 OFFSET 2"):
        for inside in (ONE, INSIDE):
            plan = planned(f"SELECT count(*) AS n FROM ({inside}) AS t {end}")
            assert (plan.releases, plan.epsilon, plan.display.limit) == ((), 0.0, 0)
