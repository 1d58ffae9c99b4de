"""A gateway that answers everything alike, for tests of sessions: what was asked stands in `asked`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import cast

from planner.errors import RowsNotShown, UnknownTable
from server.admission import Admission, LedgerReads
from server.answers.cached_answers import Paid
from server.answers.work import Cached, Explain, Work
from server.connections import Outgoing
from server.errors import BudgetExhausted, CancelledByClient
from server.ledger.account import AccountBalance, Grant, analyst_account
from server.ledger.balance import RemainingQuestions
from server.ledger.charge import CachedAnswer, Charge
from server.ledger.ledger import Ledger
from server.pgwire.gateway import Gateway
from server.pgwire.result_rows import CatalogResult, Shape
from server.pgwire.settings import SearchPath
from server.pgwire.wire_values import Field
from server.query import Budget, Interval, QueryRequest, QueryResponse, ResultColumn, StatementShape
from server.question import Question
from server.scheduling.thread_pool import ThreadPool

COLUMNS = (ResultColumn("nation", "text"), ResultColumn("count", "int8"))
ROWS = (("FRANCE", 12), ("PERU", 7), ("CHINA", -1))
BUDGET = Budget(10.0, 0.0, 9.0, 0.0)


def kept(size: int = 0) -> Cached:
    """A look-up that has found an answer of so many bytes; what it says is up to who finishes it."""
    answer = CachedAnswer(1, bytes(size), cast(Charge, None), paid=True)
    return Cached(cast(Question, None), Paid(answer, BUDGET))


def _refuse(sql: str) -> None:
    if "nowhere" in sql:
        raise UnknownTable("there is no table nowhere", position=sql.index("nowhere") + 1)
    if "each" in sql:
        raise RowsNotShown("it would show rows")


class ScriptedGateway(Gateway):
    """Answers three rows, refuses `nowhere` and `each`, is exhausted by `dear`, waits at `slow` till cancelled."""

    def __init__(self) -> None:
        self.asked: list[QueryRequest] = []
        self.catalog_asked: list[str] = []
        self.low_precision: tuple[bool, ...] = ()
        self.clipped: tuple[bool, ...] = ()
        self.types: tuple[Field, ...] = ()
        self.outgoing = Outgoing()
        threads = ThreadPool(4, 64)
        self.reads = LedgerReads(cast(Ledger, self), at_once=True, threads=threads)
        self.admission = Admission(lambda: self, self.reads, threads, threads)
        self.made: Callable[[], QueryResponse] | None = None  # instead of three rows

    @property
    def schemas(self) -> tuple[str, ...]:
        """One."""
        return ("public",)

    def epsilons(self) -> tuple[float, float]:
        """Up to four."""
        return 0.01, 4.0

    async def describe(
        self, analyst: str, sql: str, search_path: SearchPath = None, oids: Sequence[int] = ()
    ) -> StatementShape:
        """The answer's columns, and a parameter if the text has one."""
        _refuse(sql)
        columns = COLUMNS if self.made is None else self.made().columns
        return StatementShape(("int8",) if "$1" in sql else (), columns, (False, True)[: len(columns)])

    def find_planned(self, request: QueryRequest) -> Work:
        """Cached, and so answered at once, but for what is slow."""
        _refuse(request.sql)
        return Explain() if "slow" in request.sql else kept()

    def find(self, request: QueryRequest, cancelled: threading.Event | None = None) -> Work:
        """As one whose plan is remembered."""
        return self.find_planned(request)

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Three rows."""
        if "dear" in request.sql:
            raise BudgetExhausted("only 1 is left")
        if "foreign" in request.sql:
            raise ValueError("secret zebra")
        if "slow" in request.sql:
            assert cancelled is not None and cancelled.wait(10)
            raise CancelledByClient("cancelled; it was charged")
        self.asked.append(request)
        if self.made is not None:
            return self.made()
        intervals = tuple((None, Interval(float(count) - 2, None)) for _, count in ROWS)
        return QueryResponse(
            COLUMNS,
            ROWS,
            intervals,
            0.95,
            "clipped value",
            "gem",
            1.0,
            0.0,
            BUDGET,
            "r",
            self.low_precision,
            self.clipped,
        )

    def remaining_questions(self, analyst: str) -> RemainingQuestions:
        own = self.budget(analyst)
        grant, left = Grant(own.epsilon, own.delta), (own.epsilon_left, own.delta_left)
        return RemainingQuestions(
            (AccountBalance(analyst_account(analyst), grant, *left, None),), 18, 10, analyst_account(analyst)
        )

    def budget(self, analyst: str) -> Budget:
        """Nine of ten."""
        return BUDGET

    async def answer_types(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> tuple[Field, ...]:
        """What stands in `types`: nothing, unless a test says so."""
        return self.types

    async def catalog_shape(
        self, analyst: str, sql: str, oids: Sequence[int], search_path: SearchPath = None
    ) -> Shape:
        """One column."""
        return Shape(tuple(oids), (Field("relname", 19, 64),))

    async def catalog(
        self,
        analyst: str,
        sql: str,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        oids: Sequence[int],
        result_format: int,
        search_path: SearchPath = None,
        zone: str = "UTC",
    ) -> CatalogResult:
        """One row: a table, or a setting, of which there is `jit`."""
        self.catalog_asked.append(sql)
        if "current_setting($1" in sql:
            setting = b"on" if values == (b"jit",) else None
            return CatalogResult((Field("current_setting", 25),), (result_format,), ((setting,),))
        return CatalogResult((Field("relname", 19, 64),), (result_format,), ((b"orders",),))
