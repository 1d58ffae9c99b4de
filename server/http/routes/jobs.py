"""/v1/jobs: questions that go on while their client does something else."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request, Response
from pydantic import BaseModel, Field

from server.errors import JobNotDone
from server.http.authentication import Analyst, services_of
from server.http.bodies.answer_body import AnswerBody
from server.http.bodies.representations import ARROW, CSV, accepted, written
from server.http.openapi import problems
from server.scheduling.jobs import Job, Jobs, JobState

router = APIRouter()

MAX_WAIT_S = 30.0

_WAIT = re.compile(r"\bwait\s*=\s*([0-9]{1,3})\b")
JobId = Annotated[str, Path(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]


class JobBody(BaseModel):
    """A job: a question that outlasts its request, and how far it has come."""

    id: str
    state: JobState = Field(description="`done` is said of failures, too: the result says which.")
    elapsed_s: float

    @classmethod
    def of(cls, job: Job, jobs: Jobs) -> JobBody:
        """The body of a job; how long it took is rounded up to seconds, since it depends on the data."""
        return cls(id=job.id, state=job.state, elapsed_s=float(-int(-jobs.elapsed_s(job) // 1)))


def preferred_wait(prefer: str | None) -> float | None:
    """How many seconds a client waits before it wants a job; None: it waits for the answer (RFC 7240).

    >>> preferred_wait("respond-async, wait=2"), preferred_wait("respond-async"), preferred_wait(None)
    (2.0, 0.0, None)
    """
    if prefer is None or "respond-async" not in prefer:
        return None
    found = _WAIT.search(prefer)
    return min(MAX_WAIT_S, float(found[1])) if found else 0.0


@router.get("/v1/jobs/{job_id}", responses=problems(401, 403, 404, 422, 429, 500, 503))
async def job(request: Request, job_id: JobId, analyst: Analyst) -> JobBody:
    """How far a job is."""
    jobs = services_of(request).jobs
    return JobBody.of(jobs.get(analyst, job_id), jobs)


_FORMS: dict[int | str, dict[str, Any]] = {200: {"content": {CSV: {}, ARROW: {}}}}


@router.get(
    "/v1/jobs/{job_id}/result",
    response_model=AnswerBody,
    responses=_FORMS | problems(401, 403, 404, 406, 409, 422, 500, 429, 503, 504),
)
async def result(
    request: Request, job_id: JobId, analyst: Analyst, accept: Annotated[str | None, Header(max_length=512)] = None
) -> Response:
    """The answer of a job that is done, once; asking the same question again is free."""
    services = services_of(request)
    found = services.jobs.get(analyst, job_id)
    if found.state != "done":
        raise JobNotDone("The job is not done yet.", hint="Look at it again later.")
    form = accepted(accept)
    return await written(services.jobs.take(found), form, analyst, services.outgoing)


@router.delete("/v1/jobs/{job_id}", status_code=204, responses=problems(401, 403, 404, 422, 429, 500, 503))
async def cancel(request: Request, job_id: JobId, analyst: Analyst) -> Response:
    """Cancel a job. If it has begun to read, its charge stands."""
    services_of(request).jobs.get(analyst, job_id).cancelled.set()
    return Response(status_code=204)
