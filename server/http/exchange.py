"""What every request passes: a request id, a limit on the body, headers, one log line, and one form for errors.

Every exception of a route or the framework becomes one problem: SQLSTATE, message, hint, position and request id.
Neither it nor the log contains a value of the request or the text of a foreign exception, which may quote a private
value. The log has the kinds and places of exceptions.
"""

from __future__ import annotations

import json
import re
import time
import traceback
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planner.errors import PlannerError, did_you_mean
from privacy.errors import PrivacyError
from privacy.registry import why_not_served
from server.error_table import Problem, problem, row_of
from server.errors import InvalidRequest, RateLimited, ServerError
from server.http.metrics import Metrics
from server.query import Budget

_FRAMES = 5
_CAUSES = 5


def exception_summary(error: BaseException) -> dict[str, object]:
    """The kinds of an error and its causes, outermost first, and the innermost frames of the error."""
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < _CAUSES:
        kinds.append(f"{type(cause).__module__}.{type(cause).__qualname__}")
        cause = cause.__cause__ or cause.__context__
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return {"kinds": kinds, "places": places}


MEDIA_TYPE = "application/problem+json"


class ProblemBody(BaseModel):
    """An error as `application/problem+json`: an SQLSTATE, what is wrong, what to do, and where."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "code": "PD001",
                    "message": "The query asks for epsilon 1.0, but only epsilon 0.25 is left.",
                    "hint": "At most epsilon 0.25 still fits.",
                    "position": None,
                    "request_id": "0f8fad5bd9cb469fa16570867728950e",
                }
            ]
        }
    )

    code: str = Field(description="SQLSTATE.")
    message: str
    hint: str | None = Field(description="What to do about it.")
    position: int | None = Field(description="1-based character offset in the statement.")
    request_id: str


def problem_response(problem: Problem, request_id: str) -> Response:
    """The response for a problem."""
    fields = asdict(problem)
    status = fields.pop("status")
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="noisegate"'
    if status == 503:
        headers["Retry-After"] = "1"
    content = json.dumps({**fields, "request_id": request_id}, allow_nan=False)
    return Response(content, status, headers, MEDIA_TYPE)


_MAX_NAME_LENGTH = 64
_WORD = re.compile(r"'([^']*)'")


def fields_of(request: Request) -> Collection[str]:
    """The fields that the request's body may have; empty if the route takes no body."""
    route = request.scope.get("route")
    body = route.body_field if isinstance(route, APIRoute) else None
    model = None if body is None else body.field_info.annotation
    return model.model_fields if isinstance(model, type) and issubclass(model, BaseModel) else ()


def is_json(request: Request) -> bool:
    """Whether the body's media type is JSON. Other bodies are not parsed."""
    kind, _, subtype = request.headers.get("content-type", "").partition(";")[0].strip().lower().partition("/")
    return kind == "application" and (subtype == "json" or subtype.endswith("+json"))


def fault_text(fault: Mapping[str, object], fields: Collection[str]) -> str:
    """The location of a fault and what is expected there.

    >>> fault_text({"type": "extra_forbidden", "loc": ("body", "epsilom"), "msg": "..."}, ["sql", "epsilon"])
    'body.epsilom: there is no such field; did you mean epsilon?'
    >>> fault_text({"type": "missing", "loc": ("body", "sql"), "msg": "Field required"}, ["sql", "epsilon"])
    'body.sql: Field required'
    """
    place = fault["loc"]
    assert isinstance(place, tuple)
    where = ".".join(str(part)[:_MAX_NAME_LENGTH] for part in place)
    kind, said, hint = fault["type"], str(fault["msg"]), None
    if kind == "extra_forbidden":
        said, hint = "there is no such field", did_you_mean(str(place[-1]), fields)
    elif kind == "literal_error" and isinstance(fault.get("input"), str):
        meant = str(fault["input"])
        unserved = why_not_served(meant) if place[-1] == "mechanism" else None
        hint = unserved or did_you_mean(meant, _WORD.findall(said))
    return f"{where}: {said}{'' if hint is None else f'; {hint}'}"


DURATION_QUANTUM_MS = 100
"""Logged durations are rounded up to this, since they depend on the data."""

REQUEST_ID = b"x-request-id"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_SUCCESS = "00000"
_SHUTDOWN = "57P01"
_KEY = "noisegate"
_log = structlog.get_logger("noisegate.http")


@dataclass
class Exchange:
    """What is recorded of one request while it is served: never SQL, never a value.

    Attributes:
      request_id: the client's own if it is well formed, else a new one.
      analyst: who asks, once authenticated.
      code: the SQLSTATE of the problem, or 00000.
      leave: called at the end of the request.
      keep: keeps the response, with the budget that it shows, for the next such request.
    """

    request_id: str
    analyst: str | None = None
    code: str = _SUCCESS
    status: int = 0
    leave: Callable[[], None] | None = None
    keep: Callable[[Response, Budget], None] = lambda response, budget: None


def exchange_of(scope: Scope) -> Exchange:
    """The exchange of a request."""
    exchange = scope[_KEY]
    assert isinstance(exchange, Exchange)
    return exchange


def is_known(scope: Mapping[str, object]) -> bool:
    """Whether the request was authenticated."""
    exchange = scope.get(_KEY)
    return isinstance(exchange, Exchange) and exchange.analyst is not None


class ExchangeMiddleware:
    """The outermost middleware: opens the Exchange, limits the body, completes the headers, and logs.

    Args:
      repeated: finds the response that a request had before and would have again (`repeated.py`).
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, repeated: Callable[[Scope, list[Message]], Response | None]
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._repeated = repeated

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other events (lifespan) pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        offered = Headers(scope=scope).get("x-request-id", "")
        exchange = scope[_KEY] = Exchange(offered if _REQUEST_ID.fullmatch(offered) else uuid.uuid4().hex)

        async def send_completed(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                _complete(MutableHeaders(scope=message), exchange.request_id)
            await send(message)

        begun = time.monotonic()
        self._metrics.begun()
        try:
            await self._serve(exchange, scope, receive, send_completed)
        except BaseException:
            exchange.code = _SHUTDOWN  # cut off: the proxy is stopping
            raise
        finally:
            if exchange.leave is not None:
                exchange.leave()
            self._metrics.ended(getattr(scope.get("route"), "path", None), exchange.code)
            _log_line(exchange, scope, time.monotonic() - begun)

    async def _serve(self, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request if its body is short enough, and turn unforeseen errors into problems.

        An announced length above the limit is refused at once; a chunked body is counted. The body is read whole
        before anything parses it.

        This is the only place that catches everything: the HTTP server would print an exception with its text, which
        may quote a private value.
        """
        try:
            announced = Headers(scope=scope).get("content-length", "0")
            too_long = announced.isdecimal() and int(announced[:20]) > BODY_LIMIT_BYTES
            messages = None if too_long else await _received(receive)
            if messages is None:
                exchange.code = _TOO_LARGE.code
                await problem_response(_TOO_LARGE, exchange.request_id)(scope, receive, send)
                return

            async def replay() -> Message:
                return messages.pop(0) if messages else await receive()

            await (self._repeated(scope, messages) or self._app)(scope, replay, send)
        except Exception as error:
            _log.error("unforeseen", request_id=exchange.request_id, **exception_summary(error))
            unforeseen = problem(error)
            exchange.code = unforeseen.code
            if not exchange.status:
                await problem_response(unforeseen, exchange.request_id)(scope, receive, send)


def _complete(headers: MutableHeaders, request_id: str) -> None:
    headers["X-Request-ID"] = request_id
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Content-Type-Options"] = "nosniff"
    headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    headers["Referrer-Policy"] = "no-referrer"


_POLLS = frozenset({("GET", "/v1/jobs/{job_id}")})
"""Routes that clients poll several times a second; they are not logged."""


def _log_line(exchange: Exchange, scope: Scope, duration_s: float) -> None:
    # The route and not the path that was asked for: a client can write anything into a path.
    quanta = -int(-duration_s * 1000 // DURATION_QUANTUM_MS)
    route = getattr(scope.get("route"), "path", None)
    polled = (scope["method"], route) in _POLLS and exchange.status < 400
    (_log.debug if polled else _log.info)(
        "request",
        request_id=exchange.request_id,
        analyst=exchange.analyst,
        method=scope["method"],
        route=route,
        code=exchange.code,
        status=exchange.status,
        duration_ms=quanta * DURATION_QUANTUM_MS,
    )


BODY_LIMIT_BYTES = 128 * 1024

_TOO_LARGE = Problem("54000", f"The body is longer than {BODY_LIMIT_BYTES} bytes.", "Send less.", None, 413)


async def _received(receive: Receive) -> list[Message] | None:
    """The messages of one body, or None if it is too long."""
    messages: list[Message] = []
    length = 0
    while True:
        message = await receive()
        messages.append(message)
        length += len(message.get("body", b""))
        if length > BODY_LIMIT_BYTES:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return messages


_MAX_FIELDS = 5


def add_problem_handlers(app: FastAPI) -> None:
    """Answer every error with a problem; unforeseen errors are left to the ExchangeMiddleware."""
    for kind in (PlannerError, PrivacyError, ServerError):
        app.add_exception_handler(kind, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


async def _ours(request: Request, error: Exception) -> Response:
    found = problem(error)
    if row_of(error).sentence is not None:
        # The client sees a fixed sentence; the log has the kind and the place under the request id.
        _log.error(
            "failed", request_id=exchange_of(request.scope).request_id, code=found.code, **exception_summary(error)
        )
    response = _respond(request, found)
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    """A body that violates the API: which fields, and what is expected, but never the values."""
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
    """The framework's own refusals: unknown route or method, or a body that cannot be parsed."""
    assert isinstance(error, HTTPException)
    said = InvalidRequest(f"{HTTPStatus(error.status_code).phrase}.", hint="See /openapi.json.")
    response = _respond(request, replace(problem(said), status=error.status_code))
    response.headers.update(error.headers or {})  # Allow, with a 405
    return response


def _respond(request: Request, found: Problem) -> Response:
    exchange = exchange_of(request.scope)
    exchange.code = found.code
    return problem_response(found, exchange.request_id)
