"""Per-person tables over random worlds: what they mean in plain SQL, and what one person can change."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from planner.plan import Plan
from planner.planning import make_plan, person_tables
from planner.rewriting.rewrite import rewrite
from planner.sensitivity import groups_per_unit
from tests.property.clinic_world import (
    SCHEMA,
    Database,
    carries,
    check_random,
    check_sample,
    checked,
    less_of,
    opened,
    plan_of,
    some_rows,
    stands,
)
from tests.support.seeds import SEED, examples

_PER_PERSON = "(SELECT person, count(*) AS n, max(x) AS m FROM visit GROUP BY person)"
_PER_VISIT = "(SELECT visit, count(*) AS n, min(x) AS m FROM line GROUP BY visit)"

OWN = {
    "a count": f"SELECT count(*) FROM {_PER_PERSON} AS t WHERE n > 1",
    "having": "SELECT count(*) FROM (SELECT person FROM visit GROUP BY person"
    " HAVING max(x) = 2 AND count(x) < 3) AS t",
    "an extreme": f"SELECT count(*) FROM {_PER_PERSON} AS t WHERE m = 1",
    "WITH": f"WITH t AS {_PER_PERSON} SELECT count(*) FROM t JOIN person AS p ON p.id = t.person WHERE p.x < n",
    "LEFT JOIN": f"SELECT count(*) FROM person AS p LEFT JOIN {_PER_PERSON} AS t ON t.person = p.id WHERE n IS NULL",
    "two": f"SELECT count(*) FROM {_PER_PERSON} AS t JOIN (SELECT v.person, count(*) AS k FROM line AS l"
    " JOIN visit AS v ON v.id = l.visit GROUP BY 1) AS u ON u.person = t.person WHERE k >= n",
    "several a person": "SELECT count(*) FROM (SELECT person, x, count(*) AS n FROM visit GROUP BY 1, 2) AS t"
    " WHERE n > 1",
    "a row of theirs": f"SELECT count(*) FROM {_PER_VISIT} AS t WHERE n > 1",
    "joined to its row": f"SELECT count(*) FROM {_PER_VISIT} AS t JOIN visit AS v ON v.id = t.visit WHERE n >= v.x",
    "nested": f"SELECT count(*) FROM (SELECT v.person, max(n) AS most FROM {_PER_VISIT} AS t"
    " JOIN visit AS v ON v.id = t.visit GROUP BY v.person) AS u WHERE most > 1",
    "optional rows inside": "SELECT count(*) FROM (SELECT p.id, count(v.id) AS n FROM person AS p"
    " LEFT JOIN visit AS v ON v.person = p.id GROUP BY p.id) AS t WHERE n < 2",
    "absent rows inside": "SELECT count(*) FROM (SELECT v.person, count(*) AS n FROM visit AS v WHERE NOT EXISTS"
    " (SELECT 1 FROM line AS l WHERE l.visit = v.id) GROUP BY 1) AS t WHERE n > 1",
    "distinct": "SELECT count(*) FROM (SELECT DISTINCT person, x FROM visit) AS t JOIN ward AS w ON w.id = t.x",
    "public rows inside": "SELECT count(*) FROM (SELECT v.person, count(*) AS n FROM visit AS v JOIN ward AS w"
    " ON w.x = v.x GROUP BY 1) AS t WHERE n > 1",
    "distinct values": "SELECT count(*) FROM (SELECT person, count(DISTINCT x) AS k FROM visit GROUP BY 1) t"
    " WHERE k > 1",
    "in groups": "SELECT count(*) FROM visit AS v WHERE v.person IN"
    " (SELECT person FROM visit GROUP BY person HAVING count(*) > 1)",
    "not in groups": "SELECT count(*) FROM person AS p WHERE p.id NOT IN"
    " (SELECT person FROM visit GROUP BY person HAVING min(x) = 1)",
}
"""By form, a question whose groups are each one person's."""

OTHERS = {
    "no key": "SELECT count(*) FROM (SELECT x, count(*) AS n FROM visit GROUP BY x) AS t WHERE n > 1",
    "two owners": "SELECT count(*) FROM (SELECT person, count(*) AS n FROM shared GROUP BY person) AS t WHERE n > 1",
    "another's rows": "SELECT count(*) FROM (SELECT v.person, count(*) AS n FROM visit AS v JOIN visit AS w"
    " ON w.x = v.x GROUP BY v.person) AS t WHERE n > 1",
    "a join that is no key": "SELECT count(*) FROM (SELECT p.id, count(v.id) AS n FROM person AS p"
    " LEFT JOIN visit AS v ON v.x = p.x GROUP BY p.id) AS t WHERE n > 1",
    "exists": "SELECT count(*) FROM (SELECT v.person, count(*) AS n FROM visit AS v WHERE EXISTS"
    " (SELECT 1 FROM visit AS w WHERE w.x = v.x AND w.id <> v.id) GROUP BY 1) AS t WHERE n > 1",
    "an author": "SELECT count(*) FROM (SELECT author, count(*) AS n FROM note GROUP BY author) AS t WHERE n > 1",
    "in another's groups": "SELECT count(*) FROM visit AS v WHERE v.x IN"
    " (SELECT person FROM visit GROUP BY person HAVING count(*) > 1)",
    "beside others": f"SELECT count(*) FROM person AS p LEFT JOIN {_PER_PERSON} AS t ON t.n = p.x",
}
"""By form, a question of which one person could change another's row."""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened() as database:
        yield database


def _question(rng: random.Random) -> str:
    """A subquery that groups one or two tables by some columns, perhaps in another one, joined to some table."""
    inner, key = _grouped(rng)
    if rng.random() < 0.3:
        inner = f"SELECT {key}, max(n) AS n, count(*) AS m FROM ({inner}) AS s GROUP BY {key}"
    source = f"({inner}) AS t"
    others = ("person", "visit", "line", "shared", "note", "branch", "ward")
    if rng.random() < 0.6:
        other = rng.choice(others)
        column = rng.choice(
            ["id", "id", "x", {"visit": "person", "line": "visit", "shared": "person"}.get(other, "id")]
        )
        kind = rng.choice(["JOIN", "JOIN", "LEFT JOIN"])
        left = rng.choice([key, key, key, "n"])
        source = f"{source} {kind} {other} AS o ON o.{column} = t.{left}"
        if rng.random() < 0.3:
            source = f"{other} AS o LEFT JOIN ({inner}) AS t ON t.{left} = o.{column}"
    where = rng.choice(["n > 1", "n = 1", "n IS NULL", "m = 1", "n < 3 OR m = 2", "t.n >= t.m"])
    return f"SELECT count(*) FROM {source} WHERE {where}"


def _grouped(rng: random.Random) -> tuple[str, str]:
    table, key = rng.choice(
        [
            ("visit AS a", "person"),
            ("visit AS a", "id"),
            ("line AS a", "visit"),
            ("line AS a JOIN visit AS v ON v.id = a.visit", "person"),
            ("shared AS a", "person"),
            ("note AS a", rng.choice(["person", "author"])),
            ("branch AS a", rng.choice(["person", "above", "id"])),
            ("person AS a LEFT JOIN visit AS v ON v.person = a.id", "a.id"),
            ("visit AS a JOIN ward AS w ON w.id = a.x", "person"),
            ("visit AS a JOIN visit AS v ON v.x = a.x", "a.person"),
            ("visit AS a JOIN visit AS v ON v.person = a.person", "a.person"),
        ]
    )
    more = rng.choice(["", "", "", ", a.x"])
    having = rng.choice(["", "", " HAVING count(*) > 1", " HAVING min(a.x) = 1"])
    counted = rng.choice(["count(*)", "count(a.x)", "max(a.x)", "count(DISTINCT a.x)"])
    where = rng.choice(["", "", " WHERE a.x = 2", " WHERE EXISTS (SELECT 1 FROM line AS l WHERE l.visit = a.id)"])
    shown = f"{key} AS k{', a.x AS y' if more else ''}, {counted} AS n, min(a.x) AS m"
    return f"SELECT {shown} FROM {table}{where} GROUP BY {key}{more}{having}", "k"


def test_one_person_changes_only_rows_of_their_own(database: Database) -> None:
    for form, text in OWN.items():
        assert checked(database, text, trials=examples(8, 120)) > 0, form


def test_one_person_changes_only_rows_of_their_own_in_random_questions(database: Database) -> None:
    """Of each that is answered, which a quarter of them are."""
    rng, questions = random.Random(23 * SEED), examples(40, 1_800)
    check_random(database, lambda: _question(rng), rng, questions=questions, trials=6, least=questions // 8)


def test_rows_that_others_could_change_are_refused() -> None:
    assert [form for form, text in OTHERS.items() if plan_of(text) is not None] == []


def test_questions_mean_what_plain_sql_says(database: Database) -> None:
    rng, compared = random.Random(7 * SEED), 0
    for text in [*OWN.values(), *(_question(rng) for _ in range(examples(50, 400)))]:
        plan = plan_of(text)
        if plan is None:
            continue
        query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
        for _ in range(examples(3, 20) if text in OWN.values() else 3):
            rows = some_rows(rng)
            database.fill(
                {name: [row for row in held if stands(rows, name, row)] for name, held in rows.items()}, query
            )
            tuples = database.tuples(query)
            ((plain,),) = database.connection.execute(text).fetchall()
            assert sum(tuples.values()) == plain << 30, text
            compared += 1
    assert compared > examples(40, 500)


GROUPED = (
    f"SELECT least(n, 3) AS k, count(*) FROM {_PER_PERSON} AS t GROUP BY 1",
    f"SELECT coalesce(n, 0) AS k, count(*) FROM person p LEFT JOIN {_PER_PERSON} t ON t.person = p.id"
    " WHERE n < 9 OR n IS NULL GROUP BY 1",
    f"SELECT m AS k, count(*) FROM {_PER_PERSON} AS t WHERE m IN (1, 2) GROUP BY 1",
    f"SELECT CASE WHEN n > 1 THEN 'often' ELSE 'once' END AS k, count(*) FROM {_PER_PERSON} AS t GROUP BY 1",
    f"SELECT w.x AS k, count(*) FROM {_PER_PERSON} AS t JOIN ward AS w ON w.id = n GROUP BY 1",
    f"SELECT p.x AS k, count(*) FROM {_PER_PERSON} AS t JOIN person AS p ON p.id = t.person"
    " WHERE n > 1 AND p.x IN (1, 2) GROUP BY 1",
    "SELECT CASE WHEN t.k IS NULL THEN 'no' ELSE 'yes' END AS k, count(*) FROM person p"
    " LEFT JOIN (SELECT DISTINCT person AS k FROM visit) t ON t.k = p.id GROUP BY 1",
    "WITH t AS (SELECT DISTINCT person FROM visit) SELECT CASE WHEN t.person IS NULL THEN 0 ELSE 1 END AS k, count(*)"
    " FROM person p LEFT JOIN t ON t.person = p.id GROUP BY 1",
    "SELECT CASE WHEN p.x IS NULL THEN 'no' ELSE 'yes' END AS k, count(*) FROM (SELECT DISTINCT person FROM visit) t"
    " LEFT JOIN person p ON p.id = t.person GROUP BY 1",
    "SELECT CASE WHEN n.id IS NULL THEN 0 ELSE 1 END AS k, count(*) FROM (SELECT person FROM visit GROUP BY 1) t"
    " LEFT JOIN person n ON n.id = t.person WHERE EXISTS (SELECT 1 FROM note o WHERE o.person = t.person) GROUP BY 1",
)

PAIRS = (
    f"SELECT t.n AS k, count(*) FROM shared AS s JOIN {_PER_PERSON} AS t ON t.person = s.person WHERE t.n < 4"
    " GROUP BY 1",
    f"SELECT t.n AS k, count(*) FROM {_PER_PERSON} AS t JOIN (SELECT person, max(x) AS m FROM visit GROUP BY 1) AS u"
    " ON u.m = t.n WHERE t.n < 4 GROUP BY 1",
    f"SELECT t.n AS k, count(*) FROM {_PER_PERSON} AS t JOIN {_PER_PERSON} AS u ON u.n = t.n WHERE t.n < 4"
    " GROUP BY 1",
    f"SELECT t.n AS k, s.x AS l, count(*) FROM shared AS s JOIN {_PER_PERSON} AS t ON t.person = s.person"
    " WHERE t.n < 4 AND s.x IN (1, 2) GROUP BY 1, 2",
    f"SELECT least(t.n, 2) AS k, least(u.n, 2) AS l, count(*) FROM {_PER_PERSON} AS t JOIN {_PER_PERSON} AS u"
    " ON u.m = t.m GROUP BY 1, 2",
    f"SELECT t.n AS k, count(*) FROM {_PER_PERSON} AS t JOIN note AS o ON o.person = t.person JOIN doctor AS d"
    " ON d.id = o.author WHERE t.n < 4 GROUP BY 1",
    f"SELECT t.n AS k, d.x AS l, count(*) FROM shared AS s JOIN {_PER_PERSON} AS t ON t.person = s.person"
    " JOIN doctor AS d ON d.id = s.doctor WHERE t.n < 4 AND d.x IN (1, 2) GROUP BY 1, 2",
)
"""Groups by what the rows of one of several owners are."""


def test_two_people_behind_a_row_change_no_more_than_the_plan_says(database: Database) -> None:
    kinds = 0
    for text in PAIRS:
        plan = _grouped_plan(text)
        assert len(plan.owners) == 2
        kinds += bool(plan.bounds.kinds)
        assert checked(database, text, examples(12, 250)) > 0, text
    assert kinds > 3, "what follows from one of them is used"


def test_samples_of_persons_are_some_of_their_rows(database: Database) -> None:
    rng, drawn = random.Random(41 * SEED), 0
    for text in [*OWN.values(), *PAIRS, *(_question(rng) for _ in range(examples(40, 250)))]:
        plan = plan_of(text, sampling_rate=0.5)
        assert (plan is None) == (plan_of(text) is None), text
        if plan is not None:
            drawn += plan.sampling is not None
            check_sample(database, text, plan, rng)
    assert drawn > len(OWN)


def test_one_person_changes_no_more_groups_than_the_plan_says(database: Database) -> None:
    for text in GROUPED:
        most = _grouped_plan(text).bounds.groups
        assert 0 < _most_changed(database, text, examples(12, 250)) <= (most or 99), text


def _grouped_plan(text: str) -> Plan:
    plan = plan_of(text)
    assert plan is not None, "it must be answered"
    return plan


def _most_changed(database: Database, text: str, trials: int = 250, enough: int | None = None) -> int:
    """The most groups in which tuples vanish, over many people who leave, or until it is `enough`.

    That no others do is checked beside it.
    """
    plan, rng, most = _grouped_plan(text), random.Random(len(text)), 0
    query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
    owned = len(query.relations)
    tried = 0
    while tried < trials or (not most and tried < 250):
        tried += 1
        rows = some_rows(rng)
        less, unit = less_of(rows, rng)
        database.fill(rows, query)
        before = database.tuples(query)
        database.fill(less, query)
        after = database.tuples(query)
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        assert all(carries(query, key, unit) and key not in after for key in changed), text
        most = max(most, len({key[owned:] for key in changed}))
        if enough is not None and most >= enough:
            break
    return most


def _random_groups(rng: random.Random) -> str:
    """Groups of persons, by what their rows are, which stand alone, optionally, or beside others."""
    inner = rng.choice(
        [
            "SELECT person AS k, count(*) AS n, max(x) AS m FROM visit GROUP BY person",
            "SELECT DISTINCT person AS k, 1 AS n, 2 AS m FROM visit",
            "SELECT DISTINCT person AS k, person AS n, x AS m FROM visit",
            "SELECT v.person AS k, count(l.id) AS n, min(l.x) AS m FROM visit AS v"
            " LEFT JOIN line AS l ON l.visit = v.id GROUP BY v.person",
            "SELECT person AS k, x AS n, count(*) AS m FROM visit GROUP BY 1, 2",
            "SELECT id AS k, person AS n, count(*) AS m FROM visit GROUP BY 1, 2",
            "SELECT person AS k, count(*) AS n, max(x) AS m FROM branch GROUP BY person",
        ]
    )
    other, key = rng.choice([("person", "id"), ("visit", "person"), ("visit", "id"), ("note", "person")])
    source = rng.choice(
        [
            f"({inner}) AS t JOIN {other} AS o ON o.{key} = t.k",
            f"({inner}) AS t LEFT JOIN {other} AS o ON o.{key} = t.k",
            f"{other} AS o LEFT JOIN ({inner}) AS t ON t.k = o.{key}",
            f"({inner}) AS t JOIN ward AS o ON o.id = t.n",
        ]
    )
    value = rng.choice(["t.n > 1", "t.k IS NULL", "t.m = 2", "o.x IS NULL", "o.id IS NULL", "o.x = t.n"])
    group = rng.choice([f"CASE WHEN {value} THEN 'a' ELSE 'b' END", f"{value}", "least(t.n, 2)", "o.x"])
    where = rng.choice(["", " WHERE t.n < 3", " WHERE EXISTS (SELECT 1 FROM note AS e WHERE e.person = t.k)"])
    more = " WHERE o.x IN (1, 2)" if group == "o.x" else where
    return f"SELECT {group} AS g, count(*) FROM {source}{more} GROUP BY 1"


def test_one_person_changes_no_more_groups_in_random_questions(database: Database) -> None:
    rng, answered, bounded = random.Random(31 * SEED), 0, 0
    questions = examples(50, 700)
    for _ in range(questions):
        text = _random_groups(rng)
        plan = plan_of(text)
        if plan is None:
            continue
        answered += 1
        if plan.bounds.groups is not None:
            bounded += 1
            assert _most_changed(database, text, examples(2, 4)) <= plan.bounds.groups, text
    assert answered > questions // 10
    assert bounded > questions // 20


def test_a_histogram_of_counts_changes_in_one_group(database: Database) -> None:
    """Whoever leaves takes the one row that there was; two people behind a row determine a group each, or neither."""
    assert _most_changed(database, GROUPED[0], examples(30, 250)) == _grouped_plan(GROUPED[0]).bounds.groups == 1
    assert _grouped_plan(GROUPED[5]).bounds.groups == 1
    assert _grouped_plan(PAIRS[0]).bounds.groups is None
    assert _most_changed(database, PAIRS[0], 2_000, enough=2) == 2
    assert _most_changed(database, PAIRS[1], 80) == _grouped_plan(PAIRS[1]).bounds.groups == 2


@pytest.mark.slow
def test_a_mutant_that_asks_one_owner_what_follows_from_it_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        make_plan, "groups_per_unit", lambda owners, *rest: groups_per_unit.groups_per_unit(owners[:1], *rest)
    )
    for text in PAIRS[:2]:
        assert _most_changed(database, text) > (_grouped_plan(text).bounds.groups or 99)


@pytest.mark.slow
def test_a_mutant_that_asks_nobody_whose_groups_they_are_is_caught(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_tables, "_owner", lambda found: found.owners[0])
    for form in ("two owners", "another's rows"):
        with pytest.raises(AssertionError, match="SELECT"):
            checked(database, OTHERS[form], trials=400)
