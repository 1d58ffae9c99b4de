from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from server.error_table import TABLE
from tests.unit.server.http.fakes import send


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    body: dict[str, Any] = send("GET", "/openapi.json", authorized=False).json()
    return body


def operations(description: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }


def test_it_is_openapi_3_1_with_every_route(description: dict[str, Any]) -> None:
    assert description["openapi"].startswith("3.1.")
    assert set(operations(description)) == {
        "POST /v1/query",
        "POST /v1/explain",
        "POST /v1/propose",
        "POST /v1/workload",
        "POST /v1/workload/explain",
        "GET /v1/budget",
        "GET /v1/schema",
        "GET /v1/history",
        "GET /v1/me",
        "GET /v1/jobs/{job_id}",
        "GET /v1/jobs/{job_id}/result",
        "DELETE /v1/jobs/{job_id}",
        "GET /health",
        "GET /ready",
        "GET /metrics",
        "GET /v1/admin/holder",
        "GET /v1/admin/analysts",
        "POST /v1/admin/analysts",
        "GET /v1/admin/analysts/{name}",
        "PATCH /v1/admin/analysts/{name}",
        "POST /v1/admin/analysts/{name}/key",
        "GET /v1/admin/accounts",
        "PUT /v1/admin/accounts/{account}",
        "POST /v1/admin/accounts/{account}/top-up",
        "GET /v1/admin/charges",
        "GET /v1/admin/entries",
        "POST /v1/admin/ledger/verify",
        "GET /v1/admin/ledger/export",
        "GET /v1/admin/dataset",
        "GET /v1/admin/schema",
        "POST /v1/admin/policy/reload",
        "GET /v1/admin/policy/changes",
        "POST /v1/admin/data/bump",
    }


def test_every_error_is_described_as_a_problem(description: dict[str, Any]) -> None:
    for name, operation in operations(description).items():
        errors = {status: response for status, response in operation["responses"].items() if int(status) >= 400}
        assert bool(errors) == (name != "GET /health")
        for response in errors.values():
            schema = response["content"]["application/problem+json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ProblemBody"}
            assert len(response["content"]) == 1


OF_OTHER_ROUTES = ("AnalystExists", "UnknownAnalyst", "UnknownAccount", "UnknownJob", "JobNotDone", "WireError")


def test_every_code_that_a_query_can_meet_is_described(description: dict[str, Any]) -> None:
    responses = operations(description)["POST /v1/query"]["responses"]
    for kind, row in TABLE.items():
        if kind.__name__ not in OF_OTHER_ROUTES:
            assert row.code in responses[str(row.status)]["description"], kind


def test_routes_that_need_a_key_say_so(description: dict[str, Any]) -> None:
    secured = {name for name, operation in operations(description).items() if operation.get("security")}
    assert secured == operations(description).keys() - {"GET /health", "GET /ready"}
    assert description["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_bodies_have_examples_and_forbid_what_they_do_not_know(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for name in ("QueryBody", "AnswerBody", "Explanation", "Budget", "Proposal", "ProblemBody", "HealthBody"):
        assert schemas[name]["examples"], name
    assert schemas["QueryBody"]["additionalProperties"] is False
    assert "HTTPValidationError" not in schemas


def test_records_say_what_their_docstrings_say(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for name in ("Explanation", "Catalog", "CatalogTable", "Proposal", "WorkloadSummary", "QueryPlanned"):
        assert schemas[name]["description"], name
        for field, schema in schemas[name]["properties"].items():
            assert schema.get("description"), (name, field)


def test_the_examples_are_valid(description: dict[str, Any]) -> None:
    from server.answers.proposals.accuracy import Proposal
    from server.http.answer_body import AnswerBody
    from server.http.budget_body import RemainingQuestionsBody
    from server.http.exchange import ProblemBody
    from server.http.query_body import QueryBody
    from server.http.routes.health import HealthBody
    from server.http.routes.query import AccuracyBody
    from server.query import Budget, Explanation

    for model in (AccuracyBody, AnswerBody, HealthBody, RemainingQuestionsBody, ProblemBody, QueryBody):
        extra = model.model_config["json_schema_extra"]
        assert isinstance(extra, dict)
        examples = extra["examples"]
        assert isinstance(examples, list) and examples
        for example in examples:
            model.model_validate(example)
    for record in (Budget, Explanation, Proposal):
        examples = description["components"]["schemas"][record.__name__]["examples"]
        for example in examples:
            TypeAdapter[object](record).validate_json(json.dumps(example))
