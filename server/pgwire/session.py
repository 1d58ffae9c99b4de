"""One session after authentication: messages in, bytes out. Independent of sockets."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Awaitable, Callable, Iterable, Iterator

import structlog

from planner.errors import UnsupportedSQL
from server.connections import turn_to_write
from server.errors import CancelledByClient, CancelledEarly, WireError
from server.pgwire import client_messages as m
from server.pgwire import server_messages
from server.pgwire.copy_format import BINARY_HEADER, BINARY_TRAILER, copy_format
from server.pgwire.errors import client_problem, unknown_portal
from server.pgwire.gateway import Gateway
from server.pgwire.interpreter import Interpreter
from server.pgwire.portals import Holding, Portal
from server.pgwire.result_rows import Result, Shape
from server.pgwire.settings import Settings
from server.pgwire.statements import commands as c
from server.pgwire.statements.parse_statement import read, split_text
from server.pgwire.statements.split_statements import Words
from server.scheduling.fair_shares import FairShares

_ROWS_AT_ONCE = 256
_BYTES_AT_ONCE = 1 << 16

_log = structlog.get_logger("noisegate.pgwire")


class Session:
    """Answers the messages of one client.

    Args:
      settings: from the startup message.
      pause: awaited before each statement of a text, for other sessions and slow clients.
      kept: the bytes that all analysts' sessions hold.
    """

    def __init__(
        self,
        gateway: Gateway,
        analyst: str,
        settings: Settings,
        send: Callable[[bytes], None],
        pause: Callable[[], Awaitable[None]],
        kept: FairShares,
    ) -> None:
        self._holding = Holding(kept, analyst)
        self._interpreter = Interpreter(gateway, analyst, settings, send, self._holding)
        self.settings = settings
        self._send = send
        self._pause = pause
        self._skipping = False
        self._analyst = analyst

    def cancel(self) -> None:
        """Cancel the running statement, if any."""
        self._interpreter.cancelled.set()

    def number(self, number: int, stop: Callable[..., bool]) -> None:
        """Set the session's number, and the function that stops another session of the analyst."""
        self._interpreter.number, self._interpreter.stop = number, stop

    def ready(self) -> None:
        """Send ReadyForQuery."""
        self._send(server_messages.ready_for_query(self._interpreter.transaction_status))

    def close(self) -> None:
        """Release the session's bytes."""
        self._holding.hold(0)

    async def handle(self, message: m.ClientMessage) -> None:
        """Answer one message, with all output passed to `send`. Errors are sent, not raised."""
        try:
            await self._handle(message)
        finally:
            self._interpreter.count()

    async def _handle(self, message: m.ClientMessage) -> None:
        if message is m.Signal.SYNC:
            self._interpreter.end_implicitly(committed=not self._skipping)
            self._skipping = False
            self.ready()
        elif self._skipping:
            return
        elif isinstance(message, m.Query):
            await self._query(message.sql)
        else:
            self._skipping = not await self._tried(self._step(message))

    async def _tried(self, step: Awaitable[None], start: int = 0, *, first: bool = True) -> bool:
        """Run a step, and send its error if it fails. Returns: whether it succeeded.

        A cancellation covers all statements of one message; only the `first` step clears an earlier one. Catches
        every exception: a foreign exception's text may quote a private value, so only its type is logged, and only
        the error table's message is sent.
        """
        if first:
            self._interpreter.cancelled.clear()
        self._interpreter.request_id = uuid.uuid4().hex
        try:
            await step
        except Exception as error:
            problem = client_problem(error, start)
            request_id, kind = self._interpreter.request_id, type(error).__name__
            _log.info("refused", request_id=request_id, analyst=self._analyst, code=problem.code, kind=kind)
            self._send(server_messages.error(problem, request_id))
            self._interpreter.failed = self._interpreter.open
            return False
        return True

    async def _query(self, sql: str) -> None:
        """The simple protocol: run the statements in one implicit transaction, up to the first error."""
        self._interpreter.prepared.pop("", None)
        self._interpreter.portals.pop("", None)
        statements: list[Words] = []
        if await self._tried(self._split_into(sql, statements)) and not statements:
            self._send(server_messages.EMPTY_QUERY)
        succeeded = True
        for statement in statements:
            await self._pause()
            self._interpreter.begin_implicitly(block=len(statements) > 1)
            succeeded = await self._tried(self._simple(statement), statement.start, first=False)
            if not succeeded:
                break
        self._interpreter.end_implicitly(committed=succeeded)
        self.ready()

    @staticmethod
    async def _split_into(sql: str, statements: list[Words]) -> None:
        statements += await split_text(sql)

    async def _simple(self, statement: Words) -> None:
        if self._interpreter.cancelled.is_set():
            raise CancelledEarly("the rest was cancelled", hint="asking again is free")
        command = await read(Words(statement.text, 0, statement.words, statement.names))
        self._check_runs(command)
        wants_shape = isinstance(command, c.Question) and not command.catalog and self.settings.flag("intervals")
        shape = await self._interpreter.shape(command, ()) if wants_shape else Shape()
        await self._execute(Portal(command, shape), max_rows=0, describe=True)

    async def _step(self, message: m.ClientMessage) -> None:
        match message:
            case m.Parse():
                await self._parse(message)
            case m.Bind():
                await self._bind(message)
            case m.Describe():
                self._describe(message)
            case m.Execute():
                portal = self._portal(message.portal)
                self._check_runs(portal.command)
                await self._execute(portal, message.max_rows, describe=False)
            case m.Close():
                (self._interpreter.portals if message.portal else self._interpreter.prepared).pop(message.name, None)
                self._send(server_messages.CLOSE_COMPLETE)
            case m.Signal.FUNCTION_CALL:
                raise UnsupportedSQL("function calls by OID are not supported")
            # Flush needs nothing, because output is always sent. CopyData follows a refused COPY.

    async def _parse(self, message: m.Parse) -> None:
        statements = await split_text(message.sql)
        if len(statements) > 1:
            raise WireError("only one statement can be prepared at a time", "42601")
        command = await read(statements[0]) if statements else None
        self._check_runs(command)
        await self._interpreter.prepare(message.name, command, message.types)
        self._send(server_messages.PARSE_COMPLETE)

    async def _bind(self, message: m.Bind) -> None:
        prepared = self._interpreter.prepared_as(message.statement)
        self._check_runs(prepared.command)
        shape = await self._interpreter.shape_now(prepared)
        formats = _per_column(message.result_formats, 0 if shape.fields is None else len(shape.fields))
        portal = Portal.bound(prepared.command, shape, (message.values, message.formats), formats, "08P01")
        self._interpreter.add_portal(message.portal, portal)
        self._send(server_messages.BIND_COMPLETE)

    def _describe(self, message: m.Describe) -> None:
        if message.portal:
            portal = self._portal(message.name)
            self._send_fields(portal.shape, portal.formats)
            return
        prepared = self._interpreter.prepared_as(message.name)
        self._send(server_messages.parameter_description(prepared.shape.parameters))
        self._send_fields(prepared.shape, ())

    def _send_fields(self, shape: Shape, formats: tuple[int, ...]) -> None:
        if shape.fields is None:
            self._send(server_messages.NO_DATA)
        else:
            self._send(server_messages.row_description(shape.fields, formats or (0,) * len(shape.fields)))

    async def _execute(self, portal: Portal, max_rows: int, *, describe: bool) -> None:
        command = portal.command
        if command is None:
            self._send(server_messages.EMPTY_QUERY)
        elif isinstance(command, c.Fetch):
            await self._fetch(command, portal, describe)
        elif isinstance(command, c.Copy):
            await self._copy(command, portal)
        else:
            tag = "SELECT" if portal.result is not None else await self._interpreter.run(portal)
            if portal.result is None:
                self._send(server_messages.command_complete(tag))
            else:
                await self._send_some(portal, portal.result, max_rows, tag, describe)

    async def _send_some(self, portal: Portal, result: Result, max_rows: int, tag: str, describe: bool) -> None:
        end = len(result) if max_rows <= 0 else min(len(result), portal.place + max_rows)
        sent = range(portal.place, end)
        await self._send_rows(result, sent, portal.formats, describe)
        portal.place = end
        if end < len(result):
            self._send(server_messages.PORTAL_SUSPENDED)
        else:
            self._send(server_messages.command_complete(f"SELECT {len(sent)}" if tag == "SELECT" else tag))

    async def _send_rows(self, result: Result, places: range, formats: tuple[int, ...], describe: bool) -> None:
        """Send some rows, after their description if the client has none."""
        formats = formats or (0,) * len(result.fields)
        rows = result.rows(places, formats)
        if describe:
            self._send(server_messages.row_description(result.fields, formats))
        await self._send_many(map(server_messages.data_row, rows))

    async def _send_many(self, messages: Iterable[bytes]) -> None:
        """Send messages, with pauses for other sessions.

        Raises: CancelledByClient.
        """
        size = 0
        for number, message in enumerate(messages, 1):
            self._send(message)
            size += len(message)
            if size >= _BYTES_AT_ONCE or number % _ROWS_AT_ONCE == 0:
                size = 0
                await turn_to_write()
                await self._pause()
                if self._interpreter.cancelled.is_set():
                    raise CancelledByClient("the rest was cancelled", hint="asking again is free")

    async def _fetch(self, command: c.Fetch, portal: Portal, describe: bool) -> None:
        cursor, rows = await self._interpreter.fetched(command)
        assert cursor.result is not None, "a cursor that was fetched from has run"
        if command.move:
            self._send(server_messages.command_complete(f"MOVE {len(rows)}"))
            return
        await self._send_rows(cursor.result, rows, portal.formats, describe)
        self._send(server_messages.command_complete(f"FETCH {len(rows)}"))

    async def _copy(self, command: c.Copy, portal: Portal) -> None:
        written = copy_format(command.options)  # before anything is charged
        shape = await self._interpreter.shape(command.question, portal.shape.parameters)
        columns = 0 if shape.fields is None else len(shape.fields)
        asked = Portal(command.question, shape, portal.values, portal.raw, (int(written.binary),) * columns)
        await self._interpreter.run(asked)
        result = asked.result
        assert result is not None, "a question has rows"
        self._send(server_messages.copy_out(len(result.fields), binary=written.binary))
        pieces: Iterator[bytes]
        if written.binary:
            # Readers rely on PostgreSQL's order: one message per row, with the header in the first.
            rows = map(server_messages.binary_row, result.rows(range(len(result)), asked.formats))
            pieces = itertools.chain(rows, (BINARY_TRAILER,))
            pieces = itertools.chain((BINARY_HEADER + next(pieces),), pieces)
        else:
            names: list[list[str | None]] = [[field.name for field in result.fields]] if written.header else []
            pieces = map(written.line, itertools.chain(names, result.texts(range(len(result)))))
        await self._send_many(map(server_messages.copy_data, pieces))
        self._send(server_messages.COPY_DONE)
        self._send(server_messages.command_complete(f"COPY {len(result)}"))

    def _portal(self, name: str) -> Portal:
        portal = self._interpreter.portals.get(name)
        if portal is None:
            raise unknown_portal(name)
        return portal

    def _check_runs(self, command: c.Command | None) -> None:
        """Refuse everything but the end of a failed transaction."""
        ends = isinstance(command, c.Transaction) and command.kind in ("commit", "rollback", "rollback to")
        if self._interpreter.failed and not ends:
            raise WireError("the transaction has failed", "25P02", hint="end it with ROLLBACK")


def _per_column(formats: tuple[int, ...], columns: int) -> tuple[int, ...]:
    """One format per column, from none (all text), one for all, or one each."""
    if len(formats) == columns:
        return formats
    if len(formats) > 1:
        raise WireError(f"{len(formats)} result formats were bound to {columns} columns", "08P01")
    return (formats or (0,)) * columns
