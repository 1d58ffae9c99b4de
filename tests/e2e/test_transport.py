"""What responses say of the connection that they come by."""

from __future__ import annotations

import ssl

import httpx
import pytest

from tests.support.wire_proxy import WireProxy

ALWAYS_TLS = "strict-transport-security"


@pytest.mark.parametrize("path", ["/", "/health", "/v1/budget", "/nowhere"])
def test_browsers_are_told_to_stay_with_tls_where_the_proxy_speaks_it(wire: WireProxy, path: str) -> None:
    trust = ssl.create_default_context(cafile=wire.authority)
    assert httpx.get(f"{wire.http}{path}", verify=trust).headers[ALWAYS_TLS] == "max-age=31536000"


@pytest.mark.parametrize("path", ["/", "/health", "/v1/budget", "/nowhere"])
def test_and_of_nothing_where_it_does_not(address: str, path: str) -> None:
    assert ALWAYS_TLS not in httpx.get(f"{address}{path}").headers
