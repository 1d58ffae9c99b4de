"""The limits of a policy's `[database]` are those of its sessions."""

from planner.policy.sections import DatabaseLimits
from server.backends.duckdb import DuckdbLimits
from server.backends.open_custody import open_custody
from server.backends.postgres import PostgresBackend, ReadLimits, connected


def _settings(url: str, limits: ReadLimits) -> list[str]:
    names = ("work_mem", "max_parallel_workers_per_gather", "statement_timeout", "search_path")
    with connected(url, limits.statement_ms, limits.session) as connection:
        shown = (connection.execute(f"SHOW {name}".encode()).fetchone() for name in names)
        return [row[0] for row in shown if row is not None]


def test_a_session_has_them(scratch_url: str) -> None:
    for limits, expected in (
        (DatabaseLimits(), ["64MB", "2", "1min", "pg_catalog"]),
        (DatabaseLimits(seconds=600, memory_mb=256, processes=1), ["256MB", "0", "10min", "pg_catalog"]),
        (DatabaseLimits(processes=9), ["64MB", "8", "1min", "pg_catalog"]),
    ):
        with open_custody(scratch_url, ("public",), 0, limits) as custody:
            backend = custody.backend
        assert isinstance(backend, PostgresBackend)
        assert backend.limits.rows == limits.rows
        assert _settings(scratch_url, backend.limits) == expected, limits


def test_no_setting_of_theirs_replaces_one_that_is_pinned(scratch_url: str) -> None:
    with connected(scratch_url, 1_000, {"TimeZone": "Asia/Tokyo"}) as connection:
        assert connection.execute("SHOW TimeZone").fetchone() == ("UTC",)


def test_duckdb_has_its_own_defaults() -> None:
    assert DuckdbLimits.of_policy(DatabaseLimits()) == DuckdbLimits()
    found = DuckdbLimits.of_policy(DatabaseLimits(seconds=7, rows=8, memory_mb=900, processes=1))
    assert (found.statement_ms, found.rows, found.memory_mb, found.threads) == (7_000, 8, 900, 1)
