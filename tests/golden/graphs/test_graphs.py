"""Graph questions: two spellings are one plan, every node is an owner, and the count is the brute-force one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb as duckdb_driver
import pytest

from planner.plan import Plan
from planner.policy.policy import parse_policy
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, ForeignKey, Schema, Table
from server.backends.embedded import EmbeddedPostgres
from tests.golden.databases import in_file, on_server
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


def _tables() -> list[str]:
    edges, nodes = ", ".join(map(str, graph())), ", ".join(f"({node})" for node in range(NODES))
    return [
        "CREATE TABLE node (id bigint PRIMARY KEY)",
        "CREATE TABLE edge (src bigint, dst bigint, PRIMARY KEY (src, dst))",
        f"INSERT INTO node VALUES {nodes}",
        f"INSERT INTO edge VALUES {edges}",
    ]


@pytest.fixture(scope="module")
def graph_url(embedded_postgres: EmbeddedPostgres) -> Iterator[str]:
    with on_server(embedded_postgres, "graph", _tables()) as url:
        yield url


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_file(tmp_path_factory.mktemp("graph") / "graph.duckdb", _tables())


def _plans(pattern: Pattern) -> list[Plan]:
    return [planned(text, SCHEMA, POLICY) for text in pattern.spellings]


def test_two_spellings_are_one_question_of_which_every_node_is_an_owner() -> None:
    for pattern in PATTERNS:
        plans = _plans(pattern)
        first, second = map(rewrite, plans)
        assert first == second, pattern.name
        for plan in plans:
            assert [owner.relation for owner in plan.owners] == ["node"] * pattern.nodes, pattern.name


def test_the_count_is_the_brute_force_one(graph_url: str, graph_file: Path) -> None:
    on_server, on_file = postgres(graph_url), duckdb(graph_file, "public")
    for pattern in PATTERNS:
        expected = len(pattern.found(graph()))
        assert expected > 0
        for text, plan in zip(pattern.spellings, _plans(pattern), strict=True):
            assert on_server(text) == on_file(text) == [(expected,)], text
            assert untruncated(plan, on_server).rows == {(): (expected,)}, text
            query = rewrite(plan, dialect="duckdb", schema=SCHEMA)
            assert untruncated(plan, on_file, query).rows == {(): (expected,)}, text


def test_tuples_are_lone_and_without_a_node_all_others_stay(graph_file: Path) -> None:
    """The statement merges nothing, for there is nothing to merge; a node takes the tuples that it owns along."""
    with duckdb_driver.connect(graph_file) as connection:
        connection.execute("USE public")
        for pattern in PATTERNS:
            plan = _plans(pattern)[0]
            assert plan.lone, pattern.name
            statement = rewrite(plan, dialect="duckdb", schema=SCHEMA).join
            assert statement is not None and "GROUP BY" not in statement, pattern.name
            before = Counter(connection.execute(statement).fetchall())
            assert set(before.values()) == {1}, pattern.name
            gone = next(iter(before))[0]
            connection.execute("BEGIN; DELETE FROM edge WHERE src = $1 OR dst = $1".replace("$1", str(gone)))
            after = Counter(connection.execute(statement).fetchall())
            connection.execute("ROLLBACK")
            assert after == Counter({row: 1 for row in before if gone not in row[: len(plan.owners)]}), pattern.name


def _fanout(end: int) -> int:
    """The most edges that share an end: 0 for out of one node, 1 for into one."""
    return max(Counter(edge[end] for edge in graph()).values())


def test_no_node_has_more_tuples_than_the_fan_outs_allow() -> None:
    """Delta from the true degrees holds for every node, in both spellings; without degrees there is none."""
    for pattern in PATTERNS:
        promises = [
            f'[[foreign_keys]]\ntable = "edge"\ncolumns = ["{name}"]\nreferences = "node"\nkey = ["id"]\n'
            f"fanout = {_fanout(end)}\n"
            for end, name in enumerate(("src", "dst"))
        ]
        promised = parse_policy(_POLICY + "".join(promises))
        tuples = Counter(node for placed in pattern.found(graph()) for node in set(placed))
        bounds = {planned(text, SCHEMA, promised).bounds.tuples for text in pattern.spellings}
        assert len(bounds) == 1
        (bound,) = bounds
        assert bound is not None
        assert max(tuples.values()) <= bound
        assert all(plan.bounds.tuples is None for plan in _plans(pattern))


def test_the_patterns_differ() -> None:
    assert len({len(pattern.found(graph())) for pattern in PATTERNS}) == len(PATTERNS) == 8
