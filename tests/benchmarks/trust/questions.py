"""Questions with one owner, what everybody adds to their answers, and releases from rows that are read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from planner.binding.bind import bind
from planner.parsing.parse import parse
from planner.plan import BackendQuery, Plan
from planner.planning.make_plan import make_plan
from planner.policy.declared import with_declared_keys
from planner.policy.policy import Policy
from planner.rewriting.rewrite import rewrite
from privacy.noisy_answer import NoisyAnswer
from server.backends.columns import Domain
from server.backends.duckdb import DuckdbBackend
from server.backends.query_tuples import QueryTuples
from server.query import Budget, QueryResponse
from server.results.response import response
from server.workers.measure import Measuring, measure, plan_measurements
from server.workers.pool import WorkerLimits, WorkerPool
from tests.golden.stackexchange.load import folder as travel_folder
from tests.support.statistics_study.data import Data, hospital, tpch, travel

_PATIENTS, _QUICK_PATIENTS = (5_000, 60_000, 200_000), (5_000,)
_SCALE, _QUICK_SCALE = 0.1, 0.01
_PUBLIC = "public"
MOST_EPSILON = 4.0
_BUDGET = Budget(1.0, 0.0, 1.0, 0.0)

_PER_MONTH = "date_trunc('month', v.admitted_at)"
_HOSPITAL = {
    "visits": ("SELECT count(*) FROM visit v", "", "1"),
    "cost": ("SELECT sum(v.cost) FROM visit v", "", "v.cost"),
    "visits by ward": (
        "SELECT p.ward, count(*) FROM visit v JOIN patient p ON v.patient_id = p.patient_id GROUP BY p.ward",
        "p.ward",
        "1",
    ),
    "visits by month": (f"SELECT {_PER_MONTH}, count(*) FROM visit v GROUP BY 1", _PER_MONTH, "1"),
    "dear visits": (
        "SELECT count(*) FROM visit v WHERE v.cost > 5000",
        "",
        "CASE WHEN v.cost > 5000 THEN 1 ELSE 0 END",
    ),
    "longest stays": (
        "SELECT count(*) FROM visit v WHERE v.days > 60",
        "",
        "CASE WHEN v.days > 60 THEN 1 ELSE 0 END",
    ),
}
_OF_HOSPITAL = "visit v JOIN patient p ON v.patient_id = p.patient_id", "v.patient_id"
_TPCH = {
    "orders": ("SELECT count(*) FROM orders o", "", "1"),
    "orders by priority": (
        "SELECT o.o_orderpriority, count(*) FROM orders o GROUP BY o.o_orderpriority",
        "o.o_orderpriority",
        "1",
    ),
}
_OF_TPCH = "orders o", "o.o_custkey"
_TRAVEL = {
    "posts": ("SELECT count(*) FROM posts o WHERE o.owneruserid IS NOT NULL", "", "1"),
    "answers": (
        "SELECT count(*) FROM posts o WHERE o.posttypeid = 2",
        "",
        "CASE WHEN o.posttypeid = 2 THEN 1 ELSE 0 END",
    ),
}
_OF_TRAVEL = "posts o", "o.owneruserid"


@dataclass(frozen=True)
class Question:
    """One of one owner.

    Attributes:
      data: which data set it is of.
      name: what is asked, in words.
      sql: the question.
      loads: per cell of the answer, what each person adds to it, where that is not 0.
    """

    data: DataSet
    name: str
    sql: str
    loads: dict[str, NDArray[np.float64]]

    @property
    def largest(self) -> float:
        """The most that anybody adds to a cell."""
        return max(float(loads.max(initial=0.0)) for loads in self.loads.values())

    def asked(self, epsilon: float, at_most: float | None = None) -> Asked:
        """The question at an epsilon, planned and read."""
        data = self.data
        plan = make_plan(
            bind(parse(self.sql), data.schema, data.policy),
            data.schema,
            data.policy,
            epsilon=epsilon,
            delta=0.0,
            mechanism=None,
            at_most=at_most,
        )
        query = rewrite(plan, dialect="duckdb", schema=data.schema)
        return Asked(self, plan, query, plan_measurements(plan, data.policy), _Read(*data.backend.read(query)))


@dataclass(frozen=True, eq=False)
class _Read:
    """A backend that has read its one question."""

    domain: Domain
    tuples: QueryTuples

    def read(self, query: BackendQuery) -> tuple[Domain, QueryTuples]:
        return self.domain, self.tuples


@dataclass(frozen=True, eq=False)
class Asked:
    """A question whose rows are read, to be released again and again."""

    question: Question
    plan: Plan
    query: BackendQuery
    measuring: Measuring
    read: _Read

    def release(self) -> tuple[Domain, NoisyAnswer]:
        """What a mechanism would let out."""
        domain, (noisy,) = measure(self.read, self.query, self.measuring)
        return domain, noisy

    def shown(self, domain: Domain, noisy: NoisyAnswer) -> QueryResponse:
        """What clients would see of it."""
        return response(self.plan, domain, (noisy,), _BUDGET, "benchmark")

    @cached_property
    def cells(self) -> list[str]:
        """The cells of the answer, as `Question.loads` names them."""
        return [_name(group) for group in self.read.domain.groups]

    def truths(self, most: NDArray[np.float64] | float = np.inf) -> NDArray[np.float64]:
        """(G,) what everybody adds to each cell, cut to so much each."""
        bounds = np.broadcast_to(most, (len(self.cells),))
        nothing = np.zeros(0)
        loads = (self.question.loads.get(cell, nothing) for cell in self.cells)
        return np.array([float(np.minimum(own, bound).sum()) for own, bound in zip(loads, bounds, strict=True)])


@dataclass(frozen=True, eq=False)
class DataSet:
    """A file of rows, the policy over it without fan-outs, and what is asked."""

    name: str
    data: Data
    asked: dict[str, tuple[str, str, str]]
    rows: tuple[str, str]

    @cached_property
    def backend(self) -> DuckdbBackend:
        """The file."""
        return DuckdbBackend(self.data.file, _PUBLIC)

    @cached_property
    def policy(self) -> Policy:
        """Nothing bounds what a person adds, and any epsilon may be asked with."""
        keys = tuple(replace(key, fanout=None) for key in self.data.policy.foreign_keys)
        return replace(self.data.policy, foreign_keys=keys, max_epsilon=MOST_EPSILON)

    @cached_property
    def schema(self):  # type: ignore[no-untyped-def]  # as the backend says
        """The catalog, with the keys that the policy declares."""
        return with_declared_keys(self.backend.schema(), self.policy)

    @cached_property
    def questions(self) -> Sequence[Question]:
        """Everything that is asked of it."""
        return [self._question(name, *parts) for name, parts in self.asked.items()]

    def _question(self, name: str, sql: str, key: str, weight: str) -> Question:
        source, owner = self.rows
        cell = f"CAST({key} AS varchar)" if key else "''"
        with duckdb.connect(self.data.file, read_only=True) as connection:
            connection.execute(f"USE {_PUBLIC}; SET TimeZone = 'UTC'")
            found = connection.execute(
                f"SELECT {cell} AS cell, CAST(sum({weight}) AS double) AS load FROM {source} "
                f"WHERE {owner} IS NOT NULL GROUP BY {cell}, {owner} HAVING load > 0"
            ).fetchnumpy()
        cells = np.array([_name((one,)) for one in found["cell"]])
        loads = {one: found["load"][cells == one] for one in sorted(set(cells.tolist()))}
        return Question(self, name, sql, loads)


def _name(group: Sequence[object]) -> str:
    """A cell by its key: of moments the month."""
    (key,) = group or ("",)
    text = str(key)
    return text[:7] if text[:2] == "20" and text[4:5] == "-" else text


def data_sets(quick: bool, wanted: Sequence[str]) -> list[DataSet]:
    """Those that are wanted and that are there."""
    nobody = WorkerPool(WorkerLimits(workers=1), preload="server.pipeline")
    found = []
    if "hospital" in wanted:
        for patients in _QUICK_PATIENTS if quick else _PATIENTS:
            data = hospital(nobody, 1, patients)
            found.append(DataSet(f"hospital of {patients:,} patients", data, _HOSPITAL, _OF_HOSPITAL))
    if "tpch" in wanted:
        scale = _QUICK_SCALE if quick else _SCALE
        found.append(DataSet(f"TPC-H, scale {scale:g}", tpch(nobody, 1, scale), _TPCH, _OF_TPCH))
    if "travel" in wanted and Path(travel_folder()).exists():
        found.append(DataSet("Stack Exchange Travel", travel(nobody, 1), _TRAVEL, _OF_TRAVEL))
    nobody.close()
    return found
