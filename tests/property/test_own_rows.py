"""Questions that read absences, over random worlds: what they mean in plain SQL, and what one person can change."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from planner.binding import semi_joins
from planner.binding.bound_query import BoundTable
from planner.rewriting.rewrite import rewrite
from planner.sensitivity import own_rows
from tests.property.clinic_world import (
    CONTRACT,
    FINDING,
    KEYS,
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
from tests.support.planning import planned
from tests.support.seeds import SEED, examples


def _condition(rng: random.Random, left: str, right: str) -> str:
    """Mostly a pair of keys that say something of owners; now and then anything."""
    sides = []
    for alias in (left, right):
        names = ["id", "x", *(column for column, _ in KEYS[alias.rstrip("12")])]
        sides.append(f"{alias}.{rng.choice(names)}")
    return f"{sides[0]} {rng.choice(['=', '=', '=', '=', '<'])} {sides[1]}"


def _question(rng: random.Random) -> str:
    """One private table, perhaps joined to another, with a semi-join, a LEFT JOIN or both."""
    tables = [name for name in KEYS if name != "ward"]
    first = rng.choice(tables) + "1"
    source, where = f"{first[:-1]} AS {first}", []
    if rng.random() < 0.6:
        second = rng.choice(list(KEYS)) + "2"
        on = " AND ".join(_condition(rng, first, second) for _ in range(rng.choice([1, 1, 2])))
        kind = rng.choice(["LEFT JOIN", "LEFT JOIN", "JOIN"])
        source += f" {kind} {second[:-1]} AS {second} ON {on}"
        if rng.random() < 0.3:
            where.append(_condition(rng, first, second))
        if rng.random() < 0.2:
            where.append(f"{second}.id IS {rng.choice(['NULL', 'NOT NULL'])}")
    if "LEFT" not in source or rng.random() < 0.3:
        inner = rng.choice(list(KEYS))
        inside = [_condition(rng, first, inner)] if rng.random() < 0.8 else []
        if rng.random() < 0.4:
            inside.append(f"{inner}.x {rng.choice(['IS NULL', 'IS NOT NULL', '= 2'])}")
        if rng.random() < 0.4:
            inside.append(_nested(rng, first, inner))
        if rng.random() < 0.2:
            where.append(_compared_with_one_row(rng, first))
        condition = f" WHERE {' AND '.join(inside)}" if inside else ""
        denied = rng.choice(["", "NOT "])
        column, other = _condition(rng, first, inner).replace("<", "=").split(" = ")
        if rng.random() < 0.5:
            where.append(f"{denied}EXISTS (SELECT 1 FROM {inner}{condition})")
        else:
            where.append(f"{column} {denied}IN (SELECT {other} FROM {inner}{condition})")
    return f"SELECT count(*) FROM {source}" + (f" WHERE {' AND '.join(where)}" if where else "")


def _nested(rng: random.Random, first: str, inner: str) -> str:
    """A semi-join inside the subquery of another: in its WHERE, or in that of a subquery of its FROM."""
    deep = rng.choice(list(KEYS)) + "2"
    tied = [_condition(rng, rng.choice([first, inner, inner]), deep) for _ in range(rng.choice([1, 2]))]
    rows = f"{deep[:-1]} AS {deep}"
    if rng.random() < 0.5:
        return f"EXISTS (SELECT 1 FROM {rows} WHERE {' AND '.join(tied)})"
    column, other = _condition(rng, inner, deep).replace("<", "=").split(" = ")
    if rng.random() < 0.5:
        rows = f"(SELECT * FROM {rows} WHERE {deep}.x IN (SELECT x FROM ward WHERE id < 4)) AS {deep}"
    return f"{column} IN (SELECT {other} FROM {rows} WHERE {' AND '.join(tied)})"


def _compared_with_one_row(rng: random.Random, first: str) -> str:
    """A comparison with a value of the row that a key finds, if it finds one."""
    table = rng.choice(list(KEYS))
    names = ["id", "x", *(column for column, _ in KEYS[first.rstrip("12")])]
    found = rng.choice([*(f"{first}.{name}" for name in names), "2"])
    sides = [f"{first}.{rng.choice(names)}", f"(SELECT {table}.x FROM {table} WHERE {table}.id = {found})"]
    rng.shuffle(sides)
    return f"{sides[0]} {rng.choice(['=', '<>', '<', '>='])} {sides[1]}"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened() as database:
        yield database


OWN = {
    "EXISTS": "SELECT count(*) FROM person AS p WHERE EXISTS (SELECT 1 FROM visit WHERE person = p.id AND x = 1)",
    "IN": "SELECT count(*) FROM visit WHERE id IN (SELECT l.visit FROM line AS l WHERE l.x = 2)",
    "NOT EXISTS": "SELECT count(*) FROM visit v WHERE NOT EXISTS (SELECT 1 FROM line AS l WHERE l.visit = v.id)",
    "NOT IN": "SELECT count(*) FROM person WHERE id NOT IN (SELECT person FROM visit WHERE x = 1)",
    "NOT IN of NULLs": "SELECT count(*) FROM person p WHERE x NOT IN (SELECT v.x FROM visit v WHERE v.person = p.id)",
    "LEFT JOIN": "SELECT count(*) FROM person AS p LEFT JOIN visit AS v ON v.person = p.id"
    " LEFT JOIN line AS l ON l.visit = v.id WHERE l.x IS NULL",
    "LEFT JOIN back": "SELECT count(*) FROM person AS p LEFT JOIN visit AS v ON v.person = p.id"
    " LEFT JOIN person AS q ON v.person = q.id WHERE q.id IS NULL",
    "RIGHT JOIN": "SELECT count(*) FROM line RIGHT JOIN visit ON line.visit = visit.id WHERE line.id IS NULL",
    "two owners": "SELECT count(*) FROM shared s WHERE NOT EXISTS (SELECT 1 FROM shared r WHERE r.id <> s.id"
    " AND r.person = s.person AND r.doctor = s.doctor)",
    "a compared row": "SELECT count(*) FROM visit v WHERE v.x <= (SELECT p.x FROM person p WHERE p.id = v.person)",
    "IN inside NOT EXISTS": "SELECT count(*) FROM person p WHERE NOT EXISTS (SELECT 1 FROM visit v"
    " WHERE v.person = p.id AND v.id IN (SELECT l.visit FROM line l WHERE l.x IN (SELECT x FROM ward)))",
}
"""By rule, a question over the owners' own rows."""

GROUPED = (
    "SELECT x, count(*) FROM visit v WHERE NOT EXISTS (SELECT 1 FROM line AS l WHERE l.visit = v.id) AND x IN (1, 2)"
    " GROUP BY 1",
    "SELECT x, count(*) FROM visit WHERE id NOT IN (SELECT visit FROM line WHERE visit IS NOT NULL) AND x IN (1, 2)"
    " GROUP BY 1",
    "SELECT CASE WHEN v.x = 1 THEN 'a' ELSE 'b' END, count(*) FROM person AS p LEFT JOIN visit AS v"
    " ON v.person = p.id GROUP BY 1",
)
"""Groups of rows beside which some are not there."""

FOUND = (
    "SELECT x, count(*) FROM visit v WHERE NOT EXISTS (SELECT 1 FROM line AS l WHERE l.visit = v.id) GROUP BY 1",
    "SELECT v.x, count(*) FROM person AS p LEFT JOIN visit AS v ON v.person = p.id GROUP BY 1",
    "SELECT p.x, count(*) FROM person AS p WHERE p.id NOT IN (SELECT person FROM visit) GROUP BY 1",
    "SELECT t.x, count(*) FROM (SELECT person, x, count(*) AS n FROM visit GROUP BY 1, 2) AS t WHERE n = 1"
    " GROUP BY 1",
    "SELECT p.x, count(*) FROM person AS p LEFT JOIN (SELECT person, count(*) AS n FROM visit GROUP BY 1) AS t"
    " ON t.person = p.id WHERE n IS NULL GROUP BY 1",
)
"""The same, and groups of persons, with keys that are found."""

OTHERS = {
    "EXISTS": "SELECT count(*) FROM person AS p WHERE EXISTS (SELECT 1 FROM visit AS v WHERE v.x = p.x)",
    "IN": "SELECT count(*) FROM visit WHERE x IN (SELECT x FROM line)",
    "NOT EXISTS": "SELECT count(*) FROM visit v WHERE NOT EXISTS (SELECT 1 FROM visit w WHERE w.id > v.id)",
    "NOT IN": "SELECT count(*) FROM person WHERE x NOT IN (SELECT person FROM visit)",
    "LEFT JOIN": "SELECT count(*) FROM person AS p LEFT JOIN visit AS v ON v.x = p.x",
    "two owners": "SELECT count(*) FROM shared s WHERE NOT EXISTS (SELECT 1 FROM shared r WHERE r.id <> s.id"
    " AND r.person = s.person)",
    "a compared row": "SELECT count(*) FROM visit v WHERE (SELECT p.x FROM person p WHERE p.id = v.x) IS NULL",
    "IN inside NOT EXISTS": "SELECT count(*) FROM person p WHERE NOT EXISTS (SELECT 1 FROM visit v"
    " WHERE v.person = p.id AND v.x IN (SELECT l.x FROM line l))",
    "a completion's name": "SELECT count(*) FROM line l LEFT JOIN visit v ON v.x = l.x",
    "an author": "SELECT count(*) FROM person p LEFT JOIN note ON note.author = p.id",
}
"""By rule, a question over rows of others."""

WITH_ANOTHER = (
    "SELECT count(*) FROM person AS p LEFT JOIN visit AS v ON v.person = p.id AND v.person = p.x"
    " LEFT JOIN visit AS w ON w.person = p.x"
)
"""Where v is there, p.x is p's own key, and so w is p's own; where v is not, w is anybody's."""


def test_one_person_changes_only_tuples_of_their_own(database: Database) -> None:
    for rule, text in OWN.items():
        assert checked(database, text, trials=examples(8, 60)) > 0, rule


def test_one_person_changes_only_tuples_of_their_own_in_random_questions(database: Database) -> None:
    rng, questions = random.Random(11 * SEED), examples(150, 250)
    check_random(database, lambda: _question(rng), rng, questions=questions, trials=3, least=questions // 15)


def test_samples_of_what_is_not_there_are_some_of_the_tuples(database: Database) -> None:
    """Of the tuples, not of the rows beside them: a tuple may not appear because such a row is not drawn."""
    rng, strategies = random.Random(13 * SEED), set()
    for text in [*OWN.values(), *(_question(rng) for _ in range(examples(60, 250)))]:
        for rate in (0.3, 0.7):
            plan = plan_of(text, sampling_rate=rate)
            assert (plan is None) == (plan_of(text) is None), text
            if plan is not None and plan.sampling is not None:
                strategies.add(plan.sampling.strategy)
                check_sample(database, text, plan, rng)
    assert strategies >= {"pushdown", "thinning"}


def test_one_person_changes_only_groups_of_their_own(database: Database) -> None:
    for text in GROUPED:
        for policy, mechanism in ((CONTRACT, "l1_clip"), (CONTRACT, "group_lp"), (FINDING, "l2_clip")):
            plan = planned(text, SCHEMA, policy, mechanism=mechanism)
            assert checked(database, text, examples(5, 100), plan) > 0, text
        assert planned(text, SCHEMA, CONTRACT).mechanism == "l1_clip"
    for text in FOUND:
        plan = planned(text, SCHEMA, FINDING)
        assert plan.selection is not None and plan.selection.votes == (plan.bounds.groups is None)
        assert checked(database, text, examples(10, 100), plan) > 0, text


def test_a_question_over_rows_of_others_is_refused() -> None:
    assert [text for text in (*OTHERS.values(), WITH_ANOTHER) if plan_of(text) is not None] == []


def test_questions_mean_what_plain_sql_says(database: Database) -> None:
    assert _compared(database, questions=examples(80, 150)) > examples(30, 50)


def _compared(database: Database, questions: int) -> int:
    """How many answers were compared with plain SQL, over rows that all stand; raises at the first that differs."""
    rng, compared = random.Random(5 * SEED), 0
    for text in [*OWN.values(), *(_question(rng) for _ in range(questions))]:
        plan = plan_of(text)
        if plan is None:
            continue
        query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
        for _ in range(examples(3, 20) if text in OWN.values() else 3):
            rows = some_rows(rng)
            standing = {name: [row for row in held if stands(rows, name, row)] for name, held in rows.items()}
            database.fill(standing, query)
            tuples = database.tuples(query)
            ((plain,),) = database.connection.execute(text).fetchall()
            assert sum(tuples.values()) == plain << 30, text
            compared += 1
    return compared


@pytest.mark.slow
def test_a_mutant_that_asks_nobody_whose_rows_they_are_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_rows._OwnRows, "_not_own", lambda *_: None)
    for text in OTHERS.values():
        with pytest.raises(AssertionError, match="SELECT"):
            checked(database, text, trials=400)


@pytest.mark.slow
def test_a_mutant_that_takes_all_optional_rows_to_be_there_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(self: own_rows._OwnRows, entry: BoundTable) -> list[BoundTable]:
        return [other for other in self.query.tables if other.optional and other != entry]

    monkeypatch.setattr(own_rows._OwnRows, "_there_with", everything)
    with pytest.raises(AssertionError, match="SELECT"):
        checked(database, WITH_ANOTHER, trials=400)


@pytest.mark.slow
def test_a_mutant_that_forgets_what_is_unknown_in_not_in_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With x = k alone for NOT IN, a row with NULL decides nothing, which is not what SQL says."""
    monkeypatch.setattr(semi_joins, "_may_be_null", lambda *_: False)
    with pytest.raises(AssertionError):
        _compared(database, questions=1_000)
