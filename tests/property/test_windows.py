"""Window functions over one person's rows, in random worlds: their meaning, and what one person can change."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from sqlglot import exp

from planner.binding.bound_query import BoundTable
from planner.binding.from_clause import _FromClause
from planner.planning import person_tables
from planner.rewriting.rewrite import rewrite
from planner.schema import ForeignKey
from planner.sql.trees import copied
from tests.property.clinic_world import (
    SCHEMA,
    Database,
    check_random,
    check_sample,
    checked,
    opened,
    plan_of,
    some_rows,
    stands,
)
from tests.support.seeds import SEED, examples

_LIST = "string_to_array(CASE WHEN x = 1 THEN '1,1' WHEN x = 2 THEN '2,1,2' END, ',')"

OWN = {
    "the first row": "SELECT count(*) FROM (SELECT x, row_number() OVER (PARTITION BY person ORDER BY x, id) AS n"
    " FROM visit) AS t WHERE n = 1 AND x = 1",
    "the row before": "SELECT count(*) FROM (SELECT x, lag(x) OVER (PARTITION BY person ORDER BY id) AS y FROM visit)"
    " AS t WHERE y < x OR y IS NULL",
    "a default": "SELECT count(*) FROM (SELECT x, lead(x, 1, 7) OVER (PARTITION BY person ORDER BY id) AS y"
    " FROM visit) AS t WHERE y = 7",
    "first and last": "SELECT count(*) FROM (SELECT first_value(x) OVER w AS a, last_value(x) OVER w AS b FROM visit"
    " WINDOW w AS (PARTITION BY person ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS t"
    " WHERE a = b",
    "a running total": "SELECT count(*) FROM (SELECT sum(CASE WHEN x = 1 THEN 1 ELSE 0 END) OVER (PARTITION BY person"
    " ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n, count(*) OVER (PARTITION BY person) AS m"
    " FROM visit) AS t WHERE n < m",
    "equal rows": "SELECT count(*) FROM (SELECT count(x) OVER (PARTITION BY person ORDER BY x DESC NULLS LAST) AS n,"
    " rank() OVER (PARTITION BY person ORDER BY x) AS r FROM visit) AS t WHERE n >= r",
    "shares": "SELECT count(*) FROM (SELECT ntile(2) OVER (PARTITION BY person ORDER BY id) AS n,"
    " percent_rank() OVER (PARTITION BY person ORDER BY x) AS p FROM visit) AS t WHERE n = 2 AND p > 0.4",
    "of a row of theirs": "SELECT count(*) FROM (SELECT visit, count(*) OVER (PARTITION BY visit) AS n FROM line)"
    " AS t JOIN visit AS v ON v.id = t.visit WHERE n >= v.x",
    "DISTINCT ON": "SELECT count(*) FROM (SELECT DISTINCT ON (person) person, x FROM visit ORDER BY person,"
    " x DESC NULLS LAST, id) AS t WHERE x = 2",
    "DISTINCT": "SELECT count(*) FROM (SELECT DISTINCT person, max(x) OVER (PARTITION BY person) AS m FROM"
    " visit) AS t"
    " WHERE m = 2",
    "over groups": "SELECT count(*) FROM (SELECT person, x, rank() OVER (PARTITION BY person ORDER BY count(*) DESC)"
    " AS r FROM visit GROUP BY person, x) AS t WHERE r = 1",
    "islands": "WITH s AS (SELECT person, id - row_number() OVER (PARTITION BY person ORDER BY id) AS g FROM visit)"
    " SELECT count(*) FROM (SELECT person, g, count(*) AS n FROM s GROUP BY 1, 2) AS t WHERE n > 1",
    "sessions": "WITH e AS (SELECT person, id, x, lag(x) OVER (PARTITION BY person ORDER BY id) AS y FROM visit),"
    " f AS (SELECT person, sum(CASE WHEN x = y THEN 0 ELSE 1 END) OVER (PARTITION BY person ORDER BY id) AS s FROM e)"
    " SELECT count(*) FROM (SELECT person, s, count(*) AS n FROM f GROUP BY person, s) AS t WHERE n > 1",
    "joined": "SELECT count(*) FROM person AS p LEFT JOIN (SELECT person, x, row_number() OVER (PARTITION BY person"
    " ORDER BY id) AS n FROM visit) AS t ON t.person = p.id AND t.n = 1 WHERE t.x IS NULL",
    "in WHERE": "SELECT count(*) FROM person AS p WHERE p.id NOT IN (SELECT person FROM (SELECT person,"
    " count(*) OVER (PARTITION BY person) AS n FROM visit) AS t WHERE n > 1)",
    "public rows": "SELECT count(*) FROM (SELECT v.x, row_number() OVER (PARTITION BY v.person ORDER BY w.id"
    " DESC, v.id)"
    " AS n FROM visit AS v JOIN ward AS w ON w.x = v.x) AS t WHERE n = 1",
    "optional rows": "SELECT count(*) FROM (SELECT p.id, v.x, row_number() OVER (PARTITION BY p.id ORDER BY"
    " v.id) AS n"
    " FROM person AS p LEFT JOIN visit AS v ON v.person = p.id) AS t WHERE n = 1 AND x IS NULL",
    "several windows": "SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY l.visit ORDER BY l.id) AS n,"
    " count(*) OVER (PARTITION BY v.person, l.x) AS m FROM line AS l JOIN visit AS v ON v.id = l.visit) AS t"
    " WHERE n = m",
    "a list": f"SELECT count(*) FROM visit AS v, unnest({_LIST}) AS t(e) WHERE e = '1'",
    "no list": f"SELECT count(*) FROM visit AS v LEFT JOIN LATERAL unnest({_LIST}) AS t(e) ON true"
    " WHERE e IS NULL OR e = '2'",
    "elements of a person": "SELECT count(*) FROM (SELECT person, e, count(*) AS n FROM (SELECT person,"
    f" unnest({_LIST}) AS e FROM visit) AS s GROUP BY person, e) AS t WHERE n > 1",
    "over windows": "WITH a AS (SELECT person, x, row_number() OVER (PARTITION BY person ORDER BY id) AS n FROM"
    " visit), b AS (SELECT person, n, lead(x) OVER (PARTITION BY person ORDER BY n) AS y FROM a) SELECT count(*)"
    " FROM b WHERE y = n",
    "LATERAL first": "SELECT count(*) FROM person AS p CROSS JOIN LATERAL (SELECT v.x FROM visit AS v WHERE"
    " v.person = p.id AND v.x IS NOT NULL ORDER BY v.x DESC, v.id LIMIT 1) AS t WHERE t.x = 2",
    "LATERAL second": "SELECT count(*) FROM person AS p LEFT JOIN LATERAL (SELECT id, x AS y FROM visit WHERE"
    " person = p.id ORDER BY id LIMIT 1 OFFSET 1) AS t ON t.y = p.x WHERE t.id IS NULL",
    "LATERAL count": "SELECT count(*) FROM visit AS v CROSS JOIN LATERAL (SELECT count(*) AS n, max(l.x) AS m FROM"
    " line AS l WHERE l.visit = v.id AND l.x > 1) AS t WHERE n = 0 OR m = v.x",
    "LATERAL computed": "SELECT count(*) FROM person AS p CROSS JOIN LATERAL (SELECT COALESCE(max(v.x), 7) AS y,"
    " 2 * count(*) + 1 AS n FROM visit AS v WHERE v.person = p.id) AS t WHERE y = 7 AND n < 4 OR n = 5",
    "LATERAL rows": "SELECT count(*) FROM person AS p, LATERAL (SELECT v.x + p.x AS y FROM visit AS v WHERE"
    " v.person = p.id) AS t, LATERAL (SELECT y * 2 AS z) AS u WHERE z > 4",
    "LATERAL expressions": "SELECT count(*) FROM visit AS v LEFT JOIN LATERAL (SELECT v.x * 2 AS y WHERE v.id > 1)"
    " AS t ON y < 4 LEFT JOIN (SELECT 2 AS z) AS u ON v.x = z WHERE y IS NULL AND z IS NULL",
    "LATERAL groups": "SELECT count(*) FROM person AS p JOIN LATERAL (SELECT v.x, count(*) AS n FROM visit AS v"
    " WHERE v.person = p.id GROUP BY v.x) AS t ON t.n > 1",
}
"""By form, a question whose windows see one person's rows. Its ORDER BY leaves no two rows equal that matter."""

OTHERS = {
    "no partition": "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY id) AS n FROM visit) AS t WHERE n = 1",
    "no owner": "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY x) AS n FROM visit) AS t WHERE n > 1",
    "one of two": "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY person) AS n, count(*) OVER () AS m"
    " FROM visit) AS t WHERE n = m",
    "two owners": "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY person) AS n FROM shared) AS t"
    " WHERE n > 1",
    "an author": "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY author) AS n FROM note) AS t WHERE n > 1",
    "a missing row": "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY v.person) AS n FROM person AS p"
    " LEFT JOIN visit AS v ON v.person = p.id) AS t WHERE n > 1",
    "DISTINCT ON": "SELECT count(*) FROM (SELECT DISTINCT ON (x) x, id FROM visit ORDER BY x, id) AS t WHERE x = 2",
    "LATERAL": "SELECT count(*) FROM person AS p CROSS JOIN LATERAL (SELECT v.id FROM visit AS v WHERE v.x = p.x"
    " ORDER BY v.id LIMIT 1) AS t",
    "LATERAL alone": "SELECT count(*) FROM person AS p CROSS JOIN LATERAL (SELECT id FROM visit ORDER BY id"
    " LIMIT 1) AS t",
    "LATERAL of a ward": "SELECT count(*) FROM ward AS w CROSS JOIN LATERAL (SELECT v.id FROM visit AS v WHERE v.x ="
    " w.x ORDER BY v.id LIMIT 1) AS t",
    "a list of two": "SELECT count(*) FROM shared AS s, unnest(string_to_array(s.x::text, '0')) AS t(e)",
    "a list of a ward": "SELECT count(*) FROM ward AS w JOIN visit AS v ON v.id = w.id,"
    " unnest(string_to_array(w.x::text, '0')) AS t(e)",
    "a limit": "SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY person ORDER BY id) AS n FROM visit"
    " LIMIT 2) AS t WHERE n = 1",
}
"""By form, a question of which one person could change another's row."""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened() as database:
        yield database


def _question(rng: random.Random) -> str:
    """Windows whose ORDER BY may leave rows equal, over one or two tables, perhaps grouped, joined to some table."""
    source, key = rng.choice(
        [
            ("visit AS a", "a.person"),
            ("visit AS a", "a.id"),
            ("line AS a", "a.visit"),
            ("line AS a JOIN visit AS v ON v.id = a.visit", "v.person"),
            ("line AS a LEFT JOIN visit AS v ON v.id = a.visit", "a.visit"),
            ("shared AS a", "a.person"),
            ("note AS a", rng.choice(["a.person", "a.author"])),
            ("branch AS a", rng.choice(["a.person", "a.above"])),
            ("person AS a LEFT JOIN visit AS v ON v.person = a.id", rng.choice(["a.id", "v.person"])),
            ("visit AS a JOIN ward AS w ON w.id = a.x", "a.person"),
            ("visit AS a JOIN visit AS v ON v.person = a.person", "a.person"),
            ("(SELECT person, x, count(*) AS n FROM visit GROUP BY 1, 2) AS a", "a.person"),
        ]
    )
    function = rng.choice(
        ["row_number()", "lag(a.x)", "lead(a.x, 2, 3)", "ntile(2)", "first_value(a.x)", "rank()", "dense_rank()",
         "sum(CASE WHEN a.x = 1 THEN 1 END)", "count(*) FILTER (WHERE a.x = 2)", "max(a.x)", "cume_dist()"]
    )  # fmt: skip
    framed = function.startswith(("sum", "count", "max"))
    frame = rng.choice(["", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"]) if framed else ""
    more = rng.choice(["", "", ", a.x"])
    over = f"OVER (PARTITION BY {key}{more} ORDER BY {rng.choice(['a.x', 'a.x DESC', 'a.x NULLS FIRST'])}{frame})"
    where = rng.choice(["", "", " WHERE a.x = 2"])
    first = rng.choice(["", "", "", f"DISTINCT ON ({key}) "])
    inner = f"SELECT {first}{key} AS k, a.x AS y, {function} {over} AS n FROM {source}{where}"
    if rng.random() < 0.2:
        inner = f"SELECT k, count(*) AS y, max(n) AS n FROM ({inner}) AS s GROUP BY k"
    joined = rng.choice(["", "", " JOIN person AS o ON o.id = t.k", " JOIN visit AS o ON o.id = t.k"])
    return f"SELECT count(*) FROM ({inner}) AS t{joined} WHERE {rng.choice(['n = 1', 'n IS NULL', 'n > y', 'y = 2'])}"


def test_one_person_changes_only_rows_of_their_own(database: Database) -> None:
    for form, text in OWN.items():
        assert checked(database, text, trials=examples(8, 120)) > 0, form


def test_one_person_changes_only_rows_of_their_own_in_random_questions(database: Database) -> None:
    rng, questions = random.Random(29 * SEED), examples(40, 1_000)
    check_random(database, lambda: _question(rng), rng, questions=questions, trials=4, least=questions // 4)


def test_windows_of_other_peoples_rows_are_refused() -> None:
    assert [form for form, text in OTHERS.items() if plan_of(text) is not None] == []


def test_windows_mean_what_plain_sql_says(database: Database) -> None:
    rng = random.Random(31 * SEED)
    for form, text in OWN.items():
        plan = plan_of(text)
        assert plan is not None, form
        query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
        for _ in range(examples(4, 60)):
            rows = some_rows(rng)
            database.fill(
                {name: [row for row in held if stands(rows, name, row)] for name, held in rows.items()}, query
            )
            ((plain,),) = database.connection.execute(text).fetchall()
            assert sum(database.tuples(query).values()) == plain << 30, text


def test_a_mutant_whose_row_of_expressions_is_always_there_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_FromClause, "_computed_row", lambda self, join, row, *_: row)
    with pytest.raises(AssertionError, match="SELECT"):
        test_windows_mean_what_plain_sql_says(database)


def test_samples_are_some_of_the_rows(database: Database) -> None:
    rng = random.Random(37 * SEED)
    for text in OWN.values():
        plan = plan_of(text, sampling_rate=0.5)
        assert plan is not None and plan.sampling is not None
        check_sample(database, text, plan, rng)


_TIED = (
    "SELECT count(*) FROM (SELECT x, row_number() OVER (PARTITION BY person) AS n FROM visit) AS t WHERE n = 1"
    " AND x = 1",
    "SELECT count(*) FROM (SELECT DISTINCT ON (person) person, x FROM visit) AS t WHERE x = 1",
)


def _depends_on_the_stored_order(database: Database) -> bool:
    """Do the same rows, stored in another order, give other tuples? Of 60 worlds some have a person of two visits."""
    rng = random.Random(43 * SEED)
    for text in _TIED * 30:
        plan = plan_of(text)
        assert plan is not None
        query, rows = rewrite(plan, dialect="duckdb", schema=SCHEMA), some_rows(rng)
        database.fill(rows, query)
        before = database.tuples(query)
        database.fill({name: held[::-1] for name, held in rows.items()}, query)
        if database.tuples(query) != before:
            return True
    return False


def test_rows_that_order_by_leaves_equal_are_ordered_by_their_key(database: Database) -> None:
    assert not _depends_on_the_stored_order(database)


def test_rows_without_a_key_are_ordered_by_all_that_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundTable, "row_key", None)
    assert not _depends_on_the_stored_order(database)
    for text in _TIED:
        assert checked(database, text, trials=examples(8, 120)) > 0, text


def test_a_mutant_without_the_key_is_caught(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def unordered(value: exp.Expr, row: object) -> exp.Expr:
        return copied(value)

    monkeypatch.setattr(person_tables, "_without_ties", unordered)
    assert _depends_on_the_stored_order(database)


@pytest.mark.slow
def test_a_mutant_that_asks_no_partition_whose_it_is_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = person_tables._leading

    def anybody(found: object, owner: object, person: object, part: object, *rest: object) -> ForeignKey:
        every = [column.column.name for column in person.columns]  # type: ignore[attr-defined]
        return real(found, owner, person, every, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(person_tables, "_leading", anybody)
    text = "SELECT count(*) FROM (SELECT person, count(*) OVER (PARTITION BY x) AS n FROM visit) AS t WHERE n > 1"
    with pytest.raises(AssertionError, match="SELECT"):
        checked(database, text, trials=400)
