"""The API's own description, taken at its word: cases that schemathesis makes of it, valid and not, to a real proxy.

No case may end in a 5xx, in a status or a media type that is not described, or in a body that its schema does not
describe.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

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

from server.backends.embedded import EmbeddedPostgres
from tests.demo.workplace import Demonstration, add_analyst, proxy
from tests.support.proxies import tpch_demonstration
from tests.unit.server.http.fakes import send

_CASES = 300
_CASES_SLOW = 10_000
_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_SECONDS = 60.0

DOCUMENT = send("GET", "/openapi.json", authorized=False).json()
OPERATIONS = sorted(f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods)


@pytest.fixture(scope="module")
def own(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Demonstration, str]]:
    """A proxy of these tests' own: among the cases are grants of next to nothing to the whole dataset."""
    made = tpch_demonstration(tmp_path_factory.mktemp("contract"), embedded_postgres, tpch_url)
    add_analyst(made, epsilon=1.0)
    with proxy(made, port=0) as address:
        yield made, address


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_api_is_as_it_describes_itself(operation: str, own: tuple[Demonstration, str]) -> None:
    _fuzz(operation, max(1, _CASES // len(OPERATIONS)), *own)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_api_is_as_it_describes_itself_at_length(operation: str, own: tuple[Demonstration, str]) -> None:
    _fuzz(operation, -(-_CASES_SLOW // len(OPERATIONS)), *own)


def _fuzz(operation: str, cases: int, demonstration: Demonstration, address: str) -> None:
    """So many cases of one operation, half of them not as described."""
    method, path = operation.split()
    custodian = path.startswith("/v1/admin") or path == "/metrics"
    key = add_analyst(demonstration, 1.0, "admin" if custodian else "analyst")
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
        headers = {"Authorization": f"Bearer {key}"}
        response = case.call(base_url=address, session=session, headers=headers, timeout=_SECONDS)
        case.validate_response(response, checks=_CHECKS)

    with requests.Session() as session:
        check()


def _strategy(path: str, method: str) -> st.SearchStrategy[Any]:
    described = schemathesis.openapi.from_dict(DOCUMENT)[path][method]
    return st.one_of(*(described.as_strategy(generation_mode=mode) for mode in GenerationMode))
