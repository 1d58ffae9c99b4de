"""POST /v1/query: ask and be charged."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from starlette.responses import JSONResponse

from server.http.authentication import Analyst, services_of
from server.http.bodies.answer_body import AnswerBody
from server.http.bodies.query_body import QueryBody
from server.http.bodies.representations import ARROW, CSV, accepted, written
from server.http.exchange import exchange_of
from server.http.openapi import problems
from server.http.routes.jobs import JobBody, preferred_wait

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


Prefer = Annotated[
    str | None,
    Header(
        max_length=128,
        description="`respond-async, wait=2` waits two seconds for the answer, then returns 202 with a job.",
    ),
]
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    200: {"content": {CSV: {}, ARROW: {}}},
    202: {"model": JobBody, "description": "The question goes on; its job is at `Location`."},
}


@router.post(
    "/v1/query",
    response_model=AnswerBody,
    responses=_ACCEPTED | problems(400, 401, 403, 406, 409, 413, 422, 500, 429, 503, 504),
)
async def query(
    request: Request,
    body: QueryBody,
    analyst: Analyst,
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
    accept: Annotated[str | None, Header(max_length=512)] = None,
) -> Response:
    """Answer one SELECT with noise, and charge the analyst's budget for it.

    The same question gets the same answer, free, until the custodian says that the data is new.
    """
    services = services_of(request)
    question = body.request(analyst, exchange_of(request.scope).request_id, idempotency_key or "")
    form = accepted(accept)
    wait_s = preferred_wait(prefer)
    if wait_s is None:
        return await written(await services.admission.answer(question), form, analyst, services.outgoing)
    job = services.jobs.start(analyst, lambda cancelled: services.admission.answer(question, cancelled))
    if await services.jobs.wait(job, wait_s):
        return await written(services.jobs.take(job), form, analyst, services.outgoing)
    body_of_job = JobBody.of(job, services.jobs).model_dump(mode="json")
    return JSONResponse(body_of_job, 202, {"Location": f"/v1/jobs/{job.id}", "Preference-Applied": "respond-async"})
