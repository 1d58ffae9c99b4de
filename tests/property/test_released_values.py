"""Released values beside private rows: whatever they are, who leaves takes no tuple of anybody else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from planner.errors import PlannerError
from planner.postprocessing.write_outer import Relation
from planner.schema import Dialect
from server.postprocessing.composition import Composition
from tests.golden.benchmark import planned
from tests.property.clinic_world import CONTRACT, SCHEMA, Database, carries, less_of, opened, some_rows
from tests.support.seeds import SEED, examples

_SCALARS = (
    "(SELECT count(*) FROM visit)",
    "(SELECT count(*) / 3 FROM person WHERE x = 1)",
    "(SELECT count(DISTINCT v.person) FROM visit AS v)",
    "(SELECT max(n) FROM (SELECT w.id, count(*) AS n FROM visit AS v JOIN ward AS w ON w.id = v.x GROUP BY 1) AS t)",
    "(SELECT count(*) FROM visit AS o JOIN ward AS w ON w.id = o.x WHERE w.id = a.x)",
)
_LISTS = (
    "SELECT w.id FROM visit AS v JOIN ward AS w ON w.id = v.x GROUP BY w.id ORDER BY count(*) DESC LIMIT 2",
    "SELECT w.id FROM person AS p JOIN ward AS w ON w.id = p.x GROUP BY w.id HAVING count(*) > 1",
)
_JOINED = (
    ", (SELECT count(*) AS n FROM visit) AS t",
    " JOIN (SELECT w.id, count(*) AS n FROM visit AS v JOIN ward AS w ON w.id = v.x GROUP BY w.id) AS t"
    " ON t.id = a.x",
)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with opened() as database:
        yield database


def statement(rng: random.Random) -> str:
    """A count of private rows by one or two conditions that read answers, perhaps in groups."""
    table = rng.choice(("person", "visit", "shared"))
    scalar, other = rng.sample(_SCALARS, 2)
    listed = f"a.x IN ({rng.choice(_LISTS)})"
    joined = rng.choice(("", "", "", *_JOINED))
    conditions = [f"a.x {rng.choice('<>=')} {scalar}", f"NOT a.x > {scalar}", listed, f"a.x = 1 OR a.x < {scalar}"]
    chosen = [rng.choice(conditions), *([f"a.x <> {other}"] if rng.random() < 0.3 else [])]
    chosen += ["a.x < t.n"] if joined else []
    key = rng.choice(("", "", f"CASE WHEN a.x > {scalar} THEN 'more' ELSE 'less' END"))
    shown = rng.choice(("count(*)", f"count(*) FILTER (WHERE a.x < {scalar})", "count(DISTINCT a.x)"))
    grouped = f" GROUP BY {key}" if key else ""
    return (
        f"SELECT {f'{key}, ' if key else ''}{shown} FROM {table} AS a{joined} WHERE {' AND '.join(chosen)}{grouped}"
    )


def _composition(text: str) -> Composition | None:
    try:
        found = planned(text, SCHEMA, CONTRACT, "duckdb")
    except PlannerError:
        return None
    return found if isinstance(found, Composition) and found.tables else None


def _some_values(relation: Relation, rng: random.Random) -> list[tuple[object, ...]]:
    """Rows with NULL and repeated keys, which no answer has."""
    columns = [name for name, _ in relation.columns if name != "noisegate one"]
    return [tuple(rng.choice((None, 0, 1, 2, 3)) for _ in columns) for _ in range(rng.randint(0, 6))]


def _check_removal(database: Database, composition: Composition, rng: random.Random) -> int:
    carried = 0
    for part in composition.parts:
        tables = [one.released.with_rows(_some_values(one.released.relation, rng)) for one in part.tables]
        query = part.question.over(tables, "duckdb").query
        if not tables or query.join is None:
            continue
        rows = some_rows(rng)
        less, unit = less_of(rows, rng)
        database.fill(rows, query)
        more = database.tuples(query)
        database.fill(less, query)
        fewer = database.tuples(query)
        left = {owners: weight for owners, weight in more.items() if carries(query, owners, unit)}
        assert {owners: weight for owners, weight in more.items() if owners not in left} == fewer
        bounds = part.question.plan.bounds
        assert sum(left.values()) <= (bounds.tuples or 999) << 30
        carried += len(left)
    return carried


def test_who_leaves_takes_their_own_tuples(database: Database) -> None:
    rng, read, carried = random.Random(SEED), 0, 0
    questions = examples(40, 1_000)
    for _ in range(questions):
        composition = _composition(statement(rng))
        if composition is not None:
            read += 1
            carried += sum(_check_removal(database, composition, rng) for _ in range(6))
    assert read > questions // 2
    assert carried > read // 10, "half a tuple a question is expected"


def test_a_mutant_that_lets_a_key_repeat_is_caught(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Relation.sql

    def sql(relation: Relation, dialect: Dialect) -> str:
        return own(replace(relation, keys=()), dialect)

    monkeypatch.setattr(Relation, "sql", sql)
    composition = _composition(f"SELECT count(*) FROM person AS a{_JOINED[1]} WHERE a.x < t.n")
    assert composition is not None
    rng = random.Random(1)
    with pytest.raises(AssertionError):
        for _ in range(300):
            _check_removal(database, composition, rng)
