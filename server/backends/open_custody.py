"""Open the database of a URL for administrator commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from planner.policy.policy import Policy
from planner.policy.sections import DatabaseLimits
from server.backends.custody import Custody
from server.backends.files import CONNECT, FILE_URLS, is_folder, is_spark
from server.errors import ConfigurationInvalid


def open_policy_custody(policy: Policy, url: str, statement_ms: int) -> AbstractContextManager[Custody]:
    """Connect to a policy's database, with the tables that the policy makes of files.

    Args:
      url: resolved.
      statement_ms: the time limit of a statement; 0: none.
    Raises: ConfigurationInvalid, BackendUnavailable.
    """
    patterns = policy.table_files
    if not patterns:
        return open_custody(url, policy.namespaces, statement_ms, policy.database_limits)
    if not is_folder(url):
        hint = "name a folder (parquet:///lake), or remove `parquet` from the table"
        raise ConfigurationInvalid(
            f"tables.{patterns[0][0]}.parquet: the database is not a folder of files", hint=hint
        )
    return _files(url, policy.database_limits, patterns)


def open_custody(
    url: str, namespaces: Sequence[str], statement_ms: int, limits: DatabaseLimits = DatabaseLimits()
) -> AbstractContextManager[Custody]:
    """Connect to the PostgreSQL database or the files (by an absolute path) of a URL.

    Raises: ConfigurationInvalid, BackendUnavailable.
    """
    return (
        _files(url, limits)
        if url.startswith((*FILE_URLS, CONNECT))
        else _postgres(url, namespaces, statement_ms, limits)
    )


@contextmanager
def _files(url: str, limits: DatabaseLimits, patterns: tuple[tuple[str, str], ...] = ()) -> Iterator[Custody]:
    if is_spark(url):
        try:
            from server.backends.spark_custody import opened_spark_files  # Spark is an extra
        except ModuleNotFoundError as error:
            raise ConfigurationInvalid("this database needs Spark", hint="install noisegate[spark]") from error

        with opened_spark_files(url, limits, patterns) as custody:
            yield custody
        return
    try:
        from server.backends.duckdb_custody import opened_files  # DuckDB is an extra
    except ModuleNotFoundError as error:
        raise ConfigurationInvalid("this database needs DuckDB", hint="install noisegate[duckdb]") from error

    with opened_files(url, limits, patterns) as custody:
        yield custody


@contextmanager
def _postgres(url: str, namespaces: Sequence[str], statement_ms: int, limits: DatabaseLimits) -> Iterator[Custody]:
    from server.backends.postgres import connected
    from server.backends.postgres_custody import PostgresCustody

    with connected(url, statement_ms) as connection:
        yield PostgresCustody(connection, url, tuple(namespaces), limits)
