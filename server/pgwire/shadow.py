"""Query the shadow catalog: one read-only statement at a time, with results passed on as they are."""

from __future__ import annotations

import queue
import re
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg import pq

from planner.policy.policy import Policy
from planner.schema import Schema
from planner.sql.zones import UTC
from server import libpq
from server.lru_cache import LruCache
from server.pgwire.errors import CatalogRefused
from server.pgwire.result_rows import CatalogResult, Shape
from server.pgwire.settings import SearchPath, spelled
from server.pgwire.wire_values import Field

MAX_ROWS = 100_000
"""The most rows of one answer; catalogs have fewer."""

MAX_BYTES = 16 << 20
"""The most bytes of one answer."""

CONNECTIONS = 2
"""Concurrent statements."""

MAKE = Callable[[Schema, Policy], str]
"""Creates the shadow catalog, and returns the reader's connection URL (`create_shadow`)."""

_WAIT_S = 10.0
_ANSWER_S = 8.0
"""The time limit of an answer, even if the server ignores its own limit of two seconds."""

_Described = tuple[str, tuple[int, ...], SearchPath]

_REMEMBERED, _REMEMBERED_LENGTH = 512, 4_096
"""How many descriptions of statements are cached, and of which length."""

_RESET = b"DISCARD ALL"
_SET = b"SELECT pg_catalog.set_config($1, $2, false)"
_NOT_READABLE = "42501"
_RELATION = re.compile(r"permission denied for (?:table|view|materialized view|foreign table|relation) (.+)")
_DONE = frozenset({pq.ExecStatus.TUPLES_OK, pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.COMMAND_OK})


class ShadowDatabase:
    """Answers queries of the catalog. It holds no rows, so its own error messages may be shown.

    Raises: ConfigurationInvalid, by `make`.
    """

    def __init__(self, make: MAKE, schema: Schema, policy: Policy) -> None:
        self._make = make
        self._url: str | None = make(schema, policy)
        self._renewing = threading.Lock()
        self._free: queue.LifoQueue[psycopg.Connection | None] = queue.LifoQueue()
        for _ in range(CONNECTIONS):
            self._free.put(None)
        self._closed = threading.Event()
        self._shapes: LruCache[_Described, Shape] = LruCache(_REMEMBERED)

    def renew(self, schema: Schema, policy: Policy) -> None:
        """Create the catalog again for a changed policy or schema; statements wait meanwhile.

        After a failure nothing is answered, because the new policy may hide what the old one showed.
        Raises: ConfigurationInvalid, by `make`; CatalogRefused if running statements do not end.
        """
        with self._renewing:
            taken = 0
            try:
                for _ in range(CONNECTIONS):
                    _close(self._taken(_WAIT_S + _ANSWER_S))
                    taken += 1
                self._url = self._make(schema, policy)
            except BaseException:
                self._url = None
                raise
            finally:
                self._shapes = LruCache(_REMEMBERED)  # a new one: old descriptions may be on their way
                for _ in range(taken):
                    self._free.put(None)

    def remembered(self, sql: str, oids: Sequence[int], search_path: SearchPath = None) -> Shape | None:
        """What `shape` has returned lately, without a wait; None if it must be asked."""
        return self._shapes.get((sql, tuple(oids), search_path))

    def shape(self, sql: str, oids: Sequence[int], search_path: SearchPath = None) -> Shape:
        """Parameters and columns of a statement. Raises: CatalogRefused."""
        shapes, described = self._shapes, (sql, tuple(oids), search_path)
        found = shapes.get(described) or self._shape(*described)
        return shapes.put(described, found) if len(sql) <= _REMEMBERED_LENGTH else found

    def _shape(self, sql: str, oids: tuple[int, ...], search_path: SearchPath) -> Shape:
        with self._lent() as connection:
            _look_in(connection, search_path)
            _checked(connection.prepare(b"", sql.encode(), list(oids) or None))
            found = _checked(connection.describe_prepared(b""))
            parameters = tuple(found.param_type(index) for index in range(found.nparams))
            return Shape(parameters, _fields(found))

    def ask(
        self,
        sql: str,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        oids: Sequence[int],
        result_format: int,
        search_path: SearchPath = None,
        zone: str = UTC,
    ) -> CatalogResult:
        """Run a statement with its values in a read-only transaction.

        Args:
          values, formats, oids: of the parameters, as sent.
          result_format: 0 text, 1 binary.
          search_path: of the session; None: the policy's.
        Raises: CatalogRefused.
        """
        every = list(formats) if len(formats) == len(values) else (list(formats) or [0]) * len(values)
        types = (list(oids) + [0] * len(values))[: len(values)]
        with self._lent() as connection:
            _look_in(connection, search_path, zone)
            connection.send_query_params(
                sql.encode(),
                list(values),
                types,
                [pq.Format(format_) for format_ in every],
                pq.Format(result_format),
            )
            connection.set_single_row_mode()  # so that an answer can be stopped before it is too large
            return _read(connection, result_format)

    def close(self) -> None:
        """Close the idle connections; busy ones close when they are done."""
        self._closed.set()
        while not self._free.empty():
            _close(self._free.get_nowait())

    def _taken(self, wait_s: float) -> psycopg.Connection | None:
        try:
            return self._free.get(timeout=wait_s)
        except queue.Empty:
            raise CatalogRefused("the catalog is busy", "53300", hint="try again") from None

    @contextmanager
    def _lent(self) -> Iterator[pq.abc.PGconn]:
        """Lend a connection, and reset it afterwards; one that cannot be reset is closed."""
        connection = self._taken(_WAIT_S)
        try:
            if self._url is None:
                raise CatalogRefused("the catalog does not match the policy", "57P03", hint="ask the administrator")
            if connection is None or connection.closed:
                connection = libpq.connect(self._url, autocommit=True, connect_timeout=int(_ANSWER_S))
            yield connection.pgconn
        except psycopg.OperationalError:
            raise CatalogRefused("the catalog cannot be reached", "08006", hint="ask the administrator") from None
        finally:
            if connection is not None and (self._closed.is_set() or not _is_new(connection.pgconn)):
                connection.close()
                connection = None
            self._free.put(connection)


def _read(connection: pq.abc.PGconn, format_: int) -> CatalogResult:
    """Read the rows of the sent statement. An answer that is too large leaves the connection busy."""
    fields: tuple[Field, ...] = ()
    rows: list[tuple[bytes | None, ...]] = []
    size = 0
    last: pq.abc.PGresult | None = None
    end = time.monotonic() + _ANSWER_S
    while (found := _next(connection, end)) is not None:
        last = found
        fields = fields or _fields(found)
        columns = range(found.nfields)
        more = [tuple(found.get_value(row, column) for column in columns) for row in range(found.ntuples)]
        rows += more
        size += sum(len(cell) for cells in more for cell in cells if cell is not None)
        if len(rows) > MAX_ROWS or size > MAX_BYTES:
            hint = f"name one schema or table; the limit is {MAX_ROWS} rows and {MAX_BYTES >> 20} MiB"
            raise CatalogRefused("the list of tables and columns is too long", "54000", hint=hint)
    assert last is not None, "a statement has an outcome"
    _checked(last)  # an error may come after some rows
    return CatalogResult(fields, (format_,) * len(fields), tuple(rows))


def _next(connection: pq.abc.PGconn, end: float) -> pq.abc.PGresult | None:
    """The next result, awaited by `poll`, because libpq's own wait would hold the interpreter's lock.

    libpq returns a row once it has arrived completely, so the server's memory limits the length of a row.
    Raises: CatalogRefused after `end`, by the monotonic clock.
    """
    arrived = select.poll()
    arrived.register(connection.socket, select.POLLIN)
    while connection.is_busy():
        if not arrived.poll(max(0.0, end - time.monotonic()) * 1000):
            raise CatalogRefused(
                "listing the tables and columns took too long", "57014", hint="name one schema or table"
            )
        connection.consume_input()
    return connection.get_result()


def _look_in(connection: pq.abc.PGconn, search_path: SearchPath, zone: str = UTC) -> None:
    """Apply the client's search path and time zone, until the session is reset."""
    if search_path is not None:
        _checked(connection.exec_params(_SET, [b"search_path", spelled(search_path).encode()]))
    if zone != UTC:
        _checked(connection.exec_params(_SET, [b"TimeZone", zone.encode()]))


def _close(connection: psycopg.Connection | None) -> None:
    if connection is not None:
        connection.close()


def _is_new(connection: pq.abc.PGconn) -> bool:
    """Reset the session, and return whether that worked."""
    if connection.status != pq.ConnStatus.OK or connection.transaction_status != pq.TransactionStatus.IDLE:
        return False
    return connection.exec_(_RESET).status == pq.ExecStatus.COMMAND_OK


def _fields(result: pq.abc.PGresult) -> tuple[Field, ...]:
    return tuple(
        Field((result.fname(at) or b"").decode(), result.ftype(at), result.fsize(at), result.fmod(at))
        for at in range(result.nfields)
    )


def _not_readable(words: str) -> CatalogRefused:
    """The error for relations that the reader may not use: tables of the data set, or others."""
    relation = _RELATION.fullmatch(words)
    if relation and not relation[1].startswith("pg_"):
        message = "a query cannot combine tables of the data set with catalogs"
        return CatalogRefused(message, _NOT_READABLE, hint=f"query {relation[1]} separately")
    hint = "no client of the catalog has this privilege"
    return CatalogRefused(words or "permission denied", _NOT_READABLE, hint=hint)


def _checked(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status in _DONE:
        return result
    code = _told(result, pq.DiagnosticField.SQLSTATE)
    if code is None:  # libpq's own error: the connection was lost
        raise CatalogRefused("the catalog cannot be reached", "08006", hint="try again")
    if code == _NOT_READABLE:
        raise _not_readable(_told(result, pq.DiagnosticField.MESSAGE_PRIMARY) or "")
    position = _told(result, pq.DiagnosticField.STATEMENT_POSITION)
    raise CatalogRefused(
        _told(result, pq.DiagnosticField.MESSAGE_PRIMARY) or "the catalog refused this",
        code,
        hint=_told(result, pq.DiagnosticField.MESSAGE_HINT),
        position=int(position) if position else None,
    )


def _told(result: pq.abc.PGresult, field: pq.DiagnosticField) -> str | None:
    raw = result.error_field(field)
    return None if raw is None else raw.decode("utf-8", "replace")
