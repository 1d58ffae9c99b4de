"""From the text of a request to what it asks: one question, a composition of several, or public rows.

    QueryRequest --read--> Statement --bind--> BoundQuery --plan--> Plan --> Question
                                     --compose--> Composition, of several Questions
                                     --bind_public--> PublicStatement, over public tables only

Everything here is public: statements, policy, catalog, and lists of groups in public tables.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.bound_query import BoundQuery
from planner.binding.placeholders import snapped, substitute
from planner.describe import describe
from planner.errors import (
    InvalidSyntax,
    PlannerError,
    RowsNotShown,
    StatementTooComplex,
    UnknownColumn,
    UnknownTable,
    UnsupportedSQL,
)
from planner.expand_views import expanded
from planner.group_domains.day_conditions import day_columns
from planner.parsing.explain import explained
from planner.parsing.parse import Statement, private_select, read_of
from planner.parsing.spellings import in_lower_case
from planner.plan import BackendQuery
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy
from planner.postprocessing.released_tables import ReleasedRelation, beside_released
from planner.public.bind import bind_public
from planner.public.relation import PublicStatement
from planner.public.route import check_public, lists_people, names_private_table
from planner.released_expression import is_noisy
from planner.rewriting.rewrite import rewrite, write_public
from planner.schema import Schema
from planner.sql.sql_types import MEASURED
from planner.sql.trees import tables_of
from planner.sql.zones import UTC
from server.backends.backend import Backend, Source
from server.backends.columns import Domain
from server.explain.catalog import Catalog, catalog
from server.explain.explanation_text import EXPLANATION
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.postprocessing.composition import Composer, Composition
from server.postprocessing.computed_response import computed_shape
from server.query import QueryRequest, ResultColumn, StatementShape
from server.question import Asked, Question, answer_key, words_of
from server.scheduling.fair_shares import FairQueue
from server.workers.measure import plan_measurements
from server.workers.public_reads import PublicReads

if TYPE_CHECKING:  # DuckDB is an extra
    from server.backends.mirror import CurrentMirror
    from server.backends.practice import PracticeCopy


@dataclass(frozen=True)
class Explain:
    """EXPLAIN: free, and its explanation is not worked out yet."""


Planned = Question | Composition | PublicStatement | Explain


_TURNS = FairQueue(places=2)
"""Planning occupies the interpreter: more at once would end no sooner, and would delay the event loop."""

_WAIT_S = 60.0

_LONG = 2_000
"""Statements of more characters are planned by a worker, which can be stopped. A usual one takes 5 ms. One of 8,000
characters takes 100 ms, which would delay everybody else, and its plan takes 20 ms to read back."""

T = TypeVar("T")


@dataclass(frozen=True)
class _KnownVersion:
    """What planning reads of a ledger, in a worker."""

    version: int

    def data_version(self) -> int:
        """The data version when the statement was sent."""
        return self.version


_MOST_SENT = 2 << 20
"""Bytes of a plan that a worker sends. Larger ones are made here: read back, they would take far more memory."""


def _plan_apart(
    ask: Callable[[Planning], object], policy: Policy, schema: Schema, now: datetime, version: int, backend: Backend
) -> bytes | None:
    """Plan in a worker, which remembers nothing and reads nothing; None if the plan is too large to be sent.

    Raises: as `ask`; StatementTooComplex.
    """
    ledger, reads = cast("Ledger", _KnownVersion(version)), cast("PublicReads", None)
    empty: LruCache[Asked, Any] = LruCache(0)
    planning = Planning(policy, schema, backend, ledger, reads, lambda: now, None, empty, empty)
    made = _not_too_deep(lambda: pickle.dumps(ask(planning), pickle.HIGHEST_PROTOCOL))
    return made if len(made) <= _MOST_SENT else None


def _not_too_deep(plan: Callable[[], T]) -> T:
    try:
        return plan()
    except RecursionError:
        raise StatementTooComplex("the statement is nested too deeply", hint="split it") from None


@dataclass(frozen=True)
class Planning:
    """Plans requests under one policy.

    Attributes:
      policy, schema: what plans are made from.
      reads: reads public tables.
      clock: the time with its zone. Plans see it rounded to the policy's time grain.
      mirror: a copy of the tables, or None.
      questions, compositions: recent plans over private tables.
    """

    policy: Policy
    schema: Schema
    backend: Backend
    ledger: Ledger
    reads: PublicReads
    clock: Callable[[], datetime]
    mirror: CurrentMirror | PracticeCopy | None
    questions: LruCache[Asked, Question]
    compositions: LruCache[Asked, Composition]

    def planned(self, request: QueryRequest, cancelled: threading.Event | None = None) -> Planned:
        """Plan a request. Raises: PlannerError; TooManyQueries; CancelledEarly."""
        asked = self._asked(request)
        known = self.questions.get(asked) or self.compositions.get(asked)
        if known is not None:
            return known
        if explained(request.sql) is not None:
            return Explain()
        found: Planned = self._in_turn(
            request.analyst, request.sql, methodcaller("_plan", request, asked.data_version), cancelled
        )
        if isinstance(found, Question):
            return self.questions.put(asked, found)
        return self.compositions.put(asked, found) if isinstance(found, Composition) else found

    def planned_lately(self, request: QueryRequest) -> Question | None:
        """The remembered question of a request, found by a few ledger reads; None if none is remembered."""
        return self.questions.get(self._asked(request))

    def moment(self, zone: str = UTC) -> datetime:
        """The time that plans see now, in a session's zone."""
        return snapped(self.clock(), self.policy.time_grain, zone)

    def question(self, request: QueryRequest) -> Question:
        """Parse, bind and plan a query that is one question over private tables. Raises: PlannerError."""
        found: Question = self._in_turn(request.analyst, request.sql, methodcaller("_question", request))
        return found

    def of_bound(
        self,
        bound: BoundQuery,
        request: QueryRequest,
        *,
        policy: Policy | None = None,
        data_version: int | None = None,
        query: BackendQuery | None = None,
    ) -> Question:
        """Plan a bound query with a request's settings.

        Args:
          bound, request: the query and its settings.
          policy: None: the policy in force.
          data_version: None: the current one.
          query: the statements of the same question at another epsilon, if this one is only compared and never asked.
        """
        plan = make_plan(
            bound,
            self.schema,
            policy or self.policy,
            epsilon=request.epsilon,
            delta=request.delta,
            mechanism=request.mechanism,
            sampling_rate=request.sampling_rate,
            at_most=request.at_most,
        )
        read = query or rewrite(plan, dialect=self.backend.dialect, schema=self.schema)
        version = self.ledger.data_version() if data_version is None else data_version
        return Question(
            plan,
            read,
            plan_measurements(plan, self.policy),
            answer_key(plan, read, self.policy.time_grain, version),
            version,
            None if self.mirror is None or query is not None else self.mirror.query(plan, self.schema),
            day_columns(bound, self.policy),
            bound,
        )

    def groups(self, query: BackendQuery, analyst: str, cancelled: threading.Event | None = None) -> Domain:
        """Read the public groups of a query on an analyst's behalf. Free."""
        return self.reads.domain(self.backend, query, analyst, cancelled)

    def groups_of(self, question: Question, analyst: str, cancelled: threading.Event | None = None) -> Domain:
        """The public groups of a question; without GROUP BY the single group. Free."""
        return self.groups(question.query, analyst, cancelled) if question.plan.group_keys else Domain(())

    def source(self, question: Question) -> Source:
        """Where a question's rows are read: the mirror while it is current and supports the question, else the
        database.
        """
        if self.mirror is None:
            return self.backend
        return self.mirror.source(question.plan, question.mirrored, question.data_version, self.backend)

    def describe(
        self,
        sql: str,
        search_path: tuple[str, ...] | None = None,
        analyst: str = "",
        given: tuple[str | None, ...] = (),
    ) -> StatementShape:
        """Parameters and columns of a question before its values are known. Free.

        For SQL around answers, the database is asked for the columns over no rows.

        Args:
          search_path: the schemas of tables without one; None: the policy's.
          given: the types that the client declares for its parameters, or None each.
        Raises: PlannerError.
        """
        asked = explained(sql)
        found = self._shape(sql if asked is None else asked.sql, search_path, analyst, given)
        return found if asked is None else StatementShape(found.parameters, EXPLANATION, (False,))

    def _shape(
        self, sql: str, search_path: tuple[str, ...] | None, analyst: str, given: tuple[str | None, ...]
    ) -> StatementShape:
        found: StatementShape | Composition
        found = self._in_turn(analyst, sql, methodcaller("_described", sql, search_path, given))
        if isinstance(found, StatementShape):
            return found
        return computed_shape(found, self.reads.computed(self.backend, found.statement, analyst, rows=False))

    def _described(
        self, sql: str, search_path: tuple[str, ...] | None, given: tuple[str | None, ...]
    ) -> StatementShape | Composition:
        statement = self._read(sql, search_path)
        try:
            tree: exp.Query = statement.tree
            if names_private_table(tree, self.schema, self.policy, search_path):
                tree = private_select(statement)
            else:
                check_public(statement)
            found = describe(tree, self.schema, self.policy, search_path, given)
            columns = tuple(ResultColumn(one.name, one.type) for one in found.outputs)
            return StatementShape(found.parameters, columns, tuple(is_noisy(one, MEASURED) for one in found.outputs))
        except (UnsupportedSQL, InvalidSyntax):
            composed = self._composer.described(statement, search_path, given)
            if composed is None:
                raise
            return composed

    @cached_property
    def catalog(self) -> Catalog:
        """The tables and columns that may be queried."""
        found = catalog(self.schema, self.policy)
        return replace(found, examples=tuple(one for one in found.examples if self._can_be_asked(one.sql)))

    def _can_be_asked(self, sql: str) -> bool:
        try:
            self.question(QueryRequest("", sql))
        except PlannerError:
            return False
        return True

    def _in_turn(
        self, analyst: str, sql: str, ask: Callable[[Planning], T], cancelled: threading.Event | None = None
    ) -> T:
        """Plan a statement when it is the analyst's turn: here, or in a worker if the statement is long.

        Raises: as `ask`; TooManyQueries; CancelledEarly; StatementTooComplex.
        """
        made = None
        if len(sql) > _LONG:
            apart = partial(_plan_apart, ask, self.policy, self.schema, self.clock(), self.ledger.data_version())
            made = self.reads.planned(apart, self.backend, analyst, cancelled)
        with _TURNS.turn(analyst, _WAIT_S, cancelled):
            if made is None:
                return _not_too_deep(lambda: ask(self))
            found: T = pickle.loads(made)
            return found if self.mirror is None else self._mirrored(found)

    def _mirrored(self, found: T) -> T:
        """The same with the statements for the mirror, which workers that plan do not know."""
        if isinstance(found, Composition):
            parts = [replace(part, question=self._mirrored(part.question)) for part in found.parts]
            return replace(found, parts=tuple(parts))
        if isinstance(found, Question) and self.mirror is not None:
            query = self.mirror.query(found.plan, self.beside(found.tables).schema)
            return replace(found, mirrored=query)
        return found

    def _plan(self, request: QueryRequest, data_version: int) -> Planned:
        statement = self._read(request.sql, request.search_path)
        try:
            if not names_private_table(statement.tree, self.schema, self.policy, request.search_path):
                return self._public(statement, request)
            return self._of_select(private_select(statement), request, data_version)
        except (UnsupportedSQL, InvalidSyntax) as refusal:
            return self._composed(statement, request, refusal)

    def _question(self, request: QueryRequest) -> Question:
        return self._of_select(private_select(self._read(request.sql, request.search_path)), request)

    def _asked(self, request: QueryRequest) -> Asked:
        now, version = self.moment(request.zone), self.ledger.data_version()
        return Asked(words_of(request), now, version, self.policy.facts_hash, self.schema.fingerprint)

    def _read(self, sql: str, search_path: tuple[str, ...] | None) -> Statement:
        """Parse a statement and expand its views."""
        statement = read_of(sql, self.policy.name)
        if self.backend.dialect != "postgres":
            statement = replace(statement, tree=in_lower_case(statement.tree, self._names))
        return expanded(statement, self.schema, self.policy, search_path)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of all tables and columns."""
        tables = [*self.schema.tables.values(), *(view.table for view in self.schema.views.values())]
        columns = (column.name for table in tables for column in table.columns)
        return frozenset([*(table.relation for table in tables), *columns])

    def beside(self, tables: Sequence[ReleasedRelation]) -> Planning:
        """Planning with tables of released values, which are public."""
        schema, policy = beside_released(self.schema, self.policy, tables)
        return replace(self, schema=schema, policy=policy) if tables else self

    def _of_select(self, select: exp.Select, request: QueryRequest, data_version: int | None = None) -> Question:
        """Plan one question; its placeholders become the values of the request."""
        select = substitute(select, request.parameters)
        bound = bind(select, self.schema, self.policy, self.clock(), request.search_path, request.zone)
        return self.of_bound(bound, request, data_version=data_version)

    def _of_part(self, select: exp.Select, request: QueryRequest, tables: Sequence[ReleasedRelation]) -> Question:
        """Plan a part of a composed statement, which may read tables of released values."""
        question = self.beside(tables)._of_select(select, request)
        read = {table.name for one in question.plan.domains if one.statement for table in tables_of(one.statement)}
        if any(one.relation.name in read for one in tables):
            hint = "group by a column, or ask the inner SELECT alone"
            raise UnsupportedSQL("groups that depend on another answer are not supported", hint=hint)
        return replace(question, tables=tuple(tables))

    def _public(self, statement: Statement, request: QueryRequest) -> PublicStatement:
        check_public(statement)
        tree = substitute(statement.tree, request.parameters)
        query = bind_public(tree, self.schema, self.policy, self.clock(), request.search_path, request.zone)
        return write_public(query, dialect=self.backend.dialect)

    def _composed(self, statement: Statement, request: QueryRequest, refusal: PlannerError) -> Composition:
        """The statement as a composition of answers, or else raises its refusal as one question."""
        try:
            composition = self._composer.compose(statement, request, self.clock())
        except (UnknownColumn, UnknownTable):
            composition = None  # a part that names what stands around it is no question of its own
        except UnsupportedSQL as other:
            composition, refusal = None, other
        if composition is not None:
            return composition
        people = lists_people(statement.tree, self.schema, self.policy, request.search_path)
        raise refusal if people is None or isinstance(refusal, RowsNotShown) else people

    @cached_property
    def _composer(self) -> Composer:
        return Composer(self.policy, self.schema, self.backend.dialect, self._of_part)
