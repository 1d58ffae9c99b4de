"""POST /v1/query: ask and be charged."""

from __future__ import annotations

from fastapi import APIRouter, Request

from server.http.answer_body import AnswerBody
from server.http.authentication import Analyst, services_of
from server.http.exchange import exchange_of
from server.http.openapi import problems
from server.http.query_body import QueryBody

router = APIRouter()


@router.post("/v1/query", responses=problems(400, 401, 403, 413, 422, 500, 429, 503, 504))
async def query(request: Request, body: QueryBody, analyst: Analyst) -> AnswerBody:
    """Answer one SELECT with noise, and charge the analyst's budget for it."""
    services = services_of(request)
    question = body.request(analyst, exchange_of(request.scope).request_id)
    return AnswerBody.of(await services.queries.call(services.pipeline.answer, question))
