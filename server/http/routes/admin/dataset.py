"""/v1/admin/policy and /v1/admin/data: which policy is in force, and which load of the data."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request
from pydantic import BaseModel, Field

from server.http.authentication import Admin, Reader, services_of
from server.http.bodies.schema_body import SchemaBody
from server.http.openapi import problems
from server.http.routes.admin.admin_common import ActBody, admin_router
from server.http.services import Services

router = admin_router()


class ReloadBody(ActBody):
    """Read the policy file anew."""

    confirm: Annotated[
        str | None,
        Field(pattern=r"^[0-9a-f]{64}$", description="The hash of a policy that protects less, if you mean it."),
    ] = None


class PolicyBody(BaseModel):
    """The policy in force."""

    name: str
    hash: str
    changed: bool = Field(description="Is it another one than before?")
    weaker: list[str] = Field(description="In what it protects less than the one before.")


class DatasetBody(BaseModel):
    """What every charge and every kept answer rests on."""

    policy_hash: str = Field(description="Of the policy that this proxy answers under.")
    accepted_policy_hash: str | None = Field(
        description="Of the one that was accepted last; where it is another, a reload takes it over."
    )
    data_version: int
    keeps_questions: bool = Field(description="Does the ledger keep the words of questions, sealed?")

    @classmethod
    async def of(cls, services: Services) -> DatasetBody:
        """As it is now."""
        accepted = await services.lookups.call(services.ledger.accepted_policy)
        version = await services.lookups.call(services.ledger.data_version)
        pipeline = services.pipeline.current
        return cls(
            policy_hash=pipeline.policy_hash,
            accepted_policy_hash=accepted,
            data_version=version,
            keeps_questions=pipeline.keeps_questions,
        )


@router.get("/dataset", responses=problems(401, 403, 429, 500, 503))
async def dataset(request: Request, reader: Reader) -> DatasetBody:
    """Which policy is in force, which was accepted last, and the version of the data."""
    del reader
    return await DatasetBody.of(services_of(request))


class PolicyChangesBody(BaseModel):
    """What changed in the policy's text, as lines of unified diffs; addresses and key files are left out of it."""

    last: list[str] = Field(description="From the policy that was accepted before to the one accepted last.")
    pending: list[str] = Field(description="From that one to the file as it is now, which a reload would take over.")


@router.get("/policy/changes", responses=problems(401, 403, 429, 500, 503))
async def policy_changes(request: Request, reader: Reader) -> PolicyChangesBody:
    """What changed in the policy; empty where nothing did, or where the text before is not kept."""
    del reader
    services = services_of(request)
    found = await services.lookups.call(services.pipeline.changes)
    return PolicyChangesBody(last=list(found.last), pending=list(found.pending))


@router.get("/schema", responses=problems(401, 403, 429, 500, 503))
async def schema(request: Request, reader: Reader) -> SchemaBody:
    """What the policy in force lets analysts ask: who is protected, what is public, what a question may spend."""
    del reader
    services = services_of(request)
    return SchemaBody.of(await services.lookups.call(services.pipeline.current.catalog))


@router.post("/policy/reload", responses=problems(400, 401, 403, 409, 413, 422, 429, 500, 503))
async def reload(request: Request, admin: Admin, body: ReloadBody) -> PolicyBody:
    """Read the policy anew. One that is invalid, or weaker and not confirmed, leaves the one before in force."""
    services = services_of(request)
    now = await services.audits.call(services.pipeline.reload, body.act(admin), body.confirm)
    return PolicyBody(name=now.name, hash=now.hash, changed=now.changed, weaker=list(now.weaker))


@router.post("/data/bump", responses=problems(400, 401, 403, 413, 422, 429, 500, 503))
async def bump(request: Request, admin: Admin, body: ActBody) -> DatasetBody:
    """Say that the data is a new load: every question is measured, and charged, anew. Resets no spending.

    Closed periods are compared by `noisegate data bump` alone, which has the custodian's key: none is kept by this.
    """
    services = services_of(request)
    await services.lookups.call(services.ledger.bump_data, body.act(admin))
    return await DatasetBody.of(services)
