"""GET /v1/budget: what is left."""

from __future__ import annotations

from fastapi import APIRouter, Request

from server.http.authentication import Analyst, services_of
from server.http.bodies.budget_body import OutlookBody
from server.http.openapi import problems

router = APIRouter()


@router.get("/v1/budget", responses=problems(401, 429, 500, 503))
async def budget(request: Request, analyst: Analyst) -> OutlookBody:
    """What the analyst who asks was granted and what is left; at what it protects, and how many questions it is."""
    services = services_of(request)
    return OutlookBody.seen_by(analyst, await services.reads.outlook(analyst))
