"""The ledger: what a query waits for with a million entries behind it, how fast many clients spend one budget, and
how long recovery and verification take; in SQLite and in PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

import psycopg

from server.backends import embedded
from server.backends.embedded import EmbeddedPostgres
from server.ledger.ledger import Ledger
from server.ledger.postgres import SCHEMA, create_postgres_ledger, open_postgres_ledger
from server.ledger.sqlite import create_ledger, open_ledger
from server.ledger.store import TABLES
from tests.benchmarks.rows import Row
from tests.support.charging import reserve
from tests.support.ledger_database import empty_ledger_database
from tests.support.ledger_race import prepare_race, race
from tests.support.long_ledger import charge_of, long_ledger, name_of

_ENTRIES, _QUICK_ENTRIES = 1_000_000, 20_000
_CHARGES, _QUICK_CHARGES = 1_000, 100
_LOOKUPS = 2_000
_RACE = {"clients": 64, "queries": 20_032, "allowed": 1_000}
_QUICK_RACE = {"clients": 64, "queries": 640, "allowed": 100}
_BARS_MS = {"reserve + commit": 2.0, "budget": 1.0}

T = TypeVar("T")

Open = Callable[[], Ledger]


def run(quick: bool) -> list[Row]:
    """Every figure on both stores."""
    folder = Path(".noisegate") / "benchmarks" / "ledger"
    folder.mkdir(parents=True, exist_ok=True)
    entries = _QUICK_ENTRIES if quick else _ENTRIES
    paths = long_ledger(folder, entries)
    rows = _measured(f"SQLite, {entries:,} entries", partial(open_ledger, *paths), quick)
    rows += [Row("this disk", "one sync, median", _sync_ms(folder), "ms")]
    with _server() as server, tempfile.TemporaryDirectory() as scratch:
        copied = _copied(server, paths[0], Path(scratch))
        rows += _measured(f"PostgreSQL, {entries:,} entries", copied, quick)
        rows += _races(server, Path(scratch), quick)
    return rows


def _measured(case: str, reopen: Open, quick: bool) -> list[Row]:
    """What each act costs one client, and what the whole costs when the proxy starts or an auditor asks."""
    seconds, ledger = _timed(reopen)
    rows = [Row(case, "open", seconds * 1e3, "ms")]
    with closing(ledger):
        seconds, _ = _timed(ledger.recover)
        rows += [Row(case, "recover", seconds * 1e3, "ms")]
        times = {
            "reserve + commit": [_spend(ledger, number) for number in range(_QUICK_CHARGES if quick else _CHARGES)],
            "budget": [_timed(partial(ledger.budget, name_of(number)))[0] for number in range(_LOOKUPS)],
            "kept answer": [_kept(ledger, 4 * number) for number in range(_LOOKUPS)],
            "data version": [_timed(ledger.data_version)[0] for _ in range(_LOOKUPS)],
            "key": [_timed(partial(ledger.analyst_by_key, f"{number:064x}"))[0] for number in range(_LOOKUPS)],
        }
        for metric, samples in times.items():
            rows += _distribution(case, metric, samples)
        seconds, verified = _timed(ledger.verify)
        assert verified.fault is None
        rows.append(Row(case, "verify, per entry", seconds / verified.entries * 1e6, "us"))
    return rows


def _distribution(case: str, metric: str, samples: list[float]) -> list[Row]:
    ordered = sorted(samples)
    figures = {"median": median(ordered), "tenth of the fastest": ordered[len(ordered) // 10]}
    bars = {"median": _BARS_MS.get(metric)}
    return [
        Row(case, f"{metric}, {name}", seconds * 1e3, "ms", most=bars.get(name)) for name, seconds in figures.items()
    ]


def _spend(ledger: Ledger, number: int) -> float:
    charge = replace(charge_of(number), answer_key=uuid.uuid4().hex, plan_hash=uuid.uuid4().hex)
    return _timed(lambda: ledger.commit(reserve(ledger, charge), b"x" * 200))[0]


def _kept(ledger: Ledger, number: int) -> float:
    seconds, kept = _timed(partial(ledger.cached_answer, f"{number:064x}", name_of(number)))
    assert kept is not None
    assert kept.paid
    return seconds


def _races(server: EmbeddedPostgres, scratch: Path, quick: bool) -> list[Row]:
    """Two proxies, 64 clients, one budget."""
    paths = scratch / "race.sqlite", scratch / "race.json"
    url, marker = empty_ledger_database(server), scratch / "race-postgres.json"
    rows = _raced("SQLite", create_ledger(*paths), partial(open_ledger, *paths), quick)
    return rows + _raced(
        "PostgreSQL", create_postgres_ledger(url, marker), partial(open_postgres_ledger, url, marker), quick
    )


def _raced(store: str, ledger: Ledger, reopen: Open, quick: bool) -> list[Row]:
    size = _QUICK_RACE if quick else _RACE
    with closing(ledger):
        prepare_race(ledger, size["allowed"])
        outcome = race(reopen, proxies=2, clients=size["clients"], queries=size["queries"])
        assert ledger.verify().fault is None
    case = f"{store}, {size['clients']} clients, two proxies"
    figures = {
        "asked": size["queries"],
        "allowed": size["allowed"],
        "released": sum(map(len, outcome.released)),
        "refused": outcome.refused,
    }
    rows = [Row(case, name, float(count), "1") for name, count in figures.items()]
    return [*rows, Row(case, "queries per second", size["queries"] / outcome.seconds, "1/s")]


def _copied(server: EmbeddedPostgres, path: Path, scratch: Path) -> Open:
    """The SQLite ledger's rows in PostgreSQL: entries are the same in every store."""
    url = empty_ledger_database(server)
    create_postgres_ledger(url, scratch / "unused.json").close()
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as source,
        psycopg.connect(url, options=f"-c search_path={SCHEMA}") as target,
    ):
        target.execute("SET session_replication_role = replica")  # the rows have been through the rules
        for table in TABLES:
            target.execute(f"DELETE FROM {table}".encode())
            with target.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                for row in source.execute(f"SELECT * FROM {table}"):
                    copy.write_row(row)
    with psycopg.connect(url, autocommit=True) as settled:
        settled.execute("VACUUM ANALYZE")
    return partial(open_postgres_ledger, url, scratch / "copied.json")


@contextmanager
def _server() -> Iterator[EmbeddedPostgres]:
    server = embedded.start(Path(".noisegate") / "benchmarks" / "postgres")
    try:
        yield server
    finally:
        server.stop()


def _sync_ms(folder: Path) -> float:
    """Of eight kilobytes: a reservation and its settlement wait for one each."""
    descriptor = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY)
    try:
        return median(_timed(partial(_synced, descriptor))[0] for _ in range(200)) * 1e3
    finally:
        os.close(descriptor)


def _synced(descriptor: int) -> None:
    os.pwrite(descriptor, b"x" * 8192, 0)
    os.fdatasync(descriptor)


def _timed(act: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = act()
    return time.perf_counter() - begun, result
