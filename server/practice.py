"""Practice: the pipeline of a policy over drawn rows, with a ledger of its own that charges nobody.

Planning, mechanisms, groups, public tables and SQL around answers are the real ones. The private tables are replaced
by rows that follow from the schema and the policy alone (`server.backends.practice_rows`), and `PublicOnly` leaves no
way to read others. So an answer is a function of public facts, fresh noise, and what was asked in practice before.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from planner.errors import PlannerError, StatementTooComplex
from planner.limits import MAX_PUBLIC_ROWS
from planner.policy.declared import believed_keys
from planner.public.relation import PublicStatement
from planner.schema import Column, Table
from planner.sql.sql_types import Family, sql_type
from server.answers.work import Work
from server.answers.workload.workload import WorkloadRequest, WorkloadResponse
from server.backends.backend import quoted
from server.backends.duckdb import DuckdbLimits
from server.backends.practice import PracticeBackend, PracticeCopy, PublicOnly, write_practice
from server.backends.practice_rows import Rows, practice_names, practice_rows
from server.errors import BudgetExhausted, ServerError
from server.ledger.account import Grant, analyst_account
from server.ledger.analyst import Act, key_hash
from server.ledger.ledger import Ledger
from server.ledger.sqlite import create_ledger
from server.pipeline import Pipeline
from server.query import Cell, QueryRequest, QueryResponse

T = TypeVar("T")

_ACT = Act("practice", "free of charge")
_MEMORY_MB = 1_024
_MOST_GRANTS = 100
"""How often a grant is given again, so that the practice ledger cannot grow without limit."""


@dataclass(frozen=True)
class PracticePipeline(Pipeline):
    """Answers in practice, and marks every answer.

    Attributes:
      renew: gives the analyst's grant once more; False: no more.
    """

    renew: Callable[[], bool] = field(default=lambda: False)

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        """Answer as the real pipeline does. Raises: as it does."""
        answer = self._paid(partial(super().finish, found, request, cancelled))
        return replace(answer, practice=True)

    def workload(self, request: WorkloadRequest, cancelled: threading.Event | None = None) -> WorkloadResponse:
        """Answer as the real pipeline does. Raises: as it does."""
        found = self._paid(partial(super().workload, request, cancelled))
        return replace(found, answers=tuple(replace(one, practice=True) for one in found.answers))

    def _paid(self, ask: Callable[[], T]) -> T:
        """Ask, and once more if the budget was exhausted and is renewed: practice must not end for want of budget."""
        try:
            return ask()
        except BudgetExhausted:
            if not self.renew():
                raise
        return ask()


class Practice:
    """The practice database of one policy. Its rows are drawn when it is first asked for.

    Attributes:
      real: the pipeline that it stands beside.
    """

    def __init__(self, real: Pipeline) -> None:
        self.real = real
        self._lock = threading.Lock()
        self._shared: PracticePipeline | None = None
        self._own: dict[str, PracticePipeline] = {}

    def of(self, analyst: str) -> PracticePipeline:
        """The pipeline of one analyst, whose account has the grant of the real ledger.

        Rows are the same for all. Answers are not: a policy has one audience, so nobody learns for free what others
        have asked.

        Raises: UnknownAnalyst; errors of the real ledger.
        Cost: the first call reads the public tables and draws the rows, for a second or two.
        """
        with self._lock:
            self._shared = shared = self._shared or self._opened()
            if analyst not in self._own:
                own = next(one for one in self.real.ledger.accounts(analyst) if one.name == analyst_account(analyst))
                shared.ledger.add_analyst(analyst, key_hash(analyst), 1.0, 0.0, act=_ACT, grant=own.grant)
                policy = replace(shared.policy, audience=analyst)
                renew = partial(_renewed, shared.ledger, analyst, own.grant)
                self._own[analyst] = replace(shared, policy=policy, renew=renew)
            return self._own[analyst]

    def _opened(self) -> PracticePipeline:
        real = self.real
        policy, schema = real.policy, real.schema
        folder = Path(tempfile.mkdtemp(prefix="noisegate-practice-"))
        ledger = create_ledger(folder / "ledger.sqlite", folder / "ledger.json")
        ledger.note_checked(ledger.data_version(), schema.fingerprint, believed_keys(schema), _ACT)
        public = {name: read for name in practice_names(schema, policy) if (read := self._public(name)) is not None}
        rows = practice_rows(schema, policy, policy.practice.rows, policy.practice.skew, public)
        write_practice(folder / "rows.duckdb", schema, rows)
        most = policy.database_limits
        limits = DuckdbLimits(most.seconds * 1_000, rows=most.rows, memory_mb=_MEMORY_MB, threads=1)
        file = PracticeBackend(folder / "rows.duckdb", limits=limits, planned=schema.fingerprint)
        copy = PracticeCopy(file, schema)
        weakref.finalize(copy, _close, ledger.close, folder)  # with the last pipeline that reads it
        return PracticePipeline(
            policy,
            schema,
            PublicOnly(real.backend),
            ledger,
            real.workers,
            clock=real.clock,
            public=real.public,
            mirror=copy,
        )

    def _public(self, name: str) -> Rows | None:
        """The rows of a public table, by the free reads that analysts use; None if the database does not answer."""
        table, planning = self.real.schema.tables[name], self.real.planning
        if not self.real.policy.is_public(name):
            return None
        columns = [one for one in table.columns if sql_type(one.type).family is not Family.OTHER]
        listed = ", ".join(quoted(one.name) for one in columns)
        place = f"{quoted(table.namespace)}.{quoted(table.relation)}"
        for most in (MAX_PUBLIC_ROWS, MAX_PUBLIC_ROWS // 20):  # of wide tables the first are too many bytes
            try:
                found = planning.planned(QueryRequest("", f"SELECT {listed} FROM {place} LIMIT {most}"))
                assert isinstance(found, PublicStatement), "it names a public table alone"
                return _rows(table, columns, planning.reads.rows(planning.backend, found, "practice"))
            except StatementTooComplex:
                continue
            except (PlannerError, ServerError):
                break
        return None


def _renewed(ledger: Ledger, analyst: str, grant: Grant) -> bool:
    """Give the grant once more, up to a limit; was it given?"""
    budget = ledger.budget(analyst)
    if budget.epsilon >= _MOST_GRANTS * grant.epsilon:
        return False
    delta = grant.delta if budget.delta + grant.delta < 1 else 0.0
    ledger.top_up(analyst_account(analyst), grant.epsilon, delta, _ACT)
    return True


def _rows(table: Table, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Rows:
    found = {one.name: np.full(len(rows), None, dtype=object) for one in table.columns}
    for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
        found[column.name][:] = [None if cell is None else str(cell) for cell in cells]
    return Rows(found)


def _close(close: Callable[[], None], folder: Path) -> None:
    close()
    shutil.rmtree(folder, ignore_errors=True)
