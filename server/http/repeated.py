"""Send a cached answer's bytes again, before any framework, while everything that they depend on is unchanged.

Such an answer is a function of its request, the pipeline in force, the moment that plans see, the ledger's tables,
and the budget, which time alone can renew. All are compared at each request, so the bytes are those that the route
would write. The tables include keys, roles and disabled accounts, as any process has written them.

Test: tests/property/test_repeated_answers.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from starlette.responses import Response
from starlette.types import Message, Scope

from server.errors import ServerError
from server.http.exchange import REQUEST_ID, exchange_of
from server.http.representations import JSON
from server.http.services import KeyLimits
from server.ledger.ledger import Ledger
from server.lru_cache import LruCache
from server.pipeline import Pipeline
from server.query import Budget

_ANSWERS, _ANSWERS_BYTES, _BESIDE_BYTES = 4096, 16 << 20, 1024


@dataclass(frozen=True)
class _Kept:
    """An answer's JSON up to the request id, which is its last field, and what its route found out."""

    body: bytes
    analyst: str
    budget: Budget
    route: object


class RepeatedAnswers:
    """The bytes of cached answers by request. Used on the event loop only.

    A change begins a new cache. An answer goes into the cache from before its request, so whatever the current cache
    holds was made since the last change.
    """

    def __init__(self, in_force: Callable[[], Pipeline], ledger: Ledger, limits: KeyLimits) -> None:
        self._in_force = in_force
        self._ledger = ledger
        self._limits = limits
        self._seen: tuple[Pipeline | None, object] = None, None
        self._answers = _new_cache()

    def find(self, scope: Scope, messages: list[Message]) -> Response | None:
        """The response to a request, counted as the route would count it; None if the route must answer.

        Then the route may call `Exchange.keep` with its response.
        """
        if scope["method"] != "POST" or messages[-1]["type"] != "http.request":
            return None
        try:
            pipeline, state = self._now()
            if state is None:  # it would take a read
                return None
            if pipeline is not self._seen[0] or state != self._seen[1]:
                self._seen, self._answers = (pipeline, state), _new_cache()
            key = _key(scope, b"".join(message.get("body", b"") for message in messages))
            kept, exchange = self._answers.get(key), exchange_of(scope)
            if kept is None or kept.budget != self._ledger.budget(kept.analyst):
                exchange.keep = partial(self._keep, self._answers, key, scope)
                return None
            exchange.leave = self._limits.enter(kept.analyst)
        except ServerError:  # the route says which
            return None
        exchange.analyst, scope["route"] = kept.analyst, kept.route
        return Response(kept.body + _end(exchange.request_id), media_type=JSON)

    def _now(self) -> tuple[Pipeline, object]:
        """The pipeline in force, and the state of everything else; None if the ledger cannot tell its own."""
        pipeline, ledger = self._in_force(), self._ledger.state()
        return pipeline, None if ledger is None else (ledger, pipeline.planning.moment())

    @staticmethod
    def _keep(answers: LruCache[bytes, _Kept], key: bytes, scope: Scope, response: Response, budget: Budget) -> None:
        exchange = exchange_of(scope)
        end, body = _end(exchange.request_id), bytes(response.body)
        assert exchange.analyst is not None and body.endswith(end), "it is an answer as JSON"
        answers.put(key, _Kept(body.removesuffix(end), exchange.analyst, budget, scope["route"]))


def _new_cache() -> LruCache[bytes, _Kept]:
    return LruCache(_ANSWERS, _ANSWERS_BYTES, lambda kept: len(kept.body) + _BESIDE_BYTES)


def _key(scope: Scope, body: bytes) -> bytes:
    """A digest of a request without its id: keys of analysts are not kept."""
    headers = [pair for pair in scope["headers"] if pair[0] != REQUEST_ID]
    head = repr((scope["path"], scope["query_string"], headers))  # no such text begins another one
    return hashlib.sha256(head.encode() + body).digest()


def _end(request_id: str) -> bytes:
    return f'"{request_id}"}}'.encode()
