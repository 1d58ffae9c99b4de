"""A published benchmark: its texts in a folder, and what the planner says of each under the folder's policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from sqlglot import exp

from planner.binding.bind import bind
from planner.binding.bound_query import BoundQuery
from planner.errors import InvalidSyntax, PlannerError, UnknownColumn, UnknownTable, UnsupportedSQL
from planner.parsing.parse import Statement, parse, private_select, read
from planner.plan import Plan
from planner.planning.make_plan import make_plan
from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy, parse_policy
from planner.postprocessing.released_tables import ReleasedRelation, beside_released
from planner.public.bind import bind_public
from planner.public.relation import PublicQuery
from planner.public.route import check_public, names_private_table
from planner.rewriting.rewrite import rewrite
from planner.schema import Dialect, Schema
from server.postprocessing.composition import Composer, Composition
from server.query import QueryRequest
from server.question import Question, answer_key
from server.workers.measure import plan_measurements

NOW = datetime(2003, 1, 8, tzinfo=UTC)

Planned = Plan | Composition | PublicQuery
"""One question, a statement around several, or one over public tables alone."""


@dataclass(frozen=True)
class Outcome:
    """What the planner says of one text: how it is answered, or why not."""

    text: str
    planned: Planned | None
    refusal: PlannerError | None

    @property
    def answers(self) -> bool:
        """Is it answered by more than the names of the groups that there may be?"""
        return self.planned is not None and (self.plan is None or bool(self.plan.releases))

    @property
    def plan(self) -> Plan | None:
        """The one question that it is, if it is one."""
        return self.planned if isinstance(self.planned, Plan) else None

    @property
    def plans(self) -> list[Plan]:
        """The questions of private rows that it asks."""
        if isinstance(self.planned, Plan):
            return [self.planned]
        return [part.question.plan for part in self.planned.parts] if isinstance(self.planned, Composition) else []


@dataclass(frozen=True)
class Benchmark:
    """The texts of a folder.

    Attributes:
      folder: queries/qNN.sql as published; queries/qNN.adapted.sql what an analyst asks instead, whose first line
        says what differs; policy.toml; TABLE.md, what becomes of all.
      numbers: of its queries.
      catalog: makes the catalog of its tables.
      composed: are statements of several questions answered, and those over public tables alone?
    """

    folder: Path
    numbers: range
    catalog: Callable[[], Schema]
    composed: bool = True

    @cached_property
    def policy(self) -> Policy:
        """policy.toml."""
        return parse_policy((self.folder / "policy.toml").read_text())

    @cached_property
    def schema(self) -> Schema:
        """The catalog, with the keys that the policy declares."""
        return with_declared_keys(self.catalog(), self.policy)

    def published(self, number: int) -> str:
        """The query as the specification has it."""
        return (self.folder / "queries" / f"q{number:02}.sql").read_text()

    def adapted(self, number: int) -> str | None:
        """The question that an analyst asks instead, where there is one."""
        path = self.folder / "queries" / f"q{number:02}.adapted.sql"
        return path.read_text() if path.exists() else None

    @cached_property
    def _outcomes(self) -> dict[str, Outcome]:
        return {}

    def outcome(self, text: str) -> Outcome:
        """Plan a text over the benchmark's catalog and policy; planned once."""
        if text not in self._outcomes:
            try:
                self._outcomes[text] = Outcome(text, self._planned(text), None)
            except PlannerError as refusal:
                self._outcomes[text] = Outcome(text, None, refusal)
        return self._outcomes[text]

    def _planned(self, text: str) -> Planned:
        if self.composed:
            return planned(text, self.schema, self.policy)
        return _plan(bind(parse(text), self.schema, self.policy), self.schema, self.policy)

    def verdict(self, number: int) -> str:
        """`works as it is`, `works adapted` or `refused`."""
        if self.outcome(self.published(number)).answers:
            return "works as it is"
        instead = self.adapted(number)
        return "works adapted" if instead is not None and self.outcome(instead).answers else "refused"

    def working(self) -> dict[str, str]:
        """Every text that is answered, by name: as published, else adapted."""
        verdicts = {number: self.verdict(number) for number in self.numbers}
        return {
            f"Q{number} adapted" if verdict == "works adapted" else f"Q{number}": self.text(number)
            for number, verdict in verdicts.items()
            if verdict != "refused"
        }

    def text(self, number: int) -> str:
        """The text that is asked: as published, unless it is answered adapted alone."""
        instead = self.adapted(number) if self.verdict(number) == "works adapted" else None
        return self.published(number) if instead is None else instead


def planned(text: str, schema: Schema, policy: Policy, dialect: Dialect = "postgres") -> Planned:
    """Which way a statement goes, as `server.pipeline` decides it.

    Args:
      text: the statement.
      schema, policy: what it is planned from.
      dialect: of the database.
    Raises: PlannerError.
    """
    statement = read(text)
    try:
        if not names_private_table(statement.tree, schema, policy):
            check_public(statement)
            return bind_public(statement.tree, schema, policy, NOW)
        return _plan(bind(private_select(statement), schema, policy, NOW), schema, policy)
    except (UnsupportedSQL, InvalidSyntax) as refusal:
        return _composed(statement, refusal, schema, policy, dialect)


def _composed(
    statement: Statement, refusal: PlannerError, schema: Schema, policy: Policy, dialect: Dialect
) -> Composition:
    def question(select: exp.Select, request: QueryRequest, tables: Sequence[ReleasedRelation]) -> Question:
        known, declared = beside_released(schema, policy, tables)
        plan = _plan(bind(select, known, declared, NOW), known, declared, request)
        query = rewrite(plan, dialect=dialect, schema=known)
        return Question(plan, query, plan_measurements(plan, policy), answer_key(plan, query, policy.time_grain, 1))

    composer = Composer(policy, schema, dialect, question)
    try:
        composition = composer.compose(statement, QueryRequest(analyst="", sql=""), NOW)
    except (UnknownColumn, UnknownTable):
        raise refusal from None  # a part that names what stands around it is no question of its own
    if composition is None:
        raise refusal
    return composition


def _plan(bound: BoundQuery, schema: Schema, policy: Policy, request: QueryRequest | None = None) -> Plan:
    epsilon, delta = (None, None) if request is None else (request.epsilon, request.delta)
    return make_plan(bound, schema, policy, epsilon=epsilon, delta=delta, mechanism=None)
