"""Authentication by bearer key, the roles of routes, and what every administrator's change contains."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from server.errors import AnalystDisabled, AuthenticationFailed, Forbidden
from server.http.exchange import exchange_of
from server.http.services import Services
from server.ledger.account import UNLIMITED
from server.ledger.analyst import PREFIX, Act, Role, key_hash
from server.ledger.analyst import Analyst as Holder
from server.ledger.ledger import Ledger

_MAX_KEY_LENGTH = 128

_bearer = HTTPBearer(
    auto_error=False, scheme_name="key", description="A key from `noisegate analyst add`; it begins with `ng_`."
)


async def services_of(request: Request) -> Services:
    """The services of the application that serves the request."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services


Held = Annotated[Services, Depends(services_of)]
"""The parameter by which a route gets the services."""


async def authenticated(
    request: Request, services: Held, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Holder:
    """Who holds the key.

    Raises: AuthenticationFailed, alike for a missing and a wrong key; AnalystDisabled; RateLimited.
    """
    key = credentials.credentials if credentials else ""
    holder = None
    if key.startswith(PREFIX) and len(key) <= _MAX_KEY_LENGTH:
        hashed = key_hash(key)
        holder = await services.reads.look_up(hashed, _holder, services.ledger, hashed)
    if holder is None:
        raise AuthenticationFailed(
            "A valid key is needed.",
            hint="Send `Authorization: Bearer ng_...` with the key from the administrator.",
        )
    exchange = exchange_of(request.scope)
    exchange.analyst = holder.name
    exchange.leave = services.key_limits.enter(holder.name)
    return holder


def _holder(ledger: Ledger, hashed: str) -> Holder | None:
    name = ledger.analyst_by_key(hashed)
    if name is None and ledger.is_disabled(hashed):
        raise AnalystDisabled("Your account is disabled, so the key is rejected.", hint="Ask the administrator.")
    return None if name is None else ledger.analyst(name)


def role(*roles: Role) -> Callable[[Holder], Awaitable[str]]:
    """A dependency: the holder's name, if the key has one of these roles. Raises: Forbidden."""

    async def allowed(holder: Annotated[Holder, Depends(authenticated)]) -> str:
        if holder.role not in roles:
            wanted = " or ".join(roles)
            raise Forbidden(f"This needs the role {wanted}; your key has the role {holder.role}.")
        return holder.name

    return allowed


Analyst = Annotated[str, Depends(role("analyst"))]
"""Restricts a route to analysts."""

Reader = Annotated[str, Depends(role("auditor", "admin"))]
"""Restricts a route to those who may read the ledger."""

Admin = Annotated[str, Depends(role("admin"))]
"""Restricts a route to those who may change permissions."""

ANALYST, READER = Depends(role("analyst")), Depends(role("auditor", "admin"))
"""The same for routes that do not need the name."""


ADMIN_PREFIX = "/v1/admin"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")]
"""The name of an analyst or a group."""

AnalystName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.@-]{1,64}$")]
"""An analyst in a path."""

AccountName = Annotated[str, Path(pattern=r"^((analyst|group):)?[A-Za-z0-9_.@-]{1,64}$")]
"""An account in a path: `dataset`, `analyst:NAME`, `group:NAME`, or NAME if it is unique."""

Epsilon = Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)]
"""The ledger counts in units of 1e-9."""

Delta = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]

Most = Epsilon | Literal["unlimited"]
"""An epsilon, or no bound."""


def most(said: Most | None) -> float | None:
    """The value as the ledger takes it."""
    return UNLIMITED if said == "unlimited" else said


class ActBody(BaseModel):
    """A change and its reason."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: Annotated[str, Field(min_length=1, max_length=1000, description="Recorded in the ledger permanently.")]

    def act(self, by: str) -> Act:
        """The change as the ledger records it."""
        return Act(by, self.reason)


def admin_router() -> APIRouter:
    """An empty router for administrators' routes."""
    return APIRouter(prefix=ADMIN_PREFIX, tags=["admin"])
