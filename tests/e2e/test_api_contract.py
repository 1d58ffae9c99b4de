"""The API's own description, taken at its word: cases that schemathesis makes of it, valid and not, to a real proxy.

No case may end in a 5xx, in a status or a media type that is not described, or in a body that its schema does not
describe. Random words are hardly ever SQL and random names hardly ever somebody's, so a part of the cases is given
ones that mean something.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from server.demo.demonstration import client
from server.demo.workplace import add_analyst
from tests.e2e.administrator import Administrator
from tests.support.seeds import SEED, examples
from tests.support.wire_proxy import WireProxy
from tests.unit.server.http.fakes import send

_CASES = 40
_CASES_SLOW = 10_000
_SECONDS = 300.0
_CASES_WITHOUT_INPUT = 3
_BUDGET = 20.0

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


@cache
def _document() -> dict[str, Any]:
    return dict(send("GET", "/openapi.json", authorized=False).json())


def _operations() -> list[tuple[str, str]]:
    paths: dict[str, dict[str, Any]] = _document()["paths"]
    return sorted((path, method) for path, methods in paths.items() for method in methods)


def test_the_api_is_as_it_describes_itself(own: Administrator) -> None:
    """On a proxy that others do not share: among the cases are grants of next to nothing to the whole dataset."""
    add_analyst(own.demonstration, epsilon=1.0, name=_GUINEA_PIG)
    for path, method in _operations():
        own.refill()
        _fuzz(path, method, examples(_CASES, _CASES_SLOW), own.wire)


def _fuzz(path: str, method: str, in_all: int, wire: WireProxy) -> None:
    """An operation's share of so many cases, half of them not as described."""
    import requests
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    administrator = path.startswith("/v1/admin") or path == "/metrics"
    key = add_analyst(wire.demonstration, _BUDGET, "admin" if administrator else "analyst")
    wanted, tried = _share(path, method, in_all), 0
    strategy = _strategy(path, method, _jobs(wire, key) if "{job_id}" in path else [])

    @seed(SEED)
    @settings(
        max_examples=wanted,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def check(case: Any) -> None:
        nonlocal tried
        tried += 1
        headers = {"Authorization": f"Bearer {key}"}
        place = {"base_url": wire.http, "session": session, "verify": str(wire.authority)}
        response = case.call(**place, headers=headers, timeout=_SECONDS)
        case.validate_response(response, checks=checks)

    with requests.Session() as session:
        check()
    assert tried >= wanted, (method, path)


def _share(path: str, method: str, in_all: int) -> int:
    """How many cases of an operation; one without any input has no more than a few that differ."""
    taking = sum(_takes_input(method, path) for path, method in _operations())
    rest = in_all - _CASES_WITHOUT_INPUT * (len(_operations()) - taking)
    return -(-rest // taking) if _takes_input(method, path) else _CASES_WITHOUT_INPUT


def _takes_input(method: str, path: str) -> bool:
    described = _document()["paths"][path][method]
    return "parameters" in described or "requestBody" in described


def _jobs(wire: WireProxy, key: str) -> list[str]:
    """Jobs of the key's holder: questions that nobody has asked before, each with one result."""
    asked = [{"sql": _STATEMENTS[0], "epsilon": 0.1 + number / 100} for number in range(_JOBS)]
    with client(wire.http, key, wire.trusted) as http:
        posted = [http.post("/v1/query", json=one, headers={"Prefer": "respond-async"}) for one in asked]
    return [response.json()["id"] for response in posted if response.status_code == 202]


def _strategy(path: str, method: str, jobs: list[str]) -> st.SearchStrategy[Any]:
    import schemathesis
    from schemathesis.generation import GenerationMode

    described = schemathesis.openapi.from_dict(_document())[path][method]
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
