"""Subqueries that are values, over random worlds: what they mean in plain SQL, and what one person can change."""

from __future__ import annotations

import random
from collections.abc import Iterator

import duckdb
import pytest

from planner.binding import subquery_values
from planner.binding.scope import Tables
from planner.rewriting.rewrite import rewrite
from planner.schema import Table
from planner.sensitivity import own_rows
from tests.property.clinic_world import (
    KEYS,
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

_VISITS = "FROM visit w WHERE w.person = p.id"

OWN = {
    "EXISTS in OR": f"SELECT count(*) FROM person p WHERE p.x = 2 OR EXISTS (SELECT 1 {_VISITS} AND w.x = 1)",
    "EXISTS denied": f"SELECT count(*) FROM person p WHERE NOT (p.x = 2 AND EXISTS (SELECT 1 {_VISITS}))",
    "EXISTS in FILTER": f"SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 {_VISITS})) FROM person p",
    "a count": f"SELECT count(*) FROM person p WHERE (SELECT count(*) {_VISITS}) < 2",
    "in CASE": f"SELECT count(*) FROM person p WHERE CASE (SELECT count(*) {_VISITS}) WHEN 1 THEN p.x = 1 END",
    "an extreme": f"SELECT count(*) FROM person p WHERE (SELECT max(w.x) {_VISITS}) IS DISTINCT FROM p.x",
    "two items": f"SELECT count(*) FROM person p WHERE (SELECT max(w.x) - min(w.x) + count(w.x) {_VISITS}) > 1",
    "groups": f"SELECT count(*) FROM person p WHERE (SELECT count(*) {_VISITS} GROUP BY w.person) IS NULL",
    "groups of others left out": f"SELECT count(*) FROM person p WHERE p.x = 1 OR EXISTS"
    f" (SELECT 1 {_VISITS} GROUP BY w.person HAVING count(*) > 1)",
    "IN denied": "SELECT count(*) FROM person p WHERE NOT (p.x = 1 AND p.id IN (SELECT w.person FROM visit w))",
    "IN of NULLs": "SELECT count(*) FROM person p WHERE p.x = 2 OR p.x NOT IN"
    " (SELECT w.x FROM visit w WHERE w.person = p.id)",
    "IN of groups": "SELECT count(*) FROM person p WHERE p.x = 2 OR p.id IN"
    " (SELECT w.person FROM visit w GROUP BY 1 HAVING count(*) > 1)",
    "rows": "SELECT count(*) FROM visit v WHERE (v.person, v.x) IN"
    " (SELECT w.person, max(w.x) FROM visit w GROUP BY 1)",
    "a row by its key": "SELECT count(*) FROM visit v WHERE (SELECT p.x FROM person p WHERE p.id = v.person) IS NULL",
    "a row of another owner, joined": "SELECT count(*) FROM visit v WHERE"
    " (SELECT p.x FROM person p WHERE p.id = v.x) = 1",
    "a copied row": "SELECT count(*) FROM visit v WHERE"
    " (SELECT count(*) FROM visit w WHERE w.person = v.person AND w.id < v.id) = 1",
    "a copied row that exists": "SELECT count(*) FROM visit v WHERE v.x = 2 OR EXISTS"
    " (SELECT 1 FROM visit w WHERE w.person = v.person AND (w.x > v.x OR w.id > v.id AND v.x IS NULL))",
    "a copied group": "WITH v AS (SELECT person, min(x) AS m FROM visit GROUP BY 1) SELECT count(*) FROM v"
    " WHERE v.m = 2 OR EXISTS (SELECT 1 FROM visit w WHERE w.person = v.person AND w.x > v.m)",
    "the only row": f"SELECT count(*) FROM person p WHERE (SELECT w.x {_VISITS}) = 1",
    "the only value": f"SELECT count(*) FROM person p WHERE (SELECT DISTINCT w.x {_VISITS}) = 1",
    "public": "SELECT count(*) FROM visit v WHERE v.x < (SELECT max(w.x) FROM ward w) OR v.id IN"
    " (SELECT id FROM ward)",
    "public, NOT IN": "SELECT count(*) FROM visit v WHERE (v.x NOT IN (SELECT w.x FROM ward w)) IS NOT TRUE",
    "public, of the row": "SELECT count(*) FROM visit v WHERE (SELECT w.x FROM ward w WHERE w.id = v.x) = 1",
    "public, summed": "SELECT count(*) FROM visit v WHERE 1 < (SELECT sum(w.x) FROM ward w WHERE w.x = v.x)",
    "public, beyond": "SELECT count(*) FROM visit v WHERE (SELECT count(*) FROM ward w WHERE w.id < v.id) = 2",
    "public, missing": "SELECT count(*) FROM visit v WHERE coalesce((SELECT 7 FROM ward w WHERE w.id = v.x), 3) = 3",
    "public groups": "SELECT count(*) FROM visit v JOIN (SELECT x, count(*) AS n FROM ward GROUP BY x) t ON t.x = v.x"
    " WHERE t.n > 1",
}
"""By form, a question whose subqueries read public rows, those of the tuple's owners, or rows that it needs."""

OTHERS = {
    "EXISTS": "SELECT count(*) FROM person p WHERE p.x = 1 OR EXISTS (SELECT 1 FROM visit w WHERE w.x = p.x)",
    "another person": "SELECT count(*) FROM person p WHERE p.x = 1 OR EXISTS"
    " (SELECT 1 FROM visit w WHERE w.person = p.x)",
    "IN": "SELECT count(*) FROM person p WHERE p.x = 1 OR p.x IN (SELECT w.person FROM visit w)",
    "NOT IN": "SELECT count(*) FROM person p WHERE p.x = 1 OR p.x NOT IN (SELECT w.id FROM visit w)",
    "a count": "SELECT count(*) FROM person p WHERE (SELECT count(*) FROM visit w WHERE w.x = p.x) > 1",
    "a count of all": "SELECT count(*) FROM person p WHERE (SELECT count(*) FROM visit w) > 1",
    "a row": "SELECT count(*) FROM visit v WHERE (SELECT p.x FROM person p WHERE p.id = v.x) IS NULL",
    "a copied row": "SELECT count(*) FROM visit v WHERE (SELECT count(*) FROM visit w WHERE w.id < v.id) = 1",
    "public rows that others choose": "SELECT count(*) FROM person p WHERE p.x < (SELECT max(d.x) FROM ward d"
    " WHERE d.id IN (SELECT w.x FROM visit w))",
}
"""By form, a question whose subquery reads rows of others."""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened() as database:
        yield database


def _column(rng: random.Random, alias: str) -> str:
    return f"{alias}.{rng.choice(['id', 'x', *(column for column, _ in KEYS[alias.rstrip('012')])])}"


def _rows(rng: random.Random, outer: str, inner: str) -> str:
    """FROM and WHERE of a subquery beside `outer`; mostly a key says whose its rows are."""
    table = inner.rstrip("012")
    held = {column: parent for column, parent in KEYS[table] if column in ("person", "visit", "doctor")}
    conditions = []
    if table != "ward" or rng.random() < 0.6:
        column = rng.choice([*held, *held, *held, "id", "x"])
        theirs = "id" if held.get(column) == outer.rstrip("012") else rng.choice([column, column, "id", "x"])
        theirs = theirs if theirs in ("id", "x", *(one for one, _ in KEYS[outer.rstrip("012")])) else "x"
        conditions.append(f"{inner}.{column} = {outer}.{theirs}")
    if rng.random() < 0.4:
        conditions.append(f"{inner}.x {rng.choice(['IS NULL', '= 2', '< 2'])}")
    if rng.random() < 0.3:
        conditions.append(f"{_column(rng, inner)} {rng.choice(['<', '<>', '>='])} {_column(rng, outer)}")
    if rng.random() < 0.1:
        conditions.append(f"{inner}.id IN (SELECT id FROM ward)")
    rng.shuffle(conditions)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"FROM {table} AS {inner}{where}"


def _test(rng: random.Random, outer: str, place: int) -> str:
    """A condition with a subquery."""
    inner = rng.choice(["person", "visit", "visit", "line", "shared", "note", "branch", "ward", "ward", "ward"])
    inner += str(place)
    rows, beside, mine = _rows(rng, outer, inner), _column(rng, outer), _column(rng, inner)
    denied = rng.choice(["", "NOT "])
    kind = rng.random()
    if kind < 0.25:
        return f"{denied}EXISTS (SELECT 1 {rows})"
    if kind < 0.45:
        return f"{beside} {denied}IN (SELECT {mine} {rows})"
    if kind < 0.5:
        return f"({beside}, {_column(rng, outer)}) IN (SELECT {mine}, {_column(rng, inner)} {rows})"
    call = rng.choice(
        ["count(*)", f"count({mine})", f"max({mine})", f"min({mine}) + count(*)", mine, f"DISTINCT {mine}"]
    )
    value = f"(SELECT {call} {rows})"
    if kind < 0.6:
        return f"coalesce({value}, 2) {rng.choice(['=', '<'])} {rng.choice(['1', '2', beside])}"
    return f"{value} {rng.choice(['=', '<', '>=', 'IS DISTINCT FROM'])} {rng.choice(['1', '2', beside])}"


def _question(rng: random.Random) -> str:
    """One or two tables, and one or two subqueries somewhere in a condition."""
    outer = rng.choice(["person", "visit", "visit", "line", "shared", "note", "branch"]) + "0"
    tests = [_test(rng, outer, place) for place in range(1, rng.choice([2, 2, 3]))]
    tests += [f"{_column(rng, outer)} {rng.choice(['=', '<'])} 2" for _ in range(rng.choice([0, 1]))]
    rng.shuffle(tests)
    joined = rng.choice([" AND ", " OR ", " OR "]).join(f"({test})" for test in tests)
    around = ["{}", "{}", "NOT ({})", "({}) IS NOT TRUE", "CASE WHEN {} THEN 1 ELSE 2 END = 1", "({}) IS NULL"]
    condition = rng.choice(around)
    source = f"{outer[:-1]} AS {outer}"
    if outer == "visit0" and rng.random() < 0.3:
        source = "(SELECT person, min(id) AS id, max(x) AS x FROM visit GROUP BY person) AS visit0"
    if rng.random() < 0.2:
        source += f" LEFT JOIN ward AS ward0 ON ward0.id = {_column(rng, outer)}"
    written = condition.format(joined)
    if rng.random() < 0.3:
        return f"SELECT count(*) FILTER (WHERE {written}) FROM {source}"
    return f"SELECT count(*) FROM {source} WHERE {written}"


def test_one_person_changes_only_tuples_of_their_own(database: Database) -> None:
    for form, text in OWN.items():
        assert checked(database, text, trials=examples(8, 60)) > 0, form


def test_one_person_changes_only_tuples_of_their_own_in_random_questions(database: Database) -> None:
    """Of each that is answered, which more than a quarter of them are."""
    rng, questions = random.Random(31 * SEED), examples(150, 1_500)
    check_random(database, lambda: _question(rng), rng, questions=questions, trials=3, least=questions // 4)


def test_a_question_over_rows_of_others_is_refused() -> None:
    assert [text for text in OTHERS.values() if plan_of(text) is not None] == []


def test_questions_mean_what_plain_sql_says(database: Database) -> None:
    assert _compared(database, questions=examples(150, 1_000)) > examples(60, 600)


def _compared(database: Database, questions: int) -> int:
    """How many answers were compared with plain SQL, over rows that all stand; raises at the first that differs.

    Left out are those that DuckDB does not answer itself.
    """
    rng, compared = random.Random(17 * SEED), 0
    for text in [*OWN.values(), *(_question(rng) for _ in range(questions))]:
        plan = plan_of(text)
        if plan is None:
            continue
        query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
        for _ in range(4):
            rows = some_rows(rng)
            standing = {name: [row for row in held if stands(rows, name, row)] for name, held in rows.items()}
            database.fill(standing, query)
            tuples = database.tuples(query)
            plain = _in_plain_sql(database, text)
            if plain is None:
                continue
            assert sum(tuples.values()) == plain << 30, text
            compared += 1
    return compared


def _in_plain_sql(database: Database, text: str) -> int | None:
    """What DuckDB says; None of a scalar subquery with several rows, which is NULL here, and of correlated rows."""
    try:
        ((plain,),) = database.connection.execute(text).fetchall()
    except (duckdb.InvalidInputException, duckdb.NotImplementedException) as error:
        assert "More than one row" in str(error) or "multiple columns" in str(error), text
        return None
    return int(plain)


@pytest.mark.slow
def test_a_mutant_that_asks_nobody_whose_rows_they_are_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_rows._OwnRows, "_not_own", lambda *_: None)
    for form in ("another person", "IN", "a row"):
        with pytest.raises(AssertionError, match="SELECT"):
            checked(database, OTHERS[form], trials=400)


@pytest.mark.slow
def test_a_mutant_that_takes_every_subquery_for_public_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that semi-joins let others choose are no public rows."""

    def of_from(tables: Tables, table: Table) -> bool:
        return table.name.startswith("subquery") or tables._policy.is_public(table.name)

    monkeypatch.setattr(Tables, "is_public", of_from)
    assert [form for form, text in OTHERS.items() if plan_of(text) is not None]


@pytest.mark.slow
def test_mutants_of_what_a_subquery_means_are_caught(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = {
        "_need_be_true": lambda _: True,  # NULL is false, also below NOT
        "_is_compared": lambda _: True,  # a row without the value is left out, also in OR
        "is_strict": lambda _: True,  # a constant is there without its row
    }
    for name, mutant in cases.items():
        with monkeypatch.context() as patched:
            patched.setattr(subquery_values, name, mutant)
            with pytest.raises(AssertionError, match="SELECT"):
                _compared(database, questions=1_000)
