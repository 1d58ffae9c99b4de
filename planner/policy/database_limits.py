"""What one question may take of the database: a policy's settings beside its URL."""

from __future__ import annotations

from dataclasses import dataclass

from planner.policy.toml_section import TomlSection

_LONGEST_S = 3_600
_MOST_ROWS = 1 << 31
_MOST_MEMORY_MB = 1 << 20
_MOST_PROCESSES = 1_024


@dataclass(frozen=True)
class DatabaseLimits:
    """The custodian's settings in `[database]`: public, and of no effect on what an answer protects.

    Attributes:
      seconds: how long the statements of one question may run.
      rows: the most join tuples, alike ones counted once, that the proxy takes in for one question; fewer where a
        worker's memory has no room for as many of that question's columns (`server/backends/room.py`).
      memory_mb: what PostgreSQL gives each sort and each hash table of a statement (its `work_mem`), or DuckDB a
        whole question before it spills to disk, or the heap of a local Spark, for all questions together; None:
        64 MB on PostgreSQL, 4,096 MB on the others.
      processes: how many processors a question may use, or a local Spark; None: what PostgreSQL is set to; DuckDB: 2;
        Spark: all.
    """

    seconds: int = 60
    rows: int = 20_000_000
    memory_mb: int | None = None
    processes: int | None = None


def read_database_limits(database: TomlSection) -> DatabaseLimits:
    """The settings of a policy's `[database]`. Raises: PolicyInvalid."""
    return DatabaseLimits(
        seconds=_within(database, "seconds", _LONGEST_S) or DatabaseLimits.seconds,
        rows=_within(database, "rows", _MOST_ROWS) or DatabaseLimits.rows,
        memory_mb=_within(database, "memory_mb", _MOST_MEMORY_MB),
        processes=_within(database, "processes", _MOST_PROCESSES),
    )


def _within(section: TomlSection, name: str, most: int) -> int | None:
    value = section.count(name)
    if value is not None and value > most:
        raise section.problem(name, f"must be at most {most}")
    return value
