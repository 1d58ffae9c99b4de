"""POST /v1/workload: many questions under one budget; POST /v1/workload/explain: what they would cost, free."""

from __future__ import annotations

from contextlib import ExitStack

from fastapi import APIRouter, Request, Response

from server.http.authentication import Analyst, services_of
from server.http.bodies.answer_stream import AnswerStream
from server.http.bodies.representations import JSON, SHORT_CELLS
from server.http.bodies.workload_body import (
    WorkloadAnswerBody,
    WorkloadBody,
    WorkloadExplanationBody,
    workload_pieces,
)
from server.http.exchange import exchange_of
from server.http.openapi import problems
from server.http.routes.query import IdempotencyKey

router = APIRouter()


@router.post(
    "/v1/workload",
    response_model=WorkloadAnswerBody,
    responses=problems(400, 401, 403, 409, 413, 422, 429, 500, 503, 504),
)
async def workload(
    request: Request, body: WorkloadBody, analyst: Analyst, idempotency_key: IdempotencyKey = None
) -> Response:
    """Answer many SELECTs with noise, under one epsilon for all of them, or none.

    Questions that count the same rows by different keys are estimated together from what serves most of them; the
    rest is divided so that each gains alike. All of it is reserved before the first row is read. The same workload
    gets the same answers, free, until the custodian says that the data is new.
    """
    services = services_of(request)
    asked = body.request(analyst, exchange_of(request.scope).request_id, idempotency_key or "")
    answered = await services.admission.in_turn(analyst, services.pipeline.current.workload, asked)
    pieces = workload_pieces(answered)
    if sum(answer.n_cells for answer in answered.answers) <= SHORT_CELLS:
        return Response(b"".join(pieces), media_type=JSON)
    with ExitStack() as held:
        for answer in answered.answers:
            held.callback(services.outgoing.hold(analyst, answer).close)
        return AnswerStream(pieces, held.pop_all(), JSON, {})


@router.post("/v1/workload/explain", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def explain_workload(request: Request, body: WorkloadBody, analyst: Analyst) -> WorkloadExplanationBody:
    """Show what would be measured, how wide intervals would be, and the charge. Reads no row, charges nothing."""
    services = services_of(request)
    asked = body.request(analyst, exchange_of(request.scope).request_id)
    explaining = services.explanations.call_for(analyst, services.pipeline.current.explain_workload, asked)
    return WorkloadExplanationBody.of(await explaining)
