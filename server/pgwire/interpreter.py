"""What each command does: the part of a session that knows nothing of messages."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.errors import InvalidSetting, RowsNotShown, UnsupportedSQL
from planner.plan import ResultType
from server.errors import WireError
from server.flat_answer import flat_columns
from server.pgwire import commands as c
from server.pgwire.desk import Desk
from server.pgwire.errors import known_portal, no_transaction, unknown_portal
from server.pgwire.portal import Portal, Shape
from server.pgwire.results import NoRows, Result, Table, answer_table
from server.pgwire.settings import Settings
from server.pgwire.transaction import TransactionState
from server.pgwire.values import Field, field_of
from server.query import Budget, QueryRequest, QueryResponse

MAX_HELD_CELLS = 1_000_000
"""Of the answers that a session's portals hold while it asks for one more."""

MAX_HELD_BYTES = 64 << 20
"""Of the texts of these answers, and of the values that were bound."""

_BUDGET = "noisegate.budget"
_EXPLAIN = "EXPLAIN "


@dataclass
class Notices:
    """What clients are told beside their rows."""

    notice: Callable[[str], None]
    warning: Callable[[str], None]
    status: Callable[[str, str], None]


class Interpreter:
    """Runs the commands of one session.

    Attributes:
      settings, transaction, portals: the session's state; portals are cursors, too.
      cancelled: set by a CancelRequest while a statement runs.
      request_id: of the statement that runs; stands in logs, the ledger and errors.
    """

    def __init__(self, desk: Desk, analyst: str, settings: Settings, notices: Notices) -> None:
        self.settings = settings
        self.transaction = TransactionState()
        self.portals: dict[str, Portal] = {}
        self.cancelled = threading.Event()
        self.request_id = ""
        self._desk = desk
        self._analyst = analyst
        self._notices = notices

    @property
    def asked_as(self) -> tuple[bool, bool]:
        """The settings that change the columns of a question."""
        return self.settings.flag("intervals"), self.settings.flag("dry_run")

    async def shape(self, command: c.Command | None, oids: tuple[int, ...]) -> Shape:
        """Parameters and columns of a command, before it runs. Free."""
        if isinstance(command, c.Question):
            return await self._question_shape(command, oids)
        if isinstance(command, c.Show):
            return Shape(fields=(await self._shown(command.name)).fields)
        if isinstance(command, c.Fetch) and not command.move:
            return Shape(fields=self._cursor(command.name).shape.fields)
        if isinstance(command, (c.Declare, c.Copy)):
            return Shape((await self._question_shape(command.question, oids)).parameters)
        return Shape()

    async def run(self, portal: Portal) -> str:
        """Run a portal's command for the first time.

        Returns: the tag of its completion; for what has rows they stand in `portal.result`.
        Raises: whatever the client is told as an error.
        """
        command = portal.command
        if isinstance(command, c.Question):
            portal.result = await self._ask(command, portal)
            return "SELECT"
        if isinstance(command, c.Show):
            portal.result = await self._shown(command.name)
            return "SHOW"
        if isinstance(command, c.Declare):
            await self._declare(command, portal)
            return "DECLARE CURSOR"
        if isinstance(command, c.Transaction):
            return self._transact(command)
        assert command is not None and not isinstance(command, (c.Fetch, c.Copy, c.Deallocate)), "run elsewhere"
        return self._set(command)

    def check_room(self, replaced: str | None = None) -> None:
        """Refuse one more where the session's portals hold as much as they may; `replaced` is about to go.

        Raises: WireError.
        """
        held = [portal for name, portal in self.portals.items() if name != replaced]
        cells, size = sum(portal.n_cells for portal in held), sum(portal.n_bytes for portal in held)
        if cells > MAX_HELD_CELLS or size > MAX_HELD_BYTES:
            raise WireError("the session's cursors and portals hold too much", "53400", hint="CLOSE some")

    async def fetched(self, command: c.Fetch) -> tuple[Portal, range]:
        """The cursor of a FETCH, run if it has not been, and which of its rows are next."""
        cursor = self._cursor(command.name)
        if cursor.result is None:
            await self.run(cursor)
        assert cursor.result is not None, "a cursor is a question"
        end = len(cursor.result) if command.count is None else min(len(cursor.result), cursor.place + command.count)
        rows = range(cursor.place, end)
        cursor.place = end
        return cursor, rows

    def end_transaction(self) -> None:
        """What a transaction's end takes with it."""
        self.portals = {name: portal for name, portal in self.portals.items() if portal.hold}

    async def _question_shape(self, question: c.Question, oids: tuple[int, ...]) -> Shape:
        if question.catalog:
            catalog = await self._desk.catalog_shape(self._analyst, question.sql, oids)
            return Shape(catalog.parameters, catalog.fields)
        intervals, dry_run = self.asked_as
        asked = self._explained(question.sql) if dry_run else question.sql
        try:
            described = await self._desk.describe(self._analyst, asked)
        except RowsNotShown:
            if not self.settings.flag("empty_rows"):
                raise
            catalog = await self._desk.catalog_shape(self._analyst, question.sql, oids)
            return Shape(catalog.parameters, catalog.fields)
        columns = [(column.name, column.type) for column in described.columns]
        parameters = _merged(oids, described.parameters)
        if not intervals or not any(described.noisy):
            return Shape(parameters, _fields(columns))
        return Shape(parameters, _fields(flat_columns(columns, described.noisy)), described.noisy)

    async def _ask(self, question: c.Question, portal: Portal) -> Result:
        self.check_room()  # before anything is charged
        if question.catalog:
            format_ = _one_format(portal.formats)
            values, formats = portal.raw
            oids = portal.shape.parameters
            return await self._desk.catalog(self._analyst, question.sql, values, formats, oids, format_)
        sql = self._explained(question.sql) if self.settings.flag("dry_run") else question.sql
        request = QueryRequest(
            analyst=self._analyst,
            sql=sql,
            epsilon=self.settings.number("epsilon"),
            delta=self.settings.number("delta"),
            mechanism=self.settings.mechanism(),
            request_id=self.request_id,
            parameters=portal.values,
            sampling_rate=self.settings.number("sampling_rate"),
        )
        try:
            response = await self._answered(request)
        except RowsNotShown:
            if not self.settings.flag("empty_rows"):
                raise
            return await self._without_rows(question, portal)
        self._tell(response)
        return answer_table(response, portal.shape.noisy)

    async def _without_rows(self, question: c.Question, portal: Portal) -> Result:
        """The columns of private rows, for tools that want to know them: from the catalog, which holds no row."""
        described = await self._desk.catalog_shape(self._analyst, question.sql, portal.shape.parameters)
        self._notices.warning(
            "private rows are not shown: these are only their columns, as noisegate.empty_rows says"
        )
        return NoRows(described.fields)

    async def _answered(self, request: QueryRequest) -> QueryResponse:
        """Ask; cancelled by the client or by the session's own statement_timeout."""
        limit_ms = self.settings.duration_ms("statement_timeout")
        timer = None
        if limit_ms:
            timer = asyncio.get_running_loop().call_later(limit_ms / 1000, self.cancelled.set)
        try:
            return await self._desk.answer(request, self.cancelled)
        finally:
            if timer is not None:
                timer.cancel()

    def _tell(self, response: QueryResponse) -> None:
        if response.epsilon:
            self._notices.notice(f"charged {_amount(response.epsilon, response.delta)}; {_left(response.budget)}")
        if any(response.weak):
            self._notices.warning(_weakness(response.weak, shown=self.settings.flag("intervals")))

    @staticmethod
    def _explained(sql: str) -> str:
        return sql if sql[:7].upper() == "EXPLAIN" else _EXPLAIN + sql

    async def _shown(self, name: str) -> Table:
        if name.lower() == _BUDGET:
            budget = await self._desk.budget(self._analyst)
            cells = (budget.epsilon, budget.delta, budget.epsilon_left, budget.delta_left)
            names = ("epsilon", "delta", "epsilon_left", "delta_left")
            return Table.of([(column, "float8") for column in names], [cells])
        if name.lower() == "all":
            return Table.of([(column, "text") for column in ("name", "setting", "description")], self.settings.all())
        value = self.settings.get(name)
        if value is None:
            hint = f"SHOW {_BUDGET} tells what is left, SHOW ALL every setting"
            raise InvalidSetting(f"there is no setting {name}", hint=hint)
        return Table.of([(name.lower(), "text")], [(value,)])

    async def _declare(self, command: c.Declare, portal: Portal) -> None:
        if not (command.hold or self.transaction.open):
            raise no_transaction("DECLARE CURSOR without HOLD")
        if command.name in self.portals:
            raise known_portal(command.name)
        shape = await self._question_shape(command.question, portal.shape.parameters)
        assert shape.fields is not None, "a question has columns"
        cursor = Portal(command.question, shape, portal.values, portal.raw, (0,) * len(shape.fields))
        cursor.hold = command.hold
        self.portals[command.name] = cursor

    def _cursor(self, name: str) -> Portal:
        cursor = self.portals.get(name)
        if cursor is None or not isinstance(cursor.command, c.Question):
            raise unknown_portal(name)
        return cursor

    def _transact(self, command: c.Transaction) -> str:
        was_open = self.transaction.open
        if command.kind == "begin" and was_open:
            self._notices.warning("there is a transaction in progress already")
        elif command.kind in ("commit", "rollback") and not was_open:
            self._notices.warning("there is no transaction in progress")
        elif command.kind in ("savepoint", "release", "rollback to") and not was_open:
            raise no_transaction(command.tag)
        committed = command.kind == "commit" and not self.transaction.failed
        self.transaction.apply(command.kind)
        if command.kind == "begin" and not was_open:
            self.settings.begin()
        if command.kind in ("commit", "rollback") and was_open:
            before = self.settings.reported()
            self.settings.end(committed=committed)
            self._report(before)
            self.end_transaction()
            return "COMMIT" if committed else "ROLLBACK"
        return command.tag

    def _set(self, command: c.Command) -> str:
        if isinstance(command, c.SetSetting):
            before = self.settings.reported()
            if not self.settings.set(command.name, command.value, command.local):
                self._notices.notice(f"the setting {command.name} has no effect here")
            self._report(before)
            return command.tag
        if isinstance(command, c.Discard):
            if command.what == "ALL":
                if self.transaction.open:
                    raise UnsupportedSQL("DISCARD ALL is not for transactions")
                before = self.settings.reported()
                self.settings.set("all", None)
                self._report(before)
                self.portals.clear()
            return f"DISCARD {command.what}"
        if isinstance(command, c.CloseCursor):
            if command.name is None:
                self.portals.clear()
                return "CLOSE CURSOR ALL"
            self._cursor(command.name)
            del self.portals[command.name]
            return "CLOSE CURSOR"
        assert isinstance(command, c.Nothing), "every command is run somewhere"
        return command.tag

    def _report(self, before: dict[str, str]) -> None:
        """Tell the client of settings that changed and that it keeps track of."""
        for name, value in self.settings.reported().items():
            if before[name] != value:
                self._notices.status(name, value)


def _merged(oids: tuple[int, ...], told: tuple[int, ...]) -> tuple[int, ...]:
    """The client's own types where it gave some, else ours."""
    return tuple(own or ours for own, ours in itertools.zip_longest(oids[: len(told)], told, fillvalue=0))


def _fields(columns: Sequence[tuple[str, ResultType]]) -> tuple[Field, ...]:
    return tuple(field_of(name, kind) for name, kind in columns)


def _one_format(formats: tuple[int, ...]) -> int:
    if len(set(formats)) > 1:
        raise UnsupportedSQL("the catalog answers in one format for all columns", hint="ask for text")
    return formats[0] if formats else 0


def _weakness(weak: Sequence[bool], *, shown: bool) -> str:
    """How many rows say little, and how to see which."""
    rows = "the answer is weak"
    if len(weak) > 1:
        rows = f"{sum(weak)} of {len(weak)} rows {'is' if sum(weak) == 1 else 'are'} weak"
    said = f"{rows}: so little budget that values may be cut to any part of the true ones"
    return said if shown or len(weak) == 1 else f"{said}; SET noisegate.intervals = on adds a column that marks them"


def _amount(epsilon: float, delta: float) -> str:
    return f"epsilon {epsilon:g}" + (f", delta {delta:g}" if delta else "")


def _left(budget: Budget) -> str:
    return f"{budget.epsilon_left:g} of {budget.epsilon:g} left"
