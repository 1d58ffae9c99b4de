"""GET /v1/schema: what may be asked."""

from __future__ import annotations

from fastapi import APIRouter, Request

from server.http.authentication import Analyst, services_of
from server.http.bodies.schema_body import SchemaBody
from server.http.openapi import problems

router = APIRouter()


@router.get("/v1/schema", responses=problems(401, 403, 429, 500, 503))
async def schema(request: Request, analyst: Analyst) -> SchemaBody:
    """Tables, columns, ranges, key domains and join paths."""
    del analyst
    services = services_of(request)
    return SchemaBody.of(await services.lookups.call(services.pipeline.current.catalog))
