"""The commands of a session. It receives no messages, and sends only notices and parameter changes."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable

from planner.binding.placeholders import Value
from planner.errors import InvalidSetting, NoRowAsked, RowsNotShown, UnsupportedSQL
from planner.parsing.explain import explained
from planner.sql.sql_types import ResultType
from server.errors import WireError
from server.lru_cache import cached_bytes
from server.note import PRACTICE, one_note
from server.pgwire.errors import no_transaction, unknown_portal
from server.pgwire.gateway import Gateway
from server.pgwire.portals import OUTSIDE, Holding, Portal, Prepared
from server.pgwire.result_rows import (
    CatalogResult,
    Result,
    Shape,
    Table,
    answer_fields,
    answer_table,
    budget_table,
)
from server.pgwire.server_messages import TransactionStatus, notice, parameter_status
from server.pgwire.settings import SearchPath, Settings, is_known, shown_name
from server.pgwire.statements import commands as c
from server.pgwire.statements.session_functions import as_client
from server.pgwire.wire_values import Field, field_of, oid_of
from server.query import QueryRequest, QueryResponse
from server.results.result_types import truth
from server.scheduling.hold_answer import Cancellation

MAX_NAMES = 1_000
"""The most prepared statements, and the most portals, of one session."""

_WARNING = "01000"
_TEXT, _BOOL, _INT4, _JSON = 25, 16, 23, 114
_BACKEND_PID, _TERMINATE = "pg_backend_pid", "pg_terminate_backend"
_NUMBER_DIGITS = 10  # the most digits of a session's number
_BUDGET, _DETAILS = "noisegate.budget", "noisegate.details"
_CURRENT = "SELECT pg_catalog.current_setting($1, true)"
_EXPLAIN = "EXPLAIN "


class Interpreter:
    """Runs the commands of one session.

    Attributes:
      settings, prepared, portals: the session's state, which DISCARD ALL resets; portals include cursors.
      open: inside BEGIN and COMMIT or ROLLBACK. Nothing is written, so a transaction has no other effect.
      failed: a statement of the transaction has failed, and only its end is accepted.
      cancelled: set by a CancelRequest while a statement runs.
      request_id: of the running statement; in logs, the ledger and errors.
      number: the session's number; 0 before it has one.
      stop: stops another session of the analyst by its number (`CancelKeys.stop_own`).
    """

    def __init__(
        self, gateway: Gateway, analyst: str, settings: Settings, send: Callable[[bytes], None], holding: Holding
    ) -> None:
        self.settings = settings
        self._reported = settings.reported()
        self.open = self.failed = False
        self.portals: dict[str, Portal] = {}
        self.prepared: dict[str, Prepared] = {}
        self.cancelled = Cancellation()
        self.request_id = ""
        self._gateway = gateway
        self.number = 0
        self.stop: Callable[..., bool] = lambda number, *, session: False
        self._analyst = analyst
        self._send = send
        self._block = False
        self._details: tuple[str, ...] = ()
        self._holding = holding

    @property
    def transaction_status(self) -> TransactionStatus:
        """The status for ReadyForQuery."""
        return "E" if self.failed else "T" if self.open else "I"

    def count(self) -> None:
        """Count the memory of the session's prepared statements and portals against its analyst's limit."""
        self._holding.hold(self._cached_bytes)

    @property
    def _cached_bytes(self) -> int:
        statements = sum(sys.getsizeof(name) + one.n_bytes for name, one in self.prepared.items())
        return statements + sum(sys.getsizeof(name) + one.memory_bytes for name, one in self.portals.items())

    @property
    def asked_as(self) -> tuple[bool, bool, SearchPath]:
        """The settings that change a question's columns."""
        return self.settings.flag("intervals"), self.settings.flag("dry_run"), self.settings.search_path()

    def _notice(self, words: str) -> None:
        if (self.settings.get("client_min_messages") or "").lower() not in ("warning", "error"):
            self._send(notice(words))

    def _warning(self, words: str, code: str) -> None:
        if (self.settings.get("client_min_messages") or "").lower() != "error":
            self._send(notice(words, code=code, severity="WARNING"))

    def _report(self) -> None:
        before, self._reported = self._reported, self.settings.reported()
        for name, value in self._reported.items():
            if before[name] != value:
                self._send(parameter_status(name, value))

    async def shape(self, command: c.Command | None, oids: tuple[int, ...]) -> Shape:
        """Parameters and columns of a command, before it runs. Free."""
        match command:
            case c.Question():
                return await self._question_shape(command, oids)
            case c.Show(name):
                return Shape(fields=(await self._shown(name)).fields)
            case c.Configure():
                return _configured_shape(command, oids)
            case c.BackendCall(function, column, number):
                return Shape(_merged(oids, (_INT4,) if number is None else ()), (_of_backend(function, column),))
            case c.ExecutePrepared(name):
                return Shape(fields=(await self.shape_now(self.prepared_as(name))).fields)
            case c.Fetch(name, move=False):
                return Shape(fields=self._cursor(name).shape.fields)
            case c.Declare() | c.Copy():  # the values of PREPARE come with EXECUTE
                return Shape((await self._question_shape(command.question, oids)).parameters)
        return Shape()

    async def run(self, portal: Portal) -> str:
        """Run a portal's command for the first time.

        Returns: its completion tag; rows are in `portal.result`.
        Raises: any error for the client.
        """
        match command := portal.command:
            case c.Question():
                portal.result = await self._ask(command, portal)
            case c.Show(name):
                portal.result = await self._shown(name)
                return "SHOW"
            case c.Configure():
                portal.result = await self._configured(command, portal.values)
            case c.BackendCall():
                portal.result = self._of_backends(command, portal.values)
            case c.ExecutePrepared():
                portal.result = await self._executed(command, portal.formats)
            case c.Prepare():
                await self.prepare(command.name, command.question, command.types)
                return "PREPARE"
            case c.Declare():
                await self._declare(command, portal)
                return "DECLARE CURSOR"
            case c.Transaction():
                return self._transact(command)
            case c.SetSetting(name, value, local, tag):
                self._set_one(name, value, local)
                if local and not self._in_block:
                    self._warning("SET LOCAL can only be used in transaction blocks", "25P01")
                return tag
            case c.Discard(what):
                if what == "ALL":
                    self._discard_all()
                return f"DISCARD {what}"
            case c.Deallocate(None):
                self.prepared.clear()
                return "DEALLOCATE ALL"
            case c.Deallocate(str(name)):
                self.prepared_as(name)
                del self.prepared[name]
                return "DEALLOCATE"
            case c.CloseCursor(None):
                self.portals.clear()
                return "CLOSE CURSOR ALL"
            case c.CloseCursor(str(name)):
                self._cursor(name)
                del self.portals[name]
                return "CLOSE CURSOR"
            case c.Nothing(tag):
                return tag
            case _:
                raise AssertionError("run elsewhere")
        return "SELECT"

    async def prepare(self, name: str, command: c.Command | None, oids: tuple[int, ...]) -> None:
        """Store a prepared statement, free; replaces the unnamed one.

        Args:
          oids: the parameter types that the client gives.
        Raises: WireError for a name in use, and beyond the limits; errors of describing it.
        """
        if name and name in self.prepared:
            raise WireError(f'the prepared statement "{name}" already exists', "42P05")
        if len(self.prepared) >= MAX_NAMES and name not in self.prepared:
            raise WireError(f"a session has at most {MAX_NAMES} prepared statements", "53400", hint="DEALLOCATE some")
        prepared = Prepared(command, oids, await self.shape(command, oids), self.asked_as)
        self.prepared.pop(name, None)
        self._holding.check(self._cached_bytes, prepared.n_bytes + cached_bytes(name))
        self.prepared[name] = prepared

    def prepared_as(self, name: str) -> Prepared:
        """The prepared statement of this name. Raises: WireError."""
        if name not in self.prepared:
            raise WireError(f'there is no prepared statement "{name}"', "26000")
        return self.prepared[name]

    async def shape_now(self, prepared: Prepared) -> Shape:
        """Parameters and columns of a prepared statement under the current settings."""
        if prepared.asked_as == self.asked_as:
            return prepared.shape
        return await self.shape(prepared.command, prepared.oids)

    async def _executed(self, command: c.ExecutePrepared, formats: tuple[int, ...]) -> Result:
        prepared = self.prepared_as(command.name)
        question = prepared.command
        if not isinstance(question, c.Question):
            hint = "execute it by the extended protocol"
            raise UnsupportedSQL("EXECUTE runs prepared questions only", hint=hint)
        portal = Portal.bound(question, await self.shape_now(prepared), (command.values, ()), formats, "42601")
        return await self._ask(question, portal)

    async def fetched(self, command: c.Fetch) -> tuple[Portal, range]:
        """The cursor of a FETCH, run if needed, and the range of its next rows."""
        cursor = self._cursor(command.name)
        if cursor.result is None:
            await self.run(cursor)
        assert cursor.result is not None, "a cursor is a question"
        end = len(cursor.result) if command.count is None else min(len(cursor.result), cursor.place + command.count)
        rows = range(cursor.place, end)
        cursor.place = end
        return cursor, rows

    def add_portal(self, name: str, portal: Portal) -> None:
        """Store a portal until the end of its transaction or savepoint; replaces the unnamed one.

        Raises: WireError for a name in use, and beyond the limits.
        """
        if name and name in self.portals:
            raise WireError(f'the cursor or portal "{name}" already exists', "42P03")
        if len(self.portals) >= MAX_NAMES and name not in self.portals:
            raise WireError(f"a session has at most {MAX_NAMES} portals", "53400", hint="CLOSE some")
        self.portals.pop(name, None)
        self._holding.check(self._cached_bytes, portal.memory_bytes + cached_bytes(name))
        portal.depth = self.settings.n_savepoints
        self.portals[name] = portal

    def _keep_portals(self, kept: Callable[[Portal], bool], *, depth: int) -> None:
        """Close all other portals, and move the rest to at most this savepoint depth."""
        self.portals = {name: portal for name, portal in self.portals.items() if kept(portal)}
        for portal in self.portals.values():
            portal.depth = min(portal.depth, depth)

    def _end_portals(self, *, committed: bool) -> None:
        """Close the portals of a transaction, except committed ones WITH HOLD."""
        self._keep_portals(lambda portal: portal.outlives(committed=committed), depth=OUTSIDE)

    async def _question_shape(self, question: c.Question, oids: tuple[int, ...]) -> Shape:
        intervals, dry_run, path = self.asked_as
        if question.catalog:
            asked = as_client(question, self._analyst, self.number)
            return await self._gateway.catalog_shape(self._analyst, asked, oids, path)
        asked = self._explained(question.sql) if dry_run else question.sql
        try:
            described = await self._gateway.describe(self._analyst, asked, path, oids)
        except RowsNotShown as refused:
            if not (self.settings.flag("empty_rows") or isinstance(refused, NoRowAsked)):
                raise
            return await self._gateway.catalog_shape(self._analyst, question.sql, oids, path)
        parameters = _merged(oids, tuple(map(oid_of, described.parameters)))
        typed = await self._types(asked, parameters)
        noisy = described.noisy if intervals and any(described.noisy) else None
        return Shape(parameters, answer_fields(described.columns, typed, noisy), noisy)

    async def _types(self, sql: str, oids: tuple[int, ...] = ()) -> tuple[Field, ...]:
        """PostgreSQL's types of a question's columns; EXPLAIN returns texts, or one JSON document."""
        asked = explained(sql)
        if asked is not None:
            return (Field("QUERY PLAN", _JSON),) if asked.format == "json" else ()
        return await self._gateway.answer_types(self._analyst, sql, oids, self.settings.search_path())

    async def _ask(self, question: c.Question, portal: Portal) -> Result:
        self._holding.check(self._cached_bytes)  # before anything is charged
        if question.catalog:
            values, formats = portal.raw
            oids, asked = portal.shape.parameters, as_client(question, self._analyst, self.number)
            path, zone, wanted = self.settings.search_path(), self.settings.zone(), sorted(set(portal.formats)) or [0]
            found = [
                await self._gateway.catalog(self._analyst, asked, values, formats, oids, format_, path, zone)
                for format_ in wanted
            ]
            return found[0] if len(found) == 1 else CatalogResult.mixed(found[0], found[1], portal.formats)
        sql = self._explained(question.sql) if self.settings.flag("dry_run") else question.sql
        typed = await self._types(sql) if portal.shape.fields is None else ()
        request = QueryRequest(
            self._analyst,
            sql,
            request_id=self.request_id,
            parameters=portal.values,
            search_path=self.settings.search_path(),
            zone=self.settings.zone(),
            **self.settings.of_question(),
        )
        try:
            response = await self._answered(request)
        except NoRowAsked:
            return await self._without_rows(question, portal)
        except RowsNotShown:
            if not self.settings.flag("empty_rows"):
                raise
            said = "private rows are not shown: noisegate.empty_rows returns column names only; ask for an aggregate"
            self._warning(said, _WARNING)
            return await self._without_rows(question, portal)
        held = self._gateway.outgoing.hold(self._analyst, response)
        self._tell(response)
        fields = portal.shape.fields or answer_fields(response.columns, typed)
        return answer_table(response, portal.shape.noisy, fields, held, self.settings.zone())

    async def _without_rows(self, question: c.Question, portal: Portal) -> Result:
        """The columns of private rows without any row, from the catalog."""
        oids, path = portal.shape.parameters, self.settings.search_path()
        described = await self._gateway.catalog_shape(self._analyst, question.sql, oids, path)
        return Table(described.fields or (), ())

    async def _answered(self, request: QueryRequest) -> QueryResponse:
        """Ask a question; the client or statement_timeout may cancel it."""
        limit_ms = self.settings.duration_ms("statement_timeout")
        timer = None
        if limit_ms:
            timer = asyncio.get_running_loop().call_later(limit_ms / 1000, self.cancelled.set)
        try:
            return await self._gateway.admission.answer(request, self.cancelled)
        finally:
            if timer is not None:
                timer.cancel()

    def _tell(self, response: QueryResponse) -> None:
        self._details = response.notes
        delta, budget = f", delta {response.delta:g}" if response.delta else "", response.budget
        spent = f"charged epsilon {response.epsilon:g}{delta}; {budget.epsilon_left:g} of {budget.epsilon:g} left"
        note, shown = one_note(response), self.settings.flag("intervals")
        marked = any(map(any, response.marks.values()))
        if not note or not (marked or shown or response.covers == "exact"):
            note = f"{PRACTICE if response.practice else ''} SHOW {_DETAILS} explains it.".strip()
        elif marked and not shown and len(response.rows) > 1:
            note = f"{note} SET noisegate.intervals = on shows which."
        said = spent if response.epsilon else "free"
        self._notice(f"{'practice: ' if response.practice else ''}{said}. {note}")

    @staticmethod
    def _explained(sql: str) -> str:
        return sql if explained(sql) is not None else _EXPLAIN + sql

    async def _shown(self, name: str) -> Table:
        if name.lower() == _BUDGET:
            return budget_table(self._analyst, await self._gateway.reads.remaining_questions(self._analyst))
        if name.lower() == _DETAILS:
            return Table.of([("detail", "text")], [(str(note),) for note in self._details])
        if name.lower() == "all":
            return Table.of([(column, "text") for column in ("name", "setting", "description")], self.settings.all())
        value = await self._value_of(name)
        if value is None:
            hint = f"SHOW {_BUDGET} shows what is left, {_DETAILS} explains the last answer, ALL lists the settings"
            raise InvalidSetting(f"there is no setting {name}", hint=hint)
        return Table.of([(shown_name(name), "text")], [(value,)])

    async def _value_of(self, name: str) -> str | None:
        """A session's setting, or PostgreSQL's from the catalog; None if there is none.

        Raises: CatalogRefused.
        """
        if is_known(name):
            return self.settings.get(name)
        found = await self._gateway.catalog(self._analyst, _CURRENT, (name.encode(),), (0,), (_TEXT,), 0)
        ((value,),) = found.texts(range(len(found)))
        return value

    async def _declare(self, command: c.Declare, portal: Portal) -> None:
        if not (command.hold or self._in_block):
            raise no_transaction("DECLARE CURSOR without HOLD")
        shape = await self._question_shape(command.question, portal.shape.parameters)
        assert shape.fields is not None, "a question has columns"
        cursor = Portal(
            command.question, shape, portal.values, portal.raw, (0,) * len(shape.fields), hold=command.hold
        )
        self.add_portal(command.name, cursor)

    def _cursor(self, name: str) -> Portal:
        cursor = self.portals.get(name)
        if cursor is None or not isinstance(cursor.command, c.Question):
            raise unknown_portal(name)
        return cursor

    def _transact(self, command: c.Transaction) -> str:
        was_open, kind = self.open, command.kind
        ends = kind in ("commit", "rollback")
        if kind == "begin" and was_open:
            self._warning("there is already a transaction in progress", "25001")
        elif ends and not was_open:
            self._warning("there is no transaction in progress", "25P01")
        elif kind != "begin" and not was_open:
            raise no_transaction(command.tag)
        committed = kind == "commit" and not self.failed
        if kind == "begin":
            self.settings.begin()
            self.open = True
        elif kind == "savepoint":
            self.settings.savepoint(command.name)
        elif kind == "release":
            self.settings.release(command.name)
            self._keep_portals(lambda portal: True, depth=self.settings.n_savepoints)
        elif kind == "rollback to":
            self.settings.back_to(command.name)
            self.failed = False  # going back to a savepoint repairs the transaction
            depth = self.settings.n_savepoints
            self._keep_portals(lambda portal: portal.depth < depth, depth=depth)
        else:
            self.settings.end(committed=committed)
            self.open = self.failed = False
        self._report()
        if not (ends and was_open):
            return command.tag
        self._end_portals(committed=committed)
        return "COMMIT" if committed else "ROLLBACK"

    def begin_implicitly(self, *, block: bool) -> None:
        """Begin an implicit transaction, up to the end of a text or up to Sync.

        Args:
          block: count it as a transaction block, as PostgreSQL does for several statements of one text.
        """
        self.settings.begin()
        self._block = block

    def end_implicitly(self, *, committed: bool) -> None:
        """End the implicit transaction; an explicit one continues."""
        self._block = False
        if self.open:
            return
        self.settings.end(committed=committed)
        self._report()
        self._end_portals(committed=committed)

    def _discard_all(self) -> None:
        if self._in_block:
            raise WireError(
                "DISCARD ALL cannot run inside a transaction", "25001", hint="send it as a statement of its own"
            )
        self.settings.set("all", None)
        self._report()
        self.portals.clear()
        self.prepared.clear()
        self._details = ()

    @property
    def _in_block(self) -> bool:
        return self.open or self._block

    def _set_one(self, name: str, value: str | None, local: bool) -> None:
        """Run SET; SET LOCAL outside of a transaction only checks the value."""
        self.settings.begin()
        known = self.settings.set(name, value, local, kept=not local or self._in_block)
        if not known:
            self._notice(f"the setting {name} has no effect here")
        self._report()

    async def _configured(self, command: c.Configure, values: tuple[Value, ...]) -> Table:
        """The row of a SELECT of set_config and current_setting; no row for an unknown setting."""
        columns: list[tuple[str, ResultType]] = [(call.column, "text") for call in command.calls]
        if not command.known:
            return Table.of(columns, [])
        cells = []
        for call in command.calls:
            name, *rest = (_bound(argument, values) for argument in call.arguments)
            if not isinstance(name, str):
                raise InvalidSetting("the name of a setting must be a text")
            cells.append(self._set_config(name, *rest) if call.sets else await self._current(name, *rest))
        return Table.of(columns, [tuple(cells)])

    def _set_config(self, name: str, value: Value, local: Value) -> str:
        """Set a value, and return it as set_config does. Raises: InvalidSetting."""
        if not (value is None or isinstance(value, str)):
            raise InvalidSetting(f"the value of {name} must be a text")
        self._set_one(name, value, _truth(local))
        if _truth(local) and not self._in_block:
            return value or ""
        return self.settings.get(name) or value or ""

    async def _current(self, name: str, missing_ok: Value = False) -> str | None:
        value = await self._value_of(name)
        if value is None and not _truth(missing_ok):
            raise InvalidSetting(f"there is no setting {name}", hint="SHOW ALL lists the settings")
        return value

    def _of_backends(self, command: c.BackendCall, values: tuple[Value, ...]) -> Table:
        """The session's number, or whether the analyst had another session of this number, which is stopped."""
        fields = (_of_backend(command.function, command.column),)
        if command.function == _BACKEND_PID:
            return Table(fields, [(self.number,)])
        number = str(_bound(1, values) if command.number is None else command.number)
        if len(number) > _NUMBER_DIGITS or not number.isdecimal():
            raise WireError(
                "this function needs the number of a session", "22023", hint="SELECT pg_backend_pid() shows it"
            )
        stopped = self.stop(int(number), session=command.function == _TERMINATE)
        if not stopped:
            self._warning(f"you have no session {number}", _WARNING)
        return Table(fields, [(stopped,)])


def _merged(oids: tuple[int, ...], ours: tuple[int, ...]) -> tuple[int, ...]:
    """The client's types, and ours where it gave none."""
    return tuple(given or our for given, our in itertools.zip_longest(oids[: len(ours)], ours, fillvalue=0))


def _configured_shape(command: c.Configure, oids: tuple[int, ...]) -> Shape:
    """Columns of texts; parameters are texts, except a boolean as the last one of each call."""
    wanted: dict[int, int] = {}
    for call in command.calls:
        for place, argument in enumerate(call.arguments):
            if isinstance(argument, int) and not isinstance(argument, bool):
                wanted[argument] = _BOOL if place == (2 if call.sets else 1) else _TEXT
    parameters = tuple(wanted.get(n, _TEXT) for n in range(1, max(wanted, default=0) + 1))
    return Shape(_merged(oids, parameters), tuple(field_of(call.column, "text") for call in command.calls))


def _of_backend(function: str, name: str) -> Field:
    """The column of a session's number with PostgreSQL's type, or of a boolean."""
    return field_of(name, "int8", Field(name, _INT4, 4)) if function == _BACKEND_PID else field_of(name, "bool")


def _bound(argument: str | int | bool | None, values: tuple[Value, ...]) -> Value:
    if not isinstance(argument, int) or isinstance(argument, bool):
        return argument
    if not 1 <= argument <= len(values):
        raise WireError(f"there is no parameter ${argument}", "42P02")
    return values[argument - 1]


def _truth(value: Value) -> bool:
    if isinstance(value, bool) or value is None:
        return bool(value)
    try:
        return truth(str(value))
    except ValueError:
        raise InvalidSetting("the last argument must be true or false") from None
