"""A bound on request bodies, before anything parses them."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.error_table import Problem
from server.http.bodies.problem_body import problem_response
from server.http.exchange import exchange_of

BODY_LIMIT_BYTES = 128 * 1024

_TOO_LARGE = Problem("54000", f"The body is longer than {BODY_LIMIT_BYTES} bytes.", "Send less.", None, 413)


class BodyLimitMiddleware:
    """Reads a body whole, up to the limit, and hands it on; a longer one is answered with 413.

    The announced length is refused at once; a body sent in chunks is counted, whatever it announced.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request if its body is short enough."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        too_long = announced.isdecimal() and int(announced[:20]) > BODY_LIMIT_BYTES
        messages = None if too_long else await _received(receive)
        if messages is None:
            exchange = exchange_of(scope)
            exchange.code = _TOO_LARGE.code
            await problem_response(_TOO_LARGE, exchange.request_id)(scope, receive, send)
            return

        async def replay() -> Message:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, replay, send)


async def _received(receive: Receive) -> list[Message] | None:
    """The messages of one body, or None when it is too long."""
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
