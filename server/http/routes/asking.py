"""Asking the pipeline and sending its answer, without holding up the event loop."""

from __future__ import annotations

import threading

from starlette.responses import Response

from server.http.answer_body import AnswerBody
from server.http.representations import is_large, represented, written
from server.http.services import Services
from server.query import QueryRequest, QueryResponse


async def asked(
    services: Services, question: QueryRequest, cancelled: threading.Event | None = None
) -> QueryResponse:
    """The answer. Raises: what the pipeline raises, and TooManyQueries."""
    return await services.queries.call_for(question.analyst, services.pipeline.answer, question, cancelled)


async def sent(services: Services, analyst: str, response: QueryResponse, form: str) -> AnswerBody | Response:
    """The answer in the form that was accepted; a large one is written down in a thread."""
    if not is_large(response):
        return represented(response, form)
    return await services.writers.call_for(analyst, written, response, form)
