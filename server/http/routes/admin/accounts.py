"""/v1/admin/accounts: who may spend how much."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request
from pydantic import Field

from server.http.authentication import Admin, Reader, services_of
from server.http.bodies.budget_body import Protection, protection
from server.http.openapi import problems
from server.http.routes.admin.admin_common import (
    AccountName,
    ActBody,
    Delta,
    Epsilon,
    Most,
    Name,
    admin_router,
    most,
)
from server.http.services import Custody
from server.ledger.account import AccountBalance, Accounting, GrantChange, Renewal, grant_before
from server.ledger.accounts.low import is_low
from server.ledger.accounts.named_account import named_account
from server.ledger.analyst import Act

router = admin_router()

_ACCOUNTING = "Fixed when the account is made; left out, it is basic for a new one."
_DELTA = "Left out, it stays as it is; a new group's is the policy's for an analyst, and the dataset's 0."
_EVENT_DELTA = "The part of delta for events that have one themselves. Left out, it stays as it is."
_WINDOW = (
    "Seconds after which the account starts again from nothing. Left out, it stays as it is. With windows nothing "
    "bounds what is learned over all time: k windows are k budgets."
)

_CAP = "The most that one query may spend, or `unlimited`. Left out, it stays as it is."

_RENEW = (
    "Start again with each such period of the calendar, in the place of a window; `never` ends either. Left out, it "
    "stays as it is."
)

_TOTAL = (
    "Where it renews, and there it must be said: the epsilon that all periods may come to, where renewal stops, "
    "or `unlimited`. Left out, it stays as it is."
)


class AccountBody(Protection):
    """An account: what it may spend, what is left, and what it protects at."""

    account: str
    epsilon: float
    delta: float
    event_delta: float
    window_s: int | None
    per_query_epsilon: float | None
    epsilon_left: float = Field(description="The largest epsilon of one more query that fits; caps aside.")
    delta_left: float
    low: bool = Field(description="Is it about to run out: a tenth is left, or less?")

    @classmethod
    def of(cls, balance: AccountBalance) -> AccountBody:
        """The body of a balance."""
        grant = balance.grant
        return cls.model_validate(
            {
                "account": balance.name,
                "epsilon": grant.epsilon,
                "delta": grant.delta,
                "event_delta": grant.event_delta,
                "window_s": grant.window_s,
                "per_query_epsilon": grant.per_query_epsilon,
                "epsilon_left": balance.epsilon_left,
                "delta_left": balance.delta_left,
                "low": is_low(balance),
                **protection(balance),
            }
        )


class GrantBody(ActBody):
    """What an account may spend, all of it; what was spent stays spent, and what is left out stays as it is."""

    epsilon: Epsilon
    delta: Annotated[Delta | None, Field(description=_DELTA)] = None
    accounting: Annotated[Accounting | None, Field(description=_ACCOUNTING)] = None
    event_delta: Annotated[Delta | None, Field(description=_EVENT_DELTA)] = None
    window_s: Annotated[int | None, Field(ge=60, description=_WINDOW)] = None
    per_query_epsilon: Annotated[Most | None, Field(description=_CAP)] = None
    renew: Annotated[Renewal | Literal["never"] | None, Field(description=_RENEW)] = None
    most_in_total: Annotated[Most | None, Field(description=_TOTAL)] = None

    @property
    def change(self) -> GrantChange:
        """What is said of the grant, as the ledger takes it."""
        return GrantChange(
            self.epsilon,
            self.delta,
            self.accounting,
            self.event_delta,
            self.window_s,
            most(self.per_query_epsilon),
            self.renew,
            most(self.most_in_total),
        )


class TopUpBody(ActBody):
    """What is added, of either."""

    epsilon: Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 0.0
    delta: Delta = 0.0


@router.get("/accounts", responses=problems(401, 403, 404, 422, 429, 500, 503))
async def accounts(
    request: Request,
    reader: Reader,
    analyst: Annotated[Name | None, Query(description="Only the accounts that pay for this analyst.")] = None,
) -> list[AccountBody]:
    """All accounts, or those that pay for one analyst."""
    del reader
    services = services_of(request)
    return [AccountBody.of(one) for one in await services.lookups.call(services.ledger.accounts, analyst)]


@router.put("/accounts/{account}", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def grant(request: Request, admin: Admin, account: AccountName, body: GrantBody) -> AccountBody:
    """Set what an account may spend; a group's and the dataset's account are made by it."""
    services = services_of(request)
    usual = services.pipeline.current.delta_of_analyst
    act = body.act(admin)
    return AccountBody.of(await services.lookups.call(_granted, services.ledger, account, body, usual, act))


@router.post("/accounts/{account}/top-up", responses=problems(400, 401, 403, 404, 413, 422, 429, 500, 503))
async def top_up(request: Request, admin: Admin, account: AccountName, body: TopUpBody) -> AccountBody:
    """Add to what an account may spend."""
    services = services_of(request)
    return AccountBody.of(await services.lookups.call(_topped_up, services.ledger, account, body, body.act(admin)))


def _granted(ledger: Custody, named: str, body: GrantBody, usual_delta: float, act: Act) -> AccountBalance:
    account = named_account(ledger, named)
    ledger.grant(account, body.change.of(grant_before(ledger, account, usual_delta)), act)
    return _balance(ledger, account)


def _topped_up(ledger: Custody, named: str, body: TopUpBody, act: Act) -> AccountBalance:
    account = named_account(ledger, named)
    ledger.top_up(account, body.epsilon, body.delta, act)
    return _balance(ledger, account)


def _balance(ledger: Custody, account: str) -> AccountBalance:
    return next(balance for balance in ledger.accounts() if balance.name == account)
