"""PostgreSQL: one read-only snapshot per question, with pinned settings and a check of the plan's schema."""

from __future__ import annotations

import atexit
import re
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any, ClassVar, cast

import numpy as np
import psycopg
from psycopg import IsolationLevel, errors

from planner.policy.sections import DatabaseLimits
from planner.postprocessing.write_outer import OuterStatement
from planner.schema import PUBLIC, Dialect
from planner.sql.sql_types import ResultType
from server import libpq
from server.backends.backend import Limits, SnapshotBackend, check_planned
from server.backends.columns import (
    Column,
    arrays_sql,
    from_array,
    from_arrays,
    grouped_arrays_sql,
)
from server.backends.postgres_catalog import read_schema
from server.backends.public_rows import computed_type
from server.backends.query_tuples import KEPT, Blocks, Room, refused, too_long, too_many
from server.errors import (
    BackendConnectionLost,
    BackendFailed,
    BackendUnavailable,
    ConfigurationInvalid,
)

_CONNECT_TIMEOUT_S = 10
_WHY_NOT = (
    ("authentication failed", ": it refuses the role or its password"),
    ('role ".*" does not exist', ": it has no such role"),
    ('database ".*" does not exist', ": the server has no such database"),
    ("Connection refused|No such file", ": nothing listens on this host and port"),
    ("could not translate host name|failed to resolve host", ": the host is unknown"),
)
"""By words of libpq's message, the reason for an administrator. Nothing of the message itself is passed on."""

_UNREACHABLE = (
    "check that it runs, and the host, port, database, role and password of its URL; variables such as PGHOST are"
    " ignored"
)
_FETCH_ROWS = 65_536
_ARRAY_ROWS = 60_000_000
"""The most rows that the database puts into arrays, because one value of PostgreSQL is smaller than a gigabyte."""
_ARRIVING = 64
"""Bytes per value while an array arrives: 12 each in the driver's buffer, its result and a copy, with the buffer
doubling, and 8 in the decoded column.
"""
_WHOLE = {20, 21, 23}  # bigint, smallint, integer
_GROUP_KEY = re.compile(r"k\d+")
"""The names that the planner gives to group keys."""

# Whatever could make the same statement mean something else, or run longer than its limit.
_SESSION = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "lc_numeric": "C",
    "search_path": "pg_catalog",  # only: unqualified names mean PostgreSQL's own functions and tables
    "standard_conforming_strings": "on",
    "row_security": "off",  # an error instead of silently missing rows
    "jit": "off",  # compiling takes longer than most questions
    "client_connection_check_interval": "1s",  # ends the queries of a proxy that has died
}


@dataclass(frozen=True)
class ReadLimits(Limits):
    """Public bounds of one read. A statement of whole numbers alone may return 60 million rows.

    Attributes:
      work_mem_mb: memory of each sort and hash table before it spills to disk.
      parallel_workers: the most parallel workers of a statement; None: PostgreSQL's own setting.
    """

    work_mem_mb: int = 64
    parallel_workers: int | None = None

    @classmethod
    def of_policy(cls, limits: DatabaseLimits) -> ReadLimits:
        """The limits of a policy."""
        return cls(
            statement_ms=limits.seconds * 1_000,
            rows=limits.rows,
            work_mem_mb=limits.memory_mb or cls.work_mem_mb,
            parallel_workers=None if limits.processes is None else limits.processes - 1,
        )

    @property
    def session(self) -> dict[str, str]:
        """The limits as session settings."""
        parallel = self.parallel_workers
        helped = {} if parallel is None else {"max_parallel_workers_per_gather": str(parallel)}
        return {"work_mem": f"{self.work_mem_mb}MB", **helped}


@dataclass(frozen=True)
class PostgresBackend(SnapshotBackend[psycopg.Connection[Any]]):
    """Reads join tuples from PostgreSQL: each question in a transaction of its own, over a connection that is kept.

    Attributes:
      url: connection URL or conninfo; holds the password, so it is in no repr.
      namespaces: the policy's schemas, which the plan's fingerprint covers.
    """

    dialect: ClassVar[Dialect] = "postgres"
    unanswering: ClassVar = ("the database does not answer", _UNREACHABLE)
    valueless: ClassVar = (psycopg.DataError, errors.CardinalityViolation, errors.ProgramLimitExceeded)
    unreadable: ClassVar = (errors.ProgrammingError, errors.FeatureNotSupported)

    url: str = field(repr=False)
    limits: ReadLimits = ReadLimits()
    namespaces: tuple[str, ...] = (PUBLIC,)

    def _room(self) -> Room:
        return Room.of_process(self.limits.rows)

    def _groups(self, connection: psycopg.Connection[Any], statement: str) -> list[tuple[Any, ...]]:
        return connection.execute(statement.encode()).fetchall()

    @contextmanager
    def _streamed(self, connection: psycopg.Connection[Any], sql: str) -> Iterator[Iterator[Any]]:
        # psycopg returns a generator; closing it early ends the statement.
        with (
            connection.cursor() as cursor,
            closing(cast("Generator[Any, None, None]", cursor.stream(sql.encode()))) as rows,
        ):
            yield rows

    def _check(self, connection: psycopg.Connection[Any], statement: OuterStatement) -> None:
        _check_plan(connection, statement)

    def _described(self, connection: psycopg.Connection[Any], sql: str) -> tuple[tuple[str, ResultType], ...]:
        described = connection.execute(sql.encode()).description or ()
        names = ((column.name, connection.adapters.types.get(column.type_code)) for column in described)
        return tuple((name, "text" if kind is None else computed_type(kind.name)) for name, kind in names)

    @contextmanager
    def _snapshot(self, fingerprint: str, *, free: bool = False) -> Iterator[psycopg.Connection[Any]]:
        """Open one transaction. Queries over public tables get one database process."""
        limit_ms = self.limits.public_ms if free else self.limits.statement_ms
        with _kept(self.url, limit_ms, self.limits.session) as connection, _translated():
            check_planned(read_schema(connection, self.namespaces, checks=False).fingerprint, fingerprint)
            if free:
                connection.execute("SET LOCAL max_parallel_workers_per_gather = 0")
            yield connection

    def _columns(self, connection: psycopg.Connection[Any], room: Room, statement: str, width: int) -> list[Column]:
        """A statement's columns, by a client-side cursor, because a server-side one prevents parallel plans."""
        described = connection.execute(f"SELECT * FROM ({statement}) q LIMIT 0".encode()).description or ()
        # Only types decide how a statement is read: a second run due to private values would show in its duration.
        if all(column.type_code in _WHOLE for column in described):
            return self._arrays(connection, room, statement, [column.name for column in described])
        keys = [column.name for column in described if column.type_code not in _WHOLE]
        if len(keys) < len(described) and all(map(_GROUP_KEY.fullmatch, keys)):
            return self._grouped_arrays(connection, room, statement, [column.name for column in described], keys)
        blocks = Blocks(room, width)
        with connection.cursor(binary=True) as cursor:
            # The driver receives the whole result before it returns the first row.
            cursor.execute(f"SELECT * FROM ({statement}) q LIMIT {blocks.most + 1}".encode())
            while block := cursor.fetchmany(_FETCH_ROWS):
                blocks.take(block)
        return list(blocks.columns())

    def _arrays(
        self, connection: psycopg.Connection[Any], room: Room, statement: str, names: Sequence[str]
    ) -> list[Column]:
        most = min(room.most(_ARRIVING * len(names)), _ARRAY_ROWS)
        with connection.cursor(binary=True) as cursor:
            cursor.execute(arrays_sql(statement, names, most).encode())
            found = cursor.pgresult
            assert found is not None, "an aggregate without GROUP BY returns one row"
            count = int.from_bytes(found.get_value(0, 0) or b"", "big")
            if count > most:
                raise too_many()
            room.take(count, KEPT * len(names))
            return [from_array(found.get_value(0, 1 + place)) for place in range(len(names))]

    def _grouped_arrays(
        self,
        connection: psycopg.Connection[Any],
        room: Room,
        statement: str,
        names: Sequence[str],
        keys: Sequence[str],
    ) -> list[Column]:
        """Columns of whole numbers as arrays, one per combination of the other columns, the group keys."""
        most = min(room.most(_ARRIVING * len(names)), _ARRAY_ROWS)
        whole = [name for name in names if name not in keys]
        with connection.cursor(binary=True) as cursor:
            cursor.execute(grouped_arrays_sql(statement, keys, whole, most).encode())
            columns = dict(zip(("", *keys, *whole), zip(*cursor.fetchall(), strict=True), strict=False))
        if not columns:
            return [()] * len(names)
        rows = np.array(columns[""], np.int64)
        count = int(rows.sum())
        if count > most:
            raise too_many()
        room.take(count, KEPT * len(names))
        return [
            from_arrays(columns[name], rows)
            if name in whole
            else tuple(chain.from_iterable(map(repeat, columns[name], rows.tolist())))
            for name in names
        ]


_PLAIN_TABLES = """
    SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN unnest(%s::text[], %s::text[]) AS t(schema, name) ON n.nspname = t.schema AND c.relname = t.name
    WHERE c.relkind = 'r' AND NOT c.relhassubclass
"""


_CATALOG_FUNCTION = re.compile(r"\bpg_(?!input_is_valid\()\w+\(")
"""A call of a catalog function in a query plan. Only one function that computes has such a name."""


def _check_plan(connection: psycopg.Connection[Any], statement: OuterStatement) -> None:
    """Refuse a statement whose EXPLAIN shows a table that the statement does not name.

    If it reads a view or a partitioned table, nothing is compared, because EXPLAIN shows the tables behind them.

    Raises: BackendFailed.
    """
    schemas, names = [list(part) for part in zip(*statement.reads, strict=True)] or [[], []]
    plain = connection.execute(_PLAIN_TABLES, (schemas, names)).fetchone()
    if plain is None or plain[0] != len(set(statement.reads)):
        return
    explained = connection.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {statement.columns_sql()}".encode()).fetchone()
    assert explained is not None, "EXPLAIN has a row"
    waiting = [explained[0]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if any(isinstance(value, str) and _CATALOG_FUNCTION.search(value) for value in node.values()):
                raise BackendFailed(
                    "the outer SELECT around the noisy answers may not call functions on system tables"
                )
            if "Relation Name" in node and (node.get("Schema"), node["Relation Name"]) not in statement.reads:
                raise BackendFailed("the outer SELECT around the noisy answers may not read other tables")
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


@contextmanager
def connected(
    url: str, statement_ms: int, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[psycopg.Connection[Any]]:
    """Connect in one read-only repeatable-read transaction with pinned settings.

    Args:
      settings: further settings, for speed.
    Raises: BackendUnavailable, ConfigurationInvalid.
    """
    with _connection(url, statement_ms, settings) as connection:
        yield connection


def _connection(url: str, statement_ms: int, settings: Mapping[str, str]) -> psycopg.Connection[Any]:
    pinned = {**settings, **_SESSION}
    options = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in pinned.items())
    try:
        connection = libpq.connect(
            url,
            options=f"{options} -c statement_timeout={statement_ms} -c lock_timeout={statement_ms}",
            connect_timeout=_CONNECT_TIMEOUT_S,
            application_name="noisegate",
            client_encoding="UTF8",
            prepare_threshold=None,
        )
    except psycopg.ProgrammingError:
        # Its text quotes the URL with the password, so neither it nor its cause is passed on.
        hint = "write postgresql://ROLE:PASSWORD@HOST/DATABASE"
        raise ConfigurationInvalid("the database URL is not a valid PostgreSQL URL", hint=hint) from None
    except psycopg.OperationalError as error:
        said = str(error)
        why = next((why for words, why in _WHY_NOT if re.search(words, said)), "")
        raise BackendUnavailable(f"the database cannot be reached{why}", hint=_UNREACHABLE) from error
    if connection.info.parameter_status("server_encoding") != "UTF8":
        connection.close()
        hint = "use a database with the encoding UTF8"
        raise ConfigurationInvalid("the database's encoding is not UTF8", hint=hint)
    connection.read_only = True
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
    return connection


_KEPT_S = 300.0
"""A kept connection is replaced after this time, so that changed settings of the role or the database apply."""


@dataclass(frozen=True)
class _Kept:
    """The connection of an earlier question, with what it was opened for and the time when it was opened."""

    opened_for: tuple[str, int, str] = field(repr=False)  # has the password
    opened: float
    connection: psycopg.Connection[Any]

    def serves(self, wanted: tuple[str, int, str]) -> bool:
        """Whether it was opened for the same, is recent, and still answers."""
        if self.opened_for != wanted or time.monotonic() - self.opened > _KEPT_S:
            return False
        try:
            self.connection.execute("")
        except psycopg.Error:
            return False
        return True


_KEPT: deque[_Kept] = deque()
"""At most one. A new connection takes as long as a small question: the server reads its catalog from the start."""


@atexit.register
def _close_kept() -> None:
    while _KEPT:
        _KEPT.pop().connection.close()


@contextmanager
def _kept(url: str, statement_ms: int, settings: Mapping[str, str]) -> Iterator[psycopg.Connection[Any]]:
    """As `connected`, over the connection of an earlier question if there is one.

    A connection is kept only after success, and without anything that belongs to its session.
    """
    wanted = url, statement_ms, repr(settings)
    try:
        kept = _KEPT.pop()
    except IndexError:
        kept = None
    if kept is not None and not kept.serves(wanted):
        kept.connection.close()
        kept = None
    kept = kept or _Kept(wanted, time.monotonic(), _connection(url, statement_ms, settings))
    connection = kept.connection
    answered = False
    try:
        yield connection
        with suppress(psycopg.Error):
            connection.rollback()
            connection.autocommit = True
            connection.execute("DISCARD ALL")
            connection.autocommit = False
            answered = not _KEPT
    finally:
        if answered:
            _KEPT.append(kept)
        else:
            connection.close()


@contextmanager
def _translated() -> Iterator[None]:
    """Replace the database's errors by ours, without any of the database's words."""
    try:
        yield
    except (errors.QueryCanceled, errors.LockNotAvailable) as error:
        raise too_long() from error
    except (errors.SerializationFailure, errors.DeadlockDetected, errors.AdminShutdown) as error:
        raise BackendConnectionLost("the database ended the query") from error
    except (errors.ProgramLimitExceeded, errors.StatementTooComplex, errors.TooManyColumns) as error:
        raise BackendFailed(
            "the query that the proxy made from yours exceeds a limit of the database", hint="simplify it"
        ) from error
    except psycopg.OperationalError as error:
        raise BackendConnectionLost("the connection to the database was lost") from error
    except psycopg.Error as error:
        raise refused() from error
