"""Questions about rows of one order, over random worlds in which an order may have lines of several people.

`one_owner` is a false declaration there, and removing a person still removes tuples of that person alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import duckdb
import pytest

from planner.errors import UnsupportedSQL
from planner.plan import Plan
from planner.planning import person_tables
from planner.policy.policy import Policy, parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, ForeignKey, Schema, Table
from planner.sensitivity import own_rows
from tests.support.planning import planned
from tests.support.seeds import SEED, examples

POLICY = """
name = "shop"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
unbounded_joins = true
[privacy_units]
person = "id"
[tables.person]
[tables.refund]
[tables.line]
one_owner = ["number"]
"""
OWNED, UNITS = parse_policy(POLICY), parse_policy(f"{POLICY}rows_are_units = true\n")


def _table(name: str, columns: dict[str, bool], key: tuple[str, ...], references: tuple[ForeignKey, ...]) -> Table:
    found = tuple(Column(column, "bigint", nullable=nullable) for column, nullable in columns.items())
    return Table(name, "main", found, (key,), references)


_KEY = ("item", "number")
_LINE = {"item": False, "number": False, "buyer": True, "x": True}
SCHEMA = Schema(
    {
        "person": _table("person", {"id": False}, ("id",), ()),
        "line": _table("line", _LINE, _KEY, (ForeignKey(("buyer",), "person", ("id",)),)),
        "refund": _table("refund", {"item": False, "number": False}, _KEY, (ForeignKey(_KEY, "line", _KEY),)),
    }
)

QUESTIONS = {
    "EXISTS": "SELECT count(*) FROM line a WHERE EXISTS (SELECT * FROM line b WHERE b.number = a.number"
    " AND b.x <> a.x)",
    "NOT EXISTS": "SELECT count(*) FROM line a WHERE NOT EXISTS (SELECT 1 FROM line b WHERE a.number = b.number"
    " AND b.item < a.item)",
    "IN": "SELECT count(*) FROM line a WHERE a.number IN (SELECT number FROM line b WHERE b.x = 1)",
    "NOT IN": "SELECT count(*) FROM line a WHERE a.number NOT IN (SELECT number FROM line b WHERE b.x = 1)",
    "no refund": "SELECT count(*) FROM line a WHERE NOT EXISTS (SELECT 1 FROM refund r WHERE r.number = a.number)",
    "of a refund": "SELECT count(*) FROM refund r WHERE EXISTS (SELECT 1 FROM line b WHERE r.number = b.number"
    " AND b.item <> r.item)",
    "two refunds": "SELECT count(*) FROM refund r WHERE NOT EXISTS (SELECT 1 FROM refund s WHERE s.number = r.number"
    " AND s.item <> r.item)",
    "many rows": "SELECT count(*) FROM refund r JOIN line a ON a.number = r.number AND a.item = r.item JOIN refund s"
    " ON s.number = a.number AND s.item = a.item WHERE EXISTS (SELECT 1 FROM refund t WHERE t.number = r.number"
    " AND t.item <> s.item)",
    "many groups": "SELECT count(*) FROM (SELECT r.number, count(*) AS n FROM refund r JOIN refund s ON"
    " s.number = r.number AND s.item = r.item WHERE EXISTS (SELECT 1 FROM refund t WHERE t.number = r.number)"
    " GROUP BY r.number) p WHERE n = 1",
    "a self-join inside": "WITH two AS (SELECT a.number FROM line a, line b WHERE a.number = b.number AND a.x <> b.x)"
    " SELECT count(*) FROM line c WHERE c.number IN (SELECT number FROM two) AND c.number IN"
    " (SELECT r.number FROM refund r, two WHERE r.number = two.number)",
    "LEFT JOIN": "SELECT count(*) FROM line a LEFT JOIN line b ON b.number = a.number AND b.item > a.item"
    " WHERE b.item IS NULL",
    "a self-join": "SELECT count(*) FROM line a JOIN line b ON b.number = a.number AND b.item > a.item",
    "inside a subquery per person": "SELECT avg(n) FROM (SELECT buyer, count(*) AS n FROM line a WHERE EXISTS"
    " (SELECT 1 FROM line b WHERE b.number = a.number AND b.item > a.item) GROUP BY buyer) p",
    "groups": "SELECT count(*) FROM (SELECT number, count(*) AS n FROM line GROUP BY number) p WHERE n = 2",
    "groups of refunds": "SELECT count(*) FROM (SELECT number FROM refund GROUP BY number HAVING count(*) < 3) p",
    "a group beside its rows": "SELECT count(*) FROM line a JOIN (SELECT number, count(*) AS n FROM refund"
    " GROUP BY number) r ON r.number = a.number WHERE n = 2",
    "IN groups": "SELECT count(*) FROM line WHERE number IN (SELECT number FROM line GROUP BY number"
    " HAVING count(*) > 1)",
    "a scalar subquery": "SELECT count(*) FROM line a WHERE (SELECT count(*) FROM line b WHERE b.number = a.number"
    " AND b.x = 1) = 1",
    "a value of CASE": "SELECT count(CASE WHEN EXISTS (SELECT 1 FROM refund r WHERE r.number = a.number) THEN 1 END)"
    " FROM line a",
    "a window": "SELECT count(*) FROM (SELECT x, row_number() OVER (PARTITION BY number ORDER BY item) AS n"
    " FROM line) p WHERE n = 2",
    "DISTINCT ON": "SELECT count(*) FROM (SELECT DISTINCT ON (number) number, x FROM line ORDER BY number, item) p"
    " WHERE x = 1",
}
"""By construct, a question about the rows of one order."""

ORPHANS_APART = {"inside a subquery per person", "a window", "DISTINCT ON"}
"""Not asked where rows may be people themselves."""

Rows = dict[str, list[tuple[int | None, ...]]]


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, table in SCHEMA.tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{one.name} bigint' for one in table.columns)})")
        yield connection


def _rows(rng: random.Random, *, declared: bool) -> Rows:
    """Lines and refunds of up to four orders; `declared`: an order is one person's, and nobody is unknown."""
    buyer = {number: rng.randint(1, 3) for number in range(1, 5)}
    keys = [(item, number) for item in range(1, 4) for number in buyer if rng.random() < 0.6]
    buyers = {key: buyer[key[1]] if declared else rng.choice([1, 1, 2, 3, None]) for key in keys}
    lines: list[tuple[int | None, ...]] = [(*key, buyers[key], rng.choice([1, 1, 2, None])) for key in keys]
    return {
        "person": [(1,), (2,), (3,)],
        "line": lines,
        "refund": [line[:2] for line in lines if rng.random() < 0.4],
    }


def _without(rows: Rows, unit: tuple[str, object]) -> Rows:
    lines = [line for line in rows["line"] if _owner(line) != unit]
    left = {line[:2] for line in lines}
    people = [one for one in rows["person"] if ("person", one[0]) != unit]
    return {"person": people, "line": lines, "refund": [one for one in rows["refund"] if one in left]}


def _owner(line: tuple[int | None, ...]) -> tuple[str, object]:
    item, number, buyer, _ = line
    return ("person", buyer) if buyer is not None else ("line", f"1:{item}1:{number}")


def _fill(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    script = []
    for name, held in rows.items():
        values = [", ".join("NULL" if one is None else str(one) for one in row) for row in held]
        script += [f"DELETE FROM {name}", *([f"INSERT INTO {name} VALUES ({'), ('.join(values)})"] if held else [])]
    connection.execute("; ".join(script))


def _tuples(connection: duckdb.DuckDBPyConnection, plan: Plan) -> dict[tuple[object, ...], object]:
    query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
    assert query.join is not None
    relations = len(query.relations)
    found = connection.execute(query.join).fetchall()
    owned = [row for row in found if any(owner is not None for owner in row[:relations])]
    return {(*zip(query.relations, row, strict=False), *row[relations:-1]): row[-1] for row in owned}


def _carried(connection: duckdb.DuckDBPyConnection, text: str, policy: Policy, trials: int, seed: int) -> int:
    """Remove a person, or a line of nobody's, from random rows; how many tuples these had."""
    plan, rng, carried = planned(text, SCHEMA, policy), random.Random(seed), 0
    for _ in range(trials):
        rows = _rows(rng, declared=False)
        units = [("person", 1), ("person", 2), *map(_owner, rows["line"])]
        unit = rng.choice([one for one in units if policy is UNITS or one[0] == "person"])
        _fill(connection, rows)
        more = _tuples(connection, plan)
        _fill(connection, _without(rows, unit))
        assert {held: one for held, one in more.items() if unit not in held} == _tuples(connection, plan), text
        carried += sum(unit in held for held in more)
    return carried


def _asked(policy: Policy) -> list[str]:
    return [text for name, text in QUESTIONS.items() if policy is OWNED or name not in ORPHANS_APART]


@pytest.mark.parametrize("policy", [OWNED, UNITS], ids=["owned", "units"])
def test_a_false_declaration_changes_nobody_elses_tuples(database: duckdb.DuckDBPyConnection, policy: Policy) -> None:
    for text in _asked(policy):
        assert _carried(database, text, policy, examples(12, 300), SEED) > 0, text


def test_a_mutant_that_believes_the_declaration_is_caught(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_rows._OwnRows, "_not_own", lambda *_: None)
    for name in ("EXISTS", "NOT EXISTS", "no refund", "two refunds", "LEFT JOIN"):
        with pytest.raises(AssertionError, match="SELECT"):
            _carried(database, QUESTIONS[name], UNITS, 200, 7)


def test_a_mutant_that_parts_windows_by_the_declared_key_alone_is_caught(
    database: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_tables, "_parted", lambda value, _: value)
    with pytest.raises(AssertionError, match="SELECT"):
        _carried(database, QUESTIONS["a window"], OWNED, 200, 7)


def test_where_the_declaration_is_true_questions_mean_what_plain_sql_says(
    database: duckdb.DuckDBPyConnection,
) -> None:
    rng = random.Random(3 * SEED)
    for name, text in QUESTIONS.items():
        if name in ORPHANS_APART:
            continue
        for policy in (OWNED, UNITS):
            plan = planned(text, SCHEMA, policy)
            assert any("number only where their owner is the same" in note for note in plan.notes)
            for _ in range(examples(5, 60)):
                _fill(database, _rows(rng, declared=True))
                ((plain,),) = database.execute(text).fetchall()
                weights = [weight for weight in _tuples(database, plan).values() if isinstance(weight, int)]
                assert sum(weights) == plain << 30, text


def test_a_refusal_names_the_declaration_that_answers_the_question() -> None:
    undeclared = parse_policy(POLICY.replace('one_owner = ["number"]', "").replace("unbounded_joins = true", ""))
    for name in ("EXISTS", "NOT EXISTS", "IN", "NOT IN", "no refund", "of a refund", "two refunds", "LEFT JOIN"):
        with pytest.raises(UnsupportedSQL) as caught:
            planned(QUESTIONS[name], SCHEMA, undeclared)
        assert 'the administrator can declare `one_owner = ["number"]` for the table' in str(caught.value.hint), name
