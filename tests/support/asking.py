"""The whole way of a query in this thread, as admission goes it between threads."""

from __future__ import annotations

import threading

from server.admission import Answers
from server.query import QueryRequest, QueryResponse


def ask(pipeline: Answers, request: QueryRequest, cancelled: threading.Event | None = None) -> QueryResponse:
    """Look a question up, and finish what was found."""
    return pipeline.finish(pipeline.find(request), request, cancelled)
