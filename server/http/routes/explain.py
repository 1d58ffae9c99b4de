"""POST /v1/explain: what a query would do and cost; free."""

from __future__ import annotations

from fastapi import APIRouter, Request

from server.http.authentication import Analyst, services_of
from server.http.bodies.explanation_body import ExplanationBody
from server.http.bodies.query_body import QueryBody
from server.http.exchange import exchange_of
from server.http.openapi import problems

router = APIRouter()


@router.post("/v1/explain", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def explain(request: Request, body: QueryBody, analyst: Analyst) -> ExplanationBody:
    """Show the rewritten SQL, the mechanism, the charge and the noise to expect. Reads no row, charges nothing."""
    services = services_of(request)
    question = body.request(analyst, exchange_of(request.scope).request_id)
    return ExplanationBody.of(
        await services.explanations.call_for(analyst, services.pipeline.current.explain, question)
    )
