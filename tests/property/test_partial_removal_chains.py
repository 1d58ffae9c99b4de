"""Removing a person's rows where rows own one another: chains with a depth, orphans, keys of two columns."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np
import psycopg
import pytest

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.planning.make_plan import make_plan
from planner.policy.policy import parse_policy
from planner.policy.validate import validate
from planner.rewriting.rewrite import rewrite
from planner.schema import Schema
from planner.sensitivity.provenance import _Search
from privacy.ladder import Ladder
from server.backends.catalog import read_schema
from server.backends.postgres import PostgresBackend
from tests.support.truncated import truncated

LADDER = Ladder(low=-2, high=8)
TRIALS = 8
Rows = dict[str, list[tuple[object, ...]]]

HEAD = """
name = "board"
[database]
url = "env:UNUSED"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1.0
unbounded_joins = true
[privacy_units]
person = ["town", "number"]
[tables.person]
[[foreign_keys]]
table = "post"
columns = ["town", "number"]
references = "person"
key = ["town", "number"]
[[foreign_keys]]
table = "post"
columns = ["parent"]
references = "post"
key = ["id"]
depth = 2
"""

OWNED = HEAD + "[tables.post]\n"
ORPHANS = HEAD + "[tables.post]\nrows_are_units = true\n"

QUERIES = (
    "SELECT count(*) FROM post",
    "SELECT count(*) FROM post a JOIN post b ON a.parent = b.id",
    "SELECT count(*) FROM post a JOIN post b ON a.size = b.size",
    "SELECT count(*) FROM post JOIN person ON post.town = person.town AND post.number = person.number",
)


class Board:
    """A database of posts that answer posts, without enforced foreign keys."""

    def __init__(self, url: str, schema: Schema) -> None:
        self.url, self.schema = url, schema

    def fill(self, rows: Rows) -> None:
        with psycopg.connect(self.url) as connection:
            for table, values in rows.items():
                connection.execute(f"TRUNCATE {table}".encode())
                with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
                    for row in values:
                        copy.write_row(row)

    def values(self, sql: str, policy_text: str, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """v over the thresholds, in units, divided by the sensitivity that is claimed for each."""
        self.fill(rows)
        policy = parse_policy(policy_text)
        validate(policy, self.schema)
        query = bind(parse(sql), self.schema, policy)
        plan = make_plan(query, self.schema, policy, epsilon=1.0, delta=0.0, mechanism="gem")
        _, tuples = PostgresBackend(self.url).read(rewrite(plan))
        gap = plan.gap(plan.releases[0])
        answer = truncated(tuples.join, 0, LADDER, gap)
        solved = np.array([answer.solve(0, index) for index in range(len(LADDER))], np.float64)
        scaled: np.ndarray[tuple[int], np.dtype[np.float64]] = solved / ((1 + gap) * LADDER.units)
        return scaled


@pytest.fixture
def board(scratch_url: str) -> Iterator[Board]:
    with psycopg.connect(scratch_url) as connection:
        connection.execute("CREATE TABLE person (town text, number bigint, PRIMARY KEY (town, number))")
        connection.execute(
            "CREATE TABLE post (id bigint PRIMARY KEY, parent bigint, town text, number bigint, size bigint)"
        )
        schema = read_schema(connection)
    yield Board(scratch_url, schema)


def _instance(rng: random.Random) -> Rows:
    """A few people, some of whose towns and numbers run together; chains of posts up to five long; loose ends."""
    everybody: list[tuple[object, ...]] = [("a", 11), ("a1", 1), ("b", 2), ("b", 3)]
    people = everybody[: rng.randint(1, 4)]
    posts: list[tuple[object, ...]] = []
    for number in range(1, rng.randint(2, 14)):
        author = rng.choice([*people, (None, None), ("zz", 9), ("a", None)])
        parent = rng.choice([None, rng.randint(1, number), number - 1, 99])
        posts.append((number, None if parent in (0, number) else parent, *author, rng.randint(1, 2)))
    return {"person": people, "post": posts}


Owned = Callable[[tuple[object, ...]], bool]


def _owned_by(rows: Rows, starts: set[object]) -> set[object]:
    """The posts of `starts` and all below them."""
    owned = set(starts)
    while True:
        more = {row[0] for row in rows["post"] if row[1] in owned} - owned
        if not more:
            return owned
        owned |= more


def _less(rows: Rows, rng: random.Random, orphans: bool) -> Rows:
    """Without some or all of what one person owns; or, where posts may be units, what one such post owns."""
    loose = [row[0] for row in rows["post"] if row[1] is None and (row[2] is None or row[3] is None)]
    share = rng.choice([0.3, 0.7, 1.0])
    if orphans and loose and rng.random() < 0.5:
        owned = _owned_by(rows, {rng.choice(loose)})
        person = None
    else:
        person = rng.choice(rows["person"])
        owned = _owned_by(rows, {row[0] for row in rows["post"] if row[2:4] == person})
    return {
        "person": [row for row in rows["person"] if row != person or rng.random() > share],
        "post": [row for row in rows["post"] if row[0] not in owned or rng.random() > share],
    }


def _worst(board: Board, sql: str, policy: str) -> float:
    """The largest difference between neighbours, in claimed sensitivities."""
    rng = random.Random(11)
    worst = 0.0
    for _ in range(TRIALS):
        rows = _instance(rng)
        less = _less(rows, rng, policy == ORPHANS)
        difference = board.values(sql, policy, rows) - board.values(sql, policy, less)
        worst = max(worst, float(np.max(np.abs(difference))))
    return worst


@pytest.mark.parametrize("policy", [OWNED, ORPHANS], ids=["owned", "orphans"])
@pytest.mark.parametrize("sql", QUERIES)
def test_neighbours_differ_by_at_most_tau(board: Board, sql: str, policy: str) -> None:
    worst = _worst(board, sql, policy)
    assert worst <= 1.0
    assert worst > 0.4, "the pairs are too easy to show anything"


def _fan() -> Rows:
    """A chain 1 <- 2 <- 3 <- 4 of one author each; a hundred posts of their own authors answer number 4."""
    chain: list[tuple[object, ...]] = [(n, n - 1 if n > 1 else None, "t", n, 1) for n in range(1, 5)]
    fan: list[tuple[object, ...]] = [(n, 4, "t", n, 1) for n in range(10, 60)]
    people: list[tuple[object, ...]] = [("t", row[0]) for row in [*chain, *fan]]
    return {"person": people, "post": chain + fan}


def test_rows_deeper_than_the_depth_are_left_out(board: Board) -> None:
    """Numbers 1, 2 and 3 alone; of pairs of an answer and what it answers, only those of 2 and of 3."""
    alone = board.values("SELECT count(*) FROM post", OWNED, _fan())[-1]
    assert alone == pytest.approx(3 / LADDER.taus[-1] / 1.01)
    joined = board.values("SELECT count(*) FROM post a JOIN post b ON a.parent = b.id", OWNED, _fan())[-1]
    assert joined == pytest.approx(2 / LADDER.taus[-1] / 1.01)


def test_without_the_end_of_chains_the_bound_breaks(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: the fan is kept, but number 1's author, whom it does not show, can take number 4 away from it."""
    result = _Search.result

    def endless(search: _Search) -> object:
        search._ends.clear()
        return result(search)

    rows = _fan()
    less = {"person": rows["person"], "post": [row for row in rows["post"] if row[0] not in (2, 3, 4)]}
    sql = "SELECT count(*) FROM post"
    sound = board.values(sql, OWNED, rows) - board.values(sql, OWNED, less)
    assert np.max(np.abs(sound)) <= 1.0
    monkeypatch.setattr(_Search, "result", endless)
    broken = board.values(sql, OWNED, rows) - board.values(sql, OWNED, less)
    assert np.max(np.abs(broken)) > 1.0
