"""Unions, set operations and outer joins over rows of one person each: their meaning, and what a person changes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from planner.binding import conditions, outer_joins
from planner.plan import Plan
from planner.planning import person_tables
from planner.rewriting.rewrite import rewrite
from tests.property.clinic_world import (
    SCHEMA,
    Database,
    check_random,
    checked,
    opened,
    plan_of,
    some_rows,
    stands,
)
from tests.support.seeds import SEED, examples

_PERSONS = (
    ("person AS {}", "id", "x"),
    ("visit AS {}", "person", "x"),
    ("visit AS {}", "person", "id"),
    ("line AS l{0} JOIN visit AS {0} ON {0}.id = l{0}.visit", "person", "x"),
    ("(SELECT person, count(*) AS n FROM visit GROUP BY person) AS {}", "person", "n"),
    ("(SELECT DISTINCT person, x FROM visit) AS {}", "person", "x"),
    ("(SELECT person, x, row_number() OVER (PARTITION BY person ORDER BY id) AS n FROM visit) AS {}", "person", "n"),
    ("branch AS {}", "person", "x"),
    ("note AS {}", "person", "author"),
    ("shared AS {}", "person", "x"),
    ("visit AS {}", "x", "person"),
)
"""Rows of persons: FROM with an alias, their key, and another column; the last two are not of one person by it."""

OWN = {
    "UNION ALL": "SELECT count(*) FROM (SELECT person FROM visit UNION ALL SELECT person FROM note) t"
    " WHERE t.person > 1",
    "UNION ALL without a key": "SELECT count(*) FROM (SELECT x FROM visit UNION ALL SELECT x FROM line) t"
    " WHERE x = 1",
    "UNION": "SELECT count(*) FROM (SELECT person FROM visit UNION SELECT id FROM person) t JOIN person p"
    " ON p.id = t.person",
    "INTERSECT": "SELECT count(*) FROM (SELECT person FROM visit INTERSECT SELECT person FROM note) t JOIN person p"
    " ON p.id = t.person",
    "EXCEPT": "SELECT count(*) FROM person WHERE id IN (SELECT id FROM person EXCEPT SELECT person FROM visit)",
    "FULL JOIN": "SELECT count(*) FROM visit v FULL JOIN note n ON n.person = v.person AND n.x = v.x"
    " WHERE n.id IS NULL OR v.id IS NULL",
    "FULL JOIN USING": "SELECT count(*) FROM person p JOIN (SELECT person FROM visit v FULL JOIN note n"
    " USING (person)) t ON t.person = p.id",
    "FULL JOIN of groups": "SELECT count(*) FROM (SELECT person, count(*) AS n FROM visit GROUP BY 1) a FULL JOIN"
    " (SELECT person, count(*) AS m FROM note GROUP BY 1) b ON a.person = b.person WHERE n > 1 OR m > 1",
    "LEFT JOIN (JOIN)": "SELECT count(*) FROM person p LEFT JOIN (visit v JOIN line l ON l.visit = v.id)"
    " ON v.person = p.id WHERE l.id IS NULL OR l.x = 1",
    "LEFT JOIN (SELECT)": "SELECT count(*) FROM person p LEFT JOIN (SELECT v.person, coalesce(l.x, 0) AS y"
    " FROM visit v JOIN line l ON l.visit = v.id WHERE v.x = 1) t ON t.person = p.id WHERE t.y IS NULL OR t.y < 2",
    "a window over UNION ALL": "SELECT count(*) FROM (SELECT person, rank() OVER (PARTITION BY person ORDER BY x)"
    " AS n FROM (SELECT person, x FROM visit UNION ALL SELECT v.person, l.x FROM line l JOIN visit v ON v.id ="
    " l.visit) t) w WHERE n = 1",
    "UNION ALL of windows": "SELECT count(*) FROM (SELECT person, row_number() OVER (PARTITION BY person ORDER BY"
    " id) AS n FROM visit UNION ALL SELECT person, count(*) OVER (PARTITION BY person) FROM note) t WHERE person >"
    " 0 AND n = 1",
    "a window over FULL JOIN": "SELECT count(*) FROM (SELECT person, count(*) OVER (PARTITION BY person) AS c, n"
    " FROM (SELECT person, x, count(*) AS n FROM visit GROUP BY 1, 2) a FULL JOIN (SELECT person, x, count(*) AS m"
    " FROM note GROUP BY 1, 2) b USING (person, x)) w WHERE c > 1 OR n > 1",
    "a window over LEFT JOIN (JOIN)": "SELECT count(*) FROM (SELECT p.id, l.x, row_number() OVER (PARTITION BY p.id"
    " ORDER BY l.id) AS n FROM person p LEFT JOIN (visit v JOIN line l ON l.visit = v.id) ON v.person = p.id) t"
    " WHERE n = 1 AND x IS NULL",
    "LATERAL over UNION ALL": "SELECT count(*) FROM person p CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT"
    " person FROM visit UNION ALL SELECT person FROM note) t WHERE t.person = p.id) u WHERE n <> 1",
    "LATERAL over FULL JOIN": "SELECT count(*) FROM person p CROSS JOIN LATERAL (SELECT count(n.id) AS n,"
    " count(v.id) AS m FROM visit v FULL JOIN note n USING (person, x) WHERE person = p.id) u WHERE n > 0 OR m = 0",
    "LATERAL in a LEFT JOIN": "SELECT count(*) FROM person p LEFT JOIN (visit v JOIN LATERAL (SELECT count(*) AS n"
    " FROM line l WHERE l.visit = v.id) u ON true) ON v.person = p.id WHERE u.n IS NULL OR u.n = 1",
    "LATERAL beside a comma": "SELECT count(*) FROM person p JOIN visit v ON v.person = p.id, LATERAL (SELECT l.x"
    " FROM line l WHERE l.visit = v.id ORDER BY l.id LIMIT 1) u JOIN visit w ON w.x = u.x WHERE w.person = p.id",
    "NATURAL": "SELECT count(*) FROM (SELECT id AS person FROM person) p NATURAL LEFT JOIN (visit v JOIN line l ON"
    " l.visit = v.id) WHERE v.x IS NULL",
    "(RIGHT JOIN)": "SELECT count(*) FROM (visit v RIGHT JOIN person p ON p.id = v.person) WHERE v.id IS NULL",
    "RIGHT JOIN": "SELECT count(*) FROM visit v JOIN line l ON l.visit = v.id RIGHT JOIN person p ON p.id = v.person"
    " WHERE l.id IS NULL",
}
"""By form, a question over rows of one person each."""

OTHERS = {
    "UNION of two owners": "SELECT count(*) FROM (SELECT person FROM shared UNION ALL SELECT person FROM visit) t",
    "UNION of kinds": "SELECT count(*) FROM (SELECT id FROM person UNION ALL SELECT id FROM doctor) t",
    "INTERSECT of values": "SELECT count(*) FROM (SELECT x FROM visit INTERSECT SELECT x FROM note) t",
    "EXCEPT of values": "SELECT count(*) FROM (SELECT x FROM visit EXCEPT SELECT x FROM note) t",
    "FULL JOIN by a value": "SELECT count(*) FROM visit v FULL JOIN note n ON n.x = v.x",
    "LEFT JOIN (JOIN) of others": "SELECT count(*) FROM person p LEFT JOIN (visit v JOIN line l ON l.visit = v.id)"
    " ON v.x = p.x",
    "RIGHT JOIN of others": "SELECT count(*) FROM visit v JOIN line l ON l.visit = v.id RIGHT JOIN person p"
    " ON p.x = v.x",
}
"""By form, a question in which one person could change what others' rows give."""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened() as database:
        yield database


_COUNTED = (
    "count(v.x)",
    "count(*) FILTER (WHERE v.x = 1)",
    "count(CASE WHEN v.id IS NULL THEN NULL ELSE 1 END)",
    "count(v.id) FILTER (WHERE l.n > 1)",
    "count(CASE WHEN v.x IS NULL THEN NULL WHEN l.n < 3 THEN 1 END)",
)


def _listed(rng: random.Random) -> str:
    """Rows of constants with private rows beside them, which every aggregate skips where they are missing."""
    lists = (
        "(VALUES (1), (2), (2)) AS l(n)",
        "generate_series(0, 3) AS l(n)",
        "(SELECT 1 AS n UNION ALL SELECT 4) AS l",
    )
    on = rng.choice(["v.x = l.n", "v.x = l.n AND v.id > 1", "v.x <= l.n", "v.id = l.n"])
    table = rng.choice(["visit", "person", "line", "note"])
    kind = rng.choice(["LEFT JOIN", "LEFT JOIN", "JOIN"])
    return f"SELECT {rng.choice(_COUNTED)} FROM {rng.choice(lists)} {kind} {table} AS v ON {on}"


def _beside_others(rng: random.Random) -> str:
    """A LEFT JOIN to rows of others that WHERE requires, or that nothing reads."""
    on = rng.choice(["q.id = p.x", "q.id = p.x AND q.x = 1", "q.x = p.x"])
    where = rng.choice(["", "", " WHERE q.x = 1", " WHERE q.id IS NOT NULL", " WHERE q.x IS NULL", " WHERE p.x > 0"])
    table = rng.choice(["person", "visit"])
    return f"SELECT count(*) FROM {table} AS p LEFT JOIN {rng.choice(['person', 'note'])} AS q ON {on}{where}"


def _side(rng: random.Random, alias: str) -> str:
    """A SELECT of two columns k and y, mostly a person's key and a value."""
    source, key, other = rng.choice(_PERSONS[: rng.choice([-2, -2, -2, None])])
    shown = rng.choice([f"{alias}.{other}", f"{alias}.{other}", "1", "NULL", f"coalesce({alias}.{other}, 0)"])
    where = rng.choice(["", "", f" WHERE {alias}.{other} = 1", f" WHERE {alias}.{key} > 1"])
    return f"SELECT {alias}.{key} AS k, {shown} AS y FROM {source.format(alias)}{where}"


def _rows(rng: random.Random) -> str:
    """Rows with columns k and y: a set operation of two or three SELECTs, or an outer join of two."""
    if rng.random() < 0.5:
        rows = f"{_side(rng, 'a')} {_operation(rng)} {_side(rng, 'b')}"
        return rows if rng.random() < 0.7 else f"({rows}) {_operation(rng)} ({_side(rng, 'c')})"
    on = rng.choice(["ON a.k = b.k", "ON a.k = b.k AND a.y = b.y", "USING (k)", "USING (k, y)", "ON a.y = b.y"])
    kind = rng.choice(["FULL JOIN", "FULL JOIN", "RIGHT JOIN", "LEFT JOIN"])
    shown = "k, coalesce(a.y, b.y) AS y" if on == "USING (k)" else "a.k, b.y" if "ON" in on else "k, y"
    shown = shown if "ON" not in on else f"{rng.choice(['a', 'b'])}.k, {rng.choice(['a', 'b'])}.y"
    return f"SELECT {shown} FROM ({_side(rng, 'a')}) AS a {kind} ({_side(rng, 'b')}) AS b {on}"


def _operation(rng: random.Random) -> str:
    return rng.choice(["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT"])


def _question(rng: random.Random) -> str:
    """The rows counted alone, per person, beside another table, as the right side of a LEFT JOIN, or in IN."""
    if rng.random() < 0.25:
        return _listed(rng) if rng.random() < 0.5 else _beside_others(rng)
    rows = _rows(rng)
    form = rng.choice(["alone", "alone", "per person", "beside", "optional", "in", "distinct", "windows", "lateral"])
    where = rng.choice(["", "", " WHERE t.y = 1", " WHERE t.y IS NULL", " WHERE t.k IS NOT NULL"])
    if form == "in":
        inner = f"SELECT t.k FROM ({rows}) AS t{where}"
        return f"SELECT count(*) FROM person AS p WHERE p.id {rng.choice(['IN', 'IN', 'NOT IN'])} ({inner})"
    if form == "windows":
        part, order = (
            rng.choice(["t.k", "t.k", "t.k, t.y"]),
            rng.choice(["t.y", "t.y DESC NULLS LAST", "t.y NULLS FIRST"]),
        )
        function = rng.choice(["rank()", "count(*)", "max(t.y)", "count(t.y)", "row_number()", "lag(t.y)"])
        inner = f"SELECT t.k, {function} OVER (PARTITION BY {part} ORDER BY {order}) AS n FROM ({rows}) AS t{where}"
        joined = rng.choice(["", "", " JOIN person AS o ON o.id = w.k"])
        return f"SELECT count(*) FROM ({inner}) AS w{joined} WHERE {rng.choice(['n = 1', 'n > 1', 'n IS NULL'])}"
    if form == "lateral":
        inner = rng.choice(
            [
                f"SELECT count(*) AS n, min(t.y) AS m FROM ({rows}) AS t WHERE t.k = p.id",
                f"SELECT t.y AS n, t.k AS m FROM ({rows}) AS t WHERE t.k = p.id",
                f"SELECT t.y AS n, 1 AS m FROM ({rows}) AS t WHERE t.k = p.id ORDER BY t.y LIMIT 2",
            ]
        )
        join = rng.choice(["CROSS JOIN LATERAL ({}) AS u", "LEFT JOIN LATERAL ({}) AS u ON true"]).format(inner)
        return f"SELECT count(*) FROM person AS p {join} WHERE {rng.choice(['n = 1', 'n IS NULL', 'n < m'])}"
    if form == "per person":
        grouped = f"SELECT t.k, count(*) AS n, min(t.y) AS m FROM ({rows}) AS t{where} GROUP BY t.k"
        return f"SELECT count(*) FROM ({grouped}) s"
    if form == "distinct":
        return f"SELECT count(DISTINCT t.k) FROM ({rows}) AS t{where}"
    if form == "beside":
        return f"SELECT count(*) FROM ({rows}) AS t JOIN {rng.choice(['person', 'ward'])} AS o ON o.id = t.k{where}"
    if form == "optional":
        on = rng.choice(["t.k = p.id", "t.k = p.id", "t.k = p.id AND t.y = p.x", "t.y = p.x"])
        return f"SELECT count(*) FROM person AS p LEFT JOIN ({rows}) AS t ON {on}{where}"
    return f"SELECT count(*) FROM ({rows}) AS t{where}"


def _plan_of(text: str) -> Plan | None:
    """The plan, if it adds up tuples: values are counted by programs of their own (test_value_removal.py)."""
    plan = plan_of(text)
    return plan if plan is not None and not any(release.distinct is not None for release in plan.releases) else None


def test_one_person_changes_only_rows_of_their_own(database: Database) -> None:
    for form, text in OWN.items():
        assert checked(database, text, trials=examples(8, 120)) > 0, form


def test_so_it_is_in_random_questions(database: Database) -> None:
    """Of each that is answered and counts rows, not values."""
    rng, questions = random.Random(29 * SEED), examples(40, 1_500)
    least = questions // 6
    check_random(database, lambda: _question(rng), rng, questions=questions, trials=6, least=least, plan=_plan_of)


def test_rows_that_others_could_change_are_refused() -> None:
    assert [form for form, text in OTHERS.items() if plan_of(text) is not None] == []


def test_questions_mean_what_plain_sql_says(database: Database) -> None:
    """Over rows of somebody: a NULL that leads to nobody is in no answer, and NULL keys do not meet."""
    rng, compared = random.Random(31 * SEED), 0
    for text in [*OWN.values(), *(_question(rng) for _ in range(examples(50, 600)))]:
        plan = _plan_of(text)
        if plan is None:
            continue
        query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
        for _ in range(examples(3, 10)):
            rows = some_rows(rng)
            database.fill(
                {name: [row for row in held if stands(rows, name, row)] for name, held in rows.items()}, query
            )
            tuples = database.tuples(query)
            ((plain,),) = database.connection.execute(text).fetchall()
            assert sum(tuples.values()) == plain << 30, text
            compared += 1
    assert compared > examples(40, 500)


def test_a_mutant_that_skips_every_missing_row_is_caught(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer_joins, "_adds_nothing", lambda *_: True)
    text = "SELECT count(*) FROM (VALUES (1), (7)) AS l(n) LEFT JOIN visit AS v ON v.x = l.n"
    assert _differs(database, text)


def test_a_mutant_that_leaves_out_a_join_to_many_rows_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "_finds_one", lambda _: True)
    assert _differs(database, "SELECT count(*) FROM person AS p LEFT JOIN visit AS v ON v.person = p.id")


def _differs(database: Database, text: str) -> bool:
    """Is its meaning not that of plain SQL over one of 200 worlds?"""
    plan, rng = plan_of(text), random.Random(5)
    assert plan is not None
    query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
    for _ in range(200):
        database.fill(some_rows(rng), query)
        ((plain,),) = database.connection.execute(text).fetchall()
        if sum(database.tuples(query).values()) != plain << 30:
            return True
    return False


def test_a_mutant_that_keeps_rows_without_an_owner_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_tables, "with_own_rows", lambda query, *_: (query, ()))
    with pytest.raises(AssertionError, match="SELECT"):
        checked(database, OTHERS["FULL JOIN by a value"], trials=400)


def test_a_mutant_that_asks_the_first_select_alone_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose rows the others' are is then whatever the first SELECT says."""
    real = person_tables._unit
    monkeypatch.setattr(person_tables, "_unit", lambda parts, policy: real(parts[:1], policy))
    text = (
        "SELECT count(*) FROM (SELECT person AS k FROM visit UNION ALL SELECT id FROM note) t JOIN person ON id = k"
    )
    with pytest.raises(AssertionError, match="SELECT"):
        checked(database, text, trials=400)
