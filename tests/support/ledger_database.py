"""A PostgreSQL database for ledgers of tests, emptied for each."""

from __future__ import annotations

import os

import psycopg

from server.backends.embedded import EmbeddedPostgres
from server.ledger.postgres import SCHEMA


def empty_ledger_database(server: EmbeddedPostgres) -> str:
    """The URL of a database without a ledger, as its owner; one database for all, since making one takes a second."""
    name = f"ledger_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
            connection.execute(f"CREATE DATABASE {name}".encode())
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
    url = server.url(database=name)
    with psycopg.connect(url, autocommit=True, options="-c client_min_messages=warning") as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE".encode())
    return url
