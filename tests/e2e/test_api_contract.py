"""The API's own description, taken at its word: cases that schemathesis makes of it, valid and not, to a real proxy.

No case may end in a 5xx, in a status or a media type that is not described, or in a body that its schema does not
describe. Random words are hardly ever SQL and random names hardly ever somebody's, so a part of the cases is given
ones that mean something.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
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
from server.demo.workplace import Demonstration, add_analyst, proxy
from server.ledger.account import Grant
from server.policy.accepted_policy import read_policy
from server.policy.open_ledger_of_policy import open_or_create
from tests.support.proxies import tpch_demonstration
from tests.unit.server.http.fakes import send
from tests.unit.server.ledger.charges import ACT

pytestmark = pytest.mark.xdist_group("contract")

_CASES = 300
_CASES_SLOW = 10_000
_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
_SECONDS = 60.0
_CASES_WITHOUT_INPUT = 3
_BUDGET = 20.0
_LARGEST = 1e9

_STATEMENTS = (
    "SELECT count(*) FROM orders",
    "SELECT sum(l_quantity), avg(l_discount) FROM lineitem WHERE l_quantity < 10",
    "SELECT n_name, count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey GROUP BY n_name",
    "SELECT count(*) FROM orders WHERE o_orderdate >= $1",
    "SELECT r_name FROM region",
    "EXPLAIN SELECT count(*) FROM orders",
    "SELECT o_comment FROM orders",
    "DELETE FROM orders",
)
_GUINEA_PIG = "guinea.pig"
_NAMES = {"name": [_GUINEA_PIG], "account": ["dataset", f"analyst:{_GUINEA_PIG}", "group:herd"]}
_FORMS = ("text/csv", "application/vnd.apache.arrow.stream", "image/png")
_HEADERS = (*({"Accept": form} for form in _FORMS), {"Prefer": "respond-async"}, {"Prefer": "respond-async, wait=1"})
_JOBS = 12

DOCUMENT = send("GET", "/openapi.json", authorized=False).json()
OPERATIONS = sorted(f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods)


@dataclass(frozen=True)
class Own:
    """A proxy of these tests' own: among the cases are grants of next to nothing to the whole dataset."""

    demonstration: Demonstration
    address: str


@pytest.fixture(scope="module")
def own(
    embedded_postgres: EmbeddedPostgres, tpch_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Own]:
    made = tpch_demonstration(tmp_path_factory.mktemp("contract"), embedded_postgres, tpch_url)
    add_analyst(made, epsilon=1.0, name=_GUINEA_PIG)
    with proxy(made, port=0) as address:
        yield Own(made, address)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_api_is_as_it_describes_itself(operation: str, own: Own) -> None:
    _fuzz(operation, _CASES, own)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_api_is_as_it_describes_itself_at_length(operation: str, own: Own) -> None:
    _fuzz(operation, _CASES_SLOW, own)


def _fuzz(operation: str, in_all: int, own: Own) -> None:
    """An operation's share of so many cases, half of them not as described."""
    method, path = operation.split()
    _grant_all(own.demonstration)
    custodian = path.startswith("/v1/admin") or path == "/metrics"
    key = add_analyst(own.demonstration, _BUDGET, "admin" if custodian else "analyst")
    tried = 0

    @seed(int(os.environ.get("NOISEGATE_SEED", "0")) or 1)
    @settings(
        max_examples=_share(path, method, in_all),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=_strategy(path, method, _jobs(own.address, key) if "{job_id}" in path else []))
    def check(case: Any) -> None:
        nonlocal tried
        tried += 1
        headers = {"Authorization": f"Bearer {key}"}
        response = case.call(base_url=own.address, session=session, headers=headers, timeout=_SECONDS)
        case.validate_response(response, checks=_CHECKS)

    with requests.Session() as session:
        check()
    assert tried >= _share(path, method, in_all)


def _grant_all(demonstration: Demonstration) -> None:
    """Give the dataset what operations before may have taken."""
    ledger, _ = open_or_create(read_policy(demonstration.policy), demonstration.policy)
    with closing(ledger):
        ledger.grant("dataset", Grant(_LARGEST), ACT)


def _share(path: str, method: str, in_all: int) -> int:
    """How many cases of an operation; one without any input has no more than a few that differ."""
    taking = sum(_takes_input(*operation.split()) for operation in OPERATIONS)
    rest = in_all - _CASES_WITHOUT_INPUT * (len(OPERATIONS) - taking)
    return -(-rest // taking) if _takes_input(method, path) else _CASES_WITHOUT_INPUT


def _takes_input(method: str, path: str) -> bool:
    described = DOCUMENT["paths"][path][method.lower()]
    return "parameters" in described or "requestBody" in described


def _jobs(address: str, key: str) -> list[str]:
    """Jobs of the key's holder: questions that nobody has asked before, each with one result."""
    headers = {"Authorization": f"Bearer {key}", "Prefer": "respond-async"}
    asked = [{"sql": _STATEMENTS[0], "epsilon": 0.1 + number / 100} for number in range(_JOBS)]
    posted = [requests.post(f"{address}/v1/query", json=one, headers=headers, timeout=_SECONDS) for one in asked]
    return [response.json()["id"] for response in posted if response.status_code == 202]


def _strategy(path: str, method: str, jobs: list[str]) -> st.SearchStrategy[Any]:
    described = schemathesis.openapi.from_dict(DOCUMENT)[path][method]
    cases = st.one_of(*(described.as_strategy(generation_mode=mode) for mode in GenerationMode))
    known = {name: values for name, values in (_NAMES | {"job_id": jobs}).items() if f"{{{name}}}" in path}
    names = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in known.items()})
    bodies = st.sampled_from([_with(statement, path) for statement in _STATEMENTS])
    headers = st.sampled_from(_HEADERS)
    return st.builds(_meaningful, cases, st.none() | names, st.none() | bodies, st.none() | headers)


def _with(statement: str, path: str) -> dict[str, Any]:
    """What of a body makes sense together."""
    wanted = {"interval_width": 500.0, "max_relative_error": None} if path == "/v1/propose" else {}
    return {"sql": statement} | wanted


def _meaningful(
    case: Any,
    names: Mapping[str, str] | None,
    body: Mapping[str, Any] | None,
    headers: Mapping[str, str] | None,
) -> Any:
    """The case, with what is given and has a place in it."""
    case.path_parameters = {**(case.path_parameters or {}), **(names or {})}
    if isinstance(case.body, dict) and "sql" in case.body:
        case.body = {**case.body, **(body or {})}
    if isinstance(case.body, dict) and "queries" in case.body and body is not None:
        case.body = {**case.body, "queries": [{"sql": body["sql"]}, {"sql": "SELECT count(*) FROM orders"}]}
    case.headers = {**(case.headers or {}), **(headers or {})}
    return case
