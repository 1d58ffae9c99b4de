"""A question asked with any epsilon and delta, all the way from its plan to its release, without a database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, get_args

import numpy as np

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.policy import Policy, parse_policy
from planner.postprocessing.write_outer import OuterStatement
from planner.public.relation import PublicStatement
from planner.rewriting.rewrite import rewrite
from planner.schema import Column, Dialect, ForeignKey, Schema, Table
from privacy.accounting.amounts import Spent
from privacy.join_tuples import DistinctTuples, JoinTuples, OwnerColumn
from privacy.noisy_answer import NoisyAnswer
from privacy.units import ONE
from server.backends.columns import Domain
from server.backends.public_rows import Computed, Rows
from server.backends.query_tuples import QueryTuples
from server.ledger.account import Accounting
from server.ledger.currency import amount_of
from server.query import QueryRequest
from server.question import Question, answer_key
from server.workers.group_limits import check_groups
from server.workers.measure import measure, plan_measurements

_PEOPLE = 8
_PERSON = ForeignKey(("person",), "person", ("id",))


def _table(name: str, columns: str, *keys: ForeignKey) -> Table:
    unique = (("id",),) if name == "person" else ()
    return Table(name, "s", tuple(Column(column, "bigint", False) for column in columns.split()), unique, keys)


SCHEMA = Schema(
    {
        "person": _table("person", "id ward"),
        "visit": _table("visit", "person ward kind amount", _PERSON),
        "meeting": _table("meeting", "person other ward amount", _PERSON, replace(_PERSON, columns=("other",))),
    }
)

QUESTIONS = (
    "SELECT count(*) FROM visit",
    "SELECT count(DISTINCT kind), sum(amount) FROM visit",
    "SELECT ward, count(*) FROM person GROUP BY ward",
    "SELECT ward, count(*) FROM visit GROUP BY ward",
    "SELECT ward, count(*), avg(amount) FROM visit GROUP BY ward",
    "SELECT ward, count(*) FROM meeting GROUP BY ward",
    "SELECT kind, count(*) FROM visit GROUP BY kind",
)
"""One number; values; one group per person; any number of groups; several sums; several owners; keys to be found."""

MANY_SUMS = f"SELECT ward, {', '.join(f'sum(amount % {n + 2})' for n in range(9))} FROM meeting GROUP BY ward"
"""Nine sums of several owners, and the key: ten columns, of which there may be as many groups as of any."""

ACCOUNTINGS: tuple[Accounting, ...] = get_args(Accounting)


@cache
def policy(groups: int) -> Policy:
    """One that allows every epsilon and delta that a policy may, with keys in so many groups."""
    text = f"""
name = "extreme"
database = {{ url = "env:X" }}
ledger = {{ path = "x" }}
privacy_units = {{ person = "id" }}
groups_per_unit = {{ person = 3 }}
[privacy]
epsilon = 1
min_epsilon = 0.0001
max_epsilon = 1000
delta = 0.999999
global_sensitivity = 1024
[[foreign_keys]]
table = "visit"
columns = ["person"]
references = "person"
key = ["id"]
fanout = 50
[tables]
person = {{ columns = {{ ward = {{ range = [1, {groups}] }} }} }}
meeting = {{ columns = {{ ward = {{ range = [1, {groups}] }}, amount = {{ range = [0, 9] }} }} }}
[tables.visit.columns]
ward = {{ range = [1, {groups}] }}
kind = {{ discover = true }}
amount = {{ range = [0, 9] }}
"""
    return parse_policy(text)


@dataclass(frozen=True)
class Budget:
    """What one question may spend, and how it is answered."""

    epsilon: float
    delta: float
    mechanism: str | None = None
    rate: float | None = None


@dataclass(frozen=True)
class Asked:
    """What is fixed before anything is reserved, and what that is in each currency."""

    plan: Plan
    question: Question
    amounts: dict[Accounting, Spent]
    groups: int


def prepared(sql: str, groups: int, budget: Budget) -> Asked:
    """Everything before the reservation. Raises: PlannerError, if anything."""
    rules = policy(groups)
    plan = make_plan(
        bind(parse(sql), SCHEMA, rules),
        SCHEMA,
        rules,
        epsilon=budget.epsilon,
        delta=budget.delta,
        mechanism=budget.mechanism,
        sampling_rate=budget.rate,
    )
    measuring = plan_measurements(plan, rules)
    question = Question(plan, rewrite(plan), measuring, answer_key(plan, rewrite(plan), "day", 1))
    check_groups(plan, question.query, measuring, _Rows(groups).domain)
    charge = question.charge(QueryRequest("ada", sql))
    amounts = {accounting: amount_of(accounting, charge) for accounting in ACCOUNTINGS}
    return Asked(plan, question, amounts, groups if plan.group_keys else 1)


def released(asked: Asked) -> tuple[NoisyAnswer, ...]:
    """Everything after it, over a few rows."""
    return measure(_Rows(asked.groups), asked.question.query, asked.question.measuring)[1]


@dataclass(frozen=True)
class _Rows:
    """Eight people with a row each, in the first group and in the last by turns."""

    groups: int
    dialect: ClassVar[Dialect] = "postgres"

    def check_schema(self, fingerprint: str) -> None:
        raise AssertionError("nobody asks whether it is there")

    def domain(self, query: BackendQuery) -> Domain:
        raise AssertionError("measuring reads everything at once")

    def compute(self, statement: OuterStatement, *, rows: bool) -> Computed:
        raise AssertionError("nothing surrounds these answers")

    def public(self, statement: PublicStatement) -> Rows:
        raise AssertionError("no public query is asked here")

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        people, group = np.arange(_PEOPLE), np.tile([0, self.groups - 1], _PEOPLE // 2)
        owners = tuple(
            OwnerColumn(relation, np.roll(people, place), np.zeros(len(people), bool))
            for place, relation in enumerate(query.relations)
        )
        weights = np.full((query.n_releases, len(people)), ONE, np.int64)
        if query.counted:
            weights[-1] = 1
        join = None if query.join is None else JoinTuples(owners, group, self.groups, weights)
        values = DistinctTuples(owners, group, self.groups, people)
        domain = Domain((tuple(range(self.groups)),) if query.values else ())
        return domain, QueryTuples(join, tuple(None if one is None else values for one in query.distinct))
