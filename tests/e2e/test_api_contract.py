"""The API's own description, taken at its word: cases that schemathesis makes of it, valid and not, to a real proxy.

No case may end in a 5xx, in a status or a media type that is not described, or in a body that its schema does not
describe.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.unit.server.http.fakes import send

_CASES = 300
_CASES_SLOW = 10_000
_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_SECONDS = 60.0

DOCUMENT = send("GET", "/openapi.json", authorized=False).json()
OPERATIONS = sorted(f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods)

NewClient = Callable[..., httpx.Client]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_api_is_as_it_describes_itself(operation: str, new_client: NewClient, address: str) -> None:
    _fuzz(operation, max(1, _CASES // len(OPERATIONS)), new_client, address)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_api_is_as_it_describes_itself_at_length(operation: str, new_client: NewClient, address: str) -> None:
    _fuzz(operation, -(-_CASES_SLOW // len(OPERATIONS)), new_client, address)


def _fuzz(operation: str, cases: int, new_client: NewClient, address: str) -> None:
    """So many cases of one operation, half of them not as described."""
    method, path = operation.split()
    role = "admin" if path.startswith("/v1/admin") or path == "/metrics" else "analyst"
    http = new_client(1.0, role)
    strategy = _strategy(path, method)

    @seed(int(os.environ.get("NOISEGATE_SEED", "0")) or 1)
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def check(case: Any) -> None:
        headers = {"Authorization": http.headers["Authorization"]}
        response = case.call(base_url=address, session=session, headers=headers, timeout=_SECONDS)
        case.validate_response(response, checks=_CHECKS)

    with requests.Session() as session:
        check()


def _strategy(path: str, method: str) -> st.SearchStrategy[Any]:
    described = schemathesis.openapi.from_dict(DOCUMENT)[path][method]
    return st.one_of(*(described.as_strategy(generation_mode=mode) for mode in GenerationMode))
