"""What responses say of the connection that they come by."""

from __future__ import annotations

import httpx

from tests.support.wire_proxy import WireProxy


def _told(proxy: WireProxy) -> set[str | None]:
    with httpx.Client(verify=proxy.trusted) as http:
        pages = [http.get(f"{proxy.http}{path}") for path in ("/", "/health", "/v1/budget", "/nowhere")]
    return {page.headers.get("strict-transport-security") for page in pages}


def test_browsers_are_told_to_stay_with_tls_where_the_proxy_speaks_it(wire: WireProxy) -> None:
    assert _told(wire) == {"max-age=31536000"}


def test_and_of_nothing_where_it_does_not(shop: WireProxy) -> None:
    assert _told(shop) == {None}
