"""From every exception that a route or the framework raises to one problem response."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from planner.errors import PlannerError
from privacy.errors import PrivacyError
from server.error_table import Problem, problem, row_of
from server.errors import InvalidRequest, RateLimited, ServerError
from server.http.bodies.problem_body import problem_response
from server.http.bodies.request_faults import fault_text, fields_of, is_json
from server.http.exception_summary import exception_summary
from server.http.exchange import exchange_of

_MAX_FIELDS = 5
_log = structlog.get_logger("noisegate.http")


def add_problem_handlers(app: FastAPI) -> None:
    """Let the app answer every error with a problem; unforeseen ones are left to the ExchangeMiddleware."""
    for kind in (PlannerError, PrivacyError, ServerError):
        app.add_exception_handler(kind, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


async def _ours(request: Request, error: Exception) -> Response:
    told = problem(error)
    if row_of(error).sentence is not None:
        # The client reads only a fixed sentence; the custodian finds the kind and the place under the request id.
        _log.error(
            "failed", request_id=exchange_of(request.scope).request_id, code=told.code, **exception_summary(error)
        )
    response = _respond(request, told)
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    """A body that is not what the API documents: which fields, and what they should be. Never what they were."""
    assert isinstance(error, RequestValidationError)
    fields = fields_of(request)
    if fields and not is_json(request):
        said = "The request's body is not JSON by its Content-Type."
        return _respond(
            request, problem(InvalidRequest(said, hint="Send the header Content-Type: application/json."))
        )
    faults = "; ".join(fault_text(fault, fields) for fault in error.errors()[:_MAX_FIELDS])
    end = "" if faults.endswith("?") else "."
    invalid = InvalidRequest(f"The request is not valid: {faults}{end}", hint="See /openapi.json.")
    return _respond(request, problem(invalid))


async def _http(request: Request, error: Exception) -> Response:
    """The framework's own refusals: no such route, no such method, a body that cannot be parsed."""
    assert isinstance(error, HTTPException)
    said = InvalidRequest(f"{HTTPStatus(error.status_code).phrase}.", hint="See /openapi.json.")
    response = _respond(request, replace(problem(said), status=error.status_code))
    response.headers.update(error.headers or {})  # Allow, with a 405
    return response


def _respond(request: Request, told: Problem) -> Response:
    exchange = exchange_of(request.scope)
    exchange.code = told.code
    return problem_response(told, exchange.request_id)
