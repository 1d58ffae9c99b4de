"""A pipeline and keys that do what a test tells them, and a client without sockets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import httpx
from fastapi import FastAPI

from server.answers.proposals.accuracy import Accuracy, Proposal
from server.answers.work import Explain, Work
from server.answers.workload.workload import (
    MeasuredPart,
    QueryPlanned,
    WorkloadExplanation,
    WorkloadRequest,
    WorkloadResponse,
    WorkloadSummary,
)
from server.explain.catalog import Catalog
from server.http.app import create_app
from server.ledger.account import AccountBalance, Grant, analyst_account
from server.ledger.analyst import Act, Analyst, Role, key_hash
from server.ledger.balance import RemainingQuestions
from server.ledger.charge import ChargeRecord
from server.ledger.ledger import Ledger
from server.ledger.question_texts import AskedText
from server.ledger.writes.journal import Vitals
from server.pipeline import Pipeline
from server.policy.accepted_policy import PolicyChanges
from server.query import Budget, Explanation, Interval, QueryRequest, QueryResponse, ResultColumn
from server.reloadable_pipeline import PolicyInForce, ReloadablePipeline

KEY = "ng_ada"
AUTHORIZED = {"Authorization": f"Bearer {KEY}"}
BUDGET = Budget(10.0, 1e-6, 9.0, 1e-6)


def answer(request: QueryRequest) -> QueryResponse:
    return QueryResponse(
        columns=(ResultColumn("nation", "text"), ResultColumn("count", "int8"), ResultColumn("sum", "float8")),
        rows=(("FRANCE", -3, 5.0), ("PERU", 2**60, float("nan"))),
        intervals=(
            (None, Interval(-10.0, 4.0), Interval(1.5, None)),
            (None, Interval(float("-inf"), float("inf")), Interval(0.0, 1.0)),
        ),
        confidence=0.95,
        covers="clipped value",
        mechanism="gem",
        epsilon=1.0,
        delta=0.0,
        budget=BUDGET,
        request_id=request.request_id,
        taus=((None, (4.0,), (8.0, 16.0)), (None, (4.0,), (float("inf"),))),
        notes=("Noise only.",),
    )


def explanation(request: QueryRequest) -> Explanation:
    return Explanation(
        rewritten_sql=f"/* {request.mechanism} */ SELECT 1",
        privacy_units=("customer",),
        owners=("customer: o_custkey",),
        weight_bounds=(("count(*)", 1.0),),
        groups_per_unit=None,
        mechanism="gem",
        reason="one owner",
        epsilon=0.5,
        delta=0.0,
        expected_noise=(("count(*)", ((1.0, 3.0), (2.0, 6.0))),),
        columns=(ResultColumn("count", "int8"),),
    )


def summary(questions: int) -> WorkloadSummary:
    every = tuple(range(1, questions + 1))
    together = QueryPlanned("together", 1.5, 3.0, 9.0)
    return WorkloadSummary(
        0.5, 0.0, (MeasuredPart(("ward",), 0.5, 0.0, 0.5, every),), (together,) * questions, 0.5, float("inf"), "All."
    )


@dataclass
class FakePipeline(ReloadablePipeline):
    """Remembers what it was asked."""

    answering: Callable[[QueryRequest], QueryResponse] = answer
    explaining: Callable[[QueryRequest], Explanation] = explanation
    asked: list[QueryRequest] = field(default_factory=list)
    workloads: list[WorkloadRequest] = field(default_factory=list)
    reloads: list[tuple[Act, str | None]] = field(default_factory=list)

    policy = SimpleNamespace(hash="0" * 64, delta_of_analyst=1e-7)
    planning = SimpleNamespace(moment=lambda: None)
    question_keys = None

    @property
    def current(self) -> Pipeline:
        return cast("Pipeline", self)

    def find_planned(self, request: QueryRequest) -> Work | None:
        return None

    def find(self, request: QueryRequest, cancelled: threading.Event | None = None) -> Work:
        return Explain()

    def finish(self, found: Work, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
        self.asked.append(request)
        return self.answering(request)

    def check_ready(self) -> None:
        pass

    def changes(self) -> PolicyChanges:
        return PolicyChanges(("@@ -1 +1 @@", "-epsilon = 1", "+epsilon = 2"))

    def words(self, record: ChargeRecord) -> AskedText | None:
        return None if record.sealed_question is None else AskedText("SELECT count(*) FROM t WHERE x = $1", (7,))

    def workers_alive(self) -> int:
        return 2

    def catalog(self) -> Catalog:
        return Catalog("demo", ("public",), (), 1.0, 0.001, 5.0, 0.0, "day", 1.0, False, False, None, ())

    def explain(self, request: QueryRequest) -> Explanation:
        self.asked.append(request)
        return self.explaining(request)

    def propose(self, request: QueryRequest, accuracy: Accuracy) -> Proposal:
        self.asked.append(request)
        return Proposal(0.25, 0.0, 0.25, 9.0, accuracy.wanted, None, "public", "holds for all data")

    def workload(self, request: WorkloadRequest, cancelled: threading.Event | None = None) -> WorkloadResponse:
        self.workloads.append(request)
        answers = tuple(self.answering(request.of(place)) for place in range(len(request.items)))
        return WorkloadResponse(answers, summary(len(answers)), 0.5, 0.0, BUDGET, request.request_id)

    def explain_workload(self, request: WorkloadRequest) -> WorkloadExplanation:
        self.workloads.append(request)
        return WorkloadExplanation(summary(len(request.items)), 0.5, 0.0, BUDGET)

    def reload(self, act: Act, confirmed: str | None = None) -> PolicyInForce:
        self.reloads.append((act, confirmed))
        return PolicyInForce("demo", "0" * 64, True, ("privacy.max_epsilon: raised",))


class FakeKeys:
    """Knows ada's key, as if it stood in a local file."""

    local = True

    def __init__(self, role: Role = "analyst") -> None:
        self.role = role

    def state(self) -> None:
        return None

    def analyst_by_key(self, key_hash_: str) -> str | None:
        return "ada" if key_hash_ == key_hash(KEY) else None

    def accounts(self, analyst: str | None = None) -> tuple[AccountBalance, ...]:
        return self.remaining_questions("ada").accounts

    def analysts(self) -> tuple[Analyst, ...]:
        return (Analyst("ada", "analyst", None, True),)

    def vitals(self) -> Vitals:
        return Vitals(entries=12, crashed=1, failed=2, head_age_hours=3)

    def remaining_questions(self, analyst: str) -> RemainingQuestions:
        own = self.budget(analyst)
        grant, left = Grant(own.epsilon, own.delta), (own.epsilon_left, own.delta_left)
        return RemainingQuestions(
            (AccountBalance(analyst_account(analyst), grant, *left, None),), 18, 10, analyst_account(analyst)
        )

    def budget(self, analyst: str) -> Budget:
        assert analyst == "ada"
        return BUDGET

    def is_disabled(self, key_hash_: str) -> bool:
        return False

    def analyst(self, name: str) -> Analyst:
        return Analyst(name, self.role, None, True)

    def data_version(self) -> int:
        return 3

    def custody(self) -> Ledger:
        """As an app takes it; no test of these calls anything else."""
        return cast("Ledger", self)


def raising(error: BaseException) -> FakePipeline:
    def fail(request: QueryRequest) -> QueryResponse:
        raise error

    return FakePipeline(answering=fail)


def client(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://noisegate.test")


def send(
    method: str,
    path: str,
    *,
    pipeline: FakePipeline | None = None,
    ledger: Ledger | None = None,
    role: Role = "analyst",
    authorized: bool = True,
    **request: Any,
) -> httpx.Response:
    """One request to a fresh app."""

    async def exchange() -> httpx.Response:
        headers = {**(AUTHORIZED if authorized else {}), **request.pop("headers", {})}
        app = create_app(pipeline or FakePipeline(), ledger or FakeKeys(role).custody())
        async with client(app) as open_client:
            return await open_client.request(method, path, headers=headers, **request)

    return asyncio.run(exchange())


def assert_problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check the shape of a problem and return its body."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert set(body) == {"code", "message", "hint", "position", "request_id"}
    assert body["code"] == code
    assert body["message"]
    assert body["request_id"] == response.headers["x-request-id"]
    return body
