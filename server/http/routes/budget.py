"""GET /v1/budget: what is left."""

from __future__ import annotations

from fastapi import APIRouter, Request

from server.http.authentication import Analyst, services_of
from server.http.bodies.answer_body import BudgetBody
from server.http.openapi import problems

router = APIRouter()


@router.get("/v1/budget", responses=problems(401, 429, 500, 503))
async def budget(request: Request, analyst: Analyst) -> BudgetBody:
    """What the analyst who asks was granted and what is left."""
    services = services_of(request)
    return BudgetBody.of(await services.reads.budget(analyst))
