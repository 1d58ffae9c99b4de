"""Who asks: a bearer key, known to the ledger by its hash."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from server.errors import AuthenticationFailed
from server.http.exchange import exchange_of
from server.http.services import Services
from server.keys import PREFIX, key_hash

_MAX_KEY_LENGTH = 128

_bearer = HTTPBearer(
    auto_error=False, scheme_name="key", description="A key from `noisegate analyst add`; it begins with `ng_`."
)


def services_of(request: Request) -> Services:
    """The services of the app that serves the request."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services


async def authenticated(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> str:
    """The analyst's name.

    Raises: AuthenticationFailed; it does not tell a missing key from a wrong one.
    """
    key = credentials.credentials if credentials else ""
    analyst = None
    if key.startswith(PREFIX) and len(key) <= _MAX_KEY_LENGTH:
        services = services_of(request)
        analyst = await services.lookups.call(services.keys.analyst_by_key, key_hash(key))
    if analyst is None:
        raise AuthenticationFailed(
            "A valid key is needed.",
            hint="Send `Authorization: Bearer ng_...` with the key that the custodian gave you.",
        )
    exchange_of(request.scope).analyst = analyst
    return analyst


Analyst = Annotated[str, Depends(authenticated)]
"""A route with this parameter answers only to analysts."""
