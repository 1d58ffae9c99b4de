"""One exchange: a request id, the headers that every response carries, one log line, and the last net for errors."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.error_table import problem
from server.http.bodies.problem_body import problem_response
from server.http.exception_summary import exception_summary
from server.http.metrics import Metrics

DURATION_QUANTUM_MS = 100
"""Durations are logged rounded up to it: how long an answer took depends on the data."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
_SUCCESS = "00000"
_SHUTDOWN = "57P01"
_KEY = "noisegate"
_log = structlog.get_logger("noisegate.http")


@dataclass
class Exchange:
    """What is noted of one request while it is served. Never SQL, never a value.

    Attributes:
      request_id: the client's own if well formed, else a fresh one.
      analyst: who asks, once known.
      code: the SQLSTATE of the problem, or 00000.
      status: of the response; 0 until it begins.
      leave: what to call when it is over.
    """

    request_id: str
    analyst: str | None = None
    code: str = _SUCCESS
    status: int = 0
    leave: Callable[[], None] | None = None


def exchange_of(scope: Scope) -> Exchange:
    """The exchange to which a request belongs."""
    exchange = scope[_KEY]
    assert isinstance(exchange, Exchange)
    return exchange


def is_known(scope: Mapping[str, object]) -> bool:
    """Was a request's key somebody's?"""
    exchange = scope.get(_KEY)
    return isinstance(exchange, Exchange) and exchange.analyst is not None


class ExchangeMiddleware:
    """Outermost: opens the Exchange, completes the response's headers, logs."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other events (lifespan) pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = scope[_KEY] = Exchange(_request_id(Headers(scope=scope)))

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
        """Serve; what nobody foresaw becomes a problem here.

        This is the one place that catches everything: an exception that went on to the HTTP server would be
        printed with its text, and the text of a foreign exception can quote a private value.
        """
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            _log.error("unforeseen", request_id=exchange.request_id, **exception_summary(error))
            unforeseen = problem(error)
            exchange.code = unforeseen.code
            if not exchange.status:
                await problem_response(unforeseen, exchange.request_id)(scope, receive, send)


def _request_id(headers: Headers) -> str:
    offered = headers.get("x-request-id", "")
    return offered if _REQUEST_ID.fullmatch(offered) else uuid.uuid4().hex


def _complete(headers: MutableHeaders, request_id: str) -> None:
    headers["X-Request-ID"] = request_id
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Content-Type-Options"] = "nosniff"
    headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    headers["Referrer-Policy"] = "no-referrer"


_POLLS = frozenset({("GET", "/v1/jobs/{job_id}")})
"""What clients ask several times a second until something is done: a line each would bury the others."""


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
