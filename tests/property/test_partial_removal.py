"""Removing some or all of the rows that one unit owns, on a real database whose rows may be left dangling."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import BackendQuery
from planner.planning.make_plan import make_plan
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from planner.rules import complete_provenance
from planner.schema import Schema
from privacy.ladder import Ladder
from privacy.units import ONE
from server.backends.catalog import read_schema
from server.backends.postgres import PostgresBackend
from tests.support.truncated import truncated

LADDER = Ladder(low=-2, high=8)
TRIALS = 25

POLICY = """
name = "shop"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1.0
unbounded_joins = true
global_sensitivity = 1048576
[privacy_units]
person = "id"
[[foreign_keys]]
table = "orders"
columns = ["person"]
references = "person"
key = ["id"]
[[foreign_keys]]
table = "line"
columns = ["orders"]
references = "orders"
key = ["id"]
[tables.person]
[tables.orders]
[tables.line.columns]
amount = { range = [0, 10] }
"""

QUERIES = (
    "SELECT count(*) FROM line",
    "SELECT sum(amount) FROM line",
    "SELECT sum(LEAST(GREATEST(id, 2), 9)) FROM line",
    "SELECT count(*) FROM line a JOIN line b ON a.amount = b.amount",
    "SELECT count(*) FROM orders o JOIN line l ON l.orders = o.id JOIN person p ON p.id = o.person",
    "SELECT count(DISTINCT amount) FROM line",
    "SELECT count(DISTINCT o.id) FROM orders o JOIN line l ON l.orders = o.id",
    "SELECT count(DISTINCT a.id) FROM line a JOIN line b ON a.amount = b.amount",
    "SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM line l WHERE l.orders = o.id AND l.amount = 2)",
    "SELECT count(*) FROM orders o WHERE NOT EXISTS (SELECT 1 FROM line l WHERE l.orders = o.id AND l.amount = 2)",
    "SELECT count(*) FROM orders o LEFT JOIN line l ON l.orders = o.id AND l.amount = 2",
    "SELECT count(DISTINCT o.id) FROM orders o LEFT JOIN line l ON l.orders = o.id WHERE l.amount IS NULL",
)


@dataclass(frozen=True)
class Shop:
    """A database without enforced foreign keys, and rows for it."""

    url: str
    schema: Schema

    def fill(self, rows: dict[str, list[tuple[object, ...]]]) -> None:
        with psycopg.connect(self.url) as connection:
            for table, values in rows.items():
                connection.execute(f"TRUNCATE {table}".encode())
                with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                    for row in values:
                        copy.write_row(row)

    def values(self, query: BackendQuery, gap: float) -> NDArray[np.int64]:
        """v on the whole ladder, in units."""
        _, tuples = PostgresBackend(self.url).read(query)
        values = tuples.distinct[0]
        answer = truncated(tuples.join if values is None else values, 0, LADDER, gap)
        return np.array([answer.solve(0, index) for index in range(len(LADDER))])


@pytest.fixture
def shop(scratch_url: str) -> Iterator[Shop]:
    with psycopg.connect(scratch_url) as connection:
        connection.execute("CREATE TABLE person (id bigint PRIMARY KEY)")
        connection.execute("CREATE TABLE orders (id bigint PRIMARY KEY, person bigint)")
        connection.execute("CREATE TABLE line (id bigint PRIMARY KEY, orders bigint, amount integer)")
        schema = read_schema(connection)
    yield Shop(scratch_url, schema)


def _planned(shop: Shop, sql: str) -> tuple[BackendQuery, float]:
    policy = parse_policy(POLICY)
    plan = make_plan(
        bind(parse(sql), shop.schema, policy), shop.schema, policy, epsilon=1.0, delta=0.0, mechanism="gem"
    )
    return rewrite(plan), plan.gap(plan.releases[0])


def _instance(rng: random.Random) -> dict[str, list[tuple[object, ...]]]:
    """A few people, orders and lines; some keys are NULL and some lead nowhere."""
    people = range(1, rng.randint(2, 5))
    orders = [(number, rng.choice([*people, None, 99])) for number in range(1, rng.randint(2, 9))]
    lines = [
        (number, rng.choice([order for order, _ in orders] + [None, 77]), rng.choice([1, 2, 10, None]))
        for number in range(1, rng.randint(2, 40))
    ]
    return {"person": [(person,) for person in people], "orders": orders, "line": lines}  # type: ignore[dict-item]


def _partly_removed(
    rows: dict[str, list[tuple[object, ...]]], rng: random.Random
) -> dict[str, list[tuple[object, ...]]]:
    """The rows less some or all of those that one person owns."""
    person = rng.choice(rows["person"])[0]
    share = rng.choice([0.3, 0.7, 1.0])
    owned = {order for order, owner in rows["orders"] if owner == person}

    def stays(table: str, row: tuple[object, ...]) -> bool:
        own = row[0] == person if table == "person" else row[1] == person if table == "orders" else row[1] in owned
        return not own or rng.random() > share

    return {table: [row for row in values if stays(table, row)] for table, values in rows.items()}


def _worst_excess(shop: Shop, query: BackendQuery, gap: float) -> float:
    """The largest |v(I) - v(I')| / ((1 + gap) tau) over thresholds and pairs of neighbours I, I'."""
    rng = random.Random(7)
    worst = 0.0
    for _ in range(TRIALS):
        rows = _instance(rng)
        shop.fill(rows)
        whole = shop.values(query, gap)
        shop.fill(_partly_removed(rows, rng))
        less = shop.values(query, gap)
        worst = max(worst, float(np.max(np.abs(whole - less) / ((1 + gap) * LADDER.units))))
    return worst


@pytest.mark.parametrize("sql", QUERIES)
def test_neighbours_differ_by_at_most_tau(shop: Shop, sql: str) -> None:
    query, gap = _planned(shop, sql)
    worst = _worst_excess(shop, query, gap)
    assert worst <= 1.0
    assert worst > 0.5, "the pairs are too easy to show anything"


def _fifty_and_one(orders_of_the_last: list[tuple[object, ...]]) -> dict[str, list[tuple[object, ...]]]:
    """Fifty people with a line of amount 1 each, and one with a line of amount 2 that joins them all."""
    people = list(range(1, 52))
    orders: list[tuple[object, ...]] = [(person, person) for person in people[:-1]]
    lines: list[tuple[object, ...]] = [(person, person, 1) for person in people[:-1]]
    return {
        "person": [(person,) for person in people],
        "orders": orders + orders_of_the_last,
        "line": [*lines, (51, 51, 2)],
    }


HUB = "SELECT count(*) FROM line a CROSS JOIN line b WHERE a.amount = 1 AND b.amount = 2"
AT_ONE = list(LADDER.taus).index(1.0)


def _at_one(shop: Shop, rows: dict[str, list[tuple[object, ...]]]) -> float:
    """v at tau = 1 of the hub's question, in tuples."""
    shop.fill(rows)
    query, gap = _planned(shop, HUB)
    return float(shop.values(query, gap)[AT_ONE]) / ONE


def test_a_line_whose_order_is_gone_joins_nobody(shop: Shop) -> None:
    assert _at_one(shop, _fifty_and_one([(51, 51)])) == pytest.approx(1.0, abs=0.01)
    assert _at_one(shop, _fifty_and_one([])) == 0.0


def test_without_the_completion_filter_the_bound_breaks(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: the line still joins and no longer counts towards its owner's bound, so 1 becomes 50."""
    monkeypatch.setattr(complete_provenance, "add_conditions", lambda select, conditions: None)
    assert _at_one(shop, _fifty_and_one([(51, 51)])) == pytest.approx(1.0, abs=0.01)
    assert _at_one(shop, _fifty_and_one([])) == pytest.approx(50.0, abs=0.01)
