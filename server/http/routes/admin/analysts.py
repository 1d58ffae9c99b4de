"""/v1/admin/analysts: who holds keys."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import Request
from pydantic import BaseModel, Field, model_validator

from server.http.authentication import Admin, Reader, services_of
from server.http.openapi import problems
from server.http.routes.admin.admin_common import (
    ActBody,
    AnalystName,
    Delta,
    Epsilon,
    Most,
    Name,
    admin_router,
    most,
)
from server.http.services import Custody
from server.ledger.account import Accounting, Grant, Renewal
from server.ledger.analyst import Act, Analyst, Role
from server.ledger.api_keys import credentials_of, new_key

router = admin_router()


class AnalystBody(BaseModel):
    """Who holds a key."""

    name: str
    role: Role
    group: str | None
    enabled: bool

    @classmethod
    def of(cls, analyst: Analyst) -> AnalystBody:
        """The body of an analyst."""
        return cls(name=analyst.name, role=analyst.role, group=analyst.group, enabled=analyst.enabled)


class NewAnalystBody(ActBody):
    """Somebody new, with a budget; windows and caps follow at /v1/admin/accounts."""

    name: Name
    epsilon: Epsilon
    delta: Delta | None = Field(None, description="Left out, it is the policy's for an analyst, and 0 for others.")
    role: Role = "analyst"
    group: Name | None = None
    accounting: Annotated[Accounting, Field(description="How charges add up; fixed now.")] = "basic"
    event_delta: Annotated[Delta, Field(description="The part of delta for events that have one themselves.")] = 0.0
    renew: Annotated[Renewal | None, Field(description="Start again with each such period of the calendar.")] = None
    most_in_total: Annotated[
        Most | None,
        Field(
            description="Where it renews, and there it must be said: the epsilon that all periods may come to, where "
            "renewal stops, or `unlimited`."
        ),
    ] = None


class ChangedAnalystBody(ActBody):
    """What is to change; what is left out stays. `group: null` takes the analyst out of the group."""

    role: Role | None = None
    enabled: bool | None = None
    group: Name | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set & {"role", "enabled", "group"}:
            raise ValueError("give role, enabled or group")
        return self


class KeyBody(BaseModel):
    """A key, shown this once."""

    name: str
    key: Annotated[str, Field(description="Only its hash is kept.")]


class HolderBody(BaseModel):
    """Who holds the key."""

    name: str
    role: Role


@router.get("/holder", responses=problems(401, 403, 429, 500, 503))
async def holder(request: Request, reader: Reader) -> HolderBody:
    """Whose key this is, and its role: an admin changes things, an auditor sees them."""
    services = services_of(request)
    found = await services.reads.call(services.ledger.analyst, reader)
    return HolderBody(name=found.name, role=found.role)


@router.get("/analysts", responses=problems(401, 403, 429, 500, 503))
async def analysts(request: Request, reader: Reader) -> list[AnalystBody]:
    """All who hold or held keys."""
    del reader
    services = services_of(request)
    return [AnalystBody.of(analyst) for analyst in await services.lookups.call(services.ledger.analysts)]


@router.get("/analysts/{name}", responses=problems(401, 403, 404, 422, 429, 500, 503))
async def analyst(request: Request, reader: Reader, name: AnalystName) -> AnalystBody:
    """One analyst by name: role, group, and whether the key is enabled. 404 where there is none."""
    del reader
    services = services_of(request)
    return AnalystBody.of(await services.lookups.call(services.ledger.analyst, name))


@router.post("/analysts", status_code=201, responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 500, 503))
async def add(request: Request, admin: Admin, body: NewAnalystBody) -> KeyBody:
    """Add an analyst; the key is in this answer and nowhere else."""
    services = services_of(request)
    usual = services.pipeline.current.delta_of_analyst if body.role == "analyst" else 0.0
    delta = usual if body.delta is None else body.delta
    key = await services.lookups.call(_added, services.ledger, body, delta, body.act(admin))
    return KeyBody(name=body.name, key=key)


@router.post("/analysts/{name}/key", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def rotate(request: Request, admin: Admin, name: AnalystName, body: ActBody) -> KeyBody:
    """Give an analyst another key; the old one opens nothing from now on."""
    services = services_of(request)
    return KeyBody(name=name, key=await services.lookups.call(_rotated, services.ledger, name, body.act(admin)))


@router.patch("/analysts/{name}", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def change(request: Request, admin: Admin, name: AnalystName, body: ChangedAnalystBody) -> AnalystBody:
    """Disable or enable, change the role or the group. What was spent stays spent."""
    services = services_of(request)
    return AnalystBody.of(await services.lookups.call(_changed, services.ledger, name, body, body.act(admin)))


def _added(ledger: Custody, body: NewAnalystBody, delta: float, act: Act) -> str:
    key = new_key()
    credentials = credentials_of(key)
    grant = Grant(
        body.epsilon,
        delta,
        body.accounting,
        body.event_delta,
        renew=body.renew,
        most_in_total=most(body.most_in_total),
    )
    ledger.add_analyst(
        body.name, credentials, body.epsilon, delta, role=body.role, group=body.group, act=act, grant=grant
    )
    return key


def _rotated(ledger: Custody, name: str, act: Act) -> str:
    key = new_key()
    ledger.set_credentials(name, credentials_of(key), act)
    return key


def _changed(ledger: Custody, name: str, body: ChangedAnalystBody, act: Act) -> Analyst:
    if body.role is not None:
        ledger.set_role(name, body.role, act)
    if "group" in body.model_fields_set:
        ledger.set_group(name, body.group, act)
    if body.enabled is not None:
        ledger.set_enabled(name, body.enabled, act)
    return ledger.analyst(name)
