"""The mirror beside PostgreSQL: the same question through the whole proxy, on either, in turn.

A mirror of contributions is compared with the plain statements.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import duckdb
import psycopg

from planner.policy.policy import Policy, parse_policy
from planner.policy.sections import MirrorPolicy
from server.backends import embedded
from server.backends.postgres import PostgresBackend
from server.backends.postgres_catalog import read_schema
from server.demo.database import ROLE, load_labelled
from server.ledger.analyst import Act
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.query import QueryRequest
from server.startup.mirror import open_mirror, refresh_mirror
from server.workers.pool import WorkerPool
from tests.benchmarks.engines.against_plain import QUESTIONS, timed
from tests.benchmarks.engines.databases import POSTGRES_LIMITS, loaded_tpch, postgres_server
from tests.benchmarks.rows import Row
from tests.support.asking import ask
from tests.support.graph_joins import edge_file
from tests.support.planning import demo_policy, unbounded

_RUNS, _QUICK_RUNS = 5, 2
_WHOLE_TABLES = {
    "orders": QUESTIONS["orders"],
    "lines": QUESTIONS["lines"],
    "total price": "SELECT sum(o_totalprice) FROM orders",
}
_OF_PLAIN, _LEAST_BARRED = 1.5, 1.0
"""The most of the plain aggregate, and the scale from which on it takes longer than the proxy's fixed cost."""
_FASTER, _PATHS_S, _SAMPLED_S = 5.0, 10.0, 2.0
_FILE_MB = 16_384
_GRAPH = "Deezer HU+RO"
_GRAPH_POLICY = """
name = "graph"
[database]
url = "env:NOISEGATE_DATABASE_URL"
[ledger]
path = "ledger.sqlite"
[privacy]
epsilon = 1.0
max_epsilon = 1.0
answer_quantum = 0  # what is compared is the work: held answers leave at the same moment on either
[privacy_units]
person = "id"
[tables.person]
[tables.link]
"""
_GRAPH_QUESTIONS = {
    "triangles": (
        "SELECT count(*) FROM link x JOIN link y ON x.b = y.a JOIN link z ON z.a = x.a AND z.b = y.b "
        "WHERE x.a < x.b AND y.a < y.b"
    ),
    "2-paths": "SELECT count(*) FROM link x JOIN link y ON x.b = y.a WHERE x.a < y.b",
    "2-paths, 1 of 64": "SELECT count(*) FROM link x JOIN link y ON x.b = y.a WHERE x.a < y.b",
    "3-paths, 1 of 1,024": "SELECT count(*) FROM link x JOIN link y ON x.b = y.a JOIN link z ON y.b = z.a",
}
_RATES = {"2-paths, 1 of 64": 1 / 64, "3-paths, 1 of 1,024": 1 / 1_024}
"""Of the questions that are asked of a sample; none of their joins is made."""
_MOST_S = {"2-paths": _PATHS_S, "2-paths, 1 of 64": _SAMPLED_S}


def mirror_of_tpch(pool: WorkerPool, scale: float, quick: bool) -> Iterator[Row]:
    """Questions with one and two owners of TPC-H."""
    questions = {name: QUESTIONS[name] for name in ("by nation", "Q5 by nation")}
    barred = set() if quick else {"Q5 by nation"}
    yield from _compared(
        pool, partial(loaded_tpch, scale=scale), demo_policy(), questions, barred, f"mirror, scale {scale:g}", quick
    )


def kept_contributions(pool: WorkerPool, scale: float, quick: bool) -> Iterator[Row]:
    """Counts and a sum over whole tables in turn with their plain statements, from a mirror of contributions."""
    name = f"mirror of contributions, scale {scale:g}"
    with _opened(pool, partial(loaded_tpch, scale=scale), demo_policy(), "contributions") as opened:
        yield Row(name, "they are made", opened.made_s, "s")
        yield Row(name, "their file", opened.file_mb, "MB")
        runs = _QUICK_RUNS if quick else _RUNS
        with psycopg.connect(opened.backend.url, autocommit=True) as connection:
            connection.execute("SET jit = off")
            for question, sql in _WHOLE_TABLES.items():
                plain = partial(connection.execute, sql.encode())
                plain_s = [timed(plain) for _ in range(runs + 1)][1:]
                (proxy_s,) = _in_turn((opened.mirrored,), sql, runs, None)
                ratio = median(proxy_s) / median(plain_s)
                barred = not quick and scale >= _LEAST_BARRED
                yield Row(f"{name}: {question}", "plain aggregate, median", median(plain_s), "s")
                yield Row(f"{name}: {question}", "proxy, median", median(proxy_s), "s")
                most = _OF_PLAIN if barred else None
                yield Row(f"{name}: {question}", "proxy, of the plain aggregate", ratio, "1", most=most)


def mirror_of_a_graph(pool: WorkerPool, quick: bool) -> Iterator[Row]:
    """Triangles and 2-paths of a social network; none where its data set is absent."""
    if quick or not edge_file(_GRAPH).exists():
        return
    policy = unbounded(parse_policy(_GRAPH_POLICY))
    name = f"mirror, {_GRAPH}"
    yield from _compared(pool, _loaded_graph, policy, _GRAPH_QUESTIONS, {"triangles", "2-paths"}, name, quick)


def _loaded_graph(server: embedded.EmbeddedPostgres) -> str:
    load_labelled(server, "links", f"{_GRAPH}, both directions", _load_graph)
    return server.url(ROLE, "links")


def _load_graph(url: str) -> None:
    with duckdb.connect() as read:
        edges = read.execute(f"SELECT src, dst FROM '{edge_file(_GRAPH)}'").fetchnumpy()
    pairs = list(zip(edges["src"].tolist(), edges["dst"].tolist(), strict=True))
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE person (id bigint PRIMARY KEY)")
        connection.execute(
            "CREATE TABLE link (a bigint REFERENCES person, b bigint REFERENCES person, PRIMARY KEY (a, b))"
        )
        with connection.cursor() as cursor:
            with cursor.copy("COPY person FROM STDIN") as copy:
                for one in {end for pair in pairs for end in pair}:
                    copy.write_row((one,))
            with cursor.copy("COPY link FROM STDIN") as copy:
                for source, target in pairs:
                    copy.write_row((source, target))
                    copy.write_row((target, source))
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE}".encode())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


@dataclass(frozen=True)
class _Opened:
    """A database with a fresh mirror, and the proxy with and without it."""

    backend: PostgresBackend
    direct: Pipeline
    mirrored: Pipeline
    made_s: float
    file_mb: float


@contextmanager
def _opened(
    pool: WorkerPool, load: Callable[[embedded.EmbeddedPostgres], str], policy: Policy, holds: str
) -> Iterator[_Opened]:
    with postgres_server() as server, tempfile.TemporaryDirectory(prefix="noisegate-") as temporary:
        url, folder = load(server), Path(temporary)
        policy = replace(policy, mirror=MirrorPolicy("copy.duckdb", refresh_s=None, max_mb=_FILE_MB, holds=holds))
        with psycopg.connect(url) as connection:
            schema = read_schema(connection)
        ledger = create_ledger(folder / "ledger.sqlite", folder / "policy.ledger.json")
        ledger.add_analyst("ada", "0" * 64, epsilon=1e6, delta=0.0)
        mirror = open_mirror(policy, schema, url, folder, ledger)
        assert mirror is not None, "the policy names one"
        made_s = timed(lambda: refresh_mirror(mirror, policy, url, ledger, Act("benchmark", "copy")))
        backend = PostgresBackend(url, POSTGRES_LIMITS)
        direct = Pipeline(policy, schema, backend, ledger, pool)
        mirrored = Pipeline(policy, schema, backend, ledger, pool, mirror=mirror)
        yield _Opened(backend, direct, mirrored, made_s, mirror.file.path.stat().st_size / (1 << 20))
        ledger.close()


def _compared(
    pool: WorkerPool,
    load: Callable[[embedded.EmbeddedPostgres], str],
    policy: Policy,
    questions: dict[str, str],
    barred: set[str],
    name: str,
    quick: bool,
) -> Iterator[Row]:
    with _opened(pool, load, policy, "rows") as opened:
        yield Row(name, "the copy is made", opened.made_s, "s")
        yield Row(name, "the copy's file", opened.file_mb, "MB")
        for question, sql in questions.items():
            case = f"{name}: {question}"
            runs = _QUICK_RUNS if quick else _RUNS
            seconds = _in_turn((opened.direct, opened.mirrored), sql, runs, _RATES.get(question))
            for where, taken in zip(("PostgreSQL", "mirror"), seconds, strict=True):
                most = _MOST_S.get(question) if where == "mirror" else None
                yield Row(case, f"{where}, median", median(taken), "s", most=most)
            ratio = median(seconds[0]) / median(seconds[1])
            least = _FASTER if question in barred else None
            yield Row(case, "PostgreSQL, of the mirror", ratio, "1", least=least)


def _in_turn(pipelines: tuple[Pipeline, ...], sql: str, runs: int, rate: float | None) -> list[list[float]]:
    """Ask each pipeline in turn, and have every answer measured anew. Returns: the seconds of each."""
    seconds: list[list[float]] = [[] for _ in pipelines]
    asked = 0
    for turn in range(runs + 1):
        for pipeline, taken in zip(pipelines, seconds, strict=True):
            asked += 1
            request = QueryRequest("ada", sql, request_id=f"benchmark-{asked}", sampling_rate=rate, reuse="never")
            started = time.perf_counter()
            answer = ask(pipeline, request)
            assert not answer.cached, "each is measured"
            if turn:  # the first compiles kernels
                taken.append(time.perf_counter() - started)
    return seconds
