"""POST /v1/query: ask and be charged."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request

from server.http.answer_body import AnswerBody
from server.http.authentication import Analyst, services_of
from server.http.exchange import exchange_of
from server.http.openapi import problems
from server.http.query_body import QueryBody

router = APIRouter()


IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=128,
        pattern=r"^[!-~]+$",
        description="Your own name of this request. Sent again under it, the request is charged once, and gets the "
        "answer that it got.",
    ),
]


@router.post("/v1/query", responses=problems(400, 401, 403, 409, 413, 422, 500, 429, 503, 504))
async def query(
    request: Request, body: QueryBody, analyst: Analyst, idempotency_key: IdempotencyKey = None
) -> AnswerBody:
    """Answer one SELECT with noise, and charge the analyst's budget for it.

    The same question gets the same answer, free, until the custodian says that the data is new.
    """
    services = services_of(request)
    question = body.request(analyst, exchange_of(request.scope).request_id, idempotency_key or "")
    return AnswerBody.of(await services.queries.call(services.pipeline.answer, question))
