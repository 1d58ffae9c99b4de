"""POST /v1/query, /v1/explain, /v1/propose and /v1/workload, and jobs for long questions."""

from __future__ import annotations

import re
from asyncio import Event
from contextlib import ExitStack
from typing import Annotated, Any, Self

from fastapi import APIRouter, Header, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import JSONResponse

from server.answers.proposals.accuracy import Accuracy, Proposal
from server.errors import JobNotDone
from server.http.answer_body import AnswerBody
from server.http.authentication import Analyst, Held
from server.http.exchange import exchange_of
from server.http.openapi import problems
from server.http.query_body import PracticeBody, QueryBody, StatementBody, of_setting
from server.http.representations import ARROW, CSV, JSON, SHORT_CELLS, AnswerStream, accepted, written
from server.http.workload_body import WorkloadAnswerBody, WorkloadBody, WorkloadExplanationBody, workload_pieces
from server.query import Explanation, QueryRequest
from server.scheduling.jobs import Job, Jobs, JobState

router = APIRouter()

MAX_WAIT_S = 30.0

_WAIT = re.compile(r"\bwait\s*=\s*([0-9]{1,3})\b")
JobId = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]


class JobBody(BaseModel):
    """A job: a question that outlasts its request."""

    id: str
    state: JobState = Field(description="`done` includes failures; the result shows which.")
    elapsed_s: float

    @classmethod
    def of(cls, job: Job, jobs: Jobs) -> JobBody:
        """The body of a job. The elapsed time is rounded up to seconds, since it depends on the data."""
        return cls(id=job.id, state=job.state, elapsed_s=float(-int(-jobs.elapsed_s(job) // 1)))


def preferred_wait(prefer: str | None) -> float | None:
    """The seconds to wait before a job is returned (RFC 7240); None: wait for the answer.

    >>> preferred_wait("respond-async, wait=2"), preferred_wait("respond-async"), preferred_wait(None)
    (2.0, 0.0, None)
    """
    if prefer is None or "respond-async" not in prefer:
        return None
    found = _WAIT.search(prefer)
    return min(MAX_WAIT_S, float(found[1])) if found else 0.0


@router.get("/v1/jobs/{job_id}", responses=problems(401, 403, 404, 422, 429, 500, 503))
async def job(services: Held, job_id: JobId, analyst: Analyst) -> JobBody:
    """Show the state of a job."""
    jobs = services.jobs
    return JobBody.of(jobs.get(analyst, job_id), jobs)


_FORMS: dict[int | str, dict[str, Any]] = {200: {"content": {CSV: {}, ARROW: {}}}}


@router.get(
    "/v1/jobs/{job_id}/result",
    response_model=AnswerBody,
    responses=_FORMS | problems(401, 403, 404, 406, 409, 422, 500, 429, 503, 504),
)
async def result(
    services: Held, job_id: JobId, analyst: Analyst, accept: Annotated[str | None, Header(max_length=512)] = None
) -> Response:
    """The answer of a finished job, once; asking the same question again is free."""
    found = services.jobs.get(analyst, job_id)
    if found.state != "done":
        raise JobNotDone("The job is still running.", hint="Try again later.")
    form = accepted(accept)
    return await written(services.jobs.take(found), form, analyst, services.outgoing)


@router.delete("/v1/jobs/{job_id}", status_code=204, responses=problems(401, 403, 404, 422, 429, 500, 503))
async def cancel(services: Held, job_id: JobId, analyst: Analyst) -> Response:
    """Cancel a job. If it has started to read rows, its charge stands."""
    services.jobs.get(analyst, job_id).cancelled.set()
    return Response(status_code=204)


@router.post("/v1/explain", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def explain(request: Request, services: Held, body: QueryBody, analyst: Analyst) -> Explanation:
    """Show the rewritten SQL, the mechanism, the charge and the expected noise. Reads no private row and charges
    nothing.
    """
    services = await services.asked(analyst, practice=body.practice)
    question = body.request(analyst, exchange_of(request.scope).request_id)
    return await services.explanations.call_for(analyst, services.pipeline.current.explain, question)


class AccuracyBody(StatementBody, PracticeBody):
    """One SELECT and one accuracy target."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"sql": "SELECT count(*) FROM orders", "interval_width": 500.0},
                {"sql": "SELECT count(*) FROM orders", "max_relative_error": 0.01},
            ]
        },
    )

    interval_width: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, description="The widest interval from end to end, in the answer's unit."),
    ] = None
    max_relative_error: Annotated[
        float | None,
        of_setting(
            "max_relative_error", "The accuracy target: half the interval's width over its value, 0.05 for 5%."
        ),
    ] = None
    max_absolute_error: Annotated[float | None, of_setting("max_absolute_error")] = None
    delta: Annotated[float | None, of_setting("delta")] = None
    at_most: Annotated[float | None, of_setting("at_most")] = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if [self.interval_width, self.max_relative_error, self.max_absolute_error].count(None) != 2:
            raise ValueError("give exactly one of interval_width, max_relative_error and max_absolute_error")
        return self

    def request(self, analyst: str, request_id: str) -> QueryRequest:
        """The request for the pipeline."""
        return QueryRequest(
            analyst,
            self.sql,
            delta=self.delta,
            request_id=request_id,
            parameters=tuple(self.parameters),
            at_most=self.at_most,
        )

    def accuracy(self) -> Accuracy:
        """The accuracy target: an interval width or an error."""
        return Accuracy(self.interval_width, self.max_relative_error, self.max_absolute_error)


@router.post("/v1/propose", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def propose(request: Request, services: Held, body: AccuracyBody, analyst: Analyst) -> Proposal:
    """Propose the smallest epsilon for an accuracy target. Reads no private row and charges nothing."""
    services = await services.asked(analyst, practice=body.practice)
    question = body.request(analyst, exchange_of(request.scope).request_id)
    propose = services.pipeline.current.propose
    return await services.explanations.call_for(analyst, propose, question, body.accuracy())


IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=128,
        pattern=r"^[!-~]+$",
        description="Your name for this request. If it is sent again, it is charged once and gets the same answer.",
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
    202: {"model": JobBody, "description": "The question continues; its job is at `Location`."},
}


@router.post(
    "/v1/query",
    response_model=AnswerBody,
    responses=_ACCEPTED | problems(400, 401, 403, 406, 409, 413, 422, 500, 429, 503, 504),
)
async def query(
    request: Request,
    services: Held,
    body: QueryBody,
    analyst: Analyst,
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,
    accept: Annotated[str | None, Header(max_length=512)] = None,
) -> Response:
    """Answer one SELECT with noise and charge the analyst's budget.

    The same question gets the same answer for free, until the data version changes.
    """
    services = await services.asked(analyst, practice=body.practice)
    question = body.request(analyst, exchange_of(request.scope).request_id, idempotency_key or "")
    form = accepted(accept)
    wait_s = preferred_wait(prefer)
    if wait_s is None:
        repeatable = Event()
        answer = await services.admission.answer(question, repeatable=repeatable.set)
        response = await written(answer, form, analyst, services.outgoing)
        if repeatable.is_set() and form == JSON and not body.practice and not isinstance(response, AnswerStream):
            exchange_of(request.scope).keep(response, answer.budget)
        return response
    job = services.jobs.start(analyst, lambda cancelled: services.admission.answer(question, cancelled))
    if await services.jobs.wait(job, wait_s):
        return await written(services.jobs.take(job), form, analyst, services.outgoing)
    body_of_job = JobBody.of(job, services.jobs).model_dump(mode="json")
    return JSONResponse(body_of_job, 202, {"Location": f"/v1/jobs/{job.id}", "Preference-Applied": "respond-async"})


@router.post(
    "/v1/workload",
    response_model=WorkloadAnswerBody,
    responses=problems(400, 401, 403, 409, 413, 422, 429, 500, 503, 504),
)
async def workload(
    request: Request, services: Held, body: WorkloadBody, analyst: Analyst, idempotency_key: IdempotencyKey = None
) -> Response:
    """Answer many SELECTs with noise under one epsilon, all or none.

    Questions that count the same rows by different keys are estimated together. The budget is divided so that each
    question gains alike, and reserved before the first row is read. The same workload gets the same answers for free,
    until the data version changes.
    """
    services = await services.asked(analyst, practice=body.practice)
    asked = body.request(analyst, exchange_of(request.scope).request_id, idempotency_key or "")
    answered = await services.admission.in_turn(analyst, services.pipeline.current.workload, asked)
    pieces = workload_pieces(answered)
    if sum(answer.n_cells for answer in answered.answers) <= SHORT_CELLS:
        return Response(b"".join(pieces), media_type=JSON)
    with ExitStack() as held:
        for answer in answered.answers:
            held.callback(services.outgoing.hold(analyst, answer).close)
        return AnswerStream(pieces, held.pop_all().close, JSON, {})


@router.post("/v1/workload/explain", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def explain_workload(
    request: Request, services: Held, body: WorkloadBody, analyst: Analyst
) -> WorkloadExplanationBody:
    """Show what would be measured, the widths of intervals and the charge. Reads no private row and charges
    nothing.
    """
    services = await services.asked(analyst, practice=body.practice)
    asked = body.request(analyst, exchange_of(request.scope).request_id)
    explaining = services.explanations.call_for(analyst, services.pipeline.current.explain_workload, asked)
    return WorkloadExplanationBody.of(await explaining)
