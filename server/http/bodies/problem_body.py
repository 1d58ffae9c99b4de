"""The body of every error: what is wrong, what to do, where, and under which request id to ask about it."""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from server.error_table import Problem

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
    """The response that tells a client of a problem."""
    fields = asdict(problem)
    status = fields.pop("status")
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="noisegate"'
    if status == 503:
        headers["Retry-After"] = "1"
    content = json.dumps({**fields, "request_id": request_id}, allow_nan=False)
    return Response(content, status, headers, MEDIA_TYPE)
