"""The charts of a view as one question of many, over HTTP, as a dashboard would send them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from planner.errors import PlannerError
from privacy.errors import PrivacyError
from server.answers.workload.workload import WorkloadItem, WorkloadRequest
from server.errors import InvalidRequest, ServerError
from server.http.answer_body import AnswerBody
from server.http.app import create_app
from server.http.services import Rate
from server.pipeline import Pipeline
from server.query import QueryResponse
from server.reloadable_pipeline import ReloadablePipeline
from tests.benchmarks.budget.levers import WORKLOAD
from tests.benchmarks.budget.viewer import Refusal

_UNLIMITED = Rate(per_second=1e9, burst=1e9)


def gains(pipeline: Pipeline, analyst: str, wishes: Sequence[tuple[str, float]]) -> bool:
    """Does EXPLAIN say that some of these questions would be answered together?"""
    epsilon = sum(wish for _, wish in wishes)
    items = tuple(WorkloadItem(sql, (), _weight(wish, epsilon)) for sql, wish in wishes)
    try:
        explained = pipeline.explain_workload(WorkloadRequest(analyst, items, epsilon))
    except (PlannerError, ServerError, PrivacyError):
        return False
    return any(one.how == "together" for one in explained.summary.queries)


def ask_workload(
    pipeline: Pipeline, key: str, wishes: Sequence[tuple[str, float]]
) -> Sequence[QueryResponse | Refusal]:
    """Ask for all of them together: with the epsilon of all, each weighed by its own part of it.

    Args:
      pipeline: what answers.
      key: the analyst's.
      wishes: each question, and the epsilon that it would have alone.
    Returns: an answer each, in order; where the whole is refused, that refusal for each.
    """
    epsilon = sum(wish for _, wish in wishes)
    queries = [{"sql": sql, "weight": _weight(wish, epsilon)} for sql, wish in wishes]
    status, body = asyncio.run(_post(pipeline, key, {"queries": queries, "epsilon": epsilon}))
    if status != httpx.codes.OK:
        return [InvalidRequest(f"{body['code']}: {body['message']}")] * len(wishes)
    return [AnswerBody.model_validate(one).response() for one in body["answers"]]


def _weight(wish: float, epsilon: float) -> float:
    """Of squared errors: half the error is four times the weight."""
    return (wish / epsilon) ** 2


async def _post(pipeline: Pipeline, key: str, body: Mapping[str, Any]) -> tuple[int, Any]:
    reloadable = ReloadablePipeline(pipeline, _no_reload)
    app = create_app(reloadable, pipeline.ledger, rate=_UNLIMITED)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://noisegate.test", timeout=600) as client:
        answer = await client.post(WORKLOAD, json=dict(body), headers={"Authorization": f"Bearer {key}"})
        return answer.status_code, answer.json()


def _no_reload(*_: object) -> tuple[Pipeline, tuple[str, ...]]:
    raise AssertionError("nothing is reloaded here")
