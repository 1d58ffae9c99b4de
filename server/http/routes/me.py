"""GET /v1/me: who asks, and what answers rest on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from server.http.authentication import authenticated, services_of
from server.http.openapi import problems
from server.ledger.analyst import Analyst as Holder
from server.ledger.analyst import Role

router = APIRouter()


class MeBody(BaseModel):
    """Who holds the key, and what an answer rests on that is given now."""

    name: str
    role: Role
    group: str | None
    dataset: str
    policy_hash: str = Field(description="Of the policy in force, as charges carry it.")
    data_version: int = Field(description="From 1; an answer of the same version is served again, free.")


@router.get("/v1/me", responses=problems(401, 403, 429, 500, 503))
async def me(request: Request, holder: Annotated[Holder, Depends(authenticated)]) -> MeBody:
    """Whose key this is, of whatever role, and the policy and version of the data that an answer has now."""
    services = services_of(request)
    pipeline = services.pipeline.current
    dataset = (await services.lookups.call(pipeline.catalog)).dataset
    version = await services.reads.call(services.ledger.data_version)
    return MeBody(
        name=holder.name,
        role=holder.role,
        group=holder.group,
        dataset=dataset,
        policy_hash=pipeline.policy_hash,
        data_version=version,
    )
