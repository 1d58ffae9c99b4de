"""/v1/admin/accounts and /v1/admin/analysts: budgets and keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from fastapi import Query
from pydantic import BaseModel, Field, model_validator

from server.http.authentication import (
    READER,
    AccountName,
    ActBody,
    Admin,
    AnalystName,
    Delta,
    Epsilon,
    Held,
    Most,
    Name,
    Reader,
    admin_router,
    most,
)
from server.http.budget_body import Protection, protection
from server.http.openapi import problems
from server.ledger.account import (
    GRANT_WORDS,
    UNSAID,
    AccountBalance,
    Accounting,
    Grant,
    GrantChange,
    Renewal,
    is_low,
)
from server.ledger.analyst import Act, Analyst, Role, credentials_of, new_key
from server.ledger.ledger import Ledger

router = admin_router()


def _part(name: str, **bounds: Any) -> Any:
    """The field of a part of a grant that may keep its value."""
    return Field(description=GRANT_WORDS[name] + UNSAID, **bounds)


class AccountBody(Protection):
    """An account: its grant, what is left, and its privacy guarantee."""

    account: str
    epsilon: float
    delta: float
    event_delta: float
    window_s: int | None
    per_query_epsilon: float | None
    epsilon_left: float = Field(
        description="The largest epsilon of one more query that fits; per-query caps are ignored."
    )
    delta_left: float
    low: bool = Field(description="Is at most a tenth left?")

    @classmethod
    def of(cls, balance: AccountBalance) -> AccountBody:
        """The body of a balance."""
        return cls.model_validate({**protection(balance), "account": balance.name, "low": is_low(balance)})


class GrantBody(ActBody):
    """The new grant of an account. Spending stays, and a field that is left out keeps its value."""

    epsilon: Epsilon
    delta: Annotated[Delta | None, _part("delta")] = None
    accounting: Annotated[Accounting | None, _part("accounting")] = None
    event_delta: Annotated[Delta | None, _part("event_delta")] = None
    window_s: Annotated[int | None, _part("window", ge=60)] = None
    per_query_epsilon: Annotated[Most | None, _part("per_query_epsilon")] = None
    renew: Annotated[Renewal | Literal["never"] | None, _part("renew")] = None
    most_in_total: Annotated[Most | None, _part("most_in_total")] = None

    @property
    def change(self) -> GrantChange:
        """The change for the ledger."""
        unlimited = {"per_query_epsilon": most(self.per_query_epsilon), "most_in_total": most(self.most_in_total)}
        return GrantChange(**self.model_dump(exclude={"reason"}) | unlimited)


class TopUpBody(ActBody):
    """The amounts to add."""

    epsilon: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 0.0
    delta: Delta = 0.0


@router.get("/accounts", dependencies=[READER], responses=problems(401, 403, 404, 422, 429, 500, 503))
async def accounts(
    services: Held,
    analyst: Annotated[Name | None, Query(description="Only the accounts that pay for this analyst.")] = None,
) -> list[AccountBody]:
    """List all accounts, or those that pay for one analyst."""
    return [AccountBody.of(one) for one in await services.lookups.call(services.ledger.accounts, analyst)]


@router.put("/accounts/{account}", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def grant(services: Held, admin: Admin, account: AccountName, body: GrantBody) -> AccountBody:
    """Set the grant of an account; it creates the accounts of groups and the dataset."""
    usual = services.pipeline.current.policy.delta_of_analyst
    said = account, body.change, usual, body.act(admin)
    return AccountBody.of(await services.lookups.call(services.ledger.change_grant, *said))


@router.post("/accounts/{account}/top-up", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def top_up(services: Held, admin: Admin, account: AccountName, body: TopUpBody) -> AccountBody:
    """Add to the grant of an account."""
    said = account, body.epsilon, body.delta, body.act(admin)
    return AccountBody.of(await services.lookups.call(services.ledger.top_up, *said))


class NewAnalystBody(ActBody):
    """A new analyst with a budget. Windows and caps are set at /v1/admin/accounts."""

    name: Name
    epsilon: Epsilon
    delta: Delta | None = Field(None, description="Left out: the policy's for an analyst, 0 for other roles.")
    role: Role = "analyst"
    group: Name | None = None
    accounting: Annotated[Accounting, Field(description=GRANT_WORDS["accounting"])] = "basic"
    event_delta: Annotated[Delta, Field(description=GRANT_WORDS["event_delta"])] = 0.0
    renew: Annotated[Renewal | None, Field(description="Reset the account at the start of each calendar period.")] = (
        None
    )
    most_in_total: Annotated[Most | None, Field(description=GRANT_WORDS["most_in_total"])] = None


class ChangedAnalystBody(ActBody):
    """The fields to change; others keep their values. `group: null` removes the analyst from the group."""

    role: Role | None = None
    enabled: Annotated[
        bool | None, Field(description="`true` also lifts the limit on failures: those before count no longer.")
    ] = None
    group: Name | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set & {"role", "enabled", "group"}:
            raise ValueError("give role, enabled or group")
        return self


class KeyBody(BaseModel):
    """A new key, shown only once."""

    name: str
    key: Annotated[str, Field(description="The ledger stores only its hash.")]


class HolderBody(BaseModel):
    """The holder of the key."""

    name: str
    role: Role


@router.get("/holder", responses=problems(401, 403, 429, 500, 503))
async def holder(services: Held, reader: Reader) -> HolderBody:
    """Show the holder of the key and its role: an admin changes things, an auditor reads them."""
    found = await services.reads.call(services.ledger.analyst, reader)
    return HolderBody(name=found.name, role=found.role)


@router.get("/analysts", dependencies=[READER], responses=problems(401, 403, 429, 500, 503))
async def analysts(services: Held) -> tuple[Analyst, ...]:
    """List everybody who has or had a key."""
    return await services.lookups.call(services.ledger.analysts)


@router.get("/analysts/{name}", dependencies=[READER], responses=problems(401, 403, 404, 422, 429, 500, 503))
async def analyst(services: Held, name: AnalystName) -> Analyst:
    """Show one analyst: role, group, and whether the key is enabled."""
    return await services.lookups.call(services.ledger.analyst, name)


@router.post("/analysts", status_code=201, responses=problems(400, 401, 403, 404, 409, 413, 422, 429, 500, 503))
async def add(services: Held, admin: Admin, body: NewAnalystBody) -> KeyBody:
    """Add an analyst. Only this response contains the key."""
    usual = services.pipeline.current.policy.delta_of_analyst if body.role == "analyst" else 0.0
    delta = usual if body.delta is None else body.delta
    key = await services.lookups.call(_added, services.ledger, body, delta, body.act(admin))
    return KeyBody(name=body.name, key=key)


@router.post("/analysts/{name}/key", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def rotate(services: Held, admin: Admin, name: AnalystName, body: ActBody) -> KeyBody:
    """Give an analyst a new key; the old one is rejected from now on."""
    return KeyBody(name=name, key=await services.lookups.call(_rotated, services.ledger, name, body.act(admin)))


@router.patch("/analysts/{name}", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def change(services: Held, admin: Admin, name: AnalystName, body: ChangedAnalystBody) -> Analyst:
    """Disable or enable an analyst, or change the role or the group. Spending stays."""
    return await services.lookups.call(_changed, services.ledger, name, body, body.act(admin))


def _added(ledger: Ledger, body: NewAnalystBody, delta: float, act: Act) -> str:
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


def _rotated(ledger: Ledger, name: str, act: Act) -> str:
    key = new_key()
    ledger.set_credentials(name, credentials_of(key), act)
    return key


def _changed(ledger: Ledger, name: str, body: ChangedAnalystBody, act: Act) -> Analyst:
    if body.role is not None:
        ledger.set_role(name, body.role, act)
    if "group" in body.model_fields_set:
        ledger.set_group(name, body.group, act)
    if body.enabled is not None:
        ledger.set_enabled(name, body.enabled, act)
    return ledger.analyst(name)
