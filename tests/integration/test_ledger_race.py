"""Clients of two processes spend one budget at once: what is released is exactly what the budget allows."""

from __future__ import annotations

import math
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from server.backends.embedded import EmbeddedPostgres
from server.ledger.ledger import Ledger
from server.ledger.postgres import create_postgres_ledger, open_postgres_ledger
from server.ledger.sqlite import create_ledger, open_ledger
from tests.support.ledger_database import empty_ledger_database
from tests.support.ledger_race import Outcome, prepare_race, race

SIZES = [
    pytest.param(16, 640, 100, id="16 clients"),
    pytest.param(64, 20_000, 1_000, id="64 clients", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("clients", "queries", "allowed"), SIZES)
def test_sqlite_releases_what_the_budget_allows(tmp_path: Path, clients: int, queries: int, allowed: int) -> None:
    paths = tmp_path / "ledger.sqlite", tmp_path / "marker.json"
    with closing(create_ledger(*paths)) as ledger:
        prepare_race(ledger, allowed)
        outcome = race(partial(open_ledger, *paths), proxies=2, clients=clients, queries=queries)
        check(ledger, outcome, queries, allowed)
    open_ledger(*paths).close()  # the marker is not ahead


@pytest.mark.slow
@pytest.mark.parametrize(("clients", "queries", "allowed"), SIZES)
def test_postgres_releases_what_the_budget_allows(
    embedded_postgres: EmbeddedPostgres, tmp_path: Path, clients: int, queries: int, allowed: int
) -> None:
    where = empty_ledger_database(embedded_postgres), tmp_path / "marker.json"
    with closing(create_postgres_ledger(*where)) as ledger:
        prepare_race(ledger, allowed)
        outcome = race(partial(open_postgres_ledger, *where), proxies=2, clients=clients, queries=queries)
        check(ledger, outcome, queries, allowed)


def check(ledger: Ledger, outcome: Outcome, queries: int, allowed: int) -> None:
    asked = queries // 64 * 64 if queries > 640 else queries
    released = [number for part in outcome.released for number in part]
    assert sorted(released) == list(range(1, allowed + 1))
    assert outcome.refused == asked - allowed
    assert min(map(len, outcome.released)) >= 1  # both proxies had a share, so they did race
    (dataset,) = (account for account in ledger.accounts() if account.name == "dataset")
    assert dataset.epsilon_left == 0.0
    paid = sum(account.grant.epsilon - account.epsilon_left for account in ledger.accounts())
    assert math.isclose(paid, 2 * allowed / 1000, rel_tol=1e-6)
    assert ledger.verify().fault is None
