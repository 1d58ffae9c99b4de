"""Graph questions: two spellings are one plan, every node is an owner, and the count is the brute-force one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb as duckdb_driver
import psycopg
import pytest

from planner.plan import Plan
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, ForeignKey, Schema, Table
from server.backends.embedded import EmbeddedPostgres
from tests.golden.graphs.patterns import PATTERNS, Edge, Pattern
from tests.golden.untruncated import duckdb, postgres, untruncated
from tests.support.planning import planned

NODES = 11
EDGES = 45

_ENDS = tuple(ForeignKey((end,), "node", ("id",)) for end in ("src", "dst"))
SCHEMA = Schema(
    {
        "node": Table("node", "public", (Column("id", "bigint", False),), (("id",),), ()),
        "edge": Table(
            "edge",
            "public",
            (Column("src", "bigint", False), Column("dst", "bigint", False)),
            (("src", "dst"),),
            _ENDS,
        ),
    }
)
_POLICY = Path(__file__).with_name("policy.toml").read_text()
POLICY = parse_policy(_POLICY)


def graph() -> list[Edge]:
    """A random directed graph without loops, the same in every run."""
    pairs = [(source, target) for source in range(NODES) for target in range(NODES) if source != target]
    return random.Random(5).sample(pairs, EDGES)


@pytest.fixture(scope="module")
def graph_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    """A database with the two tables."""
    with psycopg.connect(embedded_postgres.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS graph WITH (FORCE)")
        connection.execute("CREATE DATABASE graph")
        url = embedded_postgres.url(database="graph")
        _load(url)
        yield url
        connection.execute("DROP DATABASE graph WITH (FORCE)")


def _load(url: str) -> None:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE node (id bigint PRIMARY KEY)")
        ends = "src bigint REFERENCES node, dst bigint REFERENCES node"
        cursor.execute(f"CREATE TABLE edge ({ends}, PRIMARY KEY (src, dst))".encode())
        cursor.executemany("INSERT INTO node VALUES (%s)", [(node,) for node in range(NODES)])
        cursor.executemany("INSERT INTO edge VALUES (%s, %s)", graph())


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same two tables in a DuckDB file."""
    path = tmp_path_factory.mktemp("graph") / "graph.duckdb"
    with duckdb_driver.connect(path) as connection:
        connection.execute("CREATE SCHEMA public; USE public; CREATE TABLE node (id bigint PRIMARY KEY)")
        connection.execute("CREATE TABLE edge (src bigint, dst bigint, PRIMARY KEY (src, dst))")
        connection.executemany("INSERT INTO node VALUES (?)", [(node,) for node in range(NODES)])
        connection.executemany("INSERT INTO edge VALUES (?, ?)", graph())
    return path


def _plans(pattern: Pattern) -> list[Plan]:
    return [planned(text, SCHEMA, POLICY) for text in pattern.spellings]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_two_spellings_are_one_question(pattern: Pattern) -> None:
    first, second = map(rewrite, _plans(pattern))
    assert first == second


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_every_node_owns_the_tuple(pattern: Pattern) -> None:
    for plan in _plans(pattern):
        assert len(plan.owners) == pattern.nodes
        assert {owner.relation for owner in plan.owners} == {"node"}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_the_count_is_the_brute_force_one(pattern: Pattern, graph_url: str, graph_file: Path) -> None:
    expected = len(pattern.found(graph()))
    assert expected > 0
    for text, plan in zip(pattern.spellings, _plans(pattern), strict=True):
        assert postgres(graph_url)(text) == [(expected,)]
        assert untruncated(plan, postgres(graph_url)).rows == {(): (expected,)}
        on_file = duckdb(graph_file, "public")
        assert on_file(text) == [(expected,)]
        query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
        assert untruncated(plan, on_file, query).rows == {(): (expected,)}


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_tuples_are_lone_and_without_a_node_all_others_stay(pattern: Pattern, tmp_path: Path) -> None:
    """The statement merges nothing, for there is nothing to merge; a node takes the tuples that it owns along."""
    path = tmp_path / "graph.duckdb"
    with duckdb_driver.connect(path) as connection:
        connection.execute("CREATE SCHEMA public; USE public; CREATE TABLE node (id bigint PRIMARY KEY)")
        connection.execute("CREATE TABLE edge (src bigint, dst bigint, PRIMARY KEY (src, dst))")
        connection.executemany("INSERT INTO edge VALUES (?, ?)", graph())
    plan = _plans(pattern)[0]
    assert plan.lone
    statement = rewrite(plan, dialect="duckdb", schema=SCHEMA).join
    assert statement is not None and "GROUP BY" not in statement
    before = Counter(map(tuple, duckdb(path, "public")(statement)))
    assert set(before.values()) == {1}
    gone = next(iter(before))[0]
    with duckdb_driver.connect(path) as connection:
        connection.execute("DELETE FROM public.edge WHERE src = ? OR dst = ?", [gone, gone])
    after = Counter(map(tuple, duckdb(path, "public")(statement)))
    assert after == Counter({row: 1 for row in before if gone not in row[: len(plan.owners)]})


def _fanout(end: int) -> int:
    """The most edges that share an end: 0 for out of one node, 1 for into one."""
    return max(Counter(edge[end] for edge in graph()).values())


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_no_node_has_more_tuples_than_the_fan_outs_allow(pattern: Pattern) -> None:
    """Delta from the true degrees holds for every node, in both spellings; without degrees there is none."""
    promises = [
        f'[[foreign_keys]]\ntable = "edge"\ncolumns = ["{name}"]\nreferences = "node"\nkey = ["id"]\n'
        f"fanout = {_fanout(end)}\n"
        for end, name in enumerate(("src", "dst"))
    ]
    promised = parse_policy(_POLICY + "".join(promises))
    tuples = Counter(node for placed in pattern.found(graph()) for node in set(placed))
    bounds = {planned(text, SCHEMA, promised).tuples_per_unit for text in pattern.spellings}
    assert len(bounds) == 1
    (bound,) = bounds
    assert bound is not None
    assert max(tuples.values()) <= bound
    assert all(plan.tuples_per_unit is None for plan in _plans(pattern))


def test_the_patterns_differ() -> None:
    assert len({len(pattern.found(graph())) for pattern in PATTERNS}) == len(PATTERNS) == 8
